/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The identities of jobs: equal for one piece of work, and never those of two. */
#include <stdio.h>
#include <unistd.h>

#include <weir/admin.h>

#include "jobs/sqlite/store.h"
#include "support/changes.h"
#include "support/jobs.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

#define IDENTITY_SIZE (WEIR_PUT_ID_SIZE_MAX + 1)

static int keep(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, IDENTITY_SIZE, "%s", job->identity);
    return 0;
}

/* The identity that a look at a job shows. */
static const char *see(weir_broker *broker, int64_t number, char text[IDENTITY_SIZE])
{
    struct weir_job_id id;
    weiri_number_format(number, &id);
    CHECK_STATUS(weir_broker_peek_id(broker, id.text, keep, text, NULL), WEIR_OK);
    CHECK_INT(strlen(text), >, 0);
    return text;
}

static int64_t put(weir_broker *broker, enum weir_duplicate mode, const char *body)
{
    struct weir_put_options options = {.key = "k", .on_duplicate = mode};
    options.key_ns = mode == WEIR_DUPLICATE_THROTTLE ? WEIR_SECONDS(1) : 0;
    return jobs_put(broker, "t", body, &options);
}

/* Reserves the job, which must have this identity. */
static struct weiri_reservation *reserve(weir_broker *broker, const char *tube,
                                         const char *identity)
{
    struct weiri_reservation *job = jobs_reserve_one(broker, tube);
    CHECK_STRING(job->job.identity, identity);
    return job;
}

