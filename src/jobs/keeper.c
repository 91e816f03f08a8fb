/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The consumer's own thread: fetches for free slots, touches reservations, ends the pool. */
#include "base/panic.h"
#include "base/time.h"
#include "jobs/consumer.h"
#include "jobs/error.h"

/* What one round of the keeper is about. */
struct round {
    size_t wanted;
    size_t touch_count;
    size_t reserved;
    uint32_t mark;
    bool is_full;    /* no slot was free */
    int64_t look_ns; /* when to look again at the latest, on the monotonic clock */
};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool weiri_keeper_call_locked(weir_consumer *consumer)
{
    weiri_mutex_assert_held(&consumer->mutex);
    consumer->is_called = true;
    weiri_cond_signal(&consumer->called);
    return consumer->is_listening;
}

void weiri_keeper_ring(weir_consumer *consumer)
{
    consumer->broker->ops->wake(consumer->broker->store, consumer->tube);
}

/* The first task that is in need of cancelling; NULL: none. */
static struct weiri_task *find_to_cancel_locked(weir_consumer *consumer)
    WEIRI_REQUIRES(consumer->mutex)
{
    struct weiri_list *end = &consumer->tasks;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_task *task = WEIRI_CONTAINER(link, struct weiri_task, link);
        bool is_unwanted = task->is_lost || consumer->stops >= 2;
        if (is_unwanted && task->context != NULL && !task->is_canceled) {
            return task;
        }
    }
    return NULL;
}

/* Cancels without the consumer's mutex: a context has a lock of its own. Its run lasts as long as
 * is_being_canceled. */
static void cancel_unwanted(weir_consumer *consumer)
{
    weiri_mutex_lock(&consumer->mutex);
    struct weiri_task *task = find_to_cancel_locked(consumer);
    while (task != NULL) {
        task->is_canceled = true;
        task->is_being_canceled = true;
        weiri_mutex_unlock(&consumer->mutex);
        weir_context_cancel(task->context);
        weiri_mutex_lock(&consumer->mutex);
        task->is_being_canceled = false;
        weiri_cond_broadcast(&consumer->changed);
        task = find_to_cancel_locked(consumer);
    }
    weiri_mutex_unlock(&consumer->mutex);
}

/* Collects the reservations to touch, and finds when the next will be due. */
static int64_t collect_touches_locked(weir_consumer *consumer, int64_t now_ns, struct round *round)
    WEIRI_REQUIRES(consumer->mutex)
{
    int64_t next = INT64_MAX;
    struct weiri_list *end = &consumer->tasks;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_task *task = WEIRI_CONTAINER(link, struct weiri_task, link);
        if (task->is_lost || task->is_settled) {
            continue;
        }
        if (task->touch_ns <= now_ns) {
            WEIRI_ASSERT(round->touch_count < consumer->options.workers);
            task->is_being_touched = true;
            consumer->touches[round->touch_count] = (struct weiri_settlement){
                .reservation = task->reservation, .event = WEIRI_JOB_TOUCH};
            consumer->touched[round->touch_count] = task;
            round->touch_count++;
        } else if (task->touch_ns < next) {
            next = task->touch_ns;
        }
    }
    return next;
}

/* Decides what to do. False: the consumer is over and nothing is in hand. */
static bool begin_round(weir_consumer *consumer, struct round *round)
{
    int64_t now = weiri_monotonic_now();
    *round = (struct round){0};
    weiri_mutex_lock(&consumer->mutex);
    consumer->is_called = false;
    /* Before anything is looked at: what rings later, ends the sleep that follows. */
    round->mark = consumer->broker->ops->mark(consumer->broker->store, consumer->tube);
    bool is_done =
        consumer->is_over && weiri_list_is_empty(&consumer->tasks) && consumer->claimed == 0;
    if (!is_done) {
        round->look_ns = collect_touches_locked(consumer, now, round);
        round->wanted = consumer->is_over ? 0 : consumer->options.workers - consumer->claimed;
        round->is_full = round->wanted == 0;
        consumer->claimed += round->wanted;
    }
    weiri_mutex_unlock(&consumer->mutex);
    return !is_done;
}

