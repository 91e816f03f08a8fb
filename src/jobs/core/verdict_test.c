/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs that are cancelled, and jobs that are taken back. */
#include "jobs/core/job.h"

#include "support/harness.h"

enum {
    WALL = 100000,
    LEASE = 500,
    TTR = 100,
    TOKEN = 7,
    DELAY = 60,
    ATTEMPTS = 3
};

#define ENDED WEIR_JOB_ENDED
#define NONE ((enum weir_verdict)0)
#define BURY WEIR_VERDICT_BURY
#define REMOVE WEIR_VERDICT_REMOVE
#define RETRY WEIR_VERDICT_RETRY

static const struct weiri_now now = {WALL, LEASE};
static const struct weiri_tube_record plain;
static const struct weiri_tube_record limited = {.policy = {.group_limit = 1}};
static const struct weiri_reservation reservation = {.job = {.fence = TOKEN}};

/* A job that runs; has_put: and was put once more meanwhile, for a later time. */
static struct weiri_job_row running(enum weir_verdict verdict, bool has_put, bool is_last)
{
    return (struct weiri_job_row){
        .number = 5,
        .tube = 2,
        .facts = {.state = WEIR_JOB_RESERVED,
                  .attempts = ATTEMPTS,
                  .run_at_ns = WALL - 50,
                  .ttr_ns = TTR,
                  .lease_ns = LEASE,
                  .token = TOKEN,
                  .verdict = verdict,
                  .attempts_max = is_last ? ATTEMPTS : ATTEMPTS + 5},
        .reason = "canceled by anna",
        .key = {.is_there = true, .again = has_put ? TOKEN : 0, .again_at_ns = WALL + 2 * DELAY}};
}

static enum weiri_write settle(struct weiri_job_row *row, enum weiri_job_event event,
                               struct weiri_effects *effects)
{
    const struct weiri_settlement settlement = {
        .reservation = &reservation,
        .event = event,
        .delay_ns = event == WEIRI_JOB_RELEASE ? DELAY : 0,
        .since_ns = LEASE,
        .reason = event == WEIRI_JOB_RELEASE || event == WEIRI_JOB_BURY ? "it failed" : NULL,
        .end = {.outcome = event == WEIRI_JOB_RELEASE ? WEIR_RUN_RETRY
                           : event == WEIRI_JOB_BURY  ? WEIR_RUN_BURIED
                                                      : (enum weir_run_outcome)0,
                .exit_status = 3},
    };
    return weiri_decide_settle(row, &settlement, &plain, now, effects);
}

/* A run that is lost before the end of its lease. */
#define TAKE_BACK ((enum weiri_job_event)(WEIRI_JOB_MOVED_AWAY + 1))

/* Ends the run: by what its holder says, at the end of its lease, or before. */
static enum weiri_write end(struct weiri_job_row *row, enum weiri_job_event event,
                            struct weiri_effects *effects)
{
    return event == WEIRI_JOB_LOSE
               ? weiri_decide_expire(row, UINT32_MAX, false, &plain, now, effects)
           : event == TAKE_BACK ? weiri_decide_take_back(row, true, false, &plain, now, effects)
                                : settle(row, event, effects);
}

static const enum weiri_job_event ends[] = {WEIRI_JOB_RELEASE, WEIRI_JOB_RETURN, WEIRI_JOB_BURY,
                                            WEIRI_JOB_LOSE, TAKE_BACK};
enum {
    ENDS = sizeof(ends) / sizeof(ends[0])
};

/* Where an end leads under a verdict, without a put during the run. */
static enum weir_job_state state_after(enum weiri_job_event event, enum weir_verdict verdict,
                                       bool is_last)
{
    bool is_lost = event == WEIRI_JOB_LOSE || event == TAKE_BACK;
    switch (verdict) {
    case BURY:
        return WEIR_JOB_BURIED;
    case REMOVE:
        return ENDED;
    case RETRY:
        return event == WEIRI_JOB_RETURN    ? WEIR_JOB_READY /* nothing has failed */
               : is_last                    ? WEIR_JOB_BURIED
               : event == WEIRI_JOB_RELEASE ? WEIR_JOB_DELAYED
                                            : WEIR_JOB_READY;
    }
    return event == WEIRI_JOB_BURY || (is_lost && is_last) ? WEIR_JOB_BURIED
           : event == WEIRI_JOB_RELEASE                    ? WEIR_JOB_DELAYED
                                                           : WEIR_JOB_READY;
}

