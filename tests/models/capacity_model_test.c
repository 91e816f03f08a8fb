/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include <weir/pool.h>

#include "pool/run.h"
#include "support/harness.h"

/* Random sends of all kinds, cancellations, displacements, runs and steps of time on a pool, beside
 * a naive reference of every envelope's place: after each step the counts are those of the
 * reference, above all what is in flight, no step takes it past the capacity, and of each envelope
 * that has left the pool has told once, and why. The pool is not
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
    uint32_t lost;      /* what was to come after it, by that */
    uint32_t runs;      /* of this flight */
    int group;          /* GROUPS: none */
    int released;
    uint32_t flights; /* that have ended */
    uint32_t told;    /* the same by the pool, */
    struct weir_ended last;
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
    int displaced; /* which the pool told of last; ENVELOPES: none */
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

static void note_end(const struct weir_ended *ended, void *arg)
{
    struct expected *expected = weir_envelope_payload(ended->envelope);
    (void)arg;
    expected->told++;
    expected->last = *ended;
    if (ended->reason == WEIR_ENDED_DISPLACED) {
        model.displaced = (int)(expected - model.expected);
    }
}

/* A flight has ended, and the pool has told of it. */
static void expect_end(struct expected *expected, enum weir_ended_reason reason, uint64_t dropped)
{
    expected->flights++;
    CHECK_INT(expected->told, ==, expected->flights);
    CHECK_INT(expected->last.reason, ==, reason);
    CHECK_INT(expected->last.dropped, ==, dropped);
    CHECK_INT(expected->last.runs, ==, expected->runs);
    expected->runs = 0;
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
    uint64_t dropped = take_out(displaced);
    model.dropped += dropped;
    expect_end(displaced, WEIR_ENDED_DISPLACED, dropped);
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
    expected->lost += is_running ? (uint32_t)dropped : 0;
    uint32_t found;
    CHECK_STATUS(weir_pool_cancel(model.pool, model.envelopes[i], 0, &found), WEIR_OK);
    if (dropped > 0 && !is_running) {
        expect_end(expected, WEIR_ENDED_CANCELED, dropped);
    }
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

/* A worker without a run; there is always one. */
static struct weiri_worker *free_worker(void)
{
    struct weiri_worker *worker = model.pool->workers;
    while (worker->envelope != NULL) {
        worker = worker->next;
    }
    return worker;
}

static void step_begin(void)
{
    struct weiri_worker *worker = free_worker();
    weiri_pool_lock(model.pool);
    bool has_begun = weiri_worker_take_locked(model.pool, worker);
    weiri_pool_unlock(model.pool);
    struct expected *began = has_begun ? weir_envelope_payload(worker->envelope) : NULL;
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
        began->lost = 0;
    }
}

/* Ends the envelope's run as its worker would. delay_ns: of a retry; NEVER: there is none. */
static struct weiri_run end_run(weir_envelope *envelope, int64_t delay_ns)
{
    struct weiri_run run = {.worker = envelope->worker, .envelope = envelope};
    struct weiri_endings endings;
    weiri_endings_init(&endings);
    if (delay_ns != NEVER) {
        run.status = WEIR_EUSER;
        run.outcome = WEIRI_FAILED;
        run.terms.attempt = 1;
        run.decision = delay_ns;
        run.retry_ns = delay_ns == 0 ? WEIRI_AT_ONCE : weir_clock_now(model.clock) + delay_ns;
    }
    weiri_pool_lock(model.pool);
    weiri_run_settle_locked(model.pool, &run);
    weiri_run_end_locked(model.pool, &run, &endings);
    weiri_ended_tell_locked(model.pool, &endings);
    run.worker->envelope = NULL;
    run.worker->ticket = 0;
    weiri_pool_unlock(model.pool);
    return run;
}

