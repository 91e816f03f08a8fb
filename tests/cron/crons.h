/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CRONS_H
#define WEIR_TEST_CRONS_H

#include <stdio.h>

#include <weir/cron.h>

#include "cron/calendar.h"
#include "support/harness.h"

/* Short ways to make expressions and to speak of times. */

static inline weir_cron *cron_new(const char *text)
{
    struct weir_cron_options options = {0};
    struct weir_error error;
    weir_cron *cron = NULL;
    options.allocator = *test_allocator();
    options.zone = "UTC";
    options.flags = WEIR_CRON_SECONDS;
    enum weir_status status = weir_cron_new(text, &options, &cron, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s: %s", text, weir_status_name((int)status),
                  error.text);
    }
    return cron;
}

/* The time of UTC "2024-03-31 01:00", with or without seconds, in nanoseconds. */
static inline int64_t cron_time(const char *text)
{
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    CHECK(sscanf(text, "%d-%u-%u %d:%d:%d", &year, &month, &day, &hour, &minute, &second) >= 5);
    int64_t seconds = weiri_days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    return WEIR_SECONDS(seconds);
}

/* The firings after a time of UTC are these times of UTC. */
static inline void cron_check(const char *text, const char *after, const char *const *times)
{
    weir_cron *cron = cron_new(text);
    int64_t at_ns = cron_time(after);
    for (size_t i = 0; times[i] != NULL; i++) {
        CHECK_STATUS(weir_cron_next(cron, at_ns, &at_ns), WEIR_OK);
        if (at_ns != cron_time(times[i])) {
            test_fail(__FILE__, __LINE__, "%s: firing %zu is %lld, not %s", text, i,
                      (long long)(at_ns / WEIR_SECONDS(1)), times[i]);
        }
    }
    weir_cron_unref(cron);
}
#define CRON_CHECK(text, after, ...)                                                               \
    cron_check(text, after, (const char *const[]){__VA_ARGS__, NULL})

#endif
