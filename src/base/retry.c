/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/retry.h"

#include <inttypes.h>

#include <weir/duration.h>

#include "base/error.h"
#include "base/time.h"

#define JITTER_DEFAULT 100
#define JITTER_MAX 1000
#define MAX_DEFAULT WEIR_SECONDS(1000)

enum weir_status weiri_retry_check(const struct weir_retry *retry, struct weir_error *ret_error)
{
    if (retry->jitter > JITTER_MAX && retry->jitter != WEIR_JITTER_NONE) {
        return weiri_fail(ret_error, WEIR_ERANGE,
                          "retry.jitter is %" PRIu32 ": expected 0 to %d, or WEIR_JITTER_NONE",
                          retry->jitter, JITTER_MAX);
    }
    int64_t least_ns = retry->max_ns == 0 ? 0 : retry->base_ns;
    enum weir_status status =
        weiri_check_number("retry.base_ns", retry->base_ns, 0, INT64_MAX, ret_error);
    return status == WEIR_OK
               ? weiri_check_number("retry.max_ns", retry->max_ns, least_ns, INT64_MAX, ret_error)
               : status;
}

int64_t weiri_retry_delay(const struct weir_retry *retry, int64_t default_ns, uint32_t attempt,
                          uint64_t random)
{
    int64_t max_ns = retry->max_ns;
    if (max_ns == 0) {
        max_ns = retry->base_ns > MAX_DEFAULT ? retry->base_ns : MAX_DEFAULT;
    }
    int64_t base_ns = retry->base_ns != 0 ? retry->base_ns : weiri_time_earlier(default_ns, max_ns);
    uint32_t jitter = retry->jitter == 0 ? JITTER_DEFAULT : retry->jitter;
    int64_t delay_ns = weiri_time_shift(base_ns, attempt > 0 ? attempt - 1 : 0, max_ns);
    return jitter == WEIR_JITTER_NONE
               ? delay_ns
               : weiri_time_lengthen(delay_ns, jitter / (double)JITTER_MAX, random);
}
