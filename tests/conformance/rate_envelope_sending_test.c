/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/lifecycle.h>

#include "pool/crew.h"

/* The scenarios of rate-envelope-queue's own test of sending
 * (tests/envelope_sending_to_queue_test.go), named as there, on a manual clock. Where weir answers
 * otherwise, the case says so. */

TEST(single,
     "TestEnvelopeAddingToQueue: Single envelope adding to queue: one before the start, one "
     "after a restart")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew_send(&crew, 0);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    counter_wait(&crew.tasks[0].outcomes, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);

    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 1);
    counter_wait(&crew.tasks[1].outcomes, 1);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 1);
    crew_fini(&crew);
}

/* Which tasks of the crew have run, in this order. */
static struct {
    const struct crew *crew;
    int tasks[TASKS_MAX];
    int count;
} called;

static int call(weir_context *context, struct task *task)
{
    (void)context;
    CHECK_INT(called.count, <, TASKS_MAX);
    called.tasks[called.count++] = (int)(task - called.crew->tasks);
    return WEIR_OK;
}

TEST(multiple, "TestEnvelopeAddingToQueue: Multiple envelope adding to queue: in the order of the "
               "send")
{
    struct crew crew;
    crew_init(&crew, 1);
    called.crew = &crew;
    crew.tasks[0].body = call;
    crew.tasks[1].body = call;
    weir_envelope *envelopes[] = {crew.envelopes[1], crew.envelopes[0]};
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send_all(crew.pool, envelopes, 2), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(called.count, ==, 2);
    CHECK_INT(called.tasks[0], ==, 1);
    CHECK_INT(called.tasks[1], ==, 0);
    crew_fini(&crew);
}

TEST(invalid_parameters, "TestEnvelopeAddingToQueue: Adding to queue with invalid parameters: here "
                         "such an envelope is not even made")
{
    static const struct {
        weir_invoke_fn *invoke;
        int64_t interval_ns;
        int64_t deadline_ns;
        enum weir_status status;
    } cases[] = {{NULL, 0, 0, WEIR_EINVAL},
                 {task_invoke, -1, WEIR_SECONDS(1), WEIR_ERANGE},
                 {task_invoke, 0, -1, WEIR_ERANGE},
                 {task_invoke, WEIR_SECONDS(1), WEIR_SECONDS(3), WEIR_EINTERVAL}};
    struct crew crew;
    crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir_envelope_options options = {0};
        options.allocator = *test_allocator();
        options.invoke = cases[i].invoke;
        options.interval_ns = cases[i].interval_ns;
        options.deadline_ns = cases[i].deadline_ns;
        weir_envelope *envelope = NULL;
        CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), cases[i].status);
        CHECK(envelope == NULL);
        CHECK_STATUS(weir_pool_send(crew.pool, envelope), WEIR_EINVAL);
    }
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(crew.pool).runs, ==, 0);
    crew_fini(&crew);
}

TEST(not_running, "TestEnvelopeAddingToQueue: Adding to queue with not running queue")
{
    struct crew crew;
    crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[0]), WEIR_ESHUTDOWN);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 0);
    crew_fini(&crew);
}

TEST(queue_init, "TestEnvelopeAddingToQueue: Adding to queue with not queue init and queue pending "
                 "option: three are buffered, and run after the start")
{
    struct crew crew;
    crew_init(&crew, 1);
    for (int i = 0; i < 3; i++) {
        crew_send(&crew, i);
    }
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 3);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(task_runs(&crew.tasks[i]), ==, 1);
    }
    crew_fini(&crew);
}

struct stopping {
    struct crew crew;
    struct counter stops;
};

static void stop_and_send(void *arg)
{
    struct stopping *stopping = arg;
    CHECK_STATUS(weir_pool_end(stopping->crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    counter_add(&stopping->stops, 1);
    CHECK_STATUS(weir_pool_send(stopping->crew.pool, stopping->crew.envelopes[0]), WEIR_ESHUTDOWN);
}

static void send_after_stop(void *arg)
{
    struct stopping *stopping = arg;
    counter_wait(&stopping->stops, 1);
    CHECK_STATUS(weir_pool_send(stopping->crew.pool, stopping->crew.envelopes[1]), WEIR_ESHUTDOWN);
}

TEST(stopping_elsewhere,
     "TestEnvelopeAddingToQueue: Adding to queue with queue stopping in another "
     "goroutine: its own send is refused, and that of a third thread")
{
    struct stopping stopping;
    crew_init(&stopping.crew, 1);
    counter_init(&stopping.stops);
    CHECK_STATUS(weir_pool_start(stopping.crew.pool), WEIR_OK);
    struct test_thread *sender = test_start(send_after_stop, &stopping);
    struct test_thread *stopper = test_start(stop_and_send, &stopping);
    test_join(sender);
    test_join(stopper);
    CHECK_INT(counts_of(stopping.crew.pool).runs, ==, 0);
    counter_fini(&stopping.stops);
    crew_fini(&stopping.crew);
}

TEST(same_pointer,
     "TestEnvelopeAddingToQueue: Adding to queue same envelope pointer multiple times: "
     "one run, and one slot of the capacity")
{
    struct crew crew;
    crew_init(&crew, 1);
    weir_envelope *envelopes[] = {crew.envelopes[0], crew.envelopes[0], crew.envelopes[0]};
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_pause(crew.pool, 0),
                 WEIR_OK); /* or the worker might get it in between */
    CHECK_STATUS(weir_pool_send_all(crew.pool, envelopes, 3), WEIR_OK);
    crew_send(&crew, 0);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 1);
    CHECK_STATUS(weir_pool_resume(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 0);
    crew_fini(&crew);
}

TEST(terminated, "TestEnvelopeAddingToQueue: Adding to queue with stopped queue after terminate "
                 "option: refused as by any pool that has ended")
{
    struct crew crew;
    crew_init(&crew, 1);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[0]), WEIR_ESHUTDOWN);
    CHECK_INT(weir_pool_state(crew.pool), ==, WEIR_POOL_STATE_TERMINATED);
    crew_fini(&crew);
}

TEST(started_after_terminate, "TestEnvelopeAddingToQueue: Adding to queue with stopped queue and "
                              "start with terminate option: no start, and no second cycle")
{
    struct task task;
    task_init(&task);
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(1, 0, clock);
    weir_envelope *envelope = periodic_for(&task, WEIR_SECONDS(1));
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    counter_wait(&task.outcomes, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_ESTATE);
    CHECK_INT(weir_pool_state(pool), ==, WEIR_POOL_STATE_TERMINATED);
    CHECK_STATUS(weir_clock_advance(clock, WEIR_MS(1500)), WEIR_OK);
    weir_pool_free(pool);
    CHECK_INT(task_runs(&task), ==, 1);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    weir_clock_free(clock);
    task_fini(&task);
}
