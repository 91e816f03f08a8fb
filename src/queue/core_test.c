/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/core.h"

#include <stdio.h>

#include <weir/snapshot.h>

#include "support/harness.h"

#define ITEMS 200

/* A core and its items: embedded ones, and ones named by short and by long keys in turn. */
static struct weiri_core core;
static struct weir_item nodes[ITEMS];
static char names[ITEMS][40];

static struct weir_key key_of(size_t i)
{
    if (i % 3 == 0) {
        return weir_key_item(&nodes[i]);
    }
    int length = snprintf(names[i], sizeof(names[i]), "%03zu%s", i,
                          i % 3 == 1 ? "" : " is a key with a block of its own");
    return weir_key_bytes(names[i], (size_t)length);
}

static size_t index_of(const struct weir_item *item)
{
    struct weir_work work;
    weiri_core_fill_work(item, &work);
    if (work.item != NULL) {
        return (size_t)(work.item - nodes);
    }
    const char *digits = work.key.data;
    return (size_t)(digits[0] - '0') * 100 + (size_t)(digits[1] - '0') * 10 +
           (size_t)(digits[2] - '0');
}

static void init(bool has_priorities)
{
    memset(nodes, 0, sizeof(nodes));
    weiri_core_init(&core, test_allocator(), test_random(), test_random());
    if (has_priorities) {
        weiri_core_set_priorities(&core, 0);
    }
}

static void fini(void)
{
    weiri_core_fini(&core);
    CHECK_INT(core.held, ==, 0);
    for (size_t i = 0; i < ITEMS; i++) {
        CHECK(weiri_item_is_free(&nodes[i]) && nodes[i].weir_wait == 0);
    }
}

static struct weir_item *find(size_t i)
{
    return weiri_core_find(&core, key_of(i));
}

static enum weir_place place_of(size_t i)
{
    const struct weir_item *item = find(i);
    return item == NULL ? WEIR_PLACE_IDLE : weiri_item_place(item);
}

static bool is_waiting(size_t i)
{
    const struct weir_item *item = find(i);
    return item != NULL && item->weir_wait != 0;
}

static enum weir_status try_add(size_t i, int64_t time_ns, bool replaces,
                                struct weiri_added *ret_added)
{
    struct weiri_order order = {.time_ns = time_ns, .replaces = replaces};
    return weiri_core_add(&core, key_of(i), &order, 0, ret_added);
}

static struct weiri_added add(size_t i, int64_t time_ns, bool replaces)
{
    struct weiri_added added;
    CHECK_STATUS(try_add(i, time_ns, replaces, &added), WEIR_OK);
    return added;
}

/* Starts the first item, which must be this one. */
static void start(size_t i)
{
    struct weir_item *item = weiri_core_first(&core);
    CHECK(item != NULL);
    CHECK_INT(index_of(item), ==, i);
    weiri_core_start(&core, item, 0);
    CHECK_INT(place_of(i), ==, WEIR_PLACE_PROCESSING);
}

static void check_counts(size_t held, size_t queued, size_t waiting, size_t processing)
{
    CHECK_INT(core.held, ==, held);
    CHECK_INT(core.queued, ==, queued);
    CHECK_INT(core.waiting.count, ==, waiting);
    CHECK_INT(core.processing, ==, processing);
}

TEST(places, "an add, a start and a done move an item from place to place, and back to free")
{
    for (int priorities = 0; priorities < 2; priorities++) {
        init(priorities == 1);
        for (size_t i = 0; i < 3; i++) {
            struct weiri_added added = add(i, WEIRI_AT_ONCE, false);
            CHECK(added.is_new && !added.is_coalesced && !added.was_queued && !added.has_new_time);
            CHECK_INT(place_of(i), ==, WEIR_PLACE_QUEUED);
            added = add(i, WEIRI_AT_ONCE, false);
            CHECK(!added.is_new && added.is_coalesced && added.was_queued);
            start(i);
            added = add(i, WEIRI_AT_ONCE, false);
            CHECK(!added.is_new && !added.is_coalesced && !added.was_queued);
            CHECK_INT(place_of(i), ==, WEIR_PLACE_DIRTY);
            added = add(i, WEIRI_AT_ONCE, false);
            CHECK(!added.is_new && added.is_coalesced && !added.was_queued);
            check_counts(1, 0, 0, 1);
            CHECK_INT(core.dirty, ==, 1);
            CHECK(!weiri_core_done(&core, find(i), 0));
            check_counts(1, 1, 0, 0);
            CHECK_INT(core.dirty, ==, 0);
            start(i);
            CHECK(weiri_core_done(&core, find(i), 0));
            check_counts(0, 0, 0, 0);
            CHECK((find(i) == NULL) == (i % 3 != 0));
            CHECK(weiri_core_first(&core) == NULL);
        }
        fini();
    }
}

