/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_LOCK_HOLDER_H
#define WEIRI_SQLITE_LOCK_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

/* The process that has flock(2) on a file, as /proc tells. */
struct weiri_lock_holder {
    pid_t pid;       /* 0: not known */
    bool is_stopped; /* by a signal or a debugger */
};

struct weiri_lock_holder weiri_lock_holder_find(const char *path);

#endif
