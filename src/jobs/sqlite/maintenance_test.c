/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* Changes the file behind weir's back. */
static void run(const char *sql)
{
    sqlite3 *db;
    char *text = NULL;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", sql, text);
    }
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

static int count_attempt(const struct weir_attempt *attempt, void *arg)
{
    (void)attempt;
    ++*(int *)arg;
    return 0;
}

static struct weir_repair_counts repair(weir_broker *broker)
{
    struct weir_repair_counts counts;
    struct weir_error error = {0};
    if (weir_broker_repair(broker, &counts, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
    return counts;
}

static int no_problem(const struct weir_finding *finding, void *arg)
{
    (void)arg;
    CHECK(finding->level != WEIR_FINDING_PROBLEM || strcmp(finding->name, "integrity") != 0);
    return 0;
}

TEST(sound, "the repair of a sound store changes nothing that matters")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (int i = 0; i < 1200; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
    }
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    struct weir_repair_counts counts = repair(broker);
    CHECK_INT(counts.jobs, ==, 1200);
    CHECK_INT(counts.damaged, ==, 0);
    CHECK_INT(counts.orphans, ==, 0);
    CHECK_COUNTS(broker, "t", 0, 1199, 1, 0);
    CHECK_STATUS(weir_broker_check(broker, no_problem, NULL, NULL), WEIR_OK);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    CHECK_INT(jobs_put(broker, "t", "x", NULL), ==, 1201);
    weir_broker_close(broker);
    broker = jobs_store_open("jobs.db", &wall);
    CHECK_COUNTS(broker, "t", 0, 1200, 0, 0);
    struct weiri_store *store = broker->store;
    CHECK_STATUS(weiri_repair_indexes(store, NULL), WEIR_OK); /* leaves pages unused */
    (void)repair(broker);
    CHECK_STATUS(weir_broker_check(broker, no_problem, NULL, NULL), WEIR_OK);
    weir_broker_close(broker);
}

static int keep_reason(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, WEIR_REASON_SIZE, "%s %s", job->id, job->reason);
    return 0;
}

TEST(damaged, "damaged bodies bury their jobs, what has no job is deleted")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options delayed = {0};
    delayed.delay_ns = WEIR_SECONDS(5);
    for (int i = 0; i < 4; i++) {
        (void)jobs_put(broker, "t", "body", i == 3 ? &delayed : NULL);
    }
    struct weiri_reservation *job = jobs_reserve_one(broker, "t"); /* 1 */
    run("UPDATE jobs SET body = x'00' WHERE id IN (1, 2, 4); "
        "INSERT INTO bodies(id, body) VALUES(77, x'00'); "
        "INSERT INTO throttles(tube, key, job, until) VALUES(1, 'l', 88, 0)");
    struct weir_repair_counts counts = repair(broker);
    CHECK_INT(counts.jobs, ==, 4);
    CHECK_INT(counts.damaged, ==, 3);
    CHECK_INT(counts.orphans, ==, 1);
    CHECK_COUNTS(broker, "t", 0, 1, 1, 2);
    char reason[WEIR_REASON_SIZE + 10] = "";
    CHECK_STATUS(weir_broker_peek(broker, "t", WEIR_JOB_BURIED, 1, keep_reason, reason, NULL),
                 WEIR_OK);
    CHECK_STRING(reason, "2 its body is damaged: the checksum does not match");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(state,
     "jobs in no known state, and those that wait with a verdict, are buried with the reason")
{
    static const char *const changes[] = {JOBS_FLIP_STATE,
                                          "UPDATE jobs SET state = 0",
                                          "UPDATE jobs SET state = 2, verdict = 3",
                                          "UPDATE jobs SET verdict = 9",
                                          "UPDATE jobs SET state = 6",
                                          "UPDATE jobs SET state = 5, outcome = 0"};
    static const int numbers[][2] = {{10, 0}, {0, 0}, {2, 3}, {4, 9}, {6, 0}, {5, 0}};
    for (int64_t i = 0; i < 6; i++) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        (void)jobs_put(broker, "t", "x", NULL);
        weir_broker_close(broker);
        run(changes[i]);
        broker = jobs_store_open("jobs.db", &wall);
        struct weir_repair_counts counts = repair(broker);
        CHECK_INT(counts.jobs, ==, i + 1);
        CHECK_INT(counts.damaged, ==, i + 1);
        CHECK_COUNTS(broker, "t", 0, 0, 0, i + 1);
        char reason[WEIR_REASON_SIZE + 10] = "";
        char expected[WEIR_REASON_SIZE];
        (void)snprintf(expected, sizeof(expected),
                       "its row was damaged: state %d, verdict %d and outcome 0 do not fit",
                       numbers[i][0], numbers[i][1]);
        CHECK_STATUS(weir_broker_peek(broker, "t", WEIR_JOB_BURIED, 1, keep_reason, reason, NULL),
                     WEIR_OK);
        CHECK_STRING(reason + strlen("1 "), expected);
        CHECK_STATUS(weir_broker_check(broker, no_problem, NULL, NULL), WEIR_OK);
        weir_broker_close(broker);
    }
}

