/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include <weir/pool.h>

#include "pool/flight.h"
#include "pool/pool.h"
#include "queue/room.h"
#include "support/harness.h"

/* Random sends of all kinds, cancellations, displacements, runs and steps of time on a pool, beside
 * a naive reference of every envelope's place: after each step the counts are those of the
 * reference, above all what is in flight, and no step takes it past the capacity. The pool is not
 * started: the test hands out and ends runs as its workers would, so that each sequence is
 * repeatable. */

#define ENVELOPES 24
#define GROUPS 3
#define STEPS 2000
#define SEQUENCES 500
#define NEVER INT64_MAX

enum place {
    IDLE,
    QUEUED,
    RUNNING,
    DIRTY
};

struct expected {
    enum place place;
    uint64_t order;  /* of what is queued, by when it was */
    int64_t time_ns; /* NEVER: it does not wait */
    uint64_t arrival;
    bool was_cancelled; /* the run under way */
    struct weir_work work;
    int group; /* GROUPS: none */
    int released;
};

static struct {
    weir_clock *clock;
    weir_pool *pool;
    int64_t now_ns;
    size_t capacity;
    uint32_t when_full;
    uint32_t group_limit;
    weir_envelope *envelopes[ENVELOPES];
    struct expected expected[ENVELOPES];
    uint64_t orders;
    uint64_t dropped;
    int displaced; /* whom the pool told of; ENVELOPES: nobody */
} model;

static int do_nothing(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    return WEIR_OK;
}

static void note_release(void *payload)
{
    ((struct expected *)payload)->released++;
}

static void note_drop(weir_envelope *envelope, enum weir_drop_reason reason, void *arg)
{
    (void)arg;
    if (reason == WEIR_DROP_DISPLACED) {
        struct expected *expected = weir_envelope_payload(envelope);
        model.displaced = (int)(expected - model.expected);
    }
}

static bool is_held(const struct expected *expected)
{
    return expected->place != IDLE || expected->time_ns != NEVER;
}

static size_t held(void)
{
    size_t count = 0;
    for (int i = 0; i < ENVELOPES; i++) {
        count += is_held(&model.expected[i]);
    }
    return count;
}

static void enqueue(struct expected *expected)
{
    if (expected->place == IDLE) {
        expected->place = QUEUED;
        expected->order = model.orders++;
    } else if (expected->place == RUNNING) {
        expected->place = DIRTY;
    }
}

/* What is due is queued in order of its times, then of its arrival. */
static void pass_time(void)
{
    for (;;) {
        struct expected *first = NULL;
        for (int i = 0; i < ENVELOPES; i++) {
            struct expected *other = &model.expected[i];
            if (other->time_ns <= model.now_ns &&
                (first == NULL || other->time_ns < first->time_ns ||
                 (other->time_ns == first->time_ns && other->arrival < first->arrival))) {
                first = other;
            }
        }
        if (first == NULL) {
            return;
        }
        first->time_ns = NEVER;
        enqueue(first);
    }
}

static void wait_for(struct expected *expected, int64_t delay_ns)
{
    int64_t time_ns = model.now_ns + delay_ns;
    if (time_ns < expected->time_ns) {
        expected->time_ns = time_ns;
        expected->arrival = model.orders++;
    }
}

/* Without a send with this delay. */
static bool comes_as_early(const struct expected *expected, int64_t delay_ns)
{
    return delay_ns > 0 ? expected->time_ns <= model.now_ns + delay_ns : expected->place == DIRTY;
}

static void apply_send(struct expected *expected, int64_t delay_ns)
{
    if (delay_ns > 0) {
        wait_for(expected, delay_ns);
    } else {
        enqueue(expected);
    }
}

/* Takes out everything but a run; how many runs that drops. */
static uint64_t take_out(struct expected *expected)
{
    uint64_t dropped = expected->time_ns != NEVER;
    expected->time_ns = NEVER;
    if (expected->place == QUEUED) {
        expected->place = IDLE;
        dropped++;
    } else if (expected->place == DIRTY) {
        expected->place = RUNNING;
        dropped++;
    }
    return dropped;
}

/* Somebody who is queued had to go: the first, where groups do not make that a question of whose
 * group is at work. */
static void expect_displaced(void)
{
    CHECK_INT(model.displaced, <, ENVELOPES);
    struct expected *displaced = &model.expected[model.displaced];
    CHECK_INT(displaced->place, ==, QUEUED);
    for (int i = 0; i < ENVELOPES && model.group_limit == 0; i++) {
        CHECK(model.expected[i].place != QUEUED || model.expected[i].order >= displaced->order);
    }
    model.dropped += take_out(displaced);
}

