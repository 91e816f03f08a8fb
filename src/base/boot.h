/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BOOT_H
#define WEIRI_BOOT_H

/* Size of a boot's name, its NUL included. */
#define WEIRI_BOOT_SIZE 40

/* The name of this run of the kernel: readings of weiri_monotonic_now() in all processes of one
 * boot are of the same clock. "unknown" where /proc does not tell. */
void weiri_boot_name(char name[WEIRI_BOOT_SIZE]);

#endif
