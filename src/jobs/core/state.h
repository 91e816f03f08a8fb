/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_STATE_H
#define WEIRI_CORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/admin.h>
#include <weir/job.h>
#include <weir/status.h>

/* The decisions about a job: plain functions of (job, event, now), without clock, lock or disk.
 *
 *                     due                    reserve
 *        delayed ------------> ready ----------------------> reserved --- done ---> ended
 *           ^                  ^  ^                           |  |  |
 *           |                  |  +--- return, lose ----------+  |  |
 *           +---- release -----+---------------------------------+  |
 *                              |                                    |
 *                              +---- kick ---- buried <-------------+ bury, lose
 *
 * renew: delayed, ready, reserved -> delayed or ready. reschedule: delayed, ready -> the same or
 * the other. remove: delayed, ready, buried -> ended; ended -> gone. moved away: delayed, ready ->
 * gone. set aside: delayed, ready -> buried. touch: reserved, for longer. cancel: reserved, with a
 * verdict for its end. discard: reserved -> ended.
 */

/* WEIR_JOB_READY and the others; a job that is gone has none. */
#define WEIRI_JOB_GONE ((enum weir_job_state)0)

/* The members of a job that change. */
struct weiri_job_facts {
    enum weir_job_state state;
    uint32_t attempts;
    int64_t run_at_ns;
    int64_t ttr_ns;
    int64_t lease_ns;          /* when the reservation ends, or the job has ended; 0: none */
    uint64_t token;            /* that of the last reservation; each is larger than all before */
    enum weir_verdict verdict; /* on this reservation; 0: none, and of a job that has none */
    uint32_t attempts_max;     /* of who made it; 0: not known */
    uint32_t lost; /* the weight of the runs in a row that were lost: weiri_is_suspect() */
};

/* Whether a job's last runs were lost. Each weighs 1, or 2 where at most so many are allowed. */
#define WEIRI_FEW_ATTEMPTS 3
static inline bool weiri_is_suspect(const struct weiri_job_facts *job)
{
    return job->lost >= 2 && job->state != WEIR_JOB_ENDED;
}

enum weiri_job_event {
    WEIRI_JOB_RESERVE = 1, /* given to a worker */
    /* By the reservation's holder: */
    WEIRI_JOB_TOUCH,   /* still running */
    WEIRI_JOB_DONE,    /* its handler succeeded */
    WEIRI_JOB_RELEASE, /* failed; comes back at run_at_ns */
    WEIRI_JOB_RETURN,  /* returned before it started, which is no attempt; not before run_at_ns */
    WEIRI_JOB_BURY,    /* failed for good */
    WEIRI_JOB_DISCARD, /* ended by a verdict that removes it */
    WEIRI_JOB_RENEW,   /* succeeded and runs again at run_at_ns, as if it were a new job; by any
                          thread: a job that waits becomes as new */
    /* By any thread: */
    WEIRI_JOB_LOSE,       /* the reservation is over; buried after attempts_max attempts */
    WEIRI_JOB_CANCEL,     /* an operator ends it by a verdict, or asks who has it to end */
    WEIRI_JOB_KICK,       /* run from run_at_ns on, but not later than it would */
    WEIRI_JOB_REMOVE,     /* delete */
    WEIRI_JOB_SET_ASIDE,  /* buried without a run */
    WEIRI_JOB_RESCHEDULE, /* to run at run_at_ns */
    WEIRI_JOB_MOVED_AWAY  /* another broker has it */
};

/* An event, with what some of them need. */
struct weiri_job_step {
    enum weiri_job_event event;
    uint32_t attempts_max;     /* reserve: of who makes it; lose */
    enum weir_verdict verdict; /* cancel */
    uint64_t token;            /* by the holder: the reservation's; reserve: the least one */
    int64_t run_at_ns;         /* release, return, renew, reschedule, kick: when it becomes ready */
    uint32_t states;           /* kick, remove: bits 1U << state; 0: buried; any */
};

/* Has a delayed job that is due be ready, as it is for everybody, whatever is stored. */
static inline void weiri_job_promote(struct weiri_job_facts *job, int64_t now_ns)
{
    bool is_due = job->state == WEIR_JOB_DELAYED && job->run_at_ns <= now_ns;
    job->state = is_due ? WEIR_JOB_READY : job->state;
}

/* Applies an event to a job. Errors, the job unchanged: WEIR_ELEASELOST (the event is of a
 * reservation that the job no longer has), WEIR_ESTATE (not in this state, or not yet). */
WEIR_NODISCARD enum weir_status weiri_job_apply(struct weiri_job_facts *job,
                                                const struct weiri_job_step *step, int64_t now_ns);

#endif
