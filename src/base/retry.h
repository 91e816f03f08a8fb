/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RETRY_H
#define WEIRI_RETRY_H

#include <weir/retry.h>
#include <weir/status.h>

/* struct weir_retry as plain functions. */

/* WEIR_ERANGE, and a text: a member is not as described. */
WEIR_NODISCARD enum weir_status weiri_retry_check(const struct weir_retry *retry,
                                                  struct weir_error *ret_error);

/* The delay after the attempt-th failure, from 1. default_ns stands for a base_ns of 0; random is
 * any number: 0 lengthens by nothing, and UINT64_MAX most. */
int64_t weiri_retry_delay(const struct weir_retry *retry, int64_t default_ns, uint32_t attempt,
                          uint64_t random);

#endif