static void step_send(void)
{
    struct expected *expected = &model.expected[test_random_below(ENVELOPES)];
    int i = (int)(expected - model.expected);
    int64_t delay_ns = test_random_below(2) == 0 ? 0 : (int64_t)test_random_below(20);
    bool is_full = !is_held(expected) && model.capacity != 0 && held() >= model.capacity;
    bool has_queued = false;
    for (int j = 0; j < ENVELOPES; j++) {
        has_queued = has_queued || model.expected[j].place == QUEUED;
    }
    model.displaced = ENVELOPES;
    enum weir_status status = weir_pool_send_after(model.pool, model.envelopes[i], delay_ns);
    if (is_full && (model.when_full == WEIR_FULL_REFUSE || !has_queued)) {
        CHECK_STATUS(status, WEIR_EFULL);
        return;
    }
    CHECK_STATUS(status, WEIR_OK);
    CHECK_INT(model.displaced < ENVELOPES, ==, is_full);
    if (is_full) {
        expect_displaced();
    }
    apply_send(expected, delay_ns);
}

static void step_send_all(void)
{
    weir_envelope *envelopes[ENVELOPES];
    size_t count = test_random_below(6);
    bool is_new[ENVELOPES] = {false};
    size_t entering = 0;
    for (size_t i = 0; i < count; i++) {
        size_t number = test_random_below(ENVELOPES);
        envelopes[i] = model.envelopes[number];
        if (!is_held(&model.expected[number]) && !is_new[number]) {
            is_new[number] = true;
            entering++;
        }
    }
    enum weir_status status = weir_pool_send_all(model.pool, envelopes, count);
    if (model.capacity != 0 && entering > model.capacity - held()) {
        CHECK_STATUS(status, WEIR_EFULL);
        return;
    }
    CHECK_STATUS(status, WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        enqueue(weir_envelope_payload(envelopes[i]));
    }
}

static void step_cancel(void)
{
    size_t i = test_random_below(ENVELOPES);
    struct expected *expected = &model.expected[i];
    bool is_running = expected->place == RUNNING || expected->place == DIRTY;
    uint64_t dropped = take_out(expected);
    expected->was_cancelled = expected->was_cancelled || is_running;
    model.dropped += dropped;
    uint32_t found;
    CHECK_STATUS(weir_pool_cancel(model.pool, model.envelopes[i], 0, &found), WEIR_OK);
    CHECK_INT(found, ==,
              (dropped > 0 ? WEIR_CANCELED_PENDING : 0) | (is_running ? WEIR_CANCELED_RUNNING : 0));
}

/* Whether a run of the group may begin. */
static bool has_seat(int number)
{
    uint32_t seats = 0;
    for (int i = 0; i < ENVELOPES; i++) {
        const struct expected *other = &model.expected[i];
        seats += other->group == number && (other->place == RUNNING || other->place == DIRTY);
    }
    return model.group_limit == 0 || number == GROUPS || seats < model.group_limit;
}

static void step_begin(void)
{
    struct weir_work work;
    enum weir_status status = weir_queue_try_get(model.pool->queue, &work);
    struct expected *began =
        status == WEIR_OK ? weir_envelope_payload(weiri_envelope_of(work.item)) : NULL;
    CHECK(status == WEIR_OK || status == WEIR_EAGAIN);
    CHECK(began == NULL || (began->place == QUEUED && has_seat(began->group)));
    for (int i = 0; i < ENVELOPES; i++) {
        const struct expected *other = &model.expected[i];
        if (other->place != QUEUED || other == began) {
            continue;
        }
        /* Nobody was passed over who could have begun, but by others of his own kind. */
        CHECK(began != NULL || !has_seat(other->group));
        bool is_rival = began != NULL && (model.group_limit == 0 || other->group == began->group);
        CHECK(!is_rival || other->order > began->order);
    }
    if (began != NULL) {
        began->place = RUNNING;
        began->was_cancelled = false;
        began->work = work;
    }
}

static void step_end(void)
{
    struct expected *expected = &model.expected[test_random_below(ENVELOPES)];
    if (expected->place != RUNNING && expected->place != DIRTY) {
        return;
    }
    weir_envelope *envelope = model.envelopes[expected - model.expected];
    if (test_random_below(2) == 0) { /* as a periodic one, or a retry */
        int64_t delay_ns = (int64_t)test_random_below(10);
        bool has_joined;
        enum weir_status status =
            weiri_queue_send_again(model.pool->queue, &envelope->item, weir_clock_now(model.clock),
                                   delay_ns, &envelope->cancelled_run, &has_joined);
        CHECK_STATUS(status, expected->was_cancelled ? WEIR_ECANCELED : WEIR_OK);
        if (status == WEIR_OK) {
            CHECK_INT(has_joined, ==, comes_as_early(expected, delay_ns));
            apply_send(expected, delay_ns);
        }
    }
    bool has_left;
    CHECK_STATUS(weiri_queue_done_left(model.pool->queue, &expected->work, &has_left), WEIR_OK);
    bool is_dirty = expected->place == DIRTY;
    expected->place = IDLE;
    if (is_dirty) {
        enqueue(expected);
    }
    CHECK_INT(has_left, ==, !is_held(expected));
    if (has_left) {
        weiri_flight_release(envelope);
    }
}

