/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cron/calendar.h"
#include "cron/zones.h"
#include "support/harness.h"

#define FOLDER ZONES_FOLDER

static struct weiri_zone *load(const char *name)
{
    struct weiri_zone *zone = NULL;
    enum weir_status status = weiri_zone_load(test_allocator(), FOLDER, name, &zone);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", name, weir_status_name((int)status));
    }
    return zone;
}

static int64_t offset_at(const struct weiri_zone *zone, int64_t time_s)
{
    return zone->spans[weiri_zone_span_at(zone, time_s)].offset_s;
}

/* What every zone must be, however it came about. */
static void check_sound(const struct weiri_zone *zone)
{
    CHECK_INT(zone->count, >=, 1);
    CHECK_INT(zone->spans[0].start_s, ==, WEIRI_ZONE_BEGIN);
    int64_t fresh_s = WEIRI_ZONE_BEGIN + zone->spans[0].offset_s;
    for (size_t i = 0; i < zone->count; i++) {
        const struct weiri_span *span = &zone->spans[i];
        CHECK_INT(span->start_s, <, weiri_zone_span_end(zone, i));
        CHECK_INT(span->offset_s, >=, WEIRI_OFFSET_LEAST);
        CHECK_INT(span->offset_s, <=, WEIRI_OFFSET_MOST);
        CHECK_INT(span->fresh_s, ==, fresh_s);
        CHECK(i == 0 || span->offset_s != zone->spans[i - 1].offset_s);
        CHECK_INT(weiri_zone_span_at(zone, span->start_s), ==, i);
        int64_t end_s = weiri_zone_span_end(zone, i) + span->offset_s;
        fresh_s = end_s > fresh_s ? end_s : fresh_s;
    }
}

/* The C library's answer, by its own reader of the same files. Only here is the environment used.
 */
static int64_t libc_offset_at(int64_t time_s)
{
    time_t time = (time_t)time_s;
    struct tm local;
    CHECK(localtime_r(&time, &local) != NULL);
    int64_t days = weiri_days_of((int64_t)local.tm_year + 1900, (unsigned)local.tm_mon + 1,
                                 (unsigned)local.tm_mday);
    return days * WEIRI_DAY_SECONDS + local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec -
           time_s;
}

static uint64_t times_compared;

static void compare_with_libc(const char *name)
{
    struct weiri_zone *zone = load(name);
    check_sound(zone);
    CHECK(setenv("TZ", name, 1) == 0);
    tzset();
    for (size_t i = 0; i < zone->count + 300; i++) {
        int64_t time_s = i < zone->count ? zone->spans[i].start_s + (int64_t)test_random_below(2)
                                         : (int64_t)test_random_below(WEIRI_ZONE_END);
        for (int64_t at_s = time_s - 1; at_s <= time_s; at_s++) {
            if (at_s < WEIRI_ZONE_BEGIN) {
                continue;
            }
            if (offset_at(zone, at_s) != libc_offset_at(at_s)) {
                test_fail(__FILE__, __LINE__, "%s at %lld: %lld, the C library says %lld", name,
                          (long long)at_s, (long long)offset_at(zone, at_s),
                          (long long)libc_offset_at(at_s));
            }
            times_compared++;
        }
    }
    weiri_zone_free(zone);
}

TEST(whole_database, "every zone of the system shows what the C library says")
{
    const struct zones *zones = zones_of_system();
    for (size_t i = 0; i < zones->count; i++) {
        compare_with_libc(zones->names[i]);
    }
    printf("%zu zones, %llu times\n", zones->count, (unsigned long long)times_compared);
}

TEST(known_times, "Berlin changes when everybody there does, also far in the future")
{
    struct weiri_zone *zone = load("Europe/Berlin");
    CHECK_INT(offset_at(zone, 1711846799), ==, 3600); /* 2024-03-31 00:59:59 UTC */
    CHECK_INT(offset_at(zone, 1711846800), ==, 7200);
    CHECK_INT(offset_at(zone, 1729990799), ==, 7200); /* 2024-10-27 00:59:59 UTC */
    CHECK_INT(offset_at(zone, 1729990800), ==, 3600);
    CHECK_INT(offset_at(zone, INT64_C(7279858799)), ==, 7200); /* 2200-09-08 */
    CHECK_INT(offset_at(zone, WEIRI_ZONE_END - 1), ==, 7200);
    CHECK_INT(offset_at(zone, WEIRI_ZONE_BEGIN), ==, 3208); /* local mean time */
    weiri_zone_free(zone);
}

