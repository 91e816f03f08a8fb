/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/row.h"

#include <sys/wait.h>
#include <unistd.h>

#include "support/changes.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"
#include "support/store_query.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

/* The attempts of a job as they were told. */
struct told {
    size_t count;
    struct weir_attempt attempts[WEIR_ATTEMPTS_MAX + 1];
    char reason[WEIR_REASON_SIZE]; /* of the last one */
    char tail[WEIR_TAIL_SIZE];
};

static int keep(const struct weir_attempt *attempt, void *arg)
{
    struct told *told = arg;
    CHECK_INT(told->count, <=, WEIR_ATTEMPTS_MAX);
    told->attempts[told->count++] = *attempt;
    (void)snprintf(told->reason, sizeof(told->reason), "%s", attempt->reason);
    (void)snprintf(told->tail, sizeof(told->tail), "%s", attempt->tail);
    return 0;
}

static struct told attempts_of(weir_broker *broker, const char *id)
{
    struct told told = {.count = 0};
    CHECK_STATUS(weir_broker_attempts(broker, id, keep, &told, NULL), WEIR_OK);
    return told;
}

static int keep_outcome(const struct weir_job *job, void *arg)
{
    *(enum weir_run_outcome *)arg = job->last_outcome;
    return 0;
}

static enum weir_run_outcome last_outcome(weir_broker *broker, const char *id)
{
    enum weir_run_outcome outcome = WEIR_RUN_RETURNED;
    CHECK_STATUS(weir_broker_peek_id(broker, id, keep_outcome, &outcome, NULL), WEIR_OK);
    return outcome;
}

/* The rows of all jobs that have not ended. */
static int64_t rows(weir_broker *broker)
{
    return query(broker, "SELECT count(*) FROM attempts JOIN jobs ON id = job WHERE state < 5");
}

static void fail_once(weir_broker *broker, enum weiri_job_event event,
                      enum weir_run_outcome outcome)
{
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    jobs_wall_step(&clocks.wall, WEIR_SECONDS(2));
    const struct weiri_run_end end = {
        .outcome = outcome, .status = 1003, .exit_status = 3, .signal = 0, .tail = "no such\nfile"};
    char reason[WEIR_REASON_SIZE];
    (void)snprintf(reason, sizeof(reason), "attempt %u: exit status 3", job->job.attempts);
    CHECK_STATUS(jobs_fail(broker, job, event, reason, &end), WEIR_OK);
    jobs_free_one(broker, job);
}

TEST(kept, "a run that failed leaves its times, its worker, its end and its last output")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_INT(attempts_of(broker, "1").count, ==, 0);
    CHECK_INT(last_outcome(broker, "1"), ==, 0);
    int64_t start = jobs_clocks_wall(&clocks);
    fail_once(broker, WEIRI_JOB_RELEASE, WEIR_RUN_RETRY);
    CHECK_INT(last_outcome(broker, "1"), ==, WEIR_RUN_RETRY);
    fail_once(broker, WEIRI_JOB_BURY, WEIR_RUN_BURIED);
    CHECK_INT(last_outcome(broker, "1"), ==, WEIR_RUN_BURIED);
    struct told told = attempts_of(broker, "1");
    CHECK_INT(told.count, ==, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct weir_attempt *attempt = &told.attempts[i];
        CHECK_INT(attempt->number, ==, i + 1);
        CHECK_INT(attempt->outcome, ==, i == 0 ? WEIR_RUN_RETRY : WEIR_RUN_BURIED);
        CHECK_INT(attempt->started_ns, ==, start + (int64_t)i * WEIR_SECONDS(2));
        CHECK_INT(attempt->ended_ns, ==, attempt->started_ns + WEIR_SECONDS(2));
        CHECK_INT(attempt->owner, ==, getpid());
        CHECK_INT(attempt->status, ==, 1003);
        CHECK_INT(attempt->exit_status, ==, 3);
        CHECK_INT(attempt->signal, ==, 0);
    }
    CHECK_STRING(told.reason, "exit status 3");
    CHECK_STRING(told.tail, "no such\nfile");
    weir_broker_close(broker);
}

