/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

enum weir_status weir_limiter_default_new(const struct weir_limiter_options *options,
                                          weir_limiter **ret_limiter, struct weir_error *ret_error)
{
    const struct weir_allocator *allocator = options != NULL ? &options->allocator : NULL;
    weir_limiter *parts[2] = {NULL, NULL};
    enum weir_status status =
        weir_limiter_exponential_new(WEIR_MS(5), WEIR_SECONDS(1000), options, &parts[0], ret_error);
    if (status == WEIR_OK) {
        status = weir_limiter_bucket_new(10, 100, allocator, &parts[1], ret_error);
    }
    if (status == WEIR_OK) {
        status = weir_limiter_max_of_new(parts, 2, allocator, ret_limiter, ret_error);
    }
    if (status != WEIR_OK) {
        (void)weir_limiter_free(parts[0]);
        (void)weir_limiter_free(parts[1]);
    }
    return status;
}
