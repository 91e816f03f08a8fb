/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_PANIC_H
#define WEIR_PANIC_H

#include <weir/context.h>
#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * An end for a task that can neither go on nor return: it costs that one run, not the program. */

/** Ends the function of the user that the context was given to, as if it had returned WEIR_EPANIC:
 * the task with all stamps around it, or the hook. The message, of which 255 bytes are kept, goes
 * to the pool's log at level WEIR_LOG_ERROR, with a line for each frame of the stack; and the
 * failure hook finds it in struct weir_failure. The worker continues. It is a longjmp(): nothing is
 * undone. Locks that the function took stay locked, its memory stays allocated, and no C++ frame
 * from the function to this call may have anything to destroy. To be called on the worker's thread
 * and stack, by the function or its callees, but not from within a call of weir that calls back (an
 * allocator, a limiter, a piece of a run of pieces, the log, an ended or release function).
 * Anything else, NULL included, ends the program with a message. */
WEIR_API WEIR_NORETURN WEIR_PRINTF(2, 3) void weir_panic(weir_context *context, const char *format,
                                                         ...);

WEIR_END_DECLS

#endif
