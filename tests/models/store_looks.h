/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_STORE_LOOKS_H
#define WEIR_TEST_STORE_LOOKS_H

/* Steps of the model of a store: consumers look, and tell of their runs. */

#include "models/store_world.h"

/* --- looks --- */

static void collect(int tube, uint32_t attempts_max)
{
    for (int i = 0; i < JOBS; i++) {
        struct ref_job *job = &world.reference.jobs[i];
        if (job->number == 0 || job->tube != tube) {
            continue;
        }
        if (job->state == WEIR_JOB_RESERVED) {
            bool is = is_kept(job);
            enum weir_status status =
                ref_expire(&world.reference, job, attempts_max, is, lost_words);
            world.seen[is ? KEPT : LOST] += status == WEIR_OK;
        }
    }
}

static bool runs_alone(const struct ref_job *job, uint32_t attempts, uint32_t attempts_max)
{
    return attempts >= attempts_max || job->lost >= 3;
}

/* Whether the first suspect of a tube may begin beside those that this process keeps; *ret_left:
 * how long it is left else. */
static bool may_begin(const struct ref_job *job, uint32_t attempts_max, bool is_awaited,
                      int64_t *ret_left)
{
    bool is_alone = runs_alone(job, job->attempts + 1, attempts_max);
    bool begins = is_alone || !is_awaited;
    int64_t left = 0;
    for (int i = 0; i < HELD; i++) {
        const struct held *held = &world.held[i];
        if (held->is_kept && held->is_suspect) {
            int64_t new_in = held->new_until - world.reference.lease;
            left = new_in > left ? new_in : left;
            begins = begins && !is_alone && !held->is_alone && new_in <= 0;
        }
    }
    *ret_left = begins ? 0 : left > 0 ? left : SUSPECT_NS;
    return begins;
}

/* The next job of a look; NULL: none. */
static struct ref_job *next_job(int tube, uint32_t attempts_max, int64_t *ret_left)
{
    int64_t now = world.reference.lease;
    struct ref_job *first = ref_first(&world.reference, tube, false);
    struct ref_job *suspect = ref_first(&world.reference, tube, true);
    bool is_awaited = world.awaited_tube != tube && now < world.awaited_until;
    world.awaited_until = world.awaited_tube == tube ? 0 : world.awaited_until;
    *ret_left = 0;
    if (suspect == NULL) {
        return first;
    }
    bool begins = may_begin(suspect, attempts_max, is_awaited, ret_left);
    world.seen[LEFT] += !begins;
    if (!begins && runs_alone(suspect, suspect->attempts + 1, attempts_max)) {
        world.awaited_tube = tube;
        world.awaited_until = now + 2 * SUSPECT_NS;
    }
    return !begins || (first != NULL && ref_precedes(first, suspect)) ? first : suspect;
}

/* Where none is free: not that of a suspect that is kept, which the look has asked for already. */
static struct held *free_slot(void)
{
    struct held *held = &world.held[below(HELD)];
    for (int i = 0; i < HELD && held->reservation != NULL; i++) {
        held = &world.held[i];
    }
    while (held->reservation != NULL && held->is_kept && held->is_suspect) {
        held = &world.held[below(HELD)];
    }
    drop(held);
    return held;
}

/* One that was taken is the one that the store gave. */
static void hold(struct weiri_list *list, const struct ref_job *job)
{
    CHECK(!weiri_list_is_empty(list));
    struct weiri_reservation *got = jobs_first(list);
    weiri_list_remove(&got->link);
    CHECK_INT(got->number, ==, job->number);
    CHECK_INT(got->job.fence, ==, job->token);
    CHECK_INT(got->job.attempts, ==, job->attempts);
    CHECK_INT(got->job.run_at_ns, ==, job->run_at);
    struct held *held = free_slot();
    *held = (struct held){.reservation = got,
                          .is_kept = true,
                          .is_suspect = job->lost >= 2,
                          .is_alone = runs_alone(job, job->attempts, job->attempts_max),
                          .new_until = world.reference.lease + SUSPECT_NS};
    world.seen[TAKEN]++;
}

