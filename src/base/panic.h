/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_PANIC_H
#define WEIRI_PANIC_H

/* A broken invariant of weir itself ends the program: going on would lose or repeat work. Misuse by
 * a caller is a status and never a panic. WEIRI_ASSERT stays on in release builds, so its condition
 * must be cheap; WEIRI_DEBUG_ASSERT is for the rest. Neither condition may have a side effect. */

_Noreturn void weiri_panic(const char *file, int line, const char *what);

#define WEIRI_ASSERT(condition)                                                                    \
    ((condition) ? (void)0 : weiri_panic(__FILE__, __LINE__, #condition))

#ifdef NDEBUG
#    define WEIRI_DEBUG_ASSERT(condition) ((void)sizeof(condition))
#else
#    define WEIRI_DEBUG_ASSERT(condition) WEIRI_ASSERT(condition)
#endif

#endif
