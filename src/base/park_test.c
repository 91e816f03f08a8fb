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

TEST(spin_limit, "who waits awake gives up at the limit, and not before")
{
    struct weiri_parker parker;
    CHECK_STATUS(weiri_parker_init(&parker), WEIR_OK);
    int64_t start_ns = weiri_monotonic_now();
    weiri_parker_spin(&parker, WEIR_MS(2));
    CHECK_INT(weiri_monotonic_now(), >=, start_ns + WEIR_MS(2));
    weiri_parker_spin(&parker, 0);
    weiri_parker_fini(&parker);
}

static void spin_until_set(void *parker)
{
    weiri_parker_spin(parker, INT64_MAX);
}

TEST(spin_set, "and goes on when the parker is set, without a wake")
{
    struct weiri_parker parker;
    CHECK_STATUS(weiri_parker_init(&parker), WEIR_OK);
    struct test_thread *thread = test_start(spin_until_set, &parker);
    weiri_parker_set(&parker);
    test_join(thread);
    weiri_parker_spin(&parker, INT64_MAX);
    weiri_parker_fini(&parker);
}
