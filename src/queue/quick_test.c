/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/quick.h"

#include <stdio.h>

#include "support/harness.h"

/* Two cores are told the same: one makes its moves the quick way wherever that does not say no, the
 * other never. Both must come to the same after each move. */

#define ITEMS 600
#define MARK 4u

struct side {
    struct weiri_core core;
    struct weir_item items[ITEMS]; /* the even ones are used; the others are named by bytes */
    struct weir_work works[ITEMS]; /* the latest of each item */
    bool is_quick;
    uint64_t quick_moves;
    uint64_t alone_moves; /* of them, those of keys alone in a sparse table */
};

static struct side sides[2];
static enum weiri_order order;
/* The first so many items are those that moves are made of: all, or so few that the table is
 * sparse. */
static size_t moved;
static bool has_batches;

static struct weir_key key_of(struct side *side, size_t i, char *buffer, size_t size)
{
    if (i % 2 == 0) {
        return weir_key_item(&side->items[i]);
    }
    /* Of 3 to 22 bytes: short ones lie in the record. */
    int length = snprintf(buffer, size, "%03zu%.*s", i, (int)(i / 2 % 20), "....................");
    return weir_key_bytes(buffer, (size_t)length);
}

static size_t number_of(const struct side *side, const struct weir_work *work)
{
    if (work->item != NULL) {
        return (size_t)(work->item - side->items);
    }
    const char *digits = work->key.data;
    return (size_t)(digits[0] - '0') * 100 + (size_t)(digits[1] - '0') * 10 +
           (size_t)(digits[2] - '0');
}

static enum weir_status add(struct side *side, size_t i, int32_t priority)
{
    char buffer[32];
    struct weir_key key = key_of(side, i, buffer, sizeof(buffer));
    if (side->is_quick && key.size != WEIR_KEY_ITEM &&
        weiri_quick_add(&side->core, key, WEIRI_QUICK_ALONE, priority, order)) {
        side->quick_moves++;
        side->alone_moves++;
        return WEIR_OK;
    }
    if (side->is_quick && weiri_quick_add_any(&side->core, key, priority, order)) {
        side->quick_moves++;
        return WEIR_OK;
    }
    struct weiri_added added;
    return weiri_core_add(&side->core, key, false, priority, &added);
}

/* The number of the item that is handed out; ITEMS: none. */
static size_t next(struct side *side)
{
    struct weir_work work;
    if (side->is_quick && weiri_quick_next(&side->core, &work, order)) {
        side->quick_moves++;
    } else if (!weiri_core_next(&side->core, &work)) {
        return ITEMS;
    }
    size_t i = number_of(side, &work);
    side->works[i] = work;
    return i;
}

/* -1: it was none of the queue's; 1: it is free now; 0: it is queued again. */
static int done(struct side *side, size_t i)
{
    bool has_left;
    if (side->is_quick && side->works[i].item == NULL &&
        weiri_quick_done(&side->core, &side->works[i], WEIRI_QUICK_ALONE, &has_left, order)) {
        side->quick_moves++;
        side->alone_moves++;
        return has_left;
    }
    if (side->is_quick && weiri_quick_done_any(&side->core, &side->works[i], &has_left, order)) {
        side->quick_moves++;
        return has_left;
    }
    struct weiri_ended ended;
    enum weir_status status = weiri_core_done(&side->core, &side->works[i], &ended);
    return status == WEIR_OK ? ended.has_left : -1;
}

#define BATCH 40

/* The same items for either side. */
static enum weir_status add_batch(struct side *side, const size_t *numbers, size_t count)
{
    char buffers[BATCH][32];
    struct weir_key keys[BATCH];
    for (size_t i = 0; i < count; i++) {
        keys[i] = key_of(side, numbers[i], buffers[i], sizeof(buffers[i]));
    }
    if (side->is_quick && order == WEIRI_FIFO &&
        weiri_quick_add_batch(&side->core, keys, count, 100, test_random_below(2) == 0)) {
        side->quick_moves++;
        return WEIR_OK;
    }
    return weiri_core_add_batch(&side->core, keys, count, NULL);
}

/* Writes down the items; as many as there are, or count. */
static size_t next_batch(struct side *side, size_t *numbers, size_t count)
{
    struct weir_work works[BATCH];
    size_t got = side->is_quick && order == WEIRI_FIFO
                     ? weiri_quick_next_batch(&side->core, works, count)
                     : 0;
    side->quick_moves += got > 0;
    while (got < count && weiri_core_next(&side->core, &works[got])) {
        got++;
    }
    for (size_t i = 0; i < got; i++) {
        numbers[i] = number_of(side, &works[i]);
        side->works[numbers[i]] = works[i];
    }
    return got;
}

