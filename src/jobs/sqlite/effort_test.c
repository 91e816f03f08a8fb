/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a call costs does not depend on how many jobs there are: the steps of SQLite's machine are
 * counted, which are the same on every machine, in a store of few jobs and in one of many. */
#include "jobs/sqlite/store.h"

#include "support/jobs.h"
#include "support/sanitizer.h"

enum {
    FEW = 300,
    MANY = TEST_TSAN == 1 ? 2000 : 20000,
    BATCH = 1000,
    CALLS = 16,
    MORE_MOST = 40 /* steps of a call that has one row more to look at */
};

static struct jobs_wall wall = {JOBS_WALL_START};

/* --- the counts --- */

/* The steps that a store's writer has taken since the last time. */
static int64_t count_steps(weir_broker *broker)
{
    struct weiri_store *store = broker->store;
    int64_t steps = 0;
    for (sqlite3_stmt *one = NULL; (one = sqlite3_next_stmt(store->writer.db, one)) != NULL;) {
        steps += sqlite3_stmt_status(one, SQLITE_STMTSTATUS_VM_STEP, 1);
    }
    return steps;
}

struct efforts {
    const char *names[CALLS];
    int64_t steps[CALLS];
    size_t count;
};

static void note(struct efforts *efforts, weir_broker *broker, const char *name)
{
    CHECK_INT(efforts->count, <, CALLS);
    efforts->names[efforts->count] = name;
    efforts->steps[efforts->count++] = count_steps(broker);
}

/* --- the store --- */

struct filling {
    const char *tube;
    int64_t delay_ns;
    bool has_names; /* a key, a put_id and one of ten groups each */
};

static void fill(weir_broker *broker, const struct filling *filling, size_t count)
{
    static char names[BATCH][3][24];
    static struct weir_put_options options[BATCH];
    static struct weir_body bodies[BATCH];
    for (size_t i = 0; i < count; i += BATCH) {
        size_t size = count - i < BATCH ? count - i : BATCH;
        for (size_t k = 0; k < size; k++) {
            (void)snprintf(names[k][0], sizeof(names[k][0]), "k%zu", i + k);
            (void)snprintf(names[k][1], sizeof(names[k][1]), "p%zu", i + k);
            (void)snprintf(names[k][2], sizeof(names[k][2]), "g%zu", (i + k) % 10);
            options[k] = (struct weir_put_options){
                .delay_ns = filling->delay_ns,
                .key = filling->has_names ? names[k][0] : NULL,
                .put_id = filling->has_names ? names[k][1] : NULL,
                .group = filling->has_names ? names[k][2] : NULL,
            };
            bodies[k] = (struct weir_body){"body", 4, &options[k]};
        }
        CHECK_STATUS(weir_broker_put(broker, filling->tube, bodies, size, NULL, NULL, NULL),
                     WEIR_OK);
    }
}

/* Jobs that are delayed, ready, buried and ended, in the tube of the calls and beside it. */
static weir_broker *open_filled(const char *path, size_t count)
{
    static const struct filling fillings[] = {
        {"t", WEIR_SECONDS(3600), false}, {"t", 0, true}, {"u", WEIR_SECONDS(3600), true}};
    const struct weir_tube_policy policy = {.keep_ns = WEIR_FOREVER, .group_limit = 1000};
    weir_broker *broker = jobs_store_open(path, &wall);
    struct weiri_store *store = broker->store;
    CHECK_INT(sqlite3_exec(store->writer.db, "PRAGMA synchronous = OFF", NULL, NULL, NULL), ==,
              SQLITE_OK);
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
    for (size_t i = 0; i < sizeof(fillings) / sizeof(fillings[0]); i++) {
        fill(broker, &fillings[i], count);
    }
    for (size_t i = 0; i < count / 3; i++) {
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        enum weiri_job_event event = i % 2 == 0 ? WEIRI_JOB_DONE : WEIRI_JOB_BURY;
        CHECK_STATUS(jobs_settle(broker, job, event, 0, "why"), WEIR_OK);
        jobs_free_one(broker, job);
    }
    return broker;
}

static void put(weir_broker *broker, const struct weir_put_options *options)
{
    (void)jobs_put(broker, "t", "body", options);
}

static void settle(weir_broker *broker, struct weiri_reservation *job, enum weiri_job_event event)
{
    CHECK_STATUS(jobs_settle(broker, job, event, jobs_wall_now(&wall) + WEIR_SECONDS(9), "why"),
                 WEIR_OK);
}

static void take(struct efforts *efforts, size_t count)
{
    char path[24];
    (void)snprintf(path, sizeof(path), "jobs%zu.db", count);
    weir_broker *broker = open_filled(path, count);
    struct weiri_list list;
    *efforts = (struct efforts){.count = 0};
    jobs_free_one(broker, jobs_reserve_one(broker, "t")); /* what is done once is done */
    (void)count_steps(broker);
    put(broker, NULL);
    note(efforts, broker, "put");
    put(broker, &(struct weir_put_options){.delay_ns = WEIR_SECONDS(60)});
    note(efforts, broker, "put, delayed");
    put(broker, &(struct weir_put_options){.key = "new", .put_id = "new", .group = "g1"});
    note(efforts, broker, "put, with names");
    put(broker, &(struct weir_put_options){.put_id = "new"});
    note(efforts, broker, "put, repeated");
    put(broker, &(struct weir_put_options){.key = "new", .on_duplicate = WEIR_DUPLICATE_KEEP});
    note(efforts, broker, "put, key taken");
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    note(efforts, broker, "reserve");
    settle(broker, job, WEIRI_JOB_TOUCH);
    note(efforts, broker, "touch");
    settle(broker, job, WEIRI_JOB_RELEASE);
    note(efforts, broker, "release");
    jobs_free_one(broker, job);
    job = jobs_reserve_one(broker, "t");
    (void)count_steps(broker);
    settle(broker, job, WEIRI_JOB_BURY);
    note(efforts, broker, "bury");
    jobs_free_one(broker, job);
    job = jobs_reserve_one(broker, "t");
    (void)count_steps(broker);
    settle(broker, job, WEIRI_JOB_DONE);
    note(efforts, broker, "done");
    jobs_free_one(broker, job);
    CHECK_STATUS(weir_broker_kick(broker, "t", 1, NULL, NULL), WEIR_OK);
    note(efforts, broker, "kick");
    (void)jobs_reserve(broker, "u", 5, 25, &list);
    (void)count_steps(broker); /* the first look that finds too few counts all rows */
    (void)jobs_reserve(broker, "u", 5, 25, &list);
    note(efforts, broker, "look, all delayed");
    CHECK(weiri_list_is_empty(&list));
    weir_broker_close(broker);
}

TEST(flat,
     "puts, looks and ends take as many steps among 60,000 jobs as among 900; where races are "
     "looked for, of one thread, among 6,000")
{
    struct efforts few;
    struct efforts many;
    take(&few, FEW);
    take(&many, MANY);
    for (size_t i = 0; i < few.count; i++) {
        (void)printf("%s: %lld, %lld\n", few.names[i], (long long)few.steps[i],
                     (long long)many.steps[i]);
    }
    CHECK_INT(few.count, ==, many.count);
    for (size_t i = 0; i < few.count; i++) {
        CHECK_INT(few.steps[i], >, 0); /* else nothing was counted */
        CHECK_INT(many.steps[i], <=, few.steps[i] + MORE_MOST);
    }
}
