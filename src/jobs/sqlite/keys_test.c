/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/row.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/admin.h>
#include <weir/producer.h>

#include "support/changes.h"
#include "support/jobs.h"
#include "support/store_query.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

#define HOUR WEIR_SECONDS(3600)

/* A put with the key k. Returns the job's number; 0: it was refused. */
static int64_t put(weir_broker *broker, enum weir_duplicate mode, const char *body,
                   int64_t delay_ns)
{
    struct weir_put_options options = {0};
    options.key = "k";
    options.on_duplicate = mode;
    options.key_ns = mode == WEIR_DUPLICATE_THROTTLE ? 2 * HOUR : 0;
    options.delay_ns = delay_ns;
    options.priority = 5;
    const struct weir_body bytes = {body, strlen(body), NULL};
    struct weir_job_id id;
    struct weir_error error;
    enum weir_status status = weir_broker_put(broker, "t", &bytes, 1, &options, &id, &error);
    CHECK(status == WEIR_OK || status == WEIR_EBUSY);
    if (status == WEIR_EBUSY) {
        CHECK(strstr(error.text, " has the key \"k\"") != NULL);
    }
    return status == WEIR_OK ? (int64_t)strtoll(id.text, NULL, 10) : 0;
}

/* A job as it was seen. */
struct seen {
    enum weir_job_state state;
    char body[32];
    char key[8];
    int64_t run_at_ns;
    uint32_t attempts;
    int32_t priority;
};

static int keep(const struct weir_job *job, void *arg)
{
    struct seen *seen = arg;
    *seen = (struct seen){.state = job->state,
                          .run_at_ns = job->run_at_ns,
                          .attempts = job->attempts,
                          .priority = job->priority};
    CHECK_INT(job->body_size, ==, strlen(job->body));
    (void)snprintf(seen->body, sizeof(seen->body), "%s", (const char *)job->body);
    (void)snprintf(seen->key, sizeof(seen->key), "%s", job->key == NULL ? "" : job->key);
    return 0;
}

static struct seen see(weir_broker *broker, int64_t number)
{
    struct weir_job_id id;
    struct seen seen = {.state = WEIRI_JOB_GONE};
    weiri_number_format(number, &id);
    enum weir_status status = weir_broker_peek_id(broker, id.text, keep, &seen, NULL);
    CHECK(status == WEIR_OK || status == WEIR_ENOTFOUND);
    return seen;
}

static void pass(int64_t time_ns)
{
    jobs_wall_step(&clocks.wall, time_ns);
    jobs_wall_step(&clocks.lease, time_ns);
}

static int64_t keys(weir_broker *broker)
{
    return query(broker, "SELECT count(key) + count(next_put_id) + count(next_group) FROM jobs");
}

static int64_t throttles(weir_broker *broker)
{
    return query(broker, "SELECT count(*) FROM throttles");
}

TEST(waiting, "a put with the key of a job that waits: refused, or that job, renewed or earlier")
{
    static const struct {
        enum weir_duplicate mode;
        bool is_refused;
        bool is_renewed;
        bool is_earlier; /* where the new run time is */
    } modes[] = {{WEIR_DUPLICATE_REFUSE, true, false, false},
                 {WEIR_DUPLICATE_REPLACE, false, true, false},
                 {WEIR_DUPLICATE_KEEP, false, false, true},
                 {WEIR_DUPLICATE_DEBOUNCE, false, true, false},
                 {WEIR_DUPLICATE_THROTTLE, false, false, false},
                 {WEIR_DUPLICATE_AGAIN, false, false, true}};
    static const int64_t delays[] = {HOUR / 2, 2 * HOUR};
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    for (size_t i = 0; i < 12; i++) {
        int64_t now = jobs_clocks_wall(&clocks);
        int64_t delay = delays[i / 6];
        int64_t first = put(broker, modes[i % 6].mode, "first", HOUR);
        int64_t second = put(broker, modes[i % 6].mode, "second", delay);
        CHECK_INT(second, ==, modes[i % 6].is_refused ? 0 : first);
        struct seen seen = see(broker, first);
        CHECK_STRING(seen.key, "k");
        CHECK_STRING(seen.body, modes[i % 6].is_renewed ? "second" : "first");
        bool is_moved = modes[i % 6].is_renewed || (modes[i % 6].is_earlier && delay < HOUR);
        CHECK_INT(seen.run_at_ns - now, ==, is_moved ? delay : HOUR);
        CHECK_INT(seen.priority, ==, 5);
        CHECK_COUNTS(broker, "t", 1, 0, 0, 0);
        struct weir_job_id id;
        const char *text = id.text;
        weiri_number_format(first, &id);
        CHECK_INT(jobs_remove(broker, &text, 1), ==, 1);
        pass(3 * HOUR);
    }
    weir_broker_close(broker);
}

