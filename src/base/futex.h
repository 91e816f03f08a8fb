/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FUTEX_H
#define WEIRI_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The kernel's wait-on-a-word, within one process. */

/* Sleeps if *word equals expected. Returns when it is woken, when the monotonic clock shows
 * limit_ns (INT64_MAX: no limit), for no reason, or after WEIRI_WAIT_MAX_NS (base/wait.h) at the
 * latest. False: the limit has passed. */
bool weiri_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t limit_ns);

/* Wakes at most count threads that sleep on the word's address. Does not read the word, which may
 * be gone. If it is, another thread may wake for no reason. */
void weiri_futex_wake(_Atomic uint32_t *word, int count);

#endif
