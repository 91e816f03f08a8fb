/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_RULES_H
#define WEIR_TEST_JOB_RULES_H

/* The rules of the reference (job_reference.h): what becomes of its jobs at each event. */

#include "models/job_verdicts.h"

/* --- puts --- */

/* The run time of a put: jobs that are put to run at once run in the order of their puts, also
 * after the wall clock was set back. */
static inline int64_t ref_turn(const struct reference *world, const struct ref_put *put)
{
    int64_t last = ref_last(world, put->tube, put->priority);
    return put->at_once && put->run_at < last ? last : put->run_at;
}

static inline void ref_place(struct reference *world, struct ref_job *job,
                             const struct ref_put *put)
{
    ref_wait(world, job, ref_turn(world, put));
    job->state = put->at_once ? WEIR_JOB_READY : job->state;
}

static inline int64_t ref_add(struct reference *world, const struct ref_put *put)
{
    struct ref_job *job = world->jobs;
    while (job->number != 0) {
        job++;
    }
    *job = (struct ref_job){
        .number = world->next_number++,
        .tube = put->tube,
        .priority = put->priority,
        .group = put->group,
        .put_id = put->put_id,
        .body = put->body,
        .ttr = put->ttr,
        .key = put->key,
        .key_until = put->key == 0 || put->key_ns == 0 ? 0 : world->wall + put->key_ns,
        .progress = -1,
    };
    ref_place(world, job, put);
    world->tubes[put->tube].put++;
    return job->number;
}

static inline void ref_renew(struct reference *world, struct ref_job *job,
                             const struct ref_put *put)
{
    ref_place(world, job, put);
    job->priority = put->priority;
    job->ttr = put->ttr;
    job->group = put->group;
    job->put_id = put->put_id;
    job->body = put->body;
    job->attempts = 0;
    job->lost = 0;
    job->history = 0;
    job->reason[0] = '\0';
    job->was_kicked = false;
    job->is_barred = false;
}

static inline void ref_follow(struct reference *world, struct ref_job *job,
                              const struct ref_put *put)
{
    int64_t turn = ref_turn(world, put);
    int64_t run_at = put->at_once && turn > world->wall ? world->wall : turn;
    bool is_later = job->runs_again && job->again_at < run_at;
    if (put->mode == WEIR_DUPLICATE_KEEP && job->runs_again) { /* what was put before is kept */
        job->again_at = is_later ? job->again_at : run_at;
        return;
    }
    is_later = is_later && put->mode == WEIR_DUPLICATE_AGAIN;
    job->again_at = is_later ? job->again_at : run_at;
    job->again_group = put->group;
    job->again_put_id = put->put_id;
    job->runs_again = true;
    job->body = put->body;
}

/* A delayed job has the earlier of both run times, and runs at once where one of them says so. */
static inline void ref_hasten(struct reference *world, struct ref_job *job,
                              const struct ref_put *put)
{
    int64_t before = job->run_at;
    if (put->at_once || put->run_at < before) {
        ref_place(world, job, put);
        job->run_at = job->run_at < before ? job->run_at : before;
    }
}

/* *ret_number: the job that the put came to, or that refused it. */
static inline enum weir_status ref_put(struct reference *world, const struct ref_put *put,
                                       int64_t *ret_number)
{
    struct ref_job *older = ref_holder(world, put->tube, put->key);
    struct ref_mark *mark = ref_mark_of(world, put->tube, put->key);
    if (older == NULL) {
        bool is_throttled = mark != NULL && mark->until > world->wall;
        if (is_throttled && put->mode == WEIR_DUPLICATE_THROTTLE) {
            *ret_number = mark->job;
            return WEIR_OK;
        }
        if (mark != NULL) {
            mark->key = 0;
        }
        *ret_number = ref_add(world, put);
        return WEIR_OK;
    }
    bool is_running = older->state == WEIR_JOB_RESERVED;
    *ret_number = older->number;
    switch (put->mode) {
    case WEIR_DUPLICATE_REFUSE:
        return WEIR_EBUSY;
    case WEIR_DUPLICATE_THROTTLE:
        return WEIR_OK;
    case WEIR_DUPLICATE_REPLACE:
    case WEIR_DUPLICATE_DEBOUNCE:
        if (!is_running) {
            ref_renew(world, older, put);
        } else if (put->mode == WEIR_DUPLICATE_REPLACE) {
            return WEIR_EBUSY;
        } else {
            ref_follow(world, older, put);
        }
        return WEIR_OK;
    default:
        if (older->state == WEIR_JOB_DELAYED && older->run_at > world->wall) {
            ref_hasten(world, older, put);
        } else if (is_running && (put->mode == WEIR_DUPLICATE_AGAIN ||
                                  (older->verdict != 0 && older->verdict != WEIR_VERDICT_RETRY))) {
            ref_follow(world, older, put);
        }
        return WEIR_OK;
    }
}

/* --- runs --- */

