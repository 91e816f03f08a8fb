/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The add of an embedded item that is queued or dirty already takes no lock
 * (weiri_item_coalesces). Here nearly every add is one: many threads add a few items as fast as
 * they can, and each waits again and again until what it wrote before an add has been read by a
 * run. An add that got lost shows at once: the queue has become empty, and the number is still
 * unread. Items named by keys are added beside others that come and go in bursts, so that records
 * are used for one key after the other, and tables grow and shrink. */

#define _GNU_SOURCE /* what stress/rounds.h wants */

#include <sched.h>

#include <weir/queue.h>

#include "stress/rounds.h"

#define ADDERS 8u
#define TAKERS 8u
#define ITEMS_MAX 16u
#define ADDS ROUNDS_WORK(10000u)
/* Of other keys: how many come at once, at most. */
#define BURST_MAX 300u

/* What is written before an add lies on lines of its own, several: that keeps the last of them back
 * in the writer's processor for a while, unless something makes it wait for them. */
#define LINES 8u
struct line {
    _Alignas(64) _Atomic uint32_t written;
};

struct number {
    struct line lines[LINES];
    _Atomic uint32_t seen;
};

struct hot {
    struct weir_item item; /* first: their addresses are the same */
    _Atomic uint32_t worker;
    uint64_t runs; /* ordered by the queue alone */
    struct number numbers[ADDERS];
};

struct adder {
    unsigned id;
    uint64_t random;
    uint32_t written[ITEMS_MAX];
};

static struct {
    weir_queue *queue;
    struct hot items[ITEMS_MAX];
    struct adder adders[ADDERS];
    unsigned count;        /* of the items in use */
    unsigned adders_count; /* of the adders */
    unsigned waiting;      /* an adder waits once in so many adds */
    unsigned bursts;       /* and brings other keys, where the items are named by keys */
    bool is_keyed;
    bool is_shut_down_under_way;
} hot;

/* Keys of the items are one byte, those of others more. */
static char names[ITEMS_MAX];

static struct weir_key key_of(unsigned index)
{
    return hot.is_keyed ? weir_key_bytes(&names[index], 1) : weir_key_item(&hot.items[index].item);
}

/* NULL: it is another key's. */
static struct hot *item_of(const struct weir_work *work)
{
    if (!hot.is_keyed) {
        return (struct hot *)work->item;
    }
    return work->key.size == 1 ? &hot.items[(unsigned char)*(const char *)work->key.data] : NULL;
}

static enum weir_status add_others(struct adder *adder)
{
    enum weir_status status = WEIR_OK;
    uint64_t count = below(&adder->random, BURST_MAX);
    uint64_t first = below(&adder->random, UINT32_MAX);
    for (uint64_t i = 0; i < count && status == WEIR_OK; i++) {
        uint64_t name = first + i;
        status = weir_queue_add(hot.queue, weir_key_bytes(&name, sizeof(name)));
    }
    return status;
}

static void write_number(struct number *number, uint32_t value)
{
    for (unsigned i = 0; i < LINES; i++) {
        atomic_store_explicit(&number->lines[i].written, value, memory_order_relaxed);
    }
}

/* The oldest of its lines, the last written one first. */
static uint32_t read_number(const struct number *number)
{
    uint32_t oldest = UINT32_MAX;
    for (unsigned i = LINES; i-- > 0;) {
        uint32_t value = atomic_load_explicit(&number->lines[i].written, memory_order_relaxed);
        oldest = value < oldest ? value : oldest;
    }
    return oldest;
}

/* Until a processing has read what was written before an add that was accepted. */
static void wait_until_seen(const struct adder *adder, unsigned index)
{
    struct number *number = &hot.items[index].numbers[adder->id];
    uint32_t accepted = adder->written[index];
    while (atomic_load_explicit(&number->seen, memory_order_relaxed) < accepted) {
        struct weir_queue_counts counts;
        CHECK_STATUS(weir_queue_count(hot.queue, &counts), WEIR_OK);
        if (counts.queued + counts.processing == 0) {
            CHECK_INT(atomic_load_explicit(&number->seen, memory_order_relaxed), >=, accepted);
        }
        (void)sched_yield();
    }
}

