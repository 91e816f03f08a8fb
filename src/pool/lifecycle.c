/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* init -> running -> stopping -> stopped -> running …, and terminated: the states, and the way to
 * running. The way from there is in end.c.
 *
 * A start has the state in hand while it makes threads (is_changing), and everything else waits for
 * it. An end is the matter of all who want it: each closes the queue as far as it wants, and with
 * the workers counts among the busy; who leaves as the last makes the pool stopped. A start waits
 * for that, and for all who wait for the end: so of two generations of workers never both have a
 * thread. */

#include <stdio.h>

#include "pool/workers.h"
#include "queue/close.h"

void weiri_pool_settle_locked(weir_pool *pool)
{
    while (pool->is_changing) {
        weiri_cond_wait(&pool->changed);
    }
}

void weiri_pool_set_state_locked(weir_pool *pool, enum weir_pool_state state)
{
    pool->state = state;
    weiri_cond_broadcast(&pool->changed);
    weiri_cond_broadcast(&pool->reserve.called);
}

enum weir_pool_state weir_pool_state(weir_pool *pool)
{
    if (weiri_pool_check(pool) != WEIR_OK) {
        return WEIR_POOL_STATE_TERMINATED;
    }
    weiri_mutex_lock(&pool->mutex);
    enum weir_pool_state state = pool->state;
    weiri_mutex_unlock(&pool->mutex);
    return state;
}

#define MESSAGE_SIZE 128

static void log_start(const weir_pool *pool, enum weir_status status, size_t made, size_t count)
{
    if (pool->log == NULL) {
        return;
    }
    char message[MESSAGE_SIZE];
    if (status == WEIR_OK) {
        (void)snprintf(message, sizeof(message), "pool started: %zu workers", made);
        pool->log(WEIR_LOG_INFO, message, pool->log_arg);
    } else {
        (void)snprintf(message, sizeof(message), "pool not started: %s, after %zu of %zu workers",
                       weir_status_text((int)status), made, count);
        pool->log(WEIR_LOG_ERROR, message, pool->log_arg);
    }
}

/* Waits until the pool can be started, and takes its state in hand. */
static enum weir_status begin_start(weir_pool *pool)
{
    enum weir_status status = WEIR_EAGAIN;
    weiri_mutex_lock(&pool->mutex);
    while (status == WEIR_EAGAIN) {
        weiri_pool_settle_locked(pool);
        enum weir_pool_state state = pool->state;
        if (state == WEIR_POOL_STATE_RUNNING || state == WEIR_POOL_STATE_TERMINATED ||
            pool->is_terminating || weiri_pool_self_locked(pool) != NULL) {
            status = WEIR_ESTATE;
        } else if (state == WEIR_POOL_STATE_STOPPING || pool->waiting > 0) {
            weiri_cond_wait(&pool->changed);
        } else {
            status = WEIR_OK;
        }
    }
    if (status == WEIR_OK) {
        pool->is_changing = true;
    }
    weiri_mutex_unlock(&pool->mutex);
    return status;
}

/* All threads are made: lets them go. Sends are accepted before the first of them works. */
static void open_pool(weir_pool *pool)
{
    weiri_scope_renew(&pool->scope);
    weiri_queue_reopen(pool->queue);
    weiri_mutex_lock(&pool->mutex);
    pool->is_stop = false;
    pool->has_run = true;
    pool->keeps = true;
    weiri_workers_open_locked(pool);
    pool->is_changing = false;
    weiri_pool_set_state_locked(pool, WEIR_POOL_STATE_RUNNING);
    weiri_mutex_unlock(&pool->mutex);
}

static void give_up_start(weir_pool *pool)
{
    weiri_mutex_lock(&pool->mutex);
    pool->is_changing = false;
    weiri_cond_broadcast(&pool->changed);
    weiri_mutex_unlock(&pool->mutex);
}

enum weir_status weir_pool_start(weir_pool *pool)
{
    enum weir_status status = weiri_pool_check(pool);
    if (status == WEIR_OK) {
        status = begin_start(pool);
    }
    if (status != WEIR_OK) {
        return status;
    }
    size_t count = atomic_load_explicit(&pool->worker_count, memory_order_relaxed);
    size_t made = 0;
    status =
        weir_scope_is_cancelled(pool->base) ? WEIR_ECANCELED : weiri_workers_reserve(pool, count);
    if (status == WEIR_OK) {
        status = weiri_workers_make(pool, count, &made);
    }
    if (status == WEIR_OK) {
        open_pool(pool);
    } else {
        give_up_start(pool);
    }
    log_start(pool, status, made, count);
    return status;
}
