/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Sends. */

#include "base/alloc.h"
#include "base/panic.h"
#include "base/probe.h"
#include "base/time.h"
#include "pool/ended.h"
#include "pool/group.h"
#include "pool/recur.h"

/* A send of count envelopes, all or none. */
struct send {
    weir_envelope *const *envelopes;
    size_t count;
    struct weir_key *keys;     /* of the envelopes */
    struct weiri_added *added; /* room for the answers */
    int64_t time_ns;           /* WEIRI_AT_ONCE */
    int64_t limit_ns;          /* of a wait for capacity */
    uint32_t when_full;
    struct weiri_endings endings; /* of envelopes that were displaced */
};

/* --- the claim: from here on no other pool may take the envelopes --- */

/* False: another pool has the envelope. Acquire: all writes of its last pool are visible. */
static bool claim(weir_pool *pool, weir_envelope *envelope)
{
    weir_pool *owner = NULL;
    weiri_sync_point();
    return atomic_compare_exchange_strong_explicit(&envelope->owner, &owner, pool,
                                                   memory_order_acquire, memory_order_relaxed) ||
           owner == pool;
}

static void release_claims(weir_pool *pool, const struct send *send, size_t count) WEIRI_POOL_LOCKED
{
    for (size_t i = 0; i < count; i++) {
        weir_envelope *envelope = send->envelopes[i];
        if (envelope->is_entering) {
            envelope->is_entering = false;
            weiri_group_leave_locked(pool, envelope);
        }
        weiri_envelope_disown_locked(pool, envelope);
    }
}

/* Claims all. *ret_needed: how many of them are not in flight, each counted once. */
static enum weir_status claim_all(weir_pool *pool, const struct send *send,
                                  size_t *ret_needed) WEIRI_POOL_LOCKED
{
    *ret_needed = 0;
    for (size_t i = 0; i < send->count; i++) {
        weir_envelope *envelope = send->envelopes[i];
        if (!claim(pool, envelope)) {
            release_claims(pool, send, i);
            return WEIR_EBUSY;
        }
        if (envelope->is_entering || weiri_core_holds(&pool->core, &envelope->item)) {
            continue;
        }
        if (weiri_group_join_locked(pool, envelope) != WEIR_OK) {
            release_claims(pool, send, i + 1);
            return WEIR_ENOMEM;
        }
        envelope->is_entering = true;
        (*ret_needed)++;
    }
    return WEIR_OK;
}

/* The envelope's flight begins. */
static void begin_flight(weir_envelope *envelope)
{
    (void)weir_envelope_ref(envelope);
    envelope->is_entering = false;
    envelope->runs = 0;
    envelope->last_status = WEIR_OK;
}

/* Adds the envelopes, which were claimed. WEIR_ENOMEM: nothing changed. */
static enum weir_status add_all(weir_pool *pool, const struct send *send) WEIRI_POOL_LOCKED
{
    const struct weiri_order order = {.time_ns = send->time_ns};
    enum weir_status status = weiri_core_add_batch(&pool->core, send->keys, send->count, &order,
                                                   pool->now_ns, send->added);
    if (status != WEIR_OK) {
        return status;
    }
    for (size_t i = 0; i < send->count; i++) {
        if (send->added[i].is_new) {
            begin_flight(send->envelopes[i]);
        }
        if (weiri_envelope_is_periodic(send->envelopes[i])) {
            weiri_recur_send(send->envelopes[i], send->time_ns);
        }
    }
    return WEIR_OK;
}

/* --- capacity --- */

/* Whether so many may come in. sender (NULL: none) is first in line. */
static bool has_capacity(const weir_pool *pool, size_t count,
                         const struct weiri_sender *sender) WEIRI_POOL_LOCKED
{
    if (count == 0 || pool->options.capacity == 0) {
        return true;
    }
    const struct weiri_list *first =
        weiri_list_is_empty(&pool->senders) ? NULL : pool->senders.next;
    bool is_first = first == NULL || (sender != NULL && first == &sender->link);
    return is_first && pool->core.held < pool->options.capacity &&
           count <= pool->options.capacity - pool->core.held;
}

