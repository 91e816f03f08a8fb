/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_PLAN_H
#define WEIRI_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/schedule.h>
#include <weir/status.h>

/* When a periodic envelope runs next: plain functions of (plan, state, now), without clock, lock or
 * memory. They are called with the pool's mutex held, and take at most some 10 ms, when 10,000
 * firings of an expression have passed. weir/schedule.h is the contract of the results. The life of
 * an envelope:
 *
 *   weiri_plan_init()    it is made; weiri_plan_fini() when it is freed
 *   weiri_plan_start()   it is sent, and was not in flight: returns the wake time
 *   weiri_plan_begin()   a wake time has come: run now, or the next wake time
 *   weiri_plan_end()     a run has ended: sets the wake time
 *
 * A wake time is a time of the pool's clock: the item's pending time. In the past means at once,
 * WEIR_FOREVER means never. Begin may say "not now" at a wake time: a firing that is too late may
 * be skipped, and a cron plan wakes at least once a minute to read the wall clock, which may have
 * been set. It may be asked early, too. Wake times that are not at once are rounded up by the
 * slack; state and results are not.
 *
 * A run for a send in between moves no firing. With a fixed delay the pool keeps the earlier wake
 * time then, and does not call end. To stop a plan needs no call; the
 * firings until the next begin are missed. */

/* One moment on both clocks. */
struct weiri_moment {
    int64_t clock_ns; /* the pool's clock; never goes back */
    int64_t wall_ns;  /* since the Unix epoch, may jump; unused unless weiri_plan_reads_wall() */
};

/* A checked schedule. Immutable. All zero: not periodic. */
struct weiri_plan {
    weir_cron *cron;     /* of cron plans, else NULL */
    int64_t interval_ns; /* > 0, of cron plans 0 */
    int64_t first_at_ns;
    int64_t tolerance_ns;
    int64_t slack_ns; /* > 0: wake times are multiples of it */
    uint32_t catch_up_max;
    uint8_t kind;
    uint8_t first;
    uint8_t missed;
    uint8_t overlap;
};

/* An envelope's state between its runs. Each firing before next_ns has been run or given up, or is
 * owed. The owed firings follow one another, and will be run whatever the time. */
struct weiri_plan_state {
    int64_t next_ns;
    int64_t owed_ns; /* the first of the owed */
    int64_t seen_ns; /* the plan's clock when it was last read */
    uint32_t owed;
};

struct weiri_turn {
    bool run;         /* of begin: run now */
    int64_t due_ns;   /* with run: the firing, on the plan's clock: the wall clock for cron plans */
    int64_t wake_ns;  /* without run: the next wake time */
    uint64_t skipped; /* firings that this call gave up; cron plans count up to 10,000 */
};

/* Fills plan from an envelope's options: its interval_ns (0: not periodic), deadline_ns (0: none)
 * and a schedule. schedule NULL: a fixed delay of interval_ns, the first run at once. Takes
 * a reference to the expression; weiri_plan_fini() gives it back. Errors leave plan untouched:
 * WEIR_EINVAL (a schedule of an unknown size, with an unknown field or enum value, without an
 * interval, or with another one than the envelope's; cron without an expression or with an
 * interval, an expression without cron), WEIR_ERANGE (a negative number, catch_up_max over its
 * limit, slack_ns over the interval), WEIR_EINTERVAL (a deadline over the interval; a cron plan
 * takes any, since its firings are not evenly spaced). */
WEIR_NODISCARD enum weir_status weiri_plan_init(struct weiri_plan *plan,
                                                const struct weir_schedule *schedule,
                                                int64_t interval_ns, int64_t deadline_ns,
                                                struct weir_error *ret_error);

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

/* The firings of a plan with a fixed rate or a cron expression, on the plan's clock (firings.c). A
 * firing at WEIR_FOREVER never comes. */

/* The next firing. With a fixed rate, time_ns must be a firing. */
int64_t weiri_firing_after(const struct weiri_plan *plan, int64_t time_ns);

struct weiri_firings {
    int64_t latest_ns;
    uint64_t count; /* of a cron plan at most WEIR_CATCH_UP_LIMIT */
};

/* The firings from first_ns, which is taken for one, to now_ns, which is not before it. */
struct weiri_firings weiri_firings_passed(const struct weiri_plan *plan, int64_t first_ns,
                                          int64_t now_ns);

/* Of the firings from first_ns to latest_ns, the first of the last count. There are at least count.
 */
int64_t weiri_firing_of_last(const struct weiri_plan *plan, int64_t first_ns, int64_t latest_ns,
                             uint64_t count);

#endif
