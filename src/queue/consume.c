/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Handing out and ending. */

#include "queue/groups.h"

#include "queue/moves.h"
#include "queue/quick.h"

/* A limit that has always passed: do not sleep. */
#define AT_ONCE INT64_MIN

/* Hands out the next item, sleeping until there is one. */
static WEIRI_NOINLINE enum weir_status next_slow_locked(weir_queue *queue, int64_t limit_ns,
                                                        struct weir_work *ret_work)
    WEIRI_REQUIRES(queue->lock)
{
    for (;;) {
        if (queue->is_gated && weiri_queue_leave_locked(queue)) {
            return WEIR_ECANCELED;
        }
        if (queue->shutting_down) {
            return WEIR_ESHUTDOWN;
        }
        if (limit_ns == AT_ONCE) {
            return WEIR_EAGAIN;
        }
        if (limit_ns != WEIR_FOREVER && weir_clock_now(queue->clock) >= limit_ns) {
            return WEIR_ETIMEDOUT;
        }
        if (weiri_queue_sleep_locked(queue, limit_ns) != WEIR_OK) {
            return WEIR_ENOMEM;
        }
        weiri_queue_pass_time_locked(queue);
        if (!queue->is_gated && weiri_core_next(&queue->core, ret_work)) {
            return WEIR_OK;
        }
    }
}

WEIRI_INLINE enum weir_status next_locked(weir_queue *queue, int64_t limit_ns,
                                          struct weir_work *ret_work) WEIRI_REQUIRES(queue->lock)
{
    weiri_queue_pass_time_locked(queue);
    if (!queue->is_gated && weiri_core_next(&queue->core, ret_work)) {
        return WEIR_OK;
    }
    return next_slow_locked(queue, limit_ns, ret_work);
}

static WEIRI_NOINLINE enum weir_status get_slow(weir_queue *queue, int64_t limit_ns,
                                                struct weir_work *ret_work)
    WEIRI_RELEASE(queue->lock)
{
    enum weir_status status = next_locked(queue, limit_ns, ret_work);
    weiri_queue_hand_over_timer_locked(queue);
    weiri_queue_unlock_moved(queue);
    return status;
}

/* The same in a ranked queue. */
static WEIRI_NOINLINE enum weir_status get_ranked(weir_queue *queue, int64_t limit_ns,
                                                  struct weir_work *ret_work)
    WEIRI_RELEASE(queue->lock)
{
    if (!WEIRI_LIKELY(weiri_quick_next(&queue->core, ret_work, WEIRI_RANKED))) {
        return get_slow(queue, limit_ns, ret_work);
    }
    weiri_queue_unlock_moved(queue);
    return WEIR_OK;
}

/* The same in any queue but a plain one that can be short. */
static WEIRI_NOINLINE enum weir_status get_other(weir_queue *queue, int64_t limit_ns,
                                                 struct weir_work *ret_work)
    WEIRI_RELEASE(queue->lock)
{
    return queue->is_ranked ? get_ranked(queue, limit_ns, ret_work)
                            : get_slow(queue, limit_ns, ret_work);
}

/* The same where weiri_lock_enter() has not taken the lock. */
static WEIRI_NOINLINE enum weir_status get_after(weir_queue *queue, int64_t limit_ns,
                                                 struct weir_work *ret_work, uint32_t entry)
{
    weiri_lock_lock_after(&queue->lock, entry);
    if (!WEIRI_LIKELY(queue->is_plain && weiri_quick_next(&queue->core, ret_work, WEIRI_FIFO))) {
        return get_other(queue, limit_ns, ret_work);
    }
    weiri_queue_unlock_moved(queue);
    return WEIR_OK;
}

WEIRI_INLINE enum weir_status get(weir_queue *queue, int64_t limit_ns, struct weir_work *ret_work)
{
    if (!weiri_queue_is_one(queue) || !WEIRI_LIKELY(ret_work != NULL)) {
        return weiri_queue_refusal(queue);
    }
    uint32_t entry = weiri_lock_enter(&queue->lock);
    if (!WEIRI_LIKELY(weiri_lock_has_entered(&queue->lock, entry))) {
        return get_after(queue, limit_ns, ret_work, entry);
    }
    if (!WEIRI_LIKELY(queue->is_quiet && weiri_quick_next(&queue->core, ret_work, WEIRI_FIFO))) {
        return get_other(queue, limit_ns, ret_work);
    }
    return weiri_lock_leave(&queue->lock, entry);
}

