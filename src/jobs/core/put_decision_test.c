/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include "support/harness.h"

/* The two clocks are far apart: what asks the wrong one is wrong by much. */
enum {
    WALL = 100000,
    LEASE = 500,
    TTR = 100,
    TOKEN = 7
};

static const struct weiri_now now = {WALL, LEASE};
static const struct weiri_tube_record fresh;

static struct weiri_job_row older_in(enum weir_job_state state)
{
    return (struct weiri_job_row){.number = 5,
                                  .tube = 2,
                                  .facts = {.state = state,
                                            .attempts = 3,
                                            .run_at_ns = WALL + 50,
                                            .ttr_ns = TTR,
                                            .lease_ns = state == WEIR_JOB_RESERVED ? LEASE + 1 : 0,
                                            .token = TOKEN},
                                  .priority = 1,
                                  .reason = "as before",
                                  .group = "old",
                                  .key = {.is_there = true}};
}

static struct weiri_put put_of(enum weir_duplicate mode)
{
    return (struct weiri_put){.ttr_ns = 2 * TTR,
                              .priority = 9,
                              .key = "k",
                              .group = "new",
                              .key_ns = mode == WEIR_DUPLICATE_THROTTLE ? 1000 : 0,
                              .run_at_ns = 1, /* a time was asked for */
                              .on_duplicate = mode};
}

TEST(key_free, "a put whose key is free is a new job in each mode, and has the key")
{
    for (int mode = WEIR_DUPLICATE_REFUSE; mode <= WEIR_DUPLICATE_AGAIN; mode++) {
        struct weiri_job_row row = {.tube = 2};
        struct weiri_put put = put_of((enum weir_duplicate)mode);
        struct weiri_effects effects;
        CHECK_INT(weiri_decide_put(&row, &put, WALL + 1, &fresh, now, &effects), ==, WEIRI_INSERT);
        CHECK_INT(row.number, ==, 0);
        CHECK_INT(row.tube, ==, 2);
        CHECK_INT(row.facts.state, ==, WEIR_JOB_DELAYED);
        CHECK_INT(row.facts.run_at_ns, ==, WALL + 1);
        CHECK_INT(row.facts.ttr_ns, ==, 2 * TTR);
        CHECK_INT(row.priority, ==, 9);
        CHECK_STRING(row.group, "new");
        CHECK_INT(row.created_ns, ==, WALL);
        CHECK_INT(row.progress, ==, -1);
        CHECK_INT(row.key.until_ns, ==, mode == WEIR_DUPLICATE_THROTTLE ? WALL + 1000 : 0);
        CHECK_INT(effects.from, ==, WEIRI_JOB_GONE);
        CHECK_INT(effects.to, ==, WEIR_JOB_DELAYED);
        CHECK(effects.put && effects.writes_put && !effects.wakes);
        CHECK_INT(effects.wakes_at_ns, ==, WALL + 1);
    }
}

TEST(at_once, "a put at once is ready, and not before the last one of the tube")
{
    const struct weiri_tube_record behind = {.last_ns = WALL + 40};
    struct weiri_put put = {.ttr_ns = TTR};
    struct weiri_job_row row = {.tube = 2};
    struct weiri_effects effects;
    CHECK_INT(weiri_decide_put(&row, &put, WALL, &behind, now, &effects), ==, WEIRI_INSERT);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_READY);
    CHECK_INT(row.facts.run_at_ns, ==, WALL + 40);
    CHECK(!effects.frees_key);
    CHECK(effects.wakes && effects.wakes_at_ns == 0);
    /* A time that was asked for stays, also one in the past. */
    put.run_at_ns = WALL - 9;
    row = (struct weiri_job_row){.tube = 2};
    CHECK_INT(weiri_decide_put(&row, &put, WALL - 9, &behind, now, &effects), ==, WEIRI_INSERT);
    CHECK_INT(row.facts.run_at_ns, ==, WALL - 9);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_READY);
}

