/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/limiters.h"

/* Each row of the contract's table of limiters, as a queue meets it: what add_rate_limited waits
 * for, what num_requeues says, what forget does. Their arithmetic to the nanosecond and its ends
 * are tested beside their sources (src/queue/limiter_*_test.c). */

TEST_EACH(bucket, "token bucket: waits until a token is there; not per item; num_requeues is 0")
{
    weir_limiter *limiter = bucket(10, 2);
    struct fixture f;
    setup_with(&f, kind, limiter);
    check_wait(&f, 0, 0);
    check_wait(&f, 1, 0);
    check_wait(&f, 2, WEIR_MS(100));
    check_wait(&f, 3, WEIR_MS(100));
    CHECK_INT(requeues(&f, 2), ==, 0);
    /* Reserved: the next one waits for the token after it, and forgetting gives none back. */
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 4)), WEIR_OK);
    forget(&f, 4);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 5)), WEIR_OK);
    pass(&f, WEIR_MS(100));
    CHECK_COUNTS(&f, 1, 1, 0);
    pass(&f, WEIR_MS(100));
    get_and_done(&f, 4);
    get_and_done(&f, 5);
    /* It fills up to the burst and no further. */
    pass(&f, WEIR_SECONDS(100));
    check_wait(&f, 0, 0);
    check_wait(&f, 0, 0);
    check_wait(&f, 0, WEIR_MS(100));
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(item_bucket, "token bucket per item: waits until a token of the item is there")
{
    weir_limiter *limiter = item_bucket(10, 2);
    struct fixture f;
    setup_with(&f, kind, limiter);
    for (unsigned item = 0; item < 3; item++) {
        check_wait(&f, item, 0);
        check_wait(&f, item, 0);
    }
    /* A success frees no tokens, and an add that coalesces gives its token back. */
    forget(&f, 0);
    CHECK_INT(requeues(&f, 0), ==, 0);
    for (unsigned i = 0; i < 10; i++) {
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    }
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, WEIR_MS(100));
    get_and_done(&f, 0);
    check_wait(&f, 0, WEIR_MS(100));
    check_wait(&f, 1, 0); /* 200 ms have passed */
    check_wait(&f, 1, 0);
    check_wait(&f, 1, WEIR_MS(100));
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(exponential, "exponential failure: base * 2^failures of the item, capped, for any count")
{
    weir_limiter *limiter = exponential(WEIR_MS(5), WEIR_SECONDS(1));
    struct fixture f;
    setup_with(&f, kind, limiter);
    for (unsigned i = 0; i < 200; i++) {
        CHECK_INT(requeues(&f, 0), ==, i);
        check_wait(&f, 0, i < 8 ? WEIR_MS(5) << i : WEIR_SECONDS(1));
    }
    check_wait(&f, 1, WEIR_MS(5));
    forget(&f, 0);
    CHECK_INT(requeues(&f, 0), ==, 0);
    check_wait(&f, 0, WEIR_MS(5));
    CHECK_INT(requeues(&f, 1), ==, 1);
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(fast_slow, "fast-slow: fast for the first n failures of the item, then slow")
{
    weir_limiter *limiter = fast_slow(WEIR_MS(5), WEIR_SECONDS(10), 3);
    struct fixture f;
    setup_with(&f, kind, limiter);
    for (unsigned i = 0; i < 6; i++) {
        check_wait(&f, 0, i < 3 ? WEIR_MS(5) : WEIR_SECONDS(10));
    }
    CHECK_INT(requeues(&f, 0), ==, 6);
    check_wait(&f, 1, WEIR_MS(5));
    forget(&f, 0);
    check_wait(&f, 0, WEIR_MS(5));
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(max_of, "max-of: every limiter is asked, the longest wins; the largest num_requeues")
{
    weir_limiter *limiter = max_of(exponential(WEIR_MS(30), WEIR_SECONDS(1)), bucket(10, 3));
    struct fixture f;
    setup_with(&f, kind, limiter);
    check_wait(&f, 0, WEIR_MS(30));
    check_wait(&f, 0, WEIR_MS(60));
    check_wait(&f, 0, WEIR_MS(120));
    CHECK_INT(requeues(&f, 0), ==, 3);
    /* Each try took a token, although the other limiter's answer was the longer one. 2.1 came back
     * in 210 ms, and are taken by three items of which the last waits for a bucket only. */
    for (unsigned i = 1; i <= 3; i++) {
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, i)), WEIR_OK);
    }
    pass(&f, WEIR_MS(30));
    CHECK_COUNTS(&f, 2, 1, 0);
    pass(&f, WEIR_MS(60) - 1);
    CHECK_COUNTS(&f, 2, 1, 0);
    pass(&f, 1);
    CHECK_COUNTS(&f, 3, 0, 0);
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(with_max_wait, "with-max-wait: the inner answer, at most the cap; counting goes on")
{
    weir_limiter *limiter = max_wait(exponential(WEIR_MS(1), WEIR_SECONDS(1000)), WEIR_MS(10));
    struct fixture f;
    setup_with(&f, kind, limiter);
    for (unsigned i = 0; i < 20; i++) {
        check_wait(&f, 0, i < 4 ? WEIR_MS(1) << i : WEIR_MS(10));
    }
    CHECK_INT(requeues(&f, 0), ==, 20);
    forget(&f, 0);
    check_wait(&f, 0, WEIR_MS(1));
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(with_jitter, "with-jitter: items that failed together do not come back together")
{
    weir_limiter *limiter = jitter(fast_slow(WEIR_SECONDS(10), 0, UINT64_MAX), 0.5, test_random());
    struct fixture f;
    setup_with(&f, kind, limiter);
    for (unsigned i = 0; i < ITEMS; i++) {
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, i)), WEIR_OK);
    }
    pass(&f, WEIR_SECONDS(10) - 1);
    CHECK_COUNTS(&f, 0, ITEMS, 0);
    pass(&f, 1);
    unsigned steps = 0; /* of 5 s / ITEMS, in which something comes back */
    size_t before = weir_queue_len(f.queue);
    CHECK_INT(before, <=, ITEMS / 4);
    for (unsigned i = 0; i < ITEMS; i++) {
        pass(&f, WEIR_SECONDS(5) / ITEMS + 1);
        size_t now = weir_queue_len(f.queue);
        steps += now > before;
        before = now;
    }
    CHECK_COUNTS(&f, ITEMS, 0, 0);
    /* ITEMS (1 - 1/e) = 81 expected, standard deviation 5. */
    CHECK_INT(steps, >, ITEMS / 3);
    CHECK_INT(requeues(&f, 0), ==, 1);
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(default_controller, "default: the longer of 5 ms to 1000 s, and 10 a second, burst 100")
{
    struct weir_limiter_options options = limiter_options();
    options.forget_after_ns = WEIR_FOREVER;
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_default_new(&options, &limiter, NULL), WEIR_OK);
    struct fixture f;
    setup_with(&f, kind, limiter);
    for (unsigned i = 0; i < 30; i++) {
        check_wait(&f, 0, i < 18 ? WEIR_MS(5) << i : WEIR_SECONDS(1000));
    }
    for (unsigned i = 1; i <= 100; i++) {
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, i)), WEIR_OK);
    }
    pass(&f, WEIR_MS(5));
    CHECK_COUNTS(&f, 100, 0, 0);
    /* All tokens are gone, but for what 5 ms bring. */
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 101)), WEIR_OK);
    pass(&f, WEIR_MS(95) - 1);
    CHECK_COUNTS(&f, 100, 1, 0);
    pass(&f, 1);
    CHECK_COUNTS(&f, 101, 0, 0);
    teardown(&f);
    weir_limiter_free(limiter);
}

