/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_UNIT_H
#define WEIRI_CLI_UNIT_H

#include <stdatomic.h>

#include <pthread.h>

#include "cli/setup.h"
#include "cli/store.h"
#include "cli/worker.h"

/* The consumers of a set-up that runs. A change of one is the end of its unit and the start of
 * another: the old one finishes first, so that their jobs at once do not add up. */

struct unit {
    struct unit *next;
    struct section *section; /* the set-up's; its own while it leaves */
    struct worker worker;
    bool is_leaving;  /* no longer in the set-up, or to be followed by a changed one */
    bool is_followed; /* by a unit of its name, if the set-up has one when it ends */
};

struct units {
    struct unit *first;
    const struct store *store;
    weir_metrics *metrics;
    sigset_t mask; /* of programs */
    int ended;     /* an eventfd: one has ended */
};

/* Makes the units those of the set-up. A section that is still the same object goes on; what is
 * gone leaves, and takes its section; what is new starts unless one of its name is leaving. Returns
 * 0 or an exit status, after saying why. */
int units_follow(struct units *units, struct setup *before, const struct setup *setup);

/* Asks all to end. Jobs that run go on to their end, or are cancelled. */
void units_stop(struct units *units, bool is_cancel);

/* Frees those that have ended, and starts their successors out of the set-up (NULL: none). Returns
 * 0; EX_UNAVAILABLE: a program is gone, or a successor could not start; else the exit status of one
 * that failed. */
int units_reap(struct units *units, const struct setup *setup);

/* Programs that run now. */
uint64_t units_running(const struct units *units);

#endif
