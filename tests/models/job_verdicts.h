/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_VERDICTS_H
#define WEIR_TEST_JOB_VERDICTS_H

/* The rules of the reference for jobs that are cancelled, taken back or lost, and for operators. */

#include "models/job_reference.h"

/* The reservation of a job ends by its verdict, after which nothing runs but what was put during
 * the run. */
static inline void ref_sentence(struct reference *world, struct ref_job *job,
                                enum weir_verdict verdict)
{
    if (job->runs_again) {
        ref_begin_anew(world, job);
        job->reason[0] = '\0';
    } else if (verdict == WEIR_VERDICT_REMOVE) {
        job->history++;
        ref_end(world, job, WEIR_RUN_CANCELED);
    } else {
        job->history++;
        ref_bury(world, job, NULL);
    }
}

/* What a lost run weighs: nothing where the boot ended, which says nothing of the job. */
static inline uint32_t ref_weight(const struct ref_job *job, uint32_t attempts_max)
{
    return job->lease == 0 ? 0 : attempts_max <= 3 ? 2 : 1;
}

/* A run is lost; is_told: that says something of the job. words: those of the burial or of the
 * retry. */
static inline void ref_lose(struct reference *world, struct ref_job *job, uint32_t attempts_max,
                            bool is_told, const char *words)
{
    if (job->attempts_max != 0 && job->attempts_max < attempts_max) {
        attempts_max = job->attempts_max;
    }
    enum weir_verdict verdict = job->verdict;
    uint32_t lost = job->lost + (is_told ? ref_weight(job, attempts_max) : 0);
    bool is_last = job->attempts >= attempts_max;
    bool is_renewed = false;
    world->tubes[job->tube].expired++;
    world->tubes[job->tube].failed++;
    if (verdict == WEIR_VERDICT_BURY || verdict == WEIR_VERDICT_REMOVE) {
        is_renewed = job->runs_again;
        ref_sentence(world, job, verdict);
    } else {
        if (job->runs_again && is_last) {
            ref_begin_anew(world, job);
            is_renewed = true;
        } else if (job->runs_again) {
            ref_wait(world, job, job->again_at);
            ref_take_again(job);
            job->runs_again = false;
            job->history++;
        } else {
            job->history++;
            job->state = WEIR_JOB_READY;
            job->lease = 0;
            if (is_last) {
                ref_bury(world, job, NULL);
            }
        }
        (void)snprintf(job->reason, sizeof(job->reason), "%s", words);
    }
    job->verdict = 0;
    job->lost = is_renewed || job->number == 0 ? 0 : lost;
}

/* A lease has passed. */
static inline enum weir_status ref_expire(struct reference *world, struct ref_job *job,
                                          uint32_t attempts_max, bool is_kept, const char *words)
{
    if (job->state != WEIR_JOB_RESERVED || job->lease > world->lease) {
        return WEIR_ESTATE;
    }
    if (is_kept) {
        job->lease = world->lease + job->ttr;
    } else {
        ref_lose(world, job, attempts_max, true, words);
    }
    return WEIR_OK;
}

static inline enum weir_status ref_take_back(struct reference *world, struct ref_job *job,
                                             bool is_gone, bool is_forced)
{
    if (job->state != WEIR_JOB_RESERVED) {
        return WEIR_ESTATE;
    }
    if (!is_gone && !is_forced) {
        return WEIR_EBUSY;
    }
    ref_lose(world, job, UINT32_MAX, is_gone,
             is_gone ? "its worker does not live" : "an operator took it from its worker");
    return WEIR_OK;
}

/* A job is cancelled. asked: when, on the clock of leases. */
static inline enum weir_status ref_cancel(struct reference *world, struct ref_job *job,
                                          enum weir_verdict verdict, const char *reason,
                                          bool is_kept, bool is_gone, int64_t asked)
{
    reason = reason == NULL ? "an operator canceled it" : reason;
    if (job->state == WEIR_JOB_RESERVED) {
        bool follows = job->runs_again;
        if (follows && job->is_barred && verdict == WEIR_VERDICT_RETRY) {
            return WEIR_ESTATE;
        }
        job->verdict = verdict;
        job->is_barred = verdict != WEIR_VERDICT_RETRY;
        (void)snprintf(job->reason, sizeof(job->reason), "%s", reason);
        if (!is_gone && (is_kept || job->lease > asked)) {
            return WEIR_ECANCELED;
        }
        ref_lose(world, job, UINT32_MAX, true, reason);
        bool is_buried = job->number != 0 && job->state == WEIR_JOB_BURIED;
        return follows || (verdict == WEIR_VERDICT_RETRY && is_buried) ? WEIR_ECANCELED : WEIR_OK;
    }
    if (job->state == WEIR_JOB_ENDED || verdict == WEIR_VERDICT_RETRY) {
        return WEIR_ESTATE;
    }
    if (verdict == WEIR_VERDICT_REMOVE) {
        (void)snprintf(job->reason, sizeof(job->reason), "%s", reason);
        ref_end(world, job, WEIR_RUN_CANCELED);
    } else if (job->state != WEIR_JOB_BURIED) {
        ref_bury(world, job, reason);
    }
    job->is_barred = job->number != 0;
    return WEIR_OK;
}

