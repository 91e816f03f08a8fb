/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Everything at once: 8 producers make random calls of all kinds on 1,000 items that 8 workers
 * process, each kind of worker in its own way, until the queue is shut down or drained, or
 * has become empty; then again with another queue. */

#define _GNU_SOURCE /* what stress/rounds.h wants */

#include <poll.h>

#include <weir/metrics.h>

#include "stress/books.h"

/* Calls of a producer in a round: about 50 ms of work. */
#define CALLS ROUNDS_WORK(20000u)
#define BATCH 8u
#define AT_ONCE_PERCENT 50u

enum ending {
    BECOMES_EMPTY, /* every time comes, too */
    IS_DRAINED,
    IS_SHUT_DOWN,
    IS_DRAINED_AND_SHUT_DOWN, /* by two threads */
    ENDINGS
};

static struct {
    weir_queue *queue;
    enum ending ending;
    unsigned end_after; /* calls of those who end it */
    bool is_plain;      /* nothing but adds and what workers do, so that calls take short cuts */
    bool has_priorities;
    bool has_fd;
    _Atomic uint64_t touches;
} world;

static void count_touch(struct weir_key key, void *arg)
{
    (void)arg;
    (void)books_index(key);
    (void)atomic_fetch_add_explicit(&world.touches, 1, memory_order_relaxed);
}

/* False: the queue was shut down, as it may be. */
static bool note(struct writer *writer, unsigned index, enum weir_status status, bool is_delayed)
{
    if (status == WEIR_ESHUTDOWN) {
        CHECK(world.ending != BECOMES_EMPTY);
        return false;
    }
    CHECK_STATUS(status, WEIR_OK);
    books_accept(writer, index, !is_delayed || world.ending == BECOMES_EMPTY);
    return true;
}

static int32_t choose_priority(struct writer *writer)
{
    return world.has_priorities ? (int32_t)below(&writer->random, 9) - 4 : 0;
}

static bool add(struct writer *writer, unsigned index)
{
    struct weir_add_options options = {0};
    options.priority = choose_priority(writer);
    books_write(writer, index);
    enum weir_status status =
        options.priority == 0 ? weir_queue_add(world.queue, books_key(index))
                              : weir_queue_add_with(world.queue, books_key(index), &options, NULL);
    return note(writer, index, status, false);
}

static bool add_some(struct writer *writer)
{
    struct weir_key keys[BATCH];
    unsigned indexes[BATCH];
    size_t count = below(&writer->random, BATCH) + 1;
    for (size_t i = 0; i < count; i++) {
        indexes[i] = books_choose(writer);
        books_write(writer, indexes[i]);
        keys[i] = books_key(indexes[i]);
    }
    enum weir_status status = weir_queue_add_batch(world.queue, keys, count, NULL);
    bool goes_on = true;
    for (size_t i = 0; i < count; i++) {
        goes_on = note(writer, indexes[i], status, false);
    }
    return goes_on;
}

static int64_t choose_delay(struct writer *writer)
{
    return (int64_t)below(&writer->random, WEIR_US(300));
}

static bool add_later(struct writer *writer)
{
    unsigned index = books_choose(writer);
    int64_t delay_ns = choose_delay(writer);
    books_write(writer, index);
    return note(writer, index, weir_queue_add_after(world.queue, books_key(index), delay_ns),
                delay_ns > 0);
}

static bool add_with(struct writer *writer)
{
    struct weir_add_options options = {0};
    unsigned index = books_choose(writer);
    static const uint32_t kinds[] = {0, WEIR_ADD_MOVE, WEIR_ADD_SUPERSEDE, WEIR_ADD_RATE_LIMITED,
                                     WEIR_ADD_MOVE | WEIR_ADD_RATE_LIMITED};
    options.flags = kinds[below(&writer->random, sizeof(kinds) / sizeof(kinds[0]))];
    bool is_now = options.flags == WEIR_ADD_SUPERSEDE || one_in(&writer->random, 2);
    options.delay_ns = is_now ? 0 : choose_delay(writer);
    options.priority = choose_priority(writer);
    books_write(writer, index);
    return note(writer, index, weir_queue_add_with(world.queue, books_key(index), &options, NULL),
                options.delay_ns > 0 || (options.flags & WEIR_ADD_RATE_LIMITED) != 0);
}

static bool add_rate_limited(struct writer *writer)
{
    unsigned index = books_choose(writer);
    books_write(writer, index);
    return note(writer, index, weir_queue_add_rate_limited(world.queue, books_key(index)), true);
}

/* What is taken out is added again: that covers whoever's adds it was. */
static bool cancel(struct writer *writer)
{
    unsigned index = books_choose(writer);
    bool was_taken = false;
    CHECK_STATUS(weir_queue_cancel(world.queue, books_key(index), &was_taken), WEIR_OK);
    if (was_taken && !add(writer, index)) {
        atomic_store(&books.subjects[index].is_taken_back, true);
        return false;
    }
    return true;
}

