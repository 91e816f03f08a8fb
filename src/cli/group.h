/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_GROUP_H
#define WEIRI_CLI_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether a process of this group is alive; a zombie is not. True where that cannot be told: then
 * its time has to run out. */
bool group_alive(pid_t group);

#endif
