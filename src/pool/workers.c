/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/workers.h"

#include "base/alloc.h"
#include "base/panic.h"

static struct weiri_worker *new_worker(weir_pool *pool)
{
    struct weiri_worker *worker = weiri_alloc_zero(&pool->allocator, 1, sizeof(*worker));
    if (worker == NULL || weiri_context_init(&worker->context, &pool->scope) != WEIR_OK) {
        weiri_release(&pool->allocator, worker, sizeof(*worker));
        return NULL;
    }
    worker->pool = pool;
    worker->context.pool = pool;
    worker->context.thread = &worker->thread;
    atomic_init(&worker->next, NULL);
    for (int what = 0; what < WEIRI_COUNTS; what++) {
        atomic_init(&worker->counts[what], 0);
    }
    return worker;
}

/* How many have no thread. */
static size_t count_free(weir_pool *pool)
{
    size_t count = 0;
    weiri_mutex_lock(&pool->mutex);
    weiri_workers_join_locked(pool);
    for (struct weiri_worker *worker = weiri_worker_first(pool); worker != NULL;
         worker = weiri_worker_next(worker)) {
        count += !worker->has_thread;
    }
    weiri_mutex_unlock(&pool->mutex);
    return count;
}

enum weir_status weiri_workers_reserve(weir_pool *pool, size_t count)
{
    size_t found = count_free(pool);
    _Atomic(struct weiri_worker *) *end = &pool->first;
    for (struct weiri_worker *worker = weiri_worker_first(pool); worker != NULL;
         worker = weiri_worker_next(worker)) {
        end = &worker->next;
    }
    for (; found < count; found++) {
        struct weiri_worker *worker = new_worker(pool);
        if (worker == NULL) {
            return WEIR_ENOMEM;
        }
        /* Release pairs with the acquire of a walk: it finds the record as it was made. */
        weiri_sync_point();
        atomic_store_explicit(end, worker, memory_order_release);
        end = &worker->next;
    }
    return WEIR_OK;
}

void weiri_workers_free(weir_pool *pool)
{
    struct weiri_worker *worker = weiri_worker_first(pool);
    while (worker != NULL) {
        struct weiri_worker *next = weiri_worker_next(worker);
        WEIRI_ASSERT(!worker->has_thread);
        weiri_context_fini(&worker->context);
        weiri_release(&pool->allocator, worker, sizeof(*worker));
        worker = next;
    }
}

struct weiri_worker *weiri_pool_self_locked(weir_pool *pool)
{
    for (struct weiri_worker *worker = weiri_worker_first(pool); worker != NULL;
         worker = weiri_worker_next(worker)) {
        if (worker->is_working && weiri_thread_is_self(&worker->thread)) {
            return worker;
        }
    }
    return NULL;
}

struct weiri_worker *weiri_pool_self(weir_pool *pool)
{
    weiri_mutex_lock(&pool->mutex);
    struct weiri_worker *self = weiri_pool_self_locked(pool);
    weiri_mutex_unlock(&pool->mutex);
    return self;
}

static struct weiri_worker *find_left_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    struct weiri_worker *worker = weiri_worker_first(pool);
    while (worker != NULL && !worker->has_left) {
        worker = weiri_worker_next(worker);
    }
    return worker;
}

void weiri_workers_join_locked(weir_pool *pool)
{
    for (struct weiri_worker *worker = find_left_locked(pool); worker != NULL;
         worker = find_left_locked(pool)) {
        if (pool->is_joining) {
            weiri_cond_wait(&pool->changed);
            continue;
        }
        pool->is_joining = true;
        weiri_mutex_unlock(&pool->mutex);
        weiri_thread_join(&worker->thread);
        weiri_mutex_lock(&pool->mutex);
        worker->has_left = false;
        worker->has_thread = false;
        pool->is_joining = false;
        weiri_cond_broadcast(&pool->changed);
    }
}

/* A record without a thread, which gets one now and waits at the gate with it. */
static struct weiri_worker *take_record(weir_pool *pool)
{
    weiri_mutex_lock(&pool->mutex);
    struct weiri_worker *worker = weiri_worker_first(pool);
    while (worker != NULL && worker->has_thread) {
        worker = weiri_worker_next(worker);
    }
    WEIRI_ASSERT(worker != NULL); /* it was reserved */
    worker->has_thread = true;
    worker->gate = WEIRI_GATE_SHUT;
    weiri_mutex_unlock(&pool->mutex);
    return worker;
}

/* Sends those home that wait at the gate. */
static void abort_threads(weir_pool *pool)
{
    weiri_mutex_lock(&pool->mutex);
    for (struct weiri_worker *worker = weiri_worker_first(pool); worker != NULL;
         worker = weiri_worker_next(worker)) {
        if (worker->gate == WEIRI_GATE_SHUT) {
            worker->gate = WEIRI_GATE_ABORTED;
            worker->has_left = true;
        }
    }
    weiri_cond_broadcast(&pool->changed);
    weiri_workers_join_locked(pool);
    weiri_mutex_unlock(&pool->mutex);
}

enum weir_status weiri_workers_make(weir_pool *pool, size_t count, size_t *ret_made)
{
    for (size_t made = 0; made < count; made++) {
        struct weiri_worker *worker = take_record(pool);
        enum weir_status status =
            weiri_thread_start(&worker->thread, "weir-worker", weiri_worker_main, worker);
        if (status != WEIR_OK) {
            weiri_mutex_lock(&pool->mutex);
            worker->has_thread = false;
            worker->gate = WEIRI_GATE_ABORTED;
            weiri_mutex_unlock(&pool->mutex);
            abort_threads(pool);
            *ret_made = made;
            return status;
        }
    }
    *ret_made = count;
    return WEIR_OK;
}

void weiri_workers_open_locked(weir_pool *pool)
{
    for (struct weiri_worker *worker = weiri_worker_first(pool); worker != NULL;
         worker = weiri_worker_next(worker)) {
        if (worker->has_thread && worker->gate == WEIRI_GATE_SHUT) {
            worker->gate = WEIRI_GATE_OPEN;
            pool->busy++;
        }
    }
    weiri_cond_broadcast(&pool->changed);
}
