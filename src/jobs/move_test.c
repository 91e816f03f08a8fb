/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Moves between SQLite stores: what is kept, what is told, and processes killed at each step. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <weir/admin.h>
#include <weir/policy.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/changes.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

enum {
    BODIES = 5,
    JOBS = 2 * BODIES /* two of each body, one of them delayed */
};

/* Puts JOBS jobs: equal bodies at equal times are different jobs. */
static void fill(weir_broker *broker)
{
    struct weir_put_options options = {0};
    for (int i = 0; i < JOBS; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "body %d", i / 2);
        options.delay_ns = i % 2 == 0 ? 0 : WEIR_SECONDS(60);
        options.priority = i;
        options.ttr_ns = WEIR_SECONDS(7);
        (void)jobs_put(broker, "t", text, &options);
    }
}

static struct weir_move_counts move(weir_broker *from, weir_broker *to, weir_move_fn *fn, void *arg)
{
    struct weir_move_counts counts = {0};
    struct weir_error error;
    enum weir_status status = weir_broker_move(from, to, "t", fn, arg, &counts, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "move: %s", error.text);
    }
    CHECK_INT(counts.found, ==, counts.moved + counts.repeated + counts.left + counts.both);
    return counts;
}

struct tally {
    int bodies[BODIES];
    int total;
};

static int count_body(const struct weir_job *job, void *arg)
{
    struct tally *tally = arg;
    int body = ((const char *)job->body)[5] - '0';
    CHECK(body >= 0 && body < BODIES);
    tally->bodies[body]++;
    tally->total++;
    CHECK_INT(job->ttr_ns, ==, WEIR_SECONDS(7));
    CHECK_INT(job->priority / 2, ==, body);
    int64_t expected = JOBS_WALL_START + (job->priority % 2 == 0 ? 0 : WEIR_SECONDS(60));
    CHECK_INT(job->run_at_ns, ==, expected);
    return 0;
}

static struct tally tally_of(weir_broker *broker)
{
    struct tally tally = {.total = 0};
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, SIZE_MAX, count_body, &tally, NULL), WEIR_OK);
    return tally;
}

TEST(moves_all, "delayed and ready jobs are moved with their facts; reserved and buried ones stay")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    struct weiri_reservation *held[2];
    for (int i = 0; i < 2; i++) {
        (void)jobs_put(from, "t", "stays", NULL);
        held[i] = jobs_reserve_one(from, "t");
    }
    CHECK_STATUS(jobs_settle(from, held[0], WEIRI_JOB_BURY, 0, "bad"), WEIR_OK);
    fill(from);
    (void)jobs_put(from, "other", "stays", NULL);
    struct weir_move_counts counts = move(from, to, NULL, NULL);
    CHECK_INT(counts.moved, ==, JOBS);
    CHECK_INT(counts.found, ==, JOBS);
    CHECK_COUNTS(from, "t", 0, 0, 1, 1);
    CHECK_COUNTS(from, "other", 0, 1, 0, 0);
    CHECK_COUNTS(to, "t", BODIES, BODIES, 0, 0);
    struct tally tally = tally_of(to);
    for (int i = 0; i < BODIES; i++) {
        CHECK_INT(tally.bodies[i], ==, 2);
    }
    /* And back, and again where there is nothing. */
    CHECK_INT(move(to, from, NULL, NULL).moved, ==, JOBS);
    CHECK_COUNTS(to, "t", 0, 0, 0, 0);
    CHECK_INT(move(to, from, NULL, NULL).found, ==, 0);
    jobs_free_one(from, held[0]);
    jobs_free_one(from, held[1]);
    weir_broker_close(from);
    weir_broker_close(to);
}

TEST(many_pages, "jobs of several pages with equal bodies and times stay different jobs")
{
    enum {
        COUNT = 200
    };
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    static struct weir_body bodies[COUNT];
    for (int i = 0; i < COUNT; i++) {
        bodies[i] = (struct weir_body){"same", 4, NULL};
    }
    CHECK_STATUS(weir_broker_put(from, "t", bodies, COUNT, NULL, NULL, NULL), WEIR_OK);
    CHECK_INT(move(from, to, NULL, NULL).moved, ==, COUNT);
    CHECK_COUNTS(to, "t", 0, COUNT, 0, 0);
    CHECK_COUNTS(from, "t", 0, 0, 0, 0);
    weir_broker_close(from);
    weir_broker_close(to);
}

