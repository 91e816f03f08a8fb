/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A worker killed at each step between reserving a job and deleting it: the job runs to its end
 * once, unless it was killed where nobody could know that it had. */
#include <sched.h>

#include "cluster/proxy.h"
#include "conformance/jobs/brokers.h"

/* One node behind a proxy, since each step is one of a single copy. */
struct world {
    struct place place;
    struct proxy proxy;
    int channel;
    pid_t child;
    bool is_failing; /* the job, at its only attempt */
};

/* Tells that the handler runs, and ends when it is told to. */
static void tell_and_wait(weir_context *context, struct runs *runs)
{
    const int *channel = runs->arg;
    char byte = 'r';
    (void)context;
    CHECK(write(*channel, &byte, 1) == 1);
    CHECK(read(*channel, &byte, 1) == 1);
}

/* In a child that was forked before there were threads. */
_Noreturn static void work_until_killed(struct world *world, int channel)
{
    static struct runs runs;
    runs.during = tell_and_wait;
    runs.arg = &channel;
    runs.failures_left = world->is_failing;
    world->place.broker = place_broker(&world->place);
    weir_consumer *consumer =
        place_consumer(&world->place, &runs, 1, world->is_failing ? 1 : 0, 0, 0);
    place_wait(consumer);
    _exit(1);
}

static void begin(struct world *world, bool is_failing)
{
    int both[2];
    memset(world, 0, sizeof(*world));
    world->is_failing = is_failing;
    place_init(&world->place, ON_CLUSTER);
    node_start(&world->place.servers, 0);
    redis_start(&world->place.servers);
    /* The port is known before the proxy has a thread. */
    int port = test_port();
    (void)snprintf(world->place.url, sizeof(world->place.url),
                   "beanstalk://127.0.0.1:%d/?replicas=1&lease=1s&claims=redis://127.0.0.1:%d",
                   port, world->place.servers.redis.port);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
    world->channel = both[0];
    world->child = fork();
    CHECK(world->child >= 0);
    if (world->child == 0) {
        (void)close(both[0]);
        work_until_killed(world, both[1]);
    }
    (void)close(both[1]);
    proxy_start_at(&world->proxy, port, world->place.servers.node[0].port, 4096);
    world->place.broker = place_broker(&world->place);
}

static void put_one(struct world *world)
{
    struct weir_put_options options = {0};
    options.ttr_ns = WEIR_SECONDS(1);
    place_put(&world->place, "job", &options, NULL);
}

/* Its handler runs. */
static void begin_run(struct world *world, bool is_failing)
{
    char byte;
    begin(world, is_failing);
    put_one(world);
    CHECK(read(world->channel, &byte, 1) == 1);
}

static void end_handler(struct world *world)
{
    char byte = 'g';
    CHECK(write(world->channel, &byte, 1) == 1);
}

static void kill_child(struct world *world)
{
    int status;
    CHECK(kill(world->child, SIGKILL) == 0);
    CHECK(waitpid(world->child, &status, 0) == world->child);
    (void)close(world->channel);
}

/* After so many more runs no job waits. */
static void finish(struct world *world, int more_runs, uint64_t buried)
{
    struct runs runs = {.count = 0};
    place_consume(&world->place, &runs, 1, 0, 0);
    CHECK_INT(runs.count, ==, more_runs);
    CHECK_INT(runs.ends[WEIR_RUN_DONE], ==, more_runs);
    CHECK_PLACE(&world->place, 0, 0, 0, buried);
    weir_broker_close(world->place.broker);
    proxy_end(&world->proxy);
    servers_end(&world->place.servers);
}

TEST(killed_before_the_claim, "a worker killed after it reserved a job, its claim on the way, has "
                              "not run it: it runs once")
{
    struct world world;
    begin(&world, false);
    CHECK(kill(world.place.servers.redis.pid, SIGSTOP) == 0);
    put_one(&world);
    while (place_counts(&world.place).reserved == 0) {
        (void)sched_yield();
    }
    kill_child(&world);
    /* Redis may hear the claim of the dead worker now; then its lease has to end. */
    CHECK(kill(world.place.servers.redis.pid, SIGCONT) == 0);
    finish(&world, 1, 0);
}

TEST(killed_in_the_handler, "a worker killed in its handler: the job runs again")
{
    struct world world;
    begin_run(&world, false);
    kill_child(&world);
    finish(&world, 1, 0);
}

TEST(killed_before_it_is_confirmed, "a worker killed after its handler, before Redis heard of it: "
                                    "nobody knows that it ran, and it runs again")
{
    struct world world;
    begin_run(&world, false);
    server_end(&world.place.servers.redis);
    end_handler(&world);
    kill_child(&world);
    redis_start(&world.place.servers);
    finish(&world, 1, 0);
}

/* Whether Redis knows a job as done or buried. */
static bool is_told(const struct world *world)
{
    static const char ask[] = "EVAL \"local k = redis.call('KEYS', '*') for _, n in ipairs(k) do "
                              "if #n == 32 and not string.find(redis.call('GET', n), 'claim') "
                              "then return 1 end end return 0\" 0\r\n";
    char answer[8] = "";
    int fd = connect_port(world->place.servers.redis.port);
    CHECK(fd >= 0);
    CHECK(write(fd, ask, sizeof(ask) - 1) == (ssize_t)sizeof(ask) - 1);
    CHECK(read(fd, answer, sizeof(answer) - 1) >= 4);
    (void)close(fd);
    return strncmp(answer, ":1", 2) == 0;
}

/* The node does not hear of the run's end. */
static void kill_once_told(struct world *world)
{
    world->proxy.is_silent = true;
    end_handler(world);
    while (!is_told(world)) {
        (void)sched_yield();
    }
    kill_child(world);
    world->proxy.is_silent = false;
}

TEST(killed_before_it_is_deleted, "a worker killed after Redis heard that the job is done, before "
                                  "the node did: it is deleted, and does not run again")
{
    struct world world;
    begin_run(&world, false);
    kill_once_told(&world);
    finish(&world, 0, 0);
}

TEST(killed_after_it_was_deleted, "a worker killed after its job was deleted leaves nothing")
{
    struct world world;
    begin_run(&world, false);
    end_handler(&world);
    while (place_counts(&world.place).reserved != 0) {
        (void)sched_yield();
    }
    kill_child(&world);
    finish(&world, 0, 0);
}

TEST(killed_before_it_is_marked, "a worker killed before Redis heard that its job is to be buried: "
                                 "its attempt counts, and it is buried")
{
    struct world world;
    begin_run(&world, true);
    CHECK(kill(world.place.servers.redis.pid, SIGSTOP) == 0);
    end_handler(&world);
    kill_child(&world);
    CHECK(kill(world.place.servers.redis.pid, SIGCONT) == 0);
    struct runs none = {.count = 0};
    place_consume(&world.place, &none, 1, 1, 0);
    CHECK_INT(none.count, ==, 0);
    finish(&world, 0, 1);
}

TEST(killed_before_it_is_buried, "a worker killed after Redis heard that its job is to be buried, "
                                 "before the node did: it is buried by whoever finds it")
{
    struct world world;
    begin_run(&world, true);
    kill_once_told(&world);
    finish(&world, 0, 1);
}

TEST(killed_after_it_was_buried, "a worker killed after its job was buried leaves it so")
{
    struct world world;
    begin_run(&world, true);
    end_handler(&world);
    while (place_counts(&world.place).buried != 1) {
        (void)sched_yield();
    }
    kill_child(&world);
    finish(&world, 0, 1);
}