/* Gives the tasks back that were touched, or were to be. */
static void finish_touches(weir_consumer *consumer, struct round *round, bool was_made)
{
    int64_t now = weiri_monotonic_now();
    weiri_mutex_lock(&consumer->mutex);
    for (size_t i = 0; i < round->touch_count; i++) {
        struct weiri_task *task = consumer->touched[i];
        task->is_being_touched = false;
        if (was_made && consumer->touches[i].status == WEIR_OK) {
            task->touch_ns = weiri_time_add(now, task->reservation->job.ttr_ns / 3);
            round->look_ns = earlier(round->look_ns, task->touch_ns);
        } else if (was_made) {
            /* Also where its worker has settled it in the meantime: then nobody asks any more. */
            task->is_lost = true;
        }
    }
    weiri_cond_broadcast(&consumer->changed);
    weiri_mutex_unlock(&consumer->mutex);
}

/* After a failed trip: what it was to touch is due still, so a wait keeps the loop from spinning.
 */
static void back_off(weir_consumer *consumer, enum weir_status status,
                     const struct weir_error *error)
{
    if (!weiri_consumer_is_transient(status)) {
        weiri_broker_log(&consumer->broker->config, WEIR_LOG_ERROR, "tube %s: consumer ends: %s",
                         consumer->tube, error->text);
        weiri_consumer_end(consumer, status, error);
    }
    consumer->failures++;
    int64_t delay = weiri_consumer_backoff(consumer->failures);
    if (weiri_consumer_is_transient(status)) {
        weiri_broker_log(&consumer->broker->config, WEIR_LOG_WARNING,
                         "tube %s: tried again in %lld ms: %s", consumer->tube,
                         (long long)(delay / WEIR_MS(1)), error->text);
    }
    int64_t limit = weiri_time_add(weiri_monotonic_now(), delay);
    weiri_mutex_lock(&consumer->mutex);
    /* Only an end, or a stop, is worth being woken for. */
    bool may_wait = true;
    uint32_t stops = consumer->stops;
    while (may_wait && !(consumer->is_over && weiri_list_is_empty(&consumer->tasks)) &&
           consumer->stops == stops) {
        may_wait = weiri_cond_wait_until(&consumer->called, limit);
    }
    weiri_mutex_unlock(&consumer->mutex);
}

/* One trip to the store. Returns false where it failed. */
static bool make_trip(weir_consumer *consumer, struct round *round, bool *ret_is_empty)
{
    struct weiri_exchange exchange = {.tube = consumer->tube,
                                      .settlements = consumer->touches,
                                      .settlement_count = round->touch_count,
                                      .wanted = round->wanted,
                                      .attempts_max = consumer->options.attempts_max,
                                      .is_keeping = true};
    struct weir_error error = {""};
    atomic_fetch_add_explicit(&consumer->trips, 1, memory_order_relaxed);
    enum weir_status status =
        consumer->broker->ops->exchange(consumer->broker->store, &exchange, &error);
    finish_touches(consumer, round, status == WEIR_OK);
    if (status != WEIR_OK) {
        weiri_list_init(&exchange.reserved);
        (void)weiri_tasks_start(consumer, &exchange.reserved, round->wanted);
        back_off(consumer, status, &error);
        return false;
    }
    round->reserved = exchange.reserved_count;
    round->is_full = round->reserved == round->wanted;
    *ret_is_empty = !round->is_full && exchange.is_empty;
    if (!round->is_full && exchange.next_ns != WEIR_FOREVER) {
        int64_t wall = consumer->broker->config.now(consumer->broker->config.now_arg);
        int64_t delay = weiri_time_sub(exchange.next_ns, wall);
        round->look_ns =
            earlier(round->look_ns, weiri_time_add(weiri_monotonic_now(), delay > 0 ? delay : 0));
    }
    if (!weiri_tasks_start(consumer, &exchange.reserved, round->wanted)) {
        (void)weiri_fail(&error, WEIR_ENOMEM, "out of memory");
        back_off(consumer, WEIR_ENOMEM, &error);
        return false;
    }
    consumer->failures = 0;
    return true;
}

