/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Moves between an SQLite store and a cluster, killed at each step, and what then runs. */
#include <weir/admin.h>
#include <weir/consumer.h>
#include <weir/policy.h>

#include "base/time.h"
#include "cluster/servers.h"
#include "support/jobs.h"

#define CLAIMS "claims=REDIS"

enum {
    JOBS = 6
};

static weir_broker *open_url(const char *url)
{
    weir_broker *broker = NULL;
    struct weir_error error;
    if (weir_broker_open(url, NULL, &broker, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", url, error.text);
    }
    return broker;
}

static weir_broker *open_cluster(const struct servers *servers, const char *parts)
{
    char url[512];
    servers_url(servers, parts, url, sizeof(url));
    return open_url(url);
}

/* Half of the jobs are for an hour later, and every two have the same body. */
static void fill(weir_broker *broker)
{
    struct weir_put_options options = {0};
    for (int i = 0; i < JOBS; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "job %d", i / 2);
        options.delay_ns = i % 2 == 0 ? 0 : WEIR_SECONDS(3600);
        (void)jobs_put(broker, "t", text, &options);
    }
}

static struct weir_move_counts move(weir_broker *from, weir_broker *to, weir_move_fn *fn, void *arg)
{
    struct weir_move_counts counts = {0};
    struct weir_error error;
    enum weir_status status = weir_broker_move(from, to, "t", fn, arg, &counts, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "move: %s", error.text);
    }
    CHECK_INT(counts.found, ==, counts.moved + counts.repeated + counts.left + counts.both);
    return counts;
}

static int kill_at(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    (void)step;
    (void)counts;
    if (--*(int *)arg <= 0) {
        (void)kill(getpid(), SIGKILL);
    }
    return 0;
}

/* Moves in a child that is killed at its n-th step. Returns whether it was. */
static bool move_until(const char *from_url, const char *to_url, int n)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *from = open_url(from_url);
        weir_broker *to = open_url(to_url);
        (void)move(from, to, kill_at, &n);
        weir_broker_close(from);
        weir_broker_close(to);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static int run_ready(weir_context *context, const struct weir_job *job, void *arg)
{
    _Atomic int *runs = arg;
    (void)context;
    atomic_fetch_add(&runs[((const char *)job->body)[4] - '0'], 1);
    return WEIR_OK;
}

/* Runs what is ready. The others are for an hour later. */
static void consume(weir_broker *broker, _Atomic int *runs, int expected)
{
    struct weir_consumer_options options = {0};
    options.handler = run_ready;
    options.arg = runs;
    weir_consumer *consumer = NULL;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    for (;;) {
        struct weir_tube_counts counts = jobs_counts(broker, "t");
        int total = 0;
        for (int i = 0; i < JOBS / 2; i++) {
            total += atomic_load(&runs[i]);
        }
        if (counts.ready + counts.reserved == 0 && total >= expected) {
            break;
        }
    }
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, NULL), WEIR_OK);
    weir_consumer_free(consumer);
}

TEST(of_several_stores, "equal jobs of several stores are different jobs in a cluster")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *cluster = open_cluster(&servers, "claims=REDIS");
    weir_broker *store = open_url("sqlite:all.db");
    struct weir_put_options options = {0};
    static const char *const urls[] = {"sqlite:a.db", "sqlite:b.db", "sqlite:c.db"};
    options.run_at_ns = weiri_wall_now() + WEIR_SECONDS(3600);
    for (size_t i = 0; i < 3; i++) {
        weir_broker *from = open_url(urls[i]);
        (void)jobs_put(from, "t", "nightly", &options);
        CHECK_INT(move(from, cluster, NULL, NULL).moved, ==, 1);
        weir_broker_close(from);
    }
    CHECK_INT(move(cluster, store, NULL, NULL).moved, ==, 3);
    CHECK_COUNTS(store, "t", 3, 0, 0, 0);
    weir_broker_close(store);
    weir_broker_close(cluster);
    servers_end(&servers);
}

TEST(there_and_back, "jobs go to a cluster and back: none is lost, none is doubled, all facts are "
                     "kept")
{
    static const char *const parts[] = {"claims=REDIS", ""};
    struct servers servers;
    servers_start(&servers);
    for (size_t i = 0; i < 2; i++) {
        weir_broker *store = open_url("sqlite:jobs.db");
        weir_broker *cluster = open_cluster(&servers, parts[i]);
        fill(store);
        struct weir_move_counts counts = move(store, cluster, NULL, NULL);
        CHECK_INT(counts.moved, ==, JOBS);
        CHECK_COUNTS(store, "t", 0, 0, 0, 0);
        CHECK_COUNTS(cluster, "t", JOBS / 2 * 3, JOBS / 2 * 3, 0, 0);
        counts = move(cluster, store, NULL, NULL);
        CHECK_INT(counts.found, ==, JOBS * 3);
        CHECK_INT(counts.moved, ==, JOBS);
        CHECK_INT(counts.repeated, ==, JOBS * 2);
        CHECK_COUNTS(cluster, "t", 0, 0, 0, 0);
        while (jobs_counts(store, "t").delayed > JOBS / 2) {
            /* the run times of those that went to the cluster are up to 100 ms later */
        }
        CHECK_COUNTS(store, "t", JOBS / 2, JOBS / 2, 0, 0);
        counts = move(store, cluster, NULL, NULL);
        CHECK_INT(counts.moved, ==, JOBS);
        _Atomic int runs[JOBS / 2] = {0};
        consume(cluster, runs, JOBS / 2);
        for (int body = 0; body < JOBS / 2 && i == 0; body++) {
            CHECK_INT(runs[body], ==, 1);
        }
        CHECK_COUNTS(cluster, "t", JOBS / 2 * 3, 0, 0, 0);
        CHECK_INT(move(cluster, store, NULL, NULL).moved, ==, JOBS / 2);
        CHECK_INT(move(store, cluster, NULL, NULL).moved, ==, JOBS / 2);
        CHECK_INT(move(cluster, store, NULL, NULL).moved, ==, JOBS / 2);
        weir_broker_close(cluster);
        weir_broker_close(store);
        jobs_store_remove("jobs.db");
    }
    servers_end(&servers);
}

