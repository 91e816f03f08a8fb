/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/plan.h"

#include "base/options.h"
#include "base/time.h"
#include "cron/firings.h"

#define CATCH_UP_DEFAULT 100
#define TOLERANCE_DEFAULT WEIR_SECONDS(60)
/* How often a cron plan looks at the wall clock, and how far back it may be set before it is taken
 * for another time; Debian's cron has the same figures. */
#define LOOK_NS WEIR_SECONDS(60)
#define SET_BACK_NS WEIR_SECONDS(10800)
/* The slack where the user names none: the largest power of ten that is no more than this part of
 * the interval, and of the tolerance, and no more than SLACK_MOST. Powers of ten have multiples in
 * common, so envelopes of all intervals share their wake-ups, and times that are round for people
 * stay as they are. */
#define SLACK_PART 1000
#define SLACK_MOST WEIR_MS(1)

/* A part of the jitter, the same for an id everywhere and for ever: the last steps of splitmix64,
 * whose result is spread evenly over [0, jitter_ns). */
static int64_t offset_of(uint64_t id, int64_t jitter_ns)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t z = id + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (int64_t)((wide)z * (uint64_t)jitter_ns >> 64);
}

static enum weir_status check_schedule(const struct weir_schedule *s)
{
    if (s->kind > WEIR_SCHEDULE_CRON || s->first > WEIR_FIRST_AT || s->missed > WEIR_FIRING_ALL ||
        s->overlap > WEIR_FIRING_ALL) {
        return WEIR_EINVAL;
    }
    if (s->interval_ns < 0 || s->first_at_ns < 0 || s->jitter_ns < 0 || s->tolerance_ns < 0 ||
        s->slack_ns < 0 || s->catch_up_max > WEIR_CATCH_UP_LIMIT) {
        return WEIR_ERANGE;
    }
    return WEIR_OK;
}

/* Of a plan that is complete but for that. */
static int64_t default_slack(const struct weiri_plan *plan)
{
    int64_t interval_ns = plan->cron != NULL ? WEIR_FOREVER : plan->interval_ns;
    int64_t whole_ns = interval_ns < plan->tolerance_ns ? interval_ns : plan->tolerance_ns;
    int64_t slack_ns = SLACK_MOST;
    while (slack_ns > 1 && slack_ns > whole_ns / SLACK_PART) {
        slack_ns /= 10;
    }
    return slack_ns;
}

