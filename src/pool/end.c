/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The ends of a pool.
 *
 * Several threads may end a pool at once. Each merges its request into the pool's, and drops the
 * envelopes that are not kept. Until then the thread counts as busy, as a worker does until it has
 * left. The last busy thread makes the pool stopped. So a stopped pool runs nothing, holds only
 * kept envelopes, and has reported all ends. */

#include <inttypes.h>
#include <stdio.h>

#include "base/panic.h"
#include "pool/ended.h"
#include "pool/group.h"

void weiri_pool_show_end_locked(weir_pool *pool)
{
    if (pool->fd.is_open) {
        weiri_event_fd_show(&pool->fd, weiri_pool_has_ended_locked(pool), INT64_MAX);
    }
}

static void log_end_locked(weir_pool *pool) WEIRI_POOL_LOCKED
{
    uint64_t runs = pool->counts.runs;
    uint64_t dropped = pool->counts.dropped;
    bool has_dropped = dropped > pool->dropped_before;
    pool->has_run = false;
    pool->dropped_before = dropped;
    weiri_pool_unlock(pool);
    weiri_pool_log(pool, has_dropped ? WEIR_LOG_WARNING : WEIR_LOG_INFO,
                   "pool stopped: %" PRIu64 " runs, %" PRIu64 " dropped", runs, dropped);
    weiri_pool_lock(pool);
}

void weiri_pool_leave_locked(weir_pool *pool)
{
    bool is_ending = pool->state == WEIR_POOL_STATE_STOPPING;
    if (is_ending && pool->busy == 1 && pool->has_run) {
        log_end_locked(pool); /* is busy meanwhile: the pool is not stopped yet */
    }
    if (--pool->busy == 0 && is_ending) {
        pool->state = pool->end.mode == WEIR_END_TERMINATE ? WEIR_POOL_STATE_TERMINATED
                                                           : WEIR_POOL_STATE_STOPPED;
        weiri_pool_show_end_locked(pool);
    }
    weiri_pool_announce_locked(pool);
}

/* An envelope that only waits for a time; NULL: there is none left. Takes the times of queued ones
 * away on its way; a run that goes on keeps its own until it ends. The times of a
 * periodic envelope are counted as dropped when that run ends. */
static weir_envelope *next_waiting_locked(weir_pool *pool) WEIRI_POOL_LOCKED
{
    struct weiri_core *core = &pool->core;
    size_t i = core->waiting.count;
    while (i-- > 0) {
        struct weir_item *item = core->waiting.entries[i].item;
        if (weiri_item_place(item) == WEIR_PLACE_IDLE) {
            return weiri_envelope_of(item);
        }
        if (!weiri_item_is_processing(item)) {
            weiri_core_clear_time(core, item);
            pool->counts.dropped += !weiri_envelope_is_periodic(weiri_envelope_of(item));
            i = core->waiting.count; /* entries have moved */
        }
    }
    return NULL;
}

/* Drops envelopes, as an end that does not keep them. Running ones are dropped when their runs
 * end. */
static void drop_rest_locked(weir_pool *pool, struct weiri_endings *endings) WEIRI_POOL_LOCKED
{
    enum weir_ended_reason reason = weiri_pool_drop_reason_locked(pool);
    bool drops_queued = pool->end.mode != WEIR_END_DRAIN;
    struct weir_item *first;
    weir_envelope *envelope;
    while (drops_queued && (first = weiri_core_first(&pool->core)) != NULL) {
        weiri_ended_drop_locked(pool, weiri_envelope_of(first), reason, endings);
    }
    while (drops_queued && (envelope = weiri_group_oldest_locked(pool)) != NULL) {
        weiri_ended_drop_locked(pool, envelope, reason, endings);
    }
    while ((envelope = next_waiting_locked(pool)) != NULL) {
        weiri_ended_drop_locked(pool, envelope, reason, endings);
    }
}

static void cancel_runs_locked(weir_pool *pool) WEIRI_POOL_LOCKED
{
    for (struct weiri_worker *worker = pool->workers; worker != NULL; worker = worker->next) {
        if (worker->envelope != NULL) {
            weiri_context_cancel_locked(&worker->context);
        }
    }
}

/* Ends a pool in any state but terminated, as far as this call wants. */
static void close_locked(weir_pool *pool, struct weiri_end request) WEIRI_POOL_LOCKED
{
    struct weiri_endings endings;
    weiri_endings_init(&endings);
    pool->end = weiri_end_merge(pool->end, request);
    /* What comes later, perhaps before a caller that waits is awake, ended no run. */
    pool->ended_as = pool->working > 0 ? pool->end.mode : pool->ended_as;
    pool->state = WEIR_POOL_STATE_STOPPING;
    weiri_pool_show_end_locked(pool);
    atomic_store_explicit(&pool->coalesces, false, memory_order_release);
    pool->leavers = 0;
    pool->busy++;
    if (pool->end.mode == WEIR_END_DRAIN) {
        pool->is_paused = false;
    } else if (pool->end.mode >= WEIR_END_STOP) {
        cancel_runs_locked(pool);
    }
    if (!pool->end.keeps) {
        drop_rest_locked(pool, &endings);
    }
    weiri_waiters_wake_all(&pool->sleepers);
    weiri_ended_tell_locked(pool, &endings);
    weiri_pool_leave_locked(pool);
}

