/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/lifecycle.h>
#include <weir/metrics.h>
#include <weir/pool.h>
#include <weir/snapshot.h>

#include "conformance/durations.h"

static void add_twice(int64_t start_ns, int64_t first_ns, int64_t second_ns, uint32_t flags)
{
    struct bench b;
    set_up(&b, start_ns, NULL);
    CHECK_STATUS(weir_queue_add_after(b.queue, weir_key_string("a"), first_ns), WEIR_OK);
    expect_add(&b, first_ns, 0);
    check(&b);
    add(&b, second_ns, flags);
    for (size_t i = 0; i < EDGES; i++) {
        step(&b, edges[i]);
        check(&b);
    }
    tear_down(&b);
}

TEST(adds, "whatever the delays of two adds and the steps between, the item comes at its time")
{
    static const uint32_t flags[] = {0, WEIR_ADD_MOVE, WEIR_ADD_SUPERSEDE,
                                     WEIR_ADD_MOVE | WEIR_ADD_SUPERSEDE};
    for (size_t i = 0; i < STARTS * EDGES * EDGES * 4; i++) {
        add_twice(starts[i / 4 / EDGES / EDGES], edges[i / 4 / EDGES % EDGES], edges[i / 4 % EDGES],
                  flags[i % 4]);
    }
}

TEST(timeouts, "a get and a drain take whatever timeout, and need none where there is no wait")
{
    for (size_t i = 0; i < STARTS * EDGES; i++) {
        struct bench b;
        struct weir_work work;
        int64_t timeout_ns = edges[i % EDGES];
        set_up(&b, starts[i / EDGES], NULL);
        if (timeout_ns <= 0) {
            CHECK_STATUS(weir_queue_get(b.queue, timeout_ns, &work), WEIR_ETIMEDOUT);
        }
        add(&b, 0, 0);
        CHECK_STATUS(weir_queue_get(b.queue, timeout_ns, &work), WEIR_OK);
        if (timeout_ns <= 0) {
            CHECK_STATUS(weir_queue_shutdown_drain(b.queue, timeout_ns), WEIR_OK);
        }
        CHECK_STATUS(weir_queue_done(b.queue, &work), WEIR_OK);
        CHECK_STATUS(weir_queue_shutdown_drain(b.queue, timeout_ns), WEIR_OK);
        CHECK_STATUS(weir_queue_get(b.queue, timeout_ns, &work), WEIR_ESHUTDOWN);
        tear_down(&b);
    }
}

TEST(real_timeouts, "so too on the real clock, where what is far away does not come")
{
    weir_queue *queue;
    struct weir_work work;
    CHECK_STATUS(weir_queue_new(NULL, &queue, NULL), WEIR_OK);
    for (size_t i = 0; i < EDGES; i++) {
        if (edges[i] <= 1) {
            CHECK_STATUS(weir_queue_get(queue, edges[i], &work), WEIR_ETIMEDOUT);
        }
    }
    for (size_t i = 0; i < EDGES; i++) {
        const char *key = edges[i] > 0 ? "far" : "near";
        if (edges[i] <= 0 || edges[i] >= INT64_MAX / 2) {
            CHECK_STATUS(weir_queue_add_after(queue, weir_key_string(key), edges[i]), WEIR_OK);
        }
    }
    CHECK_STATUS(weir_queue_get(queue, INT64_MAX - 1, &work), WEIR_OK);
    CHECK_STATUS(weir_queue_get(queue, 0, &work), WEIR_ETIMEDOUT);
    weir_queue_free(queue);
}

static int ignore_text(const char *text, size_t size, void *arg)
{
    (void)text;
    (void)arg;
    return size > 0 ? WEIR_OK : WEIR_EINVAL;
}

