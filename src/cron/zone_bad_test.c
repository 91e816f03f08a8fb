/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cron/tzif.h"
#include "cron/zone.h"
#include "cron/zone_rule.h"
#include "cron/zones.h"
#include "support/harness.h"

/* Zones that are damaged, or of forms that the system's database has not. */

/* The bytes are in a block of their exact size, for the sanitizers to watch. */
static enum weir_status decode(const unsigned char *bytes, size_t size, struct weiri_zone **zone)
{
    unsigned char *exact = malloc(size + (size == 0));
    CHECK(exact != NULL);
    memcpy(exact, bytes, size);
    enum weir_status status = weiri_zone_decode(test_allocator(), exact, size, zone);
    free(exact);
    return status;
}

/* Whatever a file says, what comes out of it is a row of spans. */
static void check_sound(const struct weiri_zone *zone)
{
    CHECK_INT(zone->count, >=, 1);
    CHECK_INT(zone->spans[0].start_s, ==, WEIRI_ZONE_BEGIN);
    for (size_t i = 0; i < zone->count; i++) {
        const struct weiri_span *span = &zone->spans[i];
        CHECK_INT(span->start_s, <, weiri_zone_span_end(zone, i));
        CHECK_INT(span->offset_s, >=, WEIRI_OFFSET_LEAST);
        CHECK_INT(span->offset_s, <=, WEIRI_OFFSET_MOST);
        CHECK(i == 0 || span->fresh_s >= zone->spans[i - 1].fresh_s);
    }
}

static int64_t offset_at(const struct weiri_zone *zone, int64_t time_s)
{
    return zone->spans[weiri_zone_span_at(zone, time_s)].offset_s;
}

static struct weiri_zone *zone_of(const struct tzif *file)
{
    struct tzif_bytes b = tzif_encode(file);
    struct weiri_zone *zone = NULL;
    CHECK_STATUS(decode(b.bytes, b.size, &zone), WEIR_OK);
    check_sound(zone);
    return zone;
}

TEST(versions, "version 1 ends with its table, later ones go on by their rule")
{
    struct tzif file = {.first_s = 10, .count = 1, .times = {0}, .offsets = {3600}};
    struct weiri_zone *zone = zone_of(&file);
    CHECK_INT(offset_at(zone, -1), ==, 10);
    CHECK_INT(offset_at(zone, 0), ==, 3600);
    CHECK_INT(offset_at(zone, WEIRI_ZONE_END - 1), ==, 3600);
    CHECK_INT(zone->count, ==, 2);
    weiri_zone_free(zone);
    for (const char *version = "2345"; *version != '\0'; version++) {
        file.version = *version;
        file.footer = "CET-1CEST,M3.5.0,M10.5.0/3";
        zone = zone_of(&file);
        CHECK_INT(offset_at(zone, -1), ==, 10);
        CHECK_INT(offset_at(zone, 1711846800), ==, 7200); /* 2024-03-31 01:00 UTC */
        CHECK_INT(offset_at(zone, 1711846799), ==, 3600);
        weiri_zone_free(zone);
    }
}

TEST(rule_alone, "a rule without a table holds at all times")
{
    struct tzif file = {.version = '2', .first_s = 10, .footer = "CET-1"};
    struct weiri_zone *zone = zone_of(&file);
    CHECK_INT(zone->count, ==, 1);
    CHECK_INT(offset_at(zone, 0), ==, 3600);
    weiri_zone_free(zone);
    file.count = 1;
    file.offsets[0] = 3600;
    zone = zone_of(&file);
    CHECK_INT(offset_at(zone, -1), ==, 10);
    CHECK_INT(offset_at(zone, 0), ==, 3600);
    weiri_zone_free(zone);
}