TEST(of_several_stores, "equal jobs of several stores stay different jobs, also at the end of time")
{
    enum {
        STORES = 3
    };
    struct weir_put_options options = {0};
    weir_broker *to = jobs_store_open("to.db", &wall);
    for (int i = 0; i < STORES; i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "%d.db", i);
        weir_broker *from = jobs_store_open(path, &wall);
        options.run_at_ns = JOBS_WALL_START;
        options.flags = WEIR_PUT_PAST_OK;
        CHECK_INT(jobs_put(from, "t", "nightly", &options), ==, 1);
        options.run_at_ns = INT64_MAX;
        (void)jobs_put(from, "t", "never", &options);
        (void)jobs_put(from, "t", "never", &options);
        CHECK_INT(move(from, to, NULL, NULL).moved, ==, 3);
        weir_broker_close(from);
    }
    CHECK_COUNTS(to, "t", 2 * STORES, STORES, 0, 0);
    weir_broker_close(to);
}

TEST(clock_was_ahead, "ready jobs that were put by a clock ahead, and after such a one, stay ready")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    jobs_wall_step(&wall, WEIR_SECONDS(86400));
    (void)jobs_put(from, "t", "first", NULL);
    jobs_wall_step(&wall, -WEIR_SECONDS(86400));
    (void)jobs_put(from, "t", "second", NULL);
    CHECK_COUNTS(from, "t", 0, 2, 0, 0);
    CHECK_INT(move(from, to, NULL, NULL).moved, ==, 2);
    CHECK_COUNTS(to, "t", 0, 2, 0, 0);
    struct weiri_reservation *job = jobs_reserve_one(to, "t");
    CHECK_INT(job->job.body_size, ==, strlen("first"));
    jobs_free_one(to, job);
    weir_broker_close(from);
    weir_broker_close(to);
}

static int note_run_at(const struct weir_job *job, void *arg)
{
    *(int64_t *)arg = job->run_at_ns;
    return 0;
}

TEST(clock_was_unset, "a job that was put at the start of 1970 gets the present as its run time")
{
    struct jobs_clocks clocks = {.lease = {WEIR_SECONDS(86400)}};
    weir_broker *from = jobs_store_open_on("from.db", &clocks, "");
    weir_broker *to = jobs_store_open_on("to.db", &clocks, "");
    int64_t run_at = -1;
    (void)jobs_put(from, "t", "x", NULL);
    jobs_wall_step(&clocks.wall, JOBS_WALL_START);
    CHECK_INT(move(from, to, NULL, NULL).moved, ==, 1);
    CHECK_STATUS(weir_broker_peek(to, "t", WEIR_JOB_READY, 1, note_run_at, &run_at, NULL), WEIR_OK);
    CHECK_INT(run_at, ==, JOBS_WALL_START);
    weir_broker_close(from);
    weir_broker_close(to);
}

static int count_later(const struct weir_job *job, void *arg)
{
    *(int *)arg += job->run_at_ns > JOBS_WALL_START;
    return 0;
}

TEST(overdue, "a job that the target's tube would find late gets the present as its run time")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    const struct weir_tube_policy policy = {.late = WEIR_LATE_DROP, .late_ns = WEIR_SECONDS(3600)};
    CHECK_STATUS(weir_broker_set_policy(to, "t", &policy, NULL), WEIR_OK);
    (void)jobs_put(from, "t", "overdue", NULL);
    (void)jobs_put(from, "t", "too large", NULL);
    jobs_wall_step(&wall, WEIR_SECONDS(3000));
    (void)jobs_put(from, "t", "in time", NULL);
    to->config.body_size_max = strlen("overdue");
    CHECK_INT(move(from, to, NULL, NULL).moved, ==, 2);
    /* The target knows a job again whatever its run time is: the source's is as it was. */
    int later = 0;
    CHECK_STATUS(weir_broker_peek(from, "t", WEIR_JOB_READY, 1, count_later, &later, NULL),
                 WEIR_OK);
    CHECK_INT(later, ==, 0);
    jobs_wall_step(&wall, WEIR_SECONDS(3000));
    for (int i = 0; i < 2; i++) {
        struct weiri_reservation *job = jobs_reserve_one(to, "t");
        CHECK_INT(job->job.run_at_ns, ==, JOBS_WALL_START + WEIR_SECONDS(3000));
        jobs_free_one(to, job);
    }
    weir_broker_close(from);
    weir_broker_close(to);
}

