/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include "support/harness.h"

/* The two clocks are far apart: what asks the wrong one is wrong by much. */
enum {
    WALL = 100000,
    LEASE = 500,
    TTR = 100,
    TOKEN = 7,
    LATER = WALL + 60
};

static const struct weiri_now now = {WALL, LEASE};
static const struct weiri_tube_record plain;
static const struct weiri_tube_record limited = {.policy = {.group_limit = 1}};

static struct weiri_job_row row_in(enum weir_job_state state)
{
    return (struct weiri_job_row){.number = 5,
                                  .tube = 2,
                                  .facts = {.state = state,
                                            .attempts = 3,
                                            .run_at_ns = WALL - 50,
                                            .ttr_ns = TTR,
                                            .lease_ns = state == WEIR_JOB_RESERVED ? LEASE : 0,
                                            .token = TOKEN},
                                  .progress = 40,
                                  .group = "old"};
}

/* A job that runs, with a key; has_put: and a put during the run. */
static struct weiri_job_row keyed(bool has_put)
{
    struct weiri_job_row row = row_in(WEIR_JOB_RESERVED);
    row.key = (struct weiri_job_key){.is_there = true,
                                     .again = has_put ? TOKEN : TOKEN - 1,
                                     .again_at_ns = WALL + 30,
                                     .group = "new"};
    return row;
}

static struct weiri_reservation reservation = {.job = {.fence = TOKEN}};

static enum weiri_write settle(struct weiri_job_row *row, enum weiri_job_event event,
                               const struct weiri_tube_record *tube, struct weiri_effects *effects)
{
    const struct weiri_settlement settlement = {
        .reservation = &reservation,
        .event = event,
        .delay_ns = event == WEIRI_JOB_RELEASE ? LATER - WALL + 5 : 0,
        .since_ns = LEASE - 5,
        .progress = event == WEIRI_JOB_TOUCH ? 1 + 80 : 0,
        .reason = event == WEIRI_JOB_RELEASE || event == WEIRI_JOB_BURY ? "it failed" : NULL,
        .end = {.outcome = event == WEIRI_JOB_RELEASE ? WEIR_RUN_RETRY
                           : event == WEIRI_JOB_BURY  ? WEIR_RUN_BURIED
                                                      : (enum weir_run_outcome)0},
    };
    return weiri_decide_settle(row, &settlement, tube, now, effects);
}

