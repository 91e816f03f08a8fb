/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_FIXTURE_H
#define WEIR_TEST_CONFORMANCE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/queue.h>

#include "queue/same_work.h"
#include "support/harness.h"

/* What the conformance tests share. A case is written once and runs for every kind of item:
 *
 *     TEST_EACH(add_idle, "an idle item that is added is queued")
 *     {
 *         struct fixture f;
 *         setup(&f, kind);
 *         ...
 *         teardown(&f);
 *     }
 *
 * Items are numbers below ITEMS; the fixture makes keys of them. Time is a manual clock that starts
 * at START. */

enum kind {
    SHORT_KEY,
    LONG_KEY,
    EMBEDDED
};

#define TEST_EACH(name, sentence) TEST_EACH_WITH(name, sentence, 0)
#define TEST_EACH_WITH(name, sentence, flags)                                                      \
    static void each_##name(enum kind kind);                                                       \
    TEST_WITH(name##_short, sentence " (short keys)", flags)                                       \
    {                                                                                              \
        each_##name(SHORT_KEY);                                                                    \
    }                                                                                              \
    TEST_WITH(name##_long, sentence " (long keys)", flags)                                         \
    {                                                                                              \
        each_##name(LONG_KEY);                                                                     \
    }                                                                                              \
    TEST_WITH(name##_embedded, sentence " (embedded items)", flags)                                \
    {                                                                                              \
        each_##name(EMBEDDED);                                                                     \
    }                                                                                              \
    static void each_##name(enum kind kind)

#define ITEMS 128
#define START WEIR_SECONDS(1000)

struct fixture {
    enum kind kind;
    weir_clock *clock;
    weir_queue *queue;
    struct weir_item items[ITEMS];
    char names[ITEMS][64];
};

/* options are filled in with the allocator and the clock. */
static inline void setup_options(struct fixture *f, enum kind kind,
                                 struct weir_queue_options *options)
{
    memset(f, 0, sizeof(*f));
    f->kind = kind;
    for (unsigned i = 0; i < ITEMS; i++) {
        (void)snprintf(f->names[i], sizeof(f->names[i]), "%s%u",
                       kind == LONG_KEY ? "a-name-that-fits-into-no-record-of-any-table/" : "", i);
    }
    CHECK_STATUS(weir_clock_manual_new(START, test_allocator(), &f->clock), WEIR_OK);
    options->allocator = *test_allocator();
    options->clock = f->clock;
    CHECK_STATUS(weir_queue_new(options, &f->queue, NULL), WEIR_OK);
}

static inline void setup_with(struct fixture *f, enum kind kind, weir_limiter *limiter)
{
    struct weir_queue_options options = {0};
    options.limiter = limiter;
    setup_options(f, kind, &options);
}

static inline void setup(struct fixture *f, enum kind kind)
{
    setup_with(f, kind, NULL);
}

static inline void teardown(struct fixture *f)
{
    weir_queue_free(f->queue);
    weir_clock_free(f->clock);
}

static inline struct weir_key key_of(struct fixture *f, unsigned item)
{
    return f->kind == EMBEDDED ? weir_key_item(&f->items[item]) : weir_key_string(f->names[item]);
}

/* The item that a consumer was handed. */
static inline unsigned item_of(struct fixture *f, const struct weir_work *work)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        struct weir_key key = key_of(f, i);
        if (work->key.size == key.size &&
            (f->kind == EMBEDDED
                 ? work->key.data == key.data && work->item == &f->items[i]
                 : work->item == NULL && memcmp(work->key.data, key.data, key.size) == 0)) {
            return i;
        }
    }
    test_fail(__FILE__, __LINE__, "handed out something that was never added");
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

static inline void pass(struct fixture *f, int64_t step_ns)
{
    CHECK_STATUS(weir_clock_advance(f->clock, step_ns), WEIR_OK);
}

/* Gets without blocking; it must be this item. */
static inline struct weir_work get(struct fixture *f, unsigned item)
{
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(f->queue, 0, &work), WEIR_OK);
    CHECK_INT(item_of(f, &work), ==, item);
    return work;
}

static inline void done(struct fixture *f, const struct weir_work *work)
{
    CHECK_STATUS(weir_queue_done(f->queue, work), WEIR_OK);
}

static inline void get_and_done(struct fixture *f, unsigned item)
{
    struct weir_work work = get(f, item);
    done(f, &work);
}

static inline bool cancel(struct fixture *f, unsigned item)
{
    bool taken = false;
    CHECK_STATUS(weir_queue_cancel(f->queue, key_of(f, item), &taken), WEIR_OK);
    return taken;
}

#define CHECK_COUNTS(f, want_queued, want_waiting, want_processing)                                \
    do {                                                                                           \
        struct weir_queue_counts check_counts;                                                     \
        CHECK_STATUS(weir_queue_count((f)->queue, &check_counts), WEIR_OK);                        \
        CHECK_INT(check_counts.queued, ==, want_queued);                                           \
        CHECK_INT(check_counts.waiting, ==, want_waiting);                                         \
        CHECK_INT(check_counts.processing, ==, want_processing);                                   \
        CHECK_INT(weir_queue_len((f)->queue), ==, want_queued);                                    \
    } while (0)

#define CHECK_NOTHING_READY(f)                                                                     \
    do {                                                                                           \
        struct weir_work check_work;                                                               \
        CHECK_STATUS(weir_queue_get((f)->queue, 0, &check_work), WEIR_ETIMEDOUT);                  \
    } while (0)

/* A thread in one blocking call. */
struct blocked {
    struct fixture *f;
    struct test_thread *thread;
    enum weir_status status;
    struct weir_work work;
};

static inline void run_get(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_get(blocked->f->queue, WEIR_FOREVER, &blocked->work);
}

static inline void run_done_get(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_done_get(blocked->f->queue, WEIR_FOREVER, &blocked->work);
}

static inline void run_drain(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_shutdown_drain(blocked->f->queue, WEIR_FOREVER);
}

/* Starts the call and returns when it sleeps. */
static inline void block(struct blocked *blocked, struct fixture *f, void (*run)(void *arg))
{
    blocked->f = f;
    blocked->thread = test_start(run, blocked);
    test_wait_asleep(blocked->thread);
}

/* Waits for the call's end. */
static inline enum weir_status unblock(struct blocked *blocked)
{
    test_join(blocked->thread);
    return blocked->status;
}

#endif
