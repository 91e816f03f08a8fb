/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/backtrace.h"

#include <stddef.h>

#if defined(__has_include)
#    if __has_include(<execinfo.h>)
#        include <execinfo.h>
#        define HAS_BACKTRACE
#    endif
#endif

int weiri_backtrace(void **ret_frames, int size)
{
#ifdef HAS_BACKTRACE
    return backtrace(ret_frames, size);
#else
    (void)ret_frames;
    (void)size;
    return 0;
#endif
}

char **weiri_backtrace_names(void *const *frames, int count)
{
#ifdef HAS_BACKTRACE
    return count == 0 ? NULL : backtrace_symbols(frames, count);
#else
    (void)frames;
    (void)count;
    return NULL;
#endif
}
