/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/backtrace.h"

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
