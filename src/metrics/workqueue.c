/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "metrics/workqueue.h"

/* Writes one family's lines of one queue, given the family's name. */
typedef void lines_fn(struct weiri_text *text, const char *family,
                      const struct weiri_named_sample *named);

/* family{name="...", up to and with the space before the value. suffix comes after the family's
 * name; bucket is the le label's value, or NULL. */
static void begin_line(struct weiri_text *text, const char *family, const char *suffix,
                       const char *name, const char *bucket)
{
    weiri_text_add(text, family);
    weiri_text_add(text, suffix);
    weiri_text_add(text, "{name=\"");
    weiri_text_add_escaped(text, name, true);
    if (bucket != NULL) {
        weiri_text_add(text, "\",le=\"");
        weiri_text_add(text, bucket);
    }
    weiri_text_add(text, "\"} ");
}

static void write_count(struct weiri_text *text, const char *family, const char *name,
                        uint64_t count)
{
    begin_line(text, family, "", name, NULL);
    weiri_text_add_count(text, count);
    weiri_text_add(text, "\n");
}

static void write_seconds(struct weiri_text *text, const char *family, const char *name,
                          weiri_wide duration_ns)
{
    begin_line(text, family, "", name, NULL);
    weiri_text_add_seconds(text, duration_ns);
    weiri_text_add(text, "\n");
}

static void write_histogram(struct weiri_text *text, const char *family, const char *name,
                            const struct weiri_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i <= WEIRI_BUCKETS; i++) {
        count += histogram->counts[i];
        begin_line(text, family, "_bucket", name, weiri_bucket_names[i]);
        weiri_text_add_count(text, count);
        weiri_text_add(text, "\n");
    }
    begin_line(text, family, "_sum", name, NULL);
    weiri_text_add_seconds(text, histogram->sum_ns);
    weiri_text_add(text, "\n");
    begin_line(text, family, "_count", name, NULL);
    weiri_text_add_count(text, count);
    weiri_text_add(text, "\n");
}

static void adds(struct weiri_text *text, const char *family,
                 const struct weiri_named_sample *named)
{
    write_count(text, family, named->name, named->sample.adds);
}

static void depth(struct weiri_text *text, const char *family,
                  const struct weiri_named_sample *named)
{
    write_count(text, family, named->name, named->sample.depth);
}

static void longest_running(struct weiri_text *text, const char *family,
                            const struct weiri_named_sample *named)
{
    write_seconds(text, family, named->name, (weiri_wide)named->sample.longest_ns);
}

static void queue_duration(struct weiri_text *text, const char *family,
                           const struct weiri_named_sample *named)
{
    write_histogram(text, family, named->name, &named->sample.queue_duration);
}

static void retries(struct weiri_text *text, const char *family,
                    const struct weiri_named_sample *named)
{
    write_count(text, family, named->name, named->sample.retries);
}

static void unfinished(struct weiri_text *text, const char *family,
                       const struct weiri_named_sample *named)
{
    write_seconds(text, family, named->name, named->sample.unfinished_ns);
}

static void work_duration(struct weiri_text *text, const char *family,
                          const struct weiri_named_sample *named)
{
    write_histogram(text, family, named->name, &named->sample.work_duration);
}

/* Names, help and types are Kubernetes' own (component-base metrics/prometheus/workqueue), the
 * order that of the names, as its endpoint has it. */
static const struct {
    const char *name;
    const char *help;
    const char *type;
    lines_fn *lines;
} families[] = {
    {"workqueue_adds_total", "Total number of adds handled by workqueue", "counter", adds},
    {"workqueue_depth", "Current depth of workqueue", "gauge", depth},
    {"workqueue_longest_running_processor_seconds",
     "How many seconds has the longest running processor for workqueue been running.", "gauge",
     longest_running},
    {"workqueue_queue_duration_seconds",
     "How long in seconds an item stays in workqueue before being requested.", "histogram",
     queue_duration},
    {"workqueue_retries_total", "Total number of retries handled by workqueue", "counter", retries},
    {"workqueue_unfinished_work_seconds",
     "How many seconds of work has done that is in progress and hasn't been observed by "
     "work_duration. Large values indicate stuck threads. One can deduce the number of stuck "
     "threads by observing the rate at which this increases.",
     "gauge", unfinished},
    {"workqueue_work_duration_seconds",
     "How long in seconds processing an item from workqueue takes.", "histogram", work_duration},
};

void weiri_workqueue_write(struct weiri_text *text, const struct weiri_named_sample *samples,
                           size_t count)
{
    if (count == 0) {
        return;
    }
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        weiri_text_add(text, "# HELP ");
        weiri_text_add(text, families[i].name);
        weiri_text_add(text, " ");
        weiri_text_add_escaped(text, families[i].help, false);
        weiri_text_add(text, "\n# TYPE ");
        weiri_text_add(text, families[i].name);
        weiri_text_add(text, " ");
        weiri_text_add(text, families[i].type);
        weiri_text_add(text, "\n");
        for (size_t j = 0; j < count; j++) {
            families[i].lines(text, families[i].name, &samples[j]);
        }
    }
}
