/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A queue, and what it uses, in a child after fork(). */
#include <weir/queue.h>

#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/snapshot.h>

#include "queue/limiter.h"
#include "support/harness.h"

static void wait_for(pid_t child)
{
    int status;
    CHECK_INT(child, >, 0);
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK_INT(status, ==, 0);
}

static void check_adds_refused(weir_queue *queue, struct weir_key key)
{
    struct weir_add_options with = {0};
    bool taken;
    uint64_t count;
    CHECK_STATUS(weir_queue_add(queue, key), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_add_after(queue, key, 1), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_add_with(queue, key, &with, NULL), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_add_rate_limited(queue, key), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_add_batch(queue, &key, 1, NULL), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_forget(queue, key), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_num_requeues(queue, key, &count), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_num_requeues(queue, key, NULL), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_cancel(queue, key, &taken), WEIR_EFORKED);
}

/* work is an item that the queue is processing. */
static void check_consuming_refused(weir_queue *queue, struct weir_work work)
{
    struct weir_work works[2];
    size_t count;
    CHECK_STATUS(weir_queue_get(queue, WEIR_FOREVER, works), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_get(queue, 0, works), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_get_batch(queue, WEIR_FOREVER, works, 2, &count), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_get_batch(queue, 0, works, 2, &count), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_interrupt(queue), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_done(queue, &work), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_done_get(queue, WEIR_FOREVER, &work), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_done_get(queue, 0, &work), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_done_batch(queue, &work, 1), WEIR_EFORKED);
}

static void check_rest_refused(weir_queue *queue, struct weir_key key)
{
    struct weir_queue_counts counts;
    struct weir_snapshot_item item;
    struct weir_snapshot *snapshot;
    int fd;
    CHECK_STATUS(weir_queue_count(queue, &counts), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_lookup(queue, key, &item), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_lookup(queue, key, NULL), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_snapshot(queue, &snapshot), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_fd(queue, &fd), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_shutdown_drain(queue, WEIR_FOREVER), WEIR_EFORKED);
    CHECK_STATUS(weir_queue_shutdown_drain(queue, 0), WEIR_EFORKED);
    CHECK_INT(weir_queue_len(queue), ==, 0);
    CHECK(weir_queue_shutting_down(queue));
    weir_queue_shutdown(queue);
}

/* An allocator that blocks on command, in any call of a queue and with its locks held. */
static struct {
    atomic_bool holds_up;
    sem_t entered;
    sem_t allowed;
} gate;

static void *gated_alloc(size_t size, void *arg)
{
    (void)arg;
    if (atomic_load(&gate.holds_up)) {
        CHECK_INT(sem_post(&gate.entered), ==, 0);
        CHECK_INT(sem_wait(&gate.allowed), ==, 0);
    }
    return malloc(size);
}

static void *gated_resize(void *block, size_t old_size, size_t size, void *arg)
{
    (void)old_size;
    (void)arg;
    return realloc(block, size);
}

static void gated_release(void *block, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    free(block);
}

static const struct weir_allocator gated = {gated_alloc, gated_resize, gated_release, NULL};

static weir_queue *new_queue(weir_metrics *metrics, weir_clock *clock)
{
    struct weir_queue_options options = {0};
    options.allocator = gated;
    options.metrics = metrics;
    options.name = "a";
    options.clock = clock;
    weir_queue *queue;
    CHECK_STATUS(weir_queue_new(&options, &queue, NULL), WEIR_OK);
    return queue;
}

static void add_long_key(void *queue)
{
    CHECK_STATUS(weir_queue_add(queue, weir_key_string("a key that needs memory of its own")),
                 WEIR_OK);
}

