/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The moment at which a queue releases an embedded item, as another queue sees it that is offered
 * the item all the time. */
#include <weir/queue.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"

#define ITEMS 200

/* What one of two queues holds is offered to the other one whenever the former releases memory,
 * which it does in the midst of its calls; an allocator may call other queues. */
static struct {
    weir_queue *from;
    weir_queue *to;
    struct weir_item items[ITEMS];
    size_t offered; /* which; ITEMS: none */
    int64_t delay_ns;
    unsigned offers;
    bool is_taken;
} pair;

static void offer(void)
{
    if (pair.offered < ITEMS && !pair.is_taken) {
        enum weir_status status =
            weir_queue_add_after(pair.to, weir_key_item(&pair.items[pair.offered]), pair.delay_ns);
        CHECK(status == WEIR_OK || status == WEIR_EBUSY);
        pair.offers++;
        pair.is_taken = status == WEIR_OK;
    }
}

static void *offering_alloc(size_t size, void *arg)
{
    (void)arg;
    return malloc(size);
}

static void *offering_resize(void *block, size_t old_size, size_t size, void *arg)
{
    (void)arg;
    void *resized = realloc(block, size);
    if (size < old_size) {
        offer();
    }
    return resized;
}

static void offering_release(void *block, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    free(block);
    offer();
}

static weir_queue *offering_queue(uint32_t flags)
{
    struct weir_queue_options options = {0};
    options.allocator =
        (struct weir_allocator){offering_alloc, offering_resize, offering_release, NULL};
    options.flags = flags;
    weir_queue *queue;
    CHECK_STATUS(weir_queue_new(&options, &queue, NULL), WEIR_OK);
    return queue;
}

static void pair_init(uint32_t flags, int64_t delay_ns)
{
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    memset(&pair, 0, sizeof(pair));
    pair.offered = ITEMS;
    pair.delay_ns = delay_ns;
    pair.from = offering_queue(flags);
    CHECK_STATUS(weir_queue_new(&options, &pair.to, NULL), WEIR_OK);
}

/* The item is the other queue's, or can be. */
static void check_moved(size_t i)
{
    struct weir_key key = weir_key_item(&pair.items[i]);
    bool was_taken;
    pair.offered = ITEMS;
    if (!pair.is_taken) {
        CHECK_STATUS(weir_queue_add_after(pair.to, key, pair.delay_ns), WEIR_OK);
    }
    CHECK_STATUS(weir_queue_cancel(pair.to, key, &was_taken), WEIR_OK);
    CHECK(was_taken);
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(pair.to, &counts), WEIR_OK);
    CHECK_INT(counts.queued + counts.waiting + counts.processing, ==, 0);
    pair.is_taken = false;
}

static void check_cancel(uint32_t flags, int64_t from_ns, int64_t to_ns)
{
    pair_init(flags, to_ns);
    for (size_t i = 0; i < ITEMS; i++) {
        struct weir_key key = weir_key_item(&pair.items[i]);
        CHECK_STATUS(weir_queue_add_after(pair.from, key, from_ns), WEIR_OK);
    }
    for (size_t i = 0; i < ITEMS; i++) {
        bool was_taken;
        pair.offered = i;
        CHECK_STATUS(weir_queue_cancel(pair.from, weir_key_item(&pair.items[i]), &was_taken),
                     WEIR_OK);
        CHECK(was_taken);
        check_moved(i);
    }
    CHECK_INT(weir_queue_len(pair.from), ==, 0);
    weir_queue_free(pair.from);
    weir_queue_free(pair.to);
}

TEST(cancel, "an item that is cancelled is not the queue's any more when another one can have it")
{
    check_cancel(0, WEIR_SECONDS(100), 0);
    CHECK_INT(pair.offers, >, 0);
    check_cancel(0, WEIR_SECONDS(100), WEIR_SECONDS(100));
    check_cancel(WEIR_QUEUE_AGES, 0, 0);
    CHECK_INT(pair.offers, >, 0);
}

