/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_SCHEDULES_POOL_WORLD_H
#define WEIR_SCHEDULES_POOL_WORLD_H

#include <stdatomic.h>

#include <weir/clock.h>
#include <weir/lifecycle.h>
#include <weir/pool.h>

#include "base/sync.h"
#include "support/explorer/explorer.h"
#include "support/harness.h"

/* The pool in every order of its threads: what is sent is run, dropped or refused, exactly one of
 * them; slots and references come back; every call that ends a pool returns. That no memory is left
 * and nobody waits for ever is checked by the explorer. */

#ifndef ENVELOPES
#    define ENVELOPES 2
#endif

/* What a task knows of itself. Only one thread of a schedule runs at a time, and the parts between
 * two places of the explorer are not interrupted, so these are plain. */
struct record {
    int asked;    /* sends begun */
    int accepted; /* sends that returned WEIR_OK */
    int covered;  /* sends begun when the last run started */
    int runs;
    int outcomes;
    int released;
    int ends;
    int told;     /* those that were drops */
    int canceled; /* runs that found themselves cancelled at their end */
    bool is_running;
    bool sleeps;      /* until it is cancelled */
    bool is_canceled; /* a cancellation of it has begun */
    uint32_t reason;  /* of the last drop */
};

/* The world of a schedule; set up anew by each. */
static struct {
    weir_clock *clock;
    weir_pool *pool;
    weir_pool *other;
    struct record records[ENVELOPES];
    weir_envelope *envelopes[ENVELOPES];
    int inside; /* tasks */
    int most_inside;
    void (*on_drop)(void);    /* called at each drop */
    void (*on_outcome)(void); /* and after each run */
    enum weir_status ended;   /* what the second thread's drain or stop came to */
} world;

static inline int invoke(weir_context *context, void *payload)
{
    struct record *record = payload;
    CHECK(!record->is_running);
    record->is_running = true;
    world.inside++;
    world.most_inside = world.inside > world.most_inside ? world.inside : world.most_inside;
    record->covered = record->asked;
    record->runs++;
    weiri_sync_point();
    int status = record->sleeps ? (int)weir_context_sleep(context, WEIR_FOREVER) : WEIR_OK;
    record->canceled += weir_context_check(context) == WEIR_ECANCELED;
    world.inside--;
    record->is_running = false;
    return status;
}

static inline void outcome(weir_envelope *envelope, int status, void *payload)
{
    struct record *record = payload;
    CHECK(weir_envelope_payload(envelope) == payload);
    CHECK_STATUS(status, record->sleeps ? WEIR_ECANCELED : WEIR_OK);
    record->outcomes++;
    if (world.on_outcome != NULL) {
        world.on_outcome();
    }
}

static inline void release(void *payload)
{
    ((struct record *)payload)->released++;
}

/* An end is told of before the reference is given back. A drop is an end that leaves something
 * unrun. */
static inline void note_end(const struct weir_ended *ended, void *arg)
{
    struct record *record = weir_envelope_payload(ended->envelope);
    CHECK(arg == &world);
    weiri_sync_point();
    CHECK_INT(record->released, ==, 0);
    record->ends++;
    if (ended->dropped > 0 || ended->reason == WEIR_ENDED_EXHAUSTED) {
        record->told++;
        record->reason = ended->reason;
    } else {
        CHECK(ended->reason == WEIR_ENDED_DONE || ended->reason == WEIR_ENDED_CANCELED);
        CHECK_STATUS(ended->status, record->sleeps ? WEIR_ECANCELED : WEIR_OK);
    }
    if (ended->dropped > 0 && world.on_drop != NULL) {
        world.on_drop();
    }
}

/* Replaces the pool, whose options but for these are as given: allocator, clock, ended_arg. */
static inline void replace_pool(struct weir_pool_options *options)
{
    weir_pool_free(world.pool);
    options->allocator = *test_allocator();
    options->clock = world.clock;
    options->ended = options->ended == NULL ? note_end : options->ended;
    options->ended_arg = &world;
    CHECK_STATUS(weir_pool_new(options, &world.pool, NULL), WEIR_OK);
}

static inline weir_pool *new_pool(size_t workers, size_t capacity)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = world.clock;
    options.workers = workers;
    options.capacity = capacity;
    options.ended = note_end;
    options.ended_arg = &world;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    return pool;
}

static inline void world_init(size_t workers, size_t capacity)
{
    memset(&world, 0, sizeof(world));
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &world.clock), WEIR_OK);
    world.pool = new_pool(workers, capacity);
    for (int i = 0; i < ENVELOPES; i++) {
        struct weir_envelope_options options = {0};
        options.allocator = *test_allocator();
        options.payload = &world.records[i];
        options.invoke = invoke;
        options.outcome = outcome;
        options.release = release;
        CHECK_STATUS(weir_envelope_new(&options, &world.envelopes[i], NULL), WEIR_OK);
    }
}

/* Makes the first envelope a periodic one, with an interval of 10 ns. */
static inline void make_periodic(void)
{
    struct weir_envelope_options options = {0};
    weir_envelope_unref(world.envelopes[0]);
    world.records[0].released = 0;
    options.allocator = *test_allocator();
    options.payload = &world.records[0];
    options.invoke = invoke;
    options.outcome = outcome;
    options.release = release;
    options.interval_ns = 10;
    CHECK_STATUS(weir_envelope_new(&options, &world.envelopes[0], NULL), WEIR_OK);
}

static inline void give_up(int i)
{
    weir_envelope_unref(world.envelopes[i]);
    world.envelopes[i] = NULL;
}

static inline struct weir_pool_counts counts_of(weir_pool *pool)
{
    struct weir_pool_counts counts;
    CHECK_STATUS(weir_pool_count(pool, &counts), WEIR_OK);
    return counts;
}

/* After the pool has ended: everything came back, and every run had its outcome. */
static inline void world_fini(void)
{
    struct weir_pool_counts counts = counts_of(world.pool);
    CHECK_INT(counts.in_flight, ==, 0);
    CHECK_INT(counts.queued + counts.waiting + counts.running, ==, 0);
    weir_pool_free(world.pool);
    weir_pool_free(world.other);
    weir_clock_free(world.clock);
    for (int i = 0; i < ENVELOPES; i++) {
        give_up(i);
        CHECK_INT(world.records[i].released, ==, 1);
        CHECK_INT(world.records[i].outcomes, ==, world.records[i].runs);
        CHECK_INT(world.records[i].runs, <=, world.records[i].accepted);
    }
}

/* Every accepted send was followed by a run that started after the send had begun. */
static inline void check_covered(void)
{
    for (int i = 0; i < ENVELOPES; i++) {
        struct record *record = &world.records[i];
        CHECK(record->accepted == 0 || record->runs > 0);
        CHECK(record->accepted < record->asked || record->covered == record->asked);
    }
}

static inline enum weir_status send_to(weir_pool *pool, int i, int64_t delay_ns)
{
    world.records[i].asked++;
    enum weir_status status = weir_pool_send_after(pool, world.envelopes[i], delay_ns);
    world.records[i].accepted += status == WEIR_OK;
    return status;
}

static inline void start_thread(struct weiri_thread *thread, const char *name,
                                void (*run)(void *arg))
{
    CHECK_STATUS(weiri_thread_start(thread, name, run, NULL), WEIR_OK);
}

static inline void send_first(void *arg)
{
    (void)arg;
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
}

static inline void advance(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_clock_advance(world.clock, 10), WEIR_OK);
}

#endif