TEST(at_once_older,
     "a put at once has the job that waits run at once, also where the wall clock was set back")
{
    static const enum weir_duplicate modes[] = {WEIR_DUPLICATE_REPLACE, WEIR_DUPLICATE_DEBOUNCE,
                                                WEIR_DUPLICATE_KEEP, WEIR_DUPLICATE_AGAIN};
    const struct weiri_tube_record behind = {.last_ns = WALL + 40};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        bool is_earlier = modes[i] == WEIR_DUPLICATE_KEEP || modes[i] == WEIR_DUPLICATE_AGAIN;
        for (int64_t run_at = WALL + 30; run_at <= WALL + 50; run_at += 20) {
            struct weiri_put put = put_of(modes[i]);
            struct weiri_job_row row = older_in(WEIR_JOB_DELAYED);
            struct weiri_effects effects;
            put.run_at_ns = 0;
            row.facts.run_at_ns = run_at;
            CHECK_INT(weiri_decide_put(&row, &put, WALL, &behind, now, &effects), ==, WEIRI_UPDATE);
            CHECK_INT(row.facts.state, ==, WEIR_JOB_READY);
            CHECK_INT(row.facts.run_at_ns, ==,
                      is_earlier && run_at < WALL + 40 ? run_at : WALL + 40);
            CHECK_INT(effects.to, ==, WEIR_JOB_READY);
            CHECK(effects.wakes);
        }
    }
}

TEST(at_once_after,
     "a put at once during a run has the next one follow at once, also where the wall "
     "clock was set back")
{
    static const enum weir_duplicate modes[] = {WEIR_DUPLICATE_DEBOUNCE, WEIR_DUPLICATE_AGAIN};
    const struct weiri_tube_record behind = {.last_ns = WALL + 40};
    const struct weiri_reservation reservation = {.job = {.fence = TOKEN}};
    const struct weiri_settlement done = {
        .event = WEIRI_JOB_DONE, .reservation = &reservation, .since_ns = LEASE};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct weiri_put put = put_of(modes[i]);
        struct weiri_job_row row = older_in(WEIR_JOB_RESERVED);
        struct weiri_effects effects;
        put.run_at_ns = 0;
        CHECK_INT(weiri_decide_put(&row, &put, WALL - 3, &behind, now, &effects), ==, WEIRI_UPDATE);
        CHECK(effects.runs_again);
        CHECK_INT(weiri_decide_settle(&row, &done, &fresh, now, &effects), ==, WEIRI_UPDATE);
        CHECK_INT(row.facts.state, ==, WEIR_JOB_READY);
        CHECK_INT(row.facts.run_at_ns, ==, WALL);
    }
}

