/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/jobs.h>

#include <stdio.h>

#include "jobs/beanstalkd/cluster.h"
#include "jobs/sqlite/store.h"
#include "support/changes.h"
#include "support/harness.h"

/* A case of each function of a backend that not all have. */
static bool has(const struct weiri_broker_ops *ops, enum weir_feature feature)
{
    switch (feature) {
    case WEIR_CAN_SCHEDULES:
        return ops->schedules != NULL;
    case WEIR_CAN_POLICIES:
        return ops->policy != NULL;
    case WEIR_CAN_TRANSACTIONS:
        return ops->transaction_open != NULL && ops->transaction_step != NULL;
    case WEIR_CAN_ATTEMPTS:
        return ops->attempts != NULL;
    case WEIR_CAN_WAS_PUT:
        return ops->was_put != NULL;
    case WEIR_CAN_BACKUP:
    case WEIR_CAN_REPAIR:
        return ops->care != NULL;
    case WEIR_CAN_NODES:
        return ops->nodes != NULL;
    case WEIR_CAN_KEYS:
    case WEIR_CAN_GROUPS:
    case WEIR_CAN_HEADERS:
    case WEIR_CAN_PUT_ID:
    case WEIR_CAN_LIST:
    case WEIR_CAN_RESERVED:
    case WEIR_CAN_MOVE_IDS:
    case WEIR_CAN_DURABILITY:
    case WEIR_CAN_PRIORITIES:
    case WEIR_CAN_CONTROL:
    case WEIR_CAN_REASONS:
    case WEIR_CAN_SINGLE_RUNS:
        break;
    }
    return (ops->can >> feature & 1) != 0;
}

static const char *const texts[] = {
#define TEXT(name, text) text,
    WEIR_FEATURE_MAP(TEXT)
#undef TEXT
};

#define FEATURE_COUNT (sizeof(texts) / sizeof(texts[0]))

TEST(functions, "a backend has the functions of its features, and no others")
{
    const struct weiri_broker_ops *backends[] = {&weiri_sqlite_ops, &weiri_beanstalkd_ops};
    CHECK(FEATURE_COUNT <= 31); /* of 32 bits one is WEIRI_WRITES */
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < FEATURE_COUNT; i++) {
            CHECK(has(backends[b], (enum weir_feature)i) == ((backends[b]->can >> i & 1) != 0));
        }
    }
}

static weir_broker *open_cluster(const char *parts)
{
    char url[128];
    weir_broker *broker = NULL;
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:1,127.0.0.1:2?%s", parts);
    CHECK_STATUS(weir_broker_open(url, NULL, &broker, NULL), WEIR_OK);
    return broker;
}

TEST(told, "a broker tells its features, which are those of its kind, or less by its URL; NULL has "
           "none, and an unknown feature is none")
{
    static const struct {
        const char *parts;
        uint32_t can;
    } rows[] = {{"claims=redis://127.0.0.1:1",
                 WEIRI_CAN(NODES) | WEIRI_CAN(REASONS) | WEIRI_CAN(SINGLE_RUNS)},
                {"replicas=2", WEIRI_CAN(NODES)},
                {"replicas=1", WEIRI_CAN(NODES) | WEIRI_CAN(SINGLE_RUNS)}};
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        weir_broker *broker = open_cluster(rows[r].parts);
        for (size_t i = 0; i < FEATURE_COUNT; i++) {
            CHECK(weir_broker_can(broker, (enum weir_feature)i) == ((rows[r].can >> i & 1) != 0));
            CHECK(!weir_broker_can(NULL, (enum weir_feature)i));
        }
        CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    }
    weir_broker *broker = open_cluster("replicas=1");
    CHECK(!weir_broker_can(broker, (enum weir_feature)FEATURE_COUNT));
    CHECK(!weir_broker_can(broker, (enum weir_feature) - 1));
    CHECK(!weir_broker_can(broker, (enum weir_feature)(32 + WEIR_CAN_NODES)));
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}

static int no_job(const struct weir_job *job, void *arg)
{
    (void)job;
    (void)arg;
    return 0;
}

static int no_attempt(const struct weir_attempt *attempt, void *arg)
{
    (void)attempt;
    (void)arg;
    return 0;
}

static void check_put(weir_broker *broker, const struct weir_put_options *options,
                      struct weir_error *ret_error)
{
    const struct weir_body bodies[] = {{"x", 1, NULL}, {"x", 1, options}};
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 2, NULL, NULL, ret_error), WEIR_ENOTSUP);
    CHECK(strncmp(ret_error->text, "bodies[1]: ", 11) == 0);
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 1, options, NULL, ret_error), WEIR_ENOTSUP);
}

static enum weir_status open_with(const struct weir_broker_options *options,
                                  struct weir_error *ret_error)
{
    weir_broker *broker = NULL;
    return weir_broker_open("beanstalk://127.0.0.1:1?replicas=1", options, &broker, ret_error);
}

