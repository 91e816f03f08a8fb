/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_QUEUE_REFERENCE_H
#define WEIR_TEST_QUEUE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weir/queue.h>

/* The queue as its table of calls describes it, in the plainest way: arrays that are searched from
 * end to end, no memory, no threads, time passed at once with each step of the clock. Nothing is
 * shared with the real one.
 *
 * A flaw makes one rule of it wrong, to prove that the comparison notices: the queue that is right
 * and a reference that is wrong differ just as the other way round. */

#define MODEL_ITEMS 8

#define FLAW_MAP(X)                                                                                \
    X(NO_FLAW, "")                                                                                 \
    X(ADD_PROCESSING_LOST, "an add of a processing item is forgotten")                             \
    X(ADD_QUEUED_MOVES, "an add of a queued item moves it to the tail")                            \
    X(ADD_ABSORBS_TIME, "an add takes the pending time away")                                      \
    X(LATER_TIME_WINS, "of two pending times the later is kept")                                   \
    X(MOVE_EARLIER_ONLY, "a move cannot put an item off")                                          \
    X(DUE_LATE, "an item is due one nanosecond late")                                              \
    X(EQUAL_TIMES_REVERSED, "of equal times the last one added comes first")                       \
    X(DIRTY_TO_HEAD, "a re-queued item goes to the head")                                          \
    X(CANCEL_KEEPS_DIRTY, "a cancel leaves the dirty mark")                                        \
    X(CANCEL_KEEPS_TIME, "a cancel leaves the pending time of a queued item")                      \
    X(SUPERSEDE_IGNORED, "an add that supersedes leaves the pending time")                         \
    X(MOVE_NOW_IGNORED, "a move to now leaves the pending time")                                   \
    X(SUPERSEDE_TAKES_DELAY, "an add that supersedes may have a delay")                            \
    X(SHUTDOWN_FORGETS, "a shutdown does not count what it drops")                                 \
    X(SHUTDOWN_EMPTIES, "a shutdown drops queued items")                                           \
    X(STALE_DONE, "a done of an earlier processing ends the present one")                          \
    X(BATCH_NOT_ALL, "a batch leaves out its last item")                                           \
    X(LIMITED_SHORTER, "of the limiter's delay and the one asked for the shorter counts")          \
    X(LIMITER_NOT_TOLD, "a coalesced rate-limited add gives nothing back")                         \
    X(MOVED_GIVES_BACK, "a rate-limited add that changes the pending time gives something back")   \
    X(INTERRUPT_FIRST, "an interrupt ends a get that finds something queued")                      \
    X(INTERRUPT_STAYS, "an interrupt ends every get from then on")                                 \
    X(FORGET_IGNORED, "a forget of a waiting item is ignored")

enum flaw {
#define FLAW_ENUM(name, text) name,
    FLAW_MAP(FLAW_ENUM)
#undef FLAW_ENUM
    FLAW_COUNT
};

enum place {
    IDLE,
    QUEUED,
    PROCESSING,
    DIRTY
};

struct reference_item {
    enum place place;
    bool waiting;
    int64_t time_ns;
    uint64_t arrival;    /* of its time */
    uint64_t processing; /* number of the present or last processing */
    uint64_t tries;      /* that the limiter counts */
};

struct reference {
    enum flaw flaw;
    bool supersedes; /* every add at once */
    int64_t now_ns;
    bool shut;
    uint64_t interrupts; /* gets that are to end */
    uint64_t dropped;
    uint64_t arrivals;
    uint64_t processings;
    int64_t reserved; /* tries that the limiter was not told to have come to nothing */
    struct reference_item items[MODEL_ITEMS];
    unsigned queue[MODEL_ITEMS];
    size_t queued;
};

static inline size_t reference_count(const struct reference *r, bool processing)
{
    size_t count = 0;
    for (unsigned i = 0; i < MODEL_ITEMS; i++) {
        const struct reference_item *item = &r->items[i];
        count += processing ? item->place == PROCESSING || item->place == DIRTY : item->waiting;
    }
    return count;
}

