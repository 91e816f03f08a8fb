/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/delay_sort.h"

/* A radix sort from the most significant digit down, in place: count how many entries have each
 * digit, then move each to where those of its digit belong. The digit is cut out of the difference
 * to the least value, where the values of this range differ, so that any range of times is spread
 * over half of the buckets at least; a range of equal times is sorted by arrival in the same way.
 * Each pass leaves at most a 128th of a range of values, so a word needs ten at most. */

#define BUCKETS 256u
#define SMALL 20
#define PREFETCH 3

enum word {
    TIME,
    ARRIVAL
};

static uint64_t value_of(const struct weiri_delay_entry *entry, enum word word)
{
    /* Flipping the sign bit puts signed times in the order of unsigned numbers. */
    return word == TIME ? (uint64_t)entry->time_ns ^ (UINT64_C(1) << 63) : entry->arrival;
}

static void sort_small(struct weiri_delay *delay, size_t first, size_t count)
{
    for (size_t i = first + 1; i < first + count; i++) {
        struct weiri_delay_entry entry = *weiri_delay_at(delay, i);
        size_t at = i;
        for (; at > first; at--) {
            const struct weiri_delay_entry *before = weiri_delay_at(delay, at - 1);
            if (!weiri_delay_is_before(before, &entry)) {
                break;
            }
            *weiri_delay_at(delay, at) = *before;
        }
        *weiri_delay_at(delay, at) = entry;
    }
}

struct digits {
    enum word word;
    unsigned shift;
    uint64_t least;
};

/* The bucket of an entry: the latest come first. */
static inline unsigned bucket_of(const struct weiri_delay_entry *entry, struct digits digits)
{
    uint64_t above = value_of(entry, digits.word) - digits.least;
    return BUCKETS - 1 - (unsigned)(above >> digits.shift);
}

/* False: the values are all equal. */
static bool choose_digits(const struct weiri_delay *delay, size_t first, size_t count,
                          enum word word, struct digits *ret_digits)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (size_t i = first; i < first + count; i++) {
        uint64_t value = value_of(weiri_delay_at(delay, i), word);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    unsigned shift = 0;
    while ((most - least) >> shift >= BUCKETS) {
        shift++;
    }
    *ret_digits = (struct digits){.word = word, .shift = shift, .least = least};
    return most > least;
}

/* Puts each entry into its bucket; ends[b] is where bucket b ends. */
static void distribute(struct weiri_delay *delay, size_t first, size_t count, struct digits digits,
                       uint32_t ends[BUCKETS])
{
    uint32_t next[BUCKETS] = {0};
    for (size_t i = first; i < first + count; i++) {
        next[bucket_of(weiri_delay_at(delay, i), digits)]++;
    }
    uint32_t at = (uint32_t)first;
    for (unsigned b = 0; b < BUCKETS; b++) {
        uint32_t in_bucket = next[b];
        next[b] = at;
        at += in_bucket;
        ends[b] = at;
    }
    for (unsigned b = 0; b < BUCKETS; b++) {
        while (next[b] < ends[b]) {
            struct weiri_delay_entry entry = *weiri_delay_at(delay, next[b]);
            unsigned home = bucket_of(&entry, digits);
            while (home != b) {
                struct weiri_delay_entry *to = weiri_delay_at(delay, next[home]++);
                __builtin_prefetch(to + PREFETCH, 1);
                struct weiri_delay_entry displaced = *to;
                *to = entry;
                entry = displaced;
                home = bucket_of(&entry, digits);
            }
            *weiri_delay_at(delay, next[b]++) = entry;
        }
    }
}

static void sort_range(struct weiri_delay *delay, size_t first, size_t count, enum word word)
{
    if (count <= SMALL) {
        sort_small(delay, first, count);
        return;
    }
    struct digits digits;
    if (!choose_digits(delay, first, count, word, &digits)) {
        /* Arrivals are never equal, so this is of times, and the next is of arrivals. */
        sort_range(delay, first, count, ARRIVAL);
        return;
    }
    uint32_t ends[BUCKETS];
    distribute(delay, first, count, digits, ends);
    size_t start = first;
    for (unsigned b = 0; b < BUCKETS; b++) {
        sort_range(delay, start, ends[b] - start, word);
        start = ends[b];
    }
}

void weiri_delay_sort(struct weiri_delay *delay, size_t first, size_t count)
{
    sort_range(delay, first, count, TIME);
}
