/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CONTEXT_H
#define WEIRI_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/clock.h>
#include <weir/context.h>
#include <weir/envelope.h>
#include <weir/pool.h>

#include "base/alarm_fd.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/sync.h"
#include "pool/guard.h"
#include "pool/values.h"
#include "pool/watchdog.h"

/* What the contexts of one pool share: its clock, and that it was cancelled. */
struct weiri_scope {
    /* Immutable. */
    weir_clock *clock;
    struct weiri_watchdog *watchdog; /* NULL: none; set before the first context */

    struct weiri_clock_user user;
    struct weiri_mutex mutex;
    /* Guarded by the mutex. */
    struct weiri_list sleepers; /* contexts in weir_context_sleep() */
    struct weiri_list shown;    /* contexts whose descriptor was asked for in this run */

    /* Written with the mutex held, from false to true once; read without. */
    atomic_bool is_cancelled;
};

#define WEIRI_MESSAGE_SIZE 256

/* A worker's context, made anew for each run. */
struct weir_context {
    struct weiri_scope *scope;
    /* Immutable. NULL in a context without a worker. */
    weir_pool *pool;
    const struct weiri_thread *thread;

    /* Of the run; the worker's thread alone. */
    weir_envelope *envelope;
    int64_t due_ns;
    uint32_t attempt;
    struct weiri_values values;
    struct weiri_watched watched;
    bool is_past_task; /* what is left is hooks, whose limits end with them */
    struct weiri_catch catch;
    bool is_isolated; /* this is the process of an isolated task */
    /* How the run was lost first: by a panic, or with its process. */
    bool is_lost;
    int signal;      /* 0: by none */
    int exit_status; /* -1: it has not exited */
    char message[WEIRI_MESSAGE_SIZE];

    struct weiri_cond wake;
    /* Times; WEIR_FOREVER: none. Written by the worker, read by whoever asks meanwhile. */
    _Atomic int64_t deadline_ns; /* of what is being run: the task, or a hook */
    _Atomic int64_t run_deadline_ns;

    /* This run alone. Written with the scope's mutex held during a run, without between two; read
     * without. */
    atomic_bool is_cancelled;
    /* Which run this is, and where it says which run was cancelled from outside (pool/cancel.c);
     * NULL: it cannot be. Written by the context's thread, the number before the run and, 0, when
     * the run is over with all that it led to. */
    _Atomic uint64_t run;
    const _Atomic uint64_t *cancelled_run;

    /* Guarded by the scope's mutex. */
    struct weiri_list link;
    int64_t wake_ns;
    struct weiri_list shown_link;
    struct weiri_alarm_fd alarm;
    bool is_shown; /* written by the worker alone, which so may read it without the mutex */
};

WEIR_NODISCARD enum weir_status weiri_scope_init(struct weiri_scope *scope, weir_clock *clock);
/* One that no other thread uses, and whose clock is never stepped. */
WEIR_NODISCARD enum weir_status weiri_scope_init_alone(struct weiri_scope *scope,
                                                       weir_clock *clock);
void weiri_scope_fini(struct weiri_scope *scope);
/* Cancels every context of the scope, now and later. */
void weiri_scope_cancel(struct weiri_scope *scope);
/* Takes the cancellation back, while no context of the scope is in a run. */
void weiri_scope_renew(struct weiri_scope *scope);
bool weiri_scope_is_cancelled(struct weiri_scope *scope);

WEIR_NODISCARD enum weir_status weiri_context_init(weir_context *context,
                                                   struct weiri_scope *scope);
void weiri_context_fini(weir_context *context);
/* Starts a run with a time limit from now on; 0: none, and now_ns is not looked at. */
void weiri_context_begin(weir_context *context, int64_t now_ns, int64_t limit_ns);
/* Notes how a run was lost, unless it was before: that is what it came to, and this is a hook's. */
void weiri_context_note_loss(weir_context *context, const char *message, int signal,
                             int exit_status);
/* The task of the run has ended, or will not begin: only hooks are left. */
void weiri_context_end_task(weir_context *context);
/* Ends it: takes back what the task was given for it. */
void weiri_context_end(weir_context *context);
bool weiri_context_is_cancelled(weir_context *context);
/* Whether it was noted as cancelled from outside (weiri_context_name_run). */
bool weiri_context_is_noted(weir_context *context);

/* Brings the descriptors of all runs that asked for theirs up to date (context_fd.c). */
void weiri_scope_show_locked(struct weiri_scope *scope);
/* The same for one run, of the calling thread, which has asked for its own. */
void weiri_context_show(weir_context *context);
/* The run's descriptor is of no use any more. */
void weiri_context_hide(weir_context *context);

/* To be called before weiri_context_begin(): the run is this one, and is cancelled once
 * *cancelled_run says so and weiri_scope_cancel_run() was called after. */
static inline void weiri_context_name_run(weir_context *context, uint64_t run,
                                          const _Atomic uint64_t *cancelled_run)
{
    context->cancelled_run = cancelled_run;
    weiri_sync_point();
    atomic_store_explicit(&context->run, run, memory_order_relaxed);
}
/* Wakes a task that sleeps in its context in this run, which the caller has noted as cancelled. A
 * task that is about to sleep finds the note: it looks with the scope's mutex held. */
void weiri_scope_cancel_run(struct weiri_scope *scope, uint64_t run);
/* Says what the run is of: the envelope, which failure in a row it would be, and the time it was
 * planned for (0: none). */
static inline void weiri_context_describe(weir_context *context, weir_envelope *envelope,
                                          uint32_t attempt, int64_t due_ns)
{
    context->envelope = envelope;
    context->attempt = attempt;
    context->due_ns = due_ns;
}
/* Whether the run's deadline has passed. */
bool weiri_context_is_spent(weir_context *context, int64_t now_ns);
/* Gives a hook limit_ns of its own from now on, but not past the run's deadline, unless that has
 * passed: then the hook is about it. */
void weiri_context_begin_phase(weir_context *context, int64_t now_ns, int64_t limit_ns);
void weiri_context_end_phase(weir_context *context);

#endif
