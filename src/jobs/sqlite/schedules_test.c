/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/admin.h>
#include <weir/job_schedule.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

#define MINUTE WEIR_SECONDS(60)

static void pass(int64_t time_ns)
{
    jobs_wall_step(&clocks.wall, time_ns);
    jobs_wall_step(&clocks.lease, time_ns);
}

static struct weir_job_schedule_options every(const char *name, int64_t interval_ns)
{
    struct weir_job_schedule_options options = {0};
    options.name = name;
    options.tube = "t";
    options.interval_ns = interval_ns;
    options.body = (struct weir_body){"work", 4, NULL};
    return options;
}

static void add(weir_broker *broker, const struct weir_job_schedule_options *options)
{
    struct weir_error error;
    if (weir_broker_schedule_put(broker, options, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "put: %s", error.text);
    }
}

/* A schedule as it was seen. */
struct seen {
    int64_t next_ns;
    int64_t last_ns;
    int64_t last_job;
    int64_t last_ended_ns;
    enum weir_run_outcome last_outcome;
    uint64_t fired;
    uint64_t skipped;
    uint32_t is_paused;
    char tube[16];
    char body[16];
    char problem[200];
};

static int keep(const struct weir_job_schedule *schedule, void *arg)
{
    struct seen *seen = arg;
    *seen = (struct seen){.next_ns = schedule->next_ns,
                          .last_ns = schedule->last_ns,
                          .last_job = (int64_t)strtoll(schedule->last_id, NULL, 10),
                          .last_ended_ns = schedule->last_ended_ns,
                          .last_outcome = schedule->last_outcome,
                          .fired = schedule->fired,
                          .skipped = schedule->skipped,
                          .is_paused = schedule->is_paused};
    (void)snprintf(seen->tube, sizeof(seen->tube), "%s", schedule->tube);
    (void)snprintf(seen->body, sizeof(seen->body), "%.*s", (int)schedule->body_size,
                   (const char *)schedule->body);
    (void)snprintf(seen->problem, sizeof(seen->problem), "%.199s", schedule->problem);
    return 0;
}

static struct seen see(weir_broker *broker, const char *name)
{
    struct seen seen;
    CHECK_STATUS(weir_broker_schedules(broker, name, keep, &seen, NULL), WEIR_OK);
    return seen;
}

/* Reserves and ends all jobs that are there. Writes their run times; returns their count. */
static size_t work(weir_broker *broker, const char *tube, int64_t *times, size_t most)
{
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, tube, most, 1000, &list);
    size_t count = 0;
    for (struct weiri_list *link = list.next; link != &list; link = link->next) {
        struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
        CHECK_INT(job->job.body_size, ==, 4);
        CHECK(memcmp(job->job.body, "work", 4) == 0);
        times[count++] = job->job.run_at_ns;
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    }
    CHECK_INT(count, ==, exchange.reserved_count);
    jobs_free(broker, &list);
    return count;
}

TEST(rate, "a rate fires at each of its times, no earlier, and tells consumers when")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t start = jobs_clocks_wall(&clocks);
    struct weir_job_schedule_options options = every("s", MINUTE);
    add(broker, &options);
    CHECK_INT(see(broker, "s").next_ns, ==, start + MINUTE);
    for (int i = 1; i <= 5; i++) {
        struct weiri_list list;
        struct weiri_exchange exchange = jobs_reserve(broker, "t", 4, 1000, &list);
        CHECK_INT(exchange.reserved_count, ==, 0);
        CHECK_INT(exchange.next_in_ns, ==, MINUTE);
        CHECK(exchange.is_empty);
        pass(MINUTE - 1);
        int64_t times[4];
        CHECK_INT(work(broker, "t", times, 4), ==, 0);
        pass(1);
        CHECK_INT(work(broker, "t", times, 4), ==, 1);
        CHECK_INT(times[0], ==, start + i * MINUTE);
        struct seen seen = see(broker, "s");
        CHECK_INT(seen.fired, ==, i);
        CHECK_INT(seen.last_ns, ==, times[0]);
        CHECK_INT(seen.last_job, ==, i);
        CHECK_INT(seen.next_ns, ==, start + (i + 1) * MINUTE);
    }
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    weir_broker_close(broker);
}

