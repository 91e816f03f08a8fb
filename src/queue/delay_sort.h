/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_DELAY_SORT_H
#define WEIRI_DELAY_SORT_H

#include <stdbool.h>
#include <stddef.h>

#include "queue/delay.h"

/* The order of waiting items. No two entries are equal in it. */
static inline bool weiri_delay_is_before(const struct weiri_delay_entry *a,
                                         const struct weiri_delay_entry *b)
{
    return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->arrival < b->arrival);
}

/* Sorts count entries from the index first on, the earliest last. In place and in a stack of some
 * ten kilobytes, in O(count) whatever the times are. Items are not told of their new indices. */
void weiri_delay_sort(struct weiri_delay *delay, size_t first, size_t count);

#endif
