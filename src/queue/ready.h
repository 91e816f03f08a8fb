/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_READY_H
#define WEIRI_READY_H

#include <stdbool.h>

#include "queue/ranks.h"
#include "queue/ring.h"

/* The ready items in the order that the queue was made with: first in, first out (a ring), or by
 * priority (a heap). The other of the two is empty and has no memory, so that counts are sums and
 * need no question. The choice costs a queue one branch a push and a pop, always the same; what
 * belongs to priorities is laid out of the way of who has none. */
struct weiri_ready {
    struct weiri_ring ring;
    struct weiri_ranks ranks;
    bool has_priorities;
};

/* Chooses priorities, for an empty one. */
static inline void weiri_ready_init_ranks(struct weiri_ready *ready, int64_t aging_ns)
{
    ready->has_priorities = true;
    ready->ranks.aging_ns = aging_ns;
}

static inline void weiri_ready_fini(struct weiri_ready *ready,
                                    const struct weir_allocator *allocator)
{
    weiri_ring_fini(&ready->ring, allocator);
    weiri_ranks_fini(&ready->ranks, allocator);
}

static inline size_t weiri_ready_count(const struct weiri_ready *ready)
{
    return weiri_ring_count(&ready->ring) + ready->ranks.count;
}

static inline size_t weiri_ready_capacity(const struct weiri_ready *ready)
{
    return ready->ring.capacity + ready->ranks.capacity;
}

/* Makes room for count items in all. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD static inline enum weir_status weiri_ready_reserve(
    struct weiri_ready *ready, const struct weir_allocator *allocator, size_t count)
{
    return ready->has_priorities ? weiri_ranks_reserve(&ready->ranks, allocator, count)
                                 : weiri_ring_reserve(&ready->ring, allocator, count);
}

/* Gives memory back where count items would leave most of it unused. */
static inline void weiri_ready_trim(struct weiri_ready *ready,
                                    const struct weir_allocator *allocator, size_t count)
{
    if (__builtin_expect(ready->has_priorities, 0)) {
        weiri_ranks_trim(&ready->ranks, allocator, count);
    } else {
        weiri_ring_trim(&ready->ring, allocator, count);
    }
}

/* Room must be reserved. Without priorities the priority is 0. */
static inline void weiri_ready_push(struct weiri_ready *ready, struct weir_item *item,
                                    int32_t priority)
{
    if (__builtin_expect(ready->has_priorities, 0)) {
        weiri_ranks_push(&ready->ranks, item, priority);
    } else {
        weiri_ring_push(&ready->ring, item);
    }
}

/* Puts an item before all others; not with priorities, whose order would be none then. */
static inline void weiri_ready_push_front(struct weiri_ready *ready, struct weir_item *item)
{
    WEIRI_ASSERT(!ready->has_priorities);
    weiri_ring_push_front(&ready->ring, item);
}

/* The first item, or NULL. */
static inline struct weir_item *weiri_ready_pop(struct weiri_ready *ready)
{
    if (__builtin_expect(ready->has_priorities, 0)) {
        return weiri_ranks_pop(&ready->ranks);
    }
    return weiri_ring_pop(&ready->ring);
}

/* Takes out an item that is queued. */
static inline void weiri_ready_remove(struct weiri_ready *ready, const struct weir_item *item)
{
    if (ready->has_priorities) {
        weiri_ranks_remove(&ready->ranks, item);
    } else {
        weiri_ring_remove(&ready->ring, item);
    }
}

/* Makes the walk below go in the order in which the items will be handed out. */
static inline void weiri_ready_sort(struct weiri_ready *ready)
{
    weiri_ranks_sort(&ready->ranks);
}

/* A walk: the position it starts with, and the item there or after it, which the position passes;
 * NULL when there is none. */
static inline uint64_t weiri_ready_first(const struct weiri_ready *ready)
{
    return ready->has_priorities ? 0 : ready->ring.head;
}

static inline struct weir_item *weiri_ready_from(const struct weiri_ready *ready,
                                                 uint64_t *position)
{
    if (!ready->has_priorities) {
        return weiri_ring_from(&ready->ring, position);
    }
    return *position < ready->ranks.count
               ? weiri_ranks_at(&ready->ranks, (size_t)(*position)++)->item
               : NULL;
}

#endif
