/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/flight.h"

#include "pool/fixture.h"

#define POOL_A UINT64_C(1)
#define POOL_B ((UINT64_C(1) << WEIRI_FLIGHT_POOL_BITS) - 1)

TEST(one_pool, "an envelope that flies in one pool is refused to another, and is free after")
{
    struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK(weiri_flight_hold(envelope, POOL_A));
    CHECK(!weiri_flight_hold(envelope, POOL_B));
    weiri_flight_release(envelope);
    CHECK(weiri_flight_hold(envelope, POOL_B));
    CHECK(!weiri_flight_hold(envelope, POOL_A));
    weiri_flight_release(envelope);
    CHECK_INT(counter_value(&task.released), ==, 0);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}

TEST(holds_count, "the flight ends with its last hold, in whatever order they are given back")
{
    struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK(weiri_flight_hold(envelope, POOL_B));
    CHECK(weiri_flight_hold(envelope, POOL_B));
    weiri_flight_release(envelope);
    CHECK(!weiri_flight_hold(envelope, POOL_A));
    CHECK(weiri_flight_hold(envelope, POOL_B));
    weiri_flight_release(envelope);
    weiri_flight_release(envelope);
    CHECK(weiri_flight_hold(envelope, POOL_A));
    weiri_flight_release(envelope);
    weir_envelope_unref(envelope);
    task_fini(&task);
}

TEST(hold_is_reference, "a hold keeps the envelope when its maker has given it up")
{
    struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK(weiri_flight_hold(envelope, POOL_A));
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 0);
    weiri_flight_release(envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}

struct pilot {
    weir_envelope *envelope;
    uint64_t number;
    atomic_int *here;
    atomic_int *there;
    int flights;
};

static void fly(void *arg)
{
    struct pilot *pilot = arg;
    for (uint64_t i = test_scaled(20000); i > 0; i--) {
        if (weiri_flight_hold(pilot->envelope, pilot->number)) {
            atomic_fetch_add(pilot->here, 1);
            CHECK_INT(atomic_load(pilot->there), ==, 0);
            atomic_fetch_sub(pilot->here, 1);
            weiri_flight_release(pilot->envelope);
            pilot->flights++;
        }
    }
}

TEST(exclusive, "threads of two pools that hold and give back never have the envelope in both")
{
    struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    atomic_int in_a = 0;
    atomic_int in_b = 0;
    struct pilot pilots[4];
    struct test_thread *threads[4];
    for (int i = 0; i < 4; i++) {
        bool is_a = i % 2 == 0;
        pilots[i] = (struct pilot){envelope, is_a ? POOL_A : POOL_B, is_a ? &in_a : &in_b,
                                   is_a ? &in_b : &in_a, 0};
        threads[i] = test_start(fly, &pilots[i]);
    }
    int flights = 0;
    for (int i = 0; i < 4; i++) {
        test_join(threads[i]);
        flights += pilots[i].flights;
    }
    CHECK_INT(flights, >, 0);
    CHECK(weiri_flight_hold(envelope, 7));
    weiri_flight_release(envelope);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}