static bool look(struct writer *writer)
{
    struct weir_key key = books_key(books_choose(writer));
    struct weir_queue_counts counts;
    uint64_t requeues;
    CHECK_STATUS(weir_queue_count(world.queue, &counts), WEIR_OK);
    CHECK_INT(counts.queued + counts.processing, <=, ITEMS);
    CHECK_INT(counts.waiting, <=, ITEMS);
    CHECK_INT(counts.processing, <=, WORKERS * BATCH + 1);
    CHECK_STATUS(weir_queue_num_requeues(world.queue, key, &requeues), WEIR_OK);
    CHECK_STATUS(weir_queue_forget(world.queue, key), WEIR_OK);
    CHECK_INT(weir_queue_len(world.queue), <=, ITEMS);
    if (one_in(&writer->random, 8)) {
        books_check_snapshot(world.queue);
    }
    return true;
}

static bool call_once(struct writer *writer)
{
    uint64_t choice = below(&writer->random, 100);
    if (choice < AT_ONCE_PERCENT || (world.is_plain && choice < 90)) {
        return add(writer, books_choose(writer));
    }
    if (choice < 60 || world.is_plain) {
        return add_some(writer);
    }
    if (choice < 70) {
        return add_later(writer);
    }
    if (choice < 80) {
        return add_with(writer);
    }
    if (choice < 88) {
        return add_rate_limited(writer);
    }
    return choice < 96 ? cancel(writer) : look(writer);
}

/* What the first two producers do in the midst of it. */
static void end_queue(const struct writer *writer)
{
    bool is_first = writer->id == 0;
    if (is_first && world.ending == IS_DRAINED) {
        CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    } else if (is_first && world.ending == IS_DRAINED_AND_SHUT_DOWN) {
        enum weir_status status = weir_queue_shutdown_drain(world.queue, WEIR_FOREVER);
        CHECK(status == WEIR_OK || status == WEIR_ECANCELED);
    } else if (world.ending >= IS_SHUT_DOWN) {
        weir_queue_shutdown(world.queue);
    }
}

static void produce(void *arg)
{
    struct writer *writer = arg;
    for (unsigned i = 0; i < CALLS; i++) {
        if (i == world.end_after && writer->id < 2) {
            end_queue(writer);
        }
        if (!call_once(writer)) {
            CHECK(weir_queue_shutting_down(world.queue));
            return;
        }
    }
}

/* One in eight is added again from within. */
static void process(struct writer *writer, const struct weir_work *work)
{
    struct subject *subject = books_begin(writer, work->key);
    CHECK(books.is_keyed ? work->item == NULL : work->item == &subject->item);
    unsigned index = (unsigned)(subject - books.subjects);
    if (one_in(&writer->random, 8)) {
        (void)add(writer, index);
    } else if (!world.is_plain && one_in(&writer->random, 8)) {
        books_write(writer, index);
        (void)note(writer, index, weir_queue_add_rate_limited(world.queue, work->key), true);
    } else if (one_in(&writer->random, 4)) {
        CHECK_STATUS(weir_queue_forget(world.queue, work->key), WEIR_OK);
    }
    books_finish(writer, subject);
}

static void finish(struct writer *writer, const struct weir_work *work)
{
    CHECK_STATUS(weir_queue_done(world.queue, work), WEIR_OK);
    if (one_in(&writer->random, 16)) {
        CHECK_STATUS(weir_queue_done(world.queue, work), WEIR_ENOTPROCESSING);
    }
}

