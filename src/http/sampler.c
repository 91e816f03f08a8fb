/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/clock.h>
#include <weir/duration.h>

#include "view/json.h"

/* A reading may take this part of the time until the next. */
#define SHARE 100

static char *make_event(const char *name, json_t *object)
{
    char *data = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (data == NULL) {
        return NULL;
    }
    size_t size = strlen(name) + strlen(data) + sizeof("event: \ndata: \n\n");
    char *text = malloc(size);
    if (text != NULL) {
        (void)snprintf(text, size, "event: %s\ndata: %s\n\n", name, data);
    }
    free(data);
    return text;
}

/* A tube's counts are one block of numbers and bytes without padding. */
static bool is_equal(const struct weir_tube_counts *a, const struct weir_tube_counts *b)
{
    return memcmp(&a->delayed, &b->delayed,
                  sizeof(*a) - offsetof(struct weir_tube_counts, delayed)) == 0;
}

char *sampler_event(const struct tubes *before, const struct tubes *after)
{
    size_t old = 0;
    json_t *array = json_array();
    for (size_t i = 0; i < after->count; i++) {
        const struct weir_tube_counts *counts = &after->counts[i];
        while (old < before->count && strcmp(before->counts[old].tube, counts->tube) < 0) {
            old++;
        }
        bool is_known = old < before->count && strcmp(before->counts[old].tube, counts->tube) == 0;
        if (is_known && is_equal(&before->counts[old], counts)) {
            continue;
        }
        if (json_array_append_new(array, json_of_tube(counts)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    if (json_array_size(array) == 0) {
        json_decref(array);
        return NULL;
    }
    return make_event("tubes", json_pack("{s:o}", "tubes", array));
}

/* Tells once that the broker does not answer, and once that it does again. */
static void tell_broker(struct sampler *sampler, bool failed)
{
    if (failed != sampler->failed) {
        events_publish(sampler->events,
                       make_event("broker", json_pack("{s:b}", "up", failed ? 0 : 1)));
    }
    sampler->failed = failed;
}

void sampler_run(struct sampler *sampler)
{
    struct tubes tubes = {.counts = NULL};
    struct timespec wall = {0, 0};
    int64_t start_ns = weir_clock_now(weir_clock_monotonic());
    if (start_ns < sampler->next_ns) {
        return;
    }
    bool failed = tubes_read(&tubes, sampler->broker, NULL) != WEIR_OK;
    int64_t end_ns = weir_clock_now(weir_clock_monotonic());
    sampler->next_ns = end_ns + (end_ns - start_ns) * SHARE;
    tell_broker(sampler, failed);
    if (failed) {
        tubes_free(&tubes);
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    samples_add(sampler->samples, WEIR_SECONDS(wall.tv_sec) + wall.tv_nsec, tubes.counts,
                tubes.count);
    events_publish(sampler->events, sampler_event(&sampler->tubes, &tubes));
    tubes_free(&sampler->tubes);
    sampler->tubes = tubes;
}

void sampler_fini(struct sampler *sampler)
{
    tubes_free(&sampler->tubes);
}
