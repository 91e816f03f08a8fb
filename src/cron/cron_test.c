/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/cron.h"

#include "cron/crons.h"

TEST(values, "values, lists, ranges, stars and steps")
{
    CRON_CHECK("* * * * *", "2024-05-01 10:00:30", "2024-05-01 10:01", "2024-05-01 10:02");
    CRON_CHECK("5 4 * * *", "2024-05-01 04:05", "2024-05-02 04:05", "2024-05-03 04:05");
    CRON_CHECK("59,0,30 23 * * *", "2024-12-31 23:10", "2024-12-31 23:30", "2024-12-31 23:59",
               "2025-01-01 23:00");
    CRON_CHECK("0 9-11,22 * * *", "2024-05-01 10:30", "2024-05-01 11:00", "2024-05-01 22:00",
               "2024-05-02 09:00");
    CRON_CHECK("*/25 0 * * *", "2024-05-01 00:00", "2024-05-01 00:25", "2024-05-01 00:50",
               "2024-05-02 00:00");
    CRON_CHECK("0 1-9/4 * * *", "2024-05-01 00:00", "2024-05-01 01:00", "2024-05-01 05:00",
               "2024-05-01 09:00", "2024-05-02 01:00");
    CRON_CHECK("40/10 12 * * *", "2024-05-01 00:00", "2024-05-01 12:40", "2024-05-01 12:50",
               "2024-05-02 12:40");
    CRON_CHECK("\t0  0\t1 1 *  ", "2024-05-01 00:00", "2025-01-01 00:00");
}

TEST(seconds, "a sixth field in front is the second, where it was asked for")
{
    CRON_CHECK("15,45 * * * * *", "2024-05-01 10:00:15", "2024-05-01 10:00:45",
               "2024-05-01 10:01:15");
    CRON_CHECK("*/30 59 23 31 12 *", "2024-05-01 00:00", "2024-12-31 23:59", "2024-12-31 23:59:30",
               "2025-12-31 23:59");
    CRON_CHECK("59 23 31 12 *", "2024-05-01 00:00", "2024-12-31 23:59");
    struct weir_cron_options options = {0};
    struct weir_error error;
    weir_cron *cron = NULL;
    CHECK_STATUS(weir_cron_new("1 2 3 4 5 6", &options, &cron, &error), WEIR_EINVAL);
    CHECK_STRING(error.text, "piece \"6\" at offset 10: expected nothing more");
}

TEST(names, "months and days of the week have names in either case")
{
    CRON_CHECK("0 0 1 jan,JUL-Aug,dec *", "2024-05-01 00:00", "2024-07-01 00:00",
               "2024-08-01 00:00", "2024-12-01 00:00", "2025-01-01 00:00");
    CRON_CHECK("0 0 * * Mon-wed/2", "2024-05-01 00:00", "2024-05-06 00:00", "2024-05-08 00:00",
               "2024-05-13 00:00");
    CRON_CHECK("0 0 * * 7", "2024-05-01 00:00", "2024-05-05 00:00", "2024-05-12 00:00");
    CRON_CHECK("0 0 * * 0", "2024-05-01 00:00", "2024-05-05 00:00", "2024-05-12 00:00");
    CRON_CHECK("0 0 * * sat-sun", "2024-05-01 00:00", "2024-05-04 00:00", "2024-05-05 00:00",
               "2024-05-11 00:00");
    CRON_CHECK("0 0 * * 5-7", "2024-05-01 00:00", "2024-05-03 00:00", "2024-05-04 00:00",
               "2024-05-05 00:00", "2024-05-10 00:00");
    CRON_CHECK("0 0 * * sun-mon", "2024-05-01 00:00", "2024-05-05 00:00", "2024-05-06 00:00",
               "2024-05-12 00:00");
}

TEST(open_steps, "a value with a step goes on to the last value, which is Sunday in a week")
{
    CRON_CHECK("50/7 0 * * *", "2024-05-01 00:00", "2024-05-01 00:50", "2024-05-01 00:57",
               "2024-05-02 00:50");
    CRON_CHECK("0 0 1 11/1 *", "2024-05-01 00:00", "2024-11-01 00:00", "2024-12-01 00:00",
               "2025-11-01 00:00");
    /* 1 May 2024 was a Wednesday. */
    CRON_CHECK("0 0 * * 3/1", "2024-05-01 00:00", "2024-05-02 00:00", "2024-05-03 00:00",
               "2024-05-04 00:00", "2024-05-05 00:00", "2024-05-08 00:00");
    CRON_CHECK("0 0 * * fri/2", "2024-05-01 00:00", "2024-05-03 00:00", "2024-05-05 00:00",
               "2024-05-10 00:00");
    CRON_CHECK("0 0 * * 4/2", "2024-05-01 00:00", "2024-05-02 00:00", "2024-05-04 00:00",
               "2024-05-09 00:00");
    CRON_CHECK("0 0 * * sun/3", "2024-05-01 00:00", "2024-05-04 00:00", "2024-05-05 00:00",
               "2024-05-08 00:00", "2024-05-11 00:00");
    CRON_CHECK("0 0 * * 7/1", "2024-05-01 00:00", "2024-05-05 00:00", "2024-05-12 00:00");
    CRON_CHECK("0 0 * * */7", "2024-05-01 00:00", "2024-05-05 00:00", "2024-05-12 00:00");
}

