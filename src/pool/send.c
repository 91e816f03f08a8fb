/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Sends. */

#include "base/panic.h"
#include "base/probe.h"
#include "base/time.h"
#include "pool/ended.h"
#include "pool/group.h"
#include "pool/recur.h"

/* --- the claim: from here on no other pool may take the envelopes --- */

static void release_claims(weir_pool *pool, const struct weiri_send *send,
                           size_t count) WEIRI_POOL_LOCKED
{
    for (size_t i = 0; i < count; i++) {
        weir_envelope *envelope = send->envelopes[i];
        weiri_sync_point();
        /* One that is named twice was released before, and may be another pool's by now. */
        if (atomic_load_explicit(&envelope->owner, memory_order_relaxed) != pool) {
            continue;
        }
        if (envelope->is_entering) {
            envelope->is_entering = false;
            weiri_group_leave_locked(pool, envelope);
        }
        weiri_envelope_disown_locked(pool, envelope);
    }
}

/* Claims all. *ret_needed: how many of them are not in flight, each counted once. */
static enum weir_status claim_all(weir_pool *pool, const struct weiri_send *send,
                                  size_t *ret_needed) WEIRI_POOL_LOCKED
{
    *ret_needed = 0;
    for (size_t i = 0; i < send->count; i++) {
        weir_envelope *envelope = send->envelopes[i];
        weir_pool *owner = NULL;
        weiri_sync_point();
        /* Acquire: all writes of its last pool are visible. */
        bool is_claimed =
            atomic_compare_exchange_strong_explicit(&envelope->owner, &owner, pool,
                                                    memory_order_acquire, memory_order_relaxed) ||
            owner == pool;
        if (!is_claimed) {
            release_claims(pool, send, i);
            return WEIR_EBUSY;
        }
        if (envelope->is_entering || weiri_core_holds(&pool->core, &envelope->item)) {
            continue;
        }
        if (envelope->member != NULL && weiri_group_join_locked(pool, envelope) != WEIR_OK) {
            release_claims(pool, send, i + 1);
            return WEIR_ENOMEM;
        }
        envelope->is_entering = true;
        (*ret_needed)++;
    }
    return WEIR_OK;
}

/* --- capacity --- */

/* Drops what has been queued longest. False: nothing is queued. */
static bool displace_oldest(weir_pool *pool, struct weiri_endings *endings) WEIRI_POOL_LOCKED
{
    weir_envelope *oldest = weiri_group_oldest_locked(pool);
    if (oldest == NULL) {
        struct weir_item *first = weiri_core_first(&pool->core);
        oldest = first == NULL ? NULL : weiri_envelope_of(first);
    }
    if (oldest == NULL) {
        return false;
    }
    weiri_ended_drop_locked(pool, oldest, WEIR_ENDED_DISPLACED, endings);
    return true;
}

/* Whether the send gets as many slots as it needs. The oldest is dropped for it only here, since
 * nothing refuses it after that: it takes the memory of the one dropped, and a core that shrinks
 * keeps capacity for more than it holds. */
static bool may_enter(weir_pool *pool, const struct weiri_send *send, size_t needed,
                      struct weiri_endings *endings) WEIRI_POOL_LOCKED
{
    size_t capacity = pool->options.capacity;
    if (needed == 0 || capacity == 0) {
        return true;
    }
    const struct weiri_list *first = pool->senders.next;
    bool is_first = weiri_list_is_empty(&pool->senders) || first == &send->link;
    if (is_first && pool->core.held < capacity && needed <= capacity - pool->core.held) {
        return true;
    }
    bool may_exceed = (pool->options.flags & WEIR_POOL_TASKS_EXCEED) != 0;
    return (may_exceed && weiri_pool_self_locked(pool) != NULL) ||
           (send->when_full == WEIR_FULL_DROP_OLDEST && displace_oldest(pool, endings));
}

