/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Dead letters have as many copies as their jobs had, whatever dies meanwhile; and what operators
 * do with them works on all copies. */
#include <stdlib.h>

#include <weir/admin.h>

#include "conformance/jobs/brokers.h"
#include "support/changes.h"

enum cause {
    CAUSE_ATTEMPTS, /* its last attempt failed */
    CAUSE_STOP,     /* its handler wants no other */
    CAUSE_LATE,     /* it was found too late, and never ran */
    CAUSES
};

static void open_for(struct place *place, enum cause cause)
{
    place_open(place, ON_CLUSTER, cause == CAUSE_LATE ? "late=1ms" : "late=0");
}

/* Puts a job, which a consumer will find late. */
static void put_one(const struct place *place, const char *text, struct weir_job_id *ret_id)
{
    place_put(place, text, NULL, ret_id);
    int64_t limit = place_now() + WEIR_MS(2);
    while (place_now() <= limit) {
    }
}

static void fail_by(struct runs *runs, enum cause cause)
{
    runs->failures_left = cause == CAUSE_ATTEMPTS ? 1 : 0;
    runs->answer = cause == CAUSE_STOP ? WEIR_ESTOP : WEIR_OK;
}

/* Consumes until no copy waits. The broker is another one then: one that has just consumed still
 * reserves what comes. */
static void consume(struct place *place, struct runs *runs, uint32_t attempts_max)
{
    place_consume(place, runs, 1, attempts_max, 0);
    weir_broker_close(place->broker);
    place->broker = place_broker(place);
}

static void bury_by(struct place *place, enum cause cause, struct runs *runs)
{
    fail_by(runs, cause);
    consume(place, runs, cause == CAUSE_ATTEMPTS ? 1 : 25);
    CHECK_INT(runs->count, ==, cause == CAUSE_LATE ? 0 : 1);
    CHECK_INT(runs->ends[WEIR_RUN_BURIED], ==, runs->count);
}

static enum weir_status kick_tube(const struct place *place, size_t most, size_t *ret_count,
                                  struct weir_error *ret_error)
{
    *ret_count = 99;
    return weir_broker_kick(place->broker, "t", most, ret_count, ret_error);
}

/* The id of the first buried copy that a peek shows. */
static struct weir_job_id one_copy(const struct place *place)
{
    struct shown shown = {.count = 0};
    struct weir_job_id id;
    struct weir_error error;
    CHECK_STATUS(
        weir_broker_peek(place->broker, "t", WEIR_JOB_BURIED, 1, place_show, &shown, &error),
        WEIR_OK);
    CHECK_INT(shown.count, ==, 1);
    CHECK(strchr(shown.id, ',') == NULL);
    memcpy(id.text, shown.id, sizeof(id.text));
    return id;
}

typedef enum weir_status change_fn(weir_broker *broker, const char *const *ids, size_t count,
                                   enum weir_status *ret_statuses, struct weir_error *ret_error);

static enum weir_status change(const struct place *place, change_fn *fn,
                               const struct weir_job_id *id, struct weir_error *ret_error)
{
    const char *text = id->text;
    enum weir_status status = WEIR_EUSER;
    enum weir_status all = fn(place->broker, &text, 1, &status, ret_error);
    CHECK_STATUS(all, status == WEIR_EUNKNOWN ? status : WEIR_OK);
    return status;
}

TEST(keeps_all_copies,
     "a job that is buried, for whatever reason, has as many copies as before, of "
     "which each node shows why; one kick of one job kicks all, and it runs once")
{
    for (enum cause cause = 0; cause < CAUSES; cause++) {
        struct place place;
        struct runs runs = {.count = 0};
        struct shown shown = {.count = 0};
        struct weir_error error;
        size_t count;
        open_for(&place, cause);
        put_one(&place, "job", NULL);
        bury_by(&place, cause, &runs);
        CHECK_PLACE(&place, 0, 0, 0, 3);
        CHECK_STATUS(
            weir_broker_peek(place.broker, "t", WEIR_JOB_BURIED, 9, place_show, &shown, &error),
            WEIR_OK);
        CHECK_INT(shown.count, ==, 3);
        CHECK(shown.reason[0] != '\0');
        CHECK_STATUS(kick_tube(&place, 1, &count, &error), WEIR_OK);
        CHECK_INT(count, ==, 1);
        CHECK_PLACE(&place, 0, 3, 0, 0);
        struct runs again = {.count = 0};
        consume(&place, &again, 25);
        CHECK_INT(again.count, ==, 1);
        CHECK_PLACE(&place, 0, 0, 0, 0);
        place_close(&place);
    }
}

