/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* Every function of weir/queue.h with what it must refuse: the status is the documented one, and
 * nothing changes. After shutdown: shutdown_test.c. */

/* A queue with an item in every place. */
struct busy {
    struct fixture f;
    struct weir_work processing;
    struct weir_work dirty;
    size_t bytes;
};

enum {
    IS_QUEUED,
    IS_WAITING,
    IS_PROCESSING,
    IS_DIRTY,
    IS_LIMITED,
    IS_IDLE
};

static void setup_busy(struct busy *busy, enum kind kind)
{
    struct fixture *f = &busy->f;
    setup(f, kind);
    add(f, IS_PROCESSING);
    add(f, IS_DIRTY);
    busy->processing = get(f, IS_PROCESSING);
    busy->dirty = get(f, IS_DIRTY);
    add(f, IS_DIRTY);
    add_after(f, IS_WAITING, WEIR_MS(1));
    CHECK_STATUS(weir_queue_add_rate_limited(f->queue, key_of(f, IS_LIMITED)), WEIR_OK);
    add(f, IS_QUEUED);
    busy->bytes = test_allocated_bytes();
}

static void check_unchanged(struct busy *busy)
{
    struct fixture *f = &busy->f;
    CHECK_COUNTS(f, 1, 2, 2);
    CHECK_INT(test_allocated_bytes(), ==, busy->bytes);
    CHECK(!weir_queue_shutting_down(f->queue));
    for (unsigned i = 0; i < 6; i++) {
        uint64_t count = 77;
        CHECK_STATUS(weir_queue_num_requeues(f->queue, key_of(f, i), &count), WEIR_OK);
        CHECK_INT(count, ==, i == IS_LIMITED ? 1 : 0);
    }
}

/* Everything comes out as if nothing had happened. */
static void teardown_busy(struct busy *busy)
{
    struct fixture *f = &busy->f;
    check_unchanged(busy);
    get_and_done(f, IS_QUEUED);
    CHECK_NOTHING_READY(f);
    done(f, &busy->dirty);
    get_and_done(f, IS_DIRTY);
    pass(f, WEIR_MS(1));
    get_and_done(f, IS_WAITING);
    CHECK_NOTHING_READY(f);
    pass(f, WEIR_MS(4));
    get_and_done(f, IS_LIMITED);
    done(f, &busy->processing);
    CHECK_COUNTS(f, 0, 0, 0);
    teardown(f);
}

/* The calls that take a key. */
typedef enum weir_status keyed_fn(weir_queue *queue, struct weir_key key);

static enum weir_status call_add_now(weir_queue *queue, struct weir_key key)
{
    return weir_queue_add_after(queue, key, 0);
}

static enum weir_status call_add_later(weir_queue *queue, struct weir_key key)
{
    return weir_queue_add_after(queue, key, WEIR_MS(1));
}

static enum weir_status call_add_with(weir_queue *queue, struct weir_key key)
{
    struct weir_add_options options = WEIR_ADD_OPTIONS_INIT;
    options.flags = WEIR_ADD_SUPERSEDE | WEIR_ADD_MOVE;
    return weir_queue_add_with(queue, key, &options);
}

static enum weir_status call_add_batch(weir_queue *queue, struct weir_key key)
{
    struct weir_key keys[] = {weir_key_string("another"), key};
    return weir_queue_add_batch(queue, keys, 2);
}

static enum weir_status call_num_requeues(weir_queue *queue, struct weir_key key)
{
    uint64_t count = 77;
    enum weir_status status = weir_queue_num_requeues(queue, key, &count);
    CHECK_INT(count, ==, 77);
    return status;
}

static enum weir_status call_cancel(weir_queue *queue, struct weir_key key)
{
    bool taken = true;
    enum weir_status status = weir_queue_cancel(queue, key, &taken);
    CHECK(taken);
    return status;
}