/* Drops what has been queued longest. False: nothing is queued. */
static bool displace_oldest(weir_pool *pool, struct send *send) WEIRI_POOL_LOCKED
{
    weir_envelope *oldest = weiri_group_oldest_locked(pool);
    if (oldest == NULL) {
        struct weir_item *first = weiri_core_first(&pool->core);
        oldest = first == NULL ? NULL : weiri_envelope_of(first);
    }
    if (oldest == NULL) {
        return false;
    }
    weiri_ended_drop_locked(pool, oldest, WEIR_ENDED_DISPLACED, &send->endings);
    return true;
}

/* Sleeps as the last in line until there may be capacity, or the limit has passed. */
static void sleep_for_capacity(weir_pool *pool, struct weiri_sender *sender,
                               int64_t limit_ns) WEIRI_POOL_LOCKED
{
    if (weiri_list_is_empty(&sender->link)) {
        weiri_list_insert_before(&pool->senders, &sender->link);
    }
    sender->held = pool->core.held;
    sender->is_woken = false;
    weiri_parker_init(&sender->parker);
    weiri_pool_unlock(pool);
    weiri_parker_sleep(&sender->parker, weiri_clock_wait_limit(pool->options.clock, limit_ns));
    weiri_pool_lock(pool);
}

/* Also of a sender that never was in line. The first in line tries again: it may need fewer slots
 * than the one that leaves, or none if that one has sent the same envelope. */
static void leave_line(weir_pool *pool, struct weiri_sender *sender) WEIRI_POOL_LOCKED
{
    weiri_list_remove(&sender->link);
    if (!weiri_list_is_empty(&pool->senders)) {
        WEIRI_CONTAINER(pool->senders.next, struct weiri_sender, link)->held = SIZE_MAX;
    }
}

/* Applies the policy of a full pool. WEIR_OK: there may be capacity now. */
static enum weir_status make_capacity(weir_pool *pool, struct send *send, size_t needed,
                                      struct weiri_sender *sender) WEIRI_POOL_LOCKED
{
    /* A worker has a slot itself, which others may wait for. */
    if (send->when_full != WEIR_FULL_WAIT || needed > pool->options.capacity ||
        weiri_pool_self_locked(pool) != NULL) {
        return WEIR_EFULL;
    }
    if (send->limit_ns != WEIR_FOREVER && weir_clock_now(pool->options.clock) >= send->limit_ns) {
        return WEIR_ETIMEDOUT;
    }
    sleep_for_capacity(pool, sender, send->limit_ns);
    return WEIR_OK;
}

/* --- the send --- */

static bool may_exceed(weir_pool *pool) WEIRI_POOL_LOCKED
{
    return (pool->options.flags & WEIR_POOL_TASKS_EXCEED) != 0 &&
           weiri_pool_self_locked(pool) != NULL;
}

/* Whether the envelopes, which were claimed, may come in. Drops the oldest for them only now, since
 * nothing is left that could refuse them. */
static bool may_enter(weir_pool *pool, struct send *send, size_t needed,
                      const struct weiri_sender *sender) WEIRI_POOL_LOCKED
{
    return has_capacity(pool, needed, sender) || may_exceed(pool) ||
           (send->when_full == WEIR_FULL_DROP_OLDEST && displace_oldest(pool, send));
}

static enum weir_status try_send(weir_pool *pool, struct send *send, struct weiri_sender *sender,
                                 size_t *ret_needed) WEIRI_POOL_LOCKED
{
    if (!weiri_pool_is_open_locked(pool)) {
        return WEIR_ESHUTDOWN;
    }
    enum weir_status status = claim_all(pool, send, ret_needed);
    if (status != WEIR_OK) {
        return status;
    }
    status = may_enter(pool, send, *ret_needed, sender) ? add_all(pool, send) : WEIR_EFULL;
    if (status != WEIR_OK) {
        release_claims(pool, send, send->count);
    }
    return status;
}

static enum weir_status send_locked(weir_pool *pool, struct send *send) WEIRI_POOL_LOCKED
{
    struct weiri_sender sender;
    weiri_list_init(&sender.link);
    size_t needed;
    enum weir_status status = try_send(pool, send, &sender, &needed);
    while (status == WEIR_EFULL) {
        status = make_capacity(pool, send, needed, &sender);
        if (status != WEIR_OK) {
            break;
        }
        status = try_send(pool, send, &sender, &needed);
    }
    leave_line(pool, &sender);
    return status;
}

