/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/workers.h"

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/panic.h"
#include "pool/flight.h"
#include "pool/group.h"
#include "pool/stamps.h"
#include "queue/internal.h"

#define HOOK_MIN_NS WEIR_MS(800)
#define HOOK_FRACTION 500 /* per mille */
#define HOOK_FRACTION_MAX 1000
#define FLAGS_KNOWN ((uint32_t)(WEIR_POOL_TIMEOUTS_FAIL | WEIR_POOL_ORDERED_GROUPS))

_Static_assert(offsetof(struct weir_pool_options, scope) + sizeof(weir_scope *) ==
                   sizeof(struct weir_pool_options),
               "no padding at the end of an options struct");

static _Atomic uint64_t last_number;

static enum weir_status normalize_runs(struct weir_pool_options *options)
{
    bool is_unheard = options->overdue != NULL && options->overdue_ns == 0;
    if ((options->flags & ~FLAGS_KNOWN) != 0 || is_unheard) {
        return WEIR_EINVAL;
    }
    if (options->overdue_ns < 0 || options->hook_min_ns < 0 ||
        options->hook_fraction > HOOK_FRACTION_MAX) {
        return WEIR_ERANGE;
    }
    options->hook_min_ns = options->hook_min_ns != 0 ? options->hook_min_ns : HOOK_MIN_NS;
    options->hook_fraction = options->hook_fraction != 0 ? options->hook_fraction : HOOK_FRACTION;
    return weiri_stamps_check(options->stamps, options->stamp_count);
}