TEST(ready, "a job that is ready is renewed or left, and has no attempts then")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t number = put(broker, WEIR_DUPLICATE_REFUSE, "first", 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    const struct weiri_run_end end = {.outcome = WEIR_RUN_RETRY};
    CHECK_STATUS(jobs_fail(broker, job, WEIRI_JOB_RELEASE, "why", &end), WEIR_OK);
    jobs_free_one(broker, job);
    struct weir_why why;
    CHECK_STATUS(weir_broker_why(broker, "1", &why, NULL), WEIR_OK);
    CHECK(strstr(why.text, "; it has the key \"k\"") != NULL);
    CHECK_INT(put(broker, WEIR_DUPLICATE_REFUSE, "x", 0), ==, 0);
    CHECK_INT(put(broker, WEIR_DUPLICATE_KEEP, "x", HOUR), ==, number);
    CHECK_INT(put(broker, WEIR_DUPLICATE_AGAIN, "x", HOUR), ==, number);
    CHECK_INT(put(broker, WEIR_DUPLICATE_THROTTLE, "x", HOUR), ==, number);
    CHECK_STRING(see(broker, number).body, "first");
    CHECK_INT(see(broker, number).attempts, ==, 1);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    CHECK_INT(put(broker, WEIR_DUPLICATE_REPLACE, "second", 0), ==, number);
    CHECK_STRING(see(broker, number).body, "second");
    CHECK_INT(see(broker, number).attempts, ==, 0);
    CHECK_INT(put(broker, WEIR_DUPLICATE_DEBOUNCE, "third", HOUR), ==, number);
    CHECK_COUNTS(broker, "t", 1, 0, 0, 0);
    weir_broker_close(broker);
}

TEST(running, "a job that runs is left, refused, or runs once more after it has succeeded")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    static const enum weir_duplicate more[] = {WEIR_DUPLICATE_AGAIN, WEIR_DUPLICATE_DEBOUNCE};
    for (size_t i = 0; i < 2; i++) {
        int64_t number = put(broker, WEIR_DUPLICATE_REFUSE, "first", 0);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_INT(put(broker, WEIR_DUPLICATE_REFUSE, "x", 0), ==, 0);
        CHECK_INT(put(broker, WEIR_DUPLICATE_REPLACE, "x", 0), ==, 0);
        CHECK_INT(put(broker, WEIR_DUPLICATE_KEEP, "x", 0), ==, number);
        CHECK_INT(put(broker, WEIR_DUPLICATE_THROTTLE, "x", 0), ==, number);
        CHECK_INT(put(broker, more[i], "x", 0), ==, number);
        CHECK_INT(put(broker, more[i], "second", i == 0 ? 0 : HOUR), ==, number);
        CHECK_COUNTS(broker, "t", 0, 0, 1, 0);
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        jobs_free_one(broker, job);
        CHECK_COUNTS(broker, "t", i, 1 - i, 0, 0);
        pass(HOUR);
        job = jobs_reserve_one(broker, "t");
        CHECK_INT(job->number, ==, number);
        CHECK_INT(job->job.attempts, ==, 1);
        CHECK_INT(memcmp(job->job.body, "second", 6), ==, 0);
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        jobs_free_one(broker, job);
        CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
        CHECK_INT(keys(broker), ==, 0);
        struct weir_tube_counts counts = jobs_counts(broker, "t");
        CHECK_INT(counts.done, ==, 2 * (i + 1));
        CHECK_INT(counts.put, ==, counts.done);
    }
    weir_broker_close(broker);
}

