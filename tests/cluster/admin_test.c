/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What operators do with jobs of a cluster. */
#include <weir/admin.h>
#include <weir/job_schedule.h>

#include "cluster/servers.h"
#include "support/changes.h"
#include "support/jobs.h"

static weir_broker *open_on(const struct servers *servers, const char *parts)
{
    char url[512];
    servers_url(servers, parts, url, sizeof(url));
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    weir_broker *broker = NULL;
    struct weir_error error;
    if (weir_broker_open(url, &options, &broker, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", url, error.text);
    }
    return broker;
}

static struct weir_job_id put(weir_broker *broker, int64_t delay_ns)
{
    struct weir_put_options options = {0};
    const struct weir_body body = {"job", 3, NULL};
    struct weir_job_id id;
    struct weir_error error;
    options.delay_ns = delay_ns;
    options.priority = 5;
    if (weir_broker_put(broker, "t", &body, 1, &options, &id, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "put: %s", error.text);
    }
    return id;
}

typedef enum weir_status change_fn(weir_broker *broker, const char *const *ids, size_t count,
                                   enum weir_status *ret_statuses, struct weir_error *ret_error);

static enum weir_status bury(weir_broker *broker, const char *const *ids, size_t count,
                             enum weir_status *ret_statuses, struct weir_error *ret_error)
{
    return change_bury(broker, ids, count, NULL, ret_statuses, ret_error);
}

static enum weir_status change(change_fn *fn, weir_broker *broker, const struct weir_job_id *id)
{
    const char *text = id->text;
    enum weir_status status = WEIR_EUSER;
    struct weir_error error;
    enum weir_status all = fn(broker, &text, 1, &status, &error);
    CHECK_STATUS(all, status == WEIR_EUNKNOWN ? status : WEIR_OK);
    CHECK((all == WEIR_OK) == (error.text[0] == '\0'));
    return status;
}

static int keep_priority(const struct weir_job *job, void *arg)
{
    *(int32_t *)arg = job->priority;
    CHECK_INT(job->progress, ==, -1); /* a cluster keeps none */
    return 0;
}

TEST(by_id, "a job's copies are buried, kicked and removed by its id, on nodes with claims and "
            "without")
{
    static const char *const parts[] = {"min_written=3", "min_written=3&claims=REDIS"};
    struct servers servers;
    servers_start(&servers);
    for (size_t i = 0; i < 2; i++) {
        weir_broker *broker = open_on(&servers, parts[i]);
        struct weir_job_id ready = put(broker, 0);
        struct weir_job_id delayed = put(broker, WEIR_SECONDS(60));
        CHECK_STATUS(change(change_kick, broker, &delayed), WEIR_ESTATE);
        CHECK_COUNTS(broker, "t", 3, 3, 0, 0);
        CHECK_STATUS(change(bury, broker, &ready), WEIR_OK);
        CHECK_STATUS(change(bury, broker, &delayed), WEIR_OK);
        CHECK_STATUS(change(bury, broker, &delayed), WEIR_ESTATE);
        CHECK_COUNTS(broker, "t", 0, 0, 0, 6);
        CHECK_STATUS(change(change_kick, broker, &ready), WEIR_OK);
        CHECK_COUNTS(broker, "t", 0, 3, 0, 3);
        int32_t priority = 0;
        CHECK_STATUS(weir_broker_peek_id(broker, ready.text, keep_priority, &priority, NULL),
                     WEIR_OK);
        CHECK_INT(priority, ==, 5);
        CHECK_STATUS(change(change_remove, broker, &ready), WEIR_OK);
        CHECK_STATUS(change(change_remove, broker, &delayed), WEIR_OK);
        CHECK_STATUS(change(change_remove, broker, &ready), WEIR_ENOTFOUND);
        CHECK_STATUS(change(change_kick, broker, &ready), WEIR_ENOTFOUND);
        CHECK_STATUS(change(bury, broker, &ready), WEIR_ENOTFOUND);
        CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
        weir_broker_close(broker);
    }
    servers_end(&servers);
}

/* The copy of a job on a node. */
static void copy_on(const struct servers *servers, int node, const struct weir_job_id *id,
                    struct weir_job_id *ret_copy)
{
    char place[32];
    (void)snprintf(place, sizeof(place), ":%d/", servers->node[node].port);
    const char *copy = strstr(id->text, place);
    CHECK(copy != NULL);
    while (copy > id->text && copy[-1] != ',') {
        copy--;
    }
    (void)snprintf(ret_copy->text, sizeof(ret_copy->text), "%.*s", (int)strcspn(copy, ","), copy);
}

TEST(unknown_of_several,
     "of several jobs each is told; where it is not known of one, the call says so, and why of "
     "the first")
{
    static change_fn *const fns[] = {change_kick, bury, change_remove};
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "min_written=3");
    struct weir_job_id copies[4];
    const char *ids[4];
    for (int i = 0; i < 4; i++) {
        struct weir_job_id id = put(broker, 0);
        copy_on(&servers, i == 1 || i == 2 ? 2 : 0, &id, &copies[i]);
        ids[i] = copies[i].text;
    }
    CHECK_STATUS(change(bury, broker, &copies[0]), WEIR_OK);
    server_end(&servers.node[2]);
    for (size_t i = 0; i < 3; i++) {
        enum weir_status statuses[4] = {WEIR_EUSER, WEIR_EUSER, WEIR_EUSER, WEIR_EUSER};
        struct weir_error error;
        CHECK_STATUS(fns[i](broker, ids, 4, statuses, &error), WEIR_EUNKNOWN);
        CHECK(strstr(error.text, ids[1]) != NULL);
        CHECK_STATUS(statuses[0], WEIR_OK);
        CHECK_STATUS(statuses[1], WEIR_EUNKNOWN);
        CHECK_STATUS(statuses[2], WEIR_EUNKNOWN);
        CHECK_STATUS(statuses[3], i == 0 ? WEIR_ESTATE : WEIR_OK);
    }
    weir_broker_close(broker);
    servers_end(&servers);
}

