/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a run leads to. The envelope is processing all the while: what it is brought back with now
 * needs no room and no hold of its own, since it does not leave the pool in between. */

#include "base/panic.h"
#include "pool/outcome.h"
#include "pool/turn.h"
#include "queue/room.h"

/* When a retry comes whose limiter could not say. */
#define UNANSWERED_NS WEIR_SECONDS(1)

void weiri_pool_forget(weir_pool *pool, weir_envelope *envelope)
{
    atomic_store_explicit(&envelope->attempts, 0, memory_order_relaxed);
    if (atomic_load_explicit(&envelope->is_limited, memory_order_relaxed)) {
        atomic_store_explicit(&envelope->is_limited, false, memory_order_relaxed);
        enum weir_status status = weir_queue_forget(pool->queue, weir_key_item(&envelope->item));
        WEIRI_ASSERT(status == WEIR_OK);
    }
}

/* Brings the envelope back; refused, it is dropped once it has left. */
static enum weir_status bring_back(struct weiri_turn *turn, int64_t delay_ns)
{
    weir_pool *pool = turn->worker->pool;
    weir_envelope *envelope = turn->envelope;
    enum weir_status status =
        weiri_queue_send_again(pool->queue, &envelope->item, delay_ns, &envelope->cancelled_run);
    turn->ending = status == WEIR_ENOMEM ? WEIRI_ENDS_NO_MEMORY : WEIRI_ENDS_PENDING;
    if (status != WEIR_OK) {
        weiri_pool_count_drop(pool);
    }
    return status;
}

static enum weir_status retry_limited(struct weiri_turn *turn)
{
    weir_queue *queue = turn->worker->pool->queue;
    struct weir_key key = weir_key_item(&turn->envelope->item);
    int64_t now_ns = weir_clock_now(queue->clock);
    int64_t delay_ns;
    /* A limiter that fails, for lack of memory or of its own will, must not cost the envelope. */
    if (weir_limiter_when(queue->limiter, key, now_ns, &delay_ns) != WEIR_OK) {
        return bring_back(turn, UNANSWERED_NS);
    }
    atomic_store_explicit(&turn->envelope->is_limited, true, memory_order_relaxed);
    enum weir_status status = bring_back(turn, delay_ns);
    if (status != WEIR_OK) {
        weir_limiter_undo(queue->limiter, key, now_ns);
    }
    return status;
}

static void retry(struct weiri_turn *turn)
{
    enum weir_status status;
    if (turn->decision.kind == WEIR_RETRY_LIMITED) {
        status = retry_limited(turn);
    } else {
        bool is_now = turn->decision.kind == WEIR_RETRY_NOW;
        status = bring_back(turn, is_now ? 0 : turn->decision.delay_ns);
    }
    if (status == WEIR_OK) {
        weiri_count(turn->worker, WEIRI_COUNT_RETRIES);
    }
}

/* A periodic envelope wants to be stopped: nothing of it may be left pending that would begin its
 * schedule anew. */
static void end_schedule(struct weiri_turn *turn)
{
    weir_pool *pool = turn->worker->pool;
    bool was_taken = false;
    enum weir_status status =
        weir_queue_cancel(pool->queue, weir_key_item(&turn->envelope->item), &was_taken);
    WEIRI_ASSERT(status == WEIR_OK);
    if (was_taken) {
        weiri_pool_count_drop(pool);
    }
}

static void obey(struct weiri_turn *turn, enum weiri_sequel sequel)
{
    weir_envelope *envelope = turn->envelope;
    switch (sequel) {
    case WEIRI_END:
        if (weiri_envelope_is_periodic(envelope)) {
            end_schedule(turn);
        }
        return;
    case WEIRI_AGAIN:
        (void)bring_back(turn, envelope->interval_ns);
        return;
    case WEIRI_EXHAUSTED:
        weiri_count(turn->worker, WEIRI_COUNT_EXHAUSTED);
        turn->ending = WEIRI_ENDS_EXHAUSTED;
        weiri_pool_forget(turn->worker->pool, envelope);
        return;
    case WEIRI_DROP:
        turn->ending = WEIRI_ENDS_FAILED;
        weiri_pool_forget(turn->worker->pool, envelope);
        return;
    case WEIRI_RETRY:
        retry(turn);
        return;
    }
}

/* Counts the run among the failures in a row, or ends that row; how many there are. */
static uint32_t remember(struct weiri_turn *turn, bool has_failed)
{
    weir_envelope *envelope = turn->envelope;
    if (!has_failed) {
        weiri_pool_forget(turn->worker->pool, envelope);
        return 0;
    }
    uint32_t attempts = atomic_load_explicit(&envelope->attempts, memory_order_relaxed);
    attempts += attempts < UINT32_MAX;
    atomic_store_explicit(&envelope->attempts, attempts, memory_order_relaxed);
    return attempts;
}

static void tell_failure(struct weiri_turn *turn, uint32_t attempt)
{
    turn->failure = (struct weir_failure){
        .status = turn->status,
        .attempt = attempt,
        .message = weiri_context_message(&turn->worker->context),
        .exit_status = -1,
    };
    weiri_hook_failure(turn);
}

void weiri_settle(struct weiri_turn *turn)
{
    weir_envelope *envelope = turn->envelope;
    enum weiri_outcome outcome = weiri_outcome_of(turn->status);
    weiri_count(turn->worker, (enum weiri_count)outcome);
    struct weiri_terms terms = {
        .is_periodic = weiri_envelope_is_periodic(envelope),
        .timeouts_fail = turn->worker->pool->timeouts_fail,
        .attempts_max = envelope->attempts_max,
    };
    bool has_failed = weiri_outcome_is_failure(outcome, &terms);
    terms.attempt = remember(turn, has_failed);
    turn->decision = weir_decision_drop();

    /* A schedule goes on whatever its hooks do, and without the time they take. */
    if (terms.is_periodic) {
        obey(turn, weiri_outcome_sequel(outcome, &terms, &turn->decision));
    }
    if (outcome == WEIRI_SUCCEEDED && envelope->success != NULL) {
        weiri_hook_success(turn);
    }
    if (has_failed && envelope->failure != NULL) {
        tell_failure(turn, terms.attempt);
    }
    if (!terms.is_periodic) {
        obey(turn, weiri_outcome_sequel(outcome, &terms, &turn->decision));
    }
}
