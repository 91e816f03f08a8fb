/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_TOY_H
#define WEIR_TEST_TOY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sync.h"
#include "base/time.h"

#include "support/harness.h"

/* A de-duplicating queue with delays and a drain, as small as it can be, and the bugs that people
 * write into such queues. planted_test.c shows that the explorer finds each of them. */

enum toy_bug {
    TOY_CORRECT,
    TOY_NO_SIGNAL,            /* add forgets to wake a consumer */
    TOY_IF_FOR_WHILE,         /* a woken consumer does not look again whether there is something */
    TOY_SIGNAL_FIRST,         /* add wakes a consumer, and only then puts the item in */
    TOY_SIGNAL_WHEN_EMPTY,    /* add wakes a consumer only where the queue was empty */
    TOY_LATE_CLEAR,           /* the dirty mark is cleared by done, in place of get */
    TOY_PROCESSING_FORGOTTEN, /* add queues an item that is being processed */
    TOY_DIRTY_DROPPED,        /* done forgets that the item was added again */
    TOY_DRAIN_SIGNAL,         /* the end of a drain wakes one drainer in place of all */
    TOY_LOCK_ORDER,           /* add and drain take two locks in different orders */
    TOY_TIMER_NOT_REARMED,    /* add_after wakes nobody where a later time is waited for */
    TOY_FLAG_OUTSIDE,         /* add looks for the drain before it takes the lock */
    TOY_CHECK_THEN_ACT,       /* the capacity is checked, then taken, in two steps */
    TOY_LOST_UPDATE,          /* a count is read and written in two steps */
    TOY_BUGS
};

#define TOY_KEYS 3
#define TOY_CAPACITY 2

struct toy {
    enum toy_bug bug;
    struct weiri_mutex mutex;
    struct weiri_cond ready;
    struct weiri_cond drained;
    struct weiri_mutex totals_mutex; /* taken while the mutex is held, never the other way round */
    int total;                       /* guarded by totals_mutex */
    /* Guarded by the mutex. */
    int order[TOY_KEYS + 1]; /* one more than can be queued at once by right */
    int length;
    int processing_count;
    bool dirty[TOY_KEYS];
    bool processing[TOY_KEYS];
    int64_t due[TOY_KEYS]; /* 0: not waiting */
    bool draining;

    atomic_int slots;   /* places taken, at most TOY_CAPACITY */
    atomic_int handled; /* dones, ever */
};

static inline void toy_init(struct toy *toy, enum toy_bug bug)
{
    *toy = (struct toy){.bug = bug};
    weiri_mutex_init(&toy->mutex);
    weiri_mutex_init(&toy->totals_mutex);
    weiri_cond_init(&toy->ready, &toy->mutex);
    weiri_cond_init(&toy->drained, &toy->mutex);
}

static inline void toy_fini(struct toy *toy)
{
    weiri_cond_fini(&toy->drained);
    weiri_cond_fini(&toy->ready);
    weiri_mutex_fini(&toy->totals_mutex);
    weiri_mutex_fini(&toy->mutex);
}

static inline void toy_push_locked(struct toy *toy, int key)
{
    CHECK_INT(toy->length, <=, TOY_KEYS);
    toy->order[toy->length++] = key;
}

static inline void toy_add_locked(struct toy *toy, int key)
{
    bool was_empty = toy->length == 0;
    if (toy->dirty[key]) {
        return;
    }
    toy->dirty[key] = true;
    if (toy->processing[key] && toy->bug != TOY_PROCESSING_FORGOTTEN) {
        return;
    }
    toy_push_locked(toy, key);
    if (toy->bug == TOY_NO_SIGNAL || toy->bug == TOY_SIGNAL_FIRST ||
        (toy->bug == TOY_SIGNAL_WHEN_EMPTY && !was_empty)) {
        return;
    }
    weiri_cond_signal(&toy->ready);
}

static inline void toy_count_add(struct toy *toy)
{
    weiri_mutex_lock(&toy->totals_mutex);
    toy->total++;
    weiri_mutex_unlock(&toy->totals_mutex);
}

/* False: a drain has begun. */
static inline bool toy_add(struct toy *toy, int key)
{
    bool refused = false;
    if (toy->bug == TOY_FLAG_OUTSIDE) {
        weiri_sync_point();
        refused = toy->draining;
    }
    if (toy->bug == TOY_SIGNAL_FIRST) {
        weiri_mutex_lock(&toy->mutex);
        weiri_cond_signal(&toy->ready);
        weiri_mutex_unlock(&toy->mutex);
    }
    weiri_mutex_lock(&toy->mutex);
    if (toy->bug != TOY_FLAG_OUTSIDE) {
        refused = toy->draining;
    }
    if (!refused) {
        toy_add_locked(toy, key);
        toy_count_add(toy);
    }
    weiri_mutex_unlock(&toy->mutex);
    return !refused;
}