TEST(either_day, "of a day of the month and one of the week either is enough, a star is not one")
{
    CRON_CHECK("0 0 13 * fri", "2024-09-01 00:00", "2024-09-06 00:00", "2024-09-13 00:00",
               "2024-09-20 00:00", "2024-09-27 00:00", "2024-10-04 00:00", "2024-10-11 00:00",
               "2024-10-13 00:00");
    CRON_CHECK("0 0 13 * *", "2024-09-01 00:00", "2024-09-13 00:00", "2024-10-13 00:00");
    CRON_CHECK("0 0 * * fri", "2024-09-07 00:00", "2024-09-13 00:00", "2024-09-20 00:00");
    /* Beginning with a star is not restricted, as in Debian's cron: both must match. */
    CRON_CHECK("0 0 */10 * fri", "2024-09-01 00:00", "2024-10-11 00:00", "2024-11-01 00:00");
    CRON_CHECK("0 0 13 * */5", "2024-09-01 00:00", "2024-09-13 00:00", "2024-10-13 00:00",
               "2024-12-13 00:00");
}

TEST(rare_days, "days that few months or years have")
{
    CRON_CHECK("0 0 31 * *", "2024-01-31 00:00", "2024-03-31 00:00", "2024-05-31 00:00");
    CRON_CHECK("0 0 29 2 *", "2096-02-29 00:00", "2104-02-29 00:00", "2108-02-29 00:00");
    CRON_CHECK("0 0 29 2 *", "1896-02-29 00:00", "1904-02-29 00:00");
    CRON_CHECK("0 0 29 2 *", "1999-01-01 00:00", "2000-02-29 00:00");
    CRON_CHECK("0 0 29 2 */6", "2024-05-01 00:00", "2032-02-29 00:00", "2048-02-29 00:00");
    CRON_CHECK("0 0 30 2 mon", "2024-05-01 00:00", "2025-02-03 00:00");
}

TEST(nicknames, "@daily and the like are what they stand for")
{
    static const char *const pairs[][2] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        weir_cron *a = cron_new(pairs[i][0]);
        weir_cron *b = cron_new(pairs[i][1]);
        CHECK(a->fields.seconds == b->fields.seconds && a->fields.minutes == b->fields.minutes);
        CHECK(a->fields.hours == b->fields.hours && a->fields.days == b->fields.days);
        CHECK(a->fields.months == b->fields.months && a->fields.weekdays == b->fields.weekdays);
        CHECK(a->fields.either_day == b->fields.either_day);
        CHECK(a->fields.is_real_time == b->fields.is_real_time);
        weir_cron_unref(a);
        weir_cron_unref(b);
    }
    CRON_CHECK("CRON_TZ=Asia/Kolkata  @daily ", "2024-05-01 00:00", "2024-05-01 18:30");
}

TEST(every, "@every is the multiples of a duration")
{
    CRON_CHECK("@every 90s", "2024-05-01 00:00:01", "2024-05-01 00:01:30", "2024-05-01 00:03");
    CRON_CHECK("@every  1h30m ", "1969-12-31 23:00", "1970-01-01 00:00", "1970-01-01 01:30");
    weir_cron *cron = cron_new("@every 3ns");
    CHECK_INT(weiri_cron_after(cron, 0), ==, 3);
    CHECK_INT(weiri_cron_after(cron, -1), ==, 0);
    CHECK_INT(weiri_cron_after(cron, -3), ==, 0);
    CHECK_INT(weiri_cron_after(cron, -4), ==, -3);
    CHECK_INT(weiri_cron_after(cron, INT64_MIN), ==, INT64_MIN + 2);
    CHECK_INT(weiri_cron_after(cron, INT64_MAX - 1), ==, WEIR_FOREVER);
    CHECK_INT(weiri_cron_after(cron, INT64_MAX), ==, WEIR_FOREVER);
    weir_cron_unref(cron);
}

