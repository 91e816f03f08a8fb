/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/harness.h"

/* Times of Berlin: clocks went back on 2026-10-25 at 3:00, and go on on 2027-03-28 at 2:00. */

static int64_t now; /* Monday, 2026-11-23 10:30:00.5 */

static int64_t at(int year, int month, int day, int hour, int minute, int summer)
{
    struct tm date = {.tm_year = year - 1900,
                      .tm_mon = month - 1,
                      .tm_mday = day,
                      .tm_hour = hour,
                      .tm_min = minute,
                      .tm_isdst = summer};
    return (int64_t)mktime(&date) * 1000000000;
}

static void begin(void)
{
    CHECK_INT(setenv("TZ", "Europe/Berlin", 1), ==, 0);
    tzset();
    now = at(2026, 11, 23, 10, 30, 0) + 500000000;
}

static void check_from(int64_t from, const char *text, int64_t expected)
{
    int64_t ns = -1;
    size_t offset = 0;
    char read[WHEN_SIZE] = "nothing";
    char wanted[WHEN_SIZE];
    if (when_read(text, from, &ns, &offset) == WHEN_READ) {
        when_write(ns, read);
    }
    when_write(expected, wanted);
    if (ns != expected) {
        test_fail(__FILE__, __LINE__, "%s: %s, not %s", text, read, wanted);
    }
}

TEST(reads, "what people type to at(1) is the time that they mean")
{
    begin();
    check_from(now, "now", now);
    check_from(now, "now + 10 minutes", now + INT64_C(600) * 1000000000);
    check_from(now, "NOW+1 min", now + INT64_C(60) * 1000000000);
    check_from(now, "now +10minutes", now + INT64_C(600) * 1000000000);
    check_from(now, "now + 2 days", at(2026, 11, 25, 10, 30, 0) + 500000000);
    check_from(now, "09:00", at(2026, 11, 24, 9, 0, 0));
    check_from(now, "10:31", at(2026, 11, 23, 10, 31, 0));
    check_from(now, "10:30", at(2026, 11, 24, 10, 30, 0));
    check_from(now, "5pm", at(2026, 11, 23, 17, 0, 0));
    check_from(now, "12am", at(2026, 11, 24, 0, 0, 0));
    check_from(now, "12:15pm", at(2026, 11, 23, 12, 15, 0));
    check_from(now, "noon", at(2026, 11, 23, 12, 0, 0));
    check_from(now, "midnight", at(2026, 11, 24, 0, 0, 0));
    check_from(now, "tomorrow 09:00", at(2026, 11, 24, 9, 0, 0));
    check_from(now, "  9:00   tomorrow ", at(2026, 11, 24, 9, 0, 0));
    check_from(now, "tomorrow", at(2026, 11, 24, 10, 30, 0));
    check_from(now, "today 9:00", at(2026, 11, 23, 9, 0, 0));
    check_from(now, "friday 17:00", at(2026, 11, 27, 17, 0, 0));
    check_from(now, "Fri 17:00", at(2026, 11, 27, 17, 0, 0));
    check_from(now, "monday 11:00", at(2026, 11, 23, 11, 0, 0));
    check_from(now, "monday 10:00", at(2026, 11, 30, 10, 0, 0));
    check_from(now, "2030-01-31 08:15", at(2030, 1, 31, 8, 15, 0));
    check_from(now, "noon + 2 hours", at(2026, 11, 23, 14, 0, 0));
    check_from(now, "noon tomorrow + 1 week", at(2026, 12, 1, 12, 0, 0));
    check_from(now, "9:00:30 tomorrow", at(2026, 11, 24, 9, 0, 0) + INT64_C(30) * 1000000000);
}