enum weir_status weir_queue_get(weir_queue *queue, struct weir_work *ret_work)
{
    return get(queue, WEIR_FOREVER, ret_work);
}

enum weir_status weir_queue_try_get(weir_queue *queue, struct weir_work *ret_work)
{
    return get(queue, AT_ONCE, ret_work);
}

/* The limit that means "do not sleep" has passed like any other in the past, but has its own
 * answer.
 */
static int64_t until(int64_t limit_ns)
{
    return limit_ns == AT_ONCE ? AT_ONCE + 1 : limit_ns;
}

enum weir_status weir_queue_get_until(weir_queue *queue, int64_t limit_ns,
                                      struct weir_work *ret_work)
{
    return get(queue, until(limit_ns), ret_work);
}

static enum weir_status get_batch(weir_queue *queue, int64_t limit_ns, struct weir_work *ret_work,
                                  size_t size, size_t *ret_count)
{
    enum weir_status status = weiri_queue_check(queue);
    if (status != WEIR_OK || ret_work == NULL || size == 0 || ret_count == NULL) {
        return weiri_queue_refusal(queue);
    }
    weiri_queue_lock(queue);
    size_t count = queue->is_quiet ? weiri_quick_next_batch(&queue->core, ret_work, size) : 0;
    if (count == 0) {
        status = next_locked(queue, limit_ns, &ret_work[0]);
        count = status == WEIR_OK;
    }
    if (status == WEIR_OK) {
        while (count < size && weiri_core_next(&queue->core, &ret_work[count])) {
            count++;
        }
        *ret_count = count;
    }
    weiri_queue_hand_over_timer_locked(queue);
    weiri_queue_unlock_moved(queue);
    return status;
}

enum weir_status weir_queue_get_batch(weir_queue *queue, struct weir_work *ret_work, size_t size,
                                      size_t *ret_count)
{
    return get_batch(queue, WEIR_FOREVER, ret_work, size, ret_count);
}

enum weir_status weir_queue_try_get_batch(weir_queue *queue, struct weir_work *ret_work,
                                          size_t size, size_t *ret_count)
{
    return get_batch(queue, AT_ONCE, ret_work, size, ret_count);
}

enum weir_status weir_queue_get_batch_until(weir_queue *queue, int64_t limit_ns,
                                            struct weir_work *ret_work, size_t size,
                                            size_t *ret_count)
{
    return get_batch(queue, until(limit_ns), ret_work, size, ret_count);
}

/* Ends one processing and sees to what follows from it. */
WEIRI_INLINE enum weir_status done_locked(weir_queue *queue, const struct weir_work *work,
                                          struct weiri_ended *ret_ended) WEIRI_REQUIRES(queue->lock)
{
    weiri_queue_pass_time_locked(queue);
    enum weir_status status = weiri_core_done(&queue->core, work, ret_ended);
    if (status == WEIR_OK) {
        if (queue->groups != NULL) {
            weiri_queue_ended_locked(queue, work->item);
        }
        weiri_queue_tell_drains_locked(queue);
    }
    return status;
}

static WEIRI_NOINLINE enum weir_status done_slow(weir_queue *queue, const struct weir_work *work,
                                                 bool *ret_left) WEIRI_RELEASE(queue->lock)
{
    struct weiri_ended ended = {.has_left = false};
    enum weir_status status = done_locked(queue, work, &ended);
    weiri_queue_unlock_moved(queue);
    if (ret_left != NULL) {
        *ret_left = ended.has_left;
    }
    return status;
}

static WEIRI_NOINLINE enum weir_status done_ranked(weir_queue *queue, const struct weir_work *work,
                                                   bool *ret_left) WEIRI_RELEASE(queue->lock)
{
    if (!WEIRI_LIKELY(weiri_quick_done_any(&queue->core, work, ret_left, WEIRI_RANKED))) {
        return done_slow(queue, work, ret_left);
    }
    weiri_queue_unlock_moved(queue);
    return WEIR_OK;
}

static WEIRI_NOINLINE enum weir_status done_plain(weir_queue *queue, const struct weir_work *work,
                                                  bool *ret_left) WEIRI_RELEASE(queue->lock)
{
    if (!WEIRI_LIKELY(weiri_quick_done_any(&queue->core, work, ret_left, WEIRI_FIFO))) {
        return done_slow(queue, work, ret_left);
    }
    weiri_queue_unlock_moved(queue);
    return WEIR_OK;
}

