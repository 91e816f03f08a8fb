/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/queue.h"
#include "world.h"

/* The queue in every order of its threads: delays, limits, clocks. */

/* Time moves only when nobody can run: what is due is then processed at that very time. */
static const struct explorer_options exact_time = {.no_early_time = true};
/* Long enough to come to its end in a campaign. */
static const struct explorer_options long_search = {.exhaustive = 10500};

static void run_earlier(bool is_exact)
{
    struct weiri_thread consumers[2];
    world_init();
    world.is_exact = is_exact;
    world_start_two(consumers, "consumer", world_consume);
    CHECK_STATUS(world_add_after(0, 1000), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 10), WEIR_OK);
    CHECK_STATUS(world_add_after(2, 100), WEIR_OK);
    world_end_consumers(consumers);
}

static void earlier_time(void *arg)
{
    run_earlier(*(const bool *)arg);
}

TEST(earlier_time_added, "a time before the one that consumers sleep for is kept to")
{
    bool is_exact = true;
    explorer_must_pass(earlier_time, &is_exact, &exact_time);
    is_exact = false;
    explorer_must_pass(earlier_time, &is_exact, NULL);
}

/* The handler of 0 waits until 1 and 2 have been processed. */
static void process_stuck(const struct weir_work *work)
{
    world_begin(world_number(work));
    if (world_number(work) == 0) {
        world_wait_run(1);
        world_wait_run(2);
    }
    world_end(world_number(work));
}

static void consume_stuck(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, WEIR_FOREVER, &work) == WEIR_OK) {
        process_stuck(&work);
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
        world_tell();
    }
}

static void consume_stuck_done_get(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, WEIR_FOREVER, &work);
    while (status == WEIR_OK) {
        process_stuck(&work);
        world_tell();
        status = weir_queue_done_get(world.queue, WEIR_FOREVER, &work);
    }
}

/* The consumer that watches the clock is taken away by an immediate add, and does not come back:
 * the other one must watch it in its place. */
static void run_timer_taken(void (*consume)(void *arg))
{
    struct weiri_thread consumers[2];
    world_init();
    world.is_exact = true;
    world_start_two(consumers, "consumer", consume);
    CHECK_STATUS(world_add(3), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 1000), WEIR_OK);
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_STATUS(world_add_after(2, 10), WEIR_OK);
    world_end_consumers(consumers);
}

static void timer_taken(void *arg)
{
    (void)arg;
    run_timer_taken(consume_stuck);
}

static void timer_taken_done_get(void *arg)
{
    (void)arg;
    run_timer_taken(consume_stuck_done_get);
}

TEST(timer_handed_over, "when the consumer that watches the clock is taken away, another one does")
{
    explorer_must_pass(timer_taken, NULL, &exact_time);
    explorer_must_pass(timer_taken_done_get, NULL, &exact_time);
}

/* The consumer that watches the clock gets the item it waited for, and is stuck with it until
 * another one watches the clock for the next. delay_ns: how much later that is. */
static void run_timer_left(void (*consume)(void *arg), int64_t delay_ns)
{
    struct weiri_thread consumers[2];
    world_init();
    world.is_exact = true;
    world.runs[2] = 1; /* nobody waits for this one */
    world_start_two(consumers, "consumer", consume);
    CHECK_STATUS(world_add(3), WEIR_OK);
    CHECK_STATUS(world_add_after(0, 10), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 10 + delay_ns), WEIR_OK);
    world_end_consumers(consumers);
}

static void timer_left(void *arg)
{
    run_timer_left(consume_stuck, *(const int64_t *)arg);
}

static void timer_left_done_get(void *arg)
{
    run_timer_left(consume_stuck_done_get, *(const int64_t *)arg);
}

TEST(timer_left_over, "pending times find another consumer when the one that watched them leaves")
{
    int64_t delay = 10;
    explorer_must_pass(timer_left, &delay, &exact_time);
    explorer_must_pass(timer_left_done_get, &delay, &exact_time);
}

/* Time passes only when no other thread can run: all consumers sleep then. */
static void sleep_until(int64_t time_ns)
{
    weiri_mutex_lock(&world.mutex);
    while (weir_clock_now(world.clock) < time_ns) {
        (void)weiri_cond_wait_until(&world.progress, time_ns);
    }
    weiri_mutex_unlock(&world.mutex);
}

/* The time that the timer sleeps for is cancelled, so it wakes up for nothing. It sleeps again as
 * the timer for the next time. The waiter that comes last stands first in the list: that is the
 * timer, unless it has woken the other one. */
static void timer_wakes_for_nothing(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    world_init();
    int64_t start_ns = weir_clock_now(world.clock);
    world_start_two(consumers, "consumer", world_consume);
    CHECK_STATUS(weir_queue_add_after(world.queue, world_key(0), 10), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 1000), WEIR_OK);
    sleep_until(start_ns + 5);
    CHECK_STATUS(weir_queue_cancel(world.queue, world_key(0), NULL), WEIR_OK);
    sleep_until(start_ns + 20);
    weiri_mutex_lock(&world.queue->mutex);
    CHECK(world.queue->consumers.timer_ns > start_ns + 20);
    CHECK((void *)world.queue->consumers.list.next == (void *)world.queue->consumers.timer);
    weiri_mutex_unlock(&world.queue->mutex);
    world_end_consumers(consumers);
}

