/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_GROUPS_H
#define WEIRI_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "queue/internal.h"

/* Groups of items, of which no more than so many are processed at once.
 *
 * An item of a group is handed out only with a seat of its group. Before anything is handed out,
 * the head of the ready items is given one; where its group has none left, it is set aside, and the
 * next one is looked at. A seat that is given back goes to the group's first item aside, which
 * comes back to the head with it. So items of one group are handed out in the order in which they
 * were queued, and who is aside costs the others nothing.
 *
 * What is aside is still queued: it keeps that place, an add of it coalesces, it counts as queued
 * and against the capacity. It is only not in the ring, where gets would come by it again and
 * again.
 *
 * A group has no record of its own: there is something to know of it only while a seat is taken,
 * and then one of those seated, the chief, has it. So nothing is allocated, and nothing is left of
 * a group that has gone. All is guarded by the queue's lock. */

enum weiri_standing {
    WEIRI_STANDS_NOWHERE = 0,
    WEIRI_SEATED, /* or to be handed out with its seat next */
    WEIRI_ASIDE
};

/* What an item has to do with its group. Embedded in what embeds the item. */
struct weiri_member {
    struct weir_item *item;
    enum weiri_standing standing;
    /* Set by whoever processes the item, before its done: it keeps its seat, if it is to be
     * processed again, so that none of its group comes before it. */
    bool keeps_seat;
    struct weiri_list link;  /* among those of its group that are seated, or aside */
    struct weiri_list order; /* aside: among all that are */

    /* Of the group, if this is its chief. */
    struct weiri_member *next_chief; /* of the same bucket */
    struct weiri_list seated;
    struct weiri_list aside;
    size_t seats_taken;

    size_t key_size; /* immutable, as is the key: what names the group */
    char key[];
};

#define WEIRI_GROUP_BUCKETS 256u

struct weiri_groups {
    size_t limit; /* seats of each group */
    uint64_t seed;
    struct weiri_member *(*member_of)(struct weir_item *item); /* NULL: it is of no group */
    struct weiri_list asides; /* all that are aside, the first first */
    struct weiri_member *chiefs[WEIRI_GROUP_BUCKETS];
};

/* Gives a queue groups; before its first use. groups is borrowed until its free. */
void weiri_queue_set_groups(weir_queue *queue, struct weiri_groups *groups, size_t limit,
                            struct weiri_member *(*member_of)(struct weir_item *item));

/* Within the lock, of a queue with groups. */

/* See to it that what is at the head may be handed out. */
void weiri_queue_sort_out_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);
/* A processing of an item has ended, and its seat is free. */
void weiri_queue_ended_locked(weir_queue *queue, struct weir_item *item)
    WEIRI_REQUIRES(queue->lock);
/* Items of a chain (weiri_chain_next) were dropped: the seats that they had are free. */
void weiri_queue_dropped_locked(weir_queue *queue, const struct weir_item *chain)
    WEIRI_REQUIRES(queue->lock);
/* An item that is to be taken out comes back to where items are taken out of. */
void weiri_queue_call_back_locked(weir_queue *queue, struct weir_item *item)
    WEIRI_REQUIRES(queue->lock);
/* The same for all that are aside. */
void weiri_queue_call_all_back_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);
/* An item was taken out: its seat is free, if it is. */
void weiri_queue_taken_out_locked(weir_queue *queue, struct weir_item *item)
    WEIRI_REQUIRES(queue->lock);
/* The item that was queued first of all that are; NULL: nothing is. */
struct weir_item *weiri_queue_oldest_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);

#endif
