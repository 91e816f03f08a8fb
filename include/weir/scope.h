/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_SCOPE_H
#define WEIR_SCOPE_H

#include <stdbool.h>

#include <weir/allocator.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * A scope stops several pools by one call. A program gives it to its pools (struct
 * weir_pool_options), and cancels it when it is to end. After fork() the child cannot use it: to
 * cancel it does nothing, to free it or to make a pool in it is WEIR_EFORKED. */

/** A scope. Opaque. All calls but weir_scope_free() are thread-safe. */
typedef struct weir_scope weir_scope;

/** Makes a scope. allocator is copied; NULL: libc's. Returns owned: weir_scope_free(). Errors:
 * WEIR_EINVAL (allocator), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_scope_new(const struct weir_allocator *allocator,
                                                        weir_scope **ret_scope);

/** Frees a scope. Takes NULL. Errors: WEIR_EBUSY (a pool is in it), WEIR_EFORKED; then nothing
 * changed. */
WEIR_API enum weir_status weir_scope_free(weir_scope *scope);

/** Cancels a scope, for good: cancels the runs in its pools and stops each of them as
 * weir_pool_end() does with WEIR_END_STOP and a timeout of 0, calls of their ended functions
 * included. A pool that does not run is left as it is, and does not start any more
 * (WEIR_ECANCELED). Waits for no task. A further call stops the pools that the first has not come
 * to yet, and does not wait for the others. May be called from a task of its pools. A pool's ended
 * function, which may be called from here, must not free a pool of the scope. Takes NULL. */
WEIR_API void weir_scope_cancel(weir_scope *scope);

/** Whether the scope was cancelled; false for NULL. */
WEIR_API bool weir_scope_is_cancelled(weir_scope *scope);

WEIR_END_DECLS

#endif
