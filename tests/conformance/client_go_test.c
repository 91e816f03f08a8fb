/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* The scenarios of client-go's own tests of util/workqueue, in our words and on a manual clock;
 * each sentence names its model. Those of the limiters alone are in
 * src/queue/limiter_compose_test.c. */

enum {
    PRODUCERS = 8,
    CONSUMERS = 4,
    EACH = 400
};

typedef void end_fn(struct fixture *f);

static void end_by_shutdown(struct fixture *f)
{
    weir_queue_shutdown(f->queue);
}

static void end_by_drain(struct fixture *f)
{
    CHECK_STATUS(weir_queue_shutdown_drain(f->queue), WEIR_OK);
}

struct producer {
    struct fixture *f;
    unsigned item;
};

static void produce(void *arg)
{
    struct producer *producer = arg;
    for (int i = 0; i < EACH; i++) {
        add(producer->f, producer->item);
    }
}

static void consume(void *arg)
{
    struct fixture *f = arg;
    struct weir_work work;
    enum weir_status status;
    while ((status = weir_queue_get(f->queue, &work)) == WEIR_OK) {
        CHECK_INT(item_of(f, &work), <, PRODUCERS);
        done(f, &work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

/* Adds each item once more while it is processed, the first time that this consumer has it. */
static void consume_and_add(void *arg)
{
    struct fixture *f = arg;
    bool seen[ITEMS] = {false};
    struct weir_work work;
    while (weir_queue_get(f->queue, &work) == WEIR_OK) {
        unsigned item = item_of(f, &work);
        if (!seen[item]) {
            seen[item] = true;
            enum weir_status status = weir_queue_add(f->queue, key_of(f, item));
            CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
        }
        done(f, &work);
    }
}

static void produce_and_consume(enum kind kind, void (*consumer)(void *arg), end_fn *end)
{
    struct fixture f;
    setup(&f, kind);
    struct producer producers[PRODUCERS];
    struct test_thread *producing[PRODUCERS];
    struct test_thread *consuming[CONSUMERS];
    for (unsigned i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){&f, i};
        producing[i] = test_start(produce, &producers[i]);
    }
    for (unsigned i = 0; i < CONSUMERS; i++) {
        consuming[i] = test_start(consumer, &f);
    }
    for (unsigned i = 0; i < PRODUCERS; i++) {
        test_join(producing[i]);
    }
    end(&f);
    CHECK_STATUS(weir_queue_add(f.queue, key_of(&f, PRODUCERS)), WEIR_ESHUTDOWN);
    for (unsigned i = 0; i < CONSUMERS; i++) {
        test_join(consuming[i]);
    }
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(basic_shutdown,
          "TestBasic, ShutDown: all consumers come home, what is added late is not seen")
{
    produce_and_consume(kind, consume, end_by_shutdown);
}

TEST_EACH(basic_drain, "TestBasic, ShutDownWithDrain: the same")
{
    produce_and_consume(kind, consume, end_by_drain);
}

TEST_EACH(add_while_processing_shutdown, "TestAddWhileProcessing, ShutDown: nothing is left")
{
    produce_and_consume(kind, consume_and_add, end_by_shutdown);
}

TEST_EACH(add_while_processing_drain, "TestAddWhileProcessing, ShutDownWithDrain: nothing is left")
{
    produce_and_consume(kind, consume_and_add, end_by_drain);
}

TEST_EACH(len, "TestLen: what is added twice counts once")
{
    struct fixture f;
    setup(&f, kind);
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    add(&f, 0);
    CHECK_INT(weir_queue_len(f.queue), ==, 1);
    add(&f, 1);
    CHECK_INT(weir_queue_len(f.queue), ==, 2);
    add(&f, 0);
    CHECK_INT(weir_queue_len(f.queue), ==, 2);
    teardown(&f);
}

TEST_EACH(reinsert, "TestReinsert: an item added while processing comes back once")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    done(&f, &work);
    get_and_done(&f, 0);
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    teardown(&f);
}

TEST_EACH(collapse, "TestCollapse: two adds before a get are one processing")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 0);
    get_and_done(&f, 0);
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    teardown(&f);
}

