/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A job that is cancelled while it runs, where the worker, who cancels, or who looks is killed at
 * any of its writes, syncs and locks. The ledger is in memory that outlives the killed process. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, pipe2 */

#include <sys/mman.h>

#include <weir/admin.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"
#include "support/killed_at.h"
#include "support/sanitizer.h"

#define HOUR WEIR_SECONDS(3600)
#define ATTEMPTS 5

/* Of one job, which is number 1 of its store. */
struct ledger {
    struct jobs_clocks clocks;
    enum weir_verdict verdict;
    int begun[2];           /* a pipe: its first run began */
    int go_on[2];           /* another: the worker may, after the cancel */
    atomic_bool may_go_on;  /* it was told so */
    atomic_int open_runs;   /* of the job, in processes that live */
    atomic_int late_runs;   /* that began after a verdict that allows none was acknowledged */
    atomic_bool was_asked;  /* the cancel was acknowledged: it runs, and is to end */
    atomic_bool was_ended;  /* or: it had no run, and is as the verdict says */
    atomic_bool is_done;    /* a success was acknowledged */
    atomic_bool is_judged;  /* or another end, which had the verdict */
    atomic_bool is_settled; /* or one that had none */
};

static struct ledger *make_ledger(void)
{
    struct ledger *ledger =
        mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(ledger != MAP_FAILED);
    return ledger;
}

static weir_broker *open_store(struct ledger *ledger)
{
    return jobs_store_open_on("jobs.db", &ledger->clocks, "a");
}

static void pass(struct ledger *ledger, int64_t time_ns)
{
    jobs_wall_step(&ledger->clocks.wall, time_ns);
    jobs_wall_step(&ledger->clocks.lease, time_ns);
}

/* A new store with one job. */
static void start_anew(struct ledger *ledger, enum weir_verdict verdict)
{
    static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.lock"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)unlink(files[i]);
    }
    memset(ledger, 0, sizeof(*ledger));
    ledger->clocks = (struct jobs_clocks){{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};
    ledger->verdict = verdict;
    weir_broker *broker = open_store(ledger);
    CHECK_INT(jobs_put(broker, "t", "x", NULL), ==, 1);
    weir_broker_close(broker);
}

static void begin_run(struct ledger *ledger)
{
    bool may_run = ledger->verdict == WEIR_VERDICT_RETRY ||
                   !(atomic_load(&ledger->was_asked) || atomic_load(&ledger->was_ended));
    atomic_fetch_add(&ledger->late_runs, !may_run);
    atomic_fetch_add(&ledger->open_runs, 1);
}

static void note_end(struct ledger *ledger, enum weiri_job_event event, enum weir_status status)
{
    atomic_fetch_sub(&ledger->open_runs, 1);
    if (event == WEIRI_JOB_DONE) {
        atomic_store(&ledger->is_done, status == WEIR_OK);
    } else {
        atomic_store(&ledger->is_judged, status == WEIR_ECANCELED);
        atomic_store(&ledger->is_settled, status == WEIR_OK);
    }
}

/* A worker: reserves the job, runs it until it may go on, renews it, and ends as that says. */
static void work(void *arg)
{
    struct ledger *ledger = arg;
    struct weiri_list list;
    weir_broker *broker = open_store(ledger);
    if (jobs_reserve(broker, "t", 1, ATTEMPTS, &list).reserved_count == 1) {
        struct weiri_reservation *job = jobs_first(&list);
        begin_run(ledger);
        char byte = 0;
        CHECK_INT(write(ledger->begun[1], &byte, 1), ==, 1);
        CHECK_INT(read(ledger->go_on[0], &byte, 1), ==, 1);
        enum weir_status told = jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL);
        enum weiri_job_event event =
            told == WEIR_ECANCELED ? WEIRI_JOB_RELEASE : WEIRI_JOB_DONE; /* a success */
        CHECK(told == WEIR_OK || told == WEIR_ECANCELED);
        CHECK(told == WEIR_ECANCELED || !atomic_load(&ledger->was_asked));
        int64_t now = jobs_wall_now(&ledger->clocks.wall);
        note_end(ledger, event, jobs_settle(broker, job, event, now, "it was ended"));
    }
    jobs_free(broker, &list);
    weir_broker_close(broker);
}

