/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

#include "support/harness.h"

/* Freeing limiters that something else uses. */

/* A user's own limiter, which answers 70 and counts its end in self. */
static enum weir_status own_when(void *self, struct weir_key key, int64_t now_ns,
                                 int64_t *ret_delay_ns)
{
    (void)self;
    (void)key;
    (void)now_ns;
    *ret_delay_ns = 70;
    return WEIR_OK;
}

static void own_forget(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
}

static uint64_t own_num_requeues(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
    return 0;
}

static void own_destroy(void *self)
{
    ++*(unsigned *)self;
}

static weir_limiter *own_new(unsigned *destroyed)
{
    static const struct weir_limiter_ops ops = {
        .when = own_when,
        .forget = own_forget,
        .num_requeues = own_num_requeues,
        .destroy = own_destroy,
    };
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_new(&ops, destroyed, test_allocator(), &limiter, NULL), WEIR_OK);
    return limiter;
}

TEST(free_used, "a limiter that others use is not freed, nor destroyed, until they are gone")
{
    unsigned destroyed = 0;
    weir_limiter *inner = own_new(&destroyed);
    weir_limiter *bucket;
    CHECK_STATUS(weir_limiter_bucket_new(1, 1, test_allocator(), &bucket, NULL), WEIR_OK);
    weir_limiter *parts[] = {inner, bucket};
    weir_limiter *max;
    CHECK_STATUS(weir_limiter_max_of_new(parts, 2, test_allocator(), &max, NULL), WEIR_OK);
    weir_limiter *capped;
    CHECK_STATUS(weir_limiter_with_max_wait_new(max, 50, test_allocator(), &capped, NULL), WEIR_OK);
    weir_limiter *outer;
    CHECK_STATUS(weir_limiter_with_jitter_new(capped, 0, 1, test_allocator(), &outer, NULL),
                 WEIR_OK);
    weir_limiter *used[] = {inner, bucket, max, capped};
    for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
        CHECK_STATUS(weir_limiter_free(used[i]), WEIR_EBUSY);
    }
    int64_t delay_ns = -1;
    CHECK_STATUS(weir_limiter_when(outer, weir_key_string("a"), 0, &delay_ns), WEIR_OK);
    CHECK_INT(delay_ns, ==, 50);
    /* As by a queue and a pool. */
    weiri_limiter_attach(outer);
    weiri_limiter_attach(outer);
    CHECK_STATUS(weir_limiter_free(outer), WEIR_EBUSY);
    weiri_limiter_detach(outer);
    CHECK_STATUS(weir_limiter_free(outer), WEIR_EBUSY);
    weiri_limiter_detach(outer);
    CHECK_INT(destroyed, ==, 0);
    CHECK_STATUS(weir_limiter_free(outer), WEIR_OK);
    CHECK_INT(destroyed, ==, 1);
    CHECK_INT(test_allocated_blocks(), ==, 0);
}

TEST(free_shared, "a taken limiter that something else uses is left to the caller")
{
    unsigned destroyed = 0;
    weir_limiter *inner = own_new(&destroyed);
    weir_limiter *outer;
    CHECK_STATUS(weir_limiter_with_max_wait_new(inner, 50, test_allocator(), &outer, NULL),
                 WEIR_OK);
    weiri_limiter_attach(inner);
    CHECK_STATUS(weir_limiter_free(outer), WEIR_OK);
    CHECK_INT(destroyed, ==, 0);
    CHECK_STATUS(weir_limiter_free(inner), WEIR_EBUSY);
    weiri_limiter_detach(inner);
    CHECK_STATUS(weir_limiter_free(inner), WEIR_OK);
    CHECK_INT(destroyed, ==, 1);
}

TEST(free_refused, "a limiter that a constructor refused to take is not used by it")
{
    unsigned destroyed = 0;
    weir_limiter *inner = own_new(&destroyed);
    weir_limiter *outer = NULL;
    test_fail_allocation(1, true);
    CHECK_STATUS(weir_limiter_max_of_new(&inner, 1, test_allocator(), &outer, NULL), WEIR_ENOMEM);
    CHECK_STATUS(weir_limiter_with_jitter_new(inner, 1, 1, test_allocator(), &outer, NULL),
                 WEIR_ENOMEM);
    test_fail_allocation(0, false);
    CHECK_STATUS(weir_limiter_free(inner), WEIR_OK);
    CHECK_INT(destroyed, ==, 1);
}
