/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Drain, stop, terminate.
 *
 * Several threads may end a pool at once. Each notes its request, and drops the envelopes that are
 * not kept. Until then the thread counts as busy, as a worker does until it has left.
 * The strongest request counts. The last busy thread makes the pool stopped. So a stopped pool runs
 * nothing, holds only kept envelopes, and has reported all ends. */

#include <inttypes.h>
#include <stdio.h>

#include "base/panic.h"
#include "pool/ended.h"
#include "pool/group.h"

#define FLAGS_KNOWN ((uint32_t)(WEIR_END_NO_WAIT | WEIR_END_KEEP))

/* The options of a call are its request. */
static bool keeps(const struct weir_end_options *request)
{
    return (request->flags & (uint32_t)WEIR_END_KEEP) != 0;
}

static bool waits(const struct weir_end_options *request)
{
    return (request->flags & (uint32_t)WEIR_END_NO_WAIT) == 0;
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
        pool->state = pool->is_terminating ? WEIR_POOL_STATE_TERMINATED : WEIR_POOL_STATE_STOPPED;
    }
    weiri_pool_announce_locked(pool);
}

/* The strongest request without WEIR_END_KEEP is the reason of drops. */
static void note_request_locked(weir_pool *pool,
                                const struct weir_end_options *request) WEIRI_POOL_LOCKED
{
    static const enum weir_ended_reason reasons[] = {
        [WEIR_END_DRAIN] = WEIR_ENDED_DRAINED,
        [WEIR_END_STOP] = WEIR_ENDED_STOPPED,
        [WEIR_END_TERMINATE] = WEIR_ENDED_TERMINATED,
    };
    bool is_stronger = request->mode != WEIR_END_DRAIN && pool->reason != WEIR_ENDED_TERMINATED;
    if (!keeps(request) && (pool->keeps || is_stronger)) {
        pool->reason = reasons[request->mode];
    }
    pool->keeps = pool->keeps && keeps(request);
    pool->is_terminating = pool->is_terminating || request->mode == WEIR_END_TERMINATE;
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
static void drop_rest_locked(weir_pool *pool, bool drops_queued,
                             struct weiri_endings *endings) WEIRI_POOL_LOCKED
{
    struct weir_item *first;
    weir_envelope *envelope;
    while (drops_queued && (first = weiri_core_first(&pool->core)) != NULL) {
        weiri_ended_drop_locked(pool, weiri_envelope_of(first), pool->reason, endings);
    }
    while (drops_queued && (envelope = weiri_group_oldest_locked(pool)) != NULL) {
        weiri_ended_drop_locked(pool, envelope, pool->reason, endings);
    }
    while ((envelope = next_waiting_locked(pool)) != NULL) {
        weiri_ended_drop_locked(pool, envelope, pool->reason, endings);
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
static void close_locked(weir_pool *pool, const struct weir_end_options *request) WEIRI_POOL_LOCKED
{
    struct weiri_endings endings;
    bool has_workers =
        pool->state == WEIR_POOL_STATE_RUNNING || pool->state == WEIR_POOL_STATE_STOPPING;
    weiri_endings_init(&endings);
    note_request_locked(pool, request);
    pool->is_stop = pool->is_stop || (has_workers && request->mode != WEIR_END_DRAIN);
    pool->state = WEIR_POOL_STATE_STOPPING;
    atomic_store_explicit(&pool->coalesces, false, memory_order_release);
    pool->leavers = 0;
    pool->busy++;
    if (pool->is_stop) {
        cancel_runs_locked(pool);
    } else {
        pool->is_paused = false;
    }
    if (!pool->keeps) {
        drop_rest_locked(pool, pool->is_stop || !has_workers, &endings);
    }
    weiri_waiters_wake_all(&pool->sleepers);
    weiri_ended_tell_locked(pool, &endings);
    weiri_pool_leave_locked(pool);
}

/* Whether the call has something to do in this state. *ret_status: its answer if not. */
static bool is_to_close_locked(weir_pool *pool, const struct weir_end_options *request,
                               enum weir_status *ret_status) WEIRI_POOL_LOCKED
{
    enum weir_pool_state state = pool->state;
    bool is_termination = request->mode == WEIR_END_TERMINATE;
    bool is_refused = (waits(request) && weiri_pool_needs_caller_locked(pool)) ||
                      (state == WEIR_POOL_STATE_INIT && !is_termination);
    *ret_status = is_refused ? WEIR_ESTATE : WEIR_OK;
    if (is_refused || state == WEIR_POOL_STATE_TERMINATED) {
        return false;
    }
    return state != WEIR_POOL_STATE_STOPPED || is_termination || (pool->keeps && !keeps(request));
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

#define NAMES_SIZE 128

/* The running envelope that was started first after *ticket, with a reference; NULL: none. */
static weir_envelope *next_running(weir_pool *pool, uint64_t *ticket)
{
    weir_envelope *envelope = NULL;
    weiri_pool_lock(pool);
    struct weir_item *item = pool->core.first_processing;
    while (item != NULL && item->weir_position <= *ticket) {
        item = item->weir_next;
    }
    if (item != NULL) {
        *ticket = item->weir_position;
        envelope = weir_envelope_ref(weiri_envelope_of(item));
    }
    weiri_pool_unlock(pool);
    return envelope;
}

/* Tells the user what still runs, in the order in which it was started. */
static void name_running(weir_pool *pool, const struct weir_end_options *request)
{
    char names[NAMES_SIZE] = "";
    size_t length = 0;
    size_t count = 0;
    uint64_t ticket = 0;
    for (weir_envelope *envelope = next_running(pool, &ticket); envelope != NULL;
         envelope = next_running(pool, &ticket)) {
        if (length < sizeof(names)) {
            int more =
                snprintf(names + length, sizeof(names) - length, "%s%" PRIu64 " %s",
                         count == 0 ? "" : ", ", envelope->options.id, envelope->options.type);
            length += more > 0 ? (size_t)more : 0;
        }
        count++;
        if (request->running != NULL) {
            request->running(envelope, request->running_arg);
        }
        weir_envelope_unref(envelope);
    }
    weiri_pool_log(pool, WEIR_LOG_WARNING, "pool not stopped yet: %zu still running: %s%s", count,
                   names, length < sizeof(names) ? "" : "...");
}

static enum weir_status end(weir_pool *pool, const struct weir_end_options *request)
{
    enum weir_status status;
    weiri_pool_lock(pool);
    /* Counted before the mutex is released for the first time: no start comes between the close and
     * the wait, so that the answer is about this end. */
    pool->enders += waits(request);
    if (is_to_close_locked(pool, request, &status)) {
        close_locked(pool, request);
    }
    bool is_late =
        status == WEIR_OK && waits(request) && !await_end_locked(pool, request->limit_ns);
    if (status == WEIR_OK && pool->is_stop && request->mode == WEIR_END_DRAIN) {
        status = WEIR_ECANCELED;
    }
    pool->enders -= waits(request);
    weiri_pool_announce_locked(pool);
    weiri_pool_unlock(pool);
    if (is_late) {
        name_running(pool, request);
        status = WEIR_ETIMEDOUT;
    }
    return status;
}

static enum weir_status normalize(struct weir_end_options *dst, const struct weir_end_options *src)
{
    *dst = src != NULL ? *src : (struct weir_end_options){0};
    if (dst->mode > WEIR_END_TERMINATE || (dst->flags & ~FLAGS_KNOWN) != 0) {
        return WEIR_EINVAL;
    }
    bool has_limit = dst->limit_ns != 0 || dst->running != NULL;
    if ((keeps(dst) && dst->mode == WEIR_END_TERMINATE) || (has_limit && !waits(dst))) {
        return WEIR_EINVAL;
    }
    if (dst->limit_ns < 0) {
        return WEIR_ERANGE;
    }
    dst->limit_ns = dst->limit_ns == 0 ? WEIR_FOREVER : dst->limit_ns;
    return WEIR_OK;
}

enum weir_status weir_pool_end(weir_pool *pool, const struct weir_end_options *given)
{
    struct weir_end_options options;
    enum weir_status status = weiri_pool_check(pool);
    if (status == WEIR_OK) {
        status = normalize(&options, given);
    }
    return status == WEIR_OK ? end(pool, &options) : status;
}

static enum weir_status end_as(weir_pool *pool, enum weir_end_mode mode, uint32_t flags)
{
    struct weir_end_options options = {0};
    options.mode = mode;
    options.flags = flags;
    return weir_pool_end(pool, &options);
}

enum weir_status weir_pool_drain(weir_pool *pool)
{
    return end_as(pool, WEIR_END_DRAIN, 0);
}

enum weir_status weir_pool_stop(weir_pool *pool)
{
    return end_as(pool, WEIR_END_STOP, 0);
}

enum weir_status weir_pool_terminate(weir_pool *pool)
{
    return end_as(pool, WEIR_END_TERMINATE, 0);
}

/* Leaves a stopped pool alone: a stop would drop the envelopes that it keeps. A pool of a cancelled
 * scope does not start any more. */
void weiri_pool_on_cancel(struct weiri_membership *membership)
{
    weir_pool *pool = WEIRI_CONTAINER(membership, struct weir_pool, membership);
    enum weir_pool_state state = weir_pool_state(pool);
    if (state == WEIR_POOL_STATE_RUNNING || state == WEIR_POOL_STATE_STOPPING) {
        enum weir_status status = end_as(pool, WEIR_END_STOP, WEIR_END_NO_WAIT);
        WEIRI_ASSERT(status == WEIR_OK);
    }
}
