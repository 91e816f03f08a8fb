/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_PRIORITY_REFERENCE_H
#define WEIR_TEST_PRIORITY_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/queue.h>

/* A queue with priorities as weir/queue.h describes it, in the plainest way: one row an item, the
 * next one found by looking at all of them, ranks formed in 128 bits. Nothing is shared with the
 * real one. A flaw makes one rule wrong, to prove that the comparison notices. */

#define RANKED_ITEMS 8

#define RANKED_FLAW_MAP(X)                                                                         \
    X(RANKED_RIGHT, "")                                                                            \
    X(RAISE_IGNORED, "a queued item is not raised")                                                \
    X(RAISE_ARRIVES_ANEW, "a raised item loses its arrival")                                       \
    X(RAISE_RENEWS_AGE, "a raised item loses its age")                                             \
    X(ADD_LOWERS, "an add at a less urgent priority lowers")                                       \
    X(DIRTY_FIRST_WINS, "of the priorities asked of a dirty item the first counts")                \
    X(DIRTY_LAST_WINS, "of the priorities asked of a dirty item the last counts")                  \
    X(DIRTY_KEEPS_OLD, "a dirty item comes back as urgent as it was")                              \
    X(DIRTY_CANCEL_KEEPS, "a cancel keeps the priority asked of a dirty item")                     \
    X(WAIT_FORGETS, "a waiting item forgets its priority")                                         \
    X(WAIT_LAST_WINS, "of the priorities asked for a time the last counts")                        \
    X(WAIT_CANCEL_KEEPS, "a cancel keeps the priority of a pending time")                          \
    X(SUPERSEDE_FORGETS, "an add that supersedes a time does not take its priority over")          \
    X(LIMITED_SINKS, "a rate-limited add of a processing item is of usual priority")               \
    X(AGES_SINCE_ADD, "a waiting item ages while it waits")                                        \
    X(AGES_LATE, "a waiting item ages since the clock's step, not since its time")                 \
    X(AGING_COARSE, "only whole levels of aging count")

enum ranked_flaw {
#define RANKED_FLAW_ENUM(name, text) name,
    RANKED_FLAW_MAP(RANKED_FLAW_ENUM)
#undef RANKED_FLAW_ENUM
    RANKED_FLAW_COUNT
};

__extension__ typedef __int128 ranked_wide;

enum ranked_place {
    RANKED_IDLE,
    RANKED_QUEUED,
    RANKED_PROCESSING,
    RANKED_DIRTY
};

struct ranked_item {
    enum ranked_place place;
    int32_t priority; /* while it is queued */
    int64_t since_ns;
    uint64_t arrival;
    int32_t handed_out; /* with which priority, the last time */
    int32_t dirty_priority;
    bool is_waiting;
    int64_t time_ns;
    int64_t asked_ns; /* when it began to wait */
    uint64_t wait_arrival;
    int32_t wait_priority;
};

struct ranked {
    enum ranked_flaw flaw;
    int64_t aging_ns;
    int64_t now_ns;
    uint64_t arrivals;
    struct ranked_item items[RANKED_ITEMS];
};

static inline size_t ranked_count(const struct ranked *r, enum ranked_place place)
{
    size_t count = 0;
    for (size_t i = 0; i < RANKED_ITEMS; i++) {
        count += r->items[i].place == place;
    }
    return count;
}

static inline size_t ranked_waiting(const struct ranked *r)
{
    size_t count = 0;
    for (size_t i = 0; i < RANKED_ITEMS; i++) {
        count += r->items[i].is_waiting;
    }
    return count;
}

static inline int32_t ranked_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline void ranked_enqueue_at(struct ranked *r, struct ranked_item *item, int32_t priority,
                                     int64_t since_ns)
{
    item->place = RANKED_QUEUED;
    item->priority = priority;
    item->since_ns = since_ns;
    item->arrival = r->arrivals++;
}

static inline void ranked_raise(struct ranked *r, struct ranked_item *item, int32_t priority)
{
    if (r->flaw == RAISE_IGNORED ||
        (priority >= item->priority && (r->flaw != ADD_LOWERS || priority == item->priority))) {
        return;
    }
    item->priority = priority;
    if (r->flaw == RAISE_ARRIVES_ANEW) {
        item->arrival = r->arrivals++;
    }
    if (r->flaw == RAISE_RENEWS_AGE) {
        item->since_ns = r->now_ns;
    }
}

/* An add that happens at since_ns. */
static inline void ranked_enqueue(struct ranked *r, struct ranked_item *item, int32_t priority,
                                  int64_t since_ns)
{
    switch (item->place) {
    case RANKED_IDLE:
        ranked_enqueue_at(r, item, priority, since_ns);
        break;
    case RANKED_QUEUED:
        ranked_raise(r, item, priority);
        break;
    case RANKED_PROCESSING:
        item->place = RANKED_DIRTY;
        if (r->flaw != DIRTY_CANCEL_KEEPS || item->dirty_priority >= priority) {
            item->dirty_priority = priority;
        }
        break;
    case RANKED_DIRTY:
        if (r->flaw == DIRTY_LAST_WINS) {
            item->dirty_priority = priority;
        } else if (r->flaw != DIRTY_FIRST_WINS) {
            item->dirty_priority = ranked_min(item->dirty_priority, priority);
        }
        break;
    }
}

