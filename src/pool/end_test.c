/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Drain and stop. */

#include "pool/pool.h"

#include "pool/crew.h"

static int until_cancelled(weir_context *context, struct task *task)
{
    (void)task;
    int status = (int)weir_context_sleep(context, WEIR_FOREVER);
    CHECK_STATUS(weir_context_check(context), WEIR_ECANCELED);
    return status;
}

TEST(drain_runs_queued,
     "a drain runs what is queued and what was sent while it ran, and drops what waits for a time")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    crew_send(&crew, 0); /* again, while it runs */
    crew_send(&crew, 1);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[2], 5), WEIR_OK);
    struct ender drainer = {crew.pool, WEIR_END_DRAIN, WEIR_OK};
    struct test_thread *thread = test_start(ender_run, &drainer);
    test_wait_asleep(thread);
    counter_add(&crew.tasks[0].allowed, 2);
    test_join(thread);
    CHECK_STATUS(drainer.status, WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 2);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 1);
    CHECK_INT(task_runs(&crew.tasks[2]), ==, 0);
    CHECK_INT(counts_of(crew.pool).dropped, ==, 1);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 0);
    crew_fini(&crew);
}

TEST(drain_counts_once,
     "a drain counts a send for later and the next firing of a queued periodic envelope once each")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    struct task task;
    task_init(&task);
    struct weir_envelope_options options = task_envelope(&task);
    options.interval_ns = 100;
    weir_envelope *periodic = NULL;
    CHECK_STATUS(weir_envelope_new(&options, &periodic, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    CHECK_STATUS(weir_pool_send_after(crew.pool, periodic, 50), WEIR_OK);
    CHECK_STATUS(weir_pool_send(crew.pool, periodic), WEIR_OK);
    struct ender drainer = {crew.pool, WEIR_END_DRAIN, WEIR_OK};
    struct test_thread *thread = test_start(ender_run, &drainer);
    test_wait_asleep(thread);
    counter_add(&crew.tasks[0].allowed, 1);
    test_join(thread);
    CHECK_INT(task_runs(&task), ==, 1);
    CHECK_INT(counts_of(crew.pool).dropped, ==, 2);
    weir_envelope_unref(periodic);
    task_fini(&task);
    crew_fini(&crew);
}

/* After it was held. */
static int check_context(weir_context *context, struct task *task)
{
    (void)task;
    return (int)weir_context_check(context);
}

TEST(drain_keeps_contexts, "a drain cancels nothing: a running task goes on to its end")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    crew.tasks[0].body = check_context;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    struct ender drainer = {crew.pool, WEIR_END_DRAIN, WEIR_OK};
    struct test_thread *thread = test_start(ender_run, &drainer);
    test_wait_asleep(thread);
    counter_add(&crew.tasks[0].allowed, 1);
    test_join(thread);
    CHECK_STATUS(drainer.status, WEIR_OK);
    CHECK_INT(atomic_load(&crew.tasks[0].last_status), ==, WEIR_OK);
    crew_fini(&crew);
}

TEST(refused_after, "a send to a pool that drains or has ended is refused and changes nothing")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    struct ender drainer = {crew.pool, WEIR_END_DRAIN, WEIR_OK};
    struct test_thread *thread = test_start(ender_run, &drainer);
    test_wait_asleep(thread);
    CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[0]), WEIR_ESHUTDOWN); /* running */
    CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[1]), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[1], 5), WEIR_ESHUTDOWN);
    struct weir_pool_counts counts = counts_of(crew.pool);
    CHECK_INT(counts.in_flight, ==, 1);
    CHECK_INT(counts.queued + counts.waiting, ==, 0);
    counter_add(&crew.tasks[0].allowed, 2);
    test_join(thread);
    CHECK_STATUS(weir_pool_send(crew.pool, crew.envelopes[1]), WEIR_ESHUTDOWN);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 0);
    /* Not in flight: another pool takes it. */
    weir_pool *other = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_send(other, crew.envelopes[1]), WEIR_OK);
    weir_pool_free(other);
    crew_fini(&crew);
}

TEST(stop_cancels_and_drops,
     "a stop cancels what runs, also asleep, and drops what is queued, dirty or waits, counted")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].body = until_cancelled;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    crew_send(&crew, 0); /* dirty */
    crew_send(&crew, 1); /* queued */
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[2], 5), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[0], 5), WEIR_OK);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&crew.tasks[0]), ==, 1);
    CHECK_INT(atomic_load(&crew.tasks[0].last_status), ==, WEIR_ECANCELED);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 0);
    CHECK_INT(task_runs(&crew.tasks[2]), ==, 0);
    struct weir_pool_counts counts = counts_of(crew.pool);
    CHECK_INT(counts.runs, ==, 1);
    CHECK_INT(counts.dropped, ==, 4);
    CHECK_INT(counts.in_flight, ==, 0);
    CHECK_INT(counts.queued + counts.waiting + counts.running, ==, 0);
    crew_fini(&crew);
}

TEST(stop_drops_at_once,
     "what a stop drops is given back while a task that ignores its context still runs (R12)")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    crew_send(&crew, 1);
    CHECK_STATUS(weir_pool_send_after(crew.pool, crew.envelopes[2], 5), WEIR_OK);
    for (int i = 1; i <= 2; i++) {
        weir_envelope_unref(crew.envelopes[i]);
        crew.envelopes[i] = NULL;
    }
    struct ender stopper = {crew.pool, WEIR_END_STOP, WEIR_EINVAL};
    struct test_thread *thread = test_start(ender_run, &stopper);
    counter_wait(&crew.tasks[1].released, 1);
    counter_wait(&crew.tasks[2].released, 1);
    CHECK_INT(counts_of(crew.pool).in_flight, ==, 1);
    CHECK_INT(counter_value(&crew.tasks[0].outcomes), ==, 0);
    counter_add(&crew.tasks[0].allowed, 1);
    test_join(thread);
    CHECK_STATUS(stopper.status, WEIR_OK);
    crew_fini(&crew);
}

