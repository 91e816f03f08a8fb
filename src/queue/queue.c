/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/queue.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "base/processors.h"
#include "base/random.h"
#include "queue/key.h"
#include "queue/limiter.h"

#define KEY_SIZE_MAX_DEFAULT 65536
#define FLAGS_KNOWN ((uint32_t)(WEIR_QUEUE_PRIORITIES | WEIR_QUEUE_SUPERSEDE | WEIR_QUEUE_AGES))
#define LIMITER_BASE_NS WEIR_MS(5)
#define LIMITER_MAX_NS WEIR_SECONDS(1000)

_Static_assert(sizeof(struct weir_item) == 64 || sizeof(void *) != 8, "one cache line");

/* Checks a caller's options, and replaces zeros by defaults. No other function reads them. */
static enum weir_status normalize(struct weir_queue_options *dst,
                                  const struct weir_queue_options *src,
                                  struct weir_error *ret_error)
{
    *dst = src != NULL ? *src : (struct weir_queue_options){0};
    if (weiri_allocator_init(&dst->allocator, src != NULL ? &src->allocator : NULL, ret_error) !=
            WEIR_OK ||
        weiri_check_flags(dst->flags, FLAGS_KNOWN, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (dst->clock == NULL) {
        dst->clock = weir_clock_monotonic();
    }
    if (dst->key_size_max == 0) {
        dst->key_size_max = KEY_SIZE_MAX_DEFAULT;
    }
    if (dst->name == NULL) {
        dst->name = "";
    }
    bool has_priorities = (dst->flags & WEIR_QUEUE_PRIORITIES) != 0;
    if (dst->key_size_max > WEIR_KEY_SIZE_LIMIT) {
        return weiri_fail(ret_error, WEIR_EINVAL, "key_size_max is %zu: expected at most %zu",
                          dst->key_size_max, (size_t)WEIR_KEY_SIZE_LIMIT);
    }
    if (dst->aging_ns != 0 && !has_priorities) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "aging_ns is %" PRId64 ": expected 0 without WEIR_QUEUE_PRIORITIES",
                          dst->aging_ns);
    }
    if (dst->metrics != NULL && dst->name[0] == '\0') {
        return weiri_fail(ret_error, WEIR_EINVAL, "name is empty: expected one beside metrics");
    }
    enum weir_status status =
        weiri_check_number("aging_ns", dst->aging_ns, 0, INT64_MAX, ret_error);
    return status == WEIR_OK ? weiri_clock_check(dst->clock) : status;
}

enum weir_status weiri_queue_refusal(const weir_queue *queue)
{
    bool is_forked = queue != NULL && queue->process >= WEIRI_FORKED_FIRST &&
                     queue->process < atomic_load_explicit(&weiri_forks, memory_order_relaxed);
    return is_forked ? WEIR_EFORKED : WEIR_EINVAL;
}

enum weir_status weiri_queue_check(const weir_queue *queue, struct weir_key key)
{
    if (!weiri_queue_is_valid(queue)) {
        return weiri_queue_refusal(queue);
    }
    return weiri_key_check(key, queue->key_size_max);
}

void weiri_queue_pass_time_locked(weir_queue *queue)
{
    if (queue->reads_clock || queue->core.waiting.count > 0) {
        int64_t now_ns = weir_clock_now(queue->clock);
        queue->now_ns = now_ns > queue->now_ns ? now_ns : queue->now_ns;
        weiri_core_pass_time(&queue->core, queue->now_ns);
    }
}

void weiri_queue_lock(weir_queue *queue)
{
    weiri_mutex_lock(&queue->mutex);
    weiri_queue_pass_time_locked(queue);
}

/* Does what follows from the state. has_timer: the earliest pending time needs no other consumer.
 * Returns the parker of a consumer that is to be woken after the unlock, or NULL. Inline: a call
 * would add 9 instructions to the 21 of each unlock. */
static inline struct weiri_parker *settle_locked(weir_queue *queue, bool has_timer)
    WEIRI_REQUIRES(queue->mutex)
{
    const struct weiri_core *core = &queue->core;
    if (!weiri_waiters_is_empty(&queue->drains) && core->queued + core->processing == 0) {
        weiri_waiters_wake_all(&queue->drains);
    }
    if (queue->fd.is_open) {
        weiri_queue_show_fd_locked(queue);
    }
    return weiri_waiters_is_empty(&queue->consumers)
               ? NULL
               : weiri_waiters_wake(&queue->consumers, core->queued + queue->interrupts,
                                    has_timer ? INT64_MAX : weiri_core_next_time(core));
}

void weiri_queue_unlock(weir_queue *queue)
{
    struct weiri_parker *parker = settle_locked(queue, false);
    weiri_mutex_unlock(&queue->mutex);
    if (parker != NULL) {
        weiri_parker_wake(parker);
    }
}

void weiri_queue_sleep_locked(weir_queue *queue, struct weiri_waiters *waiters, int64_t limit_ns)
{
    /* A consumer becomes the timer itself if there is none. A drain sleeps only after the shutdown
     * that dropped all pending times. */
    struct weiri_parker *parker = settle_locked(queue, true);
    weiri_waiters_sleep(waiters, &queue->mutex, queue->clock, weiri_core_next_time(&queue->core),
                        limit_ns, parker);
    weiri_queue_pass_time_locked(queue);
}