TEST(waits, "an item has one pending time: the earlier one, or the new one that replaces it")
{
    init(false);
    for (size_t i = 0; i < 3; i++) {
        struct weiri_added added = add(i, 50, false);
        CHECK(added.is_new && added.has_new_time && !added.is_coalesced);
        added = add(i, 60, false);
        CHECK(!added.is_new && !added.has_new_time && added.is_coalesced);
        added = add(i, 40, false);
        CHECK(added.has_new_time && !added.is_coalesced);
        CHECK_INT(weiri_core_next_time(&core), ==, 40);
        added = add(i, 70, true);
        CHECK(added.has_new_time && !added.is_coalesced);
        added = add(i, 70, true);
        CHECK(!added.has_new_time && added.is_coalesced);
        CHECK_INT(weiri_core_next_time(&core), ==, 70);
        CHECK_INT(place_of(i), ==, WEIR_PLACE_IDLE);
        check_counts(1, 0, 1, 0);
        added = add(i, WEIRI_AT_ONCE, false); /* the time stays */
        CHECK(!added.is_new && !added.has_new_time);
        check_counts(1, 1, 1, 0);
        start(i);
        CHECK(!weiri_core_done(&core, find(i), 0)); /* it still waits */
        check_counts(1, 0, 1, 0);
        added = add(i, WEIRI_AT_ONCE, true); /* the time goes */
        CHECK(added.has_new_time && !added.is_coalesced);
        check_counts(1, 1, 0, 0);
        CHECK(weiri_core_cancel(&core, find(i)));
        check_counts(0, 0, 0, 0);
    }
    CHECK_INT(weiri_core_next_time(&core), ==, INT64_MAX);
    fini();
}

TEST(supersedes, "in a core that supersedes every add at once takes the time away")
{
    init(false);
    core.supersedes = true;
    (void)add(1, 10, false);
    CHECK(add(1, WEIRI_AT_ONCE, false).has_new_time);
    check_counts(1, 1, 0, 0);
    fini();
}

TEST(time_order, "times pass in their order, those of equal times in the order of their adds")
{
    static const struct {
        size_t item;
        int64_t time_ns;
    } rows[] = {{5, 30}, {4, 10}, {3, 30}, {2, 20}, {1, 10}, {0, 31}};
    static const size_t order[] = {4, 1, 2, 5, 3};
    init(false);
    core.times_items = true;
    for (size_t i = 0; i < 6; i++) {
        (void)add(rows[i].item, rows[i].time_ns, false);
    }
    weiri_core_pass_time(&core, 9);
    check_counts(6, 0, 6, 0);
    weiri_core_pass_time(&core, 30);
    check_counts(6, 5, 1, 0);
    for (size_t i = 0; i < 5; i++) {
        int64_t due_ns = order[i] == 4 || order[i] == 1 ? 10 : order[i] == 2 ? 20 : 30;
        struct weir_snapshot_item said;
        weiri_core_describe(&core, find(order[i]), 32, &said);
        CHECK_INT(said.queued_ns, ==, 32 - due_ns); /* as of its time, not of the call */
        start(order[i]);
    }
    weiri_core_pass_time(&core, INT64_MAX);
    start(0);
    fini();
}

TEST(end_of_time, "an item that waits for the end of time becomes queued then")
{
    init(false);
    (void)add(0, INT64_MAX, false);
    weiri_core_pass_time(&core, INT64_MAX - 1);
    check_counts(1, 0, 1, 0);
    weiri_core_pass_time(&core, INT64_MAX);
    check_counts(1, 1, 0, 0);
    weiri_core_pass_time(&core, INT64_MAX);
    fini();
}

