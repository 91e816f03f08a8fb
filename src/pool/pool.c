/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "pool/group.h"
#include "queue/limiter.h"

#define HOOK_MIN_NS WEIR_MS(800)
#define HOOK_FRACTION 500 /* per mille */
#define HOOK_FRACTION_MAX 1000
#define NS_PER_MS INT64_C(1000000)
#define FLAGS_KNOWN                                                                                \
    ((uint32_t)(WEIR_POOL_TIMEOUTS_FAIL | WEIR_POOL_TASKS_EXCEED | WEIR_POOL_HIDDEN))
/* Workers that were woken and are on their way. Each wakes the next when it leaves work behind, so
 * more than two only meet at the mutex. */
#define WOKEN_MAX 2

static enum weir_status normalize_runs(struct weir_pool_options *options,
                                       struct weir_error *ret_error)
{
    if (options->overdue != NULL && options->overdue_ns == 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "overdue_ns is 0: expected a time beside the function overdue");
    }
    if (weiri_check_number("overdue_ns", options->overdue_ns, 0, INT64_MAX, ret_error) != WEIR_OK ||
        weiri_check_number("hook_min_ns", options->hook_min_ns, 0, INT64_MAX, ret_error) !=
            WEIR_OK ||
        weiri_check_number("hook_fraction", options->hook_fraction, 0, HOOK_FRACTION_MAX,
                           ret_error) != WEIR_OK) {
        return WEIR_ERANGE;
    }
    options->hook_min_ns = options->hook_min_ns != 0 ? options->hook_min_ns : HOOK_MIN_NS;
    options->hook_fraction = options->hook_fraction != 0 ? options->hook_fraction : HOOK_FRACTION;
    return weiri_stamps_check(options->stamps, options->stamp_count, ret_error);
}