/* A named queue with priorities that ages, from its beginning to the end of time. */
static void age(int64_t start_ns, int64_t aging_ns, weir_metrics *metrics)
{
    weir_clock *clock;
    weir_queue *queue;
    CHECK_STATUS(weir_clock_manual_new(start_ns, test_allocator(), &clock), WEIR_OK);
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.clock = clock;
    options.flags = WEIR_QUEUE_PRIORITIES;
    options.aging_ns = aging_ns;
    options.name = "aged";
    options.metrics = metrics;
    CHECK_STATUS(weir_queue_new(&options, &queue, NULL), aging_ns >= 0 ? WEIR_OK : WEIR_ERANGE);
    if (aging_ns >= 0) {
        struct weir_add_options add_options = {0};
        add_options.priority = INT32_MAX;
        CHECK_STATUS(weir_queue_add_with(queue, weir_key_string("a"), &add_options, NULL), WEIR_OK);
        CHECK_STATUS(weir_clock_advance(clock, INT64_MAX - start_ns), WEIR_OK);
        add_options.priority = INT32_MIN;
        CHECK_STATUS(weir_queue_add_with(queue, weir_key_string("b"), &add_options, NULL), WEIR_OK);
        struct weir_snapshot *snapshot;
        CHECK_STATUS(weir_queue_snapshot(queue, &snapshot), WEIR_OK);
        CHECK_INT(snapshot->count, ==, 2);
        for (size_t i = 0; i < 2; i++) {
            const struct weir_snapshot_item *item = &snapshot->items[i];
            bool is_first = *(const char *)item->key.data == 'a';
            CHECK_INT(item->queued_ns, ==, is_first ? INT64_MAX - start_ns : 0);
        }
        weir_snapshot_free(snapshot);
        struct weir_work work;
        CHECK_STATUS(weir_queue_get(queue, 0, &work), WEIR_OK);
        CHECK_STATUS(weir_metrics_write(metrics, ignore_text, NULL), WEIR_OK);
        weir_queue_free(queue);
    }
    weir_clock_free(clock);
}

TEST(ages, "ages and aging of items go to the end of time")
{
    weir_metrics *metrics;
    struct weir_metrics_options options = {0};
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_metrics_new(&options, &metrics, NULL), WEIR_OK);
    for (size_t i = 0; i < STARTS * EDGES; i++) {
        age(starts[i / EDGES], edges[i % EDGES], metrics);
    }
    weir_metrics_free(metrics);
}

/* What a task is told, and what its sleep came to. */
struct nap {
    int64_t start_ns;
    int64_t sleep_ns;
};

static int sleep_in_task(weir_context *context, void *payload)
{
    const struct nap *nap = payload;
    CHECK_INT(weir_context_remaining(context), >=, 0);
    return (int)weir_context_sleep(context, nap->sleep_ns);
}

/* The clock stands still, so that only the end of time is near. */
static void check_nap(weir_envelope *envelope, int status, void *payload)
{
    const struct nap *nap = payload;
    (void)envelope;
    CHECK(status == WEIR_OK || status == WEIR_ECANCELED || status == WEIR_ETIMEDOUT);
    CHECK(status != WEIR_OK || nap->sleep_ns <= 0 || nap->start_ns == INT64_MAX);
}

static void nap_in_pool(struct nap *nap, int64_t deadline_ns, int64_t delay_ns)
{
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(nap->start_ns, test_allocator(), &clock), WEIR_OK);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = clock;
    options.workers = 1;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    struct weir_envelope_options envelope_options = {0};
    envelope_options.allocator = *test_allocator();
    envelope_options.payload = nap;
    envelope_options.invoke = sleep_in_task;
    envelope_options.outcome = check_nap;
    envelope_options.deadline_ns = deadline_ns;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&envelope_options, &envelope, NULL),
                 deadline_ns >= 0 ? WEIR_OK : WEIR_ERANGE);
    if (deadline_ns >= 0) {
        CHECK_STATUS(weir_pool_send_after(pool, envelope, delay_ns), WEIR_OK);
        struct weir_pool_counts counts;
        CHECK_STATUS(weir_pool_count(pool, &counts), WEIR_OK);
        CHECK_INT(counts.queued, ==, delay_ns <= 0 || nap->start_ns == INT64_MAX);
        CHECK_INT(counts.queued + counts.waiting, ==, 1);
        CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
        weir_envelope_unref(envelope);
    }
    weir_pool_free(pool);
    weir_clock_free(clock);
}

TEST(naps, "sends, deadlines and sleeps of tasks take whatever times")
{
    for (size_t i = 0; i < STARTS * EDGES; i++) {
        struct nap nap = {.start_ns = starts[i / EDGES], .sleep_ns = edges[i % EDGES]};
        nap_in_pool(&nap, 0, 0);
        nap_in_pool(&nap, INT64_MAX, 0);
        nap_in_pool(&nap, edges[i % EDGES], edges[EDGES - 1 - i % EDGES]);
    }
}
