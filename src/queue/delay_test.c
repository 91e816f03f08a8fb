/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/delay.h"

#include <stdlib.h>

#include "queue/delay_sort.h"
#include "support/harness.h"

#define COUNT 3000

static struct weir_item items[COUNT];
static struct weiri_delay delay;

static void insert(size_t i, int64_t time_ns)
{
    CHECK_STATUS(weiri_delay_reserve(&delay, test_allocator(), delay.count + 1), WEIR_OK);
    weiri_delay_insert(&delay, &items[i], time_ns);
}

static struct weir_item *pop(int64_t now_ns)
{
    int64_t time_ns = -1;
    struct weir_item *item = weiri_delay_pop_due(&delay, now_ns, &time_ns);
    CHECK(item == NULL || (time_ns <= now_ns && item->weir_wait == 0));
    return item;
}

static bool is_gap(size_t slot)
{
    for (size_t i = 0; i < delay.gaps; i++) {
        if (delay.gap_slots[(delay.gap_first + i) % WEIRI_DELAY_GAPS] == slot) {
            return true;
        }
    }
    return false;
}

/* The parts are what the comment in delay.h says they are. */
static void check_parts(void)
{
    CHECK_INT(delay.due, ==, 0);
    CHECK_INT(delay.heap_end, <=, weiri_delay_end(&delay));
    size_t gaps = 0;
    for (size_t slot = WEIRI_DELAY_FIRST; slot < weiri_delay_end(&delay); slot++) {
        if (is_gap(slot)) {
            CHECK_INT(slot, >=, delay.heap_end);
            gaps++;
            continue;
        }
        const struct weiri_delay_entry *entry = weiri_delay_at(&delay, slot);
        CHECK_INT(entry->item->weir_wait, ==, slot);
        CHECK_INT(entry->time_ns, >=, delay.next_ns);
        if (slot >= delay.heap_end) {
            CHECK_INT(entry->time_ns, >=, delay.inbox_ns);
        } else if (slot > WEIRI_DELAY_FIRST) {
            CHECK(weiri_delay_is_before(weiri_delay_at(&delay, slot / 4 + 2), entry));
        }
    }
    CHECK_INT(gaps, ==, delay.gaps);
    if (WEIRI_DELAY_FIRST + delay.count == delay.heap_end) {
        CHECK_INT(gaps, ==, 0);
        CHECK(delay.inbox_ns == INT64_MAX && delay.inbox_first == 0);
    }
    CHECK_INT(gaps, <, WEIRI_DELAY_GAPS);
    if (delay.inbox_first != 0) {
        CHECK(!is_gap(delay.inbox_first));
        CHECK_INT(delay.inbox_first, >=, delay.heap_end);
        CHECK_INT(delay.inbox_first, <, weiri_delay_end(&delay));
        CHECK_INT(weiri_delay_at(&delay, delay.inbox_first)->time_ns, ==, delay.inbox_ns);
    }
}

TEST(order, "items come out in order of time, those of equal times in order of arrival")
{
    static int64_t times[COUNT];
    weiri_delay_init(&delay);
    for (size_t i = 0; i < COUNT; i++) {
        times[i] = (int64_t)test_random_below(50);
        insert(i, times[i]);
    }
    check_parts();
    int64_t last_time = -1;
    const struct weir_item *last = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        const struct weir_item *item = pop(INT64_MAX);
        CHECK(item != NULL);
        int64_t time = times[item - items];
        CHECK_INT(time, >=, last_time);
        CHECK(time > last_time || item > last);
        last_time = time;
        last = item;
    }
    CHECK(pop(INT64_MAX) == NULL);
    weiri_delay_fini(&delay, test_allocator());
}

TEST(never_early, "an item is due at its time and not one nanosecond before")
{
    weiri_delay_init(&delay);
    insert(0, 100);
    CHECK_INT(weiri_delay_next(&delay), ==, 100);
    CHECK(pop(99) == NULL);
    CHECK(pop(100) == &items[0]);
    CHECK(pop(100) == NULL);
    CHECK_INT(weiri_delay_next(&delay), ==, INT64_MAX);
    weiri_delay_fini(&delay, test_allocator());
}

TEST(end_of_time,
     "an item may wait until the last moment there is, or have been due since the first")
{
    weiri_delay_init(&delay);
    insert(0, INT64_MAX);
    insert(1, INT64_MIN);
    insert(2, INT64_MAX);
    CHECK_INT(weiri_delay_next(&delay), ==, INT64_MIN);
    CHECK(pop(INT64_MAX - 1) == &items[1]);
    CHECK(pop(INT64_MAX - 1) == NULL);
    CHECK_INT(weiri_delay_next(&delay), ==, INT64_MAX);
    CHECK(pop(INT64_MAX) == &items[0]);
    CHECK(pop(INT64_MAX) == &items[2]);
    CHECK(pop(INT64_MAX) == NULL);
    weiri_delay_fini(&delay, test_allocator());
}

