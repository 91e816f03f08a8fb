/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* timegm(), tm_gmtoff */

#include "cli/when.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define SECOND INT64_C(1000000000)
/* More than this long after 1970 is after 2262. */
#define SECONDS_MAX INT64_C(9223372036)

struct word {
    size_t offset;
    char text[16]; /* Empty: the text has ended. */
};

struct reader {
    const char *text;
    size_t at;
    struct word word; /* The one that is looked at. */
};

/* What was read. */
struct when {
    struct tm date; /* Year, month and day; the rest is now's. */
    bool has_day;
    bool is_weekday;
    bool has_clock;
    int64_t add_seconds;
    int add_days;
};

/* A word that is too long is cut, so that it equals none that is known. */
static void next(struct reader *reader)
{
    const char *text = reader->text + reader->at + strspn(reader->text + reader->at, " \t");
    size_t length = text[0] == '+' ? 1 : strcspn(text, " \t+");
    reader->word.offset = (size_t)(text - reader->text);
    (void)snprintf(reader->word.text, sizeof(reader->word.text), "%.*s",
                   (int)(length < sizeof(reader->word.text) ? length : sizeof(reader->word.text)),
                   text);
    reader->at = reader->word.offset + length;
}

static bool is_word(const struct reader *reader, const char *text)
{
    return strcasecmp(reader->word.text, text) == 0;
}

/* Digits, at most `most` of them. Returns how many; 0: none, or too many. */
static size_t read_digits(const char *text, size_t most, int *ret_number)
{
    size_t count = strspn(text, "0123456789");
    if (count == 0 || count > most) {
        return 0;
    }
    *ret_number = atoi(text);
    return count;
}

/* 17:00, 17:00:30, 5pm, 5:30pm */
static bool read_clock(const char *text, struct tm *date)
{
    int numbers[3] = {0, 0, 0};
    size_t parts = 0;
    size_t count;
    do {
        count = read_digits(text, 2, &numbers[parts]);
        text += count;
        if (count == 0 || (parts > 0 && count != 2)) {
            return false;
        }
        parts++;
    } while (parts < 3 && text[0] == ':' && text++);
    bool is_pm = strcasecmp(text, "pm") == 0;
    if (is_pm || strcasecmp(text, "am") == 0) {
        if (numbers[0] < 1 || numbers[0] > 12) {
            return false;
        }
        numbers[0] = numbers[0] % 12 + (is_pm ? 12 : 0);
    } else if (text[0] != '\0' || parts == 1) {
        return false;
    }
    date->tm_hour = numbers[0];
    date->tm_min = numbers[1];
    date->tm_sec = numbers[2];
    return numbers[0] < 24 && numbers[1] < 60 && numbers[2] < 60;
}

static bool read_named_clock(const struct reader *reader, struct tm *date)
{
    bool is_noon = is_word(reader, "noon");
    if (!is_noon && !is_word(reader, "midnight")) {
        return read_clock(reader->word.text, date);
    }
    date->tm_hour = is_noon ? 12 : 0;
    date->tm_min = 0;
    date->tm_sec = 0;
    return true;
}

/* 2030-01-31 */
static bool read_date(const char *text, struct tm *date)
{
    int year;
    int month;
    int day;
    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-' ||
        read_digits(text, 4, &year) != 4 || read_digits(text + 5, 2, &month) != 2 ||
        read_digits(text + 8, 2, &day) != 2) {
        return false;
    }
    struct tm same = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = 12};
    (void)timegm(&same);
    date->tm_year = year - 1900;
    date->tm_mon = month - 1;
    date->tm_mday = day;
    return same.tm_mon == month - 1 && same.tm_mday == day;
}

static bool read_day(const struct reader *reader, struct when *when)
{
    static const char *const days[] = {"sunday",   "monday", "tuesday", "wednesday",
                                       "thursday", "friday", "saturday"};
    if (is_word(reader, "today") || is_word(reader, "tomorrow")) {
        when->date.tm_mday += is_word(reader, "tomorrow") ? 1 : 0;
        return true;
    }
    for (int i = 0; i < 7; i++) {
        bool is_short = strlen(reader->word.text) == 3;
        if (is_word(reader, days[i]) ||
            (is_short && strncasecmp(days[i], reader->word.text, 3) == 0)) {
            when->is_weekday = true;
            when->date.tm_mday += (i - when->date.tm_wday + 7) % 7;
            return true;
        }
    }
    return read_date(reader->word.text, &when->date);
}

