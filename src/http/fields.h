/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_FIELDS_H
#define WEIRI_HTTP_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <weir/broker.h>
#include <weir/job.h>

#include "http/reply.h"
#include "http/target.h"

/* Readers of what a request says, in its query and in the object of its body. One that refuses
 * fills in the reply, names the value and what was expected, and returns false. A value that is not
 * there leaves its result unchanged, and is fine. */

/* Refuses fields of the query that are not among names (NULL at the end). */
bool fields_check(const struct target *target, const char *const *names, struct reply *reply);

/* The name of a tube. */
bool fields_tube(const char *tube, struct reply *reply);

/* A whole number in decimal digits. */
bool fields_number(const struct target *target, const char *name, int64_t least, int64_t most,
                   int64_t *ret_number, struct reply *reply);
bool fields_duration(const struct target *target, const char *name, int64_t *ret_ns,
                     struct reply *reply);
bool fields_state(const struct target *target, const char *name, enum weir_job_state *ret_state,
                  struct reply *reply);
/* "true" or "false". */
bool fields_flag(const struct target *target, const char *name, bool *ret_flag,
                 struct reply *reply);

/* To be called before the first request: lets fields_object() see when jansson lacks memory. */
void fields_watch_memory(void);

/* The object of a body (empty: one without members), with no members but names (NULL at the end).
 * Returns owned; NULL: refused. */
json_t *fields_object(const char *text, size_t size, const char *const *names, struct reply *reply);

bool member_string(const json_t *object, const char *name, const char **ret_text,
                   struct reply *reply);
bool member_number(const json_t *object, const char *name, int64_t least, int64_t most,
                   int64_t *ret_number, struct reply *reply);
/* Written as a text: "10m". */
bool member_duration(const json_t *object, const char *name, int64_t least, int64_t *ret_ns,
                     struct reply *reply);
/* Written as a text: "2030-01-31T08:00:00Z", "@1896076800". */
bool member_time(const json_t *object, const char *name, int64_t *ret_ns, struct reply *reply);
/* The bytes of "body", as "encoding" says: utf-8 or base64. Must be there. *ret_decoded is to be
 * freed in any case. */
bool member_body(const json_t *object, struct weir_body *body, char **ret_decoded,
                 struct reply *reply);

#endif
