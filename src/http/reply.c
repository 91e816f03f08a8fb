/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/text.h"

void reply_text(struct reply *reply, int status, const char *type, char *text, size_t size)
{
    reply_free(reply);
    reply->status = text != NULL ? status : 503;
    reply->type = type;
    reply->text = text;
    reply->size = text != NULL ? size : 0;
}

FILE *reply_open(struct reply *reply, const char *type)
{
    reply_free(reply);
    FILE *out = open_memstream(&reply->text, &reply->size);
    reply->status = out != NULL ? 200 : 503;
    reply->type = type;
    return out;
}

void reply_close(struct reply *reply, FILE *out, bool written)
{
    bool failed = !written || ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        reply_text(reply, 503, reply->type, NULL, 0);
    }
}

/* Through a stream: json_dumps() of jansson 2.14 goes on after a name that it had no memory for. */
void reply_json(struct reply *reply, int status, json_t *object)
{
    FILE *out = reply_open(reply, JSON_TYPE);
    if (out != NULL) {
        reply->status = status;
        reply_close(reply, out, object != NULL && json_dumpf(object, out, JSON_COMPACT) == 0);
    }
    json_decref(object);
}

int reply_append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) != 0) {
        json_decref(*array);
        *array = NULL;
        return 1;
    }
    return 0;
}

void reply_error(struct reply *reply, int status, const char *format, ...)
{
    char text[1024];
    char line[1024];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    /* What stands in a message may have come from the request, and may be cut within a character:
     * so it is shown as on a terminal. */
    (void)text_escape_message(text, line, sizeof(line));
    reply_json(reply, status, json_pack("{s:s}", "error", line));
}

int reply_code(enum weir_status status)
{
    switch (status) {
    case WEIR_OK:
        return 200;
    case WEIR_EINVAL:
    case WEIR_ERANGE:
    case WEIR_EPAST:
        return 400;
    case WEIR_EACCESS:
        return 403;
    case WEIR_ENOTFOUND:
        return 404;
    case WEIR_EBUSY:
    case WEIR_ESTATE:
        return 409;
    case WEIR_ETOOBIG:
        return 413;
    case WEIR_ENOTSUP:
        return 501;
    case WEIR_ENOMEM:
    case WEIR_ETIMEDOUT:
    case WEIR_EUNAVAILABLE:
    case WEIR_EUNKNOWN:
    case WEIR_ENOSPACE:
        return 503;
    default:
        return 500;
    }
}

void reply_status(struct reply *reply, enum weir_status status, const char *what,
                  const struct weir_error *error)
{
    const char *text =
        error != NULL && error->text[0] != '\0' ? error->text : weir_status_text((int)status);
    reply_error(reply, reply_code(status), "%s: %s", what, text);
}

void reply_tube(struct reply *reply, enum weir_status status, const char *tube,
                const struct weir_error *error)
{
    if (status == WEIR_ENOTFOUND) {
        reply_error(reply, 404, "%s: no such tube; expected one that a job was put into", tube);
    } else {
        reply_status(reply, status, tube, error);
    }
}

void reply_free(struct reply *reply)
{
    free(reply->text);
    memset(reply, 0, sizeof(*reply));
}