TEST(every_end, "whoever ends the reservation applies its verdict, and the key goes with the job")
{
    for (int i = 0; i < ENDS; i++) {
        for (int v = 0; v <= RETRY; v++) {
            for (int is_last = 0; is_last < 2; is_last++) {
                enum weir_verdict verdict = (enum weir_verdict)v;
                struct weiri_effects effects;
                struct weiri_job_row row = running(verdict, false, is_last);
                enum weiri_write write = end(&row, ends[i], &effects);
                enum weir_job_state state = state_after(ends[i], verdict, is_last);
                bool is_return =
                    ends[i] == WEIRI_JOB_RETURN && (verdict == NONE || verdict == RETRY);
                CHECK_INT(row.facts.state, ==, state);
                CHECK_INT(effects.to, ==, state);
                CHECK_INT(write, ==, WEIRI_UPDATE);
                CHECK_INT(effects.end, ==, state == ENDED ? WEIR_RUN_CANCELED : 0);
                CHECK_INT(row.facts.verdict, ==, 0);
                CHECK_INT(row.facts.attempts, ==, is_return ? ATTEMPTS - 1 : ATTEMPTS);
                CHECK_INT(row.facts.run_at_ns, ==,
                          state == WEIR_JOB_DELAYED ? WALL + DELAY
                          : verdict == RETRY && state == WEIR_JOB_READY && ends[i] == WEIRI_JOB_BURY
                              ? WALL
                              : WALL - 50);
                CHECK_INT(effects.frees_key, ==, state == ENDED || state == WEIR_JOB_BURIED);
                CHECK(effects.wakes == (state == WEIR_JOB_READY));
                CHECK_STATUS(effects.status, WEIR_OK);
            }
        }
    }
}

TEST(put_during,
     "a put during the run runs, whatever the verdict says, with no words of the cancel")
{
    for (int i = 0; i < ENDS; i++) {
        for (int v = BURY; v <= RETRY; v++) {
            for (int is_last = 0; is_last < 2; is_last++) {
                bool is_return = v == RETRY && ends[i] == WEIRI_JOB_RETURN;
                bool is_retried = v == RETRY && !is_last && !is_return;
                struct weiri_effects effects;
                struct weiri_job_row row = running((enum weir_verdict)v, true, is_last);
                CHECK_INT(end(&row, ends[i], &effects), ==, WEIRI_UPDATE);
                CHECK_INT(row.facts.state, ==, WEIR_JOB_DELAYED);
                CHECK_INT(row.facts.run_at_ns, ==, WALL + 2 * DELAY);
                CHECK_INT(row.facts.attempts, ==,
                          is_return    ? ATTEMPTS - 1
                          : is_retried ? ATTEMPTS
                                       : 0);
                CHECK(effects.takes_again && !effects.frees_key);
                CHECK(effects.forgets_attempts == (!is_retried && !is_return));
                CHECK((effects.kept.outcome != 0) == is_retried);
                if (v != RETRY) {
                    CHECK_STRING(effects.reason, "");
                }
            }
        }
    }
}

TEST(told,
     "what a verdict ended is told as canceled, with the words of the cancel and the run's end")
{
    for (int v = BURY; v <= RETRY; v++) {
        for (int i = 0; i < 3; i++) {
            struct weiri_effects effects;
            struct weiri_job_row row = running((enum weir_verdict)v, false, false);
            (void)settle(&row, ends[i], &effects);
            CHECK(effects.is_canceled);
            CHECK(effects.reason == NULL);
            bool is_kept = v != RETRY || (v == RETRY && ends[i] != WEIRI_JOB_RETURN);
            CHECK_INT(effects.kept.outcome, ==, is_kept ? WEIR_RUN_CANCELED : 0);
            CHECK_INT(effects.kept.exit_status, ==, 3);
            CHECK(effects.retried == (v == RETRY && is_kept) && !effects.expired);
        }
        struct weiri_effects effects;
        struct weiri_job_row row = running((enum weir_verdict)v, false, false);
        (void)end(&row, WEIRI_JOB_LOSE, &effects);
        CHECK(effects.expired && effects.burial == WEIR_OK);
        CHECK_INT(effects.kept.outcome, ==, v != RETRY ? WEIR_RUN_CANCELED : WEIR_RUN_LOST);
        CHECK((effects.reason == NULL) == (v != RETRY));
    }
    struct weiri_effects effects;
    struct weiri_job_row row = running(RETRY, false, true);
    (void)end(&row, WEIRI_JOB_LOSE, &effects); /* its last run was lost, which nobody asked for */
    CHECK_STATUS(effects.burial, WEIR_ELEASELOST);
}

