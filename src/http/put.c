/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/api.h"
#include "http/fields.h"
#include "view/job_field.h"
#include "view/text.h"

/* Putting jobs. */

static bool read_mode(const json_t *object, enum weir_duplicate *ret_mode, struct reply *reply)
{
    const char *text = NULL;
    if (!member_string(object, "on_duplicate", &text, reply)) {
        return false;
    }
    if (text != NULL && !text_read_mode(text, ret_mode)) {
        reply_error(reply, 400,
                    "on_duplicate: %.100s: expected one of refuse, replace, keep, debounce, "
                    "throttle, again",
                    text);
        return false;
    }
    return true;
}

/* Reads the object of headers into lines. */
static bool read_headers(const json_t *object, char headers[WEIR_HEADERS_SIZE_MAX + 1],
                         struct reply *reply)
{
    json_t *members = json_object_get(object, "headers");
    size_t used = 0;
    const char *name;
    json_t *value;
    headers[0] = '\0';
    if (members != NULL && !json_is_object(members)) {
        reply_error(reply, 400, "headers: expected an object of strings");
        return false;
    }
    json_object_foreach(members, name, value)
    {
        const char *text = json_string_value(value);
        size_t left = WEIR_HEADERS_SIZE_MAX + 1 - used;
        int size = text == NULL ? -1 : snprintf(headers + used, left, "%s=%s\n", name, text);
        if (size < 0 || (size_t)size >= left || strchr(text, '\n') != NULL ||
            strlen(text) != json_string_length(value) ||
            weir_headers_check(headers, NULL) != WEIR_OK) {
            reply_error(reply, 400,
                        "headers: %.100s: expected a text of one line, a name of at most %d out of "
                        "a-z, 0-9 and -, and at most %d bytes in all",
                        name, WEIR_HEADER_NAME_MAX, WEIR_HEADERS_SIZE_MAX);
            return false;
        }
        used += (size_t)size;
    }
    return true;
}

static bool read_put(const json_t *object, struct weir_put_options *options,
                     char headers[WEIR_HEADERS_SIZE_MAX + 1], struct reply *reply)
{
    int64_t priority = 0;
    if (!member_time(object, "run_at", &options->run_at_ns, reply) ||
        !member_duration(object, "delay", 0, &options->delay_ns, reply) ||
        !member_duration(object, "ttr", WEIR_MS(1), &options->ttr_ns, reply) ||
        !member_number(object, "priority", INT32_MIN, INT32_MAX, &priority, reply) ||
        !member_string(object, "put_id", &options->put_id, reply) ||
        !member_duration(object, "key_for", 1, &options->key_ns, reply) ||
        !read_mode(object, &options->on_duplicate, reply) ||
        !read_headers(object, headers, reply)) {
        return false;
    }
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        const char *text = field->kind == WEIR_FIELD_LINES ? headers : NULL;
        if (job_field_is_text(field)) {
            if (text == NULL && !member_string(object, field->name, &text, reply)) {
                return false;
            }
            job_field_set(field, options, text);
        }
    }
    if (json_object_get(object, "run_at") != NULL && json_object_get(object, "delay") != NULL) {
        reply_error(reply, 400, "delay and run_at: both given; expected one of them");
        return false;
    }
    options->priority = (int32_t)priority;
    return true;
}

void api_put(const struct api *api, const struct request *request, struct reply *reply)
{
    const char *members[32] = {"body",     "encoding", "run_at",       "delay", "ttr",
                               "priority", "key_for",  "on_duplicate", "put_id"};
    job_field_names(members, 32);
    char headers[WEIR_HEADERS_SIZE_MAX + 1];
    struct weir_put_options options = {0};
    struct weir_error error = {0};
    struct weir_body body = {NULL, 0, NULL};
    struct weir_job_id id;
    const char *tube = request->target.segments[3];
    char *decoded = NULL;
    json_t *object = fields_object(request->text, request->size, members, reply);
    if (object != NULL && read_put(object, &options, headers, reply) &&
        member_body(object, &body, &decoded, reply)) {
        enum weir_status status =
            weir_broker_put(api->broker, tube, &body, 1, &options, &id, &error);
        if (status == WEIR_OK) {
            reply_json(reply, 201, json_pack("{s:s, s:s}", "id", id.text, "tube", tube));
        } else {
            reply_status(reply, status, tube, &error);
        }
    }
    free(decoded);
    json_decref(object);
}