TEST(timer_wakes_nobody, "a consumer that goes on as the timer wakes no other one for it")
{
    struct explorer_options options = {.no_early_time = true, .no_spurious = true};
    explorer_must_pass(timer_wakes_for_nothing, NULL, &options);
}

/* Each handler waits for the items with higher numbers. */
static void consume_in_reverse(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, WEIR_FOREVER, &work) == WEIR_OK) {
        world_begin(world_number(&work));
        for (int number = world_number(&work) + 1; number < 3; number++) {
            world_wait_run(number);
        }
        world_end(world_number(&work));
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
        world_tell();
    }
}

static void three_at_once(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread third;
    world_init();
    world_start_two(consumers, "consumer", consume_in_reverse);
    world_start(&third, "consumer", consume_in_reverse, NULL);
    for (int number = 0; number < 3; number++) {
        CHECK_STATUS(world_add_after(number, 10), WEIR_OK);
    }
    world_wait_all_seen();
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&third);
    world_join_two(consumers);
    world_fini();
}

TEST(due_at_once, "items that become due at the same time reach as many consumers")
{
    explorer_must_pass(three_at_once, NULL, &exact_time);
}

/* The same with a limit: the one that watches the clock gives up. */
static void get_with_limit(void *arg)
{
    (void)arg;
    int64_t limit = weir_clock_now(world.clock) + 10;
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, 10, &work);
    explorer_note("gets until: %s", weir_status_name((int)status));
    if (status == WEIR_OK) {
        world_process(&work);
    } else {
        CHECK_STATUS(status, WEIR_ETIMEDOUT);
        CHECK_INT(weir_clock_now(world.clock), >=, limit);
    }
}

static void limit_beside_get(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread other;
    world_init();
    world_start_two(consumers, "consumer", world_consume);
    world_start(&other, "impatient", get_with_limit, NULL);
    CHECK_STATUS(world_add_after(0, 5), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 10), WEIR_OK);
    CHECK_STATUS(world_add(2), WEIR_OK);
    weiri_thread_join(&other);
    world_end_consumers(consumers);
}

TEST(limits, "a get that gives up at its limit takes no wake-up and no timer along")
{
    explorer_must_pass(limit_beside_get, NULL, &long_search);
}

static void add_one(void *arg)
{
    (void)arg;
    CHECK_STATUS(world_add(0), WEIR_OK);
}

/* One add, one consumer with a limit: it has the item, or the item is still there. */
static void limit_beside_add(void *arg)
{
    (void)arg;
    struct weiri_thread threads[2];
    world_init();
    world_start(&threads[0], "impatient", get_with_limit, NULL);
    world_start(&threads[1], "producer", add_one, NULL);
    world_join_two(threads);
    struct weir_work work;
    if (world.runs[0] == 0) {
        CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_OK);
        world_process(&work);
    }
    CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_ETIMEDOUT);
    CHECK_INT(world.runs[0], ==, 1);
    world_fini();
}

TEST(limited_get_beside_add, "an add that meets a limit is not lost")
{
    explorer_must_pass(limit_beside_add, NULL, NULL);
}

/* A clock that only this thread steps, while both consumers sleep by it. */
static void manual_clock(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    world_init_on(true, false);
    world.is_exact = true;
    world_start_two(consumers, "consumer", world_consume);
    CHECK_STATUS(world_add_after(0, 20), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 10), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(world.clock, 9), WEIR_OK);
    CHECK_INT(world.runs[1], ==, 0);
    CHECK_STATUS(weir_clock_advance(world.clock, 1), WEIR_OK);
    world_wait_seen(1);
    CHECK_INT(world.runs[0], ==, 0);
    CHECK_STATUS(weir_clock_advance(world.clock, 10), WEIR_OK);
    world_end_consumers(consumers);
    CHECK_INT(world.runs[0] + world.runs[1], ==, 2);
}

TEST(manual_clock_steps, "each step of a manual clock wakes whoever it makes something due for")
{
    explorer_must_pass(manual_clock, NULL, NULL);
}

/* Until so many gets sleep. One whose time begins after a step needs another step. */
static void wait_asleep(size_t count)
{
    size_t found;
    do {
        found = 0;
        weiri_mutex_lock(&world.queue->mutex);
        const struct weiri_list *list = &world.queue->consumers.list;
        for (const struct weiri_list *link = list->next; link != list; link = link->next) {
            found++;
        }
        weiri_mutex_unlock(&world.queue->mutex);
        weiri_sync_point();
    } while (found < count);
}

