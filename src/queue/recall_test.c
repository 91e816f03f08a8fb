/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/room.h"

#include "queue/close.h"

#include "support/harness.h"

/* What only the pool calls of src/queue/recall.c and room.c. */

static weir_queue *new_queue(weir_clock *clock)
{
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.clock = clock;
    weir_queue *queue;
    CHECK_STATUS(weir_queue_new(&options, &queue), WEIR_OK);
    return queue;
}

TEST(again, "what a cancelled processing would bring back stays away; what others send does not")
{
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &clock), WEIR_OK);
    weir_queue *queue = new_queue(clock);
    struct weir_item item = {0};
    struct weir_work work;
    struct weiri_recalled recalled;
    _Atomic uint64_t cancelled_run = 0;
    CHECK_STATUS(weir_queue_add(queue, weir_key_item(&item)), WEIR_OK);
    CHECK_STATUS(weir_queue_try_get(queue, &work), WEIR_OK);
    bool has_joined = true;
    CHECK_STATUS(weiri_queue_send_again(queue, &item, weir_clock_now(clock), 10, &cancelled_run,
                                        &has_joined),
                 WEIR_OK);
    CHECK(!has_joined);
    CHECK_STATUS(
        weiri_queue_send_again(queue, &item, weir_clock_now(clock), 0, &cancelled_run, &has_joined),
        WEIR_OK);
    CHECK(!has_joined);

    weiri_queue_recall(queue, &item, &cancelled_run, NULL, &recalled);
    CHECK_INT(recalled.pending, ==, 2);
    CHECK(recalled.item == NULL && recalled.run == work.ticket);
    CHECK(weiri_run_was_robbed(atomic_load(&cancelled_run), work.ticket));
    weiri_queue_recall(queue, &item, &cancelled_run, NULL, &recalled);
    CHECK_INT(recalled.pending, ==, 0);
    CHECK(weiri_run_was_robbed(atomic_load(&cancelled_run), work.ticket)); /* it was, before */
    CHECK_STATUS(weiri_queue_put_back(queue, &work, &cancelled_run), WEIR_ECANCELED);
    CHECK_STATUS(weiri_queue_send_again(queue, &item, weir_clock_now(clock), 10, &cancelled_run,
                                        &has_joined),
                 WEIR_ECANCELED);
    CHECK_STATUS(
        weiri_queue_send_again(queue, &item, weir_clock_now(clock), 0, &cancelled_run, &has_joined),
        WEIR_ECANCELED);
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(queue, &counts), WEIR_OK);
    CHECK_INT(counts.waiting + counts.queued, ==, 0);
    bool has_entered = true;
    CHECK_STATUS(weiri_queue_send_now(queue, &item, &has_entered), WEIR_OK);
    CHECK(!has_entered);
    bool has_left = true;
    CHECK_STATUS(weiri_queue_done_left(queue, &work, &has_left), WEIR_OK);
    CHECK(!has_left);

    /* The next processing has another ticket. */
    CHECK_STATUS(weir_queue_try_get(queue, &work), WEIR_OK);
    CHECK_STATUS(weiri_queue_send_again(queue, &item, weir_clock_now(clock), 10, &cancelled_run,
                                        &has_joined),
                 WEIR_OK);
    weiri_queue_recall(queue, &item, &cancelled_run, NULL, &recalled);
    CHECK_INT(recalled.pending, ==, 1);
    CHECK_STATUS(weir_queue_add_after(queue, weir_key_item(&item), 10), WEIR_OK);
    CHECK_STATUS(weiri_queue_done_left(queue, &work, &has_left), WEIR_OK);
    CHECK(!has_left);
    weiri_queue_recall(queue, &item, &cancelled_run, NULL, &recalled);
    CHECK(recalled.item == &item && recalled.pending == 1 && recalled.run == 0);

    /* A cancellation that takes nothing says so. */
    CHECK_STATUS(weir_queue_add(queue, weir_key_item(&item)), WEIR_OK);
    CHECK_STATUS(weir_queue_try_get(queue, &work), WEIR_OK);
    weiri_queue_recall(queue, &item, &cancelled_run, NULL, &recalled);
    uint64_t note = atomic_load(&cancelled_run);
    CHECK(weiri_run_is_noted(note, work.ticket) && !weiri_run_was_robbed(note, work.ticket));
    CHECK_STATUS(weiri_queue_done_left(queue, &work, &has_left), WEIR_OK);
    CHECK(has_left);
    weir_queue_free(queue);
    weir_clock_free(clock);
}

TEST(again_joins, "it tells of what would have come as early without it, and of nothing else")
{
    static const struct {
        int64_t sent_ns; /* 0: at once */
        int64_t again_ns;
        bool joins;
    } cases[] = {{0, 0, true}, {0, 5, false}, {5, 0, false},       {5, 4, false},
                 {5, 5, true}, {5, 6, true},  {5, INT64_MAX, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weir_clock *clock;
        CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &clock), WEIR_OK);
        weir_queue *queue = new_queue(clock);
        struct weir_item item = {0};
        struct weir_work work;
        _Atomic uint64_t cancelled_run = 0;
        CHECK_STATUS(weir_queue_add(queue, weir_key_item(&item)), WEIR_OK);
        CHECK_STATUS(weir_queue_try_get(queue, &work), WEIR_OK);
        CHECK_STATUS(weir_queue_add_after(queue, weir_key_item(&item), cases[i].sent_ns), WEIR_OK);
        bool has_joined = !cases[i].joins;
        CHECK_STATUS(weiri_queue_send_again(queue, &item, weir_clock_now(clock), cases[i].again_ns,
                                            &cancelled_run, &has_joined),
                     WEIR_OK);
        CHECK_INT(has_joined, ==, cases[i].joins);
        weir_queue_free(queue);
        weir_clock_free(clock);
    }
}

