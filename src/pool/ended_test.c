/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a pool tells of the ends of envelopes. */

#include <weir/ended.h>
#include <weir/lifecycle.h>

#include "pool/fixture.h"

enum {
    DROPS_MAX = 8
};

/* What a pool told its ended function of drops. */
struct drops {
    weir_envelope *envelopes[DROPS_MAX];
    uint32_t reasons[DROPS_MAX];
    struct counter count;
};

static void note_drop(const struct weir_ended *ended, void *arg)
{
    struct drops *drops = arg;
    weir_envelope *envelope = ended->envelope;
    if (!was_dropped(ended)) {
        return;
    }
    int number = counter_value(&drops->count);
    CHECK_INT(number, <, DROPS_MAX);
    drops->envelopes[number] = envelope;
    drops->reasons[number] = ended->reason;
    struct task *task = weir_envelope_payload(envelope);
    CHECK_INT(counter_value(&task->released), ==, 0);
    counter_add(&drops->count, 1);
}

static weir_pool *telling_pool(struct drops *drops, size_t capacity, uint32_t when_full)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.capacity = capacity;
    options.when_full = when_full;
    options.ended = note_drop;
    options.ended_arg = drops;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    counter_init(&drops->count);
    return pool;
}

/* Sends an envelope that nobody else has. */
static weir_envelope *send_new(weir_pool *pool, struct task *task, int64_t delay_ns)
{
    weir_envelope *envelope = envelope_for(task, 0);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, delay_ns), WEIR_OK);
    weir_envelope_unref(envelope);
    return envelope;
}

static void check_drop(struct drops *drops, int number, weir_envelope *envelope,
                       enum weir_ended_reason reason)
{
    CHECK_INT(counter_value(&drops->count), >, number);
    CHECK(drops->envelopes[number] == envelope);
    CHECK_STRING(weir_ended_reason_text(drops->reasons[number]), weir_ended_reason_text(reason));
}

TEST(stop, "a stop tells of what was queued and what waited, before it gives them back (R13)")
{
    struct drops drops;
    struct task tasks[3];
    weir_envelope *envelopes[3];
    weir_pool *pool = telling_pool(&drops, 0, WEIR_FULL_REFUSE);
    for (int i = 0; i < 3; i++) {
        task_init(&tasks[i]);
    }
    tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    envelopes[0] = send_new(pool, &tasks[0], 0);
    counter_wait(&tasks[0].entered, 1);
    envelopes[1] = send_new(pool, &tasks[1], 0);
    envelopes[2] = send_new(pool, &tasks[2], WEIR_SECONDS(3600));
    struct ender stopper = {pool, WEIR_END_STOP, WEIR_EINVAL};
    struct test_thread *thread = test_start(ender_run, &stopper);
    counter_wait(&drops.count, 2); /* while a task runs that does not ask its context */
    counter_add(&tasks[0].allowed, 1);
    test_join(thread);
    CHECK_STATUS(stopper.status, WEIR_OK);
    CHECK_INT(counter_value(&drops.count), ==, 2);
    check_drop(&drops, 0, envelopes[1], WEIR_ENDED_STOPPED);
    check_drop(&drops, 1, envelopes[2], WEIR_ENDED_STOPPED);
    weir_pool_free(pool);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(counter_value(&tasks[i].released), ==, 1);
        task_fini(&tasks[i]);
    }
    counter_fini(&drops.count);
}

TEST(drain, "a drain tells of what waited for a time, and of nothing that it runs (R13)")
{
    struct drops drops;
    struct task tasks[2];
    weir_pool *pool = telling_pool(&drops, 0, WEIR_FULL_REFUSE);
    task_init(&tasks[0]);
    task_init(&tasks[1]);
    (void)send_new(pool, &tasks[0], 0);
    weir_envelope *late = send_new(pool, &tasks[1], WEIR_SECONDS(3600));
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counter_value(&drops.count), ==, 1);
    check_drop(&drops, 0, late, WEIR_ENDED_DRAINED);
    CHECK_INT(task_runs(&tasks[0]), ==, 1);
    weir_pool_free(pool);
    task_fini(&tasks[0]);
    task_fini(&tasks[1]);
    counter_fini(&drops.count);
}

