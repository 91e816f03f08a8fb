/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a run leads to. The envelope is processing all the while: what it is brought back with now
 * needs no room and no hold of its own, since it does not leave the pool in between. */

#include "base/inline.h"
#include "base/panic.h"
#include "base/probe.h"
#include "pool/outcome.h"
#include "pool/round.h"
#include "queue/room.h"

/* When a retry comes whose limiter could not say. */
#define UNANSWERED_NS WEIR_SECONDS(1)

/* Ends its row of failures, here and in the limiter; whether that was called. */
static bool forgive(weir_pool *pool, weir_envelope *envelope)
{
    /* Hardly any has one: what is looked at then need not be written. */
    if (atomic_load_explicit(&envelope->attempts, memory_order_relaxed) != 0) {
        atomic_store_explicit(&envelope->attempts, 0, memory_order_relaxed);
    }
    if (!atomic_load_explicit(&envelope->is_limited, memory_order_relaxed)) {
        return false;
    }
    atomic_store_explicit(&envelope->is_limited, false, memory_order_relaxed);
    enum weir_status status = weir_queue_forget(pool->queue, weir_key_item(&envelope->item));
    WEIRI_ASSERT(status == WEIR_OK);
    return true;
}

/* The same within a round; the limiter may be the user's. */
static void forgive_run(struct weiri_round *round)
{
    if (forgive(round->worker->pool, round->envelope)) {
        weiri_round_forget_now(round);
    }
}

void weiri_pool_forget(weir_pool *pool, weir_envelope *envelope)
{
    (void)forgive(pool, envelope);
    if (weiri_envelope_is_periodic(envelope)) {
        weiri_recur_forget(envelope);
    }
}

/* *ret_joined: somebody has sent it for as early a time, or an earlier one. */
static enum weir_status bring_back(struct weiri_round *round, int64_t delay_ns, bool *ret_joined)
{
    weir_pool *pool = round->worker->pool;
    weir_envelope *envelope = round->envelope;
    enum weir_status status =
        weiri_queue_send_again(pool->queue, &envelope->item, weiri_round_now(round), delay_ns,
                               &envelope->cancelled_run, ret_joined);
    round->ending = WEIRI_ENDS_PENDING;
    if (status == WEIR_ESHUTDOWN) {
        round->ending = WEIRI_ENDS_CLOSED;
    } else if (status == WEIR_ENOMEM) {
        round->ending = WEIRI_ENDS_NO_MEMORY;
    }
    if (status != WEIR_OK) {
        weiri_pool_count_drop(pool);
    }
    return status;
}

enum weir_status weiri_bring_back(struct weiri_round *round, int64_t delay_ns)
{
    bool has_joined;
    return bring_back(round, delay_ns, &has_joined);
}

static enum weir_status retry_limited(struct weiri_round *round)
{
    weir_queue *queue = round->worker->pool->queue;
    struct weir_key key = weir_key_item(&round->envelope->item);
    int64_t now_ns = weiri_round_now(round);
    int64_t delay_ns;
    enum weir_status answer = weir_limiter_when(queue->limiter, key, now_ns, &delay_ns);
    weiri_round_forget_now(round); /* the limiter may be the user's */
    /* A limiter that fails, for lack of memory or of its own will, must not cost the envelope. */
    if (answer != WEIR_OK) {
        return weiri_bring_back(round, UNANSWERED_NS);
    }
    atomic_store_explicit(&round->envelope->is_limited, true, memory_order_relaxed);
    bool has_joined;
    enum weir_status status = bring_back(round, delay_ns, &has_joined);
    if (status != WEIR_OK) {
        weir_limiter_undo(queue->limiter, key, now_ns);
    } else if (has_joined) {
        weir_limiter_give_back(queue->limiter, key, now_ns);
    }
    return status;
}

