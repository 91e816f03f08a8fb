/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "view/timestamp.h"

#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads exactly count digits. */
static bool read_digits(const char *text, size_t *at, size_t count, int64_t *ret_number)
{
    int64_t number = 0;
    for (size_t i = 0; i < count; i++, (*at)++) {
        if (!is_digit(text[*at])) {
            return false;
        }
        number = number * 10 + (text[*at] - '0');
    }
    *ret_number = number;
    return true;
}

/* Reads exactly count digits that make a number from least to most. */
static bool read_field(const char *text, size_t *at, size_t count, int64_t least, int64_t most,
                       int64_t *ret_number)
{
    size_t start = *at;
    if (!read_digits(text, at, count, ret_number)) {
        return false;
    }
    if (*ret_number < least || *ret_number > most) {
        *at = start;
        return false;
    }
    return true;
}

static bool read_char(const char *text, size_t *at, const char *allowed)
{
    if (text[*at] == '\0' || strchr(allowed, text[*at]) == NULL) {
        return false;
    }
    (*at)++;
    return true;
}

/* A point with its digits, where there is one; digits past the ninth are cut. */
static bool read_fraction(const char *text, size_t *at, int64_t *ret_ns)
{
    int64_t ns = 0;
    if (text[*at] == '.') {
        size_t first = ++*at;
        for (int64_t unit = SECOND / 10; is_digit(text[*at]); unit /= 10) {
            ns += (text[(*at)++] - '0') * unit;
        }
        if (*at == first) {
            return false;
        }
    }
    *ret_ns = ns;
    return true;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t month_days(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

/* Days from 1970-01-01 to the first of January of a year from 1969 on. */
static int64_t year_days(int64_t year)
{
    int64_t before = year - 1;
    return (year - 1970) * 365 + (before / 4 - before / 100 + before / 400) - 477;
}

static bool read_date(const char *text, size_t *at, int64_t *ret_seconds)
{
    int64_t year = 0;
    int64_t month = 0;
    int64_t day = 0;
    int64_t hour = 0;
    int64_t minute = 0;
    int64_t second = 0;
    bool read = read_field(text, at, 4, 1969, 2262, &year) && read_char(text, at, "-") &&
                read_field(text, at, 2, 1, 12, &month) && read_char(text, at, "-") &&
                read_field(text, at, 2, 1, month_days(year, month), &day) &&
                read_char(text, at, "Tt ") && read_field(text, at, 2, 0, 23, &hour) &&
                read_char(text, at, ":") && read_field(text, at, 2, 0, 59, &minute) &&
                read_char(text, at, ":") && read_field(text, at, 2, 0, 59, &second);
    if (!read) {
        return false;
    }
    int64_t days = year_days(year) + day - 1;
    for (int64_t i = 1; i < month; i++) {
        days += month_days(year, i);
    }
    *ret_seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    return true;
}

/* `Z`, or the seconds that local time is ahead of UTC. */
static bool read_zone(const char *text, size_t *at, int64_t *ret_seconds)
{
    if (read_char(text, at, "Zz")) {
        *ret_seconds = 0;
        return true;
    }
    int64_t sign = text[*at] == '-' ? -1 : 1;
    int64_t hours = 0;
    int64_t minutes = 0;
    if (!read_char(text, at, "+-") || !read_field(text, at, 2, 0, 23, &hours) ||
        !read_char(text, at, ":") || !read_field(text, at, 2, 0, 59, &minutes)) {
        return false;
    }
    *ret_seconds = sign * (hours * 60 + minutes) * 60;
    return true;
}

/* Up to 10 digits: longer numbers lie past 2262, which is refused. */
static bool read_unix(const char *text, size_t *at, int64_t *ret_seconds)
{
    size_t count = strspn(text + *at, "0123456789");
    return count > 0 && read_digits(text, at, count < 11 ? count : 11, ret_seconds);
}

bool timestamp_read(const char *text, int64_t *ret_ns, size_t *ret_offset)
{
    size_t at = 0;
    int64_t seconds = 0;
    int64_t fraction = 0;
    int64_t ahead = 0;
    bool read = read_char(text, &at, "@")
                    ? read_unix(text, &at, &seconds) && read_fraction(text, &at, &fraction)
                    : read_date(text, &at, &seconds) && read_fraction(text, &at, &fraction) &&
                          read_zone(text, &at, &ahead);
    seconds -= ahead;
    if (!read || text[at] != '\0') {
        *ret_offset = at;
        return false;
    }
    int64_t ns = 0;
    if (seconds < 0 || __builtin_mul_overflow(seconds, SECOND, &ns) ||
        __builtin_add_overflow(ns, fraction, &ns)) {
        *ret_offset = 0;
        return false;
    }
    *ret_ns = ns;
    return true;
}

void timestamp_write(int64_t ns, char buffer[TIMESTAMP_SIZE])
{
    int64_t seconds = ns / SECOND;
    int64_t days = seconds / 86400;
    int64_t year = 1970 + days / 366;
    while (year_days(year + 1) <= days) {
        year++;
    }
    int64_t day = days - year_days(year);
    int64_t month = 1;
    while (day >= month_days(year, month)) {
        day -= month_days(year, month++);
    }
    (void)snprintf(buffer, TIMESTAMP_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", (int)year,
                   (int)month, (int)day + 1, (int)(seconds / 3600 % 24), (int)(seconds / 60 % 60),
                   (int)(seconds % 60), (int)(ns % SECOND));
}

void timestamp_write_unix(int64_t ns, char buffer[TIMESTAMP_SIZE])
{
    (void)snprintf(buffer, TIMESTAMP_SIZE, "%lld.%09d", (long long)(ns / SECOND),
                   (int)(ns % SECOND));
}