TEST(throttled, "a throttled key holds puts back until its time, though its job has ended")
{
    struct weiri_put put = put_of(WEIR_DUPLICATE_THROTTLE);
    struct weiri_job_row row = {.number = 5, .tube = 2, .key = {.until_ns = WALL + 1}};
    struct weiri_effects effects;
    CHECK_INT(weiri_decide_put(&row, &put, WALL, &fresh, now, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_OK);
    CHECK_INT(row.number, ==, 5);
    row.key.until_ns = WALL;
    CHECK_INT(weiri_decide_put(&row, &put, WALL, &fresh, now, &effects), ==, WEIRI_INSERT);
    CHECK_INT(row.number, ==, 0);
}

TEST(refused, "a put is refused where the job lives; a replacement where it runs")
{
    static const struct {
        enum weir_duplicate mode;
        enum weir_job_state state;
    } rows[] = {{WEIR_DUPLICATE_REFUSE, WEIR_JOB_DELAYED},
                {WEIR_DUPLICATE_REFUSE, WEIR_JOB_READY},
                {WEIR_DUPLICATE_REFUSE, WEIR_JOB_RESERVED},
                {WEIR_DUPLICATE_REPLACE, WEIR_JOB_RESERVED}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_job_row row = older_in(rows[i].state);
        struct weiri_put put = put_of(rows[i].mode);
        struct weiri_effects effects;
        CHECK_INT(weiri_decide_put(&row, &put, WALL, &fresh, now, &effects), ==, WEIRI_NOTHING);
        CHECK_STATUS(effects.status, WEIR_EBUSY);
        CHECK_INT(row.number, ==, 5);
        CHECK(!effects.writes_put && effects.from == effects.to);
    }
}

TEST(earlier, "keep and again bring a delayed job forward, and never put it off")
{
    static const enum weir_duplicate modes[] = {WEIR_DUPLICATE_KEEP, WEIR_DUPLICATE_AGAIN};
    for (size_t i = 0; i < 2; i++) {
        struct weiri_put put = put_of(modes[i]);
        struct weiri_job_row row = older_in(WEIR_JOB_DELAYED);
        struct weiri_effects effects;
        CHECK_INT(weiri_decide_put(&row, &put, WALL + 60, &fresh, now, &effects), ==,
                  WEIRI_NOTHING);
        CHECK_STATUS(effects.status, WEIR_OK);
        CHECK_INT(weiri_decide_put(&row, &put, WALL + 20, &fresh, now, &effects), ==, WEIRI_UPDATE);
        CHECK_INT(row.facts.run_at_ns, ==, WALL + 20);
        CHECK_INT(row.facts.attempts, ==, 3);
        CHECK_INT(effects.from, ==, WEIR_JOB_DELAYED);
        CHECK_INT(effects.to, ==, WEIR_JOB_DELAYED);
        CHECK_INT(effects.wakes_at_ns, ==, WALL + 20);
        CHECK(!effects.writes_put && !effects.put && effects.reason == NULL);
        CHECK_STRING(row.group, "old");
        CHECK_INT(weiri_decide_put(&row, &put, WALL, &fresh, now, &effects), ==, WEIRI_UPDATE);
        CHECK_INT(effects.to, ==, WEIR_JOB_READY);
        CHECK(effects.wakes);
    }
}

TEST(nothing, "keep, throttle and again leave a job alone that is ready, or due")
{
    static const struct {
        enum weir_duplicate mode;
        enum weir_job_state state;
    } rows[] = {
        {WEIR_DUPLICATE_KEEP, WEIR_JOB_READY},     {WEIR_DUPLICATE_KEEP, WEIR_JOB_RESERVED},
        {WEIR_DUPLICATE_KEEP, WEIR_JOB_DELAYED},   {WEIR_DUPLICATE_AGAIN, WEIR_JOB_READY},
        {WEIR_DUPLICATE_AGAIN, WEIR_JOB_DELAYED},  {WEIR_DUPLICATE_THROTTLE, WEIR_JOB_DELAYED},
        {WEIR_DUPLICATE_THROTTLE, WEIR_JOB_READY}, {WEIR_DUPLICATE_THROTTLE, WEIR_JOB_RESERVED}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_job_row row = older_in(rows[i].state);
        struct weiri_put put = put_of(rows[i].mode);
        struct weiri_effects effects;
        row.facts.run_at_ns = WALL; /* due */
        CHECK_INT(weiri_decide_put(&row, &put, WALL - 5, &fresh, now, &effects), ==, WEIRI_NOTHING);
        CHECK_STATUS(effects.status, WEIR_OK);
        CHECK_INT(row.facts.state, ==, rows[i].state);
        CHECK_INT(row.facts.run_at_ns, ==, WALL);
    }
}

TEST(renewed, "replace and debounce make a job that waits the new one")
{
    static const enum weir_duplicate modes[] = {WEIR_DUPLICATE_REPLACE, WEIR_DUPLICATE_DEBOUNCE};
    for (size_t i = 0; i < 4; i++) {
        struct weiri_put put = put_of(modes[i % 2]);
        struct weiri_job_row row = older_in(i < 2 ? WEIR_JOB_DELAYED : WEIR_JOB_READY);
        struct weiri_effects effects;
        CHECK_INT(weiri_decide_put(&row, &put, WALL + 70, &fresh, now, &effects), ==, WEIRI_UPDATE);
        CHECK_INT(row.number, ==, 5);
        CHECK_INT(row.facts.attempts, ==, 0);
        CHECK_INT(row.facts.run_at_ns, ==, WALL + 70);
        CHECK_INT(row.facts.ttr_ns, ==, 2 * TTR);
        CHECK_INT(row.priority, ==, 9);
        CHECK_STRING(row.group, "new");
        CHECK_STRING(effects.reason, "");
        CHECK_INT(effects.from, ==, i < 2 ? WEIR_JOB_DELAYED : WEIR_JOB_READY);
        CHECK_INT(effects.to, ==, WEIR_JOB_DELAYED);
        CHECK_INT(effects.wakes_at_ns, ==, WALL + 70);
        CHECK(!effects.frees_key);
        CHECK(effects.writes_put && effects.forgets_attempts && !effects.put);
    }
}

TEST(kept_again, "to keep a job that a verdict ends has it follow itself; what it follows itself "
                 "with is kept, at the earliest time")
{
    static const struct {
        int64_t before_ns; /* 0: nothing was put during the run */
        int64_t at_ns;
    } rows[] = {{0, WALL + 70}, {WALL + 90, WALL + 70}, {WALL + 30, WALL + 30}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_put put = put_of(WEIR_DUPLICATE_KEEP);
        struct weiri_job_row row = older_in(WEIR_JOB_RESERVED);
        struct weiri_effects effects;
        row.facts.verdict = WEIR_VERDICT_REMOVE;
        row.key.again = rows[i].before_ns != 0 ? TOKEN : 0;
        row.key.again_at_ns = rows[i].before_ns;
        row.key.group = "first";
        CHECK_INT(weiri_decide_put(&row, &put, WALL + 70, &fresh, now, &effects), ==, WEIRI_UPDATE);
        CHECK_STATUS(effects.status, WEIR_OK);
        CHECK_INT(row.key.again, ==, TOKEN);
        CHECK_INT(row.key.again_at_ns, ==, rows[i].at_ns);
        CHECK_STRING(row.key.group, rows[i].before_ns == 0 ? "new" : "first");
        CHECK(effects.writes_put == (rows[i].before_ns == 0));
        CHECK(effects.runs_again);
    }
}

TEST(run_again,
     "debounce and again have a job that runs follow itself; again, at the earliest time")
{
    static const struct {
        enum weir_duplicate mode;
        uint64_t before; /* the run that an earlier put is to follow */
        int64_t at_ns;
    } rows[] = {{WEIR_DUPLICATE_DEBOUNCE, TOKEN, WALL + 70},
                {WEIR_DUPLICATE_AGAIN, TOKEN, WALL + 30},
                {WEIR_DUPLICATE_AGAIN, TOKEN - 1, WALL + 70},
                {WEIR_DUPLICATE_AGAIN, 0, WALL + 70}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_put put = put_of(rows[i].mode);
        struct weiri_job_row row = older_in(WEIR_JOB_RESERVED);
        struct weiri_effects effects;
        row.key.again = rows[i].before;
        row.key.again_at_ns = WALL + 30;
        CHECK_INT(weiri_decide_put(&row, &put, WALL + 70, &fresh, now, &effects), ==, WEIRI_UPDATE);
        CHECK_INT(row.key.again, ==, TOKEN);
        CHECK_INT(row.key.again_at_ns, ==, rows[i].at_ns);
        CHECK_STRING(row.key.group, "new");
        CHECK_STRING(row.group, "old");
        CHECK_INT(row.facts.ttr_ns, ==, TTR); /* that which its holder was told */
        CHECK_INT(row.priority, ==, 1);
        CHECK_INT(row.facts.state, ==, WEIR_JOB_RESERVED);
        CHECK(effects.runs_again);
        CHECK_INT(effects.from, ==, effects.to);
        CHECK(effects.writes_put && !effects.put && !effects.wakes && !effects.forgets_attempts);
    }
}