/* How many of them the queue did not have in hand. */
static size_t done_batch(struct side *side, const size_t *numbers, size_t count)
{
    struct weir_work works[BATCH];
    size_t missed = 0;
    for (size_t i = 0; i < count; i++) {
        works[i] = side->works[numbers[i]];
    }
    size_t left = side->is_quick && order == WEIRI_FIFO
                      ? weiri_quick_done_batch(&side->core, works, count)
                      : count;
    CHECK_INT(left, <=, count);
    side->quick_moves += left < count;
    for (size_t i = 0; i < left; i++) {
        struct weiri_ended ended;
        missed += weiri_core_done(&side->core, &works[i], &ended) != WEIR_OK;
    }
    return missed;
}

static bool cancel(struct side *side, size_t i)
{
    char buffer[32];
    bool was_taken = false;
    CHECK_STATUS(
        weiri_core_cancel(&side->core, key_of(side, i, buffer, sizeof(buffer)), &was_taken),
        WEIR_OK);
    return was_taken;
}

static void check_same(void)
{
    const struct weiri_core *a = &sides[0].core;
    const struct weiri_core *b = &sides[1].core;
    CHECK_INT(weiri_ready_count(&a->ready), ==, weiri_ready_count(&b->ready));
    CHECK_INT(a->ready.ranks.arrivals, ==, b->ready.ranks.arrivals);
    CHECK_INT(a->asks.count, ==, b->asks.count);
    CHECK_INT(a->running.named, ==, b->running.named);
    CHECK_INT(a->dirty, ==, b->dirty);
    CHECK_INT(a->last_ticket, ==, b->last_ticket);
    CHECK_INT(a->table.slots.used, ==, b->table.slots.used);
    CHECK_INT(a->table.slots.capacity, ==, b->table.slots.capacity);
    CHECK_INT(a->table.records.count, ==, b->table.records.count);
    for (size_t i = 0; i < 2; i++) {
        const struct weiri_core *core = &sides[i].core;
        CHECK_INT(weiri_core_obligations(core), <=, weiri_ready_capacity(&core->ready));
    }
    /* A batch gives memory back once, after its last done, and then perhaps more of it. */
    if (!has_batches) {
        CHECK_INT(weiri_ready_capacity(&a->ready), ==, weiri_ready_capacity(&b->ready));
        CHECK_INT(a->running.capacity, ==, b->running.capacity);
    }
}

/* Of random items, the latest that were handed out in a batch, or new ones. */
static void move_batch(unsigned load)
{
    static size_t numbers[2][BATCH]; /* those in hand of the latest batch */
    static size_t in_hand;
    size_t count = (size_t)test_random_below(BATCH + 1);
    if (test_random_below(100) < load) {
        size_t added[BATCH];
        for (size_t i = 0; i < count; i++) {
            added[i] = (size_t)test_random_below(moved);
        }
        CHECK_INT(add_batch(&sides[0], added, count), ==, add_batch(&sides[1], added, count));
    } else if (in_hand > 0) {
        CHECK_INT(done_batch(&sides[0], numbers[0], in_hand), ==,
                  done_batch(&sides[1], numbers[1], in_hand));
        in_hand = 0;
    } else {
        in_hand = next_batch(&sides[0], numbers[0], count);
        CHECK_INT(next_batch(&sides[1], numbers[1], count), ==, in_hand);
        CHECK(memcmp(numbers[0], numbers[1], in_hand * sizeof(size_t)) == 0);
    }
}

static void move(unsigned load)
{
    size_t i = (size_t)test_random_below(moved);
    if (has_batches && test_random_below(8) == 0) {
        move_batch(load);
    } else if (test_random_below(100) < load) {
        bool is_usual = order == WEIRI_FIFO || test_random_below(2) == 0;
        int32_t priority = is_usual ? 0 : (int32_t)test_random_below(5) - 2;
        CHECK_INT(add(&sides[0], i, priority), ==, add(&sides[1], i, priority));
    } else if (test_random_below(10) == 0) {
        CHECK_INT(cancel(&sides[0], i), ==, cancel(&sides[1], i));
    } else if (test_random_below(2) == 0) {
        CHECK_INT(next(&sides[0]), ==, next(&sides[1]));
    } else {
        /* Mostly one of those that are processing: the two have them in the same order. */
        size_t named = sides[0].core.running.named;
        if (named > 0 && test_random_below(20) != 0) {
            size_t index = (size_t)test_random_below(named);
            for (i = 0;
                 sides[0].works[i].ticket != sides[0].core.running.items[index]->weir_position;
                 i++) {
            }
        }
        CHECK_INT(done(&sides[0], i), ==, done(&sides[1], i));
    }
    check_same();
}

