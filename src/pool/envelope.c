/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/envelope.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/panic.h"
#include "base/sync.h"

static enum weir_status normalize(const struct weir_envelope_options *given,
                                  struct weir_envelope_options *options)
{
    if (given == NULL || weiri_options_copy(options, sizeof(*options), given) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct weir_allocator memory = options->allocator;
    if (weiri_allocator_init(&options->allocator, &memory) != WEIR_OK || options->invoke == NULL) {
        return WEIR_EINVAL;
    }
    if (options->deadline_ns < 0) {
        return WEIR_ERANGE;
    }
    if (options->type == NULL) {
        options->type = "";
    }
    return WEIR_OK;
}

static size_t size_with_type(const char *type)
{
    return sizeof(struct weir_envelope) + strlen(type) + 1;
}

enum weir_status weir_envelope_new(const struct weir_envelope_options *given,
                                   weir_envelope **ret_envelope)
{
    struct weir_envelope_options options;
    if (ret_envelope == NULL) {
        return WEIR_EINVAL;
    }
    enum weir_status status = normalize(given, &options);
    if (status != WEIR_OK) {
        return status;
    }
    weir_envelope *envelope = weiri_alloc_zero(&options.allocator, 1, size_with_type(options.type));
    if (envelope == NULL) {
        return WEIR_ENOMEM;
    }
    weir_item_init(&envelope->item);
    atomic_init(&envelope->references, 1);
    atomic_init(&envelope->flight, 0);
    atomic_init(&envelope->cancelled_run, UINT64_MAX); /* no ticket: they start below 2^62 */
    envelope->allocator = options.allocator;
    envelope->id = options.id;
    envelope->payload = options.payload;
    envelope->invoke = options.invoke;
    envelope->outcome = options.outcome;
    envelope->release = options.release;
    envelope->deadline_ns = options.deadline_ns;
    memcpy(envelope->type, options.type, strlen(options.type) + 1);
    *ret_envelope = envelope;
    return WEIR_OK;
}

weir_envelope *weir_envelope_ref(weir_envelope *envelope)
{
    if (envelope != NULL) {
        /* Relaxed: whoever takes a reference has one, so nothing is learnt from the count. */
        weiri_sync_point();
        size_t before = atomic_fetch_add_explicit(&envelope->references, 1, memory_order_relaxed);
        WEIRI_ASSERT(before > 0 && before < SIZE_MAX / 2);
    }
    return envelope;
}

void weir_envelope_unref(weir_envelope *envelope)
{
    if (envelope == NULL) {
        return;
    }
    /* Release: what this holder did happens before the freeing. Acquire: what all others did. */
    weiri_sync_point();
    size_t before = atomic_fetch_sub_explicit(&envelope->references, 1, memory_order_acq_rel);
    WEIRI_ASSERT(before > 0);
    if (before > 1) {
        return;
    }
    WEIRI_ASSERT(atomic_load_explicit(&envelope->flight, memory_order_relaxed) == 0);
    if (envelope->release != NULL) {
        envelope->release(envelope->payload);
    }
    struct weir_allocator memory = envelope->allocator;
    weiri_release(&memory, envelope, size_with_type(envelope->type));
}

uint64_t weir_envelope_id(const weir_envelope *envelope)
{
    return envelope == NULL ? 0 : envelope->id;
}

const char *weir_envelope_type(const weir_envelope *envelope)
{
    return envelope == NULL ? "" : envelope->type;
}

void *weir_envelope_payload(const weir_envelope *envelope)
{
    return envelope == NULL ? NULL : envelope->payload;
}