TEST(rules, "rules of every form change when they say")
{
    static const struct {
        const char *footer;
        int64_t time_s; /* of a change in 2024, */
        int32_t before_s, after_s;
    } rows[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1729990800, 7200, 3600},
        {"EST5EDT,M3.2.0,M11.1.0", 1710054000, -18000, -14400},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", 1712419200, 39600, 36000},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1711846800, 0, 3600},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1711846800, -7200, -3600},
        {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 1712415600, 39600, 37800},
        {"XXX3YYY,J60/0,J300/0", 1709262000, -10800, -7200}, /* 1 March, also in leap years */
        {"XXX3YYY,59/0,300/0", 1709175600, -10800, -7200},   /* 29 February */
        {"IST-2IDT,M3.4.4/26,M10.5.0", 1711670400, 7200, 10800},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tzif file = {.version = '3', .footer = rows[i].footer};
        struct weiri_zone *zone = zone_of(&file);
        int64_t before_s = offset_at(zone, rows[i].time_s - 1);
        int64_t after_s = offset_at(zone, rows[i].time_s);
        if (before_s != rows[i].before_s || after_s != rows[i].after_s) {
            test_fail(__FILE__, __LINE__, "%s: from %lld to %lld", rows[i].footer,
                      (long long)before_s, (long long)after_s);
        }
        weiri_zone_free(zone);
    }
}

TEST(endless_summer, "a summer that ends when the next begins never ends")
{
    struct tzif file = {.version = '3', .footer = "EST5EDT,0/0,J365/25"};
    struct weiri_zone *zone = zone_of(&file);
    CHECK_INT(zone->count, ==, 1);
    CHECK_INT(offset_at(zone, 0), ==, -14400);
    weiri_zone_free(zone);
    file.footer = "EST5EDT,M3.5.0/1,M3.5.0/2"; /* one that ends as it begins */
    zone = zone_of(&file);
    CHECK_INT(zone->count, ==, 1);
    CHECK_INT(offset_at(zone, 0), ==, -18000);
    weiri_zone_free(zone);
}

TEST(bad_rules, "a footer that is no rule is refused")
{
    static const char *const footers[] = {
        "C",
        "CET",
        "CET-25",
        "CET-1CEST",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M3.5.0,",
        "CET-1CEST,M0.5.0,M10.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.0.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,M3.5.0/168,M10.5.0",
        "CET-1CEST,J0,J1",
        "CET-1CEST,J366,J1",
        "CET-1CEST,366,1",
        "CET-1CEST,M3.5.0,M10.5.0 ",
        "CET-1CEST,M3.5.0,M10.5.0,",
        "CET-1:60",
        "<CET-1",
        "<>-1",
        "<ab>-1",
        "<a>-1",
        "CET-0001",
        "CET--1",
        ":Europe/Berlin",
        "CET-1CEST-2;M3.5.0,M10.5.0",
        "CET-1CE2ST,M3.5.0,M10.5.0",
        "CET-1CEST,M3.5.0/,M10.5.0",
        "CET-1CEST,,",
    };
    for (size_t i = 0; i < sizeof(footers) / sizeof(footers[0]); i++) {
        struct tzif file = {.version = '2', .footer = footers[i]};
        struct tzif_bytes b = tzif_encode(&file);
        struct weiri_zone *zone = NULL;
        if (decode(b.bytes, b.size, &zone) != WEIR_ECORRUPT) {
            test_fail(__FILE__, __LINE__, "not refused: %s", footers[i]);
        }
    }
}

TEST(truncated, "a file that ends early is refused, wherever it does")
{
    struct tzif file = {.version = '2', .count = 2, .times = {0, 10}, .footer = "UTC0"};
    for (int version = 0; version < 2; version++) {
        struct tzif_bytes b = tzif_encode(&file);
        struct weiri_zone *zone = NULL;
        for (size_t size = 0; size < b.size; size++) {
            CHECK_STATUS(decode(b.bytes, size, &zone), WEIR_ECORRUPT);
        }
        CHECK_STATUS(decode(b.bytes, b.size, &zone), WEIR_OK);
        weiri_zone_free(zone);
        file.version = '\0';
    }
}

