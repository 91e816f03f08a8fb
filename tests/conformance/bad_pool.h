/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_BAD_POOL_H
#define WEIR_TEST_CONFORMANCE_BAD_POOL_H

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/lifecycle.h>
#include <weir/scope.h>

#include "conformance/bad_rows.h"
#include "pool/fixture.h"

/* The rows of bad input to pools, and to what belongs to them (conformance/bad_rows.h).
 *
 * A row gets a pool that runs, with an envelope in every place. What it finds otherwise says the
 * name of its fault: unstarted, stopped and terminated the state of the pool; own_task and the
 * like: it is a task of the pool that makes the call; forked: a child process. The rows of what a
 * context is needed for are called by a task too, and w has its context. A refusal leaves the
 * pool's counts and state, the memory, and w's results; and after it everything runs as often as if
 * nothing had happened. */

enum {
    IS_RUNNING, /* held up, and one of a group of which one may run at once */
    IS_QUEUED,  /* behind it: of the same group */
    IS_WAITING, /* for DELAY */
    IS_IDLE,
    IS_ELSEWHERE, /* queued in another pool, which was never started */
    IS_FILLING,   /* and the next one: see fill_world() */
    IS_FILLING_TOO,
    IS_CALLING, /* the task that makes the call */
    ENVELOPES
};

#define START WEIR_SECONDS(1000)
#define DELAY WEIR_MS(5)
#define CAPACITY 5 /* what is in flight at first, and two more */

struct world {
    weir_clock *clock;
    weir_scope *scope;
    weir_pool *pool;
    weir_pool *other;
    struct task tasks[ENVELOPES];
    weir_envelope *envelopes[ENVELOPES];
    const struct row *row;
    weir_context *context; /* of the task that makes the call */
    bool may_change;       /* see accept_change() */
    enum weir_pool_state state;
    struct weir_pool_counts before;
    struct weir_pool_counts before_other;
    size_t bytes;

    /* Results that a refusal must leave alone. */
    uint32_t number;
    struct weir_pool_counts counts;
};

static inline struct weir_pool_options good_pool(weir_clock *clock)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = clock;
    options.workers = 2;
    return options;
}

static inline struct weir_envelope_options good_envelope(struct task *task)
{
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.payload = task;
    options.invoke = task_invoke;
    options.outcome = task_outcome;
    options.release = task_release;
    return options;
}

/* What is there now is what a refusal must leave. */
static inline void take_stock(struct world *w)
{
    w->before = counts_of(w->pool);
    w->before_other = counts_of(w->other);
    w->state = weir_pool_state(w->pool);
    w->bytes = test_allocated_bytes();
}

/* The row's refusal comes with a change that the contract names. */
static inline void accept_change(struct world *w)
{
    w->may_change = true;
}

static inline void check_unchanged(struct world *w)
{
    struct weir_pool_counts now = counts_of(w->pool);
    CHECK(memcmp(&now, &w->before, sizeof(now)) == 0);
    now = counts_of(w->other);
    CHECK(memcmp(&now, &w->before_other, sizeof(now)) == 0);
    CHECK_INT(weir_pool_state(w->pool), ==, w->state);
    CHECK_INT(test_allocated_bytes(), ==, w->bytes);
    CHECK_INT(w->number, ==, UNTOUCHED);
    CHECK_INT(w->counts.queued, ==, UNTOUCHED);
    CHECK_INT(w->counts.skipped, ==, UNTOUCHED);
    CHECK(!weir_scope_is_cancelled(w->scope));
}

/* Calls the row on this thread. */
static inline void call_here(struct world *w)
{
    take_stock(w);
    if (call_row(w->row, w) != WEIR_OK && !w->may_change) {
        check_unchanged(w);
    }
}

static inline int call_from_task(weir_context *context, struct task *task)
{
    struct world *w = WEIR_CONTAINER_OF(task, struct world, tasks[IS_CALLING]);
    w->context = context;
    call_here(w);
    w->context = NULL;
    return WEIR_OK;
}

static inline void make_envelope(struct world *w, int i)
{
    task_init(&w->tasks[i]);
    struct weir_envelope_options options = good_envelope(&w->tasks[i]);
    if (i == IS_RUNNING || i == IS_QUEUED) {
        options.group = weir_key_string("group");
    }
    options.id = (uint64_t)i;
    CHECK_STATUS(weir_envelope_new(&options, &w->envelopes[i], NULL), WEIR_OK);
}

