/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_MOMENT_H
#define WEIRI_CLI_MOMENT_H

#include <stdint.h>

/* Moments of the wall clock, in nanoseconds since the Unix epoch. */

int64_t moment_now(void);

/* Reads a moment: as timestamp_read(), or as people type it (when.h), told then as it was
 * understood. Refuses others as the readers of arguments.h do. */
int read_moment(const char *name, const char *text, int64_t now_ns, int64_t *ret_ns);

#endif