static void check_same_moves(void)
{
    for (size_t i = 0; i < 2; i++) {
        sides[i] = (struct side){.is_quick = i == 0};
        weiri_core_init(&sides[i].core, test_allocator(), 1, 5, MARK);
        if (order == WEIRI_RANKED) {
            weiri_ready_init_ranks(&sides[i].core.ready, 0);
        }
    }
    uint64_t moves = 0;
    for (uint64_t round = 0; round < test_scaled(40); round++) {
        unsigned load = (unsigned)(test_random_below(2) == 0 ? 70 : test_random_below(40));
        moved = round % 2 == 0 ? ITEMS : 12;
        for (unsigned step = 0; step < 3000; step++, moves++) {
            move(load);
        }
    }
    /* Quick is what most moves are, without batches and without priorities that must be kept for
     * dirty items; were none, this test would compare a thing with itself. */
    CHECK_INT(sides[0].quick_moves, >, moves / (order == WEIRI_FIFO ? 2 : 3));
    CHECK_INT(sides[0].alone_moves, >, moves / 100);
    CHECK_INT(sides[1].quick_moves, ==, 0);
    for (size_t i = 0; i < 2; i++) {
        weiri_core_fini(&sides[i].core);
    }
}

TEST(same_moves,
     "a quick move comes to what the general one comes to, through bursts and their end")
{
    order = WEIRI_FIFO;
    has_batches = false;
    check_same_moves();
}

TEST(same_batches, "so it does where some come in batches")
{
    order = WEIRI_FIFO;
    has_batches = true;
    check_same_moves();
}

TEST(same_ranked_moves, "so it does where items have priorities")
{
    order = WEIRI_RANKED;
    has_batches = test_random_below(2) == 0;
    check_same_moves();
}

TEST(says_no, "what is in the way of a quick move: no room, a hole, another queue, an old ticket")
{
    struct weiri_core core;
    struct weiri_core other;
    struct weir_item items[WEIRI_RING_CAPACITY_MIN + 1] = {0};
    struct weir_work work;
    struct weiri_added added;
    bool was_taken;
    weiri_core_init(&core, test_allocator(), 1, 5, MARK);
    weiri_core_init(&other, test_allocator(), 1, 5, 2 * MARK);
    CHECK(!weiri_quick_add(&core, weir_key_item(&items[0]), WEIRI_QUICK_ITEM, 0,
                           WEIRI_FIFO)); /* there is no ring yet */
    CHECK(weiri_item_is_free(&items[0]));
    CHECK(!weiri_quick_next(&core, &work, WEIRI_FIFO));
    for (size_t i = 0; i < WEIRI_RING_CAPACITY_MIN; i++) {
        CHECK_STATUS(weiri_core_add(&core, weir_key_item(&items[i]), false, 0, &added), WEIR_OK);
    }
    struct weir_key last = weir_key_item(&items[WEIRI_RING_CAPACITY_MIN]);
    CHECK(!weiri_quick_add(&core, last, WEIRI_QUICK_ITEM, 0, WEIRI_FIFO));
    CHECK(
        !weiri_quick_next(&core, &work, WEIRI_FIFO)); /* there is no room among the running ones */
    CHECK(weiri_core_next(&core, &work));
    CHECK(weiri_quick_add(&core, last, WEIRI_QUICK_ITEM, 0, WEIRI_FIFO));
    CHECK_STATUS(weiri_core_cancel(&core, weir_key_item(&items[1]), &was_taken), WEIR_OK);
    CHECK(was_taken && !weiri_quick_next(&core, &work, WEIRI_FIFO));
    struct weir_work stale = work;
    stale.ticket--;
    CHECK(!weiri_quick_done(&core, &stale, WEIRI_QUICK_ITEM, NULL, WEIRI_FIFO));
    CHECK(weiri_quick_done(&core, &work, WEIRI_QUICK_ITEM, NULL, WEIRI_FIFO));
    CHECK(!weiri_quick_done(&core, &work, WEIRI_QUICK_ITEM, NULL, WEIRI_FIFO));
    CHECK(weiri_core_next(&core, &work)); /* past the hole */
    CHECK_STATUS(weiri_core_add(&other, weir_key_item(&items[1]), false, 0, &added), WEIR_OK);
    CHECK(weiri_quick_has_room(&core, WEIRI_FIFO));
    CHECK(!weiri_quick_add(&core, weir_key_item(&items[1]), WEIRI_QUICK_ITEM, 0, WEIRI_FIFO));
    weiri_core_fini(&core);
    weiri_core_fini(&other);
}

