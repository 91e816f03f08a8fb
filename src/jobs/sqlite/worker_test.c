/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* unshare */

#include "jobs/sqlite/worker.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/jobs.h"
#include "support/store_query.h"

/* --- processes --- */

/* A process that exists until it is killed. */
struct child {
    pid_t pid;
    int end; /* of a pipe: a byte comes when it is ready */
};

_Noreturn static void *stay(void *arg)
{
    (void)!write(*(const int *)arg, "", 1);
    for (;;) {
        (void)pause();
    }
}

/* has_threads: its first thread ends, and another goes on. */
static struct child begin_child(bool has_threads)
{
    int ends[2];
    CHECK_INT(pipe(ends), ==, 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        if (has_threads && pthread_create(&thread, NULL, stay, &ends[1]) == 0) {
            pthread_exit(NULL); /* the leader is a zombie then */
        }
        stay(&ends[1]);
    }
    char byte;
    CHECK_INT(read(ends[0], &byte, 1), ==, 1);
    (void)close(ends[1]);
    return (struct child){pid, ends[0]};
}

/* Kills it; its status is not asked for: it is a zombie. */
static void kill_child(const struct child *child)
{
    char byte;
    siginfo_t info;
    CHECK_INT(kill(child->pid, SIGKILL), ==, 0);
    CHECK_INT(read(child->end, &byte, 1), ==, 0);
    (void)close(child->end);
    CHECK_INT(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), ==, 0);
}

static struct weiri_process process_of(pid_t pid)
{
    struct weiri_process process;
    CHECK(weiri_process_read(pid, &process));
    CHECK_INT(process.pid, ==, pid);
    CHECK_INT(process.started, >, 0);
    return process;
}

/* Waits until the first thread of a process has ended. */
static void wait_for_leader(pid_t pid)
{
    struct weiri_process facts = {.state = 'R'};
    while (facts.state != 'Z') {
        CHECK(weiri_process_read(pid, &facts));
        (void)sched_yield();
    }
    CHECK_INT(facts.threads, >, 1);
}

TEST(lives, "a process lives until it is killed, also before its parent asks for its status")
{
    struct child child = begin_child(false);
    struct weiri_process process = process_of(child.pid);
    CHECK_INT(weiri_process_life(process.pid, process.started), ==, WEIRI_LIVES);
    kill_child(&child);
    CHECK_INT(weiri_process_life(process.pid, process.started), ==, WEIRI_LIVES_NOT);
    CHECK_INT(waitpid(child.pid, NULL, 0), ==, child.pid);
    CHECK_INT(weiri_process_life(process.pid, process.started), ==, WEIRI_LIVES_NOT);
}

TEST(zombie_with_threads, "a process whose first thread has ended lives as long as another does")
{
    struct child child = begin_child(true);
    struct weiri_process process = process_of(child.pid);
    wait_for_leader(child.pid);
    CHECK_INT(weiri_process_life(process.pid, process.started), ==, WEIRI_LIVES);
    kill_child(&child);
    CHECK_INT(weiri_process_life(process.pid, process.started), ==, WEIRI_LIVES_NOT);
    CHECK_INT(waitpid(child.pid, NULL, 0), ==, child.pid);
}

TEST(another_start, "a process that began at another time is another one; without a time, and "
                    "without a pid, nothing is known")
{
    struct weiri_process process = process_of(getpid());
    CHECK_INT(weiri_process_life(process.pid, process.started), ==, WEIRI_LIVES);
    process.started--;
    CHECK_INT(weiri_process_life(process.pid, process.started), ==, WEIRI_LIVES_NOT);
    process.started = 0;
    CHECK_INT(weiri_process_life(process.pid, process.started), ==, WEIRI_LIFE_UNKNOWN);
    process.pid = -1;
    CHECK_INT(weiri_process_life(process.pid, process.started), ==, WEIRI_LIFE_UNKNOWN);
}

/* What a process finds of two others, in a folder as its root. */
static int judge_from(const char *root, const struct weiri_process *living,
                      const struct weiri_process *dead)
{
    bool may = geteuid() == 0 || unshare(CLONE_NEWUSER) == 0;
    if (!may || chroot(root) != 0) {
        return 77;
    }
    return 10 * (int)weiri_process_life(living->pid, living->started) +
           (int)weiri_process_life(dead->pid, dead->started);
}

