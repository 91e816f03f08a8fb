/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "metrics/workqueue.h"

#include <stddef.h>

#include "metrics/families.h"

static void write_histogram(struct weiri_text *text, const char *family, const char *name,
                            const struct weiri_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i <= WEIRI_BUCKETS; i++) {
        count += histogram->counts[i];
        struct weiri_label bucket = {"le", weiri_bucket_names[i]};
        weiri_line_begin(text, family, "_bucket", name, &bucket);
        weiri_text_add_count(text, count);
        weiri_text_add(text, "\n");
    }
    weiri_line_begin(text, family, "_sum", name, NULL);
    weiri_text_add_seconds(text, histogram->sum_ns);
    weiri_text_add(text, "\n");
    weiri_line_begin(text, family, "_count", name, NULL);
    weiri_text_add_count(text, count);
    weiri_text_add(text, "\n");
}

static void longest_running(struct weiri_text *text, const char *family,
                            const struct weiri_named_sample *named)
{
    weiri_line_seconds(text, family, named->name, (weiri_wide)named->sample.queue.longest_ns);
}

static void queue_duration(struct weiri_text *text, const char *family,
                           const struct weiri_named_sample *named)
{
    write_histogram(text, family, named->name, &named->sample.queue.queue_duration);
}

static void unfinished(struct weiri_text *text, const char *family,
                       const struct weiri_named_sample *named)
{
    weiri_line_seconds(text, family, named->name, named->sample.queue.unfinished_ns);
}

static void work_duration(struct weiri_text *text, const char *family,
                          const struct weiri_named_sample *named)
{
    write_histogram(text, family, named->name, &named->sample.queue.work_duration);
}

/* Names, help and types are Kubernetes' own (component-base metrics/prometheus/workqueue), the
 * order that of the names, as its endpoint has it. */
static const struct weiri_family families[] = {
    {"workqueue_adds_total", "Total number of adds handled by workqueue", "counter", NULL,
     offsetof(struct weiri_queue_sample, adds)},
    {"workqueue_depth", "Current depth of workqueue", "gauge", NULL,
     offsetof(struct weiri_queue_sample, depth)},
    {"workqueue_longest_running_processor_seconds",
     "How many seconds has the longest running processor for workqueue been running.", "gauge",
     longest_running, 0},
    {"workqueue_queue_duration_seconds",
     "How long in seconds an item stays in workqueue before being requested.", "histogram",
     queue_duration, 0},
    {"workqueue_retries_total", "Total number of retries handled by workqueue", "counter", NULL,
     offsetof(struct weiri_queue_sample, retries)},
    {"workqueue_unfinished_work_seconds",
     "How many seconds of work has done that is in progress and hasn't been observed by "
     "work_duration. Large values indicate stuck threads. One can deduce the number of stuck "
     "threads by observing the rate at which this increases.",
     "gauge", unfinished, 0},
    {"workqueue_work_duration_seconds",
     "How long in seconds processing an item from workqueue takes.", "histogram", work_duration, 0},
};

void weiri_workqueue_write(struct weiri_text *text, const struct weiri_named_sample *samples,
                           size_t count)
{
    weiri_families_write(text, families, sizeof(families) / sizeof(families[0]), samples, count);
}