static void step_time(void)
{
    int64_t step_ns = (int64_t)test_random_below(5);
    CHECK_STATUS(weir_clock_advance(model.clock, step_ns), WEIR_OK);
    model.now_ns += step_ns;
    pass_time();
}

static void compare(void)
{
    size_t queued = 0;
    size_t waiting = 0;
    size_t running = 0;
    for (int i = 0; i < ENVELOPES; i++) {
        const struct expected *expected = &model.expected[i];
        queued += expected->place == QUEUED;
        running += expected->place == RUNNING || expected->place == DIRTY;
        waiting += expected->time_ns != NEVER;
        CHECK_INT(expected->released, ==, 0);
    }
    struct weir_pool_counts counts;
    CHECK_STATUS(weir_pool_count(model.pool, &counts), WEIR_OK);
    CHECK_INT(counts.queued, ==, queued);
    CHECK_INT(counts.waiting, ==, waiting);
    CHECK_INT(counts.running, ==, running);
    CHECK_INT(counts.in_flight, ==, held());
    CHECK_INT(counts.dropped, ==, model.dropped);
    CHECK(model.capacity == 0 || counts.in_flight <= model.capacity);
}

static void begin_sequence(void)
{
    memset(&model, 0, sizeof(model));
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &model.clock), WEIR_OK);
    model.capacity = test_random_below(4) == 0 ? 0 : 1 + test_random_below(ENVELOPES);
    model.when_full = test_random_below(2) == 0 ? WEIR_FULL_REFUSE : WEIR_FULL_DROP_OLDEST;
    model.group_limit = (uint32_t)test_random_below(4);
    struct weir_pool_options options = WEIR_POOL_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.clock = model.clock;
    options.workers = 1;
    options.capacity = model.capacity;
    options.when_full = model.when_full;
    options.group_limit = model.group_limit;
    options.dropped = note_drop;
    CHECK_STATUS(weir_pool_new(&options, &model.pool), WEIR_OK);
    for (int i = 0; i < ENVELOPES; i++) {
        struct expected *expected = &model.expected[i];
        expected->time_ns = NEVER;
        expected->group = (int)test_random_below(GROUPS + 1);
        struct weir_envelope_options of_envelope = WEIR_ENVELOPE_OPTIONS_INIT;
        of_envelope.allocator = *test_allocator();
        of_envelope.invoke = do_nothing;
        of_envelope.release = note_release;
        of_envelope.payload = expected;
        if (expected->group < GROUPS) {
            of_envelope.group = weir_key_bytes(&expected->group, sizeof(expected->group));
        }
        CHECK_STATUS(weir_envelope_new(&of_envelope, &model.envelopes[i]), WEIR_OK);
    }
}

/* Ends the runs, drops the rest; then every reference has come back. */
static void end_sequence(void)
{
    for (int i = 0; i < ENVELOPES; i++) {
        struct expected *expected = &model.expected[i];
        if (expected->place == RUNNING || expected->place == DIRTY) {
            bool has_left;
            CHECK_STATUS(weiri_queue_done_left(model.pool->queue, &expected->work, &has_left),
                         WEIR_OK);
            if (has_left) {
                weiri_flight_release(model.envelopes[i]);
            }
        }
    }
    weir_pool_free(model.pool);
    weir_clock_free(model.clock);
    for (int i = 0; i < ENVELOPES; i++) {
        CHECK_INT(model.expected[i].released, ==, 0);
        weir_envelope_unref(model.envelopes[i]);
        CHECK_INT(model.expected[i].released, ==, 1);
    }
}

TEST(capacity, "after any steps what is in flight is what the reference says, and fits (R1, R2)")
{
    for (uint64_t sequence = 0; sequence < test_scaled(SEQUENCES); sequence++) {
        begin_sequence();
        for (int step = 0; step < STEPS; step++) {
            pass_time();
            switch (test_random_below(8)) {
            case 0:
            case 1:
                step_send();
                break;
            case 2:
                step_send_all();
                break;
            case 3:
                step_cancel();
                break;
            case 4:
            case 5:
                step_begin();
                break;
            case 6:
                step_end();
                break;
            default:
                step_time();
                break;
            }
            compare();
        }
        end_sequence();
    }
}