TEST(bounded, "the first attempt and the last ones are kept, however many there are")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    for (uint32_t number = 1; number <= 3 * WEIR_ATTEMPTS_MAX; number++) {
        fail_once(broker, WEIRI_JOB_RELEASE, WEIR_RUN_RETRY);
        struct told told = attempts_of(broker, "1");
        size_t expected = number < WEIR_ATTEMPTS_MAX ? number : WEIR_ATTEMPTS_MAX;
        CHECK_INT(told.count, ==, expected);
        CHECK_INT(rows(broker), ==, expected);
        CHECK_INT(told.attempts[0].number, ==, 1);
        for (size_t i = 1; i < expected; i++) {
            CHECK_INT(told.attempts[i].number, ==, number - expected + i + 1);
        }
    }
    weir_broker_close(broker);
}

TEST(removed, "attempts go with their job: done, or removed; a first success leaves none")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    for (int failures = 0; failures < 3; failures++) {
        for (int is_done = 0; is_done < 2; is_done++) {
            struct weir_job_id id;
            weiri_number_format(jobs_put(broker, "t", "x", NULL), &id);
            const char *ids[] = {id.text};
            for (int i = 0; i < failures; i++) {
                fail_once(broker, WEIRI_JOB_RELEASE, WEIR_RUN_RETRY);
            }
            CHECK_INT(rows(broker), ==, failures);
            if (is_done) {
                struct weiri_reservation *job = jobs_reserve_one(broker, "t");
                CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
                jobs_free_one(broker, job);
            } else {
                CHECK_INT(jobs_remove(broker, ids, 1), ==, 1);
            }
            CHECK_INT(rows(broker), ==, 0);
        }
    }
    weir_broker_close(broker);
}

TEST(worker_gone, "a lease that ends leaves an attempt that was lost, also the job's last one")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    struct weiri_reservation *first = jobs_reserve_one(broker, "t");
    int64_t start = jobs_clocks_wall(&clocks);
    for (size_t i = 1; i <= 2; i++) {
        jobs_wall_step(&clocks.wall, WEIR_SECONDS(60));
        jobs_wall_step(&clocks.lease, WEIR_SECONDS(60));
        struct weiri_list list;
        struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 2, &list);
        CHECK_INT(exchange.reserved_count, ==, 2 - i);
        jobs_free(broker, &list);
        struct told told = attempts_of(broker, "1");
        CHECK_INT(told.count, ==, i);
        CHECK_INT(told.attempts[i - 1].outcome, ==, WEIR_RUN_LOST);
        CHECK_INT(told.attempts[i - 1].started_ns, ==, start + (int64_t)(i - 1) * WEIR_SECONDS(60));
        CHECK_INT(told.attempts[i - 1].ended_ns, ==, start + (int64_t)i * WEIR_SECONDS(60));
        CHECK_INT(told.attempts[i - 1].owner, ==, getpid());
        CHECK(strstr(told.reason, "the worker died") != NULL);
    }
    /* The late worker's settlement is refused, and leaves none. */
    const struct weiri_run_end end = {.outcome = WEIR_RUN_RETRY};
    CHECK_STATUS(jobs_fail(broker, first, WEIRI_JOB_RELEASE, "late", &end), WEIR_ELEASELOST);
    jobs_free_one(broker, first);
    CHECK_INT(attempts_of(broker, "1").count, ==, 2);
    CHECK_INT(last_outcome(broker, "1"), ==, WEIR_RUN_LOST);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 1);
    weir_broker_close(broker);
}

