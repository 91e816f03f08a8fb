/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_LOOKS_H
#define WEIR_TEST_JOB_LOOKS_H

/* Steps of the model of a job's life: consumers look, and tell of their runs. */

#include "models/job_control.h"
#include "models/job_puts.h"

/* --- looks --- */

static void expire(struct stored_job *job, uint32_t attempts_max)
{
    bool is_here = is_kept(job);
    enum weir_verdict verdict = job->row.facts.verdict;
    int64_t number = job->row.number;
    int tube = (int)job->row.tube;
    bool could_reserve = ref_first(&world.reference, tube, false) != NULL;
    struct weiri_job_row row = stored_load(&world.backend, job);
    struct weiri_effects effects;
    enum weiri_write what = weiri_decide_expire(&row, attempts_max, is_here, record_of(row.tube),
                                                world.backend.now, &effects);
    (void)write(job, &row, what, &effects, NULL);
    struct ref_job *expected = ref_find(&world.reference, number);
    CHECK(expected != NULL);
    CHECK_STATUS(effects.status,
                 ref_expire(&world.reference, expected, attempts_max, is_here, lost_words));
    /* Also where it does not come back itself: there may be room in its group. */
    CHECK(could_reserve || effects.wakes || ref_first(&world.reference, tube, false) == NULL);
    if (effects.status == WEIR_OK) {
        bool is_buried = expected->number != 0 && expected->state == WEIR_JOB_BURIED &&
                         verdict != WEIR_VERDICT_BURY;
        world.seen[JUDGED_LOST] += verdict != 0 && !is_here;
        CHECK_STATUS(effects.burial, is_buried ? WEIR_ELEASELOST : WEIR_OK);
        world.seen[KEPT] += is_here;
        world.seen[LOST] += !is_here;
        world.seen[LOST_BURIED] += is_buried;
    }
}

static void hold(const struct weiri_job_row *row)
{
    world.held[below(HELD)] =
        (struct held){row->number, row->facts.token, group_number(row->group), below(3) == 0};
}

/* Returns whether the job is reserved now. attempts_max 0: it is not known. */
static bool reserve(struct stored_job *job, int process, uint32_t attempts_max)
{
    struct weiri_job_row row = stored_load(&world.backend, job);
    const struct weiri_tube_record *tube = record_of(row.tube);
    bool is_sound = below(50) != 0;
    world.reference.era += below(100) == 0 ? (uint64_t)below(20) : 0;
    const struct weiri_taker taker = {
        .owner = 1 + below(1000), .attempts_max = attempts_max, .era = world.reference.era};
    uint64_t running = stored_running(&world.backend, (int)row.tube, row.group);
    struct weiri_effects effects;
    enum weiri_write what =
        weiri_decide_reserve(&row, is_sound, running, tube, &taker, world.backend.now, &effects);
    (void)write(job, &row, what, &effects, NULL);
    CHECK_STATUS(effects.status, WEIR_OK);
    struct ref_job *expected = ref_find(&world.reference, row.number);
    CHECK(expected != NULL);
    if (ref_is_new_suspect(expected)) {
        CHECK(!effects.is_started && what == WEIRI_UPDATE);
        expected->state = WEIR_JOB_READY;
        return false;
    }
    enum weir_status burial;
    ref_reserve(&world.reference, expected, is_sound, attempts_max, process,
                "its body is damaged: the checksum does not match", &burial);
    CHECK_STATUS(effects.burial, burial);
    world.seen[LATE_BURIED] += burial == WEIR_EPAST;
    world.seen[LATE_DROPPED] += effects.end == WEIR_RUN_DROPPED;
    world.seen[DAMAGED] += !is_sound;
    world.seen[FULL] += what == WEIRI_NOTHING;
    if (!effects.is_started) {
        return false;
    }
    CHECK_INT(row.owner, ==, taker.owner);
    CHECK_INT(row.started_ns, ==, world.reference.wall);
    CHECK_INT(effects.lease_ends_ns, ==, expected->lease);
    uint32_t limit = tube->policy.group_limit;
    CHECK(row.group == NULL || limit == 0 || running < limit);
    job->process = process;
    job->began_ns = world.backend.now.lease_ns;
    world.seen[TRIED] += weiri_is_suspect(&row.facts);
    hold(&row);
    return true;
}