static inline void ranked_pass(struct ranked *r, int64_t step_ns)
{
    r->now_ns += step_ns;
    for (;;) {
        struct ranked_item *next = NULL;
        for (size_t i = 0; i < RANKED_ITEMS; i++) {
            struct ranked_item *item = &r->items[i];
            if (item->is_waiting && item->time_ns <= r->now_ns &&
                (next == NULL || item->time_ns < next->time_ns ||
                 (item->time_ns == next->time_ns && item->wait_arrival < next->wait_arrival))) {
                next = item;
            }
        }
        if (next == NULL) {
            return;
        }
        next->is_waiting = false;
        int64_t since_ns = r->flaw == AGES_SINCE_ADD ? next->asked_ns
                           : r->flaw == AGES_LATE    ? r->now_ns
                                                     : next->time_ns;
        ranked_enqueue(r, next, r->flaw == WAIT_FORGETS ? 0 : next->wait_priority, since_ns);
    }
}

static inline void ranked_wait(struct ranked *r, struct ranked_item *item, int32_t priority,
                               int64_t delay_ns, bool move)
{
    int64_t time_ns = r->now_ns + delay_ns;
    bool was_waiting = item->is_waiting;
    if (!was_waiting || time_ns < item->time_ns || (move && time_ns != item->time_ns)) {
        item->time_ns = time_ns;
        item->wait_arrival = r->arrivals++;
    }
    if (!was_waiting) {
        item->asked_ns = r->now_ns;
        item->wait_priority =
            r->flaw == WAIT_CANCEL_KEEPS ? ranked_min(item->wait_priority, priority) : priority;
    } else {
        item->wait_priority =
            r->flaw == WAIT_LAST_WINS ? priority : ranked_min(item->wait_priority, priority);
    }
    item->is_waiting = true;
}

static inline void ranked_add(struct ranked *r, size_t index, int32_t priority, int64_t delay_ns,
                              uint32_t flags)
{
    struct ranked_item *item = &r->items[index];
    bool is_processing = item->place == RANKED_PROCESSING || item->place == RANKED_DIRTY;
    if ((flags & WEIR_ADD_RATE_LIMITED) != 0 && is_processing && r->flaw != LIMITED_SINKS) {
        priority = ranked_min(priority, item->handed_out);
    }
    if (delay_ns > 0) {
        ranked_wait(r, item, priority, delay_ns, (flags & WEIR_ADD_MOVE) != 0);
        return;
    }
    if ((flags & (WEIR_ADD_SUPERSEDE | WEIR_ADD_MOVE)) != 0 && item->is_waiting) {
        item->is_waiting = false;
        if (r->flaw != SUPERSEDE_FORGETS) {
            priority = ranked_min(priority, item->wait_priority);
        }
    }
    ranked_enqueue(r, item, priority, r->now_ns);
}

static inline bool ranked_cancel(struct ranked *r, size_t index)
{
    struct ranked_item *item = &r->items[index];
    bool was_there =
        item->is_waiting || item->place == RANKED_QUEUED || item->place == RANKED_DIRTY;
    item->is_waiting = false;
    if (item->place == RANKED_QUEUED) {
        item->place = RANKED_IDLE;
    } else if (item->place == RANKED_DIRTY) {
        item->place = RANKED_PROCESSING;
    }
    return was_there;
}

static inline ranked_wide ranked_rank(const struct ranked *r, const struct ranked_item *item)
{
    if (r->aging_ns == 0) {
        return item->priority;
    }
    if (r->flaw == AGING_COARSE) {
        return item->priority - (ranked_wide)((r->now_ns - item->since_ns) / r->aging_ns);
    }
    return (ranked_wide)item->priority * r->aging_ns + item->since_ns;
}

/* The item at the head, taken; RANKED_ITEMS where nothing is queued. */
static inline size_t ranked_get(struct ranked *r)
{
    size_t first = RANKED_ITEMS;
    for (size_t i = 0; i < RANKED_ITEMS; i++) {
        const struct ranked_item *item = &r->items[i];
        if (item->place != RANKED_QUEUED) {
            continue;
        }
        ranked_wide rank = ranked_rank(r, item);
        if (first == RANKED_ITEMS || rank < ranked_rank(r, &r->items[first]) ||
            (rank == ranked_rank(r, &r->items[first]) && item->arrival < r->items[first].arrival)) {
            first = i;
        }
    }
    if (first != RANKED_ITEMS) {
        r->items[first].place = RANKED_PROCESSING;
        r->items[first].handed_out = r->items[first].priority;
    }
    return first;
}

static inline void ranked_done(struct ranked *r, size_t index)
{
    struct ranked_item *item = &r->items[index];
    if (item->place == RANKED_DIRTY) {
        ranked_enqueue_at(
            r, item, r->flaw == DIRTY_KEEPS_OLD ? item->priority : item->dirty_priority, r->now_ns);
    } else {
        item->place = RANKED_IDLE;
    }
}

#endif
