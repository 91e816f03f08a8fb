/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* The batch forms, and done-and-get. */

static void add_batch(struct fixture *f, const unsigned *items, size_t count)
{
    struct weir_key keys[ITEMS];
    for (size_t i = 0; i < count; i++) {
        keys[i] = key_of(f, items[i]);
    }
    CHECK_STATUS(weir_queue_add_batch(f->queue, keys, count, NULL), WEIR_OK);
}

TEST_EACH(add_batch, "add_batch is an add of each in turn, coalescing within the batch too")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 1);
    add(&f, 3);
    struct weir_work work = get(&f, 1);
    add_batch(&f, (unsigned[]){0, 1, 0, 2, 3, 1, 4}, 7);
    CHECK_COUNTS(&f, 4, 0, 1);
    get_and_done(&f, 3);
    get_and_done(&f, 0);
    get_and_done(&f, 2);
    get_and_done(&f, 4);
    CHECK_NOTHING_READY(&f);
    done(&f, &work);
    get_and_done(&f, 1);
    CHECK_NOTHING_READY(&f);
    CHECK_STATUS(weir_queue_add_batch(f.queue, NULL, 0, NULL), WEIR_OK);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(add_batch_wakes, "add_batch wakes as many sleeping consumers as it queues items")
{
    struct fixture f;
    setup(&f, kind);
    struct blocked consumers[4];
    for (unsigned i = 0; i < 4; i++) {
        block(&consumers[i], &f, run_get);
    }
    add_batch(&f, (unsigned[]){0, 1, 1, 2}, 4);
    add(&f, 3);
    unsigned sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        CHECK_STATUS(unblock(&consumers[i]), WEIR_OK);
        sum += 1u << item_of(&f, &consumers[i].work);
        done(&f, &consumers[i].work);
    }
    CHECK_INT(sum, ==, 15);
    teardown(&f);
}

TEST_EACH(add_batch_refused, "one bad key refuses the whole batch, and nothing is changed")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    size_t floor = test_allocated_bytes();
    char large[65537];
    memset(large, 0, sizeof(large));
    struct weir_key keys[] = {key_of(&f, 1), key_of(&f, 0), weir_key_bytes(large, sizeof(large))};
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 3, NULL), WEIR_ETOOBIG);
    keys[2] = weir_key_bytes(NULL, 1);
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 3, NULL), WEIR_EINVAL);
    keys[2] = weir_key_item(NULL);
    CHECK_STATUS(weir_queue_add_batch(f.queue, keys, 3, NULL), WEIR_EINVAL);
    CHECK_COUNTS(&f, 1, 0, 0);
    CHECK_INT(test_allocated_bytes(), ==, floor);
    get_and_done(&f, 0);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(get_batch, "get_batch takes what is there in order, up to the size, in rising tickets")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < 10; i++) {
        add(&f, i);
    }
    add_after(&f, 10, WEIR_MS(1));
    pass(&f, WEIR_MS(1));
    struct weir_work works[16];
    size_t count = 77;
    CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, works, 4, &count), WEIR_OK);
    CHECK_INT(count, ==, 4);
    CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, works + 4, 12, &count), WEIR_OK);
    CHECK_INT(count, ==, 7);
    CHECK_COUNTS(&f, 0, 0, 11);
    for (unsigned i = 0; i < 11; i++) {
        CHECK_INT(item_of(&f, &works[i]), ==, i);
        CHECK(i == 0 || works[i].ticket > works[i - 1].ticket);
    }
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 11), WEIR_OK);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

static void run_get_batch(void *arg)
{
    struct blocked *blocked = arg;
    struct weir_work works[8];
    size_t count = 0;
    blocked->status = weir_queue_get_batch(blocked->f->queue, WEIR_FOREVER, works, 8, &count);
    CHECK(blocked->status != WEIR_OK || count == 1);
    blocked->work = works[0];
}

TEST_EACH(get_batch_blocks, "get_batch blocks until there is one, then does not wait for more")
{
    struct fixture f;
    setup(&f, kind);
    struct blocked consumer;
    block(&consumer, &f, run_get_batch);
    add(&f, 0);
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    CHECK_INT(item_of(&f, &consumer.work), ==, 0);
    done(&f, &consumer.work);
    block(&consumer, &f, run_get_batch);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(unblock(&consumer), WEIR_ESHUTDOWN);
    teardown(&f);
}

