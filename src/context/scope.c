/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/scope.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/forked.h"
#include "base/sync.h"

struct weir_scope {
    /* Immutable. */
    struct weir_allocator allocator;
    uint64_t mark; /* of the process that made it */

    struct weiri_mutex mutex;
    struct weiri_cond changed WEIRI_GUARDED_BY(mutex); /* a member is not busy any more */
    struct weiri_list members WEIRI_GUARDED_BY(mutex);
    /* Written with the mutex held, from false to true once, before any pool is stopped. A start
     * reads it with the pool's mutex held: either it reads true, or the stop, which takes that
     * mutex later, finds the pool running. */
    atomic_bool is_cancelled;
};

enum weir_status weir_scope_new(const struct weir_allocator *allocator, weir_scope **ret_scope)
{
    struct weir_allocator memory;
    if (ret_scope == NULL || weiri_allocator_init(&memory, allocator, NULL) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    uint64_t mark = weiri_forked_mark();
    weir_scope *scope = mark == 0 ? NULL : weiri_alloc_zero(&memory, 1, sizeof(*scope));
    if (scope == NULL) {
        return WEIR_ENOMEM;
    }
    scope->mark = mark;
    weiri_mutex_init(&scope->mutex);
    weiri_cond_init(&scope->changed, &scope->mutex);
    scope->allocator = memory;
    weiri_list_init(&scope->members);
    atomic_init(&scope->is_cancelled, false);
    *ret_scope = scope;
    return WEIR_OK;
}

/* In a child the mutex is as the fork found it. */
enum weir_status weiri_scope_check(const weir_scope *scope)
{
    return scope != NULL && weiri_forked_since(scope->mark) ? WEIR_EFORKED : WEIR_OK;
}

enum weir_status weir_scope_free(weir_scope *scope)
{
    if (scope == NULL) {
        return WEIR_OK;
    }
    if (weiri_scope_check(scope) != WEIR_OK) {
        return WEIR_EFORKED;
    }
    weiri_mutex_lock(&scope->mutex);
    bool is_used = !weiri_list_is_empty(&scope->members);
    weiri_mutex_unlock(&scope->mutex);
    if (is_used) {
        return WEIR_EBUSY;
    }
    weiri_cond_fini(&scope->changed);
    weiri_mutex_fini(&scope->mutex);
    struct weir_allocator memory = scope->allocator;
    weiri_release(&memory, scope, sizeof(*scope));
    return WEIR_OK;
}

bool weir_scope_is_cancelled(weir_scope *scope)
{
    if (scope == NULL) {
        return false;
    }
    weiri_sync_point();
    return atomic_load_explicit(&scope->is_cancelled, memory_order_acquire);
}

void weiri_scope_join(weir_scope *scope, struct weiri_membership *membership)
{
    weiri_list_init(&membership->link);
    if (scope != NULL) {
        weiri_mutex_lock(&scope->mutex);
        weiri_list_insert_before(&scope->members, &membership->link);
        weiri_mutex_unlock(&scope->mutex);
    }
}

void weiri_scope_leave(weir_scope *scope, struct weiri_membership *membership)
{
    if (scope == NULL) {
        return;
    }
    weiri_mutex_lock(&scope->mutex);
    while (membership->is_busy) {
        weiri_cond_wait(&scope->changed);
    }
    weiri_list_remove(&membership->link);
    weiri_mutex_unlock(&scope->mutex);
}

/* A member that has not been told; NULL: all have. */
static struct weiri_membership *find_untold_locked(weir_scope *scope) WEIRI_REQUIRES(scope->mutex)
{
    struct weiri_list *end = &scope->members;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_membership *membership = WEIRI_CONTAINER(link, struct weiri_membership, link);
        if (!membership->is_told) {
            return membership;
        }
    }
    return NULL;
}

void weir_scope_cancel(weir_scope *scope)
{
    if (scope == NULL || weiri_scope_check(scope) != WEIR_OK) {
        return;
    }
    weiri_mutex_lock(&scope->mutex);
    weiri_sync_point();
    atomic_store_explicit(&scope->is_cancelled, true, memory_order_release);
    for (struct weiri_membership *membership = find_untold_locked(scope); membership != NULL;
         membership = find_untold_locked(scope)) {
        membership->is_told = true;
        membership->is_busy = true;
        weiri_mutex_unlock(&scope->mutex);
        membership->on_cancel(membership);
        weiri_mutex_lock(&scope->mutex);
        membership->is_busy = false;
        weiri_cond_broadcast(&scope->changed);
    }
    weiri_mutex_unlock(&scope->mutex);
}
