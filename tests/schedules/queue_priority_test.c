/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "world.h"

/* Queues with priorities, and the touch callback, in every order of their threads. */

static unsigned touches;

/* With a lock held, the call from within would never return. */
static void touch(struct weir_key key, void *arg)
{
    (void)key;
    (void)arg;
    touches++;
    (void)weir_queue_len(world.queue);
}

/* With a callback, or else one that takes short cuts unless it has aging. */
static void init_ranked(bool is_embedded, int64_t aging_ns, bool is_touched)
{
    world_init_on(false, is_embedded);
    weir_queue_free(world.queue);
    touches = 0;
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.clock = world.clock;
    options.flags = WEIR_QUEUE_PRIORITIES;
    options.aging_ns = aging_ns;
    options.touch = is_touched ? touch : NULL;
    CHECK_STATUS(weir_queue_new(&options, &world.queue, NULL), WEIR_OK);
}

static void add_at(int number, int32_t priority, int64_t delay_ns)
{
    explorer_note("adds %c at %d", 'a' + number, (int)priority);
    unsigned add = world_ask();
    struct weir_add_options options = {0};
    options.priority = priority;
    options.delay_ns = delay_ns;
    enum weir_status status = weir_queue_add_with(world.queue, world_key(number), &options, NULL);
    world_asked(number, add, status);
    CHECK_STATUS(status, WEIR_OK);
}

/* Each of the two adds one item that the other one adds too. */
static void produce(void *arg)
{
    if (*(const int *)arg == 0) {
        add_at(0, 5, 0);
        add_at(1, 1, 0);
        add_at(2, 3, 0);
    } else {
        add_at(2, -2, 0);
        add_at(0, 0, 0);
        add_at(1, 2, 0);
    }
}

static void same_order(void *arg)
{
    struct weiri_thread producers[2];
    init_ranked(*(const bool *)arg, 0, true);
    world_start_two(producers, "producer", produce);
    world_join_two(producers);
    static const int want[] = {2, 0, 1};
    for (int i = 0; i < 3; i++) {
        struct weir_work work;
        CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_OK);
        CHECK_INT(world_number(&work), ==, want[i]);
        world_process(&work);
    }
    CHECK_INT(touches, ==, 3);
    world_fini();
}

TEST(order, "whichever producer comes first, items come out by the most urgent priority asked")
{
    bool is_embedded = false;
    explorer_must_pass(same_order, &is_embedded, NULL);
    is_embedded = true;
    explorer_must_pass(same_order, &is_embedded, NULL);
}

/* Two dirty the item that the scenario holds, while a third thread ends its processing. */
static void dirty_it(void *arg)
{
    add_at(0, *(const int *)arg == 0 ? 4 : -4, 0);
}

static void dirty_beside_done(void *arg)
{
    struct weiri_thread producers[2];
    init_ranked(false, 0, *(const bool *)arg);
    add_at(0, 0, 0);
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_OK);
    world_begin(0);
    world_start_two(producers, "producer", dirty_it);
    world_end(0);
    CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
    world_join_two(producers);
    /* Queued before it: only an item that is less urgent is behind it. */
    add_at(1, -4, 0);
    add_at(2, -5, 0);
    static const int want[] = {2, 0, 1};
    CHECK_INT(weir_queue_len(world.queue), ==, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_OK);
        CHECK_INT(world_number(&work), ==, want[i]);
        world_process(&work);
    }
    world_fini();
}

TEST(dirty, "what is asked while done is under way comes back at the most urgent priority")
{
    bool is_touched = false;
    explorer_must_pass(dirty_beside_done, &is_touched, NULL);
    is_touched = true;
    explorer_must_pass(dirty_beside_done, &is_touched, NULL);
}

static void produce_mixed(void *arg)
{
    int own = *(const int *)arg;
    add_at(0, own, 0);
    add_at(1 + own, -own, 10);
    add_at(0, -1, 0);
}

static void work_beside(void *arg)
{
    const int64_t aging_ns = *(const int64_t *)arg;
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    init_ranked(aging_ns != 0, aging_ns, aging_ns != 0);
    world_start_two(consumers, "consumer", world_consume);
    world_start_two(producers, "producer", produce_mixed);
    world_join_two(producers);
    world_end_consumers(consumers);
}

TEST(promises,
     "with priorities, delays and consumers at work no add is lost and no item handed out twice")
{
    int64_t aging_ns = 0;
    explorer_must_pass(work_beside, &aging_ns, NULL);
    aging_ns = 3;
    explorer_must_pass(work_beside, &aging_ns, NULL);
}

static void cancel_first(void *arg)
{
    (void)arg;
    bool was_taken = false;
    CHECK_STATUS(weir_queue_cancel(world.queue, world_key(0), &was_taken), WEIR_OK);
    explorer_note("cancels a: %d", was_taken);
}

/* A cancel takes one of them out of the heap's middle, or comes too late. */
static void cancel_beside_get(void *arg)
{
    struct weiri_thread threads[2];
    (void)arg;
    init_ranked(true, 0, false);
    add_at(1, -1, 0);
    add_at(0, 0, 0);
    add_at(2, 1, 0);
    add_at(3, 2, 0);
    world_start(&threads[0], "canceller", cancel_first, NULL);
    world_start(&threads[1], "raiser", dirty_it, &(int){1});
    int last = -1;
    for (int i = 0; i < 3; i++) {
        struct weir_work work;
        CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_OK);
        int number = world_number(&work);
        world_begin(number);
        world_end(number);
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
        if (number != 0) {
            CHECK(last == -1 ? number == 1 : number == last + 1);
            last = number;
        }
    }
    world_join_two(threads);
    struct weir_work work;
    while (weir_queue_get(world.queue, 0, &work) == WEIR_OK) {
        world_begin(world_number(&work));
        world_end(world_number(&work));
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
    }
    CHECK(world.runs[1] == 1 && world.runs[2] == 1 && world.runs[3] == 1);
    CHECK_INT(world.runs[0], <=, 2);
    world_fini();
}

TEST(cancel, "a cancel and a raise beside gets leave the order of the others")
{
    explorer_must_pass(cancel_beside_get, NULL, NULL);
}
