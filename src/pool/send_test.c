/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include "pool/fixture.h"

TEST(runs_once, "an envelope sent is run once, with its payload, and its outcome told after")
{
    struct task task;
    task_init(&task);
    task.status = WEIR_EUSER + 7;
    weir_pool *pool = pool_with(2, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&task), ==, 1);
    CHECK_INT(atomic_load(&task.last_status), ==, WEIR_EUSER + 7);
    CHECK_INT(counts_of(pool).runs, ==, 1);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
}

TEST(no_outcome, "an envelope without an outcome function runs as well")
{
    struct task task;
    task_init(&task);
    struct weir_envelope_options options = {0};
    options.payload = &task;
    options.invoke = task_invoke;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    weir_envelope_unref(envelope);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counter_value(&task.entered), ==, 1);
    weir_pool_free(pool);
    task_fini(&task);
}

TEST(again_while_running,
     "sent any number of times while it runs, an envelope runs once more, never twice at once")
{
    struct task task;
    task_init(&task);
    task.is_held = true;
    weir_pool *pool = pool_with(4, 1, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&task.entered, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    }
    struct weir_pool_counts counts = counts_of(pool);
    CHECK_INT(counts.running, ==, 1);
    CHECK_INT(counts.queued, ==, 0);
    CHECK_INT(counts.in_flight, ==, 1);
    counter_add(&task.allowed, 2);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&task), ==, 2);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
}

static int send_itself(weir_context *context, struct task *task)
{
    (void)context;
    if (counter_value(&task->entered) < 5) {
        CHECK_STATUS(weir_pool_send(task->pool, task->envelope), WEIR_OK);
    }
    return WEIR_OK;
}

TEST(from_a_task, "a task may send its own envelope to its own pool, with no slot to spare")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(2, 1, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    task.pool = pool;
    task.envelope = envelope;
    task.body = send_itself;
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    weir_envelope_unref(envelope);
    counter_wait(&task.released, 1);
    CHECK_INT(task_runs(&task), ==, 5);
    weir_pool_free(pool);
    task_fini(&task);
}

static int fail_twice(weir_context *context, struct task *task)
{
    (void)context;
    return counter_value(&task->entered) < 3 ? WEIR_EUSER : WEIR_OK;
}

static void try_again(weir_envelope *envelope, int status, void *payload)
{
    struct task *task = payload;
    if (status != WEIR_OK) {
        CHECK_STATUS(weir_pool_send_after(task->pool, envelope, task->delay_ns), WEIR_OK);
    }
    task_outcome(envelope, status, payload);
}

TEST(from_an_outcome, "an outcome may have its envelope tried again later, with no slot to spare")
{
    struct task task;
    task_init(&task);
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(2, 1, clock);
    struct weir_envelope_options options = {0};
    options.payload = &task;
    options.invoke = task_invoke;
    options.outcome = try_again;
    options.release = task_release;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    task.pool = pool;
    task.body = fail_twice;
    task.delay_ns = 5;
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    weir_envelope_unref(envelope);
    for (int i = 1; i < 3; i++) {
        counter_wait(&task.outcomes, i);
        CHECK_INT(counts_of(pool).waiting, ==, 1);
        CHECK_INT(counts_of(pool).in_flight, ==, 1);
        CHECK_STATUS(weir_clock_advance(clock, 5), WEIR_OK);
    }
    counter_wait(&task.released, 1);
    CHECK_INT(task_runs(&task), ==, 3);
    CHECK_INT(atomic_load(&task.last_status), ==, WEIR_OK);
    weir_pool_free(pool);
    weir_clock_free(clock);
    task_fini(&task);
}

/* A place in the order of runs; one worker, so no two runs touch it at once. */
struct note {
    int *next;
    int seen;
};

static int note_order(weir_context *context, void *payload)
{
    (void)context;
    struct note *note = payload;
    note->seen = (*note->next)++;
    return WEIR_OK;
}

TEST(in_order, "one worker runs envelopes in the order of their sends")
{
    enum {
        COUNT = 20
    };
    int next = 0;
    struct note notes[COUNT];
    weir_pool *pool = pool_with(1, 0, NULL);
    for (int i = 0; i < COUNT; i++) {
        notes[i] = (struct note){&next, -1};
        struct weir_envelope_options options = {0};
        options.allocator = *test_allocator();
        options.payload = &notes[i];
        options.invoke = note_order;
        weir_envelope *envelope;
        CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        weir_envelope_unref(envelope); /* sent and forgotten */
    }
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(notes[i].seen, ==, i);
    }
    weir_pool_free(pool);
}

TEST(after,
     "an envelope sent for later runs at that time and not before; the earlier of two times holds")
{
    struct task task;
    task_init(&task);
    weir_clock *clock = manual_clock(100);
    weir_pool *pool = pool_with(2, 0, clock);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, 50), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, 30), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, 40), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(clock, 29), WEIR_OK);
    CHECK_INT(counts_of(pool).waiting, ==, 1);
    CHECK_INT(counts_of(pool).queued, ==, 0);
    weir_envelope_unref(envelope);
    CHECK_STATUS(weir_clock_advance(clock, 1), WEIR_OK);
    counter_wait(&task.released, 1);
    CHECK_INT(task_runs(&task), ==, 1);
    weir_pool_free(pool);
    weir_clock_free(clock);
    task_fini(&task);
}

