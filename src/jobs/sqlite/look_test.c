/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Looking at a store while others write to it. */
#include <sys/stat.h>

#include "jobs/sqlite/store.h"
#include "support/changes.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static off_t log_size(void)
{
    struct stat facts;
    CHECK_INT(stat("jobs.db-wal", &facts), ==, 0);
    return facts.st_size;
}

/* What other processes do while a callback takes its time: 100 puts, checkpoints in between. */
static void write_much(weir_broker *writer)
{
    struct weiri_store *store = writer->store;
    store->checkpoint_pages = 20;
    store->checkpoint_at = 20;
    for (int i = 0; i < 100; i++) {
        (void)jobs_put(writer, "other", "x", NULL);
    }
    CHECK_INT(log_size(), <, 400000);
}

static int write_at_job(const struct weir_job *job, void *arg)
{
    (void)job;
    write_much(arg);
    return 0;
}

static int write_at_tube(const struct weir_tube_counts *counts, void *arg)
{
    (void)counts;
    write_much(arg);
    return 0;
}

TEST(slow, "a callback that takes long does not make the log grow")
{
    weir_broker *reader = jobs_store_open("jobs.db", &wall);
    weir_broker *writer = jobs_store_open("jobs.db", &wall);
    for (int i = 0; i < 10; i++) {
        (void)jobs_put(writer, "t", "x", NULL);
    }
    CHECK_STATUS(weir_broker_peek(reader, "t", 0, SIZE_MAX, write_at_job, writer, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_peek_id(reader, "1", write_at_job, writer, NULL), WEIR_OK);
    for (int i = 0; i < 10; i++) {
        CHECK_STATUS(weir_broker_tubes(reader, "t", write_at_tube, writer, NULL), WEIR_OK);
    }
    weir_broker_close(writer);
    weir_broker_close(reader);
}

TEST(was_put, "an id tells whether it was given, whatever became of its job, and by whom")
{
    bool was_put = true;
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_STATUS(weir_broker_was_put(broker, "1", &was_put, NULL), WEIR_OK);
    CHECK(!was_put);
    (void)jobs_put(broker, "t", "x", NULL);
    (void)jobs_put(broker, "t", "x", NULL);
    const char *const ids[] = {"1", "2"};
    CHECK_INT(jobs_remove(broker, ids, 2), ==, 2);
    CHECK_STATUS(weir_broker_shrink(broker, NULL, NULL, NULL), WEIR_OK);
    weir_broker_close(broker);
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, WEIR_BROKER_READ_ONLY, &broker, NULL),
                 WEIR_OK);
    CHECK_STATUS(weir_broker_was_put(broker, "2", &was_put, NULL), WEIR_OK);
    CHECK(was_put);
    CHECK_STATUS(weir_broker_was_put(broker, "3", &was_put, NULL), WEIR_OK);
    CHECK(!was_put);
    CHECK_STATUS(weir_broker_was_put(broker, "x", &was_put, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_was_put(broker, NULL, &was_put, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_was_put(broker, "1", NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_was_put(NULL, "1", &was_put, NULL), WEIR_EINVAL);
    weir_broker_close(broker);
    CHECK_STATUS(weir_broker_open("beanstalk://127.0.0.1:1,127.0.0.1:2", NULL, &broker, NULL),
                 WEIR_OK);
    CHECK_STATUS(weir_broker_was_put(broker, "1", &was_put, NULL), WEIR_ENOTSUP);
    weir_broker_close(broker);
}

struct listing {
    weir_broker *broker;
    char text[32];
};

/* At the first job the second one is removed, and the third one is reserved. */
static int change_next(const struct weir_job *job, void *arg)
{
    struct listing *listing = arg;
    if (listing->text[0] == '\0') {
        const char *const ids[] = {"1", "2", "2"};
        (void)jobs_remove(listing->broker, ids, 3);
        jobs_free_one(listing->broker, jobs_reserve_one(listing->broker, "t"));
    }
    (void)strncat(listing->text, job->id, 2);
    return 0;
}

static void expect_listing(enum weir_job_state state, const char *text)
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct listing listing = {broker, ""};
    char last[24] = "";
    const char *id = last;
    for (int i = 0; i < 4; i++) {
        (void)snprintf(last, sizeof(last), "%lld", (long long)jobs_put(broker, "t", "x", NULL));
    }
    CHECK_STATUS(weir_broker_peek(broker, "t", state, SIZE_MAX, change_next, &listing, NULL),
                 WEIR_OK);
    CHECK_STRING(listing.text, text);
    (void)jobs_remove(broker, &id, 1);
    weir_broker_close(broker);
}

TEST(gone, "a job that is gone when its turn comes is left out")
{
    expect_listing(0, "134");
}

TEST(moved, "a job that is no longer in the state when its turn comes is left out")
{
    expect_listing(WEIR_JOB_READY, "14");
}

static int count_job(const struct weir_job *job, void *arg)
{
    (void)job;
    ++*(int *)arg;
    return 0;
}

/* The steps of SQLite's machine that looks have taken so far. */
static int count_steps(weir_broker *broker)
{
    struct weiri_store *store = broker->store;
    int steps = 0;
    for (int i = 0; i < WEIRI_SQL_STATEMENTS; i++) {
        sqlite3_stmt *statement = store->idle_reader->statements[i];
        steps +=
            statement == NULL ? 0 : sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    }
    return steps;
}

TEST(few_buried, "a list of the buried jobs of a tube does not walk the others")
{
    enum {
        JOBS = 5000
    };
    static struct weir_body bodies[JOBS];
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, JOBS, NULL, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_put(broker, "u", bodies, 2, NULL, NULL, NULL), WEIR_OK);
    const char *const ids[] = {"7", "4000", "5001"};
    enum weir_status statuses[3];
    CHECK_STATUS(change_bury(broker, ids, 3, "why", statuses, NULL), WEIR_OK);
    struct weir_job_filter filter = {0};
    filter.tube = "t";
    filter.state = WEIR_JOB_BURIED;
    int count = 0;
    CHECK_STATUS(weir_broker_list(broker, &filter, count_job, &count, NULL), WEIR_OK);
    CHECK_INT(count, ==, 2);
    filter.after = "7";
    CHECK_STATUS(weir_broker_list(broker, &filter, count_job, &count, NULL), WEIR_OK);
    CHECK_INT(count, ==, 3);
    CHECK_INT(count_steps(broker), <, JOBS / 2);
    weir_broker_close(broker);
}

