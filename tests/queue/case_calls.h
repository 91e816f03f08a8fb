/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_QUEUE_CASE_CALLS_H
#define WEIR_TEST_QUEUE_CASE_CALLS_H

#include "queue/room.h"

#include "queue/cases.h"

/* The calls that have short cuts, each made once in a world, and what it came to. */

#define BATCH 4

/* What a call came to. */
struct outcome {
    enum weir_status status;
    bool flag; /* what it told besides, if anything */
    size_t count;
    size_t numbers[BATCH]; /* gotten */
};

static inline void note_gotten(struct world *world, const struct weir_work *work,
                               struct outcome *outcome)
{
    size_t i = number_of(world, work);
    world->works[i] = *work;
    world->is_held[i] = true;
    outcome->numbers[outcome->count++] = i;
}

static void call_add(struct world *world, struct outcome *outcome)
{
    outcome->status = weir_queue_add(world->queue, key_of(world, SUBJECT));
}

static void call_add_batch(struct world *world, struct outcome *outcome)
{
    const struct weir_key keys[] = {key_of(world, OTHER), key_of(world, SUBJECT),
                                    key_of(world, SUBJECT)};
    outcome->status = weir_queue_add_batch(world->queue, keys, 3);
}

static void call_send_now(struct world *world, struct outcome *outcome)
{
    outcome->status = weiri_queue_send_now(world->queue, &world->items[SUBJECT], &outcome->flag);
}

static void get_by(struct world *world, struct outcome *outcome,
                   enum weir_status (*get_one)(weir_queue *queue, struct weir_work *ret_work))
{
    struct weir_work work;
    outcome->status = get_one(world->queue, &work);
    if (outcome->status == WEIR_OK) {
        note_gotten(world, &work, outcome);
    }
}

static void call_get(struct world *world, struct outcome *outcome)
{
    get_by(world, outcome, weir_queue_get);
}

static void call_try_get(struct world *world, struct outcome *outcome)
{
    get_by(world, outcome, weir_queue_try_get);
}

static enum weir_status get_until_passed(weir_queue *queue, struct weir_work *ret_work)
{
    return weir_queue_get_until(queue, 0, ret_work);
}

static void call_get_until(struct world *world, struct outcome *outcome)
{
    get_by(world, outcome, get_until_passed);
}

static void get_batch_by(struct world *world, struct outcome *outcome,
                         enum weir_status (*get_some)(weir_queue *queue, struct weir_work *ret_work,
                                                      size_t size, size_t *ret_count))
{
    struct weir_work works[BATCH];
    size_t count = 0;
    outcome->status = get_some(world->queue, works, BATCH, &count);
    for (size_t i = 0; i < count; i++) {
        note_gotten(world, &works[i], outcome);
    }
}

static void call_get_batch(struct world *world, struct outcome *outcome)
{
    get_batch_by(world, outcome, weir_queue_get_batch);
}

static void call_try_get_batch(struct world *world, struct outcome *outcome)
{
    get_batch_by(world, outcome, weir_queue_try_get_batch);
}

static enum weir_status get_batch_until_passed(weir_queue *queue, struct weir_work *ret_work,
                                               size_t size, size_t *ret_count)
{
    return weir_queue_get_batch_until(queue, 0, ret_work, size, ret_count);
}

static void call_get_batch_until(struct world *world, struct outcome *outcome)
{
    get_batch_by(world, outcome, get_batch_until_passed);
}

static void call_done(struct world *world, struct outcome *outcome)
{
    outcome->status = weir_queue_done(world->queue, &world->work);
}

static void call_done_left(struct world *world, struct outcome *outcome)
{
    outcome->status = weiri_queue_done_left(world->queue, &world->work, &outcome->flag);
}

static void call_done_batch(struct world *world, struct outcome *outcome)
{
    outcome->status = weir_queue_done_batch(world->queue, &world->work, 1);
}

static void done_get_by(struct world *world, struct outcome *outcome,
                        enum weir_status (*done_get)(weir_queue *queue, struct weir_work *work))
{
    struct weir_work work = world->work;
    outcome->status = done_get(world->queue, &work);
    if (outcome->status == WEIR_OK) {
        note_gotten(world, &work, outcome);
    } else {
        CHECK(memcmp(&work, &world->work, sizeof(work)) == 0);
    }
}

static void call_done_get(struct world *world, struct outcome *outcome)
{
    done_get_by(world, outcome, weir_queue_done_get);
}

static void call_done_try_get(struct world *world, struct outcome *outcome)
{
    done_get_by(world, outcome, weir_queue_done_try_get);
}

static enum weir_status done_get_until_passed(weir_queue *queue, struct weir_work *work)
{
    return weir_queue_done_get_until(queue, 0, work);
}

static void call_done_get_until(struct world *world, struct outcome *outcome)
{
    done_get_by(world, outcome, done_get_until_passed);
}

static bool latest_left;

static enum weir_status done_try_get_left(weir_queue *queue, struct weir_work *work)
{
    return weiri_queue_done_try_get(queue, work, &latest_left);
}

static void call_done_try_get_left(struct world *world, struct outcome *outcome)
{
    latest_left = false;
    done_get_by(world, outcome, done_try_get_left);
    outcome->flag = latest_left;
}

enum what {
    ADDS,
    GETS,
    ENDS,
    ENDS_AND_GETS
};

static const struct call {
    const char *name;
    void (*make)(struct world *world, struct outcome *outcome);
    enum what what;
    enum weir_status nothing; /* its answer where nothing is queued; WEIR_OK: it waits */
    bool is_for_items;
} calls[] = {
    {"add", call_add, ADDS, WEIR_OK, false},
    {"add_batch", call_add_batch, ADDS, WEIR_OK, false},
    {"send_now", call_send_now, ADDS, WEIR_OK, true},
    {"get", call_get, GETS, WEIR_OK, false},
    {"try_get", call_try_get, GETS, WEIR_EAGAIN, false},
    {"get_until", call_get_until, GETS, WEIR_ETIMEDOUT, false},
    {"get_batch", call_get_batch, GETS, WEIR_OK, false},
    {"try_get_batch", call_try_get_batch, GETS, WEIR_EAGAIN, false},
    {"get_batch_until", call_get_batch_until, GETS, WEIR_ETIMEDOUT, false},
    {"done", call_done, ENDS, WEIR_OK, false},
    {"done_left", call_done_left, ENDS, WEIR_OK, false},
    {"done_batch", call_done_batch, ENDS, WEIR_OK, false},
    {"done_get", call_done_get, ENDS_AND_GETS, WEIR_OK, false},
    {"done_try_get", call_done_try_get, ENDS_AND_GETS, WEIR_EAGAIN, false},
    {"done_get_until", call_done_get_until, ENDS_AND_GETS, WEIR_ETIMEDOUT, false},
    {"done_try_get with left", call_done_try_get_left, ENDS_AND_GETS, WEIR_EAGAIN, false},
};

#endif
