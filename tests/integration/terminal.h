/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_TERMINAL_H
#define WEIR_TEST_TERMINAL_H

#include <sys/types.h>

#include "support/harness.h"

/* A terminal that the program `weir` talks to, and the test reads. */

struct terminal {
    int ours;
    int theirs;
};

/* Opens one; both ends are the caller's. */
struct terminal terminal_open(void);

/* Starts it with a descriptor on a new terminal; TERMINAL_ALL: with all three. */
pid_t start_on_terminal(struct terminal *terminal, int on_terminal, const char *const argv[]);
#define TERMINAL_ALL (-1)

#define TEXT_MAX 65536

/* Reads what a terminal gets until that has this part in it; NULL: to the end of who writes. text
 * has room for TEXT_MAX + 1 bytes and holds what was read before. */
void read_terminal(const struct terminal *terminal, char *text, const char *part);

/* The end of a program on a terminal, which closes it; its exit status. */
int end_on_terminal(const struct terminal *terminal, pid_t pid);

#endif
