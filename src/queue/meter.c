/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/meter.h"

#include <string.h>

#include "base/panic.h"

#define CAPACITY_MIN 16
#define NONE 0

void weiri_meter_init(struct weiri_meter *meter, const struct weir_allocator *allocator)
{
    *meter = (struct weiri_meter){.allocator = *allocator};
}

void weiri_meter_fini(struct weiri_meter *meter)
{
    weiri_release(&meter->allocator, meter->stamps, meter->capacity * sizeof(struct weiri_stamp));
    weiri_release(&meter->allocator, meter->by_running,
                  meter->by_running_capacity * sizeof(uint32_t));
}

static struct weiri_stamp *stamp_at(const struct weiri_meter *meter, uint32_t stamp)
{
    WEIRI_ASSERT(stamp - 1 < meter->reached);
    return &meter->stamps[stamp - 1];
}

/* A stamp for the item; NONE for lack of memory. */
static uint32_t take(struct weiri_meter *meter, struct weir_item *item)
{
    uint32_t stamp = meter->free;
    if (stamp != NONE) {
        meter->free = stamp_at(meter, stamp)->newer;
    } else {
        if (meter->reached == meter->capacity) {
            size_t capacity = meter->capacity == 0 ? CAPACITY_MIN : meter->capacity * 2;
            struct weiri_stamp *stamps =
                capacity > UINT32_MAX / 2
                    ? NULL
                    : weiri_resize(&meter->allocator, meter->stamps, meter->capacity, capacity,
                                   sizeof(*stamps));
            if (stamps == NULL) {
                return NONE;
            }
            meter->stamps = stamps;
            meter->capacity = capacity;
        }
        stamp = (uint32_t)++meter->reached;
    }
    meter->used++;
    *stamp_at(meter, stamp) = (struct weiri_stamp){.time_ns = meter->now_ns, .item = item};
    return stamp;
}

/* Moves all stamps in use together into a smaller array, if there is memory for that. */
static void compact(struct weiri_meter *meter)
{
    size_t capacity = meter->capacity / 4;
    struct weiri_stamp *old = meter->stamps;
    struct weiri_stamp *stamps = weiri_alloc(&meter->allocator, capacity * sizeof(*stamps));
    if (stamps == NULL) {
        return;
    }
    uint32_t count = 0;
    for (size_t i = 0; i < meter->reached; i++) {
        struct weir_item *item = old[i].item;
        if (item == NULL) {
            continue;
        }
        stamps[count++] = old[i];
        old[i].dirty_ns = count; /* its new number, for the links below */
        if (weiri_item_place(item) == WEIRI_QUEUED) {
            item->weir_running = count;
        } else {
            meter->by_running[item->weir_running] = count;
        }
    }
    WEIRI_ASSERT(count == meter->used);
    uint32_t *links[] = {&meter->oldest, &meter->newest};
    for (size_t i = 0; i < 2; i++) {
        *links[i] = *links[i] == NONE ? NONE : (uint32_t)old[*links[i] - 1].dirty_ns;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t older = stamps[i].older;
        uint32_t newer = stamps[i].newer;
        stamps[i].older = older == NONE ? NONE : (uint32_t)old[older - 1].dirty_ns;
        stamps[i].newer = newer == NONE ? NONE : (uint32_t)old[newer - 1].dirty_ns;
    }
    weiri_release(&meter->allocator, old, meter->capacity * sizeof(*old));
    meter->stamps = stamps;
    meter->capacity = capacity;
    meter->reached = count;
    meter->free = NONE;
}

/* To be called when every other stamp's item has its final place and index. */
static void give_back(struct weiri_meter *meter, uint32_t stamp)
{
    struct weiri_stamp *at = stamp_at(meter, stamp);
    at->item = NULL;
    at->newer = meter->free;
    meter->free = stamp;
    meter->used--;
    if (meter->used < meter->capacity / 8 && meter->capacity > CAPACITY_MIN) {
        compact(meter);
    }
}

void weiri_meter_queued(struct weiri_meter *meter, struct weir_item *item)
{
    meter->adds++;
    item->weir_running = take(meter, item);
}

/* The stamp of a processing item. */
static uint32_t stamp_of(const struct weiri_meter *meter, const struct weir_item *item)
{
    return item->weir_running < meter->by_running_capacity ? meter->by_running[item->weir_running]
                                                           : NONE;
}

void weiri_meter_dirtied(struct weiri_meter *meter, const struct weir_item *item)
{
    uint32_t stamp = stamp_of(meter, item);
    meter->adds++;
    if (stamp != NONE) {
        stamp_at(meter, stamp)->dirty_ns = meter->now_ns;
    }
}

void weiri_meter_cancelled(struct weiri_meter *meter, struct weir_item *item)
{
    uint32_t stamp = item->weir_running;
    item->weir_running = 0;
    if (stamp != NONE) {
        give_back(meter, stamp);
    }
}

