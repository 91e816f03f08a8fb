/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_VIEW_TIMESTAMP_H
#define WEIRI_VIEW_TIMESTAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Wall-clock times as text. All are nanoseconds since the Unix epoch, never negative. */

#define TIMESTAMP_SIZE 48

/* Reads `2026-08-08T12:00:00Z`, with `t`, `z`, a space for the T, a fraction of seconds, or an
 * offset `+02:00` (RFC 3339), or `@` and Unix seconds with or without a fraction. False: it is
 * none, or before 1970 or after 2262; ret_offset then receives the offset where reading stopped. */
bool timestamp_read(const char *text, int64_t *ret_ns, size_t *ret_offset);

/* Writes `2026-08-08T12:00:00.123456789Z`. */
void timestamp_write(int64_t ns, char buffer[TIMESTAMP_SIZE]);

/* Writes Unix seconds with nine decimals: `1786190400.123456789`, so that texts of the same length
 * compare as their times do. `@` before it makes a time that can be read again. */
void timestamp_write_unix(int64_t ns, char buffer[TIMESTAMP_SIZE]);

#endif
