/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/state.h"

#include "base/time.h"

static void end_lease(struct weiri_job_facts *job, enum weir_job_state state, int64_t now_ns)
{
    job->state = state;
    job->lease_ns = state == WEIR_JOB_ENDED ? now_ns : 0;
    job->verdict = (enum weir_verdict)0;
}

/* Applies an event of the reservation's holder. The lease may have ended. As long as the job was
 * not reserved again, its holder may settle it, which saves a second run. */
static enum weir_status apply_holder(struct weiri_job_facts *job, const struct weiri_job_step *step,
                                     int64_t now_ns)
{
    if (job->state != WEIR_JOB_RESERVED || job->token != step->token) {
        return WEIR_ELEASELOST;
    }
    bool is_return = step->event == WEIRI_JOB_RETURN;
    bool is_later = step->run_at_ns > now_ns;
    job->lost = is_return || step->event == WEIRI_JOB_TOUCH ? job->lost : 0; /* it was survived */
    switch (step->event) {
    case WEIRI_JOB_TOUCH:
        job->lease_ns = weiri_time_add(now_ns, job->ttr_ns);
        break;
    case WEIRI_JOB_DONE:
    case WEIRI_JOB_DISCARD:
        end_lease(job, WEIR_JOB_ENDED, now_ns);
        break;
    case WEIRI_JOB_RENEW:
    case WEIRI_JOB_RELEASE:
    case WEIRI_JOB_RETURN:
        job->attempts = step->event == WEIRI_JOB_RENEW ? 0 : job->attempts - is_return;
        job->run_at_ns = is_return && !is_later ? job->run_at_ns : step->run_at_ns;
        end_lease(job, is_later ? WEIR_JOB_DELAYED : WEIR_JOB_READY, now_ns);
        break;
    default:
        end_lease(job, WEIR_JOB_BURIED, now_ns);
        break;
    }
    return WEIR_OK;
}

static enum weir_status reserve(struct weiri_job_facts *job, const struct weiri_job_step *step,
                                int64_t now_ns)
{
    if (job->state != WEIR_JOB_READY || job->attempts == UINT32_MAX || job->token == UINT64_MAX) {
        return WEIR_ESTATE;
    }
    job->state = WEIR_JOB_RESERVED;
    job->attempts++;
    job->token = job->token < step->token ? step->token : job->token + 1;
    job->verdict = (enum weir_verdict)0;
    job->attempts_max = step->attempts_max;
    job->lease_ns = weiri_time_add(now_ns, job->ttr_ns);
    return WEIR_OK;
}

static enum weir_status move(struct weiri_job_facts *job, bool is_allowed, enum weir_job_state to,
                             int64_t now_ns)
{
    if (!is_allowed) {
        return WEIR_ESTATE;
    }
    end_lease(job, to, now_ns);
    return WEIR_OK;
}

static enum weir_status reschedule(struct weiri_job_facts *job, int64_t run_at_ns, int64_t now_ns)
{
    if (job->state != WEIR_JOB_DELAYED && job->state != WEIR_JOB_READY) {
        return WEIR_ESTATE;
    }
    job->run_at_ns = run_at_ns;
    job->state = run_at_ns > now_ns ? WEIR_JOB_DELAYED : WEIR_JOB_READY;
    return WEIR_OK;
}

static enum weir_status renew(struct weiri_job_facts *job, int64_t run_at_ns, int64_t now_ns)
{
    enum weir_status status = reschedule(job, run_at_ns, now_ns);
    job->attempts = status == WEIR_OK ? 0 : job->attempts;
    job->lost = status == WEIR_OK ? 0 : job->lost;
    return status;
}

/* One that is buried has passed its run time, or gives it up. Who kicks it says that the cause is
 * mended. */
static enum weir_status kick(struct weiri_job_facts *job, const struct weiri_job_step *step,
                             int64_t now_ns)
{
    uint32_t states = step->states == 0 ? 1U << WEIR_JOB_BURIED : step->states;
    bool is_named = (states >> job->state & 1) != 0;
    bool is_later = step->run_at_ns > now_ns;
    if (is_named && job->state == WEIR_JOB_DELAYED) {
        return reschedule(job, weiri_time_earlier(step->run_at_ns, job->run_at_ns), now_ns);
    }
    if (!is_named || job->state != WEIR_JOB_BURIED) {
        return WEIR_ESTATE;
    }
    job->lost = 0;
    job->run_at_ns = is_later ? step->run_at_ns : weiri_time_earlier(job->run_at_ns, now_ns);
    end_lease(job, is_later ? WEIR_JOB_DELAYED : WEIR_JOB_READY, now_ns);
    return WEIR_OK;
}

enum weir_status weiri_job_apply(struct weiri_job_facts *job, const struct weiri_job_step *step,
                                 int64_t now_ns)
{
    enum weir_job_state state = job->state;
    switch (step->event) {
    case WEIRI_JOB_RESERVE:
        return reserve(job, step, now_ns);
    case WEIRI_JOB_TOUCH:
    case WEIRI_JOB_DONE:
    case WEIRI_JOB_RELEASE:
    case WEIRI_JOB_RETURN:
    case WEIRI_JOB_BURY:
    case WEIRI_JOB_DISCARD:
        return apply_holder(job, step, now_ns);
    case WEIRI_JOB_LOSE:
        return move(job, state == WEIR_JOB_RESERVED,
                    job->attempts >= step->attempts_max ? WEIR_JOB_BURIED : WEIR_JOB_READY, now_ns);
    case WEIRI_JOB_KICK:
        return kick(job, step, now_ns);
    case WEIRI_JOB_CANCEL:
        job->verdict = state == WEIR_JOB_RESERVED ? step->verdict : job->verdict;
        return state == WEIR_JOB_RESERVED ? WEIR_OK : WEIR_ESTATE;
    case WEIRI_JOB_REMOVE:
        return move(job,
                    state != WEIR_JOB_RESERVED && state != WEIRI_JOB_GONE &&
                        (step->states == 0 || (step->states >> state & 1) != 0),
                    state == WEIR_JOB_ENDED ? WEIRI_JOB_GONE : WEIR_JOB_ENDED, now_ns);
    case WEIRI_JOB_SET_ASIDE:
        return move(job, state == WEIR_JOB_DELAYED || state == WEIR_JOB_READY, WEIR_JOB_BURIED,
                    now_ns);
    case WEIRI_JOB_RENEW:
        return state == WEIR_JOB_RESERVED ? apply_holder(job, step, now_ns)
                                          : renew(job, step->run_at_ns, now_ns);
    case WEIRI_JOB_RESCHEDULE:
        return reschedule(job, step->run_at_ns, now_ns);
    case WEIRI_JOB_MOVED_AWAY:
        return move(job, state == WEIR_JOB_DELAYED || state == WEIR_JOB_READY, WEIRI_JOB_GONE,
                    now_ns);
    }
    return WEIR_ESTATE;
}
