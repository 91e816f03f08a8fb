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

/* Threads, mutexes, conditions: the only kind of each in the libraries. The schedule explorer
 * (tests/support/explorer) replaces the functions of sync.c. It runs the threads of a scenario on
 * one system thread, in an order that it chooses.
 *
 * A mutex is a futex word: with an adaptive pthread mutex the queue is 1.3 to 2 times slower
 * (docs/decisions/0031). ThreadSanitizer knows its operations, and clang's analysis its functions.
 */

/* A mutex. Not recursive. With debugging assertions it knows its holder. */
struct WEIRI_CAPABILITY("mutex") weiri_mutex {
    _Atomic uint32_t state; /* 0: free; 1: held; 2: held, and a thread may sleep for it */
    atomic_uintptr_t owner; /* address of a byte of the holding thread; 0: free. Only the holder
                             * ever finds its own value here. */
};

/* A condition. It is bound to its mutex at init, so that no wait can name another mutex. */
struct weiri_cond {
    _Atomic uint32_t signals; /* so far; changed with the mutex held */
    struct weiri_mutex *mutex;
};

/* A thread. Must not move from its start to its join. */
struct weiri_thread {
    pthread_t impl;
    void (*run)(void *arg);
    void *arg;
    char name[16];
};

void weiri_mutex_init(struct weiri_mutex *mutex);
void weiri_mutex_fini(struct weiri_mutex *mutex);

#ifdef WEIRI_EXPLORER
void weiri_mutex_lock(struct weiri_mutex *mutex) WEIRI_ACQUIRE(mutex);
void weiri_mutex_unlock(struct weiri_mutex *mutex) WEIRI_RELEASE(mutex);
#else
/* The parts of lock and unlock that sleep and wake. */
void weiri_mutex_wait(struct weiri_mutex *mutex);
void weiri_mutex_wake(struct weiri_mutex *mutex);
#    ifdef NDEBUG
#        define weiri_mutex_note_owner(mutex) ((void)(mutex))
#        define weiri_mutex_clear_owner(mutex) ((void)(mutex))
#    else
void weiri_mutex_note_owner(struct weiri_mutex *mutex);
void weiri_mutex_clear_owner(struct weiri_mutex *mutex);
#    endif

/* Inline: an add, a get and a done lock and unlock three times. Function calls would add a tenth to
 * their time. */
static inline void weiri_mutex_lock(struct weiri_mutex *mutex) WEIRI_ACQUIRE(mutex) WEIRI_NO_TSA
{
    uint32_t free = 0;
    if (!atomic_compare_exchange_strong_explicit(&mutex->state, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        weiri_mutex_wait(mutex);
    }
    weiri_mutex_note_owner(mutex);
}

static inline void weiri_mutex_unlock(struct weiri_mutex *mutex) WEIRI_RELEASE(mutex) WEIRI_NO_TSA
{
    weiri_mutex_clear_owner(mutex);
    if (atomic_exchange_explicit(&mutex->state, 0, memory_order_release) == 2) {
        weiri_mutex_wake(mutex);
    }
}
#endif

/* With debugging assertions, panics unless the calling thread holds the mutex. */
void weiri_mutex_assert_held(struct weiri_mutex *mutex) WEIRI_ASSERT_CAPABILITY(mutex);

void weiri_cond_init(struct weiri_cond *cond, struct weiri_mutex *mutex);
void weiri_cond_fini(struct weiri_cond *cond);

/* Both waits are called with the condition's mutex held, release it while sleeping, and hold it
 * again on return. They may return for no reason: call them in `while (!predicate)`.
 *
 * weiri_cond_wait() returns after WEIRI_WAIT_MAX_NS at the latest (base/wait.h). The caller then
 * checks its predicate again. */
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
/* The same with the caller's signal mask. For threads that run the user's functions: programs
 * started there inherit the mask. */
WEIR_NODISCARD enum weir_status weiri_thread_start_open(struct weiri_thread *thread,
                                                        const char *name, void (*run)(void *arg),
                                                        void *arg);
/* Waits for the thread's end. Exactly once for each thread started. */
void weiri_thread_join(struct weiri_thread *thread);
/* A number of the calling thread, never 0. Another thread may have it once this one has ended. */
uintptr_t weiri_thread_current(void);
/* True when called on that thread. */
bool weiri_thread_is_self(const struct weiri_thread *thread);

/* A point where the schedule explorer may switch threads. One stands before each access to an
 * atomic that other threads write. It does nothing in other builds. */
#ifdef WEIRI_EXPLORER
void weiri_sync_point(void);
#    include "support/explorer/place.h"
#else
#    define weiri_sync_point() ((void)0)
#endif

#endif
