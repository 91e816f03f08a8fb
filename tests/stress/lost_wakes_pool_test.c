/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* stress/lost_wakes.h */

#include "stress/lost_wakes.h"

#include <pthread.h>

#include <weir/lifecycle.h>
#include <weir/parallel.h>
#include <weir/pool.h>

/* Pools and crews whose wake-ups are lost. */

/* Pieces that wait for all the others; again, the system's own mutex and condition. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t begun;
} meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

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
    CHECK_STATUS(weir_pool_end(arg, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ECANCELED);
}

static void run_pool(void)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 4;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int i = 0; i < ENVELOPES; i++) {
        struct weir_envelope_options envelope = {0};
        envelope.allocator = *test_allocator();
        envelope.invoke = sleep_in_task;
        envelope.payload = i % 2 == 0 ? &meeting : NULL;
        weir_envelope *made;
        CHECK_STATUS(weir_envelope_new(&envelope, &made, NULL), WEIR_OK);
        CHECK_STATUS(weir_pool_send_after(pool, made, i < 4 ? 0 : WEIR_US(30)), WEIR_OK);
        weir_envelope_unref(made);
    }
    struct test_thread *drainer = test_start(drain, pool);
    test_wait_asleep(drainer);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
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

#define SENDERS 3
#define SENDS 60

/* Each sends an envelope of its own, with one slot for all, whenever it is free. */
static void send_when_free(void *arg)
{
    struct weir_envelope_options options = {0};
    weir_envelope *made;
    options.allocator = *test_allocator();
    options.invoke = sleep_in_task;
    CHECK_STATUS(weir_envelope_new(&options, &made, NULL), WEIR_OK);
    for (int i = 0; i < SENDS; i++) {
        CHECK_STATUS(weir_pool_send_wait(arg, made, WEIR_FOREVER), WEIR_OK);
        if (i % 8 == 0) {
            CHECK_STATUS(weir_pool_cancel(arg, made, WEIR_FOREVER, NULL), WEIR_OK);
        }
    }
    weir_envelope_unref(made);
}

TEST(waits, "so are all let in who wait for capacity, and waits for ends of runs, pauses and "
            "idleness end")
{
    struct weir_pool_options options = {0};
    struct test_thread *senders[SENDERS];
    weir_pool *pool;
    options.allocator = *test_allocator();
    options.workers = 2;
    options.capacity = 1;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = test_start(send_when_free, pool);
    }
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_STATUS(weir_pool_pause(pool, WEIR_FOREVER), WEIR_OK);
        CHECK_STATUS(weir_pool_resume(pool), WEIR_OK);
    }
    for (int i = 0; i < SENDERS; i++) {
        test_join(senders[i]);
    }
    CHECK_STATUS(weir_pool_wait_idle(pool, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts counts;
    CHECK_STATUS(weir_pool_count(pool, &counts), WEIR_OK);
    CHECK_INT(counts.in_flight, ==, 0);
    CHECK_INT(counts.runs + counts.dropped, <=, SENDERS * SENDS);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    weir_pool_free(pool);
    (void)end_losses();
}

#define RUNS 100

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
    struct weir_crew_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 4;
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_OK);
    for (int i = 0; i < RUNS; i++) {
        struct weir_parallel_options how = {0};
        how.eager = 1 + (size_t)test_random_below(4);
        size_t pieces = 1 + (size_t)test_random_below(4);
        meeting.begun = 0;
        CHECK_STATUS(weir_crew_run(crew, pieces, meet, &pieces, &how), WEIR_OK);
        CHECK_INT(meeting.begun, ==, pieces);
    }
    weir_crew_free(crew);
    (void)end_losses();
}
