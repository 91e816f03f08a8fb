/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/recur.h"

#include "base/time.h"
#include "pool/round.h"
#include "queue/room.h"

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

void weiri_recur_added(struct weir_item *item, int64_t time_ns)
{
    struct weiri_recurrence *recurrence = weiri_envelope_recurrence(weiri_envelope_of(item));
    weiri_sync_point();
    if (time_ns < atomic_load_explicit(&recurrence->asked_ns, memory_order_relaxed)) {
        atomic_store_explicit(&recurrence->asked_ns, time_ns, memory_order_relaxed);
    }
}

void weiri_recur_canceled(struct weir_item *item)
{
    weir_envelope *envelope = weiri_envelope_of(item);
    if (weiri_envelope_is_periodic(envelope)) {
        weiri_recur_forget(envelope);
    }
}

void weiri_recur_forget(weir_envelope *envelope)
{
    weiri_sync_point();
    atomic_store_explicit(&weiri_envelope_recurrence(envelope)->asked_ns, WEIR_FOREVER,
                          memory_order_relaxed);
    atomic_store_explicit(&envelope->is_begun, false, memory_order_relaxed);
}

/* Whether it was sent for a time that has come; takes the mark of that. */
static bool take_time(struct weiri_recurrence *recurrence, int64_t now_ns)
{
    weiri_sync_point();
    int64_t asked_ns = atomic_load_explicit(&recurrence->asked_ns, memory_order_relaxed);
    /* Who lowers it meanwhile does so for a time that has come too. */
    return asked_ns <= now_ns && asked_ns != WEIR_FOREVER &&
           atomic_exchange_explicit(&recurrence->asked_ns, WEIR_FOREVER, memory_order_relaxed) !=
               WEIR_FOREVER;
}

static void wait_until(struct weiri_round *round, int64_t wake_ns, struct weiri_moment now)
{
    struct weiri_recurrence *recurrence = weiri_envelope_recurrence(round->envelope);
    weiri_sync_point();
    int64_t asked_ns = atomic_load_explicit(&recurrence->asked_ns, memory_order_relaxed);
    recurrence->wake_ns = wake_ns < asked_ns ? wake_ns : asked_ns;
    if (weiri_bring_back(round, weiri_time_sub(recurrence->wake_ns, now.clock_ns)) ==
        WEIR_ECANCELED) {
        /* What is sent after the cancellation begins anew, also where that keeps it in flight. */
        atomic_store_explicit(&round->envelope->is_begun, false, memory_order_relaxed);
    }
}

/* Whether the envelope was handed out for a firing; round then has its time. */
static bool begin(struct weiri_round *round, struct weiri_moment now)
{
    struct weiri_recurrence *recurrence = weiri_envelope_recurrence(round->envelope);
    struct weiri_turn turn = weiri_plan_begin(&recurrence->plan, &recurrence->state, now);
    weiri_count_more(round->worker, WEIRI_COUNT_SKIPPED, turn.skipped);
    if (turn.run) {
        round->due_ns = turn.due_ns;
        /* Of two pending times the earlier is kept, and here it is run. */
        weiri_sync_point();
        atomic_store_explicit(&recurrence->asked_ns, WEIR_FOREVER, memory_order_relaxed);
        return true;
    }
    /* Handed out before its time, it was for a pending time of somebody else's, or for one of its
     * own that a run in between has put off. A look at the wall clock is neither. */
    bool is_early = !weiri_plan_reads_wall(&recurrence->plan) && now.clock_ns < recurrence->wake_ns;
    recurrence->wake_ns = turn.wake_ns;
    return is_early;
}

bool weiri_recur_begin(struct weiri_round *round)
{
    weir_envelope *envelope = round->envelope;
    struct weiri_recurrence *recurrence = weiri_envelope_recurrence(envelope);
    struct weiri_moment now = now_of(round);
    bool is_due = take_time(recurrence, now.clock_ns);
    bool is_asked = take_asks(envelope) || is_due;
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

/* Adds again what was sent. False: the pool has ended, or there is no memory. */
static bool send_again(struct weiri_round *round, int64_t delay_ns)
{
    bool has_joined;
    enum weir_status status =
        weiri_queue_send_again(round->worker->pool->queue, &round->envelope->item,
                               weiri_round_now(round), delay_ns, NULL, &has_joined);
    if (status != WEIR_OK) {
        round->ending = status == WEIR_ENOMEM ? WEIRI_ENDS_NO_MEMORY : WEIRI_ENDS_CLOSED;
    }
    return status == WEIR_OK;
}

void weiri_recur_end(struct weiri_round *round)
{
    weir_pool *pool = round->worker->pool;
    weir_envelope *envelope = round->envelope;
    atomic_store_explicit(&envelope->is_begun, false, memory_order_relaxed);
    if (weiri_context_is_noted(&round->worker->context)) {
        return; /* the schedule has gone with the cancellation; what there is was sent after that */
    }
    struct weiri_recalled recalled;
    bool is_asked = take_asks(envelope);
    weiri_queue_recall(pool->queue, &envelope->item, NULL, NULL, &recalled);
    unsigned sent = is_asked && send_again(round, 0) ? 1 : 0;
    weiri_sync_point();
    int64_t asked_ns =
        atomic_load_explicit(&weiri_envelope_recurrence(envelope)->asked_ns, memory_order_relaxed);
    if (asked_ns != WEIR_FOREVER) {
        sent += send_again(round, weiri_time_sub(asked_ns, now_of(round).clock_ns));
    }
    weiri_pool_count_drops(pool, recalled.pending > sent ? recalled.pending - sent : 0);
}
