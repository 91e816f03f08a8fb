/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* 8 threads send 1,000 envelopes to a pool of 8 workers, at once and for later, from without and
 * from within, until it is drained, or stopped, or both; then again with another pool. Envelopes
 * are given back while they are in flight. In some rounds senders wait for capacity; before a stop
 * they also cancel. */

#define _GNU_SOURCE /* what stress/rounds.h wants */

#include <weir/lifecycle.h>
#include <weir/pool.h>

#include "stress/rounds.h"

#define SENDERS 8u
#define POOL_WORKERS 8u
#define WRITERS (SENDERS + 1) /* the last one is the envelope's own run, of which there is one */
#define ENVELOPES 1000u
#define SENDS ROUNDS_WORK(20000u)

enum ending {
    IS_DRAINED,
    IS_STOPPED,
    IS_DRAINED_AND_STOPPED, /* by two threads */
    ENDINGS
};

/* As in stress/books.h: what a sender writes before a send that is accepted must be read by a run
 * that begins after it. */
struct parcel {
    weir_envelope *envelope; /* not its reference, but the sender's below */
    uint64_t random;         /* of its runs; as the next three, only the pool orders them */
    uint32_t seen[WRITERS];
    uint32_t own_accepted;
    uint64_t own_sends;
    uint64_t runs;
    uint64_t outcomes;
    _Atomic uint32_t written[WRITERS];
    atomic_bool is_running;
    _Atomic uint64_t told; /* ends of flights */
    _Atomic unsigned released;
};

struct sender {
    unsigned id;
    uint64_t random;
    weir_envelope *references[ENVELOPES]; /* until this one sends it no more */
    uint32_t written[ENVELOPES];
    uint32_t accepted[ENVELOPES];
    uint64_t sends[ENVELOPES]; /* that were accepted */
};

static struct {
    weir_pool *pool;
    enum ending ending;
    unsigned end_after; /* sends of those who end it */
    bool is_bounded;
    bool is_waited_for; /* the capacity, by senders */
    struct parcel parcels[ENVELOPES];
    struct sender senders[SENDERS];
    _Atomic uint64_t refused; /* for want of capacity */
} post;

/* Whether the pool took it. */
static bool is_accepted(enum weir_status status)
{
    if (status == WEIR_EFULL) {
        CHECK(post.is_bounded);
        (void)atomic_fetch_add_explicit(&post.refused, 1, memory_order_relaxed);
    } else if (status != WEIR_ESHUTDOWN) {
        CHECK_STATUS(status, WEIR_OK);
    }
    return status == WEIR_OK;
}

/* One run in eight is followed by another one; one in sixteen sleeps a little, or until a stop. */
static int run_parcel(weir_context *context, void *payload)
{
    struct parcel *parcel = payload;
    for (unsigned i = 0; i < WRITERS; i++) {
        uint32_t number = atomic_load_explicit(&parcel->written[i], memory_order_relaxed);
        CHECK_INT(number, >=, parcel->seen[i]);
        parcel->seen[i] = number;
    }
    CHECK(!atomic_load_explicit(&parcel->is_running, memory_order_relaxed));
    atomic_store_explicit(&parcel->is_running, true, memory_order_relaxed);
    parcel->runs++;
    int status = WEIR_OK;
    if (one_in(&parcel->random, 16)) {
        status = (int)weir_context_sleep(context, (int64_t)below(&parcel->random, WEIR_US(20)));
    }
    if (one_in(&parcel->random, 8)) {
        uint32_t number = atomic_load_explicit(&parcel->written[SENDERS], memory_order_relaxed) + 1;
        atomic_store_explicit(&parcel->written[SENDERS], number, memory_order_relaxed);
        if (is_accepted(weir_pool_send(post.pool, parcel->envelope))) {
            parcel->own_accepted = number;
            parcel->own_sends++;
        }
    }
    CHECK(atomic_load_explicit(&parcel->is_running, memory_order_relaxed));
    atomic_store_explicit(&parcel->is_running, false, memory_order_relaxed);
    return status;
}

