/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RTLD_NEXT */

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

/* A library that is loaded before others: each flush takes 4 ms longer, as on a disk that turns. */

typedef int flush_fn(int fd);

static int flush(const char *name, int fd)
{
    const struct timespec more = {0, 4000000};
    void *found = dlsym(RTLD_NEXT, name);
    (void)nanosleep(&more, NULL);
    return (*(flush_fn **)&found)(fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    return flush("fdatasync", fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
    return flush("fsync", fd);
}
