/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Verdicts on jobs that run: whoever ends the reservation applies them. */
#define _GNU_SOURCE /* unshare */

#include "jobs/sqlite/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/admin.h>

#include "support/jobs.h"
#include "support/small_disk.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

#define HOUR WEIR_SECONDS(3600)

static void pass(int64_t time_ns)
{
    jobs_wall_step(&clocks.wall, time_ns);
    jobs_wall_step(&clocks.lease, time_ns);
}

static weir_broker *open_store(void)
{
    return jobs_store_open_on("jobs.db", &clocks, "a");
}

static void put(weir_broker *broker, enum weir_duplicate mode, const char *body, int64_t delay_ns)
{
    struct weir_put_options options = {0};
    options.key = "k";
    options.on_duplicate = mode;
    options.delay_ns = delay_ns;
    CHECK_INT(jobs_put(broker, "t", body, &options), ==, 1);
}

/* Cancels job 1. */
static enum weir_status cancel(weir_broker *broker, enum weir_verdict verdict)
{
    const char *const ids[] = {"1"};
    enum weir_status status = WEIR_EINVAL;
    const struct weiri_change change = {.event = WEIRI_JOB_CANCEL,
                                        .verdict = verdict,
                                        .ids = ids,
                                        .count = 1,
                                        .reason = "canceled by anna",
                                        .statuses = &status};
    CHECK_STATUS(broker->ops->change(broker->store, &change, NULL), WEIR_OK);
    return status;
}

/* Job 1 as it is; state 0: it is gone. */
struct seen {
    enum weir_job_state state;
    char body[32];
    char reason[WEIR_REASON_SIZE];
    uint32_t attempts;
    uint32_t verdict;
    enum weir_run_outcome outcome;
    int64_t run_at_ns;
};

static int keep(const struct weir_job *job, void *arg)
{
    struct seen *seen = arg;
    *seen = (struct seen){.state = job->state,
                          .attempts = job->attempts,
                          .verdict = job->verdict,
                          .outcome = job->last_outcome,
                          .run_at_ns = job->run_at_ns};
    (void)snprintf(seen->body, sizeof(seen->body), "%s", (const char *)job->body);
    (void)snprintf(seen->reason, sizeof(seen->reason), "%s", job->reason);
    return 0;
}

static struct seen look(weir_broker *broker)
{
    struct seen seen = {.body = ""};
    enum weir_status status = weir_broker_peek_id(broker, "1", keep, &seen, NULL);
    CHECK(status == WEIR_OK || status == WEIR_ENOTFOUND);
    return seen;
}

/* Ends leases that have passed. The tube is paused: nothing is reserved. */
static void end_leases(weir_broker *broker)
{
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 5, &list);
    CHECK_INT(exchange.reserved_count, ==, 0);
}

/* A job that runs, and was cancelled. */
struct running {
    weir_broker *broker;
    weir_broker *other;
    struct weiri_reservation *job;
};