/* Each job put takes a minute. */
static int take_long(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    (void)counts;
    (void)arg;
    jobs_wall_step(&wall, step == WEIR_MOVE_PUT ? WEIR_SECONDS(60) : 0);
    return 0;
}

TEST(overdue_meanwhile, "so does one that becomes overdue while the move goes on")
{
    enum {
        COUNT = 200
    };
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    const struct weir_tube_policy policy = {.late = WEIR_LATE_DROP,
                                            .late_ns = WEIR_SECONDS(3 * 3600)};
    CHECK_STATUS(weir_broker_set_policy(to, "t", &policy, NULL), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        (void)jobs_put(from, "t", "x", NULL);
    }
    CHECK_INT(move(from, to, take_long, NULL).moved, ==, COUNT);
    /* The first 91 were not overdue by more than half of the limit when they were put. */
    int later = 0;
    CHECK_STATUS(weir_broker_peek(to, "t", 0, SIZE_MAX, count_later, &later, NULL), WEIR_OK);
    CHECK_INT(later, ==, COUNT - 91);
    weir_broker_close(from);
    weir_broker_close(to);
}

TEST(of_a_copy, "a job of a backup is not the one that got the same number in the original")
{
    struct weir_error error;
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    CHECK_STATUS(weir_broker_backup(from, "copy.db", &error), WEIR_OK);
    weir_broker *copy = jobs_store_open("copy.db", &wall);
    CHECK_INT(jobs_put(from, "t", "same", NULL), ==, 1);
    jobs_wall_step(&wall, 1); /* their puts differ in nothing else */
    CHECK_INT(jobs_put(copy, "t", "same", NULL), ==, 1);
    CHECK_INT(move(from, to, NULL, NULL).moved, ==, 1);
    CHECK_INT(move(copy, to, NULL, NULL).moved, ==, 1);
    weir_broker_close(copy);
    weir_broker_close(from);
    weir_broker_close(to);
}

/* Ends the process, or the move, at the n-th step. */
struct stop {
    int left;
    bool is_kill;
};

static int stop_at(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    struct stop *stop = arg;
    CHECK(step >= WEIR_MOVE_READ && step <= WEIR_MOVE_REMOVED);
    CHECK_INT(counts->found, <=, JOBS);
    if (--stop->left > 0) {
        return 0;
    }
    if (stop->is_kill) {
        (void)kill(getpid(), SIGKILL);
    }
    return 1;
}

/* Moves in a process of its own, which is killed at the n-th step. False: it was at an end. */
static bool move_until_killed(int n)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct stop stop = {n, true};
        weir_broker *from = jobs_store_open("from.db", &wall);
        weir_broker *to = jobs_store_open("to.db", &wall);
        (void)move(from, to, stop_at, &stop);
        weir_broker_close(from);
        weir_broker_close(to);
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    CHECK(was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return was_killed;
}

static weir_broker *open_filled(void)
{
    static const char *const files[] = {"from.db", "from.db-wal", "from.db-shm",
                                        "to.db",   "to.db-wal",   "to.db-shm"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)unlink(files[i]);
    }
    weir_broker *from = jobs_store_open("from.db", &wall);
    fill(from);
    return from;
}

static void check_all_once(weir_broker *broker)
{
    struct tally tally = tally_of(broker);
    CHECK_INT(tally.total, ==, JOBS);
    for (int i = 0; i < BODIES; i++) {
        CHECK_INT(tally.bodies[i], ==, 2);
    }
}

TEST(killed_at_each_step, "a move that is killed loses nothing, and repeated it leaves each job in "
                          "the target once")
{
    bool was_killed = true;
    int kills = 0;
    for (int n = 1; was_killed; n++) {
        weir_broker_close(open_filled());
        was_killed = move_until_killed(n);
        kills += was_killed;
        weir_broker *from = jobs_store_open("from.db", &wall);
        weir_broker *to = jobs_store_open("to.db", &wall);
        CHECK_INT(tally_of(from).total + tally_of(to).total, >=, JOBS);
        struct weir_move_counts counts = move(from, to, NULL, NULL);
        CHECK_INT(counts.left + counts.both, ==, 0);
        CHECK_COUNTS(from, "t", 0, 0, 0, 0);
        check_all_once(to);
        weir_broker_close(from);
        weir_broker_close(to);
    }
    CHECK_INT(kills, >, JOBS);
}

