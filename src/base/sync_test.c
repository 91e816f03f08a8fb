/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_getname_np, pthread_setattr_default_np */

#include "base/sync.h"

#include <signal.h>

#include "base/time.h"

#include "support/harness.h"

/* A mutex with a condition, and the state that they guard. */
struct gate {
    struct weiri_mutex mutex;
    struct weiri_cond cond;
    int count;
    int woken;
};

static void gate_init(struct gate *gate)
{
    weiri_mutex_init(&gate->mutex);
    weiri_cond_init(&gate->cond, &gate->mutex);
    gate->count = 0;
    gate->woken = 0;
}

static void gate_fini(struct gate *gate)
{
    weiri_cond_fini(&gate->cond);
    weiri_mutex_fini(&gate->mutex);
}

static void count_up(void *opaque)
{
    struct gate *gate = opaque;
    for (int i = 0; i < 20000; i++) {
        weiri_mutex_lock(&gate->mutex);
        weiri_mutex_assert_held(&gate->mutex);
        gate->count++;
        weiri_mutex_unlock(&gate->mutex);
    }
}

TEST(exclusion, "what a mutex guards is changed by one thread at a time")
{
    struct gate gate;
    struct weiri_thread threads[3];
    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(weiri_thread_start(&threads[i], "counter", count_up, &gate), WEIR_OK);
    }
    for (int i = 0; i < 3; i++) {
        weiri_thread_join(&threads[i]);
    }
    CHECK_INT(gate.count, ==, 60000);
    gate_fini(&gate);
}

static void lock(void *opaque) WEIRI_NO_TSA
{
    weiri_mutex_lock(&((struct gate *)opaque)->mutex);
}

static void destroy_held(void *opaque) WEIRI_NO_TSA
{
    lock(opaque);
    weiri_mutex_fini(&((struct gate *)opaque)->mutex);
}

TEST(destroyed, "the end of a mutex that is held ends the program")
{
    struct gate gate;
    gate_init(&gate);
    test_must_abort(destroy_held, &gate, "state");
    gate_fini(&gate);
}

#ifndef NDEBUG /* only then a mutex knows its holder */
static void lock_twice(void *opaque) WEIRI_NO_TSA
{
    lock(opaque);
    lock(opaque);
}

static void unlock(void *opaque) WEIRI_NO_TSA
{
    weiri_mutex_unlock(&((struct gate *)opaque)->mutex);
}

static void assert_held(void *opaque) WEIRI_NO_TSA
{
    weiri_mutex_assert_held(&((struct gate *)opaque)->mutex);
}

static void wait_without(void *opaque) WEIRI_NO_TSA
{
    weiri_cond_wait(&((struct gate *)opaque)->cond);
}

static void signal_without(void *opaque) WEIRI_NO_TSA
{
    weiri_cond_signal(&((struct gate *)opaque)->cond);
}

static void broadcast_without(void *opaque) WEIRI_NO_TSA
{
    weiri_cond_broadcast(&((struct gate *)opaque)->cond);
}

TEST(misuse, "misuse of a mutex or condition by our own code ends the program")
{
    static void (*const fns[])(void *opaque) = {lock_twice,   unlock,         assert_held,
                                                wait_without, signal_without, broadcast_without};
    struct gate gate;
    gate_init(&gate);
    for (size_t i = 0; i < sizeof(fns) / sizeof(fns[0]); i++) {
        test_must_abort(fns[i], &gate, "owner");
    }
    gate_fini(&gate);
}
#endif

static void wait_for_count(void *opaque)
{
    struct gate *gate = opaque;
    weiri_mutex_lock(&gate->mutex);
    while (gate->count == 0) {
        weiri_cond_wait(&gate->cond);
        weiri_mutex_assert_held(&gate->mutex);
    }
    gate->count--;
    gate->woken++;
    weiri_mutex_unlock(&gate->mutex);
}