TEST(failed, "what was put during a run that failed for good runs, and its attempts begin anew")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    const struct weiri_run_end end = {.outcome = WEIR_RUN_BURIED};
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        int64_t number = put(broker, WEIR_DUPLICATE_REFUSE, "first", 0);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_INT(put(broker, WEIR_DUPLICATE_AGAIN, "second", 0), ==, number);
        struct weiri_list list;
        if (is_gone) {
            pass(WEIR_SECONDS(60));
            (void)jobs_reserve(broker, "t", 1, 1, &list);
            CHECK_INT(jobs_counts(broker, "t").expired, ==, 1);
        } else {
            CHECK_STATUS(jobs_fail(broker, job, WEIRI_JOB_BURY, "why", &end), WEIR_OK);
            (void)jobs_reserve(broker, "t", 1, 1, &list);
        }
        jobs_free_one(broker, job);
        job = jobs_first(&list);
        CHECK_INT(job->number, ==, number);
        CHECK_INT(job->job.attempts, ==, 1);
        CHECK_INT(memcmp(job->job.body, "second", 6), ==, 0);
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        jobs_free(broker, &list);
        CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
        CHECK_INT(keys(broker), ==, 0);
    }
    struct weiri_store *store = broker->store;
    int64_t number = 1;
    int64_t attempt = 0; /* of the second run alone */
    CHECK(weiri_sql_find(&store->writer, WEIRI_SQL_ATTEMPTS, WEIRI_VALUES(number), &attempt));
    CHECK_INT(attempt, ==, 1);
    weir_broker_close(broker);
}

TEST(never_early, "a body that was put during a run that fails or is lost waits for its time")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    static const enum weiri_job_event ends[] = {WEIRI_JOB_RELEASE, WEIRI_JOB_RETURN,
                                                WEIRI_JOB_LOSE};
    for (size_t i = 0; i < 3; i++) {
        (void)put(broker, WEIR_DUPLICATE_REFUSE, "first", 0);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        (void)put(broker, WEIR_DUPLICATE_DEBOUNCE, "second", HOUR);
        struct weiri_list list;
        if (ends[i] == WEIRI_JOB_LOSE) {
            pass(WEIR_SECONDS(60));
        } else {
            CHECK_STATUS(jobs_settle(broker, job, ends[i], 0, NULL), WEIR_OK);
        }
        CHECK_INT(jobs_reserve(broker, "t", 1, 1000, &list).reserved_count, ==, 0);
        CHECK_COUNTS(broker, "t", 1, 0, 0, 0);
        CHECK_INT(jobs_counts(broker, "t").retried, ==, 1);
        CHECK_INT(jobs_counts(broker, "t").expired, ==, i / 2);
        jobs_free_one(broker, job);
        pass(HOUR);
        job = jobs_reserve_one(broker, "t");
        CHECK_INT(job->job.attempts, ==, i == 1 ? 1 : 2);
        CHECK_INT(memcmp(job->job.body, "second", 6), ==, 0);
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        jobs_free_one(broker, job);
        CHECK_INT(keys(broker), ==, 0);
    }
    weir_broker_close(broker);
}

TEST(backoff, "a retry waits for its delay, though a put during the run asked for an earlier time")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)put(broker, WEIR_DUPLICATE_REFUSE, "first", 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    (void)put(broker, WEIR_DUPLICATE_AGAIN, "second", 0);
    int64_t run_at = jobs_wall_now(&clocks.wall) + HOUR;
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, run_at, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", 1, 0, 0, 0);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(times, "of puts during one run \"again\" has the earliest time, \"debounce\" the last one")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    for (int is_last = 0; is_last < 2; is_last++) {
        enum weir_duplicate mode = is_last ? WEIR_DUPLICATE_DEBOUNCE : WEIR_DUPLICATE_AGAIN;
        (void)put(broker, WEIR_DUPLICATE_REFUSE, "first", 0);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        for (int i = 0; i < 2; i++) {
            /* The times of an earlier run do not count. */
            (void)put(broker, mode, "second", HOUR);
            (void)put(broker, mode, "third", 2 * HOUR);
            CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
            jobs_free_one(broker, job);
            pass(HOUR);
            struct weiri_list list;
            if (is_last) {
                CHECK_INT(jobs_reserve(broker, "t", 1, 1000, &list).reserved_count, ==, 0);
                pass(HOUR);
            }
            job = jobs_reserve_one(broker, "t");
            CHECK_INT(memcmp(job->job.body, "third", 5), ==, 0);
        }
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        jobs_free_one(broker, job);
        CHECK_INT(keys(broker), ==, 0);
    }
    weir_broker_close(broker);
}

