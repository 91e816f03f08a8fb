/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/when.h"

#include <inttypes.h>

#include "base/error.h"

enum weir_status weiri_put_set_time(struct weiri_put *put, const struct weir_put_options *options,
                                    int64_t now_ns, struct weir_error *ret_error)
{
    int64_t run_at_ns = options->run_at_ns;
    int64_t delay_ns = options->delay_ns;
    if (run_at_ns < 0 || delay_ns < 0) {
        return weiri_check_number(run_at_ns < 0 ? "run_at_ns" : "delay_ns",
                                  run_at_ns < 0 ? run_at_ns : delay_ns, 0, INT64_MAX, ret_error);
    }
    if (run_at_ns > 0 && delay_ns > 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "run_at_ns and delay_ns are both set: expected one of them");
    }
    if (delay_ns > INT64_MAX - now_ns) {
        return weiri_fail(ret_error, WEIR_ERANGE,
                          "delay_ns is %" PRId64 ": it ends after the year 2262", delay_ns);
    }
    bool is_past = run_at_ns > 0 && run_at_ns < now_ns;
    if (is_past && (options->flags & WEIR_PUT_PAST_OK) == 0) {
        return weiri_fail(ret_error, WEIR_EPAST,
                          "run_at_ns is %" PRId64 ", %" PRId64 " ms in the past", run_at_ns,
                          weiri_time_sub(now_ns, run_at_ns) / WEIR_MS(1));
    }
    put->run_at_ns = is_past ? 0 : run_at_ns;
    put->delay_ns = delay_ns;
    return WEIR_OK;
}
