/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* How many jobs that have ended a store keeps. */
#include <inttypes.h>

#include "support/changes.h"
#include "support/jobs.h"
#include "support/store_query.h"

static struct jobs_wall wall = {JOBS_WALL_START};

#define KEPT_IN(tube)                                                                              \
    "SELECT count(*) FROM jobs WHERE state = 5 AND tube = (SELECT id FROM tubes WHERE name = "     \
    "'" tube "')"

/* Puts and removes jobs. */
static void end_jobs(weir_broker *broker, const char *tube, int count)
{
    for (int i = 0; i < count; i++) {
        char text[20];
        const char *id = text;
        (void)snprintf(text, sizeof(text), "%" PRId64, jobs_put(broker, tube, "x", NULL));
        CHECK_INT(jobs_remove(broker, &id, 1), ==, 1);
    }
}

static uint64_t kept_by_policy(weir_broker *broker, const char *tube)
{
    struct weir_tube_policy policy;
    struct weir_tube_policy_counts counts;
    CHECK_STATUS(weir_broker_policy(broker, tube, &policy, &counts, NULL), WEIR_OK);
    return policy.keep_count;
}

TEST(share, "by default a tube keeps the last 1,000, and its share of 100,000 where a store has "
            "many; also one where no job ends any more, but not one whose policy has a number")
{
    enum {
        TUBES = 2000,
        SHARE = 100000 / TUBES
    };
    const struct weir_tube_policy many = {.keep_count = 5000};
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    CHECK_STATUS(weir_broker_set_policy(broker, "mine", &many, NULL), WEIR_OK);
    end_jobs(broker, "mine", 200);
    end_jobs(broker, "quiet", 200);
    end_jobs(broker, "busy", 1500);
    CHECK_INT(query(broker, KEPT_IN("quiet")), ==, 200);
    CHECK_INT(query(broker, KEPT_IN("busy")), >=, 1000);
    CHECK_INT(query(broker, KEPT_IN("busy")), <, 1500);
    CHECK_INT(kept_by_policy(broker, "quiet"), ==, 1000);
    for (int i = 3; i < TUBES; i++) {
        char tube[20];
        (void)snprintf(tube, sizeof(tube), "t%d", i);
        (void)jobs_put(broker, tube, "x", NULL);
    }
    CHECK_INT(kept_by_policy(broker, "quiet"), ==, SHARE);
    CHECK_INT(kept_by_policy(broker, "mine"), ==, 5000);
    int64_t last = query(broker, "SELECT max(id) FROM jobs WHERE state = 5 AND tube = 2");
    end_jobs(broker, "busy", 5000);
    CHECK_INT(query(broker, KEPT_IN("mine")), ==, 200);
    CHECK_INT(query(broker, KEPT_IN("quiet")), ==, SHARE);
    CHECK_INT(query(broker, KEPT_IN("busy")), >=, SHARE);
    CHECK_INT(query(broker, KEPT_IN("busy")), <, 1000);
    /* The last ones. */
    CHECK_INT(query(broker, "SELECT min(id) FROM jobs WHERE state = 5 AND tube = 2"), ==,
              last - SHARE + 1);
    CHECK_INT(jobs_counts(broker, "quiet").put, ==, 200);
    weir_broker_close(broker);
}

TEST(held, "a job whose put_id counts stays, and so do those that ended after it, though they are "
           "too many, until it counts no more")
{
    const struct weir_tube_policy few = {.keep_count = 10};
    const struct weir_put_options named = {.put_id = "p"};
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &few, NULL), WEIR_OK);
    end_jobs(broker, "t", 5);
    int64_t number = jobs_put(broker, "t", "x", &named);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, ""), WEIR_OK);
    jobs_free_one(broker, job);
    end_jobs(broker, "t", 1000);
    CHECK_INT(query(broker, KEPT_IN("t")), ==, 1001); /* but the five before it */
    CHECK_INT(jobs_put(broker, "t", "x", &named), ==, number);
    jobs_wall_step(&wall, WEIR_SECONDS(601));
    end_jobs(broker, "t", 2000);
    CHECK_INT(query(broker, KEPT_IN("t")), >=, 10);
    CHECK_INT(query(broker, KEPT_IN("t")), <, 1000);
    CHECK_INT(jobs_put(broker, "t", "x", &named), >, number);
    weir_broker_close(broker);
}

TEST(given, "on a full disk jobs that are kept by default leave first, those of a policy do not")
{
    const struct weir_tube_policy week = {.keep_ns = WEIR_SECONDS(7 * 86400)};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    CHECK_STATUS(weir_broker_set_policy(broker, "mine", &week, NULL), WEIR_OK);
    end_jobs(broker, "mine", 20);
    end_jobs(broker, "t", 20);
    int64_t number = jobs_put(broker, "t", "x", NULL);
    (void)jobs_put(broker, "mine", "x", NULL);
    store->is_full = true;
    struct weiri_reservation *job = jobs_reserve_one(broker, "mine");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, ""), WEIR_OK);
    jobs_free_one(broker, job);
    CHECK_INT(query(broker, KEPT_IN("mine")), ==, 21);
    CHECK_INT(query(broker, KEPT_IN("t")), ==, 20);
    job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, ""), WEIR_OK);
    jobs_free_one(broker, job);
    store->is_full = false;
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs WHERE tube = 2"), ==, 1);
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs WHERE tube = 2 AND id <> 41"), ==, 0);
    CHECK_INT(number, ==, 41);
    weir_broker_close(broker);
}

static int expect_unfit(const struct weir_finding *finding, void *arg)
{
    if (finding->level == WEIR_FINDING_PROBLEM) {
        CHECK_STRING(finding->text, "job 2: state 5, verdict 0 and outcome 0 do not fit");
        ++*(int *)arg;
    }
    return 0;
}

static int count_ended(const struct weir_job *job, void *arg)
{
    *(int *)arg += job->state == WEIR_JOB_ENDED;
    return 0;
}

TEST(unfit, "a job that is kept and has lost its outcome is told of by a check; it is shown, and "
            "leaves as the others do")
{
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    end_jobs(broker, "t", 3);
    CHECK_INT(query(broker, "UPDATE jobs SET outcome = NULL WHERE id = 2 RETURNING id"), ==, 2);
    int found = 0;
    CHECK_STATUS(weir_broker_check(broker, expect_unfit, &found, NULL), WEIR_OK);
    CHECK_INT(found, ==, 1);
    CHECK_STATUS(weir_broker_peek_id(broker, "2", count_ended, &found, NULL), WEIR_OK);
    CHECK_INT(found, ==, 2);
    end_jobs(broker, "t", 1);
    jobs_wall_step(&wall, WEIR_SECONDS(8 * 86400));
    end_jobs(broker, "other", 1500);
    CHECK_INT(query(broker, KEPT_IN("t")), ==, 0);
    weir_broker_close(broker);
}