TEST(killed_and_undone, "a move that is killed, and undone by one back, leaves each job in the "
                        "source once, also one that a worker took meanwhile")
{
    bool was_killed = true;
    int kills = 0;
    for (int n = 1; was_killed; n++) {
        weir_broker_close(open_filled());
        was_killed = move_until_killed(n);
        kills += was_killed;
        weir_broker *from = jobs_store_open("from.db", &wall);
        weir_broker *to = jobs_store_open("to.db", &wall);
        struct weiri_reservation *taken =
            was_killed && jobs_counts(from, "t").ready > 0 ? jobs_reserve_one(from, "t") : NULL;
        struct weir_move_counts counts = move(to, from, NULL, NULL);
        CHECK_INT(counts.left + counts.both, ==, 0);
        CHECK_COUNTS(to, "t", 0, 0, 0, 0);
        CHECK_COUNTS(from, "t", BODIES, BODIES - (taken != NULL), taken != NULL, 0);
        jobs_free_one(from, taken);
        weir_broker_close(from);
        weir_broker_close(to);
    }
    CHECK_INT(kills, >, JOBS);
}

TEST(ended_by_its_caller, "a move that its caller ends has moved what it had put")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    fill(from);
    struct stop stop = {4, false};
    struct weir_move_counts counts = move(from, to, stop_at, &stop);
    CHECK_INT(counts.moved, ==, 3);
    CHECK_INT(tally_of(to).total, ==, 3);
    CHECK_INT(tally_of(from).total, ==, JOBS - 3);
    weir_broker_close(from);
    weir_broker_close(to);
}

static int stop_self(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    (void)step;
    (void)arg;
    return counts->found == 1 && raise(SIGSTOP) != 0;
}

static void move_and_stop(void)
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    (void)move(from, to, stop_self, NULL);
    weir_broker_close(from);
    weir_broker_close(to);
    _exit(0);
}

TEST(twice_at_once, "a move beside another one out of the same store is refused, and loses nothing")
{
    int status;
    char name[64];
    struct weir_error error;
    weir_broker *from = jobs_store_open("from.db", &wall);
    fill(from);
    weir_broker_close(from);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        move_and_stop();
    }
    CHECK_INT(waitpid(child, &status, WUNTRACED), ==, child);
    CHECK(WIFSTOPPED(status));
    from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    CHECK_STATUS(weir_broker_move(from, to, "t", NULL, NULL, NULL, &error), WEIR_EBUSY);
    (void)snprintf(name, sizeof(name), "process %ld, which is stopped, moves", (long)child);
    CHECK(strstr(error.text, name) != NULL);
    while (!WIFEXITED(status)) { /* it stops at each step of its first job */
        CHECK_INT(kill(child, SIGCONT), ==, 0);
        CHECK_INT(waitpid(child, &status, WUNTRACED), ==, child);
    }
    CHECK_INT(WEXITSTATUS(status), ==, 0);
    CHECK_INT(move(from, to, NULL, NULL).found, ==, 0);
    CHECK_INT(tally_of(to).total, ==, JOBS);
    weir_broker_close(from);
    weir_broker_close(to);
}

static int move_too(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    weir_broker **brokers = arg;
    (void)step;
    (void)counts;
    CHECK_STATUS(weir_broker_move(brokers[0], brokers[1], "t", NULL, NULL, NULL, NULL), WEIR_EBUSY);
    return 0;
}

TEST(twice_by_one_broker, "nor is one lost where both moves are of one broker")
{
    weir_broker *brokers[] = {jobs_store_open("from.db", &wall), jobs_store_open("to.db", &wall)};
    fill(brokers[0]);
    CHECK_INT(move(brokers[0], brokers[1], move_too, brokers).moved, ==, JOBS);
    CHECK_INT(tally_of(brokers[1]).total, ==, JOBS);
    weir_broker_close(brokers[0]);
    weir_broker_close(brokers[1]);
}

/* Reserves a job of the source once the first job is in the target, and keeps it. */
struct rival {
    weir_broker *from;
    struct weiri_reservation *job;
};

static int take_one(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    struct rival *rival = arg;
    (void)counts;
    if (step == WEIR_MOVE_PUT && rival->job == NULL) {
        rival->job = jobs_reserve_one(rival->from, "t");
    }
    return 0;
}

TEST(a_worker_is_faster, "a job that a worker takes during the move is taken back from the target")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    struct rival rival = {from, NULL};
    fill(from);
    struct weir_move_counts counts = move(from, to, take_one, &rival);
    CHECK_INT(counts.moved, ==, JOBS - 1);
    CHECK_INT(counts.left, ==, 1);
    CHECK_COUNTS(from, "t", 0, 0, 1, 0);
    CHECK_INT(tally_of(to).total, ==, JOBS - 1);
    jobs_free_one(from, rival.job);
    weir_broker_close(from);
    weir_broker_close(to);
}

