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
#include "pool/stamps.h"

_Static_assert(offsetof(struct weir_envelope_options, isolation) + sizeof(void *) ==
                   sizeof(struct weir_envelope_options),
               "no padding at the end of an options struct");

#define GROUP_SIZE_MAX 65536
#define FLAGS_KNOWN ((uint32_t)WEIR_ENVELOPE_AFTER_ALWAYS)

/* Options that were checked, and what they amount to. */
struct checked {
    struct weir_envelope_options options;
    struct weir_allocator allocator;
    struct weir_isolation isolation;
    struct weiri_plan plan;
};

static enum weir_status check_group(struct weir_key group)
{
    if (group.size > 0 && (group.data == NULL || group.size == WEIR_KEY_ITEM)) {
        return WEIR_EINVAL;
    }
    return group.size > GROUP_SIZE_MAX ? WEIR_ETOOBIG : WEIR_OK;
}

/* The plan comes last: on WEIR_OK it holds a reference. */
static enum weir_status check(struct checked *checked, const struct weir_envelope_options *given)
{
    struct weir_envelope_options *options = &checked->options;
    if (given == NULL || weiri_options_copy(options, sizeof(*options), given) != WEIR_OK ||
        weiri_allocator_init(&checked->allocator, &options->allocator) != WEIR_OK ||
        options->invoke == NULL || (options->flags & ~FLAGS_KNOWN) != 0) {
        return WEIR_EINVAL;
    }
    enum weir_status status = weiri_stamps_check(options->stamps, options->stamp_count);
    if (status == WEIR_OK) {
        status = check_group(options->group);
    }
    if (status == WEIR_OK && options->isolation != NULL) {
        status = weiri_isolation_copy(&checked->isolation, options->isolation);
    }
    return status != WEIR_OK
               ? status
               : weiri_plan_init(&checked->plan, options->schedule, options->interval_ns,
                                 options->deadline_ns, options->id);
}

/* A part of a block, at *offset, which moves behind it. Without a block it only counts. */
static void *take_part(char *block, size_t *offset, size_t size)
{
    size_t at = *offset;
    size_t unit = _Alignof(max_align_t);
    *offset += (size + unit - 1) / unit * unit;
    return block == NULL || size == 0 ? NULL : block + at;
}

/* The parts of an envelope's block. Each is NULL if the envelope does not have it. */
struct parts {
    weir_envelope *envelope;
    struct weiri_recurrence *recurrence;
    struct weir_stamp *stamps;
    struct weiri_member *member; /* and the name of the group */
    struct weir_isolation *isolation;
    struct weir_allocator *allocator;
    char *type;
    size_t size; /* of the block */
};

static struct parts lay_out(char *block, const struct checked *checked)
{
    const struct weir_envelope_options *options = &checked->options;
    struct parts parts = {.size = 0};
    size_t name = options->group.size;
    parts.envelope = take_part(block, &parts.size, sizeof(*parts.envelope));
    parts.recurrence = take_part(
        block, &parts.size, weiri_plan_is_periodic(&checked->plan) ? sizeof(*parts.recurrence) : 0);
    parts.stamps = take_part(block, &parts.size, options->stamp_count * sizeof(*parts.stamps));
    parts.member = take_part(block, &parts.size, name > 0 ? sizeof(*parts.member) + name : 0);
    parts.isolation =
        take_part(block, &parts.size, options->isolation != NULL ? sizeof(*parts.isolation) : 0);
    parts.allocator = take_part(block, &parts.size,
                                options->allocator.alloc != NULL ? sizeof(*parts.allocator) : 0);
    bool has_type = options->type != NULL && options->type[0] != '\0';
    parts.type = take_part(block, &parts.size, has_type ? strlen(options->type) + 1 : 0);
    return parts;
}

