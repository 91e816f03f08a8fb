/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_getaffinity */

#include "base/processors.h"

#include <sched.h>
#include <unistd.h>

size_t weiri_processors(void)
{
#ifdef WEIRI_EXPLORER
    return 2; /* the same schedules on every machine */
#else
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
        return (size_t)CPU_COUNT(&allowed);
    }
    /* The machine has more processors than the set can hold. */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
#endif
}
