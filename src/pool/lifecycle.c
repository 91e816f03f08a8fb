/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Start, resize, pause, and waiting until a pool is idle. The way from running to stopped is in
 * end.c.
 *
 * A start and a resize hold the mutex while they start threads. The new threads wait for it, so
 * nothing is run by a start that fails in the middle. A start waits until the workers of the last
 * run have ended, and until all threads that wait for that end have seen it. So the workers of one
 * generation have left before those of the next begin. */

#include "pool/pool.h"

enum weir_pool_state weir_pool_state(weir_pool *pool)
{
    if (weiri_pool_check(pool) != WEIR_OK) {
        return WEIR_POOL_STATE_TERMINATED;
    }
    weiri_pool_lock(pool);
    enum weir_pool_state state = pool->state;
    weiri_pool_unlock(pool);
    return state;
}

/* Waits until the pool can be started. */
static enum weir_status await_startable_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    for (;;) {
        if (pool->state == WEIR_POOL_STATE_RUNNING || pool->end.mode == WEIR_END_TERMINATE ||
            weiri_pool_self_locked(pool) != NULL) {
            return WEIR_ESTATE;
        }
        if (pool->state == WEIR_POOL_STATE_STOPPING || pool->enders > 0) {
            if (weiri_pool_needs_caller_locked(pool)) {
                return WEIR_ESTATE;
            }
            (void)weiri_pool_wait_locked(pool, WEIR_FOREVER);
        } else if (!weiri_threads_join_locked(pool)) {
            return weir_scope_is_cancelled(pool->options.scope) ? WEIR_ECANCELED : WEIR_OK;
        }
    }
}

static enum weir_status start_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    enum weir_status status = await_startable_locked(pool);
    if (status == WEIR_OK) {
        status = weiri_threads_start_locked(pool, pool->worker_count);
    }
    if (status != WEIR_OK) {
        return status;
    }
    pool->state = WEIR_POOL_STATE_RUNNING;
    pool->end = WEIRI_END_NONE;
    pool->ended_as = WEIR_END_DRAIN;
    pool->has_run = true;
    pool->leavers = 0;
    atomic_store_explicit(&pool->coalesces, true, memory_order_release);
    weiri_pool_show_end_locked(pool);
    weiri_pool_announce_locked(pool);
    return WEIR_OK;
}

enum weir_status weir_pool_start(weir_pool *pool)
{
    enum weir_status status = weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_pool_lock(pool);
    status = start_locked(pool);
    size_t count = pool->worker_count;
    weiri_pool_unlock(pool);
    if (status == WEIR_OK) {
        weiri_pool_log(pool, WEIR_LOG_INFO, "pool started: %zu workers", count);
    } else if (status != WEIR_ESTATE) {
        weiri_pool_log(pool, WEIR_LOG_ERROR, "pool not started: %s, with %zu workers",
                       weir_status_text((int)status), count);
    }
    return status;
}

/* Makes the workers of a running pool more, or lets some leave. */
static enum weir_status change_workers_locked(weir_pool *pool, size_t workers)
    WEIRI_REQUIRES(pool->mutex)
{
    if (workers <= pool->worker_count) {
        pool->leavers += pool->worker_count - workers;
        return WEIR_OK;
    }
    size_t missing = workers - pool->worker_count;
    size_t retained = missing < pool->leavers ? missing : pool->leavers;
    enum weir_status status =
        missing > retained ? weiri_threads_start_locked(pool, missing - retained) : WEIR_OK;
    pool->leavers -= status == WEIR_OK ? retained : 0;
    return status;
}

enum weir_status weir_pool_resize(weir_pool *pool, size_t workers)
{
    bool is_possible = workers >= 1 && workers <= WEIRI_WORKERS_MAX;
    enum weir_status status = is_possible ? weiri_pool_check(pool) : WEIR_EINVAL;
    if (status != WEIR_OK) {
        return status;
    }
    weiri_pool_lock(pool);
    (void)weiri_threads_join_locked(pool); /* for their records */
    bool is_running = pool->state == WEIR_POOL_STATE_RUNNING;
    size_t before = pool->worker_count;
    if (pool->end.mode == WEIR_END_TERMINATE) {
        status = WEIR_ESTATE;
    } else if (is_running) {
        status = change_workers_locked(pool, workers);
    }
    if (status == WEIR_OK) {
        pool->worker_count = workers;
    }
    weiri_pool_unlock(pool);
    if (status == WEIR_OK && is_running) {
        weiri_pool_log(pool, WEIR_LOG_INFO, "pool resized: %zu workers, %zu before", workers,
                       before);
    }
    return status;
}

static enum weir_status set_paused(weir_pool *pool, bool is_paused)
{
    enum weir_status status = weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_pool_lock(pool);
    bool is_new = pool->is_paused != is_paused;
    if (pool->state == WEIR_POOL_STATE_TERMINATED) {
        status = WEIR_ESTATE;
    } else {
        pool->is_paused = is_paused;
        weiri_pool_announce_locked(pool);
    }
    weiri_pool_unlock(pool);
    if (status == WEIR_OK && is_new) {
        weiri_pool_log(pool, WEIR_LOG_INFO, is_paused ? "pool paused" : "pool resumed");
    }
    return status;
}

enum weir_status weir_pool_resume(weir_pool *pool)
{
    return set_paused(pool, false);
}

/* Checks a call that waits for the pool's runs. */
static enum weir_status check_wait(weir_pool *pool)
{
    enum weir_status status = weiri_pool_check(pool);
    if (status == WEIR_OK) {
        weiri_pool_lock(pool);
        status = weiri_pool_needs_caller_locked(pool) ? WEIR_ESTATE : WEIR_OK;
        weiri_pool_unlock(pool);
    }
    return status;
}

enum weir_status weir_pool_pause(weir_pool *pool, int64_t timeout_ns)
{
    enum weir_status status = timeout_ns > 0 ? check_wait(pool) : weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    int64_t limit_ns = weiri_clock_limit(pool->options.clock, timeout_ns);
    status = set_paused(pool, true);
    if (status != WEIR_OK || limit_ns == WEIRI_AT_ONCE) {
        return status;
    }
    weiri_pool_lock(pool);
    bool is_in_time = true;
    while (pool->is_paused && pool->core.processing > 0 && is_in_time) {
        is_in_time = weiri_pool_wait_locked(pool, limit_ns);
    }
    status = !pool->is_paused            ? WEIR_ECANCELED
             : pool->core.processing > 0 ? WEIR_ETIMEDOUT
                                         : WEIR_OK;
    weiri_pool_unlock(pool);
    return status;
}

enum weir_status weir_pool_wait_idle(weir_pool *pool, int64_t timeout_ns)
{
    enum weir_status status = check_wait(pool);
    if (status != WEIR_OK) {
        return status;
    }
    int64_t limit_ns = weiri_clock_limit(pool->options.clock, timeout_ns);
    weiri_pool_lock(pool);
    pool->idle_observers++;
    while (!weiri_pool_is_idle_locked(pool) && status == WEIR_OK) {
        if (weiri_pool_has_ended_locked(pool)) {
            status = WEIR_ESHUTDOWN;
        } else if (!weiri_pool_wait_locked(pool, limit_ns)) {
            status = WEIR_ETIMEDOUT;
        }
    }
    pool->idle_observers--;
    weiri_pool_unlock(pool);
    return status;
}
