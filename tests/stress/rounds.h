/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_ROUNDS_H
#define WEIR_TEST_ROUNDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/clock.h>

#include "base/random.h"
#include "support/harness.h"

/* A stress test is rounds, each of which makes everything anew and frees it: a few in an ordinary
 * run, or as many as fit into WEIR_STRESS_SECONDS (tools/stress.sh). Nothing may be left after a
 * round, and after the first half of the rounds the process must not grow any more. */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define ROUNDS_SANITIZED true
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define ROUNDS_SANITIZED true
#    endif
#endif
#ifndef ROUNDS_SANITIZED
#    define ROUNDS_SANITIZED false
#endif

/* Under a sanitizer a round is shorter, and what that keeps of freed memory is not measured. */
#define ROUNDS_WORK(count) (ROUNDS_SANITIZED ? (count) / 8 : (count))

/* The allocator of the system takes its time to find its size, thread by thread. */
#define ROUNDS_GROWTH_MAX ((size_t)2 << 20)

struct rounds {
    uint64_t done;
    uint64_t count;  /* to be done, where no time is given */
    int64_t half_ns; /* when half of the time will have passed; 0: no time is given */
    int64_t end_ns;
    size_t blocks; /* of test_allocator(), before the first */
    size_t warm;   /* most bytes that were resident after a round of the first half */
    size_t last;   /* and after the last round */
};

static inline size_t rounds_resident(void)
{
    char line[128] = "";
    char *rest;
    FILE *file = fopen("/proc/self/statm", "re");
    CHECK(file != NULL && fgets(line, sizeof(line), file) != NULL);
    (void)fclose(file);
    (void)strtoul(line, &rest, 10); /* the size of it all */
    unsigned long pages = strtoul(rest, NULL, 10);
    CHECK_INT(pages, >, 0);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static inline void rounds_init(struct rounds *rounds, uint64_t count)
{
    *rounds = (struct rounds){.count = test_scaled(count), .blocks = test_allocated_blocks()};
    const char *text = getenv("WEIR_STRESS_SECONDS");
    if (text != NULL) {
        char *rest;
        double seconds = strtod(text, &rest);
        CHECK(rest != text && *rest == '\0' && seconds > 0);
        int64_t now_ns = weir_clock_now(weir_clock_monotonic());
        rounds->half_ns = now_ns + (int64_t)(seconds * 0.5e9);
        rounds->end_ns = now_ns + (int64_t)(seconds * 1e9);
    }
}

static inline bool rounds_go_on(const struct rounds *rounds)
{
    if (rounds->half_ns != 0) {
        return weir_clock_now(weir_clock_monotonic()) < rounds->end_ns;
    }
    return rounds->done < rounds->count;
}

/* To be called after a round, when everything is freed. */
static inline void rounds_end_one(struct rounds *rounds)
{
    CHECK_INT(test_allocated_blocks(), ==, rounds->blocks);
    rounds->done++;
    rounds->last = rounds_resident();
    bool is_warm = rounds->half_ns != 0 ? weir_clock_now(weir_clock_monotonic()) >= rounds->half_ns
                                        : rounds->done > rounds->count / 2;
    if (!is_warm && rounds->last > rounds->warm) {
        rounds->warm = rounds->last;
    }
}

static inline void rounds_fini(const struct rounds *rounds)
{
    CHECK_INT(rounds->done, >, 1);
    (void)printf("%llu rounds; resident after the first half %zu KiB, at the end %zu KiB\n",
                 (unsigned long long)rounds->done, rounds->warm >> 10, rounds->last >> 10);
    if (!ROUNDS_SANITIZED) {
        CHECK_INT(rounds->last, <, rounds->warm + ROUNDS_GROWTH_MAX);
    }
}

/* A thread's own random numbers: test_random() has a lock, which would order the threads. */
static inline uint64_t below(uint64_t *state, uint64_t limit)
{
    return (weiri_random_next(state) >> 11) % limit;
}

/* One in so many. */
static inline bool one_in(uint64_t *state, uint64_t count)
{
    return below(state, count) == 0;
}

#endif