/* A holder tells of its run. */
static inline enum weir_status ref_settle(struct reference *world, int64_t number, uint64_t token,
                                          const struct weiri_settlement *told,
                                          bool *ret_is_canceled)
{
    struct ref_job *job = ref_find(world, number);
    *ret_is_canceled = false;
    if (job == NULL || job->state != WEIR_JOB_RESERVED || job->token != token) {
        return WEIR_ELEASELOST;
    }
    struct ref_tube *tube = &world->tubes[job->tube];
    bool again = job->runs_again;
    int64_t asked = world->wall - (world->lease - told->since_ns) + told->delay_ns;
    int64_t later = again && job->again_at > asked ? job->again_at : asked;
    *ret_is_canceled = job->verdict != 0 && told->event != WEIRI_JOB_DONE;
    bool is_returned = told->event == WEIRI_JOB_RETURN && job->verdict == WEIR_VERDICT_RETRY;
    if (*ret_is_canceled && told->event != WEIRI_JOB_TOUCH && !is_returned) {
        ref_settle_asked(world, job, later);
        return WEIR_OK;
    }
    job->verdict = told->event == WEIRI_JOB_TOUCH ? job->verdict : 0;
    job->lost = told->event == WEIRI_JOB_TOUCH || told->event == WEIRI_JOB_RETURN ? job->lost : 0;
    switch (told->event) {
    case WEIRI_JOB_TOUCH:
        job->lease = world->lease + job->ttr;
        job->progress = told->progress > 0 ? told->progress - 1 : job->progress;
        return WEIR_OK;
    case WEIRI_JOB_DONE:
        tube->done++;
        if (again) {
            tube->put++;
            ref_begin_anew(world, job);
            job->reason[0] = '\0';
        } else {
            (void)snprintf(job->reason, sizeof(job->reason), "%s",
                           told->reason == NULL ? "" : told->reason);
            ref_end(world, job, WEIR_RUN_DONE);
        }
        return WEIR_OK;
    case WEIRI_JOB_RELEASE:
        tube->failed++;
        tube->retried++;
        job->history++;
        ref_wait(world, job, later);
        break;
    case WEIRI_JOB_RETURN:
        job->attempts--;
        ref_wait(world, job, later > world->wall ? later : job->run_at);
        job->state = later > world->wall ? WEIR_JOB_DELAYED : WEIR_JOB_READY;
        break;
    default:
        tube->failed++;
        if (again) {
            ref_begin_anew(world, job);
        } else {
            job->history++;
            ref_bury(world, job, NULL);
        }
        break;
    }
    if (again) {
        ref_take_again(job);
    }
    job->runs_again = false;
    if (told->reason != NULL) {
        (void)snprintf(job->reason, sizeof(job->reason), "%s", told->reason);
    }
    return WEIR_OK;
}

static inline bool ref_precedes(const struct ref_job *a, const struct ref_job *b)
{
    return a->priority != b->priority ? a->priority < b->priority
           : a->run_at != b->run_at   ? a->run_at < b->run_at
                                      : a->number < b->number;
}

/* Whether a suspect may begin in a process: none began there within a minute, and none of two is in
 * its last attempt, or was lost three times. One of another tube that is awaited goes first. */
static inline bool ref_may_begin(const struct reference *world, const struct ref_job *job,
                                 int process, uint32_t attempts_max, bool is_awaited)
{
    bool is_alone = job->attempts + 1 >= attempts_max || job->lost >= 3;
    for (int i = 0; i < JOBS; i++) {
        const struct ref_job *other = &world->jobs[i];
        if (other->number == 0 || other->state != WEIR_JOB_RESERVED || other->lost < 2 ||
            other->process != process) {
            continue;
        }
        if (is_alone || other->attempts >= other->attempts_max || other->lost >= 3 ||
            world->lease - other->began < WEIR_SECONDS(60)) {
            return false;
        }
    }
    return is_alone || !is_awaited;
}

/* A delayed job that is due is ready. */
static inline bool ref_is_ready(const struct reference *world, const struct ref_job *job)
{
    return job->state == WEIR_JOB_READY ||
           (job->state == WEIR_JOB_DELAYED && job->run_at <= world->wall);
}

/* A delayed suspect that is due: the look that meets it has it wait with the other suspects. */
static inline bool ref_is_new_suspect(const struct ref_job *job)
{
    return job->state == WEIR_JOB_DELAYED && job->lost >= 2;
}

/* The first of the ready jobs of a tube, the suspects that looks have met or the others, whose
 * group has room, or that is late for good; NULL: none. */
static inline struct ref_job *ref_first(struct reference *world, int tube, bool is_suspect)
{
    struct ref_job *first = NULL;
    for (int i = 0; i < JOBS; i++) {
        struct ref_job *job = &world->jobs[i];
        bool is_met = job->lost >= 2 && job->state == WEIR_JOB_READY;
        if (job->number == 0 || job->tube != tube || !ref_is_ready(world, job) ||
            ref_is_full(world, job) || is_met != is_suspect) {
            continue;
        }
        first = first == NULL || ref_precedes(job, first) ? job : first;
    }
    return first;
}

