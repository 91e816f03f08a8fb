/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/fixture.h"

/* The touch callback: which adds it sees, with what, when. */

struct seen {
    struct fixture f;
    unsigned count;
    unsigned items[8]; /* the latest ones, in turn */
    bool raise;        /* adds the item once more from within */
};

static void touch(struct weir_key key, void *arg)
{
    struct seen *seen = arg;
    struct weir_work work = {.key = key, .item = NULL};
    work.item = seen->f.kind == EMBEDDED ? (struct weir_item *)(uintptr_t)key.data : NULL;
    seen->items[seen->count % 8] = item_of(&seen->f, &work);
    seen->count++;
    if (seen->raise) {
        seen->raise = false;
        struct weir_add_options options = {0};
        options.priority = -1;
        CHECK_STATUS(weir_queue_add_with(seen->f.queue, key, &options, NULL), WEIR_OK);
    }
}

static void setup_touching(struct seen *seen, enum kind kind, weir_touch_fn *fn,
                           weir_limiter *limiter, uint32_t flags)
{
    memset(seen, 0, sizeof(*seen));
    struct weir_queue_options options = {0};
    options.limiter = limiter;
    options.flags = flags;
    options.touch = fn;
    options.touch_arg = seen;
    setup_options(&seen->f, kind, &options);
}

static void setup_seen(struct seen *seen, enum kind kind, uint32_t flags)
{
    setup_touching(seen, kind, touch, NULL, flags);
}

TEST_EACH(queued, "each add that comes together with a queued item is seen, once")
{
    struct seen seen;
    setup_seen(&seen, kind, 0);
    add(&seen.f, 1);
    add(&seen.f, 2);
    CHECK_INT(seen.count, ==, 0);
    add(&seen.f, 2);
    CHECK_INT(seen.count, ==, 1);
    add_after(&seen.f, 1, 0);
    add_with(&seen.f, 2, -1, WEIR_ADD_SUPERSEDE);
    CHECK_INT(seen.count, ==, 3);
    CHECK_INT(seen.items[0], ==, 2);
    CHECK_INT(seen.items[1], ==, 1);
    CHECK_INT(seen.items[2], ==, 2);
    get_and_done(&seen.f, 1);
    get_and_done(&seen.f, 2);
    teardown(&seen.f);
}

TEST_EACH(others,
          "adds of idle, processing, dirty and waiting items, for a time, or refused, are not")
{
    struct seen seen;
    setup_seen(&seen, kind, 0);
    add(&seen.f, 1);
    struct weir_work work = get(&seen.f, 1);
    add(&seen.f, 1);
    add(&seen.f, 1);
    add_after(&seen.f, 2, 10);
    add_after(&seen.f, 2, 5);
    add(&seen.f, 2);
    add_after(&seen.f, 2, 7);
    pass(&seen.f, 10); /* comes together with the queued item, but is no add */
    CHECK_COUNTS(&seen.f, 1, 0, 1);
    struct weir_key own[] = {key_of(&seen.f, 1), key_of(&seen.f, 3)}; /* dirty, idle */
    CHECK_STATUS(weir_queue_add_batch(seen.f.queue, own, 2, NULL), WEIR_OK);
    weir_queue_shutdown(seen.f.queue);
    CHECK_STATUS(weir_queue_add(seen.f.queue, key_of(&seen.f, 2)), WEIR_ESHUTDOWN);
    struct weir_key keys[] = {key_of(&seen.f, 2), key_of(&seen.f, 1)};
    CHECK_STATUS(weir_queue_add_batch(seen.f.queue, keys, 2, NULL), WEIR_ESHUTDOWN);
    done(&seen.f, &work);
    CHECK_INT(seen.count, ==, 0);
    teardown(&seen.f);
}