TEST(ttr, "a put during a run leaves the TTR by which its holder renews the lease")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t number = put(broker, WEIR_DUPLICATE_REFUSE, "first", 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    struct weir_put_options options = {0};
    options.key = "k";
    options.on_duplicate = WEIR_DUPLICATE_AGAIN;
    options.ttr_ns = WEIR_SECONDS(1);
    CHECK_INT(jobs_put(broker, "t", "second", &options), ==, number);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    pass(WEIR_SECONDS(59));
    struct weiri_list list;
    CHECK_INT(jobs_reserve(broker, "t", 1, 1000, &list).reserved_count, ==, 0);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(retried, "what was put during a run that failed is covered by the next run")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)put(broker, WEIR_DUPLICATE_REFUSE, "first", 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    (void)put(broker, WEIR_DUPLICATE_AGAIN, "second", 0);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    job = jobs_reserve_one(broker, "t");
    CHECK_INT(memcmp(job->job.body, "second", 6), ==, 0);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    CHECK_INT(keys(broker), ==, 0);
    weir_broker_close(broker);
}

TEST(succeeded, "a run that succeeded leaves the next one no reason of an earlier failure")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)put(broker, WEIR_DUPLICATE_REFUSE, "first", 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, 0, "attempt 1: why"), WEIR_OK);
    jobs_free_one(broker, job);
    job = jobs_reserve_one(broker, "t");
    CHECK_STRING(job->job.reason, "attempt 1: why");
    (void)put(broker, WEIR_DUPLICATE_AGAIN, "second", 0);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    job = jobs_reserve_one(broker, "t");
    CHECK_STRING(job->job.reason, "");
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

static void end_job(weir_broker *broker, int64_t number, enum weiri_job_event event)
{
    struct weir_job_id id;
    const char *text = id.text;
    enum weir_status status;
    weiri_number_format(number, &id);
    if (event == WEIRI_JOB_REMOVE) {
        CHECK_INT(jobs_remove(broker, &text, 1), ==, 1);
        return;
    }
    if (event == WEIRI_JOB_SET_ASIDE) {
        CHECK_STATUS(change_bury(broker, &text, 1, "why", &status, NULL), WEIR_OK);
        return;
    }
    if (event == WEIRI_JOB_MOVED_AWAY) {
        const struct weiri_change change = {
            .event = event, .ids = &text, .count = 1, .statuses = &status};
        CHECK_STATUS(broker->ops->change(broker->store, &change, NULL), WEIR_OK);
        CHECK_STATUS(status, WEIR_OK);
        return;
    }
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    if (event == WEIRI_JOB_LOSE) {
        struct weiri_list list;
        pass(WEIR_SECONDS(60));
        CHECK_INT(jobs_reserve(broker, "t", 1, 1, &list).reserved_count, ==, 0);
    } else {
        CHECK_STATUS(jobs_settle(broker, job, event, 0, NULL), WEIR_OK);
    }
    jobs_free_one(broker, job);
}

TEST(released,
     "a key is free once its job is done, removed, moved or buried, by whatever; a kick has none")
{
    static const enum weiri_job_event events[] = {WEIRI_JOB_DONE,      WEIRI_JOB_REMOVE,
                                                  WEIRI_JOB_BURY,      WEIRI_JOB_LOSE,
                                                  WEIRI_JOB_SET_ASIDE, WEIRI_JOB_MOVED_AWAY};
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t last = 0;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        int64_t number = put(broker, WEIR_DUPLICATE_REFUSE, "x", 0);
        CHECK_INT(number, >, last);
        CHECK_INT(put(broker, WEIR_DUPLICATE_REFUSE, "x", 0), ==, 0);
        end_job(broker, number, events[i]);
        CHECK_INT(keys(broker), ==, 0);
        CHECK_STRING(see(broker, number).key, "");
        last = number;
    }
    size_t kicked = 0;
    CHECK_STATUS(weir_broker_kick(broker, "t", 10, &kicked, NULL), WEIR_OK);
    CHECK_INT(kicked, ==, 3);
    CHECK_INT(put(broker, WEIR_DUPLICATE_REFUSE, "x", 0), >, last);
    weir_broker_close(broker);
}