/* + COUNT UNIT, from the word after the plus on. */
static bool read_added(struct reader *reader, struct when *when)
{
    static const struct {
        const char *name;
        int64_t seconds; /* 0: it is of days */
        int days;
    } units[] = {{"second", 1, 0},  {"minute", 60, 0}, {"min", 60, 0},
                 {"hour", 3600, 0}, {"day", 0, 1},     {"week", 0, 7}};
    int count = 0;
    size_t digits = read_digits(reader->word.text, 6, &count);
    const char *unit = reader->word.text + digits;
    if (digits == 0) {
        return false;
    }
    if (unit[0] == '\0') {
        next(reader);
        unit = reader->word.text;
    }
    size_t length = strlen(unit);
    length -= length > 0 && strchr("sS", unit[length - 1]) != NULL ? 1 : 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) == length && strncasecmp(units[i].name, unit, length) == 0) {
            when->add_seconds = units[i].seconds * count;
            when->add_days = units[i].days * count;
            next(reader);
            return true;
        }
    }
    return false;
}

/* The words, up to the first that fits nowhere. */
static bool read_words(struct reader *reader, struct when *when)
{
    next(reader);
    if (is_word(reader, "now")) {
        when->has_day = true;
        when->has_clock = true;
        next(reader);
    }
    bool is_known = true;
    while (is_known && reader->word.text[0] != '\0' && reader->word.text[0] != '+') {
        if (!when->has_clock && read_named_clock(reader, &when->date)) {
            when->has_clock = true;
        } else if (!when->has_day && read_day(reader, when)) {
            when->has_day = true;
        } else {
            is_known = false;
        }
        if (is_known) {
            next(reader);
        }
    }
    if (!is_known || (!when->has_day && !when->has_clock)) {
        return false;
    }
    if (reader->word.text[0] == '+') {
        next(reader);
        return read_added(reader, when) && reader->word.text[0] == '\0';
    }
    return true;
}

/* The time of the zone, `days` later, the earlier one where clocks show it twice. False: they skip
 * it; the result is when it would be without the change, for comparison. date has the offset of
 * now. */
static bool resolve(const struct tm *date, int days, int64_t *ret_seconds)
{
    struct tm wanted = *date;
    bool is_found = false;
    wanted.tm_mday += days;
    *ret_seconds = timegm(&wanted) - date->tm_gmtoff; /* the day after the 31st is the 1st */
    for (int summer = 0; summer < 2; summer++) {
        struct tm same = wanted;
        same.tm_isdst = summer;
        int64_t seconds = mktime(&same);
        bool is_same = seconds != -1 && same.tm_mday == wanted.tm_mday &&
                       same.tm_hour == wanted.tm_hour && same.tm_min == wanted.tm_min &&
                       same.tm_sec == wanted.tm_sec;
        if (is_same && (!is_found || seconds < *ret_seconds)) {
            *ret_seconds = seconds;
            is_found = true;
        }
    }
    return is_found;
}

enum when_result when_read(const char *text, int64_t now_ns, int64_t *ret_ns, size_t *ret_offset)
{
    time_t now = (time_t)(now_ns / SECOND);
    struct reader reader = {.text = text};
    struct when when = {.add_days = 0};
    int64_t seconds = now;
    tzset();
    (void)localtime_r(&now, &when.date);
    bool is_read = read_words(&reader, &when);
    bool is_now =
        when.has_clock && when.has_day && strncasecmp(text + strspn(text, " \t"), "now", 3) == 0;
    *ret_offset = reader.word.offset;
    if (!is_read) {
        return WHEN_MALFORMED;
    }
    bool is_there = true;
    /* `now` keeps the part of a second, and is no time of day that could be skipped. */
    if (!is_now || when.add_days != 0) {
        int step = !when.has_day ? 1 : when.is_weekday ? 7 : 0;
        is_there = resolve(&when.date, when.add_days, &seconds);
        if (step != 0 && seconds + when.add_seconds <= now) {
            is_there = resolve(&when.date, when.add_days + step, &seconds);
        }
    }
    seconds += when.add_seconds;
    if (!is_there || seconds < 0 || seconds > SECONDS_MAX) {
        *ret_offset = strspn(text, " \t");
        return is_there ? WHEN_MALFORMED : WHEN_SKIPPED;
    }
    *ret_ns = seconds * SECOND + (is_now ? now_ns % SECOND : 0);
    return WHEN_READ;
}

void when_write(int64_t ns, char buffer[WHEN_SIZE])
{
    time_t seconds = (time_t)(ns / SECOND);
    struct tm date;
    char text[32];
    tzset();
    (void)localtime_r(&seconds, &date);
    (void)strftime(text, sizeof(text), "%a %Y-%m-%d %H:%M:%S", &date);
    unsigned minutes = (unsigned)(labs(date.tm_gmtoff) / 60);
    (void)snprintf(buffer, WHEN_SIZE, "%s %c%02u:%02u", text, date.tm_gmtoff < 0 ? '-' : '+',
                   minutes / 60 % 100, minutes % 60);
}
