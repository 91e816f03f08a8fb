/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/schema.h"

/* The log's format (SQLite's file format, section 4.1). */
enum {
    LOG_HEADER_SIZE = 32,
    LOG_MAGIC_END = 3, /* its lowest bit: checksums are of big-endian words */
    LOG_SALT = 16,
    LOG_CHECKSUM = 24,
    FRAME_HEADER_SIZE = WEIRI_FRAME_SIZE - WEIRI_PAGE_SIZE,
    FRAME_SALT = 8,
    FRAME_CHECKSUM = 16,
    SALT_SIZE = 8
};

/* The index of the log, in shared memory (SQLite's WAL-mode file format, section 2.1). */
enum {
    INDEX_FRAMES = 16, /* their number, in the order of this machine */
    INDEX_SALT = 32,   /* of the log, as its header has it */
    INDEX_REGION = 32768
};

#define STAMPS (1 << WEIRI_STAMP_BITS)

void weiri_stamp_load(struct weiri_store *store)
{
    int64_t user_version = 0;
    if (weiri_sql_find(&store->writer, WEIRI_SQL_USER_VERSION, NULL, &user_version)) {
        store->stamp = (uint32_t)weiri_schema_stamp_of((int)user_version);
    }
}

void weiri_stamp_advance(struct weiri_store *store)
{
    char pragma[64];
    unsigned char header[WEIRI_HEADER_SIZE];
    sqlite3_file *file = NULL;
    weiri_stamp_load(store);
    (void)sqlite3_file_control(store->writer.db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (file->pMethods->xRead(file, header, sizeof(header), 0) != SQLITE_OK ||
        weiri_schema_stamp_of(weiri_schema_header_user_version(header)) == (int)store->stamp) {
        uint32_t next = (store->stamp + 1) & (STAMPS - 1);
        (void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d",
                       weiri_schema_user_version((int)next));
        weiri_sql_exec(&store->writer, pragma);
        store->stamp = store->writer.code == SQLITE_OK ? next : store->stamp;
    }
}

/* How far a stamp is after another: negative where it is before. */
static int distance(uint32_t from, uint32_t to)
{
    int difference = (int)((to - from) & (STAMPS - 1));
    return difference < STAMPS / 2 ? difference : difference - STAMPS;
}

void weiri_stamp_forget(struct weiri_store *store)
{
    uint32_t noted = weiri_lock_file_noted(store->lock_file.fd);
    weiri_stamp_load(store);
    if (weiri_sql_forget(&store->writer) == SQLITE_OK && distance(store->stamp, noted) > 0) {
        weiri_lock_file_note(&store->lock_file, 0);
    }
}

/* What a log says of itself. */
struct log_facts {
    bool is_there;  /* it has at least one frame */
    bool has_stamp; /* one of its frames is the first page */
    uint32_t first; /* the stamp of the first of these */
    uint32_t last;  /* and of the last that was read */
    unsigned char salt[SALT_SIZE];
};

static uint32_t read_word(const unsigned char *bytes, bool is_big)
{
    uint32_t big = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                   (uint32_t)bytes[3];
    return is_big ? big : __builtin_bswap32(big);
}

/* Goes on with a checksum, as the log has them: each covers all before it. */
static void add_bytes(uint32_t sums[2], const unsigned char *bytes, size_t size, bool is_big)
{
    for (size_t i = 0; i < size; i += 8) {
        sums[0] += read_word(bytes + i, is_big) + sums[1];
        sums[1] += read_word(bytes + i + 4, is_big) + sums[0];
    }
}

static bool is_sum(const uint32_t sums[2], const unsigned char *bytes)
{
    return sums[0] == read_word(bytes, true) && sums[1] == read_word(bytes + 4, true);
}

/* Reads the frames up to the first one of page 1, or all. Frames of an earlier use of the log have
 * other salts. A power cut may leave frames that were not flushed in part; they have wrong
 * checksums, and SQLite does not use them either. */
static void read_frames(int fd, const unsigned char *header, bool is_whole, struct log_facts *facts)
{
    static const unsigned char page_1[] = {0, 0, 0, 1};
    bool is_big = (header[LOG_MAGIC_END] & 1) != 0;
    uint32_t sums[2] = {0, 0};
    add_bytes(sums, header, LOG_CHECKSUM, is_big);
    bool is_sound = is_sum(sums, header + LOG_CHECKSUM);
    for (off_t offset = LOG_HEADER_SIZE; is_sound && (is_whole || !facts->has_stamp);
         offset += WEIRI_FRAME_SIZE) {
        unsigned char frame[WEIRI_FRAME_SIZE];
        if (pread(fd, frame, sizeof(frame), offset) != (ssize_t)sizeof(frame)) {
            return;
        }
        add_bytes(sums, frame, FRAME_SALT, is_big);
        add_bytes(sums, frame + FRAME_HEADER_SIZE, WEIRI_PAGE_SIZE, is_big);
        is_sound = memcmp(frame + FRAME_SALT, header + LOG_SALT, SALT_SIZE) == 0 &&
                   is_sum(sums, frame + FRAME_CHECKSUM);
        if (is_sound && memcmp(frame, page_1, sizeof(page_1)) == 0) {
            facts->last = (uint32_t)weiri_schema_stamp_of(
                weiri_schema_header_user_version(frame + FRAME_HEADER_SIZE));
            facts->first = facts->has_stamp ? facts->first : facts->last;
            facts->has_stamp = true;
        }
    }
}

static enum weir_status read_log(const char *path, bool is_whole, struct log_facts *ret_facts,
                                 struct weir_error *ret_error)
{
    const struct weiri_beside log = weiri_place_beside(path, "-wal");
    *ret_facts = (struct log_facts){.is_there = false};
    /* Only the log: closing a descriptor of the database would release SQLite's locks. */
    int fd = open(log.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat facts;
    unsigned char header[LOG_HEADER_SIZE];
    if (fd < 0) {
        return errno == ENOENT ? WEIR_OK : weiri_file_fail(ret_error, errno, log.path, "");
    }
    if (fstat(fd, &facts) == 0 && facts.st_size > LOG_HEADER_SIZE &&
        pread(fd, header, sizeof(header), 0) == (ssize_t)sizeof(header)) {
        ret_facts->is_there = true;
        memcpy(ret_facts->salt, header + LOG_SALT, SALT_SIZE);
        read_frames(fd, header, is_whole, ret_facts);
    }
    (void)close(fd);
    return WEIR_OK;
}

enum weir_status weiri_stamp_check(const char *path, uint32_t noted, struct weir_error *ret_error)
{
    int user_version = 0;
    enum weir_status status = weiri_schema_peek(path, true, &user_version, ret_error);
    struct log_facts log = {.is_there = false};
    if (status == WEIR_OK) {
        status = read_log(path, false, &log, ret_error);
    }
    uint32_t stamp = (uint32_t)weiri_schema_stamp_of(user_version);
    /* Checkpoints may have copied some of the log's stamps, all, or none. */
    int ahead = distance((log.first - 1) & (STAMPS - 1), stamp);
    if (status == WEIR_OK &&
        ahead > 1) { /* by a checkpoint that a reader held up, or the log is an old one */
        status = read_log(path, true, &log, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    if (log.has_stamp && (ahead < 0 || (ahead > 1 && distance(log.last, stamp) > 0))) {
        return weiri_fail(
            ret_error, WEIR_ECORRUPT,
            "the log %s-wal belongs to another store, or to another time of this one: "
            "expected its own; a store is restored with its log, or without any",
            path);
    }
    if (!log.is_there && noted != 0 && distance(stamp, noted) > 0) {
        return weiri_fail(ret_error, WEIR_ECORRUPT,
                          "the log %s-wal is missing, with commits of its own: put it back; to go "
                          "on without them, remove %s.lock",
                          path, path);
    }
    return WEIR_OK;
}

enum weir_status weiri_stamp_check_index(struct weiri_store *store, struct weir_error *ret_error)
{
    sqlite3_file *file = NULL;
    void volatile *region = NULL;
    (void)sqlite3_file_control(store->writer.db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    int code = file->pMethods->xShmMap(file, 0, INDEX_REGION, 0, &region);
    if (code != SQLITE_OK || region == NULL) {
        return weiri_sqlite_fail(ret_error, store->writer.db,
                                 code == SQLITE_OK ? SQLITE_CANTOPEN : code, store->path);
    }
    unsigned char index[INDEX_SALT + SALT_SIZE];
    for (size_t i = 0; i < sizeof(index); i++) {
        index[i] = ((const unsigned char volatile *)region)[i];
    }
    uint32_t frames;
    memcpy(&frames, index + INDEX_FRAMES, sizeof(frames));
    store->wal_pages = (int)frames;
    struct log_facts log;
    enum weir_status status = read_log(store->path, false, &log, ret_error);
    /* Without frames the index may have the salt of the log's next use. */
    return status != WEIR_OK ? status
           : frames == 0 || (log.is_there && memcmp(index + INDEX_SALT, log.salt, SALT_SIZE) == 0)
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_EIO,
                            "%s-wal was removed or replaced while this process had it open: "
                            "close all its connections to the store before you open it again",
                            store->path);
}
