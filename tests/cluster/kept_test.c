/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A run whose node dies or hangs goes on while Redis confirms its claim. */
#include <sched.h>
#include <stdlib.h>

#include "conformance/jobs/brokers.h"
#include "jobs/consume/consumer.h"

static struct {
    struct place place;
    bool is_hung; /* the node is stopped, else killed */
    int cut;      /* Redis is stopped too, for so many touches; -1: until the run is to end */
    int node;     /* of the first run */
    _Atomic(weir_consumer *) consumer;
} world;

/* How long the claim of the only job holds without being renewed, in ms. */
static int left_ms(void)
{
    char answer[64];
    int left = -1;
    redis_say(world.place.servers.redis.port,
              "EVAL \"for _, n in ipairs(redis.call('KEYS', '*')) do if #n == 32 then return "
              "redis.call('PTTL', n) end end return 0\" 0",
              answer, sizeof(answer));
    CHECK(sscanf(answer, ":%d", &left) == 1);
    return left;
}

/* Waits until the claim was renewed so often, or the run is to end: a renewal lengthens it. */
static void await_renewals(weir_context *context, int count)
{
    int last = left_ms();
    while (count > 0 && weir_context_check(context) == WEIR_OK) {
        int left = left_ms();
        count -= left > last;
        last = left;
    }
}

/* Waits until the fetcher, which has but one run to touch, has touched it so often, or the run is
 * to end. */
static void await_touches(weir_context *context, int count)
{
    weir_consumer *consumer = NULL;
    while ((consumer = atomic_load(&world.consumer)) == NULL) {
        (void)sched_yield();
    }
    uint64_t first = atomic_load(&consumer->exchanges);
    while (atomic_load(&consumer->exchanges) - first <= (uint64_t)count &&
           weir_context_check(context) == WEIR_OK) {
        (void)sched_yield();
    }
}

/* The first run loses the node of its copy, and goes on for some touches. */
static void lose_node(weir_context *context, struct runs *runs)
{
    if (runs->count > 1) {
        return;
    }
    const char *colon = strchr(weir_job_of(context)->id, ':');
    for (int i = 0; i < SERVER_NODES; i++) {
        if (world.place.servers.node[i].port == atoi(colon + 1)) {
            world.node = i;
        }
    }
    struct server *server = &world.place.servers.node[world.node];
    if (world.is_hung) {
        CHECK(kill(server->pid, SIGSTOP) == 0);
    } else {
        server_end(server);
    }
    if (world.cut != 0) {
        CHECK(kill(world.place.servers.redis.pid, SIGSTOP) == 0);
        await_touches(context, world.cut > 0 ? world.cut : INT32_MAX);
        CHECK(kill(world.place.servers.redis.pid, SIGCONT) == 0);
    } else {
        await_renewals(context, 4);
    }
}

static void run_one(struct runs *runs, const char *parts)
{
    struct weir_put_options options = {0};
    place_start(&world.place, ON_CLUSTER, parts);
    world.place.broker = place_broker(&world.place);
    world.node = -1;
    options.ttr_ns = WEIR_SECONDS(1);
    place_put(&world.place, "job", &options, NULL);
    runs->during = lose_node;
    weir_consumer *consumer =
        place_consumer(&world.place, runs, 1, 25, WEIR_MS(1), WEIR_CONSUMER_UNTIL_EMPTY);
    atomic_store(&world.consumer, consumer);
    place_wait(consumer);
    CHECK_INT(world.node, >=, 0);
}

/* The node is back: its copy is told what became of the job. */
static void finish(void)
{
    struct runs none = {.count = 0};
    if (world.is_hung) {
        CHECK(kill(world.place.servers.node[world.node].pid, SIGCONT) == 0);
    } else {
        node_start(&world.place.servers, world.node);
    }
    weir_broker_close(world.place.broker);
    world.place.broker = place_broker(&world.place);
    place_consume(&world.place, &none, 1, 25, 0);
    CHECK_INT(none.count, ==, 0);
    CHECK_PLACE(&world.place, 0, 0, 0, 0);
    place_close(&world.place);
}

TEST(goes_on, "a run whose node is killed, or hangs, goes on to its end, is done, and does not run "
              "again when the node is back")
{
    for (int i = 0; i < 2; i++) {
        struct runs runs = {.count = 0};
        memset(&world, 0, sizeof(world));
        world.is_hung = i == 1;
        run_one(&runs, "time_limit=500ms&lease=1s");
        CHECK_INT(runs.count, ==, 1);
        CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
        finish();
    }
}

TEST(leaves_the_retry, "a run that fails after its node was killed, or hung, is tried again on "
                       "another, and its attempt counts")
{
    for (int i = 0; i < 2; i++) {
        struct runs runs = {.failures_left = 1};
        memset(&world, 0, sizeof(world));
        world.is_hung = i == 1;
        run_one(&runs, "time_limit=500ms&lease=1s");
        CHECK_INT(runs.count, ==, 2);
        CHECK_INT((int)runs.run[1].attempts, ==, 2);
        CHECK_INT(runs.ends[WEIR_RUN_RETRY], ==, 1);
        CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
        finish();
    }
}

TEST(bears_both,
     "a run that neither Redis nor its node confirms for a time goes on, while none other "
     "may begin")
{
    struct runs runs = {.count = 0};
    memset(&world, 0, sizeof(world));
    world.cut = 3;
    run_one(&runs, "time_limit=500ms&lease=3600s");
    CHECK_INT(runs.count, ==, 1);
    CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
    finish();
}

TEST(ends_without_both,
     "a run that neither Redis nor its node confirms ends, once another may begin")
{
    struct runs runs = {.count = 0};
    memset(&world, 0, sizeof(world));
    world.cut = -1;
    run_one(&runs, "time_limit=500ms&lease=1s");
    CHECK_INT(runs.count, ==, 2);
    CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, 1);
    finish();
}