TEST_EACH(done_batch, "done_batch ends those that are processing, dirty ones in the batch's order")
{
    struct fixture f;
    setup(&f, kind);
    struct weir_work works[5];
    for (unsigned i = 0; i < 5; i++) {
        add(&f, i);
        works[i] = get(&f, i);
    }
    add(&f, 3);
    add(&f, 1);
    done(&f, &works[2]);
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 4), WEIR_ENOTPROCESSING);
    CHECK_COUNTS(&f, 2, 0, 1);
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 4), WEIR_ENOTPROCESSING);
    CHECK_COUNTS(&f, 2, 0, 1);
    CHECK_STATUS(weir_queue_done_batch(f.queue, &works[4], 1), WEIR_OK);
    CHECK_STATUS(weir_queue_done_batch(f.queue, NULL, 0), WEIR_OK);
    get_and_done(&f, 1);
    get_and_done(&f, 3);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(done_batch_twice, "the same work twice in a batch is done once")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    struct weir_work twice[] = {work, work};
    CHECK_STATUS(weir_queue_done_batch(f.queue, twice, 2), WEIR_ENOTPROCESSING);
    CHECK_COUNTS(&f, 1, 0, 0);
    get_and_done(&f, 0);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(done_batch_wakes, "done_batch wakes consumers for what it queues again")
{
    struct fixture f;
    setup(&f, kind);
    struct weir_work works[2];
    for (unsigned i = 0; i < 2; i++) {
        add(&f, i);
        works[i] = get(&f, i);
        add(&f, i);
    }
    struct blocked consumers[2];
    block(&consumers[0], &f, run_get);
    block(&consumers[1], &f, run_get);
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 2), WEIR_OK);
    CHECK_STATUS(unblock(&consumers[0]), WEIR_OK);
    CHECK_STATUS(unblock(&consumers[1]), WEIR_OK);
    CHECK_COUNTS(&f, 0, 0, 2);
    done(&f, &consumers[0].work);
    done(&f, &consumers[1].work);
    teardown(&f);
}

TEST_EACH(done_get, "done_get ends one and hands out the next, its own where it was re-queued")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    struct weir_work first = work;
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 1);
    CHECK(work.ticket > first.ticket);
    CHECK_COUNTS(&f, 0, 0, 1);
    CHECK_STATUS(weir_queue_done(f.queue, &first), WEIR_ENOTPROCESSING);
    add(&f, 2);
    add(&f, 1);
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 2);
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 1);
    add(&f, 1);
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 1);
    done(&f, &work);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

TEST_EACH(done_get_blocks, "done_get with nothing queued has done its item and sleeps for the next")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct blocked consumer = {.work = get(&f, 0)};
    block(&consumer, &f, run_done_get);
    CHECK_COUNTS(&f, 0, 0, 0);
    add_after(&f, 1, WEIR_MS(1));
    pass(&f, WEIR_MS(1));
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    CHECK_INT(item_of(&f, &consumer.work), ==, 1);
    done(&f, &consumer.work);
    teardown(&f);
}

TEST_EACH(done_get_shutdown, "done_get after shutdown does its item; work is as it was")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_INT(item_of(&f, &work), ==, 1);
    struct weir_work before = work;
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_ESHUTDOWN);
    CHECK_INT(work.ticket, ==, before.ticket);
    CHECK_COUNTS(&f, 0, 0, 0);
    CHECK_STATUS(weir_queue_done(f.queue, &work), WEIR_ENOTPROCESSING);
    teardown(&f);
}

TEST_EACH(done_get_stale, "done_get of work that has ended does nothing and hands out nothing")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    done(&f, &work);
    struct weir_work before = work;
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &work), WEIR_ENOTPROCESSING);
    CHECK_INT(work.ticket, ==, before.ticket);
    CHECK_COUNTS(&f, 1, 0, 0);
    get_and_done(&f, 1);
    teardown(&f);
}
