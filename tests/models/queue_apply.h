/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_QUEUE_APPLY_H
#define WEIR_TEST_QUEUE_APPLY_H

#include "models/queue_model.h"

/* Each operation on the queue and on the reference. All return false where the two differ, with the
 * model's message set. */

/* How many operations have failed for lack of memory. */
static uint64_t model_refusals;

/* An add came to a status on the queue. True: it failed for an allocation that was made to
 * fail, and the reference has nothing to do. */
static inline bool model_is_out_of_memory(const struct operation *op, enum weir_status status)
{
    bool is_refused = op->fail != 0 && status == WEIR_ENOMEM;
    model_refusals += is_refused;
    return is_refused;
}

static inline bool apply_add(struct model *m, const struct operation *op)
{
    struct weir_key key = model_key(m, op->item);
    bool joined = false;
    enum weir_added added = WEIR_ADDED_NEW;
    enum weir_status got;
    int64_t delay_ns = op->delay_ns;
    uint32_t flags = 0;
    if (op->kind == OP_ADD) {
        delay_ns = 0;
        got = weir_queue_add(m->queue, key);
    } else if (op->kind == OP_ADD_AFTER) {
        got = weir_queue_add_after(m->queue, key, delay_ns);
    } else {
        struct weir_add_options options = {0};
        options.delay_ns = delay_ns;
        options.flags = flags = op->flags;
        got = weir_queue_add_with(m->queue, key, &options, &added);
    }
    if (!model_is_out_of_memory(op, got)) {
        bool is_limited = (flags & WEIR_ADD_RATE_LIMITED) != 0;
        enum weir_status want =
            is_limited ? reference_add_rate_limited(&m->reference, op->item, delay_ns, flags)
                       : reference_add(&m->reference, op->item, delay_ns, flags, &joined);
        EXPECT_STATUS(m, got, want);
        bool is_told = op->kind == OP_ADD_WITH && !is_limited && got == WEIR_OK;
        EXPECT(m, !is_told || joined == (added == WEIR_ADDED_COALESCED), "told of %d, expected %d",
               added == WEIR_ADDED_COALESCED, joined);
    }
    return true;
}

static inline bool apply_add_rate_limited(struct model *m, const struct operation *op)
{
    enum weir_status got = weir_queue_add_rate_limited(m->queue, model_key(m, op->item));
    if (!model_is_out_of_memory(op, got)) {
        enum weir_status want = reference_add_rate_limited(&m->reference, op->item, 0, 0);
        EXPECT_STATUS(m, got, want);
    }
    return true;
}

static inline bool apply_add_batch(struct model *m, const struct operation *op)
{
    struct weir_key keys[8];
    size_t count = operation_batch_size(op);
    for (size_t i = 0; i < count; i++) {
        keys[i] = model_key(m, operation_batch_item(op, i));
    }
    struct weir_add_options options = {0};
    bool has_options = operation_batch_has_options(op);
    options.delay_ns = has_options ? op->delay_ns : 0;
    options.flags = has_options ? op->flags : 0;
    enum weir_status got =
        weir_queue_add_batch(m->queue, keys, count, has_options ? &options : NULL);
    if (model_is_out_of_memory(op, got)) {
        return true;
    }
    struct reference *r = &m->reference;
    bool is_bad = (options.flags & WEIR_ADD_RATE_LIMITED) != 0 ||
                  ((options.flags & WEIR_ADD_SUPERSEDE) != 0 && options.delay_ns > 0 &&
                   r->flaw != SUPERSEDE_TAKES_DELAY);
    enum weir_status want = is_bad ? WEIR_EINVAL : r->shut ? WEIR_ESHUTDOWN : WEIR_OK;
    size_t leave_out = r->flaw == BATCH_NOT_ALL ? 1 : 0;
    for (size_t i = 0; want == WEIR_OK && i + leave_out < count; i++) {
        bool joined;
        want =
            reference_add(r, operation_batch_item(op, i), options.delay_ns, options.flags, &joined);
    }
    EXPECT_STATUS(m, got, want);
    return true;
}