TEST(throttled, "a throttled key stays until its time, though its job has ended, and is forgotten")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t number = put(broker, WEIR_DUPLICATE_THROTTLE, "x", 0);
    end_job(broker, number, WEIRI_JOB_DONE);
    CHECK_INT(put(broker, WEIR_DUPLICATE_THROTTLE, "x", 0), ==, number);
    pass(2 * HOUR - 1);
    CHECK_INT(put(broker, WEIR_DUPLICATE_THROTTLE, "x", 0), ==, number);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    pass(1);
    int64_t next = put(broker, WEIR_DUPLICATE_THROTTLE, "x", 0);
    CHECK_INT(next, >, number);
    end_job(broker, next, WEIRI_JOB_DONE);
    CHECK_INT(keys(broker), ==, 0);
    CHECK_INT(throttles(broker), ==, 1);
    pass(2 * HOUR);
    struct weir_put_options options = {0};
    options.key = "other";
    (void)jobs_put(broker, "t", "x", &options);
    CHECK_INT(keys(broker), ==, 1);
    CHECK_INT(throttles(broker), ==, 0);
    weir_broker_close(broker);
}

TEST(moved, "a throttle goes with its job to another tube, not with one that has no key any more")
{
    const char *id = "1";
    enum weir_status status;
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    for (int is_buried = 0; is_buried < 2; is_buried++) {
        int64_t number = put(broker, WEIR_DUPLICATE_THROTTLE, "x", 0);
        struct weiri_change change = {
            .event = WEIRI_JOB_SET_ASIDE, .ids = &id, .count = 1, .statuses = &status};
        if (is_buried) {
            id = "3";
            CHECK_STATUS(broker->ops->change(broker->store, &change, NULL), WEIR_OK);
        }
        change.tube = "u";
        CHECK_STATUS(broker->ops->change(broker->store, &change, NULL), WEIR_OK);
        CHECK_STATUS(status, WEIR_OK);
        int64_t next = put(broker, WEIR_DUPLICATE_THROTTLE, "x", 0);
        CHECK_INT(next, ==, is_buried ? number : number + 1);
        end_job(broker, next, is_buried ? WEIRI_JOB_REMOVE : WEIRI_JOB_DONE);
        pass(2 * HOUR);
    }
    weir_broker_close(broker);
}

TEST(few_at_once, "a put forgets a bounded number of keys, and more than it adds")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weir_put_options options = {0};
    char key[16];
    options.key = key;
    options.on_duplicate = WEIR_DUPLICATE_THROTTLE;
    options.key_ns = HOUR;
    for (int i = 0; i < 250; i++) {
        (void)snprintf(key, sizeof(key), "%d", i);
        end_job(broker, jobs_put(broker, "t", "x", &options), WEIRI_JOB_DONE);
    }
    pass(HOUR);
    static const int left[] = {250 - 100 + 1, 250 - 200 + 2, 3, 4};
    for (int i = 0; i < 4; i++) {
        (void)snprintf(key, sizeof(key), "new %d", i);
        (void)jobs_put(broker, "t", "x", &options);
        CHECK_INT(throttles(broker), ==, left[i]);
    }
    weir_broker_close(broker);
}

TEST(apart, "keys of different tubes are different; options that make no sense are refused")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weir_put_options options = {0};
    options.key = "k";
    CHECK_INT(jobs_put(broker, "t", "x", &options), ==, 1);
    CHECK_INT(jobs_put(broker, "u", "x", &options), ==, 2);
    const struct weir_body bodies[] = {{"x", 1, NULL}, {"x", 1, NULL}};
    char key[WEIR_KEY_SIZE_MAX + 2];
    memset(key, 'k', sizeof(key));
    key[WEIR_KEY_SIZE_MAX + 1] = '\0';
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 2, &options, NULL, NULL), WEIR_EINVAL);
    options.key = "";
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 1, &options, NULL, NULL), WEIR_EINVAL);
    options.key = key;
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 1, &options, NULL, NULL), WEIR_ETOOBIG);
    options.key = NULL;
    options.on_duplicate = WEIR_DUPLICATE_KEEP;
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 1, &options, NULL, NULL), WEIR_EINVAL);
    options.key = "k";
    options.on_duplicate = (enum weir_duplicate)6;
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 1, &options, NULL, NULL), WEIR_EINVAL);
    options.on_duplicate = WEIR_DUPLICATE_THROTTLE;
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 1, &options, NULL, NULL), WEIR_ERANGE);
    options.on_duplicate = WEIR_DUPLICATE_REFUSE;
    options.key_ns = 1;
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 1, &options, NULL, NULL), WEIR_ERANGE);
    options.key_ns = 0;
    weir_producer *producer;
    CHECK_STATUS(weir_producer_open(broker, "t", &options, &producer, NULL), WEIR_EINVAL);
    weir_broker_close(broker);
}

