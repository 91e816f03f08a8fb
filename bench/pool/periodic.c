/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <stdatomic.h>

#include "bench/pool/letters.h"

/* So many periodic envelopes, each once a second: how much of a processor they take, how late they
 * are, the slack of their schedule included, and what memory they take beyond the user's own. */

#define SECONDS 5
#define WORKERS 2

struct letter {
    weir_envelope *envelope;
    int64_t ended_ns; /* of the last run; 0: none yet */
    double *lateness; /* SECONDS of them; NULL: not to be noted yet */
    size_t count;
};

static _Atomic bool is_measuring;

/* What malloc() has given out, large blocks of their own included. */
static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static int note(weir_context *context, void *payload)
{
    struct letter *letter = payload;
    (void)context;
    int64_t now = bench_now();
    if (letter->ended_ns != 0 && atomic_load_explicit(&is_measuring, memory_order_relaxed) &&
        letter->count < SECONDS + 1) {
        letter->lateness[letter->count++] = (double)(now - letter->ended_ns - WEIR_SECONDS(1));
    }
    letter->ended_ns = now;
    return WEIR_OK;
}

static void periodic(struct bench_run *run)
{
    const size_t count = bench_measurement(run)->size;
    struct letter *letters = bench_alloc(count, sizeof(*letters));
    double *lateness = bench_alloc(count * (SECONDS + 1), sizeof(double));
    weir_pool *pool = bench_pool_new(WORKERS, 0, NULL);
    size_t before = allocated();
    for (size_t i = 0; i < count; i++) {
        letters[i].lateness = &lateness[i * (SECONDS + 1)];
        letters[i].envelope = bench_letter_new(&(struct bench_letter){
            .invoke = note, .payload = &letters[i], .interval_ns = WEIR_SECONDS(1)});
        /* Spread over the second, as they would be in a program that has run for long. */
        int64_t delay_ns = (int64_t)((uint64_t)WEIR_SECONDS(1) * i / count);
        BENCH_OK(weir_pool_send_after(pool, letters[i].envelope, delay_ns));
    }
    double bytes = (double)(allocated() - before) / (double)count;
    bench_sleep(WEIR_SECONDS(2));
    atomic_store(&is_measuring, true);
    int64_t start = bench_now();
    int64_t cpu = bench_cpu();
    bench_sleep(WEIR_SECONDS(SECONDS));
    double share = (double)(bench_cpu() - cpu) / (double)(bench_now() - start);
    BENCH_OK(weir_pool_stop(pool));
    weir_pool_free(pool);
    size_t noted = 0;
    for (size_t i = 0; i < count; i++) {
        weir_envelope_unref(letters[i].envelope);
        BENCH_CHECK(letters[i].count >= SECONDS - 1);
        for (size_t j = 0; j < letters[i].count; j++) {
            lateness[noted++] = letters[i].lateness[j]; /* never past what is still to be read */
        }
    }
    bench_latencies(run, lateness, noted);
    bench_items(run, noted);
    bench_metric(run, "cpu_percent", share * 100);
    bench_metric(run, "bytes", bytes);
    bench_free(lateness);
    bench_free(letters);
}

const struct bench_measurement bench_periodic[] = {
    {"pool_periodic_1e5", "weir", periodic, 100000, BENCH_FULL},
    {0},
};
