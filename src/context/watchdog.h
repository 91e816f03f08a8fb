/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_WATCHDOG_H
#define WEIRI_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/clock.h>
#include <weir/context.h>
#include <weir/status.h>

#include "base/list.h"
#include "base/sync.h"

struct weiri_contexts;

/* A thread that tells of runs which go on past their time limit: such a run does not ask its
 * context.
 *
 * The thread reads the list of runs with a limit at least once in each overdue_ns while a run is in
 * it. When the list was empty for so long, the thread sleeps until the next limit is noted. So runs
 * make a system call for it once in overdue_ns at most. */

/* The part of a context that the watchdog watches. Guarded by the contexts' mutex, but for is_told:
 * the run's worker also resets it between two runs. */
struct weiri_watched {
    struct weiri_list link; /* in the list, where there is a limit */
    int64_t limit_ns;
    bool is_told; /* of this run: each is told of once */
};

/* Tells of a run, late_ns past its limit. On the watchdog's thread, without the mutex; the run does
 * not end meanwhile. */
typedef void weiri_overdue_fn(weir_context *context, int64_t late_ns, void *arg);

struct weiri_watchdog {
    /* Immutable. */
    struct weiri_contexts *contexts;
    int64_t overdue_ns;
    weiri_overdue_fn *tell;
    void *tell_arg;

    struct weiri_thread thread;
    struct weiri_cond wake; /* the watchdog sleeps here */
    struct weiri_cond told; /* a run that ends while it is told of waits here */
    /* Guarded by the contexts' mutex. */
    struct weiri_list watched;
    struct weiri_watched *subject; /* the one being reported; NULL: none */
    uint64_t notes;                /* limits noted so far */
    bool is_asleep; /* until the next limit is noted, or the next step of a manual clock */
    bool is_ending;
};

/* Makes it, starts its thread, and makes it the contexts' watchdog. WEIR_ETHREAD. */
WEIR_NODISCARD enum weir_status weiri_watchdog_init(struct weiri_watchdog *dog,
                                                    struct weiri_contexts *contexts,
                                                    int64_t overdue_ns, weiri_overdue_fn *tell,
                                                    void *tell_arg);
/* Ends the thread; nothing is watched any more. */
void weiri_watchdog_fini(struct weiri_watchdog *dog);

/* The rest is called with the contexts' mutex held. The manual clock was stepped. */
void weiri_watchdog_step_locked(struct weiri_watchdog *dog);
/* The task or hook under way has this limit; WEIR_FOREVER: none. */
void weiri_watchdog_watch_locked(struct weiri_watchdog *dog, struct weiri_watched *watched,
                                 int64_t limit_ns);
/* The run ends. Waits while it is told of, and releases the mutex meanwhile. */
void weiri_watchdog_end_locked(struct weiri_watchdog *dog, struct weiri_watched *watched);

#endif
