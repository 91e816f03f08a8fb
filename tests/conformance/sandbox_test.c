/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Processes that lose membarrier(2) while they run. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <weir/weir.h>

#include "support/harness.h"

enum {
    ADDS = 20000,
    KEYS = 50
};

static void forbid_membarrier(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
    CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), ==, 0);
}

static void add_many(void *arg)
{
    for (int i = 0; i < ADDS; i++) {
        int key = i % KEYS;
        CHECK_STATUS(weir_queue_add_rate_limited(arg, weir_key_bytes(&key, sizeof(key))), WEIR_OK);
        CHECK_STATUS(weir_queue_add(arg, weir_key_bytes(&key, sizeof(key))), WEIR_OK);
    }
}

/* Makes a queue and a limiter, enters the sandbox, and uses both from two threads. */
static void use_in_sandbox(void *arg)
{
    (void)arg;
    weir_limiter *limiter = NULL;
    CHECK_STATUS(weir_limiter_exponential_new(WEIR_MS(1), WEIR_MS(2), NULL, &limiter), WEIR_OK);
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.limiter = limiter;
    weir_queue *queue = NULL;
    CHECK_STATUS(weir_queue_new(&options, &queue), WEIR_OK);
    forbid_membarrier();
    struct test_thread *threads[] = {test_start(add_many, queue), test_start(add_many, queue)};
    for (int i = 0; i < ADDS; i++) {
        struct weir_work work;
        enum weir_status status = weir_queue_try_get(queue, &work);
        CHECK(status == WEIR_OK || status == WEIR_EAGAIN);
        if (status == WEIR_OK) {
            CHECK_STATUS(weir_queue_done(queue, &work), WEIR_OK);
        }
    }
    test_join(threads[0]);
    test_join(threads[1]);
    weir_queue_free(queue);
    weir_limiter_free(limiter);
}

TEST(prepared, "a process that said so beforehand goes on without membarrier(2)")
{
    weir_sandbox_prepare();
    use_in_sandbox(NULL);
}

static void use_refused(void *arg)
{
    forbid_membarrier();
    use_in_sandbox(arg);
}

TEST(refused, "so does one where it is refused from the start")
{
    use_refused(NULL);
}

TEST(unprepared, "one that did not is ended, and told what to do")
{
    test_must_abort(use_in_sandbox, NULL, "see weir/sandbox.h");
}
