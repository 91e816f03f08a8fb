/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RUN_H
#define WEIRI_RUN_H

#include "pool/ended.h"
#include "pool/outcome.h"
#include "pool/pool.h"

enum weiri_hook {
    WEIRI_HOOK_BEFORE,
    WEIRI_HOOK_AFTER,
    WEIRI_HOOK_SUCCESS,
    WEIRI_HOOK_FAILURE
};

/* One run of one envelope by one worker. */
struct weiri_run {
    struct weiri_worker *worker;
    weir_envelope *envelope;
    int status;
    enum weiri_hook hook; /* that is being called */
    uint32_t hook_errors;
    bool is_late;
    bool is_lost;                       /* by a panic or with its process: the context says how */
    enum weiri_outcome outcome;         /* of the status */
    struct weiri_terms terms;           /* of the envelope */
    const struct weir_failure *failure; /* while the failure hook is called */
    int64_t decision;                   /* of the failure hook */
    int64_t retry_ns;                   /* when a retry is due; WEIRI_AT_ONCE */
    int64_t limited_ns;                 /* when the limiter was asked */
    bool is_limited;                    /* it was, and has answered */
    bool is_retried;
    bool has_joined;               /* the retry coalesced with an earlier send */
    enum weir_ended_reason reason; /* why the envelope ends, if it does now */
    uint32_t dropped;              /* runs that were to come after this one */
};

/* Runs the task of the context's envelope inside its stamps; their status (stamps.c). */
int weiri_stamps_run(weir_context *context);
/* Invokes the task of the context's envelope, in this process or in one of its own; its status
 * (isolation.c). Notes in the context how the run was lost, if it was. */
int weiri_invoke(weir_context *context);

/* The parts of a run without the mutex, in this order (run.c). Calls the before hook, the stamps
 * with the task, and the after hook; sets status. */
void weiri_run_task(struct weiri_run *run);
/* Calls the success or failure hook, and the limiter where a retry needs it; sets decision. */
void weiri_run_hooks(struct weiri_run *run);

/* The rest is called with the mutex held. Takes the next envelope for the worker to run. May
 * release the mutex meanwhile. False: there is none (worker.c). */
bool weiri_worker_take_locked(weir_pool *pool, struct weiri_worker *worker) WEIRI_POOL_LOCKED;

/* Runs it, and does all that follows. Releases the mutex meanwhile (settle.c). */
void weiri_run_envelope_locked(weir_pool *pool, struct weiri_worker *worker,
                               struct weiri_endings *endings) WEIRI_POOL_LOCKED;
/* Parts of that: counts the run and does what its status leads to; ends it. */
void weiri_run_settle_locked(weir_pool *pool, struct weiri_run *run) WEIRI_POOL_LOCKED;
void weiri_run_end_locked(weir_pool *pool, struct weiri_run *run,
                          struct weiri_endings *endings) WEIRI_POOL_LOCKED;

#endif
