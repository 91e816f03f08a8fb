/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_REPLY_H
#define WEIRI_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include <weir/broker.h>

/* An answer: status, type and text. Zeroed it is "not answered yet". */

#define JSON_TYPE "application/json"

struct reply {
    int status;       /* Of HTTP. */
    const char *type; /* Of the text. */
    char *text;       /* Owned. */
    size_t size;
};

/* Takes an object; NULL (it could not be made) is out of memory. */
void reply_json(struct reply *reply, int status, json_t *object);

/* Appends to an array, and takes the value; a failure leaves *array NULL, and is 1. */
int reply_append(json_t **array, json_t *value);

/* {"error": TEXT} */
void reply_error(struct reply *reply, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The error for a status of the library. what is the subject, e.g. a tube. */
void reply_status(struct reply *reply, enum weir_status status, const char *what,
                  const struct weir_error *error);

/* The same of a tube, which may not be there. */
void reply_tube(struct reply *reply, enum weir_status status, const char *tube,
                const struct weir_error *error);

/* Takes a text. */
void reply_text(struct reply *reply, int status, const char *type, char *text, size_t size);

/* Opens a stream for a text of any length, which reply_close() makes the answer; NULL: out of
 * memory, and that is the answer. */
FILE *reply_open(struct reply *reply, const char *type);
/* written: whether all of it could be written. */
void reply_close(struct reply *reply, FILE *out, bool written);

void reply_free(struct reply *reply);

/* The status of HTTP for one of the library. */
int reply_code(enum weir_status status);

#endif
