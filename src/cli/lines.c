/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_CAPACITY ((size_t)64 << 10)

void lines_init(struct lines *lines, int fd, int separator, size_t size_max)
{
    memset(lines, 0, sizeof(*lines));
    lines->fd = fd;
    lines->separator = separator;
    lines->size_max = size_max;
}

void lines_fini(struct lines *lines)
{
    free(lines->buffer);
}

/* Makes space at the end of the buffer. It never holds more than twice the longest piece and one
 * reading, since a piece is refused as soon as it is too long. */
static bool grow(struct lines *lines)
{
    if (lines->start > 0) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->searched -= lines->start;
        lines->start = 0;
    }
    if (lines->end < lines->capacity) {
        return true;
    }
    size_t capacity = lines->capacity == 0 ? FIRST_CAPACITY : lines->capacity * 2;
    char *buffer = realloc(lines->buffer, capacity);
    if (buffer == NULL) {
        errno = ENOMEM;
        return false;
    }
    lines->buffer = buffer;
    lines->capacity = capacity;
    return true;
}

/* A regular file is always readable, and so is a pipe without writers. */
static bool is_readable(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    return poll(&poller, 1, 0) != 0;
}

/* Reads once. */
static enum lines_result fill(struct lines *lines, bool wait)
{
    if (!wait && !is_readable(lines->fd)) {
        return LINES_PENDING;
    }
    if (!grow(lines)) {
        return LINES_FAILED;
    }
    ssize_t count;
    do {
        count = read(lines->fd, lines->buffer + lines->end, lines->capacity - lines->end);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        return LINES_FAILED;
    }
    lines->ended = count == 0;
    lines->end += (size_t)count;
    return LINES_PIECE;
}

/* The piece from start to end, if it is not too long; `after` is where the next one starts. */
static enum lines_result give(struct lines *lines, size_t end, size_t after, const char **ret_piece,
                              size_t *ret_size)
{
    lines->number++;
    size_t size = end - lines->start;
    if (size > lines->size_max) {
        return LINES_TOO_LONG;
    }
    *ret_piece = lines->buffer + lines->start;
    *ret_size = size;
    lines->start = after;
    lines->searched = after;
    return LINES_PIECE;
}

enum lines_result lines_next(struct lines *lines, bool wait, const char **ret_piece,
                             size_t *ret_size)
{
    for (;;) {
        if (lines->separator >= 0 && lines->searched < lines->end) {
            const char *found = memchr(lines->buffer + lines->searched, lines->separator,
                                       lines->end - lines->searched);
            if (found != NULL) {
                size_t end = (size_t)(found - lines->buffer);
                return give(lines, end, end + 1, ret_piece, ret_size);
            }
        }
        lines->searched = lines->end;
        if (lines->end - lines->start > lines->size_max) {
            return give(lines, lines->end, lines->end, ret_piece, ret_size);
        }
        if (lines->ended) {
            /* Without a separator an empty stream is one empty piece. */
            bool last = lines->start < lines->end || (lines->separator < 0 && lines->number == 0);
            return last ? give(lines, lines->end, lines->end, ret_piece, ret_size) : LINES_END;
        }
        enum lines_result result = fill(lines, wait);
        if (result != LINES_PIECE) {
            return result;
        }
    }
}