TEST_EACH(collapse_while_processing,
          "TestCollapseWhileProcessing: another consumer gets it after done, once")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    add(&f, 0);
    struct blocked other;
    block(&other, &f, run_get);
    done(&f, &work);
    CHECK_STATUS(unblock(&other), WEIR_OK);
    CHECK_INT(item_of(&f, &other.work), ==, 0);
    done(&f, &other.work);
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    teardown(&f);
}

/* Blocks until a drain of another thread has begun. */
static void get_shutdown(struct fixture *f)
{
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f->queue, &work), WEIR_ESHUTDOWN);
}

TEST_EACH(drain, "TestQueueDrainageUsingShutDownWithDrain: the drain waits for both items")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work first = get(&f, 0);
    struct weir_work second = get(&f, 1);
    struct blocked drainer = {.f = &f};
    drainer.thread = test_start(run_drain, &drainer);
    get_shutdown(&f);
    done(&f, &first);
    test_wait_asleep(drainer.thread);
    done(&f, &second);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    teardown(&f);
}

TEST_EACH(shutdown_does_not_drain, "TestNoQueueDrainageUsingShutDown: ShutDown waits for nobody")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work first = get(&f, 0);
    struct weir_work second = get(&f, 1);
    weir_queue_shutdown(f.queue);
    CHECK_COUNTS(&f, 0, 0, 2);
    done(&f, &first);
    done(&f, &second);
    teardown(&f);
}

TEST_EACH(forced, "TestForceQueueShutdownUsingShutDown: ShutDown ends a drain that would wait")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work first = get(&f, 0);
    struct weir_work second = get(&f, 1);
    struct blocked drainer = {.f = &f};
    drainer.thread = test_start(run_drain, &drainer);
    get_shutdown(&f);
    test_wait_asleep(drainer.thread);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(unblock(&drainer), WEIR_ECANCELED);
    done(&f, &first);
    done(&f, &second);
    teardown(&f);
}

TEST_EACH(drain_dirty, "TestQueueDrainageUsingShutDownWithDrainWithDirtyItem: it runs again first")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    struct blocked drainer = {.f = &f};
    drainer.thread = test_start(run_drain, &drainer);
    get_shutdown(&f);
    done(&f, &work);
    CHECK_STATUS(weir_queue_get(f.queue, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 0);
    test_wait_asleep(drainer.thread);
    done(&f, &work);
    get_shutdown(&f);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    teardown(&f);
}

TEST_EACH(garbage_collection, "TestGarbageCollection: nothing of an item is held after its done")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 1);
    get_and_done(&f, 1);
    size_t floor = test_allocated_blocks();
    struct weir_item *item = malloc(sizeof(*item));
    char *name = malloc(1000);
    CHECK(item != NULL && name != NULL);
    weir_item_init(item);
    memset(name, 'x', 1000);
    CHECK_STATUS(weir_queue_add(f.queue, kind == EMBEDDED ? weir_key_item(item)
                                                          : weir_key_bytes(name, 1000)),
                 WEIR_OK);
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f.queue, &work), WEIR_OK);
    done(&f, &work);
    CHECK_INT(test_allocated_blocks(), ==, floor);
    free(item);
    free(name);
    add(&f, 1);
    get_and_done(&f, 1);
    teardown(&f);
}

TEST_EACH(simple, "TestSimpleQueue: a delayed item comes at its time and once")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(50));
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    pass(&f, WEIR_MS(60));
    CHECK_INT(weir_queue_len(f.queue), ==, 1);
    get_and_done(&f, 0);
    pass(&f, WEIR_SECONDS(10));
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    teardown(&f);
}