TEST(next_is_exact, "the next time is exact, also when the earliest item was cancelled or put off")
{
    weiri_delay_init(&delay);
    for (size_t i = 0; i < 100; i++) {
        insert(i, 1000 - (int64_t)i);
    }
    for (size_t i = 99; i > 1; i--) {
        CHECK_INT(weiri_delay_next(&delay), ==, 1000 - (int64_t)i);
        if (i % 2 == 0) {
            weiri_delay_remove(&delay, &items[i]);
        } else {
            weiri_delay_move(&delay, &items[i], 2000);
        }
        insert(100 + i, 3000); /* so that the inbox is never empty for long */
        check_parts();
    }
    weiri_delay_fini(&delay, test_allocator());
    CHECK_INT(items[0].weir_wait, ==, 0);
}

TEST(steady, "where as much comes as falls due, the inbox never grows into a pile to be sorted")
{
    weiri_delay_init(&delay);
    for (size_t i = 0; i < COUNT; i++) {
        insert(i, (int64_t)i);
    }
    for (int64_t now_ns = 0; now_ns < 3 * COUNT; now_ns++) {
        struct weir_item *item = pop(now_ns);
        CHECK(item == &items[now_ns % COUNT]);
        CHECK(pop(now_ns) == NULL);
        insert((size_t)(item - items), now_ns + COUNT);
        CHECK_INT(weiri_delay_end(&delay) - delay.heap_end, <=, 2);
        CHECK_INT(weiri_delay_next(&delay), ==, now_ns + 1);
    }
    check_parts();
    weiri_delay_fini(&delay, test_allocator());
}

TEST(sort, "any times and arrivals are sorted, the earliest last")
{
    weiri_delay_init(&delay);
    for (unsigned round = 0; round < 60; round++) {
        size_t count = 1 + (size_t)test_random_below(COUNT - 1);
        unsigned shift = round % 64;
        CHECK_STATUS(weiri_delay_reserve(&delay, test_allocator(), count), WEIR_OK);
        delay.arrivals = test_random() >> test_random_below(64);
        for (size_t i = 0; i < count; i++) {
            weiri_delay_insert(&delay, &items[i], (int64_t)(test_random() << shift));
        }
        weiri_delay_sort(&delay, WEIRI_DELAY_FIRST, count);
        for (size_t i = 1; i < count; i++) {
            CHECK(weiri_delay_is_before(weiri_delay_at(&delay, WEIRI_DELAY_FIRST + i),
                                        weiri_delay_at(&delay, WEIRI_DELAY_FIRST + i - 1)));
        }
        weiri_delay_fini(&delay, test_allocator());
    }
}

TEST(memory, "an item costs 24 bytes; a failed reserve changes nothing; memory goes back")
{
    weiri_delay_init(&delay);
    for (size_t i = 0; i < COUNT; i++) {
        insert(i, (int64_t)i);
    }
    size_t full = test_allocated_bytes();
    CHECK_INT(full, <, COUNT * 25);
    CHECK_STATUS(weiri_delay_reserve(&delay, test_allocator(), UINT32_MAX), WEIR_ENOMEM);
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_delay_reserve(&delay, test_allocator(), COUNT + 100), WEIR_ENOMEM);
    test_fail_allocation(0, false);
    check_parts();
    for (int64_t i = 0; i < COUNT - 4; i++) {
        CHECK(pop(i) == &items[i]);
        CHECK(pop(i) == NULL);
    }
    /* The array of pointers cannot shrink; the slabs go all the same. */
    test_fail_allocation(1, true);
    weiri_delay_trim(&delay, test_allocator());
    test_fail_allocation(0, false);
    CHECK_INT(test_allocated_bytes(), <, full / 10);
    weiri_delay_trim(&delay, test_allocator());
    check_parts();
    CHECK_INT(weiri_delay_next(&delay), ==, COUNT - 4);
    weiri_delay_fini(&delay, test_allocator());
    CHECK_INT(test_allocated_bytes(), ==, 0);
}

TEST(gaps, "an item that was taken out is not touched any more, whatever becomes of its gap")
{
    weiri_delay_init(&delay);
    for (size_t i = 0; i < 20; i++) {
        insert(i, 1000 + (int64_t)i);
    }
    for (size_t i = 0; i < 6; i++) {
        weiri_delay_remove(&delay, &items[i]);
        items[i].weir_wait = 77; /* it may be anything by now */
    }
    CHECK_INT(delay.gaps, ==, 6);
    insert(20, 5);
    CHECK_INT(delay.gaps, ==, 5);
    check_parts();
    CHECK(pop(5) == &items[20]);
    CHECK_INT(delay.gaps, ==, 0);
    check_parts();
    for (size_t i = 0; i < 6; i++) {
        items[i].weir_wait = 0;
        insert(i, 2000);
    }
    for (size_t i = 0; i < 3; i++) {
        weiri_delay_remove(&delay, &items[i]);
        items[i].weir_wait = 77;
    }
    weiri_delay_fini(&delay, test_allocator());
    for (size_t i = 0; i < 20; i++) {
        CHECK_INT(items[i].weir_wait, ==, i < 3 ? 77 : 0);
        items[i].weir_wait = 0;
    }
}