TEST(renewal_tells, "a renewal renews, and tells its holder, but no other, of the verdict")
{
    for (int v = 0; v <= RETRY; v++) {
        struct weiri_effects effects;
        struct weiri_job_row row = running((enum weir_verdict)v, false, false);
        CHECK_INT(settle(&row, WEIRI_JOB_TOUCH, &effects), ==, WEIRI_UPDATE);
        CHECK_INT(row.facts.lease_ns, ==, LEASE + TTR);
        CHECK_INT(row.facts.verdict, ==, v);
        CHECK(effects.is_canceled == (v != 0));
        CHECK(effects.reason == NULL && effects.kept.outcome == 0);
        row.facts.token = TOKEN + 1;
        CHECK_INT(settle(&row, WEIRI_JOB_TOUCH, &effects), ==, WEIRI_NOTHING);
        CHECK_STATUS(effects.status, WEIR_ELEASELOST);
        CHECK(!effects.is_canceled);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(settle(&row, ends[i], &effects), ==, WEIRI_NOTHING);
            CHECK_STATUS(effects.status, WEIR_ELEASELOST);
            CHECK(!effects.is_canceled && row.facts.state == WEIR_JOB_RESERVED);
            CHECK(row.facts.verdict == (enum weir_verdict)v && row.facts.attempts == ATTEMPTS);
            CHECK_INT(row.facts.lease_ns, ==, LEASE + TTR);
        }
    }
}

TEST(done_beats, "success is success, whatever was asked")
{
    for (int v = BURY; v <= RETRY; v++) {
        struct weiri_effects effects;
        struct weiri_job_row row = running((enum weir_verdict)v, false, true);
        CHECK_INT(settle(&row, WEIRI_JOB_DONE, &effects), ==, WEIRI_UPDATE);
        CHECK_INT(effects.end, ==, WEIR_RUN_DONE);
        CHECK(effects.done && !effects.is_canceled && effects.status == WEIR_OK);
        row = running((enum weir_verdict)v, true, true);
        CHECK_INT(settle(&row, WEIRI_JOB_DONE, &effects), ==, WEIRI_UPDATE);
        CHECK(effects.done && effects.put && !effects.is_canceled);
        CHECK_STRING(effects.reason, "");
    }
}

static enum weiri_write cancel(struct weiri_job_row *row, enum weir_verdict verdict, bool is_kept,
                               bool is_gone, int64_t lease_now, struct weiri_effects *effects)
{
    const struct weiri_now then = {WALL, lease_now};
    return weiri_decide_cancel(row, verdict, "by bob", is_kept, is_gone, &plain, then, effects);
}

TEST(asked, "a job that runs is asked to end, and stays as it is; the last verdict counts")
{
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        struct weiri_effects effects;
        struct weiri_job_row row = running(NONE, false, false);
        /* One that this process keeps is only late. */
        int64_t lease_now = is_kept ? LEASE + TTR : LEASE - 1;
        CHECK_INT(cancel(&row, REMOVE, is_kept, false, lease_now, &effects), ==, WEIRI_UPDATE);
        CHECK_INT(row.facts.verdict, ==, REMOVE);
        CHECK_INT(row.facts.lease_ns, ==, LEASE);
        CHECK_STRING(effects.reason, "by bob");
        CHECK(effects.is_canceled && effects.tells_holder && !effects.wakes);
        CHECK(effects.from == WEIR_JOB_RESERVED && effects.to == WEIR_JOB_RESERVED);
        CHECK_INT(effects.lease_ends_ns, ==, 0);
        CHECK_INT(cancel(&row, RETRY, is_kept, false, lease_now, &effects), ==, WEIRI_UPDATE);
        (void)settle(&row, WEIRI_JOB_RELEASE, &effects);
        CHECK_INT(row.facts.state, ==, WEIR_JOB_DELAYED);
    }
}

