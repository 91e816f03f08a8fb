/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/guard.h"
#include "pool/stamps.h"
#include "pool/turn.h"

static int do_task(void *arg)
{
    const struct weiri_turn *turn = arg;
    weir_envelope *envelope = turn->envelope;
    if (turn->worker->pool->stamp_count + envelope->stamp_count > 0) {
        return weiri_stamps_run(turn);
    }
    return envelope->invoke(&turn->worker->context, envelope->payload);
}

/* Whatever may refuse or do the task; the run's status so far. */
static int perform(struct weiri_turn *turn)
{
    weir_context *context = &turn->worker->context;
    if (turn->envelope->before != NULL) {
        int status = weiri_hook_before(turn);
        if (status != WEIR_OK) {
            return status;
        }
    }
    int status = weiri_guarded(context, do_task, turn);
    if (status == WEIR_OK && turn->envelope->deadline_ns != 0 && weiri_context_is_spent(context)) {
        weiri_count(turn->worker, WEIRI_COUNT_LATE);
    }
    return status;
}

static bool wants_after(const weir_envelope *envelope, int status)
{
    return envelope->after != NULL && (status == WEIR_OK || status == WEIR_ESTOP ||
                                       (envelope->flags & WEIR_ENVELOPE_AFTER_ALWAYS) != 0);
}

enum weiri_ending weiri_run(struct weiri_worker *worker, weir_envelope *envelope)
{
    struct weiri_turn turn = {.worker = worker, .envelope = envelope};
    uint32_t failed = atomic_load_explicit(&envelope->attempts, memory_order_relaxed);
    weiri_context_describe(&worker->context, envelope, failed + 1, 0);
    weiri_context_begin(&worker->context, envelope->deadline_ns);
    turn.status = perform(&turn);
    if (wants_after(envelope, turn.status) && weiri_hook_after(&turn) == WEIR_ESTOP) {
        turn.status = WEIR_ESTOP;
    }
    weiri_settle(&turn);
    if (envelope->outcome != NULL) {
        envelope->outcome(envelope, turn.status, envelope->payload);
    }
    weiri_context_end(&worker->context);
    return turn.ending;
}