TEST(aside, "an item that is aside stays queued; only a start and a cancel reach it")
{
    init(false);
    for (size_t i = 0; i < 6; i++) {
        (void)add(i, WEIRI_AT_ONCE, false);
    }
    weiri_core_set_aside(&core, find(0));
    weiri_core_set_aside(&core, find(3));
    weiri_core_set_aside(&core, find(4));
    check_counts(6, 6, 0, 0);
    start(1);
    start(2);
    CHECK(add(3, WEIRI_AT_ONCE, false).was_queued);
    (void)add(3, 10, false);
    weiri_core_pass_time(&core, 10); /* its time queues it no second time */
    weiri_core_start(&core, find(3), 0);
    CHECK_INT(place_of(3), ==, WEIR_PLACE_PROCESSING);
    CHECK(weiri_core_cancel(&core, find(4)));
    start(5);
    CHECK(weiri_core_first(&core) == NULL);
    check_counts(5, 1, 0, 4);
    weiri_core_start(&core, find(0), 0);
    CHECK(weiri_core_done(&core, find(0), 0));
    check_counts(4, 0, 0, 4);
    fini();
}

static void end_with_one_aside(void *arg)
{
    (void)arg;
    weiri_core_set_aside(&core, find(0));
    weiri_core_fini(&core);
}

TEST(left_aside, "a core that ends with an item aside ends the program: the item would point to it")
{
    init(false);
    (void)add(0, WEIRI_AT_ONCE, false);
    test_must_abort(end_with_one_aside, NULL, "held");
    fini();
}

/* Adds all items, starts two thirds and makes half of those dirty; every fourth one waits. */
static void scatter(void)
{
    for (size_t i = 0; i < ITEMS; i++) {
        (void)add(i, WEIRI_AT_ONCE, false);
    }
    for (size_t i = 0; i < ITEMS * 2 / 3; i++) {
        struct weir_item *item = weiri_core_first(&core);
        weiri_core_start(&core, item, 0);
        if (i % 2 == 0) {
            (void)add(index_of(item), WEIRI_AT_ONCE, false);
        }
    }
    for (size_t i = 0; i < ITEMS; i += 4) {
        (void)add(i, 100 + (int64_t)i, false);
    }
}

TEST(can_wait_all, "without any memory every held item can be queued again, and can wait")
{
    for (int priorities = 0; priorities < 2; priorities++) {
        init(priorities == 1);
        core.can_wait_all = true;
        scatter();
        test_fail_allocation(1, true);
        for (size_t i = 0; i < ITEMS; i++) {
            struct weiri_added added;
            CHECK_STATUS(try_add(i, 500, false, &added), WEIR_OK);
            CHECK_STATUS(try_add(i, WEIRI_AT_ONCE, false, &added), WEIR_OK);
            CHECK(!added.is_new && is_waiting(i));
        }
        CHECK_INT(core.waiting.count, ==, ITEMS);
        while (core.first_processing != NULL) { /* all are dirty */
            CHECK(!weiri_core_done(&core, core.first_processing, 0));
        }
        check_counts(ITEMS, ITEMS, ITEMS, 0);
        weiri_core_pass_time(&core, 1000);
        check_counts(ITEMS, ITEMS, 0, 0);
        for (size_t left = ITEMS; left > 0; left--) { /* also those that only wait come back */
            struct weiri_added added;
            struct weir_item *item = weiri_core_first(&core);
            size_t i = index_of(item);
            weiri_core_start(&core, item, 0);
            CHECK_STATUS(try_add(i, 2000, false, &added), WEIR_OK);
            CHECK(!weiri_core_done(&core, item, 0));
        }
        check_counts(ITEMS, 0, ITEMS, 0);
        weiri_core_pass_time(&core, 2000);
        check_counts(ITEMS, ITEMS, 0, 0);
        test_fail_allocation(0, false);
        fini();
    }
}

TEST(room_kept, "and so it stays while most of the items leave and memory goes back")
{
    init(false);
    core.can_wait_all = true;
    scatter();
    for (size_t left = ITEMS; left-- > 0;) {
        struct weir_item *item = find(left);
        if (weiri_item_is_processing(item)) {
            (void)weiri_core_cancel(&core, item);
            CHECK(weiri_core_done(&core, find(left), 0));
        } else {
            CHECK(weiri_core_cancel(&core, item));
        }
        CHECK_INT(core.ring.capacity, >=, core.held);
        CHECK_INT(core.waiting.capacity, >=, core.held);
        test_fail_allocation(1, true);
        struct weiri_added added;
        CHECK(left == 0 || try_add(left - 1, 900, false, &added) == WEIR_OK);
        test_fail_allocation(0, false);
    }
    CHECK_INT(core.ring.capacity, ==, WEIRI_CAPACITY_MIN);
    fini();
}

