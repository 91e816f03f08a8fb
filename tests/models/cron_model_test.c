/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <weir/cron.h>

#include "cron/tzif.h"
#include "cron/zone.h"
#include "cron/zones.h"
#include "support/harness.h"

/* Random expressions in zones of the system and in impossible ones, around changes of clocks,
 * against a reference that looks at the clock on the wall every second, as cron does every minute.
 * WEIR_TEST_SCALE lengthens the campaign. */

#define DAY_S 86400
/* How long the reference looks, and from how long before on: labels come back after a day and a bit
 * at most in the system's zones. */
#define WINDOW_S (3 * DAY_S)
#define BEFORE_S (3 * DAY_S)
#define FIRINGS_MAX (WINDOW_S + 1)

/* An expression as sets of values; text is what says the same. */
struct expression {
    bool second[60], minute[60], hour[24], day[32], month[13], weekday[7];
    bool has_star[6]; /* the fields in this order */
    char text[512];
};

/* Appends a random field, and marks its values. */
static void add_field(struct expression *e, int field, bool *values, unsigned least, unsigned most,
                      bool is_often_star)
{
    char *end = e->text + strlen(e->text);
    size_t room = sizeof(e->text) - (size_t)(end - e->text);
    uint64_t items = 1 + test_random_below(3);
    if (is_often_star && test_random_below(3) > 0) {
        items = 1;
    }
    for (uint64_t i = 0; i < items; i++) {
        unsigned low = least + (unsigned)test_random_below(most - least + 1);
        unsigned high = low + (unsigned)test_random_below(most - low + 1);
        unsigned step = 1 + (unsigned)test_random_below(most);
        int length = 0;
        switch (is_often_star && items == 1 ? test_random_below(2) : test_random_below(7)) {
        case 0:
            length = snprintf(end, room, "*");
            low = least;
            high = most;
            step = 1;
            break;
        case 1:
            length = snprintf(end, room, "*/%u", step);
            low = least;
            high = most;
            break;
        case 2:
            length = snprintf(end, room, "%u-%u/%u", low, high, step);
            break;
        case 3:
            length = snprintf(end, room, "%u-%u", low, high);
            step = 1;
            break;
        case 4:
            length = snprintf(end, room, "%u/%u", low, step);
            high = most;
            break;
        default:
            length = snprintf(end, room, "%u", low);
            high = low;
        }
        if (i == 0) {
            e->has_star[field] = *end == '*';
        }
        for (unsigned value = low; value <= high; value += step) {
            values[field == 5 ? value % 7 : value] = true;
        }
        end += length;
        room -= (size_t)length;
        (void)snprintf(end, room, i + 1 < items ? "," : " ");
        end++;
        room--;
    }
}

static void random_expression(struct expression *e, const char *zone)
{
    memset(e, 0, sizeof(*e));
    (void)snprintf(e->text, sizeof(e->text), "CRON_TZ=%s ", zone);
    if (test_random_below(4) == 0) {
        add_field(e, 0, e->second, 0, 59, false);
    } else {
        e->second[0] = true;
    }
    add_field(e, 1, e->minute, 0, 59, test_random_below(4) == 0);
    add_field(e, 2, e->hour, 0, 23, test_random_below(4) == 0);
    add_field(e, 3, e->day, 1, 31, test_random_below(4) > 0);
    add_field(e, 4, e->month, 1, 12, test_random_below(4) > 0);
    add_field(e, 5, e->weekday, 0, 7, test_random_below(4) > 0);
}

static bool day_matches(const struct expression *e, const struct tm *date)
{
    bool day = e->day[date->tm_mday];
    bool weekday = e->weekday[date->tm_wday];
    if (!e->month[date->tm_mon + 1]) {
        return false;
    }
    return e->has_star[3] || e->has_star[5] ? day && weekday : day || weekday;
}

/* The day that was looked at last, for the expression whose firings are being found. */
static struct {
    int64_t start_s;
    bool is_good;
} looked_at;

/* Labels as the C library has them for UTC. The last day is kept, for a walk along the clock. */
static bool label_matches(const struct expression *e, int64_t label_s)
{
    int64_t start_s = label_s - ((label_s % DAY_S) + DAY_S) % DAY_S;
    if (start_s != looked_at.start_s) {
        struct tm date;
        time_t start = (time_t)start_s;
        CHECK(gmtime_r(&start, &date) != NULL);
        looked_at.start_s = start_s;
        looked_at.is_good = day_matches(e, &date);
    }
    int64_t second = label_s - start_s;
    return looked_at.is_good && e->hour[second / 3600] && e->minute[second / 60 % 60] &&
           e->second[second % 60];
}

struct firings {
    size_t count;
    int64_t times[FIRINGS_MAX];
};

/* What fires in (from, from + WINDOW_S]. */
static void find_firings(const struct expression *e, const struct weiri_zone *zone, int64_t from_s,
                         struct firings *firings)
{
    bool is_real_time = e->has_star[0] || e->has_star[1] || e->has_star[2];
    int64_t begin_s = from_s - BEFORE_S > WEIRI_ZONE_BEGIN ? from_s - BEFORE_S : WEIRI_ZONE_BEGIN;
    size_t span = weiri_zone_span_at(zone, begin_s);
    int64_t highest_s = begin_s + zone->spans[span].offset_s - 1;
    firings->count = 0;
    looked_at.start_s = INT64_MIN; /* none */
    for (int64_t now_s = begin_s; now_s <= from_s + WINDOW_S; now_s++) {
        if (now_s >= weiri_zone_span_end(zone, span)) {
            span++;
        }
        int64_t label_s = now_s + zone->spans[span].offset_s;
        bool fires = is_real_time && now_s > from_s && label_matches(e, label_s);
        /* Each label that is new, those that were skipped included. */
        while (!is_real_time && highest_s < label_s) {
            highest_s++;
            fires |= now_s > from_s && label_matches(e, highest_s);
        }
        if (fires) {
            firings->times[firings->count++] = now_s;
        }
    }
}