static inline bool apply_cancel(struct model *m, const struct operation *op)
{
    bool taken = false;
    enum weir_status got = weir_queue_cancel(m->queue, model_key(m, op->item), &taken);
    EXPECT_STATUS(m, got, WEIR_OK);
    bool want = reference_cancel(&m->reference, op->item);
    EXPECT(m, taken == want, "cancel took out: %d, expected %d", taken, want);
    return true;
}

/* A timeout. may_wait: the call finds something that ends it; another one must not wait, since
 * nobody would end it. */
static inline int64_t model_timeout(bool may_wait, unsigned item)
{
    return may_wait ? WEIR_FOREVER - (int64_t)item : -(int64_t)item;
}

/* Whether a get that comes to this may wait. A wrong reference may know of an interrupt that is not
 * there. */
static inline bool model_may_get(const struct model *m, enum weir_status want)
{
    return want != WEIR_ETIMEDOUT && (want != WEIR_ECANCELED || m->queue->interrupts > 0);
}

static inline bool apply_get(struct model *m, const struct operation *op)
{
    enum weir_status want = reference_get_status(&m->reference, op->kind == OP_GET, WEIR_ETIMEDOUT);
    struct weir_work work;
    int64_t timeout_ns = model_timeout(op->kind == OP_GET && model_may_get(m, want), op->item);
    enum weir_status got = weir_queue_get(m->queue, timeout_ns, &work);
    EXPECT_STATUS(m, got, want);
    return got != WEIR_OK || model_hand_out(m, &work);
}

static inline bool apply_get_batch(struct model *m, const struct operation *op)
{
    size_t size = operation_batch_size(op);
    enum weir_status want =
        size == 0 ? WEIR_EINVAL : reference_get_status(&m->reference, true, WEIR_ETIMEDOUT);
    struct weir_work works[8];
    size_t count = 0;
    int64_t timeout_ns = model_timeout(model_may_get(m, want), op->item);
    enum weir_status got = weir_queue_get_batch(m->queue, timeout_ns, works, size, &count);
    EXPECT_STATUS(m, got, want);
    size_t queued = m->reference.queued;
    size_t want_count = got != WEIR_OK ? 0 : queued < size ? queued : size;
    EXPECT(m, count == want_count, "%zu handed out, expected %zu", count, want_count);
    for (size_t i = 0; i < count; i++) {
        if (!model_hand_out(m, &works[i])) {
            return false;
        }
    }
    return true;
}

static inline bool apply_done(struct model *m, struct hand hand)
{
    enum weir_status got = weir_queue_done(m->queue, &hand.work);
    enum weir_status want = reference_done(&m->reference, hand.item, hand.processing);
    EXPECT_STATUS(m, got, want);
    if (got == WEIR_OK) {
        model_put_down(m, &hand);
    }
    return true;
}

/* Whether a done_get of this item would hand something out, or say that the queue is shut down.
 * With a wrong reference only where that is certain: it would block for ever. */
static inline bool model_may_done_get(struct model *m, const struct hand *hand)
{
    const struct reference *r = &m->reference;
    bool dirty = r->items[hand->item].place == DIRTY && r->flaw == NO_FLAW;
    return r->shut || r->queued > 0 || dirty;
}

static inline bool apply_done_get(struct model *m, struct hand hand)
{
    struct weir_work work = hand.work;
    struct reference *r = &m->reference;
    bool is_interrupted = r->interrupts > 0;
    bool may_wait = (is_interrupted && m->queue->interrupts > 0) || model_may_done_get(m, &hand);
    int64_t timeout_ns = model_timeout(may_wait, hand.item);
    enum weir_status got = weir_queue_done_get(m->queue, timeout_ns, &work);
    enum weir_status want = reference_done(r, hand.item, hand.processing);
    if (want == WEIR_OK) {
        model_put_down(m, &hand);
        want = reference_get_status(r, is_interrupted, WEIR_ETIMEDOUT);
    }
    EXPECT_STATUS(m, got, want);
    if (got == WEIR_OK) {
        return model_hand_out(m, &work);
    }
    EXPECT(m, work.ticket == hand.work.ticket, "a done_get without a result changed the work");
    return true;
}

