/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SYNC_H
#define WEIRI_SYNC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/thread_safety.h"
#include "base/wait.h"

/* Threads, mutexes, conditions. These calls are the only door to pthreads: sync.c goes through it,
 * and the schedule explorer (tests/support/explorer) links its own file of the same functions in
 * place of sync.c, so that one thread of the system runs a scenario's threads in an order it
 * chooses.
 *
 * A failing pthread call is a broken invariant and panics with its name; there is no half-handled
 * error. */

/* A mutex that knows its holder. Not recursive. */
struct WEIRI_CAPABILITY("mutex") weiri_mutex {
    pthread_mutex_t impl;
    atomic_uintptr_t owner; /* address of a byte of the holding thread; 0: free. Relaxed: only the
                             * holder ever finds its own value there. */
};

/* A condition bound to its mutex at init, so that waiting with another one cannot be written. */
struct weiri_cond {
    pthread_cond_t impl;
    struct weiri_mutex *mutex;
    uint32_t signals; /* so far; guarded by the mutex */
};

/* A thread. Must not move from its start to its join. */
struct weiri_thread {
    pthread_t impl;
    void (*run)(void *arg);
    void *arg;
    char name[16];
};

/* Initialisation fails only for lack of resources: WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_mutex_init(struct weiri_mutex *mutex);
void weiri_mutex_fini(struct weiri_mutex *mutex);
void weiri_mutex_lock(struct weiri_mutex *mutex) WEIRI_ACQUIRE(mutex);
void weiri_mutex_unlock(struct weiri_mutex *mutex) WEIRI_RELEASE(mutex);
/* Panics unless the calling thread holds the mutex. */
void weiri_mutex_assert_held(struct weiri_mutex *mutex) WEIRI_ASSERT_CAPABILITY(mutex);

WEIR_NODISCARD enum weir_status weiri_cond_init(struct weiri_cond *cond, struct weiri_mutex *mutex);
void weiri_cond_fini(struct weiri_cond *cond);

/* Both waits are called with the condition's mutex held, release it while sleeping, and hold it
 * again on return. They may return for no reason: call them in `while (!predicate)`.
 *
 * No wait is without an end: weiri_cond_wait() returns after WEIRI_WAIT_MAX_NS at the latest
 * (base/wait.h), and the caller looks again. */
void weiri_cond_wait(struct weiri_cond *cond);
/* limit_ns is a reading of weiri_monotonic_now(). False: the limit has passed. */
bool weiri_cond_wait_until(struct weiri_cond *cond, int64_t limit_ns);

/* Called with the mutex held and the state already changed. */
void weiri_cond_signal(struct weiri_cond *cond);
void weiri_cond_broadcast(struct weiri_cond *cond);

/* Starts a thread with all signals blocked: they are for the program's own threads. name: at most
 * 15 bytes, shown by debuggers. WEIR_ETHREAD when the system refuses. */
WEIR_NODISCARD enum weir_status weiri_thread_start(struct weiri_thread *thread, const char *name,
                                                   void (*run)(void *arg), void *arg);
/* Waits for the thread's end. Exactly once for each thread started. */
void weiri_thread_join(struct weiri_thread *thread);
/* True when called on that thread. */
bool weiri_thread_is_self(const struct weiri_thread *thread);

/* A place where another thread may run next, for the schedule explorer: before each access to an
 * atomic that other threads write. Nothing elsewhere. */
#ifdef WEIRI_EXPLORER
void weiri_sync_point(void);
#    include "support/explorer/place.h"
#else
#    define weiri_sync_point() ((void)0)
#endif

#endif