static void step_end(void)
{
    struct expected *expected = &model.expected[test_random_below(ENVELOPES)];
    if (expected->place != RUNNING && expected->place != DIRTY) {
        return;
    }
    weir_envelope *envelope = model.envelopes[expected - model.expected];
    bool is_retry = test_random_below(2) == 0;
    int64_t delay_ns = is_retry ? (int64_t)test_random_below(10) : NEVER;
    bool has_joined = is_retry && comes_as_early(expected, delay_ns);
    struct weiri_run run = end_run(envelope, delay_ns);
    CHECK_INT(run.is_retried, ==, is_retry && !expected->was_cancelled);
    expected->runs++;
    if (run.is_retried) {
        CHECK_INT(run.has_joined, ==, has_joined);
        apply_send(expected, delay_ns);
    } else {
        model.dropped += is_retry;
    }
    bool is_dirty = expected->place == DIRTY;
    expected->place = IDLE;
    if (is_dirty) {
        enqueue(expected);
    }
    if (!is_held(expected)) {
        uint64_t dropped = expected->lost + (is_retry ? 1u : 0u);
        expect_end(expected, dropped > 0 ? WEIR_ENDED_CANCELED : WEIR_ENDED_DONE, dropped);
    }
    CHECK_INT(weiri_item_is_free(&envelope->item), ==, !is_held(expected));
    CHECK_INT(atomic_load(&envelope->references), ==, is_held(expected) ? 2 : 1);
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
        CHECK_INT(expected->told, ==, expected->flights);
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

/* As if the pool had been started. */
static void set_state(enum weir_pool_state state)
{
    weiri_pool_lock(model.pool);
    model.pool->state = state;
    weiri_pool_unlock(model.pool);
}

static void begin_sequence(void)
{
    memset(&model, 0, sizeof(model));
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &model.clock), WEIR_OK);
    model.capacity = test_random_below(4) == 0 ? 0 : 1 + test_random_below(ENVELOPES);
    model.when_full = test_random_below(2) == 0 ? WEIR_FULL_REFUSE : WEIR_FULL_DROP_OLDEST;
    model.group_limit = (uint32_t)test_random_below(4);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = model.clock;
    options.workers = ENVELOPES + 1;
    options.capacity = model.capacity;
    options.when_full = model.when_full;
    options.group_limit = model.group_limit;
    options.ended = note_end;
    CHECK_STATUS(weir_pool_new(&options, &model.pool, NULL), WEIR_OK);
    set_state(WEIR_POOL_STATE_RUNNING);
    for (int i = 0; i < ENVELOPES; i++) {
        struct expected *expected = &model.expected[i];
        expected->time_ns = NEVER;
        expected->group = (int)test_random_below(GROUPS + 1);
        struct weir_envelope_options of_envelope = {0};
        of_envelope.allocator = *test_allocator();
        of_envelope.invoke = do_nothing;
        of_envelope.release = note_release;
        of_envelope.payload = expected;
        if (expected->group < GROUPS) {
            of_envelope.group = weir_key_bytes(&expected->group, sizeof(expected->group));
        }
        CHECK_STATUS(weir_envelope_new(&of_envelope, &model.envelopes[i], NULL), WEIR_OK);
    }
}

/* Ends the runs, drops the rest; then every reference has come back, and every end was told. */
static void end_sequence(void)
{
    for (int i = 0; i < ENVELOPES; i++) {
        struct expected *expected = &model.expected[i];
        expected->flights += is_held(expected);
        if (expected->place == RUNNING || expected->place == DIRTY) {
            (void)end_run(model.envelopes[i], NEVER);
        }
    }
    set_state(WEIR_POOL_STATE_INIT);
    weir_pool_free(model.pool);
    weir_clock_free(model.clock);
    for (int i = 0; i < ENVELOPES; i++) {
        CHECK_INT(model.expected[i].released, ==, 0);
        CHECK_INT(model.expected[i].told, ==, model.expected[i].flights);
        weir_envelope_unref(model.envelopes[i]);
        CHECK_INT(model.expected[i].released, ==, 1);
    }
}

TEST(capacity,
     "after any steps what is in flight is what the reference says, and fits; each end is "
     "told of once, with its reason (R1, R2)")
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
