/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_COPY_H
#define WEIRI_BEANSTALKD_COPY_H

#include "jobs/beanstalkd/subscription.h"

/* What the cluster's thread does with a reserved copy until a consumer has it. */

/* A copy was reserved on a lane. For lack of memory nothing: its TTR brings it back. */
void weiri_copy_arrive(struct weiri_lane *lane, const struct weiri_reply *reply);
/* Its run time has come. */
void weiri_copy_claim(struct weiri_copy *copy);
void weiri_copy_touch(struct weiri_copy *copy);
/* A job is done: its other copies that are held back here are deleted. */
void weiri_copies_done(struct weiri_subscription *subscription, const char *key);
/* Gives it back to the node, and its claim; it is in no stock. */
void weiri_copy_return(struct weiri_copy *copy);
/* Its reservation has ended: forgets it, and gives the claim back. */
void weiri_copy_drop(struct weiri_copy *copy);

#endif
