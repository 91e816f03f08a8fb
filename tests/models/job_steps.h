/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_STEPS_H
#define WEIR_TEST_JOB_STEPS_H

/* The random steps of the model of a job's life. Each asks jobs/core for a decision, has the back
 * end write it, does the same to the reference, and compares the results. Here are those of
 * operators and of the clocks, and the choice of a step. */

#include "models/job_looks.h"

/* --- operators --- */

static void do_change(void)
{
    static const enum weiri_job_event events[] = {WEIRI_JOB_REMOVE, WEIRI_JOB_SET_ASIDE,
                                                  WEIRI_JOB_RESCHEDULE, WEIRI_JOB_MOVED_AWAY};
    struct stored_job *job = any_job();
    const struct weiri_job_step step = {.event = events[below(4)],
                                        .run_at_ns = world.reference.wall + units(30) - 5 * UNIT};
    if (job != NULL) {
        change(job, &step, step.event == WEIRI_JOB_SET_ASIDE && below(2) == 0 ? "asked" : NULL);
    }
}

static void do_refile(void)
{
    struct stored_job *job = any_job();
    int tube = below(TUBES);
    if (job == NULL) {
        return;
    }
    struct weiri_job_row row = stored_load(&world.backend, job);
    const struct stored_key *own = key_of_job(&world.backend, row.number);
    const struct stored_key *there =
        own == NULL ? NULL : key_in_tube(&world.backend, tube, own->key);
    bool key_is_there =
        there != NULL && (!there->is_ended || there->stored.until_ns > world.backend.now.wall_ns);
    struct weiri_effects effects;
    enum weiri_write what = weiri_decide_refile(&row, tube, key_is_there, &effects);
    world.seen[REFILED] += what == WEIRI_UPDATE;
    (void)write(job, &row, what, &effects, NULL);
    struct ref_job *expected = ref_find(&world.reference, job->row.number);
    CHECK(expected != NULL);
    CHECK_STATUS(effects.status, ref_refile(&world.reference, expected, tube));
}

/* A job that waits is given to another tube, as to another broker, and then removed here. */
static void do_move_away(void)
{
    make_room();
    struct stored_job *job = any_job();
    if (job == NULL || job->row.facts.state > WEIR_JOB_READY || ref_room(&world.reference) == 0) {
        return;
    }
    const struct ref_put put = {
        .tube = below(TUBES),
        .group = group_number(job->row.group),
        .put_id = put_id_number(job->row.put_id),
        .priority = job->row.priority,
        .run_at = job->row.facts.run_at_ns,
        .ttr = job->row.facts.ttr_ns,
        .body = job->body,
    };
    (void)put_one(&put);
    change(job, &(struct weiri_job_step){.event = WEIRI_JOB_MOVED_AWAY}, NULL);
    world.seen[MOVED_AWAY]++;
}

static void do_policy(void)
{
    int tube = below(TUBES);
    struct weir_tube_policy policy = {
        .keep_ns = below(3) == 0   ? WEIR_KEEP_NONE
                   : below(4) == 0 ? WEIR_FOREVER
                                   : UNIT + units(100),
        .keep_count = 1 + (uint64_t)below(4),
        .archive = (uint32_t)below(2),
        .late = (uint32_t)below(WEIR_LATE_DROP + 1),
        .late_ns = UNIT + units(60),
        .group_limit = (uint32_t)below(4),
    };
    record_of(tube)->policy = policy;
    world.reference.tubes[tube].policy = policy;
    wake(tube);
    trim(tube);
}

static void do_pause(void)
{
    int tube = below(TUBES);
    int64_t until = below(2) == 0 ? 0 : world.reference.wall + units(50);
    record_of(tube)->paused_until_ns = until;
    world.reference.tubes[tube].paused_until = until;
    wake(tube);
}

/* --- time --- */

static void set_clocks(int64_t wall_ns, int64_t lease_ns)
{
    world.reference.wall = wall_ns;
    world.reference.lease = lease_ns;
    world.backend.now = (struct weiri_now){wall_ns, lease_ns};
    for (int tube = 0; tube < TUBES; tube++) {
        if (world.backend.tubes[tube].told_ns <= wall_ns) {
            wake(tube);
        }
    }
}

static void do_wait(void)
{
    int64_t ns = units(8);
    set_clocks(world.reference.wall + ns, world.reference.lease + ns);
}

/* Leases that the clock of leases cannot have made end at once, as at the boot of a machine. */
static void end_strange_leases(void)
{
    for (int i = 0; i < JOBS; i++) {
        struct weiri_job_facts *facts = &world.backend.jobs[i].row.facts;
        struct ref_job *job = &world.reference.jobs[i];
        bool is_reserved = world.backend.jobs[i].is_there && facts->state == WEIR_JOB_RESERVED;
        if (is_reserved && facts->lease_ns > world.backend.now.lease_ns + facts->ttr_ns) {
            facts->lease_ns = 0;
        }
        if (job->state == WEIR_JOB_RESERVED && job->lease > world.reference.lease + job->ttr) {
            job->lease = 0;
        }
    }
}

/* One of the clocks is set. Who sleeps does so for a while: it looks again in time. */
static void do_set_clock(void)
{
    int64_t ns = units(40) - 20 * UNIT;
    bool is_wall = below(2) == 0;
    set_clocks(world.reference.wall + (is_wall ? ns : 0),
               world.reference.lease + (is_wall ? 0 : ns));
    end_strange_leases();
    for (int tube = 0; tube < TUBES; tube++) {
        wake(tube);
    }
}

static void step_random(void)
{
    static void (*const steps[])(void) = {
        do_put,      do_put,        do_put,    do_put,    do_put,    do_look,      do_look,
        do_look,     do_look,       do_settle, do_settle, do_settle, do_settle,    do_settle,
        do_settle,   do_let_go,     do_change, do_kick,   do_cancel, do_take_back, do_refile,
        do_schedule, do_decide_any, do_wait,   do_wait,   do_wait,   do_wait,
    };
    int dice = below(600);
    if (dice < 6) {
        do_set_clock();
    } else if (dice < 12) {
        do_policy();
    } else if (dice < 20) {
        do_pause();
    } else if (dice < 35) {
        do_move_away();
    } else {
        steps[(size_t)dice % (sizeof(steps) / sizeof(steps[0]))]();
    }
}

#endif
