/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* init -> running -> stopping -> stopped. One thread at a time changes the state: a start is
 * waited for by everything else, and of several drains and stops the first joins the workers, the
 * others wait for it. */

#include <inttypes.h>
#include <stdio.h>

#include "pool/pool.h"

/* Waits until no start is under way. */
static void settle_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    while (pool->state == WEIRI_POOL_STARTING || pool->state == WEIRI_POOL_ABORTING) {
        weiri_cond_wait(&pool->changed);
    }
}

static void set_state_locked(weir_pool *pool, enum weiri_pool_state state)
    WEIRI_REQUIRES(pool->mutex)
{
    pool->state = state;
    weiri_cond_broadcast(&pool->changed);
}

static void set_state(weir_pool *pool, enum weiri_pool_state state)
{
    weiri_mutex_lock(&pool->mutex);
    set_state_locked(pool, state);
    weiri_mutex_unlock(&pool->mutex);
}

/* Called by a task of this very pool: to wait for the workers would be to wait for itself. */
static struct weiri_worker *self_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    for (size_t i = 0; i < pool->worker_count; i++) {
        if (pool->workers[i].is_working && weiri_thread_is_self(&pool->workers[i].thread)) {
            return &pool->workers[i];
        }
    }
    return NULL;
}

struct weiri_worker *weiri_pool_self(weir_pool *pool)
{
    weiri_mutex_lock(&pool->mutex);
    struct weiri_worker *self = self_locked(pool);
    weiri_mutex_unlock(&pool->mutex);
    return self;
}

static void join_workers(weir_pool *pool, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        weiri_thread_join(&pool->workers[i].thread);
    }
}

/* Makes the threads; *ret_count is how many. */
static enum weir_status make_workers(weir_pool *pool, size_t *ret_count)
{
    enum weir_status status = WEIR_OK;
    size_t count = 0;
    while (count < pool->worker_count && status == WEIR_OK) {
        struct weiri_worker *worker = &pool->workers[count];
        status = weiri_thread_start(&worker->thread, "weir-worker", weiri_worker_main, worker);
        if (status == WEIR_OK) {
            count++;
        }
    }
    *ret_count = count;
    return status;
}

#define MESSAGE_SIZE 128

static void log_start(const weir_pool *pool, enum weir_status status, size_t count)
{
    if (pool->log == NULL) {
        return;
    }
    char message[MESSAGE_SIZE];
    if (status == WEIR_OK) {
        (void)snprintf(message, sizeof(message), "pool started: %zu workers", count);
        pool->log(WEIR_LOG_INFO, message, pool->log_arg);
    } else {
        (void)snprintf(message, sizeof(message), "pool not started: %s, after %zu of %zu workers",
                       weir_status_text((int)status), count, pool->worker_count);
        pool->log(WEIR_LOG_ERROR, message, pool->log_arg);
    }
}

static void log_end(weir_pool *pool)
{
    struct weir_pool_counts counts;
    if (pool->log == NULL || weir_pool_count(pool, &counts) != WEIR_OK) {
        return;
    }
    char message[MESSAGE_SIZE];
    (void)snprintf(message, sizeof(message), "pool stopped: %" PRIu64 " runs, %" PRIu64 " dropped",
                   counts.runs, counts.dropped);
    pool->log(counts.dropped > 0 ? WEIR_LOG_WARNING : WEIR_LOG_INFO, message, pool->log_arg);
}

enum weir_status weir_pool_start(weir_pool *pool)
{
    if (pool == NULL) {
        return WEIR_EINVAL;
    }
    weiri_mutex_lock(&pool->mutex);
    settle_locked(pool);
    bool is_startable = pool->state == WEIRI_POOL_INIT;
    if (is_startable) {
        set_state_locked(pool, WEIRI_POOL_STARTING);
    }
    weiri_mutex_unlock(&pool->mutex);
    if (!is_startable) {
        return WEIR_ESTATE;
    }

    size_t count;
    enum weir_status status = make_workers(pool, &count);
    if (status == WEIR_OK) {
        set_state(pool, WEIRI_POOL_RUNNING);
    } else {
        set_state(pool, WEIRI_POOL_ABORTING);
        join_workers(pool, count);
        set_state(pool, WEIRI_POOL_INIT);
    }
    log_start(pool, status, count);
    return status;
}

/* Finds a pool that can be ended, and tells in ret_before what state it was in; RUNNING: the caller
 * is the first to end it. */
static enum weir_status begin_end(weir_pool *pool, bool is_stop, enum weiri_pool_state *ret_before)
{
    weiri_mutex_lock(&pool->mutex);
    settle_locked(pool);
    enum weiri_pool_state before = pool->state;
    bool is_allowed = before != WEIRI_POOL_INIT && self_locked(pool) == NULL;
    if (is_allowed && before != WEIRI_POOL_STOPPED) {
        pool->is_stop = pool->is_stop || is_stop;
        if (before == WEIRI_POOL_RUNNING) {
            set_state_locked(pool, WEIRI_POOL_STOPPING);
        }
    }
    weiri_mutex_unlock(&pool->mutex);
    *ret_before = before;
    return is_allowed ? WEIR_OK : WEIR_ESTATE;
}

/* Ends the pool, or waits until whoever was first has. */
static enum weir_status end(weir_pool *pool, bool is_stop)
{
    if (pool == NULL) {
        return WEIR_EINVAL;
    }
    enum weiri_pool_state before;
    enum weir_status status = begin_end(pool, is_stop, &before);
    if (status != WEIR_OK) {
        return status;
    }
    if (before != WEIRI_POOL_STOPPED) {
        weiri_pool_refuse_sends(pool, is_stop ? WEIR_DROP_STOPPED : WEIR_DROP_DRAINED);
        if (is_stop) {
            /* Sends are refused by now: a task that learns of its cancellation cannot bring itself
             * back. */
            weiri_scope_cancel(&pool->scope);
            weiri_pool_drop_queued(pool, WEIR_DROP_STOPPED);
        }
    }
    if (before == WEIRI_POOL_RUNNING) {
        join_workers(pool, pool->worker_count);
        log_end(pool);
        set_state(pool, WEIRI_POOL_STOPPED);
    }
    weiri_mutex_lock(&pool->mutex);
    while (pool->state != WEIRI_POOL_STOPPED) {
        weiri_cond_wait(&pool->changed);
    }
    status = pool->is_stop && !is_stop ? WEIR_ECANCELED : WEIR_OK;
    weiri_mutex_unlock(&pool->mutex);
    return status;
}

enum weir_status weir_pool_drain(weir_pool *pool)
{
    return end(pool, false);
}

enum weir_status weir_pool_stop(weir_pool *pool)
{
    return end(pool, true);
}