static enum weir_status normalize(struct weir_pool_options *dst,
                                  const struct weir_pool_options *src)
{
    if (src == NULL || weiri_options_copy(dst, sizeof(*dst), src) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct weir_allocator given = dst->allocator;
    if (weiri_allocator_init(&dst->allocator, &given) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (dst->clock == NULL) {
        dst->clock = weir_clock_monotonic();
    }
    bool is_ordered = (dst->flags & WEIR_POOL_ORDERED_GROUPS) != 0;
    if (dst->when_full > WEIR_FULL_DROP_OLDEST || (is_ordered && dst->group_limit > 1)) {
        return WEIR_EINVAL;
    }
    if (is_ordered) {
        dst->group_limit = 1;
    }
    if (dst->workers < 1 || dst->workers > WEIRI_WORKERS_MAX) {
        return WEIR_EINVAL;
    }
    enum weir_status status = normalize_runs(dst);
    return status == WEIR_OK ? weiri_clock_check(dst->clock) : status;
}

static enum weir_status init_queue(weir_pool *pool, const struct weir_pool_options *options)
{
    struct weir_queue_options of_queue = WEIR_QUEUE_OPTIONS_INIT;
    of_queue.allocator = options->allocator;
    of_queue.clock = options->clock;
    of_queue.limiter = options->limiter;
    of_queue.metrics = options->metrics;
    of_queue.name = options->name;
    enum weir_status status = weir_queue_new(&of_queue, &pool->queue);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_queue_set_capacity(pool->queue, options->capacity);
    if (options->group_limit != 0) {
        weiri_queue_set_groups(pool->queue, &pool->groups, options->group_limit, weiri_member_of);
    }
    status = weiri_pool_measure(pool, options);
    if (status != WEIR_OK) {
        weir_queue_free(pool->queue);
    }
    return status;
}

static enum weir_status init_life(weir_pool *pool)
{
    pool->state = WEIR_POOL_STATE_INIT;
    pool->reason = WEIR_DROP_TERMINATED;
    if (weiri_mutex_init(&pool->mutex) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    if (weiri_cond_init(&pool->changed, &pool->mutex) != WEIR_OK) {
        goto no_changed;
    }
    if (weiri_reserve_init(&pool->reserve, &pool->mutex) != WEIR_OK) {
        goto no_reserve;
    }
    return WEIR_OK;

no_reserve:
    weiri_cond_fini(&pool->changed);
no_changed:
    weiri_mutex_fini(&pool->mutex);
    return WEIR_ENOMEM;
}

static void fini_life(weir_pool *pool)
{
    weiri_reserve_fini(&pool->reserve);
    weiri_cond_fini(&pool->changed);
    weiri_mutex_fini(&pool->mutex);
}

static enum weir_status copy_stamps(weir_pool *pool, const struct weir_pool_options *options)
{
    if (options->stamp_count == 0) {
        return WEIR_OK;
    }
    pool->stamps =
        weiri_alloc_zero(&pool->allocator, options->stamp_count, sizeof(struct weir_stamp));
    if (pool->stamps == NULL) {
        return WEIR_ENOMEM;
    }
    pool->stamp_count = options->stamp_count;
    memcpy(pool->stamps, options->stamps, pool->stamp_count * sizeof(struct weir_stamp));
    return WEIR_OK;
}

static void release_stamps(weir_pool *pool)
{
    weiri_release(&pool->allocator, pool->stamps, pool->stamp_count * sizeof(struct weir_stamp));
}

/* Makes what a pool consists of; on failure nothing is left to undo. */
static enum weir_status init(weir_pool *pool, const struct weir_pool_options *options)
{
    enum weir_status status = WEIR_ENOMEM;
    pool->allocator = options->allocator;
    pool->mark = weiri_forked_mark();
    pool->log = options->log;
    pool->log_arg = options->log_arg;
    pool->when_full = options->when_full;
    pool->tell_dropped = options->dropped;
    pool->dropped_arg = options->dropped_arg;
    pool->hook_min_ns = options->hook_min_ns;
    pool->hook_fraction = options->hook_fraction;
    pool->has_ordered_groups = (options->flags & WEIR_POOL_ORDERED_GROUPS) != 0;
    pool->timeouts_fail = (options->flags & WEIR_POOL_TIMEOUTS_FAIL) != 0;
    atomic_init(&pool->dropped, 0);
    atomic_init(&pool->awaiting, 0);
    atomic_init(&pool->overdue_runs, 0);
    if (pool->mark == 0 || copy_stamps(pool, options) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    if (init_life(pool) != WEIR_OK) {
        goto no_life;
    }
    if (weiri_scope_init(&pool->scope, options->clock) != WEIR_OK) {
        goto no_scope;
    }
    status = weiri_pool_watch(pool, options);
    if (status != WEIR_OK) {
        goto no_watchdog;
    }
    atomic_init(&pool->first, NULL);
    atomic_init(&pool->worker_count, options->workers);
    status = weiri_workers_reserve(pool, options->workers);
    if (status != WEIR_OK) {
        goto no_workers;
    }
    status = init_queue(pool, options);
    if (status != WEIR_OK) {
        goto no_workers;
    }
    weiri_sync_point();
    pool->number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    WEIRI_ASSERT(pool->number >> WEIRI_FLIGHT_POOL_BITS == 0);
    return WEIR_OK;

no_workers:
    weiri_workers_free(pool);
    weiri_pool_unwatch(pool);
no_watchdog:
    weiri_scope_fini(&pool->scope);
no_scope:
    fini_life(pool);
no_life:
    release_stamps(pool);
    return status;
}

enum weir_status weir_pool_new(const struct weir_pool_options *given, weir_pool **ret_pool)
{
    struct weir_pool_options options;
    enum weir_status status = ret_pool == NULL ? WEIR_EINVAL : normalize(&options, given);
    if (status == WEIR_OK) {
        status = weiri_scope_check(options.scope);
    }
    if (status != WEIR_OK) {
        return status;
    }
    weir_pool *pool = weiri_alloc_zero(&options.allocator, 1, sizeof(*pool));
    if (pool == NULL) {
        return WEIR_ENOMEM;
    }
    status = init(pool, &options);
    if (status != WEIR_OK) {
        weiri_release(&options.allocator, pool, sizeof(*pool));
        return status;
    }
    pool->base = options.scope;
    weiri_scope_join(pool->base, &pool->membership, pool);
    *ret_pool = pool;
    return WEIR_OK;
}

void weir_pool_free(weir_pool *pool)
{
    /* In a child there are no threads to end, and what they held is held. */
    if (weiri_pool_check(pool) != WEIR_OK) {
        return;
    }
    weiri_scope_leave(pool->base, &pool->membership);
    enum weir_status status = weir_pool_terminate(pool);
    WEIRI_ASSERT(status == WEIR_OK && "a pool is not freed from a task of its own");
    weiri_pool_unmeasure(pool);
    weir_queue_free(pool->queue);
    weiri_workers_free(pool);
    weiri_pool_unwatch(pool);
    weiri_scope_fini(&pool->scope);
    fini_life(pool);
    release_stamps(pool);
    struct weir_allocator memory = pool->allocator;
    weiri_release(&memory, pool, sizeof(*pool));
}

static uint64_t sum_of(weir_pool *pool, enum weiri_count what)
{
    uint64_t sum = 0;
    for (struct weiri_worker *worker = weiri_worker_first(pool); worker != NULL;
         worker = weiri_worker_next(worker)) {
        weiri_sync_point();
        sum += atomic_load_explicit(&worker->counts[what], memory_order_relaxed);
    }
    return sum;
}

static void sum_counts(weir_pool *pool, struct weir_pool_counts *counts)
{
    counts->succeeded = sum_of(pool, (enum weiri_count)WEIRI_SUCCEEDED);
    counts->failed = sum_of(pool, (enum weiri_count)WEIRI_FAILED);
    counts->panics = sum_of(pool, (enum weiri_count)WEIRI_PANICKED);
    counts->timed_out = sum_of(pool, (enum weiri_count)WEIRI_TIMED_OUT);
    counts->canceled = sum_of(pool, (enum weiri_count)WEIRI_CANCELED);
    counts->stopped = sum_of(pool, (enum weiri_count)WEIRI_STOPPED);
    counts->runs = counts->succeeded + counts->failed + counts->panics + counts->timed_out +
                   counts->canceled + counts->stopped;
    counts->late = sum_of(pool, WEIRI_COUNT_LATE);
    counts->retries = sum_of(pool, WEIRI_COUNT_RETRIES);
    counts->exhausted = sum_of(pool, WEIRI_COUNT_EXHAUSTED);
    counts->hook_errors = sum_of(pool, WEIRI_COUNT_HOOK_ERRORS);
    counts->skipped = sum_of(pool, WEIRI_COUNT_SKIPPED);
}

enum weir_status weir_pool_count(weir_pool *pool, struct weir_pool_counts *ret_counts)
{
    enum weir_status status = ret_counts == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    struct weir_queue_counts of_queue;
    size_t held;
    status = weiri_queue_count_held(pool->queue, &of_queue, &held);
    if (status != WEIR_OK) {
        return status;
    }
    struct weir_pool_counts counts = {
        .queued = of_queue.queued,
        .waiting = of_queue.waiting,
        .running = of_queue.processing,
        .in_flight = held,
        .dropped = of_queue.dropped,
    };
    weiri_sync_point();
    counts.dropped += atomic_load_explicit(&pool->dropped, memory_order_relaxed);
    weiri_sync_point();
    counts.overdue = atomic_load_explicit(&pool->overdue_runs, memory_order_relaxed);
    sum_counts(pool, &counts);
    *ret_counts = counts;
    return WEIR_OK;
}
