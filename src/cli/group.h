/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_GROUP_H
#define WEIRI_CLI_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether a process of this group is alive; a zombie is not. True if that is not known: the
 * caller's time limit then ends the wait. */
bool group_alive(pid_t group);

#endif