static void retry(struct weiri_round *round)
{
    enum weir_status status;
    if (round->decision.kind == WEIR_RETRY_LIMITED) {
        status = retry_limited(round);
    } else {
        bool is_now = round->decision.kind == WEIR_RETRY_NOW;
        status = weiri_bring_back(round, is_now ? 0 : round->decision.delay_ns);
    }
    if (status == WEIR_OK) {
        WEIRI_PROBE4(retry, round->worker->pool, round->envelope, round->envelope->id,
                     round->status);
        weiri_count(round->worker, WEIRI_COUNT_RETRIES);
    }
}

static void obey(struct weiri_round *round, enum weiri_sequel sequel)
{
    weir_envelope *envelope = round->envelope;
    switch (sequel) {
    case WEIRI_END:
        if (weiri_envelope_is_periodic(envelope)) {
            weiri_recur_end(round);
        }
        return;
    case WEIRI_AGAIN:
        weiri_recur_again(round);
        return;
    case WEIRI_EXHAUSTED:
        weiri_count(round->worker, WEIRI_COUNT_EXHAUSTED);
        round->ending = WEIRI_ENDS_EXHAUSTED;
        forgive_run(round);
        return;
    case WEIRI_DROP:
        round->ending = WEIRI_ENDS_FAILED;
        forgive_run(round);
        return;
    case WEIRI_RETRY:
        retry(round);
        return;
    }
}

/* Counts the run among the failures in a row, or ends that row; how many there are. */
static uint32_t remember(struct weiri_round *round, bool has_failed)
{
    weir_envelope *envelope = round->envelope;
    if (!has_failed) {
        forgive_run(round);
        return 0;
    }
    uint32_t attempts = atomic_load_explicit(&envelope->attempts, memory_order_relaxed);
    attempts += attempts < UINT32_MAX;
    atomic_store_explicit(&envelope->attempts, attempts, memory_order_relaxed);
    return attempts;
}

static void tell_failure(struct weiri_round *round, uint32_t attempt)
{
    struct weir_failure failure = {
        .status = round->status,
        .attempt = attempt,
        .message = "",
        .exit_status = -1,
    };
    const weir_context *context = &round->worker->context;
    if (round->is_lost) {
        failure.message = context->message;
        failure.signal = context->signal;
        failure.exit_status = context->exit_status;
    }
    round->failure = &failure;
    weiri_hook_failure(round);
    round->failure = NULL;
}

static WEIRI_NOINLINE void settle_by_table(struct weiri_round *round)
{
    weir_envelope *envelope = round->envelope;
    enum weiri_outcome outcome = weiri_outcome_of(round->status);
    weiri_count(round->worker, (enum weiri_count)outcome);
    struct weiri_terms terms = {
        .is_periodic = weiri_envelope_is_periodic(envelope),
        .timeouts_fail = round->worker->pool->timeouts_fail,
        .attempts_max = envelope->attempts_max,
    };
    bool has_failed = weiri_outcome_is_failure(outcome, &terms);
    terms.attempt = remember(round, has_failed);
    round->decision = weir_decision_drop();

    /* A schedule goes on whatever its hooks do, and without the time they take. */
    if (terms.is_periodic) {
        obey(round, weiri_outcome_sequel(outcome, &terms, &round->decision));
    }
    if (outcome == WEIRI_SUCCEEDED && round->hooks->success != NULL) {
        weiri_hook_success(round);
    }
    if (has_failed && round->hooks->failure != NULL) {
        tell_failure(round, terms.attempt);
    }
    if (!terms.is_periodic) {
        obey(round, weiri_outcome_sequel(outcome, &terms, &round->decision));
    }
}

void weiri_settle(struct weiri_round *round)
{
    weir_envelope *envelope = round->envelope;
    if (round->status != WEIR_OK || weiri_envelope_is_periodic(envelope)) {
        settle_by_table(round);
        return;
    }
    /* What the table says of most runs, without asking it. */
    weiri_count(round->worker, (enum weiri_count)WEIRI_SUCCEEDED);
    forgive_run(round);
    if (round->hooks->success != NULL) {
        weiri_hook_success(round);
    }
}
