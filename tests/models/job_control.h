/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_CONTROL_H
#define WEIR_TEST_JOB_CONTROL_H

/* Steps of the model of a job's life: operators cancel jobs, take them back, and kick them. */

#include "models/job_world.h"

/* Whether the reservation of a job is kept by its holder. */
static bool is_kept(const struct stored_job *job)
{
    bool is = false;
    for (int i = 0; i < HELD; i++) {
        is = is || (world.held[i].is_kept && world.held[i].number == job->row.number &&
                    world.held[i].token == job->row.facts.token);
    }
    return is;
}

static void do_cancel(void)
{
    struct stored_job *job = any_job();
    enum weir_verdict verdict = (enum weir_verdict)(WEIR_VERDICT_BURY + below(3));
    const char *reason = below(3) == 0 ? NULL : below(2) == 0 ? "canceled by anna" : "by bob";
    bool is_gone = below(8) == 0;
    struct weiri_now asked = world.backend.now; /* when it began to wait for its turn */
    asked.lease_ns -= units(3);
    if (job == NULL) {
        return;
    }
    bool is_here = !is_gone && is_kept(job);
    enum weir_job_state before = job->row.facts.state;
    int64_t number = job->row.number;
    struct weiri_job_row row = stored_load(&world.backend, job);
    struct weiri_effects effects;
    enum weiri_write what = weiri_decide_cancel(&row, verdict, reason, is_here, is_gone,
                                                record_of(row.tube), asked, &effects);
    (void)write(job, &row, what, &effects, NULL);
    struct ref_job *expected = ref_find(&world.reference, number);
    CHECK(expected != NULL);
    enum weir_status status =
        ref_cancel(&world.reference, expected, verdict, reason, is_here, is_gone, asked.lease_ns);
    CHECK_STATUS(effects.is_canceled ? WEIR_ECANCELED : effects.status, status);
    CHECK(effects.tells_holder == (before == WEIR_JOB_RESERVED && what != WEIRI_NOTHING));
    if (before != WEIR_JOB_RESERVED) {
        world.seen[CANCELED_WAITING] += what != WEIRI_NOTHING;
    } else {
        world.seen[ASKED] += effects.to == WEIR_JOB_RESERVED;
        world.seen[JUDGED_LOST] += what != WEIRI_NOTHING && effects.to != WEIR_JOB_RESERVED;
    }
}

static void do_take_back(void)
{
    struct stored_job *job = any_job();
    bool is_gone = below(2) == 0;
    bool is_forced = below(3) == 0;
    if (job == NULL) {
        return;
    }
    enum weir_verdict verdict = job->row.facts.verdict;
    int64_t number = job->row.number;
    struct weiri_job_row row = stored_load(&world.backend, job);
    struct weiri_effects effects;
    enum weiri_write what = weiri_decide_take_back(&row, is_gone, is_forced, record_of(row.tube),
                                                   world.backend.now, &effects);
    (void)write(job, &row, what, &effects, NULL);
    struct ref_job *expected = ref_find(&world.reference, number);
    CHECK(expected != NULL);
    CHECK_STATUS(effects.status, ref_take_back(&world.reference, expected, is_gone, is_forced));
    CHECK(effects.tells_holder == (what != WEIRI_NOTHING));
    CHECK(effects.is_canceled == (what != WEIRI_NOTHING && verdict != 0));
    world.seen[TAKEN] += what != WEIRI_NOTHING;
}

static void do_kick(void)
{
    struct stored_job *job = any_job();
    bool takes_buried = below(4) != 0;
    bool takes_delayed = !takes_buried || below(2) == 0;
    int64_t slot = below(2) == 0 ? 0 : world.reference.wall + units(30) - 5 * UNIT;
    if (job == NULL) {
        return;
    }
    struct weiri_job_row row = stored_load(&world.backend, job);
    struct weiri_effects effects;
    uint32_t states =
        (takes_buried ? 1U << WEIR_JOB_BURIED : 0) | (takes_delayed ? 1U << WEIR_JOB_DELAYED : 0);
    record_of(row.tube)->last_ns = stored_last(&world.backend, row.tube, row.priority);
    enum weiri_write what = weiri_decide_kick(&row, takes_delayed ? states : 0, slot,
                                              record_of(row.tube), world.backend.now, &effects);
    (void)write(job, &row, what, &effects, NULL);
    struct ref_job *expected = ref_find(&world.reference, job->row.number);
    CHECK(expected != NULL);
    world.seen[KICKED] += what == WEIRI_UPDATE && effects.from == WEIR_JOB_BURIED;
    world.seen[HASTENED] += what == WEIRI_UPDATE && effects.from == WEIR_JOB_DELAYED;
    CHECK_STATUS(effects.status,
                 ref_kick(&world.reference, expected, takes_buried, takes_delayed, slot));
}

#endif
