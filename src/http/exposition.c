/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/duration.h>
#include <weir/version.h>

#include "http/api.h"
#include "http/fields.h"
#include "http/process.h"
#include "http/tubes.h"

/* /metrics: the jobs of the broker and this process for Prometheus, in the text format 0.0.4. */

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_label(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            (void)fputs("\\n", out);
            continue;
        }
        if (*text == '"' || *text == '\\') {
            (void)fputc('\\', out);
        }
        (void)fputc(*text, out);
    }
}

/* name{queue="TUBE",label="VALUE"} number */
static void write_count(FILE *out, const char *name, const char *tube, const char *label,
                        const char *value, uint64_t number)
{
    (void)fprintf(out, "%s{queue=\"", name);
    write_label(out, tube);
    (void)fprintf(out, "\",%s=\"%s\"} %" PRIu64 "\n", label, value, number);
}

static void write_tubes(FILE *out, const struct tubes *tubes)
{
    write_head(out, "weir_jobs", "gauge", "Jobs of a queue in a state.");
    for (size_t i = 0; i < tubes->count; i++) {
        const struct weir_tube_counts *counts = &tubes->counts[i];
        write_count(out, "weir_jobs", counts->tube, "state", "delayed", counts->delayed);
        write_count(out, "weir_jobs", counts->tube, "state", "ready", counts->ready);
        write_count(out, "weir_jobs", counts->tube, "state", "reserved", counts->reserved);
        write_count(out, "weir_jobs", counts->tube, "state", "buried", counts->buried);
    }
    write_head(out, "weir_jobs_total", "counter",
               "Jobs put and done, failed runs tried again, and reservations that timed out.");
    for (size_t i = 0; i < tubes->count; i++) {
        const struct weir_tube_counts *counts = &tubes->counts[i];
        write_count(out, "weir_jobs_total", counts->tube, "event", "put", counts->put);
        write_count(out, "weir_jobs_total", counts->tube, "event", "done", counts->done);
        write_count(out, "weir_jobs_total", counts->tube, "event", "retried", counts->retried);
        write_count(out, "weir_jobs_total", counts->tube, "event", "timeout", counts->expired);
    }
    write_head(out, "weir_queue_paused", "gauge", "1 while no job of a queue is handed out.");
    for (size_t i = 0; i < tubes->count; i++) {
        (void)fputs("weir_queue_paused{queue=\"", out);
        write_label(out, tubes->counts[i].tube);
        (void)fprintf(out, "\"} %d\n", tubes->counts[i].paused_until_ns != 0 ? 1 : 0);
    }
}

static int take_run_time(const struct weir_job *job, void *arg)
{
    int64_t *run_at_ns = arg;
    *run_at_ns = job->run_at_ns;
    return 1;
}

/* The store's index has ready jobs in the order in which they run, so this reads one of each queue.
 * The nodes of a cluster would be asked for each queue, so that it is left out there. */
static void write_ages(FILE *out, const struct api *api, const struct tubes *tubes)
{
    struct timespec now = {0, 0};
    if (strcmp(api->broker_kind, "sqlite") != 0) {
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    write_head(out, "weir_oldest_ready_seconds", "gauge",
               "How long the job of a queue that runs next has been ready; 0 without one. With "
               "priorities it need not be the oldest.");
    for (size_t i = 0; i < tubes->count; i++) {
        int64_t run_at_ns = 0;
        const struct weir_tube_counts *counts = &tubes->counts[i];
        if (counts->ready > 0 && weir_broker_peek(api->broker, counts->tube, WEIR_JOB_READY, 1,
                                                  take_run_time, &run_at_ns, NULL) != WEIR_OK) {
            continue;
        }
        int64_t age_ns = run_at_ns == 0 ? 0 : WEIR_SECONDS(now.tv_sec) + now.tv_nsec - run_at_ns;
        (void)fputs("weir_oldest_ready_seconds{queue=\"", out);
        write_label(out, counts->tube);
        (void)fprintf(out, "\"} %.3f\n", age_ns > 0 ? (double)age_ns / 1e9 : 0.0);
    }
}

static int write_node(const struct weir_node *node, void *arg)
{
    FILE *out = arg;
    if (ftell(out) == 0) {
        write_head(out, "weir_node_up", "gauge", "1 while a server of the cluster answers.");
    }
    (void)fputs("weir_node_up{node=\"", out);
    write_label(out, node->name);
    (void)fprintf(out, "\"} %d\n", node->state == WEIR_NODE_AWAY ? 0 : 1);
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
    bool up = tubes_read(&tubes, api->broker, NULL) == WEIR_OK && nodes;
    write_head(out, "weir_broker_up", "gauge", "1 where the broker answered this request.");
    (void)fprintf(out, "weir_broker_up %d\n", up ? 1 : 0);
    write_head(out, "weir_build_info", "gauge", "1, with the version.");
    (void)fprintf(out, "weir_build_info{version=\"%s\"} 1\n", weir_version());
    process_write(out);
    if (up) {
        write_tubes(out, &tubes);
        write_ages(out, api, &tubes);
    }
    bool written =
        api->metrics == NULL || weir_metrics_write(api->metrics, write_consumers, out) == WEIR_OK;
    tubes_free(&tubes);
    return written;
}

void api_metrics(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const none[] = {NULL};
    char *text = NULL;
    size_t size = 0;
    if (!fields_check(&request->target, none, reply)) {
        return;
    }
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        reply_status(reply, WEIR_ENOMEM, "metrics", NULL);
        return;
    }
    bool failed = !write_all(out, api) || ferror(out) != 0;
    failed = fclose(out) != 0 || failed;
    if (failed) {
        free(text);
        reply_status(reply, WEIR_ENOMEM, "metrics", NULL);
        return;
    }
    reply_text(reply, 200, METRICS_TYPE, text, size);
}
