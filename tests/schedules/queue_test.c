/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "world.h"

/* The queue in every order of its threads: adding, handing out, done. */

static void produce(void *arg)
{
    static const int numbers[2][3] = {{0, 1, 0}, {0, 2, 1}};
    int own = *(const int *)arg;
    for (int i = 0; i < 3; i++) {
        int number = numbers[own][i];
        /* A delay that has passed is an add in another way. */
        CHECK_STATUS(own == 0 ? world_add(number) : world_add_after(number, 0), WEIR_OK);
    }
}

static void run_two_and_two(void (*consume)(void *arg), bool is_embedded)
{
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    world_init_on(false, is_embedded);
    world_start_two(consumers, "consumer", consume);
    world_start_two(producers, "producer", produce);
    world_join_two(producers);
    world_end_consumers(consumers);
}

static void two_and_two(void *arg)
{
    run_two_and_two(world_consume, *(const bool *)arg);
}

TEST(work_bytes, "two producers and two consumers, items named by bytes: each add is answered, no "
                 "item twice at once")
{
    bool is_embedded = false;
    explorer_must_pass(two_and_two, &is_embedded, NULL);
}

TEST(work_embedded,
     "two producers and two consumers, embedded items: each add is answered, no item twice at once")
{
    bool is_embedded = true;
    explorer_must_pass(two_and_two, &is_embedded, NULL);
}

static void consume_done_get(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, WEIR_FOREVER, &work);
    while (status == WEIR_OK) {
        int number = world_number(&work);
        world_begin(number);
        world_end(number);
        world_tell();
        status = weir_queue_done_get(world.queue, WEIR_FOREVER, &work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

static void done_get(void *arg)
{
    (void)arg;
    run_two_and_two(consume_done_get, false);
}

TEST(done_get_loops, "consumers that loop on done_get lose nothing and let nobody sleep")
{
    explorer_must_pass(done_get, NULL, NULL);
}

/* What has been done is not done again, whoever has the item by then. */
static void consume_done_twice(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, WEIR_FOREVER, &work) == WEIR_OK) {
        world_process(&work);
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_ENOTPROCESSING);
    }
}

static void done_twice(void *arg)
{
    run_two_and_two(consume_done_twice, *(const bool *)arg);
}

TEST(stale_done, "a second done ends nobody's processing, also when the item is handed out again")
{
    bool is_embedded = false;
    explorer_must_pass(done_twice, &is_embedded, NULL);
    is_embedded = true;
    explorer_must_pass(done_twice, &is_embedded, NULL);
}

static void produce_batches(void *arg)
{
    static const int numbers[2][2] = {{0, 1}, {1, 2}};
    const int *own = numbers[*(const int *)arg];
    for (int round = 0; round < 2; round++) {
        struct weir_key keys[2] = {world_key(own[0]), world_key(own[1])};
        unsigned add = world_ask();
        CHECK_STATUS(weir_queue_add_batch(world.queue, keys, 2, NULL), WEIR_OK);
        world_asked(own[0], add, WEIR_OK);
        world_asked(own[1], add, WEIR_OK);
    }
}

static void consume_batches(void *arg)
{
    (void)arg;
    struct weir_work work[2];
    size_t count;
    while (weir_queue_get_batch(world.queue, WEIR_FOREVER, work, 2, &count) == WEIR_OK) {
        for (size_t i = 0; i < count; i++) {
            world_begin(world_number(&work[i]));
        }
        for (size_t i = 0; i < count; i++) {
            world_end(world_number(&work[i]));
        }
        CHECK_STATUS(weir_queue_done_batch(world.queue, work, count), WEIR_OK);
        world_tell();
    }
    CHECK(weir_queue_shutting_down(world.queue));
}

static void batches(void *arg)
{
    (void)arg;
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    world_init();
    world_start_two(consumers, "consumer", consume_batches);
    world_start_two(producers, "producer", produce_batches);
    world_join_two(producers);
    world_end_consumers(consumers);
}

TEST(batch_forms, "the batch forms of add, get and done keep the same promises")
{
    explorer_must_pass(batches, NULL, NULL);
}

/* Whoever has the item first keeps it until two more adds have come. */
static void consume_slowly(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, WEIR_FOREVER, &work) == WEIR_OK) {
        int number = world_number(&work);
        world_begin(number);
        if (world.phase == 0) {
            world_set_phase(1);
            world_wait_phase(2);
        }
        world_end(number);
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
        world_tell();
    }
}

static void add_while_processing(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    world_init();
    world_start_two(consumers, "consumer", consume_slowly);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_wait_phase(1);
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_INT(weir_queue_len(world.queue), ==, 0);
    world_set_phase(2);
    world_end_consumers(consumers);
    CHECK_INT(world.runs[0], ==, 2);
}

