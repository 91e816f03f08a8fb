/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FORKED_H
#define WEIRI_FORKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* An object with threads or locks is of no use in a child after fork(): the threads are not there,
 * and the locks are as they were. Such an object notes in which process it was made; a look at that
 * costs a nanosecond, where getpid() would be a system call. Children made otherwise than by fork()
 * (the bare clone(), vfork()) are not noticed. */

/* The mark of a process without forks before it: a number that memory seldom holds, so that a mark
 * at an object's beginning also tells it from what is none. */
#define WEIRI_FORKED_FIRST UINT64_C(0x7771510100000000)

/* This process's mark, which each fork counts up in the child. Hidden: read without a detour. */
extern _Atomic uint64_t weiri_forks __attribute__((visibility("hidden")));

/* The mark for an object that is being made; 0 for lack of memory. */
uint64_t weiri_forked_mark(void);

/* The mark is of another process, of which this one is a child. */
static inline bool weiri_forked_since(uint64_t mark)
{
    return atomic_load_explicit(&weiri_forks, memory_order_relaxed) != mark;
}

#endif