/* Reserves one copy as a client that is none of ours; returns its connection. */
static int hold_copy(const struct servers *servers, int node)
{
    static const char request[] = "watch t\r\nignore default\r\nreserve\r\n";
    int fd = connect_port(servers->node[node].port);
    CHECK(fd >= 0);
    CHECK(write(fd, request, strlen(request)) == (ssize_t)strlen(request));
    char answer[256];
    size_t used = 0;
    while (used + 1 < sizeof(answer)) {
        CHECK(read(fd, answer + used, 1) == 1);
        answer[++used] = '\0';
        if (strstr(answer, "/job\r\n") != NULL) {
            return fd;
        }
    }
    test_fail(__FILE__, __LINE__, "no job: %s", answer);
    return -1;
}

TEST(revokes_what_is_held_back,
     "a job of which all copies are reserved and none runs is removed: its "
     "claim is marked, so that whoever holds them deletes them")
{
    struct servers servers;
    int fds[SERVER_NODES];
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "min_written=3&claims=REDIS");
    struct weir_job_id id = put(broker, 0);
    for (int i = 0; i < SERVER_NODES; i++) {
        fds[i] = hold_copy(&servers, i);
    }
    CHECK_STATUS(change(change_remove, broker, &id), WEIR_OK);
    for (int i = 0; i < SERVER_NODES; i++) {
        (void)close(fds[i]);
    }
    weir_broker_close(broker);
    servers_end(&servers);
}

struct seen {
    int count;
    struct weir_node nodes[4];
    char whys[4][256];
};

static int keep_node(const struct weir_node *node, void *arg)
{
    struct seen *seen = arg;
    CHECK_INT(seen->count, <, 4);
    seen->nodes[seen->count] = *node;
    (void)snprintf(seen->whys[seen->count], sizeof(seen->whys[0]), "%s", node->why);
    seen->count++;
    return 0;
}

TEST(nodes, "every server is told of with its state, its binlog and its jobs; one that hangs or is "
            "gone is away")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "time_limit=2s&claims=REDIS");
    (void)put(broker, 0);
    (void)put(broker, WEIR_SECONDS(60));
    struct weir_error error;
    struct seen seen = {.count = 0};
    CHECK_STATUS(weir_broker_nodes(broker, keep_node, &seen, &error), WEIR_OK);
    CHECK_INT(seen.count, ==, 4);
    for (int i = 0; i < 3; i++) {
        const struct weir_node *node = &seen.nodes[i];
        char name[32];
        (void)snprintf(name, sizeof(name), "127.0.0.1:%d", servers.node[i].port);
        CHECK_STRING(node->name, name);
        CHECK_INT(node->kind, ==, WEIR_NODE_BEANSTALKD);
        CHECK_INT(node->state, ==, WEIR_NODE_UP);
        CHECK_STRING(weir_node_state_name(node->state), "up");
        CHECK_INT(node->answer_ns, >, 0);
        CHECK_INT(node->has_binlog, ==, 1);
        CHECK_INT(node->binlog_files, >=, 1);
        CHECK_INT(node->binlog_records, ==, 2);
        CHECK_INT(node->delayed, ==, 1);
        CHECK_INT(node->ready, ==, 1);
        CHECK_INT(node->reserved + node->buried, ==, 0);
    }
    CHECK_INT(seen.nodes[3].kind, ==, WEIR_NODE_REDIS);
    CHECK_INT(seen.nodes[3].state, ==, WEIR_NODE_UP);

    CHECK(kill(servers.node[0].pid, SIGSTOP) == 0);
    CHECK(kill(servers.node[1].pid, SIGUSR1) == 0); /* drain mode */
    server_end(&servers.node[2]);
    server_end(&servers.redis);
    seen.count = 0;
    CHECK_STATUS(weir_broker_nodes(broker, keep_node, &seen, &error), WEIR_OK);
    CHECK_INT(seen.count, ==, 4);
    CHECK_INT(seen.nodes[0].state, ==, WEIR_NODE_AWAY);
    CHECK_INT(seen.nodes[1].state, ==, WEIR_NODE_DRAINING);
    CHECK_INT(seen.nodes[2].state, ==, WEIR_NODE_AWAY);
    CHECK_INT(seen.nodes[3].state, ==, WEIR_NODE_AWAY);
    for (int i = 0; i < 4; i++) {
        CHECK((seen.whys[i][0] != '\0') == (i != 1));
    }
    CHECK_STATUS(weir_broker_nodes(broker, NULL, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_nodes(NULL, keep_node, &seen, &error), WEIR_EINVAL);
    weir_broker_close(broker);
    servers_end(&servers);
}

