/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The wall clock is set back. What was due by it as it was does not wait again, and nothing that
 * was not due runs before its time. */
#include <weir/transaction.h>

#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"
#include "support/store_query.h"

#define HOUR WEIR_SECONDS(3600)
#define MINUTE WEIR_SECONDS(60)
#define YEAR WEIR_SECONDS(31536000)

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

static void pass(int64_t ns)
{
    jobs_wall_step(&clocks.wall, ns);
    jobs_wall_step(&clocks.lease, ns);
}

static void set_clock(int64_t step_ns)
{
    jobs_wall_step(&clocks.wall, step_ns);
}

static weir_broker *open_store(void)
{
    return jobs_store_open_on("jobs.db", &clocks, "a");
}

static int64_t put_after(weir_broker *broker, const char *tube, int64_t delay_ns)
{
    return jobs_put(broker, tube, "x", &(struct weir_put_options){.delay_ns = delay_ns});
}

/* A look; the number of what it got is compared, 0: nothing, and that is ended. */
static void expect_next(weir_broker *broker, const char *tube, int64_t number)
{
    struct weiri_list list;
    (void)jobs_reserve(broker, tube, 1, 10, &list);
    if (number == 0) {
        CHECK(weiri_list_is_empty(&list));
        return;
    }
    CHECK(!weiri_list_is_empty(&list));
    struct weiri_reservation *job = jobs_first(&list);
    CHECK_INT(job->number, ==, number);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free(broker, &list);
}

/* By how much the note is ahead of the clocks. */
static int64_t ahead_of(const weir_broker *broker)
{
    return query(broker, "SELECT ahead FROM meta") - jobs_clocks_wall(&clocks) +
           jobs_clocks_boot(&clocks);
}

static int keep_run_at(const struct weir_job *job, void *arg)
{
    *(int64_t *)arg = job->run_at_ns;
    return 0;
}

TEST(due, "what was due before the clock was set back runs, in the order of run times, which stay; "
          "what was not waits, and so does what is put for a time in between")
{
    weir_broker *broker = open_store();
    int64_t first = put_after(broker, "t", MINUTE);
    int64_t second = put_after(broker, "t", 2 * MINUTE);
    int64_t other = jobs_put(broker, "u", "x",
                             &(struct weir_put_options){.delay_ns = 3 * MINUTE, .priority = 7});
    int64_t later = put_after(broker, "t", HOUR + MINUTE);
    expect_next(broker, "none", 0);
    pass(HOUR);
    set_clock(-HOUR);
    int64_t between = put_after(broker, "t", 10 * MINUTE);
    int64_t date =
        jobs_put(broker, "u", "x",
                 &(struct weir_put_options){.run_at_ns = jobs_clocks_wall(&clocks) + 5 * MINUTE});
    CHECK_COUNTS(broker, "t", 2, 2, 0, 0);
    CHECK_COUNTS(broker, "u", 1, 1, 0, 0);
    int64_t run_at = 0;
    CHECK_STATUS(weir_broker_peek_id(broker, "1", keep_run_at, &run_at, NULL), WEIR_OK);
    CHECK_INT(run_at, ==, JOBS_WALL_START + MINUTE);
    struct weir_why why;
    CHECK_STATUS(weir_broker_why(broker, "1", &why, NULL), WEIR_OK);
    CHECK_INT(why.reason, ==, WEIR_WHY_WORKER);
    CHECK_INT(why.start_ns, <=, jobs_clocks_wall(&clocks));
    CHECK_STATUS(weir_broker_pause(broker, "t", 1, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_why(broker, "1", &why, NULL), WEIR_OK);
    CHECK_INT(why.reason, ==, WEIR_WHY_PAUSED);
    CHECK_STATUS(weir_broker_pause(broker, "t", 0, NULL), WEIR_OK);
    expect_next(broker, "u", other);
    expect_next(broker, "u", 0);
    expect_next(broker, "t", first);
    expect_next(broker, "t", second);
    expect_next(broker, "t", 0);
    pass(5 * MINUTE - 1);
    expect_next(broker, "u", 0);
    pass(1);
    expect_next(broker, "u", date);
    expect_next(broker, "t", 0);
    pass(5 * MINUTE);
    expect_next(broker, "t", between);
    pass(HOUR - 10 * MINUTE);
    expect_next(broker, "t", 0);
    pass(MINUTE);
    expect_next(broker, "t", later);
    weir_broker_close(broker);
}

TEST(retry, "a retry that is settled after the clock was set back waits for its delay")
{
    weir_broker *broker = open_store();
    (void)jobs_put(broker, "t", "x", NULL);
    int64_t due = put_after(broker, "t", MINUTE);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    pass(2 * MINUTE);
    set_clock(-HOUR);
    int64_t again = jobs_clocks_wall(&clocks) + 10 * MINUTE;
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, again, NULL), WEIR_OK);
    expect_next(broker, "t", due);
    expect_next(broker, "t", 0);
    pass(10 * MINUTE);
    expect_next(broker, "t", job->number);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(forward_and_back, "a clock that is set forward and back by the same step: what consumers saw "
                       "due runs, and the rest waits for its time")
{
    weir_broker *broker = open_store();
    int64_t taken = put_after(broker, "t", 30 * MINUTE);
    int64_t left = put_after(broker, "t", 40 * MINUTE);
    int64_t later = put_after(broker, "t", 2 * HOUR);
    expect_next(broker, "t", 0);
    set_clock(HOUR);
    expect_next(broker, "t", taken); /* as the clock said */
    set_clock(-HOUR);
    expect_next(broker, "t", left);
    expect_next(broker, "t", 0);
    /* Nobody looked while it was ahead: nothing was due. */
    set_clock(3 * HOUR);
    (void)jobs_put(broker, "u", "x", NULL);
    set_clock(-3 * HOUR);
    expect_next(broker, "t", 0);
    pass(2 * HOUR);
    expect_next(broker, "t", later);
    weir_broker_close(broker);
}

