/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/retry.h"

#include <weir/duration.h>

#include "support/harness.h"

TEST(doubling, "the delay doubles with each attempt up to its maximum, whatever the count")
{
    static const struct {
        uint32_t attempt;
        int64_t base_ns;
        int64_t max_ns;
        int64_t delay_ns;
    } rows[] = {
        {1, WEIR_SECONDS(1), WEIR_SECONDS(1000), WEIR_SECONDS(1)},
        {2, WEIR_SECONDS(1), WEIR_SECONDS(1000), WEIR_SECONDS(2)},
        {10, WEIR_SECONDS(1), WEIR_SECONDS(1000), WEIR_SECONDS(512)},
        {11, WEIR_SECONDS(1), WEIR_SECONDS(1000), WEIR_SECONDS(1000)},
        {64, WEIR_SECONDS(1), WEIR_SECONDS(1000), WEIR_SECONDS(1000)},
        {65, 1, INT64_MAX, INT64_MAX},
        {63, 1, INT64_MAX, INT64_C(1) << 62},
        {UINT32_MAX, 1, INT64_MAX, INT64_MAX},
        {0, 5, 100, 5},
    };
    static const uint64_t randoms[] = {0, 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct weir_retry retry = {
            .base_ns = rows[i].base_ns, .max_ns = rows[i].max_ns, .jitter = WEIR_JITTER_NONE};
        CHECK_STATUS(weiri_retry_check(&retry, NULL), WEIR_OK);
        for (size_t k = 0; k < sizeof(randoms) / sizeof(randoms[0]); k++) {
            CHECK_INT(weiri_retry_delay(&retry, 77, rows[i].attempt, randoms[k]), ==,
                      rows[i].delay_ns);
        }
    }
}

TEST(defaults,
     "a base that is 0 is the caller's, or the maximum where that is less; a maximum that "
     "is 0 is 1000 s, or the base where that is more")
{
    static const struct {
        int64_t base_ns;
        int64_t max_ns;
        int64_t first_ns;
        int64_t longest_ns;
    } rows[] = {
        {0, 0, WEIR_MS(5), WEIR_SECONDS(1000)},
        {0, WEIR_MS(3), WEIR_MS(3), WEIR_MS(3)},
        {0, WEIR_MS(7), WEIR_MS(5), WEIR_MS(7)},
        {WEIR_MS(1), 0, WEIR_MS(1), WEIR_SECONDS(1000)},
        {WEIR_SECONDS(2000), 0, WEIR_SECONDS(2000), WEIR_SECONDS(2000)},
        {INT64_MAX, 0, INT64_MAX, INT64_MAX},
        {0, INT64_MAX, WEIR_MS(5), INT64_MAX},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct weir_retry retry = {.base_ns = rows[i].base_ns, .max_ns = rows[i].max_ns};
        CHECK_STATUS(weiri_retry_check(&retry, NULL), WEIR_OK);
        CHECK_INT(weiri_retry_delay(&retry, WEIR_MS(5), 1, 0), ==, rows[i].first_ns);
        CHECK_INT(weiri_retry_delay(&retry, WEIR_MS(5), 99, 0), ==, rows[i].longest_ns);
    }
}

TEST(jitter, "a delay is never shorter, and longer by less than its jitter, also past the maximum")
{
    static const struct {
        uint32_t jitter;
        uint32_t thousandths;
    } rows[] = {{0, 100}, {1, 1}, {250, 250}, {1000, 1000}, {WEIR_JITTER_NONE, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_retry retry = {.jitter = rows[i].jitter, .base_ns = 1000000, .max_ns = 1500000};
        CHECK_STATUS(weiri_retry_check(&retry, NULL), WEIR_OK);
        for (uint32_t attempt = 1; attempt <= 2; attempt++) {
            int64_t delay_ns = attempt == 1 ? 1000000 : 1500000;
            int64_t longest_ns = delay_ns + delay_ns / 1000 * rows[i].thousandths;
            CHECK_INT(weiri_retry_delay(&retry, 0, attempt, 0), ==, delay_ns);
            int64_t half_ns = weiri_retry_delay(&retry, 0, attempt, UINT64_C(1) << 63);
            CHECK_INT(half_ns, ==, delay_ns + (longest_ns - delay_ns) / 2);
            int64_t most_ns = weiri_retry_delay(&retry, 0, attempt, UINT64_MAX);
            CHECK_INT(most_ns, <=, longest_ns);
            CHECK_INT(most_ns, >=, longest_ns - 1);
        }
        retry.base_ns = retry.max_ns = INT64_MAX;
        CHECK_INT(weiri_retry_delay(&retry, 0, 1, UINT64_MAX), ==, INT64_MAX);
    }
}

TEST(refused, "a negative delay, a maximum below the base, and a jitter of more than all of it")
{
    static const struct weir_retry rows[] = {
        {.base_ns = -1},  {.base_ns = INT64_MIN, .max_ns = INT64_MIN},
        {.max_ns = -1},   {.base_ns = 10, .max_ns = 9},
        {.jitter = 1001}, {.jitter = WEIR_JITTER_NONE - 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_STATUS(weiri_retry_check(&rows[i], NULL), WEIR_ERANGE);
    }
    CHECK_STATUS(weiri_retry_check(&(struct weir_retry){.attempts = UINT32_MAX}, NULL), WEIR_OK);
}
