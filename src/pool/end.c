/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Drain, stop, terminate. */

#include <inttypes.h>
#include <stdio.h>

#include "base/options.h"
#include "base/time.h"
#include "pool/workers.h"
#include "queue/close.h"

_Static_assert(offsetof(struct weir_end_options, running_arg) + sizeof(void *) ==
                   sizeof(struct weir_end_options),
               "no padding at the end of an options struct");

#define FLAGS_KNOWN ((uint32_t)(WEIR_END_NO_WAIT | WEIR_END_KEEP))

/* What one call wants. */
struct wish {
    enum weir_end_mode mode;
    bool keeps;
    bool waits;
    int64_t limit_ns; /* WEIR_FOREVER: none */
    weir_running_fn *running;
    void *running_arg;
};

enum weir_drop_reason weiri_pool_drop_reason(weir_pool *pool)
{
    weiri_mutex_lock(&pool->mutex);
    enum weir_drop_reason reason = pool->reason;
    weiri_mutex_unlock(&pool->mutex);
    return reason;
}

#define MESSAGE_SIZE 256

static void log_end(weir_pool *pool, uint64_t dropped_before)
{
    struct weir_pool_counts counts;
    if (pool->log == NULL || weir_pool_count(pool, &counts) != WEIR_OK) {
        return;
    }
    char message[MESSAGE_SIZE];
    (void)snprintf(message, sizeof(message), "pool stopped: %" PRIu64 " runs, %" PRIu64 " dropped",
                   counts.runs, counts.dropped);
    pool->log(counts.dropped > dropped_before ? WEIR_LOG_WARNING : WEIR_LOG_INFO, message,
              pool->log_arg);
    weiri_mutex_lock(&pool->mutex);
    pool->dropped_before = counts.dropped;
    weiri_mutex_unlock(&pool->mutex);
}

void weiri_pool_leave(weir_pool *pool, struct weiri_worker *worker)
{
    weiri_mutex_lock(&pool->mutex);
    if (worker != NULL) {
        worker->is_working = false;
        worker->has_left = true;
    }
    bool is_last = --pool->busy == 0;
    bool has_run = pool->has_run;
    uint64_t dropped_before = pool->dropped_before;
    pool->is_changing = pool->is_changing || is_last;
    weiri_mutex_unlock(&pool->mutex);
    if (!is_last) {
        return;
    }
    if (has_run) {
        log_end(pool, dropped_before);
    }
    weiri_mutex_lock(&pool->mutex);
    pool->has_run = false;
    pool->is_changing = false;
    weiri_pool_set_state_locked(pool, pool->is_terminating ? WEIR_POOL_STATE_TERMINATED
                                                           : WEIR_POOL_STATE_STOPPED);
    weiri_mutex_unlock(&pool->mutex);
}

/* What is dropped from now on is dropped for the strongest of those who wanted it dropped. */
static void note_reason_locked(weir_pool *pool, const struct wish *wish) WEIRI_REQUIRES(pool->mutex)
{
    static const enum weir_drop_reason reasons[] = {
        [WEIR_END_DRAIN] = WEIR_DROP_DRAINED,
        [WEIR_END_STOP] = WEIR_DROP_STOPPED,
        [WEIR_END_TERMINATE] = WEIR_DROP_TERMINATED,
    };
    bool is_stronger = wish->mode != WEIR_END_DRAIN && pool->reason != WEIR_DROP_TERMINATED;
    if (!wish->keeps && (pool->keeps || is_stronger)) {
        pool->reason = reasons[wish->mode];
    }
    pool->keeps = pool->keeps && wish->keeps;
    pool->is_terminating = pool->is_terminating || wish->mode == WEIR_END_TERMINATE;
}

/* Closes a pool that runs, or that others are closing, as far as is wished. */
static void close_running_locked(weir_pool *pool, const struct wish *wish)
    WEIRI_REQUIRES(pool->mutex)
{
    bool is_stop = wish->mode != WEIR_END_DRAIN;
    note_reason_locked(pool, wish);
    pool->is_stop = pool->is_stop || is_stop;
    pool->busy++;
    if (pool->state == WEIR_POOL_STATE_RUNNING) {
        weiri_pool_set_state_locked(pool, WEIR_POOL_STATE_STOPPING);
    }
    weiri_mutex_unlock(&pool->mutex);
    weiri_queue_close(pool->queue, is_stop ? WEIRI_CLOSE_STOP : WEIRI_CLOSE_DRAIN, wish->keeps);
    if (is_stop) {
        /* Sends are refused by now: a task that learns of its cancellation cannot bring itself
         * back. */
        weiri_scope_cancel(&pool->scope);
    }
    weiri_pool_sweep(pool);
    weiri_pool_leave(pool, NULL);
    weiri_mutex_lock(&pool->mutex);
}

