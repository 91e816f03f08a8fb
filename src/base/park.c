/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/park.h"

#include "base/futex.h"
#include "base/sync.h"

void weiri_parker_init(struct weiri_parker *parker)
{
    atomic_init(&parker->is_set, 0);
}

void weiri_parker_sleep(struct weiri_parker *parker, int64_t limit_ns)
{
    if (!weiri_parker_is_set(parker)) {
        (void)weiri_futex_wait(&parker->is_set, 0, limit_ns);
    }
}

void weiri_parker_set(struct weiri_parker *parker)
{
    weiri_sync_point();
    atomic_store_explicit(&parker->is_set, 1, memory_order_release);
}

bool weiri_parker_is_set(const struct weiri_parker *parker)
{
    weiri_sync_point();
    return atomic_load_explicit(&parker->is_set, memory_order_acquire) != 0;
}

void weiri_parker_wake(struct weiri_parker *parker)
{
    weiri_futex_wake(&parker->is_set, 1);
}