TEST(cron, "an expression fires at its times in its zone")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weir_job_schedule_options options = every("s", 0);
    options.cron = "30 2 * * *";
    options.zone = "Europe/Berlin";
    add(broker, &options);
    int64_t next = see(broker, "s").next_ns;
    /* 00:30 UTC: summer time. */
    CHECK_INT(next % WEIR_SECONDS(86400), ==, 30 * MINUTE);
    pass(next - jobs_clocks_wall(&clocks));
    int64_t times[2];
    CHECK_INT(work(broker, "t", times, 2), ==, 1);
    CHECK_INT(times[0], ==, next);
    CHECK_INT(see(broker, "s").next_ns, ==, next + WEIR_SECONDS(86400));
    options.first_at_ns = next + WEIR_SECONDS(5 * 86400);
    add(broker, &options);
    CHECK_INT(see(broker, "s").next_ns, ==, options.first_at_ns);
    weir_broker_close(broker);
}

TEST(missed, "firings that pass without a consumer are handled as the policy says")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    static const struct {
        enum weir_missed missed;
        int64_t pass_ns;
        size_t count;
        int64_t first;
        uint64_t skipped;
    } rows[] = {
        {WEIR_MISSED_ONCE, 10 * MINUTE + 30, 1, 10, 9},
        {WEIR_MISSED_ALL, 10 * MINUTE + 30, 3, 8, 7},
        {WEIR_MISSED_SKIP, 10 * MINUTE + WEIR_SECONDS(5), 1, 10, 9},
        {WEIR_MISSED_SKIP, 10 * MINUTE + WEIR_SECONDS(5) + 1, 0, 0, 10},
    };
    for (size_t i = 0; i < 4; i++) {
        struct weir_job_schedule_options options = every("s", MINUTE);
        options.missed = rows[i].missed;
        options.catch_up_max = 3;
        options.tolerance_ns = WEIR_SECONDS(5);
        add(broker, &options);
        int64_t start = jobs_clocks_wall(&clocks);
        pass(rows[i].pass_ns);
        int64_t times[16];
        CHECK_INT(work(broker, "t", times, 16), ==, rows[i].count);
        for (size_t k = 0; k < rows[i].count; k++) {
            CHECK_INT(times[k], ==, start + (rows[i].first + (int64_t)k) * MINUTE);
        }
        struct seen seen = see(broker, "s");
        CHECK_INT(seen.fired, ==, rows[i].count);
        CHECK_INT(seen.skipped, ==, rows[i].skipped);
        CHECK_INT(seen.next_ns, ==, start + 11 * MINUTE);
        CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_REMOVE, NULL, NULL),
                     WEIR_OK);
    }
    weir_broker_close(broker);
}

TEST(missed_names, "policies for missed firings have names")
{
    CHECK_STRING(weir_missed_name(WEIR_MISSED_ONCE), "once");
    CHECK_STRING(weir_missed_name(WEIR_MISSED_SKIP), "skip");
    CHECK_STRING(weir_missed_name(WEIR_MISSED_ALL), "all");
    CHECK_STRING(weir_missed_name((enum weir_missed)3), "?");
}

TEST(many, "many schedules with many missed firings put all their jobs, each once")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    for (int i = 0; i < 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "s%d", i);
        struct weir_job_schedule_options options = every(name, WEIR_SECONDS(1));
        options.missed = WEIR_MISSED_ALL;
        options.catch_up_max = 200;
        add(broker, &options);
    }
    pass(WEIR_SECONDS(500));
    CHECK_INT(jobs_counts(broker, "t").ready, ==, 0);
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 1000, &list);
    CHECK_INT(exchange.reserved_count, ==, 1);
    jobs_free(broker, &list);
    CHECK_COUNTS(broker, "t", 0, 3999, 1, 0);
    weir_broker_close(broker);
}