static keyed_fn *const keyed_calls[] = {weir_queue_add,
                                        call_add_now,
                                        call_add_later,
                                        call_add_with,
                                        weir_queue_add_rate_limited,
                                        weir_queue_forget,
                                        call_num_requeues,
                                        call_cancel,
                                        call_add_batch};

#define KEYED_CALLS (sizeof(keyed_calls) / sizeof(keyed_calls[0]))

TEST_EACH(bad_keys, "keys that are none, and keys over the limit, are refused by every call")
{
    static char large[65537];
    const struct {
        struct weir_key key;
        enum weir_status status;
    } keys[] = {
        {weir_key_bytes(NULL, 1), WEIR_EINVAL},
        {weir_key_bytes(NULL, 65536), WEIR_EINVAL},
        {weir_key_item(NULL), WEIR_EINVAL},
        {weir_key_bytes(large, 65537), WEIR_ETOOBIG},
        {weir_key_bytes(large, WEIR_KEY_SIZE_LIMIT + 1), WEIR_ETOOBIG},
        {weir_key_bytes(large, SIZE_MAX - 1), WEIR_ETOOBIG},
    };
    struct busy busy;
    setup_busy(&busy, kind);
    for (size_t call = 0; call < KEYED_CALLS; call++) {
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            CHECK_STATUS(keyed_calls[call](busy.f.queue, keys[i].key), keys[i].status);
            check_unchanged(&busy);
        }
    }
    teardown_busy(&busy);
}

TEST(key_limit, "a queue's own limit of key sizes is kept to the byte")
{
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.key_size_max = 10;
    weir_queue *queue;
    CHECK_STATUS(weir_queue_new(&options, &queue), WEIR_OK);
    CHECK_STATUS(weir_queue_add(queue, weir_key_bytes("0123456789", 10)), WEIR_OK);
    for (size_t call = 0; call < KEYED_CALLS; call++) {
        CHECK_STATUS(keyed_calls[call](queue, weir_key_bytes("0123456789a", 11)), WEIR_ETOOBIG);
    }
    struct weir_item item;
    weir_item_init(&item);
    CHECK_STATUS(weir_queue_add(queue, weir_key_item(&item)), WEIR_OK);
    CHECK_INT(weir_queue_len(queue), ==, 2);
    weir_queue_free(queue);
}

