/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ROUND_H
#define WEIRI_ROUND_H

#include "pool/pool.h"

/* One run of one envelope by one worker. */
struct weiri_round {
    struct weiri_worker *worker;
    weir_envelope *envelope;
    const struct weiri_hooks *hooks; /* the envelope's */
    int64_t due_ns;                  /* the firing's that it is for; 0: for none */
    int64_t hook_limit_ns;           /* 0: not worked out yet */
    int status;
    enum weiri_ending ending;
    const struct weir_failure *failure; /* while its hook is called */
    struct weir_decision decision;
};

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