TEST(refuses_batch, "a batch with a key that is refused has changed nothing")
{
    struct weiri_core core;
    struct weiri_core other;
    struct weir_item items[5] = {{0}};
    struct weir_work work;
    struct weiri_added added;
    weiri_core_init(&core, test_allocator(), 1, 5, MARK);
    weiri_core_init(&other, test_allocator(), 1, 5, 2 * MARK);
    CHECK_STATUS(weiri_core_add(&other, weir_key_item(&items[0]), false, 0, &added), WEIR_OK);
    CHECK_STATUS(weiri_core_add(&core, weir_key_item(&items[1]), false, 0, &added), WEIR_OK);
    CHECK(weiri_core_next(&core, &work));
    CHECK_STATUS(weiri_core_add(&core, weir_key_item(&items[2]), false, 0, &added), WEIR_OK);
    const struct weir_key refused[] = {
        weir_key_item(&items[0]),             /* another queue holds it */
        weir_key_bytes(NULL, WEIR_KEY_ITEM),  /* none */
        weir_key_bytes(&core, WEIR_KEY_ITEM), /* replaced below: not where an item can be */
        weir_key_string("longer than allowed"),
        weir_key_bytes(NULL, 1),
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct weir_key last = refused[i];
        if (i == 2) {
            last.data = (const char *)&items[3] + 1;
        }
        const struct weir_key keys[] = {weir_key_item(&items[3]),
                                        weir_key_item(&items[1]),
                                        weir_key_item(&items[2]),
                                        weir_key_string("short"),
                                        weir_key_string("this is of memory"),
                                        last};
        CHECK(!weiri_quick_add_batch(&core, keys, 6, 18, i % 2 == 0));
        CHECK(!weiri_quick_add_batch(&core, keys, 6, 18, i % 2 == 1));
        CHECK_INT(weiri_item_place(&items[1]), ==, WEIRI_PROCESSING);
        CHECK(weiri_item_is_free(&items[3]));
        CHECK_INT(core.dirty, ==, 0);
        CHECK_INT(core.table.records.count, ==, 0);
        CHECK_INT(weiri_ready_count(&core.ready), ==, 1);
        CHECK(weiri_quick_add_batch(&core, keys, 0, 18, true));
    }
    const struct weir_key keys[] = {weir_key_item(&items[1]), weir_key_item(&items[3]),
                                    weir_key_string("this is of memory"), weir_key_item(&items[1])};
    CHECK(weiri_quick_add_batch(&core, keys, 4, 18, true));
    CHECK_INT(core.dirty, ==, 1);
    CHECK_INT(weiri_ready_count(&core.ready), ==, 3);
    weiri_core_fini(&core);
    weiri_core_fini(&other);
}

TEST(unnamed,
     "what memory did not suffice to name among the running ones is left to the general move")
{
    struct weiri_core core;
    struct weir_item item = {0};
    struct weir_work work;
    struct weiri_added added;
    weiri_core_init(&core, test_allocator(), 1, 5, MARK);
    CHECK_STATUS(weiri_core_add(&core, weir_key_item(&item), false, 0, &added), WEIR_OK);
    test_fail_allocation(1, false);
    CHECK(weiri_core_next(&core, &work));
    test_fail_allocation(0, false);
    CHECK_INT(core.running.unnamed, ==, 1);
    CHECK(!weiri_quick_done(&core, &work, WEIRI_QUICK_ITEM, NULL, WEIRI_FIFO));
    CHECK_INT(weiri_quick_done_batch(&core, &work, 1), ==, 1);
    struct weiri_ended ended;
    CHECK_STATUS(weiri_core_done(&core, &work, &ended), WEIR_OK);
    weiri_core_fini(&core);
}
