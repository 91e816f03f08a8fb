/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Of many consumers that sleep for a tube one is woken for a job, and no job waits for it. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <weir/transaction.h>

#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/lock_file.h"
#include "support/consumer.h"

enum {
    SLEEPERS = 8
};

/* Shared with other processes. */
struct counts {
    _Atomic int asleep; /* other processes' consumers that have slept */
    _Atomic int done;   /* jobs of t, */
    _Atomic int others; /* and of u */
    atomic_bool may_go; /* the job of u may return */
};

static void count_done(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                       int64_t run_ns, int64_t delay_ns, void *arg)
{
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    struct counts *counts = arg;
    if (outcome == WEIR_RUN_DONE) {
        atomic_fetch_add(job->tube[0] == 't' ? &counts->done : &counts->others, 1);
    }
}

static int run(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    struct counts *counts = arg;
    while (job->tube[0] == 'u' && !atomic_load(&counts->may_go)) {
        (void)usleep(100);
    }
    return WEIR_OK;
}

static weir_broker *open_broker(void)
{
    weir_broker *broker = NULL;
    CHECK_STATUS(jobs_open_at("sqlite:jobs.db?shared=1", NULL, scene_wall_now, NULL, &broker, NULL),
                 WEIR_OK);
    return broker;
}

/* A consumer of one job at a time; tubes: how many. */
static weir_consumer *start(weir_broker *broker, struct counts *counts, size_t tubes)
{
    static const struct weir_tube_weight names[] = {{.tube = "t"}, {.tube = "u", .weight = 2}};
    struct weir_consumer_options options = {0};
    options.handler = run;
    options.after_run = count_done;
    options.arg = counts;
    options.workers = 1;
    options.tubes = names;
    options.tube_count = tubes;
    weir_consumer *consumer = NULL;
    CHECK_STATUS(weir_consumer_new(broker, NULL, &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    return consumer;
}

static void wait_until_asleep(weir_consumer *consumer)
{
    bool is = false;
    while (!is) {
        weiri_mutex_lock(&consumer->mutex);
        is = consumer->is_waiting;
        weiri_mutex_unlock(&consumer->mutex);
        (void)usleep(100);
    }
}

/* Half as long as a consumer sleeps that nobody wakes. */
static void wait_until_done(const _Atomic int *count, int done)
{
    int64_t limit = weiri_time_add(weiri_monotonic_now(), WEIRI_WAIT_MAX_NS / 2);
    while (atomic_load(count) < done) {
        CHECK(weiri_monotonic_now() < limit);
        (void)usleep(100);
    }
}

static void end(weir_consumer *consumer)
{
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, NULL), WEIR_OK);
    weir_consumer_free(consumer);
}

TEST(one_of_many, "a put wakes one of those that sleep: the others begin no transaction")
{
    enum {
        JOBS = 40
    };
    struct counts counts = {.done = 0};
    weir_broker *brokers[SLEEPERS];
    weir_consumer *consumers[SLEEPERS];
    uint64_t before = 0;
    uint64_t after = 0;
    weir_broker *putter = open_broker();
    for (int i = 0; i < SLEEPERS; i++) {
        brokers[i] = open_broker();
        consumers[i] = start(brokers[i], &counts, 1);
    }
    for (int i = 1; i <= JOBS; i++) {
        for (int k = 0; k < SLEEPERS; k++) {
            wait_until_asleep(consumers[k]);
            before += i == 2 ? consumers[k]->exchanges : 0; /* the first makes the tube */
        }
        (void)jobs_put(putter, "t", "x", NULL);
        wait_until_done(&counts.done, i);
    }
    for (int i = 0; i < SLEEPERS; i++) {
        wait_until_asleep(consumers[i]);
        after += consumers[i]->exchanges;
        end(consumers[i]);
        weir_broker_close(brokers[i]);
    }
    /* One that takes the job, one after its end, and some that had not fallen asleep. */
    CHECK_INT(after - before, <=, 3 * (JOBS - 1));
    weir_broker_close(putter);
}

