/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* gettid */

#include "support/internal.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct test_thread {
    pthread_t impl;
    void (*fn)(void *arg);
    void *arg;
    _Atomic pid_t tid; /* 0 until the thread runs, -1 once fn has returned */
    pid_t task;        /* the same, for good */
};

static void *thread_main(void *opaque)
{
    struct test_thread *thread = opaque;
    thread->task = gettid();
    atomic_store(&thread->tid, thread->task);
    thread->fn(thread->arg);
    atomic_store(&thread->tid, -1);
    return NULL;
}

struct test_thread *test_start(void (*fn)(void *arg), void *arg)
{
    struct test_thread *thread = malloc(sizeof(*thread));
    if (thread == NULL) {
        test_fail(__FILE__, __LINE__, "out of memory");
    }
    thread->fn = fn;
    thread->arg = arg;
    atomic_init(&thread->tid, 0);
    if (pthread_create(&thread->impl, NULL, thread_main, thread) != 0) {
        test_fail(__FILE__, __LINE__, "the system refuses another thread");
    }
    return thread;
}

void test_join(struct test_thread *thread)
{
    if (pthread_join(thread->impl, NULL) != 0) {
        test_fail(__FILE__, __LINE__, "pthread_join");
    }
    /* The kernel says that a thread has ended shortly before it takes it off the list, from which
     * test_thread_count() counts. */
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d", (int)thread->task);
    while (access(path, F_OK) == 0) {
        (void)sched_yield();
    }
    free(thread);
}

char harness_thread_state(pid_t tid, char name[static 32])
{
    char path[64];
    char line[512];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    name[0] = '\0';
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    size_t length = fread(line, 1, sizeof(line) - 1, file);
    (void)fclose(file);
    line[length] = '\0';
    /* The name stands in brackets and may contain anything, brackets too. */
    char *open = strchr(line, '(');
    char *close = strrchr(line, ')');
    if (open == NULL || close == NULL || close[1] != ' ') {
        return 0;
    }
    (void)snprintf(name, 32, "%.*s", (int)(close - open - 1), open + 1);
    return close[2];
}

/* How often the thread gave up the processor of its own accord; it stands still while it sleeps. */
static long sleeps_of(pid_t tid)
{
    char path[64];
    char line[256];
    long count = -1;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)tid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *name = "voluntary_ctxt_switches:";
        if (strncmp(line, name, strlen(name)) == 0) {
            count = strtol(line + strlen(name), NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return count;
}

bool test_has_ended(struct test_thread *thread)
{
    return atomic_load(&thread->tid) == -1;
}

long test_sleeps(struct test_thread *thread)
{
    pid_t tid = atomic_load(&thread->tid);
    if (tid <= 0) {
        test_fail(__FILE__, __LINE__, "the thread ended and does not sleep");
    }
    return sleeps_of(tid);
}

/* A single reading could find a thread that sleeps for a moment on its way: the same sleep must be
 * seen several times. */
bool test_wait_asleep_or_end(struct test_thread *thread)
{
    const int looks_needed = 4;
    long before = -1;
    for (int looks = 0; looks < looks_needed;) {
        pid_t tid = atomic_load(&thread->tid);
        if (tid == -1) {
            return false;
        }
        char name[32];
        long sleeps = -1;
        if (tid != 0 && harness_thread_state(tid, name) == 'S') {
            sleeps = sleeps_of(tid);
        }
        looks = sleeps != -1 && sleeps == before ? looks + 1 : 0;
        before = sleeps;
        if (looks < looks_needed) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
        }
    }
    return true;
}

void test_wait_asleep(struct test_thread *thread)
{
    if (!test_wait_asleep_or_end(thread)) {
        test_fail(__FILE__, __LINE__, "the thread ended and did not sleep");
    }
}
