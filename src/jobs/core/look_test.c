/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include "support/harness.h"

enum {
    OWNER = 77,
    ATTEMPTS_MAX = 5,
    LEASE = 500
};
#define WALL WEIR_SECONDS(1000)

static const struct weiri_taker taker = {.owner = OWNER, .worker = 3, .attempts_max = ATTEMPTS_MAX};

static const struct weiri_now now = {WALL, LEASE};

static struct weiri_job_row ready(void)
{
    return (struct weiri_job_row){
        .number = 5,
        .facts = {.state = WEIR_JOB_READY, .run_at_ns = WALL - WEIR_SECONDS(20), .ttr_ns = 100},
        .progress = 40,
        .reason = "",
        .group = "g",
        .key = {.is_there = true}};
}

TEST(reserved, "a picked job is reserved, and started by the wall clock")
{
    const struct weiri_tube_record tube = {.policy = {.group_limit = 2}};
    struct weiri_job_row row = ready();
    struct weiri_effects effects;
    CHECK_INT(weiri_decide_reserve(&row, true, 1, &tube, &taker, now, &effects), ==, WEIRI_UPDATE);
    CHECK_INT(effects.to, ==, WEIR_JOB_RESERVED);
    CHECK_INT(row.facts.lease_ns, ==, LEASE + 100);
    CHECK_INT(effects.lease_ends_ns, ==, LEASE + 100);
    CHECK_INT(row.started_ns, ==, WALL);
    CHECK_INT(row.owner, ==, OWNER);
    CHECK_INT(row.worker, ==, 3);
    CHECK_INT(row.facts.attempts_max, ==, ATTEMPTS_MAX);
    CHECK_INT(row.progress, ==, -1);
    CHECK(effects.is_started && !effects.frees_key && effects.reason == NULL);
}

TEST(full, "a job of a full group stays as it is, unless it is late or damaged")
{
    struct weiri_tube_record tube = {.policy = {.group_limit = 2}};
    struct weiri_job_row row = ready();
    struct weiri_effects effects;
    CHECK_INT(weiri_decide_reserve(&row, true, 2, &tube, &taker, now, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_OK);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_READY);
    tube.policy.late = WEIR_LATE_BURY;
    tube.policy.late_ns = WEIR_SECONDS(19);
    CHECK_INT(weiri_decide_reserve(&row, true, 2, &tube, &taker, now, &effects), ==, WEIRI_UPDATE);
    CHECK_STATUS(effects.burial, WEIR_EPAST);
    row = ready();
    CHECK_INT(weiri_decide_reserve(&row, false, 2, &tube, &taker, now, &effects), ==, WEIRI_UPDATE);
    CHECK_STATUS(effects.burial, WEIR_ECORRUPT);
    CHECK_STRING(effects.reason, weiri_damage_reason);
    CHECK_INT(effects.to, ==, WEIR_JOB_BURIED);
    CHECK(effects.frees_key);
    CHECK(!effects.is_late && !effects.is_started);
}