static inline int64_t toy_earliest_locked(const struct toy *toy)
{
    int64_t earliest = INT64_MAX;
    for (int key = 0; key < TOY_KEYS; key++) {
        if (toy->due[key] != 0 && toy->due[key] < earliest) {
            earliest = toy->due[key];
        }
    }
    return earliest;
}

static inline void toy_add_after(struct toy *toy, int key, int64_t delay_ns)
{
    weiri_mutex_lock(&toy->mutex);
    int64_t before = toy_earliest_locked(toy);
    int64_t due = weiri_monotonic_now() + delay_ns;
    if (toy->due[key] == 0 || due < toy->due[key]) {
        toy->due[key] = due;
    }
    bool armed = toy->bug == TOY_TIMER_NOT_REARMED && before != INT64_MAX;
    if (due < before && !armed) {
        weiri_cond_signal(&toy->ready);
    }
    weiri_mutex_unlock(&toy->mutex);
}

static inline void toy_release_due_locked(struct toy *toy)
{
    int64_t now = weiri_monotonic_now();
    for (int key = 0; key < TOY_KEYS; key++) {
        if (toy->due[key] != 0 && toy->due[key] <= now) {
            toy->due[key] = 0;
            toy_add_locked(toy, key);
        }
    }
}

static inline bool toy_must_wait_locked(struct toy *toy)
{
    toy_release_due_locked(toy);
    return toy->length == 0 && !toy->draining;
}

/* -1: a drain has begun and nothing is left. */
static inline int toy_get(struct toy *toy)
{
    weiri_mutex_lock(&toy->mutex);
    if (toy->bug == TOY_IF_FOR_WHILE) {
        if (toy_must_wait_locked(toy)) {
            (void)weiri_cond_wait_until(&toy->ready, toy_earliest_locked(toy));
        }
    }
    while (toy->bug != TOY_IF_FOR_WHILE && toy_must_wait_locked(toy)) {
        (void)weiri_cond_wait_until(&toy->ready, toy_earliest_locked(toy));
    }
    int key = -1;
    if (toy->length > 0) {
        key = toy->order[0];
        for (int i = 1; i < toy->length; i++) {
            toy->order[i - 1] = toy->order[i];
        }
        toy->length--;
        toy->processing[key] = true;
        toy->processing_count++;
        if (toy->bug != TOY_LATE_CLEAR) {
            toy->dirty[key] = false;
        }
    }
    weiri_mutex_unlock(&toy->mutex);
    return key;
}

static inline void toy_done(struct toy *toy, int key)
{
    weiri_mutex_lock(&toy->mutex);
    toy->processing[key] = false;
    toy->processing_count--;
    if (toy->bug == TOY_LATE_CLEAR) {
        toy->dirty[key] = false;
    }
    if (toy->dirty[key] && toy->bug != TOY_DIRTY_DROPPED) {
        toy_push_locked(toy, key);
        weiri_cond_signal(&toy->ready);
    }
    if (toy->length == 0 && toy->processing_count == 0) {
        if (toy->bug == TOY_DRAIN_SIGNAL) {
            weiri_cond_signal(&toy->drained);
        } else {
            weiri_cond_broadcast(&toy->drained);
        }
    }
    weiri_mutex_unlock(&toy->mutex);
}

/* Returns once nothing is queued or processed any more, and consumers have been told. */
static inline void toy_drain(struct toy *toy) WEIRI_NO_TSA
{
    if (toy->bug == TOY_LOCK_ORDER) {
        weiri_mutex_lock(&toy->totals_mutex);
    }
    weiri_mutex_lock(&toy->mutex);
    toy->draining = true;
    weiri_cond_broadcast(&toy->ready);
    if (toy->bug == TOY_LOCK_ORDER) {
        weiri_mutex_unlock(&toy->totals_mutex);
    }
    while (toy->length > 0 || toy->processing_count > 0) {
        weiri_cond_wait(&toy->drained);
    }
    weiri_mutex_unlock(&toy->mutex);
}

/* Takes a place; false where all are taken. */
static inline bool toy_take_slot(struct toy *toy)
{
    weiri_sync_point();
    int taken = atomic_load(&toy->slots);
    do {
        if (taken >= TOY_CAPACITY) {
            return false;
        }
        weiri_sync_point();
        if (toy->bug == TOY_CHECK_THEN_ACT) {
            (void)atomic_fetch_add(&toy->slots, 1);
            return true;
        }
    } while (!atomic_compare_exchange_strong(&toy->slots, &taken, taken + 1));
    return true;
}

static inline void toy_give_slot(struct toy *toy)
{
    weiri_sync_point();
    (void)atomic_fetch_sub(&toy->slots, 1);
}

static inline void toy_count_handled(struct toy *toy)
{
    weiri_sync_point();
    if (toy->bug == TOY_LOST_UPDATE) {
        int count = atomic_load(&toy->handled);
        weiri_sync_point();
        atomic_store(&toy->handled, count + 1);
    } else {
        (void)atomic_fetch_add(&toy->handled, 1);
    }
}

#endif
