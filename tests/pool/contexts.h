/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_POOL_CONTEXTS_H
#define WEIR_TEST_POOL_CONTEXTS_H

#include "pool/context.h"

/* Contexts without a worker. */

static inline int64_t context_now(const weir_context *context)
{
    return weir_clock_now(context->scope->clock);
}

/* A run or a phase of it begins now. */
static inline void context_begin(weir_context *context, int64_t limit_ns)
{
    weiri_context_begin(context, context_now(context), limit_ns);
}

static inline void context_begin_phase(weir_context *context, int64_t limit_ns)
{
    weiri_context_begin_phase(context, context_now(context), limit_ns);
}

#endif
