/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* Lack of memory: a call that fails has changed nothing, and what takes things out never fails. The
 * model test (tests/models) does the same with random sequences. */

typedef enum weir_status add_fn(struct fixture *f, unsigned item);

static enum weir_status call_add(struct fixture *f, unsigned item)
{
    return weir_queue_add(f->queue, key_of(f, item));
}

static enum weir_status call_add_after(struct fixture *f, unsigned item)
{
    return weir_queue_add_after(f->queue, key_of(f, item), WEIR_MS(1) + item);
}

static enum weir_status call_add_with(struct fixture *f, unsigned item)
{
    struct weir_add_options options = {0};
    options.flags = item % 2 == 0 ? WEIR_ADD_SUPERSEDE : WEIR_ADD_MOVE;
    options.delay_ns = item % 2 == 0 ? 0 : WEIR_MS(1);
    return weir_queue_add_with(f->queue, key_of(f, item), &options, NULL);
}

static enum weir_status call_add_rate_limited(struct fixture *f, unsigned item)
{
    return weir_queue_add_rate_limited(f->queue, key_of(f, item));
}

/* Adds five items, one of them twice. */
static enum weir_status call_add_batch(struct fixture *f, unsigned item)
{
    struct weir_key keys[6];
    for (unsigned i = 0; i < 6; i++) {
        keys[i] = key_of(f, (item + i % 5) % ITEMS);
    }
    return weir_queue_add_batch(f->queue, keys, 6, NULL);
}

static add_fn *const add_calls[] = {call_add, call_add_after, call_add_with, call_add_rate_limited,
                                    call_add_batch};

#define ADD_CALLS (sizeof(add_calls) / sizeof(add_calls[0]))

static struct weir_queue_counts counts_of(struct fixture *f)
{
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(f->queue, &counts), WEIR_OK);
    return counts;
}

static uint64_t requeues_of(struct fixture *f, unsigned item)
{
    uint64_t count = 0;
    CHECK_STATUS(weir_queue_num_requeues(f->queue, key_of(f, item), &count), WEIR_OK);
    return count;
}

/* Makes the call with one allocation after the other failing until it succeeds. Returns how often
 * it failed. */
static unsigned call_until_it_succeeds(struct fixture *f, add_fn *call, unsigned item, bool sticky)
{
    for (unsigned nth = 1;; nth++) {
        struct weir_queue_counts before = counts_of(f);
        uint64_t requeues = requeues_of(f, item);
        size_t blocks = test_allocated_blocks();
        test_fail_allocation(nth, sticky);
        enum weir_status status = call(f, item);
        test_fail_allocation(0, false);
        if (status == WEIR_OK) {
            return nth - 1;
        }
        CHECK_STATUS(status, WEIR_ENOMEM);
        struct weir_queue_counts after = counts_of(f);
        CHECK_INT(after.queued, ==, before.queued);
        CHECK_INT(after.waiting, ==, before.waiting);
        CHECK_INT(after.processing, ==, before.processing);
        CHECK_INT(requeues_of(f, item), ==, requeues);
        /* Room that was made for it may stay, to be used next time, a few blocks at most. */
        CHECK_INT(test_allocated_blocks(), <=, blocks + 4);
    }
}

TEST_EACH(adds, "every form of add, from an empty queue through any growth, all or nothing")
{
    for (size_t call = 0; call < ADD_CALLS; call++) {
        struct fixture f;
        setup(&f, kind);
        unsigned failed = 0;
        for (unsigned i = 0; i < ITEMS; i++) {
            failed += call_until_it_succeeds(&f, add_calls[call], i, i % 2 == 0);
        }
        CHECK_INT(failed, >, 1);
        /* Nothing came twice, nothing is missing. */
        pass(&f, WEIR_SECONDS(1));
        CHECK_COUNTS(&f, ITEMS, 0, 0);
        bool seen[ITEMS] = {false};
        struct weir_work work;
        while (weir_queue_get(f.queue, 0, &work) == WEIR_OK) {
            unsigned item = item_of(&f, &work);
            CHECK(!seen[item]);
            seen[item] = true;
            done(&f, &work);
        }
        CHECK_COUNTS(&f, 0, 0, 0);
        teardown(&f);
    }
}

TEST_EACH(adds_processing,
          "the same for items that are processing, whose done may not fail after it")
{
    for (size_t call = 0; call < ADD_CALLS; call++) {
        struct fixture f;
        setup(&f, kind);
        static struct weir_work works[ITEMS];
        for (unsigned i = 0; i < ITEMS; i++) {
            add(&f, i);
            works[i] = get(&f, i);
        }
        for (unsigned i = 0; i < ITEMS; i++) {
            (void)call_until_it_succeeds(&f, add_calls[call], i, true);
        }
        test_fail_allocation(1, true);
        pass(&f, WEIR_SECONDS(1));
        for (unsigned i = 0; i < ITEMS; i++) {
            done(&f, &works[i]);
        }
        CHECK_COUNTS(&f, ITEMS, 0, 0);
        for (unsigned i = 0; i < ITEMS; i++) {
            get_and_done(&f, i);
        }
        test_fail_allocation(0, false);
        teardown(&f);
    }
}

