/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_SETTLE_H
#define WEIRI_BEANSTALKD_SETTLE_H

#include "jobs/beanstalkd/subscription.h"

/* What the two halves of a copy's life share: copy.c and settle.c. */

/* For how long a copy goes back to its node because Redis is away. */
#define WEIRI_AWAY_SECONDS 2

/* Sends a request on the connection that the copy was reserved on; done as not sent where that is
 * gone. */
void weiri_copy_send(struct weiri_copy *copy, const struct weiri_request *request,
                     void (*done)(struct weiri_command *, enum weiri_delivery,
                                  struct weiri_reply *));
/* Touches a copy that is early; it is early again afterwards, or gone. */
void weiri_copy_touch(struct weiri_copy *copy);
/* When to touch it next, from now. */
int64_t weiri_copy_touch_ns(const struct weiri_copy *copy);
/* How long a claim of a copy holds without being renewed. */
int64_t weiri_copy_lease_ms(const struct weiri_copy *copy);

#endif
