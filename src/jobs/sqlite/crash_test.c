/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Processes killed at any moment: acknowledged jobs exist, done jobs do not, the file is sound and
 * the counts are right. The ledger is in memory that outlives the killed process. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"
#include "support/killed_at.h"
#include "support/store_query.h"

enum {
    NUMBERS = 20000,
    BATCH = 3
};

struct entry {
    _Atomic bool is_put;    /* acknowledged */
    _Atomic bool was_tried; /* a deletion began */
    _Atomic bool is_done;   /* a deletion was acknowledged */
};

struct ledger {
    _Atomic int64_t operations;
    _Atomic uint64_t put; /* acknowledged */
    _Atomic uint64_t done;
    _Atomic bool is_over; /* nobody writes any more */
    struct jobs_wall wall;
    struct entry entries[NUMBERS]; /* by the job's number */
};

static struct ledger *make_ledger(void)
{
    struct ledger *ledger =
        mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(ledger != MAP_FAILED);
    ledger->wall.now_ns = JOBS_WALL_START;
    return ledger;
}

static void put_some(struct ledger *ledger, weir_broker *broker, size_t count)
{
    static char large[9000];
    const struct weir_body bodies[BATCH] = {
        {"small", 5, NULL}, {large, sizeof(large), NULL}, {"", 0, NULL}};
    struct weir_job_id ids[BATCH];
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, count, NULL, ids, NULL), WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        long long number = strtoll(ids[i].text, NULL, 10);
        CHECK_INT(number, <, NUMBERS);
        atomic_store(&ledger->entries[number].is_put, true);
    }
    atomic_fetch_add(&ledger->put, count);
}

static void settle(struct ledger *ledger, weir_broker *broker, const struct weiri_reservation *job,
                   enum weiri_job_event event)
{
    struct entry *entry = &ledger->entries[job->number];
    if (event == WEIRI_JOB_DONE) {
        atomic_store(&entry->was_tried, true);
    }
    CHECK_STATUS(jobs_settle(broker, job, event, jobs_wall_now(&ledger->wall), "again"), WEIR_OK);
    if (event == WEIRI_JOB_DONE) {
        atomic_store(&entry->is_done, true);
        atomic_fetch_add(&ledger->done, 1);
    }
}

static void remove_one(struct ledger *ledger, weir_broker *broker, int64_t number)
{
    char text[24];
    const char *id = text;
    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    atomic_store(&ledger->entries[number].was_tried, true);
    CHECK_INT(jobs_remove(broker, &id, 1), ==, 1);
    atomic_store(&ledger->entries[number].is_done, true);
}

/* Opens the store, calls each operation once and closes it, rounds times. */
static void work(struct ledger *ledger, int rounds)
{
    static const enum weiri_job_event events[] = {WEIRI_JOB_DONE,  WEIRI_JOB_RELEASE,
                                                  WEIRI_JOB_DONE,  WEIRI_JOB_RETURN,
                                                  WEIRI_JOB_TOUCH, WEIRI_JOB_BURY};
    for (int i = 0; i < rounds; i++) {
        weir_broker *broker = jobs_store_open("jobs.db", &ledger->wall);
        struct weiri_store *store = broker->store;
        store->checkpoint_pages = i % 2 == 0 ? 8 : 4000; /* checkpoints among the commits too */
        store->checkpoint_at = store->checkpoint_pages;
        for (size_t k = 0; k < sizeof(events) / sizeof(events[0]); k++) {
            put_some(ledger, broker, 1 + k % BATCH);
            struct weiri_reservation *job = jobs_reserve_one(broker, "t");
            settle(ledger, broker, job, events[k]);
            jobs_free_one(broker, job);
            atomic_fetch_add(&ledger->operations, 1);
        }
        CHECK_STATUS(weir_broker_kick(broker, "t", 1, NULL, NULL), WEIR_OK);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        settle(ledger, broker, job, WEIRI_JOB_RETURN);
        remove_one(ledger, broker, job->number);
        jobs_free_one(broker, job);
        /* Rows of jobs that have ended are deleted. */
        CHECK_STATUS(weir_broker_set_policy(broker, "t", NULL, NULL), WEIR_OK);
        weir_broker_close(broker);
        atomic_fetch_add(&ledger->operations, 1);
    }
}

struct presence {
    bool is_there[NUMBERS];
    int count;
};

static int note_present(const struct weir_job *job, void *arg)
{
    struct presence *presence = arg;
    long long number = strtoll(job->id, NULL, 10);
    CHECK_INT(number, <, NUMBERS);
    presence->is_there[number] = true;
    presence->count++;
    return 0;
}

