/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_TIME_H
#define WEIRI_TIME_H

#include <stdint.h>

/* The system's clocks, in nanoseconds. The schedule explorer replaces them with its virtual time.
 */

/* A time before all others. As a limit: no wait. */
#define WEIRI_AT_ONCE INT64_MIN

int64_t weiri_monotonic_now(void); /* since some start; never goes back */
int64_t weiri_wall_now(void);      /* since the Unix epoch; jumps when the date is set */
int64_t weiri_boot_now(void);      /* as the monotonic one, and goes on while the machine sleeps */

/* a + b, limited to the range of int64_t. */
static inline int64_t weiri_time_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) {
        return sum;
    }
    return b > 0 ? INT64_MAX : INT64_MIN;
}

/* a - b, limited to the range of int64_t. */
static inline int64_t weiri_time_sub(int64_t a, int64_t b)
{
    int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference)) {
        return difference;
    }
    return b < 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t weiri_time_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How long ago since was; 0 where it is not before now. */
static inline int64_t weiri_time_since(int64_t since, int64_t now)
{
    return now > since ? weiri_time_sub(now, since) : 0;
}

/* value * 2^shift for value >= 0, at most limit. The shift may be any count. */
static inline int64_t weiri_time_shift(int64_t value, uint64_t shift, int64_t limit)
{
    if (value <= 0) {
        return 0;
    }
    if (shift >= 63 || value > (limit >> shift)) {
        return limit;
    }
    return value << shift;
}

/* value >= 0, lengthened by a random part of up to fraction of it, limited to the range. */
static inline int64_t weiri_time_lengthen(int64_t value, double fraction, uint64_t random)
{
    double part = (double)(random >> 11) * 0x1p-53; /* 0 <= part < 1 */
    double extra = (double)value * (fraction * part);
    return extra < 0x1p63 ? weiri_time_add(value, (int64_t)extra) : INT64_MAX;
}

#endif
