/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_POOL_PANIC_H
#define WEIRI_POOL_PANIC_H

#include <weir/context.h>

/* The addresses of the calls that are under way, the latest first; how many. 0 where the system
 * cannot tell. Async-signal-safe but for its first call in a process. */
int weiri_panic_stack(void **ret_frames, int size);

/* Logs that the context's run panicked or crashed, with a line for each address. */
void weiri_panic_log(const weir_context *context, const char *message, void *const *frames,
                     int count);

#endif
