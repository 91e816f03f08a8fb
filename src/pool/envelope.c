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

/* Checks all but the schedule, and fills in the allocator. */
static enum weir_status check(const struct weir_envelope_options *options,
                              struct weir_allocator *ret_allocator, struct weir_error *ret_error)
{
    if (weiri_check_given("options", options, ret_error) != WEIR_OK ||
        weiri_allocator_init(ret_allocator, &options->allocator, ret_error) != WEIR_OK ||
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
        status = weiri_isolation_check(options->isolation, ret_error);
    }
    return status == WEIR_OK
               ? weiri_check_number("deadline_ns", options->deadline_ns, 0, INT64_MAX, ret_error)
               : status;
}

/* The sizes of what only some envelopes have. It lies behind the envelope, in the same block. */
struct parts {
    size_t type;
    size_t stamps;
    size_t isolation;
    size_t group;
    size_t member;
    size_t recurrence;
};

static struct parts parts_of(const struct weir_envelope_options *options, bool is_periodic)
{
    bool has_type = options->type != NULL && options->type[0] != '\0';
    return (struct parts){
        .type = has_type ? strlen(options->type) + 1 : 0,
        .stamps = options->stamp_count * sizeof(*options->stamps),
        .isolation = options->isolation != NULL ? sizeof(*options->isolation) : 0,
        .group = options->group.size,
        .member = options->group.size > 0 ? sizeof(struct weiri_member) : 0,
        .recurrence = is_periodic ? sizeof(struct weiri_recurrence) : 0,
    };
}

/* Each part begins where anything may. */
static size_t padded(size_t size)
{
    size_t unit = _Alignof(max_align_t);
    return (size + unit - 1) / unit * unit;
}

static size_t size_of(const struct parts *parts)
{
    return padded(sizeof(weir_envelope)) + padded(parts->type) + padded(parts->stamps) +
           padded(parts->isolation) + padded(parts->group) + padded(parts->member) +
           padded(parts->recurrence);
}

/* Takes the next part of the block; NULL: it is empty. */
static void *take(char **block, size_t size)
{
    char *part = *block;
    *block += padded(size);
    return size > 0 ? part : NULL;
}

static void *take_copy(char **block, const void *source, size_t size)
{
    void *part = take(block, size);
    return part == NULL ? NULL : memcpy(part, source, size);
}

/* Copies the options into the block, which is all zero: the envelope, and behind it all that it
 * points at. */
static weir_envelope *lay_out(char *block, const struct weir_envelope_options *options,
                              const struct parts *parts, const struct weiri_plan *plan)
{
    weir_envelope *envelope = take(&block, sizeof(*envelope));
    envelope->options = *options;
    envelope->options.schedule = NULL; /* it is in the plan */
    envelope->options.type = parts->type > 0 ? take_copy(&block, options->type, parts->type) : "";
    envelope->options.stamps = take_copy(&block, options->stamps, parts->stamps);
    envelope->options.isolation = take_copy(&block, options->isolation, parts->isolation);
    envelope->options.group.data = take_copy(&block, options->group.data, parts->group);
    envelope->member = take(&block, parts->member);
    envelope->recurrence = take(&block, parts->recurrence);
    envelope->failures = options->attempts_before;
    atomic_init(&envelope->owner, NULL);
    atomic_init(&envelope->references, 1);
    weiri_list_init(&envelope->end_link);
    if (envelope->member != NULL) {
        envelope->member->envelope = envelope;
        weiri_list_init(&envelope->member->group_link);
        weiri_list_init(&envelope->member->aside_link);
    }
    if (envelope->recurrence != NULL) {
        envelope->recurrence->plan = *plan;
        weiri_recur_reset(envelope->recurrence);
    }
    return envelope;
}

enum weir_status weir_envelope_new(const struct weir_envelope_options *options,
                                   weir_envelope **ret_envelope, struct weir_error *ret_error)
{
    struct weir_allocator allocator;
    struct weiri_plan plan = {.cron = NULL};
    weiri_error_clear(ret_error);
    enum weir_status status = weiri_check_given("ret_envelope", ret_envelope, ret_error);
    if (status == WEIR_OK) {
        status = check(options, &allocator, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    bool is_periodic = options->schedule != NULL || options->interval_ns != 0;
    if (is_periodic) {
        status = weiri_plan_init(&plan, options->schedule, options->interval_ns,
                                 options->deadline_ns, ret_error);
        if (status != WEIR_OK) {
            return status;
        }
    }
    const struct parts parts = parts_of(options, is_periodic);
    size_t size = size_of(&parts);
    char *block = weiri_alloc_zero(&allocator, 1, size);
    if (block == NULL) {
        weiri_plan_fini(&plan);
        return weiri_explain(ret_error, WEIR_ENOMEM);
    }
    weir_envelope *envelope = lay_out(block, options, &parts, &plan);
    envelope->options.allocator = allocator;
    envelope->size = size;
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
