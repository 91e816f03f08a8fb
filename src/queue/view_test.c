/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/view.h"

#include <stdio.h>

#include "queue/internal.h"
#include "support/harness.h"

/* What an add sees without the lock. Threads: tests/schedules/queue_view_test.c, and
 * tests/stress/joins_test.c. */

#define MARK 8u
#define SEED 7
#define STRIPES 2

static struct weir_key name_of(unsigned number, char buffer[16])
{
    return weir_key_bytes(buffer, (size_t)snprintf(buffer, 16, "key %u", number));
}

static struct weiri_view *init(struct weiri_table *table)
{
    weiri_table_init(table, SEED);
    struct weiri_view *view = weiri_table_show(table, test_allocator(), STRIPES);
    CHECK(view != NULL);
    return view;
}

static struct weir_item *put(struct weiri_table *table, struct weir_key key)
{
    struct weir_item *item = weiri_table_intern(table, test_allocator(), key);
    CHECK(item != NULL);
    weiri_item_set(item, MARK, WEIRI_QUEUED);
    return item;
}

static void take_out(struct weiri_table *table, struct weir_item *item)
{
    weiri_item_free(item);
    weiri_table_remove(table, test_allocator(), item);
}

static void put_many(struct weiri_table *table, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        char buffer[16];
        (void)put(table, name_of(i, buffer));
    }
}

static void take_out_many(struct weiri_table *table, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        char buffer[16];
        take_out(table, weiri_table_find(table, name_of(i, buffer)));
    }
}

static bool is_seen(struct weiri_view *view, unsigned number)
{
    char buffer[16];
    return weiri_view_joins(view, name_of(number, buffer), MARK);
}

TEST(places, "an item is seen that is queued or dirty, of its own queue, and no other")
{
    struct weiri_table table;
    struct weiri_view *view = init(&table);
    struct weir_key key = weir_key_bytes("a", 1);
    CHECK(!weiri_view_joins(view, key, MARK)); /* there are no slots */
    struct weir_item *item = put(&table, key);
    CHECK(weiri_view_joins(view, key, MARK));
    CHECK(!weiri_view_joins(view, key, MARK * 2));
    CHECK(!weiri_view_joins(view, weir_key_bytes("b", 1), MARK));
    weiri_item_set(item, MARK, WEIRI_PROCESSING);
    CHECK(!weiri_view_joins(view, key, MARK));
    weiri_item_set(item, MARK, WEIRI_DIRTY);
    CHECK(weiri_view_joins(view, key, MARK));
    weiri_item_set(item, MARK, WEIRI_IDLE); /* it waits */
    CHECK(!weiri_view_joins(view, key, MARK));
    take_out(&table, item);
    CHECK(!weiri_view_joins(view, key, MARK));
    weiri_table_fini(&table, test_allocator());
}

TEST(keys, "keys of every size are told apart by all their bytes and by their size")
{
    struct weiri_table table;
    struct weiri_view *view = init(&table);
    char bytes[WEIRI_RECORD_INLINE];
    memset(bytes, 0, sizeof(bytes));
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        struct weir_key key = weir_key_bytes(bytes, size);
        CHECK(!weiri_view_joins(view, key, MARK));
        struct weir_item *item = put(&table, key);
        CHECK(weiri_view_joins(view, key, MARK));
        for (size_t i = 0; i < size; i++) {
            bytes[i] = 1;
            CHECK(!weiri_view_joins(view, key, MARK));
            bytes[i] = 0;
        }
        take_out(&table, item);
    }
    weiri_table_fini(&table, test_allocator());
}

TEST(same_hash, "a key is found behind another one of the same hash, and behind what is no key")
{
    struct weiri_table table;
    struct weiri_view *view = init(&table);
    struct weir_key key = weir_key_bytes("a", 1);
    uint32_t hash = weiri_sought(SEED, key).hash;
    struct weir_item *other = put(&table, weir_key_bytes("other", 5));
    struct weir_item *same = put(&table, weir_key_bytes("b", 1));
    /* Slots that a look may find while others change the table: of a record that is another key's
     * by now, of a chunk that is gone, of one beyond the array. */
    const uint32_t numbers[] = {other->weir_slot, same->weir_slot, 7 * WEIRI_CHUNK_RECORDS + 1,
                                1000 * WEIRI_CHUNK_RECORDS + 1};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        weiri_slots_insert(&table.slots, hash, numbers[i]);
        CHECK(!weiri_view_joins(view, key, MARK));
    }
    struct weir_item *item = put(&table, weir_key_bytes("c", 1));
    weiri_slots_insert(&table.slots, weiri_sought(SEED, weir_key_bytes("c", 1)).hash,
                       item->weir_slot);
    CHECK(weiri_view_joins(view, weir_key_bytes("c", 1), MARK));
    weiri_table_fini(&table, test_allocator());
}