/* Drops what a pool without workers holds. It is stopping meanwhile, as one that has some: were the
 * state in hand, a dropped function could not call the pool. */
static void close_idle_locked(weir_pool *pool, const struct wish *wish) WEIRI_REQUIRES(pool->mutex)
{
    note_reason_locked(pool, wish);
    pool->busy++;
    weiri_pool_set_state_locked(pool, WEIR_POOL_STATE_STOPPING);
    weiri_mutex_unlock(&pool->mutex);
    weiri_queue_close(pool->queue, WEIRI_CLOSE_STOP, false);
    weiri_pool_sweep(pool);
    weiri_pool_leave(pool, NULL);
    weiri_mutex_lock(&pool->mutex);
}

static enum weir_status close_locked(weir_pool *pool, const struct wish *wish)
    WEIRI_REQUIRES(pool->mutex)
{
    weiri_pool_settle_locked(pool);
    if (wish->waits && weiri_pool_self_locked(pool) != NULL) {
        return WEIR_ESTATE;
    }
    bool is_termination = wish->mode == WEIR_END_TERMINATE;
    switch (pool->state) {
    case WEIR_POOL_STATE_RUNNING:
    case WEIR_POOL_STATE_STOPPING:
        close_running_locked(pool, wish);
        return WEIR_OK;
    case WEIR_POOL_STATE_INIT:
        if (!is_termination) {
            return WEIR_ESTATE;
        }
        close_idle_locked(pool, wish);
        return WEIR_OK;
    case WEIR_POOL_STATE_STOPPED:
        if (is_termination || (pool->keeps && !wish->keeps)) {
            close_idle_locked(pool, wish);
        }
        return WEIR_OK;
    case WEIR_POOL_STATE_TERMINATED:
        break;
    }
    return WEIR_OK;
}

/* Steps of a manual clock, for a thread that waits with a limit. */
struct waiter {
    struct weiri_clock_user user;
    weir_pool *pool;
};

static void on_step(struct weiri_clock_user *user)
{
    weir_pool *pool = WEIRI_CONTAINER(user, struct waiter, user)->pool;
    weiri_mutex_lock(&pool->mutex);
    weiri_cond_broadcast(&pool->changed);
    weiri_mutex_unlock(&pool->mutex);
}

/* Waits until no worker has a thread. False: the limit has passed. */
static bool await_end_locked(weir_pool *pool, int64_t limit_ns) WEIRI_REQUIRES(pool->mutex)
{
    bool is_late = false;
    while (pool->state == WEIR_POOL_STATE_STOPPING && !is_late) {
        if (limit_ns == WEIR_FOREVER) {
            weiri_cond_wait(&pool->changed);
        } else if (weir_clock_now(pool->scope.clock) >= limit_ns) {
            is_late = true;
        } else {
            (void)weiri_cond_wait_until(&pool->changed,
                                        weiri_clock_wait_limit(pool->scope.clock, limit_ns));
        }
    }
    if (!is_late) {
        weiri_workers_join_locked(pool);
    }
    return !is_late;
}

static void hold_envelope(struct weir_item *item)
{
    (void)weir_envelope_ref(weiri_envelope_of(item));
}