static char said[256];

static void keep_log(enum weir_log_level level, const char *message, void *arg)
{
    (void)arg;
    CHECK_INT(level, ==, WEIR_LOG_WARNING);
    (void)snprintf(said, sizeof(said), "%s", message);
}

TEST(far,
     "a clock that was set to 2099 and back holds nothing up, and makes nothing ready that was "
     "not due; the log tells")
{
    weir_broker *broker = open_store();
    broker->config.log = keep_log;
    int64_t taken = put_after(broker, "t", HOUR);
    int64_t left = put_after(broker, "t", 2 * HOUR);
    set_clock(73 * YEAR);
    expect_next(broker, "t", taken);
    CHECK_STRING(said, "");
    set_clock(-73 * YEAR);
    expect_next(broker, "t", 0);
    CHECK_STRING(said, "the wall clock was set back by 2302128000 s: delayed jobs wait for their "
                       "times, also where they were due");
    said[0] = '\0';
    int64_t sooner = put_after(broker, "t", MINUTE);
    pass(MINUTE);
    expect_next(broker, "t", sooner);
    pass(2 * HOUR);
    expect_next(broker, "t", left);
    /* A day is followed. */
    int64_t due = put_after(broker, "t", HOUR);
    pass(HOUR + MINUTE);
    set_clock(-24 * HOUR);
    expect_next(broker, "t", due);
    CHECK_STRING(said, "");
    weir_broker_close(broker);
}

TEST(processes, "a process that puts, where no consumer runs, makes ready what was due; others see "
                "that it did")
{
    weir_broker *broker = open_store();
    int64_t due = put_after(broker, "t", MINUTE);
    expect_next(broker, "t", 0);
    weir_broker_close(broker);
    pass(2 * MINUTE);
    set_clock(-HOUR);
    pid_t child = fork();
    CHECK_INT(child, >=, 0);
    if (child == 0) {
        broker = open_store();
        (void)put_after(broker, "t", 10 * MINUTE);
        weir_broker_close(broker);
        _exit(0);
    }
    int ended = 0;
    CHECK_INT(waitpid(child, &ended, 0), ==, child);
    CHECK_INT(ended, ==, 0);
    broker = open_store();
    CHECK_INT(ahead_of(broker), ==, 0);
    weir_broker *other = open_store();
    expect_next(broker, "t", due);
    expect_next(other, "t", 0);
    expect_next(broker, "t", 0);
    pass(10 * MINUTE);
    /* One raises the note, the other one lowers it, and so on. */
    int64_t seen = put_after(other, "t", 50 * MINUTE);
    set_clock(HOUR);
    expect_next(broker, "t", due + 1);
    set_clock(-HOUR);
    (void)put_after(other, "t", MINUTE);
    expect_next(broker, "t", seen);
    expect_next(broker, "t", 0);
    weir_broker_close(other);
    weir_broker_close(broker);
}

