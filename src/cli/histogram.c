/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/histogram.h"

#include <stddef.h>

#define PER_OCTAVE ((uint64_t)1 << HISTOGRAM_BITS)

/* A value of 2^e and more (e >= HISTOGRAM_BITS) keeps its HISTOGRAM_BITS bits below the first one;
 * octave 0 is the exact part. */
static size_t bucket_of(uint64_t value)
{
    if (value < PER_OCTAVE) {
        return (size_t)value;
    }
    unsigned exponent = 63 - (unsigned)__builtin_clzll(value);
    uint64_t octave = exponent - HISTOGRAM_BITS + 1;
    uint64_t within = (value >> (exponent - HISTOGRAM_BITS)) - PER_OCTAVE;
    return (size_t)(octave * PER_OCTAVE + within);
}

/* The largest value of a bucket. */
static uint64_t bucket_end(size_t bucket)
{
    uint64_t octave = bucket / PER_OCTAVE;
    uint64_t within = bucket % PER_OCTAVE;
    if (octave == 0) {
        return within;
    }
    return ((PER_OCTAVE + within + 1) << (octave - 1)) - 1;
}

void histogram_record(struct histogram *histogram, int64_t value)
{
    int_fast64_t recorded = value > 0 ? value : 0;
    atomic_fetch_add_explicit(&histogram->counts[bucket_of((uint64_t)recorded)], 1,
                              memory_order_relaxed);
    int_fast64_t largest = atomic_load_explicit(&histogram->largest, memory_order_relaxed);
    while (recorded > largest &&
           !atomic_compare_exchange_weak_explicit(&histogram->largest, &largest, recorded,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

uint64_t histogram_count(const struct histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
    }
    return count;
}

int64_t histogram_permille(const struct histogram *histogram, unsigned parts)
{
    uint64_t count = histogram_count(histogram);
    /* The rank, rounded up. It does not overflow: no process records 2^64 / 1000 values. */
    uint64_t rank = (count * parts + 999) / 1000;
    uint64_t seen = 0;
    int64_t largest = atomic_load_explicit(&histogram->largest, memory_order_relaxed);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        if (seen >= rank && seen > 0) {
            uint64_t end = bucket_end(i);
            return end < (uint64_t)largest ? (int64_t)end : largest;
        }
    }
    return largest;
}
