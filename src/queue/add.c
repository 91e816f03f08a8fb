/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Adds and cancels. */

#include "base/alloc.h"
#include "base/time.h"
#include "queue/limiter.h"
#include "queue/queue.h"

#define FLAGS_REPLACE ((uint32_t)(WEIR_ADD_MOVE | WEIR_ADD_SUPERSEDE))
#define FLAGS_KNOWN (FLAGS_REPLACE | (uint32_t)WEIR_ADD_RATE_LIMITED)

/* The arguments of an add. */
struct request {
    int64_t delay_ns;
    int32_t priority;
    bool replaces; /* a pending time */
    bool is_limited;
    bool is_retry; /* counts as one in metrics */
};

/* Checks a caller's queue and options, and copies these. No other function reads them. */
static enum weir_status normalize(const weir_queue *queue, struct request *dst,
                                  const struct weir_add_options *src)
{
    struct weir_add_options options = src != NULL ? *src : (struct weir_add_options){0};
    if (!weiri_queue_is_valid(queue) || (options.flags & ~FLAGS_KNOWN) != 0 ||
        (options.priority != 0 && !queue->core.has_priorities)) {
        return WEIR_EINVAL;
    }
    *dst = (struct request){.delay_ns = options.delay_ns,
                            .priority = options.priority,
                            .replaces = (options.flags & FLAGS_REPLACE) != 0,
                            .is_limited = (options.flags & WEIR_ADD_RATE_LIMITED) != 0};
    dst->is_retry = dst->delay_ns != 0 || dst->is_limited;
    bool supersedes = (options.flags & WEIR_ADD_SUPERSEDE) != 0;
    return supersedes && (options.delay_ns > 0 || dst->is_limited) ? WEIR_EINVAL : WEIR_OK;
}

/* Adds all keys or none. Every add that takes the lock goes through here. queue, keys and request
 * have been checked. start_ns is the start of the delay; added has count elements. */
static enum weir_status add_all(weir_queue *queue, const struct weir_key *keys, size_t count,
                                const struct request *request, int64_t start_ns,
                                struct weiri_added *added)
{
    enum weir_status status = WEIR_ESHUTDOWN;
    struct weiri_order order = {.time_ns = WEIRI_AT_ONCE,
                                .priority = request->priority,
                                .replaces = request->replaces,
                                .keeps_priority = request->is_limited};
    weiri_queue_lock(queue);
    if (!queue->shutting_down) {
        if (request->delay_ns > 0) {
            /* Another thread may have read a later time meanwhile. Items become due in the order of
             * their times, so no new time may be earlier. */
            int64_t time_ns = weiri_time_add(start_ns, request->delay_ns);
            order.time_ns = time_ns > queue->now_ns ? time_ns : queue->now_ns;
        }
        status = count == 1 ? weiri_core_add(&queue->core, keys[0], &order, queue->now_ns, added)
                            : weiri_core_add_batch(&queue->core, keys, count, &order, queue->now_ns,
                                                   added);
        if (status == WEIR_OK && request->is_retry) {
            queue->meter.retries += count;
        }
    }
    weiri_queue_unlock(queue);
    for (size_t i = 0; queue->touch != NULL && status == WEIR_OK && i < count; i++) {
        if (added[i].was_queued) {
            queue->touch(keys[i], queue->touch_arg);
        }
    }
    return status;
}

/* Adds one key. */
static enum weir_status add(weir_queue *queue, struct weir_key key, const struct request *request,
                            enum weir_added *ret_added)
{
    struct weiri_added added = {.is_new = false};
    struct request effective = *request;
    int64_t start_ns = 0;
    enum weir_status status = weiri_queue_check(queue, key);
    if (status == WEIR_OK && (request->delay_ns > 0 || request->is_limited)) {
        start_ns = weir_clock_now(queue->clock);
    }
    if (status == WEIR_OK && request->is_limited) {
        status = weiri_limiter_when(queue->limiter, key, start_ns, &effective.delay_ns);
    }
    if (status != WEIR_OK) {
        return status;
    }
    if (effective.delay_ns < request->delay_ns) {
        effective.delay_ns = request->delay_ns;
    }
    status = add_all(queue, &key, 1, &effective, start_ns, &added);
    if (request->is_limited && status != WEIR_OK) {
        weiri_limiter_undo(queue->limiter, key, start_ns);
    } else if (request->is_limited && added.is_coalesced) {
        weiri_limiter_give_back(queue->limiter, key, start_ns);
    }
    if (status == WEIR_OK && ret_added != NULL) {
        *ret_added = added.is_coalesced ? WEIR_ADDED_COALESCED : WEIR_ADDED_NEW;
    }
    return status;
}