/* Applies the policy of a full pool. True: the send has waited in line, from its first wait on
 * in the same place, and tries again. */
static bool wait_for_capacity(weir_pool *pool, struct weiri_send *send, size_t needed,
                              enum weir_status *ret_status) WEIRI_POOL_LOCKED
{
    /* A worker has a slot itself, which others may wait for. */
    if (send->when_full != WEIR_FULL_WAIT || needed > pool->options.capacity ||
        weiri_pool_self_locked(pool) != NULL) {
        return false;
    }
    if (weiri_clock_is_past(pool->options.clock, send->limit_ns)) {
        *ret_status = WEIR_ETIMEDOUT;
        return false;
    }
    if (weiri_list_is_empty(&send->link)) {
        weiri_list_insert_before(&pool->senders, &send->link);
    }
    send->held = pool->core.held;
    send->is_woken = false;
    weiri_parker_init(&send->parker);
    weiri_pool_unlock(pool);
    weiri_parker_sleep(&send->parker, weiri_clock_wait_limit(pool->options.clock, send->limit_ns));
    weiri_pool_lock(pool);
    return true;
}

static bool are_in_flight(const weir_pool *pool, const struct weiri_send *send) WEIRI_POOL_LOCKED
{
    size_t i = 0;
    while (i < send->count && weiri_core_holds(&pool->core, &send->envelopes[i]->item)) {
        i++;
    }
    return i == send->count;
}

/* The send was in line, or has succeeded. The first in line tries again: it may need fewer
 * slots than the one before it, or fewer than before. Those whose envelopes are all in flight now
 * need none, wherever they are in the line. */
static void leave_line(weir_pool *pool, struct weiri_send *send) WEIRI_POOL_LOCKED
{
    weiri_list_remove(&send->link);
    for (struct weiri_list *link = pool->senders.next; link != &pool->senders; link = link->next) {
        struct weiri_send *other = WEIRI_CONTAINER(link, struct weiri_send, link);
        if (link == pool->senders.next || are_in_flight(pool, other)) {
            weiri_send_wake(other);
        }
    }
}

/* --- the send --- */

/* WEIR_EFULL: it needs *ret_needed slots, and does not get them now. */
static enum weir_status try_send(weir_pool *pool, const struct weiri_send *send,
                                 struct weiri_endings *endings,
                                 size_t *ret_needed) WEIRI_POOL_LOCKED
{
    if (!weiri_pool_is_open_locked(pool)) {
        return WEIR_ESHUTDOWN;
    }
    enum weir_status status = claim_all(pool, send, ret_needed);
    if (status != WEIR_OK) {
        return status;
    }
    status = may_enter(pool, send, *ret_needed, endings)
                 ? weiri_core_reserve(&pool->core, *ret_needed)
                 : WEIR_EFULL;
    if (status != WEIR_OK) {
        release_claims(pool, send, send->count);
        return status;
    }
    const struct weiri_order order = {.time_ns = send->time_ns};
    for (size_t i = 0; i < send->count; i++) {
        weir_envelope *envelope = send->envelopes[i];
        struct weiri_added added;
        status = weiri_core_add(&pool->core, weir_key_item(&envelope->item), &order, pool->now_ns,
                                &added);
        WEIRI_ASSERT(status == WEIR_OK); /* it is claimed, and its place is reserved */
        if (added.is_new) {              /* its flight begins */
            (void)weir_envelope_ref(envelope);
            envelope->is_entering = false;
            envelope->runs = 0;
            envelope->last_status = WEIR_OK;
        }
        if (weiri_envelope_is_periodic(envelope)) {
            weiri_recur_send(pool, envelope, send->time_ns);
        }
    }
    return WEIR_OK;
}