static void check_drop(void (*drop)(weir_queue *queue), int64_t to_ns)
{
    for (size_t offered = 0; offered < ITEMS; offered += 7) {
        pair_init(0, to_ns);
        for (size_t i = 0; i < ITEMS; i++) {
            struct weir_key key = weir_key_item(&pair.items[i]);
            CHECK_STATUS(weir_queue_add_after(pair.from, key, i % 2 == 0 ? WEIR_SECONDS(100) : 0),
                         WEIR_OK);
        }
        pair.offered = offered;
        drop(pair.from);
        CHECK_INT(pair.offers, >, 0);
        if (drop == weir_queue_free || offered % 2 == 0) {
            check_moved(offered);
        }
        pair.offered = ITEMS;
        if (drop != weir_queue_free) {
            weir_queue_free(pair.from);
        }
        weir_queue_free(pair.to);
    }
}

TEST(free_, "so it is with all items when their queue is freed")
{
    check_drop(weir_queue_free, 0);
    check_drop(weir_queue_free, WEIR_SECONDS(100));
}

TEST(shutdown, "and with waiting ones when it is shut down")
{
    check_drop(weir_queue_shutdown, 0);
    check_drop(weir_queue_shutdown, WEIR_SECONDS(100));
}

TEST(done, "and with one that is done")
{
    for (size_t offered = 0; offered < ITEMS; offered += 7) {
        struct weir_work works[ITEMS];
        size_t count;
        pair_init(WEIR_QUEUE_AGES, 0);
        for (size_t i = 0; i < ITEMS; i++) {
            CHECK_STATUS(weir_queue_add(pair.from, weir_key_item(&pair.items[i])), WEIR_OK);
        }
        CHECK_STATUS(weir_queue_get_batch(pair.from, WEIR_FOREVER, works, ITEMS, &count), WEIR_OK);
        CHECK_INT(count, ==, ITEMS);
        for (size_t i = 0; i < ITEMS; i++) {
            pair.offered = i == offered ? offered : pair.offered;
            CHECK_STATUS(weir_queue_done(pair.from, &works[i]), WEIR_OK);
        }
        check_moved(offered);
        weir_queue_free(pair.from);
        weir_queue_free(pair.to);
    }
}

/* An item goes to and fro between two queues. Each takes it as soon as the other one has released
 * it. */
#define ROUNDS 500

struct player {
    weir_queue *queue;
    struct weir_item *item;
    bool cancels; /* else started and done */
};

/* The other one must have taken the item before this one may want it back: two that take a free
 * item at once are nobody's promise. Relaxed, so that only the queues order what they do. */
static _Atomic(struct player *) holder;

static void take_and_release(struct player *player)
{
    struct weir_key key = weir_key_item(player->item);
    enum weir_status status = weir_queue_add(player->queue, key);
    while (status == WEIR_EBUSY) {
        (void)sched_yield();
        status = weir_queue_add(player->queue, key);
    }
    CHECK_STATUS(status, WEIR_OK);
    atomic_store_explicit(&holder, player, memory_order_relaxed);
    if (player->cancels) {
        bool was_taken;
        CHECK_STATUS(weir_queue_cancel(player->queue, key, &was_taken), WEIR_OK);
        CHECK(was_taken);
    } else {
        struct weir_work work;
        CHECK_STATUS(weir_queue_get(player->queue, 0, &work), WEIR_OK);
        CHECK_STATUS(weir_queue_done(player->queue, &work), WEIR_OK);
    }
}

static void play(void *arg)
{
    struct player *self = arg;
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load_explicit(&holder, memory_order_relaxed) == self) {
            (void)sched_yield();
        }
        take_and_release(self);
    }
}

static void check_players(uint32_t flags, bool cancels, bool other_cancels)
{
    struct weir_item item = {0};
    struct player players[2] = {{.item = &item, .cancels = cancels},
                                {.item = &item, .cancels = other_cancels}};
    for (size_t i = 0; i < 2; i++) {
        struct weir_queue_options options = {0};
        options.allocator = *test_allocator();
        options.flags = flags;
        CHECK_STATUS(weir_queue_new(&options, &players[i].queue, NULL), WEIR_OK);
    }
    atomic_store(&holder, &players[1]);
    struct test_thread *thread = test_start(play, &players[0]);
    play(&players[1]);
    test_join(thread);
    weir_queue_free(players[0].queue);
    weir_queue_free(players[1].queue);
}

TEST(to_and_fro, "two threads with a queue each can pass an item on by trying until it is released")
{
    static const uint32_t flags[] = {0, WEIR_QUEUE_AGES, WEIR_QUEUE_PRIORITIES};
    for (size_t i = 0; i < 3; i++) {
        check_players(flags[i], false, false);
        check_players(flags[i], true, false);
        check_players(flags[i], true, true);
    }
}
