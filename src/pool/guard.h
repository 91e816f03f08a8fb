/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_GUARD_H
#define WEIRI_GUARD_H

#include <setjmp.h>
#include <stdbool.h>

#include <weir/context.h>

/* Where a panic of a user's function comes out: a frame of the worker's below the function, for as
 * long as that runs. It costs 3 ns, so each function has one of its own, and the run goes on behind
 * it in plain sight; one place for a whole run would need every local of the run in memory and a
 * number that says where to go on. In the context, not in that frame: what is on the stack is
 * filled with zeros first, which costs more than all the rest. */
struct weiri_catch {
    bool is_set;
    sigjmp_buf registers; /* without the signal mask: that would be a system call each time */
};

/* Calls fn(arg), which calls a function of the user's that gets this context; returns its status,
 * or WEIR_EPANIC where it panicked; context->message then says why. Not to be called within
 * itself. */
int weiri_guarded(weir_context *context, int (*fn)(void *arg), void *arg);

/* Returns to the catch of the function that is being run. */
_Noreturn void weiri_guard_leave(weir_context *context);

#endif
