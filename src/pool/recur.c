/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/recur.h"

#include "base/time.h"

void weiri_recur_reset(struct weiri_recurrence *recurrence)
{
    recurrence->is_begun = false;
    recurrence->is_sent = false;
    recurrence->wake_ns = WEIR_FOREVER;
    recurrence->later_ns = WEIR_FOREVER;
    recurrence->sent_ns = WEIR_FOREVER;
    recurrence->sent_before_ns = WEIR_FOREVER;
}

/* On a manual clock the date is that clock's too, so that years pass in a test. A clock that shows
 * WEIR_FOREVER is taken for the nanosecond before, so that no time at once is taken for never. */
static struct weiri_moment read_clocks(const weir_pool *pool, const struct weiri_plan *plan)
{
    int64_t now_ns = weir_clock_now(pool->options.clock);
    struct weiri_moment now = {.clock_ns = weiri_time_earlier(now_ns, WEIR_FOREVER - 1)};
    bool is_real = pool->options.clock == weir_clock_monotonic();
    now.wall_ns = is_real && weiri_plan_reads_wall(plan) ? weiri_wall_now() : now.clock_ns;
    return now;
}

/* Counts the envelope, or not any more, among those that wait for their schedules alone. */
static void count_scheduled(weir_pool *pool, const weir_envelope *envelope) WEIRI_POOL_LOCKED
{
    struct weiri_recurrence *recurrence = envelope->recurrence;
    pool->scheduled -= recurrence->is_scheduled;
    recurrence->is_scheduled = envelope->item.weir_wait != 0 &&
                               recurrence->sent_ns == WEIR_FOREVER &&
                               recurrence->sent_before_ns == WEIR_FOREVER;
    pool->scheduled += recurrence->is_scheduled;
}

/* Gives the item the earliest of the times. An item that nothing else holds keeps one, which may be
 * WEIR_FOREVER: an idle one, and one whose run for a send has ended. The run for the last firing
 * ends the flight. */
static void set_pending_time(weir_pool *pool, weir_envelope *envelope) WEIRI_POOL_LOCKED
{
    const struct weiri_recurrence *recurrence = envelope->recurrence;
    int64_t time_ns = weiri_time_earlier(
        recurrence->wake_ns, weiri_time_earlier(recurrence->sent_ns, recurrence->sent_before_ns));
    enum weir_place place = weiri_item_place(&envelope->item);
    bool was_sent = recurrence->is_begun && !recurrence->is_firing;
    bool keeps_one = place == WEIR_PLACE_IDLE || (place == WEIR_PLACE_PROCESSING && was_sent);
    if (time_ns == WEIR_FOREVER && !keeps_one) {
        weiri_core_clear_time(&pool->core, &envelope->item);
    } else {
        weiri_core_set_time(&pool->core, &envelope->item, time_ns);
    }
    count_scheduled(pool, envelope);
}

void weiri_recur_send(weir_pool *pool, weir_envelope *envelope, int64_t time_ns)
{
    if (time_ns == WEIRI_AT_ONCE) {
        envelope->recurrence->is_sent = true;
    } else {
        envelope->recurrence->sent_ns = weiri_time_earlier(envelope->recurrence->sent_ns, time_ns);
        count_scheduled(pool, envelope);
    }
}

/* True: the time has come, and is taken away. */
static bool take_time(int64_t *time_ns, int64_t now_ns)
{
    bool has_come = *time_ns <= now_ns && *time_ns != WEIR_FOREVER;
    if (has_come) {
        *time_ns = WEIR_FOREVER;
    }
    return has_come;
}

/* Moves sends for later that were made up to now to sent_before_ns. A run for the firing that has
 * come covers them; WEIR_ESTOP of the run that begins drops them. */
static void note_sends_before(struct weiri_recurrence *recurrence)
{
    recurrence->sent_before_ns =
        weiri_time_earlier(recurrence->sent_before_ns, recurrence->sent_ns);
    recurrence->sent_ns = WEIR_FOREVER;
}

void weiri_recur_pass_time(weir_pool *pool, weir_envelope *envelope, int64_t time_ns)
{
    struct weiri_recurrence *recurrence = envelope->recurrence;
    struct weiri_moment now = read_clocks(pool, &recurrence->plan);
    bool is_sent = take_time(&recurrence->sent_ns, now.clock_ns);
    is_sent = take_time(&recurrence->sent_before_ns, now.clock_ns) || is_sent;
    recurrence->is_sent = recurrence->is_sent || is_sent;
    bool is_firing = take_time(&recurrence->wake_ns, now.clock_ns);
    if (is_firing) {
        /* Only a copy of the state advances here: the worker that takes the envelope decides. */
        struct weiri_plan_state state = recurrence->state;
        struct weiri_turn turn = weiri_plan_begin(&recurrence->plan, &state, now);
        is_firing = turn.run || turn.skipped > 0;
        if (is_firing) {
            note_sends_before(recurrence);
        } else {
            recurrence->state = state;
            recurrence->wake_ns = turn.wake_ns;
        }
    }
    if (is_firing || is_sent) {
        (void)weiri_pool_again_locked(pool, envelope, WEIRI_AT_ONCE, time_ns);
    }
    set_pending_time(pool, envelope);
}

