/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_PROGRAM_H
#define WEIRI_CLI_PROGRAM_H

/* Finds the program that a shell would start for this name: in $PATH unless the name contains a
 * slash. Returns 0 with *ret_path to be freed, or an errno: ENOENT, EACCES, ENOMEM. */
int program_find(const char *name, char **ret_path);

#endif
