/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/zone_rule.h"

#include <string.h>

#include "cron/calendar.h"

/* The rest of the text. */
struct cursor {
    const char *at;
    const char *end;
};

static bool take(struct cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted) {
        return false;
    }
    c->at++;
    return true;
}

static bool is_digit(const struct cursor *c)
{
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A number of one to three digits, least to most. */
static bool take_number(struct cursor *c, unsigned least, unsigned most, unsigned *ret_value)
{
    unsigned value = 0;
    int digits = 0;
    for (; is_digit(c) && digits < 3; digits++) {
        value = value * 10 + (unsigned)(*c->at++ - '0');
    }
    *ret_value = value;
    return digits > 0 && value >= least && value <= most;
}

/* Three letters or more; in angle brackets also digits and signs. */
static bool take_name(struct cursor *c)
{
    const char *start = c->at;
    bool is_quoted = take(c, '<');
    while (c->at < c->end &&
           (is_letter(*c->at) || (is_quoted && (is_digit(c) || *c->at == '+' || *c->at == '-')))) {
        c->at++;
    }
    return is_quoted ? c->at - start > 3 && take(c, '>') : c->at - start >= 3;
}

/* [+-]h[:mm[:ss]] in seconds. */
static bool take_time(struct cursor *c, unsigned hours_max, int64_t *ret_s)
{
    bool is_negative = take(c, '-');
    if (!is_negative) {
        (void)take(c, '+');
    }
    unsigned hours = 0;
    unsigned minutes = 0;
    unsigned seconds = 0;
    if (!take_number(c, 0, hours_max, &hours) ||
        (take(c, ':') && !take_number(c, 0, 59, &minutes)) ||
        (take(c, ':') && !take_number(c, 0, 59, &seconds))) {
        return false;
    }
    int64_t s = (int64_t)hours * 3600 + (int64_t)minutes * 60 + seconds;
    *ret_s = is_negative ? -s : s;
    return true;
}

static bool take_day(struct cursor *c, struct weiri_rule_day *day)
{
    *day = (struct weiri_rule_day){.kind = WEIRI_RULE_DAY, .time_s = 7200};
    bool is_good;
    if (take(c, 'M')) {
        day->kind = WEIRI_RULE_WEEKDAY;
        is_good = take_number(c, 1, 12, &day->month) && take(c, '.') &&
                  take_number(c, 1, 5, &day->week) && take(c, '.') &&
                  take_number(c, 0, 6, &day->weekday);
    } else if (take(c, 'J')) {
        day->kind = WEIRI_RULE_JULIAN;
        is_good = take_number(c, 1, 365, &day->day);
    } else {
        is_good = take_number(c, 0, 365, &day->day);
    }
    return is_good && (!take(c, '/') || take_time(c, 167, &day->time_s));
}

bool weiri_rule_parse(const char *text, size_t size, struct weiri_rule *ret_rule)
{
    struct cursor c = {text, text + size};
    struct weiri_rule rule;
    memset(&rule, 0, sizeof(rule));
    int64_t west_s = 0; /* POSIX counts offsets to the west */
    if (!take_name(&c) || !take_time(&c, 24, &west_s)) {
        return false;
    }
    rule.standard_s = -west_s;
    rule.has_summer = c.at < c.end;
    if (rule.has_summer) {
        west_s -= 3600; /* where the rule has no offset */
        bool has_name = take_name(&c);
        bool has_offset = c.at < c.end && *c.at != ',';
        if (!has_name || (has_offset && !take_time(&c, 24, &west_s)) || !take(&c, ',') ||
            !take_day(&c, &rule.start) || !take(&c, ',') || !take_day(&c, &rule.end)) {
            return false;
        }
        rule.summer_s = -west_s;
    }
    if (c.at != c.end) {
        return false;
    }
    *ret_rule = rule;
    return true;
}

/* The day of a year, in days since the Unix epoch. */
static int64_t days_of_rule(const struct weiri_rule_day *day, int64_t year)
{
    int64_t new_year = weiri_days_of(year, 1, 1);
    if (day->kind == WEIRI_RULE_DAY) {
        return new_year + day->day;
    }
    if (day->kind == WEIRI_RULE_JULIAN) {
        bool is_after_leap_day = day->day >= 60 && weiri_days_in_month(year, 2) == 29;
        return new_year + day->day - 1 + is_after_leap_day;
    }
    int64_t first = weiri_days_of(year, day->month, 1);
    unsigned ahead = (day->weekday + 7 - weiri_weekday_of(first)) % 7;
    unsigned in_month = ahead + 7 * (day->week - 1);
    while (in_month >= weiri_days_in_month(year, day->month)) {
        in_month -= 7;
    }
    return first + in_month;
}

int64_t weiri_rule_time(const struct weiri_rule_day *day, int64_t year, int64_t offset_s)
{
    return days_of_rule(day, year) * WEIRI_DAY_SECONDS + day->time_s - offset_s;
}