/* A limiter of one's own: each item waits for the number of its failures, in seconds. */
struct own {
    struct fixture *f;
    uint64_t counts[ITEMS];
    unsigned destroyed;
};

static uint64_t *count_of(struct own *own, struct weir_key key)
{
    struct weir_work work = {.key = key, .item = NULL};
    work.item = own->f->kind == EMBEDDED ? (struct weir_item *)(uintptr_t)key.data : NULL;
    return &own->counts[item_of(own->f, &work)];
}

static enum weir_status own_when(void *self, struct weir_key key, int64_t now_ns,
                                 int64_t *ret_delay_ns)
{
    struct own *own = self;
    CHECK_INT(now_ns, ==, weir_clock_now(own->f->clock));
    *ret_delay_ns = WEIR_SECONDS(++*count_of(own, key));
    return WEIR_OK;
}

static void own_forget(void *self, struct weir_key key)
{
    *count_of(self, key) = 0;
}

static uint64_t own_count(void *self, struct weir_key key)
{
    return *count_of(self, key);
}

static void own_destroy(void *self)
{
    ((struct own *)self)->destroyed++;
}

/* Sets f up with such a limiter, that is asked by this function; returns it. */
static weir_limiter *setup_own(struct fixture *f, enum kind kind, struct own *own,
                               enum weir_status (*asked)(void *, struct weir_key, int64_t,
                                                         int64_t *))
{
    struct weir_limiter_ops ops = {
        .when = asked, .forget = own_forget, .num_requeues = own_count, .destroy = own_destroy};
    *own = (struct own){.f = f};
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_new(&ops, own, test_allocator(), &limiter, NULL), WEIR_OK);
    setup_with(f, kind, limiter);
    return limiter;
}

