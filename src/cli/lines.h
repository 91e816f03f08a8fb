/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_LINES_H
#define WEIRI_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Splits a stream of bytes at a separator. The last piece may lack it; any other byte, NUL
 * included, is part of a piece. */

enum lines_result {
    LINES_PIECE,    /* One more piece. */
    LINES_END,      /* There are no more. */
    LINES_PENDING,  /* None has arrived, and the caller does not wait. */
    LINES_TOO_LONG, /* A piece is longer than size_max. Nothing more can be read. */
    LINES_FAILED    /* errno tells why. */
};

struct lines {
    int fd;
    int separator; /* A byte; -1: none, the whole stream is one piece. */
    size_t size_max;
    uint64_t number; /* Of the piece returned or found too long last; the first is 1. */

    char *buffer;
    size_t capacity;
    size_t start; /* Of the bytes not yet returned. */
    size_t end;
    size_t searched; /* No separator stands before it. */
    bool ended;
};

/* The descriptor is borrowed. */
void lines_init(struct lines *lines, int fd, int separator, size_t size_max);
void lines_fini(struct lines *lines);

/* On LINES_PIECE the piece, without its separator, is valid until the next call. */
enum lines_result lines_next(struct lines *lines, bool wait, const char **ret_piece,
                             size_t *ret_size);

#endif