TEST(gap, "times of the day that are skipped come at the change, once")
{
    /* Berlin, 2024-03-31: 02:00 became 03:00 at 01:00 UTC. */
    CRON_CHECK("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-03-30 00:00", "2024-03-30 01:30",
               "2024-03-31 01:00", "2024-04-01 00:30");
    CRON_CHECK("CRON_TZ=Europe/Berlin 0,10,50 2 * * *", "2024-03-30 02:00", "2024-03-31 01:00",
               "2024-04-01 00:00");
    CRON_CHECK("CRON_TZ=Europe/Berlin 30 2,3 * * *", "2024-03-31 00:00", "2024-03-31 01:00",
               "2024-03-31 01:30", "2024-04-01 00:30");
    CRON_CHECK("CRON_TZ=Europe/Berlin 0 3 * * *", "2024-03-30 12:00", "2024-03-31 01:00",
               "2024-04-01 01:00");
    CRON_CHECK("CRON_TZ=Europe/Berlin 59 1 * * *", "2024-03-30 12:00", "2024-03-31 00:59",
               "2024-03-31 23:59");
    /* Lord Howe, 2024-10-06: 02:00 became 02:30 at 15:30 UTC of the day before. */
    CRON_CHECK("CRON_TZ=Australia/Lord_Howe 15 2 * * *", "2024-10-05 00:00", "2024-10-05 15:30",
               "2024-10-06 15:15");
    /* Sao Paulo, 2017-10-15: midnight became 01:00 at 03:00 UTC. */
    CRON_CHECK("CRON_TZ=America/Sao_Paulo @daily", "2017-10-14 04:00", "2017-10-15 03:00",
               "2017-10-16 02:00");
    CRON_CHECK("CRON_TZ=America/Sao_Paulo 0 0 15 10 *", "2017-10-01 04:00", "2017-10-15 03:00",
               "2018-10-15 03:00");
    /* Apia had no 30 December 2011: the 31st began at 10:00 UTC of the 30th. */
    CRON_CHECK("CRON_TZ=Pacific/Apia 0 12 30 12 *", "2011-12-01 00:00", "2011-12-30 10:00",
               "2012-12-29 22:00");
    CRON_CHECK("CRON_TZ=Pacific/Apia 0 12 * * *", "2011-12-29 00:00", "2011-12-29 22:00",
               "2011-12-30 10:00", "2011-12-30 22:00");
}

TEST(overlap, "times of the day that are shown twice come once, at the first")
{
    /* Berlin, 2024-10-27: 03:00 became 02:00 at 01:00 UTC. */
    CRON_CHECK("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-10-26 12:00", "2024-10-27 00:30",
               "2024-10-28 01:30");
    CRON_CHECK("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-10-27 00:30", "2024-10-28 01:30");
    CRON_CHECK("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-10-27 01:10", "2024-10-28 01:30");
    CRON_CHECK("CRON_TZ=Europe/Berlin 0 2,3 * * *", "2024-10-26 12:00", "2024-10-27 00:00",
               "2024-10-27 02:00", "2024-10-28 01:00");
    CRON_CHECK("CRON_TZ=Europe/Berlin 0 0-23 * * *", "2024-10-26 23:30", "2024-10-27 00:00",
               "2024-10-27 02:00", "2024-10-27 03:00");
}

TEST(real_time, "what begins with a star follows real time over changes")
{
    CRON_CHECK("CRON_TZ=Europe/Berlin 30 * * * *", "2024-03-31 00:00", "2024-03-31 00:30",
               "2024-03-31 01:30", "2024-03-31 02:30");
    CRON_CHECK("CRON_TZ=Europe/Berlin 30 * * * *", "2024-10-26 23:31", "2024-10-27 00:30",
               "2024-10-27 01:30", "2024-10-27 02:30");
    CRON_CHECK("CRON_TZ=Europe/Berlin 30 */2 * * *", "2024-03-30 22:31", "2024-03-30 23:30",
               "2024-03-31 02:30", "2024-03-31 04:30");
    CRON_CHECK("CRON_TZ=Europe/Berlin */30 2 * * *", "2024-03-30 12:00", "2024-04-01 00:00",
               "2024-04-01 00:30");
    CRON_CHECK("CRON_TZ=Europe/Berlin */30 2 * * *", "2024-10-26 12:00", "2024-10-27 00:00",
               "2024-10-27 00:30", "2024-10-27 01:00", "2024-10-27 01:30", "2024-10-28 01:00");
    CRON_CHECK("CRON_TZ=Europe/Berlin * 30 2 * * *", "2024-10-27 00:30:59", "2024-10-27 01:30",
               "2024-10-27 01:30:01");
}

