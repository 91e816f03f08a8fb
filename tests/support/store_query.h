/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_STORE_QUERY_H
#define WEIR_TEST_STORE_QUERY_H

#include <sqlite3.h>

#include "jobs/broker.h"
#include "jobs/sqlite/store.h"
#include "support/harness.h"

/* The first number of a statement's only row, which a statement that changes rows may return. */
static inline int64_t query_file(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), ==, SQLITE_OK);
    CHECK_INT(sqlite3_step(statement), ==, SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    CHECK_INT(sqlite3_finalize(statement), ==, SQLITE_OK);
    return number;
}

/* The same on the connection with which a store writes. */
static inline int64_t query(const weir_broker *broker, const char *sql)
{
    const struct weiri_store *store = broker->store;
    return query_file(store->writer.db, sql);
}

#endif