/* The suspects that a process has. */
static struct weiri_suspects suspects_of(int process, bool is_awaited)
{
    struct weiri_suspects here = {.is_awaited = is_awaited};
    for (int i = 0; i < JOBS; i++) {
        const struct stored_job *job = &world.backend.jobs[i];
        const struct weiri_job_facts *facts = &job->row.facts;
        if (job->is_there && facts->state == WEIR_JOB_RESERVED && job->process == process &&
            weiri_is_suspect(facts)) {
            int64_t new_ns = job->began_ns + WEIRI_SUSPECT_NEW_NS - world.backend.now.lease_ns;
            here.is_there = true;
            here.is_alone =
                here.is_alone || weiri_runs_alone(facts, facts->attempts, facts->attempts_max);
            here.new_in_ns = here.new_in_ns < new_ns ? new_ns : here.new_in_ns;
        }
    }
    return here;
}

/* The first job that the process may begin; NULL: none. *ret_left_ns: a suspect is left, until
 * then; 0: none is. */
static struct ref_job *next_job(int tube, int process, uint32_t attempts_max, bool is_awaited,
                                int64_t *ret_left_ns)
{
    struct ref_job *first = ref_first(&world.reference, tube, false);
    struct ref_job *suspect = ref_first(&world.reference, tube, true);
    *ret_left_ns = 0;
    if (suspect == NULL) {
        return first;
    }
    struct weiri_suspects here = suspects_of(process, is_awaited);
    const struct stored_job *job = stored_find(&world.backend, suspect->number);
    bool begins = weiri_suspect_begins(&here, &job->row.facts, attempts_max);
    CHECK(begins == ref_may_begin(&world.reference, suspect, process, attempts_max, is_awaited));
    if (!begins) {
        *ret_left_ns = here.new_in_ns > 0 ? here.new_in_ns : WEIRI_SUSPECT_NEW_NS;
        world.seen[LEFT]++;
    }
    return !begins || (first != NULL && ref_precedes(first, suspect)) ? first : suspect;
}

static void sleep_until_next(int tube, int64_t left_ns)
{
    struct weiri_firsts firsts = stored_firsts(&world.backend, tube);
    firsts.firing_ns = first_firing(tube);
    firsts.suspect_in_ns = left_ns;
    int64_t in_ns = weiri_next_look(&firsts, record_of(tube), world.backend.now);
    int64_t next = weiri_time_earlier(first_firing(tube), ref_next(&world.reference, tube, true));
    if (left_ns > 0) {
        next = weiri_time_earlier(next, world.reference.wall + left_ns);
    }
    int64_t passed_ns = next < world.reference.wall ? world.reference.wall - next : 0;
    CHECK_INT(weiri_time_add(world.reference.wall, in_ns), ==, next + passed_ns);
    int64_t live = ref_count(&world.reference, tube, WEIR_JOB_DELAYED) +
                   ref_count(&world.reference, tube, WEIR_JOB_READY) +
                   ref_count(&world.reference, tube, WEIR_JOB_RESERVED);
    const int64_t *counts = world.backend.tubes[tube].counts;
    CHECK_INT(counts[WEIR_JOB_DELAYED] + counts[WEIR_JOB_READY] + counts[WEIR_JOB_RESERVED], ==,
              live);
    world.backend.tubes[tube].told_ns = next;
    world.seen[SLEPT]++;
}

/* A consumer looks: schedules fire, leases end, some jobs are reserved, or it sleeps. */
static void do_look(void)
{
    int tube = below(TUBES);
    int wanted = 1 + below(5);
    uint32_t attempts_max = 1 + (uint32_t)below(4);
    for (int i = 0; i < SCHEDULES; i++) {
        if (world.schedules[i].tube == tube && world.schedules[i].next <= world.reference.wall) {
            fire(&world.schedules[i]);
        }
    }
    for (int i = 0; i < JOBS; i++) {
        struct stored_job *job = &world.backend.jobs[i];
        const struct weiri_job_facts *facts = &job->row.facts;
        if (!job->is_there || job->row.tube != tube) {
            continue;
        }
        if (facts->state == WEIR_JOB_RESERVED && facts->lease_ns <= world.backend.now.lease_ns) {
            expire(job, attempts_max);
        }
    }
    bool is_paused = record_of(tube)->paused_until_ns > world.backend.now.wall_ns;
    int process = below(PROCESSES);
    bool is_awaited = below(4) == 0;
    int64_t left_ns = 0;
    while (wanted > 0 && !is_paused) {
        struct ref_job *next = next_job(tube, process, attempts_max, is_awaited, &left_ns);
        if (next == NULL) {
            break;
        }
        wanted -= reserve(stored_find(&world.backend, next->number), process, attempts_max);
    }
    if (wanted > 0) {
        sleep_until_next(tube, left_ns);
    } else {
        wake(tube);
    }
}

