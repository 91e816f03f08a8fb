/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_POOL_FIXTURE_H
#define WEIR_TEST_POOL_FIXTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <weir/clock.h>
#include <weir/context.h>
#include <weir/envelope.h>
#include <weir/lifecycle.h>
#include <weir/pool.h>

#include "base/sync.h"
#include "support/counter.h"
#include "support/harness.h"
#include "support/manual_clock.h"

/* What the tests of the pool share: a task that can be held up, and short ways to make pools and
 * envelopes. */

/* The payload of task_invoke(). A held task enters, then waits until it is let go once more. */
struct task {
    struct counter entered;
    struct counter allowed; /* runs that may leave */
    struct counter outcomes;
    struct counter released;
    bool is_held;
    int status;         /* what a run returns */
    atomic_int running; /* runs inside now */
    atomic_int last_status;
    int (*body)(weir_context *context, struct task *task); /* optional; its status is the run's */
    weir_pool *pool;                                       /* for bodies */
    weir_envelope *envelope;
    int64_t delay_ns;
};

static inline void task_init(struct task *task)
{
    *task = (struct task){.status = WEIR_OK};
    counter_init(&task->entered);
    counter_init(&task->allowed);
    counter_init(&task->outcomes);
    counter_init(&task->released);
}

static inline void task_fini(struct task *task)
{
    counter_fini(&task->entered);
    counter_fini(&task->allowed);
    counter_fini(&task->outcomes);
    counter_fini(&task->released);
}

static inline int task_invoke(weir_context *context, void *payload)
{
    struct task *task = payload;
    CHECK_INT(atomic_fetch_add(&task->running, 1), ==, 0); /* never two at once */
    counter_add(&task->entered, 1);
    int status = task->status;
    if (task->is_held) {
        counter_wait(&task->allowed, counter_value(&task->entered));
    }
    if (task->body != NULL) {
        status = task->body(context, task);
    }
    CHECK_INT(atomic_fetch_sub(&task->running, 1), ==, 1);
    return status;
}

static inline void task_outcome(weir_envelope *envelope, int status, void *payload)
{
    struct task *task = payload;
    CHECK(weir_envelope_payload(envelope) == payload);
    CHECK_INT(atomic_load(&task->running), ==, 0);
    atomic_store(&task->last_status, status);
    counter_add(&task->outcomes, 1);
}

static inline void task_release(void *payload)
{
    struct task *task = payload;
    counter_add(&task->released, 1);
}

/* How often a task has run, once that cannot change. */
static inline int task_runs(struct task *task)
{
    int runs = counter_value(&task->entered);
    CHECK_INT(counter_value(&task->outcomes), ==, runs);
    return runs;
}

static inline struct weir_envelope_options task_envelope(struct task *task)
{
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.payload = task;
    options.invoke = task_invoke;
    options.outcome = task_outcome;
    options.release = task_release;
    return options;
}

static inline weir_envelope *periodic_for(struct task *task, int64_t interval_ns)
{
    struct weir_envelope_options options = task_envelope(task);
    options.interval_ns = interval_ns;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    return envelope;
}

/* NULL where an allocation was made to fail. */
static inline weir_envelope *envelope_for(struct task *task, int64_t deadline_ns)
{
    struct weir_envelope_options options = task_envelope(task);
    options.deadline_ns = deadline_ns;
    weir_envelope *envelope = NULL;
    enum weir_status status = weir_envelope_new(&options, &envelope, NULL);
    return CHECK_OR_OOM(status) ? NULL : envelope;
}

/* NULL where an allocation was made to fail. clock NULL: the real one. */
static inline weir_pool *pool_with(size_t workers, size_t capacity, weir_clock *clock)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = workers;
    options.capacity = capacity;
    options.clock = clock;
    weir_pool *pool = NULL;
    enum weir_status status = weir_pool_new(&options, &pool, NULL);
    return CHECK_OR_OOM(status) ? NULL : pool;
}

/* Returns once the only worker of a pool has done what was queued before; that is one run more. */
static inline void pass_by(weir_pool *pool)
{
    struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    weir_envelope_unref(envelope);
    counter_wait(&task.released, 1);
    task_fini(&task);
}

static inline struct weir_pool_counts counts_of(weir_pool *pool)
{
    struct weir_pool_counts counts;
    CHECK_STATUS(weir_pool_count(pool, &counts), WEIR_OK);
    return counts;
}

/* Whether an envelope has ended without what was asked for: with runs that were not made, or
 * failed.
 */
static inline bool was_dropped(const struct weir_ended *ended)
{
    return ended->dropped > 0 || ended->reason == WEIR_ENDED_FAILED ||
           ended->reason == WEIR_ENDED_EXHAUSTED;
}

/* A call that ends a pool, on a thread of its own. */
struct ender {
    weir_pool *pool;
    enum weir_end_mode mode;
    enum weir_status status;
};

static inline void ender_run(void *arg)
{
    struct ender *ender = arg;
    ender->status = weir_pool_end(ender->pool, ender->mode, 0, WEIR_FOREVER);
}

/* A call that starts it. */
struct starter {
    weir_pool *pool;
    enum weir_status status;
};

static inline void starter_run(void *arg)
{
    struct starter *starter = arg;
    starter->status = weir_pool_start(starter->pool);
}

#endif
