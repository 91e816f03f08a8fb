/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_FAULTY_VFS_H
#define WEIR_TEST_FAULTY_VFS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <sqlite3.h>

#include "support/harness.h"

/* A disk that fails. SQLite's default VFS is wrapped so that the nth read, write, sync or cut of a
 * test fails, once or from then on; nothing else changes. Those that succeed can be watched. */

enum fault_kind {
    FAULT_WRITE = 1,
    FAULT_SYNC = 2,
    FAULT_TRUNCATE = 4,
    FAULT_READ = 8,
    FAULT_EXTEND = 16 /* SQLITE_FCNTL_SIZE_HINT */
};

static struct {
    unsigned kinds;     /* which calls count */
    _Atomic int left;   /* the call that fails: counted down to 0; below: none */
    bool is_for_good;   /* and all after it */
    bool is_deadly;     /* instead of failing it kills the process */
    int code;           /* the code of the failure */
    int error;          /* and the system's error number then */
    _Atomic int failed; /* calls that failed */
    sqlite3_vfs *real;
    /* Told of each write, sync and cut (its new size is the offset) to the database or its log;
     * NULL: none is watched. */
    void (*watch)(enum fault_kind kind, bool is_log, sqlite3_int64 offset, const void *bytes,
                  int size);
} fault;

struct faulty_file {
    sqlite3_file base;
    sqlite3_file *real; /* behind this struct */
    bool is_log;
};

static inline sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct faulty_file *)file)->real;
}

/* SQLITE_OK, or the code with which the call is to fail. */
static inline int visit(enum fault_kind kind)
{
    /* In this order: a thread that sees the armed fault also sees its kind. */
    if (fault.left < 0 || (fault.kinds & (unsigned)kind) == 0) {
        return SQLITE_OK;
    }
    if (fault.left > 0) {
        fault.left--;
        return SQLITE_OK;
    }
    if (!fault.is_for_good) {
        fault.left = -1;
    }
    fault.failed++;
    if (fault.is_deadly) {
        (void)raise(SIGKILL);
    }
    return fault.code;
}

/* The result of a call that changed the file. */
static inline int told(sqlite3_file *file, int code, enum fault_kind kind, sqlite3_int64 offset,
                       const void *bytes, int size)
{
    if (code == SQLITE_OK && fault.watch != NULL) {
        fault.watch(kind, ((struct faulty_file *)file)->is_log, offset, bytes, size);
    }
    return code;
}

static inline int do_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static inline int do_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
    int code = visit(FAULT_READ);
    return code != SQLITE_OK ? code
                             : real_of(file)->pMethods->xRead(real_of(file), bytes, size, offset);
}

static inline int do_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
    int code = visit(FAULT_WRITE);
    if (code != SQLITE_OK) {
        /* Half of it arrives. */
        (void)real_of(file)->pMethods->xWrite(real_of(file), bytes, size / 2, offset);
        return code;
    }
    code = real_of(file)->pMethods->xWrite(real_of(file), bytes, size, offset);
    return told(file, code, FAULT_WRITE, offset, bytes, size);
}

static inline int do_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int code = visit(FAULT_TRUNCATE);
    code = code != SQLITE_OK ? code : real_of(file)->pMethods->xTruncate(real_of(file), size);
    return told(file, code, FAULT_TRUNCATE, size, NULL, 0);
}

static inline int do_sync(sqlite3_file *file, int flags)
{
    int code = visit(FAULT_SYNC);
    code = code != SQLITE_OK ? code : real_of(file)->pMethods->xSync(real_of(file), flags);
    return told(file, code, FAULT_SYNC, 0, NULL, 0);
}

static inline int do_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static inline int do_lock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xLock(real_of(file), lock);
}

static inline int do_unlock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}

static inline int do_check_reserved(sqlite3_file *file, int *is_reserved)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), is_reserved);
}

static inline int do_control(sqlite3_file *file, int operation, void *arg)
{
    if (operation == SQLITE_FCNTL_LAST_ERRNO && fault.error != 0) {
        *(int *)arg = fault.error;
        return SQLITE_OK;
    }
    int code = operation == SQLITE_FCNTL_SIZE_HINT ? visit(FAULT_EXTEND) : SQLITE_OK;
    return code != SQLITE_OK ? code
                             : real_of(file)->pMethods->xFileControl(real_of(file), operation, arg);
}

static inline int do_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static inline int do_characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static inline int do_shm_map(sqlite3_file *file, int page, int size, int extend,
                             void volatile **address)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, address);
}

static inline int do_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static inline void do_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static inline int do_shm_unmap(sqlite3_file *file, int is_deleted)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), is_deleted);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = do_close,
    .xRead = do_read,
    .xWrite = do_write,
    .xTruncate = do_truncate,
    .xSync = do_sync,
    .xFileSize = do_file_size,
    .xLock = do_lock,
    .xUnlock = do_unlock,
    .xCheckReservedLock = do_check_reserved,
    .xFileControl = do_control,
    .xSectorSize = do_sector_size,
    .xDeviceCharacteristics = do_characteristics,
    .xShmMap = do_shm_map,
    .xShmLock = do_shm_lock,
    .xShmBarrier = do_shm_barrier,
    .xShmUnmap = do_shm_unmap,
};

static inline int do_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                          int *ret_flags)
{
    (void)vfs;
    struct faulty_file *faulty = (struct faulty_file *)file;
    faulty->real = (sqlite3_file *)(void *)(faulty + 1);
    faulty->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    int code = fault.real->xOpen(fault.real, name, faulty->real, flags, ret_flags);
    faulty->base.pMethods = faulty->real->pMethods == NULL ? NULL : &methods;
    return code;
}

static inline void fault_install(void)
{
    static sqlite3_vfs vfs;
    CHECK_INT(sqlite3_initialize(), ==, SQLITE_OK);
    fault.real = sqlite3_vfs_find(NULL);
    fault.left = -1;
    vfs = *fault.real;
    vfs.pNext = NULL;
    vfs.zName = "faulty";
    vfs.szOsFile += (int)sizeof(struct faulty_file);
    vfs.xOpen = do_open;
    CHECK_INT(sqlite3_vfs_register(&vfs, 1), ==, SQLITE_OK);
}

static inline void fault_arm(unsigned kinds, int nth, bool is_for_good, int code)
{
    fault.kinds = kinds;
    fault.is_for_good = is_for_good;
    fault.code = code;
    fault.error = 0;
    fault.failed = 0;
    fault.left = nth; /* last */
}

static inline void fault_disarm(void)
{
    fault.left = -1;
}

#endif