/* In any queue. */
static WEIRI_NOINLINE enum weir_status done_other(weir_queue *queue, const struct weir_work *work,
                                                  bool *ret_left) WEIRI_RELEASE(queue->lock)
{
    if (queue->is_plain) {
        return done_plain(queue, work, ret_left);
    }
    return queue->is_ranked ? done_ranked(queue, work, ret_left) : done_slow(queue, work, ret_left);
}

static WEIRI_NOINLINE enum weir_status done_after(weir_queue *queue, const struct weir_work *work,
                                                  bool *ret_left, uint32_t entry)
{
    weiri_lock_lock_after(&queue->lock, entry);
    return done_other(queue, work, ret_left);
}

/* Compiled for either kind of work, as the add is; so is what follows. */
WEIRI_INLINE enum weir_status done(weir_queue *queue, const struct weir_work *work,
                                   const enum weiri_quick_kind kind, bool *ret_left)
{
    uint32_t entry = weiri_lock_enter(&queue->lock);
    if (!WEIRI_LIKELY(weiri_lock_has_entered(&queue->lock, entry))) {
        return done_after(queue, work, ret_left, entry);
    }
    if (!WEIRI_LIKELY(queue->is_quiet &&
                      weiri_quick_done(&queue->core, work, kind, ret_left, WEIRI_FIFO))) {
        return done_other(queue, work, ret_left);
    }
    return weiri_lock_leave(&queue->lock, entry);
}

static WEIRI_NOINLINE enum weir_status done_bytes(weir_queue *queue, const struct weir_work *work,
                                                  bool *ret_left)
{
    return done(queue, work, WEIRI_QUICK_ALONE, ret_left);
}

WEIRI_INLINE enum weir_status done_any(weir_queue *queue, const struct weir_work *work,
                                       bool *ret_left)
{
    if (!weiri_queue_is_one(queue) || !WEIRI_LIKELY(work != NULL)) {
        return weiri_queue_refusal(queue);
    }
    return work->item != NULL ? done(queue, work, WEIRI_QUICK_ITEM, ret_left)
                              : done_bytes(queue, work, ret_left);
}

enum weir_status weiri_queue_done_left(weir_queue *queue, const struct weir_work *work,
                                       bool *ret_left)
{
    return done_any(queue, work, ret_left);
}

enum weir_status weir_queue_done(weir_queue *queue, const struct weir_work *work)
{
    return done_any(queue, work, NULL);
}

static WEIRI_NOINLINE enum weir_status done_get_slow(weir_queue *queue, int64_t limit_ns,
                                                     struct weir_work *work, bool *ret_left)
    WEIRI_RELEASE(queue->lock)
{
    struct weiri_ended ended;
    enum weir_status status = done_locked(queue, work, &ended);
    if (status == WEIR_OK) {
        if (ret_left != NULL) {
            *ret_left = ended.has_left;
        }
        /* done_locked() has let the time pass. */
        status = !queue->is_gated && weiri_core_next(&queue->core, work)
                     ? WEIR_OK
                     : next_slow_locked(queue, limit_ns, work);
        weiri_queue_hand_over_timer_locked(queue);
    }
    weiri_queue_unlock_moved(queue);
    return status;
}

static WEIRI_NOINLINE enum weir_status done_get_ranked(weir_queue *queue, int64_t limit_ns,
                                                       struct weir_work *work, bool *ret_left)
    WEIRI_RELEASE(queue->lock)
{
    if (!WEIRI_LIKELY(weiri_quick_done_any(&queue->core, work, ret_left, WEIRI_RANKED))) {
        return done_get_slow(queue, limit_ns, work, ret_left);
    }
    return get_ranked(queue, limit_ns, work);
}

static WEIRI_NOINLINE enum weir_status done_get_plain(weir_queue *queue, int64_t limit_ns,
                                                      struct weir_work *work, bool *ret_left)
    WEIRI_RELEASE(queue->lock)
{
    if (!WEIRI_LIKELY(weiri_quick_done_any(&queue->core, work, ret_left, WEIRI_FIFO))) {
        return done_get_slow(queue, limit_ns, work, ret_left);
    }
    if (!weiri_quick_next(&queue->core, work, WEIRI_FIFO)) {
        return get_slow(queue, limit_ns, work);
    }
    weiri_queue_unlock_moved(queue);
    return WEIR_OK;
}

