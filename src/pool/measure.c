/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A pool in a registry of metrics: its queue, and its counts. */

#include "pool/pool.h"

/* Both are called with the registry's lock held. */
static void collect_queue(struct weiri_source *source, union weiri_sample *ret_sample)
{
    weir_pool *pool = WEIRI_CONTAINER(source, struct weir_pool, queue_source);
    weiri_pool_lock(pool);
    weiri_core_sample(&pool->core, pool->now_ns, &ret_sample->queue);
    weiri_pool_unlock(pool);
}

static void collect_pool(struct weiri_source *source, union weiri_sample *ret_sample)
{
    weir_pool *pool = WEIRI_CONTAINER(source, struct weir_pool, pool_source);
    weiri_pool_lock(pool);
    const struct weir_pool_counts *counts = &pool->counts;
    ret_sample->pool = (struct weiri_pool_sample){
        .workers = pool->worker_count,
        .running = pool->core.processing,
        .in_flight = pool->core.held,
        .capacity = pool->options.capacity,
        .runs = {[WEIRI_RUN_SUCCEEDED] = counts->succeeded,
                 [WEIRI_RUN_FAILED] = counts->failed,
                 [WEIRI_RUN_PANICKED] = counts->panics,
                 [WEIRI_RUN_TIMED_OUT] = counts->timed_out,
                 [WEIRI_RUN_CANCELED] = counts->canceled,
                 [WEIRI_RUN_STOPPED] = counts->stopped},
        .late = counts->late,
        .retries = counts->retries,
        .exhausted = counts->exhausted,
        .hook_errors = counts->hook_errors,
        .skipped = counts->skipped,
        .dropped = counts->dropped,
        .overdue = counts->overdue,
    };
    weiri_pool_unlock(pool);
}

enum weir_status weiri_pool_publish(weir_pool *pool, struct weir_error *ret_error)
{
    weir_metrics *metrics = pool->options.metrics;
    if (metrics == NULL) {
        return WEIR_OK;
    }
    if (pool->options.name == NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL, "name is NULL: expected one beside metrics");
    }
    pool->core.meter = &pool->meter; /* before another thread knows the pool */
    pool->core.times_items = true;
    pool->queue_source = (struct weiri_source){
        .kind = WEIRI_SOURCE_QUEUE, .name = pool->options.name, .collect = collect_queue};
    pool->pool_source = (struct weiri_source){
        .kind = WEIRI_SOURCE_POOL, .name = pool->options.name, .collect = collect_pool};
    enum weir_status status = weiri_metrics_add(metrics, &pool->queue_source, ret_error);
    if (status == WEIR_OK) {
        status = weiri_metrics_add(metrics, &pool->pool_source, ret_error);
        if (status != WEIR_OK) {
            weiri_metrics_remove(metrics, &pool->queue_source);
        }
    }
    pool->is_published = status == WEIR_OK;
    return status;
}

void weiri_pool_unpublish(weir_pool *pool)
{
    if (pool->is_published) {
        weiri_metrics_remove(pool->options.metrics, &pool->pool_source);
        weiri_metrics_remove(pool->options.metrics, &pool->queue_source);
    }
}
