/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/version.h>

#include "http/api.h"
#include "http/process.h"

/* /metrics: the jobs of the broker and this process for Prometheus, in the text format 0.0.4. */

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

enum {
    LABEL_SIZE = 2 * (WEIR_TUBE_SIZE_MAX + 1)
};

/* A label's value, quoted as the format asks for. */
static const char *quote_label(const char *text, char label[LABEL_SIZE])
{
    size_t size = 0;
    for (; *text != '\0' && size < LABEL_SIZE - 2; text++) {
        if (*text == '\n' || *text == '"' || *text == '\\') {
            label[size++] = '\\';
        }
        label[size++] = *text == '\n' ? 'n' : *text;
    }
    label[size] = '\0';
    return label;
}

/* Writes the lines of a queue for the values of a label. */
static void write_values(FILE *out, const char *name, const char *queue, const char *const *labels,
                         const uint64_t *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        (void)fprintf(out, "%s{queue=\"%s\",%s} %" PRIu64 "\n", name, queue, labels[i], numbers[i]);
    }
}

static bool is_store(const struct api *api)
{
    return strcmp(api->broker_kind, "sqlite") == 0;
}

static void write_tubes(FILE *out, const struct api *api, const struct tubes *tubes)
{
    static const char *const states[] = {"state=\"delayed\"", "state=\"ready\"",
                                         "state=\"reserved\"", "state=\"buried\""};
    /* A cluster tells the first two. */
    static const char *const events[] = {"event=\"put\"",     "event=\"done\"",
                                         "event=\"failed\"",  "event=\"retried\"",
                                         "event=\"timeout\"", "event=\"buried\""};
    int event_count = is_store(api) ? 6 : 2;
    char label[LABEL_SIZE];
    write_head(out, "weir_jobs", "gauge", "Jobs of a queue in a state.");
    for (size_t i = 0; i < tubes->count; i++) {
        const struct weir_tube_counts *counts = &tubes->counts[i];
        const uint64_t numbers[] = {counts->delayed, counts->ready, counts->reserved,
                                    counts->buried};
        write_values(out, "weir_jobs", quote_label(counts->tube, label), states, numbers, 4);
    }
    write_head(out, "weir_jobs_total", "counter",
               "Jobs put and done, runs that failed, of these the ones tried again and those that "
               "were lost, and burials.");
    for (size_t i = 0; i < tubes->count; i++) {
        const struct weir_tube_counts *counts = &tubes->counts[i];
        const uint64_t numbers[] = {counts->put,     counts->done,    counts->failed,
                                    counts->retried, counts->expired, counts->burials};
        write_values(out, "weir_jobs_total", quote_label(counts->tube, label), events, numbers,
                     event_count);
    }
    write_head(out, "weir_queue_paused", "gauge", "1 while no job of a queue is handed out.");
    for (size_t i = 0; i < tubes->count; i++) {
        (void)fprintf(out, "weir_queue_paused{queue=\"%s\"} %d\n",
                      quote_label(tubes->counts[i].tube, label),
                      tubes->counts[i].paused_until_ns != 0 ? 1 : 0);
    }
}

/* A cluster does not tell since when jobs are ready. */
static void write_ages(FILE *out, const struct api *api, const struct tubes *tubes)
{
    char label[LABEL_SIZE];
    if (!is_store(api)) {
        return;
    }
    write_head(out, "weir_oldest_ready_seconds", "gauge",
               "How long a job of a queue has been ready, the oldest where all have one priority; "
               "0 without one.");
    for (size_t i = 0; i < tubes->count; i++) {
        int64_t since_ns = tubes->counts[i].ready_since_ns;
        int64_t age_ns = since_ns == 0 ? 0 : tubes->at_ns - since_ns;
        (void)fprintf(out, "weir_oldest_ready_seconds{queue=\"%s\"} %.3f\n",
                      quote_label(tubes->counts[i].tube, label),
                      age_ns > 0 ? (double)age_ns / 1e9 : 0.0);
    }
}

static int write_node(const struct weir_node *node, void *arg)
{
    FILE *out = arg;
    char label[LABEL_SIZE];
    if (ftell(out) == 0) {
        write_head(out, "weir_node_up", "gauge", "1 while a server of the cluster answers.");
    }
    (void)fprintf(out, "weir_node_up{node=\"%s\"} %d\n", quote_label(node->name, label),
                  node->state == WEIR_NODE_AWAY ? 0 : 1);
    return 0;
}

static int write_consumers(const char *text, size_t size, void *arg)
{
    return fwrite(text, 1, size, arg) == size ? WEIR_OK : WEIR_ENOMEM;
}

/* A broker that does not answer is a number like others: the page is there without its families. */
static bool write_all(FILE *out, const struct api *api)
{
    struct tubes tubes = {.counts = NULL};
    bool nodes = weir_broker_nodes(api->broker, write_node, out, NULL) == WEIR_OK;
    bool up = readings_take(api->readings, true, &tubes, NULL) == WEIR_OK && nodes;
    write_head(out, "weir_broker_up", "gauge", "1 where the broker answered this request.");
    (void)fprintf(out, "weir_broker_up %d\n", up ? 1 : 0);
    write_head(out, "weir_build_info", "gauge", "1, with the version.");
    (void)fprintf(out, "weir_build_info{version=\"%s\"} 1\n", weir_version());
    process_write(out);
    if (up) {
        write_tubes(out, api, &tubes);
        write_ages(out, api, &tubes);
    }
    bool written =
        api->metrics == NULL || weir_metrics_write(api->metrics, write_consumers, out) == WEIR_OK;
    tubes_free(&tubes);
    return written;
}

void api_metrics(const struct api *api, const struct request *request, struct reply *reply)
{
    (void)request;
    FILE *out = reply_open(reply, METRICS_TYPE);
    if (out != NULL) {
        reply_close(reply, out, write_all(out, api));
    }
}