TEST(passed_on, "who is woken for two tubes, and takes the job of one, has another consumer take "
                "that of the other")
{
    struct counts counts = {.done = 0};
    weir_broker *broker = open_broker();
    sqlite3 *db;
    weir_transaction *transaction;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    CHECK_STATUS(weir_transaction_new(broker, db, &transaction, NULL), WEIR_OK);
    for (int i = 1; i <= 30; i++) {
        atomic_store(&counts.may_go, false);
        weir_consumer *of_both = start(broker, &counts, 2);
        wait_until_asleep(of_both);
        weir_consumer *of_one = start(broker, &counts, 1);
        wait_until_asleep(of_one);
        const struct weir_body body = {"x", 1, NULL};
        CHECK_STATUS(weir_transaction_begin(transaction, NULL), WEIR_OK);
        CHECK_STATUS(weir_transaction_put(transaction, "u", &body, 1, NULL, NULL, NULL), WEIR_OK);
        CHECK_STATUS(weir_transaction_put(transaction, "t", &body, 1, NULL, NULL, NULL), WEIR_OK);
        CHECK_STATUS(weir_transaction_commit(transaction, NULL), WEIR_OK);
        wait_until_done(&counts.done, i);
        atomic_store(&counts.may_go, true);
        wait_until_done(&counts.others, i);
        end(of_both);
        end(of_one);
    }
    weir_transaction_free(transaction);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    weir_broker_close(broker);
}

/* Stops the first processes, where none of them has the store's lock. */
static void stop(const pid_t *children, int count)
{
    int fd = -1;
    while (fd < 0) {
        for (int i = 0; i < count; i++) {
            CHECK_INT(kill(children[i], SIGSTOP), ==, 0);
            CHECK_INT(waitpid(children[i], NULL, WUNTRACED), ==, children[i]);
        }
        for (int i = 0; i < 50 && fd < 0; i++) {
            (void)usleep(100);
            CHECK(weiri_lock_file_try("jobs.db.lock", &fd) == 0 || fd < 0);
        }
        for (int i = 0; i < count && fd < 0; i++) {
            CHECK_INT(kill(children[i], SIGCONT), ==, 0);
        }
    }
    CHECK_INT(close(fd), ==, 0);
}

static void end_one(void *consumer)
{
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
}

TEST(no_wake_is_lost, "each job is run at once, while a third of the processes is stopped, one "
                      "consumer ends as it is woken, and one takes the job of another tube instead")
{
    enum {
        ROUNDS = 60,
        CHILDREN = 3
    };
    pid_t children[CHILDREN];
    struct counts *counts =
        mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(counts != MAP_FAILED);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            wait_until_asleep(start(open_broker(), counts, 1));
            atomic_fetch_add(&counts->asleep, 1);
            for (;;) {
                (void)pause();
            }
        }
    }
    while (atomic_load(&counts->asleep) < CHILDREN) {
        (void)usleep(100);
    }
    weir_broker *broker = open_broker();
    for (int i = 1; i <= ROUNDS; i++) {
        weir_consumer *ends = start(broker, counts, 1);
        weir_consumer *of_both = start(broker, counts, 2);
        wait_until_asleep(ends);
        wait_until_asleep(of_both);
        stop(children, CHILDREN - 1);
        atomic_store(&counts->may_go, false);
        struct test_thread *thread = test_start(end_one, ends);
        (void)jobs_put(broker, i % 2 == 0 ? "t" : "u", "x", NULL);
        (void)jobs_put(broker, i % 2 == 0 ? "u" : "t", "x", NULL);
        wait_until_done(&counts->done, i);
        for (int k = 0; k < CHILDREN - 1; k++) {
            CHECK_INT(kill(children[k], SIGCONT), ==, 0);
        }
        atomic_store(&counts->may_go, true);
        wait_until_done(&counts->others, i);
        test_join(thread);
        end(ends);
        end(of_both);
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK_INT(kill(children[i], SIGKILL), ==, 0);
        CHECK_INT(waitpid(children[i], NULL, 0), ==, children[i]);
    }
    weir_broker_close(broker);
    CHECK_INT(munmap(counts, sizeof(*counts)), ==, 0);
}