static inline bool ref_is_late(const struct reference *world, const struct ref_job *job)
{
    const struct weir_tube_policy *policy = &world->tubes[job->tube].policy;
    return policy->late != WEIR_LATE_RUN && job->token == 0 && job->reason[0] == '\0' &&
           !job->was_kicked && world->wall - job->run_at > policy->late_ns;
}

/* A job is picked. *ret_burial: why it was buried, WEIR_OK: it was not. */
static inline void ref_reserve(struct reference *world, struct ref_job *job, bool is_sound,
                               uint32_t attempts_max, int process, const char *damage,
                               enum weir_status *ret_burial)
{
    struct ref_tube *tube = &world->tubes[job->tube];
    char late[96];
    (void)snprintf(
        late, sizeof(late), "late by %" PRId64 " s: the limit of its tube is %" PRId64 " s",
        (world->wall - job->run_at) / WEIR_SECONDS(1), tube->policy.late_ns / WEIR_SECONDS(1));
    *ret_burial = WEIR_OK;
    if (!is_sound) {
        ref_bury(world, job, damage);
        *ret_burial = WEIR_ECORRUPT;
    } else if (ref_is_late(world, job) && tube->policy.late == WEIR_LATE_DROP) {
        tube->dropped_late++;
        (void)snprintf(job->reason, sizeof(job->reason), "%s", late);
        ref_end(world, job, WEIR_RUN_DROPPED);
    } else if (ref_is_late(world, job)) {
        tube->buried_late++;
        ref_bury(world, job, late);
        *ret_burial = WEIR_EPAST;
    } else if (!ref_is_full(world, job)) {
        CHECK(!job->is_barred); /* it was cancelled, and nobody has asked for it since */
        job->state = WEIR_JOB_RESERVED;
        job->attempts_max = attempts_max;
        job->process = process;
        job->began = world->lease;
        job->attempts++;
        job->token = job->token + 1 > world->era ? job->token + 1 : world->era;
        job->lease = world->lease + job->ttr;
        job->progress = -1;
    }
}

/* --- what is to come --- */

/* When to look at the tube next, by the wall clock: a job is ready that may run, a time or a lease
 * passes, or with with_pause a pause ends. Suspects, which may have to wait, are left out. */
static inline int64_t ref_next(const struct reference *world, int tube, bool with_pause)
{
    int64_t paused_until = world->tubes[tube].paused_until;
    bool is_paused = paused_until > world->wall;
    int64_t next = is_paused && with_pause ? paused_until : WEIR_FOREVER;
    for (int i = 0; i < JOBS; i++) {
        const struct ref_job *job = &world->jobs[i];
        if (job->number == 0 || job->tube != tube) {
            continue;
        }
        int64_t at = WEIR_FOREVER;
        if (job->state == WEIR_JOB_RESERVED) {
            at = job->lease - world->lease + world->wall;
        } else if (job->state == WEIR_JOB_DELAYED && !ref_is_ready(world, job)) {
            at = job->run_at;
        } else if (ref_is_ready(world, job) && !ref_is_full(world, job) &&
                   (job->lost < 2 || (is_paused && with_pause))) {
            at = is_paused ? paused_until : world->wall;
        }
        next = at < next ? at : next;
    }
    return next;
}

static inline int64_t ref_count(const struct reference *world, int tube, enum weir_job_state state)
{
    int64_t count = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct ref_job *job = &world->jobs[i];
        count += job->number != 0 && job->tube == tube && job->state == state;
    }
    return count;
}

/* Archived jobs that the policy does not keep go, the oldest first. */
static inline void ref_trim(struct reference *world, int tube)
{
    const struct weir_tube_policy *policy = &world->tubes[tube].policy;
    for (;;) {
        struct ref_job *oldest = NULL;
        for (int i = 0; i < JOBS; i++) {
            struct ref_job *job = &world->jobs[i];
            bool is = job->number != 0 && job->tube == tube && job->state == WEIR_JOB_ENDED;
            if (is && (oldest == NULL || job->lease < oldest->lease ||
                       (job->lease == oldest->lease && job->number < oldest->number))) {
                oldest = job;
            }
        }
        if (oldest == NULL) {
            return;
        }
        bool is_known = oldest->end == WEIR_RUN_DONE && oldest->put_id != 0 &&
                        oldest->lease > world->wall - WEIR_SECONDS(PUT_ID_S);
        if (is_known && policy->keep_ns != WEIR_KEEP_NONE) {
            return;
        }
        bool is_many = policy->keep_count > 0 &&
                       (uint64_t)ref_count(world, tube, WEIR_JOB_ENDED) > policy->keep_count;
        bool is_old =
            policy->keep_ns == WEIR_KEEP_NONE ||
            (policy->keep_ns != WEIR_FOREVER && world->wall - oldest->lease >= policy->keep_ns);
        if (!is_many && !is_old) {
            return;
        }
        *oldest = (struct ref_job){.number = 0};
    }
}

#endif
