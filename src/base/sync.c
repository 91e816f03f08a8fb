/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_cond_clockwait, pthread_setname_np */

#include "base/sync.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/panic.h"
#include "base/time.h"

#define NS_PER_SECOND INT64_C(1000000000)

/* Its address names the thread; portable, where comparing pthread_t is not. */
static _Thread_local char self_byte;

static uintptr_t self(void)
{
    return (uintptr_t)&self_byte;
}

static void must(int error, const char *call)
{
    if (error != 0) {
        weiri_panic(__FILE__, __LINE__, call);
    }
}

int64_t weiri_monotonic_now(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_MONOTONIC, &now), "clock_gettime");
    return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

int64_t weiri_wall_now(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_REALTIME, &now), "clock_gettime");
    return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

enum weir_status weiri_mutex_init(struct weiri_mutex *mutex)
{
    if (pthread_mutex_init(&mutex->impl, NULL) != 0) {
        return WEIR_ENOMEM;
    }
    atomic_init(&mutex->owner, 0);
    return WEIR_OK;
}

void weiri_mutex_fini(struct weiri_mutex *mutex)
{
    must(pthread_mutex_destroy(&mutex->impl), "pthread_mutex_destroy");
}

void weiri_mutex_lock(struct weiri_mutex *mutex) WEIRI_NO_TSA
{
    WEIRI_ASSERT(atomic_load_explicit(&mutex->owner, memory_order_relaxed) != self());
    must(pthread_mutex_lock(&mutex->impl), "pthread_mutex_lock");
    atomic_store_explicit(&mutex->owner, self(), memory_order_relaxed);
}

void weiri_mutex_unlock(struct weiri_mutex *mutex) WEIRI_NO_TSA
{
    weiri_mutex_assert_held(mutex);
    atomic_store_explicit(&mutex->owner, 0, memory_order_relaxed);
    must(pthread_mutex_unlock(&mutex->impl), "pthread_mutex_unlock");
}

void weiri_mutex_assert_held(struct weiri_mutex *mutex)
{
    WEIRI_ASSERT(atomic_load_explicit(&mutex->owner, memory_order_relaxed) == self());
}

enum weir_status weiri_cond_init(struct weiri_cond *cond, struct weiri_mutex *mutex)
{
    if (pthread_cond_init(&cond->impl, NULL) != 0) {
        return WEIR_ENOMEM;
    }
    cond->mutex = mutex;
    cond->signals = 0;
    return WEIR_OK;
}

void weiri_cond_fini(struct weiri_cond *cond)
{
    must(pthread_cond_destroy(&cond->impl), "pthread_cond_destroy");
}

bool weiri_cond_wait_until(struct weiri_cond *cond, int64_t limit_ns)
{
    weiri_mutex_assert_held(cond->mutex);
    int64_t until = weiri_wait_end(limit_ns);
    uint32_t signals = cond->signals;
    struct timespec at = {.tv_sec = 0, .tv_nsec = 0};
    if (until > 0) {
        at.tv_sec = (time_t)(until / NS_PER_SECOND);
        at.tv_nsec = (long)(until % NS_PER_SECOND);
    }
    atomic_store_explicit(&cond->mutex->owner, 0, memory_order_relaxed);
    int error = pthread_cond_clockwait(&cond->impl, &cond->mutex->impl, CLOCK_MONOTONIC, &at);
    atomic_store_explicit(&cond->mutex->owner, self(), memory_order_relaxed);
    if (error != 0 && error != ETIMEDOUT) {
        must(error, "pthread_cond_clockwait");
    }
    if (error == ETIMEDOUT && until != limit_ns && cond->signals != signals) {
        weiri_wait_count_lost(); /* or another one got it; but whoever signals has one waiter */
    }
    return !(error == ETIMEDOUT && until == limit_ns);
}

void weiri_cond_wait(struct weiri_cond *cond)
{
    (void)weiri_cond_wait_until(cond, INT64_MAX);
}

void weiri_cond_signal(struct weiri_cond *cond)
{
    weiri_mutex_assert_held(cond->mutex);
    cond->signals++;
    must(pthread_cond_signal(&cond->impl), "pthread_cond_signal");
}

void weiri_cond_broadcast(struct weiri_cond *cond)
{
    weiri_mutex_assert_held(cond->mutex);
    cond->signals++;
    must(pthread_cond_broadcast(&cond->impl), "pthread_cond_broadcast");
}

static void *thread_main(void *opaque)
{
    struct weiri_thread *thread = opaque;
    (void)pthread_setname_np(pthread_self(), thread->name);
    thread->run(thread->arg);
    return NULL;
}

enum weir_status weiri_thread_start(struct weiri_thread *thread, const char *name,
                                    void (*run)(void *arg), void *arg)
{
    thread->run = run;
    thread->arg = arg;
    (void)snprintf(thread->name, sizeof(thread->name), "%s", name);

    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, &before), "pthread_sigmask");
    int error = pthread_create(&thread->impl, NULL, thread_main, thread);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL), "pthread_sigmask");
    return error == 0 ? WEIR_OK : WEIR_ETHREAD;
}

void weiri_thread_join(struct weiri_thread *thread)
{
    must(pthread_join(thread->impl, NULL), "pthread_join");
}

bool weiri_thread_is_self(const struct weiri_thread *thread)
{
    return pthread_equal(thread->impl, pthread_self()) != 0;
}
