/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <weir/duration.h>

#include "http/api.h"
#include "view/text.h"
#include "view/timestamp.h"

/* Values are cut in messages. */
#define SHOWN "%.100s"

static bool is_among(const char *name, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool fields_check(const struct target *target, const char *const *names, struct reply *reply)
{
    for (size_t i = 0; i < target->field_count; i++) {
        if (!is_among(target->fields[i].name, names)) {
            reply_error(reply, 400, SHOWN ": unknown field of the query", target->fields[i].name);
            return false;
        }
    }
    return true;
}

bool fields_tube(const char *tube, struct reply *reply)
{
    if (weir_tube_check(tube, NULL) == WEIR_OK) {
        return true;
    }
    reply_error(reply, 400,
                "tube: " SHOWN ": expected 1 to 200 characters out of A-Z a-z 0-9 - + / ; . $ _ ( "
                "), the first of them not -",
                tube);
    return false;
}

bool fields_number(const struct target *target, const char *name, int64_t least, int64_t most,
                   int64_t *ret_number, struct reply *reply)
{
    const char *text = target_value(target, name);
    if (text == NULL) {
        return true;
    }
    size_t size = strlen(text);
    int64_t number = -1;
    /* No more than 18 digits: they cannot overflow. */
    if (size > 0 && size <= 18 && strspn(text, "0123456789") == size) {
        number = strtoll(text, NULL, 10);
    }
    if (number < least || number > most) {
        reply_error(reply, 400,
                    "%s: " SHOWN ": expected a whole number from %" PRId64 " to %" PRId64, name,
                    text, least, most);
        return false;
    }
    *ret_number = number;
    return true;
}

static bool read_duration(const char *name, const char *text, int64_t least, int64_t *ret_ns,
                          struct reply *reply)
{
    int64_t ns = 0;
    if (weir_duration_parse(text, &ns, NULL) != WEIR_OK || ns < least) {
        reply_error(reply, 400, "%s: " SHOWN ": expected a duration such as 250ms, 1.5s, 2m30s",
                    name, text);
        return false;
    }
    *ret_ns = ns;
    return true;
}

bool fields_duration(const struct target *target, const char *name, int64_t *ret_ns,
                     struct reply *reply)
{
    const char *text = target_value(target, name);
    return text == NULL || read_duration(name, text, 0, ret_ns, reply);
}

bool fields_state(const struct target *target, const char *name, enum weir_job_state *ret_state,
                  struct reply *reply)
{
    const char *text = target_value(target, name);
    if (text == NULL || text_read_state(text, ret_state)) {
        return true;
    }
    reply_error(reply, 400,
                "%s: " SHOWN ": expected one of delayed, ready, reserved, buried, ended", name,
                text);
    return false;
}

bool fields_flag(const struct target *target, const char *name, bool *ret_flag, struct reply *reply)
{
    const char *text = target_value(target, name);
    if (text == NULL) {
        return true;
    }
    bool is_true = strcmp(text, "true") == 0;
    if (!is_true && strcmp(text, "false") != 0) {
        reply_error(reply, 400, "%s: " SHOWN ": expected true or false", name, text);
        return false;
    }
    *ret_flag = is_true;
    return true;
}

/* Whether jansson got no memory on this thread: its parser goes on without, and loses bytes. */
static _Thread_local bool lacks_memory;

static void *watched_malloc(size_t size)
{
    void *memory = malloc(size);
    lacks_memory = lacks_memory || memory == NULL;
    return memory;
}

void fields_watch_memory(void)
{
    json_set_alloc_funcs(watched_malloc, free);
}

json_t *fields_object(const char *text, size_t size, const char *const *names, struct reply *reply)
{
    json_error_t error;
    lacks_memory = false;
    json_t *object =
        size == 0 ? json_object() : json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    const char *name;
    json_t *value;
    if (lacks_memory) {
        json_decref(object);
        reply_status(reply, WEIR_ENOMEM, "body", NULL);
        return NULL;
    }
    if (object == NULL || !json_is_object(object)) {
        json_decref(object);
        reply_error(reply, 400, "body: expected one JSON object, in UTF-8");
        return NULL;
    }
    json_object_foreach(object, name, value)
    {
        if (!is_among(name, names)) {
            reply_error(reply, 400, SHOWN ": unknown member of the body", name);
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

bool member_string(const json_t *object, const char *name, const char **ret_text,
                   struct reply *reply)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL) {
        return true;
    }
    if (!json_is_string(value)) {
        reply_error(reply, 400, "%s: expected a string", name);
        return false;
    }
    *ret_text = json_string_value(value);
    return true;
}

bool member_number(const json_t *object, const char *name, int64_t least, int64_t most,
                   int64_t *ret_number, struct reply *reply)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL) {
        return true;
    }
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most) {
        reply_error(reply, 400, "%s: expected a whole number from %" PRId64 " to %" PRId64, name,
                    least, most);
        return false;
    }
    *ret_number = json_integer_value(value);
    return true;
}

bool member_duration(const json_t *object, const char *name, int64_t least, int64_t *ret_ns,
                     struct reply *reply)
{
    const char *text = NULL;
    return member_string(object, name, &text, reply) &&
           (text == NULL || read_duration(name, text, least, ret_ns, reply));
}

bool member_time(const json_t *object, const char *name, int64_t *ret_ns, struct reply *reply)
{
    const char *text = NULL;
    size_t offset = 0;
    if (!member_string(object, name, &text, reply)) {
        return false;
    }
    if (text == NULL || timestamp_read(text, ret_ns, &offset)) {
        return true;
    }
    reply_error(reply, 400,
                "%s: " SHOWN ": expected a time such as 2030-01-31T08:00:00Z or @1896076800", name,
                text);
    return false;
}

bool member_body(const json_t *object, struct weir_body *body, char **ret_decoded,
                 struct reply *reply)
{
    const json_t *value = json_object_get(object, "body");
    const char *encoding = "utf-8";
    if (!json_is_string(value)) {
        reply_error(reply, 400, "body: expected a string");
        return false;
    }
    if (!member_string(object, "encoding", &encoding, reply)) {
        return false;
    }
    body->data = json_string_value(value);
    body->size = json_string_length(value);
    if (strcmp(encoding, "base64") == 0) {
        *ret_decoded = malloc(body->size + 1);
        if (*ret_decoded == NULL) {
            reply_status(reply, WEIR_ENOMEM, "body", NULL);
            return false;
        }
        if (!text_read_base64(body->data, body->size, *ret_decoded, &body->size)) {
            reply_error(reply, 400, "body: expected base64 with padding");
            return false;
        }
        body->data = *ret_decoded;
    } else if (strcmp(encoding, "utf-8") != 0) {
        reply_error(reply, 400, "encoding: %.100s: expected utf-8 or base64", encoding);
        return false;
    }
    return true;
}
