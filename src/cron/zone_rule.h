/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ZONE_RULE_H
#define WEIRI_ZONE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rule in the footer of a TZif file: the text that POSIX has in the variable TZ, such as
 * "CET-1CEST,M3.5.0,M10.5.0/3", with the hours from -167 to 167 of RFC 8536. */

enum weiri_rule_day_kind {
    WEIRI_RULE_JULIAN,  /* Jn: day 1 to 365 of the year, 29 February not counted */
    WEIRI_RULE_DAY,     /* n: day 0 to 365 of the year */
    WEIRI_RULE_WEEKDAY, /* Mm.w.d: weekday d of week w of month m; 5: the last */
};

struct weiri_rule_day {
    enum weiri_rule_day_kind kind;
    unsigned day; /* of the first two kinds */
    unsigned month, week, weekday;
    int64_t time_s; /* of that day's label 00:00 */
};

struct weiri_rule {
    int64_t standard_s; /* offsets from UTC, positive to its east */
    bool has_summer;
    int64_t summer_s; /* where it has */
    struct weiri_rule_day start, end;
};

/* Reads a rule of size bytes, all of them; false where it is none. */
bool weiri_rule_parse(const char *text, size_t size, struct weiri_rule *ret_rule);

/* When the summer time of a year begins and ends. */
int64_t weiri_rule_start(const struct weiri_rule *rule, int64_t year);
int64_t weiri_rule_end(const struct weiri_rule *rule, int64_t year);

#endif
