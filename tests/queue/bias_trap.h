/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_QUEUE_BIAS_TRAP_H
#define WEIR_TEST_QUEUE_BIAS_TRAP_H

#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "queue/internal.h"

#include "support/harness.h"

/* A queue that lies so that the first thing its biased thread writes when it enters is the first in
 * a page, which can be made unwritable: the write then traps, between that thread's two looks at
 * whose the lock is, and a thief comes and takes the bias away. */
static struct {
    char *pages; /* three */
    size_t page_size;
    sem_t go;
    sem_t gone;
    weir_queue *queue; /* NULL: the thief may end */
    atomic_int sprung;
} trap;

static inline void spring(int number, siginfo_t *info, void *context)
{
    (void)context;
    size_t at = (size_t)((char *)info->si_addr - trap.pages);
    if (at / trap.page_size != 1) {
        (void)signal(number, SIG_DFL); /* some other fault: it comes again, and ends the program */
        return;
    }
    (void)mprotect(trap.pages + trap.page_size, trap.page_size, PROT_READ | PROT_WRITE);
    atomic_fetch_add(&trap.sprung, 1);
    (void)sem_post(&trap.go);
    while (sem_wait(&trap.gone) != 0) {
    }
}

static inline void steal_bias(void *arg)
{
    (void)arg;
    for (;;) {
        CHECK_INT(sem_wait(&trap.go), ==, 0);
        if (trap.queue == NULL) {
            return;
        }
        (void)weir_queue_len(trap.queue);
        CHECK_INT(sem_post(&trap.gone), ==, 0);
    }
}

static inline void *alloc_in_trap(size_t size, void *arg)
{
    if (size == sizeof(struct weir_queue)) {
        size_t before = offsetof(struct weir_queue, lock) + offsetof(struct weiri_lock, inside);
        before -= before % _Alignof(struct weir_queue);
        CHECK_INT(size - before, <=, 2 * trap.page_size);
        return trap.pages + trap.page_size - before;
    }
    return test_allocator()->alloc(size, arg);
}

static inline void release_in_trap(void *block, size_t size, void *arg)
{
    if (size != sizeof(struct weir_queue)) {
        test_allocator()->release(block, size, arg);
    }
}

static inline void make_trap(void)
{
    trap.page_size = (size_t)sysconf(_SC_PAGESIZE);
    trap.pages = aligned_alloc(trap.page_size, 3 * trap.page_size);
    CHECK(trap.pages != NULL);
    CHECK_INT(sem_init(&trap.go, 0, 0), ==, 0);
    CHECK_INT(sem_init(&trap.gone, 0, 0), ==, 0);
    struct sigaction action = {.sa_sigaction = spring, .sa_flags = SA_SIGINFO};
    CHECK_INT(sigaction(SIGSEGV, &action, NULL), ==, 0);
}

static inline void remove_trap(struct test_thread *thief)
{
    trap.queue = NULL;
    CHECK_INT(sem_post(&trap.go), ==, 0);
    test_join(thief);
    (void)signal(SIGSEGV, SIG_DFL);
    free(trap.pages);
}

/* From here to the next call the trap is set for a queue that was allocated in it. */
static inline void set_trap(weir_queue *queue)
{
    trap.queue = queue;
    CHECK_INT(mprotect(trap.pages + trap.page_size, trap.page_size, PROT_READ), ==, 0);
}

static inline void unset_trap(void)
{
    CHECK_INT(mprotect(trap.pages + trap.page_size, trap.page_size, PROT_READ | PROT_WRITE), ==, 0);
}

#endif
