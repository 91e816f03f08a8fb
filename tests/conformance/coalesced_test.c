/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdatomic.h>

#include "conformance/fixture.h"

/* An add that coalesces still publishes what its caller wrote before. ThreadSanitizer reports a
 * race where it does not: the plain memory here is handed over by adds and gets alone. */

#define ROUNDS 2000

struct published {
    struct fixture f;
    unsigned values[ROUNDS + 1]; /* each is written once, before an add */
    atomic_uint added;           /* the latest value whose add has returned */
    atomic_uint seen;            /* the latest value that was read */
    atomic_bool has_ended;
    atomic_uint disturbances;
};

static void publish(void *arg)
{
    struct published *p = arg;
    while (atomic_load_explicit(&p->disturbances, memory_order_relaxed) == 0) {
        (void)sched_yield(); /* until the other thread is at it */
    }
    for (unsigned round = 1; round <= ROUNDS; round++) {
        p->values[round] = round;
        add(&p->f, 0);
        /* Not sooner than the add, and no edge for a reader: that one reads it relaxed. */
        atomic_store_explicit(&p->added, round, memory_order_release);
        /* No later add makes up for this one. */
        while (atomic_load_explicit(&p->seen, memory_order_relaxed) < round) {
            (void)sched_yield();
        }
    }
}

/* Gives the item times and takes it out, without an access to the values. */
static void disturb(void *arg)
{
    struct published *p = arg;
    while (!atomic_load_explicit(&p->has_ended, memory_order_relaxed)) {
        unsigned turn = atomic_fetch_add_explicit(&p->disturbances, 1, memory_order_relaxed);
        CHECK_STATUS(weir_queue_add_after(p->f.queue, key_of(&p->f, 0), WEIR_SECONDS(1)), WEIR_OK);
        if (turn % 2 == 0) {
            CHECK_STATUS(weir_queue_cancel(p->f.queue, key_of(&p->f, 0), NULL), WEIR_OK);
            CHECK_STATUS(weir_queue_add(p->f.queue, key_of(&p->f, 0)), WEIR_OK);
        } else {
            add_with(&p->f, 0, 0, WEIR_ADD_SUPERSEDE);
        }
        (void)sched_yield(); /* three threads may share a processor with others */
    }
}

/* The only consumer: each add that returned is covered by this get or by one of its earlier ones,
 * or was taken out before it. */
static void consume(struct published *p)
{
    unsigned seen = 0;
    while (seen < ROUNDS) {
        struct weir_work work;
        unsigned added = atomic_load_explicit(&p->added, memory_order_relaxed);
        if (weir_queue_get(p->f.queue, 0, &work) == WEIR_OK) {
            for (; seen < added; seen++) {
                CHECK_INT(p->values[seen + 1], ==, seen + 1);
            }
            atomic_store_explicit(&p->seen, seen, memory_order_relaxed);
            CHECK_STATUS(weir_queue_done(p->f.queue, &work), WEIR_OK);
        } else if (seen < added) {
            add(&p->f, 0); /* what was added has been taken out */
        } else {
            (void)sched_yield();
        }
    }
}

TEST_EACH(publishes, "the consumer sees what a caller wrote before an add, also before one that "
                     "coalesced")
{
    static struct published p;
    memset(&p, 0, sizeof(p));
    setup(&p.f, kind);
    struct test_thread *publisher = test_start(publish, &p);
    struct test_thread *disturber = test_start(disturb, &p);
    consume(&p);
    test_join(publisher);
    atomic_store_explicit(&p.has_ended, true, memory_order_relaxed);
    test_join(disturber);
    teardown(&p.f);
}