TEST_EACH(gets, "every form of get hands out what is queued without any memory")
{
    struct fixture f;
    setup(&f, kind);
    static struct weir_work works[ITEMS];
    for (unsigned i = 0; i < ITEMS; i++) {
        add(&f, i);
    }
    test_fail_allocation(1, true);
    for (unsigned i = 0; i < ITEMS; i += 4) {
        size_t count = 0;
        CHECK_STATUS(weir_queue_get(f.queue, WEIR_FOREVER, &works[i]), WEIR_OK);
        CHECK_STATUS(weir_queue_get(f.queue, 0, &works[i + 1]), WEIR_OK);
        CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, &works[i + 2], 2, &count),
                     WEIR_OK);
        CHECK_INT(count, ==, 2);
        CHECK_COUNTS(&f, ITEMS - i - 4, 0, i + 4);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        CHECK_INT(item_of(&f, &works[i]), ==, i);
    }
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, ITEMS), WEIR_OK);
    CHECK_COUNTS(&f, 0, 0, 0);
    test_fail_allocation(0, false);
    teardown(&f);
}

TEST_EACH(taking_out, "done, done_get, cancel, forget, time and shutdown work without any memory")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < ITEMS; i++) {
        add(&f, i);
        add_after(&f, i, WEIR_MS(1) + i);
    }
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    test_fail_allocation(1, true);
    struct weir_work works[ITEMS];
    size_t count;
    CHECK_STATUS(weir_queue_get_batch(f.queue, WEIR_FOREVER, works, 8, &count), WEIR_OK);
    CHECK_INT(count, ==, 8);
    pass(&f, WEIR_MS(2)); /* those become dirty */
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, 4), WEIR_OK);
    CHECK_STATUS(weir_queue_done_get(f.queue, WEIR_FOREVER, &works[4]), WEIR_OK);
    CHECK_INT(item_of(&f, &works[4]), ==, 8);
    for (unsigned i = 5; i < 8; i++) {
        done(&f, &works[i]);
    }
    CHECK_COUNTS(&f, ITEMS - 1, 0, 1);
    CHECK(cancel(&f, 100));
    CHECK_STATUS(weir_queue_forget(f.queue, key_of(&f, 0)), WEIR_OK);
    CHECK_INT(requeues_of(&f, 0), ==, 0);
    weir_queue_shutdown(f.queue);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, 0), WEIR_OK);
    enum weir_status status = WEIR_OK;
    unsigned ended = 0;
    for (struct weir_work work = works[4]; status == WEIR_OK; ended++) {
        status = weir_queue_done_get(f.queue, WEIR_FOREVER, &work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
    CHECK_INT(ended, ==, ITEMS - 1);
    CHECK_STATUS(weir_queue_shutdown_drain(f.queue, WEIR_FOREVER), WEIR_OK);
    test_fail_allocation(0, false);
    teardown(&f);
}

TEST_EACH(sleeping, "a consumer and a drain sleep and wake without any memory")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    struct weir_work work = get(&f, 0);
    add(&f, 0); /* dirty: its place in the queue is reserved */
    test_fail_allocation(1, true);
    struct blocked consumer;
    block(&consumer, &f, run_get);
    done(&f, &work);
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    struct blocked drainer;
    block(&drainer, &f, run_drain);
    done(&f, &consumer.work);
    CHECK_STATUS(unblock(&drainer), WEIR_OK);
    test_fail_allocation(0, false);
    teardown(&f);
}

/* A queue's whole life, each of whose allocations the harness lets fail in turn. */
TEST_EACH_WITH(life, "a queue's whole life with every allocation failing, once and from then on",
               TEST_FLAG_OOM)
{
    static struct fixture f;
    memset(&f, 0, sizeof(f));
    f.kind = kind;
    for (unsigned i = 0; i < ITEMS; i++) {
        (void)snprintf(f.names[i], sizeof(f.names[i]), "%s%u",
                       kind == LONG_KEY ? "a-name-that-fits-into-no-record-of-any-table/" : "", i);
    }
    if (CHECK_OR_OOM(weir_clock_manual_new(START, test_allocator(), &f.clock))) {
        CHECK(f.clock == NULL);
        return;
    }
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.clock = f.clock;
    if (CHECK_OR_OOM(weir_queue_new(&options, &f.queue, NULL))) {
        CHECK(f.queue == NULL);
        weir_clock_free(f.clock);
        return;
    }
    size_t queued = 0;
    for (unsigned i = 0; i < 40; i++) {
        size_t waiting = counts_of(&f).waiting;
        if (CHECK_OR_OOM(add_calls[i % ADD_CALLS](&f, i))) {
            CHECK_INT(counts_of(&f).queued, ==, queued);
            CHECK_INT(counts_of(&f).waiting, ==, waiting);
            break;
        }
        queued = counts_of(&f).queued;
        if (i % 3 == 2) {
            struct weir_work work;
            CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_OK);
            done(&f, &work);
            queued--;
        }
    }
    pass(&f, WEIR_MS(1));
    weir_queue_shutdown(f.queue);
    teardown(&f);
}