/* Sleeps until called, or rung for, or the time to look. Returns whether that was for as long as
 * there was no reason to. */
static bool sleep_round(weir_consumer *consumer, const struct round *round)
{
    int64_t longest = weiri_time_add(weiri_monotonic_now(), WEIRI_WAIT_MAX_NS);
    bool is_relook = false;
    weiri_mutex_lock(&consumer->mutex);
    bool is_listening = !round->is_full && !consumer->is_called && !consumer->is_over;
    consumer->is_listening = is_listening;
    consumer->wake_ns = is_listening ? earlier(round->look_ns, longest) : round->look_ns;
    int64_t limit = consumer->wake_ns;
    if (is_listening) {
        weiri_mutex_unlock(&consumer->mutex);
        bool was_rung = consumer->broker->ops->wait(consumer->broker->store, consumer->tube,
                                                    round->mark, limit);
        is_relook = !was_rung && limit == longest;
        weiri_mutex_lock(&consumer->mutex);
        consumer->is_listening = false;
    } else {
        bool is_early = true;
        while (!consumer->is_called && is_early) {
            is_early = weiri_cond_wait_until(&consumer->called, limit);
        }
    }
    consumer->wake_ns = INT64_MAX;
    weiri_mutex_unlock(&consumer->mutex);
    return is_relook;
}

/* Has the tube run dry, for a consumer that ends then? Nothing in hand, and nothing on its way. */
static bool is_dry(weir_consumer *consumer)
{
    weiri_mutex_lock(&consumer->mutex);
    bool is = weiri_list_is_empty(&consumer->tasks) && consumer->claimed == 0;
    weiri_mutex_unlock(&consumer->mutex);
    return is;
}

static void keep(weir_consumer *consumer)
{
    bool is_until_empty = (consumer->options.flags & WEIR_CONSUMER_UNTIL_EMPTY) != 0;
    bool is_relook = false;
    struct round round;
    while (begin_round(consumer, &round)) {
        cancel_unwanted(consumer);
        bool is_empty = false;
        if (round.wanted > 0 || round.touch_count > 0) {
            if (!make_trip(consumer, &round, &is_empty)) {
                continue;
            }
            cancel_unwanted(consumer);
        }
        if (is_relook && round.reserved > 0) {
            atomic_fetch_add_explicit(&consumer->missed, 1, memory_order_relaxed);
        }
        if (is_until_empty && is_empty && is_dry(consumer)) {
            weiri_consumer_end(consumer, WEIR_OK, NULL);
            continue;
        }
        is_relook = sleep_round(consumer, &round);
        if (is_relook) {
            atomic_fetch_add_explicit(&consumer->relooks, 1, memory_order_relaxed);
        }
    }
}

void weiri_keeper_main(void *arg)
{
    weir_consumer *consumer = arg;
    weiri_mutex_lock(&consumer->mutex);
    while (consumer->state == WEIRI_CONSUMER_STARTING) {
        weiri_cond_wait(&consumer->called);
    }
    bool has_pool = consumer->state == WEIRI_CONSUMER_RUNNING;
    weiri_mutex_unlock(&consumer->mutex);
    if (!has_pool) {
        return;
    }
    const struct weiri_broker_ops *ops = consumer->broker->ops;
    bool is_until_empty = (consumer->options.flags & WEIR_CONSUMER_UNTIL_EMPTY) != 0;
    if (is_until_empty) {
        ops->watch_empty(consumer->broker->store, consumer->tube, true);
    }
    keep(consumer);
    if (is_until_empty) {
        ops->watch_empty(consumer->broker->store, consumer->tube, false);
    }
    enum weir_status status = weir_pool_drain(consumer->pool);
    WEIRI_ASSERT(status == WEIR_OK);
    weiri_mutex_lock(&consumer->mutex);
    consumer->state = WEIRI_CONSUMER_ENDED;
    weiri_cond_broadcast(&consumer->changed);
    weiri_mutex_unlock(&consumer->mutex);
}