TEST(late, "a job that was never reserved is late behind the limit, and buried or dropped")
{
    static const struct {
        uint32_t late;
        int64_t late_ns;
        uint64_t token;
        const char *reason;
        enum weiri_write write;
        enum weir_status burial;
        bool is_late;
    } rows[] = {
        {WEIR_LATE_BURY, WEIR_SECONDS(19), 0, "", WEIRI_UPDATE, WEIR_EPAST, true},
        {WEIR_LATE_DROP, WEIR_SECONDS(19), 0, "", WEIRI_UPDATE, WEIR_OK, true},
        {WEIR_LATE_BURY, WEIR_SECONDS(20), 0, "", WEIRI_UPDATE, WEIR_OK, false},
        {WEIR_LATE_RUN, 0, 0, "", WEIRI_UPDATE, WEIR_OK, false},
        {WEIR_LATE_BURY, WEIR_SECONDS(19), 1, "", WEIRI_UPDATE, WEIR_OK, false},
        {WEIR_LATE_BURY, WEIR_SECONDS(19), 0, "kicked", WEIRI_UPDATE, WEIR_OK, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct weiri_tube_record tube = {
            .policy = {.late = rows[i].late, .late_ns = rows[i].late_ns}};
        struct weiri_job_row row = ready();
        struct weiri_effects effects;
        row.facts.token = rows[i].token; /* attempts 0: it was returned, or runs for a put */
        row.reason = rows[i].reason;
        CHECK_INT(weiri_decide_reserve(&row, true, 0, &tube, &taker, now, &effects), ==,
                  rows[i].write);
        CHECK_STATUS(effects.burial, rows[i].burial);
        CHECK_INT(effects.end, ==, rows[i].late == WEIR_LATE_DROP ? WEIR_RUN_DROPPED : 0);
        CHECK_INT(effects.is_late, ==, rows[i].is_late);
        CHECK_INT(effects.is_started, ==, !rows[i].is_late);
        if (rows[i].is_late) {
            CHECK_STRING(effects.reason, "late by 20 s: the limit of its tube is 19 s");
            CHECK(effects.frees_key);
        }
    }
}

TEST(unfit, "a job that cannot be reserved tells so")
{
    static const struct weiri_tube_record tube;
    struct weiri_job_row row = ready();
    struct weiri_effects effects;
    row.facts.state = WEIR_JOB_DELAYED;
    row.facts.run_at_ns = WALL + 1;
    CHECK_INT(weiri_decide_reserve(&row, true, 0, &tube, &taker, now, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_ESTATE);
    CHECK(!effects.is_started);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_DELAYED);
}

TEST(due,
     "a delayed job that is due is taken, or left, as a ready one; a suspect becomes ready, and "
     "takes its turn")
{
    const struct weiri_tube_record tube = {.policy = {.group_limit = 2}};
    struct weiri_job_row row = ready();
    struct weiri_effects effects;
    row.facts.state = WEIR_JOB_DELAYED;
    CHECK_INT(weiri_decide_reserve(&row, true, 2, &tube, &taker, now, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_OK);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_DELAYED);
    CHECK_INT(weiri_decide_reserve(&row, true, 1, &tube, &taker, now, &effects), ==, WEIRI_UPDATE);
    CHECK(effects.is_started && effects.from == WEIR_JOB_DELAYED);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_RESERVED);
    row = ready();
    row.facts.state = WEIR_JOB_DELAYED;
    CHECK_INT(weiri_decide_reserve(&row, false, 0, &tube, &taker, now, &effects), ==, WEIRI_UPDATE);
    CHECK_STATUS(effects.burial, WEIR_ECORRUPT);
    row = ready();
    row.facts.state = WEIR_JOB_DELAYED;
    row.facts.lost = 2;
    CHECK_INT(weiri_decide_reserve(&row, true, 2, &tube, &taker, now, &effects), ==, WEIRI_NOTHING);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_DELAYED);
    CHECK_INT(weiri_decide_reserve(&row, true, 0, &tube, &taker, now, &effects), ==, WEIRI_UPDATE);
    CHECK(!effects.is_started && effects.wakes);
    CHECK_INT(row.facts.state, ==, WEIR_JOB_READY);
    CHECK_INT(row.facts.attempts, ==, 0);
}

TEST(next, "the next look is at the first of all times; leases count in their own")
{
    static const struct weiri_tube_record plain;
    const struct weiri_tube_record paused = {.paused_until_ns = WALL + 3};
    struct weiri_firsts firsts = {
        .delayed_ns = WEIR_FOREVER, .lease_ns = WEIR_FOREVER, .firing_ns = WEIR_FOREVER};
    CHECK_INT(weiri_next_look(&firsts, &plain, now), ==, WEIR_FOREVER);
    CHECK_INT(weiri_next_look(&firsts, &paused, now), ==, 3);
    firsts.delayed_ns = WALL + 50;
    CHECK_INT(weiri_next_look(&firsts, &plain, now), ==, 50);
    firsts.lease_ns = LEASE + 40;
    CHECK_INT(weiri_next_look(&firsts, &plain, now), ==, 40);
    firsts.delayed_ns = WEIR_FOREVER;
    firsts.lease_ns = LEASE;
    CHECK_INT(weiri_next_look(&firsts, &plain, now), ==, WEIR_MS(100));
    firsts.delayed_ns = WALL + 50;
    firsts.lease_ns = WEIR_FOREVER;
    CHECK_INT(weiri_next_look(&firsts, &plain, now), ==, 50);
    firsts.firing_ns = WALL + 10;
    CHECK_INT(weiri_next_look(&firsts, &plain, now), ==, 10);
    CHECK_INT(weiri_next_look(&firsts, &paused, now), ==, 3);
}