/* The reference: who waits, as a list sorted by (time, arrival). */
struct expected {
    int64_t time_ns;
    struct weir_item *item;
};

static struct expected expected[COUNT];
static size_t expected_count;

static void expect_insert(struct weir_item *item, int64_t time_ns)
{
    size_t at = expected_count++;
    for (; at > 0 && expected[at - 1].time_ns > time_ns; at--) {
        expected[at] = expected[at - 1];
    }
    expected[at] = (struct expected){time_ns, item};
}

static void expect_remove(const struct weir_item *item)
{
    size_t at = 0;
    while (expected[at].item != item) {
        at++;
    }
    expected_count--;
    memmove(&expected[at], &expected[at + 1], (expected_count - at) * sizeof(expected[0]));
}

static void expect_due(int64_t now_ns)
{
    size_t popped = 0;
    int64_t time_ns = -1;
    for (const struct weir_item *item = weiri_delay_pop_due(&delay, now_ns, &time_ns); item != NULL;
         item = weiri_delay_pop_due(&delay, now_ns, &time_ns)) {
        CHECK_INT(popped, <, expected_count);
        CHECK(item == expected[popped].item);
        CHECK_INT(time_ns, ==, expected[popped].time_ns);
        popped++;
    }
    CHECK(popped == expected_count || expected[popped].time_ns > now_ns);
    expected_count -= popped;
    memmove(expected, expected + popped, expected_count * sizeof(expected[0]));
}

/* How a stretch of steps goes: so many items, delays of up to so much, so often each call. */
struct phase {
    size_t population;
    int64_t delay_max;
    uint64_t tick;         /* the clock goes on by up to so much at a time */
    unsigned pass_percent; /* of the steps: time passes */
    unsigned change_percent;
};

static struct phase choose_phase(void)
{
    static const size_t populations[] = {2, 20, 200, COUNT};
    struct phase phase = {
        .population = populations[test_random_below(4)],
        .delay_max = (int64_t)1 << (1 + test_random_below(44)),
        .pass_percent = test_random_below(4) == 0 ? 30 : 1,
        .change_percent = (unsigned)test_random_below(60),
    };
    phase.tick = (uint64_t)phase.delay_max >> test_random_below(8);
    return phase;
}

static void step(const struct phase *phase, int64_t *now_ns)
{
    uint64_t percent = test_random_below(100);
    if (percent < phase->pass_percent) {
        *now_ns += (int64_t)test_random_below(phase->tick + 1);
        expect_due(*now_ns);
        weiri_delay_trim(&delay, test_allocator());
        return;
    }
    size_t i = (size_t)test_random_below(phase->population);
    struct weir_item *item = &items[i];
    int64_t time_ns = *now_ns + 1 + (int64_t)test_random_below((uint64_t)phase->delay_max);
    if (item->weir_wait == 0) {
        insert(i, time_ns);
        expect_insert(item, time_ns);
    } else if (percent < phase->change_percent) {
        weiri_delay_move(&delay, item, time_ns);
        expect_remove(item);
        expect_insert(item, time_ns);
        CHECK_INT(weiri_delay_time(&delay, item), ==, time_ns);
    } else {
        weiri_delay_remove(&delay, item);
        expect_remove(item);
        CHECK_INT(item->weir_wait, ==, 0);
    }
}

TEST(model, "a million inserts, moves, removals and passings of time do what a sorted list does")
{
    weiri_delay_init(&delay);
    int64_t now_ns = 0;
    struct phase phase = choose_phase();
    for (uint64_t n = 0; n < test_scaled(1000000); n++) {
        if (test_random_below(5000) == 0) {
            phase = choose_phase();
        }
        step(&phase, &now_ns);
        CHECK_INT(delay.count, ==, expected_count);
        if (n % 4 == 0) {
            int64_t next_ns = expected_count == 0 ? INT64_MAX : expected[0].time_ns;
            CHECK_INT(delay.next_ns, <=, next_ns);
            if (n % 64 == 0) {
                CHECK_INT(weiri_delay_next(&delay), ==, next_ns);
            }
        }
        if (n % 1024 == 0) {
            check_parts();
        }
    }
    expect_due(INT64_MAX);
    weiri_delay_fini(&delay, test_allocator());
}
