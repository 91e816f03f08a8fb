/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_REPLY_H
#define WEIRI_HTTP_REPLY_H

#include <stddef.h>

#include <jansson.h>

#include <weir/broker.h>

/* An answer: status, type and text. Zeroed it is "not answered yet". */

struct reply {
    int status;       /* Of HTTP. */
    const char *type; /* Of the text. */
    char *text;       /* Owned. */
    size_t size;
};

/* Takes an object; NULL (it could not be made) is out of memory. */
void reply_json(struct reply *reply, int status, json_t *object);

/* {"error": TEXT} */
void reply_error(struct reply *reply, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The error for a status of the library. what is the subject, e.g. a tube. */
void reply_status(struct reply *reply, enum weir_status status, const char *what,
                  const struct weir_error *error);

/* Takes a text. */
void reply_text(struct reply *reply, int status, const char *type, char *text, size_t size);

void reply_free(struct reply *reply);

/* The status of HTTP for one of the library. */
int reply_code(enum weir_status status);

#endif
