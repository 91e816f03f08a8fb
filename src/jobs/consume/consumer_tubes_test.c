/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A consumer of several tubes, and one whose runs are limited to a rate. */
#include <math.h>

#include "support/consumer.h"

enum {
    RUNS_MAX = 1000
};

/* What ran, in turn. */
struct order {
    struct scene scene;
    char tubes[RUNS_MAX + 1];
    int64_t began_ns[RUNS_MAX];
    int count; /* guarded by the scene's mutex */
};

static int note_run(weir_context *context, const struct weir_job *job, void *arg)
{
    struct order *order = arg;
    (void)context;
    weiri_mutex_lock(&order->scene.mutex);
    order->began_ns[order->count] = weiri_monotonic_now();
    order->tubes[order->count++] = job->tube[0];
    weiri_cond_broadcast(&order->scene.changed);
    weiri_mutex_unlock(&order->scene.mutex);
    return WEIR_OK;
}

static void put_some(weir_broker *broker, const char *tube, int count)
{
    static struct weir_body bodies[RUNS_MAX];
    CHECK_STATUS(weir_broker_put(broker, tube, bodies, (size_t)count, NULL, NULL, NULL), WEIR_OK);
}

static struct weir_consumer_options options_of(struct order *order, uint32_t flags,
                                               const struct weir_tube_weight *tubes, size_t count)
{
    struct weir_consumer_options options = {0};
    options.handler = note_run;
    options.arg = order;
    options.flags = flags;
    options.tubes = tubes;
    options.tube_count = count;
    return options;
}

