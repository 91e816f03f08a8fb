/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Several threads and processes on one store. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "jobs/sqlite/store.h"
#include "jobs/sqlite/write.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* --- the control word --- */

static void tell(struct weiri_store *store, void *ret_code)
{
    weiri_write_notify(store, WEIRI_CHANNEL_CONTROL, 1);
    weiri_sql_fail(&store->writer, *(const int *)ret_code);
}

TEST(control_word, "a commit that concerns holders raises the control word in all processes, one "
                   "that fails or concerns none does not")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    weir_broker *other = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "u", "x", NULL);
    uint32_t before = other->ops->mark(other->store, NULL);
    struct weiri_mark tube = jobs_mark(other, "t");
    (void)jobs_put(broker, "u", "x", NULL);
    int code = SQLITE_FULL;
    CHECK_INT(weiri_commit(broker->store, tell, &code, NULL), ==, WEIR_ENOSPACE);
    CHECK_INT(other->ops->mark(other->store, NULL), ==, before);
    code = SQLITE_OK;
    CHECK_STATUS(weiri_commit(broker->store, tell, &code, NULL), WEIR_OK);
    (void)jobs_put(broker, "u", "x", NULL);
    CHECK_INT(other->ops->mark(other->store, NULL), ==, before + 1);
    CHECK(!jobs_has_news(other, tube));
    weir_broker_close(other);
    weir_broker_close(broker);
}

/* --- processes --- */

enum {
    PROCESSES_MAX = 8,
    NUMBERS = 601 /* and one more than jobs are put */
};

struct ledger {
    _Atomic int opened;        /* processes that have the store open, or had */
    _Atomic int runs[NUMBERS]; /* by the job's number */
};

/* told: has a byte after each round. */
static void work(struct ledger *ledger, int rounds, int told)
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    ledger->opened++;
    for (int i = 0; i < rounds; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
        struct weiri_list list;
        (void)jobs_reserve(broker, "t", 1 + test_random_below(2), 1000, &list);
        for (struct weiri_list *link = list.next; link != &list; link = link->next) {
            struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
            CHECK_INT(job->number, <, NUMBERS);
            atomic_fetch_add(&ledger->runs[job->number], 1);
            CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        }
        jobs_free(broker, &list);
        CHECK_INT(write(told, "", 1), ==, 1);
    }
    weir_broker_close(broker);
}

/* Many at once. after_round: called by the parent after each round of one, once all are there. */
static void work_together(int processes, int rounds, void (*after_round)(void))
{
    struct ledger *ledger =
        mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(ledger != MAP_FAILED);
    int ends[2];
    CHECK_INT(pipe(ends), ==, 0);
    pid_t children[PROCESSES_MAX];
    for (int i = 0; i < processes; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            work(ledger, rounds, ends[1]);
            _exit(0);
        }
    }
    (void)close(ends[1]);
    char byte;
    while (read(ends[0], &byte, 1) == 1) {
        if (ledger->opened == processes) {
            after_round();
        }
    }
    (void)close(ends[0]);
    for (int i = 0; i < processes; i++) {
        int status;
        CHECK_INT(waitpid(children[i], &status, 0), ==, children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK_INT(unlink("jobs.db.lock"), ==, 0); /* it may be anything by now */
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_list rest;
    (void)jobs_reserve(broker, "t", NUMBERS, 1000, &rest);
    for (struct weiri_list *link = rest.next; link != &rest; link = link->next) {
        ledger->runs[WEIRI_CONTAINER(link, struct weiri_reservation, link)->number]++;
    }
    for (int number = 1; number <= processes * rounds; number++) {
        CHECK_INT(ledger->runs[number], ==, 1);
    }
    jobs_free(broker, &rest);
    CHECK_INT(jobs_counts(broker, "t").put, ==, processes * rounds);
    weir_broker_close(broker);
    CHECK_INT(munmap(ledger, sizeof(*ledger)), ==, 0);
}

static void leave_alone(void)
{
}

TEST(processes, "processes that put and take from one store run each job once and lose none")
{
    work_together(4, 150, leave_alone);
}

/* Writes over the lock file: noise, zeros, what it was before; or cuts it. */
static void spoil_lock_file(void)
{
    static unsigned char before[4096];
    unsigned char page[4096] = {0};
    int fd = open("jobs.db.lock", O_RDWR | O_CLOEXEC);
    unsigned kind = (unsigned)test_random_below(4);
    CHECK(fd >= 0);
    for (size_t i = 0; i < sizeof(page) && kind == 0; i++) {
        page[i] = (unsigned char)test_random_below(256);
    }
    if (kind == 3) {
        CHECK_INT(ftruncate(fd, (off_t)test_random_below(4096)), ==, 0);
    } else {
        const unsigned char *bytes = kind == 2 ? before : page;
        unsigned char now[4096];
        (void)!pread(fd, now, sizeof(now), 0);
        CHECK_INT(pwrite(fd, bytes, sizeof(page), 0), ==, (int)sizeof(page));
        memcpy(before, now, sizeof(before));
    }
    (void)close(fd);
}

TEST(any_lock_file, "nor do they whatever is written over the lock file meanwhile, or cut from it")
{
    work_together(PROCESSES_MAX, 40, spoil_lock_file);
}

/* --- threads --- */

enum {
    THREADS = 8
};

static void put_one(void *arg)
{
    (void)jobs_put(arg, "t", "x", NULL);
}

TEST(group_commit, "puts that come while a commit is under way share the next one")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    /* The first waits for the lock, the others for the first. */
    struct test_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threads[i] = test_start(put_one, broker);
        test_wait_asleep(threads[i]);
    }
    weiri_lock_file_unlock(&other);
    for (int i = 0; i < THREADS; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(store->transactions, ==, 2);
    CHECK_COUNTS(broker, "t", 0, THREADS, 0, 0);
    weiri_lock_file_close(&other);
    weir_broker_close(broker);
}

