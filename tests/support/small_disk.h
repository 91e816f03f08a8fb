/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_SMALL_DISK_H
#define WEIR_TEST_SMALL_DISK_H

#ifndef _GNU_SOURCE
#    error "a test that includes this file defines _GNU_SOURCE first: unshare"
#endif

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/harness.h"

/* A disk of a given size at the folder `disk`, which only the test's process sees. The mount ends
 * with the process. */

static inline bool small_disk_set(unsigned long flags, size_t size)
{
    char options[40];
    (void)snprintf(options, sizeof(options), "size=%zu", size);
    return mount("weir-test", "disk", "tmpfs", flags, options) == 0;
}

static inline void small_disk_mount(size_t size)
{
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        test_skip("no mounts of its own are allowed to this process");
    }
    CHECK_INT(mkdir("disk", 0700), ==, 0);
    (void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (!small_disk_set(0, size)) {
        test_skip("no tmpfs can be mounted here");
    }
}

/* Makes it read-only, or writable again. */
static inline void small_disk_protect(bool is_read_only)
{
    CHECK_INT(mount(NULL, "disk", NULL, MS_REMOUNT | (is_read_only ? MS_RDONLY : 0), NULL), ==, 0);
}

/* Changes the size. What is on the disk stays. */
static inline void small_disk_resize(size_t size)
{
    CHECK(small_disk_set(MS_REMOUNT, size));
}

#endif
