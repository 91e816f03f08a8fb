/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_INLINE_H
#define WEIRI_INLINE_H

/* For the few functions that every call of a hot path passes: inlined at each of their callers,
 * where the compiler would rather share one copy, because what their arguments make constant there
 * is most of their work. Measured, not guessed: docs/internals/queue.md. */
#define WEIRI_INLINE static inline __attribute__((always_inline))

#endif