static inline void reference_insert(struct reference *r, size_t at, unsigned item)
{
    memmove(&r->queue[at + 1], &r->queue[at], (r->queued - at) * sizeof(r->queue[0]));
    r->queue[at] = item;
    r->queued++;
    r->items[item].place = QUEUED;
}

static inline void reference_take(struct reference *r, unsigned item)
{
    for (size_t at = 0; at < r->queued; at++) {
        if (r->queue[at] == item) {
            r->queued--;
            memmove(&r->queue[at], &r->queue[at + 1], (r->queued - at) * sizeof(r->queue[0]));
            return;
        }
    }
}

static inline void reference_enqueue(struct reference *r, unsigned item)
{
    switch (r->items[item].place) {
    case IDLE:
        reference_insert(r, r->queued, item);
        break;
    case PROCESSING:
        r->items[item].place = r->flaw == ADD_PROCESSING_LOST ? PROCESSING : DIRTY;
        break;
    case QUEUED:
        if (r->flaw == ADD_QUEUED_MOVES) {
            reference_take(r, item);
            reference_insert(r, r->queued, item);
        }
        break;
    case DIRTY:
        break;
    }
}

static inline bool reference_is_before(const struct reference *r, const struct reference_item *a,
                                       const struct reference_item *b)
{
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns;
    }
    return r->flaw == EQUAL_TIMES_REVERSED ? a->arrival > b->arrival : a->arrival < b->arrival;
}

static inline void reference_pass(struct reference *r, int64_t step_ns)
{
    r->now_ns += step_ns;
    for (;;) {
        struct reference_item *next = NULL;
        for (unsigned i = 0; i < MODEL_ITEMS; i++) {
            struct reference_item *item = &r->items[i];
            bool due = item->waiting && (r->flaw == DUE_LATE ? item->time_ns < r->now_ns
                                                             : item->time_ns <= r->now_ns);
            if (due && (next == NULL || reference_is_before(r, item, next))) {
                next = item;
            }
        }
        if (next == NULL) {
            return;
        }
        next->waiting = false;
        reference_enqueue(r, (unsigned)(next - r->items));
    }
}

/* The item's pending time becomes the earlier one, or the new one where it moves. False: it stays
 * as it is. */
static inline bool reference_wait(struct reference *r, unsigned item, int64_t delay_ns, bool move)
{
    struct reference_item *it = &r->items[item];
    int64_t time_ns = delay_ns > INT64_MAX - r->now_ns ? INT64_MAX : r->now_ns + delay_ns;
    bool earlier = time_ns < it->time_ns;
    if (r->flaw == LATER_TIME_WINS && !move) {
        earlier = time_ns > it->time_ns;
    }
    bool change = earlier || (move && time_ns != it->time_ns && r->flaw != MOVE_EARLIER_ONLY);
    if (!it->waiting || change) {
        it->waiting = true;
        it->time_ns = time_ns;
        it->arrival = r->arrivals++;
        return true;
    }
    return false;
}

/* *ret_joined: the add came together with one there was. */
static inline enum weir_status reference_add(struct reference *r, unsigned item, int64_t delay_ns,
                                             uint32_t flags, bool *ret_joined)
{
    struct reference_item *it = &r->items[item];
    bool supersede = (flags & WEIR_ADD_SUPERSEDE) != 0;
    bool move = (flags & WEIR_ADD_MOVE) != 0;
    if (supersede && delay_ns > 0 && r->flaw != SUPERSEDE_TAKES_DELAY) {
        return WEIR_EINVAL;
    }
    if (r->shut) {
        return WEIR_ESHUTDOWN;
    }
    if (delay_ns > 0) {
        bool was_waiting = it->waiting;
        bool is_new = reference_wait(r, item, delay_ns, move);
        *ret_joined = was_waiting && (!is_new || r->flaw == MOVED_GIVES_BACK);
        reference_pass(r, 0); /* at the end of time it is due at once */
        return WEIR_OK;
    }
    *ret_joined = it->place == QUEUED || it->place == DIRTY;
    if (((supersede || r->supersedes) && r->flaw != SUPERSEDE_IGNORED) ||
        (move && r->flaw != MOVE_NOW_IGNORED) || r->flaw == ADD_ABSORBS_TIME) {
        it->waiting = false;
    }
    reference_enqueue(r, item);
    return WEIR_OK;
}