TEST(null_queue, "every function says WEIR_EINVAL to no queue, and touches nothing")
{
    struct weir_key key = weir_key_string("a");
    struct weir_work work = {.ticket = 77};
    size_t count = 77;
    struct weir_queue_counts counts = {.queued = 77};
    for (size_t call = 0; call < KEYED_CALLS; call++) {
        CHECK_STATUS(keyed_calls[call](NULL, key), WEIR_EINVAL);
    }
    CHECK_STATUS(weir_queue_add_batch(NULL, NULL, 0), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_get(NULL, &work), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_try_get(NULL, &work), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_get_until(NULL, 0, &work), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_get_batch(NULL, &work, 1, &count), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_done(NULL, &work), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_done_get(NULL, &work), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_done_batch(NULL, &work, 1), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_count(NULL, &counts), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_shutdown_drain(NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_shutdown_drain_until(NULL, 0), WEIR_EINVAL);
    CHECK_INT(weir_queue_len(NULL), ==, 0);
    CHECK(weir_queue_shutting_down(NULL));
    weir_queue_shutdown(NULL);
    weir_queue_free(NULL);
    CHECK_INT(work.ticket, ==, 77);
    CHECK_INT(count, ==, 77);
    CHECK_INT(counts.queued, ==, 77);
}

TEST_EACH(null_arguments, "every function says WEIR_EINVAL to a missing argument")
{
    struct busy busy;
    setup_busy(&busy, kind);
    weir_queue *queue = busy.f.queue;
    struct weir_key key = key_of(&busy.f, IS_IDLE);
    struct weir_work work;
    size_t count;
    CHECK_STATUS(weir_queue_add_with(queue, key, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_add_batch(queue, NULL, 1), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_num_requeues(queue, key, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_get(queue, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_try_get(queue, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_get_until(queue, 0, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_get_batch(queue, NULL, 1, &count), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_get_batch(queue, &work, 1, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_get_batch(queue, &work, 0, &count), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_done(queue, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_done_get(queue, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_done_batch(queue, NULL, 1), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_count(queue, NULL), WEIR_EINVAL);
    teardown_busy(&busy);
}

TEST_EACH(
    bad_add_options,
    "options of an unknown size, unknown flags and a priority where there are none are refused")
{
    struct busy busy;
    setup_busy(&busy, kind);
    struct {
        struct weir_add_options options;
        uint64_t later;
    } newer = {.options = WEIR_ADD_OPTIONS_INIT};
    struct weir_add_options *options = &newer.options;
    struct weir_key key = key_of(&busy.f, IS_WAITING);
    static const uint32_t flags[] = {4, 7, UINT32_C(1) << 31, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        options->flags = flags[i];
        CHECK_STATUS(weir_queue_add_with(busy.f.queue, key, options), WEIR_EINVAL);
    }
    options->flags = 0;
    options->priority = 1;
    CHECK_STATUS(weir_queue_add_with(busy.f.queue, key, options), WEIR_EINVAL);
    options->priority = 0;
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 1u << 20, SIZE_MAX};
    for (size_t i = 0; i < 5; i++) {
        options->size = sizes[i];
        CHECK_STATUS(weir_queue_add_with(busy.f.queue, key, options), WEIR_EINVAL);
    }
    options->size = sizeof(newer);
    newer.later = 1;
    CHECK_STATUS(weir_queue_add_with(busy.f.queue, key, options), WEIR_EINVAL);
    check_unchanged(&busy);
    /* A newer program that does not use what this library does not know is served. */
    newer.later = 0;
    CHECK_STATUS(weir_queue_add_with(busy.f.queue, key_of(&busy.f, IS_QUEUED), options), WEIR_OK);
    teardown_busy(&busy);
}

TEST(bad_queue_options, "a queue is not made of options that are not as described")
{
    struct {
        struct weir_queue_options options;
        uint64_t later;
    } newer = {.options = WEIR_QUEUE_OPTIONS_INIT};
    struct weir_queue_options *options = &newer.options;
    weir_queue *untouched = (weir_queue *)&newer;
    weir_queue *queue = untouched;
    CHECK_STATUS(weir_queue_new(NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_new(options, NULL), WEIR_EINVAL);
    static const size_t sizes[] = {0, 7, SIZE_MAX};
    for (size_t i = 0; i < 3; i++) {
        options->size = sizes[i];
        CHECK_STATUS(weir_queue_new(options, &queue), WEIR_EINVAL);
    }
    options->size = sizeof(newer);
    newer.later = 1;
    CHECK_STATUS(weir_queue_new(options, &queue), WEIR_EINVAL);
    newer.later = 0;
    options->key_size_max = WEIR_KEY_SIZE_LIMIT + 1;
    CHECK_STATUS(weir_queue_new(options, &queue), WEIR_EINVAL);
    options->key_size_max = 0;
    options->allocator.alloc = test_allocator()->alloc;
    CHECK_STATUS(weir_queue_new(options, &queue), WEIR_EINVAL);
    options->allocator.resize = test_allocator()->resize;
    CHECK_STATUS(weir_queue_new(options, &queue), WEIR_EINVAL);
    CHECK(queue == untouched);
    options->allocator = *test_allocator();
    options->key_size_max = WEIR_KEY_SIZE_LIMIT;
    CHECK_STATUS(weir_queue_new(options, &queue), WEIR_OK);
    weir_queue_free(queue);
    CHECK_STATUS(weir_queue_new(NULL, &queue), WEIR_OK);
    weir_queue_free(queue);
}