TEST(with_one_redis,
     "jobs go from nodes to others whose claims are in the same Redis, and back: each "
     "runs once")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *ends[2];
    for (int i = 0; i < 2; i++) {
        char url[128];
        (void)snprintf(url, sizeof(url),
                       "beanstalk://127.0.0.1:%d/?replicas=1&claims=redis://127.0.0.1:%d",
                       servers.node[i].port, servers.redis.port);
        ends[i] = open_url(url);
    }
    fill(ends[0]);
    CHECK_INT(move(ends[0], ends[1], NULL, NULL).moved, ==, JOBS);
    CHECK_INT(move(ends[1], ends[0], NULL, NULL).moved, ==, JOBS);
    _Atomic int runs[JOBS / 2] = {0};
    consume(ends[0], runs, JOBS / 2);
    for (int body = 0; body < JOBS / 2; body++) {
        CHECK_INT(runs[body], ==, 1);
    }
    CHECK_COUNTS(ends[0], "t", JOBS / 2, 0, 0, 0);
    weir_broker_close(ends[0]);
    weir_broker_close(ends[1]);
    servers_end(&servers);
}

TEST(killed_on_the_way_there, "a move to a cluster that is killed at any step and repeated runs "
                              "each job once")
{
    struct servers servers;
    servers_start(&servers);
    char url[512];
    servers_url(&servers, CLAIMS, url, sizeof(url));
    bool was_killed = true;
    for (int n = 1; was_killed; n++) {
        weir_broker *store = open_url("sqlite:jobs.db");
        fill(store);
        weir_broker_close(store);
        was_killed = move_until("sqlite:jobs.db", url, n);
        store = open_url("sqlite:jobs.db");
        weir_broker *cluster = open_url(url);
        struct weir_move_counts counts = move(store, cluster, NULL, NULL);
        CHECK_INT(counts.left + counts.both, ==, 0);
        CHECK_COUNTS(store, "t", 0, 0, 0, 0);
        _Atomic int runs[JOBS / 2] = {0};
        consume(cluster, runs, JOBS / 2);
        for (int body = 0; body < JOBS / 2; body++) {
            CHECK_INT(runs[body], ==, 1);
        }
        /* Those for later come back as one each. */
        CHECK_INT(move(cluster, store, NULL, NULL).moved, ==, JOBS / 2);
        weir_broker_close(cluster);
        weir_broker_close(store);
        jobs_store_remove("jobs.db");
    }
    servers_end(&servers);
}

TEST(killed_on_the_way_back, "a move from a cluster that is killed at any step and repeated leaves "
                             "each job in the store once")
{
    struct servers servers;
    servers_start(&servers);
    char url[512];
    servers_url(&servers, CLAIMS, url, sizeof(url));
    bool was_killed = true;
    for (int n = 1; was_killed; n++) {
        weir_broker *cluster = open_url(url);
        fill(cluster);
        weir_broker_close(cluster);
        was_killed = move_until(url, "sqlite:jobs.db", n);
        weir_broker *store = open_url("sqlite:jobs.db");
        cluster = open_url(url);
        struct weir_tube_counts there;
        do { /* until the nodes have noticed that the child is gone */
            (void)move(cluster, store, NULL, NULL);
            there = jobs_counts(cluster, "t");
        } while (there.delayed + there.ready + there.reserved > 0);
        CHECK_COUNTS(store, "t", JOBS / 2, JOBS / 2, 0, 0);
        weir_broker_close(cluster);
        weir_broker_close(store);
        jobs_store_remove("jobs.db");
    }
    servers_end(&servers);
}

TEST(overdue, "a job that is overdue for longer than the cluster bears runs there all the same")
{
    struct servers servers;
    servers_start(&servers);
    struct jobs_wall wall = {0};
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    atomic_store(&wall.now_ns, WEIR_SECONDS(now.tv_sec - 7200));
    weir_broker *store = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(store, "t", "job 0", NULL);
    weir_broker_close(store);
    store = open_url("sqlite:jobs.db");
    weir_broker *cluster = open_cluster(&servers, CLAIMS);
    CHECK_INT(move(store, cluster, NULL, NULL).moved, ==, 1);
    _Atomic int runs[JOBS / 2] = {0};
    consume(cluster, runs, 1);
    CHECK_COUNTS(cluster, "t", 0, 0, 0, 0);
    weir_broker_close(cluster);
    weir_broker_close(store);
    servers_end(&servers);
}

