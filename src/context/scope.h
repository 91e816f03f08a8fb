/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CONTEXT_SCOPE_H
#define WEIRI_CONTEXT_SCOPE_H

#include <stdbool.h>

#include <weir/scope.h>

#include "base/list.h"

/* The membership of a pool in a scope. Guarded by the scope's mutex. */
struct weiri_membership {
    struct weiri_list link;
    /* Called once, when the scope is cancelled, with no lock held. Stops the pool that contains the
     * membership. */
    void (*on_cancel)(struct weiri_membership *membership);
    bool is_told; /* of the cancellation */
    bool is_busy; /* on_cancel is being called, so the pool must not be freed */
};

/* WEIR_EFORKED: the scope is a parent's, and this is the child. scope may be NULL. */
WEIR_NODISCARD enum weir_status weiri_scope_check(const weir_scope *scope);

/* Both with no lock held; scope may be NULL. The caller has set on_cancel. Leaving waits while
 * on_cancel is being called. */
void weiri_scope_join(weir_scope *scope, struct weiri_membership *membership);
void weiri_scope_leave(weir_scope *scope, struct weiri_membership *membership);

#endif