TEST(ended, "a job that has ended does not run again, whatever becomes of its state")
{
    static const struct weir_tube_policy archive = {.keep_ns = WEIR_FOREVER};
    static const char *const tubes[] = {"kept", "t", "t", "t"};
    static const int states[] = {0, 1, 2, 3, 4, 7, 10};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_STATUS(weir_broker_set_policy(broker, "kept", &archive, NULL), WEIR_OK);
    for (size_t i = 0; i < 4; i++) {
        (void)jobs_put(broker, tubes[i], "x", NULL);
        if (i < 2) {
            struct weiri_reservation *job = jobs_reserve_one(broker, tubes[i]);
            CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
            jobs_free_one(broker, job);
        }
    }
    const char *ids[] = {"3"};
    CHECK_INT(jobs_remove(broker, ids, 1), ==, 1);
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        char sql[200];
        struct weir_tube_policy policy;
        struct weir_tube_policy_counts counts;
        (void)snprintf(sql, sizeof(sql), "UPDATE jobs SET state = %d WHERE id < 4", states[i]);
        run(sql);
        CHECK_INT(repair(broker).damaged, ==, 3);
        CHECK_COUNTS(broker, "kept", 0, 0, 0, 0);
        CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
        CHECK_STATUS(weir_broker_policy(broker, "kept", &policy, &counts, NULL), WEIR_OK);
        CHECK_INT(counts.ended, ==, 1);
        CHECK_STATUS(weir_broker_check(broker, no_problem, NULL, NULL), WEIR_OK);
    }
    weir_broker_close(broker);
}

TEST(numbers,
     "a damaged number of one row stops neither its tube nor a repair, and no job runs twice")
{
    static const char *const changes[] = {
        "UPDATE jobs SET attempts_max = -1 WHERE id = 1",
        "UPDATE jobs SET lost = -7 WHERE id = 1",
        "UPDATE jobs SET lost = 1 << 40 WHERE id = 1",
        "UPDATE jobs SET attempts = -1 WHERE id = 1",
        "UPDATE jobs SET token = -2 WHERE id = 1",
        "UPDATE jobs SET ttr = 0 WHERE id = 1",
        "UPDATE jobs SET progress = 101 WHERE id = 1",
    };
    for (size_t i = 0; i < 2 * sizeof(changes) / sizeof(changes[0]); i++) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        (void)jobs_put(broker, "t", "x", NULL);
        (void)jobs_put(broker, "t", "x", NULL);
        weir_broker_close(broker);
        run(changes[i / 2]);
        broker = jobs_store_open("jobs.db", &wall);
        if (i % 2 == 0) {
            CHECK_INT(repair(broker).damaged, ==, 1);
            CHECK_STATUS(weir_broker_check(broker, no_problem, NULL, NULL), WEIR_OK);
        }
        for (int runs = 0; runs < 2; runs++) {
            struct weiri_reservation *job = jobs_reserve_one(broker, "t");
            CHECK_INT(job->job.attempts, ==, 1);
            CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
            jobs_free_one(broker, job);
        }
        CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
        weir_broker_close(broker);
        jobs_store_remove("jobs.db");
    }
}

