/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "models/queue_apply.h"

/* Random sequences of operations against the naive reference; a failing one is made as short as it
 * can be and printed. WEIR_TEST_SCALE lengthens the campaigns. */

#define SEQUENCE_MAX 600

/* A sequence that fails with its last operation. */
struct failure {
    enum flaw flaw;
    size_t count;
    struct operation ops[SEQUENCE_MAX];
};

/* Whether a sequence fails; it is then cut behind the operation it fails with. */
static bool fails(struct failure *failure)
{
    char message[MESSAGE_SIZE];
    size_t failed = run_sequence(failure->flaw, failure->ops, failure->count, message);
    if (failed == failure->count) {
        return false;
    }
    failure->count = failed + 1;
    return true;
}

static void leave_out(struct failure *failure, size_t at, size_t count)
{
    failure->count -= count;
    memmove(&failure->ops[at], &failure->ops[at + count],
            (failure->count - at) * sizeof(failure->ops[0]));
}

/* Leaves out pieces, large ones first. True: something went. */
static bool shrink_pieces(struct failure *failure)
{
    static struct failure attempt;
    size_t before = failure->count;
    for (size_t piece = before / 2; piece > 0; piece /= 2) {
        for (size_t at = 0; at + piece <= failure->count;) {
            attempt = *failure;
            leave_out(&attempt, at, piece);
            if (fails(&attempt)) {
                *failure = attempt;
            } else {
                at += piece;
            }
        }
    }
    return failure->count < before;
}

/* Leaves out two operations that are apart, such as a get and its done. True: something went. */
static bool shrink_pairs(struct failure *failure)
{
    static struct failure attempt;
    for (size_t second = 1; second < failure->count && failure->count < 60; second++) {
        for (size_t first = 0; first < second; first++) {
            attempt = *failure;
            leave_out(&attempt, second, 1);
            leave_out(&attempt, first, 1);
            if (fails(&attempt)) {
                *failure = attempt;
                return true;
            }
        }
    }
    return false;
}

/* Gives operations plainer arguments. */
static void simplify(struct failure *failure)
{
    static struct failure attempt;
    for (size_t at = 0; at < failure->count; at++) {
        for (unsigned change = 0; change < 3 + MODEL_ITEMS; change++) {
            attempt = *failure;
            struct operation *op = &attempt.ops[at];
            op->fail = change == 0 ? 0 : op->fail;
            op->flags = change == 1 ? 0 : op->flags;
            op->delay_ns = change == 2 ? 1 : op->delay_ns;
            op->item = change >= 3 ? change - 3 : op->item;
            if (op->item <= failure->ops[at].item && fails(&attempt)) {
                *failure = attempt;
            }
        }
    }
}

static void shrink(struct failure *failure)
{
    while (shrink_pieces(failure) || shrink_pairs(failure)) {
        simplify(failure);
    }
    simplify(failure);
}

/* Runs about this many operations in sequences of random length. False: one failed. */
static bool campaign(struct failure *failure, bool with_faults, uint64_t steps, uint64_t *ret_steps)
{
    *ret_steps = 0;
    while (*ret_steps < steps) {
        failure->count = 20 + (size_t)test_random_below(SEQUENCE_MAX - 20);
        for (size_t i = 0; i < failure->count; i++) {
            failure->ops[i] = random_operation(with_faults);
        }
        bool has_failed = fails(failure);
        *ret_steps += failure->count;
        if (has_failed) {
            return false;
        }
    }
    return true;
}

static void print_failure(const struct failure *failure)
{
    char message[MESSAGE_SIZE];
    CHECK_INT(run_sequence(failure->flaw, failure->ops, failure->count, message), ==,
              failure->count - 1);
    for (size_t i = 0; i < failure->count; i++) {
        print_operation(stderr, i + 1, &failure->ops[i]);
    }
    (void)fprintf(stderr, "  then: %s\n", message);
}

static void check_campaign(bool with_faults, uint64_t steps)
{
    static struct failure failure;
    failure.flaw = NO_FLAW;
    uint64_t done = 0;
    int64_t start_ns = weir_clock_now(weir_clock_monotonic());
    bool passed = campaign(&failure, with_faults, steps, &done);
    int64_t took_ns = weir_clock_now(weir_clock_monotonic()) - start_ns;
    (void)fprintf(stderr, "# %llu steps, %.0f a second\n", (unsigned long long)done,
                  (double)done * 1e9 / (double)took_ns);
    if (!passed) {
        shrink(&failure);
        print_failure(&failure);
        test_fail(__FILE__, __LINE__, "the queue is not what its reference is");
    }
}

TEST(model, "the queue does what the table of calls says, in any sequence of operations")
{
    check_campaign(false, test_scaled(200000));
}

TEST(model_superseding, "so does a queue in which every add at once supersedes")
{
    model_queue_flags = WEIR_QUEUE_SUPERSEDE;
    check_campaign(false, test_scaled(50000));
    check_campaign(true, test_scaled(20000));
}

TEST(model_faults, "so too while allocations fail; an operation that fails has changed nothing")
{
    check_campaign(true, test_scaled(100000));
    (void)fprintf(stderr, "# %llu operations ran out of memory\n",
                  (unsigned long long)model_refusals);
    CHECK_INT(model_refusals, >, 200);
}

/* The length down to which any of the flaws must be shrunk. */
#define SHRUNK_MAX 20

TEST(finds_flaws, "every wrong rule in the reference is noticed, and shown in a short sequence")
{
    static const char *const texts[] = {
#define FLAW_TEXT(name, text) text,
        FLAW_MAP(FLAW_TEXT)
#undef FLAW_TEXT
    };
    static struct failure failure;
    for (int flaw = NO_FLAW + 1; flaw < FLAW_COUNT; flaw++) {
        uint64_t done = 0;
        failure.flaw = (enum flaw)flaw;
        if (campaign(&failure, false, 100000, &done)) {
            test_fail(__FILE__, __LINE__, "not noticed in 100,000 steps: %s", texts[flaw]);
        }
        size_t count = failure.count;
        shrink(&failure);
        (void)fprintf(stderr, "# %s: noticed after %llu steps, %zu operations shrunk to %zu\n",
                      texts[flaw], (unsigned long long)done, count, failure.count);
        print_failure(&failure);
        CHECK_INT(failure.count, <=, SHRUNK_MAX);
    }
}
