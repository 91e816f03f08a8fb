/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include <sched.h>

#include "base/futex.h"

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

TEST(made_plain_by_another,
     "who must sleep while another thread is about to make the lock plain is woken, too")
{
    static const enum weiri_lock_plain states[] = {WEIRI_LOCK_COUNTING, WEIRI_LOCK_FENCING};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        struct shared shared;
        start(&shared, true);
        if (atomic_load(&shared.lock.plain) != WEIRI_LOCK_FENCELESS) {
            test_skip("this kernel has no membarrier");
        }
        weiri_lock_lock(&shared.lock);
        /* The other one, which does not go on before the end. */
        atomic_fetch_add(&shared.lock.waiters, states[i] == WEIRI_LOCK_FENCING);
        atomic_store(&shared.lock.plain, states[i]);
        struct test_thread *waiter = test_start(hold_until_asleep, &shared);
        test_wait_asleep(waiter);
        weiri_lock_unlock(&shared.lock);
        test_join(waiter);
        CHECK_INT(shared.count, ==, 1);
        CHECK_INT(atomic_load(&shared.lock.plain), ==, states[i]);
        weiri_lock_fini(&shared.lock);
    }
}

/* Turns that a holder has before a waiter that tries after each of them. */
static int turns_before_waiter(void)
{
    struct shared shared;
    start(&shared, false); /* no bias to take away */
    weiri_lock_lock(&shared.lock);
    struct test_thread *waiter = test_start(hold_until_asleep, &shared);
    test_wait_asleep(waiter);
    int turns = 0;
    for (; shared.count == 0 && turns < 1000; turns++) {
        long sleeps = test_sleeps(waiter);
        weiri_lock_unlock(&shared.lock);
        weiri_lock_lock(&shared.lock);
        while (shared.count == 0 && test_sleeps(waiter) == sleeps) {
            (void)sched_yield();
        }
    }
    weiri_lock_unlock(&shared.lock);
    test_join(waiter);
    CHECK_INT(atomic_load(&shared.lock.passed_over), ==, 0);
    weiri_lock_fini(&shared.lock);
    return turns;
}

TEST(passed_over, "a waiter gets the lock although its holder takes it again at once each time")
{
    for (int round = 0; round < 20; round++) {
        CHECK_INT(turns_before_waiter(), <, 1000);
    }
}

/* As if it were woken too late: the lock is held again. */
static void wake_in_vain(struct shared *shared, struct test_thread *waiter)
{
    long sleeps = test_sleeps(waiter);
    (void)atomic_fetch_add(&shared->lock.turn, 1);
    weiri_futex_wake(&shared->lock.turn, 1);
    while (test_sleeps(waiter) == sleeps) {
        (void)sched_yield();
    }
}

TEST(left_the_time, "who comes leaves the lock to a waiter that was often woken in vain")
{
    struct shared shared;
    start(&shared, false); /* no bias to take away */
    weiri_lock_lock(&shared.lock);
    struct test_thread *waiter = test_start(hold_until_asleep, &shared);
    test_wait_asleep(waiter);
    int wakes = 0;
    for (; atomic_load(&shared.lock.passed_over) == 0; wakes++) {
        CHECK_INT(wakes, <, 1000);
        wake_in_vain(&shared, waiter);
    }
    CHECK_INT(wakes, >, 1);
    for (int i = 0; i < 10; i++) {
        wake_in_vain(&shared, waiter); /* it counts once, however long it waits */
    }
    CHECK_INT(atomic_load(&shared.lock.passed_over), ==, 1);
    weiri_lock_unlock(&shared.lock);
    test_join(waiter);
    CHECK_INT(shared.count, ==, 1);
    CHECK_INT(atomic_load(&shared.lock.passed_over), ==, 0);
    enter_and_leave(&shared);
    weiri_lock_fini(&shared.lock);
}

static void check_may_not_look(void *opaque)
{
    struct shared *shared = opaque;
    CHECK(!weiri_lock_may_look(&shared->lock));
}

