/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include "pool/fixture.h"

TEST(counts_of_new, "a new pool holds and has done nothing")
{
    weir_pool *pool = pool_with(3, 5, NULL);
    struct weir_pool_counts counts = counts_of(pool);
    CHECK_INT(counts.queued, ==, 0);
    CHECK_INT(counts.waiting, ==, 0);
    CHECK_INT(counts.running, ==, 0);
    CHECK_INT(counts.in_flight, ==, 0);
    CHECK_INT(counts.runs, ==, 0);
    CHECK_INT(counts.dropped, ==, 0);
    weir_pool_free(pool);
}

TEST(counts_each, "an envelope is counted where it is: queued, waiting, running")
{
    struct task held;
    struct task queued;
    struct task waiting;
    task_init(&held);
    task_init(&queued);
    task_init(&waiting);
    held.is_held = true;
    weir_clock *clock = manual_clock(0);
    weir_pool *pool = pool_with(1, 0, clock);
    weir_envelope *envelopes[] = {envelope_for(&held, 0), envelope_for(&queued, 0),
                                  envelope_for(&waiting, 0)};
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelopes[0]), WEIR_OK);
    counter_wait(&held.entered, 1);
    CHECK_STATUS(weir_pool_send(pool, envelopes[1]), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(pool, envelopes[2], 5), WEIR_OK);
    struct weir_pool_counts counts = counts_of(pool);
    CHECK_INT(counts.running, ==, 1);
    CHECK_INT(counts.queued, ==, 1);
    CHECK_INT(counts.waiting, ==, 1);
    CHECK_INT(counts.in_flight, ==, 3);
    CHECK_INT(counts.runs, ==, 0);
    counter_add(&held.allowed, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    counts = counts_of(pool);
    CHECK_INT(counts.in_flight, ==, 0);
    CHECK_INT(counts.runs, ==, 2);
    CHECK_INT(counts.dropped, ==, 1);
    for (int i = 0; i < 3; i++) {
        weir_envelope_unref(envelopes[i]);
    }
    weir_pool_free(pool);
    weir_clock_free(clock);
    task_fini(&held);
    task_fini(&queued);
    task_fini(&waiting);
}

TEST(released_while_idle,
     "the pool's reference goes when the run has ended, not when the worker gets its next envelope")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int i = 1; i <= 3; i++) {
        weir_envelope *envelope = envelope_for(&task, 0);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        weir_envelope_unref(envelope);
        counter_wait(&task.released, i);
    }
    CHECK_INT(task_runs(&task), ==, 3);
    weir_pool_free(pool);
    task_fini(&task);
}

TEST(free_unstarted, "a pool that was never started is freed with what was sent to it, unrun")
{
    struct task tasks[2];
    weir_pool *pool = pool_with(1, 0, NULL);
    for (int i = 0; i < 2; i++) {
        task_init(&tasks[i]);
        weir_envelope *envelope = envelope_for(&tasks[i], 0);
        CHECK_STATUS(weir_pool_send_after(pool, envelope, i * WEIR_SECONDS(60)), WEIR_OK);
        weir_envelope_unref(envelope);
    }
    weir_pool_free(pool);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(task_runs(&tasks[i]), ==, 0);
        CHECK_INT(counter_value(&tasks[i].released), ==, 1);
        task_fini(&tasks[i]);
    }
}

static int until_cancelled(weir_context *context, struct task *task)
{
    (void)task;
    return (int)weir_context_sleep(context, WEIR_FOREVER);
}

TEST(free_running, "a pool that runs is stopped by its free")
{
    struct task tasks[2];
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        task_init(&tasks[i]);
        tasks[i].body = until_cancelled;
        weir_envelope *envelope = envelope_for(&tasks[i], 0);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        weir_envelope_unref(envelope);
    }
    counter_wait(&tasks[0].entered, 1);
    weir_pool_free(pool);
    CHECK_INT(task_runs(&tasks[0]), ==, 1);
    CHECK_INT(atomic_load(&tasks[0].last_status), ==, WEIR_ECANCELED);
    CHECK_INT(task_runs(&tasks[1]), ==, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(counter_value(&tasks[i].released), ==, 1);
        task_fini(&tasks[i]);
    }
}

TEST(limiter_used, "a limiter is not freed while a pool uses it")
{
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_bucket_new(1, 1, test_allocator(), &limiter, NULL), WEIR_OK);
    struct weir_pool_options options = {.allocator = *test_allocator(), .limiter = limiter};
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_EINVAL); /* it has no workers */
    options.workers = 1;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_limiter_free(limiter), WEIR_EBUSY);
    weir_pool_free(pool);
    CHECK_STATUS(weir_limiter_free(limiter), WEIR_OK);
}

