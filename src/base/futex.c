/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */

#include "base/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/panic.h"
#include "base/wait.h"

bool weiri_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t limit_ns)
{
    int64_t end_ns = weiri_wait_end(limit_ns);
    struct timespec end = {.tv_sec = 0, .tv_nsec = 0};
    if (end_ns > 0) {
        end.tv_sec = (time_t)(end_ns / 1000000000);
        end.tv_nsec = (long)(end_ns % 1000000000);
    }
    /* WAIT_BITSET takes an absolute time of the monotonic clock, where WAIT takes a relative one.
     */
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, &end,
                          NULL, FUTEX_BITSET_MATCH_ANY);
    if (result == 0) {
        return true;
    }
    WEIRI_ASSERT(errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT);
    if (errno != ETIMEDOUT) {
        return true;
    }
    if (end_ns == limit_ns) {
        return false;
    }
    if (atomic_load_explicit(word, memory_order_relaxed) != expected) {
        weiri_wait_count_lost();
    }
    return true;
}

void weiri_futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
}