static enum weir_status send_all(weir_pool *pool, struct weiri_send *send)
{
    struct weiri_endings endings; /* of envelopes that are displaced */
    enum weir_status status;
    size_t needed;
    for (size_t i = 0; i < send->count; i++) {
        WEIRI_PROBE4(send, pool, send->envelopes[i], send->envelopes[i]->options.id, send->time_ns);
    }
    weiri_list_init(&send->link);
    weiri_endings_init(&endings);
    weiri_pool_lock(pool);
    do {
        status = try_send(pool, send, &endings, &needed);
    } while (status == WEIR_EFULL && wait_for_capacity(pool, send, needed, &status));
    bool is_concerned = status == WEIR_OK || !weiri_list_is_empty(&send->link);
    if (is_concerned && !weiri_list_is_empty(&pool->senders)) {
        leave_line(pool, send);
    }
    if (!weiri_list_is_empty(&endings.envelopes)) {
        weiri_ended_tell_locked(pool, &endings);
    }
    weiri_pool_unlock(pool);
    return status;
}

static enum weir_status send_one(weir_pool *pool, weir_envelope *envelope, int64_t delay_ns,
                                 bool waits, int64_t timeout_ns)
{
    enum weir_status status = envelope == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_sync_point();
    /* Lock-free: a send at once of an envelope that is queued or dirty changes nothing. But the
     * next run of a periodic one may be that of its schedule, so that a send has to be noted. */
    if (delay_ns <= 0 && !weiri_envelope_is_periodic(envelope) &&
        atomic_load_explicit(&pool->coalesces, memory_order_acquire) &&
        weiri_item_coalesces(&envelope->item, &pool->core)) {
        WEIRI_PROBE4(send, pool, envelope, envelope->options.id, WEIRI_AT_ONCE);
        return WEIR_OK;
    }
    int64_t now_ns = delay_ns <= 0 ? 0 : weir_clock_now(pool->options.clock);
    int64_t time_ns = delay_ns <= 0 ? 0 : weiri_time_add(now_ns, delay_ns);
    struct weiri_send send = {
        .envelopes = &envelope,
        .count = 1,
        .time_ns = time_ns <= now_ns ? WEIRI_AT_ONCE : time_ns,
        .limit_ns = weiri_clock_limit(pool->options.clock, timeout_ns),
        .when_full = waits ? WEIR_FULL_WAIT : pool->options.when_full,
    };
    return send_all(pool, &send);
}

enum weir_status weir_pool_send(weir_pool *pool, weir_envelope *envelope)
{
    return send_one(pool, envelope, 0, false, WEIR_FOREVER);
}

enum weir_status weir_pool_run(weir_pool *pool, weir_invoke_fn *task, void *payload,
                               weir_release_fn *release)
{
    enum weir_status status = weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    const struct weir_envelope_options options = {.allocator = pool->options.allocator,
                                                  .invoke = task,
                                                  .payload = payload,
                                                  .release = release};
    weir_envelope *envelope;
    status = weir_envelope_new(&options, &envelope, NULL);
    if (status == WEIR_OK) {
        status = weir_pool_send(pool, envelope);
        if (status != WEIR_OK) {
            envelope->options.release = NULL; /* no other thread knows the envelope */
        }
        weir_envelope_unref(envelope);
    }
    return status;
}

enum weir_status weir_pool_send_after(weir_pool *pool, weir_envelope *envelope, int64_t delay_ns)
{
    return send_one(pool, envelope, delay_ns, false, WEIR_FOREVER);
}

enum weir_status weir_pool_send_wait(weir_pool *pool, weir_envelope *envelope, int64_t timeout_ns)
{
    return send_one(pool, envelope, 0, true, timeout_ns);
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
    uint32_t when_full = pool->options.when_full;
    struct weiri_send send = {
        .envelopes = envelopes,
        .count = count,
        .time_ns = WEIRI_AT_ONCE,
        .limit_ns = WEIR_FOREVER,
        /* One slot would not be enough. */
        .when_full = when_full == WEIR_FULL_DROP_OLDEST ? WEIR_FULL_REFUSE : when_full,
    };
    return send_all(pool, &send);
}
