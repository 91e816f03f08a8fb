/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_LOCK_H
#define WEIRI_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/panic.h"
#include "base/sync.h"
#include "base/thread_safety.h"

/* The lock of short critical sections: a mutex that costs one locked instruction where a pthread
 * mutex costs two, and none while one thread is its only user. There are no conditions for it;
 * sleep with base/park.h.
 *
 * Two fast paths, and their slow counterparts pay for both with a system call
 * (weiri_fence_all_threads()) that makes all other threads pass a fence. The proofs are in
 * docs/internals/locking.md.
 *
 * - A lock is biased to a thread: that thread enters by a plain store to inside and a look at bias.
 *   Another thread that comes takes word first, clears bias, fences all threads, and waits until
 *   inside is clear.
 * - A lock that is not biased is taken by an exchange of word and given back by a plain store. The
 *   first thread that must sleep for it counts itself in waiters, fences all threads, and then
 * tries once more: either it sees the free word, or the one who frees it sees waiters. From then on
 * the lock is plain: unlock has a fence of its own, for what is contended once will be again, and
 * to fence all threads each time would cost all of them dear.
 *
 * A lock starts biased to the thread that made it. After a revocation it is biased again only to a
 * thread that took it very often in a row, and that three times at most in its life. Each time
 * has a word of its own for inside: a thread that was about to enter by an earlier bias and comes
 * late writes only to the word of that one.
 *
 * Where the kernel cannot fence all threads, a lock is plain from the start. Under the schedule
 * explorer it is a weiri_mutex, but for the scenarios on the lock itself (WEIRI_LOCK_EXPLORED). */

#if defined(WEIRI_EXPLORER) && !defined(WEIRI_LOCK_EXPLORED)

struct WEIRI_CAPABILITY("mutex") weiri_lock {
    struct weiri_mutex mutex;
    bool is_open; /* set by a scenario: no thread's call begins as that of a biased one */
};

struct weiri_lock_bias {
    uint32_t number;
};

static inline struct weiri_lock_bias weiri_lock_own_bias(struct weiri_lock *lock)
{
    weiri_sync_point();
    return (struct weiri_lock_bias){lock->is_open ? 0 : 1};
}

static inline uint32_t weiri_lock_enter_by(struct weiri_lock *lock, struct weiri_lock_bias bias)
    WEIRI_NO_TSA
{
    weiri_mutex_lock(&lock->mutex);
    return bias.number;
}

static inline uint32_t weiri_lock_enter(struct weiri_lock *lock) WEIRI_NO_TSA
{
    return lock->is_open ? 0 : weiri_lock_enter_by(lock, (struct weiri_lock_bias){1});
}

static inline bool weiri_lock_has_entered(struct weiri_lock *lock, uint32_t entry)
    WEIRI_TRY_ACQUIRE(true, lock) WEIRI_NO_TSA
{
    (void)lock;
    return entry != 0;
}

static inline void weiri_lock_lock_after(struct weiri_lock *lock, uint32_t entry)
    WEIRI_ACQUIRE(lock) WEIRI_NO_TSA
{
    (void)entry;
    weiri_mutex_lock(&lock->mutex);
}

static inline void weiri_lock_lock(struct weiri_lock *lock) WEIRI_ACQUIRE(lock) WEIRI_NO_TSA
{
    weiri_mutex_lock(&lock->mutex);
}

static inline enum weir_status weiri_lock_leave(struct weiri_lock *lock, uint32_t entry)
    WEIRI_RELEASE(lock) WEIRI_NO_TSA
{
    (void)entry;
    weiri_mutex_unlock(&lock->mutex);
    return WEIR_OK;
}

static inline void weiri_lock_unlock(struct weiri_lock *lock) WEIRI_RELEASE(lock) WEIRI_NO_TSA
{
    weiri_mutex_unlock(&lock->mutex);
}

static inline bool weiri_lock_is_unseen(const struct weiri_lock *lock)
{
    (void)lock;
    return false;
}

static inline void weiri_lock_assert_held(struct weiri_lock *lock) WEIRI_ASSERT_CAPABILITY(lock)
    WEIRI_NO_TSA
{
    weiri_mutex_assert_held(&lock->mutex);
}

static inline bool weiri_lock_may_look(struct weiri_lock *lock)
{
    (void)lock;
    weiri_sync_point();
    return true; /* here every store is seen by all threads at once */
}

static inline void weiri_lock_fence(void)
{
}

static inline bool weiri_lock_is_open(struct weiri_lock *lock)
{
    return lock->is_open;
}

static inline uint64_t weiri_lock_thread(void)
{
    return *explorer_thread_word();
}

#else

#    define WEIRI_LOCK_BIASES 4u
/* Names of threads are multiples of this; a bias is its thread's name and, in the low bits, its
 * number, from 1. Bias and name together, by exclusive or, are that number where the bias is that
 * thread's; where it is not, or there is none, they are 0 or more than any number. */
