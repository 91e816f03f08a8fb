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
 * A schedule is a row of firings: times at which a run should begin. A run takes some time, workers
 * may be busy, and a pool may be stopped for hours; so firings pass without a run, in two ways. One
 * that passes before its run begins is missed, one that passes during a run of the same envelope,
 * which never runs twice at once, is overlapped. What becomes of them is said for either.
 *
 * With a fixed delay neither happens: the next firing is only made when a run ends.
 *
 * The firings of a cron expression are times of the wall clock, the system's, or in a pool on a
 * manual clock that one, read as nanoseconds since the Unix epoch. A wall clock may be set: where
 * it is set forward, firings pass; where it is set back by three hours or less, the next is waited
 * for and nothing is run twice; further back, the schedule begins anew from the time that it shows.
 * That the clock was set is noticed within a minute.
 *
 * A run never begins before its firing, and may begin slack_ns later although a worker is free:
 * wake-ups are put off to times that are shared, so that a hundred thousand envelopes do not wake a
 * processor one by one. The firings stay where they are: what comes after is counted from them,
 * policies look at them, and weir_context_due() says them. */

/** What makes firings. */
enum weir_schedule_kind {
    WEIR_SCHEDULE_DELAY = 0, /**< interval_ns after the end of a run: never two without a pause. */
    WEIR_SCHEDULE_RATE = 1,  /**< Every interval_ns from the first on, however long runs take. */
    WEIR_SCHEDULE_CRON = 2   /**< When cron says (weir/cron.h). */
};

/** When the first firing is, seen from the moment at which a worker takes the first send up: at
 * once in a pool that runs and has one free, else when it is started, resumed or done with what is
 * queued before. */
enum weir_first_run {
    WEIR_FIRST_USUAL = 0,    /**< At once; WEIR_SCHEDULE_CRON: when cron says. */
    WEIR_FIRST_NOW = 1,      /**< At once. */
    WEIR_FIRST_INTERVAL = 2, /**< After one interval; WEIR_SCHEDULE_CRON: when cron says. */
    /** At first_at_ns. Where that has passed: WEIR_SCHEDULE_DELAY at once; WEIR_SCHEDULE_RATE at
     * the next of the times that are whole intervals after it. WEIR_SCHEDULE_CRON: when cron says,
     * but not before first_at_ns. */
    WEIR_FIRST_AT = 3
};

/** What becomes of firings that passed before a run began, or during a run. */
enum weir_firing_policy {
    /** They are not run. Of missed ones the latest is, where it is late by tolerance_ns at most. */
    WEIR_FIRING_SKIP = 0,
    WEIR_FIRING_ONCE = 1, /**< One run for all of them, as soon as possible. */
    /** A run for each of them, one after the other as soon as possible; of more than catch_up_max
     * the latest ones. */
    WEIR_FIRING_ALL = 2
};

/** The largest catch_up_max. */
#define WEIR_CATCH_UP_LIMIT 10000

/** When to run. Zero means the default of every field. */
struct weir_schedule {
    size_t size;         /**< Set by WEIR_SCHEDULE_INIT. */
    int64_t interval_ns; /**< Between firings; 0: the interval_ns of the envelope. */
    /** Of the pool's clock; of WEIR_SCHEDULE_CRON in nanoseconds since the Unix epoch. Used with
     * WEIR_FIRST_AT only. */
    int64_t first_at_ns;
    /** Each firing that is not counted from the end of a run is put off by a part of jitter_ns, so
     * that envelopes of the same schedule do not all run at once. The part is made from the
     * envelope's id, and the same in every process, on every host and in every version: an envelope
     * keeps its place. */
    int64_t jitter_ns;
    /** A missed firing is run although missed is WEIR_FIRING_SKIP while it is no later than this.
     * 0: a minute; WEIR_FOREVER: however late. */
    int64_t tolerance_ns;
    size_t catch_up_max; /**< Of WEIR_FIRING_ALL; 0: 100; at most WEIR_CATCH_UP_LIMIT. */
    uint32_t kind;       /**< Of enum weir_schedule_kind. */
    uint32_t first;      /**< Of enum weir_first_run. */
    uint32_t missed;     /**< Of enum weir_firing_policy: firings that passed before a run. */
    uint32_t overlap;    /**< Of enum weir_firing_policy: firings that passed during a run. While
                              missed ones are made up for, those that pass count as these. */
    weir_cron *cron;     /**< Required by WEIR_SCHEDULE_CRON, NULL with others; the envelope takes a
                              reference. */
    /** Its wake-ups are put off to the next time of the pool's clock that is a multiple of this, so
     * the largest wait is a nanosecond less; at most interval_ns. 0: a thousandth of interval_ns
     * (WEIR_SCHEDULE_CRON: any) and of tolerance_ns, rounded down to a power of ten, and a
     * millisecond at most. WEIR_SLACK_NONE: exact times. A first firing that is at once is not put
     * off, nor is what is made up for. */
    int64_t slack_ns;
};

/** The slack_ns of exact times: all are multiples of it. */
#define WEIR_SLACK_NONE 1

/** Initialiser of struct weir_schedule. */
#define WEIR_SCHEDULE_INIT                                                                         \
    {                                                                                              \
        sizeof(struct weir_schedule), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                              \
    }

WEIR_END_DECLS

#endif