static int keep_reason(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, WEIR_REASON_SIZE, "%s", job->reason);
    return 0;
}

static int note_claims(const struct weir_finding *finding, void *arg)
{
    *(bool *)arg = *(bool *)arg || strcmp(finding->name, "claims") == 0;
    CHECK((finding->level == WEIR_FINDING_NOTE) == (strcmp(finding->name, "claims") == 0));
    return 0;
}

TEST(without_claims, "a cluster without claims keeps no reason, says that it cannot, and its check "
                     "tells that each copy runs; with claims it keeps it")
{
    static const char *const parts[] = {"", "claims=REDIS"};
    struct servers servers;
    servers_start(&servers);
    for (int has_claims = 0; has_claims < 2; has_claims++) {
        weir_broker *broker = open_on(&servers, parts[has_claims]);
        char reason[WEIR_REASON_SIZE] = "";
        bool is_told = false;
        enum weir_status status;
        struct weir_error error;
        struct weir_job_id id = put(broker, 0);
        const char *text = id.text;
        CHECK_STATUS(change_bury(broker, &text, 1, "not today", &status, &error), WEIR_OK);
        CHECK_STATUS(status, WEIR_OK);
        CHECK_STATUS(weir_broker_peek_id(broker, text, keep_reason, reason, &error), WEIR_OK);
        CHECK_STRING(reason, has_claims ? "not today" : "");
        CHECK_INT(weir_broker_can(broker, WEIR_CAN_REASONS), ==, has_claims);
        CHECK_INT(weir_broker_can(broker, WEIR_CAN_SINGLE_RUNS), ==, has_claims);
        CHECK_STATUS(weir_broker_check(broker, note_claims, &is_told, &error), WEIR_OK);
        CHECK_INT(is_told, ==, !has_claims);
        weir_broker_close(broker);
    }
    servers_end(&servers);
}

struct found {
    char names[512]; /* of findings, with their subject behind it */
    const char *only;
};

static int keep_finding(const struct weir_finding *finding, void *arg)
{
    struct found *found = arg;
    size_t size = strlen(found->names);
    CHECK(finding->text[0] != '\0' && finding->advice[0] != '\0');
    CHECK_INT(finding->level, ==, WEIR_FINDING_PROBLEM);
    (void)snprintf(found->names + size, sizeof(found->names) - size, "%s %s\n", finding->name,
                   finding->subject);
    return found->only != NULL;
}

