/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_input.h"

/* Bad options of batches. */

/* Items in several places; of each the options are bad. */
static enum weir_status add_batch(struct world *w, const struct weir_add_options *options)
{
    const struct weir_key keys[] = {key_of(&w->f, IS_IDLE), key_of(&w->f, IS_QUEUED),
                                    key_of(&w->f, IS_WAITING), key_of(&w->f, IS_PROCESSING)};
    CHECK_STATUS(weir_queue_add_batch(w->queue, NULL, 0, options), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_add_batch(w->queue, keys, 1, options), WEIR_EINVAL);
    return weir_queue_add_batch(w->queue, keys, 4, options);
}

ROW(weir_queue_add_batch, options, null, WEIR_OK)
{
    const struct weir_key keys[] = {key_of(&w->f, IS_IDLE), key_of(&w->f, IS_QUEUED)};
    CHECK_STATUS(weir_queue_add_batch(w->queue, keys, 2, NULL), WEIR_OK);
    CHECK_COUNTS(&w->f, 2, 2, 2);
    return WEIR_OK;
}

ROW(weir_queue_add_batch, options, flags, WEIR_EINVAL)
{
    static const uint32_t flags[] = {8, WEIR_ADD_RATE_LIMITED, UINT32_C(1) << 31, UINT32_MAX};
    struct weir_add_options options = {0};
    for (size_t i = 0; i < 4; i++) {
        options.flags = flags[i];
        CHECK_STATUS(add_batch(w, &options), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_queue_add_batch, options, supersede, WEIR_EINVAL)
{
    struct weir_add_options options = {0};
    options.flags = WEIR_ADD_SUPERSEDE;
    options.delay_ns = 1;
    return add_batch(w, &options);
}

ROW(weir_queue_add_batch, options, priority, WEIR_EINVAL)
{
    struct weir_add_options options = {0};
    options.priority = INT32_MIN;
    CHECK_STATUS(add_batch(w, &options), WEIR_EINVAL);
    options.priority = 1;
    return add_batch(w, &options);
}

ROW(weir_queue_add_batch, options, delay_ns, WEIR_OK)
{
    const struct weir_key keys[] = {key_of(&w->f, IS_IDLE), key_of(&w->f, IS_ENDED)};
    struct weir_add_options options = {0};
    options.delay_ns = INT64_MIN;
    CHECK_STATUS(weir_queue_add_batch(w->queue, keys, 1, &options), WEIR_OK);
    options.delay_ns = INT64_MAX;
    CHECK_STATUS(weir_queue_add_batch(w->queue, keys, 2, &options), WEIR_OK);
    CHECK_COUNTS(&w->f, 2, 4, 2);
    return WEIR_OK;
}
