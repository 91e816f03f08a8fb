/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_TURN_H
#define WEIRI_TURN_H

#include "pool/pool.h"

/* One run of one envelope by one worker. */
struct weiri_turn {
    struct weiri_worker *worker;
    weir_envelope *envelope;
    int64_t hook_limit_ns; /* 0: not worked out yet */
    int status;
    enum weiri_ending ending;
    struct weir_failure failure;
    struct weir_decision decision;
};

/* Calls of the hooks, each in its own time limit (hooks.c). The envelope must have the hook. */
int weiri_hook_before(struct weiri_turn *turn);
int weiri_hook_after(struct weiri_turn *turn);
void weiri_hook_success(struct weiri_turn *turn);
void weiri_hook_failure(struct weiri_turn *turn); /* sets the decision, unless it panics */

/* Does what a run's status leads to: counts, hooks, retries, the next run (settle.c). */
void weiri_settle(struct weiri_turn *turn);

#endif
