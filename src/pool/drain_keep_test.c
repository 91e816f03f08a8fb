/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A drain that keeps, of envelopes that come back again and again. */

#include "pool/crew.h"

/* Far more runs than any of these has: so that a drain that runs on ends nevertheless. */
#define RUNS_MAX 1000

static int fail(weir_context *context, struct task *task)
{
    (void)context;
    (void)task;
    return (int)WEIR_EUSER;
}

static int64_t retry_at_once(weir_context *context, weir_envelope *envelope,
                             const struct weir_failure *failure, void *payload)
{
    struct task *task = payload;
    (void)context;
    (void)envelope;
    (void)failure;
    return counter_value(&task->entered) < RUNS_MAX ? task->delay_ns : WEIR_DROP;
}

static weir_clock *behind;

/* Three intervals pass in each run. */
static int fall_behind(weir_context *context, struct task *task)
{
    (void)context;
    if (counter_value(&task->entered) < RUNS_MAX) {
        CHECK_STATUS(weir_clock_advance(behind, 30), WEIR_OK);
    }
    return WEIR_OK;
}

static void drain_kept(struct crew *crew)
{
    CHECK_STATUS(weir_pool_end(crew->pool, WEIR_END_DRAIN, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
}

static void replace(struct crew *crew, const struct weir_envelope_options *options)
{
    weir_envelope_unref(crew->envelopes[0]);
    counter_fini(&crew->tasks[0].released); /* of the envelope that it replaces */
    counter_init(&crew->tasks[0].released);
    CHECK_STATUS(weir_envelope_new(options, &crew->envelopes[0], NULL), WEIR_OK);
}

TEST(retries, "a retry at once does not keep the drain from its end; it is run after the start")
{
    static const int64_t delays[] = {0, -1, 1};
    for (size_t i = 0; i < 3; i++) {
        struct crew crew;
        crew_init(&crew, 1);
        struct weir_envelope_options options = task_envelope(&crew.tasks[0]);
        options.failure = retry_at_once;
        replace(&crew, &options);
        crew.tasks[0].body = fail;
        crew.tasks[0].delay_ns = delays[i];
        crew.tasks[1].is_held = true;
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        crew_send(&crew, 1);
        counter_wait(&crew.tasks[1].entered, 1);
        crew_send(&crew, 0);
        crew_send(&crew, 2);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, WEIR_END_KEEP, 0), WEIR_OK);
        counter_add(&crew.tasks[1].allowed, 1);
        drain_kept(&crew);
        CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);
        CHECK_INT(task_runs(&crew.tasks[2]), ==, 1);
        CHECK_INT(counts_of(crew.pool).in_flight, ==, 1);
        CHECK_INT(counts_of(crew.pool).waiting, ==, 1);
        /* Each start makes it due. It is held until the drain has begun, since an open pool runs
         * its retries. A drain without keep drops it. */
        crew.tasks[0].is_held = true;
        counter_add(&crew.tasks[0].allowed, 1); /* the run before */
        for (int runs = 2; runs < 5; runs++) {
            CHECK_STATUS(weir_clock_advance(crew.clock, 1), WEIR_OK);
            CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
            counter_wait(&crew.tasks[0].entered, runs);
            CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, WEIR_END_KEEP, 0), WEIR_OK);
            counter_add(&crew.tasks[0].allowed, 1);
            drain_kept(&crew);
            CHECK_INT(task_runs(&crew.tasks[0]), ==, runs);
        }
        CHECK_INT(counts_of(crew.pool).retries, ==, 4);
        CHECK_INT(counts_of(crew.pool).dropped, ==, 0);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(counts_of(crew.pool).dropped, ==, 1);
        CHECK_INT(counts_of(crew.pool).in_flight, ==, 0);
        crew_fini(&crew);
    }
}

TEST(rates, "a rate that has fallen behind does not keep the drain from its end")
{
    static const enum weir_firing_policy overlaps[] = {WEIR_FIRING_ONCE, WEIR_FIRING_ALL};
    for (size_t i = 0; i < 2; i++) {
        struct crew crew;
        crew_init(&crew, 1);
        struct weir_schedule schedule = {.kind = WEIR_SCHEDULE_RATE,
                                         .overlap = (uint32_t)overlaps[i]};
        struct weir_envelope_options options = task_envelope(&crew.tasks[0]);
        options.interval_ns = 10;
        options.schedule = &schedule;
        replace(&crew, &options);
        crew.tasks[0].body = fall_behind;
        behind = crew.clock;
        crew.tasks[0].is_held = true;
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        crew_send(&crew, 0);
        counter_wait(&crew.tasks[0].entered, 1);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, WEIR_END_KEEP, 0), WEIR_OK);
        counter_add(&crew.tasks[0].allowed, RUNS_MAX);
        drain_kept(&crew);
        CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);
        CHECK_INT(counts_of(crew.pool).in_flight, ==, 1);
        CHECK_INT(counts_of(crew.pool).queued, ==, 0);
        /* The firings that have passed are due at the next start. */
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        drain_kept(&crew);
        CHECK_INT(task_runs(&crew.tasks[0]), >, 1);
        CHECK_INT(counts_of(crew.pool).dropped, ==, 0);
        crew_fini(&crew);
    }
}