static void add_hot(void *arg)
{
    struct adder *adder = arg;
    for (unsigned i = 0; i < ADDS; i++) {
        unsigned index = (unsigned)below(&adder->random, hot.count);
        uint32_t number = adder->written[index] + 1;
        write_number(&hot.items[index].numbers[adder->id], number);
        enum weir_status status = weir_queue_add(hot.queue, key_of(index));
        if (status == WEIR_OK && hot.is_keyed && one_in(&adder->random, hot.bursts)) {
            adder->written[index] = number;
            status = add_others(adder);
        }
        if (status == WEIR_ESHUTDOWN && hot.is_shut_down_under_way) {
            return;
        }
        CHECK_STATUS(status, WEIR_OK);
        adder->written[index] = number;
        if (one_in(&adder->random, hot.waiting)) {
            wait_until_seen(adder, index);
        }
        if (hot.is_shut_down_under_way && adder->id == 0 && one_in(&adder->random, ADDS)) {
            weir_queue_shutdown(hot.queue);
        }
    }
}

static void take(struct hot *item, uint32_t self)
{
    for (unsigned i = 0; i < hot.adders_count; i++) {
        struct number *number = &item->numbers[i];
        atomic_store_explicit(&number->seen, read_number(number), memory_order_relaxed);
    }
    CHECK_INT(atomic_load_explicit(&item->worker, memory_order_relaxed), ==, 0);
    atomic_store_explicit(&item->worker, self, memory_order_relaxed);
    item->runs++;
    CHECK_INT(atomic_load_explicit(&item->worker, memory_order_relaxed), ==, self);
    atomic_store_explicit(&item->worker, 0, memory_order_relaxed);
}

static void take_hot(void *arg)
{
    uint32_t self = *(const uint32_t *)arg;
    struct weir_work work;
    enum weir_status status = weir_queue_get(hot.queue, WEIR_FOREVER, &work);
    while (status == WEIR_OK) {
        struct hot *item = item_of(&work);
        if (item != NULL) {
            take(item, self);
        }
        if (self % 2 == 0) {
            status = weir_queue_done_get(hot.queue, WEIR_FOREVER, &work);
        } else {
            CHECK_STATUS(weir_queue_done(hot.queue, &work), WEIR_OK);
            status = weir_queue_get(hot.queue, WEIR_FOREVER, &work);
        }
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

static void check_hot(void)
{
    for (unsigned index = 0; index < hot.count; index++) {
        struct hot *item = &hot.items[index];
        uint64_t adds = 0;
        for (unsigned i = 0; i < ADDERS; i++) {
            CHECK_INT(atomic_load(&item->numbers[i].seen), >=, hot.adders[i].written[index]);
            adds += hot.adders[i].written[index];
        }
        CHECK_INT(item->runs, <=, adds);
    }
}

/* The queue's maker adds too. */
static void run_round(uint64_t number, bool is_keyed)
{
    memset(&hot, 0, sizeof(hot));
    uint64_t random = test_random();
    hot.count = (unsigned)below(&random, ITEMS_MAX) + 1;
    hot.waiting = 8U << below(&random, 6);
    hot.bursts = 64U << below(&random, 6);
    hot.is_keyed = is_keyed;
    hot.is_shut_down_under_way = number % 4 == 3;
    hot.adders_count = number % 2 == 0 ? 1 : ADDERS;
    for (unsigned i = 0; i < ITEMS_MAX; i++) {
        names[i] = (char)i;
    }
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_queue_new(&options, &hot.queue, NULL), WEIR_OK);
    /* Every second time one thread of each kind, so that neither has to give way to its like. */
    unsigned takers = number % 2 == 0 ? 1 : TAKERS;
    struct test_thread *threads[ADDERS + TAKERS];
    uint32_t selves[TAKERS];
    for (unsigned i = 0; i < ADDERS; i++) {
        hot.adders[i].id = i;
        hot.adders[i].random = test_random();
    }
    for (unsigned i = 0; i < takers; i++) {
        selves[i] = i + 1;
        threads[ADDERS + i] = test_start(take_hot, &selves[i]);
    }
    for (unsigned i = 1; i < hot.adders_count; i++) {
        threads[i] = test_start(add_hot, &hot.adders[i]);
    }
    add_hot(&hot.adders[0]);
    for (unsigned i = 1; i < hot.adders_count; i++) {
        test_join(threads[i]);
    }
    CHECK_STATUS(weir_queue_shutdown_drain(hot.queue, WEIR_FOREVER), WEIR_OK);
    for (unsigned i = 0; i < takers; i++) {
        test_join(threads[ADDERS + i]);
    }
    check_hot();
    weir_queue_free(hot.queue);
}

static void run_rounds(bool is_keyed)
{
    struct rounds rounds;
    rounds_init(&rounds, 8);
    while (rounds_go_on(&rounds)) {
        run_round(rounds.done, is_keyed);
        rounds_end_one(&rounds);
    }
    rounds_fini(&rounds);
}

TEST(coalesced, "what was written before an add that coalesces is read by the run that covers it")
{
    run_rounds(false);
}

TEST(coalesced_keys, "the same of items named by keys, beside others that come and go")
{
    run_rounds(true);
}
