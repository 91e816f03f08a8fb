/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/poll_fixture.h"

/* The descriptor after any sequence of calls, and on the real clock. */

static void step(struct fixture *f, struct weir_work *works, size_t *works_count)
{
    unsigned item = (unsigned)test_random_below(ITEMS);
    int64_t delay_ns = 0;
    switch (test_random_below(8)) {
    case 0:
    case 1:
        add(f, item);
        break;
    case 2:
        add_after(f, item, (int64_t)test_random_below(100));
        break;
    case 3:
        delay_ns = (int64_t)test_random_below(100);
        add_with(f, item, delay_ns,
                 (uint32_t)test_random_below(WEIR_ADD_MOVE + 1) |
                     (delay_ns == 0 ? WEIR_ADD_SUPERSEDE * (uint32_t)test_random_below(2) : 0));
        break;
    case 4:
        CHECK_STATUS(weir_queue_cancel(f->queue, key_of(f, item), NULL), WEIR_OK);
        break;
    case 5:
        pass(f, (int64_t)test_random_below(50));
        break;
    case 6:
        if (is_readable(f)) {
            works[(*works_count)++] = get(f);
        } else {
            check_status_of_get(f, WEIR_ETIMEDOUT);
        }
        break;
    default:
        if (*works_count > 0) {
            size_t at = (size_t)test_random_below(*works_count);
            done(f, &works[at]);
            works[at] = works[--*works_count];
        }
        break;
    }
}

TEST_BOTH(any_order,
          "after any calls in any order it is readable exactly while a get would not block")
{
    struct fixture f;
    setup(&f, is_embedded);
    struct weir_work works[ITEMS];
    size_t count = 0;
    unsigned readable = 0;
    const unsigned steps = 30000;
    for (unsigned i = 0; i < steps; i++) {
        step(&f, works, &count);
        bool is_now = is_readable(&f);
        CHECK_INT(is_now, ==, weir_queue_len(f.queue) > 0);
        CHECK_INT(is_readable(&f), ==, is_now);
        readable += is_now;
    }
    CHECK_INT(readable, >, steps / 10);
    CHECK_INT(readable, <, steps - steps / 10);
    teardown(&f);
}

TEST_BOTH(real_time,
          "on the real clock the kernel makes it readable once the earliest time has come")
{
    struct fixture f;
    setup_real(&f, is_embedded);
    add_after(&f, 0, HOUR);
    CHECK(!is_readable(&f));
    int64_t due_ns = weir_clock_now(f.clock) + WEIR_MS(3);
    add_after(&f, 1, WEIR_MS(3));
    wait_readable(&f);
    CHECK_INT(weir_clock_now(f.clock), >=, due_ns);
    get_and_done(&f);
    CHECK(!is_readable(&f));

    /* A time that has passed unseen is forgotten with its item. */
    add_after(&f, 1, WEIR_MS(1));
    wait_readable(&f);
    cancel(&f, 1);
    CHECK(!is_readable(&f));

    /* Later than what waits already; moved; and while something is queued. */
    add_with(&f, 0, WEIR_MS(1), WEIR_ADD_MOVE);
    wait_readable(&f);
    get_and_done(&f);
    add(&f, 2);
    add_after(&f, 0, WEIR_MS(1));
    get_and_done(&f);
    wait_readable(&f);
    get_and_done(&f);
    CHECK(!is_readable(&f));
    add_after(&f, 0, HOUR);
    weir_queue_shutdown(f.queue);
    CHECK(is_readable(&f));
    teardown(&f);
}

TEST_BOTH(due_while_processing,
          "when the time comes of an item that is being processed a get says so, and it ends")
{
    struct fixture f;
    setup_real(&f, is_embedded);
    add(&f, 0);
    struct weir_work work = get(&f);
    add_after(&f, 0, WEIR_MS(1));
    wait_readable(&f);
    check_status_of_get(&f, WEIR_ETIMEDOUT);
    CHECK(!is_readable(&f));
    done(&f, &work);
    CHECK(is_readable(&f));
    get_and_done(&f);
    CHECK(!is_readable(&f));
    teardown(&f);
}

TEST_BOTH(end_of_time, "a time at the end of time makes it readable as any other does")
{
    struct fixture f;
    setup(&f, is_embedded);
    add_after(&f, 0, INT64_MAX);
    CHECK_STATUS(weir_clock_advance(f.clock, INT64_MAX - 1000 - 1), WEIR_OK);
    CHECK(!is_readable(&f));
    check_status_of_get(&f, WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_clock_advance(f.clock, 1), WEIR_OK);
    CHECK(is_readable(&f));
    get_and_done(&f);
    CHECK(!is_readable(&f));
    teardown(&f);
}
