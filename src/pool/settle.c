/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* After a run: counts, the next action, and the end of the run. The envelope stays in
 * flight until then, so what brings it back needs no slot and no memory. */

#include "base/probe.h"
#include "pool/group.h"
#include "pool/recur.h"
#include "pool/run.h"
#include "queue/limiter.h"

static void count_locked(weir_pool *pool, struct weiri_run *run) WEIRI_POOL_LOCKED
{
    struct weir_pool_counts *counts = &pool->counts;
    uint64_t *const outcomes[] = {
        [WEIRI_SUCCEEDED] = &counts->succeeded, [WEIRI_FAILED] = &counts->failed,
        [WEIRI_PANICKED] = &counts->panics,     [WEIRI_TIMED_OUT] = &counts->timed_out,
        [WEIRI_CANCELED] = &counts->canceled,   [WEIRI_STOPPED] = &counts->stopped,
    };
    ++*outcomes[run->outcome];
    counts->runs++;
    counts->late += run->is_late;
    counts->hook_errors += run->hook_errors;
    run->hook_errors = 0;
}

/* Why an envelope ends that ends with such a run. */
static const enum weir_ended_reason reasons[] = {
    [WEIRI_SUCCEEDED] = WEIR_ENDED_DONE,    [WEIRI_FAILED] = WEIR_ENDED_FAILED,
    [WEIRI_PANICKED] = WEIR_ENDED_FAILED,   [WEIRI_TIMED_OUT] = WEIR_ENDED_TIMED_OUT,
    [WEIRI_CANCELED] = WEIR_ENDED_CANCELED, [WEIRI_STOPPED] = WEIR_ENDED_DONE,
};

/* Whether the run may bring its envelope back. Else the run to come is dropped. */
static bool may_come_back_locked(weir_pool *pool, struct weiri_run *run) WEIRI_POOL_LOCKED
{
    bool is_allowed = pool->end.keeps && !run->worker->is_recalled;
    if (!is_allowed) {
        run->reason =
            run->worker->is_recalled ? WEIR_ENDED_CANCELED : weiri_pool_drop_reason_locked(pool);
        run->dropped++;
        pool->counts.dropped++;
    }
    return is_allowed;
}

static void retry_locked(weir_pool *pool, struct weiri_run *run) WEIRI_POOL_LOCKED
{
    weir_envelope *envelope = run->envelope;
    int64_t time_ns = run->retry_ns;
    if (time_ns == WEIRI_AT_ONCE && !weiri_pool_is_open_locked(pool)) {
        /* It waits for the next start. Queued, it would be run by a drain, again and again. */
        time_ns = weir_clock_now(pool->options.clock);
    }
    struct weiri_added added = weiri_pool_again_locked(pool, envelope, time_ns, pool->now_ns);
    WEIRI_PROBE4(retry, pool, envelope, envelope->options.id, run->status);
    pool->counts.retries++;
    pool->meter.retries += run->retry_ns != WEIRI_AT_ONCE;
    run->is_retried = true;
    run->reason = WEIR_ENDED_CANCELED; /* if a cancel ends it first; an end of the pool says so */
    run->has_joined = added.is_coalesced;
}

void weiri_run_settle_locked(weir_pool *pool, struct weiri_run *run)
{
    weir_envelope *envelope = run->envelope;
    bool has_failed = weiri_outcome_is_failure(run->outcome, &run->terms);
    count_locked(pool, run);
    envelope->runs++;
    envelope->last_status = run->status;
    envelope->failures = has_failed ? run->terms.attempt : 0;
    run->reason = has_failed ? WEIR_ENDED_FAILED : reasons[run->outcome];
    switch (weiri_outcome_action(run->outcome, &run->terms, run->decision)) {
    case WEIRI_END: /* of a cancelled run, the schedule has ended with the cancellation */
        if (run->terms.is_periodic && !run->worker->is_recalled) {
            weiri_recur_stop(pool, envelope);
        }
        return;
    case WEIRI_AGAIN:
        if (may_come_back_locked(pool, run)) {
            weiri_recur_again(pool, envelope);
            if (weiri_pending_runs(&envelope->item) > 0) {
                run->reason = WEIR_ENDED_CANCELED; /* if a cancel ends it first */
            }
        }
        return;
    case WEIRI_EXHAUSTED:
        pool->counts.exhausted++;
        envelope->failures = 0;
        run->reason = WEIR_ENDED_EXHAUSTED;
        return;
    case WEIRI_DROP:
        envelope->failures = 0;
        return;
    case WEIRI_RETRY:
        if (may_come_back_locked(pool, run)) {
            retry_locked(pool, run);
        }
        return;
    }
}