TEST(far_times, "the rule of a zone goes on to the end of the numbers")
{
    CRON_CHECK("CRON_TZ=Europe/Berlin 0 12 1 1,7 *", "2199-12-31 00:00", "2200-01-01 11:00",
               "2200-07-01 10:00");
    weir_cron *cron = cron_new("CRON_TZ=Europe/Berlin 0 0 * * *");
    int64_t at_ns = cron_time("2262-04-10 12:00");
    CHECK_STATUS(weir_cron_next(cron, at_ns, &at_ns), WEIR_OK);
    CHECK_INT(at_ns, ==, cron_time("2262-04-10 22:00"));
    CHECK_STATUS(weir_cron_next(cron, at_ns, &at_ns), WEIR_OK);
    CHECK_INT(at_ns, ==, cron_time("2262-04-11 22:00"));
    int64_t untouched = 7;
    CHECK_STATUS(weir_cron_next(cron, at_ns, &untouched), WEIR_ENOTFOUND);
    CHECK_STATUS(weir_cron_next(cron, INT64_MAX, &untouched), WEIR_ENOTFOUND);
    CHECK_INT(untouched, ==, 7);
    CHECK_STATUS(weir_cron_next(cron, INT64_MIN, &at_ns), WEIR_OK);
    CHECK_INT(at_ns, ==, cron_time("1677-09-21 23:06:32")); /* midnight of local mean time */
    weir_cron_unref(cron);
}

static void check_shown(const char *text, int64_t time_ns, const char *expected)
{
    weir_cron *cron = cron_new(text);
    char shown[64];
    CHECK_INT(weir_cron_format(cron, time_ns, shown, sizeof(shown)), ==, strlen(expected));
    CHECK_STRING(shown, expected);
    weir_cron_unref(cron);
}

TEST(shown, "a time is shown as clocks of the expression's zone show it")
{
    check_shown("CRON_TZ=Europe/Berlin @daily", cron_time("2024-10-27 00:59:59"),
                "Sun 2024-10-27 02:59:59 +02:00");
    check_shown("CRON_TZ=Europe/Berlin @daily", cron_time("2024-10-27 01:00"),
                "Sun 2024-10-27 02:00:00 +01:00");
    check_shown("CRON_TZ=America/St_Johns @daily", cron_time("2024-01-01 00:00"),
                "Sun 2023-12-31 20:30:00 -03:30");
    check_shown("CRON_TZ=Europe/Berlin @daily", cron_time("1677-09-22 00:00"),
                "Wed 1677-09-22 00:53:28 +00:53:28");
    check_shown("CRON_TZ=UTC @every 90s", -1, "Wed 1969-12-31 23:59:59 +00:00");
    CHECK_INT(weir_cron_format(NULL, 0, NULL, 0), ==, 0);
}

TEST(local_zone, "without a zone it is the system's, whatever the environment says")
{
    struct weiri_zone *local = NULL;
    CHECK_STATUS(weiri_zone_load_local(test_allocator(), "/etc/localtime", &local), WEIR_OK);
    struct weir_cron_options options = {0};
    weir_cron *cron = NULL;
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_cron_new("0 12 * * *", &options, &cron, NULL), WEIR_OK);
    CHECK_INT(cron->zone->count, ==, local->count);
    CHECK(memcmp(cron->zone->spans, local->spans, local->count * sizeof(local->spans[0])) == 0);
    weir_cron_unref(cron);
    weiri_zone_free(local);
}

TEST(references, "an expression lives until its last reference goes")
{
    weir_cron *cron = cron_new("@daily");
    CHECK(weiri_cron_ref(cron) == cron);
    weir_cron_unref(cron);
    CHECK_INT(weiri_cron_after(cron, 0), ==, WEIR_SECONDS(86400));
    weir_cron_unref(cron);
    weir_cron_unref(NULL);
    CHECK(weiri_cron_ref(NULL) == NULL);
}

TEST_OOM(no_memory, "without memory there is no expression, and no leak")
{
    struct weir_cron_options options = {0};
    struct weir_error error;
    weir_cron *cron = NULL;
    options.allocator = *test_allocator();
    if (CHECK_OR_OOM(weir_cron_new("CRON_TZ=Europe/Berlin @daily", &options, &cron, &error))) {
        CHECK(cron == NULL);
        CHECK(strstr(error.text, weir_status_text(WEIR_ENOMEM)) != NULL);
        return;
    }
    weir_cron_unref(cron);
}
