/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/bad_input.h"
#include "conformance/own_limiter.h"
#include "queue/limiters.h"

/* Bad input to the calls on a limiter. */

/* One of one's own, that nothing reaches; called counts what does, and its end. */
static unsigned called;

static weir_limiter *own(void)
{
    weir_limiter *limiter;
    called = 0;
    CHECK_STATUS(weir_limiter_new(&own_ops, &called, test_allocator(), &limiter, NULL), WEIR_OK);
    return limiter;
}

typedef enum weir_status call_fn(weir_limiter *limiter, struct weir_key key);

static enum weir_status call_when(weir_limiter *limiter, struct weir_key key)
{
    int64_t delay_ns = UNTOUCHED;
    enum weir_status status = weir_limiter_when(limiter, key, START, &delay_ns);
    CHECK_INT(delay_ns == UNTOUCHED, ==, status != WEIR_OK);
    return status;
}

static enum weir_status call_forget(weir_limiter *limiter, struct weir_key key)
{
    weir_limiter_forget(limiter, key);
    return WEIR_OK;
}

static enum weir_status call_num_requeues(weir_limiter *limiter, struct weir_key key)
{
    CHECK_INT(weir_limiter_num_requeues(limiter, key), ==, 0);
    return WEIR_OK;
}

/* Must not reach the limiter. */
static enum weir_status call_with(call_fn *call, struct weir_key key)
{
    weir_limiter *limiter = own();
    enum weir_status status = call(limiter, key);
    CHECK_INT(called, ==, 0);
    weir_limiter_free(limiter);
    return status;
}

/* Where the status is not WEIR_OK it is the caller's to see; the others ignore what is bad. */
#define CALL_ROWS(function, call, invalid, too_big_status)                                         \
    ROW(function, limiter, null, invalid)                                                          \
    {                                                                                              \
        return call(NULL, weir_key_string("a"));                                                   \
    }                                                                                              \
    ROW(function, key, no_bytes, invalid)                                                          \
    {                                                                                              \
        return call_with(call, weir_key_bytes(NULL, 1));                                           \
    }                                                                                              \
    ROW(function, key, no_item, invalid)                                                           \
    {                                                                                              \
        return call_with(call, weir_key_item(NULL));                                               \
    }                                                                                              \
    ROW(function, key, misaligned_item, invalid)                                                   \
    {                                                                                              \
        static struct weir_item item;                                                              \
        return call_with(call, (struct weir_key){(const char *)&item + 1, WEIR_KEY_ITEM});         \
    }                                                                                              \
    ROW(function, key, too_big, too_big_status)                                                    \
    {                                                                                              \
        CHECK_STATUS(call_with(call, weir_key_bytes("", SIZE_MAX - 1)), too_big_status);           \
        CHECK_STATUS(call_with(call, weir_key_bytes(NULL, SIZE_MAX)), too_big_status);             \
        return call_with(call, weir_key_bytes("", WEIR_KEY_SIZE_LIMIT + 1));                       \
    }

CALL_ROWS(weir_limiter_when, call_when, WEIR_EINVAL, WEIR_ETOOBIG)
CALL_ROWS(weir_limiter_forget, call_forget, WEIR_OK, WEIR_OK)
CALL_ROWS(weir_limiter_num_requeues, call_num_requeues, WEIR_OK, WEIR_OK)

/* The extremes of times, with every supplied limiter. */
static enum weir_status with_time(int64_t now_ns)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *all;
    CHECK_STATUS(weir_limiter_default_new(&options, &all, NULL), WEIR_OK);
    weir_limiter *limiters[] = {jitter(all, 1, 1), fast_slow(1, 2, 3), own()};
    struct weir_key key = weir_key_string("a");
    for (size_t i = 0; i < 3; i++) {
        int64_t delay_ns = -1;
        CHECK_STATUS(weir_limiter_when(limiters[i], key, START, &delay_ns), WEIR_OK);
        CHECK_STATUS(weir_limiter_when(limiters[i], key, now_ns, &delay_ns), WEIR_OK);
        CHECK_INT(delay_ns, >=, 0);
        weir_limiter_free(limiters[i]);
    }
    return WEIR_OK;
}

ROW(weir_limiter_when, now_ns, least, WEIR_OK)
{
    return with_time(INT64_MIN);
}

ROW(weir_limiter_when, now_ns, most, WEIR_OK)
{
    return with_time(INT64_MAX);
}

ROW(weir_limiter_when, ret_delay_ns, null, WEIR_EINVAL)
{
    weir_limiter *limiter = exponential(1, 2);
    enum weir_status status = weir_limiter_when(limiter, weir_key_string("a"), START, NULL);
    CHECK_INT(weir_limiter_num_requeues(limiter, weir_key_string("a")), ==, 0);
    weir_limiter_free(limiter);
    return status;
}

ROW(weir_limiter_when, memory, none, WEIR_ENOMEM)
{
    weir_limiter *limiter = exponential(1, 2);
    struct weir_key key = weir_key_string("a-key-that-needs-memory-of-its-own-as-it-is-long");
    int64_t delay_ns = UNTOUCHED;
    test_fail_allocation(1, true);
    enum weir_status status = weir_limiter_when(limiter, key, START, &delay_ns);
    test_fail_allocation(0, false);
    CHECK_INT(delay_ns, ==, UNTOUCHED);
    CHECK_INT(weir_limiter_num_requeues(limiter, key), ==, 0);
    weir_limiter_free(limiter);
    return status;
}

ROW(weir_limiter_free, limiter, null, WEIR_OK)
{
    return weir_limiter_free(NULL);
}

ROW(weir_limiter_free, limiter, used, WEIR_EBUSY)
{
    weir_limiter *inner = exponential(1, 2);
    weir_limiter *outer = jitter(inner, 0, 1);
    struct weir_key key = weir_key_string("a");
    enum weir_status status = weir_limiter_free(inner);
    int64_t delay_ns = -1;
    CHECK_STATUS(weir_limiter_when(outer, key, START, &delay_ns), WEIR_OK);
    CHECK_INT(delay_ns, ==, 1);
    CHECK_INT(weir_limiter_num_requeues(inner, key), ==, 1);
    CHECK_STATUS(weir_limiter_free(outer), WEIR_OK);
    return status;
}

ROW(weir_limiter_free, limiter, forked, WEIR_EFORKED)
{
    weir_limiter *limiter = exponential(1, 2);
    pid_t child = fork();
    if (child == 0) {
        CHECK_STATUS(weir_limiter_free(limiter), WEIR_EFORKED);
        test_end_child();
    }
    CHECK_INT(child, >, 0);
    int end = 0;
    CHECK_INT(waitpid(child, &end, 0), ==, child);
    CHECK(WIFEXITED(end) && WEXITSTATUS(end) == 0);
    CHECK_STATUS(weir_limiter_free(limiter), WEIR_OK);
    return WEIR_EFORKED;
}
