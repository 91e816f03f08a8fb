/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall numbers */

#include <errno.h>

#include <weir/metrics.h>

#include "conformance/bad_pool.h"
#include "support/forbid_call.h"

/* Bad input to the making of pools. */

static enum weir_status make(const struct weir_pool_options *options)
{
    weir_pool *untouched = (weir_pool *)&rows;
    weir_pool *pool = untouched;
    size_t bytes = test_allocated_bytes();
    enum weir_status status = spoken(weir_pool_new(options, &pool, &said));
    CHECK((pool == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        CHECK_INT(weir_pool_state(pool), ==, WEIR_POOL_STATE_INIT);
        weir_pool_free(pool);
    }
    CHECK_INT(test_allocated_bytes(), ==, bytes);
    return status;
}

ROW(weir_pool_new, options, null, WEIR_EINVAL)
{
    return make(NULL);
}

ROW(weir_pool_new, ret_pool, null, WEIR_EINVAL)
{
    struct weir_pool_options options = good_pool(w->clock);
    return spoken(weir_pool_new(&options, NULL, &said));
}

ROW(weir_pool_new, options, allocator, WEIR_EINVAL)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.allocator.alloc = NULL;
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options = good_pool(w->clock);
    options.allocator.resize = NULL;
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options = good_pool(w->clock);
    options.allocator.release = NULL;
    return make(&options);
}

ROW(weir_pool_new, options, workers, WEIR_EINVAL)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.workers = 4096;
    CHECK_STATUS(make(&options), WEIR_OK);
    options.workers = 4097;
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options.workers = SIZE_MAX;
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options.workers = 0;
    return make(&options);
}

ROW(weir_pool_new, options, capacity, WEIR_OK)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.capacity = SIZE_MAX;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, w->envelopes[IS_IDLE]), WEIR_OK);
    CHECK_INT(counts_of(pool).in_flight, ==, 1);
    weir_pool_free(pool);
    return WEIR_OK;
}

ROW(weir_pool_new, options, when_full, WEIR_EINVAL)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.when_full = UINT32_MAX;
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options.when_full = WEIR_FULL_DROP_OLDEST + 1;
    struct weir_error error;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, &error), WEIR_EINVAL);
    CHECK_STRING(error.text, "when_full is 3: expected one of 0 to 2");
    return make(&options);
}

ROW(weir_pool_new, options, flags, WEIR_EINVAL)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.flags = UINT32_MAX;
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options.flags = 8;
    return make(&options);
}

ROW(weir_pool_new, options, group_limit, WEIR_OK)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.group_limit = UINT32_MAX;
    return make(&options);
}

/* ---- Stamps and hooks ---- */

static int pass_on(weir_context *context, weir_envelope *envelope, const weir_next *next, void *arg)
{
    (void)envelope;
    (void)arg;
    return weir_next_run(next, context);
}

ROW(weir_pool_new, options, stamps, WEIR_EINVAL)
{
    struct weir_stamp stamps[] = {{pass_on, NULL}, {NULL, NULL}};
    struct weir_pool_options options = good_pool(w->clock);
    options.stamp_count = 2;
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options.stamps = stamps;
    CHECK_STATUS(make(&options), WEIR_EINVAL);
    options.stamp_count = 1;
    CHECK_STATUS(make(&options), WEIR_OK);
    stamps[0].fn = NULL;
    return make(&options);
}

ROW(weir_pool_new, options, stamp_count, WEIR_ERANGE)
{
    static struct weir_stamp stamps[1025];
    for (size_t i = 0; i < 1025; i++) {
        stamps[i].fn = pass_on;
    }
    struct weir_pool_options options = good_pool(w->clock);
    options.stamps = stamps;
    options.stamp_count = 1024;
    CHECK_STATUS(make(&options), WEIR_OK);
    options.stamp_count = SIZE_MAX;
    CHECK_STATUS(make(&options), WEIR_ERANGE);
    options.stamp_count = 1025;
    return make(&options);
}

ROW(weir_pool_new, options, hook_min_ns, WEIR_ERANGE)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.hook_min_ns = INT64_MAX;
    CHECK_STATUS(make(&options), WEIR_OK);
    options.hook_min_ns = INT64_MIN;
    CHECK_STATUS(make(&options), WEIR_ERANGE);
    options.hook_min_ns = -1;
    return make(&options);
}

ROW(weir_pool_new, options, hook_fraction, WEIR_ERANGE)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.hook_fraction = 1000;
    CHECK_STATUS(make(&options), WEIR_OK);
    options.hook_fraction = UINT32_MAX;
    CHECK_STATUS(make(&options), WEIR_ERANGE);
    options.hook_fraction = 1001;
    return make(&options);
}

/* ---- The watchdog ---- */