/* After a step of a manual clock all waiters check again. */
static void on_step(struct weiri_clock_user *user)
{
    weir_queue *queue = WEIRI_CONTAINER(user, weir_queue, clock_user);
    weiri_queue_lock(queue);
    weiri_waiters_wake_all(&queue->consumers);
    weiri_waiters_wake_all(&queue->drains);
    weiri_queue_unlock(queue);
}

/* Initialises the parts of a queue. On failure there is nothing to undo. */
static enum weir_status init(weir_queue *queue, const struct weir_queue_options *options,
                             struct weir_error *ret_error)
{
    queue->process = weiri_forked_mark();
    enum weir_status status = queue->process == 0 ? WEIR_ENOMEM : WEIR_OK;
    queue->limiter = options->limiter;
    if (status == WEIR_OK && queue->limiter == NULL) {
        struct weir_limiter_options limiter = {0};
        limiter.allocator = options->allocator;
        status = weir_limiter_exponential_new(LIMITER_BASE_NS, LIMITER_MAX_NS, &limiter,
                                              &queue->own_limiter, ret_error);
        queue->limiter = queue->own_limiter;
    }
    if (status != WEIR_OK) {
        return status;
    }
    weiri_mutex_init(&queue->mutex);
    queue->clock = options->clock;
    queue->key_size_max = options->key_size_max;
    queue->touch = options->touch;
    queue->touch_arg = options->touch_arg;
    queue->clock_user.on_step = on_step;
    struct weiri_core *core = &queue->core;
    weiri_core_init(core, &options->allocator, weiri_random_seed(), weiri_random_seed());
    bool has_priorities = (options->flags & WEIR_QUEUE_PRIORITIES) != 0;
    if (has_priorities) {
        weiri_core_set_priorities(core, options->aging_ns);
    }
    core->supersedes = (options->flags & WEIR_QUEUE_SUPERSEDE) != 0;
    core->times_items = (options->flags & WEIR_QUEUE_AGES) != 0 || options->metrics != NULL;
    queue->reads_clock = core->times_items || options->aging_ns != 0;
    /* A coalesced add changes nothing, unless it may raise a priority, remove a pending time or
     * call the user's touch. */
    atomic_init(&queue->coalesces, !has_priorities && !core->supersedes && options->touch == NULL);
    /* Waking more waiters at once than half the processors makes none of them run sooner. */
    weiri_waiters_init(&queue->consumers, (weiri_processors() + 1) / 2);
    weiri_waiters_init(&queue->drains, SIZE_MAX);
    weiri_clock_attach(queue->clock, &queue->clock_user);
    weiri_limiter_attach(queue->limiter);
    return WEIR_OK;
}

enum weir_status weir_queue_new(const struct weir_queue_options *options, weir_queue **ret_queue,
                                struct weir_error *ret_error)
{
    struct weir_queue_options normal;
    weiri_error_clear(ret_error);
    enum weir_status status = weiri_check_given("ret_queue", ret_queue, ret_error);
    if (status == WEIR_OK) {
        status = normalize(&normal, options, ret_error);
    }
    if (status != WEIR_OK) {
        return weiri_explain(ret_error, status);
    }
    weir_queue *queue = weiri_alloc_zero(&normal.allocator, 1, sizeof(*queue));
    if (queue == NULL) {
        return weiri_explain(ret_error, WEIR_ENOMEM);
    }
    status = init(queue, &normal, ret_error);
    if (status != WEIR_OK) {
        weiri_release(&normal.allocator, queue, sizeof(*queue));
        return weiri_explain(ret_error, status);
    }
    status = weiri_queue_publish(queue, normal.metrics, normal.name, ret_error);
    if (status != WEIR_OK) {
        weir_queue_free(queue);
        return weiri_explain(ret_error, status);
    }
    *ret_queue = queue;
    return WEIR_OK;
}

void weir_queue_free(weir_queue *queue)
{
    /* In a child the queue may be in the middle of another thread's change. */
    if (!weiri_queue_is_valid(queue)) {
        return;
    }
    weiri_queue_unpublish(queue);
    weiri_clock_detach(queue->clock, &queue->clock_user);
    queue->process = 0;
    weiri_event_fd_close(&queue->fd);
    struct weir_allocator allocator = queue->core.allocator;
    weiri_core_fini(&queue->core);
    weiri_mutex_fini(&queue->mutex);
    weiri_limiter_detach(queue->limiter);
    (void)weir_limiter_free(queue->own_limiter);
    weiri_release(&allocator, queue, sizeof(*queue));
}

enum weir_status weir_queue_count(weir_queue *queue, struct weir_queue_counts *ret_counts)
{
    if (!weiri_queue_is_valid(queue) || ret_counts == NULL) {
        return weiri_queue_refusal(queue);
    }
    weiri_queue_lock(queue);
    *ret_counts = (struct weir_queue_counts){
        .queued = queue->core.queued,
        .waiting = queue->core.waiting.count,
        .processing = queue->core.processing,
        .dropped = queue->core.dropped,
    };
    weiri_queue_unlock(queue);
    return WEIR_OK;
}

size_t weir_queue_len(weir_queue *queue)
{
    struct weir_queue_counts counts;
    return weir_queue_count(queue, &counts) == WEIR_OK ? counts.queued : 0;
}
