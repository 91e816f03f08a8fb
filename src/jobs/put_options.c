/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "jobs/broker.h"

#define KNOWN_FLAGS ((uint32_t)WEIR_PUT_PAST_OK)

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

enum weir_status weiri_name_check(const char *name, const char *text, struct weir_error *ret_error)
{
    size_t offset;
    if (weiri_check_given(name, text, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status = weir_tube_check(text, &offset);
    if (status == WEIR_ETOOBIG || text[0] == '\0') {
        return weiri_text_check(name, text, WEIR_TUBE_SIZE_MAX, ret_error);
    }
    return status == WEIR_OK
               ? WEIR_OK
               : weiri_fail(ret_error, status,
                            "byte 0x%02x at offset %zu of %s \"%.200s\": expected A-Z a-z 0-9 - + "
                            "/ ; . $ _ ( ) and no - in front",
                            (unsigned)(unsigned char)text[offset], offset, name, text);
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

/* Whether each field is within its limit. */
static enum weir_status check_fields(const struct weir_put_options *options,
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

static enum weir_status check_key(const struct weir_put_options *options,
                                  struct weir_error *ret_error)
{
    bool is_throttled = options->on_duplicate == WEIR_DUPLICATE_THROTTLE;
    int mode = (int)options->on_duplicate;
    if (weiri_check_choice("on_duplicate", mode, WEIR_DUPLICATE_AGAIN, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (options->key == NULL && (mode != 0 || options->key_ns != 0)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "key is NULL: expected one beside %s",
                          mode != 0 ? "on_duplicate" : "key_ns");
    }
    if (is_throttled ? options->key_ns <= 0 : options->key_ns != 0) {
        return weiri_fail(ret_error, WEIR_ERANGE, "key_ns is %" PRId64 ": expected %s",
                          options->key_ns, is_throttled ? "at least 1" : "0 unless throttled");
    }
    return WEIR_OK;
}

enum weir_status weiri_put_normalize(const weir_broker *broker,
                                     const struct weir_put_options *options,
                                     struct weiri_put *ret_put, struct weir_error *ret_error)
{
    struct weir_put_options copy = options != NULL ? *options : (struct weir_put_options){0};
    if (weiri_check_flags(copy.flags, KNOWN_FLAGS, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
#define COPY(name, kind, limit, feature) .name = copy.name,
    struct weiri_put put = {.since_ns = broker->config.clocks.lease(broker->config.clocks.arg),
                            .key_ns = copy.key_ns,
                            .on_duplicate = copy.on_duplicate,
                            WEIRI_JOB_FIELDS(COPY) WEIRI_PUT_FIELDS(COPY)};
    put.ttr_ns = copy.ttr_ns == 0 ? WEIRI_TTR_DEFAULT_NS : copy.ttr_ns;
    enum weir_status status = check_fields(&copy, ret_error);
    for (const char *c = copy.put_id; status == WEIR_OK && c != NULL && *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~') {
            status = weiri_fail(ret_error, WEIR_EINVAL,
                                "put_id has byte 0x%02x at offset %zu: expected visible ASCII",
                                (unsigned)(unsigned char)*c, (size_t)(c - copy.put_id));
        }
    }
    if (status == WEIR_OK) {
        status = check_key(&copy, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_put_set_time(&put, &copy, broker->ops->now(broker->store), ret_error);
    }
    if (status == WEIR_OK) {
        *ret_put = put;
    }
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
