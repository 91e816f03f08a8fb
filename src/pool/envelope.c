/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/envelope.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "base/retry.h"
#include "base/sync.h"
#include "isolate/isolate.h"

#define GROUP_SIZE_MAX 65536
#define FLAGS_KNOWN ((uint32_t)WEIR_ENVELOPE_AFTER_ALWAYS)

/* Options that were checked, and what an envelope has because of them. */
struct draft {
    struct weir_envelope_options options;
    struct weir_isolation isolation;
    struct weiri_recurrence recurrence;
};

static enum weir_status check_group(struct weir_key group, struct weir_error *ret_error)
{
    if (group.size > 0 && (group.data == NULL || group.size == WEIR_KEY_ITEM)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "group is %s: expected the bytes of its name",
                          group.data == NULL ? "NULL" : "an item");
    }
    return group.size <= GROUP_SIZE_MAX
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_ETOOBIG, "group has %zu bytes: expected at most %d",
                            group.size, GROUP_SIZE_MAX);
}

static enum weir_status check_retry(const struct weir_envelope_options *options,
                                    struct weir_error *ret_error)
{
    const struct weir_retry *retry = &options->retry;
    bool has_delays = retry->jitter != 0 || retry->base_ns != 0 || retry->max_ns != 0;
    if (has_delays && retry->attempts == 0 && options->failure == NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "retry has delays (jitter %" PRIu32 ", base_ns %" PRId64
                          ", max_ns %" PRId64 ") beside attempts 0 and no failure hook: expected "
                          "one of these, or no delays",
                          retry->jitter, retry->base_ns, retry->max_ns);
    }
    return weiri_retry_check(retry, ret_error);
}

/* The plan comes last: on WEIR_OK it holds a reference. */
static enum weir_status check(struct draft *draft, const struct weir_envelope_options *given,
                              struct weir_error *ret_error)
{
    struct weir_envelope_options *options = &draft->options;
    if (weiri_check_given("options", given, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    *options = *given;
    if (weiri_allocator_init(&options->allocator, &given->allocator, ret_error) != WEIR_OK ||
        weiri_check_flags(options->flags, FLAGS_KNOWN, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (options->invoke == NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL, "invoke is NULL: expected a function");
    }
    enum weir_status status = weiri_stamps_check(options->stamps, options->stamp_count, ret_error);
    if (status == WEIR_OK) {
        status = check_group(options->group, ret_error);
    }
    if (status == WEIR_OK) {
        status = check_retry(options, ret_error);
    }
    if (status == WEIR_OK && options->isolation != NULL) {
        status = weiri_isolation_copy(&draft->isolation, options->isolation, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    draft->recurrence = (struct weiri_recurrence){.is_begun = false};
    weiri_recur_reset(&draft->recurrence);
    return weiri_plan_init(&draft->recurrence.plan, options->schedule, options->interval_ns,
                           options->deadline_ns, options->id, ret_error);
}

/* A block of memory, whose parts are taken one after the other. */
struct block {
    char *memory; /* NULL: the parts are only counted */
    size_t size;
};

/* Takes the next part, for a copy of the source; NULL: it is empty, or only counted. */
static void *take_copy(struct block *block, const void *source, size_t size)
{
    size_t unit = _Alignof(max_align_t);
    size_t at = (block->size + unit - 1) / unit * unit;
    block->size = at + size;
    return block->memory == NULL || size == 0 ? NULL : memcpy(block->memory + at, source, size);
}

/* Copies a draft into the block: the envelope, and behind it all that it points at. NULL: the parts
 * are only counted. */
static weir_envelope *lay_out(struct block *block, const struct draft *draft)
{
    struct weir_envelope_options options = draft->options;
    const struct weiri_recurrence *recurrence = &draft->recurrence;
    const struct weiri_member member = {.has_slot = false};
    bool has_type = options.type != NULL && options.type[0] != '\0';
    block->size = sizeof(weir_envelope);
    options.schedule = NULL; /* it is in the plan */
    options.type = take_copy(block, options.type, has_type ? strlen(options.type) + 1 : 0);
    options.stamps =
        take_copy(block, options.stamps, options.stamp_count * sizeof(*options.stamps));
    options.isolation = take_copy(block, &draft->isolation,
                                  options.isolation != NULL ? sizeof(draft->isolation) : 0);
    options.group.data = take_copy(block, options.group.data, options.group.size);
    struct weiri_member *own_member =
        take_copy(block, &member, options.group.size > 0 ? sizeof(member) : 0);
    struct weiri_recurrence *own_recurrence = take_copy(
        block, recurrence, weiri_plan_is_periodic(&recurrence->plan) ? sizeof(*recurrence) : 0);
    if (block->memory == NULL) {
        return NULL;
    }
    weir_envelope *envelope = (void *)block->memory;
    envelope->options = options;
    envelope->options.type = has_type ? options.type : "";
    envelope->size = block->size;
    envelope->recurrence = own_recurrence;
    envelope->member = own_member;
    atomic_init(&envelope->owner, NULL);
    atomic_init(&envelope->references, 1);
    weiri_list_init(&envelope->end_link);
    if (own_member != NULL) {
        own_member->envelope = envelope;
        weiri_list_init(&own_member->group_link);
        weiri_list_init(&own_member->aside_link);
    }
    return envelope;
}

enum weir_status weir_envelope_new(const struct weir_envelope_options *given,
                                   weir_envelope **ret_envelope, struct weir_error *ret_error)
{
    struct draft draft;
    weiri_error_clear(ret_error);
    enum weir_status status = weiri_check_given("ret_envelope", ret_envelope, ret_error);
    if (status == WEIR_OK) {
        status = check(&draft, given, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    struct block block = {.memory = NULL};
    (void)lay_out(&block, &draft);
    block.memory = weiri_alloc_zero(&draft.options.allocator, 1, block.size);
    if (block.memory == NULL) {
        weiri_plan_fini(&draft.recurrence.plan);
        return weiri_explain(ret_error, WEIR_ENOMEM);
    }
    *ret_envelope = lay_out(&block, &draft);
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
    /* Acquire: the work of the other holders happens before that of the last one. */
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
    if (envelope->options.release != NULL) {
        envelope->options.release(envelope->options.payload);
    }
    if (weiri_envelope_is_periodic(envelope)) {
        weiri_plan_fini(&envelope->recurrence->plan);
    }
    struct weir_allocator allocator = envelope->options.allocator;
    weiri_release(&allocator, envelope, envelope->size);
}

uint64_t weir_envelope_id(const weir_envelope *envelope)
{
    return envelope == NULL ? 0 : envelope->options.id;
}

const char *weir_envelope_type(const weir_envelope *envelope)
{
    return envelope == NULL ? "" : envelope->options.type;
}

void *weir_envelope_payload(const weir_envelope *envelope)
{
    return envelope == NULL ? NULL : envelope->options.payload;
}

const struct weir_stamp *weir_envelope_stamps(const weir_envelope *envelope, size_t *ret_count)
{
    size_t count = envelope == NULL ? 0 : envelope->options.stamp_count;
    if (ret_count != NULL) {
        *ret_count = count;
    }
    return count == 0 ? NULL : envelope->options.stamps;
}
