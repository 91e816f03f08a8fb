/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_POOL_SCOPE_H
#define WEIRI_POOL_SCOPE_H

#include <stdbool.h>

#include <weir/pool.h>
#include <weir/scope.h>

#include "base/list.h"

/* A pool's membership of a scope. Guarded by the scope's mutex. */
struct weiri_membership {
    struct weiri_list link;
    weir_pool *pool;
    bool is_told; /* of the cancellation */
    bool is_busy; /* it is being stopped, and must not be freed */
};

/* WEIR_EFORKED: the scope is a parent's, and this is the child. scope may be NULL. */
WEIR_NODISCARD enum weir_status weiri_scope_check(const weir_scope *scope);

/* Both with no lock held; scope may be NULL. Leaving waits until a cancellation has stopped the
 * pool. */
void weiri_scope_join(weir_scope *scope, struct weiri_membership *membership, weir_pool *pool);
void weiri_scope_leave(weir_scope *scope, struct weiri_membership *membership);

#endif