static void must_not_bark(weir_envelope *envelope, int64_t late_ns, void *arg)
{
    (void)envelope;
    (void)late_ns;
    (void)arg;
    test_fail(__FILE__, __LINE__, "told of a run that is late");
}

ROW(weir_pool_new, options, overdue_ns, WEIR_ERANGE)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.overdue = must_not_bark;
    options.overdue_ns = INT64_MAX;
    CHECK_STATUS(make(&options), WEIR_OK);
    options.overdue_ns = INT64_MIN;
    CHECK_STATUS(make(&options), WEIR_ERANGE);
    options.overdue_ns = -1;
    return make(&options);
}

ROW(weir_pool_new, options, overdue, WEIR_EINVAL)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.overdue = must_not_bark;
    return make(&options);
}

static void make_lonely(void *arg)
{
    struct world *w = arg;
    struct weir_pool_options options = good_pool(w->clock);
    options.overdue_ns = 1;
    test_forbid_call(SYS_clone3, SECCOMP_RET_ERRNO | EAGAIN);
    test_forbid_call(SYS_clone, SECCOMP_RET_ERRNO | EAGAIN);
    CHECK_STATUS(make(&options), WEIR_ETHREAD);
}

ROW(weir_pool_new, threads, none, WEIR_ETHREAD)
{
    test_join(test_start(make_lonely, w));
    return WEIR_ETHREAD;
}

/* ---- Metrics ---- */

static weir_metrics *new_metrics(void)
{
    struct weir_metrics_options options = {0};
    options.allocator = *test_allocator();
    weir_metrics *metrics;
    CHECK_STATUS(weir_metrics_new(&options, &metrics, NULL), WEIR_OK);
    return metrics;
}

static enum weir_status make_named(weir_metrics *metrics, const char *name)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.metrics = metrics;
    options.name = name;
    return make(&options);
}

ROW(weir_pool_new, options, metrics, WEIR_EINVAL)
{
    weir_metrics *metrics = new_metrics();
    CHECK_STATUS(make_named(metrics, ""), WEIR_EINVAL);
    enum weir_status status = make_named(metrics, NULL);
    weir_metrics_free(metrics);
    return status;
}

ROW(weir_pool_new, options, name, WEIR_EINVAL)
{
    weir_metrics *metrics = new_metrics();
    CHECK_STATUS(make_named(NULL, "\xff"), WEIR_OK); /* of use to nobody, and of harm neither */
    CHECK_STATUS(make_named(metrics, "\xff"), WEIR_EINVAL);
    CHECK_STATUS(make_named(metrics, "a\xc3"), WEIR_EINVAL);
    CHECK_STATUS(make_named(metrics, "\xc3\xa9"), WEIR_OK);
    enum weir_status status = make_named(metrics, "\xed\xa0\x80"); /* half a character */
    weir_metrics_free(metrics);
    return status;
}

ROW(weir_pool_new, options, taken_name, WEIR_EBUSY)
{
    weir_metrics *metrics = new_metrics();
    struct weir_pool_options options = good_pool(w->clock);
    options.metrics = metrics;
    options.name = "mail";
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    enum weir_status status = make_named(metrics, "mail");
    weir_pool_free(pool);
    weir_metrics_free(metrics);
    return status;
}

/* ---- The scope, and memory ---- */

ROW(weir_pool_new, options, scope, WEIR_OK)
{
    struct weir_pool_options options = good_pool(NULL);
    options.scope = w->scope;
    return make(&options); /* it goes out of the scope again */
}

/* What is the parent's, and has a lock that another thread may have had at the fork. */
ROW(weir_pool_new, options, forked, WEIR_EFORKED)
{
    struct weir_pool_options options = good_pool(NULL);
    CHECK_STATUS(make(&options), WEIR_OK);
    options.clock = w->clock;
    CHECK_STATUS(make(&options), WEIR_EFORKED);
    options.clock = NULL;
    options.scope = w->scope;
    return make(&options);
}

ROW(weir_pool_new, ret_error, null, WEIR_OK)
{
    struct weir_pool_options options = good_pool(w->clock);
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(NULL, &pool, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    weir_pool_free(pool);
    return WEIR_OK;
}

ROW(weir_pool_new, memory, none, WEIR_ENOMEM)
{
    struct weir_stamp stamp = {pass_on, NULL};
    struct weir_pool_options options = good_pool(w->clock);
    options.stamps = &stamp;
    options.stamp_count = 1;
    options.overdue_ns = 1;
    for (uint64_t nth = 2; nth <= 4; nth++) {
        test_fail_allocation(nth, false);
        CHECK_STATUS(make(&options), WEIR_ENOMEM);
    }
    test_fail_allocation(1, true);
    return make(&options);
}
