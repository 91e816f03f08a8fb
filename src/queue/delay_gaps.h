/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_DELAY_GAPS_H
#define WEIRI_DELAY_GAPS_H

#include "queue/delay.h"

/* Gaps of the inbox. Who leaves it leaves its slot's number behind, and its entry untouched: that
 * memory is mostly not in the cache, and a store whose address the processor learns late holds up
 * what comes after it. When the gap is filled, some calls later, the address has long been known.
 *
 * Gaps lie behind the heap, and are less than WEIRI_DELAY_GAPS. Whoever looks at the array as a
 * whole closes them before: weiri_delay_close_gaps(). */

static inline uint32_t *weiri_delay_gap_at(struct weiri_delay *delay, size_t index)
{
    return &delay->gap_slots[(delay->gap_first + index) & (WEIRI_DELAY_GAPS - 1)];
}

/* Takes the oldest gap, which is one no more; its slot. */
static inline size_t weiri_delay_take_gap(struct weiri_delay *delay)
{
    size_t slot = *weiri_delay_gap_at(delay, 0);
    delay->gap_first++;
    delay->gaps--;
    return slot;
}

/* Closes the oldest gap. */
void weiri_delay_close_gap(struct weiri_delay *delay);

/* Makes a gap of a slot whose item is counted no more. */
static inline void weiri_delay_leave_gap(struct weiri_delay *delay, size_t slot)
{
    *weiri_delay_gap_at(delay, delay->gaps++) = (uint32_t)slot;
    if (delay->gaps == WEIRI_DELAY_GAPS) {
        weiri_delay_close_gap(delay);
    }
}

#endif
