/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_WORKERS_H
#define WEIRI_WORKERS_H

#include <stddef.h>

#include "pool/pool.h"

/* The workers of a pool: records, which only become more, and the threads that some of them have.
 * Records are in a list, to whose end new ones are linked, so that it is walked without a lock. */

static inline struct weiri_worker *weiri_worker_first(weir_pool *pool)
{
    weiri_sync_point();
    return atomic_load_explicit(&pool->first, memory_order_acquire);
}

static inline struct weiri_worker *weiri_worker_next(struct weiri_worker *worker)
{
    weiri_sync_point();
    return atomic_load_explicit(&worker->next, memory_order_acquire);
}

/* Makes records until count of them have no thread. By one thread at a time. Those of workers that
 * are about to leave are not waited for: a worker may be in a function of the user's until then,
 * which may be the one that asks. WEIR_ENOMEM: as many as could be made. */
WEIR_NODISCARD enum weir_status weiri_workers_reserve(weir_pool *pool, size_t count);
void weiri_workers_free(weir_pool *pool);

/* The rest is for who has the pool's state in hand. Makes count threads, for as many records that
 * have been reserved, which wait at the gate. WEIR_ETHREAD, WEIR_ENOMEM: none is left. *ret_made:
 * how many were made. */
WEIR_NODISCARD enum weir_status weiri_workers_make(weir_pool *pool, size_t count, size_t *ret_made);
/* Lets those go that wait at the gate, and counts them. */
void weiri_workers_open_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex);

/* Joins the threads that have left, or waits for who does. */
void weiri_workers_join_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex);

#endif
