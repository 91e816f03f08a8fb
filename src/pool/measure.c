/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A pool's metrics in a registry: its counts under another name. */

#include <string.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "metrics/registry.h"
#include "pool/pool.h"

/* How the registry finds a pool. One block, with the name behind it. */
struct weiri_pool_source {
    struct weiri_source source;
    weir_pool *pool;
    weir_metrics *metrics;
    size_t capacity;
    size_t size; /* of the block */
    char name[];
};

/* With the registry's lock held. */
static void collect(struct weiri_source *source, union weiri_sample *ret_sample)
{
    const struct weiri_pool_source *self =
        WEIRI_CONTAINER(source, struct weiri_pool_source, source);
    struct weir_pool_counts counts;
    enum weir_status status = weir_pool_count(self->pool, &counts);
    WEIRI_ASSERT(status == WEIR_OK); /* a parent's registry asks nobody */
    ret_sample->pool = (struct weiri_pool_sample){
        .workers = atomic_load_explicit(&self->pool->worker_count, memory_order_relaxed),
        .running = counts.running,
        .in_flight = counts.in_flight,
        .capacity = self->capacity,
        .runs = {[WEIRI_RUN_SUCCEEDED] = counts.succeeded,
                 [WEIRI_RUN_FAILED] = counts.failed,
                 [WEIRI_RUN_PANICKED] = counts.panics,
                 [WEIRI_RUN_TIMED_OUT] = counts.timed_out,
                 [WEIRI_RUN_CANCELED] = counts.canceled,
                 [WEIRI_RUN_STOPPED] = counts.stopped},
        .late = counts.late,
        .retries = counts.retries,
        .exhausted = counts.exhausted,
        .hook_errors = counts.hook_errors,
        .skipped = counts.skipped,
        .dropped = counts.dropped,
        .overdue = counts.overdue,
    };
}

enum weir_status weiri_pool_measure(weir_pool *pool, const struct weir_pool_options *options)
{
    if (options->metrics == NULL) {
        return WEIR_OK;
    }
    size_t size = sizeof(struct weiri_pool_source) + strlen(options->name) + 1;
    struct weiri_pool_source *self = weiri_alloc_zero(&pool->allocator, 1, size);
    if (self == NULL) {
        return WEIR_ENOMEM;
    }
    strcpy(self->name, options->name);
    self->source.kind = WEIRI_SOURCE_POOL;
    self->source.name = self->name;
    self->source.collect = collect;
    self->pool = pool;
    self->metrics = options->metrics;
    self->capacity = options->capacity;
    self->size = size;
    enum weir_status status = weiri_metrics_add(options->metrics, &self->source);
    if (status != WEIR_OK) {
        weiri_release(&pool->allocator, self, size);
        return status;
    }
    pool->source = self;
    return WEIR_OK;
}

void weiri_pool_unmeasure(weir_pool *pool)
{
    struct weiri_pool_source *self = pool->source;
    if (self == NULL) {
        return;
    }
    weiri_metrics_remove(self->metrics, &self->source);
    pool->source = NULL;
    weiri_release(&pool->allocator, self, self->size);
}
