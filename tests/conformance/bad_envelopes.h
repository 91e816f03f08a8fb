/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_BAD_ENVELOPES_H
#define WEIR_TEST_CONFORMANCE_BAD_ENVELOPES_H

#include "conformance/bad_pool.h"

/* Envelopes that are to be refused, and the few that are not. */

static inline void must_not_release(void *payload)
{
    (void)payload;
    test_fail(__FILE__, __LINE__, "the payload of an envelope that was not made is released");
}

/* What makes an envelope, until a row spoils it. */
static inline struct weir_envelope_options to_spoil(struct world *w)
{
    struct weir_envelope_options options = good_envelope(&w->tasks[IS_IDLE]);
    options.release = must_not_release;
    return options;
}

/* None is made. */
static inline enum weir_status refuse(const struct weir_envelope_options *options)
{
    weir_envelope *untouched = (weir_envelope *)&rows;
    weir_envelope *envelope = untouched;
    size_t bytes = test_allocated_bytes();
    enum weir_status status = spoken(weir_envelope_new(options, &envelope, &said));
    CHECK(envelope == untouched);
    CHECK_INT(test_allocated_bytes(), ==, bytes);
    return status;
}

/* One is made, whose payload is not to be released. */
static inline weir_envelope *accept(struct weir_envelope_options *options)
{
    options->release = NULL;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(options, &envelope, &said), WEIR_OK);
    return envelope;
}

#endif
