/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* Flaws of client-go's workqueue that weir must not have. Each test is named after the flaw's
 * number in the list of them, and would fail, hang or leak on a queue that has it. W9 and W10 are
 * about limiters alone (src/queue/limiter_memory_test.c, limiter_compose_test.c). */

TEST_EACH(w1_drain_with_queued,
          "W1: a drain waits for what is queued, not only for what is processed")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct blocked drainer;
    block(&drainer, &f, run_drain);
    get_and_done(&f, 0);
    test_wait_asleep(drainer.thread); /* nothing is processing, one is queued */
    struct weir_work work = get(&f, 1);
    test_wait_asleep(drainer.thread);
    done(&f, &work);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    teardown(&f);
}

TEST_EACH(w2_two_drains, "W2: the done that empties the queue ends every drain")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    struct blocked drainers[2];
    block(&drainers[0], &f, run_drain);
    block(&drainers[1], &f, run_drain);
    done(&f, &work);
    CHECK_STATUS(unblock(&drainers[0]), WEIR_OK);
    CHECK_STATUS(unblock(&drainers[1]), WEIR_OK);
    teardown(&f);
}

static void consume_until_shutdown(void *arg)
{
    struct fixture *f = arg;
    struct weir_work work;
    while (weir_queue_get(f->queue, WEIR_FOREVER, &work) == WEIR_OK) {
        done(f, &work);
    }
}

TEST_EACH(w2_requeued_not_lost, "W2: a re-queued item's wake-up does not go to a drain")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < 4; i++) {
        add(&f, i);
    }
    struct weir_work works[4];
    for (unsigned i = 0; i < 4; i++) {
        works[i] = get(&f, i);
        add(&f, i);
    }
    struct blocked drainers[2];
    block(&drainers[0], &f, run_drain);
    block(&drainers[1], &f, run_drain);
    for (unsigned i = 0; i < 4; i++) {
        done(&f, &works[i]);
    }
    CHECK_COUNTS(&f, 4, 0, 0);
    struct test_thread *consumer = test_start(consume_until_shutdown, &f);
    test_join(consumer);
    CHECK_STATUS(unblock(&drainers[0]), WEIR_OK);
    CHECK_STATUS(unblock(&drainers[1]), WEIR_OK);
    teardown(&f);
}

TEST_EACH(w3_done_unheld, "W3: a done of what nobody holds never queues an item twice")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    done(&f, &work);
    add(&f, 0);
    CHECK_STATUS(weir_queue_done(f.queue, &work), WEIR_ENOTPROCESSING);
    CHECK_COUNTS(&f, 1, 0, 0);
    struct weir_work again = get(&f, 0);
    add(&f, 0);
    CHECK_STATUS(weir_queue_done(f.queue, &work), WEIR_ENOTPROCESSING); /* of the first get */
    CHECK_COUNTS(&f, 0, 0, 1);
    CHECK_NOTHING_READY(&f);
    done(&f, &again);
    get_and_done(&f, 0);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

struct adder {
    struct fixture *f;
    unsigned first;
    unsigned refused;
};

/* Adds delayed items until the queue refuses them. */
static void add_delayed(void *arg)
{
    struct adder *adder = arg;
    for (unsigned i = 0; adder->refused == 0; i++) {
        enum weir_status status = weir_queue_add_after(
            adder->f->queue, key_of(adder->f, adder->first + i % 8), 1 + (int64_t)(i % 1000));
        CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
        adder->refused += status == WEIR_ESHUTDOWN;
    }
}

