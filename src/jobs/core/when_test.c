/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/backend.h"

#include "support/harness.h"

#define NOW INT64_C(1780000000000000000)

/* The clock of leases when something is said, and a minute later. */
#define SINCE INT64_C(500)
#define LATER (SINCE + WEIR_SECONDS(60))

TEST(delays, "a delay counts from when it was said, by the clock of the moment it is asked for")
{
    const struct weiri_put hour = {.delay_ns = WEIR_SECONDS(3600)};
    CHECK_INT(weiri_said_ns(SINCE, NOW, SINCE), ==, NOW);
    CHECK_INT(weiri_said_ns(SINCE, NOW, LATER), ==, NOW - WEIR_SECONDS(60));
    CHECK_INT(weiri_said_ns(LATER, NOW, SINCE), ==, NOW);
    CHECK_INT(weiri_put_when(&hour, weiri_said_ns(SINCE, NOW, LATER)), ==,
              NOW + WEIR_SECONDS(3540));
    CHECK_INT(weiri_put_when(&hour, INT64_MAX - 1), ==, INT64_MAX);
}

TEST(times, "a time is kept as it is, and none means at once")
{
    const struct weiri_put at = {.run_at_ns = NOW - 5};
    const struct weiri_put now = {.delay_ns = 0};
    CHECK_INT(weiri_put_when(&at, NOW), ==, NOW - 5);
    CHECK_INT(weiri_put_when(&now, NOW), ==, NOW);
}

TEST(asked, "what cannot be is refused with its value; a past that is allowed means at once")
{
    const struct {
        struct weir_put_options options;
        enum weir_status status;
        int64_t run_at_ns;
        int64_t delay_ns;
    } rows[] = {
        {{.run_at_ns = -1}, WEIR_ERANGE, 7, 7},
        {{.delay_ns = -1}, WEIR_ERANGE, 7, 7},
        {{.run_at_ns = NOW, .delay_ns = 1}, WEIR_EINVAL, 7, 7},
        {{.run_at_ns = NOW - 1}, WEIR_EPAST, 7, 7},
        {{.delay_ns = INT64_MAX - NOW + 1}, WEIR_ERANGE, 7, 7},
        {{.delay_ns = INT64_MAX - NOW}, WEIR_OK, 0, INT64_MAX - NOW},
        {{.run_at_ns = NOW}, WEIR_OK, NOW, 0},
        {{.run_at_ns = INT64_MAX}, WEIR_OK, INT64_MAX, 0},
        {{.run_at_ns = NOW - 1, .flags = WEIR_PUT_PAST_OK}, WEIR_OK, 0, 0},
        {{.run_at_ns = NOW + 1, .flags = WEIR_PUT_PAST_OK}, WEIR_OK, NOW + 1, 0},
        {{0}, WEIR_OK, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_put put = {.run_at_ns = 7, .delay_ns = 7};
        struct weir_error error = {0};
        CHECK_STATUS(weiri_put_set_time(&put, &rows[i].options, NOW, &error), rows[i].status);
        CHECK_INT(put.run_at_ns, ==, rows[i].run_at_ns);
        CHECK_INT(put.delay_ns, ==, rows[i].delay_ns);
        CHECK((error.text[0] == '\0') == (rows[i].status == WEIR_OK));
    }
}

TEST(before_1970, "a delay is also taken by a clock that stands before 1970")
{
    const struct weir_put_options options = {.delay_ns = INT64_MAX};
    struct weiri_put put = {.run_at_ns = 7};
    CHECK_STATUS(weiri_put_set_time(&put, &options, -5, NULL), WEIR_OK);
    CHECK_INT(put.delay_ns, ==, INT64_MAX);
    CHECK_INT(put.run_at_ns, ==, 0);
}
