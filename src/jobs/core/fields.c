/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/fields.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "jobs/core/backend.h"

const struct weir_job_field *weir_job_fields(void)
{
    static const struct weir_job_field fields[] = {
#define OF(type, name) offsetof(struct type, name)
#define ROW(name, kind, limit, feature)                                                            \
    {#name, WEIR_FIELD_##kind, limit, feature, OF(weir_put_options, name), OF(weir_job, name)},
        WEIRI_JOB_FIELDS(ROW){0}};
    return fields;
}

enum weir_status weiri_text_check(const char *name, const char *text, size_t most,
                                  struct weir_error *ret_error)
{
    if (text != NULL && text[0] == '\0') {
        return weiri_fail(ret_error, WEIR_EINVAL, "%s is empty: expected 1 to %zu bytes", name,
                          most);
    }
    return text == NULL || strnlen(text, most + 1) <= most
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_ETOOBIG, "%s \"%.60s...\" has more than %zu bytes",
                            name, text, most);
}

static enum weir_status check_text(const char *name, enum weir_field_kind kind, const char *text,
                                   size_t most, struct weir_error *ret_error)
{
    size_t offset;
    if (text != NULL && text[0] == '\0' && kind <= WEIR_FIELD_TOLD) {
        return WEIR_OK;
    }
    enum weir_status status = weiri_text_check(name, text, most, ret_error);
    bool is_lines = text != NULL && kind == WEIR_FIELD_LINES;
    return status != WEIR_OK || !is_lines || weir_headers_check(text, &offset) == WEIR_OK
               ? status
               : weiri_fail(ret_error, WEIR_EINVAL,
                            "%s at offset %zu: expected lines NAME=VALUE, each name of a-z, 0-9 "
                            "and - and once",
                            name, offset);
}

enum weir_status weiri_fields_check(const struct weir_put_options *options,
                                    struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
#define THEN(check) status = status == WEIR_OK ? (check) : status;
#define TEXT(name, kind, limit, feature)                                                           \
    THEN(check_text(#name, WEIR_FIELD_##kind, options->name, limit, ret_error))
#define NUMBER(name, kind, limit, feature)                                                         \
    THEN(WEIR_FIELD_##kind != WEIR_FIELD_SPAN || options->name == 0                                \
             ? WEIR_OK                                                                             \
             : weiri_check_number(#name, options->name, limit, INT64_MAX, ret_error))
    WEIRI_TEXT_FIELDS(TEXT)
    WEIRI_PUT_FIELDS(TEXT)
    WEIRI_NUMBER_FIELDS(NUMBER)
    return status;
}

enum weir_status weiri_put_check_can(const struct weiri_broker_ops *ops,
                                     const struct weiri_put *put, struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
#define CHECK(name, kind, limit, feature)                                                          \
    THEN(put->name == NULL || put->name[0] == '\0'                                                 \
             ? WEIR_OK                                                                             \
             : weiri_can_check(ops, 1U << (feature), ret_error))
    WEIRI_TEXT_FIELDS(CHECK)
    WEIRI_PUT_FIELDS(CHECK)
    return status;
}

const char *weiri_put_unique(const struct weiri_put *put)
{
#define FIND(name, kind, limit, feature)                                                           \
    if (put->name != NULL) {                                                                       \
        return #name;                                                                              \
    }
    WEIRI_UNIQUE_FIELDS(FIND)
    WEIRI_PUT_FIELDS(FIND)
    return NULL;
}
