/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define EXPLORER_IMPLEMENTS_SYNC

#include "base/sync.h"

#include <stdio.h>

#include "base/panic.h"
#include "base/random.h"
#include "base/time.h"

#include "support/explorer/choose.h"
#include "support/explorer/engine.h"

/* The functions of base/sync.h, base/time.h, base/random.h and base/panic.h on the explorer. A
 * mutex is its owner field: 0 free, else the holder's number; a condition is its address. The words
 * and the thread that the real functions use (state, signals, impl) are not used. */

#define OUTSIDE ((uintptr_t)1000) /* the holder of a lock while no schedule runs */
#define DESTROYED UINTPTR_MAX
#define EPOCH_NS INT64_C(1767225600000000000)

static uintptr_t self_number(void)
{
    return explorer.running ? explorer.current + 1 : OUTSIDE;
}

static uintptr_t owner_of(const struct weiri_mutex *mutex)
{
    return atomic_load_explicit(&mutex->owner, memory_order_relaxed);
}

static void set_owner(struct weiri_mutex *mutex, uintptr_t owner)
{
    atomic_store_explicit(&mutex->owner, owner, memory_order_relaxed);
}

static void note_place(void)
{
    if (explorer.running) {
        explorer_self()->place = explorer_place;
    }
}

void weiri_panic(const char *file, int line, const char *what)
{
    explorer_fail("broken invariant at %s:%d: %s", file, line, what);
}

int64_t weiri_monotonic_now(void)
{
    return explorer.now_ns;
}

int64_t weiri_wall_now(void)
{
    return EPOCH_NS + explorer.now_ns;
}

int64_t weiri_boot_now(void)
{
    return explorer.now_ns;
}

uint64_t weiri_random_seed(void)
{
    return explorer_choose_seed();
}

void weiri_mutex_init(struct weiri_mutex *mutex)
{
    atomic_init(&mutex->owner, 0);
    explorer_object_begin(mutex, 'm');
}

void weiri_mutex_fini(struct weiri_mutex *mutex)
{
    if (owner_of(mutex) != 0) {
        explorer_fail("%s ends while it is held", explorer_object_name(mutex));
    }
    explorer_object_end(mutex);
    set_owner(mutex, DESTROYED); /* found by a thread that still takes it */
}

/* Takes the mutex once it is free. An unlock makes all waiting threads ready; the chooser decides
 * which of them comes first, and the others find it taken again. */
static void take(struct weiri_mutex *mutex)
{
    while (owner_of(mutex) != 0) {
        if (owner_of(mutex) == DESTROYED) {
            explorer_fail("a lock is taken after its end");
        }
        explorer_trace("waits for %s", explorer_object_name(mutex));
        explorer_block(EXPLORER_LOCKING, mutex, INT64_MAX);
    }
    set_owner(mutex, self_number());
    if (explorer.running) {
        explorer_self()->locks_held++;
    }
}

static void give(struct weiri_mutex *mutex)
{
    set_owner(mutex, 0);
    if (!explorer.running) {
        return;
    }
    explorer_self()->locks_held--;
    for (unsigned i = 0; i < explorer.count; i++) {
        if (explorer.threads[i].state == EXPLORER_LOCKING && explorer.threads[i].object == mutex) {
            explorer_wake(i);
        }
    }
}

void weiri_mutex_lock(struct weiri_mutex *mutex) WEIRI_NO_TSA
{
    note_place();
    WEIRI_ASSERT(owner_of(mutex) != self_number());
    explorer_point();
    take(mutex);
    explorer_trace("locks %s", explorer_object_name(mutex));
}

void weiri_mutex_unlock(struct weiri_mutex *mutex) WEIRI_NO_TSA
{
    note_place();
    weiri_mutex_assert_held(mutex);
    explorer_trace("unlocks %s", explorer_object_name(mutex));
    give(mutex);
    explorer_point();
}

void weiri_mutex_assert_held(struct weiri_mutex *mutex)
{
    WEIRI_ASSERT(owner_of(mutex) == self_number());
}

void weiri_cond_init(struct weiri_cond *cond, struct weiri_mutex *mutex)
{
    cond->mutex = mutex;
    explorer_object_begin(cond, 'c');
}

void weiri_cond_fini(struct weiri_cond *cond)
{
    for (unsigned i = 0; i < explorer.count; i++) {
        if (explorer.threads[i].state == EXPLORER_WAITING && explorer.threads[i].object == cond) {
            explorer_fail("%s ends while somebody sleeps on it", explorer_object_name(cond));
        }
    }
    explorer_object_end(cond);
    cond->mutex = NULL;
}