static inline bool apply_done_batch(struct model *m, const struct operation *op)
{
    struct hand hands[8];
    struct weir_work works[8] = {0};
    size_t count = 0;
    for (size_t i = 0; i < operation_batch_size(op); i++) {
        unsigned item = operation_batch_item(op, i);
        const struct hand *hand = m->held[item].is_there ? &m->held[item] : &m->stale[item];
        if (hand->is_there) {
            hands[count] = *hand;
            works[count++] = hand->work;
        }
    }
    enum weir_status got = weir_queue_done_batch(m->queue, works, count);
    enum weir_status want = WEIR_OK;
    for (size_t i = 0; i < count; i++) {
        if (reference_done(&m->reference, hands[i].item, hands[i].processing) == WEIR_OK) {
            model_put_down(m, &hands[i]);
        } else {
            want = WEIR_ENOTPROCESSING;
        }
    }
    EXPECT_STATUS(m, got, want);
    return true;
}

static inline bool apply_step(struct model *m, const struct operation *op)
{
    int64_t left_ns = INT64_MAX - m->reference.now_ns;
    int64_t step_ns = op->delay_ns < 0 ? 0 : op->delay_ns < left_ns ? op->delay_ns : left_ns;
    enum weir_status got = weir_clock_advance(m->clock, step_ns);
    EXPECT_STATUS(m, got, WEIR_OK);
    reference_pass(&m->reference, step_ns);
    return true;
}

static inline bool apply_drain(struct model *m, const struct operation *op)
{
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(m->queue, &counts), WEIR_OK);
    bool is_idle = counts.queued + counts.processing == 0;
    enum weir_status got = weir_queue_shutdown_drain(m->queue, model_timeout(is_idle, op->item));
    reference_shutdown(&m->reference);
    EXPECT_STATUS(m, got, WEIR_OK);
    return true;
}

static inline bool apply_forget(struct model *m, const struct operation *op)
{
    enum weir_status got = weir_queue_forget(m->queue, model_key(m, op->item));
    EXPECT_STATUS(m, got, WEIR_OK);
    reference_forget(&m->reference, op->item);
    return true;
}

static inline bool model_apply(struct model *m, const struct operation *op)
{
    const struct hand *stale = &m->stale[op->item];
    const struct hand *held = &m->held[op->item];
    switch (op->kind) {
    case OP_ADD:
    case OP_ADD_AFTER:
    case OP_ADD_WITH:
        return apply_add(m, op);
    case OP_ADD_RATE_LIMITED:
        return apply_add_rate_limited(m, op);
    case OP_ADD_BATCH:
        return apply_add_batch(m, op);
    case OP_FORGET:
        return apply_forget(m, op);
    case OP_CANCEL:
        return apply_cancel(m, op);
    case OP_GET_NOW:
    case OP_GET:
        return apply_get(m, op);
    case OP_GET_BATCH:
        return apply_get_batch(m, op);
    case OP_DONE:
        return !held->is_there || apply_done(m, *held);
    case OP_DONE_STALE:
        return !stale->is_there || apply_done(m, *stale);
    case OP_DONE_GET:
        return !held->is_there || apply_done_get(m, *held);
    case OP_DONE_BATCH:
        return apply_done_batch(m, op);
    case OP_INTERRUPT:
        m->reference.interrupts++;
        CHECK_STATUS(weir_queue_interrupt(m->queue), WEIR_OK);
        return true;
    case OP_STEP:
        return apply_step(m, op);
    case OP_SHUTDOWN:
        weir_queue_shutdown(m->queue);
        reference_shutdown(&m->reference);
        return true;
    case OP_DRAIN:
        return apply_drain(m, op);
    case OPERATION_COUNT:
        break;
    }
    test_fail(__FILE__, __LINE__, "no such operation");
}

/* Runs a sequence from an empty queue on. Returns the index of the first operation after which the
 * two differ, with a message of MESSAGE_SIZE bytes; count: they never do. */
static inline size_t run_sequence(enum flaw flaw, const struct operation *ops, size_t count,
                                  char *message)
{
    struct model m;
    model_start(&m, flaw, message);
    size_t at = 0;
    while (at < count) {
        test_fail_allocation(ops[at].fail, ops[at].fail_sticky);
        bool same = model_apply(&m, &ops[at]);
        test_fail_allocation(0, false);
        if (!same || !model_compare(&m)) {
            break;
        }
        at++;
    }
    model_end(&m);
    return at;
}

#endif