TEST_EACH(deduping, "TestDeduping: of two delays the shorter counts, in either order")
{
    struct fixture f;
    setup(&f, kind);
    static const int64_t delays[2][2] = {{50, 70}, {50, 30}};
    for (unsigned i = 0; i < 2; i++) {
        add_after(&f, 0, WEIR_MS(delays[i][0]));
        add_after(&f, 0, WEIR_MS(delays[i][1]));
        CHECK_INT(weir_queue_len(f.queue), ==, 0);
        pass(&f, i == 0 ? WEIR_MS(60) : WEIR_MS(40));
        CHECK_INT(weir_queue_len(f.queue), ==, 1);
        get_and_done(&f, 0);
        pass(&f, WEIR_MS(20));
        CHECK_INT(weir_queue_len(f.queue), ==, 0);
    }
    teardown(&f);
}

TEST_EACH(two_fire_early, "TestAddTwoFireEarly: the shorter delay comes first, whenever added")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_SECONDS(1));
    add_after(&f, 1, WEIR_MS(50));
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    pass(&f, WEIR_MS(60));
    struct weir_work second = get(&f, 1);
    add_after(&f, 2, WEIR_SECONDS(2));
    pass(&f, WEIR_SECONDS(1));
    struct weir_work first = get(&f, 0);
    CHECK_NOTHING_READY(&f);
    pass(&f, WEIR_SECONDS(2));
    struct weir_work third = get(&f, 2);
    done(&f, &first);
    done(&f, &second);
    done(&f, &third);
    teardown(&f);
}

TEST_EACH(copy_shifting, "TestCopyShifting: many due at once come in order of their times")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_SECONDS(1));
    add_after(&f, 1, WEIR_MS(500));
    add_after(&f, 2, WEIR_MS(250));
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    pass(&f, WEIR_SECONDS(2));
    CHECK_INT(weir_queue_len(f.queue), ==, 3);
    get_and_done(&f, 2);
    get_and_done(&f, 1);
    get_and_done(&f, 0);
    teardown(&f);
}

/* The item must become ready after exactly this time, having been cancelled it comes no more. */
static void check_rate_limited(struct fixture *f, unsigned item, int64_t delay_ns)
{
    CHECK_STATUS(weir_queue_add_rate_limited(f->queue, key_of(f, item)), WEIR_OK);
    pass(f, delay_ns - 1);
    CHECK_INT(weir_queue_len(f->queue), ==, 0);
    pass(f, 1);
    CHECK_INT(weir_queue_len(f->queue), ==, 1);
    CHECK(cancel(f, item));
}

TEST_EACH(rate_limiting, "TestRateLimitingQueue: delays double per item until it is forgotten")
{
    struct weir_limiter_options options = WEIR_LIMITER_OPTIONS_INIT;
    options.allocator = *test_allocator();
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_exponential_new(WEIR_MS(1), WEIR_SECONDS(1), &options, &limiter),
                 WEIR_OK);
    struct fixture f;
    setup_with(&f, kind, limiter);
    check_rate_limited(&f, 0, WEIR_MS(1));
    check_rate_limited(&f, 0, WEIR_MS(2));
    uint64_t count = 0;
    CHECK_STATUS(weir_queue_num_requeues(f.queue, key_of(&f, 0), &count), WEIR_OK);
    CHECK_INT(count, ==, 2);
    check_rate_limited(&f, 1, WEIR_MS(1));
    check_rate_limited(&f, 1, WEIR_MS(2));
    CHECK_STATUS(weir_queue_forget(f.queue, key_of(&f, 0)), WEIR_OK);
    CHECK_STATUS(weir_queue_num_requeues(f.queue, key_of(&f, 0), &count), WEIR_OK);
    CHECK_INT(count, ==, 0);
    check_rate_limited(&f, 0, WEIR_MS(1));
    teardown(&f);
    weir_limiter_free(limiter);
}
