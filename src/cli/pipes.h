/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_PIPES_H
#define WEIRI_CLI_PIPES_H

/* A pipe from a child to us. */

/* Makes it; the end that we read does not block, the child's does. Returns 0 or an errno; the ends
 * are -1 then. */
int pipe_open(int *ret_reader, int *ret_writer);

/* Closes an end, which is -1 then; -1: it is closed. */
void pipe_close(int *fd);

#endif
