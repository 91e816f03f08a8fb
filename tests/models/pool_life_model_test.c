/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A pool with a capacity against a naive account of it, over random sends, repeated sends, delayed
 * sends, cancels, runs that send and retry, steps of the clock, ends of all kinds and restarts.
 *
 * One worker and a pool that is paused between two looks make every step determined: what the model
 * is told by the test's thread, and by the task on the worker's while the test's waits. */

#include <weir/lifecycle.h>

#include "pool/fixture.h"

enum {
    ENVELOPES = 12,
    CAPACITY = 7,
    DELAY_MAX = 30
};

/* What the model thinks of an envelope. */
struct account {
    weir_envelope *envelope;
    bool is_queued; /* of one that runs: again */
    bool is_running;
    bool is_waiting;
    bool was_robbed; /* by a cancellation or an end during this run, of what was to come after it */
    bool has_failed; /* for good, in this run */
    int64_t due_ns;
};

static struct {
    weir_clock *clock;
    int64_t now_ns;
    weir_pool *pool;
    struct account accounts[ENVELOPES];
    bool is_closed;          /* no sends, and time stands still */
    enum weir_end_mode mode; /* then: the strongest that was asked for */
    bool keeps;              /* then: all that were asked for do */
    uint64_t runs;
    struct counter ran;  /* runs, with their outcomes */
    uint64_t dropped;    /* runs */
    struct counter told; /* drops of envelopes */
    int expected_told;
    uint64_t steps;
    uint64_t full;
} world;

static bool is_held(const struct account *account)
{
    return account->is_queued || account->is_running || account->is_waiting;
}

static size_t in_flight(void)
{
    size_t count = 0;
    for (int i = 0; i < ENVELOPES; i++) {
        count += is_held(&world.accounts[i]);
    }
    return count;
}

static void pass_time(void)
{
    for (int i = 0; i < ENVELOPES && !world.is_closed; i++) {
        struct account *account = &world.accounts[i];
        if (account->is_waiting && account->due_ns <= world.now_ns) {
            account->is_waiting = false;
            account->is_queued = true;
        }
    }
}

static void add(struct account *account, int64_t delay_ns)
{
    if (delay_ns <= 0) {
        account->is_queued = true;
        return;
    }
    int64_t due_ns = world.now_ns + delay_ns;
    account->due_ns = account->is_waiting && account->due_ns < due_ns ? account->due_ns : due_ns;
    account->is_waiting = true;
}

static void send_random(void)
{
    struct account *account = &world.accounts[test_random_below(ENVELOPES)];
    int64_t delay_ns = (int64_t)test_random_below(DELAY_MAX) - DELAY_MAX / 2;
    enum weir_status expected = WEIR_OK;
    if (world.is_closed) {
        expected = WEIR_ESHUTDOWN;
    } else if (!is_held(account) && in_flight() == CAPACITY) {
        expected = WEIR_EFULL;
        world.full++;
    }
    CHECK_STATUS(weir_pool_send_after(world.pool, account->envelope, delay_ns), expected);
    if (expected == WEIR_OK) {
        add(account, delay_ns);
    }
}

static void cancel_random(void)
{
    struct account *account = &world.accounts[test_random_below(ENVELOPES)];
    uint32_t found = 0;
    CHECK_STATUS(weir_pool_cancel(world.pool, account->envelope, 0, &found), WEIR_OK);
    bool is_pending = account->is_queued || account->is_waiting;
    CHECK_INT(found, ==,
              (is_pending ? (uint32_t)WEIR_CANCELED_PENDING : 0) |
                  (account->is_running ? (uint32_t)WEIR_CANCELED_RUNNING : 0));
    world.dropped += (uint64_t)account->is_queued + (uint64_t)account->is_waiting;
    world.expected_told += is_pending && !account->is_running;
    account->was_robbed = account->was_robbed || (is_pending && account->is_running);
    account->is_queued = false;
    account->is_waiting = false;
}

static struct account *account_of(void *payload)
{
    return payload;
}

/* What an end drops of an envelope. */
static void drop_rest(struct account *account)
{
    if (world.keeps) {
        return;
    }
    bool drops_queued = account->is_queued && world.mode != WEIR_END_DRAIN;
    bool was_held = is_held(account);
    world.dropped += (uint64_t)account->is_waiting + (uint64_t)drops_queued;
    account->was_robbed = account->was_robbed || account->is_waiting || drops_queued;
    account->is_waiting = false;
    account->is_queued = account->is_queued && !drops_queued;
    world.expected_told += was_held && !is_held(account);
}

