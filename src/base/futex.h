/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FUTEX_H
#define WEIRI_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The kernel's wait-on-a-word, within one process. */

/* Sleeps while *word is expected, until woken, or until the monotonic clock shows limit_ns
 * (INT64_MAX: no limit), or for no reason: at the latest after WEIRI_WAIT_MAX_NS (base/wait.h).
 * False: the limit has passed. */
bool weiri_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t limit_ns);

/* Wakes at most count threads that sleep on the word's address. Nothing is read there: the word may
 * be gone, and then somebody may wake for no reason. */
void weiri_futex_wake(_Atomic uint32_t *word, int count);

/* Makes every running thread of the process pass a full memory fence before this returns, so that
 * those threads can do without one where they race with the caller. */
void weiri_fence_all_threads(void);
/* Whether the kernel can. To be asked once before the above; thread-safe. */
bool weiri_fence_all_threads_init(void);

#endif