/* Compares the store with the ledger; unknown is the number of jobs that may exist without an
 * acknowledgement. */
static void compare_with_ledger(struct ledger *ledger, weir_broker *broker, int unknown)
{
    CHECK_INT(query(broker, "SELECT count(*) FROM pragma_integrity_check "
                            "WHERE integrity_check = 'ok'"),
              ==, 1);
    CHECK_INT(
        query(broker,
              "SELECT count(*) FROM jobs WHERE outcome IS NULL AND body IS NULL AND id NOT IN "
              "(SELECT id FROM bodies)"),
        ==, 0);
    CHECK_INT(query(broker, "SELECT (SELECT count(*) FROM bodies) - "
                            "(SELECT count(*) FROM jobs WHERE outcome IS NULL AND body IS NULL)"),
              ==, 0);
    static struct presence presence;
    memset(&presence, 0, sizeof(presence));
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, SIZE_MAX, note_present, &presence, NULL),
                 WEIR_OK);
    struct weir_tube_counts counts = jobs_counts(broker, "t");
    CHECK_INT(counts.delayed + counts.ready + counts.reserved + counts.buried, ==, presence.count);
    CHECK_INT(counts.put, >=, ledger->put);
    CHECK_INT(counts.done, >=, ledger->done);
    for (int number = 1; number < NUMBERS; number++) {
        const struct entry *entry = &ledger->entries[number];
        bool is_there = presence.is_there[number];
        if (entry->is_put && !entry->was_tried && !is_there) {
            test_fail(__FILE__, __LINE__, "job %d is lost", number);
        }
        if (entry->is_done && is_there) {
            test_fail(__FILE__, __LINE__, "job %d was deleted and is back", number);
        }
        unknown -= is_there && !entry->is_put;
    }
    CHECK_INT(unknown, >=, 0);
}

/* Returns all jobs of a list in one transaction. */
static void return_all(weir_broker *broker, struct weiri_list *list, size_t count)
{
    struct weiri_settlement *settlements = calloc(count, sizeof(*settlements));
    CHECK(settlements != NULL);
    size_t i = 0;
    for (struct weiri_list *link = list->next; link != list; link = link->next) {
        settlements[i] = (struct weiri_settlement){
            .reservation = WEIRI_CONTAINER(link, struct weiri_reservation, link),
            .event = WEIRI_JOB_RETURN,
            .next = i + 1 < count ? &settlements[i + 1] : NULL};
        i++;
    }
    CHECK_INT(i, ==, count);
    struct weiri_exchange exchange = {.tube = "t", .settlements = settlements};
    CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
    for (i = 0; i < count; i++) {
        CHECK_STATUS(settlements[i].status, WEIR_OK);
    }
    free(settlements);
}

/* After a kill: opens the store, compares it with the ledger, lets an hour pass so that
 * reservations end, and checks that the store works. */
static void recover(struct ledger *ledger, int unknown)
{
    weir_broker *broker = jobs_store_open("jobs.db", &ledger->wall);
    compare_with_ledger(ledger, broker, unknown);
    jobs_wall_step(&ledger->wall, WEIR_SECONDS(3600));
    put_some(ledger, broker, 1);
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", SIZE_MAX / 2, 1000, &list);
    CHECK_INT(exchange.reserved_count, >, 0);
    return_all(broker, &list, exchange.reserved_count);
    jobs_free(broker, &list);
    compare_with_ledger(ledger, broker, unknown);
    weir_broker_close(broker);
}

static void spin(uint64_t count)
{
    for (volatile uint64_t i = 0; i < count; i++) {
    }
}

static void start_anew(struct ledger *ledger)
{
    static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.lock",
                                        "jobs.db.weir-new"};
    for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
        (void)unlink(files[k]);
    }
    memset(ledger->entries, 0, sizeof(ledger->entries));
    ledger->operations = 0;
    ledger->put = 0;
    ledger->done = 0;
}

/* Works in a process of its own until there were so many operations, and some time more. */
static void work_and_be_killed(struct ledger *ledger, int64_t until)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work(ledger, 1000);
        _exit(1);
    }
    while (ledger->operations < until) {
        (void)sched_yield();
    }
    spin(test_random_below(500000));
    CHECK_INT(kill(child, SIGKILL), ==, 0);
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(killed_at_random, "a process killed at a random moment loses nothing and leaves a sound store")
{
    struct ledger *ledger = make_ledger();
    uint64_t kills = test_scaled(40);
    int unknown = 0;
    for (uint64_t i = 0; i < kills; i++) {
        if (ledger->operations >= NUMBERS / 10) {
            start_anew(ledger);
            unknown = 0;
        }
        int64_t until = ledger->operations + (int64_t)test_random_below(12);
        work_and_be_killed(ledger, until);
        unknown += BATCH;
        recover(ledger, unknown);
    }
    CHECK_INT(munmap(ledger, sizeof(*ledger)), ==, 0);
}