TEST(few,
     "a list of a state or a tube with few jobs does not walk the others, a search copies none "
     "without the text")
{
    enum {
        JOBS = 12000 /* more than are few */
    };
    static struct weir_body bodies[JOBS];
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    const struct weir_job_filter filters[] = {
        {.state = WEIR_JOB_DELAYED}, {.tube = "u"}, {.tube = "u", .state = WEIR_JOB_READY}};
    const struct weir_put_options later = {.delay_ns = WEIR_SECONDS(1)};
    const struct weir_body found = {"a needle", 8, NULL};
    int count = 0;
    for (int i = 0; i < JOBS; i += 4000) {
        CHECK_STATUS(weir_broker_put(broker, "t", bodies, 4000, NULL, NULL, NULL), WEIR_OK);
    }
    const struct weir_job_filter text = {.text = "needle", .text_size = 6};
    CHECK_STATUS(weir_broker_list(broker, &text, count_job, &count, NULL), WEIR_OK);
    struct weiri_store *store = broker->store;
    CHECK(store->idle_reader->statements[WEIRI_SQL_PEEK] == NULL);
    int before = count_steps(broker);
    (void)jobs_put(broker, "t", "x", &later);
    (void)jobs_put(broker, "u", "x", NULL);
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        CHECK_STATUS(weir_broker_list(broker, &filters[i], count_job, &count, NULL), WEIR_OK);
    }
    CHECK_INT(count, ==, 3);
    CHECK_INT(count_steps(broker) - before, <, JOBS / 2);
    CHECK_STATUS(weir_broker_put(broker, "t", &found, 1, NULL, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_list(broker, &text, count_job, &count, NULL), WEIR_OK);
    CHECK_INT(count, ==, 4);
    weir_broker_close(broker);
}

