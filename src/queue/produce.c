/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Adding, delaying, cancelling, rate limits. */

#include "queue/internal.h"

#include "base/options.h"
#include "base/time.h"
#include "queue/limiter.h"
#include "queue/moves.h"
#include "queue/quick.h"

#define FLAGS_REPLACE ((uint32_t)(WEIR_ADD_MOVE | WEIR_ADD_SUPERSEDE))
#define FLAGS_KNOWN (FLAGS_REPLACE | (uint32_t)WEIR_ADD_RATE_LIMITED)

/* How to add one item. */
struct order {
    int64_t delay_ns;
    const int64_t *now_ns; /* what the clock showed in this call; NULL: it was not read */
    int32_t priority;
    bool replaces; /* a pending time */
    bool is_retry; /* in the metrics */
};

/* To be called after the unlock of an add that came to this. */
static inline void touch(weir_queue *queue, struct weir_key key, bool was_queued)
{
    if (was_queued && queue->touch != NULL) {
        queue->touch(key, queue->touch_arg);
    }
}

static enum weir_status add_locked(weir_queue *queue, struct weir_key key,
                                   const struct order *order, int64_t now_ns,
                                   struct weiri_added *ret_added) WEIRI_REQUIRES(queue->lock)
{
    if (order->priority != 0 && !queue->core.ready.has_priorities) {
        return WEIR_EINVAL;
    }
    if (queue->shutting_down) {
        return WEIR_ESHUTDOWN;
    }
    if (order->delay_ns <= 0) {
        weiri_queue_pass_time_locked(queue);
        return weiri_core_add(&queue->core, key, order->replaces, order->priority, ret_added);
    }
    /* Others may have let more time pass since the clock was read. Nothing waits for a time before
     * what has passed: items come in the order of the times that they are queued since. */
    int64_t time_ns = weiri_time_add(now_ns, order->delay_ns);
    int64_t passed_ns = weiri_queue_pass_time_to_locked(queue, now_ns);
    time_ns = time_ns > passed_ns ? time_ns : passed_ns;
    enum weir_status status =
        weiri_core_wait(&queue->core, key, time_ns, order->replaces, order->priority, ret_added);
    if (status == WEIR_OK && ret_added->has_new_time && queue->core.delay.next_ns == time_ns) {
        weiri_queue_wake_timer_locked(queue);
    }
    return status;
}

/* The queue and the key have been checked. */
static enum weir_status add_checked(weir_queue *queue, struct weir_key key,
                                    const struct order *order, struct weiri_added *ret_added)
{
    int64_t now_ns = 0; /* of no interest to an add at once */
    if (order->delay_ns > 0) {
        now_ns = order->now_ns != NULL ? *order->now_ns : weir_clock_now(queue->clock);
    }
    weiri_queue_lock(queue);
    enum weir_status status = add_locked(queue, key, order, now_ns, ret_added);
    if (queue->core.meter != NULL && order->is_retry && status == WEIR_OK) {
        queue->core.meter->retries++;
    }
    weiri_queue_unlock(queue);
    touch(queue, key, status == WEIR_OK && ret_added->was_queued);
    return status;
}

static enum weir_status add(weir_queue *queue, struct weir_key key, const struct order *order,
                            struct weiri_added *ret_added)
{
    enum weir_status status = weiri_queue_check_call(queue, key);
    return status == WEIR_OK ? add_checked(queue, key, order, ret_added) : status;
}

/* As add() with nothing ordered but a priority, of what has been checked. */
static WEIRI_NOINLINE enum weir_status add_at_once_slow(weir_queue *queue, struct weir_key key,
                                                        int32_t priority) WEIRI_RELEASE(queue->lock)
{
    enum weir_status status = WEIR_ESHUTDOWN;
    struct weiri_added added = {.was_queued = false};
    if (priority != 0 && !queue->core.ready.has_priorities) {
        status = WEIR_EINVAL;
    } else if (!queue->shutting_down) {
        weiri_queue_pass_time_locked(queue);
        status = weiri_core_add(&queue->core, key, false, priority, &added);
    }
    weiri_queue_unlock_moved(queue);
    touch(queue, key, added.was_queued);
    return status;
}

