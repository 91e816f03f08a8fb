/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/reserve.h"

#include "base/processors.h"
#include "base/time.h"
#include "pool/workers.h"

/* A series is short where a run takes less than this on average: not much more than what sending a
 * thread to sleep and waking it costs. */
#define SHORT_RUN_NS INT64_C(10000)
/* Between two looks of the watch: at first, and, each time twice as long, at most. */
#define NAP_MIN_NS INT64_C(100000)
#define NAP_MAX_NS INT64_C(2000000)

enum weir_status weiri_reserve_init(struct weiri_reserve *reserve, struct weiri_mutex *mutex)
{
    *reserve = (struct weiri_reserve){
        .awake_max = weiri_processors(),
        .short_ns = SHORT_RUN_NS * WEIRI_PACE_RUNS,
        .nap_ns = NAP_MIN_NS,
    };
    atomic_init(&reserve->awake, 0);
    return weiri_cond_init(&reserve->called, mutex);
}

void weiri_reserve_fini(struct weiri_reserve *reserve)
{
    weiri_cond_fini(&reserve->called);
}

/* Comings and goings. */

void weiri_reserve_leave(struct weiri_worker *worker)
{
    if (!worker->pace.is_watch) {
        return;
    }
    weir_pool *pool = worker->pool;
    worker->pace.is_watch = false;
    weiri_mutex_lock(&pool->mutex);
    pool->reserve.has_watch = false;
    weiri_cond_signal(&pool->reserve.called);
    weiri_mutex_unlock(&pool->mutex);
}

void weiri_reserve_begin(struct weiri_worker *worker)
{
    struct weiri_reserve *reserve = &worker->pool->reserve;
    weiri_sync_point();
    size_t before = atomic_fetch_add_explicit(&reserve->awake, 1, memory_order_relaxed);
    worker->pace.runs = 0;
    worker->pace.since_ns = before >= reserve->awake_max ? weiri_monotonic_now() : 0;
    weiri_reserve_leave(worker);
}

void weiri_reserve_end(struct weiri_worker *worker)
{
    weiri_sync_point();
    (void)atomic_fetch_sub_explicit(&worker->pool->reserve.awake, 1, memory_order_relaxed);
}

/* Takes the calling worker out of those awake, unless that leaves less than are of use. */
static bool go_to_rest(struct weiri_reserve *reserve)
{
    weiri_sync_point();
    size_t awake = atomic_load_explicit(&reserve->awake, memory_order_relaxed);
    while (awake > reserve->awake_max) {
        weiri_sync_point();
        if (atomic_compare_exchange_weak_explicit(&reserve->awake, &awake, awake - 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

bool weiri_reserve_is_surplus(struct weiri_worker *worker)
{
    struct weiri_reserve *reserve = &worker->pool->reserve;
    struct weiri_pace *pace = &worker->pace;
    weiri_sync_point();
    if (atomic_load_explicit(&reserve->awake, memory_order_relaxed) <= reserve->awake_max) {
        pace->since_ns = 0;
        return false;
    }
    int64_t since_ns = pace->since_ns;
    pace->since_ns = weiri_monotonic_now();
    return since_ns != 0 && pace->since_ns - since_ns < reserve->short_ns && go_to_rest(reserve);
}

/* The watch. */

static uint64_t runs_of(struct weiri_worker *worker)
{
    uint64_t runs = 0;
    for (int what = 0; what < WEIRI_COUNT_OUTCOMES; what++) {
        weiri_sync_point();
        runs += atomic_load_explicit(&worker->counts[what], memory_order_relaxed);
    }
    return runs;
}

/* How many workers have ended a run since they were looked at last. */
static size_t count_moving_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    size_t moving = 0;
    for (struct weiri_worker *worker = weiri_worker_first(pool); worker != NULL;
         worker = weiri_worker_next(worker)) {
        uint64_t runs = runs_of(worker);
        moving += runs != worker->pace.runs_seen;
        worker->pace.runs_seen = runs;
    }
    return moving;
}

/* Some of those awake are blocked, and there is something to do: the watch comes out, and others
 * with it, more each time. */
static void call_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    struct weiri_reserve *reserve = &pool->reserve;
    size_t calls = reserve->more < reserve->resting ? reserve->more : reserve->resting;
    reserve->calls = calls > reserve->calls ? calls : reserve->calls;
    reserve->more = 2 * reserve->more + 1;
    reserve->nap_ns = NAP_MIN_NS;
    reserve->has_watch = false;
    for (size_t i = 0; i <= reserve->calls; i++) { /* and one becomes the watch */
        weiri_cond_signal(&reserve->called);
    }
}

/* The others can do without the watch: its next nap is longer. */
static void go_on_locked(struct weiri_reserve *reserve)
{
    reserve->more = 0;
    reserve->nap_ns = 2 * reserve->nap_ns < NAP_MAX_NS ? 2 * reserve->nap_ns : NAP_MAX_NS;
}

static void nap_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    int64_t until_ns = weiri_time_add(weiri_monotonic_now(), pool->reserve.nap_ns);
    while (pool->state == WEIR_POOL_STATE_RUNNING &&
           weiri_cond_wait_until(&pool->reserve.called, until_ns)) {
    }
}

/* Naps and looks until the worker is of use. True: it is, while it waits for an envelope, the watch
 * still. */
static bool watch_locked(weir_pool *pool) WEIRI_REQUIRES(pool->mutex)
{
    struct weiri_reserve *reserve = &pool->reserve;
    reserve->has_watch = true;
    (void)count_moving_locked(pool);
    while (pool->state == WEIR_POOL_STATE_RUNNING) {
        nap_locked(pool);
        weiri_mutex_unlock(&pool->mutex);
        bool is_empty = weir_queue_len(pool->queue) == 0;
        weiri_mutex_lock(&pool->mutex);
        size_t moving = count_moving_locked(pool);
        if (is_empty && moving == 0) {
            return true;
        }
        if (!is_empty && moving < reserve->awake_max) {
            call_locked(pool);
            return false;
        }
        go_on_locked(reserve);
    }
    reserve->has_watch = false;
    return false;
}

void weiri_reserve_rest(struct weiri_worker *worker)
{
    weir_pool *pool = worker->pool;
    struct weiri_reserve *reserve = &pool->reserve;
    weiri_mutex_lock(&pool->mutex);
    reserve->resting++;
    while (pool->state == WEIR_POOL_STATE_RUNNING && reserve->has_watch && reserve->calls == 0) {
        weiri_cond_wait(&reserve->called);
    }
    reserve->resting--;
    if (reserve->calls > 0) {
        reserve->calls--;
    } else if (pool->state == WEIR_POOL_STATE_RUNNING) {
        worker->pace.is_watch = watch_locked(pool);
    }
    weiri_mutex_unlock(&pool->mutex);
}
