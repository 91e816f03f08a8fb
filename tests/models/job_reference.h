/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_REFERENCE_H
#define WEIR_TEST_JOB_REFERENCE_H

/* The life of jobs, written out naively: plain arrays that are searched from end to end. The rules
 * are those of the public headers (broker.h, policy.h, job_schedule.h), and are not taken from
 * jobs/core. A job carries its key with it; one that is only throttled any more is a mark of its
 * own. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "jobs/core/job.h"
#include "support/harness.h"

enum {
    TUBES = 3,
    JOBS = 40,
    KEYS = 4,
    GROUPS = 2,
    PUT_IDS = 3,
    PUT_ID_S = 600, /* a job that was done has its put_id so long after its end */
    MARKS = TUBES * KEYS,
    PROCESSES = 2
};

struct ref_job {
    int64_t number; /* 0: none */
    int tube;
    enum weir_job_state state; /* delayed even when due */
    int32_t priority;
    int group;    /* 0: none */
    int put_id;   /* 0: none */
    int64_t body; /* which put it is of */
    int64_t run_at, ttr, lease;
    uint64_t token;
    uint32_t attempts;
    uint32_t lost;         /* weight of the runs in a row that were lost */
    uint32_t attempts_max; /* of who reserved it last */
    enum weir_verdict verdict;
    int process;    /* that reserved it last, */
    int64_t began;  /* and when, on the clock of leases */
    bool is_barred; /* a verdict ends it for good, so that no run begins */
    int progress;
    char reason[WEIR_REASON_SIZE];
    enum weir_run_outcome end; /* 0: it has not ended */
    bool is_bare;              /* its body is gone */
    bool was_kicked;
    int history; /* runs that it keeps */
    int key;     /* 0: none */
    int64_t key_until;
    bool runs_again; /* there was a put during this run */
    int64_t again_at;
    int again_group;
    int again_put_id;
};

/* A key whose job has ended. */
struct ref_mark {
    int key; /* 0: none */
    int tube;
    int64_t job;
    int64_t until;
};

struct ref_tube {
    struct weir_tube_policy policy;
    int64_t paused_until; /* 0: it is not */
    int64_t put, done, failed, retried, expired, burials, buried_late, dropped_late;
};

struct reference {
    struct ref_job jobs[JOBS];
    struct ref_mark marks[MARKS];
    struct ref_tube tubes[TUBES];
    int64_t wall, lease;
    int64_t next_number;
    uint64_t era; /* the least token */
};

/* What a put asks for. */
struct ref_put {
    int tube, key, group, put_id;
    enum weir_duplicate mode;
    int32_t priority;
    int64_t run_at, ttr, key_ns, body;
    bool at_once;
};

/* The run time of the last ready job of a priority, but for suspects; 0: there is none. */
static inline int64_t ref_last(const struct reference *world, int tube, int32_t priority)
{
    int64_t last = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct ref_job *job = &world->jobs[i];
        bool is_one = job->number != 0 && job->tube == tube && job->priority == priority &&
                      job->state == WEIR_JOB_READY && job->lost < 2;
        last = is_one && job->run_at > last ? job->run_at : last;
    }
    return last;
}

static inline struct ref_job *ref_find(struct reference *world, int64_t number)
{
    for (int i = 0; i < JOBS; i++) {
        if (world->jobs[i].number == number && number != 0) {
            return &world->jobs[i];
        }
    }
    return NULL;
}

static inline int ref_room(const struct reference *world)
{
    int room = 0;
    for (int i = 0; i < JOBS; i++) {
        room += world->jobs[i].number == 0;
    }
    return room;
}

static inline bool ref_is_live(const struct ref_job *job)
{
    return job->number != 0 && job->state >= WEIR_JOB_DELAYED && job->state <= WEIR_JOB_RESERVED;
}

static inline int ref_running(const struct reference *world, int tube, int group)
{
    int running = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct ref_job *job = &world->jobs[i];
        running += job->number != 0 && job->tube == tube && job->state == WEIR_JOB_RESERVED &&
                   job->group == group;
    }
    return running;
}

static inline bool ref_is_full(const struct reference *world, const struct ref_job *job)
{
    uint32_t limit = world->tubes[job->tube].policy.group_limit;
    return limit > 0 && job->group != 0 && ref_running(world, job->tube, job->group) >= (int)limit;
}

/* The job that has a key, or the mark of one that had it; both NULL: it is free. */
static inline struct ref_job *ref_holder(struct reference *world, int tube, int key)
{
    for (int i = 0; i < JOBS; i++) {
        struct ref_job *job = &world->jobs[i];
        if (job->number != 0 && key != 0 && job->tube == tube && job->key == key) {
            return job;
        }
    }
    return NULL;
}

static inline struct ref_mark *ref_mark_of(struct reference *world, int tube, int key)
{
    for (int i = 0; i < MARKS; i++) {
        if (world->marks[i].key == key && key != 0 && world->marks[i].tube == tube) {
            return &world->marks[i];
        }
    }
    return NULL;
}

/* A job that ended or was buried has its key no longer. A throttle stays though its time has
 * passed: a clock that is set back makes it count again, unless a put has deleted it. */
static inline void ref_release_key(struct reference *world, struct ref_job *job)
{
    if (job->key != 0 && job->key_until != 0) {
        int i = 0;
        while (world->marks[i].key != 0) {
            i++;
        }
        world->marks[i] = (struct ref_mark){job->key, job->tube, job->number, job->key_until};
    }
    job->key = 0;
    job->key_until = 0;
    job->runs_again = false;
}

static inline void ref_end(struct reference *world, struct ref_job *job, enum weir_run_outcome end)
{
    ref_release_key(world, job);
    if (end == 0 || job->state == WEIR_JOB_ENDED ||
        world->tubes[job->tube].policy.keep_ns == WEIR_KEEP_NONE) {
        *job = (struct ref_job){.number = 0};
        return;
    }
    job->state = WEIR_JOB_ENDED;
    job->end = end;
    job->lease = world->wall;
    job->verdict = 0;
    job->is_bare = end != WEIR_RUN_DONE || world->tubes[job->tube].policy.archive == 0;
}

static inline void ref_bury(struct reference *world, struct ref_job *job, const char *reason)
{
    ref_release_key(world, job);
    world->tubes[job->tube].burials++;
    job->state = WEIR_JOB_BURIED;
    job->lease = 0;
    if (reason != NULL) {
        (void)snprintf(job->reason, sizeof(job->reason), "%s", reason);
    }
}

/* It waits until a time. */
static inline void ref_wait(const struct reference *world, struct ref_job *job, int64_t run_at)
{
    job->run_at = run_at;
    job->state = run_at > world->wall ? WEIR_JOB_DELAYED : WEIR_JOB_READY;
    job->lease = 0;
}

static inline void ref_take_again(struct ref_job *job)
{
    job->group = job->again_group;
    job->put_id = job->again_put_id;
}

/* A run ends after which the job runs again, as the put during it asked. */
static inline void ref_begin_anew(const struct reference *world, struct ref_job *job)
{
    ref_wait(world, job, job->again_at);
    ref_take_again(job);
    job->attempts = 0;
    job->lost = 0;
    job->verdict = 0;
    job->is_barred = false;
    job->history = 0;
    job->runs_again = false;
    job->was_kicked = false;
}

#endif