/* Bodies that SQLite refuses: a limit of the connection stands for any failure. */
static void put_too_large(void *arg)
{
    static char bytes[200000];
    const struct weir_body body = {bytes, sizeof(bytes), NULL};
    struct weir_error error = {0};
    struct weir_job_id id = {"untouched"};
    CHECK_STATUS(weir_broker_put(arg, "t", &body, 1, NULL, &id, &error), WEIR_ETOOBIG);
    CHECK_STRING(id.text, "untouched");
    CHECK(strstr(error.text, "jobs.db") != NULL);
}

TEST(failing_neighbour, "a put that fails takes none with it that shared its commit")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    (void)sqlite3_limit(store->writer.db, SQLITE_LIMIT_LENGTH, 100000);
    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    struct test_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threads[i] = test_start(i == 3 || i == 5 ? put_too_large : put_one, broker);
        test_wait_asleep(threads[i]);
    }
    weiri_lock_file_unlock(&other);
    for (int i = 0; i < THREADS; i++) {
        test_join(threads[i]);
    }
    CHECK_COUNTS(broker, "t", 0, THREADS - 2, 0, 0);
    CHECK_INT(store->transactions, ==, 1 + THREADS - 3);
    weiri_lock_file_close(&other);
    weir_broker_close(broker);
}

static void put_and_read(void *arg)
{
    weir_broker *broker = arg;
    for (int i = 0; i < 100; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
        struct weir_tube_counts counts = jobs_counts(broker, "t");
        CHECK_INT(counts.put, >, i);
        CHECK_INT(counts.ready, ==, counts.put);
    }
}

TEST(threads, "threads write and read through one broker at once")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct test_thread *threads[4];
    for (int i = 0; i < 4; i++) {
        threads[i] = test_start(put_and_read, broker);
    }
    for (int i = 0; i < 4; i++) {
        test_join(threads[i]);
    }
    CHECK_COUNTS(broker, "t", 0, 400, 0, 0);
    weir_broker_close(broker);
}

/* A callback that uses the broker it was called by. */
static int nest(const struct weir_tube_counts *counts, void *arg)
{
    weir_broker *broker = arg;
    CHECK_INT(counts->ready, ==, 1);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_INT(jobs_counts(broker, "t").ready, ==, 2);
    return 0;
}

TEST(nested, "a callback may read and write through the broker that calls it")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_STATUS(weir_broker_tubes(broker, NULL, nest, broker, NULL), WEIR_OK);
    weir_broker_close(broker);
}

/* --- locks of others --- */