TEST(after_nothing, "a delay of zero or less is none")
{
    struct task task;
    task_init(&task);
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(1, 0, clock);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, INT64_MIN), WEIR_OK);
    CHECK_INT(counts_of(pool).queued, ==, 1);
    CHECK_INT(counts_of(pool).waiting, ==, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&task), ==, 1);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    weir_clock_free(clock);
    task_fini(&task);
}

TEST(two_pools, "an envelope in flight in one pool is refused by another, until it has landed")
{
    struct task task;
    task_init(&task);
    weir_pool *first = pool_with(1, 0, NULL);
    weir_pool *second = pool_with(1, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(first, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_send(second, envelope), WEIR_EBUSY);
    CHECK_STATUS(weir_pool_send_after(second, envelope, 1), WEIR_EBUSY);
    CHECK_INT(counts_of(second).in_flight, ==, 0);
    CHECK_STATUS(weir_pool_start(first), WEIR_OK);
    CHECK_STATUS(weir_pool_end(first, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_send(second, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(second), WEIR_OK);
    CHECK_STATUS(weir_pool_end(second, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&task), ==, 2);
    weir_envelope_unref(envelope);
    weir_pool_free(first);
    weir_pool_free(second);
    task_fini(&task);
}

static int until_timed_out(weir_context *context, struct task *task)
{
    CHECK_STATUS(weir_context_check(context), WEIR_OK);
    CHECK_INT(weir_context_remaining(context), ==, task->delay_ns);
    counter_add(&task->allowed, 1);
    int status = (int)weir_context_sleep(context, WEIR_FOREVER);
    CHECK_INT(weir_context_remaining(context), ==, 0);
    return status;
}

TEST(deadline, "a run has its deadline from its own start, and learns that it has passed")
{
    struct task task;
    task_init(&task);
    task.body = until_timed_out;
    task.delay_ns = 30;
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(1, 0, clock);
    weir_envelope *envelope = envelope_for(&task, task.delay_ns);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(clock, 1000), WEIR_OK); /* in the queue time does not count */
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    counter_wait(&task.allowed, 1);
    CHECK_STATUS(weir_clock_advance(clock, 30), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(atomic_load(&task.last_status), ==, WEIR_ETIMEDOUT);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    weir_clock_free(clock);
    task_fini(&task);
}

static int look(weir_context *context, struct task *task)
{
    (void)context;
    return task->status + WEIR_EUSER;
}

TEST(visible, "what was written to the payload before a send is seen by its run (R17)")
{
    struct task task;
    task_init(&task);
    task.body = look;
    weir_pool *pool = pool_with(2, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int sends = 1; sends <= 100; sends++) {
        task.status = sends;
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        counter_wait(&task.outcomes, sends);
        CHECK_INT(atomic_load(&task.last_status), ==, WEIR_EUSER + sends);
    }
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    task_fini(&task);
}

TEST(late_success, "a task that returns 0 after its deadline did succeed (R7)")
{
    struct task task;
    task_init(&task);
    task.is_held = true;
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(1, 0, clock);
    weir_envelope *envelope = envelope_for(&task, 10);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&task.entered, 1);
    CHECK_STATUS(weir_clock_advance(clock, 100), WEIR_OK);
    counter_add(&task.allowed, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&task), ==, 1);
    CHECK_INT(atomic_load(&task.last_status), ==, WEIR_OK);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    weir_clock_free(clock);
    task_fini(&task);
}

TEST(bad_input, "a NULL pool or envelope is refused by every call")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(NULL, envelope), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send(pool, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send_after(NULL, envelope, 1), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send_after(pool, NULL, 1), WEIR_EINVAL);
    CHECK_INT(counts_of(pool).in_flight, ==, 0);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&task.released), ==, 1);
    weir_pool_free(pool);
    task_fini(&task);
}

/* Sends and checks that a refusal for lack of memory changed nothing. */
static bool sent_or_unchanged(weir_pool *pool, weir_envelope *envelope, int64_t delay_ns)
{
    size_t before = counts_of(pool).in_flight;
    enum weir_status status = weir_pool_send_after(pool, envelope, delay_ns);
    if (CHECK_OR_OOM(status)) {
        CHECK_INT(counts_of(pool).in_flight, ==, before);
        return false;
    }
    return true;
}

TEST_OOM(
    no_memory,
    "whatever allocation fails, a send is refused with nothing changed, and what was sent is run")
{
    enum {
        COUNT = 40
    };
    weir_clock *clock;
    if (CHECK_OR_OOM(weir_clock_manual_new(0, test_allocator(), &clock))) {
        return;
    }
    weir_pool *pool = pool_with(2, 0, clock);
    struct task tasks[COUNT];
    int sent = 0;
    for (int i = 0; i < COUNT; i++) {
        task_init(&tasks[i]);
        weir_envelope *envelope = pool == NULL ? NULL : envelope_for(&tasks[i], 0);
        if (envelope != NULL) {
            sent += sent_or_unchanged(pool, envelope, i % 2);
        }
        weir_envelope_unref(envelope);
    }
    if (pool != NULL) {
        CHECK_INT(counts_of(pool).in_flight, ==, sent);
        CHECK_STATUS(weir_clock_advance(clock, 1), WEIR_OK);
        CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(counts_of(pool).runs, ==, sent);
    }
    weir_pool_free(pool);
    weir_clock_free(clock);
    int runs = 0;
    for (int i = 0; i < COUNT; i++) {
        runs += task_runs(&tasks[i]);
        task_fini(&tasks[i]);
    }
    CHECK_INT(runs, ==, sent);
}
