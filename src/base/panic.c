/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/panic.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void weiri_panic(const char *file, int line, const char *what)
{
    /* The only thing the libraries ever write. One write() of a stack buffer: a panic may come
     * from anywhere, also with stdio's locks held. */
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
