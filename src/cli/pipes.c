/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pipe2 */
#include "cli/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int pipe_open(int *ret_reader, int *ret_writer)
{
    int ends[2];
    *ret_reader = -1;
    *ret_writer = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    *ret_reader = ends[0];
    *ret_writer = ends[1];
    /* Of this end alone: the child's writes block as they would without us. */
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return 0;
}

void pipe_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}
