/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/state.h"

#include "support/harness.h"

#define GONE WEIRI_JOB_GONE
#define DELAYED WEIR_JOB_DELAYED
#define READY WEIR_JOB_READY
#define RESERVED WEIR_JOB_RESERVED
#define BURIED WEIR_JOB_BURIED
#define ENDED WEIR_JOB_ENDED

enum {
    NOW = 1000,
    TTR = 100,
    TOKEN = 7,
    ATTEMPTS = 3
};

/* A job in a state: delayed until just after now, or reserved until then. */
static struct weiri_job_facts job_in(enum weir_job_state state)
{
    struct weiri_job_facts job = {.state = state,
                                  .attempts = ATTEMPTS,
                                  .run_at_ns = state == DELAYED ? NOW + 1 : NOW - 50,
                                  .ttr_ns = TTR,
                                  .lease_ns = state == RESERVED ? NOW + 1 : 0,
                                  .token = TOKEN};
    return job;
}

static bool is_same(const struct weiri_job_facts *a, const struct weiri_job_facts *b)
{
    return a->state == b->state && a->attempts == b->attempts && a->run_at_ns == b->run_at_ns &&
           a->ttr_ns == b->ttr_ns && a->lease_ns == b->lease_ns && a->token == b->token &&
           a->verdict == b->verdict && a->attempts_max == b->attempts_max && a->lost == b->lost;
}

/* Every event in every state. "now" is the time of the event; the outcome is the status, and where
 * that is WEIR_OK the state. */
static const struct row {
    enum weiri_job_event event;
    int64_t now;
    struct {
        enum weir_status status;
        enum weir_job_state state;
    } from[6]; /* gone, delayed, ready, reserved, buried, ended */
} rows[] = {
#define NO                                                                                         \
    {                                                                                              \
        WEIR_ESTATE, GONE                                                                          \
    }
#define LOST                                                                                       \
    {                                                                                              \
        WEIR_ELEASELOST, GONE                                                                      \
    }
#define TO(state)                                                                                  \
    {                                                                                              \
        WEIR_OK, state                                                                             \
    }
    {WEIRI_JOB_RESERVE, NOW, {NO, NO, TO(RESERVED), NO, NO, NO}},
    {WEIRI_JOB_TOUCH, NOW, {LOST, LOST, LOST, TO(RESERVED), LOST, LOST}},
    {WEIRI_JOB_DONE, NOW, {LOST, LOST, LOST, TO(ENDED), LOST, LOST}},
    {WEIRI_JOB_RELEASE, NOW, {LOST, LOST, LOST, TO(DELAYED), LOST, LOST}},
    {WEIRI_JOB_RELEASE, NOW + 10, {LOST, LOST, LOST, TO(READY), LOST, LOST}},
    {WEIRI_JOB_RETURN, NOW, {LOST, LOST, LOST, TO(DELAYED), LOST, LOST}},
    {WEIRI_JOB_RETURN, NOW + 10, {LOST, LOST, LOST, TO(READY), LOST, LOST}},
    {WEIRI_JOB_BURY, NOW, {LOST, LOST, LOST, TO(BURIED), LOST, LOST}},
    {WEIRI_JOB_DISCARD, NOW, {LOST, LOST, LOST, TO(ENDED), LOST, LOST}},
    {WEIRI_JOB_LOSE, NOW, {NO, NO, NO, TO(READY), NO, NO}},
    {WEIRI_JOB_KICK, NOW, {NO, NO, NO, NO, TO(DELAYED), NO}},
    {WEIRI_JOB_KICK, NOW + 10, {NO, NO, NO, NO, TO(READY), NO}},
    {WEIRI_JOB_REMOVE, NOW, {NO, TO(ENDED), TO(ENDED), NO, TO(ENDED), TO(GONE)}},
    {WEIRI_JOB_MOVED_AWAY, NOW, {NO, TO(GONE), TO(GONE), NO, NO, NO}},
    {WEIRI_JOB_RESCHEDULE, NOW, {NO, TO(DELAYED), TO(DELAYED), NO, NO, NO}},
    {WEIRI_JOB_RESCHEDULE, NOW + 10, {NO, TO(READY), TO(READY), NO, NO, NO}},
    {WEIRI_JOB_RENEW, NOW, {NO, TO(DELAYED), TO(DELAYED), TO(DELAYED), NO, NO}},
    {WEIRI_JOB_RENEW, NOW + 10, {NO, TO(READY), TO(READY), TO(READY), NO, NO}},
    {WEIRI_JOB_SET_ASIDE, NOW, {NO, TO(BURIED), TO(BURIED), NO, NO, NO}},
};