struct steps {
    int jobs;
    int count;
};

static int count_one(const struct weir_job *job, void *arg)
{
    struct steps *steps = arg;
    (void)job;
    steps->jobs++;
    return 0;
}

static int count_step(const char *after, void *arg)
{
    struct steps *steps = arg;
    (void)after;
    steps->count++;
    return 0;
}

TEST(given, "a list reads rows, however many ids were given between them")
{
    enum {
        JOBS = 12000,
        READS = JOBS / 64 + 3
    };
    static struct weir_body bodies[JOBS / 3];
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    const struct weir_job_filter filter = {.step = count_step};
    struct steps steps = {0};
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(weir_broker_put(broker, "t", bodies, JOBS / 3, NULL, NULL, NULL), WEIR_OK);
    }
    CHECK_INT(sqlite3_exec(store->writer.db,
                           "UPDATE jobs SET id = 1000000000 * (id - 11990) WHERE id > 11990", NULL,
                           NULL, NULL),
              ==, SQLITE_OK);
    CHECK_STATUS(weir_broker_list(broker, &filter, count_one, &steps, NULL), WEIR_OK);
    CHECK_INT(steps.jobs, ==, JOBS);
    CHECK_INT(steps.count, <, READS);
    weir_broker_close(broker);
}

TEST(uncounted, "who asks only whether a tube is there, or paused, counts none of its jobs")
{
    enum {
        JOBS = 5000
    };
    static struct weir_body bodies[JOBS];
    const struct weir_put_options later = {.delay_ns = WEIR_SECONDS(1)};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_why why;
    struct weir_tube_counts found = {.tube = ""};
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, JOBS, &later, NULL, NULL), WEIR_OK);
    jobs_wall_step(&wall, WEIR_SECONDS(2));
    CHECK_STATUS(weir_broker_why(broker, "1", &why, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_SECONDS(1), NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_find_tubes(broker, NULL, jobs_keep_counts, &found, NULL), WEIR_OK);
    CHECK_STRING(found.tube, "t");
    CHECK_INT(found.ready + found.delayed + found.put, ==, 0);
    CHECK_INT(found.paused_until_ns, ==, jobs_wall_now(&wall) + WEIR_SECONDS(1));
    found = (struct weir_tube_counts){.tube = ""};
    CHECK_STATUS(weir_broker_find_tubes(broker, "u", jobs_keep_counts, &found, NULL), WEIR_OK);
    CHECK_STRING(found.tube, "");
    CHECK_INT(count_steps(broker), <, JOBS / 2);
    weir_broker_close(broker);
}

static int64_t ready_since(weir_broker *broker)
{
    int64_t since_ns = jobs_counts(broker, "t").ready_since_ns;
    return since_ns == 0 ? -1 : since_ns - JOBS_WALL_START;
}

TEST(ready_since, "a tube tells since when a job is ready, also one whose delay has ended")
{
    struct weir_put_options delayed = {0};
    struct weir_put_options urgent = {0};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    delayed.delay_ns = WEIR_SECONDS(5);
    urgent.priority = -1;
    (void)jobs_put(broker, "t", "first", &delayed);
    CHECK_INT(ready_since(broker), ==, -1);
    jobs_wall_step(&wall, WEIR_SECONDS(7));
    CHECK_INT(ready_since(broker), ==, WEIR_SECONDS(5));
    (void)jobs_put(broker, "t", "second", NULL);
    CHECK_INT(ready_since(broker), ==, WEIR_SECONDS(5));
    struct weiri_reservation *first = jobs_reserve_one(broker, "t");
    CHECK_INT(ready_since(broker), ==, WEIR_SECONDS(7));
    (void)jobs_put(broker, "t", "third", &delayed);
    jobs_wall_step(&wall, WEIR_SECONDS(6));
    CHECK_INT(ready_since(broker), ==, WEIR_SECONDS(7));
    (void)jobs_put(broker, "t", "urgent", &urgent);
    CHECK_INT(ready_since(broker), ==, WEIR_SECONDS(12));
    jobs_free_one(broker, first);
    struct weiri_reservation *next = jobs_reserve_one(broker, "t");
    CHECK_INT(ready_since(broker), ==, WEIR_SECONDS(7));
    jobs_free_one(broker, next);
    weir_broker_close(broker);
}

