/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "world.h"

#include "queue/queue.h"

/* The queue in every order of its threads: pending times that are moved, superseded or refused
 * while they pass, and limits that pass while their gets are woken. */

static struct {
    int64_t start_ns;   /* when item 0 was added for its first time */
    int64_t changed_ns; /* no later than when that was changed */
    int64_t first_ns;   /* of item 0's processings */
    int64_t last_ns;
} times;

static void consume_noting(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, WEIR_FOREVER, &work) == WEIR_OK) {
        if (world_number(&work) == 0) {
            times.last_ns = weir_clock_now(world.clock);
            times.first_ns = world.runs[0] == 0 ? times.last_ns : times.first_ns;
        }
        world_process(&work);
    }
}

static void change(uint32_t flags, int64_t delay_ns)
{
    struct weir_add_options options = {0};
    options.flags = flags;
    options.delay_ns = delay_ns;
    unsigned add = world_ask();
    times.changed_ns = weir_clock_now(world.clock);
    explorer_note("changes a: after %lld", (long long)delay_ns);
    CHECK_STATUS(weir_queue_add_with(world.queue, world_key(0), &options, NULL), WEIR_OK);
    world_asked(0, add, WEIR_OK);
}

static void put_off(void *arg)
{
    (void)arg;
    change(WEIR_ADD_MOVE, 50);
}

static void bring_forward(void *arg)
{
    (void)arg;
    change(WEIR_ADD_MOVE, 10);
}

static void supersede(void *arg)
{
    (void)arg;
    change(WEIR_ADD_SUPERSEDE, 0);
}

/* Item 0 waits, item 1 behind it; a thread changes the time of 0. Returns how many pending times
 * the end of the queue dropped. */
static uint64_t change_beside_time(int64_t delay_ns, void (*changer)(void *arg))
{
    struct weiri_thread consumers[2];
    struct weiri_thread thread;
    world_init();
    memset(&times, 0, sizeof(times));
    world_start_two(consumers, "consumer", consume_noting);
    times.start_ns = weir_clock_now(world.clock);
    CHECK_STATUS(weir_queue_add_after(world.queue, world_key(0), delay_ns), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 20), WEIR_OK);
    world_start(&thread, "changer", changer, NULL);
    weiri_thread_join(&thread);
    world_wait_all_seen();
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(world.queue, &counts), WEIR_OK);
    world_join_two(consumers);
    world_fini();
    return counts.dropped;
}

/* The time passes first, and the item comes twice; or the time is put off. Where the item was
 * handed out between the two, nobody waits for the later time, and the shutdown drops it. */
static void put_off_beside_time(void *arg)
{
    (void)arg;
    uint64_t dropped = change_beside_time(10, put_off);
    CHECK_INT(world.runs[0], <=, 2);
    CHECK(world.runs[0] != 2 || times.first_ns >= times.start_ns + 10);
    int64_t earliest_ns = dropped > 0 ? times.start_ns + 10 : times.changed_ns + 50;
    CHECK_INT(times.last_ns, >=, earliest_ns);
}

TEST(put_off, "a pending time is put off or has come, and is early neither time")
{
    explorer_must_pass(put_off_beside_time, NULL, NULL);
}

static void bring_forward_beside_time(void *arg)
{
    (void)arg;
    CHECK_INT(change_beside_time(1000, bring_forward), ==, 0);
    CHECK_INT(world.runs[0], ==, 1);
    CHECK_INT(times.last_ns, ==, times.changed_ns + 10);
}

TEST(bring_forward, "who sleeps until a later time comes for the one that it is moved to")
{
    const struct explorer_options options = {.no_early_time = true};
    explorer_must_pass(bring_forward_beside_time, NULL, &options);
}

static void supersede_beside_time(void *arg)
{
    (void)arg;
    CHECK_INT(change_beside_time(10, supersede), ==, 0);
    CHECK_INT(world.runs[0], <=, 2);
    CHECK(world.runs[0] != 2 || times.first_ns >= times.start_ns + 10);
}

TEST(supersede, "an add that supersedes a time leaves nothing waiting, and loses nothing")
{
    explorer_must_pass(supersede_beside_time, NULL, NULL);
}

