/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* ppoll */

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <weir/lifecycle.h>
#include <weir/pool.h>
#include <weir/queue.h>

#include "support/harness.h"

/* Real time: nothing comes early, and nothing stays away, on whatever clocks the system has. Alone
 * this runs on those of the machine; tools/clock_faults.sh runs it again, with most other tests,
 * while the wall clock jumps by days, and with a monotonic clock that began long ago or just now.
 * It then says in WEIR_TEST_CLOCKS what the clocks do, which is seen to first. */

/* What the system says, past libweir. */
static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    CHECK_INT(clock_gettime(clock, &now), ==, 0);
    return (int64_t)now.tv_sec * WEIR_SECONDS(1) + now.tv_nsec;
}

static int64_t now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static void check_jumps(void)
{
    int64_t offset_ns = read_clock(CLOCK_REALTIME) - now_ns();
    int jumps[2] = {0, 0}; /* back, forth */
    while (jumps[0] < 2 || jumps[1] < 2) {
        int64_t before_ns = now_ns();
        int64_t new_ns = read_clock(CLOCK_REALTIME) - before_ns;
        CHECK_INT(now_ns() - before_ns, <, WEIR_SECONDS(3600)); /* the other clock does not */
        if (new_ns > offset_ns + WEIR_SECONDS(3600) || new_ns < offset_ns - WEIR_SECONDS(3600)) {
            jumps[new_ns > offset_ns]++;
            offset_ns = new_ns;
        }
    }
}

/* The offset of this process' monotonic clock, in seconds. */
static long long monotonic_offset(void)
{
    FILE *file = fopen("/proc/self/timens_offsets", "re");
    CHECK(file != NULL);
    char line[128];
    long long seconds = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "monotonic", strlen("monotonic")) == 0) {
            seconds = strtoll(line + strlen("monotonic"), NULL, 10);
        }
    }
    (void)fclose(file);
    return seconds;
}

TEST(clocks, "the clocks are what the caller said, if he did")
{
    const char *said = getenv("WEIR_TEST_CLOCKS");
    if (said == NULL || strcmp(said, "plain") == 0) {
        return;
    }
    if (strcmp(said, "jumping") == 0) {
        check_jumps();
    } else {
        CHECK_INT(monotonic_offset(), ==, strtoll(said, NULL, 10));
        CHECK_INT(monotonic_offset(), !=, 0);
    }
}

#define ITEMS 400
#define THREADS 3

struct node {
    struct weir_item item;
    int64_t due_ns;
    int handled;
};

static struct {
    weir_queue *queue;
    struct node nodes[ITEMS];
    _Atomic int left;
} world;

static void handle(const struct weir_work *work)
{
    struct node *node = (struct node *)work->item;
    CHECK_INT(now_ns(), >=, node->due_ns);
    node->handled++;
    CHECK_STATUS(weir_queue_done(world.queue, work), WEIR_OK);
    if (--world.left == 0) {
        weir_queue_shutdown(world.queue);
    }
}

/* One of them gives up again and again, and none too early. */
static void consume(void *arg)
{
    bool is_impatient = arg != NULL;
    struct weir_work work;
    enum weir_status status;
    do {
        int64_t start_ns = now_ns();
        status = weir_queue_get(world.queue, is_impatient ? WEIR_US(300) : WEIR_FOREVER, &work);
        if (status == WEIR_OK) {
            handle(&work);
        } else if (status == WEIR_ETIMEDOUT) {
            CHECK_INT(now_ns(), >=, start_ns + WEIR_US(300));
        }
    } while (status != WEIR_ESHUTDOWN);
}

TEST(delays, "every item comes, and not before its time")
{
    CHECK_STATUS(weir_queue_new(NULL, &world.queue, NULL), WEIR_OK);
    atomic_store(&world.left, ITEMS);
    struct test_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threads[i] = test_start(consume, i == 0 ? &world : NULL);
    }
    for (int i = 0; i < ITEMS; i++) {
        int64_t delay_ns = (int64_t)test_random_below((uint64_t)WEIR_MS(60));
        world.nodes[i].due_ns = now_ns() + delay_ns;
        struct weir_key key = weir_key_item(&world.nodes[i].item);
        CHECK_STATUS(weir_queue_add_after(world.queue, key, delay_ns), WEIR_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        test_join(threads[i]);
    }
    for (int i = 0; i < ITEMS; i++) {
        CHECK_INT(world.nodes[i].handled, ==, 1);
    }
    weir_queue_free(world.queue);
}

TEST(descriptor, "the descriptor of a queue is readable once something is due, and not before")
{
    CHECK_STATUS(weir_queue_new(NULL, &world.queue, NULL), WEIR_OK);
    int fd;
    CHECK_STATUS(weir_queue_fd(world.queue, &fd), WEIR_OK);
    for (int i = 0; i < 20; i++) {
        struct node *node = &world.nodes[i];
        node->due_ns = now_ns() + WEIR_MS(2);
        CHECK_STATUS(weir_queue_add_after(world.queue, weir_key_item(&node->item), WEIR_MS(2)),
                     WEIR_OK);
        struct pollfd pollfd = {.fd = fd, .events = POLLIN};
        while (ppoll(&pollfd, 1, NULL, NULL) != 1) {
        }
        CHECK_INT(now_ns(), >=, node->due_ns);
        struct weir_work work;
        CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_OK);
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
    }
    weir_queue_free(world.queue);
}

TEST(drain, "a drain that must give up does so at its limit")
{
    CHECK_STATUS(weir_queue_new(NULL, &world.queue, NULL), WEIR_OK);
    CHECK_STATUS(weir_queue_add(world.queue, weir_key_string("stuck")), WEIR_OK);
    for (int i = 0; i < 5; i++) {
        int64_t limit_ns = now_ns() + WEIR_MS(3);
        CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_MS(3)), WEIR_ETIMEDOUT);
        CHECK_INT(now_ns(), >=, limit_ns);
    }
    weir_queue_free(world.queue);
}

static int sleep_in_task(weir_context *context, void *payload)
{
    (void)payload;
    int64_t start_ns = now_ns();
    CHECK_STATUS(weir_context_sleep(context, WEIR_MS(2)), WEIR_OK);
    CHECK_INT(now_ns(), >=, start_ns + WEIR_MS(2));
    int64_t before_ns = now_ns();
    int64_t left_ns = weir_context_remaining(context);
    CHECK_STATUS(weir_context_sleep(context, WEIR_FOREVER), WEIR_ETIMEDOUT);
    CHECK_INT(now_ns(), >=, before_ns + left_ns);
    return WEIR_OK;
}

TEST(pool, "a task's sleep and its deadline take their time")
{
    struct weir_pool_options options = {0};
    options.workers = 2;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int i = 0; i < 10; i++) {
        struct weir_envelope_options envelope_options = {0};
        envelope_options.invoke = sleep_in_task;
        envelope_options.deadline_ns = WEIR_SECONDS(1) / 5;
        weir_envelope *envelope;
        CHECK_STATUS(weir_envelope_new(&envelope_options, &envelope, NULL), WEIR_OK);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        weir_envelope_unref(envelope);
    }
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts counts;
    CHECK_STATUS(weir_pool_count(pool, &counts), WEIR_OK);
    CHECK_INT(counts.runs, ==, 10);
    weir_pool_free(pool);
}
