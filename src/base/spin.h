/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SPIN_H
#define WEIRI_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Waiting awake, where what is waited for comes sooner than a sleeper could be woken. */

/* Looks at the word until it is not seen any more, for limit_ns at most, or a little longer. False:
 * it still is. Acquires what was released by the change. */
bool weiri_spin_while(_Atomic uint32_t *word, uint32_t seen, int64_t limit_ns);

/* Whether this thread may run on more than one processor: on one, who waits awake keeps away whom
 * it waits for. */
bool weiri_spin_is_useful(void);

#endif
