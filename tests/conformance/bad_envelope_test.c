/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_envelopes.h"

/* Bad input to the making of envelopes, but for schedules and isolation, and to what reads them. */

ROW(weir_envelope_new, options, null, WEIR_EINVAL)
{
    return refuse(NULL);
}

ROW(weir_envelope_new, ret_envelope, null, WEIR_EINVAL)
{
    struct weir_envelope_options options = to_spoil(w);
    return spoken(weir_envelope_new(&options, NULL, &said));
}

ROW(weir_envelope_new, options, allocator, WEIR_EINVAL)
{
    struct weir_envelope_options options = to_spoil(w);
    options.allocator.alloc = NULL;
    CHECK_STATUS(refuse(&options), WEIR_EINVAL);
    options = to_spoil(w);
    options.allocator.resize = NULL;
    CHECK_STATUS(refuse(&options), WEIR_EINVAL);
    options = to_spoil(w);
    options.allocator.release = NULL;
    return refuse(&options);
}

ROW(weir_envelope_new, options, id, WEIR_OK)
{
    struct weir_envelope_options options = to_spoil(w);
    options.id = UINT64_MAX;
    weir_envelope *envelope = accept(&options);
    CHECK(weir_envelope_id(envelope) == UINT64_MAX);
    weir_envelope_unref(envelope);
    return WEIR_OK;
}

ROW(weir_envelope_new, options, type, WEIR_OK)
{
    struct weir_envelope_options options = to_spoil(w);
    weir_envelope *envelope = accept(&options);
    CHECK_STRING(weir_envelope_type(envelope), "");
    weir_envelope_unref(envelope);
    options.type = "\xff\n%s"; /* only ever handed on */
    envelope = accept(&options);
    CHECK_STRING(weir_envelope_type(envelope), "\xff\n%s");
    weir_envelope_unref(envelope);
    return WEIR_OK;
}

ROW(weir_envelope_new, options, invoke, WEIR_EINVAL)
{
    struct weir_envelope_options options = to_spoil(w);
    options.invoke = NULL;
    return refuse(&options);
}

ROW(weir_envelope_new, options, stamp_count, WEIR_ERANGE)
{
    struct weir_envelope_options options = to_spoil(w);
    options.stamp_count = 1025;
    CHECK_STATUS(refuse(&options), WEIR_ERANGE);
    options.stamp_count = SIZE_MAX;
    return refuse(&options);
}

ROW(weir_envelope_new, options, stamps, WEIR_EINVAL)
{
    static const struct weir_stamp without = {NULL, NULL};
    struct weir_envelope_options options = to_spoil(w);
    options.stamp_count = 1;
    CHECK_STATUS(refuse(&options), WEIR_EINVAL);
    options.stamps = &without;
    return refuse(&options);
}

ROW(weir_envelope_new, options, deadline_ns, WEIR_ERANGE)
{
    struct weir_envelope_options options = to_spoil(w);
    options.deadline_ns = -1;
    CHECK_STATUS(refuse(&options), WEIR_ERANGE);
    options.deadline_ns = INT64_MIN;
    return refuse(&options);
}

ROW(weir_envelope_new, options, late_deadline, WEIR_EINTERVAL)
{
    struct weir_envelope_options options = to_spoil(w);
    options.interval_ns = INT64_MAX - 1;
    options.deadline_ns = INT64_MAX;
    CHECK_STATUS(refuse(&options), WEIR_EINTERVAL);
    options.interval_ns = 1;
    options.deadline_ns = 2;
    return refuse(&options);
}

ROW(weir_envelope_new, options, interval_ns, WEIR_ERANGE)
{
    struct weir_envelope_options options = to_spoil(w);
    options.interval_ns = -1;
    CHECK_STATUS(refuse(&options), WEIR_ERANGE);
    options.interval_ns = INT64_MIN;
    return refuse(&options);
}

/* No number of failures is too many for an envelope to be made with. */
ROW(weir_envelope_new, options, retry_attempts, WEIR_OK)
{
    struct weir_envelope_options options = to_spoil(w);
    options.retry.attempts = UINT32_MAX;
    weir_envelope_unref(accept(&options));
    return WEIR_OK;
}

ROW(weir_envelope_new, options, attempts_before, WEIR_OK)
{
    struct weir_envelope_options options = to_spoil(w);
    options.attempts_before = UINT32_MAX;
    weir_envelope_unref(accept(&options));
    return WEIR_OK;
}

