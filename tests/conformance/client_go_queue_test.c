/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* The scenarios of client-go's own tests of util/workqueue (queue_test.go), in our words: no code
 * is theirs, and no pause hopes for anything. A case is named after its model,
 * TestAddWhileProcessing as add_while_processing; docs/conformance.md has the list. */

enum {
    PRODUCERS = 50,
    CONSUMERS = 10,
    EACH = 50
};

typedef void end_fn(struct fixture *f);

static void end_by_shutdown(struct fixture *f)
{
    weir_queue_shutdown(f->queue);
}

static void end_by_drain(struct fixture *f)
{
    CHECK_STATUS(weir_queue_shutdown_drain(f->queue, WEIR_FOREVER), WEIR_OK);
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
    while ((status = weir_queue_get(f->queue, WEIR_FOREVER, &work)) == WEIR_OK) {
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
    while (weir_queue_get(f->queue, WEIR_FOREVER, &work) == WEIR_OK) {
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

static void count_touch(struct weir_key key, void *arg)
{
    unsigned *touched = arg;
    CHECK(key.data != NULL);
    (*touched)++;
}

static void setup_touched(struct fixture *f, enum kind kind, unsigned *touched)
{
    struct weir_queue_options options = {0};
    options.touch = count_touch;
    options.touch_arg = touched;
    setup_options(f, kind, &options);
}

TEST_EACH(collapse, "TestCollapse: two adds before a get are one processing, and it is touched")
{
    struct fixture f;
    unsigned touched = 0;
    setup_touched(&f, kind, &touched);
    add(&f, 0);
    add(&f, 0);
    get_and_done(&f, 0);
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    CHECK_INT(touched, ==, 1);
    teardown(&f);
}

TEST_EACH(collapse_while_processing,
          "TestCollapseWhileProcessing: another consumer gets it after done, once, untouched")
{
    struct fixture f;
    unsigned touched = 0;
    setup_touched(&f, kind, &touched);
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
    CHECK_INT(touched, ==, 0);
    teardown(&f);
}

/* Blocks until a drain of another thread has begun. */
static void get_shutdown(struct fixture *f)
{
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f->queue, WEIR_FOREVER, &work), WEIR_ESHUTDOWN);
}

TEST_EACH(queue_drainage_using_shut_down_with_drain,
          "TestQueueDrainageUsingShutDownWithDrain: the drain waits for both items")
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

TEST_EACH(no_queue_drainage_using_shut_down,
          "TestNoQueueDrainageUsingShutDown: ShutDown waits for nobody")
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

TEST_EACH(force_queue_shutdown_using_shut_down,
          "TestForceQueueShutdownUsingShutDown: ShutDown ends a drain that would wait")
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

TEST_EACH(queue_drainage_using_shut_down_with_drain_with_dirty_item,
          "TestQueueDrainageUsingShutDownWithDrainWithDirtyItem: it runs again first")
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
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
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
    CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    done(&f, &work);
    CHECK_INT(test_allocated_blocks(), ==, floor);
    free(item);
    free(name);
    add(&f, 1);
    get_and_done(&f, 1);
    teardown(&f);
}
