/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ZONE_RULE_H
#define WEIRI_ZONE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rule in the footer of a TZif file, in the form of the POSIX variable TZ:
 * "CET-1CEST,M3.5.0,M10.5.0/3". Hours are from -167 to 167, as RFC 8536 allows. */

enum weiri_rule_day_kind {
    WEIRI_RULE_JULIAN,  /* Jn: day 1 to 365 of the year, 29 February not counted */
    WEIRI_RULE_DAY,     /* n: day 0 to 365 of the year */
    WEIRI_RULE_WEEKDAY, /* Mm.w.d: weekday d of week w of month m; 5: the last */
};

struct weiri_rule_day {
    enum weiri_rule_day_kind kind;
    unsigned day; /* of the first two kinds */
    unsigned month, week, weekday;
    int64_t time_s; /* after 00:00 of that day, on the zone's clock before the change */
};

struct weiri_rule {
    int64_t standard_s; /* offset from UTC, positive to its east */
    bool has_summer;    /* without it the members below are unused */
    int64_t summer_s;
    struct weiri_rule_day start, end; /* of summer time */
};

/* Reads a rule of exactly size bytes. False: it is not a rule. */
bool weiri_rule_parse(const char *text, size_t size, struct weiri_rule *ret_rule);

/* The time of a change in a year, in seconds since the Unix epoch; offset_s is the zone's before.
 */
int64_t weiri_rule_time(const struct weiri_rule_day *day, int64_t year, int64_t offset_s);

#endif
