/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include <stdio.h>

#include "pool/crew.h"

TEST(init_buffers, "what is sent before the start waits for it, and is run then")
{
    struct crew crew;
    crew_init(&crew, 2);
    for (int i = 0; i < TASKS_MAX; i++) {
        crew_send(&crew, i);
    }
    CHECK_INT(counts_of(crew.pool).queued, ==, TASKS_MAX);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < TASKS_MAX; i++) {
        CHECK_INT(task_runs(&crew.tasks[i]), ==, 1);
    }
    crew_fini(&crew);
}

TEST(end_of_unstarted,
     "a pool that was never started neither drains nor stops, and goes on accepting")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew_send(&crew, 0);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_ESTATE);
    crew_send(&crew, 1);
    CHECK_INT(counts_of(crew.pool).queued, ==, 2);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).runs, ==, 2);
    CHECK_STATUS(weir_pool_end(NULL, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_end(NULL, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_EINVAL);
    crew_fini(&crew);
}

static int end_own_pool(weir_context *context, struct task *task)
{
    CHECK_STATUS(weir_pool_end(task->pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_end(task->pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_start(task->pool), WEIR_ESTATE);
    CHECK_STATUS(weir_context_check(context), WEIR_OK);
    return WEIR_OK;
}

TEST(from_own_task, "a task cannot end its own pool, which would wait for itself; nothing changes")
{
    struct crew crew;
    crew_init(&crew, 2);
    crew.tasks[0].body = end_own_pool;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].outcomes, 1);
    crew_send(&crew, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 1);
    crew_fini(&crew);
}

static int end_other_pool(weir_context *context, struct task *task)
{
    (void)context;
    CHECK_STATUS(weir_pool_end(task->pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    return WEIR_OK;
}

TEST(from_others_task, "a task of one pool may end another")
{
    struct crew crew;
    struct crew other;
    crew_init(&crew, 1);
    crew_init(&other, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_start(other.pool), WEIR_OK);
    crew_send(&crew, 1);
    other.tasks[0].pool = crew.pool;
    other.tasks[0].body = end_other_pool;
    crew_send(&other, 0);
    CHECK_STATUS(weir_pool_end(other.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 1);
    CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[0]), WEIR_ESHUTDOWN);
    crew_fini(&crew);
    crew_fini(&other);
}

TEST(starts_at_once, "of several starts at once one succeeds, and there is one set of workers")
{
    enum {
        COUNT = 4
    };
    struct crew crew;
    crew_init(&crew, 3);
    struct starter starters[COUNT];
    struct test_thread *threads[COUNT];
    for (int i = 0; i < COUNT; i++) {
        starters[i] = (struct starter){crew.pool, WEIR_EINVAL};
        threads[i] = test_start(starter_run, &starters[i]);
    }
    int started = 0;
    for (int i = 0; i < COUNT; i++) {
        test_join(threads[i]);
        started += starters[i].status == WEIR_OK;
        CHECK(starters[i].status == WEIR_OK || starters[i].status == WEIR_ESTATE);
    }
    CHECK_INT(started, ==, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

static int free_own_pool(weir_context *context, struct task *task)
{
    (void)context;
    CHECK_STATUS(weir_pool_free(task->pool), WEIR_ESTATE);
    return WEIR_OK;
}

TEST(free_from_own_task, "a pool is not freed from a task of its own, and works on")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].body = free_own_pool;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].outcomes, 1);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_RUNNING);
    crew_send(&crew, 1);
    counter_wait(&crew.tasks[1].outcomes, 1);
    crew_fini(&crew);
}

/* What a pool told its log. */
struct journal {
    int lines;
    enum weir_log_level level;
    char message[200];
};

static void note(enum weir_log_level level, const char *message, void *arg)
{
    struct journal *journal = arg;
    journal->lines++;
    journal->level = level;
    (void)snprintf(journal->message, sizeof(journal->message), "%s", message);
}

static weir_pool *logging_pool(struct journal *journal, size_t workers)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = workers;
    options.log = note;
    options.log_arg = journal;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    return pool;
}

static void check_logged(const struct journal *journal, int lines, const char *message)
{
    CHECK_INT(journal->lines, ==, lines);
    CHECK_STRING(journal->message, message);
    CHECK_INT(journal->level, ==, WEIR_LOG_INFO);
}

TEST(log_of_pauses, "a pause and a resume are logged where they change something")
{
    struct journal journal = {0};
    weir_pool *pool = logging_pool(&journal, 1);
    CHECK_STATUS(weir_pool_resume(pool), WEIR_OK);
    CHECK_INT(journal.lines, ==, 0);
    for (int lines = 2; lines <= 4; lines += 2) {
        CHECK_STATUS(weir_pool_pause(pool, 0), WEIR_OK);
        CHECK_STATUS(weir_pool_pause(pool, WEIR_FOREVER), WEIR_OK);
        check_logged(&journal, lines - 1, "pool paused");
        CHECK_STATUS(weir_pool_resume(pool), WEIR_OK);
        CHECK_STATUS(weir_pool_resume(pool), WEIR_OK);
        check_logged(&journal, lines, "pool resumed");
    }
    weir_pool_free(pool);
    CHECK_INT(journal.lines, ==, 4);
}

TEST(log_of_resizes, "a resize is logged where the pool runs")
{
    struct journal journal = {0};
    weir_pool *pool = logging_pool(&journal, 1);
    CHECK_STATUS(weir_pool_resize(pool, 2), WEIR_OK);
    CHECK_INT(journal.lines, ==, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    check_logged(&journal, 1, "pool started: 2 workers");
    CHECK_STATUS(weir_pool_resize(pool, 3), WEIR_OK);
    check_logged(&journal, 2, "pool resized: 3 workers, 2 before");
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_resize(pool, 1), WEIR_OK);
    check_logged(&journal, 3, "pool stopped: 0 runs, 0 dropped");
    weir_pool_free(pool);
}

TEST(log, "a start and an end are logged, an end that dropped something as a warning")
{
    struct task task;
    task_init(&task);
    struct journal journal = {0};
    for (int sends = 0; sends < 2; sends++) {
        weir_pool *pool = logging_pool(&journal, 2);
        CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
        CHECK_STRING(journal.message, "pool started: 2 workers");
        CHECK_INT(journal.level, ==, WEIR_LOG_INFO);
        for (int i = 0; i < sends; i++) {
            weir_envelope *envelope = envelope_for(&task, 0);
            CHECK_STATUS(weir_pool_send_after(pool, envelope, WEIR_SECONDS(3600)), WEIR_OK);
            weir_envelope_unref(envelope);
        }
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_STRING(journal.message, sends == 0 ? "pool stopped: 0 runs, 0 dropped"
                                                 : "pool stopped: 0 runs, 1 dropped");
        CHECK_INT(journal.level, ==, sends == 0 ? WEIR_LOG_INFO : WEIR_LOG_WARNING);
        weir_pool_free(pool);
    }
    CHECK_INT(journal.lines, ==, 4);
    task_fini(&task);
}

TEST(named, "the lines of a pool with a name begin with it")
{
    struct journal journal = {0};
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.name = "mail";
    options.log = note;
    options.log_arg = &journal;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    check_logged(&journal, 1, "mail: pool started: 1 workers");
    weir_pool_free(pool);
    check_logged(&journal, 2, "mail: pool stopped: 0 runs, 0 dropped");
}
