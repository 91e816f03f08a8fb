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

#include "base/panic.h"
#include "pool/pool.h"
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
}

/* Gives the state back that the caller had in hand. */
static void set_state(weir_pool *pool, enum weir_pool_state state)
{
    weiri_mutex_lock(&pool->mutex);
    pool->is_changing = false;
    weiri_pool_set_state_locked(pool, state);
    weiri_mutex_unlock(&pool->mutex);
}

enum weir_pool_state weir_pool_state(weir_pool *pool)
{
    if (pool == NULL) {
        return WEIR_POOL_STATE_TERMINATED;
    }
    weiri_mutex_lock(&pool->mutex);
    enum weir_pool_state state = pool->state;
    weiri_mutex_unlock(&pool->mutex);
    return state;
}

struct weiri_worker *weiri_pool_self_locked(weir_pool *pool)
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
    struct weiri_worker *self = weiri_pool_self_locked(pool);
    weiri_mutex_unlock(&pool->mutex);
    return self;
}

static void join_workers(weir_pool *pool, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        weiri_thread_join(&pool->workers[i].thread);
    }
}

void weiri_pool_join_locked(weir_pool *pool)
{
    while (pool->unjoined > 0) {
        if (pool->is_joining) {
            weiri_cond_wait(&pool->changed);
            continue;
        }
        size_t count = pool->unjoined;
        pool->is_joining = true;
        weiri_mutex_unlock(&pool->mutex);
        join_workers(pool, count);
        weiri_mutex_lock(&pool->mutex);
        pool->unjoined = 0;
        pool->is_joining = false;
        weiri_cond_broadcast(&pool->changed);
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

/* Waits until the pool can be started, and takes its state in hand. */
static enum weir_status begin_start(weir_pool *pool, enum weir_pool_state *ret_before)
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
        *ret_before = pool->state;
        pool->is_changing = true;
        pool->gate = WEIRI_GATE_SHUT;
        weiri_pool_join_locked(pool);
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
    pool->gate = WEIRI_GATE_OPEN;
    pool->unjoined = pool->worker_count;
    pool->busy = pool->worker_count;
    pool->is_stop = false;
    pool->keeps = true;
    weiri_mutex_unlock(&pool->mutex);
    set_state(pool, WEIR_POOL_STATE_RUNNING);
}

static void abort_start(weir_pool *pool, size_t made, enum weir_pool_state before)
{
    weiri_mutex_lock(&pool->mutex);
    pool->gate = WEIRI_GATE_ABORTED;
    weiri_cond_broadcast(&pool->changed);
    weiri_mutex_unlock(&pool->mutex);
    join_workers(pool, made);
    set_state(pool, before);
}

enum weir_status weir_pool_start(weir_pool *pool)
{
    if (pool == NULL) {
        return WEIR_EINVAL;
    }
    enum weir_pool_state before;
    enum weir_status status = begin_start(pool, &before);
    if (status != WEIR_OK) {
        return status;
    }
    size_t count;
    status = make_workers(pool, &count);
    if (status == WEIR_OK) {
        open_pool(pool);
    } else {
        abort_start(pool, count, before);
    }
    log_start(pool, status, count);
    return status;
}