TEST(signals, "a signal wakes one waiter after another")
{
    struct gate gate;
    struct test_thread *threads[2];
    gate_init(&gate);
    for (int i = 0; i < 2; i++) {
        threads[i] = test_start(wait_for_count, &gate);
        test_wait_asleep(threads[i]);
    }
    for (int i = 0; i < 2; i++) {
        weiri_mutex_lock(&gate.mutex);
        gate.count++;
        weiri_cond_signal(&gate.cond);
        weiri_mutex_unlock(&gate.mutex);
    }
    for (int i = 0; i < 2; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(gate.woken, ==, 2);
    gate_fini(&gate);
}

TEST(broadcasts, "a broadcast wakes all waiters")
{
    struct gate gate;
    struct test_thread *threads[3];
    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
        threads[i] = test_start(wait_for_count, &gate);
        test_wait_asleep(threads[i]);
    }
    weiri_mutex_lock(&gate.mutex);
    gate.count = 3;
    weiri_cond_broadcast(&gate.cond);
    weiri_mutex_unlock(&gate.mutex);
    for (int i = 0; i < 3; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(gate.woken, ==, 3);
    gate_fini(&gate);
}

TEST(limits, "a wait with a limit ends at it and not before, holding the mutex")
{
    struct gate gate;
    gate_init(&gate);
    weiri_mutex_lock(&gate.mutex);
    static const int64_t pasts[] = {INT64_MIN, -1, 0, 1};
    for (size_t i = 0; i < sizeof(pasts) / sizeof(pasts[0]); i++) {
        CHECK(!weiri_cond_wait_until(&gate.cond, pasts[i]));
        weiri_mutex_assert_held(&gate.mutex);
    }
    int64_t limit = weiri_monotonic_now() + 5000000;
    while (weiri_cond_wait_until(&gate.cond, limit)) {
    }
    CHECK_INT(weiri_monotonic_now(), >=, limit);
    weiri_mutex_unlock(&gate.mutex);
    gate_fini(&gate);
}

struct told {
    struct weiri_thread thread;
    char name[16];
    bool is_self;
    bool are_signals_blocked;
};

static void tell(void *opaque)
{
    struct told *told = opaque;
    (void)pthread_getname_np(pthread_self(), told->name, sizeof(told->name));
    told->is_self = weiri_thread_is_self(&told->thread);
    sigset_t blocked;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    told->are_signals_blocked =
        sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGUSR1) == 1;
}

TEST(threads,
     "a thread has its name, knows itself, and takes no signals; its starter's stay as they were")
{
    struct told told;
    CHECK_STATUS(weiri_thread_start(&told.thread, "a-name-that-is-too-long", tell, &told), WEIR_OK);
    CHECK(!weiri_thread_is_self(&told.thread));
    weiri_thread_join(&told.thread);
    CHECK_STRING(told.name, "a-name-that-is-");
    CHECK(told.is_self);
    CHECK(told.are_signals_blocked);
    sigset_t blocked;
    CHECK_INT(pthread_sigmask(SIG_SETMASK, NULL, &blocked), ==, 0);
    CHECK_INT(sigismember(&blocked, SIGINT), ==, 0);
}

TEST(thread_refused, "a thread that the system refuses is a status")
{
    /* New threads get a stack that is larger than any address space. */
    pthread_attr_t attributes;
    CHECK_INT(pthread_attr_init(&attributes), ==, 0);
    CHECK_INT(pthread_attr_setstacksize(&attributes, (size_t)1 << 47), ==, 0);
    CHECK_INT(pthread_setattr_default_np(&attributes), ==, 0);
    struct told told = {.is_self = false};
    CHECK_STATUS(weiri_thread_start(&told.thread, "refused", tell, &told), WEIR_ETHREAD);
    CHECK(!told.is_self);
    CHECK_INT(pthread_attr_destroy(&attributes), ==, 0);
}
