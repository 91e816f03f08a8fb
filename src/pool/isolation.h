/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_POOL_ISOLATION_H
#define WEIRI_POOL_ISOLATION_H

#include "pool/context.h"
#include "pool/envelope.h"

/* Invokes the task of the context's envelope in a process of its own; returns its status. Notes in
 * the context how the run was lost, if it was. */
int weiri_isolation_invoke(weir_context *context);

/* Invokes the task of the context's envelope, in this process or in its own. */
static inline int weiri_invoke(weir_context *context)
{
    weir_envelope *envelope = context->envelope;
    return weiri_envelope_has(envelope, WEIRI_PART_ISOLATION)
               ? weiri_isolation_invoke(context)
               : envelope->invoke(context, envelope->payload);
}

#endif