static weir_broker *open_impatient(void)
{
    struct weir_broker_options options = {0};
    options.busy_ns = WEIR_MS(30);
    weir_broker *broker;
    CHECK_STATUS(jobs_open_at("sqlite:jobs.db", &options, jobs_wall_now, &wall, &broker, NULL),
                 WEIR_OK);
    return broker;
}

TEST(busy, "a lock that another program holds is waited for until the limit, and nothing is put")
{
    weir_broker *broker = open_impatient();
    const struct weir_body body = {"x", 1, NULL};
    struct weir_error error;
    sqlite3 *db;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), ==, SQLITE_OK);
    int64_t start = weiri_monotonic_now();
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_ETIMEDOUT);
    CHECK_INT(weiri_monotonic_now() - start, >=, WEIR_MS(30));
    CHECK(strstr(error.text, "jobs.db") != NULL);
    CHECK_INT(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), ==, SQLITE_OK);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);

    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_ETIMEDOUT);
    weir_broker *second;
    struct weir_broker_options options = {0};
    options.busy_ns = WEIR_MS(30);
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &second, &error), WEIR_ETIMEDOUT);
    CHECK(strstr(error.text, "jobs.db.lock was held") != NULL);
    /* Reading needs no lock. */
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weiri_lock_file_unlock(&other);
    weiri_lock_file_close(&other);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
}

/* --- the WAL --- */

static off_t wal_size(void)
{
    struct stat facts;
    CHECK_INT(stat("jobs.db-wal", &facts), ==, 0);
    return facts.st_size;
}

static void put_pages(weir_broker *broker, int count)
{
    static char bytes[400 * 4096];
    const struct weir_body body = {bytes, sizeof(bytes), NULL};
    for (int i = 0; i < count; i++) {
        CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_OK);
    }
}

TEST(checkpoint, "the WAL is folded into the file as it grows, also with a reader that holds on")
{
    enum {
        PAGE = 4096 + 24
    };
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    put_pages(broker, 30);
    CHECK_INT(wal_size(), <, 6000 * PAGE);
    CHECK_INT(store->wal_pages, <, 6000);

    sqlite3 *reader;
    CHECK_INT(sqlite3_open("jobs.db", &reader), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM jobs", NULL, NULL, NULL), ==,
              SQLITE_OK);
    put_pages(broker, 30);
    CHECK_INT(store->wal_pages, >, 8000);
    CHECK_INT(sqlite3_exec(reader, "ROLLBACK", NULL, NULL, NULL), ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(reader), ==, SQLITE_OK);
    put_pages(broker, 30);
    CHECK_INT(store->wal_pages, <, 6000);
    CHECK_COUNTS(broker, "t", 0, 90, 0, 0);
    weir_broker_close(broker);
}

/* --- puts of very many jobs --- */

struct large_put {
    weir_broker *broker;
    size_t count;
    enum weir_status status;
    struct weir_job_id *ids;
};

static void put_large(void *arg)
{
    struct large_put *put = arg;
    struct weir_body *bodies = calloc(put->count, sizeof(*bodies));
    CHECK(bodies != NULL);
    put->status = weir_broker_put(put->broker, "large", bodies, put->count, NULL, put->ids, NULL);
    free(bodies);
}

TEST(cut, "a put of very many jobs lets others write in between, and keeps its order")
{
    enum {
        COUNT = 950
    };
    struct large_put put = {jobs_store_open("jobs.db", &wall), COUNT, WEIR_EINVAL,
                            calloc(COUNT, sizeof(*put.ids))};
    struct weiri_store *store = put.broker->store;
    store->put_ns = 0;
    uint64_t before = store->transactions;
    put_large(&put);
    CHECK_STATUS(put.status, WEIR_OK);
    CHECK_INT(store->transactions - before, ==, 10);
    CHECK_COUNTS(put.broker, "large", 0, COUNT, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        struct weiri_reservation *job = jobs_reserve_one(put.broker, "large");
        CHECK_STRING(job->job.id, put.ids[i].text);
        jobs_free_one(put.broker, job);
    }
    put.count = 100;
    before = store->transactions;
    put_large(&put);
    CHECK_INT(store->transactions - before, ==, 1);
    weir_broker_close(put.broker);
    free(put.ids);
}
