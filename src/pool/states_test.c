/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Every call in every state: the table of weir/lifecycle.h. */

#include <weir/lifecycle.h>

#include "pool/crew.h"

/* Brings a new pool, whose first task is held up once it runs, to a state. */
static void go_to(struct crew *crew, enum weir_pool_state state)
{
    crew_init(crew, 1);
    crew->tasks[0].is_held = true;
    if (state == WEIR_POOL_STATE_TERMINATED) {
        CHECK_STATUS(weir_pool_end(crew->pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    } else if (state != WEIR_POOL_STATE_INIT) {
        CHECK_STATUS(weir_pool_start(crew->pool), WEIR_OK);
    }
    if (state == WEIR_POOL_STATE_STOPPING) {
        crew_send(crew, 0);
        counter_wait(&crew->tasks[0].entered, 1);
        CHECK_STATUS(weir_pool_end(crew->pool, WEIR_END_DRAIN, 0, 0), WEIR_OK);
    } else if (state == WEIR_POOL_STATE_STOPPED) {
        CHECK_STATUS(weir_pool_end(crew->pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    }
    CHECK_INT(weir_pool_state(crew->pool), ==, state);
}

static enum weir_status send_one(weir_pool *pool)
{
    static struct task task;
    task_init(&task);
    weir_envelope *envelope = envelope_for(&task, 0);
    enum weir_status status = weir_pool_send(pool, envelope);
    struct weir_pool_counts counts = counts_of(pool); /* a run is counted before it is over */
    CHECK_INT(status == WEIR_OK, ==, counts.in_flight + counts.runs > 0);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
    return status;
}

/* A start, or the end of a mode. */
static const struct row {
    const char *name;
    bool is_start;
    enum weir_end_mode mode;
    struct {
        enum weir_status status;
        enum weir_pool_state state; /* after it */
    } expected[WEIR_POOL_STATE_TERMINATED + 1];
} rows[] = {
#define INIT WEIR_POOL_STATE_INIT
#define RUNNING WEIR_POOL_STATE_RUNNING
#define STOPPED WEIR_POOL_STATE_STOPPED
#define TERMINATED WEIR_POOL_STATE_TERMINATED
    {"start",
     true,
     WEIR_END_DRAIN,
     {{WEIR_OK, RUNNING},
      {WEIR_ESTATE, RUNNING},
      {WEIR_OK, RUNNING},
      {WEIR_OK, RUNNING},
      {WEIR_ESTATE, TERMINATED}}},
    {"drain",
     false,
     WEIR_END_DRAIN,
     {{WEIR_ESTATE, INIT},
      {WEIR_OK, STOPPED},
      {WEIR_OK, STOPPED},
      {WEIR_OK, STOPPED},
      {WEIR_OK, TERMINATED}}},
    {"finish",
     false,
     WEIR_END_FINISH,
     {{WEIR_ESTATE, INIT},
      {WEIR_OK, STOPPED},
      {WEIR_OK, STOPPED},
      {WEIR_OK, STOPPED},
      {WEIR_OK, TERMINATED}}},
    {"stop",
     false,
     WEIR_END_STOP,
     {{WEIR_ESTATE, INIT},
      {WEIR_OK, STOPPED},
      {WEIR_OK, STOPPED},
      {WEIR_OK, STOPPED},
      {WEIR_OK, TERMINATED}}},
    {"terminate",
     false,
     WEIR_END_TERMINATE,
     {{WEIR_OK, TERMINATED},
      {WEIR_OK, TERMINATED},
      {WEIR_OK, TERMINATED},
      {WEIR_OK, TERMINATED},
      {WEIR_OK, TERMINATED}}},
};

/* A row's call, on a thread of its own. */
struct caller {
    weir_pool *pool;
    const struct row *row;
    enum weir_status status;
};

static void caller_run(void *arg)
{
    struct caller *caller = arg;
    caller->status = caller->row->is_start
                         ? weir_pool_start(caller->pool)
                         : weir_pool_end(caller->pool, caller->row->mode, 0, WEIR_FOREVER);
}

/* The calls that wait for a pool which is stopping need somebody to let its task go. */
static void check_row(size_t row, enum weir_pool_state state)
{
    struct crew crew;
    go_to(&crew, state);
    struct caller caller = {crew.pool, &rows[row], WEIR_EINVAL};
    struct test_thread *thread = test_start(caller_run, &caller);
    if (state == WEIR_POOL_STATE_STOPPING) {
        test_wait_asleep(thread);
        CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_STOPPING);
        counter_add(&crew.tasks[0].allowed, 1);
    }
    test_join(thread);
    if (caller.status != rows[row].expected[state].status ||
        weir_pool_state(crew.pool) != rows[row].expected[state].state) {
        test_fail(__FILE__, __LINE__, "%s in state %d: %s, then state %d", rows[row].name,
                  (int)state, weir_status_name((int)caller.status),
                  (int)weir_pool_state(crew.pool));
    }
    crew_fini(&crew);
}

TEST(table, "start, drain, finish, stop and terminate in each of the five states (R15)")
{
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        for (int state = WEIR_POOL_STATE_INIT; state <= WEIR_POOL_STATE_TERMINATED; state++) {
            check_row(row, (enum weir_pool_state)state);
        }
    }
}

TEST(sends, "a send is kept in init, run while it runs, and refused in the other three states")
{
    static const enum weir_status expected[] = {WEIR_OK, WEIR_OK, WEIR_ESHUTDOWN, WEIR_ESHUTDOWN,
                                                WEIR_ESHUTDOWN};
    for (int state = WEIR_POOL_STATE_INIT; state <= WEIR_POOL_STATE_TERMINATED; state++) {
        struct crew crew;
        go_to(&crew, (enum weir_pool_state)state);
        if (state == WEIR_POOL_STATE_STOPPING) {
            CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[0]), WEIR_ESHUTDOWN);
            CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[1]), WEIR_ESHUTDOWN);
            counter_add(&crew.tasks[0].allowed, 1);
        } else {
            CHECK_STATUS(send_one(crew.pool), expected[state]);
        }
        crew_fini(&crew);
    }
}

