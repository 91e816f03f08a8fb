/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/lifecycle.h>
#include <weir/scope.h>

#include "pool/crew.h"

/* The scenarios of rate-envelope-queue's own tests of the queue (tests/queue_test.go,
 * acceptanse_test.go), named as there, on a manual clock. Where weir answers otherwise, the case
 * says so. */

TEST(different_start_and_stop, "TestQueue: Different start and stop queue options: run after each "
                               "start, refused after the last stop")
{
    struct crew crew;
    crew_init(&crew, 1);
    for (int round = 1; round <= 2; round++) {
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        crew_send(&crew, 0);
        CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(task_runs(&crew.tasks[0]), ==, round);
    }
    CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[0]), WEIR_ESHUTDOWN);
    crew_fini(&crew);
}

static int until_cancelled(weir_context *context, struct task *task)
{
    (void)task;
    return (int)weir_context_sleep(context, WEIR_FOREVER);
}

/* Two tasks are sent to a pool of one worker. The first is in a run that lasts: until it is let go,
 * or, if it listens, until its context is cancelled. */
static void start_two(struct crew *crew, bool listens)
{
    crew_init(crew, 1);
    crew->tasks[0].is_held = !listens;
    crew->tasks[0].body = listens ? until_cancelled : NULL;
    crew_send(crew, 0);
    crew_send(crew, 1);
    CHECK_STATUS(weir_pool_start(crew->pool), WEIR_OK);
    counter_wait(&crew->tasks[0].entered, 1);
}

static void end_no_wait(struct crew *crew, enum weir_end_mode mode)
{
    CHECK_STATUS(weir_pool_end(crew->pool, mode, 0, 0), WEIR_OK);
    CHECK_INT(weir_pool_state(crew->pool), ==, WEIR_POOL_STATE_STOPPING);
    CHECK_INT(counts_of(crew->pool).runs, ==, 0);
}

/* Both have ended, however often each has run. */
static void check_two(struct crew *crew, int first, int second)
{
    CHECK_INT(weir_pool_state(crew->pool), ==, WEIR_POOL_STATE_STOPPED);
    CHECK_INT(task_runs(&crew->tasks[0]), ==, first);
    CHECK_INT(task_runs(&crew->tasks[1]), ==, second);
    CHECK_INT(counts_of(crew->pool).dropped, ==, 2 - first - second);
    CHECK_INT(counts_of(crew->pool).in_flight, ==, 0);
    crew_fini(crew);
}

TEST(stop_waiting,
     "TestQueue: Queue stopping with 'Stop' stop mode and waiting 'true' option: what "
     "runs is cancelled, and what is queued dropped; there both run")
{
    struct crew crew;
    start_two(&crew, true);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(atomic_load(&crew.tasks[0].last_status), ==, WEIR_ECANCELED);
    check_two(&crew, 1, 0);
}

TEST(drain_waiting, "TestQueue: Queue stopping with 'Drain' stop mode and waiting 'true' option: "
                    "both have run when it returns")
{
    struct crew crew;
    start_two(&crew, false);
    struct ender drainer = {crew.pool, WEIR_END_DRAIN, WEIR_EINVAL};
    struct test_thread *thread = test_start(ender_run, &drainer);
    test_wait_asleep(thread);
    CHECK_INT(counts_of(crew.pool).runs, ==, 0);
    counter_add(&crew.tasks[0].allowed, 1);
    test_join(thread);
    CHECK_STATUS(drainer.status, WEIR_OK);
    check_two(&crew, 1, 1);
}

TEST(drain_not_waiting, "TestQueue: Queue stopping with 'Drain' stop mode and waiting 'false' "
                        "option: none has run when it returns; here both do then")
{
    struct crew crew;
    start_two(&crew, false);
    end_no_wait(&crew, WEIR_END_DRAIN);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_two(&crew, 1, 1);
}

