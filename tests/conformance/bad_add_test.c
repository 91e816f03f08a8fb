/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_input.h"

/* Bad input to what brings items into a queue and takes them out. */

/* ---- The calls that take a key ---- */

typedef enum weir_status key_call(struct world *w, weir_queue *queue, struct weir_key key);

static enum weir_status call_add(__attribute__((unused)) struct world *w, weir_queue *queue,
                                 struct weir_key key)
{
    return weir_queue_add(queue, key);
}

static enum weir_status call_add_after(__attribute__((unused)) struct world *w, weir_queue *queue,
                                       struct weir_key key)
{
    enum weir_status status = weir_queue_add_after(queue, key, 0);
    CHECK(status != WEIR_OK);
    CHECK_STATUS(weir_queue_add_after(queue, key, WEIR_MS(1)), status);
    return status;
}

static enum weir_status add_options(weir_queue *queue, struct weir_key key, int64_t delay_ns,
                                    uint32_t flags)
{
    struct weir_add_options options = {0};
    options.delay_ns = delay_ns;
    options.flags = flags;
    return weir_queue_add_with(queue, key, &options, NULL);
}

static enum weir_status call_add_with(__attribute__((unused)) struct world *w, weir_queue *queue,
                                      struct weir_key key)
{
    enum weir_status status = add_options(queue, key, 0, WEIR_ADD_SUPERSEDE);
    CHECK(status != WEIR_OK);
    CHECK_STATUS(add_options(queue, key, 1, WEIR_ADD_MOVE), status);
    CHECK_STATUS(add_options(queue, key, 0, 0), status);
    return status;
}

static enum weir_status call_add_rate_limited(__attribute__((unused)) struct world *w,
                                              weir_queue *queue, struct weir_key key)
{
    return weir_queue_add_rate_limited(queue, key);
}

static enum weir_status call_forget(__attribute__((unused)) struct world *w, weir_queue *queue,
                                    struct weir_key key)
{
    return weir_queue_forget(queue, key);
}

static enum weir_status call_num_requeues(struct world *w, weir_queue *queue, struct weir_key key)
{
    return weir_queue_num_requeues(queue, key, &w->number);
}

static enum weir_status call_cancel(struct world *w, weir_queue *queue, struct weir_key key)
{
    CHECK_STATUS(weir_queue_cancel(queue, key, NULL), weir_queue_cancel(queue, key, &w->flag));
    return weir_queue_cancel(queue, key, &w->flag);
}

static enum weir_status call_add_batch(struct world *w, weir_queue *queue, struct weir_key key)
{
    struct weir_key keys[] = {key_of(&w->f, IS_IDLE), key, key_of(&w->f, IS_QUEUED)};
    return weir_queue_add_batch(queue, keys, 3, NULL);
}

KEY_ROWS(weir_queue_add, key, call_add)
KEY_ROWS(weir_queue_add_after, key, call_add_after)
KEY_ROWS(weir_queue_add_with, key, call_add_with)
KEY_ROWS(weir_queue_add_rate_limited, key, call_add_rate_limited)
KEY_ROWS(weir_queue_forget, key, call_forget)
KEY_ROWS(weir_queue_num_requeues, key, call_num_requeues)
KEY_ROWS(weir_queue_cancel, key, call_cancel)
KEY_ROWS(weir_queue_add_batch, keys, call_add_batch)

/* Of items in every place. */
static enum weir_status call_with_every_place(struct world *w, key_call *call)
{
    enum weir_status status = call(w, w->queue, key_of(&w->f, IS_IDLE));
    for (unsigned i = 0; i <= IS_ENDED; i++) {
        CHECK_STATUS(call(w, w->queue, key_of(&w->f, i)), status);
    }
    return status;
}

ROW(weir_queue_add, queue, shut_down, WEIR_ESHUTDOWN)
{
    return call_with_every_place(w, call_add);
}

ROW(weir_queue_add_after, queue, shut_down, WEIR_ESHUTDOWN)
{
    return call_with_every_place(w, call_add_after);
}

ROW(weir_queue_add_with, queue, shut_down, WEIR_ESHUTDOWN)
{
    return call_with_every_place(w, call_add_with);
}

ROW(weir_queue_add_rate_limited, queue, shut_down, WEIR_ESHUTDOWN)
{
    return call_with_every_place(w, call_add_rate_limited);
}

ROW(weir_queue_add_batch, queue, shut_down, WEIR_ESHUTDOWN)
{
    return call_with_every_place(w, call_add_batch);
}

ROW(weir_queue_forget, queue, shut_down, WEIR_OK)
{
    CHECK_STATUS(weir_queue_forget(w->queue, key_of(&w->f, IS_LIMITED)), WEIR_OK);
    CHECK_STATUS(weir_queue_num_requeues(w->queue, key_of(&w->f, IS_LIMITED), &w->number), WEIR_OK);
    CHECK_INT(w->number, ==, 0);
    return WEIR_OK;
}