TEST(restart, "after a restart of the machine the note is written anew, and nothing is made ready")
{
    weir_broker *broker = open_store();
    int64_t waiting = put_after(broker, "t", MINUTE);
    expect_next(broker, "t", 0);
    weir_broker_close(broker);
    jobs_wall_step(&clocks.lease, -WEIR_SECONDS(900)); /* the clock of the boot begins anew */
    set_clock(-HOUR);
    broker = jobs_store_open_on("jobs.db", &clocks, "b");
    expect_next(broker, "t", 0);
    CHECK_INT(ahead_of(broker), ==, 0);
    pass(HOUR);
    set_clock(-HOUR);
    expect_next(broker, "t", 0);
    pass(2 * HOUR + MINUTE);
    set_clock(-HOUR);
    expect_next(broker, "t", waiting);
    weir_broker_close(broker);
}

TEST(namespaces, "processes of other time namespaces write the note anew, and make nothing ready")
{
    weir_broker *broker = open_store();
    weir_broker *other = open_store();
    ((struct weiri_store *)other->store)->clock++;
    int64_t waiting = put_after(broker, "t", MINUTE);
    expect_next(broker, "t", 0);
    pass(MINUTE);
    set_clock(-HOUR);
    int64_t sooner = put_after(other, "t", 10 * MINUTE); /* by another clock than the note's */
    expect_next(broker, "t", 0);
    pass(10 * MINUTE);
    expect_next(other, "t", sooner);
    pass(50 * MINUTE);
    expect_next(broker, "t", waiting);
    weir_broker_close(other);
    weir_broker_close(broker);
}

TEST(backup, "a backup that is opened elsewhere begins with the clock there")
{
    weir_broker *broker = open_store();
    int64_t waiting = put_after(broker, "t", MINUTE);
    expect_next(broker, "t", 0);
    CHECK_STATUS(weir_broker_backup(broker, "copy.db", NULL), WEIR_OK);
    weir_broker_close(broker);
    pass(MINUTE);
    set_clock(-HOUR);
    broker = jobs_store_open_on("copy.db", &clocks, "elsewhere");
    expect_next(broker, "t", 0);
    pass(HOUR);
    expect_next(broker, "t", waiting);
    weir_broker_close(broker);
}

/* Pages that the log has got. */
static int pages_of(const weir_broker *broker)
{
    return ((const struct weiri_store *)broker->store)->wal_pages;
}

TEST(sleep, "a machine that sleeps changes nothing, and nothing is written; a clock that is set "
            "back before anybody looks is followed all the same")
{
    weir_broker *broker = open_store();
    int64_t due = put_after(broker, "t", 3 * HOUR);
    expect_next(broker, "t", 0);
    int pages = pages_of(broker);
    set_clock(2 * HOUR);
    jobs_wall_step(&jobs_slept, 2 * HOUR);
    expect_next(broker, "t", 0);
    CHECK_INT(pages_of(broker), ==, pages);
    set_clock(8 * HOUR);
    jobs_wall_step(&jobs_slept, 8 * HOUR);
    set_clock(-9 * HOUR);
    expect_next(broker, "t", due);
    weir_broker_close(broker);
}

TEST(pace, "a clock whose pace is adjusted, or that is set by less than 10 ms, writes nothing, and "
           "nothing runs before its time for it")
{
    weir_broker *broker = open_store();
    int64_t waiting = put_after(broker, "t", MINUTE);
    expect_next(broker, "t", 0);
    int pages = pages_of(broker);
    for (int i = -9; i <= 9; i += 3) {
        set_clock(i * WEIR_MS(1));
        expect_next(broker, "t", 0);
        set_clock(-i * WEIR_MS(1));
    }
    CHECK_INT(pages_of(broker), ==, pages);
    /* Put by a clock that is behind the note. */
    set_clock(-WEIR_MS(9));
    int64_t other = put_after(broker, "t", HOUR);
    pass(HOUR - WEIR_MS(5));
    expect_next(broker, "t", waiting);
    set_clock(-HOUR);
    expect_next(broker, "t", 0);
    pass(HOUR + WEIR_MS(5));
    expect_next(broker, "t", other);
    weir_broker_close(broker);
}

enum {
    MANY = 2500
};

