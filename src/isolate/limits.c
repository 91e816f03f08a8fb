/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The limits of an isolated task. */
#define _GNU_SOURCE /* __rlimit_resource_t */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <weir/duration.h>

#include "isolate/process.h"

static rlim_t lesser(rlim_t a, rlim_t b)
{
    return a < b ? a : b;
}

/* Lowers a limit; one that is lower already stays. */
static void limit_to(int pipe, __rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0) {
        limit.rlim_max = lesser(hard, limit.rlim_max);
        limit.rlim_cur = lesser(soft, limit.rlim_max);
        if (setrlimit(resource, &limit) == 0) {
            return;
        }
    }
    weiri_result_refuse(pipe, "setrlimit");
}

/* Bytes that RLIMIT_DATA counts in this process now. */
static rlim_t data_size(int pipe)
{
    static const char name[] = "\nVmData:"; /* in KiB */
    char status[4096] = "";
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, status, sizeof(status) - 1) <= 0) {
        weiri_result_refuse(pipe, "/proc/self/status");
    }
    (void)close(fd);
    const char *line = strstr(status, name);
    if (line == NULL) {
        errno = ENODATA;
        weiri_result_refuse(pipe, "/proc/self/status");
    }
    return (rlim_t)strtoull(line + sizeof(name) - 1, NULL, 10) * 1024;
}

/* Not RLIMIT_AS, which counts what is mapped without access: an arena of the C library reserves 64
 * MiB before the fork, and RLIMIT_AS does not see them become writable. Nor both: Linux lets
 * mprotect() exceed RLIMIT_DATA where RLIMIT_AS is exhausted. */
static void limit_memory(int pipe, rlim_t more)
{
    rlim_t now = data_size(pipe);
    rlim_t most = more < RLIM_INFINITY - now ? now + more : RLIM_INFINITY;
    limit_to(pipe, RLIMIT_DATA, most, most);
}

void weiri_limits_set(int pipe, const struct weir_isolation *isolation)
{
    if (isolation->cpu_limit_ns > 0) {
        int64_t seconds = (isolation->cpu_limit_ns - 1) / WEIR_SECONDS(1) + 1;
        limit_to(pipe, RLIMIT_CPU, (rlim_t)seconds, (rlim_t)seconds + 1);
    }
    if (isolation->memory_limit > 0) {
        limit_memory(pipe, isolation->memory_limit);
    }
    if (isolation->file_limit > 0) {
        limit_to(pipe, RLIMIT_FSIZE, isolation->file_limit, isolation->file_limit);
    }
    if ((isolation->flags & WEIR_ISOLATION_CORE) == 0) {
        limit_to(pipe, RLIMIT_CORE, 0, 0);
    }
}
