/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CONTEXT_H
#define WEIRI_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/clock.h>
#include <weir/context.h>

#include "base/alarm_fd.h"
#include "base/list.h"
#include "base/sync.h"
#include "context/panic.h"
#include "context/values.h"
#include "context/watchdog.h"

/* Shared by the contexts of one owner: a pool, or the process of an isolated task. The owner sets
 * what weiri_contexts_init() does not. */
struct weiri_contexts {
    /* Immutable. */
    weir_clock *clock;
    struct weiri_mutex *mutex; /* the owner's */
    weir_pool *pool;
    bool hides_pool;                        /* weir_context_pool() does not tell it */
    const struct weir_allocator *allocator; /* of the contexts' values */
    weiri_panicked_fn *panicked;            /* NULL: nobody is told of panics */
    uint64_t process;                /* the owner's mark (base/forked.h); 0: it is not checked */
    struct weiri_watchdog *watchdog; /* NULL: none */

    /* Guarded by the mutex. */
    struct weiri_list sleepers; /* contexts in weir_context_sleep() */
    struct weiri_list shown;    /* contexts whose descriptor was asked for in this run */
};

#define WEIRI_MESSAGE_SIZE 256

/* A worker's context, made anew for each run. */
struct weir_context {
    /* Immutable. */
    struct weiri_contexts *contexts;
    const struct weiri_thread *thread; /* the worker's; NULL: it has none */
    uint32_t worker;                   /* its number */

    /* The run; the worker's thread alone. */
    weir_envelope *envelope;
    int64_t due_ns;
    uint32_t attempt;
    struct weiri_values values;
    int64_t run_deadline_ns; /* WEIR_FOREVER: none */
    bool is_past_task;       /* only hooks are left, whose limits end with them */
    bool is_shown;           /* written with the mutex held */
    struct weiri_catch catch;
    /* How the run was lost first: by a panic, or with its process. */
    bool is_lost;
    int signal;      /* 0: by none */
    int exit_status; /* -1: it has not exited */
    char message[WEIRI_MESSAGE_SIZE];
    char explanation[WEIR_EXPLANATION_SIZE];

    /* The time limit of the task or hook under way; WEIR_FOREVER: none. Written by the
     * worker, read by any thread. */
    _Atomic int64_t deadline_ns;
    /* Written with the mutex held, read without. */
    atomic_bool is_cancelled;

    /* Guarded by the mutex. The worker opens and closes alarm without it while the context is not
     * in the list shown, and resets watched.is_told between runs. */
    struct weiri_list sleep_link;
    struct weiri_cond wake;
    int64_t wake_ns;
    struct weiri_list shown_link;
    struct weiri_alarm_fd alarm;
    struct weiri_watched watched;
};

void weiri_contexts_init(struct weiri_contexts *contexts, weir_clock *clock,
                         struct weiri_mutex *mutex);
/* A manual clock was stepped: wakes the sleepers that are due and the watchdog, and updates the
 * descriptors. */
void weiri_contexts_step_locked(struct weiri_contexts *contexts);

void weiri_context_init(weir_context *context, struct weiri_contexts *contexts);
void weiri_context_fini(weir_context *context);

/* Describes the run: the envelope, the number of the attempt, and the time of its firing (0: none).
 * It is not cancelled yet. */
void weiri_context_describe(weir_context *context, weir_envelope *envelope, uint32_t attempt,
                            int64_t due_ns);
/* Starts the run with a time limit from now_ns on; 0: none, and now_ns is not used. */
void weiri_context_begin(weir_context *context, int64_t now_ns, int64_t limit_ns);
/* Notes how a run was lost, unless it was lost before. */
void weiri_context_note_loss(weir_context *context, const char *message, int signal,
                             int exit_status);
/* The task of the run has ended, or will not begin: only hooks are left. */
void weiri_context_end_task(weir_context *context);
/* Ends the run: removes its values, and stops updating its descriptor, which stays open. */
void weiri_context_end(weir_context *context);

/* Whether the run's deadline has passed. */
bool weiri_context_is_spent(const weir_context *context, int64_t now_ns);
/* Gives a hook limit_ns of its own from now on, but not past the run's deadline, unless that has
 * passed already. */
void weiri_context_begin_phase(weir_context *context, int64_t now_ns, int64_t limit_ns);
void weiri_context_end_phase(weir_context *context);

/* Cancels the run. */
void weiri_context_cancel_locked(weir_context *context);

#endif