TEST_EACH(w4_drain_and_delays,
          "W4: a drain also ends delays, and no producer blocks on a dead queue")
{
    struct fixture f;
    setup(&f, kind);
    struct adder adders[3];
    struct test_thread *threads[3];
    for (unsigned i = 0; i < 3; i++) {
        adders[i] = (struct adder){.f = &f, .first = i * 8};
        threads[i] = test_start(add_delayed, &adders[i]);
    }
    for (unsigned i = 0; i < 200; i++) {
        pass(&f, 7);
        struct weir_work work;
        if (weir_queue_get(f.queue, 0, &work) == WEIR_OK) {
            done(&f, &work);
        }
    }
    struct test_thread *consumer = test_start(consume_until_shutdown, &f);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    for (unsigned i = 0; i < 3; i++) {
        test_join(threads[i]);
        CHECK_INT(adders[i].refused, ==, 1);
    }
    test_join(consumer);
    CHECK_COUNTS(&f, 0, 0, 0);
    /* Nothing is left that could come later. */
    pass(&f, WEIR_SECONDS(1000));
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(w5_once_for_two, "W5: an add can absorb the waiting time, so that the item runs once")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(50));
    add_with(&f, 0, 0, WEIR_ADD_SUPERSEDE);
    get_and_done(&f, 0);
    pass(&f, WEIR_SECONDS(1));
    CHECK_COUNTS(&f, 0, 0, 0);
    /* While it is processed, too. */
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add_after(&f, 0, WEIR_MS(50));
    add_with(&f, 0, 0, WEIR_ADD_SUPERSEDE);
    done(&f, &work);
    get_and_done(&f, 0);
    pass(&f, WEIR_SECONDS(1));
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(w6_postpone, "W6: a waiting item can be put off and taken out")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(10));
    add_with(&f, 0, WEIR_MS(100), WEIR_ADD_MOVE);
    pass(&f, WEIR_MS(99));
    CHECK_COUNTS(&f, 0, 1, 0);
    CHECK(cancel(&f, 0));
    pass(&f, WEIR_MS(100));
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

static weir_limiter *one_token_per_second(void)
{
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_bucket_new(1, 1, test_allocator(), &limiter, NULL), WEIR_OK);
    return limiter;
}

/* How long the item waits now when it is added rate-limited. */
static int64_t wait_of(struct fixture *f, unsigned item)
{
    CHECK_COUNTS(f, 0, 0, 0);
    CHECK_STATUS(weir_queue_add_rate_limited(f->queue, key_of(f, item)), WEIR_OK);
    int64_t waited_ns = 0;
    for (; weir_queue_len(f->queue) == 0; waited_ns += WEIR_MS(100)) {
        pass(f, WEIR_MS(100));
    }
    get_and_done(f, item);
    return waited_ns;
}

TEST_EACH(w7_tokens_of_merged, "W7: adds that are merged away take no tokens; delays do not drift")
{
    weir_limiter *limiter = one_token_per_second();
    struct fixture f;
    setup_with(&f, kind, limiter);
    CHECK_INT(wait_of(&f, 0), ==, 0);
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 1)), WEIR_OK);
    CHECK_COUNTS(&f, 0, 1, 0);
    /* It waits for its second: a thousand more adds of it in that time change nothing. */
    for (int i = 0; i < 1000; i++) {
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 1)), WEIR_OK);
    }
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, WEIR_SECONDS(1));
    get_and_done(&f, 1);
    CHECK_INT(wait_of(&f, 2), ==, WEIR_SECONDS(1));
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(w7_tokens_of_queued, "W7: nor do adds of an item that is queued or dirty already")
{
    weir_limiter *limiter = one_token_per_second();
    struct fixture f;
    setup_with(&f, kind, limiter);
    add(&f, 0);
    for (int i = 0; i < 100; i++) {
        /* The token is there: no delay, and the item is queued. */
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    }
    CHECK_COUNTS(&f, 1, 0, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    for (int i = 0; i < 100; i++) {
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    }
    CHECK_COUNTS(&f, 0, 0, 1);
    done(&f, &work);
    get_and_done(&f, 0);
    CHECK_INT(wait_of(&f, 1), ==, 0);
    CHECK_INT(wait_of(&f, 2), ==, WEIR_SECONDS(1));
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(w7_tokens_of_moved, "W7: an add that brings an item forward takes the token for it")
{
    weir_limiter *limiter = one_token_per_second();
    struct fixture f;
    setup_with(&f, kind, limiter);
    CHECK_INT(wait_of(&f, 0), ==, 0);
    for (unsigned item = 0; item < 3; item++) {
        add_after(&f, item, WEIR_SECONDS(3600));
    }
    /* Each waits for a time that no token was taken for. Tries that came to nothing take none. */
    for (unsigned item = 0; item < 3; item++) {
        for (int i = 0; i < 10; i++) {
            CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, item)), WEIR_OK);
        }
    }
    for (unsigned item = 0; item < 3; item++) {
        pass(&f, WEIR_SECONDS(1));
        CHECK_COUNTS(&f, 1, 2 - item, 0);
        get_and_done(&f, item);
    }
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(w7_refused, "W7: an add that is refused takes neither a token nor a count")
{
    weir_limiter *parts[2];
    struct weir_limiter_options options = {0};
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_limiter_exponential_new(1, 1000, &options, &parts[0], NULL), WEIR_OK);
    parts[1] = one_token_per_second();
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_max_of_new(parts, 2, test_allocator(), &limiter, NULL), WEIR_OK);
    struct fixture f;
    setup_with(&f, kind, limiter);
    weir_queue_shutdown(f.queue);
    for (int i = 0; i < 10; i++) {
        CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_ESHUTDOWN);
    }
    int64_t delay_ns = -1;
    CHECK_STATUS(weir_limiter_when(limiter, key_of(&f, 0), START, &delay_ns), WEIR_OK);
    CHECK_INT(delay_ns, ==, 1);
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(w12_add_says_so, "W12: an add after shutdown says that it was refused")
{
    struct fixture f;
    setup(&f, kind);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(weir_queue_add(f.queue, key_of(&f, 0)), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_queue_add_after(f.queue, key_of(&f, 0), 1), WEIR_ESHUTDOWN);
    teardown(&f);
}

