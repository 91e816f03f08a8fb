/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_PUTS_H
#define WEIR_TEST_JOB_PUTS_H

/* Steps of the model of a job's life: puts, and the firings of schedules. */

#include "models/job_world.h"

/* --- puts --- */

static void note_put(const struct weiri_effects *effects, enum weiri_write write,
                     const struct ref_put *put)
{
    world.seen[REFUSED] += effects->status == WEIR_EBUSY;
    world.seen[UNCHANGED] += write == WEIRI_NOTHING && effects->status == WEIR_OK;
    world.seen[RENEWED] += write == WEIRI_UPDATE && !effects->runs_again;
    world.seen[FOLLOWED] += effects->runs_again;
    world.seen[THROTTLED] += write == WEIRI_NOTHING && put->mode == WEIR_DUPLICATE_THROTTLE;
}

static int64_t put_one(const struct ref_put *asked)
{
    struct weiri_now now = world.backend.now;
    bool is_delayed = !asked->at_once && asked->run_at > now.wall_ns && below(2) == 0;
    int64_t waited_ns = units(5); /* since it was said */
    const struct weiri_put put = {
        .count = 1,
        .run_at_ns = asked->at_once || is_delayed ? 0 : asked->run_at,
        .delay_ns = is_delayed ? asked->run_at - now.wall_ns + waited_ns : 0,
        .since_ns = now.lease_ns - (is_delayed ? waited_ns : 0),
        .ttr_ns = asked->ttr,
        .priority = asked->priority,
        .group = group_names[asked->group],
        .put_id = put_ids[asked->put_id],
        .key = key_names[asked->key],
        .key_ns = asked->key_ns,
        .on_duplicate = asked->mode,
    };
    struct weiri_job_row row = stored_load_holder(&world.backend, asked->tube, asked->key);
    struct stored_job *job = stored_find(&world.backend, row.number);
    struct weiri_tube_record *tube = record_of(asked->tube);
    struct weiri_effects effects;
    int64_t when_ns = weiri_put_when(&put, weiri_said_ns(put.since_ns, now.wall_ns, now.lease_ns));
    tube->last_ns = stored_last(&world.backend, asked->tube, asked->priority);
    enum weiri_write what = weiri_decide_put(&row, &put, when_ns, tube, now, &effects);
    int64_t number = write(job, &row, what, &effects, asked);
    int64_t expected = 0;
    CHECK_STATUS(effects.status, ref_put(&world.reference, asked, &expected));
    CHECK_INT(number, ==, expected);
    note_put(&effects, what, asked);
    return number;
}

static void do_put(void)
{
    make_room();
    if (ref_room(&world.reference) == 0) {
        return;
    }
    bool at_once = below(3) == 0;
    bool is_keyed = below(5) < 3;
    struct ref_put put = {
        .tube = below(TUBES),
        .key = is_keyed ? 1 + below(KEYS) : 0,
        .group = below(GROUPS + 1),
        .put_id = below(PUT_IDS + 1),
        .mode =
            is_keyed ? (enum weir_duplicate)below(WEIR_DUPLICATE_AGAIN + 1) : WEIR_DUPLICATE_REFUSE,
        .priority = below(3) - 1,
        .run_at = world.reference.wall + (at_once ? 0 : units(40) - 5 * UNIT),
        .ttr = UNIT + units(20),
        .body = ++world.bodies,
        .at_once = at_once,
    };
    put.key_ns = put.mode == WEIR_DUPLICATE_THROTTLE ? units(60) : 0;
    (void)put_one(&put);
}

/* --- schedules --- */

static void schedules_begin(void)
{
    for (int i = 0; i < SCHEDULES; i++) {
        world.schedules[i] = (struct model_schedule){
            .plan = {.interval_ns = (7 + 6 * i) * UNIT,
                     .tolerance_ns = i * 3 * UNIT,
                     .catch_up_max = (uint32_t)(1 + i)},
            .missed = (enum weir_missed)i,
            .tube = i % TUBES,
            .next = world.reference.wall + UNIT,
        };
    }
}

/* Which of the firings up to now put a job, one after the other. */
static struct weiri_due expected_due(const struct model_schedule *schedule, bool is_running)
{
    int64_t now = world.reference.wall;
    int64_t step = schedule->plan.interval_ns;
    struct weiri_due due = {.next_ns = schedule->next};
    uint64_t passed = 0;
    int64_t latest = 0;
    for (; due.next_ns <= now; due.next_ns += step) {
        latest = due.next_ns;
        passed++;
    }
    if (passed == 0) {
        return due;
    }
    bool is_late = now - latest > schedule->plan.tolerance_ns;
    uint64_t most = schedule->missed == WEIR_MISSED_ALL               ? schedule->plan.catch_up_max
                    : schedule->missed == WEIR_MISSED_SKIP && is_late ? 0
                                                                      : 1;
    if (!schedule->may_overlap) {
        most = is_running ? 0 : most > 0;
    }
    due.count = passed < most ? passed : most;
    due.skipped = passed - due.count;
    due.first_ns = due.count == 0 ? 0 : latest - (int64_t)(due.count - 1) * step;
    return due;
}

static struct weiri_due decided_due(const struct model_schedule *schedule, bool is_running)
{
    struct weiri_due due = weiri_due_decide(&schedule->plan, schedule->missed, schedule->next,
                                            world.backend.now.wall_ns);
    if (!schedule->may_overlap) {
        weiri_due_alone(&schedule->plan, is_running, &due);
    }
    return due;
}

static void fire(struct model_schedule *schedule)
{
    const struct stored_job *last = stored_find(&world.backend, schedule->job);
    bool is_running = last != NULL && last->row.facts.state < WEIR_JOB_BURIED;
    struct weiri_due due = decided_due(schedule, is_running);
    struct weiri_due expected = expected_due(schedule, is_running);
    CHECK_INT(due.count, ==, expected.count);
    CHECK_INT(due.skipped, ==, expected.skipped);
    CHECK_INT(due.next_ns, ==, expected.next_ns);
    CHECK(due.count == 0 || due.first_ns == expected.first_ns);
    world.seen[FIRED] += due.count;
    world.seen[SKIPPED] += due.skipped;
    schedule->next = due.next_ns;
    for (uint64_t i = 0; i < due.count && ref_room(&world.reference) > 0; i++) {
        const struct ref_put put = {
            .tube = schedule->tube,
            .run_at = expected.first_ns + (int64_t)i * schedule->plan.interval_ns,
            .ttr = 5 * UNIT,
            .body = ++world.bodies,
        };
        schedule->job = put_one(&put);
    }
}

static int64_t first_firing(int tube)
{
    int64_t first = WEIR_FOREVER;
    for (int i = 0; i < SCHEDULES; i++) {
        if (world.schedules[i].tube == tube) {
            first = weiri_time_earlier(first, world.schedules[i].next);
        }
    }
    return first;
}

/* A schedule resumes after a pause, or gets other rules. */
static void do_schedule(void)
{
    struct model_schedule *schedule = &world.schedules[below(SCHEDULES)];
    int64_t now = world.reference.wall;
    int64_t expected = schedule->next;
    while (expected > now) {
        expected -= schedule->plan.interval_ns;
    }
    while (expected <= now) {
        expected += schedule->plan.interval_ns;
    }
    schedule->next = weiri_due_resume(&schedule->plan, schedule->next, now).next_ns;
    CHECK_INT(schedule->next, ==, expected);
    schedule->missed = (enum weir_missed)below(WEIR_MISSED_ALL + 1);
    schedule->may_overlap = below(2) == 0;
    wake(schedule->tube);
}

#endif
