/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/duration.h>

#include "view/json.h"

/* The pause after a reading, in times of what it took. */
#define PAUSE 50

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
    int64_t start_ns = weir_clock_now(weir_clock_monotonic());
    if (start_ns < sampler->next_ns) {
        return;
    }
    bool failed = readings_take(sampler->readings, true, &tubes, NULL) != WEIR_OK;
    int64_t end_ns = weir_clock_now(weir_clock_monotonic());
    sampler->next_ns = end_ns + (end_ns - start_ns) * PAUSE;
    tell_broker(sampler, failed);
    if (failed) {
        return;
    }
    samples_add(sampler->samples, tubes.at_ns, tubes.counts, tubes.count);
    events_publish(sampler->events, sampler_event(&sampler->tubes, &tubes));
    tubes_free(&sampler->tubes);
    sampler->tubes = tubes;
}
