/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

enum weir_status weir_limiter_exponential_new(int64_t base_ns, int64_t max_ns,
                                              const struct weir_limiter_options *options,
                                              weir_limiter **ret_limiter)
{
    if (ret_limiter == NULL) {
        return WEIR_EINVAL;
    }
    if (base_ns < 0 || max_ns < base_ns) {
        return WEIR_ERANGE;
    }
    struct weiri_item_terms terms = {.is_doubling = true, .first_ns = base_ns, .last_ns = max_ns};
    return weiri_item_limiter_new(&terms, options, ret_limiter);
}
