/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* what the files below want */

/* What if wake-ups are lost below us? Here one in ten of the calls that end a sleep is not made,
 * whether for a lock, a queue's sleeper or a condition. Everything must be handled all the same,
 * only later: the bound of every wait (base/wait.h) is 5 ms here instead of 10 s. */

#define WEIRI_WAIT_MAX_NS INT64_C(5000000)

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/parallel.h>
#include <weir/pool.h>
#include <weir/queue.h>

#include "base/futex.h"
#include "base/lock.h"
#include "base/park.h"
#include "base/random.h"
#include "support/harness.h"

static _Atomic uint64_t wakes;
static _Atomic uint64_t losses;
static _Atomic bool lose_all;

/* Of each ten wake-ups one is lost, which one the seed says. */
static bool is_lost(void)
{
    uint64_t wake = atomic_fetch_add_explicit(&wakes, 1, memory_order_relaxed);
    uint64_t state = test_seed() + wake / 10;
    bool is_it = atomic_load(&lose_all) || wake % 10 == weiri_random_next(&state) % 10;
    (void)atomic_fetch_add_explicit(&losses, is_it, memory_order_relaxed);
    return is_it;
}

static int lossy_signal(pthread_cond_t *cond)
{
    return is_lost() ? 0 : pthread_cond_signal(cond);
}

static int lossy_broadcast(pthread_cond_t *cond)
{
    return is_lost() ? 0 : pthread_cond_broadcast(cond);
}

/* The files under test, compiled with the above; this program's libweir has no others. */
/* NOLINTBEGIN(bugprone-suspicious-include) */
#include "base/wait.c"

static void sure_futex_wake(_Atomic uint32_t *word, int count);
#define weiri_futex_wake sure_futex_wake
#include "base/futex.c"
#undef weiri_futex_wake

#define pthread_cond_signal lossy_signal
#define pthread_cond_broadcast lossy_broadcast
#include "base/sync.c"
#undef pthread_cond_signal
#undef pthread_cond_broadcast
/* NOLINTEND(bugprone-suspicious-include) */

void weiri_futex_wake(_Atomic uint32_t *word, int count)
{
    if (!is_lost()) {
        sure_futex_wake(word, count);
    }
}

/* Says what was counted and forgets it: the harness wants nothing. Not every loss is felt: a thread
 * may not sleep yet, or get what it sleeps for without being woken. */
static uint64_t end_losses(void)
{
    uint64_t felt = weiri_wait_lost();
    (void)printf("%llu of %llu wake-ups were lost, %llu waits ended at their bound for it\n",
                 (unsigned long long)atomic_load(&losses), (unsigned long long)atomic_load(&wakes),
                 (unsigned long long)felt);
    CHECK_INT(atomic_load(&losses), >, 0);
    atomic_store(&lost, 0);
    return felt;
}

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
    CHECK_STATUS(weiri_parker_init(&parker), WEIR_OK);
    struct test_thread *sleeper = test_start(sleep_until_set, &parker);
    test_wait_asleep(sleeper);
    weiri_parker_set(&parker);
    weiri_parker_wake(&parker);
    test_join(sleeper);
    weiri_parker_fini(&parker);
}

static void lose_signal(void)
{
    gate.is_open = false;
    CHECK_STATUS(weiri_mutex_init(&gate.mutex), WEIR_OK);
    CHECK_STATUS(weiri_cond_init(&gate.cond, &gate.mutex), WEIR_OK);
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
    CHECK_STATUS(weiri_parker_init(&parker), WEIR_OK);
    weiri_parker_sleep(&parker, INT64_MAX); /* for no reason, to the bound */
    weiri_parker_fini(&parker);
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
    while (weir_queue_get(world.queue, &work) == WEIR_OK) {
        handle(&work);
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
    }
}

static void consume_done_get(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, &work);
    while (status == WEIR_OK) {
        handle(&work);
        status = weir_queue_done_get(world.queue, &work);
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
    CHECK_STATUS(weir_queue_new(NULL, &world.queue), WEIR_OK);
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
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue), WEIR_OK);
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
    struct weiri_lock lock;
    int count;
} locked;