/* What the model's limiter answers: 1, 2, 4 ... 64. */
static inline int64_t reference_delay(uint64_t tries)
{
    return tries < 6 ? INT64_C(1) << tries : 64;
}

/* What a get comes to. empty: where nothing is queued, and no interrupt ends it. */
static inline enum weir_status reference_get_status(struct reference *r, bool may_block,
                                                    enum weir_status empty)
{
    bool is_ended = may_block && r->interrupts > 0;
    if (r->queued > 0 && !(is_ended && r->flaw == INTERRUPT_FIRST)) {
        return WEIR_OK;
    }
    if (r->shut || !is_ended) {
        return r->shut ? WEIR_ESHUTDOWN : empty;
    }
    r->interrupts -= r->flaw != INTERRUPT_STAYS;
    return WEIR_ECANCELED;
}

static inline enum weir_status reference_add_rate_limited(struct reference *r, unsigned item,
                                                          int64_t asked_ns, uint32_t flags)
{
    if ((flags & WEIR_ADD_SUPERSEDE) != 0) {
        return WEIR_EINVAL;
    }
    bool joined = false;
    int64_t delay_ns = reference_delay(r->items[item].tries);
    bool is_longer = asked_ns > delay_ns;
    if (asked_ns > 0 && is_longer != (r->flaw == LIMITED_SHORTER)) {
        delay_ns = asked_ns;
    }
    enum weir_status status = reference_add(r, item, delay_ns, flags, &joined);
    if (status == WEIR_OK) {
        r->items[item].tries++;
        r->reserved += !joined || r->flaw == LIMITER_NOT_TOLD;
    }
    return status;
}

static inline void reference_forget(struct reference *r, unsigned item)
{
    if (r->flaw != FORGET_IGNORED || !r->items[item].waiting) {
        r->items[item].tries = 0;
    }
}

static inline bool reference_cancel(struct reference *r, unsigned item)
{
    struct reference_item *it = &r->items[item];
    bool taken = it->waiting || it->place == QUEUED || it->place == DIRTY;
    if (r->flaw != CANCEL_KEEPS_TIME || it->place != QUEUED) {
        it->waiting = false;
    }
    if (it->place == QUEUED) {
        reference_take(r, item);
        it->place = IDLE;
    } else if (it->place == DIRTY && r->flaw != CANCEL_KEEPS_DIRTY) {
        it->place = PROCESSING;
    }
    return taken;
}

/* The queue is not empty. */
static inline unsigned reference_get(struct reference *r)
{
    unsigned item = r->queue[0];
    reference_take(r, item);
    r->items[item].place = PROCESSING;
    r->items[item].processing = ++r->processings;
    return item;
}

static inline enum weir_status reference_done(struct reference *r, unsigned item,
                                              uint64_t processing)
{
    struct reference_item *it = &r->items[item];
    bool held = (it->place == PROCESSING || it->place == DIRTY) &&
                (it->processing == processing || r->flaw == STALE_DONE);
    if (!held) {
        return WEIR_ENOTPROCESSING;
    }
    bool dirty = it->place == DIRTY;
    it->place = IDLE;
    if (dirty) {
        reference_insert(r, r->flaw == DIRTY_TO_HEAD ? 0 : r->queued, item);
    }
    return WEIR_OK;
}

static inline void reference_shutdown(struct reference *r)
{
    if (r->shut) {
        return;
    }
    r->shut = true;
    for (unsigned i = 0; i < MODEL_ITEMS; i++) {
        struct reference_item *item = &r->items[i];
        r->dropped += item->waiting && r->flaw != SHUTDOWN_FORGETS;
        item->waiting = false;
        if (item->place == QUEUED && r->flaw == SHUTDOWN_EMPTIES) {
            reference_take(r, i);
            item->place = IDLE;
        }
    }
}

#endif
