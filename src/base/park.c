/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/park.h"

#include "base/futex.h"
#include "base/processors.h"
#include "base/sync.h"
#include "base/time.h"

/* Between two readings of the clock, which costs as much as some looks. */
#define LOOKS 32

enum weir_status weiri_parker_init(struct weiri_parker *parker)
{
    atomic_init(&parker->is_set, 0);
    return WEIR_OK;
}

void weiri_parker_fini(struct weiri_parker *parker)
{
    (void)parker;
}

void weiri_parker_sleep(struct weiri_parker *parker, int64_t limit_ns)
{
    weiri_sync_point();
    if (atomic_load_explicit(&parker->is_set, memory_order_acquire) == 0) {
        (void)weiri_futex_wait(&parker->is_set, 0, limit_ns);
    }
}

void weiri_parker_spin(struct weiri_parker *parker, int64_t limit_ns)
{
#ifdef WEIRI_EXPLORER
    weiri_sync_point(); /* one look: there, no time passes while somebody can run */
    (void)parker;
    (void)limit_ns;
#else
    int64_t end_ns = weiri_time_add(weiri_monotonic_now(), limit_ns);
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(&parker->is_set, memory_order_acquire) != 0) {
                return;
            }
            weiri_pause();
        }
    } while (weiri_monotonic_now() < end_ns);
#endif
}

void weiri_parker_set(struct weiri_parker *parker)
{
    weiri_sync_point();
    atomic_store_explicit(&parker->is_set, 1, memory_order_release);
}

void weiri_parker_wake(struct weiri_parker *parker)
{
    weiri_futex_wake(&parker->is_set, 1);
}
