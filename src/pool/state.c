/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The pool's mutex: lock queues due envelopes, unlock wakes the threads that the state concerns. */

#include "base/panic.h"
#include "pool/pool.h"
#include "pool/recur.h"

struct weiri_added weiri_pool_again_locked(weir_pool *pool, weir_envelope *envelope,
                                           int64_t time_ns, int64_t now_ns)
{
    struct weiri_added added;
    const struct weiri_order order = {.time_ns = time_ns};
    enum weir_status status =
        weiri_core_add(&pool->core, weir_key_item(&envelope->item), &order, now_ns, &added);
    WEIRI_ASSERT(status == WEIR_OK);
    return added;
}

/* Reads the clock, and queues due envelopes. */
static void pass_time_locked(weir_pool *pool) WEIRI_POOL_LOCKED
{
    struct weiri_core *core = &pool->core;
    int64_t time_ns;
    pool->now_ns = weir_clock_now(pool->options.clock);
    while ((time_ns = weiri_pool_next_time_locked(pool)) <= pool->now_ns &&
           time_ns != WEIR_FOREVER) {
        weir_envelope *envelope = weiri_envelope_of(core->waiting.entries[0].item);
        if (weiri_envelope_is_periodic(envelope)) {
            weiri_recur_pass_time(pool, envelope, time_ns);
        } else {
            (void)weiri_pool_again_locked(pool, envelope, WEIRI_AT_ONCE, time_ns);
            weiri_core_clear_time(core, &envelope->item);
        }
    }
}

void weiri_pool_lock(weir_pool *pool)
{
    weiri_mutex_lock(&pool->mutex);
    /* The clock is not read unless a time or the metrics need it. */
    if (pool->core.waiting.count > 0 || pool->core.meter != NULL) {
        pass_time_locked(pool);
    }
}

bool weiri_pool_is_idle_locked(const weir_pool *pool)
{
    const struct weiri_core *core = &pool->core;
    return core->queued == 0 && core->processing == 0 && core->waiting.count == pool->scheduled &&
           weiri_list_is_empty(&pool->tellers);
}

void weiri_send_wake(struct weiri_send *send)
{
    if (!send->is_woken) {
        send->is_woken = true;
        weiri_parker_set(&send->parker);
        weiri_parker_wake(&send->parker);
    }
}

/* Wakes those of the waiting threads, other than workers, that the state has news for. */
static void wake_others_locked(weir_pool *pool) WEIRI_POOL_LOCKED
{
    if (!weiri_list_is_empty(&pool->senders)) {
        struct weiri_send *first = WEIRI_CONTAINER(pool->senders.next, struct weiri_send, link);
        if (pool->core.held < first->held || !weiri_pool_is_open_locked(pool)) {
            weiri_send_wake(first);
        }
    }
    if (pool->idle_observers > 0 &&
        (weiri_pool_is_idle_locked(pool) || weiri_pool_has_ended_locked(pool))) {
        weiri_pool_announce_locked(pool);
    }
}

/* Wakes the threads that have something to do. has_timer: the earliest pending time needs no other
 * worker. Returns the parker of a sleeping worker among them, or NULL. The caller passes it to
 * weiri_parker_wake(), after the unlock where possible. */
static struct weiri_parker *wake_locked(weir_pool *pool, bool has_timer) WEIRI_POOL_LOCKED
{
    if (!weiri_list_is_empty(&pool->senders) || pool->idle_observers > 0) {
        wake_others_locked(pool);
    }
    if (weiri_waiters_is_empty(&pool->sleepers)) {
        return NULL;
    }
    size_t work = pool->leavers;
    if (weiri_pool_hands_out_locked(pool)) {
        work += pool->core.ring.count + pool->admitted_count;
    }
    return weiri_waiters_wake(&pool->sleepers, work,
                              has_timer ? INT64_MAX : weiri_pool_next_time_locked(pool));
}

void weiri_pool_unlock(weir_pool *pool)
{
    struct weiri_parker *worker = wake_locked(pool, false);
    weiri_mutex_unlock(&pool->mutex);
    if (worker != NULL) {
        weiri_parker_wake(worker);
    }
}

void weiri_pool_sleep_locked(weir_pool *pool)
{
    /* The worker becomes the timer itself if there is none. */
    struct weiri_parker *worker = wake_locked(pool, true);
    weiri_waiters_sleep(&pool->sleepers, &pool->mutex, pool->options.clock,
                        weiri_pool_next_time_locked(pool), WEIR_FOREVER, worker);
    pass_time_locked(pool);
}

bool weiri_pool_wait_locked(weir_pool *pool, int64_t limit_ns)
{
    if (weiri_clock_is_past(pool->options.clock, limit_ns)) {
        return false;
    }
    struct weiri_parker *worker = wake_locked(pool, false);
    if (worker != NULL) {
        weiri_parker_wake(worker);
    }
    pool->observers++;
    (void)weiri_cond_wait_until(&pool->changed,
                                weiri_clock_wait_limit(pool->options.clock, limit_ns));
    pool->observers--;
    pass_time_locked(pool);
    return true;
}

void weiri_pool_announce_locked(weir_pool *pool)
{
    if (pool->observers > 0) {
        weiri_cond_broadcast(&pool->changed);
    }
}

void weiri_pool_on_step(struct weiri_clock_user *user)
{
    weir_pool *pool = WEIRI_CONTAINER(user, struct weir_pool, clock_user);
    weiri_mutex_lock(&pool->mutex);
    weiri_waiters_wake_all(&pool->sleepers);
    weiri_pool_announce_locked(pool);
    for (struct weiri_list *link = pool->senders.next; link != &pool->senders; link = link->next) {
        weiri_send_wake(WEIRI_CONTAINER(link, struct weiri_send, link));
    }
    weiri_contexts_step_locked(&pool->contexts);
    weiri_mutex_unlock(&pool->mutex);
}