static int in_child(const char *root, const struct weiri_process *living,
                    const struct weiri_process *dead)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(judge_from(root, living, dead));
    }
    CHECK_INT(waitpid(pid, &status, 0), ==, pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(hidden, "what /proc does not tell of a process that exists is not known")
{
    struct child child = begin_child(false);
    struct weiri_process dead = process_of(child.pid);
    struct weiri_process living = process_of(getpid());
    kill_child(&child);
    CHECK_INT(in_child("/", &living, &dead), ==, 10 * WEIRI_LIVES + WEIRI_LIVES_NOT);
    CHECK_INT(mkdir("empty", 0700), ==, 0);
    int found = in_child("empty", &living, &dead);
    if (found == 77) {
        test_skip("this user may not make user namespaces, nor change its root");
    }
    /* The zombie still has its pid. */
    CHECK_INT(found, ==, 10 * WEIRI_LIFE_UNKNOWN + WEIRI_LIFE_UNKNOWN);
    CHECK_INT(waitpid(child.pid, NULL, 0), ==, child.pid);
    CHECK_INT(in_child("empty", &living, &dead), ==, 10 * WEIRI_LIFE_UNKNOWN + WEIRI_LIVES_NOT);
    /* A /proc of other pids: its link to the process itself names another one. */
    CHECK_INT(mkdir("empty/proc", 0700), ==, 0);
    CHECK_INT(symlink("1", "empty/proc/self"), ==, 0);
    CHECK_INT(in_child("empty", &living, &dead), ==, 10 * WEIRI_LIFE_UNKNOWN + WEIRI_LIVES_NOT);
}

/* --- rows --- */

static struct jobs_wall wall = {JOBS_WALL_START};

static int64_t guard;
static uint32_t attempts = 1000; /* of the workers that die */

static weir_broker *open_store(void)
{
    weir_broker *broker = NULL;
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    options.guard = guard;
    CHECK_STATUS(jobs_open_at("sqlite:jobs.db", &options, jobs_wall_now, &wall, &broker, NULL),
                 WEIR_OK);
    return broker;
}

static void change(weir_broker *broker, const char *sql)
{
    struct weiri_store *store = broker->store;
    CHECK_INT(sqlite3_exec(store->writer.db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
}

/* Has a process reserve a job of a tube, which stays, and puts an end to it. */
static void die_with_job(const char *tube)
{
    pid_t pid = fork();
    if (pid == 0) {
        weir_broker *broker = open_store();
        struct weiri_list list;
        (void)jobs_put(broker, tube, "x", NULL);
        (void)jobs_reserve(broker, tube, 1, attempts, &list);
        (void)kill(getpid(), SIGKILL);
    }
    CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
}

TEST(row, "a process has a row of workers from its first job on, and the jobs that it has name it")
{
    die_with_job("t");
    weir_broker *broker = open_store();
    CHECK_INT(query(broker, "SELECT count(*) FROM workers"), ==, 1);
    (void)jobs_put(broker, "u", "x", NULL);
    (void)jobs_put(broker, "u", "x", NULL);
    struct weiri_list list;
    (void)jobs_reserve(broker, "none", 1, 1000, &list);
    CHECK_INT(query(broker, "SELECT count(*) FROM workers"), ==, 1);
    (void)jobs_reserve(broker, "u", 1, 1000, &list);
    struct weiri_reservation *second = jobs_reserve_one(broker, "u");
    CHECK_INT(query(broker, "SELECT count(*) FROM workers"), ==, 2);
    CHECK_INT(query(broker, "SELECT count(*) FROM jobs WHERE worker = 2"), ==, 2);
    CHECK_INT(query(broker, "SELECT pid FROM workers WHERE id = 2"), ==, getpid());
    CHECK_INT(query(broker, "SELECT worker FROM jobs WHERE id = 1"), ==, 1);
    CHECK_STATUS(jobs_settle(broker, jobs_first(&list), WEIRI_JOB_BURY, 0, "why"), WEIR_OK);
    CHECK_STATUS(jobs_settle(broker, second, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    CHECK_INT(query(broker, "SELECT worker FROM jobs WHERE state = 4"), ==, 2);
    jobs_free(broker, &list);
    jobs_free_one(broker, second);
    weir_broker_close(broker);
}

TEST(unknown_row, "a worker that has no row does not leave that of the one before it on its jobs")
{
    die_with_job("t");
    weir_broker *broker = open_store();
    struct weiri_store *store = broker->store;
    jobs_wall_step(&wall, WEIR_SECONDS(3600));
    store->space[0] = '\0';
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->job.attempts, ==, 2);
    CHECK_INT(query(broker, "SELECT worker FROM jobs WHERE id = 1"), ==, 0);
    CHECK_INT(query(broker, "SELECT count(*) FROM workers"), ==, 1);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(forgotten, "the rows of the last 10,000 workers stay, and of those that have a job; no number "
                "is given again")
{
    die_with_job("t");
    die_with_job("u");
    weir_broker *broker = open_store();
    (void)jobs_put(broker, "v", "x", NULL);
    change(broker, "UPDATE jobs SET state = 4 WHERE id = 2");
    change(broker, "INSERT INTO workers(id, pid, started, guard, guard_started, boot, space) "
                   "VALUES(10002, 1, 1, 0, 0, '', '')");
    jobs_free_one(broker, jobs_reserve_one(broker, "v"));
    CHECK_INT(query(broker, "SELECT count(*) FROM workers"), ==, 3);
    CHECK_INT(query(broker, "SELECT count(*) FROM workers WHERE id = 2"), ==, 0);
    CHECK_INT(query(broker, "SELECT worker FROM jobs WHERE id = 3"), ==, 10003);
    change(broker, "DELETE FROM workers");
    weir_broker *other = open_store();
    (void)jobs_put(other, "v", "x", NULL);
    jobs_free_one(other, jobs_reserve_one(other, "v"));
    CHECK_INT(query(broker, "SELECT worker FROM jobs WHERE id = 4"), ==, 10004);
    weir_broker_close(other);
    weir_broker_close(broker);
}

TEST(booted, "the rows of an earlier boot go with its leases")
{
    die_with_job("t");
    struct jobs_clocks clocks = {{JOBS_WALL_START}, {JOBS_WALL_START}};
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "another boot");
    CHECK_INT(query(broker, "SELECT count(*) FROM workers"), ==, 0);
    CHECK_INT(query(broker, "SELECT lease FROM jobs WHERE id = 1"), ==, 0);
    weir_broker_close(broker);
}

static void fail(struct weiri_store *store, void *arg)
{
    (void)arg;
    CHECK_INT(weiri_worker_enter(store), ==, 1);
    weiri_sql_fail(&store->writer, SQLITE_NOMEM);
}

/* As in a transaction that is made again on a full disk. */
static void enter_full(struct weiri_store *store, void *arg)
{
    (void)arg;
    store->is_full = true;
    CHECK_INT(weiri_worker_enter(store), ==, 0);
    store->is_full = false;
}

TEST(rolled_back, "a row that is rolled back, or left out on a full disk, is added later")
{
    weir_broker *broker = open_store();
    struct weiri_store *store = broker->store;
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_STATUS(weiri_commit(store, fail, NULL, NULL), WEIR_ENOMEM);
    CHECK_INT(store->worker, ==, 0);
    CHECK_STATUS(weiri_commit(store, enter_full, NULL, NULL), WEIR_OK);
    CHECK_INT(store->worker, ==, 0);
    jobs_free_one(broker, jobs_reserve_one(broker, "t"));
    CHECK_INT(query(broker, "SELECT count(*) FROM workers WHERE id = 1"), ==, 1);
    weir_broker_close(broker);
}

/* --- looks --- */

static int keep_life(const struct weir_job *job, void *ret_life)
{
    *(int *)ret_life = (int)job->owner_life;
    return 0;
}

static int life_of(weir_broker *broker, const char *id)
{
    int life = -1;
    CHECK_STATUS(weir_broker_peek_id(broker, id, keep_life, &life, NULL), WEIR_OK);
    return life;
}

TEST(look, "a look tells whether the worker of a job lives, in the same boot and namespaces alone")
{
    guard = -1;
    die_with_job("t");
    weir_broker *broker = open_store();
    (void)jobs_put(broker, "u", "x", NULL);
    (void)jobs_put(broker, "u", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "u");
    CHECK_INT(life_of(broker, "1"), ==, WEIRI_LIVES_NOT);
    CHECK_INT(life_of(broker, "2"), ==, WEIRI_LIVES);
    CHECK_INT(life_of(broker, "3"), ==, WEIRI_LIFE_UNKNOWN); /* it waits */
    static const char *const others[] = {
        "UPDATE workers SET boot = 'another'",
        "UPDATE workers SET space = replace(space, 'pid:', 'pid:1')",
        "UPDATE workers SET space = replace(space, 'time:', 'time:1')",
        "DELETE FROM workers",
        "UPDATE jobs SET worker = NULL",
    };
    change(broker, "CREATE TEMP TABLE rows AS SELECT * FROM workers; "
                   "CREATE TEMP TABLE owners AS SELECT id, worker FROM jobs");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        /* Each alone: what the one before it changed is put back. */
        change(broker, others[i]);
        CHECK_INT(life_of(broker, "1"), ==, WEIRI_LIFE_UNKNOWN);
        CHECK_INT(life_of(broker, "2"), ==, WEIRI_LIFE_UNKNOWN);
        change(broker, "INSERT OR REPLACE INTO workers SELECT * FROM rows; "
                       "UPDATE jobs SET worker = (SELECT worker FROM owners WHERE id = jobs.id)");
        CHECK_INT(life_of(broker, "1"), ==, WEIRI_LIVES_NOT);
        CHECK_INT(life_of(broker, "2"), ==, WEIRI_LIVES);
    }
    change(broker, "UPDATE jobs SET lease = 0 WHERE id = 1"); /* an earlier boot */
    CHECK_INT(life_of(broker, "1"), ==, WEIRI_LIVES_NOT);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(guarded,
     "a worker counts as living while its guard does, and is unknown where nothing is known "
     "of its programs")
{
    struct child child = begin_child(false);
    guard = child.pid;
    die_with_job("t");
    guard = 0;
    die_with_job("t");
    weir_broker *broker = open_store();
    CHECK_INT(life_of(broker, "1"), ==, WEIRI_LIVES);
    kill_child(&child);
    CHECK_INT(life_of(broker, "1"), ==, WEIRI_LIVES_NOT);
    CHECK_INT(waitpid(child.pid, NULL, 0), ==, child.pid);
    CHECK_INT(life_of(broker, "1"), ==, WEIRI_LIVES_NOT);
    CHECK_INT(life_of(broker, "2"), ==, WEIRI_LIFE_UNKNOWN);
    weir_broker_close(broker);
    guard = child.pid; /* it has ended before the worker began */
    die_with_job("t");
    broker = open_store();
    CHECK_INT(life_of(broker, "3"), ==, WEIRI_LIFE_UNKNOWN);
    weir_broker_close(broker);
}

/* --- take back --- */

static enum weir_status control(weir_broker *broker, const char *id, const struct weiri_change *how)
{
    enum weir_status status = WEIR_EINVAL;
    struct weiri_change change = *how;
    change.ids = &id;
    change.count = 1;
    change.statuses = &status;
    CHECK_STATUS(broker->ops->change(broker->store, &change, NULL), WEIR_OK);
    return status;
}

static enum weir_status take_back(weir_broker *broker, const char *id, bool is_forced)
{
    const struct weiri_change change = {
        .event = WEIRI_JOB_KICK, .states = 1U << WEIR_JOB_RESERVED, .is_forced = is_forced};
    return control(broker, id, &change);
}

static enum weir_status cancel(weir_broker *broker, const char *id, enum weir_verdict verdict)
{
    const struct weiri_change change = {.event = WEIRI_JOB_CANCEL, .verdict = verdict};
    return control(broker, id, &change);
}

struct seen {
    enum weir_job_state state;
    uint32_t attempts;
    char reason[WEIR_REASON_SIZE];
};

static int keep_job(const struct weir_job *job, void *arg)
{
    struct seen *seen = arg;
    *seen = (struct seen){.state = job->state, .attempts = job->attempts};
    (void)snprintf(seen->reason, sizeof(seen->reason), "%s", job->reason);
    return 0;
}

static struct seen look(weir_broker *broker, const char *id)
{
    struct seen seen = {.reason = ""};
    enum weir_status status = weir_broker_peek_id(broker, id, keep_job, &seen, NULL);
    CHECK(status == WEIR_OK || status == WEIR_ENOTFOUND);
    return seen;
}

TEST(taken_back, "a job of a worker that does not live is taken back at once, as a lost run")
{
    guard = -1;
    die_with_job("t");
    weir_broker *broker = open_store();
    struct seen seen = look(broker, "1");
    CHECK_INT(seen.state, ==, WEIR_JOB_RESERVED);
    CHECK_STATUS(take_back(broker, "1", false), WEIR_OK);
    seen = look(broker, "1");
    CHECK_INT(seen.state, ==, WEIR_JOB_READY);
    CHECK_INT(seen.attempts, ==, 1);
    CHECK_STRING(seen.reason, "its worker does not live");
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    CHECK_INT(jobs_counts(broker, "t").expired, ==, 1);
    CHECK_STATUS(take_back(broker, "1", false), WEIR_ESTATE);
    CHECK_STATUS(take_back(broker, "1", true), WEIR_ESTATE);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->job.attempts, ==, 2);
    CHECK_INT(life_of(broker, "1"), ==, WEIRI_LIVES);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

static void take_back_three(weir_broker *broker, const char *const ids[3],
                            enum weir_status ret_statuses[3])
{
    const struct weiri_change change = {.event = WEIRI_JOB_KICK,
                                        .states = 1U << WEIR_JOB_RESERVED,
                                        .ids = ids,
                                        .count = 3,
                                        .statuses = ret_statuses};
    CHECK_STATUS(broker->ops->change(broker->store, &change, NULL), WEIR_OK);
}

TEST(each_worker, "one call asks for each job whether its own worker lives, in any order")
{
    static const char *const living_between[] = {"1", "5", "2"};
    static const char *const living_first[] = {"5", "3", "4"};
    static const char *const tubes[] = {"a", "b", "c", "d"};
    enum weir_status statuses[3];
    guard = -1;
    for (size_t i = 0; i < 4; i++) {
        die_with_job(tubes[i]);
    }
    weir_broker *broker = open_store();
    (void)jobs_put(broker, "e", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "e");
    take_back_three(broker, living_between, statuses);
    CHECK_STATUS(statuses[0], WEIR_OK);
    CHECK_STATUS(statuses[1], WEIR_EBUSY);
    CHECK_STATUS(statuses[2], WEIR_OK);
    take_back_three(broker, living_first, statuses);
    CHECK_STATUS(statuses[0], WEIR_EBUSY);
    CHECK_STATUS(statuses[1], WEIR_OK);
    CHECK_STATUS(statuses[2], WEIR_OK);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(kept_from_the_living,
     "a job of a worker that lives, or may, is taken back by force alone, and "
     "its worker is told")
{
    guard = 0;
    die_with_job("t"); /* something may have outlived it */
    weir_broker *broker = open_store();
    (void)jobs_put(broker, "u", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "u");
    static const char *const ids[] = {"1", "2"};
    for (size_t i = 0; i < 2; i++) {
        uint32_t mark = broker->ops->mark(broker->store, NULL);
        CHECK_STATUS(take_back(broker, ids[i], false), WEIR_EBUSY);
        CHECK_INT(look(broker, ids[i]).state, ==, WEIR_JOB_RESERVED);
        CHECK_INT(broker->ops->mark(broker->store, NULL), ==, mark);
        CHECK_STATUS(take_back(broker, ids[i], true), WEIR_OK);
        CHECK_INT(look(broker, ids[i]).state, ==, WEIR_JOB_READY);
        CHECK_INT(broker->ops->mark(broker->store, NULL), !=, mark);
    }
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_ELEASELOST);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_ELEASELOST);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(canceled, "a verdict on a job whose worker does not live is applied at once, and a take back "
               "applies one that was given before")
{
    guard = -1;
    for (int i = 0; i < 3; i++) {
        die_with_job("t");
    }
    guard = 0;
    die_with_job("t");
    weir_broker *broker = open_store();
    CHECK_STATUS(cancel(broker, "1", WEIR_VERDICT_BURY), WEIR_OK);
    CHECK_INT(look(broker, "1").state, ==, WEIR_JOB_BURIED);
    CHECK_STRING(look(broker, "1").reason, "an operator canceled it");
    CHECK_STATUS(cancel(broker, "2", WEIR_VERDICT_REMOVE), WEIR_OK);
    CHECK_INT(look(broker, "2").state, ==, WEIR_JOB_ENDED);
    CHECK_STATUS(cancel(broker, "3", WEIR_VERDICT_RETRY), WEIR_OK);
    CHECK_INT(look(broker, "3").state, ==, WEIR_JOB_READY);
    CHECK_INT(look(broker, "3").attempts, ==, 1);
    CHECK_STATUS(cancel(broker, "4", WEIR_VERDICT_REMOVE), WEIR_ECANCELED);
    CHECK_STATUS(take_back(broker, "4", false), WEIR_EBUSY);
    CHECK_STATUS(take_back(broker, "4", true), WEIR_ECANCELED);
    CHECK_INT(look(broker, "4").state, ==, WEIR_JOB_ENDED);
    weir_broker_close(broker);
}

TEST(last_attempt, "a take back buries a job that has had its attempts, as its worker counts them")
{
    guard = -1;
    attempts = 1;
    die_with_job("t");
    weir_broker *broker = open_store();
    CHECK_STATUS(take_back(broker, "1", false), WEIR_OK);
    CHECK_INT(look(broker, "1").state, ==, WEIR_JOB_BURIED);
    weir_broker_close(broker);
}
