/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The mutex and the condition of src/base/sync.c in every order of their threads: the real code,
 * with other names, beside the explorer's own. Only the system calls are the explorer's
 * (base/futex.h), and before each access to an atomic another thread may run. */
#define _GNU_SOURCE /* base/sync.c */
#undef WEIRI_EXPLORER
#undef NDEBUG
#define NDEBUG /* all threads of a schedule are one of the system: the holder is not known */

#include <stdatomic.h>
#include <stdbool.h>

#include "support/explorer/explorer.h"
#include "support/harness.h"

void weiri_sync_point(void); /* the explorer's */

#undef atomic_load_explicit
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_fetch_add_explicit
#ifdef __clang__
#    define LOAD(object) __c11_atomic_load(object, __ATOMIC_SEQ_CST)
#    define EXCHANGE(object, value) __c11_atomic_exchange(object, value, __ATOMIC_SEQ_CST)
#    define COMPARE(object, expected, value)                                                       \
        __c11_atomic_compare_exchange_strong(object, expected, value, __ATOMIC_SEQ_CST,            \
                                             __ATOMIC_SEQ_CST)
#    define ADD(object, value) __c11_atomic_fetch_add(object, value, __ATOMIC_SEQ_CST)
#else
#    define LOAD(object) __atomic_load_n(object, __ATOMIC_SEQ_CST)
#    define EXCHANGE(object, value) __atomic_exchange_n(object, value, __ATOMIC_SEQ_CST)
#    define COMPARE(object, expected, value)                                                       \
        __atomic_compare_exchange_n(object, expected, value, false, __ATOMIC_SEQ_CST,              \
                                    __ATOMIC_SEQ_CST)
#    define ADD(object, value) __atomic_fetch_add(object, value, __ATOMIC_SEQ_CST)
#endif
#define atomic_load_explicit(object, order) ((weiri_sync_point)(), LOAD(object))
#define atomic_exchange_explicit(object, value, order)                                             \
    ((weiri_sync_point)(), EXCHANGE(object, value))
#define atomic_compare_exchange_strong_explicit(object, expected, value, success, failure)         \
    ((weiri_sync_point)(), COMPARE(object, expected, value))
#define atomic_fetch_add_explicit(object, value, order) ((weiri_sync_point)(), ADD(object, value))

#define weiri_mutex_init real_mutex_init
#define weiri_mutex_fini real_mutex_fini
#define weiri_mutex_lock real_mutex_lock
#define weiri_mutex_unlock real_mutex_unlock
#define weiri_mutex_wait real_mutex_wait
#define weiri_mutex_wake real_mutex_wake
#define weiri_mutex_assert_held real_mutex_assert_held
#define weiri_cond_init real_cond_init
#define weiri_cond_fini real_cond_fini
#define weiri_cond_wait real_cond_wait
#define weiri_cond_wait_until real_cond_wait_until
#define weiri_cond_signal real_cond_signal
#define weiri_cond_broadcast real_cond_broadcast
#define weiri_monotonic_now real_monotonic_now
#define weiri_wall_now real_wall_now
#define weiri_boot_now real_boot_now
#define weiri_thread_start real_thread_start
#define weiri_thread_join real_thread_join
#define weiri_thread_is_self real_thread_is_self
#define weiri_thread_start_open real_thread_start_open
#define weiri_thread_current real_thread_current
#include "base/sync.c"
#undef weiri_thread_start
#undef weiri_thread_join
#undef weiri_monotonic_now

/* Threads and time are the explorer's. */
enum weir_status weiri_thread_start(struct weiri_thread *thread, const char *name,
                                    void (*run)(void *arg), void *arg);
void weiri_thread_join(struct weiri_thread *thread);
int64_t weiri_monotonic_now(void);

#define THREADS 3

static struct {
    struct weiri_mutex mutex;
    struct weiri_cond cond;
    bool is_inside;
    int ready; /* what the waiters wait for */
    int taken;
    int timed_out;
} world;

static void world_init(void)
{
    memset(&world, 0, sizeof(world));
    weiri_mutex_init(&world.mutex);
    weiri_cond_init(&world.cond, &world.mutex);
}

