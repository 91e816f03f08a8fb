/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/running.h"

static void change_capacity(struct weiri_running *running, const struct weir_allocator *allocator,
                            size_t capacity)
{
    struct weir_item **items = weiri_resize(allocator, running->items, running->capacity, capacity,
                                            sizeof(struct weir_item *));
    if (items != NULL) {
        running->items = items;
        running->capacity = capacity;
    }
}

void weiri_running_grow(struct weiri_running *running, const struct weir_allocator *allocator)
{
    if (running->capacity <= UINT32_MAX / 4) { /* weir_running must hold the index */
        change_capacity(running, allocator,
                        running->capacity == 0 ? WEIRI_RUNNING_CAPACITY_MIN
                                               : running->capacity * 2);
    }
}

void weiri_running_trim_slow(struct weiri_running *running, const struct weir_allocator *allocator)
{
    size_t quarter = running->capacity / 4;
    change_capacity(running, allocator,
                    quarter < WEIRI_RUNNING_CAPACITY_MIN ? WEIRI_RUNNING_CAPACITY_MIN : quarter);
}

void weiri_running_fini(struct weiri_running *running, const struct weir_allocator *allocator)
{
    weiri_release(allocator, running->items, running->capacity * sizeof(struct weir_item *));
    *running = (struct weiri_running){0};
}
