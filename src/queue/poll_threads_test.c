/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>

#include <weir/queue.h>

#include "support/harness.h"

/* The queue's descriptor beside threads on the same queue, on the real clock. */

#define ADDS 4000
#define CONSUMERS_MAX 4

struct crowd {
    weir_queue *queue;
    int fd;
    bool is_embedded;
    struct weir_item items[ADDS];
    uint32_t numbers[ADDS];
    atomic_uint seen[ADDS];
    atomic_uint handled;
};

static struct crowd crowd;

static void setup(bool is_embedded)
{
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    memset(&crowd, 0, sizeof(crowd));
    crowd.is_embedded = is_embedded;
    CHECK_STATUS(weir_queue_new(&options, &crowd.queue, NULL), WEIR_OK);
}

static bool poll_for(int limit_ms)
{
    struct pollfd pollfd = {.fd = crowd.fd, .events = POLLIN};
    int count = poll(&pollfd, 1, limit_ms);
    CHECK_INT(count, >=, 0);
    return count == 1;
}

static struct weir_key key_of(uint32_t number)
{
    crowd.numbers[number] = number;
    return crowd.is_embedded ? weir_key_item(&crowd.items[number])
                             : weir_key_bytes(&crowd.numbers[number], sizeof(uint32_t));
}

static uint32_t number_of(const struct weir_work *work)
{
    uint32_t number = 0;
    if (crowd.is_embedded) {
        number = (uint32_t)(work->item - crowd.items);
    } else {
        memcpy(&number, work->key.data, sizeof(number));
    }
    return number;
}

/* The thread that handles the last item shuts the queue down, which ends all waits. */
static void handle(const struct weir_work *work)
{
    uint32_t number = number_of(work);
    CHECK_INT(number, <, ADDS);
    CHECK_INT(atomic_fetch_add(&crowd.seen[number], 1), ==, 0);
    CHECK_STATUS(weir_queue_done(crowd.queue, work), WEIR_OK);
    if (atomic_fetch_add(&crowd.handled, 1) + 1 == ADDS) {
        weir_queue_shutdown(crowd.queue);
    }
}

static void run_loop(void *arg)
{
    (void)arg;
    enum weir_status status = WEIR_OK;
    while (status != WEIR_ESHUTDOWN) {
        struct weir_work work;
        CHECK(poll_for(-1));
        while ((status = weir_queue_get(crowd.queue, 0, &work)) == WEIR_OK) {
            handle(&work);
        }
        CHECK(status == WEIR_ETIMEDOUT || status == WEIR_ESHUTDOWN);
    }
}

static void run_thread(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status;
    while ((status = weir_queue_get(crowd.queue, WEIR_FOREVER, &work)) == WEIR_OK) {
        handle(&work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

/* One in four waits for a while, in both halves. */
static void produce(void *arg)
{
    for (uint32_t i = *(const uint32_t *)arg; i < ADDS; i += 2) {
        int64_t delay_ns = i % 8 < 2 ? WEIR_US(1 + test_random_below(300)) : 0;
        CHECK_STATUS(weir_queue_add_after(crowd.queue, key_of(i), delay_ns), WEIR_OK);
    }
}

static void run_crowd(bool is_embedded, size_t loops, size_t threads)
{
    setup(is_embedded);
    CHECK_STATUS(weir_queue_fd(crowd.queue, &crowd.fd), WEIR_OK);
    struct test_thread *consumers[CONSUMERS_MAX];
    for (size_t i = 0; i < loops + threads; i++) {
        consumers[i] = test_start(i < loops ? run_loop : run_thread, NULL);
    }
    uint32_t firsts[2] = {0, 1};
    struct test_thread *producers[2];
    for (size_t i = 0; i < 2; i++) {
        producers[i] = test_start(produce, &firsts[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        test_join(producers[i]);
    }
    for (size_t i = 0; i < loops + threads; i++) {
        test_join(consumers[i]);
    }
    CHECK_INT(atomic_load(&crowd.handled), ==, ADDS);
    CHECK(poll_for(0));
    weir_queue_free(crowd.queue);
}

TEST(one_loop, "an event loop alone handles everything that two threads add, at once or later")
{
    run_crowd(false, 1, 0);
    run_crowd(true, 1, 0);
}

TEST(loop_and_threads, "an event loop and two sleeping threads handle everything once")
{
    run_crowd(false, 1, 2);
    run_crowd(true, 1, 2);
}

TEST(two_loops, "two event loops on one descriptor handle everything once")
{
    run_crowd(false, 2, 0);
    run_crowd(true, 2, 0);
}

static void get_one(void *arg)
{
    (void)arg;
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(crowd.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_STATUS(weir_queue_done(crowd.queue, &work), WEIR_OK);
}

TEST(taken_by_a_thread, "what a sleeping thread takes, added at once or later, is readable no more")
{
    setup(false);
    CHECK_STATUS(weir_queue_fd(crowd.queue, &crowd.fd), WEIR_OK);
    for (int64_t delay_ns = 0; delay_ns <= WEIR_MS(2); delay_ns += WEIR_MS(1)) {
        struct test_thread *thread = test_start(get_one, NULL);
        test_wait_asleep(thread);
        CHECK_STATUS(weir_queue_add_after(crowd.queue, key_of(0), delay_ns), WEIR_OK);
        test_join(thread);
        CHECK(!poll_for(0));
    }
    weir_queue_free(crowd.queue);
}

static void ask(void *arg)
{
    int *ret_fd = arg;
    CHECK_STATUS(weir_queue_fd(crowd.queue, ret_fd), WEIR_OK);
    CHECK_INT(fcntl(*ret_fd, F_GETFD), >=, 0);
}

TEST(asked_at_once, "threads that ask for it at once all get the one that stays")
{
    for (int round = 0; round < 100; round++) {
        setup(false);
        int fds[3];
        struct test_thread *threads[3];
        for (int i = 0; i < 3; i++) {
            threads[i] = test_start(ask, &fds[i]);
        }
        for (int i = 0; i < 3; i++) {
            test_join(threads[i]);
        }
        CHECK_INT(fds[0], ==, fds[1]);
        CHECK_INT(fds[0], ==, fds[2]);
        crowd.fd = fds[0];
        CHECK(!poll_for(0));
        CHECK_STATUS(weir_queue_add(crowd.queue, key_of(0)), WEIR_OK);
        CHECK(poll_for(0));
        weir_queue_free(crowd.queue);
    }
}
