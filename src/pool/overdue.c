/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A pool's watchdog: made with it, and what it says. */

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "pool/pool.h"

#define LINE_SIZE 256
#define NS_PER_MS INT64_C(1000000)

static void tell(weir_context *context, int64_t late_ns, void *arg)
{
    weir_pool *pool = arg;
    weir_envelope *envelope = context->envelope;
    weiri_sync_point();
    atomic_fetch_add_explicit(&pool->overdue_runs, 1, memory_order_relaxed);
    if (pool->log != NULL) {
        char line[LINE_SIZE];
        (void)snprintf(
            line, sizeof(line),
            "overdue: envelope %" PRIu64 " \"%s\" runs on, %" PRId64 " ms past its time limit",
            weir_envelope_id(envelope), weir_envelope_type(envelope), late_ns / NS_PER_MS);
        pool->log(WEIR_LOG_WARNING, line, pool->log_arg);
    }
    if (pool->overdue != NULL) {
        pool->overdue(envelope, late_ns, pool->overdue_arg);
    }
}

enum weir_status weiri_pool_watch(weir_pool *pool, const struct weir_pool_options *options)
{
    if (options->overdue_ns == 0) {
        return WEIR_OK;
    }
    pool->overdue = options->overdue;
    pool->overdue_arg = options->overdue_arg;
    struct weiri_watchdog *dog = weiri_alloc_zero(&pool->allocator, 1, sizeof(*dog));
    if (dog == NULL) {
        return WEIR_ENOMEM;
    }
    enum weir_status status =
        weiri_watchdog_init(dog, options->clock, options->overdue_ns, tell, pool);
    if (status != WEIR_OK) {
        weiri_release(&pool->allocator, dog, sizeof(*dog));
        return status;
    }
    pool->scope.watchdog = dog;
    return WEIR_OK;
}

void weiri_pool_unwatch(weir_pool *pool)
{
    struct weiri_watchdog *dog = pool->scope.watchdog;
    if (dog != NULL) {
        weiri_watchdog_fini(dog);
        weiri_release(&pool->allocator, dog, sizeof(*dog));
    }
}
