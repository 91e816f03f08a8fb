/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/panic.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__has_include)
#    if __has_include(<execinfo.h>)
#        include <execinfo.h>
#        define HAS_BACKTRACE
#    endif
#endif

#include <weir/panic.h>

#include "base/backtrace.h"
#include "base/panic.h"
#include "isolate/isolate.h"
#include "pool/pool.h"

#define LINE_SIZE 512

/* Without memory for them, none. */
static char **names_of(void *const *frames, int count)
{
#ifdef HAS_BACKTRACE
    return count == 0 ? NULL : backtrace_symbols(frames, count);
#else
    (void)frames;
    (void)count;
    return NULL;
#endif
}

void weiri_panic_log(const weir_context *context, const char *message, void *const *frames,
                     int count)
{
    const weir_pool *pool = context->pool;
    if (pool == NULL || pool->log == NULL) {
        return;
    }
    weiri_pool_log(pool, WEIR_LOG_ERROR, "panic in envelope %" PRIu64 " \"%s\": %s",
                   weir_envelope_id(context->envelope), weir_envelope_type(context->envelope),
                   message);
    char **names = names_of(frames, count);
    for (int i = 0; names != NULL && i < count; i++) {
        weiri_pool_log(pool, WEIR_LOG_ERROR, "  #%d %s", i, names[i]);
    }
    free(names);
}

/* No variable is changed between the two returns of sigsetjmp(), so none needs to be volatile. */
int weiri_guarded(weir_context *context, int (*fn)(void *arg), void *arg)
{
    context->catch.is_set = true;
    int status = sigsetjmp(context->catch.registers, 0) == 0 ? fn(arg) : WEIR_EPANIC;
    context->catch.is_set = false;
    if (context->pool != NULL && !context->is_isolated &&
        weiri_forked_since(context->pool->process)) {
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
    if (context->is_isolated) {
        weiri_isolated_panic(text); /* the program writes the log */
    }
    void *frames[WEIRI_ISOLATED_FRAMES];
    int count = weiri_backtrace(frames, WEIRI_ISOLATED_FRAMES);
    weiri_panic_log(context, text, frames, count);
    weiri_context_note_loss(context, text, 0, -1);
    siglongjmp(context->catch.registers, 1);
}