static void add_refusable(void *arg)
{
    int own = *(const int *)arg;
    for (int i = 0; i < 3; i++) {
        int number = (own + i) % 3;
        enum weir_status status = i == 1 ? world_add(number) : world_add_after(number, 10 * i);
        CHECK(status == WEIR_OK || status == WEIR_ENOMEM);
        world.due[number] = 0; /* each is added at once too */
    }
}

static void out_of_memory(void *arg)
{
    (void)arg;
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    world_init_on(false, true);
    test_fail_allocation(1 + explorer_choose(8), explorer_choose(2) == 1);
    world_start_two(producers, "producer", add_refusable);
    world_join_two(producers);
    test_fail_allocation(0, false);
    world_start_two(consumers, "consumer", world_consume);
    world_end_consumers(consumers);
}

TEST(memory_runs_out, "with allocations failing, what was accepted for a time is processed")
{
    explorer_must_pass(out_of_memory, NULL, NULL);
}

static void get_soon(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, 10, &work);
    if (status == WEIR_OK) {
        world_process(&work);
    } else {
        CHECK_STATUS(status, WEIR_ETIMEDOUT);
    }
}

/* Two that give up beside one that does not. A wake-up that reaches one of the two with its limit
 * must not be lost to the third: nothing else would wake it. */
static void limits_beside_sleeper(void *arg)
{
    (void)arg;
    struct weiri_thread impatient[2];
    struct weiri_thread consumer;
    world_init();
    world_start(&consumer, "consumer", world_consume, NULL);
    world_start_two(impatient, "impatient", get_soon);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_join_two(impatient);
    world_wait_seen(0);
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&consumer);
    world_fini();
}

TEST(limit_beside_sleeper, "a get that is woken at its limit takes the item or leaves the wake-up")
{
    explorer_must_pass(limits_beside_sleeper, NULL, NULL);
}

/* The one that watches the clock may be the one that gives up before the time it watches for. */
static void limit_before_time(void *arg)
{
    (void)arg;
    struct weiri_thread impatient;
    struct weiri_thread consumer;
    world_init();
    world.is_exact = true;
    world_start(&impatient, "impatient", get_soon, NULL);
    world_start(&consumer, "consumer", world_consume, NULL);
    CHECK_STATUS(world_add_after(0, 50), WEIR_OK);
    weiri_thread_join(&impatient);
    world_wait_seen(0);
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&consumer);
    world_fini();
}

TEST(limit_of_timer, "when the one that watches the clock gives up, another one keeps the time")
{
    const struct explorer_options options = {.no_early_time = true};
    explorer_must_pass(limit_before_time, NULL, &options);
}

/* With three waiters one that is not the timer is woken for each earlier time, and takes over. */
static void earlier_times(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread third;
    world_init();
    world.is_exact = true;
    world_start_two(consumers, "consumer", world_consume);
    world_start(&third, "consumer", world_consume, NULL);
    CHECK_STATUS(world_add_after(0, 1000), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 100), WEIR_OK);
    CHECK_STATUS(world_add_after(2, 10), WEIR_OK);
    world_wait_all_seen();
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    world_join_two(consumers);
    weiri_thread_join(&third);
    world_fini();
}

TEST(three_waiters, "among three waiters each earlier time finds one that waits for it")
{
    const struct explorer_options options = {.no_early_time = true};
    explorer_must_pass(earlier_times, NULL, &options);
}

/* As on a machine with six processors: several consumers are on their way at once. */
static void several_on_their_way(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread third;
    struct weir_key keys[] = {{0}, {0}, {0}};
    world_init();
    weiri_queue_lock(world.queue);
    world.queue->consumers.woken_max = 3;
    weiri_queue_unlock(world.queue);
    world_start_two(consumers, "consumer", world_consume);
    world_start(&third, "consumer", world_consume, NULL);
    CHECK_STATUS(world_add_after(3, 10), WEIR_OK);
    unsigned add = world_ask();
    for (int number = 0; number < 3; number++) {
        keys[number] = world_key(number);
    }
    enum weir_status status = weir_queue_add_batch(world.queue, keys, 3, NULL);
    for (int number = 0; number < 3; number++) {
        world_asked(number, add, status);
    }
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_wait_all_seen();
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    world_join_two(consumers);
    weiri_thread_join(&third);
    world_fini();
}

TEST(several_woken, "where several consumers are woken at once no item and no time is left to one "
                    "that does not come")
{
    explorer_must_pass(several_on_their_way, NULL, NULL);
}
