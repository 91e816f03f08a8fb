/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RUNNING_H
#define WEIRI_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "queue/item.h"

/* The items that are processing, in no order: an array without gaps, each item knowing its index.
 * It tells what is running without a search, and is as large as there were consumers at once.
 *
 * It never fails: where it cannot grow, it counts the item without naming it. */
#define WEIRI_RUNNING_CAPACITY_MIN 64
#define WEIRI_RUNNING_UNNAMED UINT32_MAX

struct weiri_running {
    struct weir_item **items;
    size_t named; /* in items */
    size_t capacity;
    size_t unnamed;
};

/* Tries to make room for one more. */
void weiri_running_grow(struct weiri_running *running, const struct weir_allocator *allocator);
/* Gives memory back after a burst; keeps it where that fails. */
void weiri_running_trim_slow(struct weiri_running *running, const struct weir_allocator *allocator);
void weiri_running_fini(struct weiri_running *running, const struct weir_allocator *allocator);

static inline size_t weiri_running_count(const struct weiri_running *running)
{
    return running->named + running->unnamed;
}

/* weiri_running_insert() where there is room. */
static inline void weiri_running_put(struct weiri_running *running, struct weir_item *item)
{
    item->weir_running = (uint32_t)running->named;
    running->items[running->named++] = item;
}

static inline void weiri_running_insert(struct weiri_running *running,
                                        const struct weir_allocator *allocator,
                                        struct weir_item *item)
{
    if (running->named == running->capacity) {
        weiri_running_grow(running, allocator);
        if (running->named == running->capacity) {
            item->weir_running = WEIRI_RUNNING_UNNAMED;
            running->unnamed++;
            return;
        }
    }
    weiri_running_put(running, item);
}

/* weiri_running_remove() of an item that is named, which gives no memory back. */
static inline void weiri_running_take(struct weiri_running *running, struct weir_item *item)
{
    size_t end = --running->named;
    if (item->weir_running != end) {
        struct weir_item *last = running->items[end];
        running->items[item->weir_running] = last;
        last->weir_running = item->weir_running;
    }
    item->weir_running = 0;
}

static inline void weiri_running_trim(struct weiri_running *running,
                                      const struct weir_allocator *allocator)
{
    if (running->named < running->capacity / 8 && running->capacity > WEIRI_RUNNING_CAPACITY_MIN) {
        weiri_running_trim_slow(running, allocator);
    }
}

static inline void weiri_running_remove(struct weiri_running *running,
                                        const struct weir_allocator *allocator,
                                        struct weir_item *item)
{
    if (item->weir_running == WEIRI_RUNNING_UNNAMED) {
        running->unnamed--;
        item->weir_running = 0;
    } else {
        weiri_running_take(running, item);
    }
    weiri_running_trim(running, allocator);
}

#endif