static void check_may_look(void *opaque)
{
    struct shared *shared = opaque;
    CHECK(weiri_lock_may_look(&shared->lock));
}

TEST(looks_of_maker,
     "without the lock only its sole user may look, until somebody has slept for it")
{
    struct shared shared;
    start(&shared, true);
    if (atomic_load(&shared.lock.plain) != WEIRI_LOCK_FENCELESS) {
        test_skip("this kernel has no membarrier");
    }
    check_may_look(&shared);
    test_join(test_start(check_may_not_look, &shared));
    shared.rounds = 1;
    test_join(test_start(enter_often, &shared));
    check_may_not_look(&shared);

    weiri_lock_lock(&shared.lock);
    struct test_thread *waiter = test_start(hold_until_asleep, &shared);
    test_wait_asleep(waiter);
    weiri_lock_unlock(&shared.lock);
    test_join(waiter);
    enter_and_leave(&shared);
    check_may_look(&shared);
    test_join(test_start(check_may_look, &shared));
    weiri_lock_fini(&shared.lock);
}

TEST(looks_without_fences, "where every unlock fences from the start everybody may look")
{
    struct shared shared;
    start(&shared, false);
    check_may_look(&shared);
    test_join(test_start(check_may_look, &shared));
    weiri_lock_fini(&shared.lock);
}

/* One thread writes a number and looks; where it finds the item queued, so to speak, it leaves the
 * number to the other one, who takes the item under the lock and reads the number. A number that is
 * left unread is waited for in vain. */
struct meeting {
    struct weiri_lock lock;
    _Atomic uint32_t is_queued; /* changed under the lock */
    _Atomic uint64_t written;
    _Atomic uint64_t read;
    atomic_bool has_ended;
    uint64_t rounds;
    uint64_t looks; /* that were enough */
};

static void write_and_look(void *opaque)
{
    struct meeting *meeting = opaque;
    for (uint64_t i = 1; i <= meeting->rounds; i++) {
        atomic_store_explicit(&meeting->written, i, memory_order_relaxed);
        if (weiri_lock_may_look(&meeting->lock) &&
            atomic_load_explicit(&meeting->is_queued, memory_order_relaxed) != 0) {
            meeting->looks++;
        } else {
            weiri_lock_lock(&meeting->lock);
            atomic_store_explicit(&meeting->is_queued, 1, memory_order_relaxed);
            weiri_lock_unlock(&meeting->lock);
        }
        while (i % 16 == 0 && atomic_load_explicit(&meeting->read, memory_order_relaxed) != i) {
            (void)sched_yield();
        }
    }
    atomic_store(&meeting->has_ended, true);
}

static void take_and_read(struct meeting *meeting)
{
    weiri_lock_lock(&meeting->lock);
    bool was_queued = atomic_exchange_explicit(&meeting->is_queued, 0, memory_order_relaxed) != 0;
    weiri_lock_unlock(&meeting->lock);
    if (was_queued) {
        uint64_t written = atomic_load_explicit(&meeting->written, memory_order_relaxed);
        atomic_store_explicit(&meeting->read, written, memory_order_relaxed);
    } else {
        (void)sched_yield();
    }
}

TEST(looks_beside_a_taker, "what is left to a taker because of a look is read by it")
{
    for (int may_fence = 0; may_fence < 2; may_fence++) {
        struct meeting meeting = {.rounds = test_scaled(1000) * 16};
        CHECK_STATUS(weiri_lock_init(&meeting.lock, may_fence == 1), WEIR_OK);
        struct test_thread *writer = test_start(write_and_look, &meeting);
        while (!atomic_load(&meeting.has_ended)) {
            take_and_read(&meeting);
        }
        test_join(writer);
        CHECK_INT(atomic_load(&meeting.read), ==, meeting.rounds);
        CHECK(may_fence == 1 || meeting.looks > 0); /* else nobody need have slept for it */
        weiri_lock_fini(&meeting.lock);
    }
}
