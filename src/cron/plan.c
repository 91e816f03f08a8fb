/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/plan.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/time.h"
#include "cron/cron.h"

#define CATCH_UP_DEFAULT 100
#define TOLERANCE_DEFAULT WEIR_SECONDS(60)
/* A cron plan reads the wall clock at least this often. If it was set back by more than
 * SET_BACK_NS, the schedule begins anew. Debian's cron has the same figures. */
#define READ_NS WEIR_SECONDS(60)
#define SET_BACK_NS WEIR_SECONDS(10800)
/* The default slack is the largest power of ten up to this part of the interval and of the
 * tolerance, and up to SLACK_MOST. Powers of ten have common multiples, so envelopes of all
 * intervals share their wake-ups, and round times stay as they are. */
#define SLACK_PART 1000
#define SLACK_MOST WEIR_MS(1)

static enum weir_status check_schedule(const struct weir_schedule *s, struct weir_error *ret_error)
{
    const struct {
        const char *name;
        int64_t value;
        int64_t most;
        enum weir_status refusal;
    } members[] = {
        {"schedule.kind", s->kind, WEIR_SCHEDULE_CRON, WEIR_EINVAL},
        {"schedule.first", s->first, WEIR_FIRST_AT, WEIR_EINVAL},
        {"schedule.missed", s->missed, WEIR_FIRING_ALL, WEIR_EINVAL},
        {"schedule.overlap", s->overlap, WEIR_FIRING_ALL, WEIR_EINVAL},
        {"schedule.interval_ns", s->interval_ns, INT64_MAX, WEIR_ERANGE},
        {"schedule.first_at_ns", s->first_at_ns, INT64_MAX, WEIR_ERANGE},
        {"schedule.tolerance_ns", s->tolerance_ns, INT64_MAX, WEIR_ERANGE},
        {"schedule.slack_ns", s->slack_ns, INT64_MAX, WEIR_ERANGE},
    };
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (weiri_check_number(members[i].name, members[i].value, 0, members[i].most, ret_error) !=
            WEIR_OK) {
            return members[i].refusal;
        }
    }
    return s->catch_up_max <= WEIR_CATCH_UP_LIMIT
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_ERANGE,
                            "schedule.catch_up_max is %zu: expected at most %d", s->catch_up_max,
                            WEIR_CATCH_UP_LIMIT);
}

/* Whether the interval, of schedule and envelope, and the expression go together. */
static enum weir_status check_interval(const struct weir_schedule *s, bool needs_interval,
                                       int64_t interval_ns, struct weir_error *ret_error)
{
    bool is_cron = s->kind == WEIR_SCHEDULE_CRON;
    if (interval_ns != 0 && interval_ns != s->interval_ns) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "interval_ns is %" PRId64 " and that of the schedule %" PRId64,
                          interval_ns, s->interval_ns);
    }
    if (is_cron != (s->cron != NULL)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "cron is %s",
                          is_cron ? "NULL: expected an expression beside kind WEIR_SCHEDULE_CRON"
                                  : "set: expected kind WEIR_SCHEDULE_CRON");
    }
    if (is_cron == (s->interval_ns != 0) && (is_cron || needs_interval)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "interval_ns is %" PRId64 ": expected %s",
                          s->interval_ns, is_cron ? "0 beside cron" : "more than 0");
    }
    return WEIR_OK;
}

/* interval_ns of a cron plan is 0. */
static int64_t default_slack(int64_t interval_ns, int64_t tolerance_ns)
{
    bool is_shorter = interval_ns > 0 && interval_ns < tolerance_ns;
    int64_t whole_ns = is_shorter ? interval_ns : tolerance_ns;
    int64_t slack_ns = SLACK_MOST;
    while (slack_ns > 1 && slack_ns > whole_ns / SLACK_PART) {
        slack_ns /= 10;
    }
    return slack_ns;
}