/* Nothing asks for the retries that these are for. */
ROW(weir_envelope_new, options, unasked_retry, WEIR_EINVAL)
{
    static const struct weir_retry unasked[] = {{.jitter = 1},
                                                {.jitter = WEIR_JITTER_NONE},
                                                {.base_ns = 1},
                                                {.max_ns = 1},
                                                {.base_ns = -1}};
    for (size_t i = 0; i < sizeof(unasked) / sizeof(unasked[0]); i++) {
        struct weir_envelope_options options = to_spoil(w);
        options.failure = NULL;
        options.retry = unasked[i];
        CHECK_STATUS(refuse(&options), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_envelope_new, options, retry_jitter, WEIR_ERANGE)
{
    struct weir_envelope_options options = to_spoil(w);
    options.retry.attempts = 2;
    options.retry.jitter = 1001;
    CHECK_STATUS(refuse(&options), WEIR_ERANGE);
    options.retry.jitter = WEIR_JITTER_NONE - 1;
    return refuse(&options);
}

ROW(weir_envelope_new, options, retry_base_ns, WEIR_ERANGE)
{
    struct weir_envelope_options options = to_spoil(w);
    options.retry.attempts = 2;
    options.retry.base_ns = -1;
    CHECK_STATUS(refuse(&options), WEIR_ERANGE);
    options.retry.base_ns = INT64_MIN;
    return refuse(&options);
}

ROW(weir_envelope_new, options, retry_max_ns, WEIR_ERANGE)
{
    struct weir_envelope_options options = to_spoil(w);
    options.retry.attempts = 2;
    options.retry.max_ns = -1;
    CHECK_STATUS(refuse(&options), WEIR_ERANGE);
    options.retry.base_ns = 2;
    options.retry.max_ns = 1;
    return refuse(&options);
}

ROW(weir_envelope_new, options, flags, WEIR_EINVAL)
{
    struct weir_envelope_options options = to_spoil(w);
    options.flags = UINT32_MAX;
    CHECK_STATUS(refuse(&options), WEIR_EINVAL);
    options.flags = 2;
    return refuse(&options);
}

ROW(weir_envelope_new, options, group, WEIR_EINVAL)
{
    struct weir_envelope_options options = to_spoil(w);
    options.group = weir_key_bytes(NULL, 1);
    CHECK_STATUS(refuse(&options), WEIR_EINVAL);
    options.group = weir_key_bytes(NULL, 65537);
    CHECK_STATUS(refuse(&options), WEIR_EINVAL);
    struct weir_item item = {0};
    options.group = weir_key_item(&item);
    return refuse(&options);
}

ROW(weir_envelope_new, options, large_group, WEIR_ETOOBIG)
{
    static const char large[65537];
    struct weir_envelope_options options = to_spoil(w);
    options.group = weir_key_bytes(large, sizeof(large));
    CHECK_STATUS(refuse(&options), WEIR_ETOOBIG);
    options.group = weir_key_bytes(large, SIZE_MAX);
    return refuse(&options);
}

ROW(weir_envelope_new, ret_error, null, WEIR_OK)
{
    struct weir_envelope_options options = to_spoil(w);
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(NULL, &envelope, NULL), WEIR_EINVAL);
    options.release = NULL;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    weir_envelope_unref(envelope);
    return WEIR_OK;
}

ROW(weir_envelope_new, memory, none, WEIR_ENOMEM)
{
    struct weir_envelope_options options = to_spoil(w);
    options.group = weir_key_string("group");
    test_fail_allocation(1, true);
    return refuse(&options);
}

/* ---- What reads them ---- */

ROW(weir_envelope_ref, envelope, null, WEIR_OK)
{
    CHECK(weir_envelope_ref(NULL) == NULL);
    return WEIR_OK;
}

ROW(weir_envelope_unref, envelope, null, WEIR_OK)
{
    weir_envelope_unref(NULL);
    return WEIR_OK;
}

ROW(weir_envelope_id, envelope, null, WEIR_OK)
{
    CHECK(weir_envelope_id(NULL) == 0);
    return WEIR_OK;
}

ROW(weir_envelope_type, envelope, null, WEIR_OK)
{
    CHECK_STRING(weir_envelope_type(NULL), "");
    return WEIR_OK;
}

ROW(weir_envelope_payload, envelope, null, WEIR_OK)
{
    CHECK(weir_envelope_payload(NULL) == NULL);
    return WEIR_OK;
}
