/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* More workers, fewer, and pauses. */

#include <weir/lifecycle.h>

#include "pool/crew.h"

/* As many tasks as the crew has, each held up once it runs. */
static void held_crew_init(struct crew *crew, size_t workers)
{
    crew_init(crew, workers);
    for (int i = 0; i < TASKS_MAX; i++) {
        crew->tasks[i].is_held = true;
    }
}

static void let_go(struct crew *crew, int first, int end)
{
    for (int i = first; i < end; i++) {
        counter_add(&crew->tasks[i].allowed, 1);
    }
}

TEST(grow, "a running pool that grows runs more at once, and each new worker takes its part")
{
    struct crew crew;
    held_crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    for (int i = 0; i < TASKS_MAX; i++) {
        crew_send(&crew, i);
    }
    counter_wait(&crew.tasks[0].entered, 1);
    CHECK_INT(counts_of(crew.pool).running, ==, 1);
    CHECK_STATUS(weir_pool_resize(crew.pool, TASKS_MAX), WEIR_OK);
    for (int i = 0; i < TASKS_MAX; i++) {
        counter_wait(&crew.tasks[i].entered, 1);
    }
    CHECK_INT(counts_of(crew.pool).running, ==, TASKS_MAX);
    let_go(&crew, 0, TASKS_MAX);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

TEST(shrink, "of a pool that shrinks surplus workers leave as their runs end, and nothing is lost")
{
    struct crew crew;
    held_crew_init(&crew, 3);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        crew_send(&crew, i);
        counter_wait(&crew.tasks[i].entered, 1);
    }
    CHECK_STATUS(weir_pool_resize(crew.pool, 1), WEIR_OK);
    crew_send(&crew, 3);
    let_go(&crew, 0, 2);
    counter_wait(&crew.tasks[0].outcomes, 1);
    counter_wait(&crew.tasks[1].outcomes, 1);
    /* The two that ended had to leave: the third runs the rest. */
    CHECK_INT(counts_of(crew.pool).queued, ==, 1);
    CHECK_INT(counter_value(&crew.tasks[3].entered), ==, 0);
    let_go(&crew, 2, 4);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).runs, ==, 4);
    crew_fini(&crew);
}

TEST(sleeping_leave,
     "workers that sleep leave at once, and the one that is left is woken as before")
{
    struct crew crew;
    crew_init(&crew, 4);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].outcomes, 1);
    CHECK_STATUS(weir_pool_resize(crew.pool, 1), WEIR_OK);
    for (int i = 0; i < TASKS_MAX; i++) {
        crew_send(&crew, i);
    }
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).runs, ==, 1 + TASKS_MAX);
    crew_fini(&crew);
}

TEST(back_and_forth, "a pool that is resized over and over while it runs ends as one that was not")
{
    struct crew crew;
    crew_init(&crew, 2);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    for (uint64_t round = test_scaled(100); round > 0; round--) {
        CHECK_STATUS(weir_pool_resize(crew.pool, 1 + test_random_below(6)), WEIR_OK);
        crew_send(&crew, (int)test_random_below(TASKS_MAX));
        if (test_random_below(20) == 0) {
            CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
            CHECK_STATUS(weir_pool_resize(crew.pool, 1 + test_random_below(6)), WEIR_OK);
            CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        }
    }
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 0);
    crew_fini(&crew);
}

TEST(resize_before, "a pool that does not run is resized for its next start")
{
    struct crew crew;
    held_crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_resize(crew.pool, 3), WEIR_OK);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        crew_send(&crew, i);
    }
    for (int i = 0; i < 3; i++) {
        counter_wait(&crew.tasks[i].entered, 1);
    }
    let_go(&crew, 0, 3);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_resize(crew.pool, 1), WEIR_OK);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 2);
    crew_send(&crew, 1);
    CHECK_INT(counts_of(crew.pool).queued, ==, 1);
    let_go(&crew, 0, 2);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

TEST(bad_sizes, "no workers, too many, no pool and a terminated one are refused")
{
    struct crew crew;
    crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_resize(NULL, 1), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_resize(crew.pool, 0), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_resize(crew.pool, 4097), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_resize(crew.pool, 1), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_pause(crew.pool, 0), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_pause(crew.pool, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_resume(crew.pool), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_pause(NULL, 0), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_pause(NULL, WEIR_FOREVER), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_resume(NULL), WEIR_EINVAL);
    crew_fini(&crew);
}