TEST(damaged, "what does not fit together is refused")
{
    struct tzif good = {.count = 2, .times = {5, 10}, .offsets = {60, 120}};
    struct tzif_bytes b = tzif_encode(&good);
    static const struct {
        const char *what;
        size_t at;
        unsigned char value;
        enum weir_status status;
    } rows[] = {
        {"magic", 0, 't', WEIR_ECORRUPT},
        {"no types", 39, 0, WEIR_ECORRUPT},
        {"more types than there are bytes", 36, 255, WEIR_ECORRUPT},
        {"more times than there are bytes", 32, 255, WEIR_ECORRUPT},
        {"more names than there are bytes", 40, 255, WEIR_ECORRUPT},
        {"times that go back", 44 + 3, 11, WEIR_ECORRUPT},
        {"times that stand still", 44 + 3, 10, WEIR_ECORRUPT},
        {"a type that is not there", 44 + 8, 3, WEIR_ECORRUPT},
        {"an offset of years", 44 + 10, 0x7f, WEIR_ECORRUPT},
        {"an offset of years to the west", 44 + 10, 0x80, WEIR_ECORRUPT},
        {"no names", 43, 0, WEIR_OK},
        {"bytes behind the end", 44, 0, WEIR_OK},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tzif_bytes damaged = b;
        struct weiri_zone *zone = NULL;
        damaged.bytes[rows[i].at] = rows[i].value;
        damaged.size += rows[i].status == WEIR_OK;
        enum weir_status status = decode(damaged.bytes, damaged.size, &zone);
        if (status != rows[i].status) {
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].what, weir_status_name((int)status));
        }
        weiri_zone_free(zone);
    }
}

TEST(leap_seconds, "a zone that counts leap seconds is not read as one that does not")
{
    struct weiri_zone *zone = NULL;
    CHECK_STATUS(weiri_zone_load(test_allocator(), ZONES_FOLDER, "right/Europe/Berlin", &zone),
                 WEIR_ENOTSUP);
}

static size_t read_zone(const char *name, unsigned char *bytes, size_t room)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", ZONES_FOLDER, name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t size = fread(bytes, 1, room, file);
    CHECK(fclose(file) == 0);
    return size;
}

/* One of a few kinds of damage. */
static size_t damage(unsigned char *bytes, size_t size)
{
    size_t at = (size_t)test_random_below(size);
    switch (test_random_below(5)) {
    case 0:
        bytes[at] = (unsigned char)test_random();
        return size;
    case 1:
        bytes[at] ^= (unsigned char)(1U << test_random_below(8));
        return size;
    case 2: /* numbers at their ends */
        for (size_t i = at; i < at + 4 && i < size; i++) {
            bytes[i] = test_random_below(2) == 0 ? 0xff : 0;
        }
        return size;
    case 3: /* the header, where the counts are, or the rule */
        at = test_random_below(2) == 0 ? 20 + (size_t)test_random_below(24)
                                       : size - 1 - (size_t)test_random_below(30);
        bytes[at < size ? at : 0] = (unsigned char)test_random();
        return size;
    default:
        return at + 1;
    }
}

TEST(random_damage, "damage of any kind makes a refusal or a zone, and nothing else")
{
    const struct zones *zones = zones_of_system();
    uint64_t refused = 0;
    uint64_t taken = 0;
    for (uint64_t i = 0; i < test_scaled(30000); i++) {
        unsigned char bytes[8192];
        size_t size =
            read_zone(zones->names[test_random_below(zones->count)], bytes, sizeof(bytes));
        for (uint64_t n = test_random_below(4); n < 4; n++) {
            size = damage(bytes, size);
        }
        struct weiri_zone *zone = NULL;
        enum weir_status status = decode(bytes, size, &zone);
        if (status == WEIR_OK) {
            check_sound(zone);
            weiri_zone_free(zone);
            taken++;
        } else {
            CHECK(status == WEIR_ECORRUPT || status == WEIR_ENOTSUP);
            CHECK(zone == NULL);
            refused++;
        }
    }
    printf("%llu refused, %llu taken\n", (unsigned long long)refused, (unsigned long long)taken);
    CHECK(refused > 0 && taken > 0);
}
