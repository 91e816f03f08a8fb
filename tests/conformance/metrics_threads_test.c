/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include <weir/snapshot.h>

#include "conformance/metrics.h"

/* Metrics and snapshots on threads of the system: for ThreadSanitizer, and for the sums. */

#define ROUNDS 2000

static struct page page;
static weir_queue *queue;
static atomic_uint consumed;

static void produce(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK_STATUS(weir_queue_add(queue, weir_key_bytes(&i, sizeof(i))), WEIR_OK);
        CHECK_STATUS(weir_queue_add_after(queue, weir_key_bytes(&i, 1), 1), WEIR_OK);
    }
}

static void consume(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status = weir_queue_get(queue, WEIR_FOREVER, &work);
    while (status == WEIR_OK) {
        atomic_fetch_add_explicit(&consumed, 1, memory_order_relaxed);
        status = weir_queue_done_get(queue, WEIR_FOREVER, &work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

static void read_all(void *arg)
{
    struct page *own = arg;
    own->metrics = page.metrics;
    for (unsigned i = 0; i < ROUNDS / 20; i++) {
        page_read(own);
        (void)page_find(own, "workqueue_depth{name=\"shared\"}");
        struct weir_snapshot *snapshot;
        CHECK_STATUS(weir_queue_snapshot(queue, &snapshot), WEIR_OK);
        weir_snapshot_free(snapshot);
    }
}

static void come_and_go(void *arg)
{
    struct weir_queue_options options = {0};
    options.name = arg;
    options.metrics = page.metrics;
    for (unsigned i = 0; i < ROUNDS / 20; i++) {
        weir_queue *guest;
        CHECK_STATUS(weir_queue_new(&options, &guest, NULL), WEIR_OK);
        CHECK_STATUS(weir_queue_add(guest, weir_key_string("x")), WEIR_OK);
        weir_queue_free(guest);
    }
}

TEST(threads, "read beside producers, consumers and other queues, metrics come to the right sums")
{
    static struct page read;
    char guest[] = "guest";
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    page_init(&page);
    options.name = "shared";
    options.metrics = page.metrics;
    CHECK_STATUS(weir_queue_new(&options, &queue, NULL), WEIR_OK);
    struct test_thread *producers[2] = {test_start(produce, NULL), test_start(produce, NULL)};
    struct test_thread *consumers[2] = {test_start(consume, NULL), test_start(consume, NULL)};
    struct test_thread *others[2] = {test_start(read_all, &read), test_start(come_and_go, guest)};
    for (int i = 0; i < 2; i++) {
        test_join(producers[i]);
        test_join(others[i]);
    }
    CHECK_STATUS(weir_queue_shutdown_drain(queue, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        test_join(consumers[i]);
    }
    char count[16];
    (void)snprintf(count, sizeof(count), "%u", atomic_load(&consumed));
    page_read(&page);
    CHECK_SERIES(&page, "workqueue_adds_total{name=\"shared\"}", count);
    CHECK_SERIES(&page, "workqueue_queue_duration_seconds_count{name=\"shared\"}", count);
    CHECK_SERIES(&page, "workqueue_work_duration_seconds_count{name=\"shared\"}", count);
    CHECK_SERIES(&page, "workqueue_depth{name=\"shared\"}", "0");
    CHECK_SERIES(&page, "workqueue_unfinished_work_seconds{name=\"shared\"}", "0");
    (void)snprintf(count, sizeof(count), "%u", 2 * ROUNDS);
    CHECK_SERIES(&page, "workqueue_retries_total{name=\"shared\"}", count);
    weir_queue_free(queue);
    weir_metrics_free(page.metrics);
}
