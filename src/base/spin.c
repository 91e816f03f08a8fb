/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity */

#include "base/spin.h"

#include <sched.h>

#include "base/sync.h"
#include "base/time.h"

/* Between two readings of the clock, which costs as much as some looks. */
#ifdef WEIRI_EXPLORER
#    define LOOKS 1
#else
#    define LOOKS 32
#endif

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static bool has_changed(_Atomic uint32_t *word, uint32_t seen)
{
    for (int i = 0; i < LOOKS; i++) {
        weiri_sync_point();
        if (atomic_load_explicit(word, memory_order_acquire) != seen) {
            return true;
        }
        pause_briefly();
    }
    return false;
}

bool weiri_spin_while(_Atomic uint32_t *word, uint32_t seen, int64_t limit_ns)
{
#ifdef WEIRI_EXPLORER
    /* There, no time passes while somebody can run. */
    (void)limit_ns;
    return has_changed(word, seen);
#else
    int64_t end_ns = weiri_time_add(weiri_monotonic_now(), limit_ns);
    do {
        if (has_changed(word, seen)) {
            return true;
        }
    } while (weiri_monotonic_now() < end_ns);
    return false;
#endif
}

bool weiri_spin_is_useful(void)
{
#ifdef WEIRI_EXPLORER
    return true;
#else
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) > 1;
#endif
}