TEST(renumbered,
     "a row with an id that is too high gets one that no job had, with its body and its "
     "attempts")
{
    static char body[5000];
    const struct weiri_run_end end = {.outcome = WEIR_RUN_RETRY};
    memset(body, 'x', sizeof(body) - 1);
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", body, NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_fail(broker, job, WEIRI_JOB_RELEASE, "why", &end), WEIR_OK);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
    run("UPDATE meta SET floor = 10; UPDATE jobs SET id = (1 << 62) + 1; "
        "UPDATE bodies SET id = (1 << 62) + 1; UPDATE attempts SET job = (1 << 62) + 1");
    broker = jobs_store_open("jobs.db", &wall);
    CHECK_INT(repair(broker).orphans, ==, 0);
    job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->number, ==, 11);
    CHECK_INT(job->job.body_size, ==, sizeof(body) - 1);
    int count = 0;
    CHECK_STATUS(weir_broker_attempts(broker, "11", count_attempt, &count, NULL), WEIR_OK);
    CHECK_INT(count, ==, 1);
    jobs_free_one(broker, job);
    CHECK_INT(jobs_put(broker, "t", "x", NULL), ==, 12);
    weir_broker_close(broker);
}

static uint64_t bytes(void)
{
    struct stat facts;
    CHECK_INT(stat("jobs.db", &facts), ==, 0);
    return (uint64_t)facts.st_size;
}

TEST(shrink, "a store that was large gives the space back, and is the same")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    weir_broker *other = jobs_store_open("jobs.db", &wall);
    static char large[100000];
    memset(large, 'x', sizeof(large) - 1);
    for (int i = 0; i < 100; i++) {
        (void)jobs_put(broker, "t", large, NULL);
    }
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 99, 1000, &list);
    CHECK_INT(exchange.reserved_count, ==, 99);
    for (struct weiri_list *link = list.next; link != &list; link = link->next) {
        CHECK_STATUS(jobs_settle(broker, WEIRI_CONTAINER(link, struct weiri_reservation, link),
                                 WEIRI_JOB_DONE, 0, NULL),
                     WEIR_OK);
    }
    jobs_free(broker, &list);
    uint64_t before = 0;
    uint64_t after = 0;
    CHECK_STATUS(weir_broker_shrink(broker, &before, &after, NULL), WEIR_OK);
    CHECK_INT(before, >, 5000000);
    CHECK_INT(after, <, 1000000);
    CHECK_INT(bytes(), ==, after);
    CHECK_COUNTS(other, "t", 0, 1, 0, 0);
    CHECK_INT(jobs_put(other, "t", "x", NULL), ==, 101);
    CHECK_STATUS(weir_broker_shrink(broker, NULL, NULL, NULL), WEIR_OK);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->job.body_size, ==, sizeof(large) - 1);
    jobs_free_one(broker, job);
    weir_broker_close(other);
    weir_broker_close(broker);
    /* With its log, which was removed with the last connection, and without. */
    broker = jobs_store_open("jobs.db", &wall);
    CHECK_COUNTS(broker, "t", 0, 1, 1, 0);
    weir_broker_close(broker);
}

TEST(failing, "whichever write fails, repair and shrink change nothing, and the store goes on")
{
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (int i = 0; i < 20; i++) {
        (void)jobs_put(broker, "t", "body", NULL);
    }
    int failures = 0;
    for (int which = 0; which < 2; which++) {
        bool has_failed = true;
        for (int nth = 0; has_failed; nth++) {
            struct weir_repair_counts counts;
            fault_arm(FAULT_WRITE | FAULT_SYNC, nth, false, SQLITE_IOERR_WRITE);
            enum weir_status status = which == 0 ? weir_broker_repair(broker, &counts, NULL)
                                                 : weir_broker_shrink(broker, NULL, NULL, NULL);
            has_failed = fault.failed > 0;
            fault_disarm();
            failures += status != WEIR_OK;
            CHECK(status == WEIR_OK || status == WEIR_EIO);
            CHECK_COUNTS(broker, "t", 0, 20, 0, 0);
        }
    }
    CHECK_INT(failures, >, 5);
    weir_broker_close(broker);
    broker = jobs_store_open("jobs.db", &wall);
    CHECK_INT(repair(broker).jobs, ==, 20);
    weir_broker_close(broker);
}
