/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/forked.h"

#include <pthread.h>

#include "base/panic.h"

_Atomic uint64_t weiri_forks;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void on_fork(void)
{
    (void)atomic_fetch_add_explicit(&weiri_forks, 1, memory_order_relaxed);
}

static void register_once(void)
{
    int error = pthread_atfork(NULL, NULL, on_fork);
    WEIRI_ASSERT(error == 0); /* it takes a few bytes, once in a program's life */
}

uint64_t weiri_forked_mark(void)
{
    int error = pthread_once(&once, register_once);
    WEIRI_ASSERT(error == 0);
    return atomic_load_explicit(&weiri_forks, memory_order_relaxed);
}
