/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CALENDAR_H
#define WEIRI_CALENDAR_H

#include <stdint.h>

/* Days and dates of the Gregorian calendar, for any year from -30000 to 30000. Days are counted
 * from 1 January 1970. The conversions start the year with March, so that a leap day is its last.
 * 719468 is the count of days from 1 March of the year 0 to 1 January 1970. An era is 400 years. */

#define WEIRI_DAY_SECONDS INT64_C(86400)

struct weiri_date {
    int64_t year;
    unsigned month; /* 1 to 12 */
    unsigned day;   /* 1 to 31 */
};

/* a / b rounded down, for b > 0. */
static inline int64_t weiri_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static inline int64_t weiri_days_of(int64_t year, unsigned month, unsigned day)
{
    int64_t y = year - (month <= 2);
    int64_t era = weiri_floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static inline struct weiri_date weiri_date_of(int64_t days)
{
    int64_t z = days + 719468;
    int64_t era = weiri_floor_div(z, 146097);
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153; /* from March */
    struct weiri_date date;
    date.day = (unsigned)(day_of_year - (153 * month + 2) / 5 + 1);
    date.month = (unsigned)(month < 10 ? month + 3 : month - 9);
    date.year = year_of_era + era * 400 + (date.month <= 2);
    return date;
}

/* 0: Sunday. 1 January 1970 was a Thursday. */
static inline unsigned weiri_weekday_of(int64_t days)
{
    return (unsigned)(days + 4 - weiri_floor_div(days + 4, 7) * 7);
}

static inline unsigned weiri_days_in_month(int64_t year, unsigned month)
{
    int64_t next = weiri_days_of(month == 12 ? year + 1 : year, month % 12 + 1, 1);
    return (unsigned)(next - weiri_days_of(year, month, 1));
}

#endif