TEST(changes, "days keep the time of day when clocks are changed, hours do not")
{
    begin();
    int64_t before = at(2026, 10, 24, 12, 0, 1);
    check_from(before, "now + 1 day", at(2026, 10, 25, 12, 0, 0));
    check_from(before, "now + 24 hours", at(2026, 10, 25, 11, 0, 0));
    check_from(before, "02:30", at(2026, 10, 25, 2, 30, 1));
    int64_t spring = at(2027, 3, 27, 12, 0, 0);
    check_from(spring, "01:59", at(2027, 3, 28, 1, 59, 0));
    check_from(spring, "03:00", at(2027, 3, 28, 3, 0, 1));
    int64_t ns;
    size_t offset;
    CHECK_INT(when_read("tomorrow 02:30", spring, &ns, &offset), ==, WHEN_SKIPPED);
    CHECK_INT(when_read("02:30", spring, &ns, &offset), ==, WHEN_SKIPPED);
    /* It is past by the clocks, though not one of them has shown it. */
    check_from(at(2027, 3, 28, 3, 0, 1), "02:30", at(2027, 3, 29, 2, 30, 1));
    CHECK_INT(when_read("02:30", at(2027, 3, 28, 1, 59, 0), &ns, &offset), ==, WHEN_SKIPPED);
}

TEST(adds, "what is added counts from today's clock, and the sum is the first after now")
{
    begin();
    int64_t afternoon = at(2026, 11, 23, 14, 0, 0);
    check_from(afternoon, "noon + 2 weeks", at(2026, 12, 7, 12, 0, 0));
    check_from(afternoon, "noon + 1 day", at(2026, 11, 24, 12, 0, 0));
    check_from(afternoon, "noon + 3 hours", at(2026, 11, 23, 15, 0, 0));
    check_from(afternoon, "noon + 2 hours", at(2026, 11, 24, 14, 0, 0));
    check_from(afternoon, "noon", at(2026, 11, 24, 12, 0, 0));
    check_from(afternoon, "monday noon + 1 week", at(2026, 11, 30, 12, 0, 0));
    check_from(afternoon, "monday noon + 1 hour", at(2026, 11, 30, 13, 0, 0));
}

TEST(skipped, "a day that a zone skipped is no day, and an hour it shows twice is the first")
{
    int64_t ns;
    size_t offset;
    CHECK_INT(setenv("TZ", "Pacific/Apia", 1), ==, 0);
    tzset();
    int64_t before = at(2011, 12, 29, 12, 0, 1);
    CHECK_INT(when_read("2011-12-30 09:00", before, &ns, &offset), ==, WHEN_SKIPPED);
    check_from(before, "2011-12-31 09:00", at(2011, 12, 31, 9, 0, 1));
    /* Its winter time is the one that is flagged. */
    CHECK_INT(setenv("TZ", "Europe/Dublin", 1), ==, 0);
    CHECK_INT(when_read("2026-10-25 01:30", before, &ns, &offset), ==, WHEN_READ);
    CHECK_INT(ns, ==, INT64_C(1792888200) * 1000000000);
}

TEST(refuses, "what is no time is refused at the word that is wrong")
{
    static const struct {
        const char *text;
        size_t offset;
    } rows[] = {{"", 0},
                {"soon", 0},
                {"now + 10", 8},
                {"now + ten minutes", 6},
                {"now + 10 fortnights", 9},
                {"now + 1 day later", 12},
                {"now 10", 4},
                {"tomorrow 25:00", 9},
                {"tomorrow 9:60", 9},
                {"tomorrow tomorrow", 9},
                {"13pm", 0},
                {"0am", 0},
                {"9", 0},
                {"9:5", 0},
                {"2030-02-30 09:00", 0},
                {"2030-1-1", 0},
                {"friday the 13th", 7},
                {"1234567890123456789:00", 0},
                {"now + 1234567 days", 6},
                {"now +", 5},
                {"+ 10 minutes", 0},
                {"9999-01-01 00:00", 0}};
    begin();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ns = 0;
        size_t offset = 99;
        if (when_read(rows[i].text, now, &ns, &offset) != WHEN_MALFORMED ||
            offset != rows[i].offset) {
            test_fail(__FILE__, __LINE__, "\"%s\": offset %zu, not %zu", rows[i].text, offset,
                      rows[i].offset);
        }
    }
}
