/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <time.h>

#include <weir/duration.h>
#include <weir/version.h>

#include "http/api.h"
#include "http/fields.h"
#include "http/tubes.h"
#include "view/json.h"
#include "view/timestamp.h"

/* What is there: counts, tubes, nodes, samples. */

/* Appends to an array; a failure leaves *array NULL. */
static int append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) != 0) {
        json_decref(*array);
        *array = NULL;
        return 1;
    }
    return 0;
}

void api_stats(const struct api *api, const struct request *request, struct reply *reply)
{
    struct tubes tubes = {.counts = NULL};
    struct weir_error error = {0};
    struct weir_tube_counts sum = {.delayed = 0};
    (void)request;
    enum weir_status status = tubes_read(&tubes, api->broker, &error);
    if (status != WEIR_OK) {
        reply_status(reply, status, "tubes", &error);
        tubes_free(&tubes);
        return;
    }
    for (size_t i = 0; i < tubes.count; i++) {
        const struct weir_tube_counts *counts = &tubes.counts[i];
        sum.delayed += counts->delayed;
        sum.ready += counts->ready;
        sum.reserved += counts->reserved;
        sum.buried += counts->buried;
        sum.put += counts->put;
        sum.done += counts->done;
        sum.retried += counts->retried;
        sum.expired += counts->expired;
    }
    struct timespec now = {0, 0};
    char at[TIMESTAMP_SIZE];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    timestamp_write(WEIR_SECONDS(now.tv_sec) + now.tv_nsec, at);
    FILE *out = reply_open(reply, JSON_TYPE);
    if (out != NULL) {
        (void)fprintf(out,
                      "{\"at\":\"%s\",\"version\":\"%s\",\"broker\":\"%s\",\"tubes\":%zu,"
                      "\"may_change\":%s,\"hides_bodies\":%s,",
                      at, weir_version(), api->broker_kind, tubes.count,
                      api->may_change ? "true" : "false", api->hide_bodies ? "true" : "false");
        reply_close(reply, out, json_write_counts(out, &sum) && fputc('}', out) != EOF);
    }
    tubes_free(&tubes);
}

struct tubes_text {
    FILE *out;
    bool has_some;
    bool failed;
};

static int write_tube(const struct weir_tube_counts *counts, void *arg)
{
    struct tubes_text *text = arg;
    text->failed =
        (text->has_some && fputc(',', text->out) == EOF) || !json_write_tube(text->out, counts);
    text->has_some = true;
    return text->failed;
}

void api_tubes(const struct api *api, const struct request *request, struct reply *reply)
{
    struct weir_error error = {0};
    (void)request;
    struct tubes_text text = {.out = reply_open(reply, JSON_TYPE)};
    if (text.out == NULL) {
        return;
    }
    (void)fputs("{\"tubes\":[", text.out);
    enum weir_status status = weir_broker_tubes(api->broker, NULL, write_tube, &text, &error);
    reply_close(reply, text.out, !text.failed && fputs("]}", text.out) != EOF);
    if (status != WEIR_OK) {
        reply_status(reply, status, "tubes", &error);
    }
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
    return append(arg, json_of_node(node));
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
