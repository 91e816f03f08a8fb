/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_PROCESSORS_H
#define WEIRI_PROCESSORS_H

#include <stddef.h>

/* How many processors the calling thread may run on; at least 1. */
size_t weiri_processors(void);

/* For spin loops: pauses the processor for some tens of cycles. */
static inline void weiri_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

#endif
