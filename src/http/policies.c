/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include <weir/duration.h>

#include "http/api.h"
#include "http/fields.h"
#include "view/json.h"

/* Policies of tubes. */

static void refuse(struct reply *reply, enum weir_status status, const char *tube,
                   const struct weir_error *error)
{
    if (status == WEIR_ENOTFOUND) {
        reply_error(reply, 404, "%s: no such tube; expected one that a job was put into", tube);
    } else {
        reply_status(reply, status, tube, error);
    }
}

static void show(const struct api *api, const char *tube, struct reply *reply)
{
    struct weir_tube_policy policy = {0};
    struct weir_tube_policy_counts counts = {0, 0, 0};
    struct weir_error error = {0};
    enum weir_status status = weir_broker_policy(api->broker, tube, &policy, &counts, &error);
    if (status == WEIR_OK) {
        reply_json(reply, 200, json_of_policy(tube, &policy, &counts));
    } else {
        refuse(reply, status, tube, &error);
    }
}

static bool read_late(const json_t *object, uint32_t *ret_late, struct reply *reply)
{
    const char *text = NULL;
    if (!member_string(object, "late", &text, reply)) {
        return false;
    }
    for (uint32_t late = WEIR_LATE_RUN; text != NULL && late <= WEIR_LATE_DROP; late++) {
        if (strcmp(text, weir_late_name((enum weir_late)late)) == 0) {
            *ret_late = late;
            return true;
        }
    }
    if (text != NULL) {
        reply_error(reply, 400, "late: %s: expected run, bury or drop", text);
    }
    return text == NULL;
}

static bool read_archive(const json_t *object, int64_t *ret_ns, struct reply *reply)
{
    const char *text = json_string_value(json_object_get(object, "archive"));
    if (text != NULL && strcmp(text, "forever") == 0) {
        *ret_ns = WEIR_FOREVER;
        return true;
    }
    return member_duration(object, "archive", 0, ret_ns, reply);
}

/* Changes what the object names. False: refused. */
static bool read_policy(const json_t *object, struct weir_tube_policy *policy, struct reply *reply)
{
    int64_t count = (int64_t)policy->archive_count;
    int64_t limit = policy->group_limit;
    if (!read_archive(object, &policy->archive_ns, reply) ||
        !member_number(object, "archive_count", 0, INT64_C(999999999999999999), &count, reply) ||
        !read_late(object, &policy->late, reply) ||
        !member_duration(object, "late_after", 1, &policy->late_ns, reply) ||
        !member_number(object, "group_limit", 0, UINT32_MAX, &limit, reply)) {
        return false;
    }
    policy->archive_count = (uint64_t)count;
    policy->group_limit = (uint32_t)limit;
    /* What belongs to an archive or to a limit that is switched off goes with it. */
    if (policy->archive_ns == 0 && json_object_get(object, "archive_count") == NULL) {
        policy->archive_count = 0;
    }
    if (policy->late == WEIR_LATE_RUN && json_object_get(object, "late_after") == NULL) {
        policy->late_ns = 0;
    }
    return true;
}

void api_policy(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const none[] = {NULL};
    const char *tube = request->target.segments[3];
    if (fields_check(&request->target, none, reply) && fields_tube(tube, reply)) {
        show(api, tube, reply);
    }
}

void api_policy_set(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const none[] = {NULL};
    static const char *const members[] = {"archive",    "archive_count", "late",
                                          "late_after", "group_limit",   NULL};
    struct weir_tube_policy policy = {0};
    struct weir_error error = {0};
    const char *tube = request->target.segments[3];
    json_t *object = fields_check(&request->target, none, reply) && fields_tube(tube, reply)
                         ? fields_object(request->text, request->size, members, reply)
                         : NULL;
    if (object == NULL) {
        return;
    }
    enum weir_status status = weir_broker_policy(api->broker, tube, &policy, NULL, &error);
    if (status != WEIR_OK && status != WEIR_ENOTFOUND) {
        refuse(reply, status, tube, &error);
    } else if (read_policy(object, &policy, reply)) {
        status = weir_broker_set_policy(api->broker, tube, &policy, &error);
        if (status == WEIR_OK) {
            show(api, tube, reply);
        } else {
            refuse(reply, status, tube, &error);
        }
    }
    json_decref(object);
}