/* The same in a ranked queue. */
static WEIRI_NOINLINE enum weir_status add_at_once_ranked(weir_queue *queue, struct weir_key key,
                                                          int32_t priority)
    WEIRI_RELEASE(queue->lock)
{
    if (!WEIRI_LIKELY(weiri_quick_add_any(&queue->core, key, priority, WEIRI_RANKED))) {
        return add_at_once_slow(queue, key, priority);
    }
    weiri_queue_unlock_moved(queue);
    return WEIR_OK;
}

/* The same in a plain queue. */
static WEIRI_NOINLINE enum weir_status add_at_once_plain(weir_queue *queue, struct weir_key key)
    WEIRI_RELEASE(queue->lock)
{
    if (!WEIRI_LIKELY(weiri_quick_add_any(&queue->core, key, 0, WEIRI_FIFO))) {
        return add_at_once_slow(queue, key, 0);
    }
    weiri_queue_unlock_moved(queue);
    return WEIR_OK;
}

/* The same in any queue. */
static WEIRI_NOINLINE enum weir_status add_at_once_other(weir_queue *queue, struct weir_key key,
                                                         int32_t priority)
    WEIRI_RELEASE(queue->lock)
{
    if (queue->is_plain && priority == 0) {
        return add_at_once_plain(queue, key);
    }
    return queue->is_ranked ? add_at_once_ranked(queue, key, priority)
                            : add_at_once_slow(queue, key, priority);
}

/* The same where weiri_lock_enter_by() has not taken the lock; entry 0: nor was it tried. */
static WEIRI_NOINLINE enum weir_status add_at_once_after(weir_queue *queue, struct weir_key key,
                                                         uint32_t entry)
{
    weiri_lock_lock_after(&queue->lock, entry);
    return add_at_once_other(queue, key, 0);
}

/* The same of an embedded item, where the lock was not tried. */
static WEIRI_NOINLINE enum weir_status add_item_after(weir_queue *queue, struct weir_key key)
{
    return weiri_queue_joins(queue, key.data) ? WEIR_OK : add_at_once_after(queue, key, 0);
}

/* As add_item_after(), of a key of bytes. */
static WEIRI_NOINLINE enum weir_status add_bytes_after(weir_queue *queue, struct weir_key key)
{
    struct weiri_view *view = atomic_load_explicit(&queue->view, memory_order_acquire);
    if (view != NULL && key.size <= WEIRI_RECORD_INLINE &&
        atomic_load_explicit(&queue->takes_joins, memory_order_relaxed) &&
        weiri_view_joins(view, key, queue->mark)) {
        return WEIR_OK;
    }
    weiri_lock_lock_after(&queue->lock, 0);
    if (view != NULL) {
        weiri_view_sweep(view, &queue->core.allocator);
    } else if (queue->core.table.records.view == NULL) {
        weiri_queue_show_table_locked(queue, key);
    }
    return add_at_once_other(queue, key, 0);
}

/* Compiled for either kind of key, so that embedded items do not pay for what others need. */
WEIRI_INLINE enum weir_status add_at_once(weir_queue *queue, struct weir_key key,
                                          const enum weiri_quick_kind kind)
{
    const bool is_item = kind == WEIRI_QUICK_ITEM;
    enum weir_status status = weiri_queue_check_key(queue, key);
    if (!WEIRI_LIKELY(status == WEIR_OK)) {
        return status;
    }
    struct weiri_lock_bias bias = weiri_lock_own_bias(&queue->lock);
    if (!WEIRI_LIKELY(bias.number != 0)) {
        return is_item ? add_item_after(queue, key) : add_bytes_after(queue, key);
    }
    if (is_item && !weiri_item_is_free(key.data) && weiri_queue_takes_join(queue, key.data)) {
        return WEIR_OK;
    }
    uint32_t entry = weiri_lock_enter_by(&queue->lock, bias);
    if (!WEIRI_LIKELY(weiri_lock_has_entered(&queue->lock, entry))) {
        return add_at_once_after(queue, key, entry);
    }
    if (!WEIRI_LIKELY(queue->is_quiet && weiri_quick_add(&queue->core, key, kind, 0, WEIRI_FIFO))) {
        return add_at_once_other(queue, key, 0);
    }
    return weiri_lock_leave(&queue->lock, entry);
}