TEST_EACH(own, "one of one's own is asked with the item and the queue's time, and destroyed once")
{
    struct own own;
    struct fixture f;
    weir_limiter *limiter = setup_own(&f, kind, &own, own_when);
    for (int i = 1; i <= 3; i++) {
        check_wait(&f, 0, WEIR_SECONDS(i));
        check_wait(&f, 7, WEIR_SECONDS(i));
    }
    CHECK_INT(requeues(&f, 7), ==, 3);
    forget(&f, 7);
    CHECK_INT(requeues(&f, 7), ==, 0);
    CHECK_INT(requeues(&f, 0), ==, 3);
    CHECK_STATUS(weir_limiter_free(limiter), WEIR_EBUSY);
    teardown(&f);
    CHECK_INT(own.destroyed, ==, 0);
    CHECK_STATUS(weir_limiter_free(limiter), WEIR_OK);
    CHECK_INT(own.destroyed, ==, 1);
}

/* Takes three seconds to say that it will be ten. */
static enum weir_status slow_when(void *self, struct weir_key key, int64_t now_ns,
                                  int64_t *ret_delay_ns)
{
    const struct own *own = self;
    (void)key;
    CHECK_INT(now_ns, ==, weir_clock_now(own->f->clock));
    pass(own->f, WEIR_SECONDS(3));
    *ret_delay_ns = WEIR_SECONDS(10);
    return WEIR_OK;
}

TEST_EACH(own_slow, "a wait begins when the limiter is asked, however long its answer takes")
{
    struct own own;
    struct fixture f;
    weir_limiter *limiter = setup_own(&f, kind, &own, slow_when);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    pass(&f, WEIR_SECONDS(7) - 1);
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, 1);
    get_and_done(&f, 0);
    /* Another item's time, which has come while the limiter thought, comes first. */
    add_after(&f, 1, WEIR_SECONDS(12));
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 2)), WEIR_OK);
    add_after(&f, 3, WEIR_SECONDS(1));
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 4)), WEIR_OK);
    CHECK_COUNTS(&f, 1, 3, 0);
    pass(&f, WEIR_SECONDS(10));
    get_and_done(&f, 3);
    get_and_done(&f, 2);
    get_and_done(&f, 1);
    get_and_done(&f, 4);
    teardown(&f);
    weir_limiter_free(limiter);
}

static int64_t answer_ns;

static void use_queue(void *queue)
{
    CHECK_INT(weir_queue_len(queue), ==, 0);
}

static enum weir_status slow_beside_others(void *self, struct weir_key key, int64_t now_ns,
                                           int64_t *ret_delay_ns)
{
    const struct own *own = self;
    enum weir_status status = slow_when(self, key, now_ns, ret_delay_ns);
    test_join(test_start(use_queue, own->f->queue));
    *ret_delay_ns = answer_ns;
    return status;
}

TEST_EACH(own_slow_beside_others, "so it does where other threads call the queue meanwhile")
{
    struct own own;
    struct fixture f;
    weir_limiter *limiter = setup_own(&f, kind, &own, slow_beside_others);
    add_after(&f, 1, WEIR_SECONDS(1000)); /* so that these calls look at the time */
    answer_ns = WEIR_SECONDS(10);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    pass(&f, WEIR_SECONDS(7) - 1);
    CHECK_COUNTS(&f, 0, 2, 0);
    pass(&f, 1);
    get_and_done(&f, 0);
    answer_ns = WEIR_SECONDS(2);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    get_and_done(&f, 0);
    teardown(&f);
    weir_limiter_free(limiter);
}