static void cancel(void *arg)
{
    struct ledger *ledger = arg;
    const char *const ids[] = {"1"};
    const struct weir_change change = {
        .kind = WEIR_CHANGE_CANCEL, .verdict = ledger->verdict, .reason = "canceled by anna"};
    weir_broker *broker = open_store(ledger);
    enum weir_status status;
    CHECK_STATUS(weir_broker_change(broker, &change, ids, 1, &status, NULL), WEIR_OK);
    if (status == WEIR_ECANCELED) {
        atomic_store(&ledger->was_asked, true);
    } else if (status == WEIR_OK) {
        atomic_store(&ledger->was_ended, true);
    } else {
        CHECK(status == WEIR_ENOTFOUND || status == WEIR_ESTATE);
    }
    weir_broker_close(broker);
}

/* Another worker, which ends leases that have passed; what it reserves it returns. */
static void look_with(struct ledger *ledger, weir_broker *broker)
{
    struct weiri_list list;
    if (jobs_reserve(broker, "t", 1, ATTEMPTS, &list).reserved_count == 1) {
        begin_run(ledger);
        CHECK_INT(atomic_load(&ledger->open_runs), ==, 1);
        CHECK_STATUS(jobs_settle(broker, jobs_first(&list), WEIRI_JOB_RETURN,
                                 jobs_wall_now(&ledger->clocks.wall), NULL),
                     WEIR_OK);
        atomic_fetch_sub(&ledger->open_runs, 1);
    }
    jobs_free(broker, &list);
}

static void look(void *arg)
{
    struct ledger *ledger = arg;
    weir_broker *broker = open_store(ledger);
    look_with(ledger, broker);
    weir_broker_close(broker);
}

static int keep(const struct weir_job *job, void *arg)
{
    struct weir_job *kept = arg;
    *kept = (struct weir_job){.state = job->state,
                              .end = job->end,
                              .attempts = job->attempts,
                              .last_outcome = job->last_outcome};
    return 0;
}

static int complain(const struct weir_finding *finding, void *arg)
{
    (void)arg;
    if (finding->level == WEIR_FINDING_PROBLEM) {
        test_fail(__FILE__, __LINE__, "%s: %s", finding->name, finding->text);
    }
    return 0;
}

/* When all leases have ended: the job is in one state, which is that of what was acknowledged. */
static void compare(struct ledger *ledger)
{
    pass(ledger, HOUR);
    atomic_store(&ledger->open_runs, 0); /* its guard has ended what a killed one left */
    weir_broker *broker = open_store(ledger);
    look_with(ledger, broker);
    pass(ledger, HOUR);
    look_with(ledger, broker);
    struct weir_job job = {.state = 0};
    enum weir_status status = weir_broker_peek_id(broker, "1", keep, &job, NULL);
    struct weir_tube_counts counts = {.ready = 0};
    bool is_there = status == WEIR_OK && job.state != WEIR_JOB_ENDED;
    if (status == WEIR_OK) {
        counts = jobs_counts(broker, "t");
    }
    CHECK_INT(counts.delayed + counts.ready + counts.buried, ==, is_there);
    CHECK_INT(counts.reserved, ==, 0);
    CHECK_INT(atomic_load(&ledger->late_runs), ==, 0);
    CHECK_STATUS(weir_broker_check(broker, complain, NULL, NULL), WEIR_OK);
    weir_broker_close(broker);
    bool is_applied = atomic_load(&ledger->was_asked) || atomic_load(&ledger->was_ended) ||
                      atomic_load(&ledger->is_judged);
    if (atomic_load(&ledger->is_done)) {
        CHECK_INT(job.end, ==, WEIR_RUN_DONE);
    } else if (is_applied && ledger->verdict == WEIR_VERDICT_REMOVE) {
        CHECK_INT(job.end, ==, WEIR_RUN_CANCELED);
    } else if (is_applied && ledger->verdict == WEIR_VERDICT_BURY) {
        CHECK_INT(job.state, ==, WEIR_JOB_BURIED);
    } else if (is_applied) {
        CHECK_INT(job.state, ==, WEIR_JOB_READY);
        CHECK(job.attempts == 1 || job.attempts == 2); /* who looks may have lost one as well */
    }
    /* What was not acknowledged may be there, or not: but a job is lost by a success or a verdict
     * alone. */
    bool may_be_gone = ledger->verdict == WEIR_VERDICT_REMOVE || atomic_load(&ledger->may_go_on);
    CHECK(status == WEIR_OK && (job.end == 0 || may_be_gone));
}