/* A holder tells of the end of a run that was asked to end. later: when a retry may begin. */
static inline void ref_settle_asked(struct reference *world, struct ref_job *job, int64_t later)
{
    enum weir_verdict verdict = job->verdict;
    bool is_last = job->attempts_max != 0 && job->attempts >= job->attempts_max;
    job->verdict = 0;
    job->lost = 0;
    world->tubes[job->tube].failed++;
    if (verdict != WEIR_VERDICT_RETRY || is_last) {
        ref_sentence(world, job, verdict);
        return;
    }
    world->tubes[job->tube].retried++;
    job->history++;
    ref_wait(world, job, later);
    if (job->runs_again) {
        ref_take_again(job);
    }
    job->runs_again = false;
}

/* --- operators --- */

static inline enum weir_status ref_change(struct reference *world, struct ref_job *job,
                                          const struct weiri_job_step *step, const char *reason)
{
    bool waits = job->state == WEIR_JOB_DELAYED || job->state == WEIR_JOB_READY;
    if (job->state == WEIR_JOB_RESERVED) {
        return WEIR_EBUSY;
    }
    switch (step->event) {
    case WEIRI_JOB_REMOVE:
    case WEIRI_JOB_MOVED_AWAY:
        if (step->event == WEIRI_JOB_MOVED_AWAY && !waits) {
            return WEIR_ESTATE;
        }
        ref_end(world, job,
                step->event == WEIRI_JOB_REMOVE ? WEIR_RUN_REMOVED : (enum weir_run_outcome)0);
        return WEIR_OK;
    case WEIRI_JOB_SET_ASIDE:
        if (!waits) {
            return WEIR_ESTATE;
        }
        if (job->attempts == 0 && (reason == NULL || reason[0] == '\0')) {
            reason = "an operator buried it";
        }
        ref_bury(world, job, reason);
        break;
    default:
        if (!waits) {
            return WEIR_ESTATE;
        }
        ref_wait(world, job, step->run_at_ns);
        break;
    }
    return WEIR_OK;
}

/* A job is kicked to a slot, or where that has passed, at once. */
static inline enum weir_status ref_kick(struct reference *world, struct ref_job *job,
                                        bool takes_buried, bool takes_delayed, int64_t slot)
{
    if (job->state == WEIR_JOB_BURIED && takes_buried) {
        int64_t passed = job->run_at < world->wall ? job->run_at : world->wall;
        ref_wait(world, job, slot > world->wall ? slot : passed);
        job->state = slot > world->wall ? WEIR_JOB_DELAYED : WEIR_JOB_READY;
        job->was_kicked = true;
        job->is_barred = false;
        job->lost = 0;
        return WEIR_OK;
    }
    if (job->state == WEIR_JOB_DELAYED && takes_delayed) {
        int64_t last = ref_last(world, job->tube, job->priority);
        int64_t turn = last > world->wall ? last : world->wall;
        bool is_at_once = slot <= world->wall;
        int64_t run_at = is_at_once ? turn : slot;
        run_at = run_at < job->run_at ? run_at : job->run_at;
        ref_wait(world, job, run_at);
        job->state = is_at_once ? WEIR_JOB_READY : job->state;
        return WEIR_OK;
    }
    return job->state == WEIR_JOB_RESERVED ? WEIR_EBUSY : WEIR_ESTATE;
}

static inline enum weir_status ref_refile(struct reference *world, struct ref_job *job, int tube)
{
    if (job->state == WEIR_JOB_RESERVED || job->state == WEIR_JOB_ENDED) {
        return job->state == WEIR_JOB_RESERVED ? WEIR_EBUSY : WEIR_ESTATE;
    }
    struct ref_mark *mark = ref_mark_of(world, tube, job->key);
    if (job->tube != tube && (ref_holder(world, tube, job->key) != NULL ||
                              (mark != NULL && mark->until > world->wall))) {
        return WEIR_EBUSY;
    }
    if (mark != NULL && job->tube != tube) {
        mark->key = 0;
    }
    job->tube = tube;
    return WEIR_OK;
}

#endif
