/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_INLINE_H
#define WEIRI_INLINE_H

/* For the few functions that every call of a hot path passes: inlined at each of their callers,
 * where the compiler would rather share one copy, because what their arguments make constant there
 * is most of their work. Measured, not guessed: docs/internals/queue.md. */
#define WEIRI_INLINE static inline __attribute__((always_inline))

/* For what a function hardly ever comes to, or should not pay for where it does not: kept out of
 * it, so that it need not save registers for it. */
#define WEIRI_NOINLINE __attribute__((noinline))

#endif
