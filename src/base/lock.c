/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/lock.h"

#if defined(WEIRI_EXPLORER) && !defined(WEIRI_LOCK_EXPLORED)

enum weir_status weiri_lock_init(struct weiri_lock *lock, bool may_fence)
{
    (void)may_fence;
    lock->is_open = false;
    return weiri_mutex_init(&lock->mutex);
}

void weiri_lock_fini(struct weiri_lock *lock)
{
    weiri_mutex_fini(&lock->mutex);
}

void weiri_lock_forgo_fences(void)
{
}

#else

#    include "base/futex.h"
#    include "base/processors.h"

#    ifdef WEIRI_LOCK_EXPLORED
#        define STREAK_FIRST 2 /* every path within few steps */
#        define LOOKS 1
#        define PAUSES_MIN 1
#        define PAUSES_MAX 1
#        define TRIES_IN_TURN 1
#    else
#        define STREAK_FIRST 256
/* Of a thread that waits awake: how often it looks, and the pauses before a look, each time twice
 * as many. In all some twenty microseconds, which is what a sleep and its end would cost. */
#        define LOOKS 7
#        define PAUSES_MIN 8
#        define PAUSES_MAX 256
/* Tries after which a waiter counts as passed over: more than come in a storm of short calls. */
#        define TRIES_IN_TURN 64
_Thread_local uint64_t weiri_lock_self;
#    endif

/* Whether the kernel can fence all threads: 0 unknown, 1 no, 2 yes. */
static _Atomic int fence_support;