TEST(added_while_processing, "two adds during a processing make exactly one more, after it")
{
    explorer_must_pass(add_while_processing, NULL, NULL);
}

static void consume_dependent(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, WEIR_FOREVER, &work) == WEIR_OK) {
        if (world_number(&work) == 0) {
            world_wait_run(1);
        }
        world_process(&work);
    }
}

static void dependent(void *arg)
{
    struct weiri_thread consumers[2];
    world_init();
    world_start_two(consumers, "consumer", consume_dependent);
    if (*(const bool *)arg) {
        struct weir_key keys[2] = {world_key(0), world_key(1)};
        unsigned add = world_ask();
        CHECK_STATUS(weir_queue_add_batch(world.queue, keys, 2, NULL), WEIR_OK);
        world_asked(0, add, WEIR_OK);
        world_asked(1, add, WEIR_OK);
    } else {
        CHECK_STATUS(world_add(0), WEIR_OK);
        CHECK_STATUS(world_add(1), WEIR_OK);
    }
    world_end_consumers(consumers);
}

TEST(nobody_sleeps_beside_work, "while one consumer is stuck, what is queued reaches the other")
{
    bool in_batch = false;
    explorer_must_pass(dependent, &in_batch, NULL);
    in_batch = true;
    explorer_must_pass(dependent, &in_batch, NULL);
}

/* Processes one item, which is added again meanwhile, and does not come back for it. */
static void consume_one(void *arg)
{
    (void)arg;
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(world.queue, WEIR_FOREVER, &work), WEIR_OK);
    world_begin(0);
    world_set_phase(1);
    world_wait_phase(2);
    world_end(0);
    CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
}

static void left_behind(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    world_init();
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_start(&consumers[0], "leaver", consume_one, NULL);
    world_wait_phase(1);
    world_start(&consumers[1], "consumer", world_consume, NULL);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_set_phase(2);
    world_end_consumers(consumers);
    CHECK_INT(world.runs[0], ==, 2);
}

TEST(requeued_by_a_leaver, "what done queues again reaches another consumer when its own leaves")
{
    explorer_must_pass(left_behind, NULL, NULL);
}

static void cancel(void *arg)
{
    bool *taken = arg;
    CHECK_STATUS(weir_queue_cancel(world.queue, world_key(0), taken), WEIR_OK);
    explorer_note("cancelled: %d", *taken);
}

static void get_once(void *arg)
{
    bool *gotten = arg;
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, 0, &work);
    *gotten = status == WEIR_OK;
    if (*gotten) {
        world_begin(world_number(&work));
        world_end(world_number(&work));
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
    } else {
        CHECK_STATUS(status, WEIR_ETIMEDOUT);
    }
}

static void cancel_or_get(void *arg)
{
    (void)arg;
    bool taken = false;
    bool gotten = false;
    struct weiri_thread threads[2];
    world_init();
    CHECK_STATUS(weir_queue_add(world.queue, world_key(0)), WEIR_OK);
    world_start(&threads[0], "canceller", cancel, &taken);
    world_start(&threads[1], "consumer", get_once, &gotten);
    world_join_two(threads);
    CHECK_INT(taken + gotten, ==, 1);
    world_fini();
}

TEST(cancel_beside_get, "an item is either cancelled or handed out")
{
    explorer_must_pass(cancel_or_get, NULL, NULL);
}

/* One allocation of a schedule fails, a different one in each. What was accepted is processed, what
 * was refused left nothing behind. */
static void produce_refusable(void *arg)
{
    int number = *(const int *)arg;
    for (int i = 0; i < 3; i++) {
        enum weir_status status = world_add((number + i) % 3);
        CHECK(status == WEIR_OK || status == WEIR_ENOMEM);
    }
}

/* A get without memory leaves the item where it is. */
static void consume_refusable(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status;
    do {
        status = weir_queue_get(world.queue, WEIR_FOREVER, &work);
        if (status == WEIR_OK) {
            world_process(&work);
        }
    } while (status == WEIR_OK || status == WEIR_ENOMEM);
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

static void out_of_memory(void *arg)
{
    (void)arg;
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    world_init();
    test_fail_allocation(1 + explorer_choose(8), false);
    world_start_two(consumers, "consumer", consume_refusable);
    world_start_two(producers, "producer", produce_refusable);
    world_join_two(producers);
    test_fail_allocation(0, false);
    world_end_consumers(consumers);
}

TEST(memory_runs_out, "with an allocation failing, what was accepted is processed")
{
    explorer_must_pass(out_of_memory, NULL, NULL);
}