/* Holds the lock for so long that the others sleep for it. */
static void enter_some(void *arg)
{
    (void)arg;
    for (int i = 0; i < ENTRIES; i++) {
        weiri_lock_lock(&locked.lock);
        int before = locked.count;
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
        locked.count = before + 1;
        weiri_lock_unlock(&locked.lock);
    }
}

TEST(lock, "with one wake-up in ten lost every thread that sleeps for a lock gets it")
{
    struct test_thread *threads[3];
    CHECK_STATUS(weiri_lock_init(&locked.lock, true), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        threads[i] = test_start(enter_some, NULL);
    }
    for (int i = 0; i < 3; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(locked.count, ==, 3 * ENTRIES);
    weiri_lock_fini(&locked.lock);
    (void)end_losses();
}

#define ROUNDS 40
#define ENVELOPES 8

/* Half of the tasks sleep for a while, the others until they are cancelled. */
static int sleep_in_task(weir_context *context, void *payload)
{
    bool is_endless = payload != NULL;
    return (int)weir_context_sleep(context, is_endless ? WEIR_FOREVER : WEIR_US(50));
}

static void drain(void *arg)
{
    CHECK_STATUS(weir_pool_drain(arg), WEIR_ECANCELED);
}

static void run_pool(void)
{
    struct weir_pool_options options = WEIR_POOL_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.workers = 4;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int i = 0; i < ENVELOPES; i++) {
        struct weir_envelope_options envelope = WEIR_ENVELOPE_OPTIONS_INIT;
        envelope.allocator = *test_allocator();
        envelope.invoke = sleep_in_task;
        envelope.payload = i % 2 == 0 ? &locked : NULL;
        weir_envelope *made;
        CHECK_STATUS(weir_envelope_new(&envelope, &made), WEIR_OK);
        CHECK_STATUS(weir_pool_send_after(pool, made, i < 4 ? 0 : WEIR_US(30)), WEIR_OK);
        weir_envelope_unref(made);
    }
    struct test_thread *drainer = test_start(drain, pool);
    test_wait_asleep(drainer);
    CHECK_STATUS(weir_pool_stop(pool), WEIR_OK);
    test_join(drainer);
    struct weir_pool_counts counts;
    CHECK_STATUS(weir_pool_count(pool, &counts), WEIR_OK);
    CHECK_INT(counts.in_flight, ==, 0);
    CHECK_INT(counts.runs + counts.dropped, ==, ENVELOPES);
    weir_pool_free(pool);
}

TEST(pool, "with one wake-up in ten lost pools start, run, are drained and stopped")
{
    for (int round = 0; round < ROUNDS; round++) {
        run_pool();
    }
    (void)end_losses();
}

#define RUNS 100

/* Pieces that wait for all the others; again, the system's own mutex and condition. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t begun;
} meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static int meet(size_t piece, void *arg)
{
    (void)piece;
    (void)pthread_mutex_lock(&meeting.mutex);
    meeting.begun++;
    (void)pthread_cond_broadcast(&meeting.changed);
    while (meeting.begun < *(const size_t *)arg) {
        (void)pthread_cond_wait(&meeting.changed, &meeting.mutex);
    }
    (void)pthread_mutex_unlock(&meeting.mutex);
    return WEIR_OK;
}

TEST(crew, "so does a crew get all its workers into each run, and out of it")
{
    struct weir_crew_options options = WEIR_CREW_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.workers = 4;
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(&options, &crew), WEIR_OK);
    for (int i = 0; i < RUNS; i++) {
        struct weir_parallel_options how = WEIR_PARALLEL_OPTIONS_INIT;
        how.eager = 1 + (size_t)test_random_below(4);
        size_t pieces = 1 + (size_t)test_random_below(4);
        meeting.begun = 0;
        CHECK_STATUS(weir_crew_run(crew, pieces, meet, &pieces, &how), WEIR_OK);
        CHECK_INT(meeting.begun, ==, pieces);
    }
    weir_crew_free(crew);
    (void)end_losses();
}
