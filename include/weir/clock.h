/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_CLOCK_H
#define WEIR_CLOCK_H

#include <stdint.h>

#include <weir/allocator.h>
#include <weir/duration.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * Time is an object, so that a program's delays can be tested without waiting.
 *
 * The real clock is monotonic: it does not jump when the date is set. A manual clock stands still
 * until it is stepped; objects that sleep on it wake when a step makes something due. After fork()
 * a child can only read its parent's manual clocks, which stand still: to step one, to free one,
 * and to make an object that uses one, is WEIR_EFORKED. */

/** A source of time. Opaque. */
typedef struct weir_clock weir_clock;

/** The real clock: CLOCK_MONOTONIC. One constant object, never freed, usable from any thread. */
WEIR_API weir_clock *weir_clock_monotonic(void);

/** Makes a clock that stands at start_ns until it is stepped. allocator is copied; NULL: libc's.
 * Returns owned: weir_clock_free(). Errors: WEIR_EINVAL (allocator), WEIR_ERANGE (start_ns
 * negative), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_clock_manual_new(
    int64_t start_ns, const struct weir_allocator *allocator, weir_clock **ret_clock);

/** Moves a manual clock forward by step_ns, and wakes threads for all that becomes due. Returns
 * once every object that uses the clock has been told; their threads do what is due. Thread-safe;
 * not from a callback of an object that uses the clock. Errors: WEIR_EINVAL (NULL, not a manual
 * clock), WEIR_ERANGE (step_ns negative, or past 2^63-1). */
WEIR_API WEIR_NODISCARD enum weir_status weir_clock_advance(weir_clock *clock, int64_t step_ns);

/** The clock's reading in nanoseconds. Thread-safe; does not block. 0 for NULL. */
WEIR_API int64_t weir_clock_now(weir_clock *clock);

/** Frees a manual clock. Takes NULL and the real clock (does nothing). No other thread may be in a
 * call on it. Errors: WEIR_EBUSY (an object uses it; nothing changed), WEIR_EFORKED. */
WEIR_API enum weir_status weir_clock_free(weir_clock *clock);

WEIR_END_DECLS

#endif
