/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/queue/items.h"

/* Limiters alone, and the cycle of an item that failed and was tried again. */

struct limited {
    struct bench_items items;
    weir_queue *queue;
    weir_limiter *limiter;
    size_t at;
    size_t got;
    size_t asked;
};

static struct weir_key next(struct limited *limited)
{
    size_t at = limited->at;
    limited->at = at + 1 == limited->items.count ? 0 : at + 1;
    return bench_key(&limited->items, at);
}

static void retry(void *state, size_t count)
{
    struct limited *limited = state;
    struct weir_work work;
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_queue_add_rate_limited(limited->queue, next(limited)));
        BENCH_OK(weir_queue_get(limited->queue, &work));
        BENCH_OK(weir_queue_forget(limited->queue, work.key));
        BENCH_OK(weir_queue_done(limited->queue, &work));
        limited->got++;
    }
}

/* AddRateLimited+Get+Forget+Done with a limiter that answers 1 ns. */
static void rate_limited(struct bench_run *run)
{
    const size_t total = bench_scale(run, 5000000);
    struct limited limited = {0};
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    BENCH_OK(weir_limiter_exponential_new(1, 1, NULL, &limited.limiter));
    options.limiter = limited.limiter;
    BENCH_OK(weir_queue_new(&options, &limited.queue));
    bench_items_init(&limited.items, run, BENCH_HOT_KEYS);
    bench_chunks(run, total, retry, &limited);
    BENCH_CHECK_COUNT(limited.got, total / BENCH_CHUNKS * (BENCH_CHUNKS + 1));
    weir_queue_free(limited.queue);
    weir_limiter_free(limited.limiter);
    bench_items_fini(&limited.items);
}

static void ask_at(struct limited *limited, int64_t now_ns)
{
    struct weir_key key = next(limited);
    int64_t delay = -1;
    BENCH_OK(weir_limiter_when(limited->limiter, key, now_ns, &delay));
    BENCH_CHECK(delay >= 0);
    if (++limited->asked % 4 == 0) {
        weir_limiter_forget(limited->limiter, key);
    }
}

static void ask(void *state, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ask_at(state, 0);
    }
}

/* With the clock reading that client-go's bucket makes inside, and weir's callers outside. */
static void ask_now(void *state, size_t count)
{
    weir_clock *clock = weir_clock_monotonic();
    for (size_t i = 0; i < count; i++) {
        ask_at(state, weir_clock_now(clock));
    }
}

enum {
    EXPONENTIAL,
    BUCKET,
    DEFAULT
};

static void limiter(struct bench_run *run)
{
    const size_t kind = bench_measurement(run)->size;
    struct limited limited = {0};
    if (kind == EXPONENTIAL) {
        BENCH_OK(
            weir_limiter_exponential_new(WEIR_MS(5), WEIR_SECONDS(1000), NULL, &limited.limiter));
    } else if (kind == BUCKET) {
        BENCH_OK(weir_limiter_bucket_new(10, 100, NULL, &limited.limiter));
    } else {
        BENCH_OK(weir_limiter_default_new(NULL, &limited.limiter));
    }
    bench_items_init(&limited.items, run, BENCH_HOT_KEYS);
    bench_chunks(run, bench_scale(run, 10000000), kind == EXPONENTIAL ? ask : ask_now, &limited);
    weir_limiter_free(limited.limiter);
    bench_items_fini(&limited.items);
}

const struct bench_measurement bench_limiters[] = {
    {"rate_limited_cycle", "weir", rate_limited, 0, 0},
    {"rate_limited_cycle", "weir-embedded", rate_limited, 0, BENCH_EMBEDDED},
    {"limiter_exponential", "weir", limiter, EXPONENTIAL, 0},
    {"limiter_exponential", "weir-embedded", limiter, EXPONENTIAL, BENCH_EMBEDDED},
    {"limiter_bucket", "weir", limiter, BUCKET, 0},
    {"limiter_default", "weir", limiter, DEFAULT, 0},
    {"limiter_default", "weir-embedded", limiter, DEFAULT, BENCH_EMBEDDED},
    {0},
};
