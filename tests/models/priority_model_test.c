/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "models/priority_reference.h"
#include "support/harness.h"

/* Random operations on a queue with priorities and on its naive reference, compared after each one.
 * WEIR_TEST_SCALE lengthens the campaigns. */

struct model {
    weir_clock *clock;
    weir_limiter *limiter; /* delays nothing */
    weir_queue *queue;
    struct weir_item nodes[RANKED_ITEMS];
    struct ranked reference;
    struct weir_work held[RANKED_ITEMS]; /* of processing items */
    bool with_faults;
    bool is_wild; /* priorities and times at the ends of their ranges */
    uint64_t refusals;
};

/* Half of the items are named by bytes, of these one does not fit into a record. */
static struct weir_key key_of(struct model *m, size_t item)
{
    static const char *const names[] = {"0", "1", "2", "a key that fits into no record: 3"};
    return item < 4 ? weir_key_string(names[item]) : weir_key_item(&m->nodes[item]);
}

static size_t item_of(struct model *m, const struct weir_work *work)
{
    for (size_t i = 0; i < RANKED_ITEMS; i++) {
        struct weir_key key = key_of(m, i);
        if (key.size == work->key.size && (i < 4 ? memcmp(key.data, work->key.data, key.size) == 0
                                                 : key.data == work->key.data)) {
            return i;
        }
    }
    return RANKED_ITEMS;
}

static void start(struct model *m, enum ranked_flaw flaw, bool with_faults)
{
    static const int64_t agings[] = {0, 1, 7, 100, WEIR_SECONDS(60), INT64_MAX};
    *m = (struct model){.with_faults = with_faults, .is_wild = test_random_below(4) == 0};
    m->reference.flaw = flaw;
    m->reference.aging_ns = agings[test_random_below(6)];
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &m->clock), WEIR_OK);
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.clock = m->clock;
    CHECK_STATUS(weir_limiter_fast_slow_new(0, 0, 1, NULL, &m->limiter, NULL), WEIR_OK);
    options.limiter = m->limiter;
    options.flags = WEIR_QUEUE_PRIORITIES;
    options.aging_ns = m->reference.aging_ns;
    CHECK_STATUS(weir_queue_new(&options, &m->queue, NULL), WEIR_OK);
}

static void end(struct model *m)
{
    weir_queue_free(m->queue);
    CHECK_STATUS(weir_limiter_free(m->limiter), WEIR_OK);
    weir_clock_free(m->clock);
}

static int32_t random_priority(const struct model *m)
{
    static const int32_t wild[] = {INT32_MIN, INT32_MIN + 1, 0, 1, INT32_MAX};
    return m->is_wild ? wild[test_random_below(5)] : (int32_t)test_random_below(7) - 3;
}

/* All of these return false where queue and reference differ. */

static bool do_add(struct model *m)
{
    size_t item = (size_t)test_random_below(RANKED_ITEMS);
    int64_t delay_ns = test_random_below(2) == 0 ? 0 : 1 + (int64_t)test_random_below(200);
    bool is_limited = test_random_below(8) == 0; /* the limiter's own delay is nothing */
    struct weir_add_options options = {0};
    options.flags =
        (uint32_t)test_random_below(delay_ns > 0 ? 2 : 4); /* no supersede with a delay */
    if (is_limited) {
        options.flags = WEIR_ADD_RATE_LIMITED | (options.flags & WEIR_ADD_MOVE);
    }
    options.priority = random_priority(m);
    options.delay_ns = delay_ns;
    if (m->with_faults && test_random_below(2) == 0) {
        test_fail_allocation(1 + test_random_below(2), test_random_below(2) == 0);
    }
    enum weir_status status;
    if (!is_limited && test_random_below(4) == 0) {
        options.flags = 0;
        options.priority = 0;
        status = weir_queue_add_after(m->queue, key_of(m, item), delay_ns);
    } else {
        status = weir_queue_add_with(m->queue, key_of(m, item), &options, NULL);
    }
    test_fail_allocation(0, false);
    if (status == WEIR_ENOMEM && m->with_faults) {
        m->refusals++;
        return true;
    }
    ranked_add(&m->reference, item, options.priority, delay_ns, options.flags);
    return status == WEIR_OK;
}

static bool do_add_batch(struct model *m)
{
    size_t first = (size_t)test_random_below(RANKED_ITEMS - 1);
    struct weir_key keys[] = {key_of(m, first), key_of(m, first + 1), key_of(m, first)};
    struct weir_add_options options = {0};
    bool is_plain = test_random_below(4) == 0;
    if (!is_plain) {
        options.delay_ns = test_random_below(2) == 0 ? 0 : 1 + (int64_t)test_random_below(200);
        options.flags = (uint32_t)test_random_below(options.delay_ns > 0 ? 2 : 4);
        options.priority = random_priority(m);
    }
    if (m->with_faults && test_random_below(2) == 0) {
        test_fail_allocation(1 + test_random_below(3), test_random_below(2) == 0);
    }
    enum weir_status status = weir_queue_add_batch(m->queue, keys, 3, is_plain ? NULL : &options);
    test_fail_allocation(0, false);
    if (status == WEIR_ENOMEM && m->with_faults) {
        m->refusals++; /* of all three */
        return true;
    }
    for (size_t i = 0; i < 3; i++) {
        ranked_add(&m->reference, first + i % 2, options.priority, options.delay_ns, options.flags);
    }
    return status == WEIR_OK;
}

