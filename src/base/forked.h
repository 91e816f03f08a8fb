/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FORKED_H
#define WEIRI_FORKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* An object with threads or locks cannot be used in a child after fork(): the threads do not exist
 * there, and the locks keep the state that they had. Each such object therefore stores the mark of
 * the process that made it. The check takes a nanosecond; getpid() would be a system call. Children
 * made by clone() or vfork() are not detected. */

/* The mark of a process before any fork. Memory seldom holds this number, so a mark at the start of
 * an object also distinguishes the object from other memory. */
#define WEIRI_FORKED_FIRST UINT64_C(0x7771510100000000)

/* This process's mark. Each fork increments it in the child. It has hidden visibility, so that
 * reads need no indirection. */
extern _Atomic uint64_t weiri_forks __attribute__((visibility("hidden")));

/* The mark for a new object; 0: no memory. */
uint64_t weiri_forked_mark(void);

/* True if the mark is not this process's, such as a parent's. */
static inline bool weiri_forked_since(uint64_t mark)
{
    return atomic_load_explicit(&weiri_forks, memory_order_relaxed) != mark;
}

#endif