/* Ends the pool. What runs is dropped when its run ends. With a timeout there are no workers any
 * more where it has ended before. */
static void end_as(enum weir_end_mode asked, int64_t timeout_ns)
{
    bool is_late = world.is_closed && timeout_ns > 0;
    bool is_weaker = asked < world.mode;
    bool asks_to_keep = test_random_below(2) == 0;
    CHECK_STATUS(weir_pool_end(world.pool, asked, asks_to_keep ? WEIR_END_KEEP : 0, timeout_ns),
                 is_weaker ? WEIR_ECANCELED : WEIR_OK);
    world.mode = is_late || is_weaker ? world.mode : asked;
    world.keeps = world.keeps && asks_to_keep;
    world.is_closed = true;
    for (int i = 0; i < ENVELOPES; i++) {
        if (!world.accounts[i].is_running) {
            drop_rest(&world.accounts[i]);
        }
    }
}

static enum weir_end_mode random_mode(void)
{
    return (enum weir_end_mode)test_random_below(WEIR_END_TERMINATE);
}

/* A task ends its pool; a stop alone cancels it. */
static void end_own(weir_context *context)
{
    enum weir_status status = weir_context_check(context);
    end_as(random_mode(), 0);
    status = world.mode == WEIR_END_STOP ? WEIR_ECANCELED : status;
    CHECK_STATUS(weir_context_check(context), status);
}

static int invoke(weir_context *context, void *payload)
{
    struct account *account = account_of(payload);
    CHECK(account->is_queued && !account->is_running);
    account->is_queued = false;
    account->is_running = true;
    account->was_robbed = false;
    account->has_failed = false;
    for (uint64_t i = test_random_below(3); i > 0; i--) {
        if (test_random_below(4) == 0) {
            cancel_random();
        } else if (test_random_below(3) == 0) {
            send_random();
        } else if (test_random_below(50) == 0) {
            end_own(context);
        }
    }
    CHECK_INT(in_flight(), <=, CAPACITY);
    return test_random_below(4) == 0 ? (int)WEIR_EUSER : WEIR_OK;
}

/* A retry, which is refused where the run was cancelled. */
static int64_t decide(weir_context *context, weir_envelope *envelope,
                      const struct weir_failure *failure, void *payload)
{
    struct account *account = account_of(payload);
    (void)envelope;
    (void)failure;
    if (test_random_below(2) == 0 || weir_context_check(context) == WEIR_ECANCELED) {
        account->has_failed = true;
        return WEIR_DROP;
    }
    if (world.is_closed && !world.keeps) { /* a retry is dropped */
        world.dropped++;
        account->was_robbed = true;
        return 1;
    }
    int64_t delay_ns = 1 + (int64_t)test_random_below(DELAY_MAX);
    add(account, delay_ns);
    return delay_ns;
}

static void note_outcome(weir_envelope *envelope, int status, void *payload)
{
    struct account *account = account_of(payload);
    (void)envelope;
    (void)status;
    if (world.is_closed) {
        drop_rest(account); /* runs still, so that this tells nothing */
    }
    account->is_running = false;
    world.expected_told +=
        (account->has_failed || account->was_robbed) && !account->is_queued && !account->is_waiting;
    world.runs++;
    counter_add(&world.ran, 1);
}

static void note_end(const struct weir_ended *ended, void *arg)
{
    (void)arg;
    counter_add(&world.told, was_dropped(ended));
}

static void check_counts(void)
{
    struct weir_pool_counts counts = counts_of(world.pool);
    size_t queued = 0;
    size_t waiting = 0;
    pass_time();
    for (int i = 0; i < ENVELOPES; i++) {
        queued += world.accounts[i].is_queued;
        waiting += world.accounts[i].is_waiting;
    }
    CHECK_INT(counts.queued, ==, queued);
    CHECK_INT(counts.waiting, ==, waiting);
    CHECK_INT(counts.running, ==, 0);
    CHECK_INT(counts.in_flight, ==, in_flight());
    CHECK_INT(counts.in_flight, <=, CAPACITY);
    CHECK_INT(counts.runs, ==, world.runs);
    CHECK_INT(counts.dropped, ==, world.dropped);
    /* Of what leaves with the end of a run the worker tells a moment after that. */
    counter_wait(&world.told, world.expected_told);
    CHECK_INT(counter_value(&world.told), ==, world.expected_told);
}

static bool has_queued(void)
{
    for (int i = 0; i < ENVELOPES; i++) {
        if (world.accounts[i].is_queued) {
            return true;
        }
    }
    return false;
}

