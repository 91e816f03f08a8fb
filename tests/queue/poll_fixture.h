/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_POLL_FIXTURE_H
#define WEIR_TEST_POLL_FIXTURE_H

#include <poll.h>
#include <string.h>

#include <weir/queue.h>

#include "support/harness.h"

/* A queue with its descriptor, and what its tests do to both. Each case runs for items named by
 * bytes and for embedded ones. */

#define TEST_BOTH(name, sentence)                                                                  \
    static void both_##name(bool is_embedded);                                                     \
    TEST(name##_bytes, sentence " (bytes)")                                                        \
    {                                                                                              \
        both_##name(false);                                                                        \
    }                                                                                              \
    TEST(name##_embedded, sentence " (embedded)")                                                  \
    {                                                                                              \
        both_##name(true);                                                                         \
    }                                                                                              \
    static void both_##name(bool is_embedded)

#define ITEMS 8
#define HOUR WEIR_SECONDS(3600)

struct fixture {
    bool is_embedded;
    weir_clock *clock;
    weir_queue *queue;
    int fd;
    struct weir_item items[ITEMS];
};

static inline void setup_on(struct fixture *f, bool is_embedded, weir_clock *clock)
{
    memset(f, 0, sizeof(*f));
    f->is_embedded = is_embedded;
    f->clock = clock;
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.clock = clock;
    CHECK_STATUS(weir_queue_new(&options, &f->queue, NULL), WEIR_OK);
}

static inline void setup(struct fixture *f, bool is_embedded)
{
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(1000, test_allocator(), &clock), WEIR_OK);
    setup_on(f, is_embedded, clock);
    CHECK_STATUS(weir_queue_fd(f->queue, &f->fd), WEIR_OK);
}

static inline void setup_real(struct fixture *f, bool is_embedded)
{
    setup_on(f, is_embedded, weir_clock_monotonic());
    CHECK_STATUS(weir_queue_fd(f->queue, &f->fd), WEIR_OK);
}

static inline void teardown(struct fixture *f)
{
    weir_queue_free(f->queue);
    weir_clock_free(f->clock);
}

static inline struct weir_key key_of(struct fixture *f, unsigned item)
{
    static const char names[ITEMS + 1] = "abcdefgh";
    return f->is_embedded ? weir_key_item(&f->items[item]) : weir_key_bytes(&names[item], 1);
}

static inline bool is_readable(const struct fixture *f)
{
    struct pollfd pollfd = {.fd = f->fd, .events = POLLIN};
    int count = poll(&pollfd, 1, 0);
    CHECK_INT(count, >=, 0);
    CHECK(count == 0 || pollfd.revents == POLLIN);
    return count == 1;
}

/* Sleeps until it is readable; the test's time limit is the only other end. */
static inline void wait_readable(const struct fixture *f)
{
    struct pollfd pollfd = {.fd = f->fd, .events = POLLIN};
    CHECK_INT(poll(&pollfd, 1, -1), ==, 1);
}

static inline void add(struct fixture *f, unsigned item)
{
    CHECK_STATUS(weir_queue_add(f->queue, key_of(f, item)), WEIR_OK);
}

static inline void add_after(struct fixture *f, unsigned item, int64_t delay_ns)
{
    CHECK_STATUS(weir_queue_add_after(f->queue, key_of(f, item), delay_ns), WEIR_OK);
}

static inline void add_with(struct fixture *f, unsigned item, int64_t delay_ns, uint32_t flags)
{
    struct weir_add_options options = {0};
    options.delay_ns = delay_ns;
    options.flags = flags;
    CHECK_STATUS(weir_queue_add_with(f->queue, key_of(f, item), &options, NULL), WEIR_OK);
}

static inline void cancel(struct fixture *f, unsigned item)
{
    bool taken = false;
    CHECK_STATUS(weir_queue_cancel(f->queue, key_of(f, item), &taken), WEIR_OK);
    CHECK(taken);
}

static inline struct weir_work get(struct fixture *f)
{
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f->queue, 0, &work), WEIR_OK);
    return work;
}

static inline void done(struct fixture *f, const struct weir_work *work)
{
    CHECK_STATUS(weir_queue_done(f->queue, work), WEIR_OK);
}

static inline void get_and_done(struct fixture *f)
{
    struct weir_work work = get(f);
    done(f, &work);
}

static inline void check_status_of_get(struct fixture *f, enum weir_status expected)
{
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f->queue, 0, &work), expected);
}

static inline void pass(struct fixture *f, int64_t step_ns)
{
    CHECK_STATUS(weir_clock_advance(f->clock, step_ns), WEIR_OK);
}

#endif
