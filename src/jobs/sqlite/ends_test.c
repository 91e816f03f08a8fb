/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs that have ended: stubs, which nobody finds, and how rows leave. */
#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/row.h"
#include "support/changes.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"
#include "support/store_query.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* Runs a job of the tube t, which is retried so often first. */
static void finish(weir_broker *broker, int failures)
{
    const struct weiri_run_end end = {.outcome = WEIR_RUN_RETRY, .status = WEIR_EUSER};
    for (int i = 0; i < failures; i++) {
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_STATUS(jobs_fail(broker, job, WEIRI_JOB_RELEASE, "why", &end), WEIR_OK);
        jobs_free_one(broker, job);
    }
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, "result"), WEIR_OK);
    jobs_free_one(broker, job);
}

static int count_job(const struct weir_job *job, void *arg)
{
    (void)job;
    ++*(int *)arg;
    return 0;
}

static int count_attempt(const struct weir_attempt *attempt, void *arg)
{
    (void)attempt;
    ++*(int *)arg;
    return 0;
}

static void expect_unfound(weir_broker *broker, const char *id)
{
    int found = 0;
    bool was_put = false;
    enum weir_status status;
    CHECK_STATUS(weir_broker_peek_id(broker, id, count_job, &found, NULL), WEIR_ENOTFOUND);
    CHECK_STATUS(weir_broker_attempts(broker, id, count_attempt, &found, NULL), WEIR_ENOTFOUND);
    for (int state = 0; state <= WEIR_JOB_ENDED; state++) {
        struct weir_job_filter filter = {0};
        filter.state = (enum weir_job_state)state;
        CHECK_STATUS(weir_broker_list(broker, &filter, count_job, &found, NULL), WEIR_OK);
        CHECK_STATUS(weir_broker_peek(broker, "t", filter.state, 9, count_job, &found, NULL),
                     WEIR_OK);
    }
    CHECK_INT(found, ==, 0);
    CHECK_STATUS(change_kick(broker, &id, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_ENOTFOUND);
    CHECK_STATUS(change_bury(broker, &id, 1, NULL, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_ENOTFOUND);
    CHECK_INT(jobs_remove(broker, &id, 1), ==, 0);
    CHECK_STATUS(weir_broker_was_put(broker, id, &was_put, NULL), WEIR_OK);
    CHECK(was_put);
}

TEST(stub, "a job that was done or deleted leaves a row without texts, which nobody finds")
{
    const struct weir_put_options options = {
        .key = "k", .group = "g", .put_id = "p", .headers = "a=b\n"};
    const char *second = "2";
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    jobs_keep_none(broker, "t");
    CHECK_INT(jobs_put(broker, "t", "body", &options), ==, 1);
    finish(broker, 1);
    expect_unfound(broker, "1");
    CHECK_INT(jobs_put(broker, "t", "body", &options), ==, 2);
    CHECK_INT(jobs_remove(broker, &second, 1), ==, 1);
    expect_unfound(broker, "1");
    expect_unfound(broker, "2");
    CHECK_INT(query(broker,
                    "SELECT count(*) FROM jobs WHERE state = 6 AND outcome = 6 * id - 5 AND "
                    "\"group\" IS NULL AND reason = '' AND body IS NULL AND told IS "
                    "NULL"),
              ==, 2);
    CHECK_INT(query(broker, "SELECT count(*) FROM bodies"), ==, 0);
    CHECK_INT(query(broker, "SELECT count(key) FROM jobs WHERE state = 6"), ==, 0);
    CHECK_INT(jobs_put(broker, "t", "other", &options), ==, 3);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
}

TEST(lumps, "rows leave some hundred at a time, with all that belongs to them, and totals stay")
{
    enum {
        JOBS = 3000
    };
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    jobs_keep_none(broker, "t");
    int64_t most = 0;
    for (int i = 1; i <= JOBS; i++) {
        char id[20];
        const char *ids[] = {id};
        (void)snprintf(id, sizeof(id), "%" PRId64, jobs_put(broker, "t", "x", NULL));
        if (i % 2 == 0) {
            finish(broker, i % 50 == 0);
        } else {
            CHECK_INT(jobs_remove(broker, ids, 1), ==, 1);
        }
        int64_t rows = query(broker, "SELECT count(*) FROM jobs");
        most = rows > most ? rows : most;
    }
    CHECK_INT(most, >, 100);
    CHECK_INT(most, <, JOBS / 2);
    CHECK_INT(query(broker, "SELECT count(*) FROM attempts WHERE job NOT IN (SELECT id FROM jobs)"),
              ==, 0);
    CHECK_INT(query(broker, "SELECT count(*) FROM bodies"), ==, 0);
    CHECK_INT(jobs_counts(broker, "t").put, ==, JOBS);
    CHECK_INT(jobs_counts(broker, "t").done, ==, JOBS / 2);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    weir_broker_close(broker);
}

TEST(bodies, "large bodies, which stand apart, leave with what an archive keeps no longer")
{
    static char large[6000];
    const struct weir_body body = {large, sizeof(large), NULL};
    struct weir_tube_policy policy = {.archive = 1};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_OK);
        finish(broker, 1);
    }
    CHECK_INT(query(broker, "SELECT count(*) FROM bodies"), ==, 3);
    policy.keep_count = 1;
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
    CHECK_INT(query(broker, "SELECT count(*) FROM bodies"), ==, 1);
    CHECK_INT(query(broker, "SELECT count(*) FROM attempts WHERE job < 3"), ==, 0);
    weir_broker_close(broker);
}