ROW(weir_queue_num_requeues, queue, shut_down, WEIR_OK)
{
    CHECK_STATUS(weir_queue_num_requeues(w->queue, key_of(&w->f, IS_LIMITED), &w->number), WEIR_OK);
    CHECK_INT(w->number, ==, 1);
    return WEIR_OK;
}

ROW(weir_queue_cancel, queue, shut_down, WEIR_OK)
{
    CHECK(cancel(&w->f, IS_QUEUED) && cancel(&w->f, IS_DIRTY));
    CHECK(!cancel(&w->f, IS_WAITING) && !cancel(&w->f, IS_PROCESSING));
    return WEIR_OK;
}

/* An item that waits in another queue. */
static enum weir_status call_with_foreign(struct world *w, key_call *call)
{
    struct weir_item item;
    weir_item_init(&item);
    weir_queue *other;
    CHECK_STATUS(weir_queue_new(NULL, &other, NULL), WEIR_OK);
    CHECK_STATUS(weir_queue_add_after(other, weir_key_item(&item), WEIR_SECONDS(3600)), WEIR_OK);
    enum weir_status status = call(w, w->queue, weir_key_item(&item));
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(other, &counts), WEIR_OK);
    CHECK_INT(counts.waiting, ==, 1);
    weir_queue_free(other);
    return status;
}

ROW(weir_queue_add, key, elsewhere, WEIR_EBUSY)
{
    return call_with_foreign(w, call_add);
}

ROW(weir_queue_add_after, key, elsewhere, WEIR_EBUSY)
{
    return call_with_foreign(w, call_add_after);
}

ROW(weir_queue_add_with, key, elsewhere, WEIR_EBUSY)
{
    return call_with_foreign(w, call_add_with);
}

ROW(weir_queue_add_rate_limited, key, elsewhere, WEIR_EBUSY)
{
    return call_with_foreign(w, call_add_rate_limited);
}

ROW(weir_queue_add_batch, keys, elsewhere, WEIR_EBUSY)
{
    return call_with_foreign(w, call_add_batch);
}

ROW(weir_queue_cancel, key, elsewhere, WEIR_EBUSY)
{
    return call_with_foreign(w, call_cancel);
}

/* New keys without memory, until that is needed. */
static enum weir_status call_without_memory(struct world *w, key_call *call)
{
    accept_change(w);
    test_fail_allocation(1, true);
    enum weir_status status = WEIR_OK;
    for (unsigned i = 0; i < 100000 && status == WEIR_OK; i++) {
        char name[80];
        (void)snprintf(name, sizeof(name), "a-key-that-needs-memory-of-its-own/%u", i);
        status = call(w, w->queue, weir_key_string(name));
    }
    return status;
}

static enum weir_status add_later(__attribute__((unused)) struct world *w, weir_queue *queue,
                                  struct weir_key key)
{
    return weir_queue_add_after(queue, key, 1);
}

static enum weir_status add_moving(__attribute__((unused)) struct world *w, weir_queue *queue,
                                   struct weir_key key)
{
    return add_options(queue, key, 1, WEIR_ADD_MOVE);
}

ROW(weir_queue_add, memory, none, WEIR_ENOMEM)
{
    return call_without_memory(w, call_add);
}

ROW(weir_queue_add_after, memory, none, WEIR_ENOMEM)
{
    return call_without_memory(w, add_later);
}

ROW(weir_queue_add_with, memory, none, WEIR_ENOMEM)
{
    return call_without_memory(w, add_moving);
}

ROW(weir_queue_add_rate_limited, memory, none, WEIR_ENOMEM)
{
    return call_without_memory(w, call_add_rate_limited);
}

ROW(weir_queue_add_batch, memory, none, WEIR_ENOMEM)
{
    return call_without_memory(w, call_add_batch);
}

/* ---- The other parameters ---- */

ROW(weir_queue_add_after, delay_ns, least, WEIR_OK)
{
    CHECK_STATUS(weir_queue_add_after(w->queue, key_of(&w->f, IS_IDLE), INT64_MIN), WEIR_OK);
    CHECK_INT(weir_queue_len(w->queue), ==, 2);
    return WEIR_OK;
}

ROW(weir_queue_add_after, delay_ns, most, WEIR_OK)
{
    CHECK_STATUS(weir_queue_add_after(w->queue, key_of(&w->f, IS_IDLE), INT64_MAX), WEIR_OK);
    pass(&w->f, WEIR_SECONDS(1000000));
    CHECK(cancel(&w->f, IS_IDLE));
    return WEIR_OK;
}

static enum weir_status add_changed(struct world *w, const struct weir_add_options *options)
{
    CHECK_STATUS(weir_queue_add_with(w->queue, key_of(&w->f, IS_QUEUED), options, NULL),
                 WEIR_EINVAL);
    CHECK_STATUS(weir_queue_add_with(w->queue, key_of(&w->f, IS_WAITING), options, NULL),
                 WEIR_EINVAL);
    return weir_queue_add_with(w->queue, key_of(&w->f, IS_IDLE), options, NULL);
}

