/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include <weir/metrics.h>
#include <weir/snapshot.h>

#include "world.h"

/* Metrics and snapshots read while the queue works, and while other queues come and go: what is
 * read is the state of one moment. */

static weir_metrics *metrics;

static enum weir_status make(const char *name, weir_queue **ret_queue)
{
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.clock = world.clock;
    options.name = name;
    options.metrics = metrics;
    return weir_queue_new(&options, ret_queue, NULL);
}

static void init_named(bool is_embedded)
{
    struct weir_metrics_options options = {0};
    options.allocator = *test_allocator();
    world_init_on(false, is_embedded);
    weir_queue_free(world.queue);
    CHECK_STATUS(weir_metrics_new(&options, &metrics, NULL), WEIR_OK);
    CHECK_STATUS(make("world", &world.queue), WEIR_OK);
}

struct page {
    size_t size;
    char text[16384];
};

static int append(const char *text, size_t size, void *arg)
{
    struct page *page = arg;
    CHECK_INT(page->size + size, <, sizeof(page->text));
    memcpy(page->text + page->size, text, size);
    page->size += size;
    page->text[page->size] = '\0';
    return WEIR_OK;
}

/* The number of the world's line of a family. */
static long number_of(const struct page *page, const char *family)
{
    char series[128];
    (void)snprintf(series, sizeof(series), "\n%s{name=\"world\"} ", family);
    const char *at = strstr(page->text, series);
    CHECK(at != NULL);
    return strtol(at + strlen(series), NULL, 10);
}

static void check_metrics(void)
{
    struct page page = {.size = 0};
    CHECK_STATUS(weir_metrics_write(metrics, append, &page), WEIR_OK);
    long adds = number_of(&page, "workqueue_adds_total");
    long gets = number_of(&page, "workqueue_queue_duration_seconds_count");
    long dones = number_of(&page, "workqueue_work_duration_seconds_count");
    /* Nothing is cancelled here. */
    CHECK_INT(number_of(&page, "workqueue_depth"), ==, adds - gets);
    CHECK_INT(dones, <=, gets);
    CHECK_INT(adds, <=, world.adds);
    CHECK(gets > dones || number_of(&page, "workqueue_unfinished_work_seconds") == 0);
}

static void check_snapshot(void)
{
    struct weir_snapshot *snapshot;
    CHECK_STATUS(weir_queue_snapshot(world.queue, &snapshot), WEIR_OK);
    unsigned listed = 0;
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct weir_snapshot_item *item = &snapshot->items[i];
        struct weir_work work = {.key = item->key, .item = item->item};
        unsigned bit = 1u << world_number(&work);
        CHECK((listed & bit) == 0);
        listed |= bit;
        bool is_queued = item->place == WEIR_PLACE_QUEUED || item->place == WEIR_PLACE_DIRTY;
        bool is_running = item->place == WEIR_PLACE_PROCESSING || item->place == WEIR_PLACE_DIRTY;
        CHECK_INT(item->queued_ns >= 0, ==, is_queued);
        CHECK_INT(item->running_ns >= 0, ==, is_running);
        CHECK_INT(item->ticket != 0, ==, is_running);
        CHECK(is_queued || is_running || item->due_ns >= 0);
    }
    weir_snapshot_free(snapshot);
}

static void read_all(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        check_metrics();
        check_snapshot();
    }
}

static void produce(void *arg)
{
    int own = *(const int *)arg;
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_STATUS(own == 0 ? world_add_after(2, 5) : world_add(1), WEIR_OK);
}

static void read_beside_work(void *arg)
{
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    struct weiri_thread reader;
    init_named(*(const bool *)arg);
    world_start_two(consumers, "consumer", world_consume);
    world_start_two(producers, "producer", produce);
    world_start(&reader, "reader", read_all, NULL);
    world_join_two(producers);
    weiri_thread_join(&reader);
    world_end_consumers(consumers);
    weir_metrics_free(metrics);
}

TEST(read_bytes, "metrics and snapshots read beside get and done show one moment (bytes)")
{
    bool is_embedded = false;
    explorer_must_pass(read_beside_work, &is_embedded, NULL);
}

TEST(read_embedded, "metrics and snapshots read beside get and done show one moment (embedded)")
{
    bool is_embedded = true;
    explorer_must_pass(read_beside_work, &is_embedded, NULL);
}

/* Of two that want the same name at once, at least one has it, and both in turn where they can. */
static void come_and_go(void *arg)
{
    (void)arg;
    weir_queue *queue;
    enum weir_status status = make("guest", &queue);
    if (status != WEIR_OK) {
        CHECK_STATUS(status, WEIR_EBUSY);
        return;
    }
    world.phase++;
    CHECK_STATUS(weir_queue_add(queue, weir_key_string("x")), WEIR_OK);
    weiri_sync_point();
    weir_queue_free(queue);
}

static void read_beside_guests(void *arg)
{
    (void)arg;
    struct weiri_thread guests[2];
    struct weiri_thread reader;
    init_named(false);
    world_start_two(guests, "guest", come_and_go);
    world_start(&reader, "reader", read_all, NULL);
    world_join_two(guests);
    weiri_thread_join(&reader);
    CHECK_INT(world.phase, >=, 1);
    world_fini();
    weir_metrics_free(metrics);
}

TEST(guests, "queues come into a registry and leave it while it is read")
{
    explorer_must_pass(read_beside_guests, NULL, NULL);
}