#    define WEIRI_LOCK_NUMBERS 8u
/* In what weiri_lock_enter() returns: the bias of this number was lost meanwhile. */
#    define WEIRI_LOCK_LOST 8u

/* On its way to plain, a lock counts one waiter that does not exist, which sends every unlock to
 * weiri_lock_wake_waiter(), where the fence is. */
enum weiri_lock_plain {
    WEIRI_LOCK_FENCELESS = 0,
    WEIRI_LOCK_COUNTING, /* somebody is about to count that waiter */
    WEIRI_LOCK_FENCING,  /* it is counted, but unlockers may not see it yet */
    WEIRI_LOCK_PLAIN
};

/* What is read at each turn and hardly ever changes lies apart from what changes at each turn:
 * whoever only looks (weiri_lock_may_look) does not wait for the holders' cache line. */
#    define WEIRI_LOCK_APART 64

struct WEIRI_CAPABILITY("mutex") weiri_lock {
    _Atomic uint64_t bias;  /* the thread's name + number of the bias; 0: none */
    _Atomic uint32_t plain; /* enum weiri_lock_plain */
    _Atomic uint32_t open;  /* plain for good, and no biased thread is inside any more */
    char apart[WEIRI_LOCK_APART];
    _Atomic uint32_t inside[WEIRI_LOCK_BIASES]; /* by number: its thread is inside, or is looking */
    _Atomic uint32_t word;    /* 1: held, or waited for, by a thread that did not enter by bias */
    _Atomic uint32_t waiters; /* threads that sleep on turn, or are about to; and see plain */
    _Atomic uint32_t turn;    /* counts wake-ups */
    _Atomic uint32_t waking;  /* a woken waiter has not tried yet: no need to wake another one */
    _Atomic uint32_t passed_over; /* waiters that have tried often: who comes now looks no more */
    /* Guarded by the lock itself. */
    uint32_t entered_by; /* number of the bias its holder entered by; 0: by word */
    uint32_t biases;     /* given so far */
    uint32_t streak;     /* how often in a row the thread below took word */
    uint64_t last;       /* who took word last */
};

/* Names the calling thread and never another one; 0 until it first needs a name. */
#    ifndef WEIRI_LOCK_EXPLORED
/* initial-exec: read without a call, also in a shared library. */
extern _Thread_local uint64_t weiri_lock_self __attribute__((tls_model("initial-exec")));
#    endif

void weiri_lock_lock_slow(struct weiri_lock *lock);
void weiri_lock_back_out(struct weiri_lock *lock, uint32_t number);
/* Wakes whoever waits for this word of inside. WEIR_OK, always. */
enum weir_status weiri_lock_wake_revoker(_Atomic uint32_t *inside);
void weiri_lock_wake_waiter(struct weiri_lock *lock);
void weiri_lock_fence(void);

/* A bias as the thread that it is for found it. */
struct weiri_lock_bias {
    uint64_t found;
    uint32_t number;
};

/* The bias by which the caller may try to enter; its number is 0 where there is none. The caller
 * may then also look (weiri_lock_may_look). */
static inline struct weiri_lock_bias weiri_lock_own_bias(struct weiri_lock *lock)
{
    weiri_sync_point();
    uint64_t found = atomic_load_explicit(&lock->bias, memory_order_relaxed);
    uint64_t number = found ^ weiri_lock_self;
    atomic_signal_fence(memory_order_seq_cst); /* a revoker fences for both */
    return (struct weiri_lock_bias){found, number - 1 < WEIRI_LOCK_BIASES ? (uint32_t)number : 0};
}

/* Takes a lock by the caller's bias; weiri_lock_has_entered() of what it returns says whether it
 * did. If so, weiri_lock_leave() gives it back, or weiri_lock_unlock(), which has to look first; if
 * not, weiri_lock_lock_after() must follow. These are a lock and an unlock in parts, for functions
 * that would have to save registers for the call of the long way, and rather leave all that comes
 * then to another function. */
