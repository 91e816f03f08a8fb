/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The workers' records, and their threads. */

#include "base/alloc.h"
#include "base/panic.h"
#include "pool/pool.h"

/* Makes one more record, whose number is the next one. There are never more records than workers
 * that the pool was given at most: a resize takes back those that were to leave before it makes
 * new ones, and waits for those that have left. */
static enum weir_status add_record(weir_pool *pool, struct weiri_worker **end,
                                   uint32_t number) WEIRI_POOL_LOCKED
{
    struct weiri_worker *worker = weiri_alloc_zero(&pool->options.allocator, 1, sizeof(*worker));
    if (worker == NULL) {
        return WEIR_ENOMEM;
    }
    worker->pool = pool;
    weiri_context_init(&worker->context, &pool->contexts);
    worker->context.thread = &worker->thread;
    worker->context.worker = number;
    *end = worker;
    return WEIR_OK;
}

enum weir_status weiri_workers_reserve_locked(weir_pool *pool, size_t count)
{
    size_t found = 0;
    uint32_t number = 0;
    struct weiri_worker **end = &pool->workers;
    for (; *end != NULL; end = &(*end)->next) {
        found += !(*end)->has_thread;
        number++;
    }
    enum weir_status status = WEIR_OK;
    for (; found < count && status == WEIR_OK; found++) {
        status = add_record(pool, end, number++);
        end = status == WEIR_OK ? &(*end)->next : end;
    }
    return status;
}

void weiri_workers_free(weir_pool *pool)
{
    struct weiri_worker *worker = pool->workers;
    while (worker != NULL) {
        struct weiri_worker *next = worker->next;
        WEIRI_ASSERT(!worker->has_thread);
        weiri_context_fini(&worker->context);
        weiri_release(&pool->options.allocator, worker, sizeof(*worker));
        worker = next;
    }
}

struct weiri_worker *weiri_pool_self_locked(weir_pool *pool)
{
    uintptr_t self = weiri_thread_current();
    struct weiri_worker *worker = pool->workers;
    while (worker != NULL && worker->thread_id != self) {
        worker = worker->next;
    }
    return worker;
}

bool weiri_threads_join_locked(weir_pool *pool)
{
    bool has_released = false;
    struct weiri_worker *worker = pool->workers;
    while (worker != NULL) {
        if (!worker->has_left) {
            worker = worker->next;
            continue;
        }
        if (pool->is_joining) {
            (void)weiri_pool_wait_locked(pool, WEIR_FOREVER);
        } else {
            pool->is_joining = true;
            weiri_pool_unlock(pool);
            weiri_thread_join(&worker->thread);
            weiri_pool_lock(pool);
            worker->has_left = false;
            worker->has_thread = false;
            pool->is_joining = false;
            weiri_pool_announce_locked(pool);
        }
        has_released = true;
        worker = pool->workers;
    }
    return has_released;
}

/* The new threads wait for the mutex, and are refused until all have been started: a start that
 * fails has run nothing. */
static enum weir_status start_threads(weir_pool *pool, size_t count) WEIRI_POOL_LOCKED
{
    for (struct weiri_worker *worker = pool->workers; count > 0; worker = worker->next) {
        if (!worker->has_thread) {
            enum weir_status status =
                weiri_thread_start_open(&worker->thread, "weir-worker", weiri_worker_main, worker);
            if (status != WEIR_OK) {
                return status;
            }
            worker->has_thread = true;
            worker->is_refused = true;
            count--;
        }
    }
    return WEIR_OK;
}

enum weir_status weiri_threads_start_locked(weir_pool *pool, size_t count)
{
    enum weir_status status = weiri_workers_reserve_locked(pool, count);
    if (status == WEIR_OK) {
        status = start_threads(pool, count);
    }
    for (struct weiri_worker *worker = pool->workers; worker != NULL; worker = worker->next) {
        if (worker->has_thread && worker->is_refused && !worker->has_left) {
            worker->is_refused = status != WEIR_OK;
            worker->has_left = status != WEIR_OK;
        }
    }
    if (status == WEIR_OK) {
        pool->busy += count;
        pool->working += count;
    } else {
        (void)weiri_threads_join_locked(pool);
    }
    return status;
}