TEST(done, "a job that is done has ended, without its key")
{
    struct weiri_effects effects;
    struct weiri_job_row row = row_in(WEIR_JOB_RESERVED);
    CHECK_INT(settle(&row, WEIRI_JOB_DONE, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(effects.from, ==, WEIR_JOB_RESERVED);
    CHECK_INT(effects.to, ==, WEIR_JOB_ENDED);
    CHECK_INT(effects.end, ==, WEIR_RUN_DONE);
    CHECK_INT(row.facts.lease_ns, ==, WALL); /* the time of its end */
    CHECK_STRING(effects.reason, "");
    CHECK(!effects.frees_key);
    CHECK(effects.done && !effects.put && !effects.forgets_attempts && !effects.wakes);
    CHECK_INT(effects.kept.outcome, ==, 0);
    row = keyed(false);
    CHECK_INT(settle(&row, WEIRI_JOB_DONE, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK(effects.frees_key);
}

TEST(put_during, "a put during the run has the job run once more, as it asked")
{
    struct weiri_effects effects;
    struct weiri_job_row row = keyed(true);
    CHECK_INT(settle(&row, WEIRI_JOB_DONE, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(effects.to, ==, WEIR_JOB_DELAYED);
    CHECK_INT(row.facts.run_at_ns, ==, WALL + 30);
    CHECK_INT(row.facts.attempts, ==, 0);
    CHECK_STRING(row.group, "new");
    CHECK_STRING(effects.reason, "");
    CHECK_INT(effects.wakes_at_ns, ==, WALL + 30);
    CHECK(!effects.frees_key);
    CHECK(effects.done && effects.put && effects.takes_again && effects.forgets_attempts);
    CHECK_INT(effects.kept.outcome, ==, 0);

    row = keyed(true);
    row.key.again_at_ns = WALL - 40; /* long before the run was settled */
    CHECK_INT(settle(&row, WEIRI_JOB_DONE, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(row.facts.run_at_ns, ==, WALL - 40);
    CHECK(effects.to == WEIR_JOB_READY && effects.wakes);

    row = keyed(true);
    CHECK_INT(settle(&row, WEIRI_JOB_BURY, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(effects.to, ==, WEIR_JOB_DELAYED);
    CHECK_STRING(effects.reason, "it failed");
    CHECK(!effects.done && !effects.put && effects.takes_again && effects.forgets_attempts);
    CHECK_INT(effects.kept.outcome, ==, 0);

    /* A retry covers the put, and waits for both times. */
    row = keyed(true);
    CHECK_INT(settle(&row, WEIRI_JOB_RELEASE, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(row.facts.run_at_ns, ==, LATER);
    CHECK_INT(row.facts.attempts, ==, 3);
    CHECK(effects.takes_again && effects.retried && !effects.forgets_attempts);
    row = keyed(true);
    row.key.again_at_ns = LATER + 1;
    CHECK_INT(settle(&row, WEIRI_JOB_RELEASE, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(row.facts.run_at_ns, ==, LATER + 1);
    row = keyed(true);
    CHECK_INT(settle(&row, WEIRI_JOB_RETURN, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(row.facts.run_at_ns, ==, WALL + 30);
    CHECK_INT(effects.to, ==, WEIR_JOB_DELAYED);
    row = keyed(true);
    CHECK_INT(settle(&row, WEIRI_JOB_TOUCH, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK(!effects.takes_again);
    CHECK_STRING(row.group, "old");
}

TEST(failed, "a job that failed comes back or is buried, which frees its key; history has the run")
{
    struct weiri_effects effects;
    struct weiri_job_row row = keyed(false);
    CHECK_INT(settle(&row, WEIRI_JOB_RELEASE, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(effects.to, ==, WEIR_JOB_DELAYED);
    CHECK_INT(effects.wakes_at_ns, ==, LATER);
    CHECK(!effects.frees_key);
    CHECK_INT(effects.kept.outcome, ==, WEIR_RUN_RETRY);
    CHECK_STRING(effects.reason, "it failed");
    CHECK(effects.retried && !effects.takes_again && !effects.done);
    row = keyed(false);
    CHECK_INT(settle(&row, WEIRI_JOB_BURY, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(effects.to, ==, WEIR_JOB_BURIED);
    CHECK(effects.frees_key);
    CHECK_INT(effects.kept.outcome, ==, WEIR_RUN_BURIED);
    CHECK(!effects.wakes && effects.wakes_at_ns == 0 && effects.burial == WEIR_OK);
}

TEST(touched, "a touch prolongs the lease by its own clock, and tells of progress; it wakes nobody")
{
    struct weiri_effects effects;
    struct weiri_job_row row = row_in(WEIR_JOB_RESERVED);
    CHECK_INT(settle(&row, WEIRI_JOB_TOUCH, &limited, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(row.facts.lease_ns, ==, LEASE + TTR);
    CHECK_INT(row.progress, ==, 80);
    CHECK_INT(effects.from, ==, effects.to);
    CHECK(!effects.wakes && effects.lease_ends_ns == 0 && !effects.is_started);
}

TEST(room, "the end of a run wakes where the tube limits groups, whatever the group is then")
{
    struct weiri_effects effects;
    struct weiri_job_row row = keyed(true);
    reservation.job.group = "old";
    CHECK_INT(settle(&row, WEIRI_JOB_DONE, &limited, &effects), ==, WEIRI_UPDATE);
    CHECK(effects.wakes);
    row = row_in(WEIR_JOB_RESERVED);
    CHECK_INT(settle(&row, WEIRI_JOB_DONE, &plain, &effects), ==, WEIRI_UPDATE);
    CHECK(!effects.wakes);
    row = row_in(WEIR_JOB_RESERVED);
    CHECK_INT(settle(&row, WEIRI_JOB_TOUCH, &limited, &effects), ==, WEIRI_UPDATE);
    CHECK(!effects.wakes);
    reservation.job.group = NULL;
    row = row_in(WEIR_JOB_RESERVED);
    CHECK_INT(settle(&row, WEIRI_JOB_DONE, &limited, &effects), ==, WEIRI_UPDATE);
    CHECK(!effects.wakes);
}

TEST(not_its_own, "what is told of an earlier reservation changes nothing")
{
    struct weiri_effects effects;
    struct weiri_job_row row = keyed(true);
    row.facts.token = TOKEN + 1;
    row.key.again = TOKEN + 1;
    CHECK_INT(settle(&row, WEIRI_JOB_DONE, &plain, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_ELEASELOST);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_RESERVED);
    CHECK_STRING(row.group, "old");
    CHECK(!effects.done && !effects.put && effects.kept.outcome == 0);
}

TEST(unsuccessful,
     "a run that ended without success has failed, whatever follows, but not one given back")
{
    static const enum weiri_job_event events[] = {WEIRI_JOB_TOUCH,  WEIRI_JOB_DONE,
                                                  WEIRI_JOB_RETURN, WEIRI_JOB_RELEASE,
                                                  WEIRI_JOB_BURY,   WEIRI_JOB_DISCARD};
    struct weiri_effects effects;
    for (int has_put = 0; has_put < 2; has_put++) {
        for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
            struct weiri_job_row row = keyed(has_put != 0);
            (void)settle(&row, events[i], &plain, &effects);
            CHECK_INT(effects.failed, ==, i >= 3);
        }
        struct weiri_job_row row = keyed(has_put != 0);
        CHECK_INT(weiri_decide_expire(&row, 4, false, &plain, now, &effects), ==, WEIRI_UPDATE);
        CHECK(effects.failed);
    }
}

TEST(expired, "a lease that has passed brings the job back, or buries it after its last attempt")
{
    struct weiri_effects effects;
    struct weiri_job_row row = keyed(false);
    CHECK_INT(weiri_decide_expire(&row, 4, false, &plain, now, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(effects.to, ==, WEIR_JOB_READY);
    CHECK_INT(effects.kept.outcome, ==, WEIR_RUN_LOST);
    CHECK(effects.expired && effects.wakes && effects.burial == WEIR_OK);
    CHECK(effects.reason != NULL);
    row = keyed(false);
    CHECK_INT(weiri_decide_expire(&row, 3, false, &plain, now, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(effects.to, ==, WEIR_JOB_BURIED);
    CHECK(effects.frees_key);
    CHECK_STATUS(effects.burial, WEIR_ELEASELOST);
    CHECK(effects.expired && !effects.wakes);
    row = keyed(false);
    CHECK_INT(weiri_decide_expire(&row, 3, false, &limited, now, &effects), ==, WEIRI_UPDATE);
    CHECK(effects.wakes); /* its group has room */
    row = keyed(false);
    CHECK_INT(weiri_decide_expire(&row, 3, true, &plain, now, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(row.facts.lease_ns, ==, LEASE + TTR);
    CHECK(!effects.expired && effects.kept.outcome == 0 && effects.reason == NULL);
}

TEST(expired_put, "a put during a run whose lease has passed is not run before its time")
{
    struct weiri_effects effects;
    struct weiri_job_row row = keyed(true);
    CHECK_INT(weiri_decide_expire(&row, 4, false, &plain, now, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(effects.to, ==, WEIR_JOB_DELAYED);
    CHECK_INT(row.facts.run_at_ns, ==, WALL + 30);
    CHECK_INT(row.facts.attempts, ==, 3);
    CHECK(effects.takes_again && effects.kept.outcome == WEIR_RUN_LOST && effects.expired);
    row = keyed(true);
    CHECK_INT(weiri_decide_expire(&row, 3, false, &plain, now, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(row.facts.attempts, ==, 0);
    CHECK_INT(effects.to, ==, WEIR_JOB_DELAYED);
    CHECK(effects.burial == WEIR_OK && effects.kept.outcome == 0 && effects.forgets_attempts);
}

TEST(lease_lives, "a lease that has not passed is not ended, whatever was put meanwhile")
{
    struct weiri_effects effects;
    for (int kind = 0; kind < 4; kind++) {
        struct weiri_job_row row = keyed(kind % 2 == 0);
        row.facts.lease_ns = LEASE + 1; /* long before the wall time */
        CHECK_INT(weiri_decide_expire(&row, kind < 2 ? 3 : 4, false, &plain, now, &effects), ==,
                  WEIRI_NOTHING);
        CHECK_STATUS(effects.status, WEIR_ESTATE);
        CHECK_INT(row.facts.state, ==, WEIR_JOB_RESERVED);
    }
    struct weiri_job_row row = row_in(WEIR_JOB_READY);
    CHECK_INT(weiri_decide_expire(&row, 3, false, &plain, now, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_ESTATE);
}

TEST(changed, "an operator's event where the state has it; a reserved job is busy")
{
    static const struct {
        enum weiri_job_event event;
        enum weir_job_state state;
        enum weiri_write write;
        enum weir_status status;
        enum weir_job_state to;
    } rows[] = {
        {WEIRI_JOB_KICK, WEIR_JOB_BURIED, WEIRI_UPDATE, WEIR_OK, WEIR_JOB_READY},
        {WEIRI_JOB_KICK, WEIR_JOB_RESERVED, WEIRI_NOTHING, WEIR_EBUSY, WEIRI_JOB_GONE},
        {WEIRI_JOB_KICK, WEIR_JOB_READY, WEIRI_NOTHING, WEIR_ESTATE, WEIRI_JOB_GONE},
        {WEIRI_JOB_REMOVE, WEIR_JOB_ENDED, WEIRI_DELETE, WEIR_OK, WEIRI_JOB_GONE},
        {WEIRI_JOB_REMOVE, WEIR_JOB_READY, WEIRI_UPDATE, WEIR_OK, WEIR_JOB_ENDED},
        {WEIRI_JOB_REMOVE, WEIR_JOB_RESERVED, WEIRI_NOTHING, WEIR_EBUSY, WEIRI_JOB_GONE},
        {WEIRI_JOB_SET_ASIDE, WEIR_JOB_READY, WEIRI_UPDATE, WEIR_OK, WEIR_JOB_BURIED},
        {WEIRI_JOB_SET_ASIDE, WEIR_JOB_BURIED, WEIRI_NOTHING, WEIR_ESTATE, WEIRI_JOB_GONE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_job_row row = row_in(rows[i].state);
        struct weiri_effects effects;
        const struct weiri_job_step step = {.event = rows[i].event};
        row.key.is_there = true;
        CHECK_INT(weiri_decide_change(&row, &step, NULL, now, &effects), ==, rows[i].write);
        CHECK_STATUS(effects.status, rows[i].status);
        CHECK_INT(effects.to, ==, rows[i].to);
        CHECK_INT(effects.from, ==, rows[i].write == WEIRI_NOTHING ? 0 : rows[i].state);
        CHECK_INT(effects.wakes, ==, rows[i].to == WEIR_JOB_READY);
        bool is_freed = rows[i].write == WEIRI_DELETE || rows[i].to >= WEIR_JOB_BURIED;
        CHECK_INT(effects.frees_key, ==, is_freed);
    }
}

TEST(refiled, "a job moves to a tube that has not its key; one that runs or has ended stays")
{
    static const struct {
        enum weir_job_state state;
        int64_t tube;
        bool key_is_there;
        enum weiri_write write;
        enum weir_status status;
    } rows[] = {
        {WEIR_JOB_READY, 3, false, WEIRI_UPDATE, WEIR_OK},
        {WEIR_JOB_DELAYED, 3, false, WEIRI_UPDATE, WEIR_OK},
        {WEIR_JOB_BURIED, 3, false, WEIRI_UPDATE, WEIR_OK},
        {WEIR_JOB_READY, 2, true, WEIRI_NOTHING, WEIR_OK}, /* it is there, with its key */
        {WEIR_JOB_READY, 3, true, WEIRI_NOTHING, WEIR_EBUSY},
        {WEIR_JOB_RESERVED, 3, false, WEIRI_NOTHING, WEIR_EBUSY},
        {WEIR_JOB_ENDED, 3, false, WEIRI_NOTHING, WEIR_ESTATE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_job_row row = row_in(rows[i].state);
        struct weiri_effects effects;
        CHECK_INT(weiri_decide_refile(&row, rows[i].tube, rows[i].key_is_there, &effects), ==,
                  rows[i].write);
        CHECK_STATUS(effects.status, rows[i].status);
        CHECK_INT(row.tube, ==, rows[i].write == WEIRI_UPDATE ? 3 : 2);
        CHECK_INT(effects.wakes, ==, rows[i].write == WEIRI_UPDATE && i == 0);
    }
}

static struct weir_job shown(const struct weiri_job_row *row)
{
    struct weir_job job = {.progress = -1};
    weiri_row_show(&job, row, now);
    return job;
}

TEST(shown, "a job is shown as it is now, and by the wall clock")
{
    struct weiri_job_row row = row_in(WEIR_JOB_DELAYED);
    row.owner = 77;
    row.started_ns = WALL - 5;
    row.facts.run_at_ns = WALL + 1;
    struct weir_job job = shown(&row);
    CHECK_INT(job.state, ==, WEIR_JOB_DELAYED);
    CHECK_INT(job.run_at_ns, ==, WALL + 1);
    CHECK_INT(job.ttr_ns, ==, TTR);
    CHECK_INT(job.attempts, ==, 3);
    CHECK_INT(job.fence, ==, TOKEN);
    row.facts.run_at_ns = WALL;
    CHECK_INT(shown(&row).state, ==, WEIR_JOB_READY);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_DELAYED);
    for (int state = WEIR_JOB_DELAYED; state <= WEIR_JOB_ENDED; state++) {
        row.facts.state = (enum weir_job_state)state;
        row.facts.lease_ns = LEASE + 30;
        job = shown(&row);
        bool is = state == WEIR_JOB_RESERVED;
        CHECK_INT(job.owner, ==, is ? 77 : 0);
        CHECK_INT(job.started_ns, ==, is ? WALL - 5 : 0);
        CHECK_INT(job.progress, ==, is ? 40 : -1);
        CHECK_INT(job.reserved_until_ns, ==, is ? WALL + 30 : 0);
    }
    row.facts.state = WEIR_JOB_RESERVED;
    row.facts.lease_ns = LEASE - 30; /* it has passed, and nobody has looked */
    CHECK_INT(shown(&row).reserved_until_ns, ==, WALL - 30);
    row.facts.lease_ns = LEASE + TTR;
    CHECK_INT(shown(&row).reserved_until_ns, ==, WALL + TTR);
    row.facts.lease_ns = LEASE + TTR + 1; /* of an earlier boot */
    CHECK_INT(shown(&row).reserved_until_ns, ==, WALL);
}
