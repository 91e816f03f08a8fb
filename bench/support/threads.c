/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_setaffinity */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/support/bench.h"

struct member {
    pthread_t thread;
    struct bench_threads *threads;
    size_t number;
};

struct bench_threads {
    void (*body)(void *state, size_t number);
    void *state;
    size_t count;
    struct member members[];
};

static void *run_member(void *arg)
{
    struct member *member = arg;
    member->threads->body(member->threads->state, member->number);
    return NULL;
}

struct bench_threads *bench_threads_start(size_t count, void (*body)(void *state, size_t number),
                                          void *state)
{
    struct bench_threads *threads =
        bench_alloc(1, sizeof(*threads) + count * sizeof(struct member));
    threads->body = body;
    threads->state = state;
    threads->count = count;
    for (size_t i = 0; i < count; i++) {
        struct member *member = &threads->members[i];
        member->threads = threads;
        member->number = i;
        int error = pthread_create(&member->thread, NULL, run_member, member);
        if (error != 0) {
            bench_fail("pthread_create: errno %d", error);
        }
    }
    return threads;
}

void bench_threads_join(struct bench_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++) {
        pthread_join(threads->members[i].thread, NULL);
    }
    free(threads);
}

void bench_pin(size_t number)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(number % (size_t)sysconf(_SC_NPROCESSORS_ONLN), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        bench_fail("cannot tie a thread to a processor");
    }
}