TEST(freed, "a pool that is freed before it was started tells of what it held")
{
    struct drops drops;
    struct task tasks[2];
    weir_pool *pool = telling_pool(&drops, 0, WEIR_FULL_REFUSE);
    task_init(&tasks[0]);
    task_init(&tasks[1]);
    weir_envelope *queued = send_new(pool, &tasks[0], 0);
    weir_envelope *late = send_new(pool, &tasks[1], WEIR_SECONDS(3600));
    weir_pool_free(pool);
    CHECK_INT(counter_value(&drops.count), ==, 2);
    check_drop(&drops, 0, queued, WEIR_ENDED_TERMINATED);
    check_drop(&drops, 1, late, WEIR_ENDED_TERMINATED);
    task_fini(&tasks[0]);
    task_fini(&tasks[1]);
    counter_fini(&drops.count);
}

TEST(displaced, "an envelope that had to give its slot to a later one is told of")
{
    struct drops drops;
    struct task tasks[2];
    weir_pool *pool = telling_pool(&drops, 1, WEIR_FULL_DROP_OLDEST);
    task_init(&tasks[0]);
    task_init(&tasks[1]);
    weir_envelope *oldest = send_new(pool, &tasks[0], 0);
    (void)send_new(pool, &tasks[1], 0);
    CHECK_INT(counter_value(&drops.count), ==, 1);
    check_drop(&drops, 0, oldest, WEIR_ENDED_DISPLACED);
    CHECK_INT(counter_value(&tasks[0].released), ==, 1);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counter_value(&drops.count), ==, 1);
    weir_pool_free(pool);
    task_fini(&tasks[0]);
    task_fini(&tasks[1]);
    counter_fini(&drops.count);
}

TEST(reasons, "each reason has a text of its own, and so has what is none")
{
    for (uint32_t i = 0; i <= WEIR_ENDED_TERMINATED + 1; i++) {
        const char *text = weir_ended_reason_text(i);
        bool is_known = i >= WEIR_ENDED_DONE && i <= WEIR_ENDED_TERMINATED;
        CHECK_INT(strcmp(text, "unknown reason") != 0, ==, is_known);
        for (uint32_t j = 0; j < i; j++) {
            CHECK_INT(strcmp(text, weir_ended_reason_text(j)) == 0, ==,
                      i > WEIR_ENDED_TERMINATED && j == 0);
        }
    }
}

TEST(canceled, "an envelope that is cancelled is told of where that ends its flight")
{
    struct drops drops;
    struct task task;
    weir_pool *pool = telling_pool(&drops, 0, WEIR_FULL_REFUSE);
    task_init(&task);
    task.is_held = true;
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_cancel(pool, envelope, 0, NULL), WEIR_OK);
    CHECK_INT(counter_value(&drops.count), ==, 1);
    check_drop(&drops, 0, envelope, WEIR_ENDED_CANCELED);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&task.entered, 1);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_cancel(pool, envelope, 0, NULL), WEIR_OK);
    CHECK_INT(counter_value(&drops.count), ==, 1); /* its run goes on */
    CHECK_STATUS(weir_pool_cancel(pool, envelope, 0, NULL), WEIR_OK);
    counter_add(&task.allowed, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&task), ==, 1);
    CHECK_INT(counter_value(&drops.count), ==, 2);
    check_drop(&drops, 1, envelope, WEIR_ENDED_CANCELED);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
    counter_fini(&drops.count);
}

TEST(canceled_run, "one that had nothing to come after the run that is cancelled was not dropped, "
                   "nor was one that was sent once more")
{
    for (int is_sent = 0; is_sent < 2; is_sent++) {
        struct drops drops;
        struct task task;
        weir_pool *pool = telling_pool(&drops, 0, WEIR_FULL_REFUSE);
        task_init(&task);
        task.is_held = true;
        weir_envelope *envelope = envelope_for(&task, 0);
        CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        counter_wait(&task.entered, 1);
        if (is_sent != 0) {
            CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        }
        CHECK_STATUS(weir_pool_cancel(pool, envelope, 0, NULL), WEIR_OK);
        if (is_sent != 0) {
            CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        }
        counter_add(&task.allowed, 2);
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(task_runs(&task), ==, 1 + is_sent);
        CHECK_INT(counter_value(&drops.count), ==, 0);
        weir_envelope_unref(envelope);
        weir_pool_free(pool);
        task_fini(&task);
        counter_fini(&drops.count);
    }
}

/* Ends of one envelope, as they were told. */
struct ends {
    weir_pool *pool;
    int sends; /* the function sends the envelope again, so often */
    struct weir_ended last;
    int count;
    int depth; /* calls under way, on the one thread that makes them */
};

