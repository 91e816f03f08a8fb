/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ROUND_H
#define WEIRI_ROUND_H

#include "pool/guard.h"
#include "pool/pool.h"

/* One run of one envelope by one worker. */
struct weiri_round {
    struct weiri_worker *worker;
    weir_envelope *envelope;
    const struct weiri_hooks *hooks; /* the envelope's */
    int64_t due_ns;                  /* the firing's that it is for; 0: for none */
    int64_t hook_limit_ns;           /* 0: not worked out yet */
    /* Of the pool's clock; read once between two calls of what is the user's. */
    int64_t now_ns;
    bool has_now;
    int status;
    bool is_lost; /* by a panic or with its process, of which the context has the message */
    enum weiri_ending ending;
    const struct weir_failure *failure; /* while its hook is called */
    struct weir_decision decision;
};

/* The time, as it was at some moment since the last call of something of the user's. */
static inline int64_t weiri_round_now(struct weiri_round *round)
{
    if (!round->has_now) {
        round->now_ns = weir_clock_now(round->worker->context.scope->clock);
        round->has_now = true;
    }
    return round->now_ns;
}

/* Something of the user's was called: any time may have passed. */
static inline void weiri_round_forget_now(struct weiri_round *round)
{
    round->has_now = false;
}

/* Calls what calls something of the user's, in a place that a panic comes out of; its status. */
static inline int weiri_round_call(struct weiri_round *round, int (*fn)(void *round))
{
    int status = weiri_guarded(&round->worker->context, fn, round);
    weiri_round_forget_now(round);
    return status;
}

/* Calls of the hooks, each in its own time limit (hooks.c). The envelope must have the hook. */
int weiri_hook_before(struct weiri_round *round);
int weiri_hook_after(struct weiri_round *round);
void weiri_hook_success(struct weiri_round *round);
void weiri_hook_failure(struct weiri_round *round); /* sets the decision, unless it panics */

/* Adds the envelope, which is processing, to be run again: at once where delay_ns <= 0. Refused, it
 * is dropped once it has left. */
enum weir_status weiri_bring_back(struct weiri_round *round, int64_t delay_ns);

/* Does what a run's status leads to: counts, hooks, retries, the next run (settle.c). */
void weiri_settle(struct weiri_round *round);

#endif