TEST(long_runs, "a look gives up after some slots, and misses what lies further on")
{
    struct weiri_table table;
    struct weiri_view *view = init(&table);
    unsigned found = 0;
    unsigned last = 0;
    unsigned first = 0;
    for (unsigned number = 0; found < 40; number++) {
        char buffer[16];
        struct weir_key key = name_of(number, buffer);
        if ((weiri_sought(SEED, key).hash & (WEIRI_SLOTS_CAPACITY_MIN - 1)) == 5) {
            (void)put(&table, key);
            first = found == 0 ? number : first;
            last = number;
            found++;
        }
    }
    CHECK(is_seen(view, first));
    CHECK(!is_seen(view, last));
    CHECK_INT(table.slots.capacity, ==, WEIRI_SLOTS_CAPACITY_MIN);
    weiri_table_fini(&table, test_allocator());
}

TEST(closed, "while the table is being moved nothing is seen, and nothing when its stripe is taken")
{
    struct weiri_table table;
    struct weiri_view *view = init(&table);
    put_many(&table, 0, 1);
    CHECK(weiri_view_close(view, test_allocator()));
    CHECK(!is_seen(view, 0));
    weiri_view_open(view);
    CHECK(is_seen(view, 0));
    struct weiri_stripe *stripe = weiri_visits_enter(&view->visits);
    CHECK(!is_seen(view, 0));
    weiri_visits_leave(stripe);
    weiri_table_fini(&table, test_allocator());
}

TEST(grows, "what grows beside a look is there until the look is over, and all is seen after it")
{
    struct weiri_table table;
    struct weiri_view *view = init(&table);
    const unsigned count = 9 * WEIRI_CHUNK_RECORDS;
    put_many(&table, 0, 1);
    struct weiri_stripe *stripe = weiri_visits_enter(&view->visits);
    struct weiri_slot *before = table.slots.slots;
    put_many(&table, 1, count);
    CHECK_INT(view->visits.retired_count, ==, 6); /* slots five times, the array of chunks once */
    CHECK(view->visits.retired[0].block == before);
    weiri_view_sweep(view, test_allocator());
    CHECK_INT(view->visits.retired_count, ==, 6);
    weiri_visits_leave(stripe);
    weiri_view_sweep(view, test_allocator());
    CHECK_INT(view->visits.retired_count, ==, 0);
    weiri_view_sweep(view, test_allocator());
    for (unsigned i = 0; i < count; i++) {
        CHECK(is_seen(view, i));
    }
    weiri_table_fini(&table, test_allocator());
}

TEST(shrinks, "memory is not given back beside a look, and all of it at the next occasion after it")
{
    struct weiri_table table;
    struct weiri_view *view = init(&table);
    const unsigned count = 9 * WEIRI_CHUNK_RECORDS;
    put_many(&table, 0, count);
    size_t capacity = table.slots.capacity;
    struct weiri_stripe *stripe = weiri_visits_enter(&view->visits);
    take_out_many(&table, 0, count - 1);
    CHECK_INT(table.slots.capacity, ==, capacity);
    CHECK_INT(table.records.chunk_count, ==, 9);
    weiri_visits_leave(stripe);
    CHECK(is_seen(view, count - 1));
    take_out_many(&table, count - 1, count);
    CHECK_INT(table.slots.capacity, <, capacity);
    CHECK_INT(table.records.chunk_count, ==, 1);
    put_many(&table, 0, 1);
    CHECK(is_seen(view, 0));
    weiri_table_fini(&table, test_allocator());
}

TEST(empties_used, "chunks that could not be given back are used before others are asked for")
{
    struct weiri_table table;
    struct weiri_view *view = init(&table);
    const unsigned count = 4 * WEIRI_CHUNK_RECORDS;
    put_many(&table, 0, count);
    struct weiri_stripe *stripe = weiri_visits_enter(&view->visits);
    take_out_many(&table, 0, count);
    size_t bytes = test_allocated_bytes();
    put_many(&table, 0, count);
    CHECK_INT(test_allocated_bytes(), ==, bytes);
    weiri_visits_leave(stripe);
    for (unsigned i = 0; i < count; i++) {
        CHECK(is_seen(view, i));
    }
    weiri_table_fini(&table, test_allocator());
}

TEST_OOM(out_of_memory, "a table that is looked at and cannot grow is as it was")
{
    struct weiri_table table;
    weiri_table_init(&table, SEED);
    struct weiri_view *view = weiri_table_show(&table, test_allocator(), STRIPES);
    struct weiri_stripe *stripe = view != NULL ? weiri_visits_enter(&view->visits) : NULL;
    unsigned count = 0;
    for (; count < 9 * WEIRI_CHUNK_RECORDS; count++) {
        char buffer[16];
        struct weir_item *item =
            weiri_table_intern(&table, test_allocator(), name_of(count, buffer));
        if (item == NULL) {
            break;
        }
        weiri_item_set(item, MARK, WEIRI_QUEUED);
    }
    if (stripe != NULL) {
        weiri_visits_leave(stripe);
    }
    for (unsigned i = 0; i < count; i++) {
        CHECK(view == NULL || is_seen(view, i));
    }
    weiri_table_fini(&table, test_allocator());
}

