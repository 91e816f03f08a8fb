/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_HELP_H
#define WEIRI_CLI_HELP_H

/* Prints what `weir` alone and `weir help` print, on standard output. */
void help_overview(void);

#endif
