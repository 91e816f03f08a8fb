/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_COPY_FILE_H
#define WEIR_TEST_COPY_FILE_H

#include <fcntl.h>
#include <unistd.h>

#include "support/harness.h"

/* A copy of a file, in the place of what was there. */
static inline void copy_file(const char *from, const char *to)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(source >= 0 && target >= 0);
    char bytes[4096];
    ssize_t size;
    while ((size = read(source, bytes, sizeof(bytes))) > 0) {
        CHECK_INT(write(target, bytes, (size_t)size), ==, size);
    }
    (void)close(source);
    (void)close(target);
}

#endif