static void put_many(weir_broker *broker)
{
    static struct weir_body bodies[MANY];
    for (size_t i = 0; i < MANY; i++) {
        bodies[i] = (struct weir_body){"x", 1, NULL};
    }
    const struct weir_put_options options = {.delay_ns = MINUTE};
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, MANY, &options, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_put(broker, "u", bodies, 1,
                                 &(struct weir_put_options){.ttr_ns = MINUTE}, NULL, NULL),
                 WEIR_OK);
}

TEST(pieces, "very many are made ready a thousand a transaction; renewals do not wait for all")
{
    weir_broker *broker = open_store();
    put_many(broker);
    struct weiri_reservation *held = jobs_reserve_one(broker, "u");
    pass(MINUTE - 1);
    set_clock(-HOUR + 1);
    pass(WEIR_SECONDS(1));
    CHECK_STATUS(jobs_settle(broker, held, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", MANY - 1000, 1000, 0, 0);
    CHECK_INT(ahead_of(broker), >, 0);
    CHECK_STATUS(jobs_settle(broker, held, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", 0, MANY, 0, 0);
    jobs_free_one(broker, held);
    weir_broker_close(broker);
}

static void put_one(void *broker)
{
    (void)put_after(broker, "v", 10 * MINUTE);
}

TEST(together, "requests that meet in one transaction make no more ready than one")
{
    enum {
        THREADS = 4
    };
    weir_broker *broker = open_store();
    struct weiri_store *store = broker->store;
    struct weiri_lock_file other;
    struct test_thread *threads[THREADS];
    put_many(broker);
    expect_next(broker, "t", 0);
    pass(2 * MINUTE);
    set_clock(-HOUR);
    uint64_t before = store->transactions;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = test_start(put_one, broker);
    }
    for (int i = 0; i < THREADS; i++) {
        test_wait_asleep(threads[i]);
    }
    weiri_lock_file_unlock(&other);
    for (int i = 0; i < THREADS; i++) {
        test_join(threads[i]);
    }
    weiri_lock_file_close(&other);
    CHECK_INT(store->transactions - before, >=, 3);
    CHECK_COUNTS(broker, "t", 0, MANY, 0, 0);
    CHECK_COUNTS(broker, "v", THREADS, 0, 0, 0);
    weir_broker_close(broker);
}

TEST(transaction, "a put in the program's transaction, during which the clock is set back, waits "
                  "for its time; what was due is ready with it, or stays as it was")
{
    weir_broker *broker = jobs_store_open_on("jobs.db?shared=1", &clocks, "a");
    weir_transaction *transaction = NULL;
    sqlite3 *db = NULL;
    const struct weir_body body = {"x", 1, NULL};
    put_many(broker);
    expect_next(broker, "t", 0);
    pass(2 * MINUTE);
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    CHECK_STATUS(weir_transaction_new(broker, db, &transaction, NULL), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weir_transaction_begin(transaction, NULL), WEIR_OK);
        set_clock(i == 0 ? -HOUR : 0);
        const struct weir_put_options options = {.run_at_ns =
                                                     jobs_clocks_wall(&clocks) + 10 * MINUTE};
        CHECK_STATUS(weir_transaction_put(transaction, "v", &body, 1, &options, NULL, NULL),
                     WEIR_OK);
        if (i == 0) {
            weir_transaction_rollback(transaction);
            CHECK_COUNTS(broker, "t", MANY, 0, 0, 0);
        }
    }
    CHECK_STATUS(weir_transaction_commit(transaction, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", 0, MANY, 0, 0);
    expect_next(broker, "v", 0);
    pass(10 * MINUTE);
    CHECK_COUNTS(broker, "v", 0, 1, 0, 0);
    weir_transaction_free(transaction);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    weir_broker_close(broker);
}

TEST(full, "on a full disk what was due waits for its time, and the log tells; a retry waits for "
           "its delay")
{
    weir_broker *broker = open_store();
    struct weiri_store *store = broker->store;
    broker->config.log = keep_log;
    (void)jobs_put(broker, "t", "x", NULL);
    int64_t due = put_after(broker, "t", MINUTE);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    pass(MINUTE);
    set_clock(-HOUR);
    store->is_full = true; /* as in the second try of a transaction */
    int64_t again = jobs_clocks_wall(&clocks) + 10 * MINUTE;
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, again, NULL), WEIR_OK);
    store->is_full = false;
    CHECK(strstr(said, "set back by 3600 s") != NULL);
    expect_next(broker, "t", 0);
    pass(10 * MINUTE);
    expect_next(broker, "t", job->number);
    pass(50 * MINUTE);
    expect_next(broker, "t", due);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}
