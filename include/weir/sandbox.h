/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_SANDBOX_H
#define WEIR_SANDBOX_H

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * For processes that give up system calls while they run (seccomp). Memory comes by the calls that
 * malloc makes too: brk, mmap, munmap, mremap, madvise (weir/allocator.h). Of these the library
 * does without mremap and madvise where they are refused. */

/** Has objects made from now on do without membarrier(2), whose filter must otherwise let it pass:
 * a process that loses it later ends at the next contended lock, because nothing can stand in for
 * it then. Objects that were made before still need it, so this is to be called before the first.
 * It holds for good, for all threads. Their locks cost more while one thread alone uses
 * them. Not needed where membarrier(2) is refused from the start. */
WEIR_API void weir_sandbox_prepare(void);

WEIR_END_DECLS

#endif
