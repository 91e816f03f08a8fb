/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/duration.h>

#include <stdio.h>

#include "support/harness.h"

#define DAY WEIR_SECONDS(86400)

TEST(good_texts, "every unit, fractions and sums are read to the nanosecond")
{
    static const struct {
        const char *text;
        int64_t ns;
    } rows[] = {
        {"0", 0},
        {"0s", 0},
        {"0d", 0},
        {"1ns", 1},
        {"1us", 1000},
        {"1ms", 1000000},
        {"1s", 1000000000},
        {"1m", INT64_C(60000000000)},
        {"1h", INT64_C(3600000000000)},
        {"1d", DAY},
        {"250ms", WEIR_MS(250)},
        {"1.5s", WEIR_MS(1500)},
        {"2m30s", WEIR_SECONDS(150)},
        {"1h1m1s1ms1us1ns", WEIR_SECONDS(3661) + 1001001},
        {"30s2m", WEIR_SECONDS(150)},
        {"1s1s", WEIR_SECONDS(2)},
        {"007s", WEIR_SECONDS(7)},
        {"0.5ns", 0},
        {"1.9ns", 1},
        {"0.000000001s", 1},
        {"0.0000000019s", 1},
        {"0.00000000000001d", 0},
        {"0.00000000000002d", 1},
        {"1.999999999999999999999999999999s", 1999999999},
        {"0.10s", WEIR_MS(100)},
        {"106751.991167300645925925d", INT64_MAX},
        {"9223372036854775807ns", INT64_MAX},
        {"9223372036s854775807ns", INT64_MAX},
        {"106751d23h47m16s854ms775us807ns", INT64_MAX},
        {"0.999999999999999999d", DAY - 1},
        /* The 22nd digit decides about a sixtieth of a minute, the 21st about a nanosecond of a
         * day. */
        {"0.0166666666666666666666m", 999999999},
        {"0.0166666666666666666667m", 1000000000},
        {"0.000000000000011574074d", 0},
        {"0.000000000000011574075d", 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ns = -1;
        size_t offset = 77;
        enum weir_status status = weir_duration_parse(rows[i].text, &ns, &offset);
        if (status != WEIR_OK || ns != rows[i].ns || offset != 77) {
            test_fail(__FILE__, __LINE__, "%s: %s, %lld ns, expected %lld", rows[i].text,
                      weir_status_name((int)status), (long long)ns, (long long)rows[i].ns);
        }
    }
}

TEST(bad_texts, "what is no duration is refused, at the first byte that is wrong")
{
    static const struct {
        const char *text;
        enum weir_status status;
        size_t offset;
    } rows[] = {
        {"", WEIR_EINVAL, 0},
        {" 1s", WEIR_EINVAL, 0},
        {"1 s", WEIR_EINVAL, 1},
        {"1s ", WEIR_EINVAL, 2},
        {"-1s", WEIR_EINVAL, 0},
        {"+1s", WEIR_EINVAL, 0},
        {"1", WEIR_EINVAL, 1},
        {"00", WEIR_EINVAL, 2},
        {"0 ", WEIR_EINVAL, 1},
        {"12345", WEIR_EINVAL, 5},
        {"s", WEIR_EINVAL, 0},
        {".5s", WEIR_EINVAL, 0},
        {"5.s", WEIR_EINVAL, 2},
        {"1.5", WEIR_EINVAL, 3},
        {"1..5s", WEIR_EINVAL, 2},
        {"1.5.5s", WEIR_EINVAL, 3},
        {"5x", WEIR_EINVAL, 1},
        {"5sec", WEIR_EINVAL, 1},
        {"5S", WEIR_EINVAL, 1},
        {"5mss", WEIR_EINVAL, 1},
        {"5\xc2\xb5s", WEIR_EINVAL, 1},
        {"1e3s", WEIR_EINVAL, 1},
        {"1e400s", WEIR_EINVAL, 1},
        {"0x10s", WEIR_EINVAL, 1},
        {"nan", WEIR_EINVAL, 0},
        {"inf", WEIR_EINVAL, 0},
        {"1s2", WEIR_EINVAL, 3},
        {"1s-2s", WEIR_EINVAL, 2},
        {"1m,2s", WEIR_EINVAL, 2},
        {"1s\n", WEIR_EINVAL, 2},
        {"9223372036854775808ns", WEIR_ERANGE, 0},
        {"9223372036854775807.5us", WEIR_ERANGE, 0},
        {"9223372036854775807ns1ns", WEIR_ERANGE, 21},
        {"1s9223372036854775807ns", WEIR_ERANGE, 2},
        {"106751.991167300645925926d", WEIR_ERANGE, 0},
        {"106752d", WEIR_ERANGE, 0},
        {"99999999999999999999999999999999s", WEIR_ERANGE, 0},
        {"2562048h", WEIR_ERANGE, 0},
        {"99999999999999999999999999999999x", WEIR_EINVAL, 32},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ns = -77;
        size_t offset = 99;
        enum weir_status status = weir_duration_parse(rows[i].text, &ns, &offset);
        if (status != rows[i].status || offset != rows[i].offset || ns != -77) {
            test_fail(__FILE__, __LINE__, "\"%s\": %s at %zu (%lld ns), expected %s at %zu",
                      rows[i].text, weir_status_name((int)status), offset, (long long)ns,
                      weir_status_name((int)rows[i].status), rows[i].offset);
        }
        CHECK_STATUS(weir_duration_parse(rows[i].text, &ns, NULL), rows[i].status);
    }
}

TEST(null_arguments, "NULL for the text or the result is refused")
{
    int64_t ns = 5;
    size_t offset = 7;
    CHECK_STATUS(weir_duration_parse(NULL, &ns, &offset), WEIR_EINVAL);
    CHECK_INT(ns, ==, 5);
    CHECK_INT(offset, ==, 0);
    CHECK_STATUS(weir_duration_parse("1s", NULL, NULL), WEIR_EINVAL);
}

static const struct {
    int64_t ns;
    const char *text;
} formatted[] = {
    {0, "0s"},
    {1, "1ns"},
    {999, "999ns"},
    {1000, "1us"},
    {1001, "1.001us"},
    {WEIR_US(999) + 999, "999.999us"},
    {WEIR_MS(1), "1ms"},
    {WEIR_US(12500), "12.5ms"},
    {WEIR_MS(1) + 999, "1ms"},
    {WEIR_SECONDS(1), "1s"},
    {WEIR_MS(1500), "1.5s"},
    {WEIR_MS(1050), "1.05s"},
    {WEIR_SECONDS(1) + 999999, "1s"},
    {WEIR_SECONDS(60), "1m"},
    {WEIR_SECONDS(200), "3m20s"},
    {WEIR_SECONDS(3600), "1h"},
    {WEIR_SECONDS(3601), "1h1s"},
    {WEIR_SECONDS(3600) + WEIR_MS(5), "1h0.005s"},
    {DAY * 2 + WEIR_SECONDS(3600), "2d1h"},
    {DAY + WEIR_SECONDS(3661) + WEIR_MS(250), "1d1h1m1.25s"},
    {INT64_MAX, "106751d23h47m16.854s"},
    {-1, "-1ns"},
    {-WEIR_MS(1500), "-1.5s"},
    {INT64_MIN, "-106751d23h47m16.854s"},
};

TEST(formats, "durations are written for people")
{
    for (size_t i = 0; i < sizeof(formatted) / sizeof(formatted[0]); i++) {
        char buffer[64];
        CHECK_INT(weir_duration_format(formatted[i].ns, buffer, sizeof(buffer)), ==,
                  strlen(formatted[i].text));
        CHECK_STRING(buffer, formatted[i].text);
    }
}

TEST(formats_short,
     "a buffer of any size gets what fits, with its NUL, and the whole length is told")
{
    for (size_t i = 0; i < sizeof(formatted) / sizeof(formatted[0]); i++) {
        const char *text = formatted[i].text;
        size_t length = strlen(text);
        CHECK_INT(weir_duration_format(formatted[i].ns, NULL, 0), ==, length);
        for (size_t size = 1; size <= length + 1; size++) {
            char buffer[64];
            memset(buffer, '#', sizeof(buffer));
            CHECK_INT(weir_duration_format(formatted[i].ns, buffer, size), ==, length);
            CHECK_INT(strlen(buffer), ==, size - 1);
            CHECK(strncmp(buffer, text, size - 1) == 0);
            CHECK_INT(buffer[size], ==, '#');
        }
    }
}

TEST(round_trip, "what is written in whole units is read back as it was")
{
    for (uint64_t i = 0; i < test_scaled(20000); i++) {
        int64_t ns = (int64_t)(test_random() >> (1 + test_random_below(63)));
        /* At most three decimals of the smallest unit are written. */
        int64_t step = ns < WEIR_MS(1) ? 1 : ns < WEIR_SECONDS(1) ? WEIR_US(1) : WEIR_MS(1);
        ns -= ns % step;
        char buffer[64];
        int64_t again = -1;
        (void)weir_duration_format(ns, buffer, sizeof(buffer));
        CHECK_STATUS(weir_duration_parse(buffer, &again, NULL), WEIR_OK);
        CHECK_INT(again, ==, ns);
    }
}
