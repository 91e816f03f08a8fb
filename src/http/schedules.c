/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <weir/duration.h>
#include <weir/job_schedule.h>

#include "http/api.h"
#include "http/fields.h"
#include "view/json.h"
#include "view/text.h"

/* Schedules: what is there, and changes. */

static void refuse(struct reply *reply, enum weir_status status, const char *name,
                   const struct weir_error *error)
{
    if (status == WEIR_ENOTFOUND) {
        reply_error(reply, 404, "%s: no such schedule", name);
    } else {
        reply_status(reply, status, name, error);
    }
}

struct listing {
    json_t *array; /* NULL: out of memory */
    bool body;
};

static int add(const struct weir_job_schedule *schedule, void *arg)
{
    struct listing *listing = arg;
    return reply_append(&listing->array, json_of_schedule(schedule, listing->body));
}

void api_schedules(const struct api *api, const struct request *request, struct reply *reply)
{
    struct weir_error error = {0};
    (void)request;
    struct listing listing = {json_array(), !api->hide_bodies};
    enum weir_status status = weir_broker_schedules(api->broker, NULL, add, &listing, &error);
    if (status != WEIR_OK) {
        json_decref(listing.array);
        reply_status(reply, status, "schedules", &error);
        return;
    }
    reply_json(reply, 200, json_pack("{s:o}", "schedules", listing.array));
}

/* Answers with a schedule as it is now. */
static void show(const struct api *api, const char *name, struct reply *reply)
{
    struct weir_error error = {0};
    struct listing listing = {json_array(), !api->hide_bodies};
    enum weir_status status = weir_broker_schedules(api->broker, name, add, &listing, &error);
    if (status != WEIR_OK) {
        refuse(reply, status, name, &error);
    } else {
        reply_json(reply, 200, json_incref(json_array_get(listing.array, 0)));
    }
    json_decref(listing.array);
}

void api_schedule(const struct api *api, const struct request *request, struct reply *reply)
{
    show(api, request->target.segments[3], reply);
}

static bool read_missed(const json_t *object, enum weir_missed *ret_missed, struct reply *reply)
{
    const char *text = weir_missed_name(*ret_missed);
    if (!member_string(object, "missed", &text, reply)) {
        return false;
    }
    if (!text_read_missed(text, ret_missed)) {
        reply_error(reply, 400, "missed: %.100s: expected one of once, skip, all", text);
        return false;
    }
    return true;
}

static bool read_overlap(const json_t *object, uint32_t *flags, struct reply *reply)
{
    const json_t *value = json_object_get(object, "overlap");
    if (value != NULL && !json_is_boolean(value)) {
        reply_error(reply, 400, "overlap: expected true or false");
        return false;
    }
    *flags |= json_is_false(value) ? (uint32_t)WEIR_SCHEDULE_NO_OVERLAP : 0;
    return true;
}

static bool read_options(const json_t *object, struct weir_job_schedule_options *options,
                         struct reply *reply)
{
    int64_t priority = 0;
    int64_t catch_up = 0;
    if (!member_string(object, "tube", &options->tube, reply) ||
        !member_string(object, "cron", &options->cron, reply) ||
        !member_string(object, "zone", &options->zone, reply) ||
        !member_duration(object, "every", WEIR_MS(100), &options->interval_ns, reply) ||
        !member_time(object, "first_at", &options->first_at_ns, reply) ||
        !member_duration(object, "tolerance", 1, &options->tolerance_ns, reply) ||
        !member_duration(object, "ttr", WEIR_MS(100), &options->ttr_ns, reply) ||
        !member_number(object, "priority", INT32_MIN, INT32_MAX, &priority, reply) ||
        !member_number(object, "catch_up", 1, WEIR_SCHEDULE_CATCH_UP_LIMIT, &catch_up, reply) ||
        !read_missed(object, &options->missed, reply) ||
        !read_overlap(object, &options->flags, reply)) {
        return false;
    }
    options->priority = (int32_t)priority;
    options->catch_up_max = (uint32_t)catch_up;
    return options->tube == NULL ? (reply_error(reply, 400, "tube: expected a string"), false)
                                 : fields_tube(options->tube, reply);
}

void api_schedule_put(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const members[] = {"tube",      "cron",     "zone",    "every", "first_at",
                                          "tolerance", "catch_up", "missed",  "ttr",   "priority",
                                          "body",      "encoding", "overlap", NULL};
    struct weir_job_schedule_options options = {0};
    struct weir_error error = {0};
    char *decoded = NULL;
    options.name = request->target.segments[3];
    json_t *object = fields_object(request->text, request->size, members, reply);
    bool has_body = json_object_get(object, "body") != NULL;
    if (object != NULL && read_options(object, &options, reply) &&
        (!has_body || member_body(object, &options.body, &decoded, reply))) {
        enum weir_status status = weir_broker_schedule_put(api->broker, &options, &error);
        if (status == WEIR_OK) {
            show(api, options.name, reply);
        } else if (status == WEIR_ENOTFOUND) {
            reply_error(reply, 400, "%s", error.text);
        } else {
            reply_status(reply, status, options.name, &error);
        }
    }
    free(decoded);
    json_decref(object);
}

static void change(const struct api *api, const struct request *request, struct reply *reply,
                   enum weir_schedule_change change)
{
    static const char *const none[] = {NULL};
    struct weir_error error = {0};
    const char *name = request->target.segments[3];
    json_t *object = fields_object(request->text, request->size, none, reply);
    if (object != NULL) {
        enum weir_status status =
            weir_broker_schedule_change(api->broker, name, change, NULL, &error);
        if (status == WEIR_OK && change == WEIR_SCHEDULE_REMOVE) {
            reply_json(reply, 200, json_pack("{s:s, s:b}", "schedule", name, "removed", 1));
        } else if (status == WEIR_OK) {
            show(api, name, reply);
        } else {
            refuse(reply, status, name, &error);
        }
    }
    json_decref(object);
}

void api_schedule_rm(const struct api *api, const struct request *request, struct reply *reply)
{
    change(api, request, reply, WEIR_SCHEDULE_REMOVE);
}

void api_schedule_pause(const struct api *api, const struct request *request, struct reply *reply)
{
    change(api, request, reply, WEIR_SCHEDULE_PAUSE);
}

void api_schedule_resume(const struct api *api, const struct request *request, struct reply *reply)
{
    change(api, request, reply, WEIR_SCHEDULE_RESUME);
}

void api_schedule_run(const struct api *api, const struct request *request, struct reply *reply)
{
    change(api, request, reply, WEIR_SCHEDULE_RUN);
}
