/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/plan.h"

#include "base/options.h"
#include "base/time.h"

#define CATCH_UP_DEFAULT 100
#define TOLERANCE_DEFAULT WEIR_SECONDS(60)

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
    if (s->kind > WEIR_SCHEDULE_RATE || s->first > WEIR_FIRST_AT || s->missed > WEIR_FIRING_ALL ||
        s->overlap > WEIR_FIRING_ALL) {
        return WEIR_EINVAL;
    }
    if (s->interval_ns < 0 || s->first_at_ns < 0 || s->jitter_ns < 0 || s->tolerance_ns < 0 ||
        s->catch_up_max > WEIR_CATCH_UP_LIMIT) {
        return WEIR_ERANGE;
    }
    return WEIR_OK;
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
    if ((schedule != NULL && s.interval_ns == 0) ||
        (interval_ns != 0 && interval_ns != s.interval_ns)) {
        return WEIR_EINVAL;
    }
    if (s.interval_ns != 0 && deadline_ns > s.interval_ns) {
        return WEIR_EINTERVAL;
    }
    *plan = (struct weiri_plan){
        .interval_ns = s.interval_ns,
        .first_at_ns = s.first_at_ns,
        .offset_ns = offset_of(id, s.jitter_ns),
        .tolerance_ns = s.tolerance_ns == 0 ? TOLERANCE_DEFAULT : s.tolerance_ns,
        .catch_up_max = s.catch_up_max == 0 ? CATCH_UP_DEFAULT : (uint32_t)s.catch_up_max,
        .kind = (uint8_t)s.kind,
        .first = (uint8_t)s.first,
        .missed = (uint8_t)s.missed,
        .overlap = (uint8_t)s.overlap,
    };
    return WEIR_OK;
}

/* A firing at WEIR_FOREVER stands for one that never comes, whatever the clock shows. */
static int64_t time_of(struct weiri_moment now)
{
    return now.clock_ns < WEIR_FOREVER ? now.clock_ns : WEIR_FOREVER - 1;
}

/* For from <= to: how many whole intervals fit between. The difference fits into 64 bits without a
 * sign. */
static uint64_t intervals_between(const struct weiri_plan *plan, int64_t from_ns, int64_t to_ns)
{
    return ((uint64_t)to_ns - (uint64_t)from_ns) / (uint64_t)plan->interval_ns;
}

/* The firing that is count firings after one; that it is in range is the caller's knowledge. */
static int64_t firing_after(const struct weiri_plan *plan, int64_t from_ns, uint64_t count)
{
    return (int64_t)((uint64_t)from_ns + count * (uint64_t)plan->interval_ns);
}

static int64_t first_of_rate(const struct weiri_plan *plan, int64_t now_ns)
{
    int64_t at_ns = weiri_time_add(plan->first_at_ns, plan->offset_ns);
    if (at_ns >= now_ns) {
        return at_ns;
    }
    int64_t last_ns = firing_after(plan, at_ns, intervals_between(plan, at_ns, now_ns));
    return last_ns == now_ns ? now_ns : weiri_time_add(last_ns, plan->interval_ns);
}

int64_t weiri_plan_start(const struct weiri_plan *plan, struct weiri_plan_state *state,
                         struct weiri_moment now)
{
    int64_t first_ns = weiri_time_add(now.clock_ns, plan->offset_ns);
    if (plan->first == WEIR_FIRST_INTERVAL) {
        first_ns = weiri_time_add(first_ns, plan->interval_ns);
    } else if (plan->first == WEIR_FIRST_AT && plan->kind == WEIR_SCHEDULE_RATE) {
        first_ns = first_of_rate(plan, now.clock_ns);
    } else if (plan->first == WEIR_FIRST_AT) {
        first_ns = weiri_time_add(plan->first_at_ns, plan->offset_ns);
    }
    *state = (struct weiri_plan_state){.next_ns = first_ns};
    return first_ns;
}

/* The firings from next to now have passed and none is owed: decides which one is run, and which
 * are owed after it. */
static void take_missed(const struct weiri_plan *plan, struct weiri_plan_state *state,
                        int64_t now_ns, struct weiri_turn *turn)
{
    uint64_t passed = intervals_between(plan, state->next_ns, now_ns) + 1;
    int64_t latest_ns = firing_after(plan, state->next_ns, passed - 1);
    uint64_t kept = 1;
    if (plan->missed == WEIR_FIRING_ALL) {
        kept = passed < plan->catch_up_max ? passed : plan->catch_up_max;
    } else if (plan->missed == WEIR_FIRING_SKIP &&
               weiri_time_sub(now_ns, latest_ns) > plan->tolerance_ns) {
        kept = 0;
    }
    if (kept > 0) {
        turn->run = true;
        turn->due_ns = firing_after(plan, state->next_ns, passed - kept);
    }
    if (kept > 1) {
        state->owed = (uint32_t)(kept - 1);
        state->owed_ns = firing_after(plan, turn->due_ns, 1);
    }
    turn->skipped = passed - kept;
    state->next_ns = weiri_time_add(latest_ns, plan->interval_ns);
}

struct weiri_turn weiri_plan_begin(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                   struct weiri_moment now)
{
    struct weiri_turn turn = {0};
    int64_t now_ns = time_of(now);
    if (state->owed > 0) {
        turn.run = true;
        turn.due_ns = state->owed_ns;
        state->owed--;
        state->owed_ns = weiri_time_add(state->owed_ns, plan->interval_ns);
    } else if (state->next_ns <= now_ns) {
        if (plan->kind == WEIR_SCHEDULE_DELAY) {
            turn.run = true;
            turn.due_ns = state->next_ns;
            state->next_ns = WEIR_FOREVER;
        } else {
            take_missed(plan, state, now_ns, &turn);
        }
    }
    turn.wake_ns = turn.run ? 0 : state->next_ns;
    return turn;
}

/* The firings from next to now passed during a run. With WEIR_FIRING_ALL those that are owed
 * already lie right before them, whichever policy they are owed by, so that all stay firings in a
 * row. */
static uint64_t take_overlapped(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                int64_t now_ns)
{
    uint64_t passed = intervals_between(plan, state->next_ns, now_ns) + 1;
    int64_t latest_ns = firing_after(plan, state->next_ns, passed - 1);
    uint64_t skipped = passed;
    if (plan->overlap == WEIR_FIRING_ALL) {
        int64_t first_ns = state->owed > 0 ? state->owed_ns : state->next_ns;
        uint64_t all = state->owed + passed;
        uint64_t kept = all < plan->catch_up_max ? all : plan->catch_up_max;
        skipped = all - kept;
        state->owed = (uint32_t)kept;
        state->owed_ns = firing_after(plan, first_ns, skipped);
    } else if (plan->overlap == WEIR_FIRING_ONCE && state->owed == 0) {
        skipped = passed - 1;
        state->owed = 1;
        state->owed_ns = latest_ns;
    }
    state->next_ns = weiri_time_add(latest_ns, plan->interval_ns);
    return skipped;
}

struct weiri_turn weiri_plan_end(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                 struct weiri_moment now)
{
    struct weiri_turn turn = {0};
    int64_t now_ns = time_of(now);
    if (plan->kind == WEIR_SCHEDULE_DELAY) {
        state->next_ns = weiri_time_add(now_ns, plan->interval_ns);
    } else if (state->next_ns <= now_ns) {
        turn.skipped = take_overlapped(plan, state, now_ns);
    }
    turn.wake_ns = state->owed > 0 ? now.clock_ns : state->next_ns;
    return turn;
}
