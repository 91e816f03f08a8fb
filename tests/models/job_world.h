/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_WORLD_H
#define WEIR_TEST_JOB_WORLD_H

/* What the random steps of the model of a job's life share: the back end, the reference, and what
 * the steps keep beside them. */

#include "jobs/core/firing.h"
#include "models/job_backend.h"
#include "models/job_draws.h"
#include "models/job_rules.h"

enum {
    HELD = 24,
    SCHEDULES = 3
};

/* What must have happened, so that the steps are worth it. */
enum event {
    REFUSED,
    UNCHANGED,
    RENEWED,
    FOLLOWED,
    RUN_AGAIN,
    THROTTLED,
    LATE_BURIED,
    LATE_DROPPED,
    DAMAGED,
    FULL,
    KEPT,
    LOST,
    LOST_BURIED,
    STALE,
    ARCHIVED,
    TRIMMED,
    FIRED,
    SKIPPED,
    REFILED,
    MOVED_AWAY,
    KICKED,
    CANCELED_WAITING,
    ASKED,
    TOLD,
    JUDGED,
    JUDGED_LOST,
    RENEWED_AFTER,
    TAKEN,
    TRIED,
    LEFT,
    HASTENED,
    SLEPT,
    WOKEN,
    EVENTS
};

static const char *const event_names[EVENTS] = {
    "refused",      "unchanged",    "renewed",       "followed",   "run again", "throttled",
    "late, buried", "dropped",      "damaged",       "full",       "kept",      "lost",
    "lost, buried", "stale",        "archived",      "trimmed",    "fired",     "skipped",
    "refiled",      "moved away",   "kicked",        "canceled",   "asked",     "told",
    "judged",       "judged, lost", "renewed after", "taken back", "suspects",  "left",
    "hastened",     "slept",        "woken",
};

/* What a holder has of its reservation, also after it ended. */
struct held {
    int64_t number;
    uint64_t token;
    int group;
    bool is_kept;
};

struct model_schedule {
    struct weiri_plan plan;
    enum weir_missed missed;
    int tube;
    bool may_overlap;
    int64_t next;
    int64_t job; /* the last that it put */
};

static struct {
    struct backend backend;
    struct reference reference;
    struct held held[HELD];
    struct model_schedule schedules[SCHEDULES];
    int64_t bodies;
    uint64_t seen[EVENTS];
} world;

static struct weiri_tube_record *record_of(int64_t tube)
{
    return &world.backend.tubes[tube].record;
}

/* A random job; NULL: none. */
static struct stored_job *any_job(void)
{
    int first = below(JOBS);
    for (int i = 0; i < JOBS; i++) {
        struct stored_job *job = &world.backend.jobs[(first + i) % JOBS];
        if (job->is_there) {
            return job;
        }
    }
    return NULL;
}

static int64_t write(struct stored_job *job, struct weiri_job_row *row, enum weiri_write write,
                     const struct weiri_effects *effects, const struct ref_put *put)
{
    int64_t before_ns[TUBES];
    for (int tube = 0; tube < TUBES; tube++) {
        before_ns[tube] = world.backend.tubes[tube].told_ns;
    }
    int64_t number = stored_write(&world.backend, job, row, write, effects, put);
    for (int tube = 0; tube < TUBES; tube++) {
        world.seen[WOKEN] += before_ns[tube] != world.backend.tubes[tube].told_ns;
    }
    return number;
}

static void wake(int tube)
{
    world.backend.tubes[tube].told_ns = INT64_MIN;
}

static void change(struct stored_job *job, const struct weiri_job_step *step, const char *reason)
{
    int64_t number = job->row.number;
    struct weiri_job_row row = stored_load(&world.backend, job);
    struct weiri_effects effects;
    enum weiri_write what = weiri_decide_change(&row, step, reason, world.backend.now, &effects);
    (void)write(job, &row, what, &effects, NULL);
    struct ref_job *expected = ref_find(&world.reference, number);
    CHECK(expected != NULL);
    CHECK_STATUS(effects.status, ref_change(&world.reference, expected, step, reason));
}

/* Room for a job: some go where there is none. */
static void make_room(void)
{
    bool is_needed = ref_room(&world.reference) == 0;
    for (int i = 0; i < JOBS && is_needed; i++) {
        struct stored_job *job = &world.backend.jobs[i];
        if (job->is_there && below(2) == 0) {
            change(job, &(struct weiri_job_step){.event = WEIRI_JOB_REMOVE}, NULL);
        }
    }
}

#endif