TEST(check,
     "a sound cluster has no findings; nodes that are away, draining, or Redis, are told of, "
     "until the caller wants no more")
{
    struct servers servers;
    char expected[256];
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "time_limit=2s&claims=REDIS");
    (void)put(broker, 0);
    struct weir_error error;
    struct found found = {"", NULL};
    CHECK_STATUS(weir_broker_check(broker, keep_finding, &found, &error), WEIR_OK);
    CHECK_STRING(found.names, "");

    CHECK(kill(servers.node[1].pid, SIGUSR1) == 0); /* drain mode */
    server_end(&servers.node[2]);
    server_end(&servers.redis);
    CHECK_STATUS(weir_broker_check(broker, keep_finding, &found, &error), WEIR_OK);
    (void)snprintf(expected, sizeof(expected),
                   "drain 127.0.0.1:%d\nnode 127.0.0.1:%d\nredis 127.0.0.1:%d\n",
                   servers.node[1].port, servers.node[2].port, servers.redis.port);
    CHECK_STRING(found.names, expected);

    found = (struct found){"", "the first one"};
    CHECK_STATUS(weir_broker_check(broker, keep_finding, &found, &error), WEIR_OK);
    (void)snprintf(expected, sizeof(expected), "drain 127.0.0.1:%d\n", servers.node[1].port);
    CHECK_STRING(found.names, expected);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(while_it_runs, "a job of which a worker has a copy is busy, and its other copies stay as "
                    "they are")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "");
    struct weir_job_id id = put(broker, 0);
    int fd = hold_copy(&servers, 1);
    CHECK_STATUS(change(bury, broker, &id), WEIR_EBUSY);
    CHECK_COUNTS(broker, "t", 0, 2, 1, 0);
    /* The copies that wait are deleted. The worker's is not, so that nothing is certain. */
    CHECK_STATUS(change(change_remove, broker, &id), WEIR_OK);
    CHECK_COUNTS(broker, "t", 0, 0, 1, 0);
    CHECK_STATUS(change(change_remove, broker, &id), WEIR_EBUSY);
    CHECK_STATUS(change(change_kick, broker, &id), WEIR_EBUSY);
    (void)close(fd);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(node_away, "what a node that is away has of a job is not known, and the answer names it")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "");
    struct weir_job_id id = put(broker, 0);
    server_end(&servers.node[2]);
    const char *text = id.text;
    enum weir_status status = WEIR_OK;
    struct weir_error error;
    char name[32];
    (void)snprintf(name, sizeof(name), "127.0.0.1:%d", servers.node[2].port);
    static change_fn *const calls[] = {bury, change_remove};
    for (size_t i = 0; i < 2; i++) {
        CHECK_STATUS(calls[i](broker, &text, 1, &status, &error), WEIR_EUNKNOWN);
        CHECK_STATUS(status, WEIR_EUNKNOWN);
        CHECK(strstr(error.text, name) != NULL);
    }
    const char *bad[] = {"1", "x/t/1", ""};
    for (size_t i = 0; i < 3; i++) {
        CHECK_STATUS(bury(broker, &bad[i], 1, &status, &error), WEIR_EINVAL);
    }
    weir_broker_close(broker);
    servers_end(&servers);
}

/* Whether a client that is none of ours gets a job of the tube without waiting. */
static bool gives_a_job(const struct servers *servers, int node)
{
    static const char request[] = "watch t\r\nignore default\r\nreserve-with-timeout 0\r\n";
    int fd = connect_port(servers->node[node].port);
    CHECK(fd >= 0);
    CHECK(write(fd, request, strlen(request)) == (ssize_t)strlen(request));
    char answer[256] = "";
    size_t used = 0;
    while (strstr(answer, "TIMED_OUT\r\n") == NULL && strstr(answer, "/job\r\n") == NULL) {
        CHECK(used + 1 < sizeof(answer) && read(fd, answer + used, 1) == 1);
        answer[++used] = '\0';
    }
    (void)close(fd);
    return strstr(answer, "/job\r\n") != NULL;
}

TEST(pauses, "every node pauses a tube and resumes it; what a node that is away does is not known")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "");
    struct weir_error error;
    CHECK_STATUS(weir_broker_pause(broker, "t", 1, &error), WEIR_ENOTFOUND);
    (void)put(broker, 0);
    CHECK_INT(jobs_counts(broker, "t").ready_since_ns, ==, 0);
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_FOREVER, &error), WEIR_OK);
    CHECK_INT(jobs_counts(broker, "t").paused_until_ns, ==, WEIR_FOREVER);
    for (int i = 0; i < SERVER_NODES; i++) {
        CHECK(!gives_a_job(&servers, i));
    }
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_SECONDS(3600), &error), WEIR_OK);
    CHECK(jobs_counts(broker, "t").paused_until_ns < WEIR_FOREVER);
    CHECK(jobs_counts(broker, "t").paused_until_ns > 0);
    CHECK_STATUS(weir_broker_pause(broker, "t", 0, &error), WEIR_OK);
    for (int i = 0; i < SERVER_NODES; i++) {
        while (!gives_a_job(&servers, i)) {
        }
    }
    CHECK_INT(jobs_counts(broker, "t").paused_until_ns, ==, 0);
    server_end(&servers.node[0]);
    CHECK_STATUS(weir_broker_pause(broker, "t", 1, &error), WEIR_EUNKNOWN);
    server_end(&servers.node[1]);
    server_end(&servers.node[2]);
    CHECK_STATUS(weir_broker_pause(broker, "t", 1, &error), WEIR_EUNAVAILABLE);
    CHECK(error.text[0] != '\0');
    weir_broker_close(broker);
    servers_end(&servers);
}