/* Drops the further runs of an envelope whose run ends while the pool does. A drain still runs
 * queued envelopes. */
static void drop_pending_locked(weir_pool *pool, struct weiri_run *run) WEIRI_POOL_LOCKED
{
    struct weir_item *item = &run->envelope->item;
    if (pool->end.keeps) {
        return;
    }
    bool is_drain = pool->end.mode == WEIR_END_DRAIN;
    uint32_t dropped = is_drain ? item->weir_wait != 0 : weiri_pending_runs(item);
    if (dropped > 0) {
        pool->counts.dropped += dropped;
        run->dropped += dropped;
        run->reason = weiri_pool_drop_reason_locked(pool);
    }
    if (is_drain) {
        weiri_core_clear_time(&pool->core, item);
    } else {
        (void)weiri_core_cancel(&pool->core, item);
    }
}

void weiri_run_end_locked(weir_pool *pool, struct weiri_run *run, struct weiri_endings *endings)
{
    weir_envelope *envelope = run->envelope;
    pool->counts.hook_errors += run->hook_errors;
    drop_pending_locked(pool, run);
    weiri_group_free_slot_locked(pool, envelope);
    envelope->worker = NULL;
    if (weiri_core_done(&pool->core, &envelope->item, pool->now_ns)) {
        uint32_t lost = run->worker->lost;
        if (lost > 0 && run->reason == WEIR_ENDED_DONE) {
            run->reason = WEIR_ENDED_CANCELED;
        }
        weiri_ended_note_locked(pool, envelope, run->reason, run->dropped + lost, endings);
    }
    if (pool->core.processing == 0 && pool->is_paused) { /* weir_pool_pause() waits for it */
        weiri_pool_announce_locked(pool);
    }
}

/* Tells the limiter about a retry that coalesced with an earlier send, or could not be made. */
static void tell_limiter(const struct weiri_run *run)
{
    weir_limiter *limiter = run->worker->pool->options.limiter;
    struct weir_key key = weir_key_item(&run->envelope->item);
    if (!run->is_retried) {
        weiri_limiter_undo(limiter, key, run->limited_ns);
    } else if (run->has_joined) {
        weiri_limiter_give_back(limiter, key, run->limited_ns);
    }
}

static void classify(struct weiri_run *run)
{
    weir_envelope *envelope = run->envelope;
    run->outcome = weiri_outcome_of(run->status);
    run->terms = (struct weiri_terms){
        .is_periodic = weiri_envelope_is_periodic(envelope),
        .timeouts_fail = (run->worker->pool->options.flags & WEIR_POOL_TIMEOUTS_FAIL) != 0,
        .attempt = weiri_envelope_attempt(envelope),
        .attempts = envelope->options.retry.attempts,
    };
    bool is_asked = envelope->options.failure != NULL;
    run->decision = is_asked || run->terms.attempts == 0 ? WEIR_DROP : WEIR_RETRY;
}

void weiri_run_envelope_locked(weir_pool *pool, struct weiri_worker *worker,
                               struct weiri_endings *endings)
{
    struct weiri_run run = {.worker = worker, .envelope = worker->envelope};
    weiri_pool_unlock(pool);
    weiri_run_task(&run);
    classify(&run);
    /* A schedule goes on whatever its hooks do, and without the time they take; a one-off
     * envelope's hook decides. */
    bool is_periodic = run.terms.is_periodic;
    if (!is_periodic) {
        weiri_run_hooks(&run);
    }
    bool has_more = is_periodic || run.is_limited || run.envelope->options.outcome != NULL;
    if (!has_more) {
        weiri_context_end(&worker->context);
    }
    weiri_pool_lock(pool);
    weiri_run_settle_locked(pool, &run);
    if (has_more) {
        weiri_pool_unlock(pool);
        if (is_periodic) {
            weiri_run_hooks(&run);
        }
        if (run.is_limited) {
            tell_limiter(&run);
        }
        if (run.envelope->options.outcome != NULL) {
            run.envelope->options.outcome(run.envelope, run.status, run.envelope->options.payload);
        }
        weiri_context_end(&worker->context);
        weiri_pool_lock(pool);
    }
    weiri_run_end_locked(pool, &run, endings);
}
