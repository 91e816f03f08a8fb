/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The user's functions that a run calls. */

#include "pool/run.h"

#include "base/probe.h"
#include "base/random.h"
#include "base/retry.h"
#include "base/time.h"
#include "queue/limiter.h"

#define PER_MILLE 1000
/* The delay of a retry whose limiter has no answer, stated in weir/pool.h; and the first one of an
 * envelope that says none, stated in weir/retry.h. */
#define UNANSWERED_NS WEIR_SECONDS(1)
#define RETRY_BASE_NS WEIR_MS(5)

static int64_t now_of(const struct weiri_run *run)
{
    return weir_clock_now(run->worker->pool->options.clock);
}

/* --- hooks --- */

/* The time limit of a hook. Computed without overflow. */
static int64_t hook_limit(const weir_pool *pool, const weir_envelope *envelope)
{
    int64_t limit =
        envelope->options.deadline_ns / PER_MILLE * pool->options.hook_fraction +
        envelope->options.deadline_ns % PER_MILLE * pool->options.hook_fraction / PER_MILLE;
    return limit > pool->options.hook_min_ns ? limit : pool->options.hook_min_ns;
}

static int invoke_hook(void *arg)
{
    struct weiri_run *run = arg;
    weir_context *context = &run->worker->context;
    weir_envelope *envelope = run->envelope;
    switch (run->hook) {
    case WEIRI_HOOK_BEFORE:
        return envelope->options.before(context, envelope, envelope->options.payload);
    case WEIRI_HOOK_AFTER:
        return envelope->options.after(context, envelope, run->status, envelope->options.payload);
    case WEIRI_HOOK_SUCCESS:
        envelope->options.success(context, envelope, envelope->options.payload);
        break;
    case WEIRI_HOOK_FAILURE:
        run->decision =
            envelope->options.failure(context, envelope, run->failure, envelope->options.payload);
        break;
    }
    return WEIR_OK;
}

/* Calls a hook, which the envelope has, within its time; its status. */
static int call_hook(struct weiri_run *run, enum weiri_hook hook)
{
    weir_context *context = &run->worker->context;
    weiri_context_begin_phase(context, now_of(run), hook_limit(run->worker->pool, run->envelope));
    run->hook = hook;
    int status = weiri_guarded(context, invoke_hook, run);
    weiri_context_end_phase(context);
    run->hook_errors += status != WEIR_OK && status != WEIR_ESTOP;
    return status;
}

/* --- the task --- */

static int task(void *arg)
{
    const struct weiri_run *run = arg;
    return weiri_stamps_run(&run->worker->context);
}

/* The before hook may refuse the task. */
static int perform(struct weiri_run *run)
{
    weir_context *context = &run->worker->context;
    if (run->envelope->options.before != NULL) {
        int status = call_hook(run, WEIRI_HOOK_BEFORE);
        if (status != WEIR_OK) {
            return status;
        }
    }
    int status = weiri_guarded(context, task, run);
    run->is_late = status == WEIR_OK && run->envelope->options.deadline_ns != 0 &&
                   weiri_context_is_spent(context, now_of(run));
    return status;
}

static bool wants_after(const struct weiri_run *run)
{
    return run->envelope->options.after != NULL &&
           (run->status == WEIR_OK || run->status == WEIR_ESTOP ||
            (run->envelope->options.flags & WEIR_ENVELOPE_AFTER_ALWAYS) != 0);
}

void weiri_run_task(struct weiri_run *run)
{
    weir_envelope *envelope = run->envelope;
    weir_context *context = &run->worker->context;
    WEIRI_PROBE4(run_start, run->worker->pool, envelope, envelope->options.id,
                 envelope->options.type);
    weiri_context_begin(context, envelope->options.deadline_ns == 0 ? 0 : now_of(run),
                        envelope->options.deadline_ns);
    run->status = perform(run);
    run->is_lost = context->is_lost; /* an after hook's panic is not the run's */
    weiri_context_end_task(context);
    if (wants_after(run) && call_hook(run, WEIRI_HOOK_AFTER) == WEIR_ESTOP) {
        run->status = WEIR_ESTOP;
    }
    WEIRI_PROBE4(run_end, run->worker->pool, envelope, envelope->options.id, run->status);
}

/* --- after the task --- */

static void call_failure(struct weiri_run *run)
{
    const weir_context *context = &run->worker->context;
    struct weir_failure told = {
        .status = run->status,
        .attempt = run->terms.attempt,
        .message = run->is_lost ? context->message : "",
        .signal = run->is_lost ? context->signal : 0,
        .exit_status = run->is_lost ? context->exit_status : -1,
    };
    run->failure = &told;
    (void)call_hook(run, WEIRI_HOOK_FAILURE);
    run->failure = NULL;
}

/* Asks the limiter when to retry. One that fails, for lack of memory or of its own will, does not
 * cost the envelope its retry. */
static int64_t ask_limiter(struct weiri_run *run)
{
    weir_envelope *envelope = run->envelope;
    int64_t delay_ns;
    run->limited_ns = now_of(run);
    if (weiri_limiter_when(run->worker->pool->options.limiter, weir_key_item(&envelope->item),
                           run->limited_ns, &delay_ns) != WEIR_OK) {
        return UNANSWERED_NS;
    }
    run->is_limited = true;
    envelope->is_limited = true;
    return delay_ns;
}

static void set_retry(struct weiri_run *run)
{
    const struct weir_retry *retry = &run->envelope->options.retry;
    int64_t delay_ns = run->decision;
    if (delay_ns == WEIR_RETRY) {
        bool has_limiter = run->worker->pool->options.limiter != NULL;
        delay_ns =
            has_limiter && retry->base_ns == 0 && retry->max_ns == 0
                ? ask_limiter(run)
                : weiri_retry_delay(retry, RETRY_BASE_NS, run->terms.attempt, weiri_random_seed());
    }
    run->retry_ns = delay_ns <= 0 ? WEIRI_AT_ONCE : weiri_time_add(now_of(run), delay_ns);
}

void weiri_run_hooks(struct weiri_run *run)
{
    weir_envelope *envelope = run->envelope;
    bool has_failed = weiri_outcome_is_failure(run->outcome, &run->terms);
    if (run->outcome == WEIRI_SUCCEEDED && envelope->options.success != NULL) {
        (void)call_hook(run, WEIRI_HOOK_SUCCESS);
    }
    if (has_failed && envelope->options.failure != NULL) {
        call_failure(run);
    }
    if (weiri_outcome_action(run->outcome, &run->terms, run->decision) == WEIRI_RETRY) {
        set_retry(run);
    } else if (envelope->is_limited) {
        envelope->is_limited = false;
        weiri_limiter_forget(run->worker->pool->options.limiter, weir_key_item(&envelope->item));
    }
}
