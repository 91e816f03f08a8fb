/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_DURATION_H
#define WEIR_DURATION_H

#include <stddef.h>
#include <stdint.h>

#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * Durations and times are signed 64-bit nanoseconds everywhere in weir. A time is a reading of one
 * clock (weir/clock.h). Jobs (weir/job.h) and cron expressions (weir/cron.h) use wall-clock times,
 * in nanoseconds since the Unix epoch.
 *
 * What 0 means depends on the kind of limit:
 * - A timeout of a call (timeout_ns) of 0 or less: the call does not wait.
 * - An option that limits runs or counts (deadline_ns, capacity, group_limit, rate): there is no
 *   limit.
 * - An option that must have some value (key_size_max, hook_min_ns, time_limit_ns): the default,
 *   which its comment names. */

/** The integer n, evaluated once. Another number is a compiler error, since only integers have a
 * remainder: WEIR_MS(0.5) would be 0 otherwise. For the macros below. */
#define WEIR_INTEGER(n) ((int64_t)(n) + 0 * (int64_t)sizeof((n) % 1))

/** n nanoseconds. Here and below n is an integer. The result must fit into 64 bits with a sign,
 * which is not checked. It is a constant if n is one. */
#define WEIR_NS(n) WEIR_INTEGER(n)
#define WEIR_US(n) (WEIR_INTEGER(n) * INT64_C(1000))            /**< n microseconds. */
#define WEIR_MS(n) (WEIR_INTEGER(n) * INT64_C(1000000))         /**< n milliseconds. */
#define WEIR_SECONDS(n) (WEIR_INTEGER(n) * INT64_C(1000000000)) /**< n seconds. */
#define WEIR_FOREVER INT64_MAX /**< A time that never comes. As a duration: no end of it. */

/** Reads a duration such as `250ms`, `1.5s`, `2m30s`, `1h`, `3d`, `0`.
 *
 * One or more decimal numbers, each with a unit out of ns, us, ms, s, m, h, d; a bare `0` needs
 * none. No sign, no space, no exponent. A fraction is cut to whole nanoseconds.
 *
 * Errors: WEIR_EINVAL (NULL, not of that form, or an unknown unit), WEIR_ERANGE (more than 2^63-1
 * ns). ret_offset (may be NULL) receives the offset of the first offending byte on failure.
 * Thread-safe, does not block or allocate. */
WEIR_API WEIR_NODISCARD enum weir_status weir_duration_parse(const char *text, int64_t *ret_ns,
                                                             size_t *ret_offset);

/** Writes a duration for people: "0s", "250ns", "12.5ms", "1.5s", "3m20s", "2d1h", cut to three
 * decimals of its smallest unit; a negative one gets a sign, which weir_duration_parse() does not
 * read. The text in buffer always ends in NUL, unless size is 0 or buffer NULL. Returns the length
 * of the whole text, as snprintf does. Thread-safe, does not block or allocate. */
WEIR_API size_t weir_duration_format(int64_t ns, char *buffer, size_t size);

WEIR_END_DECLS

#endif
