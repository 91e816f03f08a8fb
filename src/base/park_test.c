/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/park.h"

#include <weir/duration.h>

#include "base/time.h"
#include "support/harness.h"

static void sleep_until_set(void *opaque)
{
    struct weiri_parker *parker = opaque;
    while (atomic_load_explicit(&parker->is_set, memory_order_acquire) == 0) {
        weiri_parker_sleep(parker, INT64_MAX);
    }
}

TEST(set_before, "a parker that is set does not sleep")
{
    struct weiri_parker parker;
    CHECK_STATUS(weiri_parker_init(&parker), WEIR_OK);
    weiri_parker_set(&parker);
    weiri_parker_sleep(&parker, INT64_MAX);
    weiri_parker_fini(&parker);
}

TEST(woken, "a sleeper goes on when it is set and woken")
{
    struct weiri_parker parker;
    CHECK_STATUS(weiri_parker_init(&parker), WEIR_OK);
    struct test_thread *sleeper = test_start(sleep_until_set, &parker);
    test_wait_asleep(sleeper);
    weiri_parker_set(&parker);
    weiri_parker_wake(&parker);
    test_join(sleeper);
    weiri_parker_fini(&parker);
}

TEST(limit, "a sleep ends by itself at its limit, and not before")
{
    struct weiri_parker parker;
    CHECK_STATUS(weiri_parker_init(&parker), WEIR_OK);
    int64_t limit_ns = weiri_monotonic_now() + WEIR_MS(2);
    while (weiri_monotonic_now() < limit_ns) {
        weiri_parker_sleep(&parker, limit_ns);
    }
    weiri_parker_sleep(&parker, 0);
    weiri_parker_sleep(&parker, -1);
    weiri_parker_fini(&parker);
}

TEST(stale_wake, "waking a parker whose memory was given back touches nothing")
{
    const struct weir_allocator *allocator = test_allocator();
    struct weiri_parker *parker = allocator->alloc(sizeof(*parker), allocator->arg);
    CHECK_STATUS(weiri_parker_init(parker), WEIR_OK);
    weiri_parker_set(parker);
    uintptr_t address = (uintptr_t)parker;
    weiri_parker_fini(parker);
    allocator->release(parker, sizeof(*parker), allocator->arg);
    weiri_parker_wake((struct weiri_parker *)address);
}