TEST(put_for_the_end, "a job that is to end, and was put for after its end, is not retried instead")
{
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        struct weiri_effects effects;
        struct weiri_job_row row = running(BURY, true, false);
        CHECK_INT(cancel(&row, RETRY, false, is_gone, LEASE - 1, &effects), ==, WEIRI_NOTHING);
        CHECK_STATUS(effects.status, WEIR_ESTATE);
        CHECK(!effects.is_canceled && row.facts.verdict == BURY);
        CHECK_INT(cancel(&row, REMOVE, false, is_gone, LEASE - 1, &effects), ==, WEIRI_UPDATE);
        row = running(NONE, true, false);
        CHECK_INT(cancel(&row, RETRY, false, is_gone, LEASE - 1, &effects), ==, WEIRI_UPDATE);
    }
}

TEST(waiting, "a job that waits ends at once, with its key; a retry needs a run")
{
    static const enum weir_job_state states[] = {WEIR_JOB_DELAYED, WEIR_JOB_READY};
    for (int i = 0; i < 2; i++) {
        for (int v = BURY; v <= RETRY; v++) {
            struct weiri_effects effects;
            struct weiri_job_row row = running(NONE, false, false);
            row.facts.state = states[i];
            row.facts.lease_ns = 0;
            enum weiri_write write =
                cancel(&row, (enum weir_verdict)v, false, false, LEASE, &effects);
            CHECK_INT(write, ==, v == RETRY ? WEIRI_NOTHING : WEIRI_UPDATE);
            CHECK_INT(effects.end, ==, v == REMOVE ? WEIR_RUN_CANCELED : 0);
            CHECK_STATUS(effects.status, v == RETRY ? WEIR_ESTATE : WEIR_OK);
            CHECK(!effects.is_canceled && !effects.tells_holder);
            CHECK_INT(row.facts.verdict, ==, 0);
            CHECK_INT(effects.frees_key, ==, v != RETRY);
            CHECK(!effects.forgets_attempts);
        }
    }
    struct weiri_effects effects;
    struct weiri_job_row row = running(NONE, false, false);
    row.facts.state = WEIR_JOB_BURIED;
    CHECK_INT(cancel(&row, BURY, false, false, LEASE, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_OK); /* with the reason that it has */
    row.facts.state = WEIR_JOB_ENDED;
    CHECK_INT(cancel(&row, REMOVE, false, false, LEASE, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_ESTATE);
    row.facts.state = WEIR_JOB_READY;
    CHECK_INT(weiri_decide_cancel(&row, BURY, "", false, false, &plain, now, &effects), ==,
              WEIRI_UPDATE);
    CHECK_STRING(effects.reason, "an operator canceled it");
}

TEST(passed_lease_at_once, "a reservation without a worker ends with the cancel, which tells where "
                           "the job is not as it says")
{
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        for (int v = BURY; v <= RETRY; v++) {
            for (int kind = 0; kind < 3; kind++) { /* plain, in its last attempt, with a put */
                struct weiri_effects effects;
                struct weiri_job_row row = running(v == RETRY ? NONE : BURY, kind == 2, kind == 1);
                enum weir_job_state state =
                    kind == 2 ? WEIR_JOB_DELAYED
                              : state_after(TAKE_BACK, (enum weir_verdict)v, kind == 1);
                (void)cancel(&row, (enum weir_verdict)v, false, is_gone,
                             is_gone ? LEASE - 1 : LEASE, &effects);
                CHECK_INT(row.facts.state, ==, state);
                CHECK_INT(effects.from, ==, WEIR_JOB_RESERVED);
                CHECK_INT(effects.to, ==, state);
                CHECK(effects.is_canceled == (kind == 2 || (v == RETRY && kind == 1)));
                CHECK(effects.expired && effects.from == WEIR_JOB_RESERVED);
                CHECK_STRING(effects.reason, kind == 2 && v != RETRY ? "" : "by bob");
            }
        }
    }
    struct weiri_effects effects;
    struct weiri_job_row row = running(NONE, false, false);
    row.facts.lease_ns = 0; /* of an earlier boot */
    CHECK_INT(cancel(&row, REMOVE, false, false, 0, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(row.facts.state, ==, ENDED);
}

TEST(taken_back, "a job is taken back from a worker that does not live, or by force, as a lost run")
{
    struct weiri_effects effects;
    struct weiri_job_row row = running(NONE, false, false);
    CHECK_INT(weiri_decide_take_back(&row, false, false, &plain, now, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_EBUSY);
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        row = running(NONE, false, false);
        row.facts.lease_ns = LEASE + TTR; /* long before its end */
        CHECK_INT(weiri_decide_take_back(&row, is_gone, !is_gone, &limited, now, &effects), ==,
                  WEIRI_UPDATE);
        CHECK_INT(row.facts.state, ==, WEIR_JOB_READY);
        CHECK_INT(row.facts.attempts, ==, ATTEMPTS);
        CHECK_INT(row.facts.lost, ==, is_gone); /* by force it says nothing of the job */
        CHECK(effects.wakes && effects.expired && effects.tells_holder && !effects.is_canceled);
        CHECK_INT(effects.kept.outcome, ==, WEIR_RUN_LOST);
        CHECK_STRING(effects.reason,
                     is_gone ? "its worker does not live" : "an operator took it from its worker");
        row = running(NONE, false, true);
        (void)weiri_decide_take_back(&row, is_gone, true, &plain, now, &effects);
        CHECK_INT(row.facts.state, ==, WEIR_JOB_BURIED);
        row.facts.attempts_max = 0; /* who reserved it is not known: it is not the last */
        row.facts.state = WEIR_JOB_RESERVED;
        (void)weiri_decide_take_back(&row, is_gone, true, &plain, now, &effects);
        CHECK_INT(row.facts.state, ==, WEIR_JOB_READY);
    }
    for (int v = BURY; v <= RETRY; v++) { /* it is told that the job is not where it was asked to */
        row = running((enum weir_verdict)v, false, false);
        (void)weiri_decide_take_back(&row, true, false, &plain, now, &effects);
        CHECK(effects.is_canceled && effects.tells_holder);
        CHECK_INT(row.facts.state, ==, state_after(TAKE_BACK, (enum weir_verdict)v, false));
    }
    row.facts.state = WEIR_JOB_READY;
    CHECK_INT(weiri_decide_take_back(&row, true, true, &plain, now, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_ESTATE);
}

/* The weight of a run that is lost by an event; the worker allowed so many attempts. */
static uint32_t lost_after(uint32_t before, enum weiri_job_event event, uint32_t attempts_max,
                           int64_t lease_ns, bool has_put)
{
    struct weiri_effects effects;
    struct weiri_job_row row = running(NONE, has_put, false);
    row.facts.attempts = 1;
    row.facts.lost = before;
    row.facts.attempts_max = attempts_max;
    row.facts.lease_ns = lease_ns;
    (void)end(&row, event, &effects);
    return row.facts.lost;
}

TEST(weight, "a lost run weighs 1, or 2 where few attempts are allowed; the end of a boot nothing")
{
    static const enum weiri_job_event losses[] = {WEIRI_JOB_LOSE, TAKE_BACK};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(lost_after(0, losses[i], WEIRI_FEW_ATTEMPTS + 1, LEASE, false), ==, 1);
        CHECK_INT(lost_after(1, losses[i], WEIRI_FEW_ATTEMPTS + 1, LEASE, false), ==, 2);
        CHECK_INT(lost_after(0, losses[i], 0, LEASE, false), ==, 1); /* not known */
        CHECK_INT(lost_after(0, losses[i], WEIRI_FEW_ATTEMPTS, LEASE, false), ==, 2);
        CHECK_INT(lost_after(1, losses[i], WEIRI_FEW_ATTEMPTS, 0, false), ==, 1);
        CHECK_INT(lost_after(0, losses[i], WEIRI_FEW_ATTEMPTS, 0, false), ==, 0);
        CHECK_INT(lost_after(1, losses[i], 9, LEASE, true), ==, 2); /* the run covers the put */
        CHECK_INT(lost_after(1, losses[i], 1, LEASE, true), ==, 0); /* as a new job */
        CHECK_INT(lost_after(3, losses[i], 2, LEASE, false), ==, 5);
    }
    CHECK_INT(lost_after(1, WEIRI_JOB_RELEASE, 9, LEASE, true), ==, 0);
    CHECK_INT(lost_after(1, WEIRI_JOB_RETURN, 9, LEASE, false), ==, 1);
    struct weiri_effects effects;
    struct weiri_job_row row = running(NONE, false, false);
    row.facts.attempts = 1;
    (void)weiri_decide_expire(&row, 2, false, &plain, now, &effects); /* the fewest count */
    CHECK_INT(row.facts.lost, ==, 2);
}
