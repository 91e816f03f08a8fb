/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_METER_H
#define WEIRI_METER_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "metrics/registry.h"
#include "queue/item.h"
#include "queue/running.h"

/* What a queue with metrics knows besides: since when each item is queued or processing, and the
 * sums that are made of that. A queue without has no meter, and its items are as large as they are
 * without: the times lie in stamps beside the items.
 *
 * A stamp is an item's from the moment it is queued until its processing ends. A queued item has
 * the stamp's number in weir_running, which it needs for nothing else then; a processing one has it
 * under its index in the running array. The stamps of processing items are a list in order of their
 * start, so that the oldest is known without a search; the sum of the starts makes the sum of the
 * ages a subtraction.
 *
 * The shell sets now_ns, the time of whatever comes next, once a call. Nothing here fails: an item
 * for which there is no memory goes without a stamp and is not timed. */
struct weiri_stamp {
    int64_t time_ns;        /* since when it is queued; or processing */
    int64_t dirty_ns;       /* processing and dirty: since when that */
    struct weir_item *item; /* NULL: free */
    uint32_t older;         /* processing: the neighbours in the list; 0: none */
    uint32_t newer;         /* free: the next free stamp */
};

/* Stamps are named by 1 + index; 0 names none. */
struct weiri_meter {
    struct weir_allocator allocator;
    int64_t now_ns;
    struct weiri_stamp *stamps;
    size_t capacity;
    size_t reached; /* those from here on have never been used */
    size_t used;
    uint32_t free; /* the first of those before that are free */

    uint32_t *by_running; /* by index in the running array; past its items all are 0 */
    size_t by_running_capacity;

    uint32_t oldest; /* of the processing ones */
    uint32_t newest;
    uint64_t timed; /* processing ones that have stamps */
    weiri_wide starts_ns;

    uint64_t adds;
    uint64_t retries;
    struct weiri_histogram queue_duration;
    struct weiri_histogram work_duration;
};

void weiri_meter_init(struct weiri_meter *meter, const struct weir_allocator *allocator);
void weiri_meter_fini(struct weiri_meter *meter);

/* An add made the item queued; or dirty. */
void weiri_meter_queued(struct weiri_meter *meter, struct weir_item *item);
void weiri_meter_dirtied(struct weiri_meter *meter, const struct weir_item *item);
/* A queued item was taken out without having been handed out. */
void weiri_meter_cancelled(struct weiri_meter *meter, struct weir_item *item);
/* A queued item became one of the running; stamp is what was in its weir_running before. */
void weiri_meter_started(struct weiri_meter *meter, const struct weir_item *item, uint32_t stamp);
/* The item that was at index of the running was taken out of them. Returns what goes into its
 * weir_running if it is queued again because it was dirty. */
uint32_t weiri_meter_ended(struct weiri_meter *meter, const struct weiri_running *running,
                           uint32_t index, bool was_dirty);

/* How long an item has been queued or dirty, and how long processing; -1 where it is not, or is
 * not timed. */
int64_t weiri_meter_queued_age(const struct weiri_meter *meter, const struct weir_item *item);
int64_t weiri_meter_running_age(const struct weiri_meter *meter, const struct weir_item *item);

/* Fills in all of a sample but the depth. */
void weiri_meter_read(const struct weiri_meter *meter, struct weiri_queue_sample *ret_sample);

#endif
