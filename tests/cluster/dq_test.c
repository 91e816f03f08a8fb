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
    struct weir_body body = {"0", 1, NULL};
    struct weir_error error;
    struct weir_put_options options = {0};
    struct weir_broker_options how = {0};
    struct jobs_wall wall = {JOBS_WALL_START}; /* so that the time does not pass meanwhile */
    char url[512];
    begin(&world, "");
    servers_url(&world.servers, "claims=REDIS&time_limit=500ms", url, sizeof(url));
    weir_broker_close(world.broker);
    how.allocator = *test_allocator();
    CHECK_STATUS(jobs_open_at(url, &how, jobs_wall_now, &wall, &world.broker, &error), WEIR_OK);
    options.run_at_ns = JOBS_WALL_START + WEIR_SECONDS(1);
    /* All nodes are greeted and use the tube, so that the bytes of the next put are sent. */
    struct weir_body other = {"1", 1, NULL};
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
    struct weir_body body = {"0", 1, NULL};
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
    struct weir_body body = {"0", 1, NULL};
    struct weir_error error;
    struct weir_job_id id;
    const char *text = id.text;
    begin(&world, "claims=REDIS");
    CHECK_STATUS(weir_broker_put(world.broker, "a/b/1", &body, 1, NULL, &id, &error), WEIR_OK);
    CHECK_COUNTS(world.broker, "a/b/1", 0, 3, 0, 0);
    CHECK_INT(jobs_remove(world.broker, &text, 1), ==, 1);
    CHECK_COUNTS(world.broker, "a/b/1", 0, 0, 0, 0);
    end(&world);
}

/* Of each tube, by its name's last letter. */
struct seen {
    int64_t asked_ns;
    _Atomic int runs[3];
    _Atomic int wrong; /* earlier than asked, or told of another time than a millisecond later */
};

static int see(weir_context *context, const struct weir_job *job, void *arg)
{
    struct seen *seen = arg;
    struct timespec now;
    (void)context;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    bool is_right = WEIR_SECONDS(now.tv_sec) + now.tv_nsec >= seen->asked_ns &&
                    job->run_at_ns >= seen->asked_ns &&
                    job->run_at_ns - seen->asked_ns < WEIR_MS(1);
    (void)atomic_fetch_add(&seen->runs[job->tube[strlen(job->tube) - 1] - 'a'], 1);
    (void)atomic_fetch_add(&seen->wrong, !is_right);
    return WEIR_OK;
}

TEST(keeps_tubes_apart,
     "(D16) equal jobs of three tubes at one time are three jobs, each runs once, "
     "and none early; the same put again is the same job")
{
    static const struct weir_tube_weight tubes[] = {{"fleet/a", 1}, {"fleet/b", 1}, {"fleet/c", 1}};
    struct world world;
    struct weir_body body = {"nightly", 7, NULL};
    struct weir_error error;
    struct weir_put_options options = {0};
    struct timespec now;
    begin(&world, "claims=REDIS");
    (void)clock_gettime(CLOCK_REALTIME, &now);
    options.run_at_ns = WEIR_SECONDS(now.tv_sec + 2);
    for (int i = 0; i < 6; i++) {
        CHECK_STATUS(
            weir_broker_put(world.broker, tubes[i % 3].tube, &body, 1, &options, NULL, &error),
            WEIR_OK);
    }
    struct seen seen = {.asked_ns = options.run_at_ns};
    struct weir_consumer_options consuming = {0};
    consuming.handler = see;
    consuming.arg = &seen;
    consuming.tubes = tubes;
    consuming.tube_count = 3;
    consuming.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    weir_consumer *consumer = NULL;
    CHECK_STATUS(weir_consumer_new(world.broker, NULL, &consuming, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    ledger_wait(consumer);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(seen.runs[i], ==, 1);
    }
    CHECK_INT(seen.wrong, ==, 0);
    end(&world);
}