/* One of the processes that put and run jobs of few keys at once. Exits with 1 where two jobs had
 * one key. */
static _Noreturn void race(unsigned seed)
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weiri_store *store = broker->store;
    for (int i = 0; i < 150; i++) {
        enum weir_duplicate mode = (enum weir_duplicate)(rand_r(&seed) % 6);
        (void)put(broker, mode, "x", rand_r(&seed) % 3 == 0 ? HOUR : 0);
        struct weiri_list list;
        struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 1000, &list);
        if (exchange.reserved_count == 1) {
            static const enum weiri_job_event events[] = {WEIRI_JOB_DONE, WEIRI_JOB_RELEASE,
                                                          WEIRI_JOB_BURY, WEIRI_JOB_DONE};
            (void)put(broker, mode, "y", 0);
            CHECK_STATUS(jobs_settle(broker, jobs_first(&list), events[rand_r(&seed) % 4], 0, NULL),
                         WEIR_OK);
        }
        jobs_free(broker, &list);
        sqlite3_stmt *statement;
        /* At most one job waits or runs, and exactly it has the key. */
        CHECK_INT(sqlite3_prepare_v2(store->writer.db,
                                     "SELECT count(*), count(key) FROM jobs WHERE state < 4", -1,
                                     &statement, NULL),
                  ==, SQLITE_OK);
        CHECK_INT(sqlite3_step(statement), ==, SQLITE_ROW);
        int64_t jobs = sqlite3_column_int64(statement, 0);
        int64_t keys = sqlite3_column_int64(statement, 1);
        (void)sqlite3_finalize(statement);
        if (jobs > 1 || keys != jobs) {
            _exit(1);
        }
    }
    weir_broker_close(broker);
    _exit(0);
}

TEST(processes, "while 4 processes put and run jobs of one key, at most one waits or runs")
{
    pid_t children[4];
    weir_broker_close(jobs_store_open_on("jobs.db", &clocks, "a"));
    for (unsigned i = 0; i < 4; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            race(i + 1);
        }
    }
    for (size_t i = 0; i < 4; i++) {
        int status;
        CHECK_INT(waitpid(children[i], &status, 0), ==, children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

TEST(woken, "a put that brings a job forward wakes consumers; one that leaves the order does not")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    static const struct {
        enum weir_duplicate mode;
        int64_t delay_ns;
        bool wakes;
    } puts[] = {
        {WEIR_DUPLICATE_KEEP, 5 * HOUR, true},    {WEIR_DUPLICATE_KEEP, 6 * HOUR, false},
        {WEIR_DUPLICATE_KEEP, 4 * HOUR, true},    {WEIR_DUPLICATE_AGAIN, 3 * HOUR, true},
        {WEIR_DUPLICATE_REPLACE, 2 * HOUR, true}, {WEIR_DUPLICATE_REPLACE, 9 * HOUR, false},
        {WEIR_DUPLICATE_DEBOUNCE, HOUR, true},    {WEIR_DUPLICATE_KEEP, 0, true},
    };
    struct weir_put_options other = {.delay_ns = 7 * HOUR, .priority = 5};
    (void)jobs_put(broker, "t", "other", &other);
    for (size_t i = 0; i < sizeof(puts) / sizeof(puts[0]); i++) {
        struct weiri_mark mark = jobs_mark(broker, "t");
        CHECK(put(broker, puts[i].mode, "x", puts[i].delay_ns) != 0);
        CHECK_INT(jobs_has_news(broker, mark), ==, puts[i].wakes);
    }
    weir_broker_close(broker);
}
