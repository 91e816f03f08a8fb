/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include "support/harness.h"

#define THREADS 4

struct shared {
    struct weiri_lock lock;
    uint64_t count;    /* guarded by the lock */
    atomic_int inside; /* threads that believe they hold it */
    uint64_t rounds;
};

static void enter_and_leave(struct shared *shared)
{
    weiri_lock_lock(&shared->lock);
    CHECK_INT(atomic_fetch_add(&shared->inside, 1), ==, 0);
    shared->count++;
    CHECK_INT(atomic_fetch_sub(&shared->inside, 1), ==, 1);
    weiri_lock_unlock(&shared->lock);
}

static void enter_often(void *opaque)
{
    struct shared *shared = opaque;
    for (uint64_t i = 0; i < shared->rounds; i++) {
        enter_and_leave(shared);
    }
}

static void run_threads(struct shared *shared, uint64_t rounds)
{
    shared->rounds = rounds;
    struct test_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threads[i] = test_start(enter_often, shared);
    }
    for (int i = 0; i < THREADS; i++) {
        test_join(threads[i]);
    }
}

static void start(struct shared *shared, bool may_fence)
{
    *shared = (struct shared){.count = 0};
    CHECK_STATUS(weiri_lock_init(&shared->lock, may_fence), WEIR_OK);
}

TEST(excludes, "one thread at a time is inside, and none waits for ever")
{
    struct shared shared;
    start(&shared, true);
    run_threads(&shared, test_scaled(100000));
    CHECK_INT(shared.count, ==, THREADS * test_scaled(100000));
    weiri_lock_fini(&shared.lock);
}

TEST(excludes_without_fences, "the same where the kernel cannot fence all threads")
{
    struct shared shared;
    start(&shared, false);
    run_threads(&shared, test_scaled(100000));
    CHECK_INT(shared.count, ==, THREADS * test_scaled(100000));
    CHECK_INT(atomic_load(&shared.lock.bias), ==, 0);
    weiri_lock_fini(&shared.lock);
}

TEST(biased_to_maker, "the thread that made the lock enters by bias until another one comes")
{
    struct shared shared;
    start(&shared, true);
    if (atomic_load(&shared.lock.plain) != WEIRI_LOCK_FENCELESS) {
        test_skip("this kernel has no membarrier");
    }
    enter_and_leave(&shared);
    CHECK_INT(shared.lock.entered_by, ==, 1);
    shared.rounds = 1;
    test_join(test_start(enter_often, &shared));
    CHECK_INT(shared.lock.entered_by, ==, 0);
    CHECK_INT(atomic_load(&shared.lock.bias), ==, 0);
    CHECK_INT(shared.count, ==, 2);
    weiri_lock_fini(&shared.lock);
}

TEST(biased_again,
     "a thread that enters often in a row is biased, later each time, four times at most")
{
    struct shared shared;
    start(&shared, true);
    if (atomic_load(&shared.lock.plain) != WEIRI_LOCK_FENCELESS) {
        test_skip("this kernel has no membarrier");
    }
    uint64_t previous = 0;
    for (uint32_t number = 1; number < WEIRI_LOCK_BIASES; number++) {
        shared.rounds = 1;
        test_join(test_start(enter_often, &shared)); /* revokes */
        uint64_t entries = 0;
        for (; atomic_load(&shared.lock.bias) == 0; entries++) {
            enter_and_leave(&shared);
        }
        CHECK_INT(entries, >, previous * 8);
        previous = entries;
        enter_and_leave(&shared);
        CHECK_INT(shared.lock.entered_by, ==, number + 1);
    }
    test_join(test_start(enter_often, &shared));
    for (uint64_t i = 0; i < previous * 32; i++) {
        enter_and_leave(&shared);
    }
    CHECK_INT(atomic_load(&shared.lock.bias), ==, 0);
    weiri_lock_fini(&shared.lock);
}

/* Takes the bias away again and again while its owner is busy inside. */
TEST(revoked_while_inside, "who takes the bias away waits until its owner has left")
{
    for (uint64_t round = 0; round < test_scaled(200); round++) {
        struct shared shared;
        start(&shared, true);
        shared.rounds = 1000;
        struct test_thread *others[2];
        others[0] = test_start(enter_often, &shared);
        others[1] = test_start(enter_often, &shared);
        enter_often(&shared);
        test_join(others[0]);
        test_join(others[1]);
        CHECK_INT(shared.count, ==, 3000);
        weiri_lock_fini(&shared.lock);
    }
}

static void hold_until_asleep(void *opaque)
{
    enter_and_leave(opaque);
}

TEST(sleeper_is_woken, "a thread that sleeps for the lock gets it when it is given back")
{
    struct shared shared;
    for (int fence = 0; fence < 2; fence++) {
        start(&shared, fence == 1);
        weiri_lock_lock(&shared.lock);
        struct test_thread *waiter = test_start(hold_until_asleep, &shared);
        test_wait_asleep(waiter);
        weiri_lock_assert_held(&shared.lock);
        weiri_lock_unlock(&shared.lock);
        test_join(waiter);
        CHECK_INT(shared.count, ==, 1);
        weiri_lock_fini(&shared.lock);
    }
}