static void note_end(const struct weir_ended *ended, void *arg)
{
    struct ends *ends = arg;
    CHECK(ended->pool == ends->pool);
    CHECK_INT(ends->depth, ==, 0);
    ends->depth++;
    ends->last = *ended;
    ends->count++;
    if (ends->sends > 0) {
        ends->sends--;
        CHECK_STATUS(weir_pool_send(ends->pool, ended->envelope), WEIR_OK);
    }
    ends->depth--;
}

static weir_pool *noting_pool(struct ends *ends, size_t capacity, uint32_t when_full,
                              uint32_t flags)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.capacity = capacity;
    options.when_full = when_full;
    options.flags = flags;
    options.ended = note_end;
    options.ended_arg = ends;
    *ends = (struct ends){.count = 0};
    CHECK_STATUS(weir_pool_new(&options, &ends->pool, NULL), WEIR_OK);
    return ends->pool;
}

static int64_t retry_now(weir_context *context, weir_envelope *envelope,
                         const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)failure;
    (void)payload;
    return 0;
}

TEST(each_way, "each end is told once, with the last status, the reason and how often it ran")
{
    static const struct {
        int status;
        bool retries;
        uint32_t reason;
        uint32_t runs;
    } ways[] = {
        {WEIR_OK, false, WEIR_ENDED_DONE, 1},
        {WEIR_ESTOP, false, WEIR_ENDED_DONE, 1},
        {WEIR_EUSER, false, WEIR_ENDED_FAILED, 1},
        {WEIR_EUSER, true, WEIR_ENDED_EXHAUSTED, 3},
        {WEIR_ETIMEDOUT, false, WEIR_ENDED_TIMED_OUT, 1},
        {WEIR_ECANCELED, false, WEIR_ENDED_CANCELED, 1},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct ends ends;
        struct task task;
        task_init(&task);
        task.status = ways[i].status;
        weir_pool *pool = noting_pool(&ends, 0, WEIR_FULL_REFUSE, 0);
        struct weir_envelope_options options = task_envelope(&task);
        options.failure = ways[i].retries ? retry_now : NULL;
        options.retry.attempts = ways[i].retries ? 3 : 0;
        weir_envelope *envelope;
        CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
        CHECK_STATUS(weir_pool_wait_idle(pool, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(ends.count, ==, 1);
        CHECK(ends.last.envelope == envelope);
        CHECK_INT(ends.last.reason, ==, ways[i].reason);
        CHECK_INT(ends.last.status, ==, ways[i].status);
        CHECK_INT(ends.last.runs, ==, ways[i].runs);
        CHECK_INT(ends.last.dropped, ==, 0);
        weir_envelope_unref(envelope);
        weir_pool_free(pool);
        task_fini(&task);
    }
}

TEST(never_run, "an envelope that was not run ends with status WEIR_ECANCELED and no runs")
{
    struct ends ends;
    struct task task;
    task_init(&task);
    weir_pool *pool = noting_pool(&ends, 0, WEIR_FULL_REFUSE, 0);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, WEIR_SECONDS(3600)), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(ends.count, ==, 1);
    CHECK_INT(ends.last.reason, ==, WEIR_ENDED_TERMINATED);
    CHECK_STATUS(ends.last.status, WEIR_ECANCELED);
    CHECK_INT(ends.last.runs, ==, 0);
    CHECK_INT(ends.last.dropped, ==, 2);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
}

TEST(never_run_ways, "so it is for each reason, also after a run of an earlier send")
{
    struct ends ends;
    struct task tasks[2];
    weir_envelope *envelopes[2];
    weir_pool *pool = noting_pool(&ends, 1, WEIR_FULL_DROP_OLDEST, 0);
    for (int i = 0; i < 2; i++) {
        task_init(&tasks[i]);
        envelopes[i] = envelope_for(&tasks[i], 0);
    }
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelopes[0]), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(pool, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(ends.last.status, WEIR_OK);
    CHECK_STATUS(weir_pool_pause(pool, 0), WEIR_OK);
    for (uint32_t reason = WEIR_ENDED_CANCELED; reason <= WEIR_ENDED_STOPPED; reason++) {
        int64_t delay_ns = reason == WEIR_ENDED_DRAINED ? WEIR_SECONDS(3600) : 0;
        CHECK_STATUS(weir_pool_send_after(pool, envelopes[0], delay_ns), WEIR_OK);
        if (reason == WEIR_ENDED_CANCELED) {
            CHECK_STATUS(weir_pool_cancel(pool, envelopes[0], 0, NULL), WEIR_OK);
        } else if (reason == WEIR_ENDED_DISPLACED) {
            CHECK_STATUS(weir_pool_send(pool, envelopes[1]), WEIR_OK);
        } else if (reason == WEIR_ENDED_DRAINED) {
            CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        } else {
            enum weir_end_mode mode =
                reason == WEIR_ENDED_FINISHED ? WEIR_END_FINISH : WEIR_END_STOP;
            CHECK_STATUS(weir_pool_end(pool, mode, 0, WEIR_FOREVER), WEIR_OK);
        }
        CHECK(ends.last.envelope == envelopes[0]);
        CHECK_INT(ends.last.reason, ==, reason);
        CHECK_STATUS(ends.last.status, WEIR_ECANCELED);
        CHECK_INT(ends.last.runs, ==, 0);
        if (reason == WEIR_ENDED_DISPLACED) {
            CHECK_STATUS(weir_pool_cancel(pool, envelopes[1], 0, NULL), WEIR_OK);
        } else if (reason == WEIR_ENDED_DRAINED || reason == WEIR_ENDED_FINISHED) {
            CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
            CHECK_STATUS(weir_pool_pause(pool, 0), WEIR_OK);
        }
    }
    weir_pool_free(pool);
    for (int i = 0; i < 2; i++) {
        weir_envelope_unref(envelopes[i]);
        task_fini(&tasks[i]);
    }
}

TEST(sends_nest, "an ended function that sends is not called within itself, however often it does")
{
    enum {
        SENDS = 100000
    };
    struct ends ends;
    struct task tasks[2];
    weir_envelope *envelopes[2];
    weir_pool *pool = noting_pool(&ends, 1, WEIR_FULL_DROP_OLDEST, 0);
    for (int i = 0; i < 2; i++) {
        task_init(&tasks[i]);
        envelopes[i] = envelope_for(&tasks[i], 0);
    }
    CHECK_STATUS(weir_pool_send(pool, envelopes[0]), WEIR_OK);
    ends.sends = SENDS;
    CHECK_STATUS(weir_pool_send(pool, envelopes[1]), WEIR_OK); /* and back, and again */
    CHECK_INT(ends.sends, ==, 0);
    CHECK_INT(ends.count, ==, SENDS + 1);
    CHECK_INT(counts_of(pool).in_flight, ==, 1);
    CHECK_INT(counts_of(pool).dropped, ==, SENDS + 1);
    weir_pool_free(pool);
    for (int i = 0; i < 2; i++) {
        weir_envelope_unref(envelopes[i]);
        CHECK_INT(counter_value(&tasks[i].released), ==, 1);
        task_fini(&tasks[i]);
    }
}

static int send_other(weir_context *context, struct task *task)
{
    (void)context;
    return (int)weir_pool_send(task->pool, task->envelope);
}

TEST(tasks_exceed, "what a task sends is let in beyond the capacity where the pool says so")
{
    for (uint32_t exceeds = 0; exceeds < 2; exceeds++) {
        struct ends ends;
        struct task tasks[2];
        weir_envelope *envelopes[2];
        uint32_t flags = exceeds != 0 ? WEIR_POOL_TASKS_EXCEED : 0;
        weir_pool *pool = noting_pool(&ends, 1, WEIR_FULL_REFUSE, flags);
        for (int i = 0; i < 2; i++) {
            task_init(&tasks[i]);
            envelopes[i] = envelope_for(&tasks[i], 0);
        }
        tasks[0].pool = pool;
        tasks[0].envelope = envelopes[1];
        tasks[0].body = send_other;
        CHECK_STATUS(weir_pool_send(pool, envelopes[0]), WEIR_OK);
        CHECK_STATUS(weir_pool_send(pool, envelopes[1]), WEIR_EFULL); /* from outside */
        CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
        counter_wait(&tasks[0].outcomes, 1);
        CHECK_STATUS(atomic_load(&tasks[0].last_status), exceeds != 0 ? WEIR_OK : WEIR_EFULL);
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(task_runs(&tasks[1]), ==, exceeds);
        weir_pool_free(pool);
        for (int i = 0; i < 2; i++) {
            weir_envelope_unref(envelopes[i]);
            task_fini(&tasks[i]);
        }
    }
}
