/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_QUEUE_CASES_H
#define WEIR_TEST_QUEUE_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <weir/queue.h>

#include "base/alloc.h"
#include "support/harness.h"

/* The cases that a call on a queue may meet: what is in it, and what is about to be added and
 * ended. Each is made in a world of its own, by calls that come to the same in all of them. */

#define ITEMS 320
#define CHUNK 64                /* records of keys that are allocated at once */
#define FULL WEIRI_CAPACITY_MIN /* so many fill the smallest ring */
#define SUBJECT 0               /* what the calls add */
#define OTHER (ITEMS - 1)       /* never in the queue before a call under test */
#define LATER (ITEMS - 2)       /* waits for an hour, in the worlds that have something waiting */
#define NOBODY ((size_t)-1)

enum kind {
    EMBEDDED,
    SHORT_KEY, /* lies in its record */
    LONG_KEY,
    MIXED, /* embedded and short keys in turn */
    KINDS
};

struct world {
    weir_queue *queue;
    enum kind kind;
    struct weir_item items[ITEMS];
    char names[ITEMS][32];
    struct weir_work works[ITEMS]; /* the latest of each */
    bool is_held[ITEMS];           /* by this consumer, processing */
    struct weir_work work;         /* what the calls end */
    weir_queue *elsewhere;         /* NULL, or another queue */
};

/* How a case is made, and what is to come of the calls then, by their contracts. */
struct state {
    const char *name;
    void (*prepare)(struct world *world);
    enum weir_status add; /* of the subject; WEIR_EBUSY: only where it is embedded */
    enum weir_status done;
    enum weir_status get;
    size_t first; /* what is gotten */
    enum weir_status done_get;
    size_t first_after_done;
};

static inline struct weir_key key_of(struct world *world, size_t i)
{
    if (world->kind == EMBEDDED || (world->kind == MIXED && i % 2 == 0)) {
        return weir_key_item(&world->items[i]);
    }
    int length = snprintf(world->names[i], sizeof(world->names[i]), "%03zu%s", i,
                          world->kind == LONG_KEY ? " needs memory of its own" : "");
    return weir_key_bytes(world->names[i], (size_t)length);
}

static inline size_t number_of(const struct world *world, const struct weir_work *work)
{
    if (work->item != NULL) {
        return (size_t)(work->item - world->items);
    }
    const char *digits = work->key.data;
    return (size_t)(digits[0] - '0') * 100 + (size_t)(digits[1] - '0') * 10 +
           (size_t)(digits[2] - '0');
}

static inline void add(struct world *world, size_t i)
{
    CHECK_STATUS(weir_queue_add(world->queue, key_of(world, i)), WEIR_OK);
}

static inline void add_many(struct world *world, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++) {
        add(world, i);
    }
}

/* Gets what must be this. */
static inline void get(struct world *world, size_t i)
{
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(world->queue, 0, &work), WEIR_OK);
    CHECK_INT(number_of(world, &work), ==, i);
    world->works[i] = work;
    world->is_held[i] = true;
}

static inline void get_many(struct world *world, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++) {
        get(world, i);
    }
}

static inline void done(struct world *world, size_t i)
{
    CHECK_STATUS(weir_queue_done(world->queue, &world->works[i]), WEIR_OK);
    world->is_held[i] = false;
}

static inline void done_many(struct world *world, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++) {
        done(world, i);
    }
}

static inline void cancel(struct world *world, size_t i)
{
    bool was_taken;
    CHECK_STATUS(weir_queue_cancel(world->queue, key_of(world, i), &was_taken), WEIR_OK);
    CHECK(was_taken);
}

/* A work that the queue has not handed out. */
static inline struct weir_work no_work(struct world *world, uint64_t record)
{
    struct weir_key key = key_of(world, SUBJECT);
    bool is_item = key.size == WEIR_KEY_ITEM;
    return (struct weir_work){
        .key = key, .item = is_item ? &world->items[SUBJECT] : NULL, .weir_record = record};
}

static void fresh(struct world *world)
{
    world->work = no_work(world, 0);
}

static void ended(struct world *world)
{
    add(world, SUBJECT);
    get(world, SUBJECT);
    done(world, SUBJECT);
    world->work = world->works[SUBJECT];
}

