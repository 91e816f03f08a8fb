/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_WATCHDOG_H
#define WEIRI_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/clock.h>
#include <weir/context.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/sync.h"

/* A thread that tells of runs which go on although their time is over: those that do not ask their
 * context cannot be told.
 *
 * A run only writes down its time limit; the watchdog comes by and looks. While anything with a
 * limit runs it comes by once in each overdue_ns at least: whatever begins after a look is not
 * overdue before the next. When for so long nothing has begun and nothing runs, it sleeps until the
 * next run with a limit calls it. So a run makes a system call for that once in overdue_ns at most,
 * and not at all in a pool without a watchdog. */

enum weiri_watch_state {
    WEIRI_WATCH_IDLE,
    WEIRI_WATCH_RUNNING,
    WEIRI_WATCH_TELLING, /* it is being told about; its end waits for that */
    WEIRI_WATCH_TOLD,    /* and once is enough */
    WEIRI_WATCH_STATES   /* how many they are */
};

/* What a context has for it. */
struct weiri_watched {
    struct weiri_list link;   /* guarded by the watchdog's mutex */
    _Atomic int64_t limit_ns; /* WEIR_FOREVER: none, or nothing runs */
    _Atomic uint64_t state;   /* of the run, with the number of the run above it */
    _Atomic uint64_t begun;   /* limits noted so far; written by the worker alone */
};

/* Tells about a run, late_ns past its limit. On the watchdog's thread, with no lock held; the run
 * does not end meanwhile. */
typedef void weiri_overdue_fn(weir_context *context, int64_t late_ns, void *arg);

struct weiri_watchdog {
    /* Immutable. */
    weir_clock *clock;
    int64_t overdue_ns;
    weiri_overdue_fn *tell;
    void *tell_arg;

    struct weiri_clock_user user;
    struct weiri_thread thread;
    struct weiri_mutex mutex;
    struct weiri_cond wake; /* the watchdog sleeps here */
    struct weiri_cond told; /* and here runs that want to end while they are told about */
    struct weiri_list watched WEIRI_GUARDED_BY(mutex);
    const struct weiri_watched *subject WEIRI_GUARDED_BY(mutex); /* NULL: nobody */
    bool is_ending WEIRI_GUARDED_BY(mutex);

    /* It sleeps until it is called. Ordered with the limits of the runs: either a run sees this, or
     * the watchdog's look after it sees the run's limit. */
    atomic_bool is_asleep;
};

/* Makes it and starts its thread. WEIR_ENOMEM, WEIR_ETHREAD. */
WEIR_NODISCARD enum weir_status weiri_watchdog_init(struct weiri_watchdog *dog, weir_clock *clock,
                                                    int64_t overdue_ns, weiri_overdue_fn *tell,
                                                    void *tell_arg);
/* Ends the thread; nothing may be watched any more. */
void weiri_watchdog_fini(struct weiri_watchdog *dog);

void weiri_watchdog_add(struct weiri_watchdog *dog, struct weiri_watched *watched);
void weiri_watchdog_remove(struct weiri_watchdog *dog, struct weiri_watched *watched);

/* For the worker: a run begins; what it does has this limit from now on; it ends. */
void weiri_watchdog_begin(struct weiri_watched *watched);
void weiri_watchdog_note(struct weiri_watchdog *dog, struct weiri_watched *watched,
                         int64_t limit_ns);
void weiri_watchdog_end(struct weiri_watchdog *dog, struct weiri_watched *watched);

#endif
