/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/probe.h"
#include "pool/isolation.h"
#include "pool/round.h"
#include "pool/stamps.h"

static int do_task(void *arg)
{
    const struct weiri_round *round = arg;
    weir_envelope *envelope = round->envelope;
    if (round->worker->pool->stamp_count + envelope->stamp_count > 0) {
        return weiri_stamps_run(round);
    }
    return weiri_invoke(&round->worker->context);
}

/* Whatever may refuse or do the task; the run's status so far. */
static int perform(struct weiri_round *round)
{
    if (round->hooks->before != NULL) {
        int status = weiri_hook_before(round);
        if (status != WEIR_OK) {
            return status;
        }
    }
    int status = weiri_round_call(round, do_task);
    if (status == WEIR_OK && round->envelope->deadline_ns != 0 &&
        weiri_context_is_spent(&round->worker->context, weiri_round_now(round))) {
        weiri_count(round->worker, WEIRI_COUNT_LATE);
    }
    return status;
}

static bool wants_after(const struct weiri_round *round)
{
    return round->hooks->after != NULL &&
           (round->status == WEIR_OK || round->status == WEIR_ESTOP ||
            (round->envelope->flags & WEIR_ENVELOPE_AFTER_ALWAYS) != 0);
}

enum weiri_ending weiri_run(struct weiri_worker *worker, weir_envelope *envelope)
{
    struct weiri_round round = {
        .worker = worker, .envelope = envelope, .hooks = weiri_envelope_hooks(envelope)};
    if (weiri_envelope_is_periodic(envelope) && !weiri_recur_begin(&round)) {
        return round.ending;
    }
    uint32_t failed = atomic_load_explicit(&envelope->attempts, memory_order_relaxed);
    weiri_context_describe(&worker->context, envelope, failed + 1, round.due_ns);
    WEIRI_PROBE4(run_start, worker->pool, envelope, envelope->id, weiri_envelope_type(envelope));
    weiri_context_begin(&worker->context, envelope->deadline_ns == 0 ? 0 : weiri_round_now(&round),
                        envelope->deadline_ns);
    round.status = perform(&round);
    round.is_lost = worker->context.is_lost; /* an after hook's panic is not the run's */
    weiri_context_end_task(&worker->context);
    if (wants_after(&round) && weiri_hook_after(&round) == WEIR_ESTOP) {
        round.status = WEIR_ESTOP;
    }
    WEIRI_PROBE4(run_end, worker->pool, envelope, envelope->id, round.status);
    weiri_settle(&round);
    if (round.hooks->outcome != NULL) {
        round.hooks->outcome(envelope, round.status, envelope->payload);
    }
    weiri_context_end(&worker->context);
    return round.ending;
}
