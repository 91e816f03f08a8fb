/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/panic.h"

#include <stdarg.h>
#include <stdio.h>

#include <weir/panic.h>

#include "base/backtrace.h"
#include "base/forked.h"
#include "base/panic.h"
#include "context/context.h"

#define FRAMES_MAX 64

/* No variable is changed between the two returns of sigsetjmp(), so none needs to be volatile. */
int weiri_guarded(weir_context *context, int (*fn)(void *arg), void *arg)
{
    context->catch.is_set = true;
    int status = sigsetjmp(context->catch.registers, 0) == 0 ? fn(arg) : WEIR_EPANIC;
    context->catch.is_set = false;
    uint64_t process = context->contexts->process;
    if (process != 0 && weiri_forked_since(process)) {
        weiri_panic(__FILE__, __LINE__,
                    "a process that a task forks has to end with exec or _exit()");
    }
    return status;
}

void weir_panic(weir_context *context, const char *format, ...)
{
    WEIRI_ASSERT(context != NULL && context->catch.is_set &&
                 "weir_panic() is for a task, stamp or hook that is being run");
    WEIRI_ASSERT((context->thread == NULL || weiri_thread_is_self(context->thread)) &&
                 "weir_panic() is for the worker's own thread");
    char text[WEIRI_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (context->contexts->panicked != NULL) {
        void *frames[FRAMES_MAX];
        int count = weiri_backtrace(frames, FRAMES_MAX);
        context->contexts->panicked(context, text, frames, count);
    }
    weiri_context_note_loss(context, text, 0, -1);
    siglongjmp(context->catch.registers, 1);
}
