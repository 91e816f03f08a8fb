/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_SCHEDULE_H
#define WEIR_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/cron.h>
#include <weir/duration.h>
#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * When a periodic envelope runs.
 *
 * A schedule is a row of firings: times at which a run should begin. One that passes before its run
 * begins, since workers are busy or the pool is stopped, is missed. One that passes during a run of
 * the same envelope is overlapped: an envelope never runs twice at once. There is a policy for
 * either. With a fixed delay neither happens, since the next firing is set when a run ends.
 *
 * The firings of a cron expression are times of the system's wall clock. In a pool on a manual
 * clock they are times of that clock, taken as nanoseconds since the Unix epoch. If a wall clock is
 * set forward, firings pass. If it is set back by three hours or less, the pool waits for the next
 * firing and runs nothing twice; further back, and the schedule begins anew from the time that the
 * clock shows. The pool notices within a minute.
 *
 * A firing at WEIR_FOREVER, such as one interval of WEIR_FOREVER from now, never comes, also where
 * the clock shows that time. An envelope whose next firing never comes stays in flight and waits
 * until it is sent, again after each run for a send. Only the run for the last firing ends it.
 *
 * A run that returns WEIR_ESTOP ends the schedule. It also drops a send for later that was made
 * before the run began; a send during the run begins a new schedule.
 *
 * A run never begins before its firing. It may begin up to slack_ns later although a worker is
 * free, so that many envelopes do not wake a processor one by one. The firings stay where they are:
 * later ones are counted from them, policies compare them, and weir_context_due() returns them. */

/** Kinds of schedules. */
enum weir_schedule_kind {
    WEIR_SCHEDULE_DELAY = 0, /**< interval_ns after the end of each run. */
    WEIR_SCHEDULE_RATE = 1,  /**< Every interval_ns from the first on, however long runs take. */
    WEIR_SCHEDULE_CRON = 2   /**< The firings of cron (weir/cron.h). */
};

/** The first firing. "Now" is when a worker takes up the first send: at once in a running pool with
 * a free worker, else once the pool is started or resumed and has done what was queued before. */
enum weir_first_run {
    WEIR_FIRST_USUAL = 0,    /**< Now; WEIR_SCHEDULE_CRON: the next firing of cron. */
    WEIR_FIRST_NOW = 1,      /**< Now. */
    WEIR_FIRST_INTERVAL = 2, /**< One interval from now; WEIR_SCHEDULE_CRON: the next firing. */
    /** At first_at_ns. If that has passed, WEIR_SCHEDULE_DELAY fires now, and WEIR_SCHEDULE_RATE at
     * the next time that is whole intervals after it. WEIR_SCHEDULE_CRON: the next firing of cron
     * that is not before first_at_ns. */
    WEIR_FIRST_AT = 3
};

/** Which of the firings that passed, before a run or during one, are run. */
enum weir_firing_policy {
    /** None. Of missed ones the latest is, if it is late by at most tolerance_ns. */
    WEIR_FIRING_SKIP = 0,
    WEIR_FIRING_ONCE = 1, /**< One run for all of them, as soon as possible. */
    /** A run for each of them, one after the other, as soon as possible; at most the latest
     * catch_up_max of them. */
    WEIR_FIRING_ALL = 2
};

#define WEIR_CATCH_UP_LIMIT 10000 /**< The largest catch_up_max. */

/** When to run. Zero means the default of every field. Durations are in nanoseconds. */
struct weir_schedule {
    int64_t interval_ns; /**< Between firings; 0: the interval_ns of the envelope. */
    /** The time of WEIR_FIRST_AT, unused by others: of the pool's clock, with WEIR_SCHEDULE_CRON in
     * nanoseconds since the Unix epoch. */
    int64_t first_at_ns;
    /** With missed WEIR_FIRING_SKIP, the latest missed firing is run if it is no later than this.
     * 0: a minute; WEIR_FOREVER: however late. */
    int64_t tolerance_ns;
    /** Of WEIR_FIRING_ALL; 0: 100; at most WEIR_CATCH_UP_LIMIT. Other calls on the pool wait while
     * missed firings of an expression are counted: 10 ms twice for 10,000 of them. */
    size_t catch_up_max;
    uint32_t kind;   /**< Of enum weir_schedule_kind. */
    uint32_t first;  /**< Of enum weir_first_run. */
    uint32_t missed; /**< Of enum weir_firing_policy: for firings that passed before a run. */
    /** Of enum weir_firing_policy: for firings that passed during a run. Firings that pass while
     * missed ones are made up for count as these. */
    uint32_t overlap;
    weir_cron *cron; /**< Required by WEIR_SCHEDULE_CRON, NULL with others; the envelope takes a
                          reference. */
    /** Wake-ups are put off to the next multiple of this on the pool's clock, so the longest wait
     * is slack_ns - 1. At most interval_ns. 0: a thousandth of interval_ns and of tolerance_ns,
     * rounded down to a power of ten, and at most a millisecond; WEIR_SCHEDULE_CRON has no
     * interval_ns to consider. WEIR_SLACK_NONE: exact times. A first firing now, and firings that
     * are made up for, are not put off. */
    int64_t slack_ns;
};

#define WEIR_SLACK_NONE 1 /**< The slack_ns of exact times: every time is a multiple of it. */

WEIR_END_DECLS

#endif
