/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/body.h"

#include <string.h>

#include "jobs/sqlite/checksum.h"

uint64_t weiri_stored_body_checksum(const struct weir_body *body, const char *headers)
{
    uint64_t checksum = weiri_checksum(body->data, body->size);
    return headers == NULL || headers[0] == '\0'
               ? checksum
               : checksum ^ weiri_checksum(headers, strlen(headers));
}

int weiri_stored_body_read(struct weiri_connection *connection, int64_t number,
                           struct weiri_stored_body *ret_body)
{
    struct weiri_stored_body body = {.headers = ""};
    int code = weiri_sql_start(connection, WEIRI_SQL_BODY, WEIRI_VALUES(number), &body.statement);
    if (code == SQLITE_ROW) {
        uint64_t checksum = (uint64_t)sqlite3_column_int64(body.statement, 0);
        body.bytes = sqlite3_column_blob(body.statement, 1);
        body.size = (size_t)sqlite3_column_bytes(body.statement, 1);
        bool has_headers = sqlite3_column_type(body.statement, 2) != SQLITE_NULL;
        body.headers = has_headers ? (const char *)sqlite3_column_text(body.statement, 2) : "";
        bool is_read = body.headers != NULL &&
                       (body.bytes != NULL || sqlite3_errcode(connection->db) != SQLITE_NOMEM);
        const struct weir_body whole = {body.bytes, body.size};
        body.is_sound = is_read && weiri_stored_body_checksum(&whole, body.headers) == checksum;
        code = is_read ? code : SQLITE_NOMEM;
    }
    *ret_body = body;
    return code;
}