TEST(suspects,
     "a suspect begins beside those that are not new; in its last attempt, and after three "
     "lost runs, alone")
{
    static const struct {
        struct weiri_suspects here;
        bool begins;
        bool begins_last;
    } rows[] = {
        {{.is_there = false}, true, true},
        {{.is_there = true, .new_in_ns = 1}, false, false},
        {{.is_there = true}, true, false},
        {{.is_there = true, .is_alone = true}, false, false},
        {{.is_awaited = true}, false, true}, /* one of another tube goes first */
        {{.is_there = true, .is_awaited = true}, false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct weiri_job_facts job = {.attempts = 2, .lost = 2};
        CHECK(weiri_suspect_begins(&rows[i].here, &job, 4) == rows[i].begins);
        CHECK(weiri_suspect_begins(&rows[i].here, &job, 3) == rows[i].begins_last);
        CHECK(weiri_suspect_begins(&rows[i].here, &job, 2) == rows[i].begins_last);
        const struct weiri_job_facts worse = {.attempts = 2, .lost = 3};
        CHECK(weiri_suspect_begins(&rows[i].here, &worse, 9) == rows[i].begins_last);
    }
}

TEST(left_suspect, "where a suspect is left the next look is when it may begin")
{
    static const struct weiri_tube_record plain;
    struct weiri_firsts firsts = {.delayed_ns = WEIR_FOREVER,
                                  .lease_ns = WEIR_FOREVER,
                                  .firing_ns = WEIR_FOREVER,
                                  .suspect_in_ns = WEIR_SECONDS(9)};
    CHECK_INT(weiri_next_look(&firsts, &plain, now), ==, WEIR_SECONDS(9));
    firsts.firing_ns = WALL + 10;
    CHECK_INT(weiri_next_look(&firsts, &plain, now), ==, 10);
}

TEST(end_trims,
     "of jobs put into tubes in turn one in 128 trims, in each tube, however many there are")
{
    enum {
        ENDS = 4000,
        MOST = 2000 /* between two that trim */
    };
    static const int64_t tubes[] = {1, 2, 3, 7, 64, 100, 128, 256, 1000, 1024, 4096, 20000};
    for (size_t i = 0; i < sizeof(tubes) / sizeof(tubes[0]); i++) {
        int64_t ends = 0;
        int64_t trims = 0;
        for (int64_t tube = 0; tube < tubes[i]; tube += 1 + tubes[i] / 50) {
            int64_t last = 0;
            for (int64_t end = 1; end <= ENDS; end++, ends++) {
                bool is = weiri_end_trims(1 + tube + end * tubes[i]);
                CHECK_INT(end - last, <, MOST);
                last = is ? end : last;
                trims += is;
            }
        }
        CHECK_INT(trims * 128, >, ends * 4 / 5);
        CHECK_INT(trims * 128, <, ends * 5 / 4);
    }
}

TEST(keep_until, "ended jobs are kept for a time, for ever, or not at all")
{
    static const struct {
        int64_t keep_ns;
        int64_t ended_ns;
    } rows[] = {{10, WALL - 10},
                {WEIR_FOREVER, INT64_MIN},
                {WEIR_KEEP_NONE, INT64_MAX},
                {0, WALL - WEIR_SECONDS(7 * 86400)}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_tube_policy policy = {.keep_ns = rows[i].keep_ns};
        CHECK_INT(weiri_keep_until(&policy, WALL), ==, rows[i].ended_ns);
    }
}