/* In any queue. */
static WEIRI_NOINLINE enum weir_status done_get_other(weir_queue *queue, int64_t limit_ns,
                                                      struct weir_work *work, bool *ret_left)
    WEIRI_RELEASE(queue->lock)
{
    if (queue->is_plain) {
        return done_get_plain(queue, limit_ns, work, ret_left);
    }
    return queue->is_ranked ? done_get_ranked(queue, limit_ns, work, ret_left)
                            : done_get_slow(queue, limit_ns, work, ret_left);
}

static WEIRI_NOINLINE enum weir_status done_get_after(weir_queue *queue, int64_t limit_ns,
                                                      struct weir_work *work, bool *ret_left,
                                                      uint32_t entry)
{
    weiri_lock_lock_after(&queue->lock, entry);
    return done_get_other(queue, limit_ns, work, ret_left);
}

/* Ends work and gets the next into it, of whichever kind; limit as for next_locked(). */
WEIRI_INLINE enum weir_status done_get(weir_queue *queue, int64_t limit_ns, struct weir_work *work,
                                       const enum weiri_quick_kind kind, bool *ret_left)
{
    uint32_t entry = weiri_lock_enter(&queue->lock);
    if (!WEIRI_LIKELY(weiri_lock_has_entered(&queue->lock, entry))) {
        return done_get_after(queue, limit_ns, work, ret_left, entry);
    }
    if (!WEIRI_LIKELY(queue->is_quiet &&
                      weiri_quick_done(&queue->core, work, kind, ret_left, WEIRI_FIFO))) {
        return done_get_other(queue, limit_ns, work, ret_left);
    }
    if (!weiri_quick_next(&queue->core, work, WEIRI_FIFO)) {
        return get_slow(queue, limit_ns, work);
    }
    return weiri_lock_leave(&queue->lock, entry);
}

static WEIRI_NOINLINE enum weir_status done_get_bytes(weir_queue *queue, int64_t limit_ns,
                                                      struct weir_work *work, bool *ret_left)
{
    return done_get(queue, limit_ns, work, WEIRI_QUICK_ALONE, ret_left);
}

WEIRI_INLINE enum weir_status done_get_any(weir_queue *queue, int64_t limit_ns,
                                           struct weir_work *work, bool *ret_left)
{
    if (!weiri_queue_is_one(queue) || !WEIRI_LIKELY(work != NULL)) {
        return weiri_queue_refusal(queue);
    }
    return work->item != NULL ? done_get(queue, limit_ns, work, WEIRI_QUICK_ITEM, ret_left)
                              : done_get_bytes(queue, limit_ns, work, ret_left);
}

enum weir_status weir_queue_done_get(weir_queue *queue, struct weir_work *work)
{
    return done_get_any(queue, WEIR_FOREVER, work, NULL);
}

enum weir_status weir_queue_done_try_get(weir_queue *queue, struct weir_work *work)
{
    return done_get_any(queue, AT_ONCE, work, NULL);
}

enum weir_status weir_queue_done_get_until(weir_queue *queue, int64_t limit_ns,
                                           struct weir_work *work)
{
    return done_get_any(queue, until(limit_ns), work, NULL);
}

enum weir_status weiri_queue_done_try_get(weir_queue *queue, struct weir_work *work, bool *ret_left)
{
    return done_get_any(queue, AT_ONCE, work, ret_left);
}

enum weir_status weir_queue_done_batch(weir_queue *queue, const struct weir_work *work,
                                       size_t count)
{
    enum weir_status status = weiri_queue_check(queue);
    if (status != WEIR_OK || (work == NULL && count > 0)) {
        return weiri_queue_refusal(queue);
    }
    weiri_queue_lock(queue);
    size_t left = count;
    if (queue->is_quiet) {
        left = weiri_quick_done_batch(&queue->core, work, count);
    } else {
        weiri_queue_pass_time_locked(queue);
    }
    WEIRI_ASSERT(left <= count);
    for (size_t i = 0; i < left; i++) {
        struct weiri_ended ended;
        if (weiri_core_done(&queue->core, &work[i], &ended) != WEIR_OK) {
            status = WEIR_ENOTPROCESSING;
        }
    }
    weiri_queue_tell_drains_locked(queue);
    weiri_queue_unlock_moved(queue);
    return status;
}
