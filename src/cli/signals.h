/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_SIGNALS_H
#define WEIRI_CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The signals of a command that runs until it is told to end. There are no handlers: the signals
 * are blocked in all threads, and read from a descriptor. */

struct signals {
    sigset_t taken;  /* of INT, TERM and HUP */
    sigset_t before; /* the mask before, for programs */
    int fd;          /* -1: none was left */
    unsigned stops;  /* signals that asked for an end */
    int first;       /* of these */
    int64_t first_ns;
};

/* Blocks the signals in this thread and those it starts. One that is ignored stays so, as nohup(1)
 * and the `&` of a shell want it, but for a HUP that reloads. Also makes children waitable if our
 * parent ignored SIGCHLD, and lets no message wait for long. */
void signals_block(struct signals *signals, bool is_hup_reload);

/* A signal that has come; 0: none. */
int signals_read(const struct signals *signals);

/* Counts a signal that asks for an end. False: it is the first one once more. timeout(1) and
 * closing terminals send a signal to a process and to its group. */
bool signals_count(struct signals *signals, int number, int64_t now_ns);
/* Tells what the first one and the second one bring about. */
void signals_tell(const struct signals *signals, uint64_t running);

#endif
