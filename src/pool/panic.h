/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_POOL_PANIC_H
#define WEIRI_POOL_PANIC_H

#include <weir/context.h>

/* Logs that the context's run panicked or crashed, with a line for each address. */
void weiri_panic_log(const weir_context *context, const char *message, void *const *frames,
                     int count);

#endif
