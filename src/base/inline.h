/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_INLINE_H
#define WEIRI_INLINE_H

/* For the few functions that every call of a hot path passes: inlined at each of their callers,
 * where the compiler would rather share one copy, because what their arguments make constant there
 * is most of their work. Measured, not guessed: docs/internals/queue.md. Where coverage is counted,
 * without optimisation, they are functions like others, whose branches count once
 * (docs/coverage.md). */
#ifdef WEIRI_INLINE_ONCE
#    define WEIRI_INLINE static inline
#else
#    define WEIRI_INLINE static inline __attribute__((always_inline))
#endif

/* For what a function hardly ever comes to, or should not pay for where it does not: kept out of
 * it, so that it need not save registers for it. */
#define WEIRI_NOINLINE __attribute__((noinline))

/* Lays out the code so that the common case runs straight on. Measured: the shortest calls take a
 * fifth longer where each of their questions ends in a jump. */
#define WEIRI_LIKELY(condition) __builtin_expect((condition), 1)

/* Has an address computed once. From an index the compiler rather computes it anew for each use,
 * and keeps more registers for that than it saves. */
#define WEIRI_COMPUTED(pointer) __asm__("" : "+r"(pointer))

#endif