static bool can_fence(void)
{
    int support = atomic_load_explicit(&fence_support, memory_order_relaxed);
    if (support == 0) {
        int found = weiri_fence_all_threads_init() ? 2 : 1;
        /* Fails where it was forgone meanwhile. */
        if (atomic_compare_exchange_strong_explicit(&fence_support, &support, found,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            support = found;
        }
    }
    return support == 2;
}

void weiri_lock_forgo_fences(void)
{
    atomic_store_explicit(&fence_support, 1, memory_order_relaxed);
}

static uint64_t name_self(void)
{
    static _Atomic uint64_t last_name;
    if (weiri_lock_self == 0) {
        weiri_lock_self =
            atomic_fetch_add_explicit(&last_name, WEIRI_LOCK_NUMBERS, memory_order_relaxed) +
            WEIRI_LOCK_NUMBERS;
    }
    return weiri_lock_self;
}

/* Waits awake before the next look, and longer before the one after it. A look takes the cache line
 * away from the holder, and so does each hand-over; let alone, one thread makes a burst of calls in
 * the time that two hand-overs take. */
static void back_off(int *pauses)
{
    for (int i = 0; i < *pauses; i++) {
        weiri_pause();
    }
    *pauses = *pauses < PAUSES_MAX ? *pauses * 2 : PAUSES_MAX;
}

enum weir_status weiri_lock_init(struct weiri_lock *lock, bool may_fence)
{
    bool is_fast = may_fence && can_fence();
    atomic_init(&lock->bias, is_fast ? name_self() + 1 : 0);
    for (uint32_t i = 0; i < WEIRI_LOCK_BIASES; i++) {
        atomic_init(&lock->inside[i], 0);
    }
    atomic_init(&lock->word, 0);
    atomic_init(&lock->waiters, is_fast ? 0 : 1);
    atomic_init(&lock->turn, 0);
    atomic_init(&lock->waking, 0);
    atomic_init(&lock->passed_over, 0);
    atomic_init(&lock->plain, is_fast ? WEIRI_LOCK_FENCELESS : WEIRI_LOCK_PLAIN);
    atomic_init(&lock->open, is_fast ? 0 : 1);
    lock->entered_by = 0;
    lock->biases = is_fast ? 1 : WEIRI_LOCK_BIASES;
    lock->streak = 0;
    lock->last = 0;
    return WEIR_OK;
}

void weiri_lock_fini(struct weiri_lock *lock)
{
    WEIRI_ASSERT(atomic_load_explicit(&lock->word, memory_order_relaxed) == 0);
}

/* A waiter that is woken comes too late wherever the lock is taken again at once. Whoever would do
 * that leaves one that was passed over the time to come, and then sleeps like others: there word
 * is tried whatever passed_over says, so that nobody's wake-up hangs on it. */
static bool try_word(struct weiri_lock *lock)
{
    weiri_sync_point();
    return atomic_load_explicit(&lock->passed_over, memory_order_relaxed) == 0 &&
           atomic_load_explicit(&lock->word, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(&lock->word, 1, memory_order_seq_cst) == 0;
}

/* Makes sure that whoever frees word from here on sees waiters. */
static void make_plain(struct weiri_lock *lock)
{
    weiri_sync_point();
    uint32_t was = WEIRI_LOCK_FENCELESS;
    if (atomic_compare_exchange_strong_explicit(&lock->plain, &was, WEIRI_LOCK_COUNTING,
                                                memory_order_seq_cst, memory_order_seq_cst)) {
        weiri_sync_point();
        (void)atomic_fetch_add_explicit(&lock->waiters, 1, memory_order_seq_cst);
        weiri_sync_point();
        atomic_store_explicit(&lock->plain, WEIRI_LOCK_FENCING, memory_order_seq_cst);
        weiri_fence_all_threads();
        weiri_sync_point();
        atomic_store_explicit(&lock->plain, WEIRI_LOCK_PLAIN, memory_order_seq_cst);
    } else if (was != WEIRI_LOCK_PLAIN) {
        weiri_fence_all_threads(); /* not finished by whoever began it: fence for ourselves */
    }
}

static void sleep_for_word(struct weiri_lock *lock)
{
    weiri_sync_point();
    (void)atomic_fetch_add_explicit(&lock->waiters, 1, memory_order_seq_cst);
    make_plain(lock);
    uint32_t tries = 0;
    for (;;) {
        /* In this order, because a holder that leaves after our try looks at waking and then
         * changes turn: either it finds waking clear and wakes us, or whoever set it again since
         * has changed turn, and we do not sleep. */
        weiri_sync_point();
        uint32_t turn = atomic_load_explicit(&lock->turn, memory_order_seq_cst);
        weiri_sync_point();
        atomic_store_explicit(&lock->waking, 0, memory_order_seq_cst);
        weiri_sync_point();
        if (atomic_exchange_explicit(&lock->word, 1, memory_order_seq_cst) == 0) {
            break;
        }
        if (++tries == TRIES_IN_TURN) {
            weiri_sync_point();
            (void)atomic_fetch_add_explicit(&lock->passed_over, 1, memory_order_relaxed);
        }
        (void)weiri_futex_wait(&lock->turn, turn, INT64_MAX);
    }
    if (tries >= TRIES_IN_TURN) {
        weiri_sync_point();
        (void)atomic_fetch_sub_explicit(&lock->passed_over, 1, memory_order_relaxed);
    }
    (void)atomic_fetch_sub_explicit(&lock->waiters, 1, memory_order_relaxed);
}

static void take_word(struct weiri_lock *lock)
{
    int pauses = PAUSES_MIN;
    for (int i = 0; i < LOOKS; i++) {
        if (try_word(lock)) {
            return;
        }
        back_off(&pauses);
    }
    sleep_for_word(lock);
}

/* Called with word taken: turns the biased thread into one like the others. */
static void revoke(struct weiri_lock *lock, uint32_t number)
{
    atomic_store_explicit(&lock->bias, 0, memory_order_relaxed);
    weiri_fence_all_threads(); /* from here on, either inside is seen here or the bias's end there
                                */
    weiri_sync_point();
    int pauses = PAUSES_MIN;
    for (int i = 0; atomic_load_explicit(&lock->inside[number - 1], memory_order_acquire) != 0;
         i++) {
        if (i < LOOKS) {
            back_off(&pauses);
        } else {
            (void)weiri_futex_wait(&lock->inside[number - 1], 1, INT64_MAX);
        }
        weiri_sync_point();
    }
}

/* Called with word taken and no bias left, by the first to find the lock plain: all who entered by
 * a bias have left, none will enter by one again, and whoever comes by word sees waiters and
 * fences. */
static void open_to_looks(struct weiri_lock *lock)
{
    weiri_sync_point();
    if (atomic_load_explicit(&lock->open, memory_order_relaxed) == 0 &&
        atomic_load_explicit(&lock->plain, memory_order_acquire) == WEIRI_LOCK_PLAIN) {
        atomic_store_explicit(&lock->open, 1, memory_order_release);
    }
}

/* Biases the lock to a thread that has held it often in a row, longer each time. */
static void count_streak(struct weiri_lock *lock, uint64_t self)
{
    if (lock->last != self) {
        lock->last = self;
        lock->streak = 0;
    } else if (lock->biases < WEIRI_LOCK_BIASES &&
               atomic_load_explicit(&lock->plain, memory_order_relaxed) == WEIRI_LOCK_FENCELESS &&
               ++lock->streak >= (uint32_t)STREAK_FIRST << (4 * (lock->biases - 1))) {
        lock->streak = 0;
        lock->biases++;
        atomic_store_explicit(&lock->bias, self + lock->biases, memory_order_relaxed);
    }
}

void weiri_lock_lock_slow(struct weiri_lock *lock)
{
    uint64_t self = name_self();
    take_word(lock);
    uint64_t bias = atomic_load_explicit(&lock->bias, memory_order_relaxed);
    if (bias != 0) {
        revoke(lock, (uint32_t)(bias % WEIRI_LOCK_NUMBERS));
    }
    open_to_looks(lock);
    lock->entered_by = 0;
    count_streak(lock, self);
}

enum weir_status weiri_lock_wake_revoker(_Atomic uint32_t *inside)
{
    weiri_futex_wake(inside, 1);
    return WEIR_OK;
}

/* The bias was lost between the two looks at it. */
void weiri_lock_back_out(struct weiri_lock *lock, uint32_t number)
{
    weiri_sync_point();
    atomic_store_explicit(&lock->inside[number - 1], 0, memory_order_release);
    (void)weiri_lock_wake_revoker(&lock->inside[number - 1]);
}

/* gcc warns that its thread sanitizer does not model fences. It need not: all that it must see of
 * this lock is ordered by acquire and release besides. */
#    if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#        pragma GCC diagnostic ignored "-Wtsan"
#    endif

void weiri_lock_fence(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

void weiri_lock_wake_waiter(struct weiri_lock *lock)
{
    weiri_lock_fence();
    uint32_t plain = atomic_load_explicit(&lock->plain, memory_order_acquire);
    uint32_t nobody = plain >= WEIRI_LOCK_FENCING ? 1 : 0;
    weiri_sync_point();
    if (atomic_load_explicit(&lock->waiters, memory_order_relaxed) == nobody) {
        return;
    }
    weiri_sync_point();
    if (atomic_exchange_explicit(&lock->waking, 1, memory_order_seq_cst) == 0) {
        weiri_sync_point();
        (void)atomic_fetch_add_explicit(&lock->turn, 1, memory_order_seq_cst);
        weiri_futex_wake(&lock->turn, 1);
    }
}

#endif
