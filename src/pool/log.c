/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The lines of a pool's log. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/backtrace.h"
#include "pool/ended.h"

void weiri_pool_log(weir_pool *pool, enum weir_log_level level, const char *format, ...)
{
    if (pool->options.log == NULL) {
        return;
    }
    char line[512];
    int length = 0;
    if (pool->options.name != NULL) {
        length = snprintf(line, sizeof(line), "%.128s: ", pool->options.name);
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line + length, sizeof(line) - (size_t)length, format, arguments);
    va_end(arguments);
    struct weiri_endings endings; /* of what the user's function ends */
    weiri_endings_init(&endings);
    weiri_pool_lock(pool);
    weiri_ended_enter_locked(pool, &endings);
    weiri_pool_unlock(pool);
    pool->options.log(level, line, pool->options.log_arg);
    weiri_pool_lock(pool);
    weiri_ended_leave_locked(pool, &endings);
    weiri_pool_unlock(pool);
}

void weiri_pool_log_panic(const weir_context *context, const char *message, void *const *frames,
                          int count)
{
    weir_pool *pool = context->contexts->pool;
    if (pool->options.log == NULL) {
        return;
    }
    weiri_pool_log(pool, WEIR_LOG_ERROR, "panic in envelope %" PRIu64 " \"%s\": %s",
                   context->envelope->options.id, context->envelope->options.type, message);
    char **names = weiri_backtrace_names(frames, count);
    for (int i = 0; names != NULL && i < count; i++) {
        weiri_pool_log(pool, WEIR_LOG_ERROR, "  #%d %s", i, names[i]);
    }
    free(names);
}