enum role {
    WORKER,
    CANCELLER,
    LOOKER
};

/* One cancel, of which one process is killed at its nth call of a name. Returns whether it was. */
static bool play(struct ledger *ledger, enum role killed_role, const char *name, int nth)
{
    bool was_killed = false;
    struct killed_at killed;
    pid_t worker = -1;
    char byte = 0;
    CHECK_INT(pipe2(ledger->begun, O_CLOEXEC), ==, 0);
    CHECK_INT(pipe2(ledger->go_on, O_CLOEXEC), ==, 0);
    if (killed_role == WORKER) {
        killed = killed_at_begin(work, ledger, name, nth);
        worker = killed.worker;
    } else {
        worker = fork();
        CHECK(worker >= 0);
        if (worker == 0) {
            work(ledger);
            _exit(0);
        }
    }
    (void)close(ledger->begun[1]);
    CHECK_INT(read(ledger->begun[0], &byte, 1), >=, 0); /* 0: it was killed before */
    if (killed_role == CANCELLER) {
        was_killed = killed_at_end(killed_at_begin(cancel, ledger, name, nth));
    } else {
        cancel(ledger);
    }
    if (killed_role == LOOKER) {
        CHECK_INT(kill(worker, SIGKILL), ==, 0);
        CHECK_INT(waitpid(worker, NULL, 0), ==, worker);
        atomic_store(&ledger->open_runs, 0);
        pass(ledger, HOUR);
        was_killed = killed_at_end(killed_at_begin(look, ledger, name, nth));
    } else {
        int status;
        atomic_store(&ledger->may_go_on, true);
        CHECK_INT(write(ledger->go_on[1], &byte, 1), ==, 1);
        if (killed_role == WORKER) {
            was_killed = killed_at_end(killed);
        } else {
            CHECK_INT(waitpid(worker, &status, 0), ==, worker);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
    }
    (void)close(ledger->begun[0]);
    (void)close(ledger->go_on[0]);
    (void)close(ledger->go_on[1]);
    compare(ledger);
    return was_killed;
}

static void kill_at_all(enum role role)
{
    /* By futex it raises marks and the control word. */
    static const char *const names[] = {"pwrite64", "fdatasync", "flock", "futex"};
    const bool takes_turns = TEST_TSAN == 1 || TEST_ASAN == 1;
    struct ledger *ledger = make_ledger();
    int kills = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool was_killed = true;
        for (int nth = 1; was_killed; nth++) {
            was_killed = false;
            /* What a sanitizer finds is the same with each: they take turns there. */
            int first = WEIR_VERDICT_BURY + (takes_turns ? nth % 3 : 0);
            int last = takes_turns ? first : WEIR_VERDICT_RETRY;
            for (int verdict = first; verdict <= last; verdict++) {
                start_anew(ledger, (enum weir_verdict)verdict);
                was_killed = play(ledger, role, names[i], nth) || was_killed;
            }
            kills += was_killed;
        }
    }
    CHECK_INT(kills, >, 10);
    CHECK_INT(munmap(ledger, sizeof(*ledger)), ==, 0);
}

TEST(worker, "a worker that is killed at any step of a cancel: the verdict is applied, once")
{
    kill_at_all(WORKER);
}

TEST(canceller, "who cancels is killed at any step: it is cancelled, or it is not")
{
    kill_at_all(CANCELLER);
}

TEST(looker, "who ends the lease of a cancelled job is killed at any step: all of it, or nothing")
{
    kill_at_all(LOOKER);
}
