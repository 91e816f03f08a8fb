/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */

#include "base/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/panic.h"

bool weiri_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t limit_ns)
{
    struct timespec limit = {.tv_sec = 0, .tv_nsec = 0};
    if (limit_ns > 0) {
        limit.tv_sec = (time_t)(limit_ns / 1000000000);
        limit.tv_nsec = (long)(limit_ns % 1000000000);
    }
    /* WAIT_BITSET takes an absolute time of the monotonic clock, where WAIT takes a relative one.
     */
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                          limit_ns == INT64_MAX ? NULL : &limit, NULL, FUTEX_BITSET_MATCH_ANY);
    if (result == 0) {
        return true;
    }
    WEIRI_ASSERT(errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT);
    return errno != ETIMEDOUT;
}

void weiri_futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
}

bool weiri_fence_all_threads_init(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void weiri_fence_all_threads(void)
{
    long result = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    WEIRI_ASSERT(result == 0);
}
