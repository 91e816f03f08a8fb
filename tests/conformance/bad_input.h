/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_BAD_INPUT_H
#define WEIR_TEST_CONFORMANCE_BAD_INPUT_H

#include <weir/limiter.h>
#include <weir/metrics.h>

#include "conformance/bad_rows.h"
#include "conformance/fixture.h"

/* The rows of bad input to queues, and to what has no world of its own (conformance/bad_rows.h).
 *
 * A refusal leaves the queue's counts, its memory, what its limiter remembers, whether it is shut
 * down, and w's results; and after it everything comes out as if nothing had happened. A row of the
 * fault shut_down gets a queue that is; every other one a queue with an item in every place. */

struct world {
    struct fixture f;
    weir_queue *queue;        /* the fixture's */
    struct weir_work work[2]; /* in hand: of IS_PROCESSING and IS_DIRTY */
    struct weir_work stale;   /* that has ended */
    struct weir_queue_counts before;
    size_t bytes;
    bool may_change; /* see accept_change() */

    /* Results that a refusal must leave alone. */
    struct weir_work result;
    uint64_t number;
    size_t count;
    bool flag;
};

enum {
    IS_QUEUED,
    IS_WAITING,
    IS_PROCESSING,
    IS_DIRTY,
    IS_LIMITED,
    IS_IDLE,
    IS_ENDED
};

/* The rows of a parameter `queue` and of one that is a key; call(w, queue, key) makes the call. */
#define KEY_ROWS(function, parameter, call)                                                        \
    ROW(function, queue, null, WEIR_EINVAL)                                                        \
    {                                                                                              \
        return call(w, NULL, key_of(&w->f, IS_IDLE));                                              \
    }                                                                                              \
    ROW(function, parameter, no_bytes, WEIR_EINVAL)                                                \
    {                                                                                              \
        CHECK_STATUS(call(w, w->queue, weir_key_bytes(NULL, 65536)), WEIR_EINVAL);                 \
        return call(w, w->queue, weir_key_bytes(NULL, 1));                                         \
    }                                                                                              \
    ROW(function, parameter, no_item, WEIR_EINVAL)                                                 \
    {                                                                                              \
        return call(w, w->queue, weir_key_item(NULL));                                             \
    }                                                                                              \
    ROW(function, parameter, askew, WEIR_EINVAL)                                                   \
    {                                                                                              \
        return call(w, w->queue,                                                                   \
                    (struct weir_key){(const char *)&w->f.items[IS_IDLE] + 1, WEIR_KEY_ITEM});     \
    }                                                                                              \
    ROW(function, parameter, too_big, WEIR_ETOOBIG)                                                \
    {                                                                                              \
        static const char large[65537];                                                            \
        CHECK_STATUS(call(w, w->queue, weir_key_bytes(large, SIZE_MAX - 1)), WEIR_ETOOBIG);        \
        /* A length that could not be computed names no item, and no byte of it is read. */        \
        CHECK_STATUS(call(w, w->queue, weir_key_bytes(&w->f.items[IS_QUEUED], SIZE_MAX)),          \
                     WEIR_ETOOBIG);                                                                \
        CHECK_STATUS(call(w, w->queue, weir_key_bytes((const void *)1, SIZE_MAX)), WEIR_ETOOBIG);  \
        CHECK_STATUS(call(w, w->queue, weir_key_bytes(NULL, SIZE_MAX)), WEIR_ETOOBIG);             \
        CHECK_STATUS(call(w, w->queue, weir_key_bytes(large, WEIR_KEY_SIZE_LIMIT + 1)),            \
                     WEIR_ETOOBIG);                                                                \
        return call(w, w->queue, weir_key_bytes(large, sizeof(large)));                            \
    }

/* What is there now is what a refusal must leave. */
static inline void take_stock(struct world *w)
{
    CHECK_STATUS(weir_queue_count(w->queue, &w->before), WEIR_OK);
    w->bytes = test_allocated_bytes();
}

/* The row's refusal comes with a change that the contract names, or that lack of memory leaves. */
static inline void accept_change(struct world *w)
{
    w->may_change = true;
}