static enum weir_status normalize(struct weir_pool_options *dst,
                                  const struct weir_pool_options *src, struct weir_error *ret_error)
{
    if (weiri_check_given("options", src, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    *dst = *src;
    if (weiri_allocator_init(&dst->allocator, &src->allocator, ret_error) != WEIR_OK ||
        weiri_check_flags(dst->flags, FLAGS_KNOWN, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    dst->clock = dst->clock == NULL ? weir_clock_monotonic() : dst->clock;
    if (dst->workers < 1 || dst->workers > WEIRI_WORKERS_MAX) {
        return weiri_fail(ret_error, WEIR_EINVAL, "workers is %zu: expected 1 to %d", dst->workers,
                          WEIRI_WORKERS_MAX);
    }
    if (weiri_check_choice("when_full", dst->when_full, WEIR_FULL_DROP_OLDEST, ret_error) !=
        WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status = normalize_runs(dst, ret_error);
    if (status == WEIR_OK) {
        status = weiri_clock_check(dst->clock);
    }
    return status == WEIR_OK ? weiri_scope_check(dst->scope) : status;
}

/* Fills in what cannot fail. */
static void fill(weir_pool *pool, const struct weir_pool_options *options)
{
    pool->options = *options;
    pool->worker_count = options->workers;
    pool->state = WEIR_POOL_STATE_INIT;
    pool->end = WEIRI_END_NONE;
    pool->membership.on_cancel = weiri_pool_on_cancel;
    pool->clock_user.on_step = weiri_pool_on_step;
    atomic_init(&pool->coalesces, true);
    weiri_mutex_init(&pool->mutex);
    weiri_cond_init(&pool->changed, &pool->mutex);
    weiri_core_init(&pool->core, &options->allocator, weiri_random_seed(), weiri_random_seed());
    pool->core.can_wait_all = true;
    weiri_table_init(&pool->groups, sizeof(struct weiri_group), weiri_random_seed());
    weiri_list_init(&pool->aside);
    weiri_list_init(&pool->admitted);
    weiri_list_init(&pool->senders);
    weiri_list_init(&pool->tellers);
    weiri_waiters_init(&pool->sleepers, WOKEN_MAX);
    weiri_contexts_init(&pool->contexts, options->clock, &pool->mutex);
    pool->contexts.pool = pool;
    pool->contexts.hides_pool = (pool->options.flags & WEIR_POOL_HIDDEN) != 0;
    pool->contexts.allocator = &pool->options.allocator;
    pool->contexts.panicked = weiri_pool_log_panic;
    pool->contexts.process = pool->process;
}

static size_t stamps_size(const struct weir_pool_options *options)
{
    return options->stamp_count * sizeof(*options->stamps);
}

static enum weir_status copy_options(weir_pool *pool, const struct weir_pool_options *options)
{
    if (options->name != NULL) {
        pool->own_name = weiri_copy_string(&options->allocator, options->name);
        if (pool->own_name == NULL) {
            return WEIR_ENOMEM;
        }
    }
    if (options->stamp_count > 0) {
        pool->own_stamps = weiri_alloc(&options->allocator, stamps_size(options));
        if (pool->own_stamps == NULL) {
            return WEIR_ENOMEM;
        }
        memcpy(pool->own_stamps, options->stamps, stamps_size(options));
    }
    pool->options.name = pool->own_name;
    pool->options.stamps = pool->own_stamps;
    return WEIR_OK;
}

/* The watchdog found a run that is overdue. */
static void tell_overdue(weir_context *context, int64_t late_ns, void *arg)
{
    weir_pool *pool = arg;
    weir_envelope *envelope = context->envelope;
    weiri_pool_lock(pool);
    pool->counts.overdue++;
    weiri_pool_unlock(pool);
    weiri_pool_log(pool, WEIR_LOG_WARNING,
                   "overdue: envelope %" PRIu64 " \"%s\" runs on, %" PRId64
                   " ms past its time limit",
                   envelope->options.id, envelope->options.type, late_ns / NS_PER_MS);
    if (pool->options.overdue != NULL) {
        pool->options.overdue(envelope, late_ns, pool->options.overdue_arg);
    }
}

/* Frees all that was made, which may be a part. No thread but the watchdog's is left. */
static void fini(weir_pool *pool)
{
    weiri_pool_unpublish(pool);
    if (pool->contexts.watchdog != NULL) {
        weiri_watchdog_fini(&pool->watchdog);
    }
    weiri_workers_free(pool);
    weiri_core_fini(&pool->core);
    weiri_table_fini(&pool->groups, &pool->options.allocator);
    weiri_release(&pool->options.allocator, pool->own_stamps, stamps_size(&pool->options));
    weiri_release_string(&pool->options.allocator, pool->own_name);
    weiri_event_fd_close(&pool->fd);
    weiri_cond_fini(&pool->changed);
    weiri_mutex_fini(&pool->mutex);
    struct weir_allocator allocator = pool->options.allocator;
    weiri_release(&allocator, pool, sizeof(*pool));
}

/* Makes the parts whose making can fail. */
static enum weir_status make_parts(weir_pool *pool, const struct weir_pool_options *options,
                                   struct weir_error *ret_error)
{
    enum weir_status status = copy_options(pool, options);
    if (status == WEIR_OK) {
        weiri_pool_lock(pool);
        status = weiri_workers_reserve_locked(pool, options->workers);
        weiri_pool_unlock(pool);
    }
    if (status == WEIR_OK && options->overdue_ns != 0) {
        status = weiri_watchdog_init(&pool->watchdog, &pool->contexts, options->overdue_ns,
                                     tell_overdue, pool);
    }
    return status == WEIR_OK ? weiri_pool_publish(pool, ret_error) : status;
}

enum weir_status weir_pool_new(const struct weir_pool_options *given, weir_pool **ret_pool,
                               struct weir_error *ret_error)
{
    struct weir_pool_options options;
    weiri_error_clear(ret_error);
    enum weir_status status = weiri_check_given("ret_pool", ret_pool, ret_error);
    if (status == WEIR_OK) {
        status = normalize(&options, given, ret_error);
    }
    if (status != WEIR_OK) {
        return weiri_explain(ret_error, status);
    }
    uint64_t process = weiri_forked_mark();
    weir_pool *pool = process == 0 ? NULL : weiri_alloc_zero(&options.allocator, 1, sizeof(*pool));
    if (pool == NULL) {
        return weiri_explain(ret_error, WEIR_ENOMEM);
    }
    pool->process = process;
    fill(pool, &options);
    status = make_parts(pool, &options, ret_error);
    if (status != WEIR_OK) {
        fini(pool);
        return weiri_explain(ret_error, status);
    }
    /* Last, since other threads step the clock and cancel the scope. */
    weiri_clock_attach(pool->options.clock, &pool->clock_user);
    if (pool->options.limiter != NULL) {
        weiri_limiter_attach(pool->options.limiter);
    }
    weiri_scope_join(pool->options.scope, &pool->membership);
    *ret_pool = pool;
    return WEIR_OK;
}

enum weir_status weir_pool_free(weir_pool *pool)
{
    if (pool == NULL) {
        return WEIR_OK;
    }
    if (weiri_pool_check(pool) != WEIR_OK) {
        return WEIR_EFORKED; /* a child has no threads; locks stay held */
    }
    enum weir_status status = weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_scope_leave(pool->options.scope, &pool->membership);
    weiri_clock_detach(pool->options.clock, &pool->clock_user);
    if (pool->options.limiter != NULL) {
        weiri_limiter_detach(pool->options.limiter);
    }
    fini(pool);
    return WEIR_OK;
}

enum weir_status weir_pool_count(weir_pool *pool, struct weir_pool_counts *ret_counts)
{
    enum weir_status status = ret_counts == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    if (status == WEIR_OK) {
        weiri_pool_lock(pool);
        *ret_counts = pool->counts;
        ret_counts->queued = pool->core.queued;
        ret_counts->waiting = pool->core.waiting.count;
        ret_counts->running = pool->core.processing;
        ret_counts->in_flight = pool->core.held;
        weiri_pool_unlock(pool);
    }
    return status;
}