static inline void make_world(struct world *w, const struct row *row)
{
    memset(w, 0, sizeof(*w));
    w->row = row;
    w->number = UNTOUCHED;
    w->counts.queued = UNTOUCHED;
    w->counts.skipped = UNTOUCHED;
    w->clock = manual_clock(START);
    CHECK_STATUS(weir_scope_new(test_allocator(), &w->scope), WEIR_OK);
    struct weir_pool_options options = good_pool(w->clock);
    options.scope = w->scope;
    options.capacity = CAPACITY;
    options.group_limit = 1;
    CHECK_STATUS(weir_pool_new(&options, &w->pool, NULL), WEIR_OK);
    w->other = pool_with(1, 0, w->clock);
    for (int i = 0; i < ENVELOPES; i++) {
        make_envelope(w, i);
    }
    w->tasks[IS_RUNNING].is_held = true;
    w->tasks[IS_CALLING].body = call_from_task;
    CHECK_STATUS(weir_pool_send(w->other, w->envelopes[IS_ELSEWHERE]), WEIR_OK);
    CHECK_STATUS(weir_pool_send(w->pool, w->envelopes[IS_RUNNING]), WEIR_OK);
    CHECK_STATUS(weir_pool_send(w->pool, w->envelopes[IS_QUEUED]), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(w->pool, w->envelopes[IS_WAITING], DELAY), WEIR_OK);
}

static inline void let_go(struct world *w)
{
    counter_add(&w->tasks[IS_RUNNING].allowed, 1);
}

