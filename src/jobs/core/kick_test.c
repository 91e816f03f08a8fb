/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include "support/harness.h"

enum {
    WALL = 100000,
    LAST = WALL + 40, /* of a clock that was ahead */
    OWN = WALL + 500
};

#define BURIED (1U << WEIR_JOB_BURIED)
#define DELAYED (1U << WEIR_JOB_DELAYED)

static const struct weiri_now now = {WALL, 7};
static const struct weiri_tube_record tube = {.last_ns = LAST};

static struct weiri_job_row row_in(enum weir_job_state state)
{
    return (struct weiri_job_row){
        .facts = {.state = state,
                  .attempts = 3,
                  .run_at_ns = state == WEIR_JOB_DELAYED ? OWN : WALL - 500,
                  .ttr_ns = 100,
                  .lease_ns = state == WEIR_JOB_RESERVED ? 8 : 0,
                  .lost = 2},
        .key = {.is_there = true}};
}

TEST(slots,
     "a kick gives a buried job its slot, and a delayed one the earlier of that and its time")
{
    static const struct {
        enum weir_job_state from;
        int64_t slot_ns;
        enum weir_job_state to;
        int64_t run_at_ns;
    } rows[] = {
        {WEIR_JOB_BURIED, 0, WEIR_JOB_READY, WALL - 500},
        {WEIR_JOB_BURIED, WALL, WEIR_JOB_READY, WALL - 500},
        {WEIR_JOB_BURIED, WALL + 1, WEIR_JOB_DELAYED, WALL + 1},
        /* As if it was put at once. */
        {WEIR_JOB_DELAYED, 0, WEIR_JOB_READY, LAST},
        {WEIR_JOB_DELAYED, WALL, WEIR_JOB_READY, LAST},
        {WEIR_JOB_DELAYED, OWN - 1, WEIR_JOB_DELAYED, OWN - 1},
        {WEIR_JOB_DELAYED, OWN + 1, WEIR_JOB_DELAYED, OWN}, /* it is not put off */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_job_row row = row_in(rows[i].from);
        struct weiri_effects effects;
        CHECK_INT(weiri_decide_kick(&row, BURIED | DELAYED, rows[i].slot_ns, &tube, now, &effects),
                  ==, WEIRI_UPDATE);
        CHECK_INT(row.facts.state, ==, rows[i].to);
        CHECK_INT(row.facts.run_at_ns, ==, rows[i].run_at_ns);
        CHECK_INT(row.facts.attempts, ==, 3);
        CHECK_INT(row.facts.lost, ==, rows[i].from == WEIR_JOB_BURIED ? 0 : 2);
        CHECK(effects.from == rows[i].from && effects.to == rows[i].to);
        CHECK(effects.wakes == (rows[i].to == WEIR_JOB_READY));
        CHECK_INT(effects.wakes_at_ns, ==, rows[i].to == WEIR_JOB_DELAYED ? rows[i].run_at_ns : 0);
        CHECK(!effects.frees_key);
        CHECK(effects.reason == NULL && !effects.forgets_attempts);
    }
    struct weiri_job_row row = row_in(WEIR_JOB_DELAYED);
    struct weiri_effects effects;
    row.facts.run_at_ns = WALL + 10; /* before the last one of its tube */
    (void)weiri_decide_kick(&row, DELAYED, 0, &tube, now, &effects);
    CHECK(row.facts.state == WEIR_JOB_READY && row.facts.run_at_ns == WALL + 10);
}

TEST(states, "a kick finds jobs in the states that it names, or else the buried ones")
{
    static const uint32_t named[] = {0, BURIED, DELAYED, BURIED | DELAYED};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        for (int state = WEIR_JOB_DELAYED; state <= WEIR_JOB_ENDED; state++) {
            struct weiri_job_row row = row_in((enum weir_job_state)state);
            struct weiri_effects effects;
            uint32_t states = named[i] == 0 ? BURIED : named[i];
            bool is_kicked = (states >> state & 1) != 0;
            CHECK_INT(weiri_decide_kick(&row, named[i], 0, &tube, now, &effects), ==,
                      is_kicked ? WEIRI_UPDATE : WEIRI_NOTHING);
            CHECK_STATUS(effects.status, is_kicked                    ? WEIR_OK
                                         : state == WEIR_JOB_RESERVED ? WEIR_EBUSY
                                                                      : WEIR_ESTATE);
        }
    }
    struct weiri_job_row row = row_in(WEIR_JOB_RESERVED);
    struct weiri_effects effects;
    CHECK_INT(weiri_decide_kick(&row, UINT32_MAX, 0, &tube, now, &effects), ==, WEIRI_NOTHING);
    CHECK_STATUS(effects.status, WEIR_EBUSY);
    row = row_in(WEIR_JOB_READY);
    CHECK_INT(weiri_decide_kick(&row, UINT32_MAX, 0, &tube, now, &effects), ==, WEIRI_NOTHING);
    CHECK_INT(row.facts.lost, ==, 2);
}
