/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_STATEMENTS_H
#define WEIRI_SQLITE_STATEMENTS_H

/* Every statement that is run on jobs and tubes. INDEXED BY makes SQLite refuse a plan that does
 * not use the index; a test reads the plans besides. States are written as numbers, since SQLite
 * matches numbers to the partial indexes. */

enum weiri_sql {
    WEIRI_SQL_BEGIN,
    WEIRI_SQL_COMMIT,
    WEIRI_SQL_ROLLBACK,
    WEIRI_SQL_BEGIN_READ,
    WEIRI_SQL_PAGE_COUNT,
    WEIRI_SQL_USER_VERSION,

    WEIRI_SQL_FIND_TUBE,
    WEIRI_SQL_ADD_TUBE,
    WEIRI_SQL_ARRIVE,
    WEIRI_SQL_COUNT,
    WEIRI_SQL_BUSY,

    WEIRI_SQL_ADD_JOB,
    WEIRI_SQL_ADD_BODY,
    WEIRI_SQL_LOAD,
    WEIRI_SQL_SAVE,
    WEIRI_SQL_DELETE_JOB,
    WEIRI_SQL_DELETE_BODY,

    WEIRI_SQL_DUE,
    WEIRI_SQL_EXPIRED,
    WEIRI_SQL_PICK,
    WEIRI_SQL_BODY,
    WEIRI_SQL_FIRST_DELAYED,
    WEIRI_SQL_FIRST_LEASE,
    WEIRI_SQL_FIRST_BURIED,

    WEIRI_SQL_TUBES,
    WEIRI_SQL_TUBE,
    WEIRI_SQL_COUNT_DUE,
    WEIRI_SQL_PEEK,
    WEIRI_SQL_PEEK_DELAYED,
    WEIRI_SQL_PEEK_READY,
    WEIRI_SQL_PEEK_RESERVED,
    WEIRI_SQL_PEEK_BURIED,

    WEIRI_SQL_BOOT,
    WEIRI_SQL_PAUSED,
    WEIRI_SQL_PAUSE,
    WEIRI_SQL_RESUME,

    WEIRI_SQL_LAST_JOB,
    WEIRI_SQL_PAGE,
    WEIRI_SQL_FIND_SAME,

    WEIRI_SQL_STATEMENTS
};

extern const char *const weiri_sql_texts[WEIRI_SQL_STATEMENTS];

#endif
