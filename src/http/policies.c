/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include <weir/duration.h>

#include "http/api.h"
#include "http/fields.h"
#include "view/json.h"
#include "view/text.h"

/* Policies of tubes. */

static void show(const struct api *api, const char *tube, struct reply *reply)
{
    struct weir_tube_policy policy = {0};
    struct weir_tube_policy_counts counts = {0, 0, 0};
    struct weir_error error = {0};
    enum weir_status status = weir_broker_policy(api->broker, tube, &policy, &counts, &error);
    if (status == WEIR_OK) {
        reply_json(reply, 200, json_of_policy(tube, &policy, &counts));
    } else {
        reply_tube(reply, status, tube, &error);
    }
}

/* A member of the object that is there is one that the change names. */
static uint32_t named(const json_t *object, const char *name, uint32_t member)
{
    return json_object_get(object, name) != NULL ? member : 0;
}

static bool read_late(const json_t *object, uint32_t *ret_late, struct reply *reply)
{
    const char *text = NULL;
    if (!member_string(object, "late", &text, reply)) {
        return false;
    }
    if (text != NULL && !text_read_late(text, ret_late)) {
        reply_error(reply, 400, "late: %s: expected run, bury or drop", text);
        return false;
    }
    return true;
}

/* 0: none is kept. */
static bool read_keep(const json_t *object, int64_t *ret_ns, struct reply *reply)
{
    const char *text = json_string_value(json_object_get(object, "keep"));
    *ret_ns = WEIR_FOREVER;
    if ((text == NULL || strcmp(text, "forever") != 0) &&
        !member_duration(object, "keep", 0, ret_ns, reply)) {
        return false;
    }
    *ret_ns = *ret_ns == 0 ? WEIR_KEEP_NONE : *ret_ns;
    return true;
}

static bool read_archive(const json_t *object, uint32_t *ret_archive, struct reply *reply)
{
    const json_t *value = json_object_get(object, "archive");
    if (value != NULL && !json_is_boolean(value)) {
        reply_error(reply, 400, "archive: expected true or false");
        return false;
    }
    *ret_archive = json_is_true(value);
    return true;
}

/* Reads what the object names. False: refused. */
static bool read_change(const json_t *object, struct weir_tube_policy *change, struct reply *reply)
{
    int64_t count = 0;
    int64_t limit = 0;
    change->members = named(object, "keep", WEIR_POLICY_KEEP_NS) |
                      named(object, "keep_count", WEIR_POLICY_KEEP_COUNT) |
                      named(object, "archive", WEIR_POLICY_ARCHIVE) |
                      named(object, "late", WEIR_POLICY_LATE) |
                      named(object, "late_after", WEIR_POLICY_LATE_NS) |
                      named(object, "group_limit", WEIR_POLICY_GROUP_LIMIT);
    if (!read_keep(object, &change->keep_ns, reply) ||
        !read_archive(object, &change->archive, reply) ||
        !member_number(object, "keep_count", 0, INT64_C(999999999999999999), &count, reply) ||
        !read_late(object, &change->late, reply) ||
        !member_duration(object, "late_after", 1, &change->late_ns, reply) ||
        !member_number(object, "group_limit", 0, UINT32_MAX, &limit, reply)) {
        return false;
    }
    change->keep_count = (uint64_t)count;
    change->group_limit = (uint32_t)limit;
    return true;
}

void api_policy(const struct api *api, const struct request *request, struct reply *reply)
{
    show(api, request->target.segments[3], reply);
}

void api_policy_set(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const members[] = {"keep",       "keep_count",  "archive", "late",
                                          "late_after", "group_limit", NULL};
    struct weir_tube_policy change = {0};
    struct weir_error error = {0};
    const char *tube = request->target.segments[3];
    json_t *object = fields_object(request->text, request->size, members, reply);
    if (object == NULL) {
        return;
    }
    if (read_change(object, &change, reply)) {
        enum weir_status status = change.members == 0
                                      ? WEIR_OK
                                      : weir_broker_set_policy(api->broker, tube, &change, &error);
        if (status == WEIR_OK) {
            show(api, tube, reply);
        } else {
            reply_tube(reply, status, tube, &error);
        }
    }
    json_decref(object);
}