static WEIRI_NOINLINE enum weir_status add_bytes(weir_queue *queue, struct weir_key key)
{
    return add_at_once(queue, key, WEIRI_QUICK_ALONE);
}

enum weir_status weir_queue_add(weir_queue *queue, struct weir_key key)
{
    if (!weiri_queue_is_one(queue)) {
        return weiri_queue_refusal(queue);
    }
    return key.size == WEIR_KEY_ITEM ? add_at_once(queue, key, WEIRI_QUICK_ITEM)
                                     : add_bytes(queue, key);
}

enum weir_status weir_queue_add_after(weir_queue *queue, struct weir_key key, int64_t delay_ns)
{
    struct weiri_added added;
    return add(queue, key, &(struct order){.delay_ns = delay_ns, .is_retry = true}, &added);
}

/* As add(), but not before the limiter's answer. */
static enum weir_status add_limited(weir_queue *queue, struct weir_key key,
                                    const struct order *asked)
{
    enum weir_status status = weiri_queue_check_call(queue, key);
    if (status != WEIR_OK) {
        return status;
    }
    struct order order = *asked;
    int64_t now_ns = weir_clock_now(queue->clock);
    order.now_ns = &now_ns;
    status = weiri_limiter_when(queue->limiter, key, now_ns, &order.delay_ns);
    if (status != WEIR_OK) {
        return status;
    }
    order.delay_ns = order.delay_ns > asked->delay_ns ? order.delay_ns : asked->delay_ns;
    struct weiri_added added;
    status = add_checked(queue, key, &order, &added);
    if (status != WEIR_OK) {
        weir_limiter_undo(queue->limiter, key, now_ns);
    } else if (added.has_joined) {
        weir_limiter_give_back(queue->limiter, key, now_ns);
    }
    return status;
}

enum weir_status weir_queue_add_rate_limited(weir_queue *queue, struct weir_key key)
{
    return add_limited(queue, key, &(struct order){.is_retry = true});
}

/* An add at once, of what has not been checked. */
static WEIRI_NOINLINE enum weir_status add_with_priority(weir_queue *queue, struct weir_key key,
                                                         int32_t priority)
{
    enum weir_status status = weiri_queue_check_call(queue, key);
    if (!WEIRI_LIKELY(status == WEIR_OK)) {
        return status;
    }
    weiri_queue_lock(queue);
    return add_at_once_other(queue, key, priority);
}

/* Of options of this version. */
static WEIRI_NOINLINE enum weir_status add_ordered(weir_queue *queue, struct weir_key key,
                                                   const struct weir_add_options *options)
{
    if ((options->flags & ~FLAGS_KNOWN) != 0) {
        return WEIR_EINVAL;
    }
    bool is_limited = (options->flags & WEIR_ADD_RATE_LIMITED) != 0;
    if ((options->flags & WEIR_ADD_SUPERSEDE) != 0 && (options->delay_ns > 0 || is_limited)) {
        return WEIR_EINVAL;
    }
    struct order order = {.delay_ns = options->delay_ns,
                          .priority = options->priority,
                          .replaces = (options->flags & FLAGS_REPLACE) != 0,
                          .is_retry = options->delay_ns > 0 || is_limited};
    if (is_limited) {
        return add_limited(queue, key, &order);
    }
    struct weiri_added added;
    return add(queue, key, &order, &added);
}