TEST(state_of_null, "NULL has no pool to be in a state, and never will; other calls refuse it")
{
    CHECK_INT(weir_pool_state(NULL), ==, WEIR_POOL_STATE_TERMINATED);
    CHECK_STATUS(weir_pool_start(NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_end(NULL, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_end(NULL, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_end(NULL, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_end(NULL, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_EINVAL);
}

TEST(bad_ends, "an end with an unknown mode or flag, or a termination that keeps, is refused, and "
               "nothing changes")
{
    struct crew crew;
    crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    static const struct {
        int mode;
        uint32_t flags;
    } bad[] = {{WEIR_END_TERMINATE + 1, 0},
               {-1, 0},
               {WEIR_END_STOP, 2},
               {WEIR_END_TERMINATE, WEIR_END_KEEP}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_STATUS(weir_pool_end(crew.pool, (enum weir_end_mode)bad[i].mode, bad[i].flags, 0),
                     WEIR_EINVAL);
    }
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_RUNNING);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_STOPPED);
    crew_fini(&crew);
}

static int end_own(weir_context *context, struct task *task)
{
    CHECK_STATUS(weir_pool_end(task->pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_end(task->pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_context_check(context), WEIR_OK);
    CHECK_INT(weir_pool_state(task->pool), ==, WEIR_POOL_STATE_RUNNING);
    CHECK_STATUS(weir_pool_end(task->pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_context_check(context), WEIR_ECANCELED);
    CHECK_INT(weir_pool_state(task->pool), ==, WEIR_POOL_STATE_STOPPING);
    CHECK_STATUS(weir_pool_start(task->pool), WEIR_ESTATE);
    return WEIR_OK;
}

TEST(from_own_task, "a task may end its own pool where nobody waits, and neither restart nor await "
                    "it; others may")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].body = end_own;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].outcomes, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew.tasks[0].body = NULL;
    crew_send(&crew, 0);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 2);
    crew_fini(&crew);
}
