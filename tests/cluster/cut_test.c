/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A node beyond a network that is cut: packets vanish, and no connection is told. */
#define _GNU_SOURCE /* unshare */

#include <sched.h>

#include <weir/admin.h>

#include "cluster/ledger.h"

/* The test's processes have a network of their own, and the first node one more, with a cable
 * between the two. Both are gone with the processes in them. */

#define NEAR "10.77.0.1"
#define FAR "10.77.0.2"

struct world {
    struct servers servers;
    pid_t keeper; /* holds the first node's network; it does nothing */
    weir_broker *broker;
    struct ledger ledger;
};

/* Runs a command of ip(8), in the first node's network where far. */
static bool run_ip(const struct world *world, bool far, const char *words)
{
    char command[256];
    char pid[16];
    (void)snprintf(pid, sizeof(pid), "%d", (int)world->keeper);
    (void)snprintf(command, sizeof(command), "exec ip %s", words);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (far) {
            (void)execlp("nsenter", "nsenter", "-t", pid, "-n", "sh", "-c", command, (char *)NULL);
        } else {
            (void)execlp("sh", "sh", "-c", command, (char *)NULL);
        }
        _exit(127);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return status == 0;
}

/* A process in a new network. */
static pid_t keep_network(void)
{
    int ready[2];
    char byte = 0;
    CHECK(pipe(ready) == 0);
    pid_t keeper = fork();
    CHECK(keeper >= 0);
    if (keeper == 0) {
        bool is_made = unshare(CLONE_NEWNET) == 0;
        while (write(ready[1], is_made ? "y" : "n", 1) == 1) {
            (void)pause();
        }
        _exit(1);
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    CHECK_INT(byte, ==, 'y');
    (void)close(ready[0]);
    (void)close(ready[1]);
    return keeper;
}

static void lay_cable(struct world *world)
{
    char line[128];
    if (unshare(CLONE_NEWNET) != 0) {
        test_skip("no network of one's own here: %s", strerror(errno));
    }
    if (!run_ip(world, false, "link set lo up")) {
        test_skip("ip(8) cannot be run here: is iproute2 installed?");
    }
    world->keeper = keep_network();
    (void)snprintf(line, sizeof(line), "link add near type veth peer name far netns %d",
                   (int)world->keeper);
    if (!run_ip(world, false, line)) {
        (void)kill(world->keeper, SIGKILL);
        test_skip("this kernel has no veth");
    }
    CHECK(run_ip(world, false, "addr add " NEAR "/24 dev near"));
    CHECK(run_ip(world, false, "link set near up"));
    CHECK(run_ip(world, true, "addr add " FAR "/24 dev far"));
    CHECK(run_ip(world, true, "link set lo up"));
    CHECK(run_ip(world, true, "link set far up"));
}

/* The first node runs in its own network. */
static void start_far_node(struct world *world)
{
    char target[16];
    (void)snprintf(target, sizeof(target), "%d", (int)world->keeper);
    struct server *server = &world->servers.node[0];
    CHECK(mkdir("node0", 0700) == 0);
    server->pid = fork();
    CHECK(server->pid >= 0);
    if (server->pid == 0) {
        (void)execlp("nsenter", "nsenter", "-t", target, "-n", "beanstalkd", "-l", FAR, "-b",
                     "node0", "-f", "0", (char *)NULL);
        _exit(127);
    }
}

static void begin(struct world *world)
{
    char url[512];
    memset(world, 0, sizeof(*world));
    lay_cable(world);
    start_far_node(world);
    node_start(&world->servers, 1);
    node_start(&world->servers, 2);
    redis_start(&world->servers);
    (void)snprintf(
        url, sizeof(url),
        "beanstalk://" FAR ":11300,127.0.0.1:%d,127.0.0.1:%d/?claims=redis://127.0.0.1:%d&"
        "time_limit=1s",
        world->servers.node[1].port, world->servers.node[2].port, world->servers.redis.port);
    world->broker = ledger_open(&world->ledger, url);
}

/* What the first node is like. */
static int keep_first(const struct weir_node *node, void *arg)
{
    if (strcmp(node->name, FAR ":11300") == 0) {
        *(struct weir_node *)arg = *node;
    }
    return 0;
}

static struct weir_node look(const struct world *world)
{
    struct weir_node node;
    struct weir_error error;
    memset(&node, 0, sizeof(node));
    CHECK_STATUS(weir_broker_nodes(world->broker, keep_first, &node, &error), WEIR_OK);
    return node;
}

static void wait_until_up(const struct world *world)
{
    while (look(world).state != WEIR_NODE_UP) {
        const struct timespec pause = {0, 5000000};
        (void)nanosleep(&pause, NULL);
    }
}

/* Jobs that were put before and during a cut, which comes while jobs run, run once each, and leave
 * no copy when the network is whole again. */
static void run(bool far, const char *cut, const char *mend)
{
    struct world world;
    begin(&world);
    wait_until_up(&world);
    ledger_put(world.broker, 0, JOBS / 2);
    weir_consumer *consumer = ledger_start(world.broker, &world.ledger);
    while (world.ledger.all == 0) {
        const struct timespec pause = {0, 100000};
        (void)nanosleep(&pause, NULL);
    }
    CHECK(run_ip(&world, far, cut));
    ledger_put(world.broker, JOBS / 2, JOBS);
    ledger_wait(consumer);
    ledger_consume(world.broker, &world.ledger);
    CHECK_INT(look(&world).state, ==, WEIR_NODE_AWAY);
    ledger_check(&world.ledger);
    CHECK(run_ip(&world, far, mend));
    wait_until_up(&world);
    ledger_consume(world.broker, &world.ledger);
    struct weir_node node = look(&world);
    CHECK_INT(node.ready + node.delayed + node.reserved + node.buried, ==, 0);
    ledger_check(&world.ledger);
    weir_broker_close(world.broker);
    servers_end(&world.servers);
    (void)kill(world.keeper, SIGKILL);
    CHECK(waitpid(world.keeper, NULL, 0) == world.keeper);
}

TEST(both_ways, "a cable that is pulled out while jobs run loses and doubles nothing")
{
    run(true, "link set far down", "link set far up");
}

TEST(answers,
     "a node whose answers vanish, while it does what it is told, loses and doubles nothing")
{
    run(true, "route add blackhole " NEAR "/32", "route del blackhole " NEAR "/32");
}

TEST(requests, "a node that is told nothing, while its network is whole, loses and doubles nothing")
{
    run(false, "route add blackhole " FAR "/32", "route del blackhole " FAR "/32");
}
