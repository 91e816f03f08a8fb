/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* What is promised beyond the table of calls: counts, order, once for each add, batches. */

TEST_EACH(counts, "queued, waiting and processing are counted apart; due items count as queued")
{
    struct fixture f;
    setup(&f, kind);
    for (unsigned i = 0; i < 10; i++) {
        add(&f, i);
        add_after(&f, 20 + i, WEIR_MS(1 + i));
    }
    CHECK_COUNTS(&f, 10, 10, 0);
    struct weir_work works[4];
    for (unsigned i = 0; i < 4; i++) {
        works[i] = get(&f, i);
    }
    CHECK_COUNTS(&f, 6, 10, 4);
    pass(&f, WEIR_MS(5));
    CHECK_COUNTS(&f, 11, 5, 4);
    for (unsigned i = 0; i < 4; i++) {
        done(&f, &works[i]);
    }
    CHECK_COUNTS(&f, 11, 5, 0);
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(f.queue, &counts), WEIR_OK);
    CHECK_INT(counts.dropped, ==, 0);
    teardown(&f);
}

TEST_EACH(once, "an add before get is covered by that processing, one after it causes another")
{
    struct fixture f;
    setup(&f, kind);
    unsigned runs = 0;
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i <= round % 3; i++) {
            add(&f, 0);
        }
        struct weir_work work = get(&f, 0);
        runs++;
        bool again = round % 2 == 0;
        for (unsigned i = 0; again && i <= round % 4; i++) {
            add(&f, 0);
        }
        done(&f, &work);
        if (again) {
            get_and_done(&f, 0);
            runs++;
        }
        CHECK_NOTHING_READY(&f);
    }
    CHECK_INT(runs, ==, 75);
    teardown(&f);
}

TEST_EACH(fifo, "items come out in the order they were added, through any growth")
{
    struct fixture f;
    setup(&f, kind);
    unsigned next_in = 0;
    unsigned next_out = 0;
    for (unsigned round = 0; round < 40; round++) {
        unsigned in = (unsigned)test_random_below(ITEMS - (next_in - next_out) + 1);
        for (unsigned i = 0; i < in; i++) {
            add(&f, next_in++ % ITEMS);
        }
        unsigned out = (unsigned)test_random_below(next_in - next_out + 1);
        for (unsigned i = 0; i < out; i++) {
            get_and_done(&f, next_out++ % ITEMS);
        }
    }
    CHECK_COUNTS(&f, next_in - next_out, 0, 0);
    teardown(&f);
}

TEST_EACH(requeued_tail, "what was added while processing goes behind those that were queued")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add(&f, 1);
    struct weir_work work = get(&f, 0);
    add(&f, 0);
    add(&f, 2);
    done(&f, &work);
    get_and_done(&f, 1);
    get_and_done(&f, 2);
    get_and_done(&f, 0);
    teardown(&f);
}

TEST(kinds_together, "items named by bytes and embedded ones share a queue and its order")
{
    struct fixture f;
    setup(&f, SHORT_KEY);
    struct weir_key embedded = weir_key_item(&f.items[0]);
    struct weir_item *address = &f.items[0];
    struct weir_key bytes = weir_key_bytes(&address, sizeof(address));
    CHECK_STATUS(weir_queue_add(f.queue, embedded), WEIR_OK);
    add(&f, 0);
    CHECK_STATUS(weir_queue_add(f.queue, bytes), WEIR_OK);
    CHECK_STATUS(weir_queue_add(f.queue, embedded), WEIR_OK);
    CHECK_COUNTS(&f, 3, 0, 0);
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_OK);
    CHECK(work.item == &f.items[0] && work.key.size == WEIR_KEY_ITEM);
    CHECK(work.key.data == &f.items[0]);
    done(&f, &work);
    get_and_done(&f, 0);
    CHECK_STATUS(weir_queue_get(f.queue, 0, &work), WEIR_OK);
    CHECK(work.item == NULL && work.key.size == sizeof(address));
    CHECK(memcmp(work.key.data, &address, sizeof(address)) == 0);
    done(&f, &work);
    teardown(&f);
}