TEST(done_needs_no_memory, "done and the passing of time need no memory in any core")
{
    for (int priorities = 0; priorities < 2; priorities++) {
        init(priorities == 1);
        scatter();
        test_fail_allocation(1, true);
        weiri_core_pass_time(&core, 1000);
        while (core.first_processing != NULL) {
            (void)weiri_core_done(&core, core.first_processing, 0);
        }
        test_fail_allocation(0, false);
        CHECK_INT(core.queued, ==, core.held);
        fini();
    }
}

TEST_OOM(add_fails, "an add that fails for lack of memory changes nothing")
{
    init(false);
    for (size_t i = 0; i < ITEMS; i++) {
        struct weiri_added added;
        size_t held = core.held;
        enum weir_status status = try_add(i, i % 2 == 0 ? WEIRI_AT_ONCE : 10, false, &added);
        if (CHECK_OR_OOM(status)) {
            CHECK_INT(core.held, ==, held);
            CHECK_INT(place_of(i), ==, WEIR_PLACE_IDLE);
            CHECK(i % 3 == 0 ? weiri_item_is_free(&nodes[i]) : find(i) == NULL);
            CHECK_INT(core.table.count, ==, i - (i + 2) / 3);
        }
        if (status != WEIR_OK) {
            break;
        }
    }
    fini();
}

TEST_OOM(batch_fails, "of a batch all items are added or none, whatever was to be added twice")
{
    init(false);
    struct weir_key keys[2 * ITEMS];
    struct weiri_added added[2 * ITEMS];
    for (size_t i = 0; i < ITEMS; i++) {
        keys[i] = key_of(i);
        keys[ITEMS + i] = key_of(i / 2);
    }
    for (size_t round = 0; round < 2; round++) {
        struct weiri_order order = {.time_ns = round == 0 ? 10 : WEIRI_AT_ONCE};
        enum weir_status status =
            weiri_core_add_batch(&core, keys, (size_t)2 * ITEMS, &order, 0, added);
        if (CHECK_OR_OOM(status)) {
            check_counts(round * ITEMS, 0, round * ITEMS, 0);
            CHECK_INT(core.table.count, ==, round == 0 ? 0 : ITEMS - (ITEMS + 2) / 3);
            break;
        }
        CHECK_INT(added[0].is_new, ==, round == 0);
        CHECK(!added[ITEMS].is_new && added[ITEMS].is_coalesced);
    }
    fini();
}

TEST(batch_refused, "a batch with an item of another core is refused whole")
{
    init(false);
    struct weir_item foreign = {.weir_word = (uintptr_t)names | WEIR_PLACE_QUEUED};
    struct weir_key keys[] = {key_of(0), key_of(1), key_of(2), key_of(1), weir_key_item(&foreign)};
    struct weiri_added added[5];
    struct weiri_order order = {.time_ns = WEIRI_AT_ONCE};
    CHECK_STATUS(weiri_core_add_batch(&core, keys, 5, &order, 0, added), WEIR_EBUSY);
    check_counts(0, 0, 0, 0);
    CHECK_INT(core.table.count, ==, 0);
    fini();
}

TEST(batch_refused_memory, "a batch that is refused leaves no memory behind")
{
    static struct weir_item items[1000];
    static struct weir_key keys[1001];
    static struct weiri_added added[1001];
    struct weir_item foreign = {.weir_word = (uintptr_t)names | WEIR_PLACE_QUEUED};
    for (size_t i = 0; i < 1000; i++) {
        keys[i] = weir_key_item(&items[i]);
    }
    keys[1000] = weir_key_item(&foreign);
    for (int priorities = 0; priorities < 2; priorities++) {
        init(priorities == 1);
        for (int waits = 0; waits < 2; waits++) {
            struct weiri_order order = {.time_ns = waits ? 10 : WEIRI_AT_ONCE};
            CHECK_STATUS(weiri_core_add_batch(&core, keys, 1001, &order, 0, added), WEIR_EBUSY);
            CHECK_INT(core.ring.capacity, <=, WEIRI_CAPACITY_MIN);
            CHECK_INT(core.ready.capacity, <=, WEIRI_CAPACITY_MIN);
            CHECK_INT(core.waiting.capacity, <=, WEIRI_CAPACITY_MIN);
        }
        fini();
    }
}