static void settle(weir_broker *broker, struct weiri_reservation *job, enum weiri_job_event event)
{
    CHECK_STATUS(jobs_settle(broker, job, event, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
}

TEST(lives, "a job has one identity over attempts, a lost lease, a burial, a kick and a move")
{
    static const enum weiri_job_event ends[] = {WEIRI_JOB_RELEASE, WEIRI_JOB_RETURN};
    char first[IDENTITY_SIZE];
    char now[IDENTITY_SIZE];
    const char *id = "1";
    enum weir_status status = WEIR_EUSER;
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t number = jobs_put(broker, "t", "x", NULL);
    (void)see(broker, number, first);
    for (int i = 0; i < 2; i++) {
        settle(broker, reserve(broker, "t", first), ends[i]);
        CHECK_STRING(see(broker, number, now), first);
    }
    struct weiri_reservation *lost = reserve(broker, "t", first);
    jobs_wall_step(&clocks.lease, WEIR_SECONDS(3600));
    jobs_wall_step(&clocks.wall, WEIR_SECONDS(3600));
    settle(broker, reserve(broker, "t", first), WEIRI_JOB_BURY);
    jobs_free_one(broker, lost);
    CHECK_STATUS(change_kick(broker, &id, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_OK);
    CHECK_STATUS(change_move(broker, &id, 1, "other", &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_OK);
    weir_broker_close(broker);
    broker = jobs_store_open_on("jobs.db", &clocks, "b");
    settle(broker, reserve(broker, "other", first), WEIRI_JOB_DONE);
    CHECK(strcmp(see(broker, jobs_put(broker, "t", "x", NULL), now), first) != 0);
    weir_broker_close(broker);
}

TEST(replaced, "a put by key renews the identity where it renews the body, and else leaves it")
{
    static const struct {
        enum weir_duplicate mode;
        bool is_new;
    } modes[] = {{WEIR_DUPLICATE_REPLACE, true},
                 {WEIR_DUPLICATE_KEEP, false},
                 {WEIR_DUPLICATE_DEBOUNCE, true},
                 {WEIR_DUPLICATE_THROTTLE, false},
                 {WEIR_DUPLICATE_AGAIN, false}};
    char before[IDENTITY_SIZE];
    char after[IDENTITY_SIZE];
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t number = put(broker, WEIR_DUPLICATE_REFUSE, "first");
    /* The wall clock stands, then is set back. */
    for (size_t i = 0; i < 10; i++) {
        (void)see(broker, number, before);
        CHECK_INT(put(broker, modes[i % 5].mode, "next"), ==, number);
        (void)see(broker, number, after);
        CHECK_INT(strcmp(before, after) != 0, ==, modes[i % 5].is_new);
        jobs_wall_step(&clocks.wall, i == 4 ? -WEIR_SECONDS(60) : 0);
    }
    jobs_wall_step(&clocks.wall, WEIR_SECONDS(60));
    settle(broker, reserve(broker, "t", after), WEIRI_JOB_DONE);
    weir_broker_close(broker);
}

TEST(again, "a put during a run leaves that run its identity, and gives a new one to the next")
{
    static const struct {
        enum weir_duplicate mode;
        enum weiri_job_event end;
    } ways[] = {{WEIR_DUPLICATE_AGAIN, WEIRI_JOB_DONE},
                {WEIR_DUPLICATE_AGAIN, WEIRI_JOB_RELEASE},
                {WEIR_DUPLICATE_DEBOUNCE, WEIRI_JOB_DONE},
                {WEIR_DUPLICATE_DEBOUNCE, WEIRI_JOB_BURY}};
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    for (size_t i = 0; i < 4; i++) {
        char before[IDENTITY_SIZE];
        char after[IDENTITY_SIZE];
        int64_t number = put(broker, WEIR_DUPLICATE_REFUSE, "first");
        struct weiri_reservation *job = reserve(broker, "t", see(broker, number, before));
        CHECK_INT(put(broker, ways[i].mode, "next"), ==, number);
        CHECK_STRING(job->job.identity, before);
        CHECK(strcmp(see(broker, number, after), before) != 0);
        settle(broker, job, ways[i].end);
        job = reserve(broker, "t", after);
        CHECK_INT(memcmp(job->job.body, "next", 4), ==, 0);
        settle(broker, job, WEIRI_JOB_DONE);
    }
    weir_broker_close(broker);
}

static weir_broker *open_store(void)
{
    struct weir_broker_options options = {.allocator = *test_allocator()};
    weir_broker *broker;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, NULL), WEIR_OK);
    return broker;
}

TEST(restored, "a restored backup knows its jobs, and gives none the identity of a lost one")
{
    char kept[IDENTITY_SIZE];
    char lost[IDENTITY_SIZE];
    char replaced[IDENTITY_SIZE];
    char now[IDENTITY_SIZE];
    weir_broker *broker = open_store();
    int64_t old = put(broker, WEIR_DUPLICATE_REFUSE, "kept");
    (void)see(broker, old, kept);
    CHECK_STATUS(weir_broker_backup(broker, "copy.db", NULL), WEIR_OK);
    int64_t number = jobs_put(broker, "t", "the same", NULL);
    (void)see(broker, number, lost);
    CHECK_INT(put(broker, WEIR_DUPLICATE_REPLACE, "replaced"), ==, old);
    (void)see(broker, old, replaced);
    weir_broker_close(broker);
    CHECK_INT(rename("copy.db", "jobs.db"), ==, 0);
    (void)unlink("jobs.db-wal");
    (void)unlink("jobs.db.lock");
    broker = open_store();
    CHECK_STRING(see(broker, old, now), kept);
    CHECK_INT(jobs_put(broker, "t", "the same", NULL), ==, number);
    CHECK(strcmp(see(broker, number, now), lost) != 0);
    CHECK_INT(put(broker, WEIR_DUPLICATE_REPLACE, "replaced"), ==, old);
    CHECK(strcmp(see(broker, old, now), replaced) != 0 && strcmp(now, kept) != 0);
    weir_broker_close(broker);
}

TEST(restored_behind,
     "nor does one give the identity of lost work where its clock is behind the jobs")
{
    char lost[IDENTITY_SIZE];
    char now[IDENTITY_SIZE];
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    int64_t number = put(broker, WEIR_DUPLICATE_REFUSE, "first");
    jobs_wall_step(&clocks.wall, -WEIR_SECONDS(3600));
    CHECK_STATUS(weir_broker_backup(broker, "copy.db", NULL), WEIR_OK);
    CHECK_INT(put(broker, WEIR_DUPLICATE_REPLACE, "paid"), ==, number);
    (void)see(broker, number, lost);
    weir_broker_close(broker);
    broker = jobs_store_open_on("copy.db", &clocks, "a");
    CHECK_INT(put(broker, WEIR_DUPLICATE_REPLACE, "other"), ==, number);
    CHECK(strcmp(see(broker, number, now), lost) != 0);
    weir_broker_close(broker);
}

TEST(other_store, "jobs of two stores have the same numbers and no identity in common")
{
    char texts[2][IDENTITY_SIZE];
    for (int i = 0; i < 2; i++) {
        weir_broker *broker = jobs_store_open_on(i == 0 ? "a.db" : "b.db", &clocks, "a");
        (void)see(broker, jobs_put(broker, "t", "x", NULL), texts[i]);
        weir_broker_close(broker);
        CHECK_INT(strlen(texts[i]), <=, 53);
        CHECK_INT(strspn(texts[i], "0123456789abcdef."), ==, strlen(texts[i]));
    }
    CHECK(strcmp(texts[0], texts[1]) != 0);
}