static int resize_own(weir_context *context, struct task *task)
{
    (void)context;
    CHECK_STATUS(weir_pool_pause(task->pool, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_resize(task->pool, 3), WEIR_OK);
    CHECK_STATUS(weir_pool_resize(task->pool, 1), WEIR_OK);
    CHECK_STATUS(weir_pool_pause(task->pool, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_resume(task->pool), WEIR_OK);
    return WEIR_OK;
}

TEST(from_own_task, "a task may resize, pause and resume its own pool, but not wait for its end")
{
    struct crew crew;
    crew_init(&crew, 2);
    crew.tasks[0].body = resize_own;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].outcomes, 1);
    crew_send(&crew, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

TEST(pause, "after a pause nothing is begun, though sends are accepted and times pass; a resume "
            "goes on with it")
{
    struct crew crew;
    crew_init(&crew, 2);
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    CHECK_STATUS(weir_pool_pause(crew.pool, 0), WEIR_OK);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_RUNNING);
    crew_send(&crew, 0); /* again: its run goes on */
    crew_send(&crew, 1);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[2], 5), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(crew.clock, 5), WEIR_OK);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_pause(crew.pool, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts counts = counts_of(crew.pool);
    CHECK_INT(counts.running, ==, 0);
    CHECK_INT(counts.queued, ==, 3);
    CHECK_INT(counts.runs, ==, 1);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_resume(crew.pool), WEIR_OK);
    counter_wait(&crew.tasks[0].outcomes, 2);
    counter_wait(&crew.tasks[1].outcomes, 1);
    counter_wait(&crew.tasks[2].outcomes, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

struct pauser {
    weir_pool *pool;
    int64_t timeout_ns;
    enum weir_status status;
};

static void pauser_run(void *arg)
{
    struct pauser *pauser = arg;
    pauser->status = weir_pool_pause(pauser->pool, pauser->timeout_ns);
}

TEST(pause_waits,
     "a pause that waits ends with the last run, at its time, or when somebody resumes")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    for (int way = 0; way < 3; way++) {
        struct pauser pauser = {crew.pool, way == 0 ? 10 : WEIR_FOREVER, WEIR_EINVAL};
        struct test_thread *thread = test_start(pauser_run, &pauser);
        test_wait_asleep(thread);
        if (way == 0) {
            CHECK_STATUS(weir_clock_advance(crew.clock, 10), WEIR_OK);
        } else if (way == 1) {
            CHECK_STATUS(weir_pool_resume(crew.pool), WEIR_OK);
        } else {
            counter_add(&crew.tasks[0].allowed, 1);
        }
        test_join(thread);
        static const enum weir_status expected[] = {WEIR_ETIMEDOUT, WEIR_ECANCELED, WEIR_OK};
        CHECK_STATUS(pauser.status, expected[way]);
    }
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&crew);
}

TEST(pause_in_drain, "a pause of a pool that drains holds from the next start")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    crew_send(&crew, 1);
    counter_wait(&crew.tasks[0].entered, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_pause(crew.pool, 0), WEIR_OK);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK); /* waits for the drain */
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 1);
    crew_send(&crew, 1);
    CHECK_STATUS(weir_pool_pause(crew.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).queued, ==, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 1);
    crew_fini(&crew);
}

TEST(pause_and_end, "a drain resumes a paused pool and runs what is queued; after a stop it is "
                    "paused still when it starts")
{
    struct crew crew;
    crew_init(&crew, 2);
    CHECK_STATUS(weir_pool_pause(crew.pool, 0), WEIR_OK);
    crew_send(&crew, 0);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_pause(crew.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).queued, ==, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);

    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_pause(crew.pool, 0), WEIR_OK);
    crew_send(&crew, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).dropped, ==, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 1);
    CHECK_STATUS(weir_pool_pause(crew.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).queued, ==, 1);
    CHECK_STATUS(weir_pool_resume(crew.pool), WEIR_OK);
    counter_wait(&crew.tasks[1].outcomes, 1);
    crew_fini(&crew);
}
