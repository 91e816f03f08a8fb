/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Puts while a node is stopped. No step here ends by its time limit. */
#include <weir/admin.h>

#include "cluster/ledger.h"
#include "support/changes.h"
#include "support/jobs.h"

#define LIMIT "time_limit=1h"
/* More than the system's buffers of a connection hold. */
#define BIG_JOBS 400
#define BIG_SIZE 60000

static weir_broker *open_broker(const struct servers *servers, const char *parts)
{
    char url[512];
    servers_url(servers, parts, url, sizeof(url));
    weir_broker *broker = NULL;
    struct weir_broker_options options = {0};
    struct weir_error error;
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_broker_open(url, &options, &broker, &error), WEIR_OK);
    return broker;
}

static void put(weir_broker *broker, const char *tube, struct weir_job_id *ret_id)
{
    struct weir_body body = {"0", 1, NULL};
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(broker, tube, &body, 1, NULL, ret_id, &error), WEIR_OK);
}

/* Puts until a job has a known copy on each node: all have answered. Returns how many it put. */
static int put_on_all(weir_broker *broker, const char *tube)
{
    struct weir_job_id id;
    const char *first;
    int puts = 0;
    do {
        put(broker, tube, &id);
        puts++;
        first = strchr(id.text, ',');
    } while (first == NULL || strchr(first + 1, ',') == NULL || strstr(id.text, "/0") != NULL);
    return puts;
}

/* Whether an id has a node's name, and this text behind it. */
static bool names(const struct servers *servers, int node, const struct weir_job_id *id,
                  const char *text)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "127.0.0.1:%d/%s", servers->node[node].port, text);
    return strstr(id->text, name) != NULL;
}

static uint64_t ready_on(const struct servers *servers, int node, const char *tube)
{
    char url[64];
    struct weir_error error;
    weir_broker *broker = NULL;
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d/?replicas=1",
                   servers->node[node].port);
    CHECK_STATUS(weir_broker_open(url, NULL, &broker, &error), WEIR_OK);
    uint64_t ready = jobs_counts(broker, tube).ready;
    weir_broker_close(broker);
    return ready;
}

TEST(not_greeted, "a put is accepted without a node that has answered nothing, which has no copy")
{
    struct servers servers;
    struct weir_job_id id;
    servers_start(&servers);
    CHECK(kill(servers.node[0].pid, SIGSTOP) == 0);
    weir_broker *broker = open_broker(&servers, LIMIT);
    put(broker, "t", &id);
    put(broker, "t", &id);
    CHECK(!names(&servers, 0, &id, ""));
    weir_broker_close(broker);
    CHECK(kill(servers.node[0].pid, SIGCONT) == 0);
    CHECK_INT(ready_on(&servers, 0, "t"), ==, 0);
    CHECK_INT(ready_on(&servers, 1, "t"), ==, 2);
    servers_end(&servers);
}

TEST(not_answered, "a put is accepted without a node's answer; its id says so, and to revoke it is "
                   "unknown without claims, and ends the copy with them")
{
    struct servers servers;
    struct weir_error error;
    struct weir_job_id id;
    struct weir_job_id other;
    const char *text = id.text;
    servers_start(&servers);
    weir_broker *plain = open_broker(&servers, LIMIT);
    weir_broker *broker = open_broker(&servers, "claims=REDIS&" LIMIT);
    (void)put_on_all(plain, "u");
    int puts = put_on_all(broker, "t");
    uint64_t before[2][2];
    for (int i = 0; i < 2; i++) {
        before[i][0] = ready_on(&servers, i, "u");
        before[i][1] = ready_on(&servers, i, "t");
    }
    CHECK(kill(servers.node[0].pid, SIGSTOP) == 0);
    put(plain, "u", &id);
    CHECK(names(&servers, 0, &id, "u/0"));
    enum weir_status removed;
    CHECK_STATUS(change_remove(plain, &text, 1, &removed, &error), WEIR_EUNKNOWN);
    CHECK_STATUS(removed, WEIR_EUNKNOWN);
    CHECK(strstr(error.text, "it did not answer the put") != NULL);
    put(broker, "t", &id);
    put(broker, "t", &other);
    CHECK(names(&servers, 0, &id, "t/0") && names(&servers, 0, &other, "t/0"));
    CHECK_INT(jobs_remove(broker, &text, 1), ==, 1);
    CHECK(kill(servers.node[0].pid, SIGCONT) == 0);
    CHECK_INT(ready_on(&servers, 0, "u"), ==, before[0][0] + 1);
    CHECK_INT(ready_on(&servers, 1, "u"), ==, before[1][0]);
    CHECK_INT(ready_on(&servers, 0, "t"), ==, before[0][1] + 2);
    CHECK_INT(ready_on(&servers, 1, "t"), ==, before[1][1] + 1);
    struct ledger ledger = {.runs = 0};
    ledger_consume(broker, &ledger);
    CHECK_INT(ledger.all, ==, puts + 1);
    weir_broker_close(broker);
    weir_broker_close(plain);
    servers_end(&servers);
}