TEST(free_null, "free takes NULL")
{
    weir_pool_free(NULL);
}

TEST(bad_input, "each bad option is refused with its status, and nothing is made")
{
    struct weir_pool_options good = {0};
    good.allocator = *test_allocator();
    good.workers = 1;
    struct weir_pool_options no_workers = good;
    no_workers.workers = 0;
    struct weir_pool_options many_workers = good;
    many_workers.workers = 4097;
    struct weir_pool_options most_workers = good;
    most_workers.workers = SIZE_MAX;
    struct weir_pool_options half_allocator = good;
    half_allocator.allocator.alloc = NULL;
    const struct weir_pool_options *rows[] = {NULL, &no_workers, &many_workers, &most_workers,
                                              &half_allocator};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        weir_pool *pool = NULL;
        CHECK_STATUS(weir_pool_new(rows[i], &pool, NULL), WEIR_EINVAL);
        CHECK(pool == NULL);
    }
    CHECK_STATUS(weir_pool_new(&good, NULL, NULL), WEIR_EINVAL);
    CHECK_INT(test_allocated_blocks(), ==, 0);

    struct weir_pool_counts counts = {.queued = 77};
    CHECK_STATUS(weir_pool_count(NULL, &counts), WEIR_EINVAL);
    CHECK_INT(counts.queued, ==, 77);
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_count(pool, NULL), WEIR_EINVAL);
    weir_pool_free(pool);
}

TEST(bad_runs, "options about runs out of range are refused with their status")
{
    struct weir_pool_options good = {0};
    good.allocator = *test_allocator();
    good.workers = 1;
    struct weir_pool_options unknown_flag = good;
    unknown_flag.flags = 1u << 31;
    struct weir_pool_options negative = good;
    negative.hook_min_ns = -1;
    struct weir_pool_options whole = good;
    whole.hook_fraction = 1001;
    struct weir_pool_options no_stamps = good;
    no_stamps.stamp_count = 1;
    struct weir_stamp empty = {NULL, NULL};
    struct weir_pool_options empty_stamp = good;
    empty_stamp.stamps = &empty;
    empty_stamp.stamp_count = 1;
    struct weir_pool_options many_stamps = empty_stamp;
    many_stamps.stamp_count = 1025;
    const struct {
        const struct weir_pool_options *options;
        enum weir_status status;
    } rows[] = {
        {&unknown_flag, WEIR_EINVAL}, {&negative, WEIR_ERANGE},    {&whole, WEIR_ERANGE},
        {&no_stamps, WEIR_EINVAL},    {&empty_stamp, WEIR_EINVAL}, {&many_stamps, WEIR_ERANGE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        weir_pool *pool = NULL;
        CHECK_STATUS(weir_pool_new(rows[i].options, &pool, NULL), rows[i].status);
        CHECK(pool == NULL);
    }
    CHECK_INT(test_allocated_blocks(), ==, 0);
}

static int pass(weir_context *context, weir_envelope *envelope, const weir_next *next, void *arg)
{
    (void)envelope;
    (void)arg;
    return weir_next_run(next, context);
}

TEST_OOM(no_memory_for_stamps, "the same of a pool with stamps")
{
    struct weir_stamp stamps[] = {{pass, NULL}, {pass, NULL}};
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.stamps = stamps;
    options.stamp_count = 2;
    weir_pool *pool = NULL;
    if (!CHECK_OR_OOM(weir_pool_new(&options, &pool, NULL))) {
        weir_pool_free(pool);
    }
}

TEST(most_workers, "4096 workers are not too many to ask for")
{
    weir_pool *pool = pool_with(4096, 0, NULL);
    weir_pool_free(pool);
}

TEST_OOM(no_memory, "whatever allocation fails, no pool is made and nothing is lost")
{
    weir_pool *pool = pool_with(3, 0, NULL);
    weir_pool_free(pool);
}

static int count_run(weir_context *context, void *payload)
{
    (void)context;
    atomic_fetch_add((atomic_int *)payload, 1);
    return WEIR_OK;
}

TEST(many, "of many envelopes on many workers each is run exactly once")
{
    enum {
        COUNT = 3000
    };
    static atomic_int runs[COUNT];
    weir_pool *pool = pool_with(8, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        struct weir_envelope_options options = {0};
        options.allocator = *test_allocator();
        options.payload = &runs[i];
        options.invoke = count_run;
        weir_envelope *envelope;
        CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        weir_envelope_unref(envelope);
    }
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(atomic_load(&runs[i]), ==, 1);
    }
    CHECK_INT(counts_of(pool).runs, ==, COUNT);
    weir_pool_free(pool);
}
