/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_POLICY_H
#define WEIRI_CORE_POLICY_H

#include <weir/policy.h>

/* Changes of a tube's policy: plain functions. A back end merges in the transaction that writes, so
 * that no change made meanwhile is lost. */

/* Applies a change to the policy that a tube has, as weir_broker_set_policy() says. WEIR_EINVAL:
 * the members of the result contradict each other, and the policy is as it was. */
enum weir_status weiri_policy_merge(struct weir_tube_policy *policy,
                                    const struct weir_tube_policy *change,
                                    struct weir_error *ret_error);

#endif