/* A queue whose lock is open from the start, as where the kernel cannot fence all threads. */
static weir_queue *open_queue(const struct weir_queue_options *options)
{
    weir_queue *queue = NULL;
    weiri_lock_forgo_fences();
    CHECK_STATUS(weir_queue_new(options, &queue), WEIR_OK);
    CHECK(weiri_lock_is_open(&queue->lock));
    return queue;
}

static struct weir_queue_options test_options(void)
{
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.allocator = *test_allocator();
    return options;
}

static void add_often(weir_queue *queue, struct weir_key key)
{
    for (int i = 0; i < 100; i++) {
        CHECK_STATUS(weir_queue_add(queue, key), WEIR_OK);
    }
}

static struct weiri_view *view_of(weir_queue *queue)
{
    return atomic_load(&queue->view);
}

static void take_one(weir_queue *queue, struct weir_work *work)
{
    CHECK_STATUS(weir_queue_try_get(queue, work), WEIR_OK);
}

TEST(takes_no_lock, "an add of a key that joins waits for nobody who holds the lock")
{
    const struct weir_queue_options options = test_options();
    weir_queue *queue = open_queue(&options);
    struct weir_key key = weir_key_bytes("hot", 3);
    add_often(queue, key);
    CHECK(view_of(queue) != NULL);
    weiri_queue_lock(queue);
    CHECK_STATUS(weir_queue_add(queue, key), WEIR_OK);
    weiri_queue_unlock(queue);
    struct weir_work work;
    take_one(queue, &work);
    CHECK_STATUS(weir_queue_add(queue, key), WEIR_OK); /* dirty */
    weiri_queue_lock(queue);
    CHECK_STATUS(weir_queue_add(queue, key), WEIR_OK);
    weiri_queue_unlock(queue);
    CHECK_STATUS(weir_queue_done(queue, &work), WEIR_OK);
    take_one(queue, &work);
    CHECK_STATUS(weir_queue_done(queue, &work), WEIR_OK);
    CHECK_STATUS(weir_queue_try_get(queue, &work), WEIR_EAGAIN);
    CHECK_STATUS(weir_queue_add(queue, key), WEIR_OK);
    CHECK_INT(weir_queue_len(queue), ==, 1);
    weir_queue_free(queue);
}

TEST(shutdown, "after a shutdown adds that would join are refused")
{
    const struct weir_queue_options options = test_options();
    weir_queue *queue = open_queue(&options);
    struct weir_key key = weir_key_bytes("hot", 3);
    add_often(queue, key);
    CHECK(view_of(queue) != NULL);
    weir_queue_shutdown(queue);
    CHECK_STATUS(weir_queue_add(queue, key), WEIR_ESHUTDOWN);
    weir_queue_free(queue);
}

TEST(who_looks, "where no add joins, or adds that join do more, the table is not shown")
{
    struct weir_queue_options options = test_options();
    options.flags = WEIR_QUEUE_SUPERSEDE;
    weir_queue *queue = open_queue(&options);
    add_often(queue, weir_key_bytes("hot", 3));
    CHECK(view_of(queue) == NULL);
    weir_queue_free(queue);
    options.flags = 0;
    queue = open_queue(&options);
    for (unsigned i = 0; i < 100; i++) {
        char buffer[16];
        CHECK_STATUS(weir_queue_add(queue, name_of(i, buffer)), WEIR_OK);
    }
    CHECK(view_of(queue) == NULL);
    /* Long keys have it shown, and take the lock. */
    add_often(queue, weir_key_bytes("a key of more than sixteen bytes", 32));
    CHECK(view_of(queue) != NULL);
    CHECK_INT(weir_queue_len(queue), ==, 101);
    weir_queue_free(queue);
}

TEST(no_memory_to_look, "without memory for the looks adds go on, and look when there is some")
{
    const struct weir_queue_options options = test_options();
    weir_queue *queue = open_queue(&options);
    struct weir_key key = weir_key_bytes("hot", 3);
    CHECK_STATUS(weir_queue_add(queue, key), WEIR_OK);
    test_fail_allocation(1, true);
    add_often(queue, key);
    CHECK(view_of(queue) == NULL);
    test_fail_allocation(0, false);
    add_often(queue, key);
    CHECK(view_of(queue) != NULL);
    CHECK_INT(weir_queue_len(queue), ==, 1);
    weir_queue_free(queue);
}

TEST(sweeps, "what was retired is given back by an add that takes the lock")
{
    const struct weir_queue_options options = test_options();
    weir_queue *queue = open_queue(&options);
    add_often(queue, weir_key_bytes("hot", 3));
    struct weiri_view *view = view_of(queue);
    struct weiri_stripe *stripe = weiri_visits_enter(&view->visits);
    for (unsigned i = 0; i < 100; i++) {
        char buffer[16];
        CHECK_STATUS(weir_queue_add(queue, name_of(i, buffer)), WEIR_OK);
    }
    CHECK_INT(view->visits.retired_count, >, 0);
    weiri_visits_leave(stripe);
    CHECK_STATUS(weir_queue_add(queue, weir_key_bytes("last", 4)), WEIR_OK);
    CHECK_INT(view->visits.retired_count, ==, 0);
    weir_queue_free(queue);
}
