/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/delay_gaps.h"

/* The last slot goes in the gap's place, and what is there moves into it, be it another gap. */
void weiri_delay_close_gap(struct weiri_delay *delay)
{
    size_t slot = weiri_delay_take_gap(delay);
    size_t last = weiri_delay_end(delay);
    for (size_t i = 0; i < delay->gaps; i++) {
        if (*weiri_delay_gap_at(delay, i) == last) {
            *weiri_delay_gap_at(delay, i) = (uint32_t)slot;
            return;
        }
    }
    if (slot != last) {
        weiri_delay_place(delay, slot, *weiri_delay_at(delay, last));
    }
    if (last == delay->inbox_first) {
        delay->inbox_first = slot;
    }
}

void weiri_delay_close_gaps(struct weiri_delay *delay)
{
    while (delay->gaps > 0) {
        weiri_delay_close_gap(delay);
    }
}