static inline uint32_t weiri_lock_enter_by(struct weiri_lock *lock, struct weiri_lock_bias bias)
    WEIRI_NO_TSA
{
    weiri_sync_point();
    atomic_store_explicit(&lock->inside[bias.number - 1], 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the revoker fences for both */
    weiri_sync_point();
    if (atomic_load_explicit(&lock->bias, memory_order_relaxed) != bias.found) {
        return WEIRI_LOCK_LOST + bias.number;
    }
    lock->entered_by = bias.number;
    return bias.number;
}

/* The same where the lock is biased to the caller; 0: it is not, and nothing was done. */
static inline uint32_t weiri_lock_enter(struct weiri_lock *lock) WEIRI_NO_TSA
{
    struct weiri_lock_bias bias = weiri_lock_own_bias(lock);
    return bias.number != 0 ? weiri_lock_enter_by(lock, bias) : 0;
}

static inline bool weiri_lock_has_entered(struct weiri_lock *lock, uint32_t entry)
    WEIRI_TRY_ACQUIRE(true, lock) WEIRI_NO_TSA
{
    (void)lock;
    return entry - 1 < WEIRI_LOCK_BIASES;
}

/* Takes a lock that was not entered. */
static inline void weiri_lock_lock_after(struct weiri_lock *lock, uint32_t entry)
    WEIRI_ACQUIRE(lock) WEIRI_NO_TSA
{
    if (entry > WEIRI_LOCK_LOST) {
        weiri_lock_back_out(lock, entry - WEIRI_LOCK_LOST);
    }
    weiri_lock_lock_slow(lock);
}

static inline void weiri_lock_lock(struct weiri_lock *lock) WEIRI_ACQUIRE(lock) WEIRI_NO_TSA
{
    uint32_t entry = weiri_lock_enter(lock);
    if (!weiri_lock_has_entered(lock, entry)) {
        weiri_lock_lock_after(lock, entry);
    }
}

/* Gives back a lock that was entered. WEIR_OK, always: so a call that ends with this needs no frame
 * for the long way. */
static inline enum weir_status weiri_lock_leave(struct weiri_lock *lock, uint32_t entry)
    WEIRI_RELEASE(lock) WEIRI_NO_TSA
{
    weiri_sync_point();
    _Atomic uint32_t *inside = &lock->inside[entry - 1];
    atomic_store_explicit(inside, 0, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst); /* the revoker fences for both */
    weiri_sync_point();
    if (atomic_load_explicit(&lock->bias, memory_order_relaxed) == 0) {
        return weiri_lock_wake_revoker(inside);
    }
    return WEIR_OK;
}

static inline void weiri_lock_unlock(struct weiri_lock *lock) WEIRI_RELEASE(lock) WEIRI_NO_TSA
{
    if (lock->entered_by != 0) {
        (void)weiri_lock_leave(lock, lock->entered_by);
        return;
    }
    weiri_sync_point();
    atomic_store_explicit(&lock->word, 0, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst); /* the waiter fences for both */
    weiri_sync_point();
    if (atomic_load_explicit(&lock->waiters, memory_order_relaxed) != 0) {
        weiri_lock_wake_waiter(lock);
    }
}

/* Whether the caller, who holds the lock, entered by its bias: then nobody else may look
 * (weiri_lock_may_look) before it has left. */
static inline bool weiri_lock_is_unseen(const struct weiri_lock *lock)
{
    return lock->entered_by != 0;
}

/* Whether the caller, who does not hold the lock, may load an atomic that is only changed under it
 * and take what it finds for the state of that moment. Then two threads cannot miss each other:
 * where the load finds the value before a change, whoever made that change sees, once it has given
 * the lock back, all that the caller stored before. False: take the lock. */
static inline bool weiri_lock_may_look(struct weiri_lock *lock)
{
    weiri_sync_point();
    if (atomic_load_explicit(&lock->open, memory_order_acquire) != 0) {
        weiri_lock_fence(); /* every unlock has its own */
        return true;
    }
    return weiri_lock_own_bias(lock).number != 0;
}

/* Whether every unlock fences, and will for ever. Who fences itself may then look, as above. */
static inline bool weiri_lock_is_open(struct weiri_lock *lock)
{
    weiri_sync_point();
    return atomic_load_explicit(&lock->open, memory_order_acquire) != 0;
}

/* A number of the calling thread; 0 until it has first had to wait for a lock, or made one. */
static inline uint64_t weiri_lock_thread(void)
{
    return weiri_lock_self / WEIRI_LOCK_NUMBERS;
}

/* Panics unless somebody holds the lock, or is about to. */
static inline void weiri_lock_assert_held(struct weiri_lock *lock) WEIRI_ASSERT_CAPABILITY(lock)
    WEIRI_NO_TSA
{
    uint32_t marks = atomic_load_explicit(&lock->word, memory_order_relaxed);
    for (uint32_t i = 0; i < WEIRI_LOCK_BIASES; i++) {
        marks |= atomic_load_explicit(&lock->inside[i], memory_order_relaxed);
    }
    WEIRI_ASSERT(marks != 0);
}

#endif

/* may_fence: whether to use the fast paths where the kernel allows them; false is for tests of what
 * happens where it does not. WEIR_ENOMEM: no resources. */
WEIR_NODISCARD enum weir_status weiri_lock_init(struct weiri_lock *lock, bool may_fence);
/* Locks made from now on are plain from the start (weir/sandbox.h). */
void weiri_lock_forgo_fences(void);
void weiri_lock_fini(struct weiri_lock *lock);

#endif