static bool is_possible(const struct expression *e)
{
    static const unsigned days[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_either = !e->has_star[3] && !e->has_star[5];
    for (unsigned month = 1; month <= 12; month++) {
        for (unsigned day = 1; day <= days[month]; day++) {
            is_either |= e->month[month] && e->day[day];
        }
    }
    return is_either;
}

static uint64_t compared;

/* All that fires within the window, one by one; a time in between to begin with as well. */
static void compare(const struct expression *e, const struct weir_cron_options *options,
                    const struct weiri_zone *zone, int64_t from_s)
{
    static struct firings firings;
    weir_cron *cron = NULL;
    enum weir_status status = weir_cron_new(e->text, options, &cron, NULL);
    if (!is_possible(e)) {
        CHECK_STATUS(status, WEIR_EINVAL);
        return;
    }
    CHECK_STATUS(status, WEIR_OK);
    find_firings(e, zone, from_s, &firings);
    int64_t at_ns = WEIR_SECONDS(from_s);
    for (size_t i = 0; i <= firings.count; i++) {
        int64_t next_ns = WEIR_FOREVER;
        status = weir_cron_next(cron, at_ns, &next_ns);
        CHECK(status == WEIR_OK || status == WEIR_ENOTFOUND);
        bool is_same = i < firings.count ? next_ns == WEIR_SECONDS(firings.times[i])
                                         : next_ns > WEIR_SECONDS(from_s + WINDOW_S);
        if (!is_same) {
            test_fail(__FILE__, __LINE__, "%s: after %lld %lld, expected %lld", e->text,
                      (long long)at_ns, (long long)next_ns,
                      (long long)(i < firings.count ? WEIR_SECONDS(firings.times[i]) : -1));
        }
        at_ns = next_ns;
        compared++;
    }
    if (firings.count > 0) {
        size_t i = (size_t)test_random_below(firings.count);
        int64_t before_s = i == 0 ? from_s : firings.times[i - 1];
        int64_t between_s =
            before_s + (int64_t)test_random_below((uint64_t)(firings.times[i] - before_s));
        CHECK_STATUS(weir_cron_next(cron, WEIR_SECONDS(between_s), &at_ns), WEIR_OK);
        CHECK_INT(at_ns, ==, WEIR_SECONDS(firings.times[i]));
    }
    weir_cron_unref(cron);
}

/* Before a change of the zone's clocks, or anywhere. */
static int64_t random_time(const struct weiri_zone *zone)
{
    int64_t time_s = (int64_t)test_random_below(2 * 9000000000U) - 9000000000;
    if (zone->count > 1 && test_random_below(8) > 0) {
        time_s = zone->spans[1 + test_random_below(zone->count - 1)].start_s;
    }
    time_s -= (int64_t)test_random_below(WINDOW_S);
    int64_t least_s = -9223000000;
    int64_t most_s = 9223000000;
    return time_s < least_s ? least_s : time_s > most_s ? most_s : time_s;
}

TEST(zones_of_system, "expressions fire when a clock on the wall says so, in any zone")
{
    const struct zones *zones = zones_of_system();
    struct weir_cron_options options = {0};
    options.allocator = *test_allocator();
    options.flags = WEIR_CRON_SECONDS;
    for (uint64_t i = 0; i < test_scaled(50); i++) {
        const char *name = zones->names[test_random_below(zones->count)];
        struct weiri_zone *zone = NULL;
        CHECK_STATUS(weiri_zone_load(test_allocator(), ZONES_FOLDER, name, &zone), WEIR_OK);
        for (int n = 0; n < 4; n++) {
            struct expression e;
            random_expression(&e, name);
            compare(&e, &options, zone, random_time(zone));
        }
        weiri_zone_free(zone);
    }
    printf("%llu firings\n", (unsigned long long)compared);
    CHECK(compared > 1000);
}

/* A zone with many changes within days, forward and back over one another. */
static void write_wild_zone(void)
{
    struct tzif file = {.version = '2', .first_s = (int32_t)test_random_below(20000) - 10000};
    int64_t at_s = 1700000000;
    file.count = 1 + (size_t)test_random_below(12);
    for (size_t i = 0; i < file.count; i++) {
        static const uint64_t gaps[] = {10, 4000, 50000};
        at_s += 1 + (int64_t)test_random_below(gaps[test_random_below(3)]);
        file.times[i] = at_s;
        file.offsets[i] = (int32_t)test_random_below(2 * 43200) - 43200;
        if (test_random_below(2) == 0) {
            file.offsets[i] = file.offsets[i] / 1800 * 1800;
        }
    }
    tzif_write(&file, "Wild");
}

TEST(wild_zones, "expressions do so also where clocks are changed back and forth")
{
    struct weir_cron_options options = {0};
    options.allocator = *test_allocator();
    options.flags = WEIR_CRON_SECONDS;
    options.zone_folder = ".";
    for (uint64_t i = 0; i < test_scaled(50); i++) {
        struct weiri_zone *zone = NULL;
        write_wild_zone();
        CHECK_STATUS(weiri_zone_load(test_allocator(), ".", "Wild", &zone), WEIR_OK);
        for (int n = 0; n < 4; n++) {
            struct expression e;
            random_expression(&e, "Wild");
            compare(&e, &options, zone, 1700000000 - DAY_S + (int64_t)test_random_below(DAY_S));
        }
        weiri_zone_free(zone);
    }
    printf("%llu firings\n", (unsigned long long)compared);
    CHECK(compared > 1000);
}