static WEIRI_NOINLINE enum weir_status add_with_others(weir_queue *queue, struct weir_key key,
                                                       const struct weir_add_options *options)
{
    struct weir_add_options known;
    if (options == NULL || weiri_options_copy(&known, sizeof(known), options) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    return add_ordered(queue, key, &known);
}

enum weir_status weir_queue_add_with(weir_queue *queue, struct weir_key key,
                                     const struct weir_add_options *options)
{
    /* Options of this version, which is what nearly all are, need not be copied. */
    if (options == NULL || options->size != sizeof(*options)) {
        return add_with_others(queue, key, options);
    }
    if (options->delay_ns > 0 || options->flags != 0) {
        return add_ordered(queue, key, options);
    }
    return options->priority == 0 ? weir_queue_add(queue, key)
                                  : add_with_priority(queue, key, options->priority);
}

enum weir_status weiri_queue_send(weir_queue *queue, struct weir_item *item, int64_t delay_ns,
                                  bool *ret_entered)
{
    struct weiri_added added;
    enum weir_status status =
        add(queue, weir_key_item(item),
            &(struct order){.delay_ns = delay_ns, .is_retry = delay_ns > 0}, &added);
    if (status == WEIR_OK) {
        *ret_entered = added.has_entered;
    }
    return status;
}

static enum weir_status check_keys(const weir_queue *queue, const struct weir_key *keys,
                                   size_t count)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = weiri_queue_check_key(queue, keys[i]);
    }
    return status;
}

static WEIRI_NOINLINE enum weir_status add_batch_slow(weir_queue *queue,
                                                      const struct weir_key *keys, size_t count)
    WEIRI_RELEASE(queue->lock)
{
    const struct weir_allocator allocator = queue->core.allocator;
    bool *were_queued = NULL; /* of each key; where nobody is to be told, it is not asked for */
    enum weir_status status = check_keys(queue, keys, count);
    if (status == WEIR_OK && queue->touch != NULL && count > 0) {
        were_queued = weiri_alloc_zero(&allocator, count, sizeof(bool));
        status = were_queued == NULL ? WEIR_ENOMEM : WEIR_OK;
    }
    if (status == WEIR_OK && queue->shutting_down) {
        status = WEIR_ESHUTDOWN;
    }
    if (status == WEIR_OK) {
        weiri_queue_pass_time_locked(queue);
        status = weiri_core_add_batch(&queue->core, keys, count, were_queued);
    }
    weiri_queue_unlock_moved(queue);
    if (were_queued != NULL) {
        for (size_t i = 0; i < count && status == WEIR_OK; i++) {
            touch(queue, keys[i], were_queued[i]);
        }
        weiri_release(&allocator, were_queued, count * sizeof(bool));
    }
    return status;
}

enum weir_status weir_queue_add_batch(weir_queue *queue, const struct weir_key *keys, size_t count)
{
    if (!weiri_queue_is_one(queue) || (keys == NULL && count > 0)) {
        return weiri_queue_refusal(queue);
    }
    weiri_queue_lock(queue);
    if (!queue->is_quiet || !weiri_quick_add_batch(&queue->core, keys, count, queue->key_size_max,
                                                   weiri_lock_is_unseen(&queue->lock))) {
        return add_batch_slow(queue, keys, count);
    }
    weiri_queue_unlock_quiet(queue);
    return WEIR_OK;
}

enum weir_status weir_queue_forget(weir_queue *queue, struct weir_key key)
{
    enum weir_status status = weiri_queue_check_call(queue, key);
    if (status == WEIR_OK) {
        weiri_limiter_forget(queue->limiter, key);
    }
    return status;
}

enum weir_status weir_queue_num_requeues(weir_queue *queue, struct weir_key key,
                                         uint64_t *ret_count)
{
    enum weir_status status = ret_count == NULL ? WEIR_EINVAL : weiri_queue_check_call(queue, key);
    if (status == WEIR_OK) {
        *ret_count = weir_limiter_num_requeues(queue->limiter, key);
    }
    return status;
}

enum weir_status weir_queue_cancel(weir_queue *queue, struct weir_key key, bool *ret_taken)
{
    enum weir_status status = weiri_queue_check_call(queue, key);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_queue_lock(queue);
    weiri_queue_pass_time_locked(queue);
    bool was_taken = false;
    status = weiri_core_cancel(&queue->core, key, &was_taken);
    weiri_queue_tell_drains_locked(queue);
    weiri_queue_unlock(queue);
    if (status == WEIR_OK && ret_taken != NULL) {
        *ret_taken = was_taken;
    }
    return status;
}
