/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <stdlib.h>
#include <string.h>

TEST(typed_times, "a time as people type it is told as it was understood, and jobs run then")
{
    program_init();
    CHECK_INT(setenv("TZ", "Europe/Berlin", 1), ==, 0);
    struct ended ended = program_run(WORDS("put", "--at", "2030-01-31 5pm", "t", "x"));
    CHECK_INT(ended.code, ==, 0);
    CHECK_STRING(ended.out, "1\n");
    CHECK_STRING(ended.err, "weir put: --at: Thu 2030-01-31 17:00:00 +01:00\n");
    ended_free(&ended);
    ended = program_run(WORDS("put", "--at", "now", "t", "y"));
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    ended = program_run(WORDS("ls", "--next", "--json", "t"));
    CHECK(strstr(ended.out, "2030-01-31T16:00:00") != NULL);
    CHECK(strstr(ended.out, "ready") != NULL);
    ended_free(&ended);
}

TEST(skipped_time,
     "a time that clocks skip is refused, and the reason is not the way it is written")
{
    program_init();
    CHECK_INT(setenv("TZ", "Europe/Berlin", 1), ==, 0);
    struct ended ended = program_run(WORDS("put", "--at", "2031-03-30 02:30", "t", "x"));
    CHECK_INT(ended.code, ==, 64);
    CHECK_STRING(ended.out, "");
    CHECK_STRING(ended.err, "weir put: --at: \"2031-03-30 02:30\": does not exist, because clocks "
                            "skip it; expected a time that they show\n");
    ended_free(&ended);
}
