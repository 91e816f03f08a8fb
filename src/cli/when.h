/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_WHEN_H
#define WEIRI_CLI_WHEN_H

#include <stddef.h>
#include <stdint.h>

/* Times as people type them to at(1), in the zone of this process. Nanoseconds since the Unix
 * epoch. */

#define WHEN_SIZE 48

enum when_result {
    WHEN_READ,
    WHEN_MALFORMED,
    WHEN_SKIPPED /* Clocks of the zone skip it. */
};

/* Reads [DAY] [CLOCK] [+ COUNT UNIT], or CLOCK DAY:
 *
 *   CLOCK  17:00, 9:30:15, 5pm, 5:30am, noon, midnight
 *   DAY    today, tomorrow, friday, fri, 2030-01-31
 *   UNIT   seconds, minutes, hours, days, weeks, or one of them
 *
 * `now` stands for both. A day alone is at this time of day. A clock alone is today's, a day of the
 * week may be today: it is the next one where what the whole text says is not after now. Days and
 * weeks are added to the date, so that the time of day stays when clocks are changed. A time that
 * clocks show twice is the first of the two. WHEN_MALFORMED: *ret_offset receives the offset of the
 * word that is wrong, or of the end of the text. */
enum when_result when_read(const char *text, int64_t now_ns, int64_t *ret_ns, size_t *ret_offset);

/* Writes `Fri 2030-02-01 17:00:00 +01:00`. */
void when_write(int64_t ns, char buffer[WHEN_SIZE]);

#endif