static void remove_jobs(weir_broker *broker, int64_t first, size_t count)
{
    char texts[8][20];
    const char *ids[8];
    CHECK_INT(count, <=, 8);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%" PRId64, first + (int64_t)i);
        ids[i] = texts[i];
    }
    CHECK_INT(jobs_remove(broker, ids, count), ==, count);
}

TEST(quiet, "of tubes where few jobs end, however many there are, no more rows stay than of one")
{
    enum {
        TUBES = 1500
    };
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    for (int i = 0; i < TUBES; i++) {
        char tube[20];
        (void)snprintf(tube, sizeof(tube), "t%d", i);
        int64_t number = jobs_put(broker, tube, "x", NULL);
        remove_jobs(broker, number, 1);
        remove_jobs(broker, number, 1); /* what is kept of it */
    }
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs"), <, TUBES * 2 / 3);
    weir_broker_close(broker);
}

static void end_others(weir_broker *broker)
{
    for (int i = 0; i < 1500; i++) {
        remove_jobs(broker, jobs_put(broker, "busy", "x", NULL), 1);
    }
}

#define KEPT_IN(tube)                                                                              \
    "SELECT count(*) FROM jobs WHERE state = 5 AND tube IN (SELECT id FROM tubes WHERE name LIKE " \
    "'" tube "')"

TEST(passed,
     "what tubes keep no longer leaves as jobs of others end, behind any number of jobs that "
     "wait; not before its put_id counts no more")
{
    const struct weir_tube_policy for_ever = {.keep_ns = WEIR_FOREVER};
    const struct weir_tube_policy minute = {.keep_ns = WEIR_SECONDS(60)};
    const struct weir_put_options named = {.put_id = "p"};
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    jobs_keep_none(broker, "busy");
    for (int i = 0; i < 600; i++) {
        (void)jobs_put(broker, "waits", "x", NULL);
    }
    for (int i = 0; i < 20; i++) {
        char tube[20];
        (void)snprintf(tube, sizeof(tube), "quiet%d", i);
        remove_jobs(broker, jobs_put(broker, tube, "x", NULL), 1);
    }
    CHECK_STATUS(weir_broker_set_policy(broker, "long", &for_ever, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &minute, NULL), WEIR_OK);
    remove_jobs(broker, jobs_put(broker, "long", "x", NULL), 1);
    jobs_wall_step(&wall, WEIR_SECONDS(6 * 24 * 3600));
    end_others(broker);
    CHECK_INT(query(broker, KEPT_IN("quiet%")), ==, 20);
    (void)jobs_put(broker, "t", "x", &named);
    finish(broker, 0);
    jobs_wall_step(&wall, WEIR_SECONDS(24 * 3600 - 100));
    (void)jobs_put(broker, "t", "y", NULL);
    finish(broker, 0);
    jobs_wall_step(&wall, WEIR_SECONDS(200));
    end_others(broker);
    CHECK_INT(query(broker, KEPT_IN("quiet%")), ==, 0);
    CHECK_INT(query(broker, KEPT_IN("t")), ==, 0);
    CHECK_INT(query(broker, KEPT_IN("long")), ==, 1);
    CHECK_INT(jobs_counts(broker, "waits").ready, ==, 600);
    (void)jobs_put(broker, "t", "z", &(struct weir_put_options){.put_id = "q"});
    finish(broker, 0);
    jobs_wall_step(&wall, WEIR_SECONDS(300));
    end_others(broker);
    CHECK_INT(query(broker, KEPT_IN("t")), ==, 1);
    jobs_wall_step(&wall, WEIR_SECONDS(301));
    end_others(broker);
    CHECK_INT(query(broker, KEPT_IN("t")), ==, 0);
    weir_broker_close(broker);
}

TEST(policy, "a new policy is one transaction, whatever has ended, where no archive is to be cut")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    for (int i = 0; i < 3; i++) {
        remove_jobs(broker, jobs_put(broker, "t", "x", NULL), 1);
    }
    uint64_t before = store->transactions;
    jobs_keep_none(broker, "t");
    CHECK_INT(store->transactions - before, ==, 1);
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs"), ==, 0);
    weir_broker_close(broker);
}

TEST(emptied, "a policy that keeps less has deleted all that it says when it returns, bodies too")
{
    enum {
        JOBS = 400
    };
    static char large[3500];
    const struct weir_body body = {large, sizeof(large), NULL};
    const struct weir_tube_policy policy = {.keep_ns = WEIR_FOREVER, .archive = 1};
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    jobs_keep_none(broker, "other");
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
    for (int i = 0; i < JOBS; i++) {
        CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_OK);
        finish(broker, 0);
    }
    while (query(broker, "SELECT count(*) FROM jobs WHERE state = 6") < 120) {
        remove_jobs(broker, jobs_put(broker, "other", "x", NULL), 1);
    }
    jobs_keep_none(broker, "t");
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs"), ==, 0);
    CHECK_INT(query(broker, "SELECT count(*) FROM bodies"), ==, 0);
    weir_broker_close(broker);
}