/* What failed is tried again. */
static void end_parcel(weir_envelope *envelope, int status, void *payload)
{
    struct parcel *parcel = payload;
    CHECK(envelope == parcel->envelope);
    CHECK(!atomic_load_explicit(&parcel->is_running, memory_order_relaxed));
    CHECK(status == WEIR_OK || status == WEIR_ECANCELED);
    parcel->outcomes++;
    if (one_in(&parcel->random, 16)) {
        int64_t delay_ns = (int64_t)below(&parcel->random, WEIR_US(100));
        if (is_accepted(weir_pool_send_after(post.pool, envelope, delay_ns))) {
            parcel->own_sends++;
        }
    }
}

/* Flights that follow each other may end on two threads at once. */
static void note_end(const struct weir_ended *ended, void *arg)
{
    struct parcel *parcel = weir_envelope_payload(ended->envelope);
    CHECK(arg == &post);
    CHECK(ended->pool == post.pool && ended->envelope == parcel->envelope);
    CHECK(ended->runs > 0 || ended->dropped > 0);
    CHECK(ended->runs > 0 || ended->status == WEIR_ECANCELED);
    CHECK_INT(atomic_load(&parcel->released), ==, 0);
    (void)atomic_fetch_add_explicit(&parcel->told, 1, memory_order_relaxed);
}

static void release_parcel(void *payload)
{
    struct parcel *parcel = payload;
    CHECK_INT(atomic_fetch_add(&parcel->released, 1), ==, 0);
}

static void make_parcels(void)
{
    for (unsigned i = 0; i < ENVELOPES; i++) {
        struct weir_envelope_options options = {0};
        options.allocator = *test_allocator();
        options.payload = &post.parcels[i];
        options.invoke = run_parcel;
        options.outcome = end_parcel;
        options.release = release_parcel;
        post.parcels[i].random = test_random();
        CHECK_STATUS(weir_envelope_new(&options, &post.parcels[i].envelope, NULL), WEIR_OK);
        for (unsigned j = 0; j < SENDERS; j++) {
            post.senders[j].references[i] = weir_envelope_ref(post.parcels[i].envelope);
        }
        weir_envelope_unref(post.parcels[i].envelope);
    }
}