TEST(put_back, "what was handed out and not begun is queued again, in its turn")
{
    weir_queue *queue = new_queue(NULL);
    struct weir_item items[2] = {{0}, {0}};
    struct weir_work work;
    struct weir_work other;
    const _Atomic uint64_t cancelled_run = 0;
    CHECK_STATUS(weir_queue_add(queue, weir_key_item(&items[0])), WEIR_OK);
    CHECK_STATUS(weir_queue_try_get(queue, &work), WEIR_OK);
    CHECK_STATUS(weir_queue_add(queue, weir_key_item(&items[1])), WEIR_OK);
    for (int i = 0; i < 2; i++) { /* also one that was added meanwhile, and comes once for both */
        CHECK_STATUS(weiri_queue_put_back(queue, &work, &cancelled_run), WEIR_OK);
        CHECK_INT(weir_queue_len(queue), ==, 2);
        CHECK_STATUS(weir_queue_done(queue, &work), WEIR_ENOTPROCESSING);
        CHECK_STATUS(weir_queue_try_get(queue, &other), WEIR_OK);
        CHECK(other.item == &items[1]);
        CHECK_STATUS(weir_queue_try_get(queue, &work), WEIR_OK);
        CHECK(work.item == &items[0]);
        CHECK_STATUS(weir_queue_done(queue, &other), WEIR_OK);
        CHECK_STATUS(weir_queue_add(queue, weir_key_item(&items[1])), WEIR_OK);
        CHECK_STATUS(weir_queue_add(queue, weir_key_item(&items[0])), WEIR_OK);
    }
    weir_queue_free(queue);
}

struct watch {
    weir_queue *queue;
    const struct weir_item *item;
    uint64_t run;
};

static void await(void *arg)
{
    struct watch *watch = arg;
    CHECK_STATUS(weiri_queue_await_end(watch->queue, watch->item, watch->run), WEIR_OK);
}

TEST(await_end, "who waits for a processing's end is woken by it, in a quiet queue too")
{
    weir_queue *queue = new_queue(NULL);
    struct weir_item items[2] = {{0}, {0}};
    struct weir_work works[2];
    struct test_thread *threads[2];
    struct watch watches[2];
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weir_queue_add(queue, weir_key_item(&items[i])), WEIR_OK);
        CHECK_STATUS(weir_queue_try_get(queue, &works[i]), WEIR_OK);
        watches[i] = (struct watch){.queue = queue, .item = &items[i], .run = works[i].ticket};
        threads[i] = test_start(await, &watches[i]);
        test_wait_asleep(threads[i]);
    }
    for (int i = 1; i >= 0; i--) {
        CHECK(!test_has_ended(threads[i]));
        CHECK_STATUS(weir_queue_add(queue, weir_key_item(&items[i])), WEIR_OK);
        CHECK_STATUS(weir_queue_done(queue, &works[i]), WEIR_OK);
        test_join(threads[i]);
        CHECK_STATUS(weiri_queue_await_end(queue, &items[i], works[i].ticket), WEIR_OK);
    }
    weir_queue_free(queue);
}

TEST(enter_elsewhere, "of items that are to enter, one that another queue holds keeps all out")
{
    weir_queue *queue = new_queue(NULL);
    weir_queue *other = new_queue(NULL);
    struct weir_item items[2] = {{0}};
    const struct weir_key keys[] = {weir_key_item(&items[0]), weir_key_item(&items[1])};
    bool entered[2] = {false, false};
    const struct weiri_entry both = {.keys = keys, .entered = entered, .count = 2};
    const struct weiri_entry later = {
        .keys = &keys[1], .entered = entered, .count = 1, .delay_ns = 1};
    CHECK_STATUS(weir_queue_add(other, keys[1]), WEIR_OK);
    CHECK_STATUS(weiri_queue_enter(queue, &both), WEIR_EBUSY);
    CHECK_STATUS(weiri_queue_enter(queue, &later), WEIR_EBUSY);
    struct weiri_recalled displaced;
    CHECK_STATUS(weiri_queue_enter_displacing(queue, &later, &displaced), WEIR_EBUSY);
    CHECK(displaced.item == NULL && !entered[0] && !entered[1]);
    CHECK_INT(weir_queue_len(queue), ==, 0);
    CHECK_INT(weir_queue_len(other), ==, 1);
    CHECK_STATUS(weir_queue_add(other, keys[0]), WEIR_OK); /* it was not taken */
    weir_queue_free(other);
    CHECK_STATUS(weiri_queue_enter(queue, &both), WEIR_OK);
    CHECK(entered[0] && entered[1]);
    weir_queue_free(queue);
}