static struct place *killed; /* its nodes */

/* Ends the node that the copy of this run is on. */
static void kill_node(weir_context *context, struct runs *runs)
{
    const char *colon = strchr(weir_job_of(context)->id, ':');
    int port = atoi(colon + 1);
    for (int i = 0; i < SERVER_NODES; i++) {
        if (killed->servers.node[i].port == port) {
            *(int *)runs->arg = i;
            server_end(&killed->servers.node[i]);
        }
    }
}

TEST(survives_its_node, "a job whose node dies while it is to be buried stays a dead letter on all "
                        "nodes, also on that one once it is back")
{
    for (enum cause cause = 0; cause < CAUSE_LATE; cause++) {
        struct place place;
        int node = -1;
        struct runs runs = {.during = kill_node, .arg = &node};
        open_for(&place, cause);
        killed = &place;
        put_one(&place, "job", NULL);
        bury_by(&place, cause, &runs);
        CHECK_INT(node, >=, 0);
        CHECK_PLACE(&place, 0, 0, 0, 2);
        node_start(&place.servers, node);
        weir_broker_close(place.broker);
        place.broker = place_broker(&place);
        struct runs none = {.count = 0};
        consume(&place, &none, 25);
        CHECK_INT(none.count, ==, 0);
        CHECK_PLACE(&place, 0, 0, 0, 3);
        struct weir_job_id id = one_copy(&place);
        struct weir_error error;
        CHECK_STATUS(change(&place, change_remove, &id, &error), WEIR_OK);
        place_close(&place);
    }
}

TEST(survives_a_disk,
     "a dead letter whose node loses its disk is still there, and runs when kicked")
{
    struct place place;
    struct runs runs = {.count = 0};
    struct runs again = {.count = 0};
    struct weir_error error;
    size_t count;
    open_for(&place, CAUSE_ATTEMPTS);
    put_one(&place, "job", NULL);
    bury_by(&place, CAUSE_ATTEMPTS, &runs);
    for (int i = 0; i < 2; i++) {
        server_end(&place.servers.node[i]);
        CHECK_INT(system(i == 0 ? "rm -r node0" : "rm -r node1"), ==, 0);
        node_start(&place.servers, i);
    }
    weir_broker_close(place.broker);
    place.broker = place_broker(&place);
    CHECK_PLACE(&place, 0, 0, 0, 1);
    CHECK_STATUS(kick_tube(&place, 9, &count, &error), WEIR_OK);
    CHECK_INT(count, ==, 1);
    consume(&place, &again, 25);
    CHECK_INT(again.count, ==, 1);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

TEST(finds_all_copies, "an operator who names one copy of a dead letter kicks or removes all, also "
                       "of one that another operator has buried by the name of one copy")
{
    struct place place;
    struct runs runs = {.count = 0};
    struct runs none = {.count = 0};
    struct weir_error error;
    struct weir_job_id id;
    open_for(&place, CAUSE_STOP);
    put_one(&place, "job", NULL);
    bury_by(&place, CAUSE_STOP, &runs);
    id = one_copy(&place);
    CHECK_STATUS(change(&place, change_kick, &id, &error), WEIR_OK);
    CHECK_PLACE(&place, 0, 3, 0, 0);

    const char *text = id.text;
    enum weir_status status = WEIR_EUSER;
    CHECK_STATUS(change_bury(place.broker, &text, 1, "not today", &status, &error), WEIR_OK);
    CHECK_STATUS(status, WEIR_OK);
    consume(&place, &none, 25);
    CHECK_INT(none.count, ==, 0);
    CHECK_PLACE(&place, 0, 0, 0, 3);
    id = one_copy(&place);
    CHECK_STATUS(change(&place, change_remove, &id, &error), WEIR_OK);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

static void check_names(const struct place *place, int node, const struct weir_error *error)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "127.0.0.1:%d", place->servers.node[node].port);
    if (strstr(error->text, name) == NULL) {
        test_fail(__FILE__, __LINE__, "%s: expected the name of %s", error->text, name);
    }
}

