/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What brings envelopes into a pool's queue, and what takes them out unrun. */

#include "base/alloc.h"
#include "base/probe.h"
#include "pool/flight.h"
#include "pool/pool.h"
#include "queue/room.h"

/* What one send asks for. */
struct order {
    int64_t delay_ns;
    uint32_t when_full; /* enum weir_when_full */
    int64_t limit_ns;   /* of a wait for room */
};

/* Drops the envelope that had to leave; its slot has gone to another one. */
static void drop_displaced(weir_pool *pool, const struct weiri_recalled *displaced)
{
    weir_envelope *envelope = weiri_envelope_of(displaced->item);
    weiri_pool_count_drops(pool, displaced->pending);
    weiri_pool_tell_drop(pool, envelope, WEIR_DROP_DISPLACED);
    weiri_flight_release(envelope);
}

/* A send that found no room. The envelopes' flights are held. */
static enum weir_status send_to_full(weir_pool *pool, const struct weiri_entry *entry,
                                     const struct order *order)
{
    if (order->when_full == WEIR_FULL_WAIT && weiri_pool_self(pool) == NULL) {
        return weiri_queue_enter_until(pool->queue, entry, order->limit_ns);
    }
    if (order->when_full != WEIR_FULL_DROP_OLDEST) {
        return WEIR_EFULL;
    }
    struct weiri_recalled displaced;
    enum weir_status status = weiri_queue_enter_displacing(pool->queue, entry, &displaced);
    if (displaced.item != NULL) {
        drop_displaced(pool, &displaced);
    }
    return status;
}

static enum weir_status send_held(weir_pool *pool, weir_envelope *envelope,
                                  const struct order *order)
{
    bool has_entered = false;
    struct weir_key key = weir_key_item(&envelope->item);
    struct weiri_entry entry = {
        .keys = &key, .entered = &has_entered, .count = 1, .delay_ns = order->delay_ns};
    enum weir_status status;
    if (order->delay_ns <= 0) {
        status = weiri_queue_send_now(pool->queue, &envelope->item, &has_entered);
    } else if (weiri_envelope_is_periodic(envelope)) {
        entry.added = weiri_recur_added;
        status = weiri_queue_enter(pool->queue, &entry);
    } else {
        status = weiri_queue_send(pool->queue, &envelope->item, order->delay_ns, &has_entered);
    }
    if (status == WEIR_EFULL) {
        status = send_to_full(pool, &entry, order);
    }
    if (status != WEIR_OK || !has_entered) {
        weiri_flight_release(envelope);
    }
    return status;
}

static enum weir_status send_unmarked(weir_pool *pool, weir_envelope *envelope,
                                      const struct order *order)
{
    /* Most sends of a storm find the envelope queued already. They need no hold: nothing of it is
     * touched but the word that is looked at, and for that the caller's reference is enough. */
    if (order->delay_ns <= 0 && weiri_queue_joins(pool->queue, &envelope->item)) {
        return WEIR_OK;
    }
    return weiri_flight_hold(envelope, pool->number) ? send_held(pool, envelope, order)
                                                     : WEIR_EBUSY;
}

static enum weir_status send_marked(weir_pool *pool, weir_envelope *envelope,
                                    const struct order *order)
{
    uint32_t takes = weiri_envelope_ask(envelope);
    enum weir_status status = send_unmarked(pool, envelope, order);
    if (status != WEIR_OK) {
        weiri_envelope_unask(envelope, takes);
    }
    return status;
}

static enum weir_status send(weir_pool *pool, weir_envelope *envelope, const struct order *order)
{
    enum weir_status status = envelope == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    WEIRI_PROBE4(send, pool, envelope, envelope->id, order->delay_ns);
    /* The mark of a send for later is its time, which is left with the lock held. */
    return order->delay_ns <= 0 && weiri_envelope_is_periodic(envelope)
               ? send_marked(pool, envelope, order)
               : send_unmarked(pool, envelope, order);
}

enum weir_status weir_pool_send(weir_pool *pool, weir_envelope *envelope)
{
    return weir_pool_send_after(pool, envelope, 0);
}

