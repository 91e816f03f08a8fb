/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What the functions that a pool calls may call in turn. */

#include <weir/lifecycle.h>
#include <weir/scope.h>

#include "pool/crew.h"

/* What a ended function does, on whichever thread it is called. */
struct caller {
    weir_pool *pool;
    weir_scope *scope;
    weir_envelope *envelope;
    atomic_int calls;
    atomic_int ends;
    enum weir_status status; /* of the first call */
};

/* The pool waits for the caller, so calls that wait for the pool are refused. */
static void check_waits_refused(weir_pool *pool)
{
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_free(pool), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_pause(pool, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_wait_idle(pool, WEIR_FOREVER), WEIR_ESTATE);
}

static void call_all(const struct weir_ended *ended, void *arg)
{
    struct caller *caller = arg;
    weir_envelope *envelope = ended->envelope;
    weir_pool *pool = caller->pool;
    (void)atomic_fetch_add(&caller->calls, 1);
    CHECK_INT(weir_pool_state(pool), ==, WEIR_POOL_STATE_STOPPING);
    check_waits_refused(pool);
    CHECK_STATUS(weir_pool_start(pool), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_pool_cancel(pool, envelope, 0, NULL), WEIR_OK);
    CHECK_INT(counts_of(pool).running, ==, 0);
    enum weir_status status = weir_pool_resize(pool, 2);
    CHECK(status == WEIR_OK || status == WEIR_ESTATE);
    status = weir_pool_pause(pool, 0);
    CHECK(status == WEIR_OK || status == WEIR_ESTATE);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    weir_scope_cancel(caller->scope);
}