ROW(weir_queue_add_with, options, null, WEIR_EINVAL)
{
    return add_changed(w, NULL);
}

ROW(weir_queue_add_with, options, flags, WEIR_EINVAL)
{
    static const uint32_t flags[] = {8, 12, UINT32_C(1) << 31, UINT32_MAX};
    struct weir_add_options options = {0};
    for (size_t i = 0; i < 4; i++) {
        options.flags = flags[i];
        CHECK_STATUS(add_changed(w, &options), WEIR_EINVAL);
    }
    return WEIR_EINVAL;
}

ROW(weir_queue_add_with, options, supersede, WEIR_EINVAL)
{
    struct weir_add_options options = {0};
    options.flags = WEIR_ADD_SUPERSEDE;
    options.delay_ns = INT64_MAX;
    CHECK_STATUS(add_changed(w, &options), WEIR_EINVAL);
    options.delay_ns = 1;
    CHECK_STATUS(add_changed(w, &options), WEIR_EINVAL);
    options.delay_ns = 0;
    options.flags |= WEIR_ADD_RATE_LIMITED;
    return add_changed(w, &options);
}

ROW(weir_queue_add_with, options, priority, WEIR_EINVAL)
{
    struct weir_add_options options = {0};
    options.priority = INT32_MIN;
    CHECK_STATUS(add_changed(w, &options), WEIR_EINVAL);
    options.priority = 1;
    CHECK_STATUS(add_changed(w, &options), WEIR_EINVAL);
    options.flags = WEIR_ADD_RATE_LIMITED; /* and the limiter is told that it came to nothing */
    return add_changed(w, &options);
}

ROW(weir_queue_add_with, options, delay_ns, WEIR_OK)
{
    struct weir_key key = key_of(&w->f, IS_IDLE);
    CHECK_STATUS(add_options(w->queue, key, INT64_MIN, 0), WEIR_OK);
    CHECK_INT(weir_queue_len(w->queue), ==, 2);
    CHECK_STATUS(add_options(w->queue, key, INT64_MAX, WEIR_ADD_MOVE), WEIR_OK);
    CHECK_COUNTS(&w->f, 2, 3, 2);
    return WEIR_OK;
}

ROW(weir_queue_add_with, ret_added, null, WEIR_OK)
{
    CHECK_STATUS(add_options(w->queue, key_of(&w->f, IS_QUEUED), 0, 0), WEIR_OK);
    CHECK_STATUS(add_options(w->queue, key_of(&w->f, IS_IDLE), 0, 0), WEIR_OK);
    CHECK_COUNTS(&w->f, 2, 2, 2);
    return WEIR_OK;
}

ROW(weir_queue_num_requeues, ret_count, null, WEIR_EINVAL)
{
    return weir_queue_num_requeues(w->queue, key_of(&w->f, IS_LIMITED), NULL);
}

ROW(weir_queue_cancel, ret_taken, null, WEIR_OK)
{
    CHECK_STATUS(weir_queue_cancel(w->queue, key_of(&w->f, IS_QUEUED), NULL), WEIR_OK);
    CHECK_COUNTS(&w->f, 0, 2, 2);
    return WEIR_OK;
}

ROW(weir_queue_add_batch, keys, null, WEIR_EINVAL)
{
    CHECK_STATUS(weir_queue_add_batch(NULL, NULL, 0, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_queue_add_batch(w->queue, NULL, 0, NULL), WEIR_OK);
    return weir_queue_add_batch(w->queue, NULL, 1, NULL);
}

ROW(weir_queue_add_batch, count, zero, WEIR_OK)
{
    struct weir_key bad = weir_key_item(NULL);
    CHECK_STATUS(weir_queue_add_batch(w->queue, &bad, 0, NULL), WEIR_OK);
    CHECK_COUNTS(&w->f, 1, 2, 2);
    return WEIR_OK;
}

TEST(key_limit, "a queue's own limit of key sizes is kept to the byte")
{
    struct world w;
    make_world(&w, SHORT_KEY);
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.key_size_max = 10;
    weir_queue *queue;
    CHECK_STATUS(weir_queue_new(&options, &queue, NULL), WEIR_OK);
    CHECK_STATUS(weir_queue_add(queue, weir_key_bytes("0123456789", 10)), WEIR_OK);
    static key_call *const calls[] = {
        call_add,    call_add_after,    call_add_with, call_add_rate_limited,
        call_forget, call_num_requeues, call_cancel,   call_add_batch};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        CHECK_STATUS(calls[i](&w, queue, weir_key_bytes("0123456789a", 11)), WEIR_ETOOBIG);
    }
    struct weir_item item;
    weir_item_init(&item);
    CHECK_STATUS(weir_queue_add(queue, weir_key_item(&item)), WEIR_OK);
    CHECK_INT(weir_queue_len(queue), ==, 2);
    weir_queue_free(queue);
    teardown(&w.f);
}
