/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_COUNTER_H
#define WEIR_TEST_COUNTER_H

#include "base/sync.h"
#include "support/harness.h"

/* A number that only grows. Threads can wait until it has a value. */
struct counter {
    struct weiri_mutex mutex;
    struct weiri_cond grown;
    int value;
};

static inline void counter_init(struct counter *counter)
{
    weiri_mutex_init(&counter->mutex);
    weiri_cond_init(&counter->grown, &counter->mutex);
    counter->value = 0;
}

static inline void counter_fini(struct counter *counter)
{
    weiri_cond_fini(&counter->grown);
    weiri_mutex_fini(&counter->mutex);
}

static inline void counter_add(struct counter *counter, int more)
{
    weiri_mutex_lock(&counter->mutex);
    counter->value += more;
    weiri_cond_broadcast(&counter->grown);
    weiri_mutex_unlock(&counter->mutex);
}

static inline void counter_wait(struct counter *counter, int value)
{
    weiri_mutex_lock(&counter->mutex);
    while (counter->value < value) {
        weiri_cond_wait(&counter->grown);
    }
    weiri_mutex_unlock(&counter->mutex);
}

static inline int counter_value(struct counter *counter)
{
    weiri_mutex_lock(&counter->mutex);
    int value = counter->value;
    weiri_mutex_unlock(&counter->mutex);
    return value;
}

#endif
