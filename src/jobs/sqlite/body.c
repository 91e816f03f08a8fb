/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* le64toh */

#include "jobs/sqlite/body.h"

#include <endian.h>
#include <string.h>

/* A word from at most 8 bytes, the first the lowest. */
static uint64_t load(const unsigned char *bytes, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, bytes, size);
    return le64toh(word);
}

/* The product moves low bits up and the shift moves high bits down: both are needed for each bit to
 * reach all others. */
static uint64_t step(uint64_t state, uint64_t word)
{
    state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ (state >> 32);
}

/* Of bytes behind others that have the checksum state: both are in it, in this order. */
static uint64_t add(uint64_t state, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    state = step(state, (uint64_t)size);
    for (; size >= 8; bytes += 8, size -= 8) {
        state = step(state, load(bytes, 8));
    }
    if (size > 0) {
        state = step(state, load(bytes, size));
    }
    return step(state, 0);
}

uint64_t weiri_checksum(const void *data, size_t size)
{
    return add(UINT64_C(0xcbf29ce484222325), data, size);
}

struct weiri_value weiri_told(const struct weiri_put *put, char bytes[WEIRI_TOLD_SIZE])
{
    char *end = bytes;
    char *last = bytes;
#define APPEND(name, kind, limit, feature)                                                         \
    end = stpcpy(end, put->name == NULL ? "" : put->name) + 1;                                     \
    last = put->name == NULL || put->name[0] == '\0' ? last : end;
    WEIRI_TOLD_FIELDS(APPEND)
    return last == bytes ? weiri_null() : weiri_blob(bytes, (size_t)(last - bytes));
}

uint64_t weiri_body_checksum(struct weiri_value body, struct weiri_value told)
{
    uint64_t checksum = weiri_checksum(body.bytes, body.size);
    return told.size == 0 ? checksum : add(checksum, told.bytes, told.size);
}

void weiri_stored_body_read(struct weiri_connection *connection, sqlite3_stmt *statement, int first,
                            struct weiri_stored_body *ret_body)
{
    uint64_t checksum = (uint64_t)sqlite3_column_int64(statement, first);
    struct weiri_value whole = weiri_sql_blob(connection, statement, first + 1);
    struct weiri_value told = weiri_sql_blob(connection, statement, first + 2);
    struct weiri_stored_body body = {.bytes = whole.bytes,
                                     .size = whole.size,
                                     .is_there =
                                         sqlite3_column_type(statement, first + 1) != SQLITE_NULL};
    bool is_left_out = sqlite3_column_type(statement, first) == SQLITE_NULL;
    body.is_sound = body.is_there ? weiri_body_checksum(whole, told) == checksum : is_left_out;
    const char *next = told.bytes;
    /* What is damaged may end without a NUL. */
    const char *end = told.size > 0 && next[told.size - 1] == '\0' ? next + told.size : next;
#define TAKE(name, kind, limit, feature)                                                           \
    body.name = next == end ? "" : next;                                                           \
    next = next == end ? end : next + strlen(next) + 1;
    WEIRI_TOLD_FIELDS(TAKE)
    *ret_body = body;
}
