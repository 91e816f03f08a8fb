/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_setname_np */

#include "base/sync.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/futex.h"
#include "base/panic.h"
#include "base/processors.h"
#include "base/time.h"

#define NS_PER_SECOND INT64_C(1000000000)

static void must(int error, const char *call)
{
    if (error != 0) {
        weiri_panic(__FILE__, __LINE__, call);
    }
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    must(clock_gettime(clock, &now), "clock_gettime");
    return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

int64_t weiri_monotonic_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t weiri_wall_now(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t weiri_boot_now(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

void weiri_mutex_init(struct weiri_mutex *mutex)
{
    atomic_init(&mutex->state, 0);
    atomic_init(&mutex->owner, 0);
}

void weiri_mutex_fini(struct weiri_mutex *mutex)
{
    WEIRI_ASSERT(atomic_load_explicit(&mutex->state, memory_order_relaxed) == 0);
}

/* Its address is the number of the thread. */
static _Thread_local char self_byte;

uintptr_t weiri_thread_current(void)
{
    return (uintptr_t)&self_byte;
}

#ifdef NDEBUG
void weiri_mutex_assert_held(struct weiri_mutex *mutex)
{
    (void)mutex;
}

static void assert_not_held(struct weiri_mutex *mutex)
{
    (void)mutex;
}
#else
/* A thread that locks a mutex which it holds would sleep for ever. */
static void assert_not_held(struct weiri_mutex *mutex)
{
    WEIRI_ASSERT(atomic_load_explicit(&mutex->owner, memory_order_relaxed) !=
                 weiri_thread_current());
}

void weiri_mutex_note_owner(struct weiri_mutex *mutex)
{
    atomic_store_explicit(&mutex->owner, weiri_thread_current(), memory_order_relaxed);
}

void weiri_mutex_clear_owner(struct weiri_mutex *mutex)
{
    weiri_mutex_assert_held(mutex);
    atomic_store_explicit(&mutex->owner, 0, memory_order_relaxed);
}

void weiri_mutex_assert_held(struct weiri_mutex *mutex)
{
    WEIRI_ASSERT(atomic_load_explicit(&mutex->owner, memory_order_relaxed) ==
                 weiri_thread_current());
}
#endif

/* Sections under a mutex are short. A few tries with growing pauses usually succeed, and cost less
 * than a sleep. */
static bool try_with_pauses(struct weiri_mutex *mutex)
{
    int pauses = 8;
    for (int attempt = 0; attempt < 7; attempt++) {
        uint32_t free = 0;
        if (atomic_load_explicit(&mutex->state, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&mutex->state, &free, 1, memory_order_acquire,
                                                    memory_order_relaxed)) {
            return true;
        }
        for (int i = 0; i < pauses; i++) {
            weiri_pause();
        }
        pauses = pauses < 256 ? pauses * 2 : 256;
    }
    return false;
}

void weiri_mutex_wait(struct weiri_mutex *mutex)
{
    assert_not_held(mutex);
    if (try_with_pauses(mutex)) {
        return;
    }
    while (atomic_exchange_explicit(&mutex->state, 2, memory_order_acquire) != 0) {
        (void)weiri_futex_wait(&mutex->state, 2, INT64_MAX);
    }
}

void weiri_mutex_wake(struct weiri_mutex *mutex)
{
    weiri_futex_wake(&mutex->state, 1);
}

void weiri_cond_init(struct weiri_cond *cond, struct weiri_mutex *mutex)
{
    atomic_init(&cond->signals, 0);
    cond->mutex = mutex;
}

void weiri_cond_fini(struct weiri_cond *cond)
{
    (void)cond;
}

/* A signal between the unlock and the sleep changes the word, so the futex call returns at once. */
bool weiri_cond_wait_until(struct weiri_cond *cond, int64_t limit_ns) WEIRI_NO_TSA
{
    weiri_mutex_assert_held(cond->mutex);
    uint32_t signals = atomic_load_explicit(&cond->signals, memory_order_relaxed);
    weiri_mutex_unlock(cond->mutex);
    bool is_in_time = weiri_futex_wait(&cond->signals, signals, limit_ns);
    weiri_mutex_lock(cond->mutex);
    return is_in_time;
}

void weiri_cond_wait(struct weiri_cond *cond)
{
    (void)weiri_cond_wait_until(cond, INT64_MAX);
}

static void notify(struct weiri_cond *cond, int count)
{
    weiri_mutex_assert_held(cond->mutex);
    (void)atomic_fetch_add_explicit(&cond->signals, 1, memory_order_relaxed);
    weiri_futex_wake(&cond->signals, count);
}

void weiri_cond_signal(struct weiri_cond *cond)
{
    notify(cond, 1);
}

void weiri_cond_broadcast(struct weiri_cond *cond)
{
    notify(cond, INT_MAX);
}

/* A function of the user's has ended a thread that the library needs. The thread's work would never
 * be finished, and threads that wait for that would wait for ever. */
static void panic_at_exit(void *arg)
{
    (void)arg;
    weiri_panic(__FILE__, __LINE__,
                "a thread of weir was ended by pthread_exit() or pthread_cancel()");
}

static void *thread_main(void *opaque)
{
    struct weiri_thread *thread = opaque;
    (void)pthread_setname_np(pthread_self(), thread->name);
    pthread_cleanup_push(panic_at_exit, NULL);
    thread->run(thread->arg);
    pthread_cleanup_pop(0);
    return NULL;
}

enum weir_status weiri_thread_start_open(struct weiri_thread *thread, const char *name,
                                         void (*run)(void *arg), void *arg)
{
    thread->run = run;
    thread->arg = arg;
    (void)snprintf(thread->name, sizeof(thread->name), "%s", name);
    int error = pthread_create(&thread->impl, NULL, thread_main, thread);
    return error == 0 ? WEIR_OK : WEIR_ETHREAD;
}

enum weir_status weiri_thread_start(struct weiri_thread *thread, const char *name,
                                    void (*run)(void *arg), void *arg)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, &before), "pthread_sigmask");
    enum weir_status status = weiri_thread_start_open(thread, name, run, arg);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL), "pthread_sigmask");
    return status;
}

void weiri_thread_join(struct weiri_thread *thread)
{
    must(pthread_join(thread->impl, NULL), "pthread_join");
}

bool weiri_thread_is_self(const struct weiri_thread *thread)
{
    return pthread_equal(thread->impl, pthread_self()) != 0;
}
