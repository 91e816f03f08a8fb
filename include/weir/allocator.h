/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_ALLOCATOR_H
#define WEIR_ALLOCATOR_H

#include <stddef.h>

#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * Memory comes from an allocator that is given to an object when it is made; there is no
 * process-wide hook. The default, where it is NULL or all its members are, is malloc, realloc and
 * free of libc; one with some members NULL is WEIR_EINVAL. */

/** The functions by which an object takes and returns memory. The struct is copied by the object
 * that takes it; `arg` is borrowed and must outlive that object. All three functions are required
 * and may be called from any thread that uses the object, possibly at once. They are the only
 * callbacks of weir that may be called with its locks held: any call that makes the object grow or
 * shrink may do so. So they must call nothing of weir on the object, nor on objects that it uses or
 * that use it (its queue, limiter, clock, metrics). While they wait, all threads that use the
 * object wait. Returned memory is aligned for any type. */
struct weir_allocator {
    /** Returns size > 0 bytes, or NULL: the call then fails with WEIR_ENOMEM. */
    void *(*alloc)(size_t size, void *arg);
    /** As realloc: on NULL the old block stays. old_size is the size it was asked for with. */
    void *(*resize)(void *block, size_t old_size, size_t new_size, void *arg);
    /** Takes back a block; never called with NULL. size is the size it was asked for with. */
    void (*release)(void *block, size_t size, void *arg);
    /** Passed to every call. */
    void *arg;
};

WEIR_END_DECLS

#endif