static uint32_t attempts_after(enum weiri_job_event event)
{
    return event == WEIRI_JOB_RESERVE  ? ATTEMPTS + 1
           : event == WEIRI_JOB_RETURN ? ATTEMPTS - 1
           : event == WEIRI_JOB_RENEW  ? 0
                                       : ATTEMPTS;
}

TEST(table, "each event leads from each state where the table says, or changes nothing")
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_job_step step = {.event = rows[i].event,
                                      .token = TOKEN,
                                      .run_at_ns = NOW + 10,
                                      .attempts_max = ATTEMPTS + 1};
        for (int state = 0; state <= WEIR_JOB_ENDED; state++) {
            struct weiri_job_facts before = job_in((enum weir_job_state)state);
            struct weiri_job_facts job = before;
            CHECK_STATUS(weiri_job_apply(&job, &step, rows[i].now), rows[i].from[state].status);
            if (rows[i].from[state].status == WEIR_OK) {
                CHECK_INT(job.state, ==, rows[i].from[state].state);
                CHECK((job.lease_ns != 0) == (job.state == RESERVED || job.state == ENDED));
                CHECK_INT(job.attempts, ==, attempts_after(rows[i].event));
            } else {
                CHECK(is_same(&job, &before));
            }
        }
    }
    struct weiri_job_facts job = job_in(READY);
    struct weiri_job_step unknown = {.event = (enum weiri_job_event)99};
    CHECK_STATUS(weiri_job_apply(&job, &unknown, NOW), WEIR_ESTATE);
}

TEST(fencing, "what the holder of an earlier or a later reservation says has no effect")
{
    for (int event = WEIRI_JOB_TOUCH; event <= WEIRI_JOB_DISCARD; event++) {
        for (uint64_t token = TOKEN - 1; token <= TOKEN + 1; token += 2) {
            struct weiri_job_facts before = job_in(RESERVED);
            struct weiri_job_facts job = before;
            struct weiri_job_step step = {.event = (enum weiri_job_event)event, .token = token};
            CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_ELEASELOST);
            CHECK(is_same(&job, &before));
        }
    }
}

TEST(cancel, "a verdict is left on a job that runs, and on no other; the last one counts")
{
    for (int state = 0; state <= WEIR_JOB_ENDED; state++) {
        struct weiri_job_facts before = job_in((enum weir_job_state)state);
        struct weiri_job_facts job = before;
        for (int verdict = WEIR_VERDICT_BURY; verdict <= WEIR_VERDICT_RETRY; verdict++) {
            const struct weiri_job_step step = {.event = WEIRI_JOB_CANCEL,
                                                .verdict = (enum weir_verdict)verdict};
            CHECK_STATUS(weiri_job_apply(&job, &step, NOW),
                         state == RESERVED ? WEIR_OK : WEIR_ESTATE);
            before.verdict = state == RESERVED ? step.verdict : (enum weir_verdict)0;
            CHECK(is_same(&job, &before));
        }
    }
}

TEST(verdict_of_its_fence, "a verdict ends with the reservation that it was given to")
{
    static const enum weiri_job_event ends[] = {WEIRI_JOB_RELEASE, WEIRI_JOB_RETURN,
                                                WEIRI_JOB_RENEW, WEIRI_JOB_LOSE};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct weiri_job_facts job = job_in(RESERVED);
        struct weiri_job_step step = {.event = WEIRI_JOB_CANCEL, .verdict = WEIR_VERDICT_REMOVE};
        CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_OK);
        step =
            (struct weiri_job_step){.event = ends[i], .token = TOKEN, .attempts_max = ATTEMPTS + 1};
        CHECK_STATUS(weiri_job_apply(&job, &step, NOW + 1), WEIR_OK);
        CHECK_INT(job.verdict, ==, 0);
        job.verdict = WEIR_VERDICT_REMOVE; /* a damaged row */
        step = (struct weiri_job_step){.event = WEIRI_JOB_RESERVE, .attempts_max = 9};
        CHECK_STATUS(weiri_job_apply(&job, &step, NOW + 1), WEIR_OK);
        CHECK_INT(job.verdict, ==, 0);
        CHECK_INT(job.attempts_max, ==, 9);
    }
}

