/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/samples.h"

#include <stdio.h>
#include <string.h>

#include <weir/duration.h>

#include "support/harness.h"

static int64_t value_at(const json_t *object, const char *column, size_t index)
{
    return json_integer_value(json_array_get(json_object_get(object, column), index));
}

static json_t *read_samples(struct samples *samples, const char *tube, enum samples_step step)
{
    bool known = false;
    json_t *object = samples_json(samples, tube, step, &known);
    CHECK(known);
    CHECK(object != NULL);
    return object;
}

static size_t count_samples(struct samples *samples, const char *tube, enum samples_step step)
{
    json_t *object = read_samples(samples, tube, step);
    size_t count = json_array_size(json_object_get(object, "at"));
    CHECK_INT(json_array_size(json_object_get(object, "expired")), ==, count);
    json_decref(object);
    return count;
}

TEST(columns, "samples are the sum of the tubes and each tube, with all counts")
{
    struct samples *samples = samples_new();
    const struct weir_tube_counts tubes[] = {{.tube = "a",
                                              .delayed = 1,
                                              .ready = 2,
                                              .reserved = 3,
                                              .buried = 4,
                                              .put = 5,
                                              .done = 6,
                                              .retried = 7,
                                              .expired = 8,
                                              .failed = 9,
                                              .burials = 10},
                                             {.tube = "b", .ready = 10}};
    samples_add(samples, WEIR_SECONDS(1000) + WEIR_MS(250), tubes, 2);
    json_t *sum = read_samples(samples, NULL, SAMPLES_SECOND);
    json_t *a = read_samples(samples, "a", SAMPLES_SECOND);
    CHECK_INT(json_integer_value(json_object_get(sum, "step")), ==, 1);
    CHECK_INT(json_integer_value(json_object_get(a, "step")), ==, 10);
    CHECK(json_real_value(json_array_get(json_object_get(a, "at"), 0)) == 1000.25);
    CHECK_INT(value_at(sum, "ready", 0), ==, 12);
    CHECK_INT(value_at(a, "delayed", 0), ==, 1);
    CHECK_INT(value_at(a, "ready", 0), ==, 2);
    CHECK_INT(value_at(a, "reserved", 0), ==, 3);
    CHECK_INT(value_at(a, "buried", 0), ==, 4);
    CHECK_INT(value_at(a, "put", 0), ==, 5);
    CHECK_INT(value_at(a, "done", 0), ==, 6);
    CHECK_INT(value_at(a, "retried", 0), ==, 7);
    CHECK_INT(value_at(a, "failed", 0), ==, 9);
    CHECK_INT(value_at(a, "burials", 0), ==, 10);
    CHECK_INT(value_at(a, "expired", 0), ==, 8);
    json_decref(a);
    json_decref(sum);
    bool known = true;
    CHECK(samples_json(samples, "c", SAMPLES_SECOND, &known) == NULL);
    CHECK(!known);
    samples_free(samples);
}

TEST(steps, "each resolution keeps one sample of each step, and the newest of them")
{
    struct samples *samples = samples_new();
    struct weir_tube_counts tube = {.tube = "t"};
    for (int64_t second = 0; second < 4000; second++) {
        tube.ready = (uint64_t)second;
        samples_add(samples, WEIR_SECONDS(second), &tube, 1);
    }
    CHECK_INT(count_samples(samples, NULL, SAMPLES_SECOND), ==, 360);
    CHECK_INT(count_samples(samples, NULL, SAMPLES_TEN), ==, 360);
    CHECK_INT(count_samples(samples, NULL, SAMPLES_MINUTES), ==, 14);
    json_t *object = read_samples(samples, "t", SAMPLES_SECOND);
    CHECK_INT(value_at(object, "ready", 359), ==, 3990);
    CHECK_INT(value_at(object, "ready", 0), ==, 400);
    json_decref(object);
    object = read_samples(samples, NULL, SAMPLES_SECOND);
    CHECK_INT(value_at(object, "ready", 359), ==, 3999);
    CHECK_INT(value_at(object, "ready", 0), ==, 3640);
    json_decref(object);
    samples_free(samples);
}

TEST(clock_set_back, "a clock that is set back loses no samples")
{
    struct samples *samples = samples_new();
    struct weir_tube_counts tube = {.tube = "t"};
    samples_add(samples, WEIR_SECONDS(100000), &tube, 1);
    samples_add(samples, WEIR_SECONDS(50000), &tube, 1);
    samples_add(samples, WEIR_SECONDS(50001), &tube, 1);
    CHECK_INT(count_samples(samples, NULL, SAMPLES_SECOND), ==, 3);
    CHECK_INT(count_samples(samples, "t", SAMPLES_SECOND), ==, 2);
    samples_free(samples);
}

TEST(many_tubes, "tubes beyond the limit are in the sum alone")
{
    static struct weir_tube_counts tubes[SAMPLES_TUBES_MAX + 1];
    struct samples *samples = samples_new();
    for (size_t i = 0; i <= SAMPLES_TUBES_MAX; i++) {
        (void)snprintf(tubes[i].tube, sizeof(tubes[i].tube), "t%zu", i);
        tubes[i].ready = 1;
    }
    samples_add(samples, WEIR_SECONDS(1), tubes, SAMPLES_TUBES_MAX + 1);
    json_t *sum = read_samples(samples, NULL, SAMPLES_SECOND);
    CHECK_INT(value_at(sum, "ready", 0), ==, SAMPLES_TUBES_MAX + 1);
    json_decref(sum);
    CHECK_INT(count_samples(samples, "t255", SAMPLES_SECOND), ==, 1);
    bool known = true;
    CHECK(samples_json(samples, "t256", SAMPLES_SECOND, &known) == NULL);
    CHECK(!known);
    samples_free(samples);
}
