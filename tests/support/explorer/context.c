/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/explorer/context.h"

#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define HAS_ASAN 1
#    endif
#endif
#ifdef __SANITIZE_ADDRESS__
#    define HAS_ASAN 1
#endif

#ifdef HAS_ASAN
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#endif

/* Defined by the build where the program runs under ThreadSanitizer. The explorer's own files are
 * then compiled without it: a coroutine that ends inside of them leaves no calls open on
 * ThreadSanitizer's books, and its fiber, which is slow to make, can be used again. */
#ifdef EXPLORER_TSAN
#    include <sanitizer/tsan_interface.h>
#endif

/* The sanitizers have to know the stack in use and the context before. */
static void announce(struct explorer_context *from, const struct explorer_context *to,
                     bool from_ends)
{
    (void)from;
    (void)to;
    (void)from_ends;
#ifdef HAS_ASAN
    __sanitizer_start_switch_fiber(from_ends ? NULL : &from->fake_stack, to->stack, to->stack_size);
#endif
#ifdef EXPLORER_TSAN
    if (from->fiber == NULL) {
        from->fiber = __tsan_get_current_fiber();
    }
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
}

static void arrived(void *fake_stack, struct explorer_context *came_from)
{
#ifdef HAS_ASAN
    const void *stack;
    size_t size;
    __sanitizer_finish_switch_fiber(fake_stack, &stack, &size);
    if (came_from != NULL && came_from->stack == NULL) {
        came_from->stack = stack;
        came_from->stack_size = size;
    }
#else
    (void)fake_stack;
    (void)came_from;
#endif
}

void explorer_context_entered(struct explorer_context *came_from)
{
    arrived(NULL, came_from);
}

#if defined(__x86_64__)

/* Saves the registers that a call must preserve on the old stack, and takes it from the new one. */
void explorer_switch_stacks(void **ret_old, void *new_pointer);
__asm__(".text\n"
        ".globl explorer_switch_stacks\n"
        ".hidden explorer_switch_stacks\n"
        ".type explorer_switch_stacks, @function\n"
        "explorer_switch_stacks:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size explorer_switch_stacks, . - explorer_switch_stacks\n");

#    define SAVED_REGISTERS 6

static void make(struct explorer_context *context, void *stack, size_t size, void (*entry)(void))
{
    /* The stack as explorer_switch_stacks() leaves it: registers, then the address to go to. After
     * its ret the stack pointer must be as after a call: 8 off a multiple of 16. */
    uintptr_t *top = (uintptr_t *)((char *)stack + size) - 1;
    *top = 0;
    *--top = (uintptr_t)entry;
    for (int i = 0; i < SAVED_REGISTERS; i++) {
        *--top = 0;
    }
    context->stack_pointer = top;
}

static void swap(struct explorer_context *from, struct explorer_context *to)
{
    explorer_switch_stacks(&from->stack_pointer, to->stack_pointer);
}

#else

static void make(struct explorer_context *context, void *stack, size_t size, void (*entry)(void))
{
    if (getcontext(&context->registers) != 0) {
        abort();
    }
    context->registers.uc_stack.ss_sp = stack;
    context->registers.uc_stack.ss_size = size;
    context->registers.uc_link = NULL;
    makecontext(&context->registers, entry, 0);
}

static void swap(struct explorer_context *from, struct explorer_context *to)
{
    if (swapcontext(&from->registers, &to->registers) != 0) {
        abort();
    }
}

#endif

void explorer_context_make(struct explorer_context *context, void *stack, size_t size,
                           void (*entry)(void))
{
#ifdef HAS_ASAN
    /* The coroutine that had this stack before may have been left in the middle. */
    __asan_unpoison_memory_region(stack, size);
#endif
#ifdef EXPLORER_TSAN
    if (context->fiber == NULL) {
        context->fiber = __tsan_create_fiber(0);
    }
#endif
    context->stack = stack;
    context->stack_size = size;
    context->fake_stack = NULL;
    make(context, stack, size, entry);
}

void explorer_context_switch(struct explorer_context *from, struct explorer_context *to,
                             bool from_ends)
{
    announce(from, to, from_ends);
    swap(from, to);
    arrived(from->fake_stack, NULL);
}
