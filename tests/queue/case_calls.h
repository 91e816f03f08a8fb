/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_QUEUE_CASE_CALLS_H
#define WEIR_TEST_QUEUE_CASE_CALLS_H

#include <weir/snapshot.h>

#include "queue/cases.h"
#include "queue/same_work.h"

/* The calls on one item or a few, each made once in a world, and what it came to. */

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
    outcome->status = weir_queue_add_batch(world->queue, keys, 3, NULL);
}

static void add_with(struct world *world, struct outcome *outcome, int64_t delay_ns, uint32_t flags)
{
    struct weir_add_options options = {0};
    enum weir_added added = WEIR_ADDED_NEW;
    options.delay_ns = delay_ns;
    options.flags = flags;
    outcome->status = weir_queue_add_with(world->queue, key_of(world, SUBJECT), &options, &added);
    outcome->flag = added == WEIR_ADDED_COALESCED;
}

static void call_add_with(struct world *world, struct outcome *outcome)
{
    add_with(world, outcome, 0, 0);
}

static void call_add_passed(struct world *world, struct outcome *outcome)
{
    add_with(world, outcome, -1, WEIR_ADD_MOVE);
}

static void call_add_superseding(struct world *world, struct outcome *outcome)
{
    add_with(world, outcome, 0, WEIR_ADD_SUPERSEDE);
}

static void call_add_after_nothing(struct world *world, struct outcome *outcome)
{
    outcome->status = weir_queue_add_after(world->queue, key_of(world, SUBJECT), 0);
}

static void call_add_later(struct world *world, struct outcome *outcome)
{
    add_with(world, outcome, WEIR_SECONDS(7200), 0);
}

static void call_add_moved(struct world *world, struct outcome *outcome)
{
    add_with(world, outcome, WEIR_SECONDS(7200), WEIR_ADD_MOVE);
}

static void call_cancel(struct world *world, struct outcome *outcome)
{
    outcome->status = weir_queue_cancel(world->queue, key_of(world, SUBJECT), &outcome->flag);
}

static void call_lookup(struct world *world, struct outcome *outcome)
{
    struct weir_snapshot_item item = {.place = WEIR_PLACE_IDLE};
    outcome->status = weir_queue_lookup(world->queue, key_of(world, SUBJECT), &item);
    outcome->flag = item.due_ns > 0;
}

static void get_for(struct world *world, struct outcome *outcome, int64_t timeout_ns)
{
    struct weir_work work;
    outcome->status = weir_queue_get(world->queue, timeout_ns, &work);
    if (outcome->status == WEIR_OK) {
        note_gotten(world, &work, outcome);
    }
}

static void call_get(struct world *world, struct outcome *outcome)
{
    get_for(world, outcome, WEIR_FOREVER);
}

static void call_get_at_once(struct world *world, struct outcome *outcome)
{
    get_for(world, outcome, 0);
}

static void get_batch_for(struct world *world, struct outcome *outcome, int64_t timeout_ns)
{
    struct weir_work works[BATCH];
    size_t count = 0;
    outcome->status = weir_queue_get_batch(world->queue, timeout_ns, works, BATCH, &count);
    for (size_t i = 0; i < count; i++) {
        note_gotten(world, &works[i], outcome);
    }
}

static void call_get_batch(struct world *world, struct outcome *outcome)
{
    get_batch_for(world, outcome, WEIR_FOREVER);
}

static void call_get_batch_at_once(struct world *world, struct outcome *outcome)
{
    get_batch_for(world, outcome, -1);
}

static void call_done(struct world *world, struct outcome *outcome)
{
    outcome->status = weir_queue_done(world->queue, &world->work);
}

static void call_done_batch(struct world *world, struct outcome *outcome)
{
    outcome->status = weir_queue_done_batch(world->queue, &world->work, 1);
}

static void done_get_for(struct world *world, struct outcome *outcome, int64_t timeout_ns)
{
    struct weir_work work = world->work;
    outcome->status = weir_queue_done_get(world->queue, timeout_ns, &work);
    if (outcome->status == WEIR_OK) {
        note_gotten(world, &work, outcome);
    } else {
        CHECK(is_same_work(&work, &world->work));
    }
}

static void call_done_get(struct world *world, struct outcome *outcome)
{
    done_get_for(world, outcome, WEIR_FOREVER);
}

static void call_done_get_at_once(struct world *world, struct outcome *outcome)
{
    done_get_for(world, outcome, INT64_MIN);
}

enum what {
    ADDS,  /* at once */
    WAITS, /* adds for a time */
    ASKS,  /* about the subject, also after a shutdown */
    GETS,
    ENDS,
    ENDS_AND_GETS
};

static const struct call {
    const char *name;
    void (*make)(struct world *world, struct outcome *outcome);
    enum what what;
    enum weir_status nothing; /* its answer where nothing is queued; WEIR_OK: it waits */
} calls[] = {
    {"add", call_add, ADDS, WEIR_OK},
    {"add_batch", call_add_batch, ADDS, WEIR_OK},
    {"add_with", call_add_with, ADDS, WEIR_OK},
    {"add_with a time that has passed", call_add_passed, ADDS, WEIR_OK},
    {"add_with superseding", call_add_superseding, ADDS, WEIR_OK},
    {"add_after nothing", call_add_after_nothing, ADDS, WEIR_OK},
    {"add_with a delay", call_add_later, WAITS, WEIR_OK},
    {"add_with a move", call_add_moved, WAITS, WEIR_OK},
    {"cancel", call_cancel, ASKS, WEIR_OK},
    {"lookup", call_lookup, ASKS, WEIR_OK},
    {"get", call_get, GETS, WEIR_OK},
    {"get at once", call_get_at_once, GETS, WEIR_ETIMEDOUT},
    {"get_batch", call_get_batch, GETS, WEIR_OK},
    {"get_batch at once", call_get_batch_at_once, GETS, WEIR_ETIMEDOUT},
    {"done", call_done, ENDS, WEIR_OK},
    {"done_batch", call_done_batch, ENDS, WEIR_OK},
    {"done_get", call_done_get, ENDS_AND_GETS, WEIR_OK},
    {"done_get at once", call_done_get_at_once, ENDS_AND_GETS, WEIR_ETIMEDOUT},
};

#endif
