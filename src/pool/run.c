/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/guard.h"
#include "pool/pool.h"

static int invoke(void *arg)
{
    weir_context *context = arg;
    return context->envelope->invoke(context, context->envelope->payload);
}

void weiri_run(weir_envelope *envelope, weir_context *context)
{
    weiri_context_describe(context, envelope, 1, 0);
    weiri_context_begin(context, envelope->deadline_ns);
    int status = weiri_guarded(context, invoke, context);
    if (envelope->outcome != NULL) {
        envelope->outcome(envelope, status, envelope->payload);
    }
}
