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

/* A tube's counts are one block of numbers and bytes without padding. */
static bool is_equal(const struct weir_tube_counts *a, const struct weir_tube_counts *b)
{
    return memcmp(&a->delayed, &b->delayed,
                  sizeof(*a) - offsetof(struct weir_tube_counts, delayed)) == 0;
}

char *sampler_event(const struct tubes *before, const struct tubes *after)
{
    size_t old = 0;
    char *text = NULL;
    size_t size = 0;
    bool has_some = false;
    bool failed = false;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < after->count && !failed; i++) {
        const struct weir_tube_counts *counts = &after->counts[i];
        while (old < before->count && strcmp(before->counts[old].tube, counts->tube) < 0) {
            old++;
        }
        bool is_known = old < before->count && strcmp(before->counts[old].tube, counts->tube) == 0;
        if (!is_known || !is_equal(&before->counts[old], counts)) {
            failed = fputs(has_some ? "," : "event: tubes\ndata: {\"tubes\":[", out) == EOF ||
                     !json_write_tube(out, counts);
            has_some = true;
        }
    }
    failed = fputs("]}\n\n", out) == EOF || failed;
    if (fclose(out) != 0 || failed || !has_some) {
        free(text);
        return NULL;
    }
    return text;
}

/* Tells once that the broker does not answer, and once that it does again. */
static void tell_broker(struct sampler *sampler, bool failed)
{
    if (failed != sampler->failed) {
        events_publish(sampler->events, strdup(failed ? "event: broker\ndata: {\"up\":false}\n\n"
                                                      : "event: broker\ndata: {\"up\":true}\n\n"));
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