TEST(overlap, "a schedule without overlap puts no job while its last one has not ended")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weir_job_schedule_options options = every("s", MINUTE);
    options.flags = WEIR_SCHEDULE_NO_OVERLAP;
    options.missed = WEIR_MISSED_ALL;
    options.ttr_ns = 1000 * MINUTE;
    add(broker, &options);
    pass(3 * MINUTE);
    int64_t third = jobs_clocks_wall(&clocks);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->job.run_at_ns, ==, third);
    CHECK_INT(see(broker, "s").skipped, ==, 2);
    /* One that is asked to end has not ended. */
    const struct weir_change change = {.kind = WEIR_CHANGE_CANCEL, .verdict = WEIR_VERDICT_RETRY};
    const char *id = job->job.id;
    enum weir_status asked;
    CHECK_STATUS(weir_broker_change(broker, &change, &id, 1, &asked, NULL), WEIR_OK);
    CHECK_STATUS(asked, WEIR_ECANCELED);
    int64_t times[4];
    pass(2 * MINUTE);
    CHECK_INT(work(broker, "t", times, 4), ==, 0);
    CHECK_INT(see(broker, "s").skipped, ==, 4);
    /* One that is to run again has not ended. */
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, jobs_clocks_wall(&clocks) + 2 * MINUTE,
                             "failed"),
                 WEIR_ECANCELED);
    jobs_free_one(broker, job);
    pass(MINUTE);
    CHECK_INT(work(broker, "t", times, 4), ==, 0);
    pass(MINUTE);
    /* One that has ended has. */
    struct weir_tube_policy policy = {0};
    policy.keep_ns = WEIR_FOREVER;
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
    CHECK_INT(work(broker, "t", times, 4), ==, 1);
    CHECK_INT(see(broker, "s").skipped, ==, 6);
    pass(MINUTE);
    CHECK_INT(work(broker, "t", times, 4), ==, 1);
    CHECK_INT(see(broker, "s").fired, ==, 2);
    weir_broker_close(broker);
}

TEST(changed, "a change keeps the next firing unless it is about the times")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t start = jobs_clocks_wall(&clocks);
    struct weir_job_schedule_options options = every("s", 10 * MINUTE);
    add(broker, &options);
    pass(MINUTE);
    options.body = (struct weir_body){"other", 5, NULL};
    options.tube = "u";
    add(broker, &options);
    struct seen seen = see(broker, "s");
    CHECK_INT(seen.next_ns, ==, start + 10 * MINUTE);
    CHECK_STRING(seen.body, "other");
    CHECK_STRING(seen.tube, "u");
    pass(9 * MINUTE);
    int64_t times[2];
    CHECK_INT(work(broker, "t", times, 2), ==, 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "u");
    CHECK_INT(job->job.body_size, ==, 5);
    jobs_free_one(broker, job);
    options.interval_ns = 5 * MINUTE;
    add(broker, &options);
    seen = see(broker, "s");
    CHECK_INT(seen.next_ns, ==, jobs_clocks_wall(&clocks) + 5 * MINUTE);
    CHECK_INT(seen.fired, ==, 1);
    weir_broker_close(broker);
}

TEST(paused, "a paused schedule puts no job, and goes on in step when it is resumed")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t start = jobs_clocks_wall(&clocks);
    int64_t times[4];
    struct weir_job_schedule_options options = every("s", 10 * MINUTE);
    add(broker, &options);
    CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_PAUSE, NULL, NULL),
                 WEIR_OK);
    add(broker, &options);
    pass(35 * MINUTE);
    CHECK_INT(work(broker, "t", times, 4), ==, 0);
    CHECK_INT(see(broker, "s").is_paused, ==, 1);
    struct weiri_mark mark = jobs_mark(broker, "t");
    CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_RESUME, NULL, NULL),
                 WEIR_OK);
    CHECK(jobs_has_news(broker, mark)); /* consumers are woken */
    struct seen seen = see(broker, "s");
    CHECK_INT(seen.is_paused, ==, 0);
    CHECK_INT(seen.skipped, ==, 3);
    CHECK_INT(seen.next_ns, ==, start + 40 * MINUTE);
    CHECK_INT(work(broker, "t", times, 4), ==, 0);
    pass(5 * MINUTE);
    CHECK_INT(work(broker, "t", times, 4), ==, 1);
    weir_broker_close(broker);
}

TEST(clock, "a clock that is set back fires nothing again; resuming follows it")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t start = jobs_clocks_wall(&clocks);
    int64_t times[4];
    struct weir_job_schedule_options options = every("s", MINUTE);
    add(broker, &options);
    pass(MINUTE);
    CHECK_INT(work(broker, "t", times, 4), ==, 1);
    jobs_wall_step(&clocks.wall, -30 * MINUTE);
    CHECK_INT(work(broker, "t", times, 4), ==, 0);
    CHECK_INT(see(broker, "s").next_ns, ==, start + 2 * MINUTE);
    CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_RESUME, NULL, NULL),
                 WEIR_OK);
    CHECK_INT(see(broker, "s").next_ns, ==, start - 28 * MINUTE);
    weir_broker_close(broker);
}

