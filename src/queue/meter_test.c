/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/meter.h"

#include "queue/moves.h"

#include "support/harness.h"

/* The core with a meter, against books that know each item's times; with memory that fails, the
 * meter may know fewer items, but never wrong times. */

#define ITEMS 2000

struct books {
    int64_t added_ns;
    int64_t started_ns;
    int64_t dirty_ns;
    struct weir_work work;
};

static struct weir_item items[ITEMS];
static struct books books[ITEMS];
static struct weiri_core core;
static struct weiri_meter meter;

static void begin(void)
{
    weiri_core_init(&core, test_allocator(), test_random(), test_random(), 1u << WEIRI_MARK_SHIFT);
    weiri_meter_init(&meter, test_allocator());
    core.meter = &meter;
}

static void finish(void)
{
    weiri_meter_fini(&meter);
    core.meter = NULL;
    weiri_core_fini(&core);
}

static void add(size_t i)
{
    enum weiri_place place = weiri_item_place(&items[i]);
    struct weiri_added added;
    if (weiri_core_add(&core, weir_key_item(&items[i]), false, 0, &added) != WEIR_OK) {
        return;
    }
    if (place == WEIRI_IDLE) {
        books[i].added_ns = meter.now_ns;
    } else if (place == WEIRI_PROCESSING) {
        books[i].dirty_ns = meter.now_ns;
    }
}

static void next(void)
{
    struct weir_work work;
    if (weiri_core_next(&core, &work)) {
        size_t i = (size_t)(work.item - items);
        books[i].work = work;
        books[i].started_ns = meter.now_ns;
    }
}

static void end(size_t i)
{
    struct weiri_ended ended;
    if (weiri_core_done(&core, &books[i].work, &ended) == WEIR_OK && ended.is_queued) {
        books[i].added_ns = books[i].dirty_ns;
    }
}

/* With all memory there, is_complete: every item is timed. */
static void check_item(size_t i, bool is_complete)
{
    enum weiri_place place = weiri_item_place(&items[i]);
    int64_t queued_ns = place == WEIRI_QUEUED  ? meter.now_ns - books[i].added_ns
                        : place == WEIRI_DIRTY ? meter.now_ns - books[i].dirty_ns
                                               : -1;
    int64_t running_ns =
        weiri_item_is_processing(&items[i]) ? meter.now_ns - books[i].started_ns : -1;
    int64_t got_queued_ns = weiri_meter_queued_age(&meter, &items[i]);
    int64_t got_running_ns = weiri_meter_running_age(&meter, &items[i]);
    CHECK(got_queued_ns == queued_ns || (got_queued_ns == -1 && !is_complete));
    CHECK(got_running_ns == running_ns || (got_running_ns == -1 && !is_complete));
}

static void check(bool is_complete)
{
    struct weiri_queue_sample sample;
    int64_t longest_ns = 0;
    weiri_wide unfinished_ns = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        check_item(i, is_complete);
        int64_t age_ns = weiri_meter_running_age(&meter, &items[i]);
        if (age_ns >= 0) {
            unfinished_ns += (uint64_t)age_ns;
            longest_ns = age_ns > longest_ns ? age_ns : longest_ns;
        }
    }
    weiri_meter_read(&meter, &sample);
    CHECK_INT(sample.longest_ns, ==, longest_ns);
    CHECK(sample.unfinished_ns == unfinished_ns);
}

/* Random calls; load of 100 mostly adds. */
static void run(unsigned steps, unsigned load)
{
    for (unsigned step = 0; step < steps; step++) {
        size_t i = (size_t)test_random_below(ITEMS);
        meter.now_ns += (int64_t)test_random_below(1000);
        if (test_random_below(100) < load) {
            add(i);
        } else if (test_random_below(20) == 0) {
            bool was_taken;
            CHECK_STATUS(weiri_core_cancel(&core, weir_key_item(&items[i]), &was_taken), WEIR_OK);
        } else if (test_random_below(2) == 0) {
            next();
        } else {
            end(core.running.named == 0
                    ? i
                    : (size_t)(core.running.items[test_random_below(core.running.named)] - items));
        }
    }
}

TEST(ages, "the ages are those of a naive reference, through bursts and their end")
{
    begin();
    for (int round = 0; round < 6; round++) {
        run(6000, round % 2 == 0 ? 80 : 5);
        check(true);
    }
    finish();
}

TEST(ages_without_memory, "where allocations fail, items go untimed, and no time is wrong")
{
    begin();
    for (int round = 0; round < 60; round++) {
        test_fail_allocation(1 + test_random_below(6), test_random_below(2) == 0);
        run(600, round % 2 == 0 ? 80 : 5);
        test_fail_allocation(0, false);
        check(false);
    }
    finish();
}

TEST(without_a_stamp, "an item that could not be timed is handed out and done like any other")
{
    begin();
    CHECK_STATUS(weiri_ready_reserve(&core.ready, &core.allocator, 1), WEIR_OK);
    test_fail_allocation(1, true);
    add(0);
    next();
    add(0);
    end(0);
    next();
    end(0);
    test_fail_allocation(0, false);
    CHECK_INT(meter.adds, ==, 2);
    CHECK_INT(weiri_item_place(&items[0]), ==, WEIRI_IDLE);
    CHECK(meter.work_duration.sum_ns == 0 && meter.used == 0);
    finish();
}

/* Found by a random run of ages. */
TEST(requeued, "an item that is queued again has no neighbours, when the stamps shrink twice")
{
    begin();
    meter.now_ns = INT32_MAX;
    for (size_t i = 0; i < ITEMS; i++) {
        add(i);
        next();
    }
    add(1);
    end(1);
    for (size_t i = 0; i <= 2; i += 2) { /* its neighbours were dirty once, and go */
        bool was_taken = false;
        add(i);
        CHECK_STATUS(weiri_core_cancel(&core, weir_key_item(&items[i]), &was_taken), WEIR_OK);
        CHECK(was_taken);
        end(i);
    }
    size_t most = meter.capacity;
    for (size_t i = 3; i < ITEMS; i++) {
        end(i);
        check_item(1, true);
    }
    CHECK_INT(meter.capacity, <=, most / 16);
    CHECK_INT(meter.used, ==, 1);
    finish();
}

TEST(memory_returns, "after a burst the stamps' memory is given back, though some stay in use")
{
    begin();
    add(0);
    next();
    size_t before = meter.capacity;
    for (size_t i = 1; i < ITEMS; i++) {
        add(i);
    }
    CHECK_INT(meter.capacity, >=, ITEMS);
    for (size_t i = 1; i < ITEMS; i++) {
        next();
        end(i);
        check_item(0, true);
    }
    CHECK_INT(meter.used, ==, 1);
    CHECK_INT(meter.capacity, <=, 2 * before);
    for (size_t i = 1; i < ITEMS; i++) {
        add(i);
        next();
    }
    for (size_t i = 1; i < ITEMS; i++) {
        end(i);
    }
    CHECK_INT(meter.capacity, <=, 2 * before);
    CHECK_INT(meter.by_running_capacity, <=, 2 * core.running.capacity);
    finish();
}