TEST(refused,
     "in a child every call on the parent's queue is WEIR_EFORKED, though a thread that the "
     "child has not is in the midst of one; the parent's goes on (V39)")
{
    weir_queue *queue = new_queue(NULL, NULL);
    struct weir_item item = {0};
    struct weir_work work;
    CHECK_STATUS(weir_queue_add(queue, weir_key_item(&item)), WEIR_OK);
    CHECK_STATUS(weir_queue_get(queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_INT(sem_init(&gate.entered, 0, 0), ==, 0);
    CHECK_INT(sem_init(&gate.allowed, 0, 0), ==, 0);
    atomic_store(&gate.holds_up, true);
    struct test_thread *thread = test_start(add_long_key, queue);
    CHECK_INT(sem_wait(&gate.entered), ==, 0);
    pid_t child = fork();
    if (child == 0) {
        check_adds_refused(queue, weir_key_item(&item));
        check_adds_refused(queue, weir_key_string("short"));
        check_consuming_refused(queue, work);
        check_rest_refused(queue, weir_key_item(&item));
        CHECK_STATUS(weir_queue_add(NULL, weir_key_item(&item)), WEIR_EINVAL);
        weir_queue_free(queue);
        test_end_child();
    }
    wait_for(child);
    atomic_store(&gate.holds_up, false);
    CHECK_INT(sem_post(&gate.allowed), ==, 0);
    test_join(thread);
    CHECK_INT(weir_queue_len(queue), ==, 1);
    CHECK_STATUS(weir_queue_done(queue, &work), WEIR_OK);
    weir_queue_free(queue);
}

TEST(own,
     "a child may make queues of its own, also for its parent's items, and a child of that may "
     "not use them")
{
    weir_queue *queue = new_queue(NULL, NULL);
    struct weir_item item = {0};
    struct weir_work work;
    CHECK_STATUS(weir_queue_add(queue, weir_key_item(&item)), WEIR_OK);
    pid_t child = fork();
    if (child == 0) {
        weir_queue *own = new_queue(NULL, NULL);
        CHECK_STATUS(weir_queue_add(own, weir_key_item(&item)), WEIR_EBUSY);
        weir_item_init(&item);
        CHECK_STATUS(weir_queue_add(own, weir_key_item(&item)), WEIR_OK);
        CHECK_STATUS(weir_queue_get(own, WEIR_FOREVER, &work), WEIR_OK);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            CHECK_STATUS(weir_queue_add(queue, weir_key_item(&item)), WEIR_EFORKED);
            CHECK_STATUS(weir_queue_done(own, &work), WEIR_EFORKED);
            test_end_child();
        }
        wait_for(grandchild);
        CHECK_STATUS(weir_queue_done(own, &work), WEIR_OK);
        weir_queue_free(own);
        test_end_child();
    }
    wait_for(child);
    CHECK_STATUS(weir_queue_get(queue, WEIR_FOREVER, &work), WEIR_OK);
    weir_queue_free(queue);
}

static int write_nothing(const char *text, size_t size, void *arg)
{
    (void)text;
    (void)size;
    (void)arg;
    return WEIR_OK;
}

TEST(metrics,
     "so it is for a registry: it cannot be written or entered, and freeing it does nothing")
{
    weir_metrics *metrics;
    CHECK_STATUS(weir_metrics_new(NULL, &metrics, NULL), WEIR_OK);
    weir_queue *queue = new_queue(metrics, NULL);
    pid_t child = fork();
    if (child == 0) {
        struct weir_queue_options options = {0};
        options.metrics = metrics;
        options.name = "b";
        weir_queue *own;
        CHECK_INT(weir_metrics_write(metrics, write_nothing, NULL), ==, WEIR_EFORKED);
        CHECK_STATUS(weir_queue_new(&options, &own, NULL), WEIR_EFORKED);
        weir_queue_free(queue);
        weir_metrics_free(metrics);
        test_end_child();
    }
    wait_for(child);
    CHECK_INT(weir_metrics_write(metrics, write_nothing, NULL), ==, WEIR_OK);
    weir_queue_free(queue);
    weir_metrics_free(metrics);
}

TEST(clock, "a manual clock can be read, but not stepped or used, and freeing it does nothing")
{
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(7, NULL, &clock), WEIR_OK);
    weir_queue *queue = new_queue(NULL, clock);
    pid_t child = fork();
    if (child == 0) {
        struct weir_queue_options options = {0};
        options.clock = clock;
        weir_queue *own;
        CHECK_STATUS(weir_clock_advance(clock, 1), WEIR_EFORKED);
        CHECK_INT(weir_clock_now(clock), ==, 7);
        CHECK_STATUS(weir_queue_new(&options, &own, NULL), WEIR_EFORKED);
        weir_queue_free(queue);
        weir_clock_free(clock);
        options.clock = weir_clock_monotonic();
        CHECK_STATUS(weir_queue_new(&options, &own, NULL), WEIR_OK);
        weir_queue_free(own);
        test_end_child();
    }
    wait_for(child);
    CHECK_STATUS(weir_clock_advance(clock, 1), WEIR_OK);
    weir_queue_free(queue);
    weir_clock_free(clock);
}

TEST(limiter, "a limiter answers WEIR_EFORKED, and knows nothing")
{
    weir_limiter *limiter;
    struct weir_key key = weir_key_string("a");
    int64_t delay_ns = 77;
    CHECK_STATUS(weir_limiter_default_new(NULL, &limiter, NULL), WEIR_OK);
    CHECK_STATUS(weir_limiter_when(limiter, key, 0, &delay_ns), WEIR_OK);
    pid_t child = fork();
    if (child == 0) {
        CHECK_STATUS(weir_limiter_when(limiter, key, 0, &delay_ns), WEIR_EFORKED);
        CHECK_INT(weir_limiter_num_requeues(limiter, key), ==, 0);
        weir_limiter_forget(limiter, key);
        weiri_limiter_undo(limiter, key, 0);
        weiri_limiter_give_back(limiter, key, 0);
        struct weir_queue_options options = {0};
        options.limiter = limiter;
        weir_queue *own;
        CHECK_STATUS(weir_queue_new(&options, &own, NULL), WEIR_OK);
        CHECK_STATUS(weir_queue_add_rate_limited(own, key), WEIR_EFORKED);
        weir_queue_free(own);
        CHECK_STATUS(weir_limiter_free(limiter), WEIR_EFORKED);
        test_end_child();
    }
    wait_for(child);
    CHECK_INT(weir_limiter_num_requeues(limiter, key), ==, 1);
    CHECK_STATUS(weir_limiter_free(limiter), WEIR_OK);
}