static enum weir_status transact(weir_broker *broker, struct weir_error *ret_error)
{
    weir_transaction *transaction = NULL;
    struct sqlite3 *none = (struct sqlite3 *)(void *)&transaction; /* never looked at */
    return weir_transaction_new(broker, none, &transaction, ret_error);
}

/* Makes the calls of a feature, each of which a cluster refuses; the error is that of the last. */
static void be_refused(weir_broker *broker, enum weir_feature feature, struct weir_error *error)
{
    static const char *const id = "127.0.0.1:1/t/1";
    const struct weir_broker_options options[] = {{.durability = WEIR_DURABILITY_FULL},
                                                  {.flags = WEIR_BROKER_SHARED}};
    struct weir_job_schedule_options schedule = {
        .name = "s", .tube = "t", .interval_ns = WEIR_SECONDS(1)};
    struct weir_tube_policy policy = {0};
    struct weir_repair_counts counts;
    bool was_put;
    enum weir_status status = WEIR_OK;
    switch (feature) {
    case WEIR_CAN_KEYS:
        check_put(broker, &(struct weir_put_options){.key = "k"}, error);
        break;
    case WEIR_CAN_HEADERS:
        check_put(broker, &(struct weir_put_options){.headers = "a=1\n"}, error);
        break;
    case WEIR_CAN_GROUPS:
        check_put(broker, &(struct weir_put_options){.group = "g"}, error);
        break;
    case WEIR_CAN_PUT_ID:
        check_put(broker, &(struct weir_put_options){.put_id = "p"}, error);
        break;
    case WEIR_CAN_SCHEDULES:
        CHECK_STATUS(weir_broker_schedule_put(broker, &schedule, NULL), WEIR_ENOTSUP);
        CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_RUN, NULL, error),
                     WEIR_ENOTSUP);
        break;
    case WEIR_CAN_POLICIES:
        CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_ENOTSUP);
        CHECK_STATUS(weir_broker_policy(broker, "t", &policy, NULL, error), WEIR_ENOTSUP);
        break;
    case WEIR_CAN_TRANSACTIONS:
        CHECK_STATUS(transact(broker, error), WEIR_ENOTSUP);
        break;
    case WEIR_CAN_LIST:
        CHECK_STATUS(weir_broker_list(broker, NULL, no_job, NULL, error), WEIR_ENOTSUP);
        break;
    case WEIR_CAN_RESERVED:
        CHECK_STATUS(weir_broker_peek(broker, "t", WEIR_JOB_RESERVED, 1, no_job, NULL, error),
                     WEIR_ENOTSUP);
        break;
    case WEIR_CAN_MOVE_IDS:
        CHECK_STATUS(change_move(broker, &id, 1, "u", &status, error), WEIR_ENOTSUP);
        break;
    case WEIR_CAN_ATTEMPTS:
        CHECK_STATUS(weir_broker_attempts(broker, id, no_attempt, NULL, error), WEIR_ENOTSUP);
        break;
    case WEIR_CAN_WAS_PUT:
        CHECK_STATUS(weir_broker_was_put(broker, id, &was_put, error), WEIR_ENOTSUP);
        break;
    case WEIR_CAN_DURABILITY:
        CHECK_STATUS(open_with(&options[0], error), WEIR_ENOTSUP);
        break;
    case WEIR_CAN_BACKUP:
        CHECK_STATUS(weir_broker_backup(broker, "copy", error), WEIR_ENOTSUP);
        break;
    case WEIR_CAN_REPAIR:
        CHECK_STATUS(open_with(&options[1], NULL), WEIR_ENOTSUP);
        CHECK_STATUS(weir_broker_repair(broker, &counts, NULL), WEIR_ENOTSUP);
        CHECK_STATUS(weir_broker_shrink(broker, NULL, NULL, error), WEIR_ENOTSUP);
        break;
    case WEIR_CAN_CONTROL:
        CHECK_STATUS(change_cancel(broker, &id, 1, WEIR_VERDICT_BURY, NULL, &status, error),
                     WEIR_ENOTSUP);
        break;
    case WEIR_CAN_PRIORITIES:
        check_put(broker, &(struct weir_put_options){.priority = -3}, error);
        break;
    case WEIR_CAN_NODES:
    case WEIR_CAN_REASONS:
    case WEIR_CAN_SINGLE_RUNS:
        break;
    }
}

TEST(refused,
     "what a cluster has not it refuses with the words of its features, and asks no server")
{
    weir_broker *broker = open_cluster("replicas=1");
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        if (i != WEIR_CAN_NODES && i != WEIR_CAN_REASONS && i != WEIR_CAN_SINGLE_RUNS) {
            struct weir_error error = {0};
            char expected[sizeof(error.text)];
            (void)snprintf(expected, sizeof(expected), "%sa beanstalk: broker has no %s",
                           i == WEIR_CAN_PRIORITIES ? "priority -3: " : "", texts[i]);
            be_refused(broker, (enum weir_feature)i, &error);
            CHECK_STRING(error.text, expected);
        }
    }
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}