static void restart(void)
{
    CHECK_STATUS(weir_pool_pause(world.pool, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    world.is_closed = false;
    world.mode = WEIR_END_DRAIN;
    world.keeps = true;
    check_counts();
}

/* Has everything run that is queued, and what that sends. Between a resume and the end of the pause
 * that follows the model is the worker's. A task may end the pool, and the pause with it: then the
 * model is the worker's until a drain that keeps, which does not change that end, has waited for
 * it. */
static void run_all(void)
{
    pass_time();
    while (has_queued()) {
        uint64_t before = world.runs;
        CHECK_STATUS(weir_pool_resume(world.pool), WEIR_OK);
        counter_wait(&world.ran, (int)before + 1); /* no turn without a run */
        enum weir_status status = weir_pool_pause(world.pool, WEIR_FOREVER);
        if (weir_pool_state(world.pool) == WEIR_POOL_STATE_RUNNING) {
            CHECK_STATUS(status, WEIR_OK);
            continue;
        }
        status = weir_pool_end(world.pool, WEIR_END_DRAIN, WEIR_END_KEEP, WEIR_FOREVER);
        CHECK_STATUS(status, world.mode == WEIR_END_DRAIN ? WEIR_OK : WEIR_ECANCELED);
        check_counts();
        restart();
    }
}

/* One end, or two, the second of which finds the pool stopped: it drops what the first one kept, if
 * it does not keep. */
static void end_and_restart(void)
{
    pass_time();
    for (uint64_t i = 1 + test_random_below(2); i > 0; i--) {
        enum weir_end_mode mode = random_mode();
        if (mode == WEIR_END_DRAIN && !world.is_closed) {
            run_all(); /* so that the runs of the drain meet a model that does not change */
        }
        end_as(mode, WEIR_FOREVER);
    }
    check_counts();
    for (uint64_t i = test_random_below(4); i > 0; i--) {
        if (test_random_below(3) == 0) {
            cancel_random();
        } else {
            send_random(); /* is refused */
        }
    }
    restart();
}

static void step(void)
{
    uint64_t choice = test_random_below(1000);
    if (choice < 700) {
        send_random();
    } else if (choice < 880) {
        cancel_random();
    } else if (choice < 985) {
        int64_t step_ns = (int64_t)test_random_below(DELAY_MAX / 2);
        CHECK_STATUS(weir_clock_advance(world.clock, step_ns), WEIR_OK);
        world.now_ns += step_ns;
        pass_time();
    } else if (choice < 998) {
        run_all();
    } else {
        end_and_restart();
    }
    check_counts();
    world.steps++;
}

static void world_init(void)
{
    memset(&world, 0, sizeof(world));
    world.keeps = true;
    counter_init(&world.told);
    counter_init(&world.ran);
    world.clock = manual_clock(0);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = world.clock;
    options.workers = 1;
    options.capacity = CAPACITY;
    options.ended = note_end;
    CHECK_STATUS(weir_pool_new(&options, &world.pool, NULL), WEIR_OK);
    for (int i = 0; i < ENVELOPES; i++) {
        struct weir_envelope_options envelope = {0};
        envelope.allocator = *test_allocator();
        envelope.payload = &world.accounts[i];
        envelope.invoke = invoke;
        envelope.failure = decide;
        envelope.outcome = note_outcome;
        CHECK_STATUS(weir_envelope_new(&envelope, &world.accounts[i].envelope, NULL), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_pause(world.pool, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
}

TEST(capacity,
     "over random calls in every state what is in flight equals a naive account, is never "
     "past the capacity and never wraps; each drop is told (V11, R1, R2, R3)")
{
    world_init();
    /* One step in 67 hands over to the worker and back, which takes long beside other programs: a
     * test run has a fifth of the steps, a campaign has all. */
    bool is_campaign = test_scaled(1) > 1;
    uint64_t steps = test_scaled(is_campaign ? 100000 : 20000);
    while (world.steps < steps) {
        step();
    }
    CHECK_INT(world.full, >, 0);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    world.mode = WEIR_END_STOP;
    world.keeps = false;
    world.is_closed = true;
    for (int i = 0; i < ENVELOPES; i++) {
        drop_rest(&world.accounts[i]);
    }
    check_counts();
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    for (int i = 0; i < ENVELOPES; i++) {
        weir_envelope_unref(world.accounts[i].envelope);
    }
    weir_pool_free(world.pool);
    weir_clock_free(world.clock);
    counter_fini(&world.told);
    counter_fini(&world.ran);
}