enum weir_status weir_queue_add(weir_queue *queue, struct weir_key key)
{
    enum weir_status status = weiri_queue_check(queue, key);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_sync_point();
    if (key.size == WEIR_KEY_ITEM &&
        atomic_load_explicit(&queue->coalesces, memory_order_relaxed) &&
        weiri_item_coalesces((struct weir_item *)(uintptr_t)key.data, &queue->core)) {
        return WEIR_OK; /* without the lock */
    }
    struct weiri_added added;
    return add_all(queue, &key, 1, &(struct request){.delay_ns = 0}, 0, &added);
}

enum weir_status weir_queue_add_after(weir_queue *queue, struct weir_key key, int64_t delay_ns)
{
    return add(queue, key, &(struct request){.delay_ns = delay_ns, .is_retry = true}, NULL);
}

enum weir_status weir_queue_add_rate_limited(weir_queue *queue, struct weir_key key)
{
    return add(queue, key, &(struct request){.is_limited = true, .is_retry = true}, NULL);
}

enum weir_status weir_queue_add_with(weir_queue *queue, struct weir_key key,
                                     const struct weir_add_options *options,
                                     enum weir_added *ret_added)
{
    struct request request;
    if (options == NULL || normalize(queue, &request, options) != WEIR_OK) {
        return weiri_queue_refusal(queue);
    }
    return add(queue, key, &request, ret_added);
}

enum weir_status weir_queue_add_batch(weir_queue *queue, const struct weir_key *keys, size_t count,
                                      const struct weir_add_options *options)
{
    struct request request;
    if ((keys == NULL && count > 0) || normalize(queue, &request, options) != WEIR_OK ||
        request.is_limited) {
        return weiri_queue_refusal(queue);
    }
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = weiri_queue_check(queue, keys[i]);
    }
    if (status != WEIR_OK) {
        return status;
    }
    int64_t start_ns = request.delay_ns > 0 ? weir_clock_now(queue->clock) : 0;
    struct weiri_added few[64];
    struct weiri_added *added = few;
    bool is_large = count > sizeof(few) / sizeof(few[0]);
    if (is_large) {
        added = weiri_alloc_array(&queue->core.allocator, count, sizeof(*added));
        if (added == NULL) {
            return WEIR_ENOMEM;
        }
    }
    status = add_all(queue, keys, count, &request, start_ns, added);
    if (is_large) {
        weiri_release(&queue->core.allocator, added, count * sizeof(*added));
    }
    return status;
}

enum weir_status weir_queue_cancel(weir_queue *queue, struct weir_key key, bool *ret_taken)
{
    enum weir_status status = weiri_queue_check(queue, key);
    if (status != WEIR_OK) {
        return status;
    }
    bool was_taken = false;
    weiri_queue_lock(queue);
    struct weir_item *item = weiri_core_find(&queue->core, key);
    if (item != NULL && weiri_core_holds(&queue->core, item)) {
        was_taken = weiri_core_cancel(&queue->core, item);
    } else if (item != NULL && !weiri_item_is_free(item)) {
        status = WEIR_EBUSY;
    }
    weiri_queue_unlock(queue);
    if (status == WEIR_OK && ret_taken != NULL) {
        *ret_taken = was_taken;
    }
    return status;
}

enum weir_status weir_queue_forget(weir_queue *queue, struct weir_key key)
{
    enum weir_status status = weiri_queue_check(queue, key);
    if (status == WEIR_OK) {
        weiri_limiter_forget(queue->limiter, key);
    }
    return status;
}

enum weir_status weir_queue_num_requeues(weir_queue *queue, struct weir_key key,
                                         uint64_t *ret_count)
{
    if (ret_count == NULL) {
        return weiri_queue_refusal(queue);
    }
    enum weir_status status = weiri_queue_check(queue, key);
    if (status == WEIR_OK) {
        *ret_count = weir_limiter_num_requeues(queue->limiter, key);
    }
    return status;
}
