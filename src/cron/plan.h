/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_PLAN_H
#define WEIRI_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/schedule.h>
#include <weir/status.h>

/* When a periodic envelope runs next: plain functions of (plan, state, now), without clock, lock or
 * memory. Contract of the results: weir/schedule.h. The life of an envelope:
 *
 *   weiri_plan_init()    when it is made; weiri_plan_fini() when it is freed
 *   weiri_plan_start()   when it is sent and was not in flight: ret wake time
 *   weiri_plan_begin()   when a worker got it: run now, or what else to wait for
 *   weiri_plan_end()     when that run has ended: ret wake time
 *
 * The wake time is a time of the pool's clock, to be handed to the queue as the item's pending
 * time; in the past: at once; WEIR_FOREVER: never. Whenever it comes, begin is asked, which may
 * answer that nothing is to be run and when to wake again: a firing that is too late may be
 * skipped, a wake-up may come early, and cron plans wake once a minute to look at the wall clock,
 * which somebody may have set. Wake times that are not at once are rounded up by the slack; state
 * and results have none of that.
 *
 * A run that somebody asked for by a send in between is made without weiri_plan_begin(), and
 * followed by weiri_plan_end() as any other: it shifts no firing (with a fixed delay, the next one
 * is an interval after its end). One that is stopped needs no call; what passes until it is begun
 * again counts as missed. */

/* One moment on both clocks. The wall's is looked at where weiri_plan_reads_wall(), else it may
 * have any value. */
struct weiri_moment {
    int64_t clock_ns; /* the pool's clock; never goes back */
    int64_t wall_ns;  /* since the Unix epoch; may jump */
};

/* A checked schedule. Immutable; zero: not periodic. */
struct weiri_plan {
    weir_cron *cron;     /* of cron plans */
    int64_t interval_ns; /* > 0 of the others */
    int64_t first_at_ns;
    int64_t offset_ns; /* this envelope's part of the jitter, >= 0 */
    int64_t tolerance_ns;
    int64_t slack_ns; /* > 0: wake times are multiples of it */
    uint32_t catch_up_max;
    uint8_t kind;
    uint8_t first;
    uint8_t missed;
    uint8_t overlap;
};

/* What an envelope keeps between its runs: its owner's (the sender's, then its worker's).
 *
 * Firings before next_ns have been dealt with: run, given up, or owed. The owed are firings in a
 * row that all passed before next_ns and will be run whatever the time. */
struct weiri_plan_state {
    int64_t next_ns;
    int64_t owed_ns; /* the first of the owed */
    int64_t seen_ns; /* what the wall clock showed last, of cron plans */
    uint32_t owed;
    uint32_t reserved0;
};

struct weiri_turn {
    bool run;           /* of begin: run now */
    int64_t due_ns;     /* where run: when it should have begun, on the pool's clock, */
    int64_t planned_ns; /* and on that of the schedule: the wall's, of cron plans */
    int64_t wake_ns;    /* where not: when to ask again, on the pool's clock */
    uint64_t skipped;   /* firings that were given up by this call, for the metrics; of cron plans,
                           that is counted up to 10,000 */
};

/* Fills plan from an envelope's options: its interval_ns (0: not periodic), deadline_ns (0: none)
 * and id, and a schedule or NULL: a fixed delay of interval_ns, the first run at once. Errors:
 * WEIR_EINVAL (a schedule of an unknown size, with an unknown field set or an unknown enum value,
 * without an interval, or with another one than the envelope's; cron without an expression or with
 * an interval, an expression without cron), WEIR_ERANGE (something negative, catch_up_max over its
 * limit, slack_ns over the interval), WEIR_EINTERVAL (the deadline is longer than the interval; of
 * cron plans, whose firings are not evenly spaced, any deadline will do); plan is untouched then.
 * Takes a reference to the expression; weiri_plan_fini() gives it back. */
WEIR_NODISCARD enum weir_status weiri_plan_init(struct weiri_plan *plan,
                                                const struct weir_schedule *schedule,
                                                int64_t interval_ns, int64_t deadline_ns,
                                                uint64_t id);

static inline void weiri_plan_fini(struct weiri_plan *plan)
{
    weir_cron_unref(plan->cron);
}

static inline bool weiri_plan_reads_wall(const struct weiri_plan *plan)
{
    return plan->cron != NULL;
}

static inline bool weiri_plan_is_periodic(const struct weiri_plan *plan)
{
    return plan->interval_ns != 0 || plan->cron != NULL;
}

int64_t weiri_plan_start(const struct weiri_plan *plan, struct weiri_plan_state *state,
                         struct weiri_moment now);

struct weiri_turn weiri_plan_begin(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                   struct weiri_moment now);

/* Sets wake_ns and skipped; run is false. */
struct weiri_turn weiri_plan_end(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                 struct weiri_moment now);

#endif
