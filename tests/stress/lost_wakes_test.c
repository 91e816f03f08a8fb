/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* stress/lost_wakes.h */

#include "stress/lost_wakes.h"

#include <pthread.h>
#include <time.h>

#include <weir/queue.h>

#include "base/park.h"
#include "base/sync.h"

/* Parkers, conditions, mutexes and a queue whose wake-ups are lost. */

static void sleep_until_set(void *arg)
{
    struct weiri_parker *parker = arg;
    while (atomic_load(&parker->is_set) == 0) {
        weiri_parker_sleep(parker, INT64_MAX);
    }
}

static struct {
    struct weiri_mutex mutex;
    struct weiri_cond cond;
    bool is_open;
} gate;

static void sleep_until_open(void *arg)
{
    (void)arg;
    weiri_mutex_lock(&gate.mutex);
    while (!gate.is_open) {
        weiri_cond_wait(&gate.cond);
    }
    weiri_mutex_unlock(&gate.mutex);
}

static void lose_parker_wake(void)
{
    struct weiri_parker parker;
    weiri_parker_init(&parker);
    struct test_thread *sleeper = test_start(sleep_until_set, &parker);
    test_wait_asleep(sleeper);
    weiri_parker_set(&parker);
    weiri_parker_wake(&parker);
    test_join(sleeper);
}

static void lose_signal(void)
{
    gate.is_open = false;
    weiri_mutex_init(&gate.mutex);
    weiri_cond_init(&gate.cond, &gate.mutex);
    struct test_thread *sleeper = test_start(sleep_until_open, NULL);
    test_wait_asleep(sleeper);
    weiri_mutex_lock(&gate.mutex);
    gate.is_open = true;
    weiri_cond_signal(&gate.cond);
    weiri_mutex_unlock(&gate.mutex);
    test_join(sleeper);
    weiri_cond_fini(&gate.cond);
    weiri_mutex_fini(&gate.mutex);
}

/* Until it is felt: the sleeper may just have woken at its bound, and look. */
static void lose_until_felt(void (*lose)(void))
{
    uint64_t before = weiri_wait_lost();
    do {
        lose();
    } while (weiri_wait_lost() == before);
    CHECK_INT(weiri_wait_lost(), ==, before + 1);
}

TEST(counted, "a sleep whose wake-up is lost ends at the bound, and is counted; no other one is")
{
    struct weiri_parker parker;
    weiri_parker_init(&parker);
    weiri_parker_sleep(&parker, INT64_MAX); /* for no reason, to the bound */
    CHECK_INT(weiri_wait_lost(), ==, 0);
    atomic_store(&lose_all, true);
    lose_until_felt(lose_parker_wake);
    lose_until_felt(lose_signal);
    CHECK_INT(end_losses(), ==, 2);
}

#define ITEMS 100000
#define PRODUCERS 4
#define CONSUMERS 4
/* A producer goes on while fewer of its items than this are on their way, so that the consumers
 * sleep again and again. */
#define WINDOW 4

struct node {
    struct weir_item item;
    struct producer *producer;
    int handled; /* times */
};

/* Its mutex and condition are the system's own, and lose nothing. */
struct producer {
    pthread_mutex_t mutex;
    pthread_cond_t progress;
    unsigned under_way;
    struct node *nodes;
};

static struct {
    weir_queue *queue;
    struct node nodes[ITEMS];
    struct producer producers[PRODUCERS];
} world;

static void handle(const struct weir_work *work)
{
    struct node *node = (struct node *)work->item;
    struct producer *producer = node->producer;
    node->handled++;
    (void)pthread_mutex_lock(&producer->mutex);
    producer->under_way--;
    (void)pthread_cond_signal(&producer->progress);
    (void)pthread_mutex_unlock(&producer->mutex);
}

static void consume(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, WEIR_FOREVER, &work) == WEIR_OK) {
        handle(&work);
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
    }
}

static void consume_done_get(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, WEIR_FOREVER, &work);
    while (status == WEIR_OK) {
        handle(&work);
        status = weir_queue_done_get(world.queue, WEIR_FOREVER, &work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

/* One item in eight comes after a while. */
static void produce(void *arg)
{
    struct producer *producer = arg;
    for (int i = 0; i < ITEMS / PRODUCERS; i++) {
        (void)pthread_mutex_lock(&producer->mutex);
        while (producer->under_way == WINDOW) {
            (void)pthread_cond_wait(&producer->progress, &producer->mutex);
        }
        producer->under_way++;
        (void)pthread_mutex_unlock(&producer->mutex);
        struct node *node = &producer->nodes[i];
        node->producer = producer;
        int64_t delay_ns = i % 8 == 0 ? WEIR_US(50) : 0;
        CHECK_STATUS(weir_queue_add_after(world.queue, weir_key_item(&node->item), delay_ns),
                     WEIR_OK);
    }
}

static void wait_until_handled(struct producer *producer)
{
    (void)pthread_mutex_lock(&producer->mutex);
    while (producer->under_way > 0) {
        (void)pthread_cond_wait(&producer->progress, &producer->mutex);
    }
    (void)pthread_mutex_unlock(&producer->mutex);
}

TEST(queue, "with one wake-up in ten lost all of 100,000 items are handled, and nobody is stuck")
{
    CHECK_STATUS(weir_queue_new(NULL, &world.queue, NULL), WEIR_OK);
    struct test_thread *threads[CONSUMERS + PRODUCERS];
    for (int i = 0; i < CONSUMERS; i++) {
        threads[i] = test_start(i % 2 == 0 ? consume : consume_done_get, NULL);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        struct producer *producer = &world.producers[i];
        CHECK_INT(pthread_mutex_init(&producer->mutex, NULL), ==, 0);
        CHECK_INT(pthread_cond_init(&producer->progress, NULL), ==, 0);
        producer->nodes = &world.nodes[i * (ITEMS / PRODUCERS)];
        threads[CONSUMERS + i] = test_start(produce, producer);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        test_join(threads[CONSUMERS + i]);
        wait_until_handled(&world.producers[i]);
    }
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < CONSUMERS; i++) {
        test_join(threads[i]);
    }
    for (int i = 0; i < ITEMS; i++) {
        CHECK_INT(world.nodes[i].handled, ==, 1);
    }
    weir_queue_free(world.queue);
    CHECK_INT(end_losses(), >, 0);
}

#define ENTRIES 300

static struct {
    struct weiri_mutex mutex;
    int count;
} locked;

/* Holds the mutex for so long that the others sleep for it. */
static void enter_some(void *arg)
{
    (void)arg;
    for (int i = 0; i < ENTRIES; i++) {
        weiri_mutex_lock(&locked.mutex);
        int before = locked.count;
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
        locked.count = before + 1;
        weiri_mutex_unlock(&locked.mutex);
    }
}

TEST(mutex, "with one wake-up in ten lost every thread that sleeps for a mutex gets it")
{
    struct test_thread *threads[3];
    weiri_mutex_init(&locked.mutex);
    for (int i = 0; i < 3; i++) {
        threads[i] = test_start(enter_some, NULL);
    }
    for (int i = 0; i < 3; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(locked.count, ==, 3 * ENTRIES);
    weiri_mutex_fini(&locked.mutex);
    (void)end_losses();
}
