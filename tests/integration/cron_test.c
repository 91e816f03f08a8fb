/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <stdlib.h>
#include <string.h>

static void check(const char *const words[], const char *expected)
{
    struct ended ended = program_run(words);
    CHECK_INT(ended.code, ==, 0);
    CHECK_STRING(ended.out, expected);
    CHECK_STRING(ended.err, "");
    ended_free(&ended);
}

TEST(explain, "the next times of an expression are told in its zone, with changes of the clocks")
{
    program_init();
    check(WORDS("cron", "explain", "-n", "3", "--from", "2027-03-26T12:00:00Z", "-z",
                "Europe/Berlin", "30 9 * * *"),
          "Sat 2027-03-27 09:30:00 +01:00  in 20h30m\n"
          "Sun 2027-03-28 09:30:00 +02:00  in 1d19h30m  clocks were put forward by 1h in between\n"
          "Mon 2027-03-29 09:30:00 +02:00  in 2d19h30m\n");
    check(WORDS("cron", "explain", "-n", "2", "--from", "2026-10-24T12:00:00Z",
                "CRON_TZ=Europe/Berlin 0 12 * * *"),
          "Sun 2026-10-25 12:00:00 +01:00  in 23h  clocks were put back by 1h in between\n"
          "Mon 2026-10-26 12:00:00 +01:00  in 1d23h\n");
    CHECK_INT(setenv("TZ", "Asia/Tokyo", 1), ==, 0);
    check(WORDS("cron", "explain", "-n", "1", "--from", "2026-10-24T12:00:00Z", "0 0 * * *"),
          "Sun 2026-10-25 00:00:00 +09:00  in 3h\n");
    CHECK_INT(setenv("TZ", "", 1), ==, 0); /* as POSIX has it, UTC */
    check(WORDS("cron", "explain", "-n", "1", "--from", "2026-10-24T12:00:00Z", "0 0 * * *"),
          "Sun 2026-10-25 00:00:00 +00:00  in 12h\n");
    check(WORDS("cron", "explain", "-n", "1", "--json", "--from", "@0", "-z", "UTC", "@every 90s"),
          "{\"at\":\"1970-01-01T00:01:30.000000000Z\",\"local\":\"Thu 1970-01-01 00:01:30 "
          "+00:00\",\"clocks_changed_ns\":0}\n");
}

TEST(refused, "expressions, zones and times that are none are refused with what was expected")
{
    program_init();
    WEIR(64, "cron");
    WEIR(64, "cron", "explain");
    WEIR(64, "cron", "list", "* * * * *");
    WEIR(64, "cron", "explain", "* * * *");
    WEIR(64, "cron", "explain", "61 * * * *");
    WEIR(64, "cron", "explain", "-z", "Nowhere/Else", "* * * * *");
    WEIR(64, "cron", "explain", "-n", "0", "* * * * *");
    WEIR(64, "cron", "explain", "-n", "1001", "* * * * *");
    WEIR(64, "cron", "explain", "--from", "someday", "* * * * *");
    WEIR(64, "cron", "explain", "0 0 30 2 *");
}