/* Starts a schedule. False: its first firing is not yet. */
static bool start(struct weiri_recurrence *recurrence, struct weiri_moment now)
{
    recurrence->is_begun = true;
    recurrence->is_sent = false; /* the send asked for the schedule */
    recurrence->wake_ns = weiri_plan_start(&recurrence->plan, &recurrence->state, now);
    return recurrence->wake_ns <= now.clock_ns;
}

bool weiri_recur_begin(weir_pool *pool, weir_envelope *envelope, int64_t *ret_due_ns)
{
    struct weiri_recurrence *recurrence = envelope->recurrence;
    struct weiri_moment now = read_clocks(pool, &recurrence->plan);
    struct weiri_turn turn = {.run = false};
    *ret_due_ns = 0;
    if (recurrence->is_begun || start(recurrence, now)) {
        turn = weiri_plan_begin(&recurrence->plan, &recurrence->state, now);
        pool->counts.skipped += turn.skipped;
        recurrence->wake_ns = turn.run ? WEIR_FOREVER : turn.wake_ns;
    }
    if (!turn.run && !recurrence->is_sent) {
        weiri_core_unqueue(&pool->core, &envelope->item);
        set_pending_time(pool, envelope);
        return false;
    }
    if (turn.run) {
        *ret_due_ns = turn.due_ns;
        recurrence->sent_before_ns = WEIR_FOREVER;
    }
    recurrence->is_firing = turn.run;
    recurrence->later_ns = recurrence->wake_ns;
    recurrence->is_sent = false;
    recurrence->wake_ns = WEIR_FOREVER; /* the end of the run makes the next one */
    note_sends_before(recurrence);
    set_pending_time(pool, envelope);
    return true;
}

void weiri_recur_again(weir_pool *pool, weir_envelope *envelope)
{
    struct weiri_recurrence *recurrence = envelope->recurrence;
    struct weiri_moment now = read_clocks(pool, &recurrence->plan);
    if (recurrence->plan.kind == WEIR_SCHEDULE_DELAY && !recurrence->is_firing) {
        recurrence->wake_ns = recurrence->later_ns; /* a run for a send moves no firing */
    } else {
        struct weiri_turn turn = weiri_plan_end(&recurrence->plan, &recurrence->state, now);
        pool->counts.skipped += turn.skipped;
        recurrence->wake_ns = turn.wake_ns;
    }
    /* While the pool ends the time stays: a drain would run the envelope again and again. */
    if (weiri_pool_is_open_locked(pool) && take_time(&recurrence->wake_ns, now.clock_ns)) {
        (void)weiri_pool_again_locked(pool, envelope, WEIRI_AT_ONCE, now.clock_ns);
    }
    set_pending_time(pool, envelope);
}

void weiri_recur_stop(weir_pool *pool, weir_envelope *envelope)
{
    struct weiri_recurrence *recurrence = envelope->recurrence;
    recurrence->is_begun = false;
    pool->counts.dropped +=
        recurrence->later_ns != WEIR_FOREVER || recurrence->sent_before_ns != WEIR_FOREVER;
    recurrence->sent_before_ns = WEIR_FOREVER;
    set_pending_time(pool, envelope);
}

void weiri_recur_end(weir_pool *pool, weir_envelope *envelope)
{
    weiri_recur_reset(envelope->recurrence);
    count_scheduled(pool, envelope);
}

int64_t weiri_recur_next_firing(const weir_envelope *envelope)
{
    const struct weiri_recurrence *recurrence = envelope->recurrence;
    if (recurrence == NULL || !recurrence->is_begun) {
        return -1;
    }
    const struct weiri_plan_state *state = &recurrence->state;
    bool is_made_by_end = recurrence->plan.kind == WEIR_SCHEDULE_DELAY && recurrence->is_firing &&
                          weiri_item_is_processing(&envelope->item);
    if (is_made_by_end && state->next_ns == WEIR_FOREVER) {
        return -1;
    }
    return state->owed > 0 ? state->owed_ns : state->next_ns;
}