static void queued(struct world *world)
{
    add(world, SUBJECT);
    world->work = no_work(world, 0);
}

static void processing(struct world *world)
{
    add(world, SUBJECT);
    get(world, SUBJECT);
    world->work = world->works[SUBJECT];
}

static void dirty(struct world *world)
{
    processing(world);
    add(world, SUBJECT);
}

static void stale(struct world *world)
{
    ended(world);
    add(world, SUBJECT);
    get(world, SUBJECT);
}

static void no_record(struct world *world)
{
    processing(world);
    world->work = no_work(world, UINT64_C(1) << 40);
    world->work.item = NULL;
}

/* Another queue's; this one has an item in hand that may have the same record. */
static void others(struct world *world)
{
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_queue_new(&options, &world->elsewhere, NULL), WEIR_OK);
    CHECK_STATUS(weir_queue_add(world->elsewhere, key_of(world, SUBJECT)), WEIR_OK);
    CHECK_STATUS(weir_queue_get(world->elsewhere, WEIR_FOREVER, &world->work), WEIR_OK);
    add(world, 1);
    get(world, 1);
}

/* More than are fetched ahead, with an empty slot where the next get fetches. */
static void many(struct world *world)
{
    processing(world);
    add_many(world, 1, 40);
    cancel(world, 10);
}

static void full(struct world *world)
{
    add_many(world, 1, FULL);
    world->work = no_work(world, 0);
}

/* The last free slot is kept for the dirty one. */
static void full_when_done(struct world *world)
{
    processing(world);
    add_many(world, 1, FULL - 1);
    add(world, SUBJECT);
}

/* The same, of another one than the subject. */
static void full_but_for_one(struct world *world)
{
    add(world, 1);
    get(world, 1);
    add_many(world, 2, FULL - 1);
    add(world, 1);
    world->work = world->works[1];
}

/* Like the first of these, with an empty slot that the done has to find. */
static void full_with_a_gap(struct world *world)
{
    full_when_done(world);
    cancel(world, 5);
    add(world, FULL);
}

/* Most of the ring is unused already. */
static void few_queued(struct world *world)
{
    add_many(world, 0, 128);
    get_many(world, 0, 128);
    world->work = world->works[SUBJECT];
}

/* Of the odd ones few are left: in a world of both kinds one more end leaves most of the table
 * unused, but not of the ring. */
static void few_keys(struct world *world)
{
    for (size_t i = 1; i < 200; i += 2) {
        add(world, i);
    }
    for (size_t i = 1; i < 169; i += 2) {
        get(world, i);
        done(world, i);
    }
    for (size_t i = 2; i < 82; i += 2) {
        add(world, i);
    }
    get(world, 169);
    world->work = world->works[169];
}

/* Each record of the only chunk is in use. */
static void chunk_full(struct world *world)
{
    add_many(world, 1, CHUNK);
    get(world, 1);
    world->work = world->works[1];
}

/* The same, and then one is given back. */
static void chunk_full_but_one(struct world *world)
{
    add_many(world, 1, CHUNK);
    get_many(world, 1, CHUNK);
    done(world, 5);
    world->work = world->works[6];
}

static void last_of_chunk(struct world *world)
{
    add_many(world, 1, 3);
    get_many(world, 1, 3);
    done_many(world, 1, 2);
    world->work = world->works[3];
}

/* The chunk is kept in reserve. */
static void chunk_empty(struct world *world)
{
    last_of_chunk(world);
    done(world, 3);
}

static void waiting(struct world *world)
{
    CHECK_STATUS(weir_queue_add_after(world->queue, key_of(world, SUBJECT), WEIR_SECONDS(3600)),
                 WEIR_OK);
    world->work = no_work(world, 0);
}

static void waiting_too(struct world *world)
{
    processing(world);
    struct weir_work work = world->work;
    waiting(world);
    world->work = work;
}

/* The next get that would block ends without an item. */
static void interrupted(struct world *world)
{
    processing(world);
    CHECK_STATUS(weir_queue_interrupt(world->queue), WEIR_OK);
}

static void interrupted_with_more(struct world *world)
{
    interrupted(world);
    add(world, 1);
}

static void shut(struct world *world)
{
    weir_queue_shutdown(world->queue);
    world->work = no_work(world, 0);
}