/* Makes room for the stamp of a running item. False: there is none. */
static bool reserve_running(struct weiri_meter *meter, size_t index)
{
    size_t old = meter->by_running_capacity;
    if (index < old) {
        return true;
    }
    if (index == WEIRI_RUNNING_UNNAMED) {
        return false;
    }
    size_t capacity = old == 0 ? WEIRI_RUNNING_CAPACITY_MIN : old;
    while (capacity <= index) {
        capacity *= 2;
    }
    uint32_t *by_running =
        weiri_resize(&meter->allocator, meter->by_running, old, capacity, sizeof(uint32_t));
    if (by_running == NULL) {
        return false;
    }
    memset(by_running + old, 0, (capacity - old) * sizeof(uint32_t));
    meter->by_running = by_running;
    meter->by_running_capacity = capacity;
    return true;
}

static void append(struct weiri_meter *meter, uint32_t stamp, struct weiri_stamp *at)
{
    at->older = meter->newest;
    at->newer = NONE;
    if (meter->newest == NONE) {
        meter->oldest = stamp;
    } else {
        stamp_at(meter, meter->newest)->newer = stamp;
    }
    meter->newest = stamp;
}

/* Leaves it without neighbours: it may stay in use, and compact() follows what is there. */
static void take_out(struct weiri_meter *meter, struct weiri_stamp *at)
{
    if (at->older == NONE) {
        meter->oldest = at->newer;
    } else {
        stamp_at(meter, at->older)->newer = at->newer;
    }
    if (at->newer == NONE) {
        meter->newest = at->older;
    } else {
        stamp_at(meter, at->newer)->older = at->older;
    }
    at->older = NONE;
    at->newer = NONE;
}

void weiri_meter_started(struct weiri_meter *meter, const struct weir_item *item, uint32_t stamp)
{
    if (stamp == NONE) {
        return; /* and what by_running has for it is NONE */
    }
    struct weiri_stamp *at = stamp_at(meter, stamp);
    weiri_histogram_observe(&meter->queue_duration, meter->now_ns - at->time_ns);
    if (!reserve_running(meter, item->weir_running)) {
        give_back(meter, stamp);
        return;
    }
    meter->by_running[item->weir_running] = stamp;
    at->time_ns = meter->now_ns;
    append(meter, stamp, at);
    meter->timed++;
    meter->starts_ns += (uint64_t)at->time_ns;
}

/* Gives back what the running array does not need any more. */
static void trim_running(struct weiri_meter *meter, const struct weiri_running *running)
{
    if (meter->by_running_capacity <= running->capacity) {
        return;
    }
    uint32_t *by_running =
        weiri_resize(&meter->allocator, meter->by_running, meter->by_running_capacity,
                     running->capacity, sizeof(uint32_t));
    if (by_running != NULL) {
        meter->by_running = by_running;
        meter->by_running_capacity = running->capacity;
    }
}

uint32_t weiri_meter_ended(struct weiri_meter *meter, const struct weiri_running *running,
                           uint32_t index, bool was_dirty)
{
    if (index >= meter->by_running_capacity) {
        return NONE;
    }
    /* The last of the running has taken the place of this one. */
    size_t last = running->named;
    uint32_t stamp = meter->by_running[index];
    if (last < meter->by_running_capacity) {
        meter->by_running[index] = meter->by_running[last];
        meter->by_running[last] = NONE;
    } else {
        meter->by_running[index] = NONE;
    }
    trim_running(meter, running);
    if (stamp == NONE) {
        return NONE;
    }
    struct weiri_stamp *at = stamp_at(meter, stamp);
    weiri_histogram_observe(&meter->work_duration, meter->now_ns - at->time_ns);
    take_out(meter, at);
    meter->timed--;
    meter->starts_ns -= (uint64_t)at->time_ns;
    if (was_dirty) {
        at->time_ns = at->dirty_ns;
        return stamp;
    }
    give_back(meter, stamp);
    return NONE;
}

int64_t weiri_meter_queued_age(const struct weiri_meter *meter, const struct weir_item *item)
{
    enum weiri_place place = weiri_item_place(item);
    if (place == WEIRI_QUEUED && item->weir_running != NONE) {
        return meter->now_ns - stamp_at(meter, item->weir_running)->time_ns;
    }
    if (place == WEIRI_DIRTY && stamp_of(meter, item) != NONE) {
        return meter->now_ns - stamp_at(meter, stamp_of(meter, item))->dirty_ns;
    }
    return -1;
}

int64_t weiri_meter_running_age(const struct weiri_meter *meter, const struct weir_item *item)
{
    if (weiri_item_is_processing(item) && stamp_of(meter, item) != NONE) {
        return meter->now_ns - stamp_at(meter, stamp_of(meter, item))->time_ns;
    }
    return -1;
}

void weiri_meter_read(const struct weiri_meter *meter, struct weiri_queue_sample *ret_sample)
{
    ret_sample->queue_duration = meter->queue_duration;
    ret_sample->work_duration = meter->work_duration;
    ret_sample->adds = meter->adds;
    ret_sample->retries = meter->retries;
    ret_sample->unfinished_ns =
        (weiri_wide)(uint64_t)meter->now_ns * meter->timed - meter->starts_ns;
    ret_sample->longest_ns = 0;
    if (meter->oldest != NONE) {
        ret_sample->longest_ns = meter->now_ns - stamp_at(meter, meter->oldest)->time_ns;
    }
}
