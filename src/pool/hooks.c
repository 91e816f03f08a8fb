/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Hooks and their time limits. */

#include "pool/round.h"

#define PER_MILLE 1000

/* The fraction of a deadline, rounded down; it cannot overflow. */
static int64_t fraction_of(int64_t deadline_ns, uint32_t per_mille)
{
    int64_t whole = deadline_ns / PER_MILLE * per_mille;
    return whole + deadline_ns % PER_MILLE * per_mille / PER_MILLE;
}

static int64_t limit_of(const weir_pool *pool, const weir_envelope *envelope)
{
    int64_t limit = fraction_of(envelope->deadline_ns, pool->hook_fraction);
    return limit > pool->hook_min_ns ? limit : pool->hook_min_ns;
}

/* Calls a hook of the round within its time; its status. An answer that is neither consent nor the
 * wish to stop is an error of the hook's own. */
static int call(struct weiri_round *round, int (*hook)(void *round))
{
    if (round->hook_limit_ns == 0) {
        round->hook_limit_ns = limit_of(round->worker->pool, round->envelope);
    }
    weir_context *context = &round->worker->context;
    weiri_context_begin_phase(context, weiri_round_now(round), round->hook_limit_ns);
    int status = weiri_round_call(round, hook);
    weiri_context_end_phase(context);
    if (status != WEIR_OK && status != WEIR_ESTOP) {
        weiri_count(round->worker, WEIRI_COUNT_HOOK_ERRORS);
    }
    return status;
}

static int before(void *arg)
{
    const struct weiri_round *round = arg;
    weir_envelope *envelope = round->envelope;
    return round->hooks->before(&round->worker->context, envelope, envelope->payload);
}

int weiri_hook_before(struct weiri_round *round)
{
    return call(round, before);
}

static int after(void *arg)
{
    const struct weiri_round *round = arg;
    weir_envelope *envelope = round->envelope;
    return round->hooks->after(&round->worker->context, envelope, round->status, envelope->payload);
}

int weiri_hook_after(struct weiri_round *round)
{
    return call(round, after);
}

static int success(void *arg)
{
    const struct weiri_round *round = arg;
    weir_envelope *envelope = round->envelope;
    round->hooks->success(&round->worker->context, envelope, envelope->payload);
    return WEIR_OK;
}

void weiri_hook_success(struct weiri_round *round)
{
    (void)call(round, success);
}

static int failure(void *arg)
{
    struct weiri_round *round = arg;
    weir_envelope *envelope = round->envelope;
    round->decision =
        round->hooks->failure(&round->worker->context, envelope, round->failure, envelope->payload);
    return WEIR_OK;
}

void weiri_hook_failure(struct weiri_round *round)
{
    (void)call(round, failure);
}