enum weir_status weir_pool_send_after(weir_pool *pool, weir_envelope *envelope, int64_t delay_ns)
{
    struct order order = {.delay_ns = delay_ns, .limit_ns = WEIR_FOREVER};
    if (pool != NULL) {
        order.when_full = pool->when_full;
    }
    return send(pool, envelope, &order);
}

enum weir_status weir_pool_send_until(weir_pool *pool, weir_envelope *envelope, int64_t limit_ns)
{
    /* The limit that means "not at all" to the queue has passed like any other. */
    struct order order = {.when_full = WEIR_FULL_WAIT,
                          .limit_ns = limit_ns == INT64_MIN ? INT64_MIN + 1 : limit_ns};
    return send(pool, envelope, &order);
}

static void release_flights(weir_envelope *const *envelopes, size_t count, const bool *entered)
{
    for (size_t i = 0; i < count; i++) {
        if (entered == NULL || !entered[i]) {
            weiri_flight_release(envelopes[i]);
        }
    }
}

static enum weir_status hold_flights(weir_pool *pool, weir_envelope *const *envelopes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!weiri_flight_hold(envelopes[i], pool->number)) {
            release_flights(envelopes, i, NULL);
            return WEIR_EBUSY;
        }
    }
    return WEIR_OK;
}

/* Room for what a send of several needs of each: one block, in three parts. */
struct parts {
    struct weir_key *keys;
    uint32_t *takes; /* of weiri_envelope_ask() */
    bool *entered;
};

#define PART_SIZE (sizeof(struct weir_key) + sizeof(uint32_t) + sizeof(bool))

static void ask(const struct parts *parts, weir_envelope *const *envelopes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        parts->keys[i] = weir_key_item(&envelopes[i]->item);
        if (weiri_envelope_is_periodic(envelopes[i])) {
            parts->takes[i] = weiri_envelope_ask(envelopes[i]);
        }
    }
}

static void unask(const struct parts *parts, weir_envelope *const *envelopes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (weiri_envelope_is_periodic(envelopes[i])) {
            weiri_envelope_unask(envelopes[i], parts->takes[i]);
        }
    }
}

static enum weir_status send_all(weir_pool *pool, weir_envelope *const *envelopes, size_t count,
                                 const struct parts *parts)
{
    enum weir_status status = hold_flights(pool, envelopes, count);
    if (status != WEIR_OK) {
        return status;
    }
    ask(parts, envelopes, count);
    struct weiri_entry entry = {.keys = parts->keys, .entered = parts->entered, .count = count};
    status = weiri_queue_enter(pool->queue, &entry);
    if (status == WEIR_EFULL && pool->when_full == WEIR_FULL_WAIT) {
        const struct order order = {.when_full = WEIR_FULL_WAIT, .limit_ns = WEIR_FOREVER};
        status = send_to_full(pool, &entry, &order);
    }
    if (status != WEIR_OK) {
        unask(parts, envelopes, count);
    }
    release_flights(envelopes, count, status == WEIR_OK ? parts->entered : NULL);
    return status;
}

enum weir_status weir_pool_send_all(weir_pool *pool, weir_envelope *const *envelopes, size_t count)
{
    bool is_list = envelopes != NULL || count == 0;
    enum weir_status status = is_list ? weiri_pool_check(pool) : WEIR_EINVAL;
    if (status != WEIR_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        if (envelopes[i] == NULL) {
            return WEIR_EINVAL;
        }
    }
    if (count == 0) {
        return WEIR_OK;
    }
    struct parts parts = {.keys = weiri_alloc_zero(&pool->allocator, count, PART_SIZE)};
    if (parts.keys == NULL) {
        return WEIR_ENOMEM;
    }
    parts.takes = (uint32_t *)&parts.keys[count];
    parts.entered = (bool *)&parts.takes[count];
    status = send_all(pool, envelopes, count, &parts);
    weiri_release(&pool->allocator, parts.keys, count * PART_SIZE);
    return status;
}
