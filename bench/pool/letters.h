/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_LETTERS_H
#define WEIR_BENCH_LETTERS_H

#include <weir/weir.h>

#include "bench/support/bench.h"

/* Envelopes for the benchmarks. */

#define BENCH_OK(call)                                                                             \
    do {                                                                                           \
        enum weir_status status_ = (call);                                                         \
        if (__builtin_expect(status_ != WEIR_OK, 0)) {                                             \
            bench_fail("%s:%d: %s: %s", __FILE__, __LINE__, #call,                                 \
                       weir_status_name((int)status_));                                            \
        }                                                                                          \
    } while (0)

/* What an envelope is to be like. */
struct bench_letter {
    weir_invoke_fn *invoke; /* NULL: a task that does nothing */
    void *payload;
    bool has_hooks; /* all four, which do nothing */
    int64_t deadline_ns;
    int64_t interval_ns;
    struct weir_allocator allocator; /* zero: libc's */
};

weir_envelope *bench_letter_new(const struct bench_letter *letter);

/* A pool that runs. allocator may be NULL. */
weir_pool *bench_pool_new(size_t workers, size_t capacity, const struct weir_allocator *allocator);
struct weir_pool_counts bench_pool_counts(weir_pool *pool);

/* libc's memory, which counts the calls that ask for some. */
extern const struct weir_allocator bench_counted;
uint64_t bench_counted_calls(void);

extern const struct bench_measurement bench_sends[];
extern const struct bench_measurement bench_shares[];
extern const struct bench_measurement bench_periodic[];

#endif