TEST(run_now, "a run puts a job at once and leaves the firings as they are")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t start = jobs_clocks_wall(&clocks);
    struct weir_job_schedule_options options = every("s", MINUTE);
    struct weir_job_id id;
    int64_t times[4];
    add(broker, &options);
    CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_PAUSE, NULL, NULL),
                 WEIR_OK);
    CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_RUN, &id, NULL), WEIR_OK);
    struct seen seen = see(broker, "s");
    CHECK_INT(seen.last_job, ==, strtoll(id.text, NULL, 10));
    CHECK_INT(seen.fired, ==, 1);
    CHECK_INT(seen.next_ns, ==, start + MINUTE);
    CHECK_INT(work(broker, "t", times, 4), ==, 1);
    CHECK_INT(times[0], ==, start);
    weir_broker_close(broker);
}

static int count_names(const struct weir_job_schedule *schedule, void *arg)
{
    char *names = arg;
    (void)strcat(strcat(names, schedule->name), ",");
    return strcmp(schedule->name, "stop") == 0;
}

TEST(listed, "schedules are told in the order of their names; one may be asked for")
{
    static const char *const names[] = {"b", "a", "a.b", "a$", "A", "a-"};
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    char found[128] = "";
    CHECK_STATUS(weir_broker_schedules(broker, NULL, count_names, found, NULL), WEIR_OK);
    CHECK_STRING(found, "");
    for (size_t i = 0; i < 6; i++) {
        struct weir_job_schedule_options options = every(names[i], MINUTE);
        add(broker, &options);
    }
    CHECK_STATUS(weir_broker_schedules(broker, NULL, count_names, found, NULL), WEIR_OK);
    CHECK_STRING(found, "A,a,a$,a-,a.b,b,");
    found[0] = '\0';
    CHECK_STATUS(weir_broker_schedules(broker, "a-", count_names, found, NULL), WEIR_OK);
    CHECK_STRING(found, "a-,");
    struct weir_job_schedule_options options = every("stop", MINUTE);
    add(broker, &options);
    options.name = "stop1";
    add(broker, &options);
    found[0] = '\0';
    CHECK_STATUS(weir_broker_schedules(broker, NULL, count_names, found, NULL), WEIR_OK);
    CHECK_STRING(found, "A,a,a$,a-,a.b,b,stop,");
    weir_broker_close(broker);
}

TEST(unreadable, "an expression that cannot be read any more pauses its schedule, and says why")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weiri_store *store = broker->store;
    struct weir_job_schedule_options options = every("s", 0);
    options.cron = "* * * * *";
    options.zone = "Europe/Berlin";
    add(broker, &options);
    options = every("sound", MINUTE);
    add(broker, &options);
    CHECK_INT(sqlite3_exec(store->writer.db,
                           "UPDATE schedules SET zone = 'Europe/Nowhere' WHERE name = 's'", NULL,
                           NULL, NULL),
              ==, SQLITE_OK);
    pass(2 * MINUTE);
    int64_t times[4];
    CHECK_INT(work(broker, "t", times, 4), ==, 1);
    struct seen seen = see(broker, "s");
    CHECK_INT(seen.is_paused, ==, 1);
    CHECK(strstr(seen.problem, "Europe/Nowhere") != NULL);
    struct weir_error error;
    CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_RESUME, NULL, &error),
                 WEIR_ENOTFOUND);
    CHECK(strstr(error.text, "Europe/Nowhere") != NULL);
    options = every("s", 0);
    options.cron = "* * * * *";
    add(broker, &options);
    seen = see(broker, "s");
    CHECK_INT(seen.is_paused, ==, 0);
    CHECK_STRING(seen.problem, "");
    weir_broker_close(broker);
}

static int64_t run_now(weir_broker *broker)
{
    struct weir_job_id id;
    CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_RUN, &id, NULL), WEIR_OK);
    return strtoll(id.text, NULL, 10);
}

static void check_outcome(weir_broker *broker, enum weir_run_outcome outcome, int64_t ended_ns)
{
    struct seen seen = see(broker, "s");
    CHECK_INT(seen.last_outcome, ==, outcome);
    CHECK_INT(seen.last_ended_ns, ==, ended_ns);
}

/* Reserves the job, and ends its run. */
static void end_run(weir_broker *broker, int64_t number, enum weiri_job_event event)
{
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->number, ==, number);
    CHECK_STATUS(jobs_settle(broker, job, event, 0, "why"), WEIR_OK);
    jobs_free_one(broker, job);
}

