/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_INIT_H
#define WEIRI_CLI_INIT_H

/* In a container the program may be process 1: the parent of all that lose theirs. Nobody else
 * reaps those, and signals that it does not handle are ignored. */

/* As process 1, goes on in a child, and does what is left of that one's duties in this process:
 * it reaps, passes signals on, and exits as the child does. Otherwise nothing. Called while there
 * is one thread. */
void init_start(void);

#endif