TEST(keys_any_bytes, "a key is any bytes, also none; it is copied, and readable until done")
{
    struct fixture f;
    setup(&f, SHORT_KEY);
    static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 65536};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *bytes = malloc(sizes[i] + 1);
        CHECK(bytes != NULL);
        memset(bytes, 0, sizes[i] + 1);
        CHECK_STATUS(weir_queue_add(f.queue, weir_key_bytes(bytes, sizes[i])), WEIR_OK);
        free(bytes);
    }
    CHECK_STATUS(weir_queue_add(f.queue, weir_key_bytes(NULL, 0)), WEIR_OK);
    CHECK_COUNTS(&f, 7, 0, 0);
    struct weir_work works[7];
    for (size_t i = 0; i < 7; i++) {
        CHECK_STATUS(weir_queue_get(f.queue, 0, &works[i]), WEIR_OK);
        CHECK_INT(works[i].key.size, ==, sizes[i]);
    }
    for (size_t i = 0; i < 7; i++) {
        for (size_t at = 0; at < sizes[i]; at++) {
            CHECK(((const char *)works[i].key.data)[at] == '\0');
        }
        done(&f, &works[i]);
    }
    teardown(&f);
}

TEST_EACH(pending_stays, "an add leaves a pending time alone: it causes a processing of its own")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(10));
    add(&f, 0);
    CHECK_COUNTS(&f, 1, 1, 0);
    get_and_done(&f, 0);
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, WEIR_MS(10));
    get_and_done(&f, 0);
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(supersede, "an add that supersedes takes the pending time away, from any place")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(10));
    add_with(&f, 0, 0, WEIR_ADD_SUPERSEDE);
    CHECK_COUNTS(&f, 1, 0, 0);
    add_after(&f, 0, WEIR_MS(10));
    add_with(&f, 0, -5, WEIR_ADD_SUPERSEDE);
    CHECK_COUNTS(&f, 1, 0, 0);
    struct weir_work work = get(&f, 0);
    add_after(&f, 0, WEIR_MS(10));
    add_with(&f, 0, 0, WEIR_ADD_SUPERSEDE);
    CHECK_COUNTS(&f, 0, 0, 1);
    done(&f, &work);
    get_and_done(&f, 0);
    pass(&f, WEIR_SECONDS(1));
    CHECK_NOTHING_READY(&f);
    /* Without a pending time it is an add; with a delay it is refused, and nothing changes. */
    add_with(&f, 0, 0, WEIR_ADD_SUPERSEDE);
    get_and_done(&f, 0);
    add_after(&f, 0, WEIR_MS(10));
    struct weir_add_options options = {0};
    options.delay_ns = 1;
    options.flags = WEIR_ADD_SUPERSEDE;
    CHECK_STATUS(weir_queue_add_with(f.queue, key_of(&f, 0), &options, NULL), WEIR_EINVAL);
    options.flags |= WEIR_ADD_MOVE;
    CHECK_STATUS(weir_queue_add_with(f.queue, key_of(&f, 0), &options, NULL), WEIR_EINVAL);
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, WEIR_MS(10));
    get_and_done(&f, 0);
    teardown(&f);
}

static void setup_superseding(struct fixture *f, enum kind kind, weir_limiter *limiter,
                              uint32_t flags)
{
    struct weir_queue_options options = {0};
    options.limiter = limiter;
    options.flags = WEIR_QUEUE_SUPERSEDE | flags;
    setup_options(f, kind, &options);
}

/* The item waits, was added at once meanwhile, and comes once. */
static void check_once(struct fixture *f)
{
    CHECK_COUNTS(f, 1, 0, 0);
    get_and_done(f, 0);
    pass(f, WEIR_SECONDS(1));
    CHECK_COUNTS(f, 0, 0, 0);
}

TEST_EACH(supersede_always,
          "a queue may be asked that every add at once supersedes, however it is made")
{
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_fast_slow_new(0, 0, 0, NULL, &limiter, NULL), WEIR_OK);
    struct fixture f;
    setup_superseding(&f, kind, limiter, 0);
    add_after(&f, 0, WEIR_MS(10));
    add(&f, 0);
    check_once(&f);
    add_after(&f, 0, WEIR_MS(10));
    add_after(&f, 0, 0);
    check_once(&f);
    add_after(&f, 0, WEIR_MS(10));
    add_with(&f, 0, 0, 0);
    check_once(&f);
    add_after(&f, 0, WEIR_MS(10));
    CHECK_STATUS(weir_queue_add_rate_limited(f.queue, key_of(&f, 0)), WEIR_OK);
    check_once(&f);
    struct weir_key twice[] = {key_of(&f, 0), key_of(&f, 0)};
    add_after(&f, 0, WEIR_MS(10));
    CHECK_STATUS(weir_queue_add_batch(f.queue, twice, 2, NULL), WEIR_OK);
    check_once(&f);
    /* From the other places, too: queued, and processing. */
    add(&f, 0);
    add_after(&f, 0, WEIR_MS(10));
    add(&f, 0);
    CHECK_COUNTS(&f, 1, 0, 0);
    struct weir_work work = get(&f, 0);
    add_after(&f, 0, WEIR_MS(10));
    add(&f, 0);
    CHECK_COUNTS(&f, 0, 0, 1);
    done(&f, &work);
    check_once(&f);
    /* Adds for a time are as ever. */
    add_after(&f, 0, WEIR_MS(10));
    add_after(&f, 0, WEIR_MS(20));
    CHECK_COUNTS(&f, 0, 1, 0);
    pass(&f, WEIR_MS(10));
    check_once(&f);
    teardown(&f);
    weir_limiter_free(limiter);
}

