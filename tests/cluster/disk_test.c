/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A node of three has a disk that fails or is full: real beanstalkds. */
#define _GNU_SOURCE /* small_disk.h: unshare */

#include <weir/admin.h>

#include "cluster/ledger.h"
#include "support/small_disk.h"

struct world {
    struct servers servers;
    struct ledger ledger;
    weir_broker *broker;
};

/* Makes the first node's disk fail; '\0': no more. */
static void set_fault(char fault)
{
    FILE *file = fopen("fault", "w");
    CHECK(file != NULL);
    CHECK(fault == '\0' || fputc(fault, file) == fault);
    CHECK(fclose(file) == 0);
}

static void open_broker(struct world *world)
{
    char url[512];
    servers_url(&world->servers, "claims=REDIS", url, sizeof(url));
    world->broker = ledger_open(&world->ledger, url);
}

static void begin(struct world *world)
{
    memset(world, 0, sizeof(*world));
    set_fault('\0');
    CHECK(setenv("WEIR_TEST_FAULT", "fault", 1) == 0);
    CHECK(setenv("LD_PRELOAD", WEIR_TEST_FAILING_DISK, 1) == 0);
    node_start(&world->servers, 0);
    CHECK(unsetenv("LD_PRELOAD") == 0);
    node_start(&world->servers, 1);
    node_start(&world->servers, 2);
    redis_start(&world->servers);
    atomic_store(&world->ledger.word, "writes no binlog");
    open_broker(world);
}

/* The first node forgets what its disk does not have. */
static void restart_first(struct world *world)
{
    server_end(&world->servers.node[0]);
    node_start(&world->servers, 0);
}

static void end(struct world *world)
{
    ledger_consume(world->broker, &world->ledger);
    ledger_check(&world->ledger);
    weir_broker_close(world->broker);
    servers_end(&world->servers);
}

static int find_binlog(const struct weir_node *node, void *arg)
{
    *(bool *)arg = node->has_binlog;
    return 1; /* the first alone */
}

TEST(writes_fail,
     "a node of which writes to its disk fail: the log tells of it and it is shown without a "
     "binlog, and no accepted job is lost when it is killed, nor doubled")
{
    struct world world;
    begin(&world);
    ledger_put(world.broker, 0, JOBS / 2);
    /* A node is asked how it is at the start and every ten seconds: what it wrote in between would
     * keep the first of these answers from telling. */
    weir_broker_close(world.broker);
    open_broker(&world);
    set_fault('w');
    ledger_put(world.broker, JOBS / 2, JOBS);
    struct weir_body body = {"0", 1, NULL};
    struct weir_error error;
    while (world.ledger.words == 0) {
        CHECK_STATUS(weir_broker_put(world.broker, "u", &body, 1, NULL, NULL, &error), WEIR_OK);
        const struct timespec pause = {0, 50000000};
        (void)nanosleep(&pause, NULL);
    }
    bool has_binlog = true;
    CHECK_STATUS(weir_broker_nodes(world.broker, find_binlog, &has_binlog, &error), WEIR_OK);
    CHECK(!has_binlog);
    set_fault('\0');
    restart_first(&world);
    end(&world);
}

TEST(flushes_fail, "a node that cannot flush its disk, and forgets all when it ends, loses no "
                   "accepted job")
{
    struct world world;
    begin(&world);
    set_fault('s');
    ledger_put(world.broker, 0, JOBS);
    /* What was not flushed is gone, as after a power cut. */
    server_end(&world.servers.node[0]);
    CHECK(system("rm -r node0") == 0);
    set_fault('\0');
    node_start(&world.servers, 0);
    end(&world);
}

TEST(fails_within_a_put, "a disk that fails and heals again and again loses and doubles nothing")
{
    static const char faults[] = {'w', '\0', 'f', '\0', 's', '\0'};
    struct world world;
    begin(&world);
    for (int i = 0; i < JOBS; i++) {
        set_fault(faults[i % 6]);
        ledger_put(world.broker, i, i + 1);
        if (i % 12 == 11) {
            set_fault('\0');
            restart_first(&world);
        }
    }
    end(&world);
}

TEST(is_full,
     "a node with a full disk takes no jobs, the others do; with space again it takes some")
{
    struct world world;
    char port[16];
    char answer[64] = "";
    small_disk_mount((size_t)1 << 18);
    memset(&world, 0, sizeof(world));
    world.servers.node[0].port = test_port();
    (void)snprintf(port, sizeof(port), "%d", world.servers.node[0].port);
    const char *const argv[] = {"beanstalkd", "-l", "127.0.0.1", "-p", port,    "-b",
                                "disk",       "-f", "0",         "-s", "65536", NULL};
    server_start(&world.servers.node[0], argv);
    node_start(&world.servers, 1);
    node_start(&world.servers, 2);
    redis_start(&world.servers);
    open_broker(&world);
    char bytes[8192];
    memset(bytes, 'x', sizeof(bytes));
    struct weir_body body = {bytes, sizeof(bytes), NULL};
    struct weir_error error;
    char command[sizeof(bytes) + 64];
    int length =
        snprintf(command, sizeof(command), "use v\r\nput 0 0 60 8192\r\n%.*s\r\n", 8192, bytes);
    CHECK(length > 8192);
    /* Until the node itself refuses. */
    while (strstr(answer, "OUT_OF_MEMORY") == NULL) {
        CHECK_STATUS(weir_broker_put(world.broker, "u", &body, 1, NULL, NULL, &error), WEIR_OK);
        int fd = connect_port(world.servers.node[0].port);
        CHECK(write(fd, command, (size_t)length) == length);
        size_t used = 0;
        while (used <= strlen("USING v\r\n") || answer[used - 1] != '\n') {
            CHECK(read(fd, answer + used, 1) == 1);
            used++;
        }
        answer[used] = '\0';
        (void)close(fd);
    }
    ledger_put(world.broker, 0, JOBS / 2);
    small_disk_resize((size_t)1 << 24);
    ledger_put(world.broker, JOBS / 2, JOBS);
    end(&world);
}