static int check_body(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    const char *body = job->body;
    CHECK(job->body_size == BIG_SIZE || (job->body_size == 1 && body[0] == '0'));
    for (size_t i = 1; i < job->body_size; i++) {
        CHECK(body[i] == body[0]);
    }
    CHECK(body[0] != 'x');
    (void)atomic_fetch_add((_Atomic int *)arg, 1);
    return WEIR_OK;
}

TEST(half_written, "the copy of a put that was accepted while its bytes were being sent is whole, "
                   "though the caller has changed them")
{
    struct servers servers;
    struct weir_error error;
    static char bytes[BIG_JOBS][BIG_SIZE];
    static struct weir_job_id ids[BIG_JOBS];
    struct weir_body bodies[BIG_JOBS];
    servers_start(&servers);
    weir_broker *broker = open_broker(&servers, LIMIT);
    (void)put_on_all(broker, "t");
    uint64_t before = ready_on(&servers, 0, "t");
    CHECK(kill(servers.node[0].pid, SIGSTOP) == 0);
    for (int i = 0; i < BIG_JOBS; i++) {
        memset(bytes[i], 'a' + i % 20, BIG_SIZE);
        bodies[i] = (struct weir_body){bytes[i], BIG_SIZE, NULL};
    }
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, BIG_JOBS, NULL, ids, &error), WEIR_OK);
    memset(bytes, 'x', sizeof(bytes));
    uint64_t sent = 0;
    for (int i = 0; i < BIG_JOBS; i++) {
        sent += names(&servers, 0, &ids[i], "t/0");
    }
    CHECK_INT(sent, >, 0);
    CHECK_INT(sent, <, BIG_JOBS);
    CHECK(kill(servers.node[0].pid, SIGCONT) == 0);
    (void)put_on_all(broker, "u");
    CHECK_INT(ready_on(&servers, 0, "t"), ==, before + sent);
    uint64_t copies = 0;
    for (int i = 0; i < SERVER_NODES; i++) {
        copies += ready_on(&servers, i, "t");
    }
    _Atomic int runs = 0;
    struct weir_consumer_options options = {0};
    weir_consumer *consumer = NULL;
    options.handler = check_body;
    options.arg = &runs;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
    CHECK_INT(runs, ==, copies);
    weir_broker_close(broker);
    servers_end(&servers);
}

static int keep_server(const struct weir_finding *finding, void *arg)
{
    if (strcmp(finding->name, "server") == 0) {
        (void)snprintf(arg, 64, "%s", finding->subject);
    }
    return 0;
}

static int ignore_tube(const struct weir_tube_counts *counts, void *arg)
{
    (void)counts;
    (void)arg;
    return 0;
}

TEST(one_server,
     "two names of one server are one copy: with them alone a put is refused, which leaves "
     "nothing; with another server it is accepted, and chosen before; the check tells")
{
    struct servers servers;
    char url[256];
    char found[64] = "";
    char twin[32];
    struct ledger ledger = {.all = 0};
    struct weir_job_id id;
    struct weir_error error;
    servers_start(&servers);
    int port = servers.node[0].port;
    (void)snprintf(twin, sizeof(twin), "127.1:%d", port);
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d,%s,127.0.0.1:%d", port, twin,
                   servers.node[1].port);
    weir_broker *broker = ledger_open(&ledger, url);
    /* All are greeted: a node that is not is waited for. */
    CHECK_STATUS(weir_broker_tubes(broker, NULL, ignore_tube, NULL, &error), WEIR_OK);
    put(broker, "t", &id);
    CHECK(names(&servers, 1, &id, "t/"));
    /* The put may have been accepted before the second copy is there. */
    while (ready_on(&servers, 0, "t") != 2) {
    }
    server_end(&servers.node[1]);
    struct weir_body body = {"1", 1, NULL};
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, &id, &error), WEIR_EUNAVAILABLE);
    CHECK(strstr(error.text, "one server") != NULL);
    CHECK_INT(ready_on(&servers, 0, "t"), ==, 2);
    CHECK_STATUS(weir_broker_check(broker, keep_server, found, &error), WEIR_OK);
    CHECK_STRING(found, twin);
    weir_broker_close(broker);

    node_start(&servers, 1);
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d,%s,127.0.0.1:%d/?replicas=2", port,
                   twin, servers.node[1].port);
    broker = ledger_open(&ledger, url);
    CHECK_STATUS(weir_broker_tubes(broker, NULL, ignore_tube, NULL, &error), WEIR_OK);
    for (int i = 0; i < 20; i++) {
        put(broker, "u", &id);
        CHECK(names(&servers, 1, &id, "u/"));
    }
    weir_broker_close(broker);
    servers_end(&servers);
}