/* Tells what still runs, in the order in which it was begun. */
static void name_running(weir_pool *pool, const struct wish *wish)
{
    char names[MESSAGE_SIZE / 2] = "";
    size_t length = 0;
    size_t count = 0;
    uint64_t ticket = 0;
    for (struct weir_item *item = weiri_queue_next_processing(pool->queue, &ticket, hold_envelope);
         item != NULL; item = weiri_queue_next_processing(pool->queue, &ticket, hold_envelope)) {
        weir_envelope *envelope = weiri_envelope_of(item);
        count++;
        if (length < sizeof(names)) {
            int more = snprintf(names + length, sizeof(names) - length, "%s%" PRIu64 " %s",
                                count == 1 ? "" : ", ", weir_envelope_id(envelope),
                                weir_envelope_type(envelope));
            length += more > 0 ? (size_t)more : 0;
        }
        if (wish->running != NULL) {
            wish->running(envelope, wish->running_arg);
        }
        weir_envelope_unref(envelope);
    }
    if (pool->log != NULL) {
        char message[MESSAGE_SIZE];
        (void)snprintf(message, sizeof(message), "pool not stopped yet: %zu still running: %s%s",
                       count, names, length < sizeof(names) ? "" : "...");
        pool->log(WEIR_LOG_WARNING, message, pool->log_arg);
    }
}

static enum weir_status end(weir_pool *pool, const struct wish *wish)
{
    weiri_mutex_lock(&pool->mutex);
    /* Counted before the mutex is let go for the first time: no start comes between the close and
     * the wait, and what is said at the end is of this end. */
    pool->waiting += wish->waits;
    enum weir_status status = close_locked(pool, wish);
    bool is_late = status == WEIR_OK && wish->waits && !await_end_locked(pool, wish->limit_ns);
    if (status == WEIR_OK && pool->is_stop && wish->mode == WEIR_END_DRAIN) {
        status = WEIR_ECANCELED;
    }
    pool->waiting -= wish->waits;
    weiri_cond_broadcast(&pool->changed);
    weiri_mutex_unlock(&pool->mutex);
    if (is_late) {
        name_running(pool, wish);
        status = WEIR_ETIMEDOUT;
    }
    return status;
}

static enum weir_status normalize(struct weir_end_options *dst, const struct weir_end_options *src)
{
    if (weiri_options_copy(dst, sizeof(*dst), src) != WEIR_OK || dst->mode > WEIR_END_TERMINATE ||
        (dst->flags & ~FLAGS_KNOWN) != 0) {
        return WEIR_EINVAL;
    }
    bool keeps = (dst->flags & WEIR_END_KEEP) != 0;
    bool has_limit = dst->wait_ns != 0 || dst->running != NULL;
    if ((keeps && dst->mode == WEIR_END_TERMINATE) ||
        (has_limit && (dst->flags & WEIR_END_NO_WAIT) != 0)) {
        return WEIR_EINVAL;
    }
    return dst->wait_ns >= 0 ? WEIR_OK : WEIR_ERANGE;
}

enum weir_status weir_pool_end(weir_pool *pool, const struct weir_end_options *given)
{
    struct weir_end_options options;
    enum weir_status status = weiri_pool_check(pool);
    if (status == WEIR_OK) {
        status = normalize(&options, given);
    }
    if (status != WEIR_OK) {
        return status;
    }
    struct wish wish = {
        .mode = (enum weir_end_mode)options.mode,
        .keeps = (options.flags & WEIR_END_KEEP) != 0,
        .waits = (options.flags & WEIR_END_NO_WAIT) == 0,
        .limit_ns = WEIR_FOREVER,
        .running = options.running,
        .running_arg = options.running_arg,
    };
    if (options.wait_ns == 0) {
        return end(pool, &wish);
    }
    weir_clock *clock = pool->scope.clock;
    struct waiter waiter = {.user.on_step = on_step, .pool = pool};
    wish.limit_ns = weiri_time_add(weir_clock_now(clock), options.wait_ns);
    weiri_clock_attach(clock, &waiter.user);
    status = end(pool, &wish);
    weiri_clock_detach(clock, &waiter.user);
    return status;
}

static enum weir_status end_simply(weir_pool *pool, enum weir_end_mode mode)
{
    struct wish wish = {.mode = mode, .waits = true, .limit_ns = WEIR_FOREVER};
    enum weir_status status = weiri_pool_check(pool);
    return status == WEIR_OK ? end(pool, &wish) : status;
}

enum weir_status weir_pool_drain(weir_pool *pool)
{
    return end_simply(pool, WEIR_END_DRAIN);
}

enum weir_status weir_pool_stop(weir_pool *pool)
{
    return end_simply(pool, WEIR_END_STOP);
}

enum weir_status weir_pool_terminate(weir_pool *pool)
{
    return end_simply(pool, WEIR_END_TERMINATE);
}
