/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BACKTRACE_H
#define WEIRI_BACKTRACE_H

/* Stores the return addresses of the calling thread's stack, the latest call first. Returns their
 * number; 0 where the system has no backtrace(). Async-signal-safe, except for the first call in a
 * process, which may load a library. */
int weiri_backtrace(void **ret_frames, int size);

/* What the system knows of each address, in one block of memory for free(); NULL: nothing, or there
 * is no memory. */
char **weiri_backtrace_names(void *const *frames, int count);

#endif
