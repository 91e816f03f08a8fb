/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* More workers, or fewer; and a pause of all. */

#include <stdio.h>

#include "pool/workers.h"
#include "queue/close.h"

#define MESSAGE_SIZE 96

static void log_resize(const weir_pool *pool, size_t before, size_t after)
{
    if (pool->log == NULL) {
        return;
    }
    char message[MESSAGE_SIZE];
    (void)snprintf(message, sizeof(message), "pool resized: %zu workers, %zu before", after,
                   before);
    pool->log(WEIR_LOG_INFO, message, pool->log_arg);
}

static void set_count_locked(weir_pool *pool, size_t workers) WEIRI_REQUIRES(pool->mutex)
{
    weiri_sync_point();
    atomic_store_explicit(&pool->worker_count, workers, memory_order_relaxed);
}

/* Has as many workers of a running pool as are too many leave; or makes those that are missing,
 * unless they are still there, since they have not left yet. */
static enum weir_status change_workers(weir_pool *pool, size_t before, size_t after)
{
    if (after < before) {
        weiri_queue_retire(pool->queue, before - after);
        return WEIR_OK;
    }
    size_t retained = weiri_queue_retain(pool->queue, after - before);
    size_t missing = after - before - retained;
    size_t made;
    enum weir_status status = weiri_workers_reserve(pool, missing);
    if (status == WEIR_OK) {
        status = weiri_workers_make(pool, missing, &made);
    }
    if (status != WEIR_OK) {
        weiri_queue_retire(pool->queue, retained);
    }
    return status;
}

/* The pool runs, and its state is in hand. */
static enum weir_status resize_running(weir_pool *pool, size_t workers)
{
    size_t before = atomic_load_explicit(&pool->worker_count, memory_order_relaxed);
    enum weir_status status = change_workers(pool, before, workers);
    weiri_mutex_lock(&pool->mutex);
    if (status == WEIR_OK) {
        set_count_locked(pool, workers);
        weiri_workers_open_locked(pool);
    }
    pool->is_changing = false;
    weiri_cond_broadcast(&pool->changed);
    weiri_mutex_unlock(&pool->mutex);
    if (status == WEIR_OK) {
        log_resize(pool, before, workers);
    }
    return status;
}

enum weir_status weir_pool_resize(weir_pool *pool, size_t workers)
{
    bool is_possible = workers >= 1 && workers <= WEIRI_WORKERS_MAX;
    enum weir_status status = is_possible ? weiri_pool_check(pool) : WEIR_EINVAL;
    if (status != WEIR_OK) {
        return status;
    }
    weiri_mutex_lock(&pool->mutex);
    weiri_pool_settle_locked(pool);
    bool is_running = pool->state == WEIR_POOL_STATE_RUNNING;
    if (pool->state == WEIR_POOL_STATE_TERMINATED || pool->is_terminating) {
        status = WEIR_ESTATE;
    } else if (is_running) {
        pool->is_changing = true;
    } else {
        set_count_locked(pool, workers);
    }
    weiri_mutex_unlock(&pool->mutex);
    return status == WEIR_OK && is_running ? resize_running(pool, workers) : status;
}

static enum weir_status set_paused(weir_pool *pool, bool is_paused)
{
    enum weir_status status = weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    if (weir_pool_state(pool) == WEIR_POOL_STATE_TERMINATED) {
        return WEIR_ESTATE;
    }
    if (weiri_queue_pause(pool->queue, is_paused) && pool->log != NULL) {
        pool->log(WEIR_LOG_INFO, is_paused ? "pool paused" : "pool resumed", pool->log_arg);
    }
    return WEIR_OK;
}

enum weir_status weir_pool_pause(weir_pool *pool)
{
    return set_paused(pool, true);
}

enum weir_status weir_pool_pause_until(weir_pool *pool, int64_t limit_ns)
{
    enum weir_status status = weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    if (weiri_pool_self(pool) != NULL) {
        return WEIR_ESTATE;
    }
    status = set_paused(pool, true);
    return status == WEIR_OK ? weiri_queue_await_pause(pool->queue, limit_ns) : status;
}

enum weir_status weir_pool_resume(weir_pool *pool)
{
    return set_paused(pool, false);
}

bool weir_pool_is_paused(weir_pool *pool)
{
    return weiri_pool_check(pool) == WEIR_OK && weiri_queue_is_paused(pool->queue);
}
