/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/panic.h>

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

#include "base/panic.h"
#include "pool/guard.h"
#include "pool/pool.h"

#define FRAMES_MAX 64
#define LINE_SIZE 512

/* The stack as lines of text, from whoever called weir_panic(); without memory for them, none. */
static void log_stack(const weir_pool *pool)
{
#ifdef HAS_BACKTRACE
    void *frames[FRAMES_MAX];
    int count = backtrace(frames, FRAMES_MAX);
    char **names = backtrace_symbols(frames, count);
    const int own = 3; /* this function, log_panic() and weir_panic() */
    for (int i = own; names != NULL && i < count; i++) {
        char line[LINE_SIZE];
        (void)snprintf(line, sizeof(line), "  #%d %s", i - own, names[i]);
        pool->log(WEIR_LOG_ERROR, line, pool->log_arg);
    }
    free(names);
#else
    (void)pool;
#endif
}

static __attribute__((noinline)) void log_panic(const weir_context *context, const char *message)
{
    const weir_pool *pool = context->pool;
    const weir_envelope *envelope = context->envelope;
    if (pool == NULL || pool->log == NULL) {
        return;
    }
    char line[LINE_SIZE];
    (void)snprintf(line, sizeof(line), "panic in envelope %" PRIu64 " \"%s\": %s",
                   weir_envelope_id(envelope), weir_envelope_type(envelope), message);
    pool->log(WEIR_LOG_ERROR, line, pool->log_arg);
    log_stack(pool);
}

void weir_panic(weir_context *context, const char *format, ...)
{
    WEIRI_ASSERT(context != NULL && context->catch.is_set &&
                 "weir_panic() is for a task, stamp or hook that is being run");
    WEIRI_ASSERT((context->thread == NULL || weiri_thread_is_self(context->thread)) &&
                 "weir_panic() is for the worker's own thread");
    char message[WEIRI_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    log_panic(context, message);
    /* The run may have an earlier panic in it, which is what it came to: this one is a hook's. */
    if (!context->has_message) {
        memcpy(context->message, message, sizeof(message));
        context->has_message = true;
    }
    weiri_guard_leave(context);
}
