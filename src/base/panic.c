/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/panic.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void weiri_panic(const char *file, int line, const char *what)
{
    /* The libraries write nothing else. It is one write() from the stack, since a panic may happen
     * while stdio's locks are held. */
    char text[512];
    int length =
        snprintf(text, sizeof(text), "weir: broken invariant at %s:%d: %s\n", file, line, what);
    size_t size = length < 0                      ? 0
                  : (size_t)length < sizeof(text) ? (size_t)length
                                                  : sizeof(text) - 1;
    ssize_t ignored = write(STDERR_FILENO, text, size);
    (void)ignored;
    abort();
}