static void fill_parts(const struct parts *parts, const struct checked *checked)
{
    const struct weir_envelope_options *options = &checked->options;
    weir_envelope *envelope = parts->envelope;
    if (parts->recurrence != NULL) {
        parts->recurrence->plan = checked->plan;
        weiri_recur_reset(parts->recurrence);
    }
    for (size_t i = 0; i < options->stamp_count; i++) {
        parts->stamps[i] = options->stamps[i];
    }
    if (parts->member != NULL) {
        size_t size = options->group.size;
        void *name = memcpy(parts->member + 1, options->group.data, size);
        *parts->member =
            (struct weiri_member){.envelope = envelope, .key = weir_key_bytes(name, size)};
        weiri_list_init(&parts->member->group_link);
        weiri_list_init(&parts->member->aside_link);
    }
    if (parts->isolation != NULL) {
        *parts->isolation = checked->isolation;
    }
    if (parts->allocator != NULL) {
        *parts->allocator = checked->allocator;
    }
    envelope->recurrence = parts->recurrence;
    envelope->stamps = parts->stamps;
    envelope->stamp_count = options->stamp_count;
    envelope->member = parts->member;
    envelope->isolation = parts->isolation;
    envelope->allocator = parts->allocator;
    envelope->type = parts->type != NULL ? strcpy(parts->type, options->type) : "";
    envelope->size = parts->size;
}

enum weir_status weir_envelope_new(const struct weir_envelope_options *given,
                                   weir_envelope **ret_envelope)
{
    struct checked checked;
    enum weir_status status = ret_envelope == NULL ? WEIR_EINVAL : check(&checked, given);
    if (status != WEIR_OK) {
        return status;
    }
    struct parts parts = lay_out(NULL, &checked);
    char *block = weiri_alloc_zero(&checked.allocator, 1, parts.size);
    if (block == NULL) {
        weiri_plan_fini(&checked.plan);
        return WEIR_ENOMEM;
    }
    parts = lay_out(block, &checked);
    fill_parts(&parts, &checked);
    weir_envelope *envelope = parts.envelope;
    const struct weir_envelope_options *options = &checked.options;
    atomic_init(&envelope->owner, NULL);
    atomic_init(&envelope->references, 1);
    weiri_list_init(&envelope->end_link);
    envelope->attempts_max = options->attempts_max;
    envelope->flags = options->flags;
    envelope->invoke = options->invoke;
    envelope->payload = options->payload;
    envelope->release = options->release;
    envelope->id = options->id;
    envelope->deadline_ns = options->deadline_ns;
    envelope->hooks = (struct weiri_hooks){options->before, options->after, options->success,
                                           options->failure, options->outcome};
    *ret_envelope = envelope;
    return WEIR_OK;
}

weir_envelope *weir_envelope_ref(weir_envelope *envelope)
{
    if (envelope != NULL) {
        /* Relaxed: the caller has a reference, so nothing is learnt from the count. */
        weiri_sync_point();
        unsigned before = atomic_fetch_add_explicit(&envelope->references, 1, memory_order_relaxed);
        WEIRI_ASSERT(before > 0 && before < UINT_MAX / 2);
    }
    return envelope;
}

bool weiri_envelope_unref_unless_last(weir_envelope *envelope)
{
    weiri_sync_point();
    /* Acquire: what the other holders did happens before what the last one does with it. */
    unsigned count = atomic_load_explicit(&envelope->references, memory_order_acquire);
    while (count > 1) {
        /* Release: the work of this holder happens before the last one frees the envelope. */
        if (atomic_compare_exchange_weak_explicit(&envelope->references, &count, count - 1,
                                                  memory_order_release, memory_order_acquire)) {
            return true;
        }
        weiri_sync_point();
    }
    return false;
}

void weir_envelope_unref(weir_envelope *envelope)
{
    if (envelope == NULL) {
        return;
    }
    /* Release: the work of this holder happens before the last one frees the envelope. Acquire: so
     * does the work of all others. */
    weiri_sync_point();
    unsigned before = atomic_fetch_sub_explicit(&envelope->references, 1, memory_order_acq_rel);
    WEIRI_ASSERT(before > 0);
    if (before > 1) {
        return;
    }
    WEIRI_ASSERT(weiri_item_is_free(&envelope->item));
    if (envelope->release != NULL) {
        envelope->release(envelope->payload);
    }
    if (weiri_envelope_is_periodic(envelope)) {
        weiri_plan_fini(&envelope->recurrence->plan);
    }
    struct weir_allocator allocator;
    enum weir_status status = weiri_allocator_init(&allocator, envelope->allocator);
    WEIRI_ASSERT(status == WEIR_OK);
    weiri_release(&allocator, envelope, envelope->size);
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

const struct weir_stamp *weir_envelope_stamps(const weir_envelope *envelope, size_t *ret_count)
{
    size_t count = envelope == NULL ? 0 : envelope->stamp_count;
    if (ret_count != NULL) {
        *ret_count = count;
    }
    return count == 0 ? NULL : envelope->stamps;
}