TEST_EACH(rate_limited, "a rate-limited add whose delay is nothing is an add like others")
{
    struct seen seen;
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_fast_slow_new(0, WEIR_MS(1), 2, NULL, &limiter, NULL), WEIR_OK);
    setup_touching(&seen, kind, touch, limiter, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(weir_queue_add_rate_limited(seen.f.queue, key_of(&seen.f, 1)), WEIR_OK);
    }
    CHECK_INT(seen.count, ==, 1);
    CHECK_COUNTS(&seen.f, 1, 1, 0);
    teardown(&seen.f);
    weir_limiter_free(limiter);
}

TEST_EACH(batch,
          "of a batch each key that was queued is seen, in their order, also one that stands twice")
{
    struct seen seen;
    setup_seen(&seen, kind, 0);
    add(&seen.f, 1);
    add(&seen.f, 3);
    struct weir_key keys[] = {key_of(&seen.f, 3), key_of(&seen.f, 2), key_of(&seen.f, 1),
                              key_of(&seen.f, 2)};
    CHECK_STATUS(weir_queue_add_batch(seen.f.queue, keys, 4, NULL), WEIR_OK);
    CHECK_INT(seen.count, ==, 3);
    CHECK_INT(seen.items[0], ==, 3);
    CHECK_INT(seen.items[1], ==, 1);
    CHECK_INT(seen.items[2], ==, 2);
    CHECK_STATUS(weir_queue_add_batch(seen.f.queue, keys, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_queue_add_batch(seen.f.queue, NULL, 0, NULL), WEIR_OK);
    test_fail_allocation(1, true); /* of items that are there a small batch takes no memory */
    CHECK_STATUS(weir_queue_add_batch(seen.f.queue, keys, 4, NULL), WEIR_OK);
    test_fail_allocation(0, false);
    CHECK_INT(seen.count, ==, 7);
    teardown(&seen.f);
}

TEST_EACH(large_batch, "of a large batch too; one that fails for lack of memory touches nothing")
{
    enum {
        LARGE = 65
    };
    struct seen seen;
    struct weir_key keys[LARGE];
    setup_seen(&seen, kind, 0);
    for (unsigned i = 0; i < LARGE; i++) {
        keys[i] = key_of(&seen.f, i / 2);
    }
    CHECK_STATUS(weir_queue_add_batch(seen.f.queue, keys, LARGE, NULL), WEIR_OK);
    CHECK_INT(seen.count, ==, LARGE / 2);
    test_fail_allocation(1, true);
    CHECK_STATUS(weir_queue_add_batch(seen.f.queue, keys, LARGE, NULL), WEIR_ENOMEM);
    test_fail_allocation(0, false);
    CHECK_INT(seen.count, ==, LARGE / 2);
    CHECK_STATUS(weir_queue_add_batch(seen.f.queue, keys, LARGE, NULL), WEIR_OK);
    CHECK_INT(seen.count, ==, LARGE / 2 + LARGE);
    teardown(&seen.f);
}

TEST_EACH(from_within, "it may add, such as to raise the item it was called for")
{
    struct seen seen;
    setup_seen(&seen, kind, WEIR_QUEUE_PRIORITIES);
    add(&seen.f, 1);
    add(&seen.f, 2);
    seen.raise = true;
    add(&seen.f, 2);
    CHECK_INT(seen.count, ==, 2); /* the add from within was one too */
    get_and_done(&seen.f, 2);
    get_and_done(&seen.f, 1);
    teardown(&seen.f);
}

/* Touches by handing the item to another thread, and waits for that. */
static void touch_waiting(struct weir_key key, void *arg)
{
    struct seen *seen = arg;
    (void)key;
    struct blocked other = {.f = &seen->f};
    seen->count++;
    other.thread = test_start(run_get, &other);
    CHECK_STATUS(unblock(&other), WEIR_OK);
    done(&seen->f, &other.work);
}

TEST_EACH(no_lock, "no lock is held meanwhile: other threads use the queue, and free items")
{
    struct seen seen;
    setup_touching(&seen, kind, touch_waiting, NULL, 0);
    add(&seen.f, 1);
    add(&seen.f, 1);
    CHECK_INT(seen.count, ==, 1);
    CHECK_COUNTS(&seen.f, 0, 0, 0);
    teardown(&seen.f);
}
