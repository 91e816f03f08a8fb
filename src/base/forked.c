/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/forked.h"

#include <pthread.h>

_Atomic uint64_t weiri_forks = WEIRI_FORKED_FIRST;

static void on_fork(void)
{
    (void)atomic_fetch_add_explicit(&weiri_forks, 1, memory_order_relaxed);
}

/* Two threads may both register the handler. Each fork then increments the mark twice, which does
 * no harm. */
uint64_t weiri_forked_mark(void)
{
    static atomic_bool is_registered;
    if (!atomic_load_explicit(&is_registered, memory_order_acquire)) {
        if (pthread_atfork(NULL, NULL, on_fork) != 0) {
            return 0;
        }
        atomic_store_explicit(&is_registered, true, memory_order_release);
    }
    return atomic_load_explicit(&weiri_forks, memory_order_relaxed);
}
