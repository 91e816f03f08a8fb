/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* See the note in queue/groups.h. */

#include "queue/groups.h"

#include <string.h>

#include "base/hash.h"
#include "base/panic.h"
#include "base/random.h"
#include "queue/close.h"
#include "queue/moves.h"

void weiri_queue_set_groups(weir_queue *queue, struct weiri_groups *groups, size_t limit,
                            struct weiri_member *(*member_of)(struct weir_item *item))
{
    *groups =
        (struct weiri_groups){.limit = limit, .seed = weiri_random_seed(), .member_of = member_of};
    weiri_list_init(&groups->asides);
    weiri_queue_lock(queue);
    queue->groups = groups;
    weiri_queue_unlock(queue);
}

/* Where the chief of a member's group is linked, or would be. */
static struct weiri_member **find_chief(struct weiri_groups *groups,
                                        const struct weiri_member *member)
{
    uint64_t hash = weiri_hash(member->key, member->key_size, groups->seed);
    struct weiri_member **at = &groups->chiefs[hash % WEIRI_GROUP_BUCKETS];
    while (*at != NULL && ((*at)->key_size != member->key_size ||
                           memcmp((*at)->key, member->key, member->key_size) != 0)) {
        at = &(*at)->next_chief;
    }
    return at;
}

static void seat(struct weiri_member *chief, struct weiri_member *member)
{
    weiri_list_insert_before(&chief->seated, &member->link);
    chief->seats_taken++;
    member->standing = WEIRI_SEATED;
}

/* Gives a member a seat. False: its group has none left. */
static bool take_seat(struct weiri_groups *groups, struct weiri_member *member)
{
    struct weiri_member **at = find_chief(groups, member);
    if (*at == NULL) {
        member->next_chief = NULL;
        member->seats_taken = 0;
        weiri_list_init(&member->seated);
        weiri_list_init(&member->aside);
        *at = member;
    } else if ((*at)->seats_taken >= groups->limit) {
        return false;
    }
    seat(*at, member);
    return true;
}

/* The item has been taken off the ready ones. */
static void set_aside_locked(weir_queue *queue, struct weiri_member *member)
    WEIRI_REQUIRES(queue->lock)
{
    struct weiri_groups *groups = queue->groups;
    struct weiri_member *chief = *find_chief(groups, member);
    WEIRI_ASSERT(chief != NULL); /* all its seats are taken */
    weiri_list_insert_before(&chief->aside, &member->link);
    weiri_list_insert_before(&groups->asides, &member->order);
    member->standing = WEIRI_ASIDE;
    queue->core.aside++;
}

static void end_aside_locked(weir_queue *queue, struct weiri_member *member)
    WEIRI_REQUIRES(queue->lock)
{
    weiri_list_remove(&member->link);
    weiri_list_remove(&member->order);
    member->standing = WEIRI_STANDS_NOWHERE;
    queue->core.aside--;
}

void weiri_queue_sort_out_locked(weir_queue *queue)
{
    struct weiri_groups *groups = queue->groups;
    struct weir_item *head = weiri_ready_pop(&queue->core.ready);
    while (head != NULL) {
        struct weiri_member *member = groups->member_of(head);
        if (member == NULL || member->standing == WEIRI_SEATED || take_seat(groups, member)) {
            weiri_ready_push_front(&queue->core.ready, head);
            return;
        }
        set_aside_locked(queue, member);
        head = weiri_ready_pop(&queue->core.ready);
    }
}

/* Moves all links of a list to another one, which is empty or not in use. */
static void move_list(struct weiri_list *to, struct weiri_list *from)
{
    weiri_list_init(to);
    if (!weiri_list_is_empty(from)) {
        weiri_list_insert_before(from->next, to);
        weiri_list_remove(from);
    }
}

/* What the chief knew is known by another one who is seated, or need not be known any more. */
static void hand_over(struct weiri_member **at)
{
    struct weiri_member *chief = *at;
    if (chief->seats_taken == 0) {
        WEIRI_ASSERT(weiri_list_is_empty(&chief->aside));
        *at = chief->next_chief;
        return;
    }
    struct weiri_member *next = WEIRI_CONTAINER(chief->seated.next, struct weiri_member, link);
    next->next_chief = chief->next_chief;
    next->seats_taken = chief->seats_taken;
    move_list(&next->seated, &chief->seated);
    move_list(&next->aside, &chief->aside);
    *at = next;
}