static void work_one_by_one(struct writer *writer)
{
    struct weir_work work;
    enum weir_status status;
    while ((status = weir_queue_get(world.queue, WEIR_FOREVER, &work)) == WEIR_OK) {
        process(writer, &work);
        finish(writer, &work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

static void work_on_and_on(struct writer *writer)
{
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, WEIR_FOREVER, &work);
    while (status == WEIR_OK) {
        process(writer, &work);
        status = weir_queue_done_get(world.queue, WEIR_FOREVER, &work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

static void work_in_batches(struct writer *writer)
{
    struct weir_work works[BATCH];
    size_t count = 0;
    enum weir_status status;
    while ((status = weir_queue_get_batch(world.queue, WEIR_FOREVER, works, BATCH, &count)) ==
           WEIR_OK) {
        CHECK(count >= 1 && count <= BATCH);
        for (size_t i = 0; i < count; i++) {
            process(writer, &works[i]);
        }
        CHECK_STATUS(weir_queue_done_batch(world.queue, works, count), WEIR_OK);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
}

/* Gets what comes within a while. False: the queue was shut down. */
static bool work_for(struct writer *writer, int64_t while_ns)
{
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, while_ns, &work);
    if (status == WEIR_OK) {
        process(writer, &work);
        finish(writer, &work);
    } else if (status != WEIR_ESHUTDOWN) {
        CHECK_STATUS(status, WEIR_ETIMEDOUT);
    }
    return status != WEIR_ESHUTDOWN;
}

/* Beside threads: somebody else may take what made the descriptor readable. */
static void work_in_event_loop(struct writer *writer)
{
    struct weir_work work;
    enum weir_status status = WEIR_OK;
    struct pollfd watched = {.events = POLLIN};
    CHECK_STATUS(weir_queue_fd(world.queue, &watched.fd), WEIR_OK);
    while (status != WEIR_ESHUTDOWN) {
        CHECK_INT(poll(&watched, 1, -1), ==, 1);
        while ((status = weir_queue_get(world.queue, 0, &work)) == WEIR_OK) {
            process(writer, &work);
            finish(writer, &work);
        }
        CHECK(status == WEIR_ETIMEDOUT || status == WEIR_ESHUTDOWN);
    }
}

static void consume(void *arg)
{
    struct writer *writer = arg;
    unsigned kind = writer->id % WORKERS;
    if (kind < 3) {
        work_on_and_on(writer);
    } else if (kind < 5) {
        work_in_batches(writer);
    } else if (kind == 5) {
        while (work_for(writer, choose_delay(writer))) {
        }
    } else if (kind == 6 && world.has_fd) {
        work_in_event_loop(writer);
    } else {
        work_one_by_one(writer);
    }
}

/* To be called when the producers have ended. It works, too, until there is nothing any more. */
static void empty_queue(struct writer *writer)
{
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(world.queue, &counts), WEIR_OK);
    while (counts.queued + counts.waiting + counts.processing > 0) {
        (void)work_for(writer, WEIR_MS(1));
        CHECK_STATUS(weir_queue_count(world.queue, &counts), WEIR_OK);
    }
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_queue_count(world.queue, &counts), WEIR_OK);
    CHECK_INT(counts.dropped, ==, 0);
}

static void run_threads(void)
{
    struct test_thread *threads[PRODUCERS + WORKERS];
    for (unsigned i = 0; i < PRODUCERS + WORKERS; i++) {
        threads[i] = test_start(i < PRODUCERS ? produce : consume, &books.writers[i]);
    }
    for (unsigned i = 0; i < PRODUCERS; i++) {
        test_join(threads[i]);
    }
    if (world.ending == BECOMES_EMPTY) {
        empty_queue(&books.writers[PRODUCERS + WORKERS]);
    }
    for (unsigned i = PRODUCERS; i < PRODUCERS + WORKERS; i++) {
        test_join(threads[i]);
    }
}

/* Every second queue is one with what makes calls short, with priorities or without; the others
 * have all else. */
static uint64_t run_round(uint64_t number, bool is_keyed)
{
    books_init(is_keyed);
    uint64_t *random = &books.writers[WRITERS - 1].random;
    world.ending = (enum ending)(number / 2 % ENDINGS);
    world.end_after = CALLS / 2 + (unsigned)below(random, CALLS / 2);
    world.is_plain = number % 2 == 0;
    world.has_priorities = one_in(random, 2);
    world.has_fd = !world.is_plain && one_in(random, 2);
    struct weir_queue_options options = {0};
    struct weir_limiter_options limiter = {0};
    weir_metrics *metrics = NULL;
    options.allocator = *test_allocator();
    limiter.allocator = *test_allocator();
    CHECK_STATUS(
        weir_limiter_exponential_new(WEIR_US(1), WEIR_MS(1), &limiter, &options.limiter, NULL),
        WEIR_OK);
    options.flags = world.has_priorities ? WEIR_QUEUE_PRIORITIES : 0;
    if (!world.is_plain) {
        CHECK_STATUS(weir_metrics_new(NULL, &metrics, NULL), WEIR_OK);
        options.metrics = one_in(random, 2) ? metrics : NULL;
        options.name = "stress";
        options.aging_ns = world.has_priorities && one_in(random, 2) ? WEIR_US(50) : 0;
        options.touch = number % 8 == 1 || one_in(random, 2) ? count_touch : NULL;
    }
    CHECK_STATUS(weir_queue_new(&options, &world.queue, NULL), WEIR_OK);
    run_threads();
    uint64_t runs = books_check();
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(world.queue, &counts), WEIR_OK);
    CHECK_INT(counts.queued + counts.waiting + counts.processing, ==, 0);
    weir_queue_free(world.queue);
    weir_metrics_free(metrics);
    weir_limiter_free(options.limiter);
    return runs;
}

static void run(bool is_keyed)
{
    struct rounds rounds;
    uint64_t runs = 0;
    rounds_init(&rounds, 2 * ENDINGS);
    while (rounds_go_on(&rounds)) {
        runs += run_round(rounds.done, is_keyed);
        rounds_end_one(&rounds);
    }
    rounds_fini(&rounds);
    (void)printf("%llu processings\n", (unsigned long long)runs);
    CHECK_INT(atomic_load(&world.touches), >, 0);
}

TEST(keyed, "items named by bytes: no add is lost, nothing runs twice at once, nothing is left")
{
    run(true);
}

TEST(embedded, "embedded items: no add is lost, nothing runs twice at once, nothing is left")
{
    run(false);
}
