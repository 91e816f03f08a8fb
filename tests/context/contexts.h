/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONTEXT_CONTEXTS_H
#define WEIR_TEST_CONTEXT_CONTEXTS_H

#include "base/clock.h"
#include "context/context.h"
#include "support/harness.h"

/* Contexts without a pool: what it has for them, its mutex and its place among the clock's users.
 */
struct scope {
    struct weiri_mutex mutex;
    struct weiri_clock_user user;
    struct weiri_contexts contexts;
};

static inline void scope_step(struct weiri_clock_user *user)
{
    struct scope *scope = WEIRI_CONTAINER(user, struct scope, user);
    weiri_mutex_lock(&scope->mutex);
    weiri_contexts_step_locked(&scope->contexts);
    weiri_mutex_unlock(&scope->mutex);
}

static inline void scope_init(struct scope *scope, weir_clock *clock)
{
    weiri_mutex_init(&scope->mutex);
    weiri_contexts_init(&scope->contexts, clock, &scope->mutex);
    scope->user.on_step = scope_step;
    weiri_clock_attach(clock, &scope->user);
}

static inline void scope_fini(struct scope *scope)
{
    weiri_clock_detach(scope->contexts.clock, &scope->user);
    weiri_mutex_fini(&scope->mutex);
}

static inline int64_t context_now(const weir_context *context)
{
    return weir_clock_now(context->contexts->clock);
}

/* A run or a phase of it begins now. */
static inline void context_begin(weir_context *context, int64_t limit_ns)
{
    weiri_context_describe(context, NULL, 1, 0);
    weiri_context_begin(context, context_now(context), limit_ns);
}

static inline void context_begin_phase(weir_context *context, int64_t limit_ns)
{
    weiri_context_begin_phase(context, context_now(context), limit_ns);
}

#endif