/* A pool that does not run holds an envelope, which the end of it drops. */
static void drop_idle(struct caller *caller, bool was_started)
{
    struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.ended = call_all;
    options.ended_arg = caller;
    options.scope = caller->scope;
    CHECK_STATUS(weir_pool_new(&options, &caller->pool, NULL), WEIR_OK);
    if (was_started) {
        CHECK_STATUS(weir_pool_start(caller->pool), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_send_after(caller->pool, envelope, WEIR_SECONDS(3600)), WEIR_OK);
    if (was_started) {
        CHECK_STATUS(weir_pool_end(caller->pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER),
                     WEIR_OK);
        CHECK_STATUS(weir_pool_end(caller->pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(weir_pool_state(caller->pool), ==, WEIR_POOL_STATE_STOPPED);
    } else {
        CHECK_STATUS(weir_pool_end(caller->pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(weir_pool_state(caller->pool), ==, WEIR_POOL_STATE_TERMINATED);
    }
    CHECK_INT(atomic_load(&caller->calls), ==, 1);
    weir_pool_free(caller->pool);
    CHECK_INT(atomic_load(&caller->calls), ==, 1);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}

TEST(ended_idle, "the ended function of a pool that does not run may call it, and end it too")
{
    for (int was_started = 0; was_started < 2; was_started++) {
        struct caller caller = {.calls = 0};
        CHECK_STATUS(weir_scope_new(test_allocator(), &caller.scope), WEIR_OK);
        drop_idle(&caller, was_started != 0);
        weir_scope_free(caller.scope);
    }
}

static void refuse_waits(const struct weir_ended *ended, void *arg)
{
    struct caller *caller = arg;
    check_waits_refused(ended->pool);
    caller->status = weir_pool_start(ended->pool);
    (void)atomic_fetch_add(&caller->calls, 1);
}

/* The thread that cancels or displaces is none of the pool's. */
TEST(ended_waits, "what waits for the pool is refused in its ended function, on any thread")
{
    struct task task;
    task_init(&task);
    weir_envelope *first = envelope_for(&task, 0);
    weir_envelope *second = envelope_for(&task, 0);
    struct caller caller = {.calls = 0};
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.capacity = 1;
    options.when_full = WEIR_FULL_DROP_OLDEST;
    options.ended = refuse_waits;
    options.ended_arg = &caller;
    CHECK_STATUS(weir_pool_new(&options, &caller.pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(caller.pool, first), WEIR_OK);
    CHECK_STATUS(weir_pool_pause(caller.pool, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_send(caller.pool, second), WEIR_OK);
    CHECK_INT(atomic_load(&caller.calls), ==, 1);
    CHECK_STATUS(caller.status, WEIR_OK); /* nothing is to be waited for */
    CHECK_STATUS(weir_pool_cancel(caller.pool, second, 0, NULL), WEIR_OK);
    CHECK_INT(atomic_load(&caller.calls), ==, 2);
    CHECK_STATUS(caller.status, WEIR_ESTATE); /* it runs */
    CHECK_STATUS(weir_pool_free(caller.pool), WEIR_OK);
    weir_envelope_unref(first);
    weir_envelope_unref(second);
    task_fini(&task);
}

/* On the thread of whoever starts, pauses or ends the pool, or of its last worker. */
static void call_from_log(enum weir_log_level level, const char *message, void *arg)
{
    struct caller *caller = arg;
    CHECK(level != WEIR_LOG_ERROR && message != NULL);
    check_waits_refused(caller->pool);
    CHECK_STATUS(weir_pool_start(caller->pool), WEIR_ESTATE);
    if (weir_pool_state(caller->pool) == WEIR_POOL_STATE_STOPPING) { /* else it would log too */
        CHECK_STATUS(weir_pool_resize(caller->pool, 1), WEIR_OK);
    }
    (void)atomic_fetch_add(&caller->calls, 1);
}

TEST(log_waits, "what waits for the pool is refused in its log function, on any thread")
{
    for (int is_busy = 0; is_busy < 2; is_busy++) {
        struct task task;
        task_init(&task);
        weir_envelope *envelope = envelope_for(&task, 0);
        struct caller caller = {.calls = 0};
        struct weir_pool_options options = {0};
        options.allocator = *test_allocator();
        options.workers = 1;
        options.log = call_from_log;
        options.log_arg = &caller;
        CHECK_STATUS(weir_pool_new(&options, &caller.pool, NULL), WEIR_OK);
        CHECK_STATUS(weir_pool_start(caller.pool), WEIR_OK);
        CHECK_STATUS(weir_pool_pause(caller.pool, 0), WEIR_OK);
        CHECK_STATUS(weir_pool_resume(caller.pool), WEIR_OK);
        CHECK_INT(atomic_load(&caller.calls), ==, 3);
        if (is_busy) {
            CHECK_STATUS(weir_pool_send(caller.pool, envelope), WEIR_OK);
        }
        CHECK_STATUS(weir_pool_end(caller.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(atomic_load(&caller.calls), ==, 4);
        CHECK_STATUS(weir_pool_free(caller.pool), WEIR_OK);
        weir_envelope_unref(envelope);
        task_fini(&task);
    }
}

static void cancel_from_log(enum weir_log_level level, const char *message, void *arg)
{
    struct caller *caller = arg;
    CHECK(level == WEIR_LOG_INFO && message != NULL);
    if (atomic_fetch_add(&caller->calls, 1) == 0) {
        CHECK_STATUS(weir_pool_cancel(caller->pool, caller->envelope, 0, NULL), WEIR_OK);
    }
}

static void count_end(const struct weir_ended *ended, void *arg)
{
    struct caller *caller = arg;
    CHECK_INT(ended->reason, ==, WEIR_ENDED_CANCELED);
    (void)atomic_fetch_add(&caller->ends, 1);
}

TEST(log_ends, "what a log function cancels is told of before the call that logged returns")
{
    struct task task;
    task_init(&task);
    struct caller caller = {.envelope = envelope_for(&task, 0)};
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.log = cancel_from_log;
    options.log_arg = &caller;
    options.ended = count_end;
    options.ended_arg = &caller;
    CHECK_STATUS(weir_pool_new(&options, &caller.pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(caller.pool, caller.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_pause(caller.pool, 0), WEIR_OK);
    CHECK_INT(atomic_load(&caller.calls), ==, 1);
    CHECK_INT(atomic_load(&caller.ends), ==, 1);
    CHECK_STATUS(weir_pool_free(caller.pool), WEIR_OK);
    weir_envelope_unref(caller.envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}

/* Called by a worker that a resize has sent away, and that has not left yet. */
static void grow(const struct weir_ended *ended, void *arg)
{
    struct caller *caller = arg;
    CHECK(ended->envelope != NULL);
    CHECK_INT(ended->reason, ==, WEIR_ENDED_FAILED);
    if (atomic_fetch_add(&caller->calls, 1) == 0) {
        caller->status = weir_pool_resize(caller->pool, 2);
    }
}

TEST_OOM(ended_leaver, "a worker that is about to leave may have the pool grow once more")
{
    struct caller caller = {.status = WEIR_EAGAIN};
    struct task tasks[2];
    weir_envelope *envelopes[2];
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 2;
    options.ended = grow;
    options.ended_arg = &caller;
    bool is_made = !CHECK_OR_OOM(weir_pool_new(&options, &caller.pool, NULL));
    for (int i = 0; i < 2; i++) {
        task_init(&tasks[i]);
        tasks[i].is_held = true;
        tasks[i].status = WEIR_EUSER;
        envelopes[i] = envelope_for(&tasks[i], 0);
        is_made = is_made && envelopes[i] != NULL;
    }
    if (is_made && !CHECK_OR_OOM(weir_pool_send_all(caller.pool, envelopes, 2)) &&
        !CHECK_OR_OOM(weir_pool_start(caller.pool))) {
        counter_wait(&tasks[0].entered, 1);
        counter_wait(&tasks[1].entered, 1);
        CHECK_STATUS(weir_pool_resize(caller.pool, 1), WEIR_OK);
        counter_add(&tasks[0].allowed, 1);
        counter_wait(&tasks[0].outcomes, 1);
        counter_add(&tasks[1].allowed, 1);
        CHECK_STATUS(weir_pool_end(caller.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(atomic_load(&caller.calls), ==, 2);
        (void)CHECK_OR_OOM(caller.status);
    }
    weir_pool_free(caller.pool);
    for (int i = 0; i < 2; i++) {
        weir_envelope_unref(envelopes[i]);
        task_fini(&tasks[i]);
    }
}