TEST(works, "a work is known by its ticket, only while its item is processing")
{
    struct weir_work stale[3];
    init(false);
    for (size_t i = 0; i < 3; i++) {
        struct weir_work work;
        (void)add(i, WEIRI_AT_ONCE, false);
        struct weir_item *item = find(i);
        start(i);
        weiri_core_fill_work(item, &work);
        CHECK(weiri_core_find_work(&core, &work) == item);
        struct weir_work other = work;
        other.ticket++;
        CHECK(weiri_core_find_work(&core, &other) == NULL);
        (void)weiri_core_done(&core, item, 0);
        CHECK(weiri_core_find_work(&core, &work) == NULL);
        stale[i] = work;
    }
    for (size_t i = 0; i < 3; i++) { /* the records are in use again */
        (void)add(i, WEIRI_AT_ONCE, false);
        CHECK(weiri_core_find_work(&core, &stale[i]) == NULL);
        start(i);
        CHECK(weiri_core_find_work(&core, &stale[i]) == NULL);
    }
    struct weir_work none = {.weir_record = UINT64_MAX};
    CHECK(weiri_core_find_work(&core, &none) == NULL);
    fini();
}

TEST(processing_list, "the items that are processing stand in the order of their starts")
{
    init(false);
    for (size_t i = 0; i < 5; i++) {
        (void)add(i, WEIRI_AT_ONCE, false);
        start(i);
    }
    static const size_t ends[] = {2, 0, 4};
    for (size_t i = 0; i < 3; i++) {
        (void)weiri_core_done(&core, find(ends[i]), 0);
    }
    CHECK(core.first_processing == find(1) && core.last_processing == find(3));
    CHECK(find(1)->weir_next == find(3) && find(3)->weir_previous == find(1));
    CHECK(find(1)->weir_previous == NULL && find(3)->weir_next == NULL);
    fini();
}

TEST(sample, "the ages of what is processing, their sum and the longest, are those of its items")
{
    struct weiri_queue_sample meter = {.adds = 0};
    struct weiri_queue_sample got;
    struct weir_item *item;
    init(false);
    core.meter = &meter;
    core.times_items = true;
    for (int64_t now_ns = 0; now_ns < 2000; now_ns += (int64_t)test_random_below(9)) {
        struct weiri_order order = {.time_ns = WEIRI_AT_ONCE};
        struct weiri_added added;
        CHECK_STATUS(
            weiri_core_add(&core, key_of(test_random_below(ITEMS)), &order, now_ns, &added),
            WEIR_OK);
        item = find(test_random_below(ITEMS));
        if (item != NULL && weiri_item_is_processing(item)) {
            (void)weiri_core_done(&core, item, now_ns);
        }
        item = weiri_core_first(&core);
        if (item != NULL && test_random_below(3) > 0) {
            weiri_core_start(&core, item, now_ns);
        }
        weiri_wide sum = 0;
        int64_t longest = 0;
        for (item = core.first_processing; item != NULL; item = item->weir_next) {
            int64_t age_ns = now_ns + 7 - item->weir_running_ns;
            sum += (uint64_t)age_ns;
            longest = age_ns > longest ? age_ns : longest;
        }
        weiri_core_sample(&core, now_ns + 7, &got);
        CHECK(got.unfinished_ns == sum);
        CHECK_INT(got.longest_ns, ==, longest);
        CHECK_INT(got.depth, ==, core.queued + core.dirty);
    }
    fini();
    CHECK(core.started_ns == 0);
}

TEST(dropped, "all times are dropped and counted; what only waited is free")
{
    init(false);
    scatter();
    (void)add(1, 7, false);
    for (size_t i = 0; i < ITEMS; i++) {
        if (place_of(i) == WEIR_PLACE_QUEUED) {
            (void)weiri_core_cancel(&core, find(i)); /* with its time */
        }
    }
    size_t processing = core.processing;
    (void)add(ITEMS - 1, 5, false);
    size_t waiting = core.waiting.count;
    weiri_core_drop_waiting(&core);
    CHECK_INT(core.dropped, ==, waiting);
    check_counts(processing, 0, 0, processing);
    fini();
}
