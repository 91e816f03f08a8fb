/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Flaws of go-queue's dq that no other test is about: docs/conformance.md. */
#include "cluster/ledger.h"
#include "support/jobs.h"

struct world {
    struct servers servers;
    struct ledger ledger;
    weir_broker *broker;
};

static void begin(struct world *world, const char *parts)
{
    char url[512];
    memset(world, 0, sizeof(*world));
    servers_start(&world->servers);
    servers_url(&world->servers, parts, url, sizeof(url));
    world->broker = ledger_open(&world->ledger, url);
}

static void end(struct world *world)
{
    weir_broker_close(world->broker);
    servers_end(&world->servers);
}

TEST(repeats_a_put, "(D7) a put of which nobody knows may be repeated with its time and body: the "
                    "job runs once")
{
    struct world world;
    struct weir_body body = {"0", 1};
    struct weir_error error;
    struct weir_put_options options = WEIR_PUT_OPTIONS_INIT;
    struct weir_broker_options how = WEIR_BROKER_OPTIONS_INIT;
    struct jobs_wall wall = {JOBS_WALL_START}; /* so that the time does not pass meanwhile */
    char url[512];
    begin(&world, "");
    servers_url(&world.servers, "claims=REDIS&time_limit=500ms", url, sizeof(url));
    weir_broker_close(world.broker);
    how.allocator = *test_allocator();
    CHECK_STATUS(weiri_broker_open_at(url, &how, jobs_wall_now, &wall, &world.broker, &error),
                 WEIR_OK);
    options.run_at_ns = JOBS_WALL_START + WEIR_SECONDS(1);
    /* All nodes are greeted and use the tube, so that the bytes of the next put are sent. */
    struct weir_body other = {"1", 1};
    struct weir_job_id id;
    CHECK_STATUS(weir_broker_put(world.broker, "t", &other, 1, NULL, &id, &error), WEIR_OK);
    CHECK(strchr(id.text, ',') != strrchr(id.text, ','));
    CHECK(kill(world.servers.node[0].pid, SIGSTOP) == 0);
    CHECK(kill(world.servers.node[1].pid, SIGSTOP) == 0);
    CHECK_STATUS(weir_broker_put(world.broker, "t", &body, 1, &options, NULL, &error),
                 WEIR_EUNKNOWN);
    CHECK(kill(world.servers.node[0].pid, SIGCONT) == 0);
    CHECK(kill(world.servers.node[1].pid, SIGCONT) == 0);
    enum weir_status status;
    do {
        status = weir_broker_put(world.broker, "t", &body, 1, &options, NULL, &error);
    } while (status == WEIR_EUNAVAILABLE || status == WEIR_EUNKNOWN);
    CHECK_STATUS(status, WEIR_OK);
    jobs_wall_step(&wall, WEIR_SECONDS(2));
    ledger_consume(world.broker, &world.ledger);
    CHECK_INT(world.ledger.runs[0], ==, 1);
    CHECK_INT(world.ledger.runs[1], ==, 1);
    CHECK_COUNTS(world.broker, "t", 0, 0, 0, 0);
    end(&world);
}

TEST(needs_two_of_two,
     "(D8) of two nodes both are needed, unless one copy is enough by min_written")
{
    struct world world;
    char url[128];
    struct weir_body body = {"0", 1};
    struct weir_error error;
    begin(&world, "");
    server_end(&world.servers.node[1]);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d,127.0.0.1:%d/%s",
                       world.servers.node[0].port, world.servers.node[1].port,
                       i == 0 ? "" : "?min_written=1");
        weir_broker *two = ledger_open(&world.ledger, url);
        enum weir_status status = weir_broker_put(two, "t", &body, 1, NULL, NULL, &error);
        CHECK_STATUS(status, i == 0 ? WEIR_EUNAVAILABLE : WEIR_OK);
        if (i == 0) {
            CHECK(strstr(error.text, "fewer than 2 copies") != NULL);
        }
        weir_broker_close(two);
    }
    end(&world);
}

TEST(revokes_in_any_tube, "(D10) a job of a tube with a slash in its name is revoked by its id")
{
    struct world world;
    struct weir_body body = {"0", 1};
    struct weir_error error;
    struct weir_job_id id;
    size_t count = 0;
    const char *text = id.text;
    begin(&world, "claims=REDIS");
    CHECK_STATUS(weir_broker_put(world.broker, "a/b/1", &body, 1, NULL, &id, &error), WEIR_OK);
    CHECK_COUNTS(world.broker, "a/b/1", 0, 3, 0, 0);
    CHECK_STATUS(weir_broker_remove(world.broker, &text, 1, &count, &error), WEIR_OK);
    CHECK_INT(count, ==, 1);
    CHECK_COUNTS(world.broker, "a/b/1", 0, 0, 0, 0);
    end(&world);
}
