/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/recur.h"

#include "base/panic.h"
#include "base/time.h"
#include "pool/round.h"
#include "queue/internal.h"

/* Of marks that are too many to be counted none is taken back: some of the others stay. */
void weiri_envelope_unask(weir_envelope *envelope, uint32_t takes)
{
    weiri_sync_point();
    uint32_t asks = atomic_load_explicit(&envelope->asks, memory_order_relaxed);
    while (asks >> WEIRI_ASKS_BITS == takes && (asks & WEIRI_ASKS_MOST) > 0 &&
           (asks & WEIRI_ASKS_MOST) < WEIRI_ASKS_MOST &&
           !atomic_compare_exchange_weak_explicit(&envelope->asks, &asks, asks - 1,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
        weiri_sync_point();
    }
}

/* Whether anybody has asked since the last take. */
static bool take_asks(weir_envelope *envelope)
{
    weiri_sync_point();
    uint32_t asks = atomic_load_explicit(&envelope->asks, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&envelope->asks, &asks,
                                                  (asks | WEIRI_ASKS_MOST) + 1,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
        weiri_sync_point();
    }
    return (asks & WEIRI_ASKS_MOST) > 0;
}

/* On a manual clock the date is that clock's as well, so that years pass in a test. */
static struct weiri_moment now_of(struct weiri_round *round)
{
    struct weiri_moment now = {.clock_ns = weiri_round_now(round)};
    now.wall_ns = now.clock_ns;
    if (weiri_plan_reads_wall(&weiri_envelope_recurrence(round->envelope)->plan) &&
        round->worker->pool->queue->clock == weir_clock_monotonic()) {
        now.wall_ns = weiri_wall_now();
    }
    return now;
}

static void wait_until(struct weiri_round *round, int64_t wake_ns, struct weiri_moment now)
{
    weiri_envelope_recurrence(round->envelope)->wake_ns = wake_ns;
    (void)weiri_bring_back(round, weiri_time_sub(wake_ns, now.clock_ns));
}

/* Whether the envelope was handed out for a firing; round then has its time. */
static bool begin(struct weiri_round *round, struct weiri_moment now)
{
    struct weiri_recurrence *recurrence = weiri_envelope_recurrence(round->envelope);
    struct weiri_turn turn = weiri_plan_begin(&recurrence->plan, &recurrence->state, now);
    weiri_count_more(round->worker, WEIRI_COUNT_SKIPPED, turn.skipped);
    if (turn.run) {
        round->due_ns = turn.due_ns;
        return true;
    }
    /* Handed out before its time, it was for a pending time of somebody else's. */
    bool is_early = now.clock_ns < recurrence->wake_ns;
    recurrence->wake_ns = turn.wake_ns;
    return is_early;
}

bool weiri_recur_begin(struct weiri_round *round)
{
    weir_envelope *envelope = round->envelope;
    struct weiri_recurrence *recurrence = weiri_envelope_recurrence(envelope);
    struct weiri_moment now = now_of(round);
    bool is_asked = take_asks(envelope);
    if (!atomic_load_explicit(&envelope->is_begun, memory_order_relaxed)) {
        atomic_store_explicit(&envelope->is_begun, true, memory_order_relaxed);
        recurrence->wake_ns = weiri_plan_start(&recurrence->plan, &recurrence->state, now);
        if (recurrence->wake_ns > now.clock_ns) {
            wait_until(round, recurrence->wake_ns, now);
            return false;
        }
        is_asked = false;
    }
    if (begin(round, now) || is_asked) {
        return true;
    }
    wait_until(round, recurrence->wake_ns, now);
    return false;
}

void weiri_recur_again(struct weiri_round *round)
{
    struct weiri_recurrence *recurrence = weiri_envelope_recurrence(round->envelope);
    struct weiri_moment now = now_of(round);
    struct weiri_turn turn = weiri_plan_end(&recurrence->plan, &recurrence->state, now);
    weiri_count_more(round->worker, WEIRI_COUNT_SKIPPED, turn.skipped);
    wait_until(round, turn.wake_ns, now);
}

void weiri_recur_end(struct weiri_round *round)
{
    weir_pool *pool = round->worker->pool;
    weir_envelope *envelope = round->envelope;
    atomic_store_explicit(&envelope->is_begun, false, memory_order_relaxed);
    bool was_taken = false;
    enum weir_status status =
        weir_queue_cancel(pool->queue, weir_key_item(&envelope->item), &was_taken);
    WEIRI_ASSERT(status == WEIR_OK);
    if (was_taken) {
        weiri_pool_count_drop(pool);
    }
}
