/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_SUPPORT_REFUSE_THREAD_H
#define WEIR_TEST_SUPPORT_REFUSE_THREAD_H

/* Included by a test file that defines _GNU_SOURCE first. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* This program's own pthread_create() is the one that src/base calls. It refuses one call on
 * command, and else hands on to the real one, or to that of a sanitizer which must see each thread.
 */
typedef int create_fn(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                      void *arg);
create_fn sanitizer_create __asm__("__interceptor_pthread_create") __attribute__((weak));

static atomic_int refuse_nth;          /* of the calls that count; 0: none */
static _Thread_local bool calls_count; /* those of this thread do */
static void (*before_refusal)(void);   /* NULL: nothing is called */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's names are reserved */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg)
{
    if (calls_count && atomic_fetch_sub(&refuse_nth, 1) == 1) {
        if (before_refusal != NULL) {
            before_refusal();
        }
        return EAGAIN;
    }
    create_fn *create = sanitizer_create;
    if (create == NULL) {
        *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    }
    return create(thread, attributes, run, arg);
}

#endif