/* Whether the call has something to do in this state. *ret_status: its answer if not. */
static bool is_to_close_locked(weir_pool *pool, struct weiri_end request, bool waits,
                               enum weir_status *ret_status) WEIRI_POOL_LOCKED
{
    enum weir_pool_state state = pool->state;
    bool is_termination = request.mode == WEIR_END_TERMINATE;
    bool is_refused = (waits && weiri_pool_needs_caller_locked(pool)) ||
                      (state == WEIR_POOL_STATE_INIT && !is_termination);
    *ret_status = is_refused ? WEIR_ESTATE : WEIR_OK;
    if (is_refused || state == WEIR_POOL_STATE_TERMINATED) {
        return false;
    }
    return state != WEIR_POOL_STATE_STOPPED || is_termination ||
           (pool->end.keeps && !request.keeps);
}

/* Waits until no worker has a thread. False: the limit has passed. */
static bool await_end_locked(weir_pool *pool, int64_t limit_ns) WEIRI_POOL_LOCKED
{
    while (pool->state == WEIR_POOL_STATE_STOPPING) {
        if (!weiri_pool_wait_locked(pool, limit_ns)) {
            return false;
        }
    }
    (void)weiri_threads_join_locked(pool);
    return true;
}

/* What still runs, in the order in which it was started. */
struct running {
    size_t count;
    size_t length; /* of the names; more than their space if some are left out */
    char names[128];
};

static void find_running_locked(const weir_pool *pool, struct running *running)
    WEIRI_REQUIRES(pool->mutex)
{
    *running = (struct running){.count = 0};
    for (struct weir_item *item = pool->core.first_processing; item != NULL;
         item = item->weir_next) {
        const weir_envelope *envelope = weiri_envelope_of(item);
        if (running->length < sizeof(running->names)) {
            int more =
                snprintf(running->names + running->length, sizeof(running->names) - running->length,
                         "%s%" PRIu64 " %s", running->count == 0 ? "" : ", ", envelope->options.id,
                         envelope->options.type);
            running->length += more > 0 ? (size_t)more : 0;
        }
        running->count++;
    }
}

static enum weir_status end(weir_pool *pool, struct weiri_end request, int64_t timeout_ns)
{
    struct running running;
    enum weir_status status;
    int64_t limit_ns = weiri_clock_limit(pool->options.clock, timeout_ns);
    bool waits = limit_ns != WEIRI_AT_ONCE;
    weiri_pool_lock(pool);
    /* Counted before the mutex is released for the first time: no start comes between the close and
     * the wait, so that the answer is about this end. */
    pool->enders += waits;
    if (is_to_close_locked(pool, request, waits, &status)) {
        close_locked(pool, request);
    }
    if (status == WEIR_OK && waits && !await_end_locked(pool, limit_ns)) {
        status = WEIR_ETIMEDOUT;
        find_running_locked(pool, &running);
    } else if (status == WEIR_OK) {
        status = weiri_end_answer(request.mode, pool->ended_as);
    }
    pool->enders -= waits;
    weiri_pool_announce_locked(pool);
    weiri_pool_unlock(pool);
    if (status == WEIR_ETIMEDOUT) {
        weiri_pool_log(pool, WEIR_LOG_WARNING, "pool not stopped yet: %zu still running: %s%s",
                       running.count, running.names,
                       running.length < sizeof(running.names) ? "" : "...");
    }
    return status;
}

enum weir_status weir_pool_end(weir_pool *pool, enum weir_end_mode mode, uint32_t flags,
                               int64_t timeout_ns)
{
    struct weiri_end request = {mode, (flags & (uint32_t)WEIR_END_KEEP) != 0};
    enum weir_status status = weiri_pool_check(pool);
    if (status == WEIR_OK &&
        ((uint32_t)mode > WEIR_END_TERMINATE || (flags & ~(uint32_t)WEIR_END_KEEP) != 0 ||
         (request.keeps && mode == WEIR_END_TERMINATE))) {
        status = WEIR_EINVAL;
    }
    return status == WEIR_OK ? end(pool, request, timeout_ns) : status;
}

enum weir_status weir_pool_fd(weir_pool *pool, int *ret_fd)
{
    enum weir_status status = ret_fd == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    status = weiri_event_fd_open(&pool->fd, &pool->mutex, ret_fd);
    weiri_pool_lock(pool);
    weiri_pool_show_end_locked(pool);
    weiri_pool_unlock(pool);
    return status;
}

/* Leaves a stopped pool alone: a stop would drop the envelopes that it keeps. A pool of a cancelled
 * scope does not start any more. */
void weiri_pool_on_cancel(struct weiri_membership *membership)
{
    weir_pool *pool = WEIRI_CONTAINER(membership, struct weir_pool, membership);
    enum weir_pool_state state = weir_pool_state(pool);
    if (state == WEIR_POOL_STATE_RUNNING || state == WEIR_POOL_STATE_STOPPING) {
        enum weir_status status = weir_pool_end(pool, WEIR_END_STOP, 0, 0);
        WEIRI_ASSERT(status == WEIR_OK);
    }
}
