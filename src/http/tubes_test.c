/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/tubes.h"

#include <pthread.h>

#include "support/harness.h"

static weir_broker *open_store(void)
{
    weir_broker *broker = NULL;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    return broker;
}

static void put(weir_broker *broker, const char *tube)
{
    const struct weir_body body = {"x", 1, NULL};
    CHECK_STATUS(weir_broker_put(broker, tube, &body, 1, NULL, NULL, NULL), WEIR_OK);
}

/* How many tubes a reading has; its number is as expected. */
static size_t take(struct readings *readings, bool is_new, uint64_t number)
{
    struct tubes tubes = {.counts = NULL};
    CHECK_STATUS(readings_take(readings, is_new, &tubes, NULL), WEIR_OK);
    CHECK_INT(tubes.number, ==, number);
    CHECK_INT(tubes.at_ns, >, 0);
    size_t count = tubes.count;
    tubes_free(&tubes);
    return count;
}

TEST(copied, "the last reading is what there is, until a change, or who asks for a new one")
{
    weir_broker *broker = open_store();
    struct readings readings;
    readings_init(&readings, broker);
    CHECK_INT(take(&readings, false, 1), ==, 0);
    put(broker, "a");
    CHECK_INT(take(&readings, false, 1), ==, 0);
    CHECK_INT(take(&readings, true, 2), ==, 1);
    put(broker, "b");
    CHECK_INT(take(&readings, false, 2), ==, 1);
    readings_age(&readings);
    CHECK_INT(take(&readings, false, 3), ==, 2);
    CHECK_INT(take(&readings, false, 3), ==, 2);
    readings_fini(&readings);
    weir_broker_close(broker);
}

TEST(failed, "after a reading that failed nothing old is told as if the broker answered")
{
    weir_broker *broker = open_store();
    struct readings readings;
    struct tubes tubes = {.counts = NULL};
    readings_init(&readings, broker);
    put(broker, "a");
    CHECK_INT(take(&readings, false, 1), ==, 1);
    readings.broker = NULL;
    CHECK_STATUS(readings_take(&readings, true, &tubes, NULL), WEIR_EINVAL);
    CHECK_STATUS(readings_take(&readings, false, &tubes, NULL), WEIR_EINVAL);
    CHECK(tubes.counts == NULL);
    readings.broker = broker;
    CHECK_INT(take(&readings, false, 4), ==, 1);
    readings_fini(&readings);
    weir_broker_close(broker);
}

enum {
    THREADS = 8,
    ROUNDS = 200
};

/* A new reading has what was put before it was asked for. */
static void take_new(void *arg)
{
    struct readings *readings = arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct tubes tubes = {.counts = NULL};
        put(readings->broker, "t");
        (void)pthread_mutex_lock(&readings->mutex);
        uint64_t begun = readings->begun;
        (void)pthread_mutex_unlock(&readings->mutex);
        CHECK_STATUS(readings_take(readings, true, &tubes, NULL), WEIR_OK);
        CHECK_INT(tubes.number, >, begun);
        CHECK_INT(tubes.counts[0].put, >, (uint64_t)i);
        tubes_free(&tubes);
    }
}

TEST(exact, "a new reading began after it was asked for, whoever else asks meanwhile")
{
    weir_broker *broker = NULL;
    struct readings readings;
    struct test_thread *threads[THREADS];
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db?durability=memory", NULL, &broker, NULL),
                 WEIR_OK);
    readings_init(&readings, broker);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = test_start(take_new, &readings);
    }
    for (int i = 0; i < THREADS; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(take(&readings, false, readings.last.number), ==, 1);
    readings_fini(&readings);
    weir_broker_close(broker);
}

static void take_second(void *arg)
{
    CHECK_INT(take(arg, true, 2), ==, 1);
}

TEST(shared, "all that ask for a new reading during another one share the next")
{
    weir_broker *broker = open_store();
    struct readings readings;
    struct test_thread *threads[THREADS];
    readings_init(&readings, broker);
    (void)pthread_mutex_lock(&readings.mutex);
    readings.begun = 1;
    readings.is_reading = true;
    (void)pthread_mutex_unlock(&readings.mutex);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = test_start(take_second, &readings);
        test_wait_asleep(threads[i]);
    }
    put(broker, "t");
    (void)pthread_mutex_lock(&readings.mutex);
    readings.is_reading = false;
    (void)pthread_cond_broadcast(&readings.ended);
    (void)pthread_mutex_unlock(&readings.mutex);
    for (int i = 0; i < THREADS; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(readings.begun, ==, 2);
    readings_fini(&readings);
    weir_broker_close(broker);
}
