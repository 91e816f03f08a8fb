/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/share.h"

#include "base/sync.h"

/* What the range is about is published by the crew's lock; the word itself orders nothing. */

static uint64_t pack(uint32_t first, uint32_t end)
{
    return (uint64_t)end << 32 | first;
}

static uint32_t first_of(uint64_t range)
{
    return (uint32_t)range;
}

static uint32_t end_of(uint64_t range)
{
    return (uint32_t)(range >> 32);
}

static uint64_t look(const struct weiri_share *share)
{
    weiri_sync_point();
    return atomic_load_explicit(&share->range, memory_order_relaxed);
}

/* False: *range, which is brought up to date, was not what is there. */
static bool replace(struct weiri_share *share, uint64_t *range, uint64_t next)
{
    weiri_sync_point();
    return atomic_compare_exchange_strong_explicit(&share->range, range, next, memory_order_relaxed,
                                                   memory_order_relaxed);
}

void weiri_share_put(struct weiri_share *share, uint32_t first, uint32_t end)
{
    weiri_sync_point();
    atomic_store_explicit(&share->range, pack(first, end), memory_order_relaxed);
}

uint32_t weiri_share_left(const struct weiri_share *share)
{
    uint64_t range = look(share);
    return end_of(range) - first_of(range);
}

bool weiri_share_take(struct weiri_share *share, uint32_t *ret_chunk)
{
    uint64_t range = look(share);
    while (first_of(range) != end_of(range)) {
        if (replace(share, &range, range + 1)) {
            *ret_chunk = first_of(range);
            return true;
        }
    }
    return false;
}

bool weiri_share_steal(struct weiri_share *from, struct weiri_share *own, uint32_t *ret_chunk)
{
    uint64_t range = look(from);
    while (first_of(range) != end_of(range)) {
        uint32_t end = end_of(range);
        uint32_t left = end - first_of(range);
        uint32_t start = end - (left / 2 + left % 2);
        if (replace(from, &range, pack(first_of(range), start))) {
            weiri_share_put(own, start + 1, end);
            *ret_chunk = start;
            return true;
        }
    }
    return false;
}