TEST(lost, "who survives the run, or kicks the job, clears it of the runs that were lost")
{
    static const struct {
        enum weiri_job_event event;
        enum weir_job_state from;
        uint32_t lost;
    } cases[] = {
        {WEIRI_JOB_RELEASE, RESERVED, 0}, {WEIRI_JOB_BURY, RESERVED, 0},
        {WEIRI_JOB_RENEW, RESERVED, 0},   {WEIRI_JOB_RENEW, READY, 0},
        {WEIRI_JOB_KICK, BURIED, 0},      {WEIRI_JOB_RETURN, RESERVED, 2},
        {WEIRI_JOB_TOUCH, RESERVED, 2},   {WEIRI_JOB_RESERVE, READY, 2},
        {WEIRI_JOB_SET_ASIDE, READY, 2},  {WEIRI_JOB_RESCHEDULE, READY, 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weiri_job_facts job = job_in(cases[i].from);
        const struct weiri_job_step step = {.event = cases[i].event, .token = TOKEN};
        job.lost = 2;
        CHECK(weiri_is_suspect(&job));
        CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_OK);
        CHECK_INT(job.lost, ==, cases[i].lost);
    }
}

#undef NO
#undef LOST
#undef TO

TEST(reservation, "a reservation has a new token, counts an attempt and lasts for the TTR")
{
    struct weiri_job_facts job = job_in(READY);
    struct weiri_job_step step = {.event = WEIRI_JOB_RESERVE};
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_OK);
    CHECK_INT(job.token, ==, TOKEN + 1);
    CHECK_INT(job.attempts, ==, ATTEMPTS + 1);
    CHECK_INT(job.lease_ns, ==, NOW + TTR);
    step = (struct weiri_job_step){.event = WEIRI_JOB_TOUCH, .token = TOKEN + 1};
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW + 90), WEIR_OK);
    CHECK_INT(job.lease_ns, ==, NOW + 90 + TTR);
    step.event = WEIRI_JOB_RETURN;
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW + 90), WEIR_OK);
    CHECK_INT(job.attempts, ==, ATTEMPTS);
    CHECK_INT(job.token, ==, TOKEN + 1);
    CHECK_INT(job.run_at_ns, ==, NOW - 50);
    job.state = RESERVED;
    step.run_at_ns = NOW + 91;
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW + 90), WEIR_OK);
    CHECK_INT(job.state, ==, DELAYED);
    CHECK_INT(job.attempts, ==, ATTEMPTS - 1);
    CHECK_INT(job.run_at_ns, ==, NOW + 91);

    for (uint64_t least = TOKEN - 1; least <= TOKEN + 3; least++) {
        job = job_in(READY);
        step = (struct weiri_job_step){.event = WEIRI_JOB_RESERVE, .token = least};
        CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_OK);
        CHECK_INT(job.token, ==, least > TOKEN ? least : TOKEN + 1);
    }

    job = job_in(READY);
    job.ttr_ns = INT64_MAX;
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_OK);
    CHECK_INT(job.lease_ns, ==, INT64_MAX);

    job = job_in(READY);
    job.attempts = UINT32_MAX;
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_ESTATE);
    job = job_in(READY);
    job.token = UINT64_MAX;
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_ESTATE);
}

TEST(kicked, "a buried job that was for later, and is kicked to run now, has this as its run time")
{
    struct weiri_job_facts job = job_in(BURIED);
    const struct weiri_job_step step = {.event = WEIRI_JOB_KICK};
    job.run_at_ns = NOW + 1000;
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_OK);
    CHECK_INT(job.state, ==, READY);
    CHECK_INT(job.run_at_ns, ==, NOW);
    job = job_in(BURIED);
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW), WEIR_OK);
    CHECK_INT(job.run_at_ns, ==, NOW - 50);
}

TEST(late_holder, "a holder has the job after its lease until it is reserved again")
{
    struct weiri_job_facts job = job_in(RESERVED);
    struct weiri_job_step step = {.event = WEIRI_JOB_DONE, .token = TOKEN};
    CHECK_STATUS(weiri_job_apply(&job, &step, NOW + TTR * 10), WEIR_OK);
    CHECK_INT(job.state, ==, ENDED);
    CHECK_INT(job.lease_ns, ==, NOW + TTR * 10);
}

TEST(expiry, "a reservation that ends buries the job after its last attempt")
{
    struct weiri_job_step step = {.event = WEIRI_JOB_LOSE};
    for (uint32_t max = ATTEMPTS - 1; max <= ATTEMPTS + 1; max++) {
        struct weiri_job_facts job = job_in(RESERVED);
        step.attempts_max = max;
        CHECK_STATUS(weiri_job_apply(&job, &step, NOW + 1), WEIR_OK);
        CHECK_INT(job.state, ==, max > ATTEMPTS ? READY : BURIED);
        CHECK_INT(job.attempts, ==, ATTEMPTS);
    }
}