/* Decisions about a job that nobody would ask for: of a damaged index, or of a batch. */
static void do_decide_any(void)
{
    struct stored_job *job = any_job();
    if (job == NULL) {
        return;
    }
    if (job->row.facts.state == WEIR_JOB_READY) {
        (void)reserve(job, below(PROCESSES), (uint32_t)below(6));
    } else {
        expire(job, 1 + (uint32_t)below(4));
    }
}

/* --- runs --- */

static void trim(int tube)
{
    const struct weir_tube_policy *policy = &record_of(tube)->policy;
    int64_t ended_ns = weiri_keep_until(policy, world.backend.now.wall_ns);
    uint64_t ended = (uint64_t)world.backend.tubes[tube].counts[WEIR_JOB_ENDED];
    uint64_t most = policy->keep_count;
    uint64_t surplus = most > 0 && ended > most ? ended - most : 0;
    const struct weiri_job_step remove = {.event = WEIRI_JOB_REMOVE};
    ref_trim(&world.reference, tube);
    for (;;) {
        struct stored_job *oldest = NULL;
        for (int i = 0; i < JOBS; i++) {
            struct stored_job *job = &world.backend.jobs[i];
            bool is =
                job->is_there && job->row.tube == tube && job->row.facts.state == WEIR_JOB_ENDED;
            bool precedes =
                is && (oldest == NULL || job->row.facts.lease_ns < oldest->row.facts.lease_ns ||
                       (job->row.facts.lease_ns == oldest->row.facts.lease_ns &&
                        job->row.number < oldest->row.number));
            oldest = precedes ? job : oldest;
        }
        if (oldest == NULL || (surplus == 0 && oldest->row.facts.lease_ns > ended_ns)) {
            return;
        }
        bool is_known =
            oldest->row.end == WEIR_RUN_DONE && oldest->row.put_id != NULL &&
            oldest->row.facts.lease_ns > world.backend.now.wall_ns - WEIR_SECONDS(PUT_ID_S);
        if (is_known && policy->keep_ns != WEIR_KEEP_NONE) {
            return;
        }
        struct weiri_job_row row = stored_load(&world.backend, oldest);
        struct weiri_effects effects;
        enum weiri_write what =
            weiri_decide_change(&row, &remove, NULL, world.backend.now, &effects);
        CHECK_INT(what, ==, WEIRI_DELETE);
        (void)write(oldest, &row, what, &effects, NULL);
        world.seen[TRIMMED]++;
        surplus -= surplus > 0;
    }
}

static void do_settle(void)
{
    const struct held *held = &world.held[below(HELD)];
    struct stored_job *job = stored_find(&world.backend, held->number);
    if (held->number == 0 || job == NULL) {
        return;
    }
    const struct weiri_reservation reservation = {
        .number = held->number, .job = {.group = group_names[held->group], .fence = held->token}};
    const struct weiri_settlement settlement = any_settlement(&reservation, world.reference.lease);
    enum weiri_job_event event = settlement.event;
    int tube = (int)job->row.tube;
    struct weiri_job_row row = stored_load(&world.backend, job);
    struct weiri_effects effects;
    enum weiri_write what =
        weiri_decide_settle(&row, &settlement, record_of(tube), world.backend.now, &effects);
    (void)write(job, &row, what, &effects, NULL);
    bool is_canceled;
    CHECK_STATUS(effects.status, ref_settle(&world.reference, held->number, held->token,
                                            &settlement, &is_canceled));
    CHECK(effects.is_canceled == is_canceled);
    world.seen[TOLD] += is_canceled && event == WEIRI_JOB_TOUCH;
    world.seen[JUDGED] += is_canceled && event != WEIRI_JOB_TOUCH;
    world.seen[RENEWED_AFTER] += is_canceled && effects.takes_again;
    world.seen[STALE] += effects.status == WEIR_ELEASELOST;
    world.seen[RUN_AGAIN] += effects.takes_again;
    if (what == WEIRI_UPDATE && row.facts.state == WEIR_JOB_ENDED) {
        world.seen[ARCHIVED]++;
        trim(tube);
    }
}

/* A holder that is gone: nobody keeps what it had. */
static void do_let_go(void)
{
    world.held[below(HELD)].is_kept = false;
}

#endif