static void world_fini(void)
{
    weiri_cond_fini(&world.cond);
    weiri_mutex_fini(&world.mutex);
}

static void start(struct weiri_thread *thread, void (*run)(void *arg))
{
    CHECK_STATUS(weiri_thread_start(thread, "thread", run, NULL), WEIR_OK);
}

static void start_all(struct weiri_thread *threads, void (*run)(void *arg))
{
    for (int i = 0; i < THREADS; i++) {
        start(&threads[i], run);
    }
}

static void join_all(struct weiri_thread *threads)
{
    for (int i = 0; i < THREADS; i++) {
        weiri_thread_join(&threads[i]);
    }
}

static void enter(void) WEIRI_ACQUIRE(world.mutex)
{
    weiri_mutex_lock(&world.mutex);
    CHECK(!world.is_inside);
    world.is_inside = true;
}

static void leave(void) WEIRI_RELEASE(world.mutex)
{
    world.is_inside = false;
    weiri_mutex_unlock(&world.mutex);
}

static void enter_twice(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        enter();
        (weiri_sync_point)();
        leave();
    }
}

static void excludes(void *arg)
{
    (void)arg;
    struct weiri_thread threads[THREADS];
    world_init();
    start_all(threads, enter_twice);
    join_all(threads);
    world_fini();
}

TEST(excludes, "one thread holds the mutex at a time, and none that wants it sleeps for ever")
{
    const struct explorer_options options = {.depth = 5};
    explorer_must_pass(excludes, NULL, &options);
}

static void wait_for_one(void *arg)
{
    (void)arg;
    enter();
    while (world.ready == 0) {
        world.is_inside = false;
        weiri_cond_wait(&world.cond);
        CHECK(!world.is_inside);
        world.is_inside = true;
    }
    world.ready--;
    world.taken++;
    leave();
}

static void signals(void *arg)
{
    (void)arg;
    struct weiri_thread threads[THREADS];
    world_init();
    start_all(threads, wait_for_one);
    for (int i = 0; i < THREADS; i++) {
        enter();
        world.ready++;
        weiri_cond_signal(&world.cond);
        leave();
    }
    join_all(threads);
    CHECK_INT(world.taken, ==, THREADS);
    world_fini();
}

TEST(signals, "each signal after a change reaches a waiter")
{
    explorer_must_pass(signals, NULL, NULL);
}

static void broadcast(void *arg)
{
    (void)arg;
    struct weiri_thread threads[THREADS];
    world_init();
    start_all(threads, wait_for_one);
    enter();
    world.ready = THREADS;
    weiri_cond_broadcast(&world.cond);
    leave();
    join_all(threads);
    world_fini();
}

TEST(broadcast, "a broadcast reaches all waiters")
{
    explorer_must_pass(broadcast, NULL, NULL);
}

static void wait_until_soon(void *arg)
{
    (void)arg;
    int64_t limit_ns = weiri_monotonic_now() + 10;
    enter();
    bool is_in_time = true;
    while (world.ready == 0 && is_in_time) {
        world.is_inside = false;
        is_in_time = weiri_cond_wait_until(&world.cond, limit_ns);
        CHECK(!world.is_inside && (is_in_time || weiri_monotonic_now() >= limit_ns));
        world.is_inside = true;
    }
    if (world.ready > 0) {
        world.ready--;
        world.taken++;
    } else {
        world.timed_out++;
    }
    leave();
}

static void limited(void *arg)
{
    (void)arg;
    struct weiri_thread threads[THREADS];
    world_init();
    start_all(threads, wait_until_soon);
    enter();
    world.ready = 1;
    weiri_cond_signal(&world.cond);
    leave();
    join_all(threads);
    CHECK_INT(world.taken + world.timed_out, ==, THREADS);
    CHECK_INT(world.taken + world.ready, ==, 1);
    world_fini();
}

TEST(limits, "a wait with a limit ends at it, with the mutex, or is woken before")
{
    explorer_must_pass(limited, NULL, NULL);
}
