/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* An id names one job: what else a node has under its number stays. */
#include <weir/admin.h>

#include "cluster/fake.h"
#include "cluster/ledger.h"
#include "support/changes.h"
#include "support/jobs.h"

static const char *const parts[] = {"min_written=3", "min_written=3&claims=REDIS"};

typedef enum weir_status change_fn(weir_broker *broker, const char *const *ids, size_t count,
                                   enum weir_status *ret_statuses, struct weir_error *ret_error);

static enum weir_status bury(weir_broker *broker, const char *const *ids, size_t count,
                             enum weir_status *ret_statuses, struct weir_error *ret_error)
{
    return change_bury(broker, ids, count, NULL, ret_statuses, ret_error);
}

static change_fn *const changes[] = {change_remove, change_kick, bury};

static enum weir_status change(change_fn *fn, weir_broker *broker, const char *id,
                               struct weir_error *ret_error)
{
    enum weir_status status = WEIR_EUSER;
    enum weir_status all = fn(broker, &id, 1, &status, ret_error);
    CHECK_STATUS(all, status == WEIR_EUNKNOWN ? status : WEIR_OK);
    return status;
}

static weir_broker *open_on(const struct servers *servers, size_t i)
{
    static struct ledger ledger;
    char url[512];
    servers_url(servers, parts[i], url, sizeof(url));
    return ledger_open(&ledger, url);
}

static struct weir_job_id put(weir_broker *broker, const char *tube, const char *text)
{
    struct weir_job_id id;
    struct weir_body body = {text, strlen(text), NULL};
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(broker, tube, &body, 1, NULL, &id, &error), WEIR_OK);
    return id;
}

/* Puts a job as a client that is none of ours. */
static void put_on(const struct servers *servers, int node, const char *tube, const char *text)
{
    char bytes[256];
    char answer[64];
    char body[64];
    int size = snprintf(body, sizeof(body), "1780000000000000000/%s", text);
    (void)snprintf(bytes, sizeof(bytes), "use %s\r\nput 2 0 60 %d\r\n%s\r\nquit\r\n", tube, size,
                   body);
    node_say(servers, node, bytes, answer, sizeof(answer));
    CHECK(strncmp(answer, "USING ", 6) == 0);
    while (node_number(servers, node, "stats", "cmd-put") < 1) {
    }
}

/* The node comes back at its address with an empty disk. */
static void replace_node(struct servers *servers, int i)
{
    char command[32];
    server_end(&servers->node[i]);
    (void)snprintf(command, sizeof(command), "rm -r node%d", i);
    CHECK_INT(system(command), ==, 0);
    node_start(servers, i);
}

static int keep_id(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, WEIR_JOB_ID_SIZE, "%s", job->id);
    return 0;
}

/* What all commands say of an id of which a node has another job, which stays. */
static void check_stays(weir_broker *broker, const char *id, const char *tube, uint64_t ready)
{
    struct weir_error error;
    char shown[WEIR_JOB_ID_SIZE];
    for (size_t i = 0; i < 3; i++) {
        CHECK_STATUS(change(changes[i], broker, id, &error), WEIR_EUNKNOWN);
        CHECK(strstr(error.text, "has another job") != NULL);
        CHECK_COUNTS(broker, tube, 0, ready, 0, 0);
    }
    CHECK_STATUS(weir_broker_peek_id(broker, id, keep_id, shown, &error), WEIR_EUNKNOWN);
    CHECK(strstr(error.text, "has another job") != NULL);
}

TEST(is_of_its_tube, "an id whose number is that of a job of another tube changes nothing")
{
    struct servers servers;
    servers_start(&servers);
    for (size_t i = 0; i < 2; i++) {
        weir_broker *broker = open_on(&servers, i);
        struct weir_job_id id = put(broker, "t", "job");
        char other[64];
        (void)snprintf(other, sizeof(other), "127.0.0.1:%d/other/%d", servers.node[0].port,
                       (int)i + 1);
        check_stays(broker, other, "t", 3);
        CHECK_STATUS(change(change_remove, broker, id.text, NULL), WEIR_OK);
        CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
        weir_broker_close(broker);
    }
    servers_end(&servers);
}

