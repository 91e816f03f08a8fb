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

void api_kick_tube(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const members[] = {"count", NULL};
    struct weir_error error = {0};
    const char *tube = request->target.segments[3];
    int64_t count = 1000;
    size_t kicked = 0;
    json_t *object = fields_object(request->text, request->size, members, reply);
    if (object != NULL && member_number(object, "count", 1, 1000, &count, reply)) {
        enum weir_status status =
            weir_broker_kick(api->broker, tube, (size_t)count, &kicked, &error);
        if (status == WEIR_OK) {
            reply_json(reply, 200,
                       json_pack("{s:s, s:I}", "tube", tube, "kicked", (json_int_t)kicked));
        } else {
            reply_tube(reply, status, tube, &error);
        }
    }
    json_decref(object);
}

static void set_pause(const struct api *api, const struct request *request, struct reply *reply,
                      const char *const *members, bool resumes)
{
    struct weir_error error = {0};
    const char *tube = request->target.segments[3];
    int64_t duration_ns = resumes ? 0 : WEIR_FOREVER;
    json_t *object = fields_object(request->text, request->size, members, reply);
    if (object != NULL &&
        (resumes || member_duration(object, "duration", 1, &duration_ns, reply))) {
        enum weir_status status = weir_broker_pause(api->broker, tube, duration_ns, &error);
        if (status == WEIR_OK) {
            reply_json(reply, 200, json_pack("{s:s, s:b}", "tube", tube, "paused", !resumes));
        } else {
            reply_tube(reply, status, tube, &error);
        }
    }
    json_decref(object);
}

void api_pause(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const members[] = {"duration", NULL};
    set_pause(api, request, reply, members, false);
}

void api_resume(const struct api *api, const struct request *request, struct reply *reply)
{
    static const char *const none[] = {NULL};
    set_pause(api, request, reply, none, true);
}

/* --- jobs by their ids --- */

#define IDS_MOST 1000
#define RUN_STATES (1U << WEIR_JOB_BURIED | 1U << WEIR_JOB_DELAYED)

/* The texts of the member "ids". False: refused. */
static bool read_ids(const json_t *object, const char **ids, size_t *ret_count, struct reply *reply)
{
    const json_t *array = json_object_get(object, "ids");
    size_t count = json_array_size(array);
    bool is_valid = count > 0 && count <= IDS_MOST;
    for (size_t i = 0; i < count && is_valid; i++) {
        ids[i] = json_string_value(json_array_get(array, i));
        is_valid = ids[i] != NULL;
    }
    if (!is_valid) {
        reply_error(reply, 400, "ids: expected an array of 1 to %d strings", IDS_MOST);
    }
    *ret_count = count;
    return is_valid;
}

static json_t *show_results(const char *const *ids, const enum weir_status *statuses, size_t count,
                            const char *done)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        (void)reply_append(&array, json_of_result(ids[i], done, statuses[i]));
    }
    return json_pack("{s:o}", "results", array);
}

static bool read_verdict(const json_t *object, struct weir_change *change, struct reply *reply)
{
    static const char *const names[] = {"bury", "remove", "retry"};
    const char *text = names[0];
    if (!member_string(object, "verdict", &text, reply)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            change->verdict = (enum weir_verdict)(WEIR_VERDICT_BURY + i);
            return true;
        }
    }
    reply_error(reply, 400, "verdict: %.100s: expected one of bury, remove, retry", text);
    return false;
}

/* What a success is called. */
static const char *done_word(const struct weir_change *change)
{
    static const char *const words[] = {[WEIR_CHANGE_REMOVE] = "removed",
                                        [WEIR_CHANGE_KICK] = "kicked",
                                        [WEIR_CHANGE_BURY] = "buried",
                                        [WEIR_CHANGE_MOVE] = "moved"};
    static const char *const ends[] = {[WEIR_VERDICT_BURY] = "buried",
                                       [WEIR_VERDICT_REMOVE] = "removed",
                                       [WEIR_VERDICT_RETRY] = "retried"};
    return change->kind == WEIR_CHANGE_CANCEL ? ends[change->verdict] : words[change->kind];
}

/* Answers 200 with one result for each job: that some were left alone is in there. Of the members
 * are read those that the change has. */
static void change_ids(const struct api *api, const struct request *request, struct reply *reply,
                       struct weir_change *change, const char *const *members)
{
    struct weir_error error = {0};
    size_t count = 0;
    const char **ids = calloc(IDS_MOST, sizeof(*ids));
    enum weir_status *statuses = calloc(IDS_MOST, sizeof(*statuses));
    json_t *object = fields_object(request->text, request->size, members, reply);
    if (ids == NULL || statuses == NULL) {
        reply_status(reply, WEIR_ENOMEM, "jobs", NULL);
    } else if (object != NULL && read_ids(object, ids, &count, reply) &&
               member_string(object, "reason", &change->reason, reply) &&
               member_string(object, "to", &change->tube, reply) &&
               read_verdict(object, change, reply)) {
        enum weir_status status = WEIR_OK;
        if (change->kind == WEIR_CHANGE_MOVE && change->tube == NULL) {
            reply_error(reply, 400, "no to; expected a string");
        } else if ((status = weir_broker_change(api->broker, change, ids, count, statuses,
                                                &error)) == WEIR_OK ||
                   status == WEIR_EUNKNOWN) { /* of some: each has a status */
            reply_json(reply, 200, show_results(ids, statuses, count, done_word(change)));
        } else {
            reply_status(reply, status, "jobs", &error);
        }
    }
    json_decref(object);
    free(statuses);
    free(ids);
}

void api_change(const struct api *api, const struct request *request, struct reply *reply)
{
    static const struct {
        const char *name;
        struct weir_change change;
        const char *members[4];
    } calls[] = {
        {"kick", {.kind = WEIR_CHANGE_KICK}, {"ids"}},
        {"run", {.kind = WEIR_CHANGE_KICK, .states = RUN_STATES}, {"ids"}},
        {"takeback", {.kind = WEIR_CHANGE_KICK, .states = 1U << WEIR_JOB_RESERVED}, {"ids"}},
        {"bury", {.kind = WEIR_CHANGE_BURY, .reason = "buried by hand"}, {"ids", "reason"}},
        {"cancel",
         {.kind = WEIR_CHANGE_CANCEL, .reason = "canceled by hand"},
         {"ids", "reason", "verdict"}},
        {"rm", {.kind = WEIR_CHANGE_REMOVE}, {"ids"}},
        {"move", {.kind = WEIR_CHANGE_MOVE}, {"ids", "to"}},
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(request->target.segments[2], calls[i].name) == 0) {
            struct weir_change change = calls[i].change;
            change_ids(api, request, reply, &change, calls[i].members);
        }
    }
}