TEST(not_counted, "a job that is given back, touched, buried by hand or kicked leaves no attempt")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RETURN, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    const char *ids[] = {"1"};
    enum weir_status status;
    CHECK_STATUS(change_bury(broker, ids, 1, "by hand", &status, NULL), WEIR_OK);
    CHECK_STATUS(change_kick(broker, ids, 1, &status, NULL), WEIR_OK);
    CHECK_INT(attempts_of(broker, "1").count, ==, 0);
    weir_broker_close(broker);
}

static int keep_state(const struct weir_job *job, void *arg)
{
    *(enum weir_job_state *)arg = job->state;
    return 0;
}

/* Buries the job of a store in a process that is killed at its nth write or sync. False: it ended.
 */
static bool bury_killed_at(int nth)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
        fault_arm(FAULT_WRITE | FAULT_SYNC | FAULT_TRUNCATE, nth, false, SQLITE_IOERR);
        fault.is_deadly = true;
        fail_once(broker, WEIRI_JOB_BURY, WEIR_RUN_BURIED);
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

TEST(killed, "a process killed at any write leaves a settled run with its attempt, or neither")
{
    fault_install();
    int with = 0;
    int without = 0;
    bool was_killed = true;
    for (int nth = 0; was_killed; nth++) {
        weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
        struct weir_job_id id;
        weiri_number_format(jobs_put(broker, "t", "x", NULL), &id);
        weir_broker_close(broker);
        was_killed = bury_killed_at(nth);
        broker = jobs_store_open_on("jobs.db", &clocks, "a");
        enum weir_job_state state = WEIRI_JOB_GONE;
        CHECK_STATUS(weir_broker_peek_id(broker, id.text, keep_state, &state, NULL), WEIR_OK);
        bool is_buried = state == WEIR_JOB_BURIED;
        CHECK_INT(attempts_of(broker, id.text).count, ==, is_buried);
        with += is_buried;
        without += !is_buried;
        const char *ids[] = {id.text};
        if (!is_buried) {
            /* Its holder is gone. */
            jobs_wall_step(&clocks.lease, WEIR_SECONDS(60));
            struct weiri_reservation *job = jobs_reserve_one(broker, "t");
            CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
            jobs_free_one(broker, job);
        } else {
            CHECK_INT(jobs_remove(broker, ids, 1), ==, 1);
        }
        CHECK_INT(rows(broker), ==, 0);
        weir_broker_close(broker);
    }
    CHECK_INT(with, >, 0);
    CHECK_INT(without, >, 2);
}

static int stop(const struct weir_attempt *attempt, void *arg)
{
    (void)attempt;
    ++*(int *)arg;
    return 1;
}

TEST(asked, "a callback can end the list; bad ids and jobs that are not there are refused")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    fail_once(broker, WEIRI_JOB_RELEASE, WEIR_RUN_RETRY);
    fail_once(broker, WEIRI_JOB_RELEASE, WEIR_RUN_RETRY);
    int calls = 0;
    CHECK_STATUS(weir_broker_attempts(broker, "1", stop, &calls, NULL), WEIR_OK);
    CHECK_INT(calls, ==, 1);
    struct weir_error error;
    CHECK_STATUS(weir_broker_attempts(broker, "2", stop, &calls, &error), WEIR_ENOTFOUND);
    CHECK_STRING(error.text, "there is no job 2");
    CHECK_STATUS(weir_broker_attempts(broker, "x", stop, &calls, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_attempts(broker, NULL, stop, &calls, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_attempts(broker, "1", NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_attempts(NULL, "1", stop, &calls, NULL), WEIR_EINVAL);
    CHECK_INT(calls, ==, 1);
    CHECK_STRING(weir_job_outcome_name(WEIR_RUN_LOST), "lost");
    CHECK_STRING(weir_job_outcome_name((enum weir_run_outcome)0), "?");
    CHECK_STRING(weir_job_outcome_name(WEIR_RUN_CANCELED), "canceled");
    CHECK_STRING(weir_job_outcome_name((enum weir_run_outcome)9), "?");
    weir_broker_close(broker);
}