/* --- what others see --- */

/* Reads the totals until the work is over. Exits with 0 where none ever went back. */
static void watch_totals(struct ledger *ledger)
{
    weir_broker *broker;
    struct weir_tube_counts last = {.put = 0};
    uint64_t changes = 0;
    CHECK_STATUS(
        jobs_store_try_open("jobs.db", &ledger->wall, WEIR_BROKER_READ_ONLY, &broker, NULL),
        WEIR_OK);
    while (!ledger->is_over) {
        struct weir_tube_counts counts = jobs_counts(broker, "t");
        if (counts.put < last.put || counts.done < last.done) {
            _exit(2);
        }
        changes += counts.put != last.put;
        last = counts;
    }
    weir_broker_close(broker);
    _exit(changes > 1 ? 0 : 3);
}

TEST(totals, "totals never go back for who reads them while writers are killed")
{
    struct ledger *ledger = make_ledger();
    work(ledger, 1);
    pid_t watcher = fork();
    CHECK(watcher >= 0);
    if (watcher == 0) {
        watch_totals(ledger);
    }
    for (uint64_t i = test_scaled(20); i > 0; i--) {
        int64_t until = ledger->operations + 1 + (int64_t)test_random_below(8);
        work_and_be_killed(ledger, until);
    }
    int status;
    ledger->is_over = true;
    CHECK_INT(waitpid(watcher, &status, 0), ==, watcher);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0); /* 2: one went back; 3: it saw no work */
    CHECK_INT(munmap(ledger, sizeof(*ledger)), ==, 0);
}

/* --- at every system call --- */

static void work_once(void *ledger)
{
    work(ledger, 1);
}

/* Kills at each call of a name in turn, until the work ends before it. Returns the number of calls.
 */
static int kill_at_each(struct ledger *ledger, const char *name, int first, int stride,
                        int *unknown)
{
    int kills = 0;
    bool was_killed = true;
    for (int nth = first; was_killed; nth += stride) {
        was_killed = killed_at_end(killed_at_begin(work_once, ledger, name, nth));
        *unknown += BATCH;
        recover(ledger, *unknown);
        kills += was_killed;
    }
    return kills;
}

struct calls {
    const char *name;
    int stride; /* of many calls of one kind, some in each run, from a random first one on */
};

static void kill_at_all(const struct calls *calls, size_t count)
{
    struct ledger *ledger = make_ledger();
    int unknown = 0;
    int kills = 0;
    for (size_t i = 0; i < count; i++) {
        int stride = test_scaled(1) > 1 ? 1 : calls[i].stride;
        int first = 1 + (int)test_random_below((uint64_t)stride);
        kills += kill_at_each(ledger, calls[i].name, first, stride, &unknown);
    }
    CHECK_INT(kills, >, 10);
    CHECK_INT(munmap(ledger, sizeof(*ledger)), ==, 0);
}

TEST(killed_at_each_write, "a process killed at any of its writes loses nothing")
{
    static const struct calls calls[] = {{"pwrite64", 9}};
    kill_at_all(calls, 1);
}

TEST(killed_at_each_call, "and so does one killed at any of its syncs and locks")
{
    static const struct calls calls[] = {{"fdatasync", 3}, {"fsync", 1}, {"ftruncate", 1},
                                         {"unlink", 1},    {"flock", 9}, {"renameat2", 1},
                                         {"fallocate", 1}};
    kill_at_all(calls, sizeof(calls) / sizeof(calls[0]));
}

TEST(killed_while_made, "a process killed at any call while it makes a store does no harm")
{
    static const char *const names[] = {"openat", "fchmod",    "fallocate", "flock",  "write",
                                        "fsync",  "renameat2", "pwrite64",  "unlink", "ftruncate"};
    struct ledger *ledger = make_ledger();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int nth = 1;
        bool was_killed = true;
        for (; was_killed && nth <= 6; nth++) {
            start_anew(ledger);
            was_killed = killed_at_end(killed_at_begin(work_once, ledger, names[i], nth));
            recover(ledger, BATCH);
            CHECK_INT(access("jobs.db.weir-new", F_OK), ==, -1);
        }
    }
    CHECK_INT(munmap(ledger, sizeof(*ledger)), ==, 0);
}