static void shut_with_one(struct world *world)
{
    processing(world);
    weir_queue_shutdown(world->queue);
}

static void shut_with_more(struct world *world)
{
    processing(world);
    add(world, 1);
    weir_queue_shutdown(world->queue);
}

#define NO WEIR_ENOTPROCESSING
static const struct state states[] = {
    {"fresh", fresh, WEIR_OK, NO, WEIR_ETIMEDOUT, NOBODY, NO, NOBODY},
    {"ended", ended, WEIR_OK, NO, WEIR_ETIMEDOUT, NOBODY, NO, NOBODY},
    {"queued", queued, WEIR_OK, NO, WEIR_OK, SUBJECT, NO, NOBODY},
    {"processing", processing, WEIR_OK, WEIR_OK, WEIR_ETIMEDOUT, NOBODY, WEIR_ETIMEDOUT, NOBODY},
    {"dirty", dirty, WEIR_OK, WEIR_OK, WEIR_ETIMEDOUT, NOBODY, WEIR_OK, SUBJECT},
    {"stale", stale, WEIR_OK, NO, WEIR_ETIMEDOUT, NOBODY, NO, NOBODY},
    {"no record", no_record, WEIR_OK, NO, WEIR_ETIMEDOUT, NOBODY, NO, NOBODY},
    {"another queue's", others, WEIR_EBUSY, NO, WEIR_ETIMEDOUT, NOBODY, NO, NOBODY},
    {"many", many, WEIR_OK, WEIR_OK, WEIR_OK, 1, WEIR_OK, 1},
    {"full", full, WEIR_OK, NO, WEIR_OK, 1, NO, NOBODY},
    {"full when done", full_when_done, WEIR_OK, WEIR_OK, WEIR_OK, 1, WEIR_OK, 1},
    {"full but for one", full_but_for_one, WEIR_OK, WEIR_OK, WEIR_OK, 2, WEIR_OK, 2},
    {"full with a gap", full_with_a_gap, WEIR_OK, WEIR_OK, WEIR_OK, 1, WEIR_OK, 1},
    {"few queued", few_queued, WEIR_OK, WEIR_OK, WEIR_ETIMEDOUT, NOBODY, WEIR_ETIMEDOUT, NOBODY},
    {"few keys", few_keys, WEIR_OK, WEIR_OK, WEIR_OK, 171, WEIR_OK, 171},
    {"chunk full", chunk_full, WEIR_OK, WEIR_OK, WEIR_OK, 2, WEIR_OK, 2},
    {"chunk full but one", chunk_full_but_one, WEIR_OK, WEIR_OK, WEIR_ETIMEDOUT, NOBODY,
     WEIR_ETIMEDOUT, NOBODY},
    {"last of chunk", last_of_chunk, WEIR_OK, WEIR_OK, WEIR_ETIMEDOUT, NOBODY, WEIR_ETIMEDOUT,
     NOBODY},
    {"chunk empty", chunk_empty, WEIR_OK, NO, WEIR_ETIMEDOUT, NOBODY, NO, NOBODY},
    {"waiting", waiting, WEIR_OK, NO, WEIR_ETIMEDOUT, NOBODY, NO, NOBODY},
    {"waiting too", waiting_too, WEIR_OK, WEIR_OK, WEIR_ETIMEDOUT, NOBODY, WEIR_ETIMEDOUT, NOBODY},
    {"interrupted", interrupted, WEIR_OK, WEIR_OK, WEIR_ECANCELED, NOBODY, WEIR_ECANCELED, NOBODY},
    {"interrupted with more", interrupted_with_more, WEIR_OK, WEIR_OK, WEIR_OK, 1, WEIR_OK, 1},
    {"shut", shut, WEIR_ESHUTDOWN, NO, WEIR_ESHUTDOWN, NOBODY, NO, NOBODY},
    {"shut with one", shut_with_one, WEIR_ESHUTDOWN, WEIR_OK, WEIR_ESHUTDOWN, NOBODY,
     WEIR_ESHUTDOWN, NOBODY},
    {"shut with more", shut_with_more, WEIR_ESHUTDOWN, WEIR_OK, WEIR_OK, 1, WEIR_OK, 1},
};
#undef NO

#endif
