/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Who is told of what is dropped. */

#include <weir/drop.h>

#include "pool/fixture.h"

enum {
    DROPS_MAX = 8
};

/* What a pool told its dropped function. */
struct drops {
    weir_envelope *envelopes[DROPS_MAX];
    enum weir_drop_reason reasons[DROPS_MAX];
    struct counter count;
};

static void note_drop(weir_envelope *envelope, enum weir_drop_reason reason, void *arg)
{
    struct drops *drops = arg;
    int number = counter_value(&drops->count);
    CHECK_INT(number, <, DROPS_MAX);
    drops->envelopes[number] = envelope;
    drops->reasons[number] = reason;
    struct task *task = weir_envelope_payload(envelope);
    CHECK_INT(counter_value(&task->released), ==, 0);
    counter_add(&drops->count, 1);
}

static weir_pool *telling_pool(struct drops *drops, size_t capacity, uint32_t when_full)
{
    struct weir_pool_options options = WEIR_POOL_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.workers = 1;
    options.capacity = capacity;
    options.when_full = when_full;
    options.dropped = note_drop;
    options.dropped_arg = drops;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool), WEIR_OK);
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
                       enum weir_drop_reason reason)
{
    CHECK_INT(counter_value(&drops->count), >, number);
    CHECK(drops->envelopes[number] == envelope);
    CHECK_STRING(weir_drop_reason_text(drops->reasons[number]), weir_drop_reason_text(reason));
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
    struct ender stopper = {pool, weir_pool_stop, WEIR_EINVAL};
    struct test_thread *thread = test_start(ender_run, &stopper);
    counter_wait(&drops.count, 2); /* while a task runs that does not ask its context */
    counter_add(&tasks[0].allowed, 1);
    test_join(thread);
    CHECK_STATUS(stopper.status, WEIR_OK);
    CHECK_INT(counter_value(&drops.count), ==, 2);
    check_drop(&drops, 0, envelopes[1], WEIR_DROP_STOPPED);
    check_drop(&drops, 1, envelopes[2], WEIR_DROP_STOPPED);
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
    CHECK_STATUS(weir_pool_drain(pool), WEIR_OK);
    CHECK_INT(counter_value(&drops.count), ==, 1);
    check_drop(&drops, 0, late, WEIR_DROP_DRAINED);
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
    check_drop(&drops, 0, queued, WEIR_DROP_TERMINATED);
    check_drop(&drops, 1, late, WEIR_DROP_TERMINATED);
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
    check_drop(&drops, 0, oldest, WEIR_DROP_DISPLACED);
    CHECK_INT(counter_value(&tasks[0].released), ==, 1);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_drain(pool), WEIR_OK);
    CHECK_INT(counter_value(&drops.count), ==, 1);
    weir_pool_free(pool);
    task_fini(&tasks[0]);
    task_fini(&tasks[1]);
    counter_fini(&drops.count);
}

TEST(reasons, "each reason has a text of its own, and so has what is none")
{
    for (int i = 0; i <= WEIR_DROP_NO_MEMORY + 1; i++) {
        const char *text = weir_drop_reason_text((enum weir_drop_reason)i);
        bool is_known = i >= WEIR_DROP_STOPPED && i <= WEIR_DROP_NO_MEMORY;
        CHECK_INT(strcmp(text, "unknown reason") != 0, ==, is_known);
        for (int j = 0; j < i; j++) {
            CHECK_INT(strcmp(text, weir_drop_reason_text((enum weir_drop_reason)j)) == 0, ==,
                      i > WEIR_DROP_NO_MEMORY && j == 0);
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
    check_drop(&drops, 0, envelope, WEIR_DROP_CANCELED);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&task.entered, 1);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_cancel(pool, envelope, 0, NULL), WEIR_OK);
    CHECK_INT(counter_value(&drops.count), ==, 1); /* its run goes on */
    CHECK_STATUS(weir_pool_cancel(pool, envelope, 0, NULL), WEIR_OK);
    counter_add(&task.allowed, 1);
    CHECK_STATUS(weir_pool_drain(pool), WEIR_OK);
    CHECK_INT(task_runs(&task), ==, 1);
    CHECK_INT(counter_value(&drops.count), ==, 2);
    check_drop(&drops, 1, envelope, WEIR_DROP_CANCELED);
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
        CHECK_STATUS(weir_pool_drain(pool), WEIR_OK);
        CHECK_INT(task_runs(&task), ==, 1 + is_sent);
        CHECK_INT(counter_value(&drops.count), ==, 0);
        weir_envelope_unref(envelope);
        weir_pool_free(pool);
        task_fini(&task);
        counter_fini(&drops.count);
    }
}