TEST(outlives_a_node,
     "where an empty node has taken a node's place, its job of the same number and "
     "tube stays: while the old job waits elsewhere, and when it is done")
{
    struct servers servers;
    for (size_t i = 0; i < 2; i++) {
        servers_start(&servers);
        weir_broker *broker = open_on(&servers, i);
        struct weir_error error;
        struct weir_job_id old = put(broker, "t", "old");
        replace_node(&servers, 2);
        put_on(&servers, 2, "t", "new");
        weir_broker_close(broker);
        broker = open_on(&servers, i);
        CHECK_COUNTS(broker, "t", 0, 3, 0, 0);
        CHECK_STATUS(change(change_remove, broker, old.text, &error), WEIR_EUNKNOWN);
        CHECK(strstr(error.text, "has another job") != NULL);
        CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
        check_stays(broker, old.text, "t", 1);
        weir_broker_close(broker);
        servers_end(&servers);
        CHECK_INT(system("rm -r node0 node1 node2"), ==, 0);
    }
}

TEST(is_one_body, "where the copies of an id that other tools made differ, as after two nodes have "
                  "swapped their addresses, nobody knows which is meant, and all stay")
{
    struct servers servers;
    servers_start(&servers);
    put_on(&servers, 0, "t", "first");
    put_on(&servers, 1, "t", "second");
    for (size_t i = 0; i < 2; i++) {
        weir_broker *broker = open_on(&servers, i);
        char both[128];
        (void)snprintf(both, sizeof(both), "127.0.0.1:%d/t/1,127.0.0.1:%d/t/1",
                       servers.node[0].port, servers.node[1].port);
        check_stays(broker, both, "t", 2);
        weir_broker_close(broker);
    }
    servers_end(&servers);
}

TEST(has_a_tag, "the id of one copy tells what its job is, by a tag that it can do without")
{
    struct servers servers;
    servers_start(&servers);
    for (size_t i = 0; i < 2; i++) {
        char id[WEIR_JOB_ID_SIZE] = "";
        for (int round = 0; round < 2; round++) {
            weir_broker *broker = open_on(&servers, i);
            struct weir_error error;
            (void)put(broker, "t", "job");
            CHECK_STATUS(weir_broker_peek(broker, "t", WEIR_JOB_READY, 1, keep_id, id, &error),
                         WEIR_OK);
            char *tag = strrchr(id, '.');
            CHECK(tag > strrchr(id, '/') && strlen(tag) == 9);
            if (round == 0) {
                tag[1] = (char)(tag[1] == '0' ? '1' : '0');
                check_stays(broker, id, "t", 3);
                *tag = '\0';
            }
            CHECK_STATUS(change(change_remove, broker, id, &error), WEIR_OK);
            CHECK_COUNTS(broker, "t", 0, 2, 0, 0);
            struct ledger ledger = {.all = 0};
            ledger_consume(broker, &ledger);
            CHECK_INT(ledger.all, ==, i == 0 ? 2 : 0);
            weir_broker_close(broker);
        }
    }
    servers_end(&servers);
}

/* A broker of the first two nodes. */
static weir_broker *open_two(const struct servers *servers, size_t i)
{
    static struct ledger ledger;
    char url[256];
    char claims[64];
    (void)snprintf(claims, sizeof(claims), "/?claims=redis://127.0.0.1:%d", servers->redis.port);
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d,127.0.0.1:%d%s",
                   servers->node[0].port, servers->node[1].port, i == 0 ? "" : claims);
    return ledger_open(&ledger, url);
}

TEST(outlives_a_list,
     "where a node has left the list of nodes, its copy counts as away: the others "
     "are found and removed; with claims that is certain, without it is told")
{
    struct servers servers;
    servers_start(&servers);
    for (size_t i = 0; i < 2; i++) {
        char name[32];
        char shown[WEIR_JOB_ID_SIZE];
        struct weir_why why;
        struct weir_error error;
        weir_broker *broker = open_on(&servers, i);
        struct weir_job_id id = put(broker, "t", "job");
        weir_broker_close(broker);
        (void)snprintf(name, sizeof(name), "127.0.0.1:%d", servers.node[2].port);
        struct weir_job_id last = {""};
        const char *at = strstr(id.text, name);
        CHECK(at != NULL);
        (void)snprintf(last.text, sizeof(last.text), "%.*s", (int)strcspn(at, ","), at);

        broker = open_two(&servers, i);
        CHECK_STATUS(weir_broker_peek_id(broker, id.text, keep_id, shown, &error), WEIR_OK);
        CHECK_STATUS(weir_broker_why(broker, id.text, &why, &error), WEIR_OK);
        CHECK_STATUS(weir_broker_peek_id(broker, last.text, keep_id, shown, &error),
                     WEIR_EUNAVAILABLE);
        CHECK(strstr(error.text, name) != NULL);
        CHECK_STATUS(change(change_remove, broker, last.text, &error), WEIR_EUNKNOWN);
        CHECK(strstr(error.text, name) != NULL);
        CHECK_STATUS(change(change_remove, broker, id.text, &error),
                     i == 0 ? WEIR_EUNKNOWN : WEIR_OK);
        CHECK(i == 1 || strstr(error.text, name) != NULL);
        CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
        weir_broker_close(broker);

        struct ledger ledger = {.all = 0};
        broker = open_on(&servers, i);
        ledger_consume(broker, &ledger);
        CHECK_INT(ledger.all, ==, i == 0 ? 1 : 0);
        weir_broker_close(broker);
    }
    servers_end(&servers);
}