static void get_until_stepped(void *arg)
{
    struct weir_work work;
    int64_t timeout = *(const int *)arg == 0 ? 10 : 20;
    CHECK_STATUS(weir_queue_get(world.queue, timeout, &work), WEIR_ETIMEDOUT);
    CHECK_INT(weir_clock_now(world.clock), ==, 1030);
}

/* A step past the limits of two gets ends both, although nothing is due. */
static void stepped_past_limits(void *arg)
{
    (void)arg;
    struct weiri_thread threads[2];
    world_init_on(true, false);
    world_start_two(threads, "impatient", get_until_stepped);
    wait_asleep(2);
    CHECK_STATUS(weir_clock_advance(world.clock, 30), WEIR_OK);
    world_join_two(threads);
    world_fini();
}

TEST(stepped_limits, "a step of a manual clock ends every get whose limit it passes")
{
    explorer_must_pass(stepped_past_limits, NULL, NULL);
}

static void get_due_at_limit(void *arg)
{
    (void)arg;
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(world.queue, 10, &work), WEIR_OK);
    world_process(&work);
}

/* The item is due when the limit is reached, however late the get notices the step. */
static void due_at_limit(void *arg)
{
    (void)arg;
    struct weiri_thread thread;
    world_init_on(true, false);
    CHECK_STATUS(world_add_after(0, 10), WEIR_OK);
    world_start(&thread, "impatient", get_due_at_limit, NULL);
    wait_asleep(1);
    CHECK_STATUS(weir_clock_advance(world.clock, 10), WEIR_OK);
    weiri_thread_join(&thread);
    world_fini();
}

TEST(due_at_the_limit, "a get does not time out while an item is due")
{
    explorer_must_pass(due_at_limit, NULL, NULL);
}

static void step_clock(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(weir_clock_advance(world.clock, 10), WEIR_OK);
    }
}

/* Steps, adds and gets at once; times are kept to on a clock that others move. */
static void stepped_while_adding(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread stepper;
    world_init_on(true, false);
    world_start_two(consumers, "consumer", world_consume);
    world_start(&stepper, "stepper", step_clock, NULL);
    CHECK_STATUS(world_add_after(0, 10), WEIR_OK);
    CHECK_STATUS(world_add(1), WEIR_OK);
    weiri_thread_join(&stepper);
    /* Wherever the steps fell, this one is past the time. */
    CHECK_STATUS(weir_clock_advance(world.clock, 10), WEIR_OK);
    world_end_consumers(consumers);
}

TEST(stepped_while_used,
     "a clock stepped by one thread while others add and sleep leaves nobody asleep")
{
    explorer_must_pass(stepped_while_adding, NULL, &long_search);
}

static void cancel(void *arg)
{
    bool *taken = arg;
    CHECK_STATUS(weir_queue_cancel(world.queue, world_key(0), taken), WEIR_OK);
    explorer_note("cancelled: %d", *taken);
}

/* A waiting item is cancelled while its time comes: it is either taken out or processed once. The
 * second item's time was behind it: its timer must survive. */
static void cancel_beside_timer(void *arg)
{
    (void)arg;
    bool taken = false;
    struct weiri_thread consumers[2];
    struct weiri_thread canceller;
    world_init();
    world_start_two(consumers, "consumer", world_consume);
    CHECK_STATUS(weir_queue_add_after(world.queue, world_key(0), 10), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 20), WEIR_OK);
    world_start(&canceller, "canceller", cancel, &taken);
    weiri_thread_join(&canceller);
    world_wait_seen(1);
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    world_join_two(consumers);
    CHECK_INT(world.runs[0] + (taken ? 1U : 0U), ==, 1);
    world_fini();
}

TEST(cancel_beside_time, "a waiting item is either cancelled or comes at its time")
{
    explorer_must_pass(cancel_beside_timer, NULL, NULL);
}

/* The consumer fails twice, by the limiter's delays of 5 and 10 ms, then succeeds. */
static void consume_failing(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, WEIR_FOREVER, &work) == WEIR_OK) {
        int number = world_number(&work);
        world_begin(number);
        uint64_t failures;
        CHECK_STATUS(weir_queue_num_requeues(world.queue, work.key, &failures), WEIR_OK);
        if (failures < 2) {
            world.due[number] = weir_clock_now(world.clock) + WEIR_MS(5) * (1 << failures);
            unsigned add = world_ask();
            CHECK_STATUS(weir_queue_add_rate_limited(world.queue, work.key), WEIR_OK);
            world_asked(number, add, WEIR_OK);
        } else {
            CHECK_STATUS(weir_queue_forget(world.queue, work.key), WEIR_OK);
        }
        world_end(number);
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
        world_tell();
    }
}

static void retries(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    world_init();
    world_start_two(consumers, "consumer", consume_failing);
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_STATUS(world_add(1), WEIR_OK);
    world_end_consumers(consumers);
    CHECK_INT(world.runs[0], ==, 3);
    CHECK_INT(world.runs[1], ==, 3);
}

TEST(rate_limited, "items that fail come back at their limiter's times, whoever processes them")
{
    explorer_must_pass(retries, NULL, &long_search);
}