enum weir_status weiri_plan_init(struct weiri_plan *plan, const struct weir_schedule *schedule,
                                 int64_t interval_ns, int64_t deadline_ns,
                                 struct weir_error *ret_error)
{
    struct weir_schedule s = schedule != NULL ? *schedule : (struct weir_schedule){0};
    if (weiri_check_number("interval_ns", interval_ns, 0, INT64_MAX, ret_error) != WEIR_OK ||
        weiri_check_number("deadline_ns", deadline_ns, 0, INT64_MAX, ret_error) != WEIR_OK) {
        return WEIR_ERANGE;
    }
    enum weir_status status = check_schedule(&s, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    s.interval_ns = s.interval_ns == 0 ? interval_ns : s.interval_ns;
    status = check_interval(&s, schedule != NULL, interval_ns, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    if (s.interval_ns != 0 && deadline_ns > s.interval_ns) {
        return weiri_fail(ret_error, WEIR_EINTERVAL,
                          "deadline_ns is %" PRId64 ": expected at most interval_ns, %" PRId64,
                          deadline_ns, s.interval_ns);
    }
    if (s.interval_ns != 0 && weiri_check_number("schedule.slack_ns", s.slack_ns, 0, s.interval_ns,
                                                 ret_error) != WEIR_OK) {
        return WEIR_ERANGE;
    }
    int64_t tolerance_ns = s.tolerance_ns == 0 ? TOLERANCE_DEFAULT : s.tolerance_ns;
    *plan = (struct weiri_plan){
        .cron = weiri_cron_ref(s.cron),
        .interval_ns = s.interval_ns,
        .first_at_ns = s.first_at_ns,
        .tolerance_ns = tolerance_ns,
        .slack_ns = s.slack_ns == 0 ? default_slack(s.interval_ns, tolerance_ns) : s.slack_ns,
        .catch_up_max = s.catch_up_max == 0 ? CATCH_UP_DEFAULT : (uint32_t)s.catch_up_max,
        .kind = (uint8_t)s.kind,
        .first = (uint8_t)s.first,
        .missed = (uint8_t)s.missed,
        .overlap = (uint8_t)s.overlap,
    };
    return WEIR_OK;
}

/* The time on the plan's clock. It is kept below WEIR_FOREVER, where a firing never comes. */
static int64_t time_of(const struct weiri_plan *plan, struct weiri_moment now)
{
    int64_t now_ns = plan->cron != NULL ? now.wall_ns : now.clock_ns;
    return now_ns < WEIR_FOREVER ? now_ns : WEIR_FOREVER - 1;
}

/* The time on the pool's clock when the plan's clock will show time_ns, unless it is set. */
static int64_t on_clock(const struct weiri_plan *plan, int64_t time_ns, struct weiri_moment now)
{
    if (plan->cron == NULL || time_ns == WEIR_FOREVER) {
        return time_ns;
    }
    return weiri_time_add(now.clock_ns, weiri_time_sub(time_ns, now.wall_ns));
}

/* Rounds a time up to a multiple of the slack, unless that is WEIR_FOREVER or above. */
static int64_t put_off(const struct weiri_plan *plan, int64_t time_ns)
{
    int64_t above_ns = time_ns % plan->slack_ns;
    int64_t wait_ns = above_ns > 0 ? plan->slack_ns - above_ns : -above_ns;
    int64_t wake_ns = weiri_time_add(time_ns, wait_ns);
    return wake_ns < WEIR_FOREVER ? wake_ns : time_ns;
}

/* The wake time for a firing at time_ns. */
static int64_t wake_for(const struct weiri_plan *plan, int64_t time_ns, struct weiri_moment now)
{
    int64_t wake_ns = on_clock(plan, time_ns, now);
    if (wake_ns == WEIR_FOREVER || wake_ns <= now.clock_ns) {
        return wake_ns;
    }
    int64_t read_ns = weiri_time_add(now.clock_ns, READ_NS);
    return put_off(plan, plan->cron != NULL && wake_ns > read_ns ? read_ns : wake_ns);
}

static int64_t first_of(const struct weiri_plan *plan, int64_t now_ns)
{
    bool is_at = plan->first == WEIR_FIRST_AT;
    int64_t at_ns = plan->first_at_ns;
    if (plan->first == WEIR_FIRST_NOW) {
        return now_ns;
    }
    if (plan->cron != NULL) {
        int64_t least_ns = at_ns > now_ns ? at_ns : now_ns;
        return weiri_firing_after(plan, is_at ? least_ns - 1 : now_ns);
    }
    if (is_at && plan->kind == WEIR_SCHEDULE_RATE && at_ns < now_ns) {
        return weiri_firing_after(plan, weiri_firings_passed(plan, at_ns, now_ns - 1).latest_ns);
    }
    if (is_at) {
        return at_ns;
    }
    return plan->first == WEIR_FIRST_INTERVAL ? weiri_time_add(now_ns, plan->interval_ns) : now_ns;
}

int64_t weiri_plan_start(const struct weiri_plan *plan, struct weiri_plan_state *state,
                         struct weiri_moment now)
{
    int64_t now_ns = time_of(plan, now);
    *state = (struct weiri_plan_state){.next_ns = first_of(plan, now_ns), .seen_ns = now_ns};
    return wake_for(plan, state->next_ns, now);
}

/* Notes the time. If the wall clock was set far back, begins anew: the next firing may be years
 * away. */
static void note_time(const struct weiri_plan *plan, struct weiri_plan_state *state, int64_t now_ns)
{
    if (plan->cron != NULL && now_ns < weiri_time_sub(state->seen_ns, SET_BACK_NS)) {
        state->next_ns = weiri_firing_after(plan, now_ns);
        state->owed = 0;
    }
    state->seen_ns = now_ns;
}

/* The firings from next_ns to now_ns have passed, before a run (is_missed) or during one. Owes
 * those that the policy keeps, and returns the count of the others. The owed ones lie right before
 * next_ns. So with WEIR_FIRING_ALL, old and new ones are firings in a row. */
static uint64_t pass_firings(const struct weiri_plan *plan, struct weiri_plan_state *state,
                             int64_t now_ns, bool is_missed)
{
    struct weiri_firings passed = weiri_firings_passed(plan, state->next_ns, now_ns);
    uint32_t policy = is_missed ? plan->missed : plan->overlap;
    bool is_tolerated = is_missed && weiri_time_sub(now_ns, passed.latest_ns) <= plan->tolerance_ns;
    uint64_t all = state->owed + passed.count;
    uint64_t kept = state->owed;
    if (policy == WEIR_FIRING_ALL) {
        int64_t first_ns = state->owed > 0 ? state->owed_ns : state->next_ns;
        kept = all < plan->catch_up_max ? all : plan->catch_up_max;
        state->owed_ns = weiri_firing_of_last(plan, first_ns, passed.latest_ns, kept);
    } else if (state->owed == 0 && (policy == WEIR_FIRING_ONCE || is_tolerated)) {
        kept = 1;
        state->owed_ns = passed.latest_ns;
    }
    state->owed = (uint32_t)kept;
    state->next_ns = weiri_firing_after(plan, passed.latest_ns);
    return all - kept;
}

struct weiri_turn weiri_plan_begin(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                   struct weiri_moment now)
{
    struct weiri_turn turn = {0};
    int64_t now_ns = time_of(plan, now);
    note_time(plan, state, now_ns);
    if (state->owed == 0 && state->next_ns <= now_ns) {
        if (plan->kind == WEIR_SCHEDULE_DELAY) {
            state->owed = 1;
            state->owed_ns = state->next_ns;
            state->next_ns = WEIR_FOREVER; /* set by weiri_plan_end() */
        } else {
            turn.skipped = pass_firings(plan, state, now_ns, true);
        }
    }
    if (state->owed == 0) {
        turn.wake_ns = wake_for(plan, state->next_ns, now);
        return turn;
    }
    turn.run = true;
    turn.due_ns = state->owed_ns;
    state->owed--;
    state->owed_ns = weiri_firing_after(plan, state->owed_ns);
    return turn;
}

struct weiri_turn weiri_plan_end(const struct weiri_plan *plan, struct weiri_plan_state *state,
                                 struct weiri_moment now)
{
    struct weiri_turn turn = {0};
    int64_t now_ns = time_of(plan, now);
    note_time(plan, state, now_ns);
    if (plan->kind == WEIR_SCHEDULE_DELAY) {
        state->next_ns = weiri_time_add(now_ns, plan->interval_ns);
    } else if (state->next_ns <= now_ns) {
        turn.skipped = pass_firings(plan, state, now_ns, false);
    }
    turn.wake_ns = state->owed > 0 ? now.clock_ns : wake_for(plan, state->next_ns, now);
    return turn;
}