static enum weir_status send_all(weir_pool *pool, struct send *send)
{
    for (size_t i = 0; i < send->count; i++) {
        WEIRI_PROBE4(send, pool, send->envelopes[i], send->envelopes[i]->options.id, send->time_ns);
        send->keys[i] = weir_key_item(&send->envelopes[i]->item);
    }
    weiri_endings_init(&send->endings);
    weiri_pool_lock(pool);
    enum weir_status status = send_locked(pool, send);
    weiri_ended_tell_locked(pool, &send->endings);
    weiri_pool_unlock(pool);
    return status;
}

/* Whether a send at once would change nothing, as far as can be told without the mutex. The next
 * run of a periodic envelope may be one of its schedule, so that a send has to be noted. */
static bool coalesces(const weir_pool *pool, weir_envelope *envelope)
{
    weiri_sync_point();
    return !weiri_envelope_is_periodic(envelope) &&
           atomic_load_explicit(&pool->coalesces, memory_order_acquire) &&
           weiri_item_coalesces(&envelope->item, &pool->core);
}

static enum weir_status send_one(weir_pool *pool, weir_envelope *envelope, int64_t delay_ns,
                                 uint32_t when_full, int64_t limit_ns)
{
    if (delay_ns <= 0 && coalesces(pool, envelope)) {
        WEIRI_PROBE4(send, pool, envelope, envelope->options.id, WEIRI_AT_ONCE);
        return WEIR_OK;
    }
    struct weir_key key;
    struct weiri_added added;
    int64_t now_ns = delay_ns <= 0 ? 0 : weir_clock_now(pool->options.clock);
    int64_t time_ns = weiri_time_add(now_ns, delay_ns);
    struct send send = {
        .envelopes = &envelope,
        .count = 1,
        .keys = &key,
        .added = &added,
        .time_ns = time_ns <= now_ns ? WEIRI_AT_ONCE : time_ns,
        .limit_ns = limit_ns,
        .when_full = when_full,
    };
    return send_all(pool, &send);
}

enum weir_status weir_pool_send(weir_pool *pool, weir_envelope *envelope)
{
    return weir_pool_send_after(pool, envelope, 0);
}

enum weir_status weir_pool_send_after(weir_pool *pool, weir_envelope *envelope, int64_t delay_ns)
{
    enum weir_status status = envelope == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    return status != WEIR_OK
               ? status
               : send_one(pool, envelope, delay_ns, pool->options.when_full, WEIR_FOREVER);
}

enum weir_status weir_pool_send_until(weir_pool *pool, weir_envelope *envelope, int64_t limit_ns)
{
    enum weir_status status = envelope == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    return status != WEIR_OK ? status : send_one(pool, envelope, 0, WEIR_FULL_WAIT, limit_ns);
}

enum weir_status weir_pool_send_all(weir_pool *pool, weir_envelope *const *envelopes, size_t count)
{
    enum weir_status status = envelopes == NULL && count > 0 ? WEIR_EINVAL : weiri_pool_check(pool);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = envelopes[i] == NULL ? WEIR_EINVAL : WEIR_OK;
    }
    if (status != WEIR_OK || count == 0) {
        return status;
    }
    const size_t size = sizeof(struct weir_key) + sizeof(struct weiri_added);
    struct weir_key *keys = weiri_alloc_array(&pool->options.allocator, count, size);
    if (keys == NULL) {
        return WEIR_ENOMEM;
    }
    struct send send = {
        .envelopes = envelopes,
        .count = count,
        .keys = keys,
        .added = (struct weiri_added *)(keys + count),
        .time_ns = WEIRI_AT_ONCE,
        .limit_ns = WEIR_FOREVER,
        /* One slot would not be enough. */
        .when_full = pool->options.when_full == WEIR_FULL_DROP_OLDEST ? WEIR_FULL_REFUSE
                                                                      : pool->options.when_full,
    };
    status = send_all(pool, &send);
    weiri_release(&pool->options.allocator, keys, count * size);
    return status;
}