struct reads {
    const char *answer;  /* to what asks for a job */
    _Atomic int deletes; /* that were sent */
};

static void answer_reads(struct fake *fake, int fd, const char *line)
{
    struct reads *reads = fake->arg;
    bool is_delete = strncmp(line, "delete ", 7) == 0;
    (void)atomic_fetch_add(&reads->deletes, is_delete);
    fake_say(fd, is_delete ? "DELETED\r\n" : reads->answer);
}

TEST(is_looked_at, "what a node does not show is not deleted there: another may be in its place by "
                   "then, with another job of that number; one that cannot look is told of")
{
    static const struct {
        const char *answer;
        enum weir_status status;
        const char *words; /* in the error */
    } rows[] = {{"NOT_FOUND\r\n", WEIR_ENOTFOUND, ""},
                {"OUT_OF_MEMORY\r\n", WEIR_EUNKNOWN, "OUT_OF_MEMORY"}};
    for (size_t i = 0; i < 2; i++) {
        static struct ledger ledger;
        struct reads reads = {.answer = rows[i].answer};
        struct fake fake;
        struct weir_error error = {0};
        char url[64];
        char id[64];
        fake_start(&fake, answer_reads, &reads);
        (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d/?replicas=1", fake.port);
        (void)snprintf(id, sizeof(id), "127.0.0.1:%d/t/1", fake.port);
        weir_broker *broker = ledger_open(&ledger, url);
        CHECK_STATUS(change(change_remove, broker, id, &error), rows[i].status);
        CHECK(strstr(error.text, rows[i].words) != NULL);
        CHECK_INT(reads.deletes, ==, 0);
        weir_broker_close(broker);
        fake_end(&fake);
    }
}

/* Puts bodies that are equal, each with a time of its own: the last ones are earlier. */
static void put_timed(weir_broker *broker, const char *tube, int64_t apart_ns, size_t count,
                      struct weir_job_id *ret_ids)
{
    static struct weir_put_options options[1000];
    static struct weir_body bodies[1000];
    struct weir_error error;
    for (size_t i = 0; i < count; i++) {
        options[i] = (struct weir_put_options){.run_at_ns = WEIR_SECONDS(INT64_C(4102444800)) -
                                                            apart_ns * (int64_t)i};
        bodies[i] = (struct weir_body){"x", 1, &options[i]};
    }
    CHECK_STATUS(weir_broker_put(broker, tube, bodies, count, NULL, ret_ids, &error), WEIR_OK);
}

TEST(apart,
     "equal bodies of one put are different jobs, also where their own times are a nanosecond "
     "apart, and so are those of another tube")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, 0);
    static struct weir_job_id ids[1000];
    static struct weir_job_id others[1000];
    put_timed(broker, "t", 1, 3, ids);
    for (int i = 0; i < 3; i++) {
        CHECK(strcmp(strrchr(ids[i].text, '.'), strrchr(ids[(i + 1) % 3].text, '.')) != 0);
    }
    /* What these tubes add to run times differs by 91 ns. */
    put_timed(broker, "tube11", 0, 1000, ids);
    put_timed(broker, "tube28", 0, 1000, others);
    for (int i = 0; i < 1000; i++) {
        CHECK(strcmp(strrchr(ids[i].text, '.'), strrchr(others[i].text, '.')) != 0);
    }
    weir_broker_close(broker);
    servers_end(&servers);
}