TEST(stop_during_drain,
     "a stop cuts a drain short: the drain says canceled, and what was queued is dropped")
{
    struct crew crew;
    crew_init(&crew, 1);
    crew.tasks[0].body = until_cancelled;
    CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
    crew_send(&crew, 0);
    counter_wait(&crew.tasks[0].entered, 1);
    crew_send(&crew, 1);
    struct ender drainer = {crew.pool, WEIR_END_DRAIN, WEIR_OK};
    struct test_thread *thread = test_start(ender_run, &drainer);
    test_wait_asleep(thread);
    CHECK_STATUS(weir_pool_end(crew.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    test_join(thread);
    CHECK_STATUS(drainer.status, WEIR_ECANCELED);
    CHECK_INT(task_runs(&crew.tasks[1]), ==, 0);
    CHECK_INT(counts_of(crew.pool).dropped, ==, 1);
    crew_fini(&crew);
}

TEST(ended_again, "draining or stopping what has drained succeeds at once; draining what was "
                  "stopped says canceled")
{
    struct crew drained;
    crew_init(&drained, 1);
    CHECK_STATUS(weir_pool_start(drained.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(drained.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(drained.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(drained.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(drained.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    crew_fini(&drained);

    struct crew stopped;
    crew_init(&stopped, 1);
    CHECK_STATUS(weir_pool_start(stopped.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(stopped.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(stopped.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(stopped.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ECANCELED);
    crew_fini(&stopped);
}

TEST(ends_at_once, "of drains and stops at once all return, when the workers have ended")
{
    for (uint64_t round = test_scaled(50); round > 0; round--) {
        enum {
            COUNT = 4
        };
        struct crew crew;
        crew_init(&crew, 2);
        for (int i = 0; i < TASKS_MAX; i++) {
            crew_send(&crew, i);
        }
        CHECK_STATUS(weir_pool_start(crew.pool), WEIR_OK);
        struct ender enders[COUNT];
        struct test_thread *threads[COUNT];
        for (int i = 0; i < COUNT; i++) {
            bool is_drain = test_random_below(2) == 0;
            enders[i] =
                (struct ender){crew.pool, is_drain ? WEIR_END_DRAIN : WEIR_END_STOP, WEIR_EINVAL};
            threads[i] = test_start(ender_run, &enders[i]);
        }
        bool any_stop = false;
        for (int i = 0; i < COUNT; i++) {
            test_join(threads[i]);
            bool is_stop = enders[i].mode == WEIR_END_STOP;
            any_stop = any_stop || is_stop;
            CHECK(enders[i].status == WEIR_OK || !is_stop);
            CHECK(enders[i].status == WEIR_OK || enders[i].status == WEIR_ECANCELED);
        }
        struct weir_pool_counts counts = counts_of(crew.pool);
        CHECK_INT(counts.runs + counts.dropped, ==, TASKS_MAX);
        CHECK(any_stop || counts.dropped == 0);
        CHECK_INT(counts.in_flight, ==, 0);
        crew_fini(&crew);
    }
}

/* Sends until it is refused, and counts what was accepted. */
struct sender {
    weir_pool *pool;
    weir_envelope *envelope;
    uint64_t accepted;
};

static void sender_run(void *arg)
{
    struct sender *sender = arg;
    enum weir_status status;
    do {
        status = weir_pool_send_after(sender->pool, sender->envelope,
                                      (int64_t)test_random_below(3) * WEIR_US(1));
        CHECK(status == WEIR_OK || status == WEIR_EFULL || status == WEIR_ESHUTDOWN);
        sender->accepted += status == WEIR_OK;
    } while (status != WEIR_ESHUTDOWN);
}

static struct counter all_runs;

static int count_run(weir_context *context, struct task *task)
{
    (void)context;
    (void)task;
    counter_add(&all_runs, 1);
    return WEIR_OK;
}

TEST(sends_against_end,
     "sends that race with an end lose no slot and no reference, and none is forgotten (R3)")
{
    for (uint64_t round = test_scaled(30); round > 0; round--) {
        enum {
            COUNT = 3
        };
        struct task tasks[COUNT];
        struct sender senders[COUNT];
        struct test_thread *threads[COUNT];
        counter_init(&all_runs);
        weir_pool *pool = pool_with(2, COUNT - 1, NULL); /* one too few: some are refused */
        CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
        for (int i = 0; i < COUNT; i++) {
            task_init(&tasks[i]);
            tasks[i].body = count_run;
            senders[i] = (struct sender){pool, envelope_for(&tasks[i], 0), 0};
            threads[i] = test_start(sender_run, &senders[i]);
        }
        counter_wait(&all_runs, (int)test_random_below(20));
        bool is_drain = test_random_below(2) == 0;
        CHECK_STATUS(is_drain ? weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER)
                              : weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER),
                     WEIR_OK);
        for (int i = 0; i < COUNT; i++) {
            test_join(threads[i]);
            CHECK_INT(task_runs(&tasks[i]), <=, senders[i].accepted);
            weir_envelope_unref(senders[i].envelope);
            CHECK_INT(counter_value(&tasks[i].released), ==, 1);
        }
        CHECK_INT(counts_of(pool).in_flight, ==, 0);
        weir_pool_free(pool);
        for (int i = 0; i < COUNT; i++) {
            task_fini(&tasks[i]);
        }
        counter_fini(&all_runs);
    }
}
