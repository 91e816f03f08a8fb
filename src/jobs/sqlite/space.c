/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/space.h"

#include "base/errno.h"
#include "jobs/sqlite/place.h"
#include "jobs/sqlite/schema.h"

enum {
    LOG_STEP = 31 * WEIRI_FRAME_SIZE /* the most that SQLite writes at once: 128 KiB */
};

bool weiri_space_has_reserve(struct weiri_store *store)
{
    /* Any other failure says that the file system has no such blocks. */
    int error = weiri_lock_file_reserve(&store->lock_file);
    return weiri_errno_status(error) != WEIR_ENOSPACE;
}

void weiri_space_check_put(struct weiri_store *store)
{
    store->is_putting = true;
    weiri_sql_fail(&store->writer, weiri_space_has_reserve(store) ? SQLITE_OK : SQLITE_FULL);
}

/* A flush of a file that has grown writes also where its blocks are, and takes about twice as long.
 * So a log of some size grows by zeros for many commits, under the lock of SQLite's that a commit
 * has. A frame of zeros is the end of the log. Where this fails, the commit finds it. */
static void extend_log(struct weiri_store *store)
{
    static unsigned char zeros[LOG_STEP];
    sqlite3_file *log = NULL;
    int64_t size = weiri_place_size(store->path, "-wal");
    int64_t used = (int64_t)store->wal_pages * WEIRI_FRAME_SIZE;
    if (used > LOG_STEP && size >= 0 && size < used + LOG_STEP / 2) {
        (void)sqlite3_file_control(store->writer.db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
        (void)log->pMethods->xWrite(log, zeros, LOG_STEP, size);
    }
}

void weiri_space_claim(struct weiri_store *store)
{
    extend_log(store);
    struct weiri_connection *writer = &store->writer;
    int64_t pages = 0;
    weiri_sql_find(writer, WEIRI_SQL_PAGE_COUNT, NULL, &pages);
    sqlite3_int64 size = pages * WEIRI_PAGE_SIZE;
    int code = sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_SIZE_HINT, &size);
    if (code == SQLITE_OK || code == SQLITE_NOTFOUND) {
        return;
    }
    /* SQLite keeps no error number where it was built with posix_fallocate(). */
    int error = weiri_sqlite_errno(writer->db, SQLITE_FCNTL_FILE_POINTER);
    bool is_full = error == 0 || weiri_errno_status(error) == WEIR_ENOSPACE;
    weiri_sql_fail(writer, is_full ? SQLITE_FULL : code);
}

void weiri_space_set_chunk(sqlite3 *db, int size)
{
    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_CHUNK_SIZE, &size);
}
