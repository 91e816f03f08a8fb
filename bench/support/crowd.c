/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/support/run.h"

struct member {
    pthread_t thread;
    struct bench_crowd *crowd;
    size_t number;
};

struct bench_crowd {
    void (*body)(void *state, size_t number);
    void *state;
    bool pin;
    size_t count;
    struct member members[];
};

static void *member_main(void *arg)
{
    struct member *member = arg;
    if (member->crowd->pin) {
        bench_pin(member->number);
    }
    member->crowd->body(member->crowd->state, member->number);
    return NULL;
}

struct bench_crowd *bench_crowd_start(struct bench_run *run, size_t count,
                                      void (*body)(void *state, size_t number), void *state)
{
    struct bench_crowd *crowd = bench_alloc(1, sizeof(*crowd) + count * sizeof(struct member));
    crowd->body = body;
    crowd->state = state;
    crowd->pin = run->pin;
    crowd->count = count;
    for (size_t i = 0; i < count; i++) {
        struct member *member = &crowd->members[i];
        member->crowd = crowd;
        member->number = i;
        int error = pthread_create(&member->thread, NULL, member_main, member);
        if (error != 0) {
            bench_fail("pthread_create: errno %d", error);
        }
    }
    return crowd;
}

void bench_crowd_join(struct bench_crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++) {
        pthread_join(crowd->members[i].thread, NULL);
    }
    bench_free(crowd);
}

static void *sleep_on(void *arg)
{
    (void)arg;
    for (;;) {
        pause();
    }
    return NULL;
}

void bench_keep_company(void)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, sleep_on, NULL);
    if (error != 0) {
        bench_fail("pthread_create: errno %d", error);
    }
}

void bench_pin(size_t number)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(number % (size_t)(processors > 0 ? processors : 1), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        bench_fail("cannot tie a thread to a processor");
    }
}

long bench_thread_id(void)
{
    return syscall(SYS_gettid);
}

/* The number after a name at the start of the line; 0 where the line is another one. */
static int64_t field(const char *line, const char *name)
{
    size_t length = strlen(name);
    return strncmp(line, name, length) == 0 ? strtoll(line + length, NULL, 10) : 0;
}

int64_t bench_thread_switches(long tid)
{
    char path[64];
    char line[128];
    snprintf(path, sizeof(path), "/proc/self/task/%ld/status", tid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        bench_fail("%s cannot be read", path);
    }
    int64_t sum = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        sum += field(line, "voluntary_ctxt_switches:");
        sum += field(line, "nonvoluntary_ctxt_switches:");
    }
    fclose(file);
    return sum;
}
