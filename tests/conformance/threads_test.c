/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

#include <stdatomic.h>

/* What holds for an item while many threads add and process it at once: it is never in two hands,
 * every add is covered by a processing that began after it, none causes two, and one processing
 * follows the other.
 *
 * However the system spreads the threads, items are added while they are in a hand: their consumers
 * do that themselves, every other time, and some go on getting before they are done with what they
 * have. */

enum {
    KEYS = 12,
    PRODUCERS = 3,
    CONSUMERS = 4,
    ADDS = 3000,
    ROUNDS = 5
};

/* What the consumers know of an item; plain, for there is one of them at a time. The race detectors
 * watch it too. */
struct known {
    uint32_t runs;
    uint32_t seen; /* of asked, at the beginning of the last processing */
};

struct shared {
    struct fixture f;
    _Atomic unsigned ready;       /* threads that have come so far: all begin together */
    _Atomic uint32_t asked[KEYS]; /* adds that were begun */
    _Atomic bool in_hand[KEYS];
    struct known known[KEYS];
};

struct actor {
    struct shared *shared;
    unsigned number;
};

static void wait_for_all(struct shared *shared)
{
    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->ready) < PRODUCERS + CONSUMERS) {
        CHECK_INT(weir_queue_len(shared->f.queue), <=, KEYS);
    }
}

static void produce(void *arg)
{
    struct actor *actor = arg;
    struct shared *shared = actor->shared;
    wait_for_all(shared);
    for (unsigned i = 0; i < ADDS; i++) {
        unsigned item = (i + actor->number * 5) % KEYS;
        atomic_fetch_add(&shared->asked[item], 1);
        if (i % 3 == 0) {
            struct weir_key key = key_of(&shared->f, item);
            CHECK_STATUS(weir_queue_add_batch(shared->f.queue, &key, 1, NULL), WEIR_OK);
        } else {
            add_after(&shared->f, item, i % 3 - 1);
        }
        if (i % 64 == 0) {
            pass(&shared->f, 1);
        }
    }
}

/* Nobody else reads what was asked for an item in hand, so a refused add can be taken back. */
static void add_in_hand(struct shared *shared, unsigned item)
{
    atomic_fetch_add(&shared->asked[item], 1);
    enum weir_status status = weir_queue_add(shared->f.queue, key_of(&shared->f, item));
    if (status != WEIR_OK) {
        CHECK_STATUS(status, WEIR_ESHUTDOWN);
        atomic_fetch_sub(&shared->asked[item], 1);
    }
}

static void begin(struct shared *shared, const struct weir_work *work)
{
    unsigned item = item_of(&shared->f, work);
    CHECK(!atomic_exchange(&shared->in_hand[item], true));
    struct known *known = &shared->known[item];
    uint32_t asked = atomic_load(&shared->asked[item]);
    CHECK_INT(asked, >=, known->seen);
    known->seen = asked;
    known->runs++;
    if (known->runs % 2 == 0) {
        add_in_hand(shared, item);
    }
}

static void end(struct shared *shared, const struct weir_work *work)
{
    CHECK(atomic_exchange(&shared->in_hand[item_of(&shared->f, work)], false));
}

/* By done_get, one after the other. */
static enum weir_status consume_singly(struct shared *shared)
{
    struct weir_work work;
    enum weir_status status = weir_queue_get(shared->f.queue, WEIR_FOREVER, &work);
    while (status == WEIR_OK) {
        begin(shared, &work);
        end(shared, &work);
        status = weir_queue_done_get(shared->f.queue, WEIR_FOREVER, &work);
    }
    return status;
}

/* Several at once, and more of them before the first are done. */
static enum weir_status consume_greedily(struct shared *shared, size_t size)
{
    struct weir_work works[KEYS];
    size_t count = 0;
    enum weir_status status;
    while ((status = weir_queue_get_batch(shared->f.queue, WEIR_FOREVER, works, size, &count)) ==
           WEIR_OK) {
        for (size_t i = 0; i < count; i++) {
            begin(shared, &works[i]);
        }
        while (count < KEYS && weir_queue_get(shared->f.queue, 0, &works[count]) == WEIR_OK) {
            begin(shared, &works[count++]);
        }
        for (size_t i = 0; i < count; i++) {
            end(shared, &works[i]);
        }
        CHECK_STATUS(weir_queue_done_batch(shared->f.queue, works, count), WEIR_OK);
    }
    return status;
}

static void consume(void *arg)
{
    struct actor *actor = arg;
    wait_for_all(actor->shared);
    enum weir_status status = actor->number % 2 == 0
                                  ? consume_singly(actor->shared)
                                  : consume_greedily(actor->shared, actor->number);
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

static void play(struct shared *shared, enum kind kind)
{
    memset(shared, 0, sizeof(*shared));
    setup(&shared->f, kind);
    struct actor actors[PRODUCERS + CONSUMERS];
    struct test_thread *threads[PRODUCERS + CONSUMERS];
    for (unsigned i = 0; i < PRODUCERS + CONSUMERS; i++) {
        actors[i] = (struct actor){shared, i};
        threads[i] = test_start(i < PRODUCERS ? produce : consume, &actors[i]);
    }
    for (unsigned i = 0; i < PRODUCERS; i++) {
        test_join(threads[i]);
    }
    pass(&shared->f, 1); /* what waits is due now */
    CHECK_STATUS(weir_queue_shutdown_drain(shared->f.queue, WEIR_FOREVER), WEIR_OK);
    for (unsigned i = PRODUCERS; i < PRODUCERS + CONSUMERS; i++) {
        test_join(threads[i]);
    }
    for (unsigned item = 0; item < KEYS; item++) {
        CHECK_INT(shared->known[item].seen, ==, atomic_load(&shared->asked[item]));
        CHECK_INT(shared->known[item].runs, <=, atomic_load(&shared->asked[item]));
    }
    CHECK_COUNTS(&shared->f, 0, 0, 0);
    teardown(&shared->f);
}

TEST_EACH(one_hand, "an item is in one hand at a time; each add is covered, none processed twice")
{
    static struct shared shared;
    for (unsigned round = 0; round < ROUNDS; round++) {
        play(&shared, kind);
    }
}

TEST_EACH(no_thread, "a queue has no thread of its own, whatever it is made with and waits for")
{
    struct fixture f;
    unsigned threads = test_thread_count();
    setup(&f, kind);
    add_after(&f, 0, WEIR_SECONDS(1));
    struct blocked consumer;
    block(&consumer, &f, run_get);
    CHECK_INT(test_thread_count(), ==, threads + 1);
    pass(&f, WEIR_SECONDS(1));
    CHECK_STATUS(unblock(&consumer), WEIR_OK);
    done(&f, &consumer.work);
    CHECK_INT(test_thread_count(), ==, threads);
    teardown(&f);
}