TEST(stop_not_waiting,
     "TestQueue: Queue stopping with 'Stop' stop mode and waiting 'false' option: "
     "none has run when it returns, and the second never does")
{
    struct crew crew;
    start_two(&crew, false);
    end_no_wait(&crew, WEIR_END_STOP);
    counter_add(&crew.tasks[0].allowed, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    check_two(&crew, 1, 0);
}

/* Two periodic envelopes run once; then the pool is ended so, and for good: no second cycle. */
static void check_terminated(enum weir_end_mode mode)
{
    struct task tasks[2];
    weir_envelope *envelopes[2];
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(1, 0, clock);
    for (int i = 0; i < 2; i++) {
        task_init(&tasks[i]);
        envelopes[i] = periodic_for(&tasks[i], WEIR_SECONDS(2 + i));
    }
    CHECK_STATUS(weir_pool_send_all(pool, envelopes, 2), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    counter_wait(&tasks[1].outcomes, 1);
    CHECK_STATUS(weir_pool_end(pool, mode, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(weir_pool_state(pool), ==, WEIR_POOL_STATE_TERMINATED);
    CHECK_STATUS(weir_clock_advance(clock, WEIR_MS(2100)), WEIR_OK);
    CHECK_INT(counts_of(pool).dropped, ==, 2);
    weir_pool_free(pool);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(task_runs(&tasks[i]), ==, 1);
        weir_envelope_unref(envelopes[i]);
        CHECK_INT(counter_value(&tasks[i].released), ==, 1);
        task_fini(&tasks[i]);
    }
    weir_clock_free(clock);
}

TEST(drain_terminate, "TestQueue: Queue stopping with 'Drain' stop mode and waiting 'true' and "
                      "terminate options")
{
    check_terminated(WEIR_END_DRAIN);
}

TEST(stop_terminate, "TestQueue: Queue stopping with 'Stop' stop mode and waiting 'true' and "
                     "terminate options")
{
    check_terminated(WEIR_END_STOP);
}

/* The envelopes of the peer's acceptance test. */
enum {
    EMAIL,        /* once; its after hook fails */
    EMAIL_TO_END, /* every 5 s, until its after hook says stop: at the first run */
    METRICS,      /* every 3 s */
    METRICS_ONCE,
    METRICS_FAILING, /* once */
    FOOD,            /* every 2 s */
    ENVELOPES
};

static int after_status(weir_context *context, weir_envelope *envelope, int status, void *payload)
{
    (void)context;
    (void)status;
    (void)payload;
    return weir_envelope_id(envelope) == EMAIL ? WEIR_EUSER : WEIR_ESTOP;
}

struct acceptance {
    weir_clock *clock;
    weir_scope *scope;
    weir_pool *pool;
    struct task tasks[ENVELOPES];
    weir_envelope *envelopes[ENVELOPES];
};

static void acceptance_init(struct acceptance *all)
{
    static const int64_t intervals[ENVELOPES] = {
        [EMAIL_TO_END] = WEIR_SECONDS(5), [METRICS] = WEIR_SECONDS(3), [FOOD] = WEIR_SECONDS(2)};
    all->clock = manual_clock(0);
    CHECK_STATUS(weir_scope_new(test_allocator(), &all->scope), WEIR_OK);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = all->clock;
    options.workers = 5;
    options.scope = all->scope;
    CHECK_STATUS(weir_pool_new(&options, &all->pool, NULL), WEIR_OK);
    for (uint64_t i = 0; i < ENVELOPES; i++) {
        task_init(&all->tasks[i]);
        struct weir_envelope_options envelope = task_envelope(&all->tasks[i]);
        envelope.id = i;
        envelope.interval_ns = intervals[i];
        envelope.deadline_ns = WEIR_SECONDS(1);
        envelope.after = i == EMAIL || i == EMAIL_TO_END ? after_status : NULL;
        CHECK_STATUS(weir_envelope_new(&envelope, &all->envelopes[i], NULL), WEIR_OK);
    }
    all->tasks[METRICS_FAILING].status = WEIR_EUSER;
}

/* Starts the pool and sends all, one of them twice; waits for a run of each. */
static void acceptance_start(struct acceptance *all, int runs_before)
{
    weir_envelope *sent[ENVELOPES + 1];
    memcpy(sent, all->envelopes, sizeof(all->envelopes));
    sent[ENVELOPES] = all->envelopes[EMAIL];
    CHECK_STATUS(weir_pool_pause(all->pool, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(all->pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send_all(all->pool, sent, ENVELOPES + 1), WEIR_OK);
    CHECK_STATUS(weir_pool_resume(all->pool), WEIR_OK);
    for (int i = 0; i < ENVELOPES; i++) {
        counter_wait(&all->tasks[i].outcomes, runs_before + 1);
    }
}

TEST(acceptance,
     "Test_Acceptance: start, stop and start again, and a cancellation of all: e-mails, "
     "metrics and food come as often as they should")
{
    static const int cycles[ENVELOPES] = {1, 1, 5, 1, 1, 7}; /* in 12 seconds */
    struct acceptance all;
    acceptance_init(&all);
    acceptance_start(&all, 0);
    CHECK_STATUS(weir_pool_end(all.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(all.pool).runs, ==, ENVELOPES);
    CHECK_INT(counts_of(all.pool).dropped, ==, 2); /* the next cycles of metrics and food */

    acceptance_start(&all, 1);
    for (int second = 1; second <= 12; second++) {
        CHECK_STATUS(weir_clock_advance(all.clock, WEIR_SECONDS(1)), WEIR_OK);
        counter_wait(&all.tasks[METRICS].outcomes, 2 + second / 3);
        counter_wait(&all.tasks[FOOD].outcomes, 2 + second / 2);
    }
    weir_scope_cancel(all.scope);
    CHECK_STATUS(weir_pool_end(all.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(weir_pool_state(all.pool), ==, WEIR_POOL_STATE_STOPPED);
    CHECK_STATUS(weir_pool_start(all.pool), WEIR_ECANCELED);
    struct weir_pool_counts counts = counts_of(all.pool);
    CHECK_INT(counts.in_flight, ==, 0);
    CHECK_INT(counts.stopped, ==, 2);
    CHECK_INT(counts.failed, ==, 2);
    CHECK_INT(counts.hook_errors, ==, 2);
    weir_pool_free(all.pool);
    weir_scope_free(all.scope);
    for (int i = 0; i < ENVELOPES; i++) {
        CHECK_INT(task_runs(&all.tasks[i]), ==, 1 + cycles[i]);
        weir_envelope_unref(all.envelopes[i]);
        CHECK_INT(counter_value(&all.tasks[i].released), ==, 1);
        task_fini(&all.tasks[i]);
    }
    weir_clock_free(all.clock);
}
