/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "view/timestamp.h"

#include <time.h>

#include <weir/duration.h>

#include "support/harness.h"

static void check_read(const char *text, int64_t expected)
{
    int64_t ns = -1;
    size_t offset = 0;
    CHECK(timestamp_read(text, &ns, &offset));
    CHECK_INT(ns, ==, expected);
}

static void check_refused(const char *text, size_t expected)
{
    int64_t ns = -1;
    size_t offset = 999;
    if (timestamp_read(text, &ns, &offset)) {
        test_fail(__FILE__, __LINE__, "\"%s\" was read", text);
    }
    CHECK_INT(ns, ==, -1);
    CHECK_INT(offset, ==, expected);
}

TEST(rfc3339, "times of RFC 3339 are read, with zones and fractions")
{
    check_read("1970-01-01T00:00:00Z", 0);
    check_read("2026-08-08T12:00:00Z", WEIR_SECONDS(1786190400));
    check_read("2026-08-08 12:00:00z", WEIR_SECONDS(1786190400));
    check_read("2026-08-08t14:30:00.5+02:30", WEIR_SECONDS(1786190400) + WEIR_MS(500));
    check_read("2026-08-08T07:00:00-05:00", WEIR_SECONDS(1786190400));
    check_read("1969-12-31T23:00:00-01:00", 0);
    check_read("2000-02-29T00:00:00.1234567899Z", WEIR_SECONDS(951782400) + 123456789);
    check_read("2262-04-11T23:47:16.854775807Z", INT64_MAX);
}

TEST(unix_seconds, "@ and Unix seconds are read")
{
    check_read("@0", 0);
    check_read("@1786190400", WEIR_SECONDS(1786190400));
    check_read("@1786190400.25", WEIR_SECONDS(1786190400) + WEIR_MS(250));
    check_read("@9223372036.854775807", INT64_MAX);
}

TEST(refused, "anything else is refused, with the place where reading stopped")
{
    check_refused("", 0);
    check_refused("tomorrow", 0);
    check_refused("2026", 4);
    check_refused("2026-08-08", 10);
    check_refused("2026-08-08T12:00:00", 19);
    check_refused("2026-13-08T12:00:00Z", 5);
    check_refused("2026-02-29T12:00:00Z", 8);
    check_refused("2100-02-29T12:00:00Z", 8);
    check_refused("2026-08-00T12:00:00Z", 8);
    check_refused("2026-08-08T24:00:00Z", 11);
    check_refused("2026-08-08T12:60:00Z", 14);
    check_refused("2026-08-08T12:00:60Z", 17);
    check_refused("2026-08-08T12:00:00.Z", 20);
    check_refused("2026-08-08T12:00:00+2", 21);
    check_refused("2026-08-08T12:00:00Zulu", 20);
    check_refused("@", 1);
    check_refused("@-1", 1);
    check_refused("@1e9", 2);
    check_refused("@1.", 3);
    check_refused("@9223372036.854775808", 0);
    check_refused("@99999999999999999999", 12);
    check_refused("1969-12-31T23:59:59Z", 0);
    check_refused("2262-04-11T23:47:16.854775808Z", 0);
}

TEST(written, "what is written is what the C library writes, and can be read again")
{
    for (int i = 0; i < 20000; i++) {
        int64_t ns = (int64_t)(test_random() >> 1);
        char text[TIMESTAMP_SIZE];
        char expected[TIMESTAMP_SIZE];
        char unix_text[TIMESTAMP_SIZE + 1] = "@";
        time_t seconds = (time_t)(ns / WEIR_SECONDS(1));
        struct tm parts;
        CHECK(gmtime_r(&seconds, &parts) != NULL);
        CHECK(strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.", &parts) > 0);
        timestamp_write(ns, text);
        CHECK_INT(strncmp(text, expected, strlen(expected)), ==, 0);
        check_read(text, ns);
        timestamp_write_unix(ns, unix_text + 1);
        check_read(unix_text, ns);
    }
}
