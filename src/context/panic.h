/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CONTEXT_PANIC_H
#define WEIRI_CONTEXT_PANIC_H

#include <setjmp.h>
#include <stdbool.h>

#include <weir/context.h>

/* Where weir_panic() returns to: a frame of the worker's below the user's function, as long as that
 * runs. It costs 3 ns. In the context and not in that frame, because the compiler zeroes what is on
 * the stack, which costs more than all the rest. */
struct weiri_catch {
    bool is_set;
    sigjmp_buf registers; /* without the signal mask, which would cost a system call */
};

/* Calls fn(arg), which calls a function of the user's with this context. Returns its status, or
 * WEIR_EPANIC if it panicked: context->message says why then. Not to be nested. */
int weiri_guarded(weir_context *context, int (*fn)(void *arg), void *arg);

/* Is told of each panic, with the addresses of the stack, before the run ends. On the worker's
 * thread. */
typedef void weiri_panicked_fn(const weir_context *context, const char *message,
                               void *const *frames, int count);

#endif
