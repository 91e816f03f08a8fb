/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/wait.h"

#include <stdatomic.h>

#include "base/time.h"

static _Atomic uint64_t lost;

int64_t weiri_wait_end(int64_t limit_ns)
{
    int64_t latest_ns = weiri_time_add(weiri_monotonic_now(), WEIRI_WAIT_MAX_NS);
    return limit_ns < latest_ns ? limit_ns : latest_ns;
}

void weiri_wait_count_lost(void)
{
    (void)atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
}

uint64_t weiri_wait_lost(void)
{
    return atomic_load_explicit(&lost, memory_order_relaxed);
}
