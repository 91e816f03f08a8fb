/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

void weiri_run(weir_envelope *envelope, weir_context *context)
{
    weiri_context_begin(context, envelope->deadline_ns);
    int status = envelope->invoke(context, envelope->payload);
    if (envelope->outcome != NULL) {
        envelope->outcome(envelope, status, envelope->payload);
    }
}