TEST(outcomes, "a schedule tells how its last job ended, and when")
{
    const enum weir_run_outcome none = (enum weir_run_outcome)0;
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weir_job_schedule_options options = every("s", 1000 * MINUTE);
    add(broker, &options);
    check_outcome(broker, none, 0);
    int64_t first = run_now(broker);
    end_run(broker, first, WEIRI_JOB_RELEASE);
    check_outcome(broker, none, 0);
    pass(MINUTE);
    end_run(broker, first, WEIRI_JOB_BURY);
    int64_t now = jobs_clocks_wall(&clocks);
    check_outcome(broker, WEIR_RUN_BURIED, now);
    pass(MINUTE);
    CHECK_STATUS(weir_broker_kick(broker, "t", 1, NULL, NULL), WEIR_OK);
    check_outcome(broker, WEIR_RUN_BURIED, now);
    end_run(broker, first, WEIRI_JOB_DONE);
    check_outcome(broker, WEIR_RUN_DONE, now + MINUTE);

    /* The end of a job that is not the last one any more says nothing. */
    int64_t second = run_now(broker);
    check_outcome(broker, none, 0);
    int64_t third = run_now(broker);
    end_run(broker, second, WEIRI_JOB_DONE);
    check_outcome(broker, none, 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t"); /* and is lost */
    CHECK_INT(job->number, ==, third);
    jobs_free_one(broker, job);
    pass(MINUTE);
    struct weiri_list list;
    CHECK_INT(jobs_reserve(broker, "t", 1, 1, &list).reserved_count, ==, 0);
    check_outcome(broker, WEIR_RUN_BURIED, now + 2 * MINUTE);

    int64_t fourth = run_now(broker);
    char text[24];
    const char *id = text;
    (void)snprintf(text, sizeof(text), "%lld", (long long)fourth);
    CHECK_INT(jobs_remove(broker, &id, 1), ==, 1);
    check_outcome(broker, WEIR_RUN_REMOVED, now + 2 * MINUTE);
    add(broker, &options);
    check_outcome(broker, WEIR_RUN_REMOVED, now + 2 * MINUTE);

    const struct weir_change cancel = {.kind = WEIR_CHANGE_CANCEL, .verdict = WEIR_VERDICT_REMOVE};
    const struct weir_tube_policy drop = {.late = WEIR_LATE_DROP};
    enum weir_status status;
    (void)snprintf(text, sizeof(text), "%lld", (long long)run_now(broker));
    CHECK_STATUS(weir_broker_change(broker, &cancel, &id, 1, &status, NULL), WEIR_OK);
    check_outcome(broker, WEIR_RUN_CANCELED, now + 2 * MINUTE);
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &drop, NULL), WEIR_OK);
    (void)run_now(broker);
    pass(60 * MINUTE);
    CHECK_INT(jobs_reserve(broker, "t", 1, 1, &list).reserved_count, ==, 0);
    check_outcome(broker, WEIR_RUN_DROPPED, now + 62 * MINUTE);
    weir_broker_close(broker);
}

/* Works until the store's clock, which stands, gives no more. Returns the count of its jobs. */
static int work_in_child(void)
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t times[8];
    int count = 0;
    for (size_t done = 1; done > 0; count += (int)done) {
        done = work(broker, "t", times, 8);
    }
    weir_broker_close(broker);
    return count;
}

TEST(shared, "processes that work at the same time fire each firing once")
{
    enum {
        PROCESSES = 4,
        SCHEDULES = 6
    };
    for (uint64_t round = test_scaled(10); round > 0; round--) {
        weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
        for (int i = 0; i < SCHEDULES; i++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "s%d", i);
            struct weir_job_schedule_options options = every(name, WEIR_SECONDS(1));
            options.missed = WEIR_MISSED_ALL;
            add(broker, &options);
        }
        weir_broker_close(broker);
        pass(WEIR_SECONDS(5));
        pid_t pids[PROCESSES];
        for (int i = 0; i < PROCESSES; i++) {
            pids[i] = fork();
            CHECK(pids[i] >= 0);
            if (pids[i] == 0) {
                _exit(work_in_child());
            }
        }
        int total = 0;
        for (int i = 0; i < PROCESSES; i++) {
            int status;
            CHECK_INT(waitpid(pids[i], &status, 0), ==, pids[i]);
            CHECK(WIFEXITED(status));
            total += WEXITSTATUS(status);
        }
        CHECK_INT(total, ==, SCHEDULES * 5);
    }
}