/* The nth of many keys: of bytes, or one of the items given. */
static struct weir_key nth_key(enum kind kind, struct weir_item *items, char *buffer, size_t size,
                               unsigned n)
{
    (void)snprintf(buffer, size, "%s%u", kind == LONG_KEY ? "a-key-beyond-any-record/" : "", n);
    return kind == EMBEDDED ? weir_key_item(&items[n]) : weir_key_string(buffer);
}

TEST_EACH(w17_memory_returns, "W17: after a burst memory returns to within a tenth of before")
{
    enum {
        BURST = 100000
    };
    static struct weir_item items[BURST];
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add_after(&f, 1, 1);
    pass(&f, 1);
    get_and_done(&f, 0);
    get_and_done(&f, 1);
    for (int round = 0; round < 2; round++) {
        size_t floor = test_allocated_bytes();
        char buffer[64];
        for (unsigned i = 0; i < BURST; i++) {
            struct weir_key key = nth_key(kind, items, buffer, sizeof(buffer), i);
            CHECK_STATUS(weir_queue_add(f.queue, key), WEIR_OK);
            CHECK_STATUS(weir_queue_add_after(f.queue, key, 1), WEIR_OK);
        }
        CHECK_INT(test_allocated_bytes(), >=, floor + BURST * 16);
        pass(&f, 1);
        struct weir_work works[32];
        size_t count;
        for (size_t left = BURST; left > 0; left -= count) {
            CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, works, 32, &count), WEIR_OK);
            CHECK_STATUS(weir_queue_done_batch(f.queue, works, count), WEIR_OK);
        }
        CHECK_COUNTS(&f, 0, 0, 0);
        CHECK_INT(test_allocated_bytes(), <=, floor + floor / 10);
    }
    teardown(&f);
}

TEST(w18_key_by_value, "W18: keys are compared by value, wherever the bytes lie")
{
    struct fixture f;
    setup(&f, SHORT_KEY);
    char first[] = "same";
    char second[] = "same";
    CHECK_STATUS(weir_queue_add(f.queue, weir_key_string(first)), WEIR_OK);
    CHECK_STATUS(weir_queue_add(f.queue, weir_key_string(second)), WEIR_OK);
    CHECK_COUNTS(&f, 1, 0, 0);
    memset(first, 'x', 4);
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_OK);
    CHECK(work.key.size == 4 && memcmp(work.key.data, "same", 4) == 0);
    done(&f, &work);
    teardown(&f);
}
