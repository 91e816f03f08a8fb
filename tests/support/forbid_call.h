/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_SUPPORT_FORBID_CALL_H
#define WEIR_TEST_SUPPORT_FORBID_CALL_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "support/harness.h"

/* Of the calling thread and those it starts. */
static inline void test_filter_calls(struct sock_filter *filter, size_t size)
{
    struct sock_fprog program = {(unsigned short)size, filter};
    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
    CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), ==, 0);
}

/* From here on this system call (SYS_...) of the calling thread, and of threads that it starts,
 * ends in this action: SECCOMP_RET_ERRNO | error, or SECCOMP_RET_KILL_PROCESS. */
static inline void test_forbid_call(unsigned call, unsigned action)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    test_filter_calls(filter, sizeof(filter) / sizeof(filter[0]));
}

/* From here on all other system calls of theirs than these two end the process, with SIGSYS. */
static inline void test_allow_calls(unsigned call, unsigned other)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    test_filter_calls(filter, sizeof(filter) / sizeof(filter[0]));
}

#endif
