/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_WHEN_H
#define WEIRI_CORE_WHEN_H

#include "base/time.h"
#include "jobs/core/backend.h"

/* When a job runs. A delay travels as a duration, with the reading of the clock of leases at which
 * it was said (since_ns). A backend makes a time of it by its now(), once a request: it counts from
 * then, however long the request waits, and by one clock. A time that was asked for stays. */

/* When something was said, on the clock of now_ns. */
static inline int64_t weiri_said_ns(int64_t since_ns, int64_t now_ns, int64_t lease_now_ns)
{
    return weiri_time_sub(now_ns, weiri_time_since(since_ns, lease_now_ns));
}

/* No time was asked for. */
static inline bool weiri_is_at_once(const struct weiri_put *put)
{
    return put->run_at_ns == 0 && put->delay_ns == 0;
}

static inline int64_t weiri_put_when(const struct weiri_put *put, int64_t said_ns)
{
    return put->run_at_ns != 0 ? put->run_at_ns : weiri_time_add(said_ns, put->delay_ns);
}

/* Checks the time that is asked for, by the backend's now when it is said, and copies it. */
enum weir_status weiri_put_set_time(struct weiri_put *put, const struct weir_put_options *options,
                                    int64_t now_ns, struct weir_error *ret_error);

#endif