enum weir_status weiri_plan_init(struct weiri_plan *plan, const struct weir_schedule *schedule,
                                 int64_t interval_ns, int64_t deadline_ns, uint64_t id)
{
    struct weir_schedule s;
    if (weiri_options_copy(&s, sizeof(s), schedule) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (interval_ns < 0 || deadline_ns < 0) {
        return WEIR_ERANGE;
    }
    enum weir_status status = check_schedule(&s);
    if (status != WEIR_OK) {
        return status;
    }
    if (s.interval_ns == 0) {
        s.interval_ns = interval_ns;
    }
    if (interval_ns != 0 && interval_ns != s.interval_ns) {
        return WEIR_EINVAL;
    }
    bool is_cron = s.kind == WEIR_SCHEDULE_CRON;
    bool needs_interval = schedule != NULL && !is_cron;
    if (is_cron != (s.cron != NULL) || (needs_interval && s.interval_ns == 0) ||
        (is_cron && s.interval_ns != 0)) {
        return WEIR_EINVAL;
    }
    if (s.interval_ns != 0 && deadline_ns > s.interval_ns) {
        return WEIR_EINTERVAL;
    }
    if (s.interval_ns != 0 && s.slack_ns > s.interval_ns) {
        return WEIR_ERANGE;
    }
    *plan = (struct weiri_plan){
        .cron = weir_cron_ref(s.cron),
        .interval_ns = s.interval_ns,
        .first_at_ns = s.first_at_ns,
        .offset_ns = offset_of(id, s.jitter_ns),
        .tolerance_ns = s.tolerance_ns == 0 ? TOLERANCE_DEFAULT : s.tolerance_ns,
        .slack_ns = s.slack_ns,
        .catch_up_max = s.catch_up_max == 0 ? CATCH_UP_DEFAULT : (uint32_t)s.catch_up_max,
        .kind = (uint8_t)s.kind,
        .first = (uint8_t)s.first,
        .missed = (uint8_t)s.missed,
        .overlap = (uint8_t)s.overlap,
    };
    if (plan->slack_ns == 0) {
        plan->slack_ns = default_slack(plan);
    }
    return WEIR_OK;
}

/* What the plan's clock shows. A firing at WEIR_FOREVER stands for one that never comes, whatever
 * the clock says. */
static int64_t time_of(const struct weiri_plan *plan, struct weiri_moment now)
{
    int64_t now_ns = plan->cron != NULL ? now.wall_ns : now.clock_ns;
    return now_ns < WEIR_FOREVER ? now_ns : WEIR_FOREVER - 1;
}

/* The time of the pool's clock at which the plan's will show a time, unless it is set. */
static int64_t on_clock(const struct weiri_plan *plan, int64_t time_ns, struct weiri_moment now)
{
    if (plan->cron == NULL || time_ns == WEIR_FOREVER) {
        return time_ns;
    }
    return weiri_time_add(now.clock_ns, weiri_time_sub(time_ns, now.wall_ns));
}

/* The time, or the next one that is a multiple of the slack; where there is none before the end of
 * the numbers, the time. */
static int64_t put_off(const struct weiri_plan *plan, int64_t time_ns)
{
    int64_t above_ns = time_ns % plan->slack_ns;
    int64_t wait_ns = above_ns > 0 ? plan->slack_ns - above_ns : -above_ns;
    int64_t wake_ns = weiri_time_add(time_ns, wait_ns);
    return wake_ns < WEIR_FOREVER ? wake_ns : time_ns;
}

static int64_t wake_for(const struct weiri_plan *plan, int64_t time_ns, struct weiri_moment now)
{
    int64_t wake_ns = on_clock(plan, time_ns, now);
    if (wake_ns == WEIR_FOREVER || wake_ns <= now.clock_ns) {
        return wake_ns;
    }
    int64_t look_ns = weiri_time_add(now.clock_ns, LOOK_NS);
    return put_off(plan, plan->cron != NULL && wake_ns > look_ns ? look_ns : wake_ns);
}

static int64_t first_of_rate(const struct weiri_plan *plan, int64_t now_ns)
{
    int64_t at_ns = weiri_time_add(plan->first_at_ns, plan->offset_ns);
    if (at_ns >= now_ns) {
        return at_ns;
    }
    int64_t last_ns = weiri_firings_passed(plan, at_ns, now_ns).latest_ns;
    return last_ns == now_ns ? now_ns : weiri_firing_after(plan, last_ns);
}

static int64_t first_of_cron(const struct weiri_plan *plan, int64_t now_ns)
{
    int64_t at_ns = weiri_time_add(plan->first_at_ns, plan->offset_ns);
    return weiri_firing_after(plan, (at_ns > now_ns ? at_ns : now_ns) - 1);
}

static int64_t first_of(const struct weiri_plan *plan, int64_t now_ns)
{
    bool is_cron = plan->kind == WEIR_SCHEDULE_CRON;
    int64_t soon_ns = weiri_time_add(now_ns, plan->offset_ns);
    switch (plan->first) {
    case WEIR_FIRST_USUAL:
        return is_cron ? weiri_firing_after(plan, now_ns) : soon_ns;
    case WEIR_FIRST_INTERVAL:
        return is_cron ? weiri_firing_after(plan, now_ns)
                       : weiri_time_add(soon_ns, plan->interval_ns);
    case WEIR_FIRST_AT:
        if (is_cron) {
            return first_of_cron(plan, now_ns);
        }
        return plan->kind == WEIR_SCHEDULE_RATE
                   ? first_of_rate(plan, now_ns)
                   : weiri_time_add(plan->first_at_ns, plan->offset_ns);
    default:
        return soon_ns;
    }
}

int64_t weiri_plan_start(const struct weiri_plan *plan, struct weiri_plan_state *state,
                         struct weiri_moment now)
{
    int64_t now_ns = time_of(plan, now);
    *state = (struct weiri_plan_state){.next_ns = first_of(plan, now_ns), .seen_ns = now_ns};
    return wake_for(plan, state->next_ns, now);
}

/* A wall clock that was set far back is believed: the next firing could be years away. */
static void look_at_wall(const struct weiri_plan *plan, struct weiri_plan_state *state,
                         int64_t now_ns)
{
    if (plan->cron != NULL && now_ns < weiri_time_sub(state->seen_ns, SET_BACK_NS)) {
        state->next_ns = weiri_firing_after(plan, now_ns);
        state->owed = 0;
    }
    state->seen_ns = now_ns;
}

/* The firings from next to now have passed and none is owed: decides which one is run, and which
 * are owed after it. Returns whether any is run. */
static bool take_missed(const struct weiri_plan *plan, struct weiri_plan_state *state,
                        int64_t now_ns, struct weiri_turn *turn)
{
    struct weiri_firings passed = weiri_firings_passed(plan, state->next_ns, now_ns);
    uint64_t kept = 1;
    if (plan->missed == WEIR_FIRING_ALL) {
        kept = passed.count < plan->catch_up_max ? passed.count : plan->catch_up_max;
    } else if (plan->missed == WEIR_FIRING_SKIP &&
               weiri_time_sub(now_ns, passed.latest_ns) > plan->tolerance_ns) {
        kept = 0;
    }
    if (kept > 0) {
        turn->planned_ns = weiri_firing_of_last(plan, state->next_ns, passed.latest_ns, kept);
    }
    if (kept > 1) {
        state->owed = (uint32_t)(kept - 1);
        state->owed_ns = weiri_firing_after(plan, turn->planned_ns);
    }
    turn->skipped = passed.count - kept;
    state->next_ns = weiri_firing_after(plan, passed.latest_ns);
    return kept > 0;
}

struct weiri_turn weiri_plan_begin(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                   struct weiri_moment now)
{
    struct weiri_turn turn = {0};
    int64_t now_ns = time_of(plan, now);
    look_at_wall(plan, state, now_ns);
    if (state->owed > 0) {
        turn.run = true;
        turn.planned_ns = state->owed_ns;
        state->owed--;
        state->owed_ns = weiri_firing_after(plan, state->owed_ns);
    } else if (state->next_ns <= now_ns && plan->kind == WEIR_SCHEDULE_DELAY) {
        turn.run = true;
        turn.planned_ns = state->next_ns;
        state->next_ns = WEIR_FOREVER;
    } else if (state->next_ns <= now_ns) {
        turn.run = take_missed(plan, state, now_ns, &turn);
    }
    if (turn.run) {
        turn.due_ns = on_clock(plan, turn.planned_ns, now);
    } else {
        turn.wake_ns = wake_for(plan, state->next_ns, now);
    }
    return turn;
}

/* The firings from next to now passed during a run. With WEIR_FIRING_ALL those that are owed
 * already lie right before them, whichever policy they are owed by, so that all stay firings in a
 * row. */
static uint64_t take_overlapped(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                int64_t now_ns)
{
    struct weiri_firings passed = weiri_firings_passed(plan, state->next_ns, now_ns);
    uint64_t skipped = passed.count;
    if (plan->overlap == WEIR_FIRING_ALL) {
        int64_t first_ns = state->owed > 0 ? state->owed_ns : state->next_ns;
        uint64_t all = state->owed + passed.count;
        uint64_t kept = all < plan->catch_up_max ? all : plan->catch_up_max;
        skipped = all - kept;
        state->owed = (uint32_t)kept;
        state->owed_ns = weiri_firing_of_last(plan, first_ns, passed.latest_ns, kept);
    } else if (plan->overlap == WEIR_FIRING_ONCE && state->owed == 0) {
        skipped = passed.count - 1;
        state->owed = 1;
        state->owed_ns = passed.latest_ns;
    }
    state->next_ns = weiri_firing_after(plan, passed.latest_ns);
    return skipped;
}

struct weiri_turn weiri_plan_end(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                 struct weiri_moment now)
{
    struct weiri_turn turn = {0};
    int64_t now_ns = time_of(plan, now);
    look_at_wall(plan, state, now_ns);
    if (plan->kind == WEIR_SCHEDULE_DELAY) {
        state->next_ns = weiri_time_add(now_ns, plan->interval_ns);
    } else if (state->next_ns <= now_ns) {
        turn.skipped = take_overlapped(plan, state, now_ns);
    }
    turn.wake_ns = state->owed > 0 ? now.clock_ns : wake_for(plan, state->next_ns, now);
    return turn;
}
