/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What puts and workers do to a job while it is moved, and one store by two names. */
#include <weir/admin.h>
#include <weir/policy.h>

#include <unistd.h>

#include "support/changes.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static struct weir_move_counts move(weir_broker *from, weir_broker *to, weir_move_fn *fn, void *arg)
{
    struct weir_move_counts counts = {0};
    CHECK_STATUS(weir_broker_move(from, to, "t", fn, arg, &counts, NULL), WEIR_OK);
    CHECK_INT(counts.found, ==, 1);
    return counts;
}

/* Brings the job forward once it is in the target. */
static int put_earlier(enum weir_move_step step, const struct weir_move_counts *counts, void *from)
{
    struct weir_put_options options = {.key = "k", .on_duplicate = WEIR_DUPLICATE_KEEP};
    (void)counts;
    if (step == WEIR_MOVE_PUT) {
        CHECK_INT(jobs_put(from, "t", "now", &options), ==, 1);
    }
    return 0;
}

TEST(a_put_brings_forward, "a job that a put brings forward meanwhile stays, and runs at that time")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    struct weir_put_options options = {.key = "k", .delay_ns = WEIR_SECONDS(60)};
    CHECK_INT(jobs_put(from, "t", "later", &options), ==, 1);
    CHECK_INT(move(from, to, put_earlier, from).left, ==, 1);
    CHECK_COUNTS(from, "t", 0, 1, 0, 0);
    CHECK_COUNTS(to, "t", 0, 0, 0, 0);
    weir_broker_close(from);
    weir_broker_close(to);
}

static int count_one(const struct weir_job *job, void *arg)
{
    (void)job;
    (*(int *)arg)++;
    return 0;
}

/* Both workers have the job: that of the target is done with it. */
struct both {
    weir_broker *from;
    weir_broker *to;
    struct weiri_reservation *job; /* of the source */
};

static int run_in_both(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    struct both *both = arg;
    (void)counts;
    if (step == WEIR_MOVE_PUT) {
        struct weiri_reservation *job = jobs_reserve_one(both->to, "t");
        CHECK_STATUS(jobs_settle(both->to, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        jobs_free_one(both->to, job);
        both->job = jobs_reserve_one(both->from, "t");
    }
    return 0;
}

TEST(both_are_faster,
     "a job that ran in the target, and is taken in the source, is told to be in both")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    struct both both = {from, to, NULL};
    struct weir_tube_policy policy = {.members = WEIR_POLICY_KEEP_NS, .keep_ns = WEIR_SECONDS(60)};
    CHECK_STATUS(weir_broker_set_policy(to, "t", &policy, NULL), WEIR_OK);
    (void)jobs_put(from, "t", "x", NULL);
    CHECK_INT(move(from, to, run_in_both, &both).both, ==, 1);
    CHECK_COUNTS(from, "t", 0, 0, 1, 0);
    const struct weir_job_filter filter = {.tube = "t", .state = WEIR_JOB_ENDED};
    int ended = 0;
    CHECK_STATUS(weir_broker_list(to, &filter, count_one, &ended, NULL), WEIR_OK);
    CHECK_INT(ended, ==, 1);
    jobs_free_one(from, both.job);
    weir_broker_close(from);
    weir_broker_close(to);
}

static int move_to_another_tube(enum weir_move_step step, const struct weir_move_counts *counts,
                                void *from)
{
    const char *id = "1";
    enum weir_status result = WEIR_OK;
    (void)counts;
    if (step == WEIR_MOVE_PUT) {
        CHECK_STATUS(change_move(from, &id, 1, "other", &result, NULL), WEIR_OK);
    }
    CHECK_STATUS(result, WEIR_OK);
    return 0;
}

TEST(to_another_tube, "a job that an operator moves to another tube meanwhile stays there")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    (void)jobs_put(from, "t", "x", NULL);
    CHECK_INT(move(from, to, move_to_another_tube, from).left, ==, 1);
    CHECK_COUNTS(from, "other", 0, 1, 0, 0);
    CHECK_COUNTS(to, "t", 0, 0, 0, 0);
    weir_broker_close(from);
    weir_broker_close(to);
}

struct pair {
    weir_broker *from;
    weir_broker *to;
};

static int move_back(enum weir_move_step step, const struct weir_move_counts *counts, void *arg)
{
    struct pair *pair = arg;
    struct weir_error error;
    (void)counts;
    if (step == WEIR_MOVE_PUT) {
        CHECK_STATUS(weir_broker_move(pair->to, pair->from, "t", NULL, NULL, NULL, &error),
                     WEIR_EBUSY);
        CHECK(strstr(error.text, "moves jobs out of or into") != NULL);
    }
    return 0;
}

TEST(back_at_once, "a move back while the first one goes on is refused, and loses nothing")
{
    struct pair pair = {jobs_store_open("from.db", &wall), jobs_store_open("to.db", &wall)};
    (void)jobs_put(pair.from, "t", "x", NULL);
    CHECK_INT(move(pair.from, pair.to, move_back, &pair).moved, ==, 1);
    CHECK_COUNTS(pair.from, "t", 0, 0, 0, 0);
    CHECK_COUNTS(pair.to, "t", 0, 1, 0, 0);
    CHECK_INT(move(pair.to, pair.from, NULL, NULL).moved, ==, 1);
    weir_broker_close(pair.from);
    weir_broker_close(pair.to);
}

TEST(into_itself, "a store has many names: a move from it to itself is refused, and loses nothing")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    (void)jobs_put(from, "t", "x", NULL);
    CHECK_INT(symlink(".", "link"), ==, 0);
    static const char *const names[] = {"./from.db", "link/from.db"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        weir_broker *to = jobs_store_open(names[i], &wall);
        struct weir_error error;
        CHECK_STATUS(weir_broker_move(from, to, "t", NULL, NULL, NULL, &error), WEIR_EINVAL);
        CHECK(strstr(error.text, "from and to are one store") != NULL);
        CHECK_COUNTS(from, "t", 0, 1, 0, 0);
        weir_broker_close(to);
    }
    weir_broker_close(from);
}