TEST_EACH(supersede_priority, "what supersedes a time takes its priority over, in a batch as well")
{
    struct fixture f;
    setup_superseding(&f, kind, NULL, WEIR_QUEUE_PRIORITIES);
    struct weir_add_options urgent = {0};
    urgent.delay_ns = WEIR_MS(10);
    urgent.priority = -1;
    for (unsigned i = 1; i <= 2; i++) {
        CHECK_STATUS(weir_queue_add_with(f.queue, key_of(&f, i), &urgent, NULL), WEIR_OK);
    }
    add(&f, 0);
    add(&f, 1);
    struct weir_key key = key_of(&f, 2);
    CHECK_STATUS(weir_queue_add_batch(f.queue, &key, 1, NULL), WEIR_OK);
    CHECK_COUNTS(&f, 3, 0, 0);
    get_and_done(&f, 1);
    get_and_done(&f, 2);
    get_and_done(&f, 0);
    teardown(&f);
}

TEST_EACH(move_now, "a move with no delay replaces the pending time by now, from any place")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(10));
    add_with(&f, 0, 0, WEIR_ADD_MOVE);
    CHECK_COUNTS(&f, 1, 0, 0);
    add_after(&f, 0, WEIR_MS(10));
    add_with(&f, 0, -5, WEIR_ADD_MOVE | WEIR_ADD_SUPERSEDE);
    CHECK_COUNTS(&f, 1, 0, 0);
    struct weir_work work = get(&f, 0);
    add_after(&f, 0, WEIR_MS(10));
    add_with(&f, 0, INT64_MIN, WEIR_ADD_MOVE);
    CHECK_COUNTS(&f, 0, 0, 1);
    done(&f, &work);
    get_and_done(&f, 0);
    pass(&f, WEIR_SECONDS(1));
    CHECK_NOTHING_READY(&f);
    teardown(&f);
}

TEST_EACH(move_order, "of equal times the one moved there last comes last")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(10));
    add_after(&f, 1, WEIR_MS(10));
    add_with(&f, 0, WEIR_MS(20), WEIR_ADD_MOVE);
    add_with(&f, 0, WEIR_MS(10), WEIR_ADD_MOVE);
    pass(&f, WEIR_MS(10));
    get_and_done(&f, 1);
    get_and_done(&f, 0);
    teardown(&f);
}

TEST_EACH(free_with_content,
          "a queue may be freed with items in every place; embedded ones are idle")
{
    struct fixture f;
    setup(&f, kind);
    add(&f, 0);
    add_after(&f, 1, WEIR_MS(10));
    add(&f, 2);
    add_after(&f, 2, WEIR_MS(10));
    weir_queue_free(f.queue);
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.clock = f.clock;
    CHECK_STATUS(weir_queue_new(&options, &f.queue, NULL), WEIR_OK);
    for (unsigned i = 0; i < 3; i++) {
        add(&f, i);
        get_and_done(&f, i);
    }
    teardown(&f);
}

/* What a consumer sees of the writes before an add: the race detectors watch the plain ints. */
struct handover {
    struct fixture *f;
    int before_add;
    int after_get;
};

static void consume_one(void *arg)
{
    struct handover *handover = arg;
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(handover->f->queue, WEIR_FOREVER, &work), WEIR_OK);
    CHECK_INT(handover->before_add, ==, 42);
    handover->after_get = 43;
    CHECK_STATUS(weir_queue_done(handover->f->queue, &work), WEIR_OK);
}

TEST_EACH(visible, "what was written before an add is visible to the consumer; so back after done")
{
    struct fixture f;
    setup(&f, kind);
    for (int i = 0; i < 20; i++) {
        struct handover handover = {.f = &f};
        struct test_thread *thread = test_start(consume_one, &handover);
        handover.before_add = 42;
        add(&f, 0);
        struct weir_queue_counts counts = {.queued = 1};
        while (counts.queued + counts.processing > 0) {
            CHECK_STATUS(weir_queue_count(f.queue, &counts), WEIR_OK);
        }
        CHECK_INT(handover.after_get, ==, 43);
        test_join(thread);
    }
    teardown(&f);
}