static inline void make_world(struct world *w, enum kind kind)
{
    memset(w, 0, sizeof(*w));
    struct fixture *f = &w->f;
    setup(f, kind);
    w->queue = f->queue;
    add(f, IS_ENDED);
    w->stale = get(f, IS_ENDED);
    done(f, &w->stale);
    add(f, IS_PROCESSING);
    add(f, IS_DIRTY);
    w->work[0] = get(f, IS_PROCESSING);
    w->work[1] = get(f, IS_DIRTY);
    add(f, IS_DIRTY);
    add_after(f, IS_WAITING, WEIR_MS(1));
    CHECK_STATUS(weir_queue_add_rate_limited(f->queue, key_of(f, IS_LIMITED)), WEIR_OK);
    add(f, IS_QUEUED);
    w->result.ticket = UNTOUCHED;
    w->number = UNTOUCHED;
    w->count = UNTOUCHED;
    w->flag = true;
}

/* Nothing is queued any more. */
static inline void empty_world(struct world *w)
{
    CHECK(cancel(&w->f, IS_QUEUED));
    take_stock(w);
}

/* Nothing is queued or processing any more. */
static inline void finish_world(struct world *w)
{
    struct weir_work work;
    CHECK_STATUS(weir_queue_done_batch(w->queue, w->work, 2), WEIR_OK);
    while (weir_queue_get(w->queue, 0, &work) == WEIR_OK) {
        done(&w->f, &work);
    }
    take_stock(w);
}

static inline void check_unchanged(struct world *w, bool was_shut_down)
{
    struct weir_queue_counts now;
    CHECK_STATUS(weir_queue_count(w->queue, &now), WEIR_OK);
    CHECK(memcmp(&now, &w->before, sizeof(now)) == 0);
    CHECK_INT(test_allocated_bytes(), ==, w->bytes);
    CHECK_INT(weir_queue_shutting_down(w->queue), ==, was_shut_down);
    for (unsigned i = 0; i <= IS_ENDED; i++) {
        uint64_t count = UINT64_MAX;
        CHECK_STATUS(weir_queue_num_requeues(w->queue, key_of(&w->f, i), &count), WEIR_OK);
        CHECK_INT(count, ==, i == IS_LIMITED ? 1 : 0);
    }
    CHECK(w->result.ticket == UNTOUCHED && w->number == UNTOUCHED && w->count == UNTOUCHED);
    CHECK(w->flag);
}

/* Everything comes out as if nothing had happened. */
static inline void check_comes_out(struct world *w)
{
    struct fixture *f = &w->f;
    if (w->before.queued > 0) {
        get_and_done(f, IS_QUEUED);
    }
    CHECK_NOTHING_READY(f);
    if (w->before.processing > 0) {
        done(f, &w->work[1]);
        get_and_done(f, IS_DIRTY);
        done(f, &w->work[0]);
    }
    pass(f, WEIR_MS(1));
    get_and_done(f, IS_WAITING);
    CHECK_NOTHING_READY(f);
    pass(f, WEIR_MS(4));
    get_and_done(f, IS_LIMITED);
    CHECK_COUNTS(f, 0, 0, 0);
}

static inline void run_last_row(void *row)
{
    struct world w;
    make_world(&w, SHORT_KEY);
    (void)((const struct row *)row)->fn(&w);
}

static inline void run_row(struct row *row, enum kind kind)
{
    if (row->last_words != NULL) {
        test_must_abort(run_last_row, row, row->last_words);
        return;
    }
    struct world w;
    bool is_shut_down = strcmp(row->fault, "shut_down") == 0;
    make_world(&w, kind);
    if (is_shut_down) {
        weir_queue_shutdown(w.queue);
    }
    take_stock(&w);
    enum weir_status status = call_row(row, &w);
    if (status != WEIR_OK && !w.may_change) {
        check_unchanged(&w, is_shut_down);
        if (!is_shut_down) {
            check_comes_out(&w);
        }
    }
    teardown(&w.f);
}

TEST_EACH(rows, "each function refuses each fault of each parameter, and changes nothing")
{
    CHECK_INT(row_count, >, 0);
    for (size_t i = 0; i < row_count; i++) {
        run_row(&rows[i], kind);
    }
}

#endif