static struct running begin(enum weir_verdict verdict, bool has_put)
{
    jobs_store_remove("jobs.db");
    jobs_store_remove("copy.db");
    struct running running = {open_store(), open_store(), NULL};
    struct weiri_list list;
    put(running.broker, WEIR_DUPLICATE_AGAIN, "old", 0);
    (void)jobs_reserve(running.broker, "t", 1, 5, &list);
    running.job = jobs_first(&list);
    weiri_list_remove(&running.job->link);
    CHECK_STATUS(weir_broker_pause(running.broker, "t", WEIR_FOREVER, NULL), WEIR_OK);
    if (has_put) {
        put(running.other, WEIR_DUPLICATE_AGAIN, "new", 0);
    }
    CHECK_STATUS(jobs_settle(running.broker, running.job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    uint32_t mark = running.broker->ops->mark(running.broker->store, NULL);
    CHECK_STATUS(cancel(running.other, verdict), WEIR_ECANCELED);
    CHECK_INT(running.broker->ops->mark(running.broker->store, NULL), !=, mark);
    return running;
}

static void end(struct running *running)
{
    if (running->job != NULL) { /* its broker has not ended */
        jobs_free_one(running->broker, running->job);
    }
    weir_broker_close(running->other);
    weir_broker_close(running->broker);
}

enum end {
    DONE,
    RELEASE,
    RETURN,
    BURY,
    EXPIRED,
    REBOOTED,
    COPIED,
    ENDS
};

static void settle(struct running *running, enum weiri_job_event event, enum weir_status expected)
{
    int64_t run_at_ns = event == WEIRI_JOB_RELEASE ? jobs_wall_now(&clocks.wall) + HOUR
                                                   : jobs_wall_now(&clocks.wall);
    CHECK_STATUS(jobs_settle(running->broker, running->job, event, run_at_ns, "its program failed"),
                 expected);
}

/* Ends the run; what is left is looked at in the store that is returned. */
static weir_broker *end_run(struct running *running, enum end how)
{
    switch (how) {
    case DONE:
        settle(running, WEIRI_JOB_DONE, WEIR_OK);
        break;
    case RELEASE:
        settle(running, WEIRI_JOB_RELEASE, WEIR_ECANCELED);
        break;
    case RETURN:
        settle(running, WEIRI_JOB_RETURN, WEIR_ECANCELED);
        break;
    case BURY:
        settle(running, WEIRI_JOB_BURY, WEIR_ECANCELED);
        break;
    case EXPIRED:
        pass(HOUR);
        end_leases(running->other);
        break;
    case REBOOTED:
        weir_broker_close(running->other);
        jobs_free_one(running->broker, running->job);
        weir_broker_close(running->broker);
        *running = (struct running){NULL, NULL, NULL};
        running->other = jobs_store_open_on("jobs.db", &clocks, "b");
        end_leases(running->other);
        break;
    default:
        CHECK_STATUS(weir_broker_backup(running->broker, "copy.db", NULL), WEIR_OK);
        weir_broker_close(running->other);
        running->other = jobs_store_open_on("copy.db", &clocks, "a");
        end_leases(running->other);
        break;
    }
    return running->other;
}

static void check_end(enum weir_verdict verdict, bool has_put, enum end how)
{
    struct running running = begin(verdict, has_put);
    CHECK_INT(look(running.other).verdict, ==, verdict);
    struct seen seen = look(end_run(&running, how));
    bool is_over = how == DONE || verdict != WEIR_VERDICT_RETRY;
    CHECK_INT(seen.verdict, ==, 0);
    if (is_over && has_put) {
        CHECK_INT(seen.state, ==, WEIR_JOB_READY);
        CHECK_INT(seen.attempts, ==, 0);
        CHECK_STRING(seen.body, "new");
        CHECK_STRING(seen.reason, "");
    } else if (how == DONE || verdict == WEIR_VERDICT_REMOVE) {
        CHECK_INT(seen.state, ==, WEIR_JOB_ENDED);
    } else if (verdict == WEIR_VERDICT_BURY) {
        CHECK_INT(seen.state, ==, WEIR_JOB_BURIED);
        CHECK_STRING(seen.reason, "canceled by anna");
        CHECK_INT(seen.outcome, ==, WEIR_RUN_CANCELED);
    } else {
        CHECK_INT(seen.state, ==, how == RELEASE ? WEIR_JOB_DELAYED : WEIR_JOB_READY);
        CHECK_INT(seen.attempts, ==, how == RETURN ? 0 : 1); /* what was not begun is no attempt */
        CHECK_STRING(seen.body, has_put ? "new" : "old");
    }
    end(&running);
}

TEST(every_end,
     "whatever ends a run that was cancelled applies its verdict, but success is success, "
     "and a put during the run stays")
{
    for (int verdict = WEIR_VERDICT_BURY; verdict <= WEIR_VERDICT_RETRY; verdict++) {
        for (int how = 0; how < ENDS; how++) {
            check_end((enum weir_verdict)verdict, false, (enum end)how);
            check_end((enum weir_verdict)verdict, true, (enum end)how);
        }
    }
}

TEST(renewed,
     "a renewal of a run that was cancelled renews it, with its progress, and says so; the "
     "last verdict counts")
{
    struct running running = begin(WEIR_VERDICT_REMOVE, false);
    struct weiri_settlement touch = {
        .reservation = running.job, .event = WEIRI_JOB_TOUCH, .progress = 1 + 40};
    struct weiri_exchange exchange = {.tube = "t", .settlements = &touch};
    pass(WEIR_SECONDS(50));
    CHECK_STATUS(running.broker->ops->exchange(running.broker->store, &exchange, NULL), WEIR_OK);
    CHECK_STATUS(touch.status, WEIR_ECANCELED);
    pass(WEIR_SECONDS(50));
    end_leases(running.other);
    CHECK_INT(look(running.other).state, ==, WEIR_JOB_RESERVED);
    CHECK_STATUS(cancel(running.other, WEIR_VERDICT_BURY), WEIR_ECANCELED);
    settle(&running, WEIRI_JOB_RELEASE, WEIR_ECANCELED);
    CHECK_INT(look(running.other).state, ==, WEIR_JOB_BURIED);
    CHECK_STATUS(jobs_settle(running.broker, running.job, WEIRI_JOB_TOUCH, 0, NULL),
                 WEIR_ELEASELOST);
    end(&running);
}

TEST(next_run, "a verdict is of the run that it was given to: the next one has none")
{
    struct running running = begin(WEIR_VERDICT_RETRY, false);
    settle(&running, WEIRI_JOB_RELEASE, WEIR_ECANCELED);
    pass(HOUR);
    CHECK_STATUS(weir_broker_pause(running.broker, "t", 0, NULL), WEIR_OK);
    struct weiri_reservation *next = jobs_reserve_one(running.other, "t");
    CHECK_INT(look(running.other).verdict, ==, 0);
    CHECK_STATUS(jobs_settle(running.broker, running.job, WEIRI_JOB_TOUCH, 0, NULL),
                 WEIR_ELEASELOST);
    CHECK_STATUS(jobs_settle(running.other, next, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    CHECK_STATUS(jobs_settle(running.other, next, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(running.other, next);
    end(&running);
}

TEST(passed_lease, "where the reservation has passed a verdict is applied at once")
{
    for (int verdict = WEIR_VERDICT_BURY; verdict <= WEIR_VERDICT_RETRY; verdict++) {
        struct running running = begin(WEIR_VERDICT_BURY, false);
        pass(WEIR_SECONDS(60));
        CHECK_STATUS(cancel(running.other, (enum weir_verdict)verdict), WEIR_OK);
        struct seen seen = look(running.other);
        CHECK_INT(seen.state, ==,
                  verdict == WEIR_VERDICT_BURY     ? WEIR_JOB_BURIED
                  : verdict == WEIR_VERDICT_REMOVE ? WEIR_JOB_ENDED
                                                   : WEIR_JOB_READY);
        settle(&running, WEIRI_JOB_RELEASE, WEIR_ELEASELOST);
        end(&running);
    }
}

TEST(passed_is_taken_back, "where the reservation has passed a kick takes the job back")
{
    static const struct weir_change kick = {.kind = WEIR_CHANGE_KICK,
                                            .states = 1U << WEIR_JOB_RESERVED};
    const char *id = "1";
    struct running running = begin(WEIR_VERDICT_RETRY, false);
    enum weir_status status = WEIR_OK;
    CHECK_STATUS(weir_broker_change(running.other, &kick, &id, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_EBUSY);
    pass(WEIR_SECONDS(60));
    CHECK_STATUS(weir_broker_change(running.other, &kick, &id, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_ECANCELED);
    CHECK_INT(look(running.other).state, ==, WEIR_JOB_READY);
    end(&running);
}

/* A store that waits for its turn: the TTR has passed once its transaction has begun. */
static struct {
    const struct weiri_store *store;
    bool has_waited;
} waiting;

static int64_t lease_now_waiting(void *arg)
{
    (void)arg;
    if (sqlite3_get_autocommit(waiting.store->writer.db) == 0 && !waiting.has_waited) {
        waiting.has_waited = true;
        jobs_wall_step(&clocks.lease, WEIR_SECONDS(60));
    }
    return atomic_load(&clocks.lease.now_ns);
}

TEST(waits_for_its_turn, "who waits for the store to cancel a job ends no lease that passes "
                         "meanwhile: its worker waits as well, to touch it")
{
    struct running running = begin(WEIR_VERDICT_BURY, false);
    waiting.store = running.other->store;
    running.other->config.clocks.lease = lease_now_waiting;
    CHECK_STATUS(cancel(running.other, WEIR_VERDICT_RETRY), WEIR_ECANCELED);
    CHECK(waiting.has_waited);
    CHECK_STATUS(jobs_settle(running.broker, running.job, WEIRI_JOB_TOUCH, 0, NULL),
                 WEIR_ECANCELED);
    CHECK_INT(look(running.other).state, ==, WEIR_JOB_RESERVED);
    end(&running);
}

TEST(kept, "a run that this process keeps is not ended by a cancel, however late its renewal is")
{
    weir_broker *broker = open_store();
    struct weiri_exchange exchange = {
        .tube = "t", .wanted = 1, .attempts_max = 5, .is_keeping = true};
    put(broker, WEIR_DUPLICATE_AGAIN, "x", 0);
    CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
    struct weiri_reservation *job = jobs_first(&exchange.reserved);
    pass(HOUR);
    CHECK_STATUS(cancel(broker, WEIR_VERDICT_REMOVE), WEIR_ECANCELED);
    CHECK_INT(look(broker).state, ==, WEIR_JOB_RESERVED);
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_FOREVER, NULL), WEIR_OK);
    end_leases(broker);
    CHECK_INT(look(broker).state, ==, WEIR_JOB_RESERVED);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_ECANCELED);
    broker->ops->let_go(broker->store, job);
    weiri_list_remove(&job->link);
    jobs_free_one(broker, job);
    pass(HOUR);
    end_leases(broker);
    CHECK_INT(look(broker).state, ==, WEIR_JOB_ENDED);
    weir_broker_close(broker);
}

TEST(keep, "a put that would keep the job that a verdict ends runs after it, at the earlier time")
{
    static const enum weir_verdict verdicts[] = {WEIR_VERDICT_BURY, WEIR_VERDICT_REMOVE,
                                                 WEIR_VERDICT_RETRY};
    for (size_t i = 0; i < 3; i++) {
        bool is_after = verdicts[i] != WEIR_VERDICT_RETRY;
        struct running running = begin(verdicts[i], false);
        put(running.other, WEIR_DUPLICATE_KEEP, "new", HOUR);
        put(running.other, WEIR_DUPLICATE_KEEP, "newer", 2 * HOUR);
        settle(&running, WEIRI_JOB_BURY, WEIR_ECANCELED);
        struct seen seen = look(running.other);
        CHECK_INT(seen.state, ==, is_after ? WEIR_JOB_DELAYED : WEIR_JOB_READY);
        CHECK_STRING(seen.body, is_after ? "new" : "old");
        CHECK(!is_after || seen.run_at_ns == jobs_wall_now(&clocks.wall) + HOUR);
        end(&running);
        running = begin(verdicts[i], false);
        put(running.other, WEIR_DUPLICATE_KEEP, "new", HOUR);
        put(running.other, WEIR_DUPLICATE_KEEP, "newer", 0);
        settle(&running, WEIRI_JOB_BURY, WEIR_ECANCELED);
        CHECK_INT(look(running.other).state, ==, WEIR_JOB_READY);
        end(&running);
    }
}

TEST(waits, "a job that waits is ended at once; it cannot be retried")
{
    weir_broker *broker = open_store();
    put(broker, WEIR_DUPLICATE_AGAIN, "x", HOUR);
    CHECK_STATUS(cancel(broker, WEIR_VERDICT_RETRY), WEIR_ESTATE);
    CHECK_INT(look(broker).state, ==, WEIR_JOB_DELAYED);
    CHECK_STATUS(cancel(broker, WEIR_VERDICT_BURY), WEIR_OK);
    CHECK_INT(look(broker).state, ==, WEIR_JOB_BURIED);
    CHECK_STRING(look(broker).reason, "canceled by anna");
    CHECK_STATUS(cancel(broker, WEIR_VERDICT_BURY), WEIR_OK);
    CHECK_STATUS(cancel(broker, WEIR_VERDICT_RETRY), WEIR_ESTATE);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 1);
    CHECK_STATUS(cancel(broker, WEIR_VERDICT_REMOVE), WEIR_OK);
    CHECK_INT(look(broker).state, ==, WEIR_JOB_ENDED);
    CHECK_STATUS(cancel(broker, WEIR_VERDICT_REMOVE), WEIR_ESTATE);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    weir_broker_close(broker);
}

static int keep_outcome(const struct weir_attempt *attempt, void *arg)
{
    (void)snprintf(arg, WEIR_REASON_SIZE, "%s: %s", weir_job_outcome_name(attempt->outcome),
                   attempt->reason);
    return 0;
}

TEST(history, "the history has a run that a verdict ended, with the words of who gave it")
{
    char text[WEIR_REASON_SIZE] = "";
    struct running running = begin(WEIR_VERDICT_BURY, false);
    struct weiri_settlement failed = {.reservation = running.job,
                                      .event = WEIRI_JOB_RELEASE,
                                      .reason = "its program was ended",
                                      .end = {.outcome = WEIR_RUN_RETRY, .signal = SIGTERM}};
    struct weiri_exchange exchange = {.tube = "t", .settlements = &failed};
    CHECK_STATUS(running.broker->ops->exchange(running.broker->store, &exchange, NULL), WEIR_OK);
    CHECK_STATUS(failed.status, WEIR_ECANCELED);
    CHECK_STATUS(weir_broker_attempts(running.other, "1", keep_outcome, text, NULL), WEIR_OK);
    CHECK_STRING(text, "canceled: canceled by anna");
    end(&running);
}

static void fill_disk(void)
{
    static const char bytes[4096];
    int fd = open("filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    while (write(fd, bytes, sizeof(bytes)) > 0) {
    }
    (void)close(fd);
}

TEST(full_disk, "a full disk refuses no verdict, and none of the ends that apply one")
{
    small_disk_mount((size_t)20 << 20);
    CHECK_INT(chdir("disk"), ==, 0);
    struct running running = begin(WEIR_VERDICT_BURY, false);
    fill_disk();
    CHECK_STATUS(cancel(running.other, WEIR_VERDICT_REMOVE), WEIR_ECANCELED);
    CHECK_STATUS(cancel(running.other, WEIR_VERDICT_BURY), WEIR_ECANCELED);
    CHECK_STATUS(jobs_settle(running.broker, running.job, WEIRI_JOB_TOUCH, 0, NULL),
                 WEIR_ECANCELED);
    settle(&running, WEIRI_JOB_RELEASE, WEIR_ECANCELED);
    CHECK_INT(look(running.other).state, ==, WEIR_JOB_BURIED);
    CHECK_STATUS(cancel(running.other, WEIR_VERDICT_REMOVE), WEIR_OK);
    CHECK_INT(look(running.other).state, ==, WEIR_JOB_ENDED);
    end(&running);
    CHECK_INT(chdir(".."), ==, 0);
}

/* Runs a part of a test in a process that is killed at its end. */
static void in_child(void (*part)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        part();
        (void)kill(getpid(), SIGKILL);
    }
    CHECK_INT(waitpid(pid, &status, 0), ==, pid);
    CHECK(WIFSIGNALED(status));
}

static void reserve_in_child(void)
{
    struct weiri_list list;
    weir_broker *broker = open_store();
    put(broker, WEIR_DUPLICATE_AGAIN, "x", 0);
    (void)jobs_reserve(broker, "t", 1, 5, &list);
}

static void cancel_in_child(void)
{
    CHECK_STATUS(cancel(open_store(), WEIR_VERDICT_REMOVE), WEIR_ECANCELED);
}

TEST(killed, "a verdict stays though worker and canceller are killed, and is applied at the end of "
             "the lease")
{
    in_child(reserve_in_child);
    in_child(cancel_in_child);
    weir_broker *broker = open_store();
    CHECK_INT(look(broker).verdict, ==, WEIR_VERDICT_REMOVE);
    CHECK_INT(look(broker).state, ==, WEIR_JOB_RESERVED);
    end_leases(broker);
    CHECK_INT(look(broker).state, ==, WEIR_JOB_RESERVED);
    pass(WEIR_SECONDS(60));
    end_leases(broker);
    CHECK_INT(look(broker).state, ==, WEIR_JOB_ENDED);
    weir_broker_close(broker);
}