static void end_pool(const struct sender *sender)
{
    enum weir_status status;
    if (post.ending == IS_STOPPED || (post.ending == IS_DRAINED_AND_STOPPED && sender->id == 1)) {
        CHECK_STATUS(weir_pool_end(post.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    } else if (sender->id == 0) {
        status = weir_pool_end(post.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
        CHECK(status == WEIR_OK || (status == WEIR_ECANCELED && post.ending != IS_DRAINED));
    }
}

static void look_at_pool(void)
{
    struct weir_pool_counts counts;
    CHECK_STATUS(weir_pool_count(post.pool, &counts), WEIR_OK);
    CHECK_INT(counts.running, <=, POOL_WORKERS);
    CHECK_INT(counts.in_flight, <=, post.is_bounded ? ENVELOPES / 2 : ENVELOPES);
    CHECK_INT(counts.queued + counts.running, <=, counts.in_flight);
    CHECK_INT(counts.waiting, <=, counts.in_flight);
}

static void send_once(struct sender *sender)
{
    unsigned index = (unsigned)below(&sender->random, one_in(&sender->random, 4) ? 16 : ENVELOPES);
    weir_envelope *envelope = sender->references[index];
    if (envelope == NULL) {
        return;
    }
    uint32_t number = ++sender->written[index];
    atomic_store_explicit(&post.parcels[index].written[sender->id], number, memory_order_relaxed);
    if (one_in(&sender->random, 4)) {
        int64_t delay_ns = (int64_t)below(&sender->random, WEIR_US(300)) + 1;
        sender->sends[index] +=
            is_accepted(weir_pool_send_after(post.pool, envelope, delay_ns)) ? 1 : 0;
    } else if (is_accepted(weir_pool_send(post.pool, envelope))) {
        sender->accepted[index] = number;
        sender->sends[index]++;
    }
    if (post.ending != IS_DRAINED && one_in(&sender->random, 256)) {
        int64_t timeout_ns = one_in(&sender->random, 2) ? WEIR_FOREVER : 0;
        CHECK_STATUS(weir_pool_cancel(post.pool, envelope, timeout_ns, NULL), WEIR_OK);
    }
    if (one_in(&sender->random, 1024)) {
        sender->references[index] = NULL;
        weir_envelope_unref(envelope);
    }
}

static void send_all(void *arg)
{
    struct sender *sender = arg;
    for (unsigned i = 0; i < SENDS; i++) {
        if (i == post.end_after && sender->id < 2) {
            end_pool(sender);
        }
        send_once(sender);
        if (one_in(&sender->random, 64)) {
            look_at_pool();
        }
    }
    for (unsigned i = 0; i < ENVELOPES; i++) {
        weir_envelope_unref(sender->references[i]);
    }
}

/* Every send that must run did, and each run was asked for. */
static uint64_t check_parcels(void)
{
    uint64_t runs = 0;
    for (unsigned index = 0; index < ENVELOPES; index++) {
        struct parcel *parcel = &post.parcels[index];
        uint64_t sends = parcel->own_sends;
        for (unsigned i = 0; i < SENDERS; i++) {
            sends += post.senders[i].sends[index];
            if (post.ending == IS_DRAINED) {
                CHECK_INT(parcel->seen[i], >=, post.senders[i].accepted[index]);
            }
        }
        if (post.ending == IS_DRAINED) {
            CHECK_INT(parcel->seen[SENDERS], >=, parcel->own_accepted);
        }
        CHECK_INT(parcel->runs, <=, sends);
        CHECK_INT(parcel->outcomes, ==, parcel->runs);
        CHECK_INT(atomic_load(&parcel->told), <=, sends);
        CHECK(sends == 0 || atomic_load(&parcel->told) > 0);
        CHECK_INT(atomic_load(&parcel->released), ==, 1);
        runs += parcel->runs;
    }
    return runs;
}

static uint64_t run_round(uint64_t number)
{
    memset(&post, 0, sizeof(post));
    uint64_t random = test_random();
    post.ending = (enum ending)(number % ENDINGS);
    post.end_after = SENDS / 2 + (unsigned)below(&random, SENDS / 2);
    post.is_bounded = one_in(&random, 2);
    post.is_waited_for = post.is_bounded && one_in(&random, 2);
    make_parcels();
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = POOL_WORKERS;
    options.capacity = post.is_bounded ? ENVELOPES / 2 : 0;
    options.when_full = post.is_waited_for ? WEIR_FULL_WAIT : WEIR_FULL_REFUSE;
    options.ended = note_end;
    options.ended_arg = &post;
    CHECK_STATUS(weir_pool_new(&options, &post.pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(post.pool), WEIR_OK);
    struct test_thread *threads[SENDERS];
    for (unsigned i = 0; i < SENDERS; i++) {
        post.senders[i].id = i;
        post.senders[i].random = test_random();
        threads[i] = test_start(send_all, &post.senders[i]);
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        test_join(threads[i]);
    }
    struct weir_pool_counts counts;
    CHECK_STATUS(weir_pool_count(post.pool, &counts), WEIR_OK);
    CHECK_INT(counts.queued + counts.waiting + counts.running + counts.in_flight, ==, 0);
    uint64_t runs = check_parcels();
    CHECK_INT(counts.runs, ==, runs);
    weir_pool_free(post.pool);
    return runs;
}

TEST(pool,
     "no envelope's send is lost, none runs twice at once, nothing is left of any, and the end of "
     "each is told")
{
    struct rounds rounds;
    uint64_t runs = 0;
    rounds_init(&rounds, 2 * ENDINGS);
    while (rounds_go_on(&rounds)) {
        runs += run_round(rounds.done);
        rounds_end_one(&rounds);
    }
    rounds_fini(&rounds);
    (void)printf("%llu runs\n", (unsigned long long)runs);
}