TEST(tells_of_a_node_that_is_away,
     "a kick and a removal while a node is away name it, and what stays buried there does not run "
     "again when it is kicked")
{
    struct place place;
    struct runs runs = {.count = 0};
    struct runs again = {.count = 0};
    struct runs none = {.count = 0};
    struct weir_error error;
    struct weir_job_id ids[3];
    size_t count;
    open_for(&place, CAUSE_ATTEMPTS);
    for (int i = 0; i < 3; i++) {
        put_one(&place, i == 0 ? "kicked by id" : i == 1 ? "removed" : "kicked", &ids[i]);
    }
    runs.failures_left = 3;
    consume(&place, &runs, 1);
    CHECK_PLACE(&place, 0, 0, 0, 9);
    server_end(&place.servers.node[1]);
    CHECK_STATUS(change(&place, change_kick, &ids[0], &error), WEIR_EUNKNOWN);
    check_names(&place, 1, &error);
    CHECK_STATUS(change(&place, change_remove, &ids[1], &error), WEIR_EUNKNOWN);
    check_names(&place, 1, &error);
    CHECK_STATUS(kick_tube(&place, 9, &count, &error), WEIR_EUNKNOWN);
    CHECK_INT(count, ==, 1);
    check_names(&place, 1, &error);
    CHECK_PLACE(&place, 0, 4, 0, 0);
    consume(&place, &again, 25);
    CHECK_INT(again.count, ==, 2);

    node_start(&place.servers, 1);
    weir_broker_close(place.broker);
    place.broker = place_broker(&place);
    CHECK_PLACE(&place, 0, 0, 0, 3);
    CHECK_STATUS(kick_tube(&place, 9, &count, &error), WEIR_OK);
    CHECK_INT(count, ==, 3);
    consume(&place, &none, 25);
    CHECK_INT(none.count, ==, 0);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

/* Reserves the second node's only buried copy as another client; returns its connection. */
static int hold_copy(const struct place *place, const char *id)
{
    char line[64];
    char answer[64] = "";
    const char *number = strrchr(id, '/') + 1;
    int fd = connect_port(place->servers.node[1].port);
    CHECK(fd >= 0);
    int size =
        snprintf(line, sizeof(line), "reserve-job %.*s\r\n", (int)strcspn(number, "."), number);
    CHECK(write(fd, line, (size_t)size) == size);
    CHECK(read(fd, answer, sizeof(answer) - 1) > 0);
    CHECK(strncmp(answer, "RESERVED", 8) == 0);
    return fd;
}

/* The part of an id that is on the second node. */
static struct weir_job_id second_of(const struct place *place, const struct weir_job_id *id)
{
    char name[32];
    struct weir_job_id part = {""};
    (void)snprintf(name, sizeof(name), "127.0.0.1:%d/", place->servers.node[1].port);
    const char *at = strstr(id->text, name);
    CHECK(at != NULL);
    (void)snprintf(part.text, sizeof(part.text), "%.*s", (int)strcspn(at, ","), at);
    return part;
}

TEST(tells_of_a_worker, "a kick and a removal while a worker has a copy, which it may be about to "
                        "bury, say so")
{
    for (int i = 0; i < 2; i++) {
        struct place place;
        struct runs runs = {.count = 0};
        struct weir_error error;
        struct weir_job_id id;
        size_t count;
        open_for(&place, CAUSE_STOP);
        put_one(&place, "job", &id);
        bury_by(&place, CAUSE_STOP, &runs);
        int fd = hold_copy(&place, second_of(&place, &id).text);
        if (i == 0) {
            CHECK_STATUS(change(&place, change_remove, &id, &error), WEIR_EUNKNOWN);
            CHECK_PLACE(&place, 0, 0, 1, 0);
        } else {
            CHECK_STATUS(kick_tube(&place, 9, &count, &error), WEIR_EUNKNOWN);
            CHECK_INT(count, ==, 1);
            CHECK_PLACE(&place, 0, 2, 1, 0);
        }
        CHECK(strstr(error.text, "a worker has one") != NULL);
        (void)close(fd);
        struct runs again = {.count = 0};
        consume(&place, &again, 25);
        CHECK_INT(again.count, ==, i);
        CHECK_PLACE(&place, 0, 0, 0, 0);
        place_close(&place);
    }
}

TEST(waits_for_redis, "without Redis nothing is kicked, and an operator is told")
{
    struct place place;
    struct runs runs = {.count = 0};
    struct weir_error error;
    size_t count;
    open_for(&place, CAUSE_STOP);
    put_one(&place, "job", NULL);
    bury_by(&place, CAUSE_STOP, &runs);
    struct weir_job_id id = one_copy(&place);
    server_end(&place.servers.redis);
    CHECK_STATUS(change(&place, change_kick, &id, &error), WEIR_EUNKNOWN);
    CHECK(strstr(error.text, "Redis") != NULL);
    CHECK_STATUS(kick_tube(&place, 9, &count, &error), WEIR_EUNAVAILABLE);
    CHECK(strstr(error.text, "Redis") != NULL);
    CHECK_PLACE(&place, 0, 0, 0, 3);
    place_close(&place);
}