static void start(struct order *order, const struct weir_consumer_options *options)
{
    struct weir_error error = {0};
    const char *tube = options->tube_count == 0 ? "t" : NULL;
    if (weir_consumer_new(order->scene.broker, tube, options, &order->scene.consumer, &error) !=
            WEIR_OK ||
        weir_consumer_start(order->scene.consumer, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
}

static int count_of(const struct order *order, int from, int until, char tube)
{
    int count = 0;
    for (int i = from; i < until; i++) {
        count += order->tubes[i] == tube;
    }
    return count;
}

TEST(weights, "tubes have the shares of their weights while all have jobs, whatever the workers")
{
    for (uint32_t workers = 1; workers <= 8; workers += 7) {
        static struct order order;
        memset(&order, 0, sizeof(order));
        scene_open(&order.scene);
        put_some(order.scene.broker, "a", 300);
        put_some(order.scene.broker, "b", 300);
        put_some(order.scene.broker, "c", 100);
        const struct weir_tube_weight tubes[] = {{"a", 3}, {"b", 0}, {"empty", 1000}, {"c", 1}};
        struct weir_consumer_options options =
            options_of(&order, WEIR_CONSUMER_UNTIL_EMPTY, tubes, 4);
        options.workers = workers;
        start(&order, &options);
        scene_wait_for_end(&order.scene);
        CHECK_INT(order.count, ==, 700);
        /* Several workers hand out some jobs at a time, and note them in any order. */
        int slack = workers == 1 ? 1 : 3 * (int)workers;
        for (int until = 50; until <= 450; until += 50) {
            int a = count_of(&order, 0, until, 'a');
            CHECK_INT(a, >=, until * 3 / 5 - slack);
            CHECK_INT(a, <=, until * 3 / 5 + slack);
        }
        scene_close(&order.scene);
        jobs_store_remove("jobs.db");
    }
}

static bool has_run(struct order *order, int count)
{
    weiri_mutex_lock(&order->scene.mutex);
    while (order->count < count) {
        weiri_cond_wait(&order->scene.changed);
    }
    weiri_mutex_unlock(&order->scene.mutex);
    return true;
}

TEST(woken, "a consumer that sleeps is woken by a put into any of its tubes, and by a due job")
{
    static struct order order;
    scene_open(&order.scene);
    const struct weir_tube_weight tubes[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    struct weir_consumer_options options = options_of(&order, 0, tubes, 3);
    options.workers = 2;
    start(&order, &options);
    struct weir_put_options put = {0};
    put.delay_ns = WEIR_MS(2);
    for (int i = 0; i < 60; i++) {
        (void)jobs_put(order.scene.broker, tubes[i % 3].tube, "x", i % 2 == 0 ? NULL : &put);
        CHECK(has_run(&order, i + 1));
        CHECK_INT(order.tubes[i], ==, tubes[i % 3].tube[0]);
    }
    CHECK_INT(order.scene.consumer->long_sleeps, ==, 0);
    CHECK_STATUS(weir_consumer_end(order.scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    scene_wait_for_end(&order.scene);
    scene_close(&order.scene);
}

/* Each run puts the next job of the same tube, so that the tube never gets empty; the first ones
 * also put a job into the other tube. */
static int run_and_put(weir_context *context, const struct weir_job *job, void *arg)
{
    struct order *order = arg;
    (void)note_run(context, job, arg);
    if (job->tube[0] == 'a' && order->count < 100) {
        (void)jobs_put(order->scene.broker, "a", "x", NULL);
    }
    if (job->tube[0] == 'a' && order->count == 10) {
        (void)jobs_put(order->scene.broker, "b", "x", NULL);
    }
    return WEIR_OK;
}

TEST(busy, "a tube that gets a job while another keeps all workers busy has its turn soon")
{
    static struct order order;
    scene_open(&order.scene);
    put_some(order.scene.broker, "a", 2);
    const struct weir_tube_weight tubes[] = {{"a", 10}, {"b", 1}};
    struct weir_consumer_options options = options_of(&order, WEIR_CONSUMER_UNTIL_EMPTY, tubes, 2);
    options.handler = run_and_put;
    start(&order, &options);
    scene_wait_for_end(&order.scene);
    CHECK_INT(order.count, >=, 100);
    CHECK_INT(count_of(&order, 0, order.count, 'b'), ==, 1);
    CHECK_INT(count_of(&order, 10, 10 + 12, 'b'), ==, 1);
    scene_close(&order.scene);
}

TEST(until_empty, "it ends when all tubes are empty, and not while one has a job that will be due")
{
    static struct order order;
    scene_open(&order.scene);
    const struct weir_tube_weight tubes[] = {{"a", 1}, {"b", 1}};
    struct weir_put_options put = {0};
    put.delay_ns = WEIR_MS(50);
    (void)jobs_put(order.scene.broker, "b", "x", &put);
    (void)jobs_put(order.scene.broker, "a", "x", NULL);
    struct weir_consumer_options options = options_of(&order, WEIR_CONSUMER_UNTIL_EMPTY, tubes, 2);
    options.workers = 4;
    start(&order, &options);
    scene_wait_for_end(&order.scene);
    CHECK_STRING(order.tubes, "ab");
    scene_close(&order.scene);
}

/* A job of one tube puts one into the next, from b to a and from c to b. */
static int run_and_pass_on(weir_context *context, const struct weir_job *job, void *arg)
{
    struct order *order = arg;
    (void)note_run(context, job, arg);
    if (job->tube[0] != 'a') {
        const char to[] = {(char)(job->tube[0] - 1), '\0'};
        (void)jobs_put(order->scene.broker, to, "x", NULL);
    }
    return WEIR_OK;
}

TEST(passed_on,
     "it does not end while a run has put a job into a tube that was empty when it looked")
{
    uint64_t rounds = test_scaled(100);
    static struct order order;
    memset(&order, 0, sizeof(order));
    scene_open(&order.scene);
    const struct weir_tube_weight tubes[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    struct weir_consumer_options options = options_of(&order, WEIR_CONSUMER_UNTIL_EMPTY, tubes, 3);
    options.handler = run_and_pass_on;
    options.workers = 3;
    for (uint64_t i = 0; i < rounds; i++) {
        order.count = 0;
        (void)jobs_put(order.scene.broker, "c", "x", NULL);
        start(&order, &options);
        scene_wait_for_end(&order.scene);
        CHECK_INT(order.count, ==, 3);
        weir_consumer_free(order.scene.consumer);
        order.scene.consumer = NULL;
    }
    scene_close(&order.scene);
}

TEST(rate, "runs begin no faster than the rate, and jobs are not reserved before they may begin")
{
    for (uint32_t workers = 1; workers <= 4; workers += 3) {
        static struct order order;
        memset(&order, 0, sizeof(order));
        scene_open(&order.scene);
        put_some(order.scene.broker, "t", 30);
        struct weir_consumer_options options =
            options_of(&order, WEIR_CONSUMER_UNTIL_EMPTY, NULL, 0);
        options.workers = workers;
        options.rate = 200;
        int64_t start_ns = weiri_monotonic_now();
        start(&order, &options);
        CHECK(has_run(&order, 5));
        struct weir_tube_counts counts = jobs_counts(order.scene.broker, "t");
        int64_t passed_ns = weiri_monotonic_now() - start_ns;
        CHECK_INT(counts.reserved + counts.done, <=, passed_ns / WEIR_MS(5) + 3);
        scene_wait_for_end(&order.scene);
        CHECK_INT(order.count, ==, 30);
        /* At any time those of 10 ms and one may begin; others have been reserved, and not begun.
         */
        int early = 2 + (int)workers;
        for (int i = early; i < 30; i++) {
            CHECK_INT(order.began_ns[i] - order.began_ns[0], >=, (i - early) * WEIR_MS(5));
        }
        CHECK_INT(order.scene.consumer->long_sleeps, ==, 0);
        scene_close(&order.scene);
        jobs_store_remove("jobs.db");
    }
}