/* Puts an item to the head, behind those that are there with their seats already: they came before.
 * These are no more than runs have ended since the last get. */
static void bring_forward_locked(weir_queue *queue, struct weiri_member *member)
    WEIRI_REQUIRES(queue->lock)
{
    struct weiri_ready *ready = &queue->core.ready;
    struct weiri_list passed;
    weiri_list_init(&passed);
    struct weir_item *head = weiri_ready_pop(ready);
    while (head != NULL) {
        struct weiri_member *other = queue->groups->member_of(head);
        if (other == NULL || other->standing != WEIRI_SEATED) {
            weiri_ready_push_front(ready, head);
            break;
        }
        weiri_list_insert_before(&passed, &other->order);
        head = weiri_ready_pop(ready);
    }
    weiri_list_insert_before(&passed, &member->order);
    while (!weiri_list_is_empty(&passed)) {
        struct weiri_member *last = WEIRI_CONTAINER(passed.prev, struct weiri_member, order);
        weiri_list_remove(&last->order);
        weiri_ready_push_front(ready, last->item);
    }
}

static void leave_locked(weir_queue *queue, struct weiri_member *member) WEIRI_REQUIRES(queue->lock)
{
    struct weiri_groups *groups = queue->groups;
    struct weiri_member **at = find_chief(groups, member);
    struct weiri_member *chief = *at;
    WEIRI_ASSERT(chief != NULL); /* the member itself is seated */
    weiri_list_remove(&member->link);
    member->standing = WEIRI_STANDS_NOWHERE;
    chief->seats_taken--;
    if (chief->seats_taken < groups->limit && !weiri_list_is_empty(&chief->aside)) {
        struct weiri_member *first = WEIRI_CONTAINER(chief->aside.next, struct weiri_member, link);
        end_aside_locked(queue, first);
        seat(chief, first);
        bring_forward_locked(queue, first);
    }
    if (chief == member) {
        hand_over(at);
    }
}

void weiri_queue_dropped_locked(weir_queue *queue, const struct weir_item *chain)
{
    while (chain != NULL) {
        struct weir_item *item = (struct weir_item *)(uintptr_t)chain;
        chain = weiri_chain_peek(chain);
        weiri_queue_taken_out_locked(queue, item);
    }
}

void weiri_queue_ended_locked(weir_queue *queue, struct weir_item *item)
{
    struct weiri_member *member = queue->groups->member_of(item);
    if (member != NULL && member->standing == WEIRI_SEATED) {
        bool comes_back = !weiri_item_is_free(item);
        if (!member->keeps_seat || !comes_back) {
            leave_locked(queue, member);
        }
        member->keeps_seat = false;
    }
    weiri_queue_sort_out_locked(queue); /* it may be at the head now */
}

void weiri_queue_call_all_back_locked(weir_queue *queue)
{
    struct weiri_list *asides = &queue->groups->asides;
    while (!weiri_list_is_empty(asides)) {
        struct weiri_member *first = WEIRI_CONTAINER(asides->next, struct weiri_member, order);
        weiri_queue_call_back_locked(queue, first->item);
    }
}

void weiri_queue_call_back_locked(weir_queue *queue, struct weir_item *item)
{
    struct weiri_member *member = queue->groups->member_of(item);
    if (member != NULL && member->standing == WEIRI_ASIDE) {
        end_aside_locked(queue, member);
        weiri_ready_push(&queue->core.ready, item, 0);
    }
}

void weiri_queue_taken_out_locked(weir_queue *queue, struct weir_item *item)
{
    struct weiri_member *member = queue->groups->member_of(item);
    if (member != NULL && member->standing == WEIRI_SEATED && weiri_item_is_free(item)) {
        leave_locked(queue, member);
    }
}

struct weir_item *weiri_queue_oldest_locked(weir_queue *queue)
{
    struct weiri_groups *groups = queue->groups;
    if (groups != NULL && !weiri_list_is_empty(&groups->asides)) {
        return WEIRI_CONTAINER(groups->asides.next, struct weiri_member, order)->item;
    }
    uint64_t position = weiri_ready_first(&queue->core.ready);
    return weiri_ready_from(&queue->core.ready, &position);
}
