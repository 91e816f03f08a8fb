/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/top_model.h"

#include <stdio.h>
#include <stdlib.h>

#include <weir/duration.h>

#include "support/harness.h"

static void add(struct top_sample *sample, const char *tube, uint64_t ready, uint64_t put,
                int64_t oldest_ns)
{
    struct weir_tube_counts counts = {.ready = ready, .put = put, .done = put / 2};
    (void)snprintf(counts.tube, sizeof(counts.tube), "%s", tube);
    CHECK(top_add(sample, &counts, oldest_ns));
}

/* The names of the rows, each with a space behind. */
static const char *names(const struct top_sample *sample)
{
    static char text[256];
    text[0] = '\0';
    for (size_t i = 0; i < sample->count; i++) {
        size_t size = strlen(text);
        (void)snprintf(text + size, sizeof(text) - size, "%s ", sample->rows[i].counts.tube);
    }
    return text;
}

TEST(rates, "rates are of the time between two readings, of tubes that were there in both")
{
    struct top_sample before = {.at_ns = WEIR_SECONDS(10)};
    struct top_sample now = {.at_ns = WEIR_SECONDS(12)};
    add(&before, "a", 0, 10, 0);
    add(&before, "back", 0, 10, 0);
    add(&before, "gone", 0, 10, 0);
    add(&before, "z", 0, 10, 0);
    add(&now, "a", 0, 16, 0);
    add(&now, "back", 0, 4, 0);
    add(&now, "new", 0, 7, 0);
    add(&now, "z", 0, 10, 0);
    CHECK(now.rows[0].rates[0] < 0);
    top_rate(&now, &before);
    CHECK(now.rows[0].rates[0] > 2.999 && now.rows[0].rates[0] < 3.001);
    CHECK(now.rows[0].rates[1] > 1.499 && now.rows[0].rates[1] < 1.501);
    CHECK(now.rows[0].rates[2] >= 0 && now.rows[0].rates[2] < 0.001);
    CHECK(now.rows[1].rates[0] < 0);
    CHECK(now.rows[2].rates[0] < 0);
    CHECK(now.rows[3].rates[0] >= 0 && now.rows[3].rates[0] < 0.001);
    /* Two readings at one time have no rate. */
    struct top_sample same = {.at_ns = now.at_ns};
    add(&same, "a", 0, 20, 0);
    top_rate(&same, &now);
    CHECK(same.rows[0].rates[0] < 0);
    free(before.rows);
    free(now.rows);
    free(same.rows);
}

TEST(order,
     "rows are in order of a column, largest first, then of their names; a filter keeps some")
{
    static const struct {
        const char *filter;
        enum top_sort sort;
        const char *names;
    } rows[] = {{"", TOP_NAME, "a abc b c "},   {"", TOP_READY, "c a b abc "},
                {"", TOP_OLDEST, "b c a abc "}, {"", TOP_DELAYED, "a abc b c "},
                {"", TOP_PUT, "b a abc c "},    {"b", TOP_READY, "b abc "},
                {"bc", TOP_NAME, "abc "},       {"x", TOP_NAME, ""}};
    struct top_sample before = {.at_ns = 0};
    struct top_sample sample = {.at_ns = WEIR_SECONDS(1)};
    struct top_sample view = {.at_ns = 0};
    CHECK(top_view(&sample, "", TOP_READY, &view));
    CHECK_INT(view.count, ==, 0);
    add(&before, "b", 0, 0, 0);
    add(&sample, "a", 2, 0, 0);
    add(&sample, "abc", 0, 0, 0);
    add(&sample, "b", 2, 1, 5);
    add(&sample, "c", 9, 0, 1);
    top_rate(&sample, &before);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK(top_view(&sample, rows[i].filter, rows[i].sort, &view));
        CHECK_STRING(names(&view), rows[i].names);
    }
    CHECK_STRING(names(&sample), "a abc b c ");
    for (int i = 0; i < 200; i++) {
        add(&sample, "many", 0, 0, 0);
    }
    CHECK(top_view(&sample, "many", TOP_NAME, &view));
    CHECK_INT(view.count, ==, 200);
    free(before.rows);
    free(sample.rows);
    free(view.rows);
}

TEST(pause, "a store that takes long to count is counted more rarely, a cluster at each interval")
{
    int64_t interval_ns = WEIR_SECONDS(1);
    CHECK_INT(top_next(100, 100, interval_ns, true), ==, 100 + interval_ns);
    CHECK_INT(top_next(0, WEIR_MS(20), interval_ns, true), ==, WEIR_MS(20) + interval_ns);
    CHECK_INT(top_next(0, WEIR_MS(200), interval_ns, true), ==, WEIR_MS(200) + WEIR_SECONDS(10));
    CHECK_INT(top_next(0, WEIR_MS(200), interval_ns, false), ==, WEIR_MS(200) + interval_ns);
}