/* Brings the pool, which is in state init, to where the row wants it. */
static inline void prepare_world(struct world *w)
{
    const char *fault = w->row->fault;
    if (strcmp(fault, "terminated") == 0) {
        CHECK_STATUS(weir_pool_end(w->pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    } else if (strcmp(fault, "unstarted") != 0) {
        CHECK_STATUS(weir_pool_start(w->pool), WEIR_OK);
        counter_wait(&w->tasks[IS_RUNNING].entered, 1);
    }
    if (strcmp(fault, "stopped") == 0) {
        let_go(w);
        CHECK_STATUS(weir_pool_end(w->pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    }
}

/* Leaves no room in the pool; what fills it runs once. */
static inline void fill_world(struct world *w)
{
    for (int i = IS_FILLING; counts_of(w->pool).in_flight < CAPACITY; i++) {
        CHECK_INT(i, <=, IS_FILLING_TOO);
        CHECK_STATUS(weir_pool_send_after(w->pool, w->envelopes[i], DELAY), WEIR_OK);
    }
    take_stock(w);
}

/* Everything in the pool, and one more envelope, is run once. */
static inline void check_runs(struct world *w)
{
    if (w->state == WEIR_POOL_STATE_INIT) {
        CHECK_STATUS(weir_pool_start(w->pool), WEIR_OK);
    }
    let_go(w);
    CHECK_STATUS(weir_clock_advance(w->clock, DELAY), WEIR_OK);
    for (int i = IS_RUNNING; i <= IS_WAITING; i++) {
        counter_wait(&w->tasks[i].outcomes, 1);
    }
    CHECK_STATUS(weir_pool_send_wait(w->pool, w->envelopes[IS_IDLE], WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(w->pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = IS_RUNNING; i <= IS_IDLE; i++) {
        CHECK_INT(task_runs(&w->tasks[i]), ==, 1);
    }
    CHECK_INT(counts_of(w->pool).in_flight, ==, 0);
    CHECK_INT(counts_of(w->pool).dropped, ==, 0);
}

/* After a refusal everything comes out as if nothing had happened. */
static inline void check_comes_out(struct world *w)
{
    if (w->state == WEIR_POOL_STATE_TERMINATED) {
        CHECK_STATUS(weir_pool_send(w->pool, w->envelopes[IS_IDLE]), WEIR_ESHUTDOWN);
        CHECK_STATUS(weir_pool_start(w->pool), WEIR_ESTATE);
    } else if (w->state == WEIR_POOL_STATE_STOPPED) {
        CHECK_STATUS(weir_pool_start(w->pool), WEIR_OK);
        CHECK_STATUS(weir_pool_send(w->pool, w->envelopes[IS_IDLE]), WEIR_OK);
        CHECK_STATUS(weir_pool_end(w->pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(task_runs(&w->tasks[IS_IDLE]), ==, 1);
    } else {
        check_runs(w);
    }
    CHECK_INT(task_runs(&w->tasks[IS_ELSEWHERE]), ==, 0);
    CHECK_STATUS(weir_pool_start(w->other), WEIR_OK);
    CHECK_STATUS(weir_pool_end(w->other, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&w->tasks[IS_ELSEWHERE]), ==, 1);
}

/* The pool, whatever became of it, is freed. */
static inline void end_world(struct world *w)
{
    let_go(w);
    weir_pool_free(w->pool);
    weir_pool_free(w->other);
    weir_scope_free(w->scope);
    weir_clock_free(w->clock);
    for (int i = 0; i < ENVELOPES; i++) {
        weir_envelope_unref(w->envelopes[i]);
        CHECK_INT(counter_value(&w->tasks[i].released), ==, 1);
        task_fini(&w->tasks[i]);
    }
}

/* In a child there is but the call: what it finds there must not make it wait or abort. */
static inline void call_in_child(struct world *w)
{
    take_stock(w);
    pid_t child = fork();
    CHECK_INT(child, >=, 0);
    if (child == 0) {
        (void)call_row(w->row, w);
        _exit(0);
    }
    int ended;
    CHECK_INT(waitpid(child, &ended, 0), ==, child);
    CHECK_INT(ended, ==, 0);
    check_unchanged(w);
}

static inline bool begins_with(const char *text, const char *what)
{
    return strncmp(text, what, strlen(what)) == 0;
}

static inline bool needs_task(const struct row *row)
{
    return begins_with(row->fault, "own_") || begins_with(row->function, "weir_context_") ||
           begins_with(row->function, "weir_next_");
}

static inline void call_where_wanted(struct world *w)
{
    if (strcmp(w->row->fault, "forked") == 0) {
        call_in_child(w);
    } else if (needs_task(w->row)) {
        CHECK_STATUS(weir_pool_send(w->pool, w->envelopes[IS_CALLING]), WEIR_OK);
        counter_wait(&w->tasks[IS_CALLING].outcomes, 1);
    } else {
        call_here(w);
    }
}

static inline void run_last_row(void *row)
{
    struct world w;
    make_world(&w, row);
    prepare_world(&w);
    call_where_wanted(&w);
}

static inline void run_row(struct row *row)
{
    if (row->last_words != NULL) {
        test_must_abort(run_last_row, row, row->last_words);
        return;
    }
    struct world w;
    make_world(&w, row);
    prepare_world(&w);
    call_where_wanted(&w);
    bool is_over = row->status == WEIR_OK && strcmp(row->fault, "forked") != 0;
    if (!is_over && !w.may_change) {
        check_comes_out(&w);
    }
    end_world(&w);
}

TEST(rows, "each function refuses each fault of each parameter, and changes nothing")
{
    CHECK_INT(row_count, >, 0);
    for (size_t i = 0; i < row_count; i++) {
        run_row(&rows[i]);
    }
}

/* call(w, pool) makes the call. The statuses are those of a call from a task of the pool, and on a
 * pool that was not started, was stopped, was terminated. */
#define POOL_ROWS(function, call, own_task_status, unstarted_status, stopped_status,               \
                  terminated_status)                                                               \
    ROW(function, pool, null, WEIR_EINVAL)                                                         \
    {                                                                                              \
        return call(w, NULL);                                                                      \
    }                                                                                              \
    ROW(function, pool, forked, WEIR_EFORKED)                                                      \
    {                                                                                              \
        return call(w, w->pool);                                                                   \
    }                                                                                              \
    ROW(function, pool, own_task, own_task_status)                                                 \
    {                                                                                              \
        return call(w, w->pool);                                                                   \
    }                                                                                              \
    ROW(function, pool, unstarted, unstarted_status)                                               \
    {                                                                                              \
        return call(w, w->pool);                                                                   \
    }                                                                                              \
    ROW(function, pool, stopped, stopped_status)                                                   \
    {                                                                                              \
        return call(w, w->pool);                                                                   \
    }                                                                                              \
    ROW(function, pool, terminated, terminated_status)                                             \
    {                                                                                              \
        return call(w, w->pool);                                                                   \
    }

#endif
