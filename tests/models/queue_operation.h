/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_QUEUE_OPERATION_H
#define WEIR_TEST_QUEUE_OPERATION_H

#include <stdio.h>

#include "models/queue_reference.h"
#include "support/harness.h"

/* One operation of a sequence, as data: it can be recorded, left out and replayed. It means
 * something after any other operations; what cannot be done then does nothing. */

#define OPERATION_MAP(X)                                                                           \
    X(ADD, 8, "add")                                                                               \
    X(ADD_AFTER, 8, "add_after")                                                                   \
    X(ADD_WITH, 5, "add_with")                                                                     \
    X(ADD_RATE_LIMITED, 4, "add_rate_limited")                                                     \
    X(ADD_BATCH, 2, "add_batch")                                                                   \
    X(FORGET, 1, "forget")                                                                         \
    X(CANCEL, 3, "cancel")                                                                         \
    X(GET_NOW, 6, "get with a timeout of 0 or less")                                               \
    X(GET, 5, "get")                                                                               \
    X(GET_BATCH, 2, "get_batch")                                                                   \
    X(DONE, 16, "done")                                                                            \
    X(DONE_STALE, 3, "done again")                                                                 \
    X(DONE_GET, 8, "done_get")                                                                     \
    X(DONE_BATCH, 2, "done_batch")                                                                 \
    X(INTERRUPT, 1, "interrupt")                                                                   \
    X(STEP, 8, "step of the clock")                                                                \
    X(SHUTDOWN, 0, "shutdown")                                                                     \
    X(DRAIN, 0, "shutdown_drain")

enum operation_kind {
#define OPERATION_ENUM(name, weight, text) OP_##name,
    OPERATION_MAP(OPERATION_ENUM)
#undef OPERATION_ENUM
    OPERATION_COUNT
};

struct operation {
    enum operation_kind kind;
    unsigned item;    /* of a done: does nothing unless its work is held, or has ended */
    uint32_t flags;   /* of add_with */
    int64_t delay_ns; /* of an add, or the step */
    uint32_t batch;   /* up to five items, three bits each, the count in the upper bits */
    uint32_t fail;    /* which allocation fails during it; 0: none */
    bool fail_sticky;
};

static inline size_t operation_batch_size(const struct operation *op)
{
    return (op->batch >> 24) % 6;
}

/* An add of a batch has the operation's delay and flags, or none. */
static inline bool operation_batch_has_options(const struct operation *op)
{
    return (op->batch >> 20 & 1) != 0;
}

static inline unsigned operation_batch_item(const struct operation *op, size_t index)
{
    return op->batch >> (3 * index) & 7;
}

static inline int64_t random_delay(void)
{
    switch (test_random_below(12)) {
    case 0:
        return 0;
    case 1:
        return test_random_below(2) == 0 ? -1 : INT64_MIN;
    case 2:
        return WEIR_SECONDS(1) + (int64_t)test_random_below(4);
    case 3:
        return test_random_below(4) == 0 ? INT64_MAX : WEIR_SECONDS(1000);
    default:
        return 1 + (int64_t)test_random_below(20);
    }
}

static inline int64_t random_step(void)
{
    switch (test_random_below(16)) {
    case 0:
        return 0;
    case 1:
        return WEIR_SECONDS(1);
    case 2:
        return test_random_below(32) == 0 ? INT64_MAX : WEIR_SECONDS(2000);
    default:
        return 1 + (int64_t)test_random_below(12);
    }
}

static inline enum operation_kind random_kind(void)
{
    static const unsigned weights[] = {
#define OPERATION_WEIGHT(name, weight, text) weight,
        OPERATION_MAP(OPERATION_WEIGHT)
#undef OPERATION_WEIGHT
    };
    unsigned total = 0;
    for (size_t i = 0; i < OPERATION_COUNT; i++) {
        total += weights[i];
    }
    unsigned at = (unsigned)test_random_below(total);
    size_t kind = 0;
    while (at >= weights[kind]) {
        at -= weights[kind++];
    }
    return (enum operation_kind)kind;
}

/* Ends are rare, so that most of a sequence happens on an open queue. */
static inline struct operation random_operation(bool with_faults)
{
    struct operation op = {
        .kind = random_kind(),
        .item = (unsigned)test_random_below(MODEL_ITEMS),
        .flags = (uint32_t)test_random_below(8),
        .delay_ns = random_delay(),
        .batch = (uint32_t)test_random(),
    };
    if (test_random_below(300) == 0) {
        op.kind = test_random_below(2) == 0 ? OP_SHUTDOWN : OP_DRAIN;
    }
    if (op.kind == OP_STEP) {
        op.delay_ns = random_step();
    }
    if (with_faults && test_random_below(2) == 0) {
        op.fail = test_random_below(3) == 0 ? 2 : 1;
        op.fail_sticky = test_random_below(2) == 0;
    }
    return op;
}

static inline const char *item_name(unsigned item)
{
    static const char *const names[MODEL_ITEMS] = {"key 0",      "key 1",      "key 2",
                                                   "long key 3", "long key 4", "embedded 5",
                                                   "embedded 6", "embedded 7"};
    return names[item];
}

static inline void print_operation(FILE *out, size_t number, const struct operation *op)
{
    static const char *const names[] = {
#define OPERATION_NAME(name, weight, text) text,
        OPERATION_MAP(OPERATION_NAME)
#undef OPERATION_NAME
    };
    (void)fprintf(out, "  %3zu. %s", number, names[op->kind]);
    switch (op->kind) {
    case OP_ADD:
    case OP_ADD_RATE_LIMITED:
    case OP_FORGET:
    case OP_CANCEL:
    case OP_DONE:
    case OP_DONE_GET:
    case OP_DONE_STALE:
        (void)fprintf(out, "(%s)", item_name(op->item));
        break;
    case OP_ADD_AFTER:
        (void)fprintf(out, "(%s, %lld ns)", item_name(op->item), (long long)op->delay_ns);
        break;
    case OP_ADD_WITH:
        (void)fprintf(out, "(%s, %lld ns%s%s%s)", item_name(op->item), (long long)op->delay_ns,
                      (op->flags & WEIR_ADD_MOVE) != 0 ? ", move" : "",
                      (op->flags & WEIR_ADD_SUPERSEDE) != 0 ? ", supersede" : "",
                      (op->flags & WEIR_ADD_RATE_LIMITED) != 0 ? ", rate-limited" : "");
        break;
    case OP_ADD_BATCH:
    case OP_DONE_BATCH:
        for (size_t i = 0; i < operation_batch_size(op); i++) {
            (void)fprintf(out, "%s%s", i == 0 ? "(" : ", ", item_name(operation_batch_item(op, i)));
        }
        (void)fprintf(out, "%s", operation_batch_size(op) == 0 ? "()" : ")");
        if (op->kind == OP_ADD_BATCH && operation_batch_has_options(op)) {
            (void)fprintf(out, " after %lld ns, flags %u", (long long)op->delay_ns, op->flags);
        }
        break;
    case OP_GET_BATCH:
        (void)fprintf(out, " of up to %zu", operation_batch_size(op));
        break;
    case OP_STEP:
        (void)fprintf(out, ", %lld ns", (long long)op->delay_ns);
        break;
    default:
        break;
    }
    if (op->fail != 0) {
        (void)fprintf(out, " [allocation %u fails%s]", op->fail,
                      op->fail_sticky ? ", and all after it" : "");
    }
    (void)fprintf(out, "\n");
}

#endif
