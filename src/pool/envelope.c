/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/envelope.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/panic.h"
#include "base/sync.h"
#include "isolate/isolate.h"
#include "pool/group.h"
#include "pool/stamps.h"

_Static_assert(offsetof(struct weir_envelope_options, isolation) + sizeof(void *) ==
                   sizeof(struct weir_envelope_options),
               "no padding at the end of an options struct");

/* Each part may lie right behind the one before it, and a user's allocator aligns the block. */
#define ALIGNMENT _Alignof(void *)
#define FITS(type) (_Alignof(type) <= ALIGNMENT && sizeof(type) % ALIGNMENT == 0)
_Static_assert(FITS(struct weir_envelope) && FITS(struct weiri_recurrence) &&
                   FITS(struct weiri_hooks) && FITS(struct weir_stamp) &&
                   FITS(struct weiri_member *) && FITS(struct weir_isolation) &&
                   FITS(struct weir_allocator),
               "the parts of an envelope lie in a row");

const struct weiri_hooks weiri_no_hooks;

#define FLAGS_KNOWN ((uint32_t)WEIR_ENVELOPE_AFTER_ALWAYS)

static enum weir_status normalize(const struct weir_envelope_options *given,
                                  struct weir_envelope_options *options, struct weiri_plan *plan)
{
    if (given == NULL || weiri_options_copy(options, sizeof(*options), given) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct weir_allocator memory;
    if (weiri_allocator_init(&memory, &options->allocator) != WEIR_OK || options->invoke == NULL ||
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

/* Whether the options name functions of struct weiri_hooks. */
static bool has_hooks(const struct weir_envelope_options *options)
{
    return options->before != NULL || options->after != NULL || options->success != NULL ||
           options->failure != NULL || options->outcome != NULL;
}

static unsigned parts_of(const struct weir_envelope_options *options, const struct weiri_plan *plan)
{
    return (weiri_plan_is_periodic(plan) ? WEIRI_PART_RECURRENCE : 0u) |
           (has_hooks(options) ? WEIRI_PART_HOOKS : 0u) |
           (options->stamp_count > 0 ? WEIRI_PART_STAMPS : 0u) |
           (options->group.size > 0 ? WEIRI_PART_GROUP : 0u) |
           (options->isolation != NULL ? WEIRI_PART_ISOLATION : 0u) |
           (options->allocator.alloc != NULL ? WEIRI_PART_ALLOCATOR : 0u) |
           (options->type[0] != '\0' ? WEIRI_PART_TYPE : 0u);
}

static size_t block_size(unsigned parts, size_t stamp_count, const char *type)
{
    size_t size = weiri_part_at(parts, stamp_count, WEIRI_PART_TYPE);
    return (parts & WEIRI_PART_TYPE) != 0 ? size + strlen(type) + 1 : size;
}

/* Fills in the parts that the envelope has, but for its group. */
static void fill_parts(weir_envelope *envelope, const struct weir_envelope_options *options,
                       const struct weiri_plan *plan)
{
    if (weiri_envelope_is_periodic(envelope)) {
        weiri_envelope_recurrence(envelope)->plan = *plan;
        atomic_init(&weiri_envelope_recurrence(envelope)->asked_ns, WEIR_FOREVER);
    }
    if (weiri_envelope_has(envelope, WEIRI_PART_HOOKS)) {
        struct weiri_hooks *hooks = weiri_envelope_part(envelope, WEIRI_PART_HOOKS);
        *hooks = (struct weiri_hooks){options->before, options->after, options->success,
                                      options->failure, options->outcome};
    }
    struct weir_stamp *stamps = weiri_envelope_part(envelope, WEIRI_PART_STAMPS);
    for (size_t i = 0; i < options->stamp_count; i++) {
        stamps[i] = options->stamps[i];
    }
    if (weiri_envelope_has(envelope, WEIRI_PART_ISOLATION)) {
        struct weir_isolation *isolation = weiri_envelope_part(envelope, WEIRI_PART_ISOLATION);
        *isolation = *options->isolation;
    }
    if (weiri_envelope_has(envelope, WEIRI_PART_ALLOCATOR)) {
        struct weir_allocator *allocator = weiri_envelope_part(envelope, WEIRI_PART_ALLOCATOR);
        *allocator = options->allocator;
    }
    if (weiri_envelope_has(envelope, WEIRI_PART_TYPE)) {
        void *type = weiri_envelope_part(envelope, WEIRI_PART_TYPE);
        memcpy(type, options->type, strlen(options->type) + 1);
        envelope->type_at = (uint16_t)((char *)type - (char *)envelope);
    }
}

/* A zeroed block becomes the envelope. */
static void fill(weir_envelope *envelope, const struct weir_envelope_options *options,
                 const struct weiri_plan *plan, unsigned parts)
{
    weir_item_init(&envelope->item);
    atomic_init(&envelope->references, 1);
    atomic_init(&envelope->flight, 0);
    atomic_init(&envelope->attempts, 0);
    atomic_init(&envelope->is_limited, false);
    atomic_init(&envelope->is_begun, false);
    atomic_init(&envelope->asks, 0);
    atomic_init(&envelope->cancelled_run, UINT64_MAX); /* no ticket: they start below 2^62 */
    envelope->invoke = options->invoke;
    envelope->payload = options->payload;
    envelope->release = options->release;
    envelope->id = options->id;
    envelope->deadline_ns = options->deadline_ns;
    envelope->attempts_max = options->attempts_max;
    envelope->stamp_count = (uint16_t)options->stamp_count;
    envelope->parts = (uint8_t)parts;
    envelope->flags = (uint8_t)options->flags;
    fill_parts(envelope, options, plan);
}

/* Makes the envelope of options that are in order. On failure the plan is the caller's. */
static enum weir_status make(const struct weir_envelope_options *options,
                             const struct weiri_plan *plan, weir_envelope **ret_envelope)
{
    struct weir_allocator memory;
    enum weir_status status = weiri_allocator_init(&memory, &options->allocator);
    WEIRI_ASSERT(status == WEIR_OK);
    unsigned parts = parts_of(options, plan);
    size_t size = block_size(parts, options->stamp_count, options->type);
    weir_envelope *envelope = weiri_alloc_zero(&memory, 1, size);
    if (envelope == NULL) {
        return WEIR_ENOMEM;
    }
    fill(envelope, options, plan, parts);
    if (weiri_envelope_has(envelope, WEIRI_PART_GROUP)) {
        struct weiri_member **member = weiri_envelope_part(envelope, WEIRI_PART_GROUP);
        status = weiri_member_new(&memory, options->group, member);
        if (status != WEIR_OK) {
            weiri_release(&memory, envelope, size);
            return status;
        }
        (*member)->item = &envelope->item;
    }
    *ret_envelope = envelope;
    return WEIR_OK;
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
    if (status == WEIR_OK) {
        status = make(&options, &plan, ret_envelope);
    }
    if (status != WEIR_OK) {
        weiri_plan_fini(&plan);
    }
    return status;
}

weir_envelope *weir_envelope_ref(weir_envelope *envelope)
{
    if (envelope != NULL) {
        /* Relaxed: whoever takes a reference has one, so nothing is learnt from the count. */
        weiri_sync_point();
        unsigned before = atomic_fetch_add_explicit(&envelope->references, 1, memory_order_relaxed);
        WEIRI_ASSERT(before > 0 && before < UINT_MAX / 2);
    }
    return envelope;
}

/* Where it has its memory from. */
static struct weir_allocator memory_of(weir_envelope *envelope)
{
    if (weiri_envelope_has(envelope, WEIRI_PART_ALLOCATOR)) {
        struct weir_allocator *own = weiri_envelope_part(envelope, WEIRI_PART_ALLOCATOR);
        return *own;
    }
    struct weir_allocator memory;
    enum weir_status status = weiri_allocator_init(&memory, NULL);
    WEIRI_ASSERT(status == WEIR_OK);
    return memory;
}

void weir_envelope_unref(weir_envelope *envelope)
{
    if (envelope == NULL) {
        return;
    }
    /* Release: what this holder did happens before the freeing. Acquire: what all others did. */
    weiri_sync_point();
    unsigned before = atomic_fetch_sub_explicit(&envelope->references, 1, memory_order_acq_rel);
    WEIRI_ASSERT(before > 0);
    if (before > 1) {
        return;
    }
    WEIRI_ASSERT(atomic_load_explicit(&envelope->flight, memory_order_relaxed) == 0);
    if (envelope->release != NULL) {
        envelope->release(envelope->payload);
    }
    struct weir_allocator memory = memory_of(envelope);
    weiri_member_free(&memory, weiri_envelope_member(envelope));
    if (weiri_envelope_is_periodic(envelope)) {
        weiri_plan_fini(&weiri_envelope_recurrence(envelope)->plan);
    }
    weiri_release(
        &memory, envelope,
        block_size(envelope->parts, envelope->stamp_count, weiri_envelope_type(envelope)));
}

uint64_t weir_envelope_id(const weir_envelope *envelope)
{
    return envelope == NULL ? 0 : envelope->id;
}

const char *weir_envelope_type(const weir_envelope *envelope)
{
    return envelope == NULL ? "" : weiri_envelope_type(envelope);
}

void *weir_envelope_payload(const weir_envelope *envelope)
{
    return envelope == NULL ? NULL : envelope->payload;
}
