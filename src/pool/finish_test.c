/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Finish: what runs goes on, what is queued is dropped. */

#include "pool/pool.h"

#include "pool/crew.h"

static int check_context(weir_context *context, struct task *task)
{
    (void)task;
    return (int)weir_context_check(context);
}

static int until_cancelled(weir_context *context, struct task *task)
{
    (void)task;
    return (int)weir_context_sleep(context, WEIR_FOREVER);
}

/* The reasons that a pool told of. */
struct told {
    struct counter count;
    uint32_t reasons[WEIR_ENDED_TERMINATED + 1];
};

static void note_end(const struct weir_ended *ended, void *arg)
{
    struct told *told = arg;
    told->reasons[ended->reason]++;
    counter_add(&told->count, 1);
}

/* A running pool of one worker that tells: the first task is held in a run and was sent again, the
 * second is queued behind it, the third waits for a time. */
static void busy_init(struct crew *crew, struct told *told)
{
    *told = (struct told){.reasons = {0}};
    counter_init(&told->count);
    crew_init(crew, 1);
    weir_pool_free(crew->pool);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.clock = crew->clock;
    options.ended = note_end;
    options.ended_arg = told;
    CHECK_STATUS(weir_pool_new(&options, &crew->pool, NULL), WEIR_OK);
    crew->tasks[0].is_held = true;
    crew->tasks[0].body = check_context;
    CHECK_STATUS(weir_pool_start(crew->pool), WEIR_OK);
    crew_send(crew, 0);
    counter_wait(&crew->tasks[0].entered, 1);
    crew_send(crew, 0);
    crew_send(crew, 1);
    CHECK_STATUS(weir_pool_send_after(crew->pool, crew->envelopes[2], 5), WEIR_OK);
}

static void busy_fini(struct crew *crew, struct told *told)
{
    crew_fini(crew);
    counter_fini(&told->count);
}

TEST(finish, "a finish lets what runs go on, and drops what is queued, dirty or waits")
{
    struct crew crew;
    struct told told;
    busy_init(&crew, &told);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_FINISH, 0, 0), WEIR_OK);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_STOPPING);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 1); /* the others were dropped at once */
    CHECK_INT(told.reasons[WEIR_ENDED_FINISHED], ==, 2);
    CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[3]), WEIR_ESHUTDOWN);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_FINISH, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(atomic_load(&crew.tasks[0].last_status), ==, WEIR_OK); /* was not cancelled */
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);
    CHECK_INT(task_runs(&crew.tasks[1]) + task_runs(&crew.tasks[2]), ==, 0);
    CHECK_INT(told.reasons[WEIR_ENDED_FINISHED], ==, 3);
    CHECK_INT(counts_of(crew.pool).dropped, ==, 3);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 0);
    busy_fini(&crew, &told);
}

TEST(finish_keeps, "a finish that keeps leaves it all for the next start")
{
    struct crew crew;
    struct told told;
    busy_init(&crew, &told);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_FINISH, WEIR_END_KEEP, 0), WEIR_OK);
    counter_add(&crew.tasks[0].allowed, 2);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_FINISH, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).runs, ==, 1);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 3);
    CHECK_STATUS(weir_clock_advance(crew.clock, 5), WEIR_OK);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 2);
    CHECK_INT(task_runs(&crew.tasks[1]) + task_runs(&crew.tasks[2]), ==, 2);
    CHECK_INT(counts_of(crew.pool).dropped, ==, 0);
    busy_fini(&crew, &told);
}

TEST(stop_after, "a stop after a finish cancels what the finish let go on, and the finish says so")
{
    struct crew crew;
    struct told told;
    busy_init(&crew, &told);
    crew.tasks[0].body = until_cancelled;
    struct ender finisher = {crew.pool, WEIR_END_FINISH, WEIR_EINVAL};
    struct test_thread *thread = test_start(ender_run, &finisher);
    counter_add(&crew.tasks[0].allowed, 1);
    test_wait_asleep(thread);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    test_join(thread);
    CHECK_STATUS(finisher.status, WEIR_ECANCELED);
    CHECK_INT(atomic_load(&crew.tasks[0].last_status), ==, WEIR_ECANCELED);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_FINISH, 0, 0), WEIR_ECANCELED);
    busy_fini(&crew, &told);
}

TEST(drain_beside, "of a drain and a finish the finish counts, whichever comes first: nothing that "
                   "was queued is run, and the drain says so")
{
    for (int drain_first = 0; drain_first < 2; drain_first++) {
        struct crew crew;
        struct told told;
        busy_init(&crew, &told);
        enum weir_end_mode first = drain_first ? WEIR_END_DRAIN : WEIR_END_FINISH;
        enum weir_end_mode second = drain_first ? WEIR_END_FINISH : WEIR_END_DRAIN;
        CHECK_STATUS(weir_pool_end(crew.pool, first, 0, 0), WEIR_OK);
        CHECK_STATUS(weir_pool_end(crew.pool, second, 0, 0),
                     drain_first ? WEIR_OK : WEIR_ECANCELED);
        CHECK_INT(counts_of(crew.pool).in_flight, ==, 1);
        counter_add(&crew.tasks[0].allowed, 1);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ECANCELED);
        CHECK_INT(counts_of(crew.pool).runs, ==, 1);
        CHECK_INT(counts_of(crew.pool).dropped, ==, 3);
        CHECK_INT(told.reasons[WEIR_ENDED_DRAINED], ==, drain_first); /* what waited for a time */
        CHECK_INT(told.reasons[WEIR_ENDED_FINISHED], ==, 3 - drain_first);
        busy_fini(&crew, &told);
    }
}

TEST(leaves_pause, "a finish and a stop leave a pause as it is, a drain ends it")
{
    for (int mode = WEIR_END_DRAIN; mode <= WEIR_END_STOP; mode++) {
        struct crew crew;
        crew_init(&crew, 1);
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        CHECK_STATUS(weir_pool_pause(crew.pool, 0), WEIR_OK);
        crew_send(&crew, 0);
        CHECK_STATUS(weir_pool_end(crew.pool, (enum weir_end_mode)mode, 0, WEIR_FOREVER), WEIR_OK);
        bool is_drain = mode == WEIR_END_DRAIN;
        CHECK_INT(task_runs(&crew.tasks[0]), ==, is_drain);
        CHECK_INT(counts_of(crew.pool).dropped, ==, !is_drain);
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        crew_send(&crew, 1);
        if (is_drain) {
            counter_wait(&crew.tasks[1].outcomes, 1);
        } else {
            CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_FINISH, 0, WEIR_FOREVER), WEIR_OK);
            CHECK_INT(task_runs(&crew.tasks[1]), ==, 0);
        }
        crew_fini(&crew);
    }
}

static int finish_own(weir_context *context, struct task *task)
{
    CHECK_STATUS(weir_pool_end(task->pool, WEIR_END_FINISH, 0, WEIR_FOREVER), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_end(task->pool, WEIR_END_FINISH, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_context_check(context), WEIR_OK);
    CHECK_STATUS(weir_pool_end(task->pool, WEIR_END_STOP, 0, INT64_MIN), WEIR_OK);
    return (int)weir_context_check(context);
}

TEST(in_own_task, "a task may finish its own pool, goes on, and may then stop it")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].body = finish_own;
    crew_send(&crew, 0);
    crew_send(&crew, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    counter_wait(&crew.tasks[0].outcomes, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(atomic_load(&crew.tasks[0].last_status), ==, WEIR_ECANCELED);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 0);
    crew_fini(&crew);
}
