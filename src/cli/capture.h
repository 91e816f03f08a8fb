/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_CAPTURE_H
#define WEIRI_CLI_CAPTURE_H

#include <poll.h>
#include <stddef.h>

#include "cli/control.h"

/* The standard error of a child: a pipe, whose bytes are passed on to our own standard error, and
 * whose last bytes are kept. Used by the thread that waits for the child, in its poll().
 *
 * That thread never blocks in a write, so that a reader of our standard error that has stopped does
 * not put off the child's deadline. A child blocks only once that reader has stopped and the pipe
 * is full. */

#define CAPTURE_TAIL_SIZE 1024

enum {
    CAPTURE_CHUNK = 4096 /* PIPE_BUF: a pipe that poll() calls writable takes so much at once */
};

struct capture {
    int reader;   /* of the pipe, which does not block; -1: it has ended */
    size_t used;  /* bytes in chunk */
    size_t ready; /* the first of them, to be written next */
    char chunk[CAPTURE_CHUNK];
    size_t tail_size;
    char tail[CAPTURE_TAIL_SIZE];
};

/* As poll(); the first of the descriptors is put in here, for bytes that can be passed on. */
void capture_poll(struct capture *capture, struct pollfd *pollers, size_t count, int timeout_ms);
/* After the child's end: passes on what it wrote, until our standard error has taken it, or the
 * grace has passed since the run ended (NULL: since now). If other processes still have the pipe, a
 * thread passes on what they write until they end. */
void capture_close(struct capture *capture, const struct control_run *run, int64_t grace_ns);

#endif