static bool do_get(struct model *m)
{
    struct weir_work work;
    enum weir_status status = weir_queue_get(m->queue, 0, &work);
    size_t want = ranked_get(&m->reference);
    if (want == RANKED_ITEMS) {
        return status == WEIR_ETIMEDOUT;
    }
    if (status != WEIR_OK || item_of(m, &work) != want) {
        return false;
    }
    m->held[want] = work;
    return true;
}

static bool do_done(struct model *m)
{
    size_t item = (size_t)test_random_below(RANKED_ITEMS);
    enum ranked_place place = m->reference.items[item].place;
    if (place != RANKED_PROCESSING && place != RANKED_DIRTY) {
        return true;
    }
    if (m->with_faults) {
        test_fail_allocation(1, true); /* done cannot fail */
    }
    enum weir_status status = weir_queue_done(m->queue, &m->held[item]);
    test_fail_allocation(0, false);
    ranked_done(&m->reference, item);
    return status == WEIR_OK;
}

static bool do_cancel(struct model *m)
{
    size_t item = (size_t)test_random_below(RANKED_ITEMS);
    bool was_taken = false;
    CHECK_STATUS(weir_queue_cancel(m->queue, key_of(m, item), &was_taken), WEIR_OK);
    return was_taken == ranked_cancel(&m->reference, item);
}

static void do_step(struct model *m)
{
    int64_t step_ns = (int64_t)test_random_below(60);
    if (m->is_wild && test_random_below(20) == 0) {
        step_ns = (INT64_MAX - m->reference.now_ns) / 4;
    }
    CHECK_STATUS(weir_clock_advance(m->clock, step_ns), WEIR_OK);
    ranked_pass(&m->reference, step_ns);
}

static bool step(struct model *m)
{
    uint64_t choice = test_random_below(32);
    if (choice < 13) {
        return do_add(m);
    }
    if (choice < 14) {
        return do_add_batch(m);
    }
    if (choice < 20) {
        return do_get(m);
    }
    if (choice < 26) {
        return do_done(m);
    }
    if (choice < 28) {
        return do_cancel(m);
    }
    do_step(m);
    return true;
}

static bool is_same(struct model *m)
{
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(m->queue, &counts), WEIR_OK);
    const struct ranked *r = &m->reference;
    return counts.queued == ranked_count(r, RANKED_QUEUED) && counts.waiting == ranked_waiting(r) &&
           counts.processing == ranked_count(r, RANKED_PROCESSING) + ranked_count(r, RANKED_DIRTY);
}

/* Runs sequences of random length until the two differ. Returns after how many steps; steps: they
 * never did. */
static uint64_t campaign(enum ranked_flaw flaw, bool with_faults, uint64_t steps,
                         uint64_t *ret_refusals)
{
    uint64_t refusals = 0;
    for (uint64_t at = 0; at < steps;) {
        struct model m;
        start(&m, flaw, with_faults);
        bool same = true;
        for (uint64_t left = 20 + test_random_below(500); left > 0 && same; left--, at++) {
            same = step(&m) && is_same(&m);
        }
        refusals += m.refusals;
        end(&m);
        if (!same) {
            return at;
        }
    }
    *ret_refusals = refusals;
    return steps;
}

TEST(model, "a queue with priorities does what its reference does, in any sequence of operations")
{
    uint64_t refusals = 0;
    uint64_t steps = test_scaled(2000000);
    CHECK_INT(campaign(RANKED_RIGHT, false, steps, &refusals), ==, steps);
    CHECK_INT(refusals, ==, 0);
}

TEST(model_faults, "so too while allocations fail; an add that fails has changed nothing")
{
    uint64_t refusals = 0;
    uint64_t steps = test_scaled(1000000);
    CHECK_INT(campaign(RANKED_RIGHT, true, steps, &refusals), ==, steps);
    CHECK_INT(refusals, >, 200);
}

TEST(finds_flaws, "every wrong rule in the reference is noticed")
{
    static const char *const texts[] = {
#define RANKED_FLAW_TEXT(name, text) text,
        RANKED_FLAW_MAP(RANKED_FLAW_TEXT)
#undef RANKED_FLAW_TEXT
    };
    for (int flaw = RANKED_RIGHT + 1; flaw < RANKED_FLAW_COUNT; flaw++) {
        uint64_t refusals = 0;
        uint64_t steps = campaign((enum ranked_flaw)flaw, false, 400000, &refusals);
        (void)fprintf(stderr, "# %s: noticed after %llu steps\n", texts[flaw],
                      (unsigned long long)steps);
        CHECK_INT(steps, <, 400000);
    }
}