TEST(utc, "UTC needs no file")
{
    struct weiri_zone *zone = NULL;
    CHECK_STATUS(weiri_zone_load(test_allocator(), "nowhere", "UTC", &zone), WEIR_OK);
    check_sound(zone);
    CHECK_INT(zone->count, ==, 1);
    CHECK_INT(offset_at(zone, 0), ==, 0);
    weiri_zone_free(zone);
    CHECK_STATUS(weiri_zone_load_local(test_allocator(), "nowhere", &zone), WEIR_OK);
    CHECK_INT(zone->count, ==, 1);
    weiri_zone_free(zone);
}

TEST(local, "a local zone is read from its file, through links")
{
    CHECK(symlink(FOLDER "/Asia/Kolkata", "localtime") == 0);
    struct weiri_zone *zone = NULL;
    CHECK_STATUS(weiri_zone_load_local(test_allocator(), "localtime", &zone), WEIR_OK);
    CHECK_INT(offset_at(zone, 1700000000), ==, 19800);
    weiri_zone_free(zone);
}

TEST(bad_names, "a name that leads anywhere but into the folder is refused")
{
    static const struct {
        const char *name;
        enum weir_status status;
    } rows[] = {
        {"", WEIR_EINVAL},
        {"/etc/localtime", WEIR_EINVAL},
        {"../../../etc/localtime", WEIR_EINVAL},
        {"Europe/../Europe/Berlin", WEIR_EINVAL},
        {"Europe//Berlin", WEIR_EINVAL},
        {"Europe/Berlin/", WEIR_EINVAL},
        {"Europe/./Berlin", WEIR_EINVAL},
        {".hidden", WEIR_EINVAL},
        {"-option", WEIR_EINVAL},
        {"Europe/Ber lin", WEIR_EINVAL},
        {"Europe/Berlin\n", WEIR_EINVAL},
        {"Europe\\Berlin", WEIR_EINVAL},
        {"Europe/K\xc3\xb6ln", WEIR_EINVAL},
        {":Europe/Berlin", WEIR_EINVAL},
        {"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
         "89012345678901234567890123456789012345678",
         WEIR_EINVAL},
        {"Europe/Nowhere", WEIR_ENOTFOUND},
        {"Europe/Berlin/Mitte", WEIR_ENOTFOUND},
        {"Europe", WEIR_ECORRUPT},
        {"zone.tab", WEIR_ECORRUPT},
        {"right/Europe/Berlin", WEIR_ENOTSUP},
    };
    struct weiri_zone *zone = NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum weir_status status = weiri_zone_load(test_allocator(), FOLDER, rows[i].name, &zone);
        if (status != rows[i].status) {
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].name, weir_status_name((int)status));
        }
        CHECK(zone == NULL);
    }
    CHECK_STATUS(weiri_zone_load(test_allocator(), "nowhere", "Europe/Berlin", &zone),
                 WEIR_ENOTFOUND);
}

TEST(bad_places, "what is no regular file of moderate size is no zone, and is not waited for")
{
    CHECK(mkdir("folder", 0700) == 0 && mkfifo("pipe", 0600) == 0);
    FILE *file = fopen("large", "wb");
    CHECK(file != NULL && fseek(file, 256L * 1024, SEEK_SET) == 0 && fputc(0, file) == 0);
    CHECK(fclose(file) == 0);
    file = fopen("empty", "wb");
    CHECK(file != NULL && fclose(file) == 0);
    CHECK(symlink("loop", "loop") == 0 && symlink("absent", "dangling") == 0);
    struct weiri_zone *zone = NULL;
    static const char *const corrupt[] = {"folder", "pipe", "large", "empty"};
    for (size_t i = 0; i < sizeof(corrupt) / sizeof(corrupt[0]); i++) {
        CHECK_STATUS(weiri_zone_load(test_allocator(), ".", corrupt[i], &zone), WEIR_ECORRUPT);
        CHECK_STATUS(weiri_zone_load_local(test_allocator(), corrupt[i], &zone), WEIR_ECORRUPT);
    }
    CHECK_STATUS(weiri_zone_load(test_allocator(), ".", "loop", &zone), WEIR_EACCESS);
    CHECK_STATUS(weiri_zone_load(test_allocator(), ".", "dangling", &zone), WEIR_ENOTFOUND);
    if (geteuid() != 0) {
        CHECK(chmod("empty", 0) == 0);
        CHECK_STATUS(weiri_zone_load(test_allocator(), ".", "empty", &zone), WEIR_EACCESS);
    }
}

TEST_OOM(no_memory, "without memory there is no zone, and no leak")
{
    struct weiri_zone *zone = NULL;
    if (CHECK_OR_OOM(weiri_zone_load(test_allocator(), FOLDER, "Europe/Berlin", &zone))) {
        CHECK(zone == NULL);
        return;
    }
    check_sound(zone);
    weiri_zone_free(zone);
    if (!CHECK_OR_OOM(weiri_zone_load(test_allocator(), FOLDER, "UTC", &zone))) {
        weiri_zone_free(zone);
    }
}
