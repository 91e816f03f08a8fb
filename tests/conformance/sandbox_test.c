/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Processes that give up system calls while they run. */
#include <errno.h>

#include <weir/weir.h>

#include "support/forbid_call.h"

enum {
    ADDS = 20000,
    KEYS = 50
};

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
    test_forbid_call(SYS_membarrier, SECCOMP_RET_ERRNO | EPERM);
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
    test_forbid_call(SYS_membarrier, SECCOMP_RET_ERRNO | EPERM);
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

static void consume(void *arg)
{
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(arg, &work), WEIR_OK);
    CHECK_STATUS(weir_queue_done(arg, &work), WEIR_OK);
}

TEST(processors_known, "a queue asks for the processors when it is made, and never again")
{
    weir_queue *queue = NULL;
    CHECK_STATUS(weir_queue_new(NULL, &queue), WEIR_OK);
    struct test_thread *consumer = test_start(consume, queue);
    test_wait_asleep(consumer);
    test_forbid_call(SYS_sched_getaffinity, SECCOMP_RET_KILL_PROCESS);
    CHECK_STATUS(weir_queue_add(queue, weir_key_string("a")), WEIR_OK);
    test_join(consumer);
    weir_queue_free(queue);
}