static struct weiri_mutex *mutex_of(struct weiri_cond *cond)
{
    if (cond->mutex == NULL) {
        explorer_fail("a condition is used after its end");
    }
    weiri_mutex_assert_held(cond->mutex);
    return cond->mutex;
}

bool weiri_cond_wait_until(struct weiri_cond *cond, int64_t limit_ns)
{
    note_place();
    struct weiri_mutex *mutex = mutex_of(cond);
    give(mutex);
    bool in_time = true;
    if (limit_ns <= explorer.now_ns) {
        explorer_trace("sleeps on %s until now", explorer_object_name(cond));
        in_time = false;
        explorer_point();
    } else if (explorer.spurious && explorer_choose_rare()) {
        explorer_trace("sleeps on %s and wakes for no reason", explorer_object_name(cond));
        explorer_point();
    } else {
        explorer_trace("sleeps on %s", explorer_object_name(cond));
        explorer_block(EXPLORER_WAITING, cond, limit_ns);
        in_time = !explorer_self()->timed_out;
    }
    take(mutex);
    explorer_trace("wakes%s, locks %s", in_time ? "" : " at its limit",
                   explorer_object_name(mutex));
    return in_time;
}

/* Without a limit: after a lost wake-up the thread stays asleep. */
void weiri_cond_wait(struct weiri_cond *cond)
{
    (void)weiri_cond_wait_until(cond, INT64_MAX);
}

static unsigned sleepers_on(const struct weiri_cond *cond, unsigned ret_indexes[])
{
    unsigned count = 0;
    for (unsigned i = 0; i < explorer.count; i++) {
        if (explorer.threads[i].state == EXPLORER_WAITING && explorer.threads[i].object == cond) {
            ret_indexes[count++] = i;
        }
    }
    return count;
}

void weiri_cond_signal(struct weiri_cond *cond)
{
    note_place();
    (void)mutex_of(cond);
    explorer_point();
    unsigned sleepers[EXPLORER_THREADS_MAX];
    unsigned count = sleepers_on(cond, sleepers);
    if (count == 0) {
        explorer_trace("signals %s, where nobody sleeps", explorer_object_name(cond));
        return;
    }
    /* Which of them wakes is not promised: the chooser says. */
    unsigned woken = sleepers[count > 1 ? explorer_choose_value(count) : 0];
    explorer_wake(woken);
    explorer_trace("signals %s: %s", explorer_object_name(cond), explorer.threads[woken].name);
}

void weiri_cond_broadcast(struct weiri_cond *cond)
{
    note_place();
    (void)mutex_of(cond);
    explorer_point();
    unsigned sleepers[EXPLORER_THREADS_MAX];
    unsigned count = sleepers_on(cond, sleepers);
    for (unsigned i = 0; i < count; i++) {
        explorer_wake(sleepers[i]);
    }
    explorer_trace("broadcasts %s: %u woken", explorer_object_name(cond), count);
}

enum weir_status weiri_thread_start(struct weiri_thread *thread, const char *name,
                                    void (*run)(void *arg), void *arg)
{
    if (!explorer.running) {
        explorer_fail("a thread is started outside of a schedule");
    }
    note_place();
    if (explorer.refuse_thread > 0 && --explorer.refuse_thread == 0) {
        explorer_trace("is refused a thread");
        return WEIR_ETHREAD;
    }
    thread->run = run;
    thread->arg = arg;
    (void)snprintf(thread->name, sizeof(thread->name), "%s", name);
    explorer_thread_add(thread, thread->name);
    explorer_trace("starts %s", thread->name);
    explorer_point();
    return WEIR_OK;
}

enum weir_status weiri_thread_start_open(struct weiri_thread *thread, const char *name,
                                         void (*run)(void *arg), void *arg)
{
    return weiri_thread_start(thread, name, run, arg);
}

uintptr_t weiri_thread_current(void)
{
    return self_number();
}

void weiri_thread_join(struct weiri_thread *thread)
{
    note_place();
    explorer_point();
    for (unsigned i = 0; i < explorer.count; i++) {
        struct explorer_thread *joined = &explorer.threads[i];
        if (joined->handle == thread) {
            if (joined->state != EXPLORER_ENDED) {
                explorer_trace("joins %s", thread->name);
                explorer_block(EXPLORER_JOINING, thread, INT64_MAX);
            }
            explorer_trace("has joined %s", thread->name);
            joined->handle = NULL;
            joined->name = "(joined)";
            return;
        }
    }
    explorer_fail("a thread is joined that does not run, or twice");
}

bool weiri_thread_is_self(const struct weiri_thread *thread)
{
    return explorer.running && explorer_self()->handle == thread;
}

void weiri_sync_point(void)
{
    note_place();
    explorer_point();
    explorer_trace("passes a point");
}