static void compare_sleep(const struct weiri_exchange *exchange, int tube, int64_t left)
{
    int64_t wall = world.reference.wall;
    int64_t next = ref_next(&world.reference, tube, true);
    next = left > 0 && wall + left < next ? wall + left : next;
    next = next < wall ? wall : next;
    CHECK_INT(weiri_time_add(wall, exchange->next_in_ns), ==, next);
    int64_t live = ref_count(&world.reference, tube, WEIR_JOB_DELAYED) +
                   ref_count(&world.reference, tube, WEIR_JOB_READY) +
                   ref_count(&world.reference, tube, WEIR_JOB_RESERVED);
    CHECK_INT(exchange->is_empty, ==, live == 0);
}

static void do_look(void)
{
    int tube = below(TUBES);
    uint32_t attempts_max = 1 + (uint32_t)below(4);
    const struct ref_tube *policy = &world.reference.tubes[tube];
    /* A look of several picks more than one at a time, which the reference does not: it may ask
     * for the suspect more often, and judge late what a job before it keeps from running. */
    bool is_limited = policy->policy.group_limit > 0;
    bool may_be_late = policy->policy.late != WEIR_LATE_RUN;
    int wanted = !is_limited ? 1 + below(5) : may_be_late || below(2) == 0 ? 1 : JOBS + 1;
    struct weiri_exchange exchange = {.tube = tubes[tube],
                                      .wanted = (size_t)wanted,
                                      .attempts_max = attempts_max,
                                      .is_keeping = true};
    follow(true);
    CHECK_STATUS(world.broker->ops->exchange(world.broker->store, &exchange, NULL), WEIR_OK);
    collect(tube, attempts_max);
    int64_t left = 0;
    bool is_paused = policy->paused_until > world.reference.wall;
    for (int missing = wanted; missing > 0 && !is_paused;) {
        struct ref_job *next = next_job(tube, attempts_max, &left);
        enum weir_status burial;
        if (next == NULL) {
            break;
        }
        if (ref_is_new_suspect(next)) {
            next->state = WEIR_JOB_READY;
            continue;
        }
        ref_reserve(&world.reference, next, true, attempts_max, 0, NULL, &burial);
        if (next->number != 0 && next->state == WEIR_JOB_RESERVED) {
            hold(&exchange.reserved, next);
            missing--;
        } else {
            world.seen[LATE]++;
        }
    }
    CHECK(weiri_list_is_empty(&exchange.reserved));
    for (int i = 0; i < JOBS; i++) {
        const struct ref_job *job = &world.reference.jobs[i];
        world.seen[PASSED_OVER] += job->number != 0 && job->tube == tube &&
                                   ref_is_ready(&world.reference, job) &&
                                   ref_is_full(&world.reference, job);
    }
    if (exchange.reserved_count < exchange.wanted) {
        compare_sleep(&exchange, tube, left);
    }
}

static void do_let_go(void)
{
    struct held *held = any_held();
    if (held != NULL) {
        let_go(held);
    }
}

/* --- runs --- */

static void do_settle(void)
{
    struct held *held = any_held();
    if (held == NULL) {
        return;
    }
    struct weiri_settlement told = any_settlement(held->reservation, world.reference.lease);
    enum weiri_job_event event = told.event;
    struct weiri_exchange exchange = {.tube = held->reservation->job.tube, .settlements = &told};
    follow(false);
    CHECK_STATUS(world.broker->ops->exchange(world.broker->store, &exchange, NULL), WEIR_OK);
    int64_t number = held->reservation->number;
    struct ref_job *job = ref_find(&world.reference, number);
    bool follows = job != NULL && job->runs_again;
    bool is_canceled;
    enum weir_status status =
        ref_settle(&world.reference, number, held->reservation->job.fence, &told, &is_canceled);
    CHECK_STATUS(told.status, is_canceled ? WEIR_ECANCELED : status);
    world.seen[status == WEIR_OK ? SETTLED : STALE]++;
    world.seen[FOLLOWED] += status == WEIR_OK && follows && event != WEIRI_JOB_TOUCH;
    world.seen[JUDGED] += is_canceled && event != WEIRI_JOB_TOUCH;
    job = ref_find(&world.reference, number);
    world.seen[ARCHIVED] += status == WEIR_OK && job != NULL && job->state == WEIR_JOB_ENDED;
    if (event != WEIRI_JOB_TOUCH) {
        let_go(held);
        if (below(4) != 0) {
            drop(held);
        }
    }
}

#endif