/* Buries a job of the source once the first job is in the target. */
static int bury_first(enum weir_move_step step, const struct weir_move_counts *counts, void *from)
{
    const char *id = "1";
    enum weir_status result = WEIR_OK;
    if (step == WEIR_MOVE_PUT && counts->found == 1) {
        CHECK_STATUS(change_bury(from, &id, 1, "no", &result, NULL), WEIR_OK);
    }
    CHECK_STATUS(result, WEIR_OK);
    return 0;
}

TEST(an_operator_is_faster, "one that is buried meanwhile stays so, and is taken back as well")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    fill(from);
    struct weir_move_counts counts = move(from, to, bury_first, from);
    CHECK_INT(counts.moved, ==, JOBS - 1);
    CHECK_INT(counts.left, ==, 1);
    CHECK_COUNTS(from, "t", 0, 0, 0, 1);
    CHECK_INT(tally_of(to).total, ==, JOBS - 1);
    weir_broker_close(from);
    weir_broker_close(to);
}

static void put_by_key(weir_broker *broker, const char *body)
{
    struct weir_put_options options = {0};
    options.key = "k";
    options.on_duplicate = WEIR_DUPLICATE_REPLACE;
    CHECK_INT(jobs_put(broker, "t", body, &options), ==, 1);
}

static int put_again(enum weir_move_step step, const struct weir_move_counts *counts, void *from)
{
    (void)counts;
    if (step == WEIR_MOVE_PUT) {
        put_by_key(from, "new");
    }
    return 0;
}

TEST(a_put_is_faster, "a job that a put renews meanwhile stays, and its old body is taken back")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    put_by_key(from, "old");
    CHECK_INT(move(from, to, put_again, from).left, ==, 1);
    CHECK_COUNTS(from, "t", 0, 1, 0, 0);
    CHECK_COUNTS(to, "t", 0, 0, 0, 0);
    CHECK_INT(move(from, to, NULL, NULL).moved, ==, 1);
    struct weiri_reservation *job = jobs_reserve_one(to, "t");
    CHECK_STRING(job->job.body, "new");
    jobs_free_one(to, job);
    weir_broker_close(from);
    weir_broker_close(to);
}

TEST(what_cannot_move, "a body that is too large for the target, or damaged, is left")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    struct weiri_store *store = from->store;
    (void)jobs_put(from, "t", "good", NULL);
    (void)jobs_put(from, "t", "damaged", NULL);
    (void)jobs_put(from, "t", "too large a body", NULL);
    CHECK_INT(sqlite3_exec(store->writer.db, "UPDATE jobs SET body = x'64' WHERE id = 2", NULL,
                           NULL, NULL),
              ==, SQLITE_OK);
    to->config.body_size_max = 10;
    struct weir_move_counts counts = move(from, to, NULL, NULL);
    CHECK_INT(counts.moved, ==, 1);
    CHECK_INT(counts.left, ==, 2);
    jobs_wall_step(&wall, WEIR_MS(1));
    CHECK_COUNTS(from, "t", 0, 2, 0, 0);
    CHECK_COUNTS(to, "t", 0, 1, 0, 0);
    weir_broker_close(from);
    weir_broker_close(to);
}

TEST_OOM(lacks_memory, "a move without memory ends with an error, and every job is somewhere")
{
    weir_broker *from;
    weir_broker *to;
    if (CHECK_OR_OOM(jobs_store_try_open("from.db", &wall, 0, &from, NULL))) {
        return;
    }
    if (CHECK_OR_OOM(jobs_store_try_open("to.db", &wall, 0, &to, NULL))) {
        weir_broker_close(from);
        return;
    }
    const struct weir_body body = {"job", 3, NULL};
    enum weir_status status = weir_broker_put(from, "t", &body, 1, NULL, NULL, NULL);
    if (!CHECK_OR_OOM(status)) {
        struct weir_move_counts counts = {0};
        status = weir_broker_move(from, to, "t", NULL, NULL, &counts, NULL);
        if (!CHECK_OR_OOM(status)) {
            CHECK_INT(counts.moved, ==, 1);
        }
        CHECK_INT(counts.found, ==, counts.moved + counts.repeated + counts.left + counts.both);
    }
    weir_broker_close(from);
    weir_broker_close(to);
}
