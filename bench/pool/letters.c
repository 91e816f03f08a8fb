/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/pool/letters.h"

#include <stdatomic.h>
#include <stdlib.h>

static _Atomic uint64_t calls;

static void *count_alloc(size_t size, void *arg)
{
    (void)arg;
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return malloc(size);
}

static void *count_resize(void *block, size_t old_size, size_t new_size, void *arg)
{
    (void)old_size;
    (void)arg;
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return realloc(block, new_size);
}

static void release(void *block, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    free(block);
}

const struct weir_allocator bench_counted = {count_alloc, count_resize, release, NULL};

uint64_t bench_counted_calls(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

static int do_nothing(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    return WEIR_OK;
}

static int before(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)envelope;
    return do_nothing(context, payload);
}

static int after(weir_context *context, weir_envelope *envelope, int status, void *payload)
{
    (void)envelope;
    (void)status;
    return do_nothing(context, payload);
}

static void succeed(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)context;
    (void)envelope;
    (void)payload;
}

static struct weir_decision fail(weir_context *context, weir_envelope *envelope,
                                 const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)failure;
    (void)payload;
    return weir_decision_drop();
}

weir_envelope *bench_letter_new(const struct bench_letter *letter)
{
    struct weir_envelope_options options = WEIR_ENVELOPE_OPTIONS_INIT;
    options.allocator = letter->allocator;
    options.invoke = letter->invoke != NULL ? letter->invoke : do_nothing;
    options.payload = letter->payload;
    options.deadline_ns = letter->deadline_ns;
    options.interval_ns = letter->interval_ns;
    if (letter->has_hooks) {
        options.before = before;
        options.after = after;
        options.success = succeed;
        options.failure = fail;
    }
    weir_envelope *envelope;
    BENCH_OK(weir_envelope_new(&options, &envelope));
    return envelope;
}

weir_pool *bench_pool_new(size_t workers, size_t capacity, const struct weir_allocator *allocator)
{
    struct weir_pool_options options = WEIR_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.capacity = capacity;
    if (allocator != NULL) {
        options.allocator = *allocator;
    }
    weir_pool *pool;
    BENCH_OK(weir_pool_new(&options, &pool));
    BENCH_OK(weir_pool_start(pool));
    return pool;
}

struct weir_pool_counts bench_pool_counts(weir_pool *pool)
{
    struct weir_pool_counts counts;
    BENCH_OK(weir_pool_count(pool, &counts));
    return counts;
}
