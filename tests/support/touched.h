/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_SUPPORT_TOUCHED_H
#define WEIR_TEST_SUPPORT_TOUCHED_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include <weir/allocator.h>

#include "support/harness.h"

/* Memory that tells which of its blocks are touched: for tests that count how many objects a call
 * looks at. Each block lies on a page of its own. A page that is watched can be accessed by nobody;
 * the first access to it is counted and lets the thread go on. */

enum {
    TOUCHED_PAGE = 4096
};

static struct {
    char *base;
    size_t pages;
    size_t used;
    atomic_size_t count; /* of pages that were touched since they are watched */
} touched;

static inline void touched_on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)touched.base;
    if (offset >= touched.pages * TOUCHED_PAGE) {
        (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        return; /* an access to something else: it is made again, and ends the process */
    }
    atomic_fetch_add(&touched.count, 1);
    (void)mprotect(touched.base + offset / TOUCHED_PAGE * TOUCHED_PAGE, TOUCHED_PAGE,
                   PROT_READ | PROT_WRITE);
}

/* Makes space for so many blocks. */
static inline void touched_init(size_t blocks)
{
    struct sigaction action = {.sa_sigaction = touched_on_fault, .sa_flags = SA_SIGINFO};
    touched.pages = blocks;
    touched.base = mmap(NULL, blocks * TOUCHED_PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(touched.base != MAP_FAILED);
    CHECK_INT(sigaction(SIGSEGV, &action, NULL), ==, 0);
}

/* A block. It is zero, and is never given back. */
static inline void *touched_new(size_t size)
{
    CHECK_INT(size, <=, TOUCHED_PAGE);
    CHECK_INT(touched.used, <, touched.pages);
    return touched.base + touched.used++ * TOUCHED_PAGE;
}

/* Watches all blocks. */
static inline void touched_watch(void)
{
    atomic_store(&touched.count, 0);
    CHECK_INT(mprotect(touched.base, touched.pages * TOUCHED_PAGE, PROT_NONE), ==, 0);
}

/* How many were touched since. */
static inline size_t touched_count(void)
{
    return atomic_load(&touched.count);
}

#endif
