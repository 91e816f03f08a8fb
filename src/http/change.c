/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <weir/duration.h>

#include "http/api.h"
#include "http/fields.h"
#include "view/json.h"

/* What operators do with jobs. */

static const char *const no_fields[] = {NULL};

static void refuse_tube(struct reply *reply, enum weir_status status, const char *tube,
                        const struct weir_error *error)
{
    if (status == WEIR_ENOTFOUND) {
        reply_error(reply, 404, "%s: no such tube; expected one that a job was put into", tube);
    } else {
        reply_status(reply, status, tube, error);
    }
}

void api_kick_tube(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const members[] = {"count", NULL};
    struct weir_error error = {0};
    const char *tube = NULL;
    int64_t count = 1000;
    size_t kicked = 0;
    json_t *object = request_tube(request, members, &tube, reply);
    if (object != NULL && member_number(object, "count", 1, 1000, &count, reply)) {
        enum weir_status status =
            weir_broker_kick(api->broker, tube, (size_t)count, &kicked, &error);
        if (status == WEIR_OK) {
            reply_json(reply, 200,
                       json_pack("{s:s, s:I}", "tube", tube, "kicked", (json_int_t)kicked));
        } else {
            refuse_tube(reply, status, tube, &error);
        }
    }
    json_decref(object);
}

void api_pause(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const members[] = {"duration", NULL};
    struct weir_error error = {0};
    const char *tube = NULL;
    int64_t duration_ns = WEIR_FOREVER;
    json_t *object = request_tube(request, members, &tube, reply);
    if (object != NULL && member_duration(object, "duration", 1, &duration_ns, reply)) {
        enum weir_status status = weir_broker_pause(api->broker, tube, duration_ns, &error);
        if (status == WEIR_OK) {
            reply_json(reply, 200, json_pack("{s:s, s:b}", "tube", tube, "paused", 1));
        } else {
            refuse_tube(reply, status, tube, &error);
        }
    }
    json_decref(object);
}

void api_resume(const struct api *api, const struct request *request, struct reply *reply)
{
    struct weir_error error = {0};
    const char *tube = NULL;
    json_t *object = request_tube(request, no_fields, &tube, reply);
    if (object != NULL) {
        enum weir_status status = weir_broker_pause(api->broker, tube, 0, &error);
        if (status == WEIR_OK) {
            reply_json(reply, 200, json_pack("{s:s, s:b}", "tube", tube, "paused", 0));
        } else {
            refuse_tube(reply, status, tube, &error);
        }
    }
    json_decref(object);
}

/* --- jobs by their ids --- */

#define IDS_MOST 1000

/* The texts of the member "ids". False: refused. */
static bool read_ids(const json_t *object, const char **ids, size_t *ret_count, struct reply *reply)
{
    const json_t *array = json_object_get(object, "ids");
    size_t count = json_array_size(array);
    if (count == 0 || count > IDS_MOST) {
        reply_error(reply, 400, "ids: expected an array of 1 to %d strings", IDS_MOST);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        ids[i] = json_string_value(json_array_get(array, i));
        if (ids[i] == NULL) {
            reply_error(reply, 400, "ids: expected an array of 1 to %d strings", IDS_MOST);
            return false;
        }
    }
    *ret_count = count;
    return true;
}

static json_t *show_results(const char *const *ids, const enum weir_status *statuses, size_t count,
                            const char *done)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(array, json_of_result(ids[i], done, statuses[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return json_pack("{s:o}", "results", array);
}

/* Answers 200 with one result for each job: that some were left alone is in there. member may be
 * NULL: none beside the ids; its text goes to *text, which has that of one that is not given; NULL:
 * it must be. */
static void change(const struct api *api, const struct request *request, struct reply *reply,
                   const struct weir_change *change, const char *done, const char *member,
                   const char **text)
{
    const char *const members[] = {"ids", member, NULL};
    struct weir_error error = {0};
    size_t count = 0;
    const char **ids = calloc(IDS_MOST, sizeof(*ids));
    enum weir_status *statuses = calloc(IDS_MOST, sizeof(*statuses));
    json_t *object = fields_check(&request->target, no_fields, reply)
                         ? fields_object(request->text, request->size, members, reply)
                         : NULL;
    if (ids == NULL || statuses == NULL) {
        reply_status(reply, WEIR_ENOMEM, "jobs", NULL);
    } else if (object != NULL && read_ids(object, ids, &count, reply) &&
               (member == NULL || member_string(object, member, text, reply))) {
        enum weir_status status = WEIR_OK;
        if (member != NULL && *text == NULL) {
            reply_error(reply, 400, "no %s; expected a string", member);
        } else if ((status = weir_broker_change(api->broker, change, ids, count, statuses,
                                                &error)) == WEIR_OK ||
                   status == WEIR_EUNKNOWN) { /* of some: each has a status */
            reply_json(reply, 200, show_results(ids, statuses, count, done));
        } else {
            reply_status(reply, status, "jobs", &error);
        }
    }
    json_decref(object);
    free(statuses);
    free(ids);
}

void api_kick(const struct api *api, const struct request *request, struct reply *reply)
{
    static const struct weir_change kick = {.kind = WEIR_CHANGE_KICK};
    change(api, request, reply, &kick, "kicked", NULL, NULL);
}

void api_bury(const struct api *api, const struct request *request, struct reply *reply)
{
    struct weir_change bury = {.kind = WEIR_CHANGE_BURY, .reason = "buried by hand"};
    change(api, request, reply, &bury, "buried", "reason", &bury.reason);
}

void api_rm(const struct api *api, const struct request *request, struct reply *reply)
{
    static const struct weir_change remove = {.kind = WEIR_CHANGE_REMOVE};
    change(api, request, reply, &remove, "removed", NULL, NULL);
}

void api_move(const struct api *api, const struct request *request, struct reply *reply)
{
    struct weir_change move = {.kind = WEIR_CHANGE_MOVE};
    change(api, request, reply, &move, "moved", "to", &move.tube);
}
