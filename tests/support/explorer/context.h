/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_EXPLORER_CONTEXT_H
#define WEIR_EXPLORER_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#if !defined(__x86_64__)
#    include <ucontext.h>
#endif

/* A coroutine's registers and stack. The system's own swapcontext() makes two system calls to keep
 * a signal mask that does not change here, and is ten times slower than this switch. */
struct explorer_context {
#if defined(__x86_64__)
    void *stack_pointer;
#else
    ucontext_t registers;
#endif
    const void *stack; /* its lowest byte; NULL: not known yet (the thread's own) */
    size_t stack_size;
    void *fake_stack; /* AddressSanitizer's */
    void *fiber;      /* ThreadSanitizer's */
};

/* Makes context such that the first switch to it calls entry() on that stack. entry never returns.
 */
void explorer_context_make(struct explorer_context *context, void *stack, size_t size,
                           void (*entry)(void));

/* Continues with to; returns when something switches back to from. With from_ends nothing will. */
void explorer_context_switch(struct explorer_context *from, struct explorer_context *to,
                             bool from_ends);

/* The first thing that entry() does. came_from: the context before. */
void explorer_context_entered(struct explorer_context *came_from);

#endif
