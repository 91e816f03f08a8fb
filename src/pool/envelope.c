/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/envelope.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/panic.h"
#include "base/sync.h"
#include "pool/group.h"
#include "pool/isolate.h"
#include "pool/stamps.h"

_Static_assert(offsetof(struct weir_envelope_options, isolation) + sizeof(void *) ==
                   sizeof(struct weir_envelope_options),
               "no padding at the end of an options struct");

_Static_assert(_Alignof(struct weir_stamp) % _Alignof(struct weiri_recurrence) == 0,
               "a recurrence may lie behind stamps");

#define FLAGS_KNOWN ((uint32_t)WEIR_ENVELOPE_AFTER_ALWAYS)

static enum weir_status normalize(const struct weir_envelope_options *given,
                                  struct weir_envelope_options *options, struct weiri_plan *plan)
{
    if (given == NULL || weiri_options_copy(options, sizeof(*options), given) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct weir_allocator memory = options->allocator;
    if (weiri_allocator_init(&options->allocator, &memory) != WEIR_OK || options->invoke == NULL ||
        (options->flags & ~FLAGS_KNOWN) != 0) {
        return WEIR_EINVAL;
    }
    if (options->type == NULL) {
        options->type = "";
    }
    enum weir_status status = weiri_stamps_check(options->stamps, options->stamp_count);
    if (status != WEIR_OK) {
        return status;
    }
    return weiri_plan_init(plan, options->schedule, options->interval_ns, options->deadline_ns,
                           options->id);
}

/* What lies behind the record: stamps, recurrence, isolation, type, each of which needs no more
 * alignment than what is before it. */
static size_t block_size(size_t stamp_count, bool is_periodic, bool is_isolated, const char *type)
{
    return sizeof(struct weir_envelope) + stamp_count * sizeof(struct weir_stamp) +
           (is_periodic ? sizeof(struct weiri_recurrence) : 0) +
           (is_isolated ? sizeof(struct weir_isolation) : 0) + strlen(type) + 1;
}

static void fill_behind(weir_envelope *envelope, const struct weir_envelope_options *options,
                        const struct weiri_plan *plan)
{
    envelope->stamp_count = (uint32_t)options->stamp_count;
    for (size_t i = 0; i < options->stamp_count; i++) {
        envelope->stamps[i] = options->stamps[i];
    }
    void *rest = &envelope->stamps[options->stamp_count];
    if (weiri_plan_is_periodic(plan)) {
        envelope->recurrence = rest;
        envelope->recurrence->plan = *plan;
        atomic_init(&envelope->recurrence->is_asked, false);
        atomic_init(&envelope->recurrence->is_begun, false);
        rest = envelope->recurrence + 1;
    }
    if (options->isolation != NULL) {
        struct weir_isolation *isolation = rest;
        *isolation = *options->isolation;
        envelope->isolation = isolation;
        rest = isolation + 1;
    }
    memcpy(rest, options->type, strlen(options->type) + 1);
    envelope->type = rest;
}

enum weir_status weir_envelope_new(const struct weir_envelope_options *given,
                                   weir_envelope **ret_envelope)
{
    struct weir_envelope_options options;
    if (ret_envelope == NULL) {
        return WEIR_EINVAL;
    }
    struct weiri_plan plan = {0}; /* with nothing to give back, until it is filled */
    struct weir_isolation isolation;
    enum weir_status status = normalize(given, &options, &plan);
    if (status == WEIR_OK && options.isolation != NULL) {
        status = weiri_isolation_copy(&isolation, options.isolation);
        options.isolation = &isolation;
    }
    if (status != WEIR_OK) {
        weiri_plan_fini(&plan);
        return status;
    }
    size_t size = block_size(options.stamp_count, weiri_plan_is_periodic(&plan),
                             options.isolation != NULL, options.type);
    weir_envelope *envelope = weiri_alloc_zero(&options.allocator, 1, size);
    if (envelope == NULL) {
        weiri_plan_fini(&plan);
        return WEIR_ENOMEM;
    }
    weir_item_init(&envelope->item);
    atomic_init(&envelope->references, 1);
    atomic_init(&envelope->flight, 0);
    atomic_init(&envelope->attempts, 0);
    atomic_init(&envelope->is_limited, false);
    atomic_init(&envelope->cancelled_run, UINT64_MAX); /* no ticket: they start below 2^62 */
    envelope->allocator = options.allocator;
    envelope->id = options.id;
    envelope->payload = options.payload;
    envelope->invoke = options.invoke;
    envelope->outcome = options.outcome;
    envelope->release = options.release;
    envelope->deadline_ns = options.deadline_ns;
    envelope->before = options.before;
    envelope->after = options.after;
    envelope->success = options.success;
    envelope->failure = options.failure;
    envelope->attempts_max = options.attempts_max;
    envelope->flags = options.flags;
    fill_behind(envelope, &options, &plan);
    status = weiri_envelope_join_group(envelope, options.group);
    if (status != WEIR_OK) {
        weiri_plan_fini(&plan);
        weiri_release(&options.allocator, envelope, size);
        return status;
    }
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
    weiri_envelope_quit_group(envelope);
    if (envelope->recurrence != NULL) {
        weiri_plan_fini(&envelope->recurrence->plan);
    }
    struct weir_allocator memory = envelope->allocator;
    weiri_release(&memory, envelope,
                  block_size(envelope->stamp_count, envelope->recurrence != NULL,
                             envelope->isolation != NULL, envelope->type));
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