TEST(overdue_in_a_store, "so is one that a cluster gives to a store whose tube drops late jobs")
{
    struct servers servers;
    servers_start(&servers);
    char url[512];
    struct timespec now;
    struct jobs_wall wall = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    atomic_store(&wall.now_ns, WEIR_SECONDS(now.tv_sec - 7200));
    servers_url(&servers, CLAIMS, url, sizeof(url));
    weir_broker *cluster = NULL;
    CHECK_STATUS(jobs_open_at(url, NULL, jobs_wall_now, &wall, &cluster, NULL), WEIR_OK);
    (void)jobs_put(cluster, "t", "job 0", NULL);
    weir_broker_close(cluster);
    cluster = open_url(url);
    weir_broker *store = open_url("sqlite:jobs.db");
    const struct weir_tube_policy policy = {.late = WEIR_LATE_DROP};
    CHECK_STATUS(weir_broker_set_policy(store, "t", &policy, NULL), WEIR_OK);
    CHECK_INT(move(cluster, store, NULL, NULL).moved, ==, 1);
    _Atomic int runs[JOBS / 2] = {0};
    consume(store, runs, 1);
    weir_broker_close(cluster);
    weir_broker_close(store);
    servers_end(&servers);
}

TEST(what_stays, "a priority that a cluster does not have, and a foreign body, are left where they "
                 "are")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *store = open_url("sqlite:jobs.db");
    weir_broker *cluster = open_cluster(&servers, CLAIMS);
    struct weir_put_options options = {0};
    options.priority = -7;
    (void)jobs_put(store, "t", "job 0", &options);
    (void)jobs_put(store, "t", "job 1", NULL);
    struct weir_move_counts counts = move(store, cluster, NULL, NULL);
    CHECK_INT(counts.moved, ==, 1);
    CHECK_INT(counts.left, ==, 1);
    CHECK_COUNTS(store, "t", 0, 1, 0, 0);
    char answer[64];
    node_say(&servers, 0, "use t\r\nput 1 0 60 7\r\nforeign\r\n", answer, sizeof(answer));
    while (jobs_counts(cluster, "t").ready != 4) {
    }
    counts = move(cluster, store, NULL, NULL);
    CHECK_INT(counts.moved, ==, 1);
    CHECK_INT(counts.repeated, ==, 2);
    CHECK_INT(counts.left, ==, 1);
    CHECK_COUNTS(cluster, "t", 0, 1, 0, 0);
    weir_broker_close(cluster);
    weir_broker_close(store);
    servers_end(&servers);
}

TEST(target_away, "a move to a cluster without enough nodes ends with an error, and moves nothing")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *store = open_url("sqlite:jobs.db");
    fill(store);
    server_end(&servers.node[0]);
    server_end(&servers.node[1]);
    weir_broker *cluster = open_cluster(&servers, "");
    struct weir_move_counts counts = {0};
    struct weir_error error;
    CHECK_STATUS(weir_broker_move(store, cluster, "t", NULL, NULL, &counts, &error),
                 WEIR_EUNAVAILABLE);
    CHECK(error.text[0] != '\0');
    CHECK_INT(counts.moved, ==, 0);
    CHECK_INT(counts.left, ==, counts.found);
    CHECK_COUNTS(store, "t", JOBS / 2, JOBS / 2, 0, 0);
    weir_broker_close(cluster);
    weir_broker_close(store);
    servers_end(&servers);
}

TEST(source_node_away,
     "what a node has that is away is not moved, and said so; when it is back the "
     "move ends there, and no job is doubled")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *store = open_url("sqlite:jobs.db");
    weir_broker *cluster = open_cluster(&servers, "min_written=3&" CLAIMS);
    fill(cluster);
    server_end(&servers.node[1]);
    struct weir_move_counts counts = {0};
    struct weir_error error;
    char name[32];
    (void)snprintf(name, sizeof(name), "127.0.0.1:%d", servers.node[1].port);
    CHECK_STATUS(weir_broker_move(cluster, store, "t", NULL, NULL, &counts, &error), WEIR_EUNKNOWN);
    CHECK(strstr(error.text, name) != NULL);
    CHECK_INT(counts.moved, ==, JOBS);
    CHECK_INT(counts.repeated, ==, JOBS);
    weir_broker_close(cluster);
    node_start(&servers, 1);
    cluster = open_cluster(&servers, CLAIMS);
    counts = move(cluster, store, NULL, NULL);
    CHECK_INT(counts.found, ==, JOBS);
    CHECK_INT(counts.repeated, ==, JOBS);
    CHECK_COUNTS(store, "t", JOBS / 2, JOBS / 2, 0, 0);
    weir_broker_close(cluster);
    weir_broker_close(store);
    servers_end(&servers);
}
