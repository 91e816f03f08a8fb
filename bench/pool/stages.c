/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdbool.h>

#include <weir/weir.h>

#include "bench/pool/pool.h"

/* What a deadline, a hook and a stamp add to the run of an empty task: an envelope that sends
 * itself again keeps one worker busy without anybody else, with the stage and, in turns, without.
 */

#define TURNS 11

struct chain {
    weir_pool *pool;
    weir_envelope *envelope;
    size_t left; /* of the worker, while it runs */
    size_t stages;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_done;
};

static int again(weir_context *context, void *payload)
{
    struct chain *chain = payload;
    (void)context;
    if (--chain->left > 0) {
        BENCH_CHECK(weir_pool_send(chain->pool, chain->envelope) == WEIR_OK);
        return WEIR_OK;
    }
    pthread_mutex_lock(&chain->mutex);
    chain->is_done = true;
    pthread_cond_signal(&chain->changed);
    pthread_mutex_unlock(&chain->mutex);
    return WEIR_OK;
}

static int after(weir_context *context, weir_envelope *envelope, int status, void *payload)
{
    (void)context;
    (void)envelope;
    ((struct chain *)payload)->stages++;
    return status;
}

static int pass(weir_context *context, weir_envelope *envelope, const weir_next *next, void *arg)
{
    (void)envelope;
    ((struct chain *)arg)->stages++;
    return weir_next_run(next, context);
}

enum stage {
    PLAIN,
    DEADLINE,
    HOOK,
    STAMP
};

static void open_chain(struct chain *chain, enum stage stage)
{
    *chain = (struct chain){.left = 0};
    BENCH_CHECK(pthread_mutex_init(&chain->mutex, NULL) == 0);
    BENCH_CHECK(pthread_cond_init(&chain->changed, NULL) == 0);
    struct weir_stamp stamp = {pass, chain};
    struct weir_envelope_options options = WEIR_ENVELOPE_OPTIONS_INIT;
    options.payload = chain;
    options.invoke = again;
    options.deadline_ns = stage == DEADLINE ? WEIR_SECONDS(3600) : 0;
    options.after = stage == HOOK ? after : NULL;
    options.stamps = stage == STAMP ? &stamp : NULL;
    options.stamp_count = stage == STAMP ? 1 : 0;
    BENCH_CHECK(weir_envelope_new(&options, &chain->envelope) == WEIR_OK);
    struct weir_pool_options of_pool = WEIR_POOL_OPTIONS_INIT;
    of_pool.workers = 1;
    BENCH_CHECK(weir_pool_new(&of_pool, &chain->pool) == WEIR_OK);
    BENCH_CHECK(weir_pool_start(chain->pool) == WEIR_OK);
}

static void close_chain(struct chain *chain, size_t runs, size_t stages)
{
    struct weir_pool_counts counts;
    BENCH_CHECK(weir_pool_drain(chain->pool) == WEIR_OK);
    BENCH_CHECK(weir_pool_count(chain->pool, &counts) == WEIR_OK);
    BENCH_CHECK_COUNT(counts.succeeded, runs);
    BENCH_CHECK_COUNT(chain->stages, stages);
    weir_pool_free(chain->pool);
    weir_envelope_unref(chain->envelope);
    pthread_cond_destroy(&chain->changed);
    pthread_mutex_destroy(&chain->mutex);
}

/* Nanoseconds a run. */
static double run_chain(struct chain *chain, size_t count)
{
    chain->left = count;
    chain->is_done = false;
    int64_t start_ns = bench_now();
    BENCH_CHECK(weir_pool_send(chain->pool, chain->envelope) == WEIR_OK);
    pthread_mutex_lock(&chain->mutex);
    while (!chain->is_done) {
        pthread_cond_wait(&chain->changed, &chain->mutex);
    }
    pthread_mutex_unlock(&chain->mutex);
    return (double)(bench_now() - start_ns) / (double)count;
}

/* "ns" of a run with the stage, "plain_ns" of one without, "extra_ns" the difference: medians of
 * the turns. */
static void measure(struct bench_run *run)
{
    const enum stage stage = (enum stage)bench_measurement(run)->size;
    const size_t count = bench_scale(run, 500000);
    double with[TURNS];
    double without[TURNS];
    struct chain staged;
    struct chain plain;
    open_chain(&staged, stage);
    open_chain(&plain, PLAIN);
    (void)run_chain(&staged, count);
    (void)run_chain(&plain, count);
    for (size_t i = 0; i < TURNS; i++) {
        with[i] = run_chain(&staged, count);
        without[i] = run_chain(&plain, count);
    }
    size_t runs = (TURNS + 1) * count;
    close_chain(&staged, runs, stage == HOOK || stage == STAMP ? runs : 0);
    close_chain(&plain, runs, 0);
    double with_ns = bench_quantile(with, TURNS, 0.5);
    double without_ns = bench_quantile(without, TURNS, 0.5);
    bench_items(run, TURNS * count);
    bench_metric(run, "ns", with_ns);
    bench_metric(run, "plain_ns", without_ns);
    bench_metric(run, "extra_ns", with_ns - without_ns);
}

const struct bench_measurement bench_stages[] = {
    {"stage_deadline", "weir", measure, DEADLINE, 0},
    {"stage_hook", "weir", measure, HOOK, 0},
    {"stage_stamp", "weir", measure, STAMP, 0},
    {0},
};