TEST(full_disk, "on a full disk each transaction with ends deletes rows, as few as fit, and once")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    jobs_keep_none(broker, "t");
    struct weiri_store *store = broker->store;
    for (int i = 1; i <= 8; i++) {
        CHECK_INT(jobs_put(broker, "t", "x", NULL), ==, i);
    }
    remove_jobs(broker, 1, 4);
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs"), ==, 8);
    store->is_full = true;
    store->promote_max = 2;
    remove_jobs(broker, 5, 3);
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs"), ==, 6);
    store->is_full = false;
    weir_broker_close(broker);
}

/* Cuts the archive of t in a process that is killed at its nth write or sync. False: it ended. */
static bool cut_killed_at(int nth)
{
    const struct weir_tube_policy policy = {.keep_ns = WEIR_FOREVER, .keep_count = 10};
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        fault_arm(FAULT_WRITE | FAULT_SYNC | FAULT_TRUNCATE, nth, false, SQLITE_IOERR);
        fault.is_deadly = true;
        CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

TEST(killed, "of a lump that a kill ends all rows have left, with all that is theirs, or none")
{
    enum {
        JOBS = 60
    };
    const struct weir_tube_policy policy = {.keep_ns = WEIR_FOREVER};
    uint64_t put = 0;
    int all = 0;
    int none = 0;
    bool was_killed = true;
    fault_install();
    for (int nth = 0; was_killed; nth++) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
        while (query(broker, "SELECT count(*) FROM jobs WHERE state = 5") < JOBS) {
            CHECK_INT(jobs_put(broker, "t", "x", NULL), >, 0);
            finish(broker, put++ % 2 == 0);
        }
        weir_broker_close(broker);
        was_killed = cut_killed_at(nth);
        broker = jobs_store_open("jobs.db", &wall);
        int64_t rows = query(broker, "SELECT count(*) FROM jobs");
        CHECK(rows == JOBS || rows == 10);
        CHECK_INT(query(broker, "SELECT count(*) FROM jobs WHERE state = 5"), ==, rows);
        CHECK_INT(query(broker, "SELECT count(*) FROM attempts WHERE job NOT IN "
                                "(SELECT id FROM jobs)"),
                  ==, 0);
        CHECK_INT(query(broker, "SELECT count(*) FROM pragma_integrity_check "
                                "WHERE integrity_check = 'ok'"),
                  ==, 1);
        CHECK_INT(jobs_counts(broker, "t").put, ==, put);
        CHECK_INT(jobs_counts(broker, "t").done, ==, put);
        all += rows == 10;
        none += rows == JOBS;
        weir_broker_close(broker);
    }
    CHECK_INT(all, >, 1);
    CHECK_INT(none, >, 3);
}

TEST(totals,
     "totals and ids are the same before and after rows leave, and a move of tube takes its "
     "put with it")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    jobs_keep_none(broker, "t");
    char id[32];
    const char *const ids[] = {id};
    enum weir_status status;
    const struct weiri_change refile = {
        .event = WEIRI_JOB_REMOVE, .ids = ids, .count = 1, .statuses = &status, .tube = "u"};
    int64_t last = 0;
    for (int i = 0; i < 400; i++) {
        last = jobs_put(broker, "t", "x", NULL);
        CHECK_INT(last, ==, i + 1);
        finish(broker, 0);
        struct weir_tube_counts counts = jobs_counts(broker, "t");
        CHECK_INT(counts.put, ==, i + 1);
        CHECK_INT(counts.done, ==, i + 1);
    }
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs"), <, 400);
    (void)snprintf(id, sizeof(id), "%" PRId64, jobs_put(broker, "t", "x", NULL));
    CHECK_STATUS(weiri_store_change(broker->store, &refile, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_OK);
    CHECK_INT(jobs_counts(broker, "t").put, ==, 401);
    CHECK_INT(jobs_counts(broker, "u").put, ==, 0);
    CHECK_INT(query(broker, "DELETE FROM jobs WHERE id = 401 RETURNING id"), ==, 401);
    CHECK_INT(jobs_counts(broker, "u").put, ==, 0); /* though its row says one less */
    weir_broker_close(broker);
}

TEST(outcome_lost, "damage of a row that leaves ends no transaction of others")
{
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    jobs_keep_none(broker, "t");
    jobs_keep_none(broker, "u");
    (void)jobs_put(broker, "u", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "u");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, ""), WEIR_OK);
    jobs_free_one(broker, job);
    CHECK_INT(query(broker, "UPDATE jobs SET outcome = NULL WHERE state = 6 RETURNING id"), ==, 1);
    for (int i = 0; i < 300; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
        finish(broker, 0);
    }
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs WHERE id = 1"), ==, 0);
    weir_broker_close(broker);
}
