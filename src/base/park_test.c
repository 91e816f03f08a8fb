/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/park.h"

#include <weir/duration.h>

#include "base/time.h"
#include "support/harness.h"

static void sleep_until_set(void *opaque)
{
    struct weiri_parker *parker = opaque;
    while (!weiri_parker_is_set(parker)) {
        weiri_parker_sleep(parker, INT64_MAX);
    }
}

TEST(set_before, "a parker that is set does not sleep")
{
    struct weiri_parker parker;
    weiri_parker_init(&parker);
    weiri_parker_set(&parker);
    weiri_parker_sleep(&parker, INT64_MAX);
}

TEST(woken, "a waiter goes on when it is set and woken")
{
    struct weiri_parker parker;
    weiri_parker_init(&parker);
    struct test_thread *sleeper = test_start(sleep_until_set, &parker);
    test_wait_asleep(sleeper);
    weiri_parker_set(&parker);
    weiri_parker_wake(&parker);
    test_join(sleeper);
}

TEST(limit, "a sleep ends by itself at its limit, and not before")
{
    struct weiri_parker parker;
    weiri_parker_init(&parker);
    int64_t limit_ns = weiri_monotonic_now() + WEIR_MS(2);
    while (weiri_monotonic_now() < limit_ns) {
        weiri_parker_sleep(&parker, limit_ns);
    }
    weiri_parker_sleep(&parker, 0);
    weiri_parker_sleep(&parker, -1);
}

/* Data that a waker wrote before it set the parker. */
struct message {
    struct weiri_parker parker;
    int text;
};

static void read_message(void *opaque)
{
    struct message *message = opaque;
    sleep_until_set(&message->parker);
    CHECK_INT(message->text, ==, 7);
}

TEST(sees, "the waiter sees all writes made before the parker was set")
{
    struct message message = {.text = 0};
    weiri_parker_init(&message.parker);
    struct test_thread *sleeper = test_start(read_message, &message);
    message.text = 7;
    weiri_parker_set(&message.parker);
    weiri_parker_wake(&message.parker);
    test_join(sleeper);
}

TEST(stale_wake, "waking a parker after its memory was released touches nothing")
{
    const struct weir_allocator *allocator = test_allocator();
    struct weiri_parker *parker = allocator->alloc(sizeof(*parker), allocator->arg);
    weiri_parker_init(parker);
    weiri_parker_set(parker);
    uintptr_t address = (uintptr_t)parker;
    allocator->release(parker, sizeof(*parker), allocator->arg);
    weiri_parker_wake((struct weiri_parker *)address);
}
