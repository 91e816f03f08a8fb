/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/processors.h"
#include "base/random.h"
#include "queue/moves.h"

#define KEY_SIZE_MAX_DEFAULT 65536
/* Of adds of keys that find the lock shared, one in so many is asked whether it joins. */
#define ADDS_ASKED_OF 16u
/* How many may look at a table at once without disturbing each other: for each processor four and
 * more, up to so many. */
#define VIEW_STRIPES_MAX 256u
#define FLAGS_KNOWN ((uint32_t)(WEIR_QUEUE_PRIORITIES | WEIR_QUEUE_SUPERSEDE | WEIR_QUEUE_AGES))
#define LIMITER_BASE_NS WEIR_MS(5)
#define LIMITER_MAX_NS WEIR_SECONDS(1000)

_Static_assert(sizeof(struct weir_item) == 24, "the header of an embedded item");
_Static_assert(offsetof(struct weir_queue_options, touch_arg) + sizeof(void *) ==
                   sizeof(struct weir_queue_options),
               "no padding at the end of an options struct");
_Static_assert(offsetof(struct weir_add_options, priority) + sizeof(int32_t) ==
                   sizeof(struct weir_add_options),
               "no padding at the end of an options struct");

/* The one reader of raw options: checks them and fills in what is zero. */
static enum weir_status normalize(struct weir_queue_options *dst,
                                  const struct weir_queue_options *src)
{
    enum weir_status status = weiri_options_copy(dst, sizeof(*dst), src);
    if (status != WEIR_OK) {
        return status;
    }
    struct weir_allocator given = dst->allocator;
    status = weiri_allocator_init(&dst->allocator, &given);
    if (status != WEIR_OK) {
        return status;
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
    if (dst->key_size_max > WEIR_KEY_SIZE_LIMIT || (dst->flags & ~FLAGS_KNOWN) != 0 ||
        dst->reserved0 != 0 || (dst->aging_ns != 0 && !has_priorities) ||
        (dst->metrics != NULL && dst->name[0] == '\0')) {
        return WEIR_EINVAL;
    }
    return dst->aging_ns >= 0 ? weiri_clock_check(dst->clock) : WEIR_ERANGE;
}

enum weir_status weiri_queue_refusal(const weir_queue *queue)
{
    bool is_forked = queue != NULL && queue->process >= WEIRI_FORKED_FIRST &&
                     queue->process < atomic_load_explicit(&weiri_forks, memory_order_relaxed);
    return is_forked ? WEIR_EFORKED : WEIR_EINVAL;
}

/* A step of a manual clock: everybody looks again. */
static void on_step(struct weiri_clock_user *user)
{
    weir_queue *queue = WEIRI_CONTAINER(user, weir_queue, clock_user);
    weiri_queue_lock(queue);
    weiri_queue_wake_locked(queue, SIZE_MAX);
    weiri_queue_wake_drains_locked(queue);
    weiri_queue_step_guests_locked(queue);
    weiri_queue_unlock(queue);
}

/* A mark that no other queue has, but one that was made a thousand million queues ago. */
static uint32_t new_mark(void)
{
    static _Atomic uint32_t last;
    uint32_t mark = 0;
    while (mark == 0) {
        mark = (atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1) << WEIRI_MARK_SHIFT;
    }
    return mark;
}

/* Makes what a queue consists of; on failure nothing is left to undo. */
static enum weir_status init(weir_queue *queue, const struct weir_queue_options *options)
{
    queue->process = weiri_forked_mark();
    if (queue->process == 0) {
        return WEIR_ENOMEM;
    }
    if (options->limiter == NULL) {
        struct weir_limiter_options limiter = WEIR_LIMITER_OPTIONS_INIT;
        limiter.allocator = options->allocator;
        enum weir_status status = weir_limiter_exponential_new(LIMITER_BASE_NS, LIMITER_MAX_NS,
                                                               &limiter, &queue->own_limiter);
        if (status != WEIR_OK) {
            return status;
        }
    }
    if (weiri_lock_init(&queue->lock, true) != WEIR_OK) {
        weir_limiter_free(queue->own_limiter);
        return WEIR_ENOMEM;
    }
    queue->clock = options->clock;
    queue->limiter = options->limiter != NULL ? options->limiter : queue->own_limiter;
    queue->key_size_max = options->key_size_max;
    /* To wake a consumer costs more than a thousand adds, and more at once than there are
     * processors for come no sooner. The system is asked here, not when a consumer is first called:
     * by then the process may have given that call up, and the lock is held. */
    queue->calls_at_once = (weiri_processors() + 1) / 2;
    queue->touch = options->touch;
    queue->touch_arg = options->touch_arg;
    weiri_core_init(&queue->core, &options->allocator, weiri_random_seed(), weiri_random_seed(),
                    new_mark());
    queue->mark = queue->core.mark;
    bool has_priorities = (options->flags & WEIR_QUEUE_PRIORITIES) != 0;
    if (has_priorities) {
        weiri_ready_init_ranks(&queue->core.ready, options->aging_ns);
    }
    queue->core.supersedes = (options->flags & WEIR_QUEUE_SUPERSEDE) != 0;
    /* An add that joins may raise a priority, take a time away, or be one that the user wants to
     * see. */
    atomic_init(&queue->takes_joins,
                !has_priorities && !queue->core.supersedes && options->touch == NULL);
    weiri_list_init(&queue->sleepers);
    weiri_list_init(&queue->drainers);
    weiri_list_init(&queue->seekers);
    weiri_list_init(&queue->watchers);
    queue->clock_user.on_step = on_step;
    weiri_clock_attach(queue->clock, &queue->clock_user);
    return WEIR_OK;
}

enum weir_status weir_queue_new(const struct weir_queue_options *options, weir_queue **ret_queue)
{
    if (ret_queue == NULL) {
        return WEIR_EINVAL;
    }
    struct weir_queue_options normal;
    enum weir_status status = normalize(&normal, options);
    if (status != WEIR_OK) {
        return status;
    }
    weir_queue *queue = weiri_alloc_zero(&normal.allocator, 1, sizeof(*queue));
    if (queue == NULL) {
        return WEIR_ENOMEM;
    }
    status = init(queue, &normal);
    if (status != WEIR_OK) {
        weiri_release(&normal.allocator, queue, sizeof(*queue));
        return status;
    }
    if (normal.metrics != NULL || (normal.flags & WEIR_QUEUE_AGES) != 0) {
        status = weiri_queue_measure(queue, normal.metrics, normal.name);
        if (status != WEIR_OK) {
            weir_queue_free(queue);
            return status;
        }
    }
    *ret_queue = queue;
    return WEIR_OK;
}

void weir_queue_free(weir_queue *queue)
{
    /* In a child another thread may have been changing it when the fork came. */
    if (weiri_queue_check(queue) != WEIR_OK) {
        return;
    }
    weiri_queue_unmeasure(queue);
    weiri_clock_detach(queue->clock, &queue->clock_user);
    WEIRI_ASSERT(weiri_list_is_empty(&queue->sleepers));
    WEIRI_ASSERT(weiri_list_is_empty(&queue->drainers));
    WEIRI_ASSERT(!queue->has_guests && queue->core.aside == 0);
    queue->process = 0;
    if (queue->has_event_fd) {
        weiri_event_fd_close(&queue->event_fd);
    }
    struct weir_allocator allocator = queue->core.allocator;
    weiri_core_fini(&queue->core);
    weiri_lock_fini(&queue->lock);
    weir_limiter_free(queue->own_limiter);
    weiri_release(&allocator, queue, sizeof(*queue));
}

void weiri_queue_show_table_locked(weir_queue *queue, struct weir_key key)
{
    if (!weiri_lock_is_open(&queue->lock) || queue->adds_by_turns++ % ADDS_ASKED_OF != 0) {
        return;
    }
    const struct weir_item *item = weiri_core_find(&queue->core, key);
    if (item != NULL && weiri_queue_takes_join(queue, item)) {
        uint32_t stripes = 1;
        while (stripes < queue->calls_at_once * 8 && stripes < VIEW_STRIPES_MAX) {
            stripes *= 2;
        }
        struct weiri_view *view =
            weiri_table_show(&queue->core.table, &queue->core.allocator, stripes);
        atomic_store_explicit(&queue->view, view, memory_order_release);
    }
}

void weiri_queue_set_capacity(weir_queue *queue, size_t capacity)
{
    weiri_queue_lock(queue);
    queue->core.capacity = capacity;
    weiri_queue_unlock(queue);
}

enum weir_status weiri_queue_count_held(weir_queue *queue, struct weir_queue_counts *ret_counts,
                                        size_t *ret_held)
{
    if (weiri_queue_check(queue) != WEIR_OK || ret_counts == NULL) {
        return weiri_queue_refusal(queue);
    }
    weiri_queue_lock(queue);
    weiri_queue_pass_time_locked(queue);
    *ret_counts = (struct weir_queue_counts){
        .queued = weiri_ready_count(&queue->core.ready) + queue->core.aside,
        .waiting = queue->core.delay.count,
        .processing = weiri_running_count(&queue->core.running),
        .dropped = queue->core.dropped,
    };
    *ret_held = weiri_core_held(&queue->core);
    weiri_queue_unlock(queue);
    return WEIR_OK;
}

enum weir_status weir_queue_count(weir_queue *queue, struct weir_queue_counts *ret_counts)
{
    size_t held;
    return weiri_queue_count_held(queue, ret_counts, &held);
}

size_t weir_queue_len(weir_queue *queue)
{
    struct weir_queue_counts counts;
    return weir_queue_count(queue, &counts) == WEIR_OK ? counts.queued : 0;
}