static int add_id(const struct weir_job *job, void *text)
{
    (void)strcat(strcat(text, job->id), " ");
    return 0;
}

static int expect_integrity(const struct weir_finding *finding, void *arg)
{
    (void)arg;
    CHECK(strcmp(finding->name, "integrity") != 0);
    return 0;
}

TEST(suspects, "ready jobs of both indexes are counted, and told in one order")
{
    char ids[32] = "";
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    for (int i = 0; i < 4; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
        jobs_wall_step(&wall, WEIR_SECONDS(1));
    }
    CHECK_INT(sqlite3_exec(store->writer.db,
                           "UPDATE jobs SET lost = id + 1, state = 9 WHERE id IN (1, 3)", NULL,
                           NULL, NULL),
              ==, SQLITE_OK);
    struct weir_tube_counts counts = jobs_counts(broker, "t");
    CHECK_INT(counts.ready, ==, 4);
    CHECK_INT(counts.ready_since_ns, ==, JOBS_WALL_START);
    CHECK_INT(
        sqlite3_exec(store->writer.db, "UPDATE jobs SET lost = 2 WHERE id = 1", NULL, NULL, NULL),
        ==, SQLITE_OK);
    CHECK_INT(jobs_counts(broker, "t").ready_since_ns, ==, JOBS_WALL_START);
    CHECK_STATUS(weir_broker_peek(broker, "t", WEIR_JOB_READY, 3, add_id, ids, NULL), WEIR_OK);
    CHECK_STRING(ids, "1 2 3 ");
    CHECK_INT(jobs_counts(broker, "other").ready_since_ns, ==, 0);
    CHECK_STATUS(weir_broker_check(broker, expect_integrity, NULL, NULL), WEIR_OK);
    weir_broker_close(broker);
}

/* The pages that the idle reader has looked at since the last time, of its cache or not. */
static int count_pages(weir_broker *broker)
{
    struct weiri_store *store = broker->store;
    int read = 0;
    int cached = 0;
    int most = 0;
    (void)sqlite3_db_status(store->idle_reader->db, SQLITE_DBSTATUS_CACHE_MISS, &read, &most, 1);
    (void)sqlite3_db_status(store->idle_reader->db, SQLITE_DBSTATUS_CACHE_HIT, &cached, &most, 1);
    return read + cached;
}

static int expect_size(const struct weir_job *job, void *arg)
{
    const struct weir_body *body = arg;
    CHECK_INT(job->body_size, ==, body->size);
    return 0;
}

TEST(unread, "a look that shows no body reads no page of it")
{
    static char large[4 << 20];
    struct weir_body body = {large, sizeof(large), NULL};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_OK);
    struct weir_job_filter looks[] = {
        {.id = "1"}, {.tube = "t", .first = 9}, {.tube = "t"}, {.state = WEIR_JOB_READY}};
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        for (uint32_t no_bodies = 0; no_bodies < 2; no_bodies++) {
            looks[i].no_bodies = no_bodies;
            CHECK_STATUS(weir_broker_list(broker, &looks[i], expect_size, &body, NULL), WEIR_OK);
            int pages = count_pages(broker);
            CHECK((no_bodies == 1 && pages < 50) || (no_bodies == 0 && pages > 500));
        }
    }
    weir_broker_close(broker);
}
