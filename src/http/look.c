/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include <weir/version.h>

#include "http/api.h"
#include "http/fields.h"
#include "view/json.h"
#include "view/timestamp.h"
#include "view/tube_number.h"

/* What is there: counts, tubes, nodes, samples. */

/* Opens an answer of what the last reading has: its time comes first. NULL: it is answered. */
static FILE *open_reading(const struct api *api, struct reply *reply, struct tubes *tubes)
{
    struct weir_error error = {0};
    char at[TIMESTAMP_SIZE];
    enum weir_status status = readings_take(api->readings, false, tubes, &error);
    if (status != WEIR_OK) {
        reply_status(reply, status, "tubes", &error);
        return NULL;
    }
    timestamp_write(tubes->at_ns, at);
    FILE *out = reply_open(reply, JSON_TYPE);
    if (out != NULL) {
        (void)fprintf(out, "{\"at\":\"%s\",", at);
    }
    return out;
}

void api_stats(const struct api *api, const struct request *request, struct reply *reply)
{
    struct tubes tubes = {.counts = NULL};
    uint64_t sums[TUBE_NUMBERS] = {0};
    FILE *out = open_reading(api, reply, &tubes);
    (void)request;
    for (size_t i = 0; i < tubes.count; i++) {
        tube_numbers_add(sums, &tubes.counts[i]);
    }
    if (out != NULL) {
        (void)fprintf(out,
                      "\"version\":\"%s\",\"broker\":\"%s\",\"tubes\":%zu,"
                      "\"may_change\":%s,\"hides_bodies\":%s",
                      weir_version(), api->broker_kind, tubes.count,
                      api->may_change ? "true" : "false", api->hide_bodies ? "true" : "false");
        reply_close(reply, out, json_write_numbers(out, sums) && fputc('}', out) != EOF);
    }
    tubes_free(&tubes);
}

void api_tubes(const struct api *api, const struct request *request, struct reply *reply)
{
    struct tubes tubes = {.counts = NULL};
    FILE *out = open_reading(api, reply, &tubes);
    (void)request;
    if (out != NULL) {
        bool written = fputs("\"tubes\":[", out) != EOF;
        for (size_t i = 0; i < tubes.count && written; i++) {
            written = (i == 0 || fputc(',', out) != EOF) && json_write_tube(out, &tubes.counts[i]);
        }
        reply_close(reply, out, written && fputs("]}", out) != EOF);
    }
    tubes_free(&tubes);
}

static int take_tube(const struct weir_tube_counts *counts, void *arg)
{
    struct weir_tube_counts *taken = arg;
    *taken = *counts;
    return 1;
}

void api_tube(const struct api *api, const struct request *request, struct reply *reply)
{
    struct weir_error error = {0};
    struct weir_tube_counts counts = {.tube = ""};
    const char *tube = request->target.segments[3];
    enum weir_status status = weir_broker_tubes(api->broker, tube, take_tube, &counts, &error);
    if (status != WEIR_OK || counts.tube[0] == '\0') {
        reply_tube(reply, status != WEIR_OK ? status : WEIR_ENOTFOUND, tube, &error);
    } else {
        FILE *out = reply_open(reply, JSON_TYPE);
        if (out != NULL) {
            reply_close(reply, out, json_write_tube(out, &counts));
        }
    }
}

static int add_node(const struct weir_node *node, void *arg)
{
    return reply_append(arg, json_of_node(node));
}

void api_nodes(const struct api *api, const struct request *request, struct reply *reply)
{
    struct weir_error error = {0};
    (void)request;
    json_t *array = json_array();
    enum weir_status status = weir_broker_nodes(api->broker, add_node, &array, &error);
    if (status != WEIR_OK) {
        json_decref(array);
        reply_status(reply, status, "nodes", &error);
        return;
    }
    reply_json(reply, 200, json_pack("{s:o}", "nodes", array));
}

static bool read_step(const struct target *target, enum samples_step *ret_step, struct reply *reply)
{
    static const char *const names[SAMPLES_STEPS] = {"1s", "10s", "5m"};
    const char *text = target_value(target, "step");
    if (text == NULL) {
        return true;
    }
    for (enum samples_step step = SAMPLES_SECOND; step < SAMPLES_STEPS; step++) {
        if (strcmp(text, names[step]) == 0) {
            *ret_step = step;
            return true;
        }
    }
    reply_error(reply, 400, "step: %.100s: expected one of 1s, 10s, 5m", text);
    return false;
}

void api_samples(const struct api *api, const struct request *request, struct reply *reply)
{
    enum samples_step step = SAMPLES_SECOND;
    bool known = false;
    const char *tube = target_value(&request->target, "tube");
    if ((tube != NULL && !fields_tube(tube, reply)) || !read_step(&request->target, &step, reply)) {
        return;
    }
    if (tube != NULL && target_value(&request->target, "step") != NULL) {
        reply_error(reply, 400, "step: samples of a tube have 10s alone; expected no step");
        return;
    }
    json_t *object = samples_json(api->samples, tube, step, &known);
    if (known) {
        reply_json(reply, 200, object);
    } else {
        reply_error(reply, 404, "%s: no samples of this tube", tube);
    }
}
