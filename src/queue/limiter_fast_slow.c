/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

enum weir_status weir_limiter_fast_slow_new(int64_t fast_ns, int64_t slow_ns, uint64_t fast_count,
                                            const struct weir_limiter_options *options,
                                            weir_limiter **ret_limiter)
{
    if (ret_limiter == NULL) {
        return WEIR_EINVAL;
    }
    if (fast_ns < 0 || slow_ns < 0) {
        return WEIR_ERANGE;
    }
    struct weiri_item_terms terms = {
        .first_ns = fast_ns, .last_ns = slow_ns, .first_count = fast_count};
    return weiri_item_limiter_new(&terms, options, ret_limiter);
}
