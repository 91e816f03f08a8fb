/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A consumer's life cycle. */
#include "jobs/consume/consumer.h"

#include <string.h>

#include <weir/lifecycle.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/panic.h"
#include "base/retry.h"
#include "base/time.h"

#define ATTEMPTS_DEFAULT 25
#define WEIGHT_MAX 1000
#define RATE_MAX 1e9
#define KNOWN_FLAGS ((uint32_t)WEIR_CONSUMER_UNTIL_EMPTY)

static enum weir_status normalize(const struct weir_consumer_options *options,
                                  struct weir_consumer_options *ret_options,
                                  struct weir_error *ret_error)
{
    if (weiri_check_given("options", options, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct weir_consumer_options copy = *options;
    if (copy.handler == NULL) {
        return weiri_check_given("handler", NULL, ret_error);
    }
    enum weir_status status = weiri_check_flags(copy.flags, KNOWN_FLAGS, ret_error);
    if (status == WEIR_OK && !(copy.rate >= 0 && copy.rate <= RATE_MAX)) {
        status =
            weiri_fail(ret_error, WEIR_ERANGE, "rate is %g: expected 0 to %g", copy.rate, RATE_MAX);
    }
    if (status == WEIR_OK) {
        status = weiri_check_number("deadline_ns", copy.deadline_ns, 0, INT64_MAX, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_retry_check(&copy.retry, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    copy.workers = copy.workers == 0 ? 1 : copy.workers;
    copy.retry.attempts = copy.retry.attempts == 0 ? ATTEMPTS_DEFAULT : copy.retry.attempts;
    *ret_options = copy;
    return WEIR_OK;
}

static enum weir_status check_tubes(const char *tube, const struct weir_tube_weight *tubes,
                                    size_t count, struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
    if (tube != NULL || count == 0) {
        return count == 0
                   ? weiri_name_check("tube", tube, ret_error)
                   : weiri_fail(ret_error, WEIR_EINVAL,
                                "a tube and %zu tubes in the options: expected one of both", count);
    }
    if (tubes == NULL || count > WEIR_CONSUMER_TUBES_MAX) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "tubes is %s and tube_count %zu: expected 1 to %d",
                          tubes == NULL ? "NULL" : "set", count, WEIR_CONSUMER_TUBES_MAX);
    }
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = weiri_name_check("tube", tubes[i].tube, ret_error);
        if (status == WEIR_OK && tubes[i].weight > WEIGHT_MAX) {
            status = weiri_fail(ret_error, WEIR_EINVAL, "weight of tube %s is %u: at most %d",
                                tubes[i].tube, (unsigned)tubes[i].weight, WEIGHT_MAX);
        }
        for (size_t k = 0; k < i && status == WEIR_OK; k++) {
            if (strcmp(tubes[i].tube, tubes[k].tube) == 0) {
                status =
                    weiri_fail(ret_error, WEIR_EINVAL, "tube %s is named twice", tubes[i].tube);
            }
        }
    }
    return status;
}

static void set_sources(weir_consumer *consumer, const char *tube)
{
    const struct weir_tube_weight one = {.tube = tube};
    for (size_t i = 0; i < consumer->source_count; i++) {
        const struct weir_tube_weight *from = tube != NULL ? &one : &consumer->options.tubes[i];
        memcpy(consumer->sources[i].tube, from->tube, strlen(from->tube) + 1);
        consumer->sources[i].mark.tube = consumer->sources[i].tube;
        consumer->shares[i].weight = from->weight == 0 ? 1 : from->weight;
    }
    /* Borrowed until here. */
    consumer->options.tubes = NULL;
    consumer->options.stamps = NULL;
    consumer->options.name = NULL;
}

/* Frees a consumer. Any part but the locks may be missing. */
static void release(weir_consumer *consumer)
{
    struct weir_allocator memory = consumer->allocator;
    weir_pool_free(consumer->pool);
    weiri_event_fd_close(&consumer->fd);
    weiri_cond_fini(&consumer->changed);
    weiri_cond_fini(&consumer->notified);
    weiri_mutex_fini(&consumer->mutex);
    weiri_release(&memory, consumer, sizeof(*consumer));
}

static enum weir_status make_pool(weir_consumer *consumer, struct weir_error *ret_error)
{
    struct weir_pool_options options = {0};
    options.allocator = consumer->allocator;
    options.log = consumer->broker->config.log;
    options.log_arg = consumer->broker->config.log_arg;
    options.workers = consumer->options.workers;
    options.flags = WEIR_POOL_HIDDEN; /* a handler that ended or paused it would end the consumer */
    options.ended = weiri_task_ended;
    options.stamps = consumer->options.stamps;
    options.stamp_count = consumer->options.stamp_count;
    options.limiter = consumer->options.limiter; /* not asked there, and not freed meanwhile */
    options.metrics = consumer->options.metrics;
    options.name = consumer->options.name;
    return weir_pool_new(&options, &consumer->pool, ret_error);
}

enum weir_status weir_consumer_new(weir_broker *broker, const char *tube,
                                   const struct weir_consumer_options *options,
                                   weir_consumer **ret_consumer, struct weir_error *ret_error)
{
    struct weir_consumer_options copy = {0};
    enum weir_status status = weiri_broker_enter_for(broker, WEIRI_WRITES, "ret_consumer",
                                                     ret_consumer != NULL, ret_error);
    if (status == WEIR_OK) {
        status = normalize(options, &copy, ret_error);
    }
    if (status == WEIR_OK) {
        status = check_tubes(tube, copy.tubes, copy.tube_count, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    weir_consumer *consumer = weiri_alloc_zero(&broker->config.allocator, 1, sizeof(*consumer));
    if (consumer == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    consumer->broker = broker;
    consumer->allocator = broker->config.allocator;
    consumer->options = copy;
    consumer->source_count = copy.tube_count == 0 ? 1 : copy.tube_count;
    consumer->is_until_empty = (copy.flags & WEIR_CONSUMER_UNTIL_EMPTY) != 0;
    consumer->has_control = (broker->config.can & WEIRI_CAN(CONTROL)) != 0;
    double interval = copy.rate > 0 ? 1e9 / copy.rate : 0;
    consumer->interval_ns = interval < 9e18 ? (int64_t)(interval + 0.5) : INT64_MAX / 2;
    weiri_list_init(&consumer->tasks);
    consumer->wake_ns = INT64_MAX;
    weiri_mutex_init(&consumer->mutex);
    weiri_cond_init(&consumer->notified, &consumer->mutex);
    weiri_cond_init(&consumer->changed, &consumer->mutex);
    status = make_pool(consumer, ret_error);
    if (status != WEIR_OK) {
        release(consumer);
        return status;
    }
    set_sources(consumer, tube);
    weiri_broker_attach(broker);
    *ret_consumer = consumer;
    return WEIR_OK;
}

/* Shows event loops whether the consumer has ended. */
static void show_end_locked(weir_consumer *consumer) WEIRI_REQUIRES(consumer->mutex)
{
    if (consumer->fd.is_open) {
        weiri_event_fd_show(&consumer->fd, consumer->state == WEIRI_CONSUMER_ENDED, INT64_MAX);
    }
}

void weiri_consumer_set_state(weir_consumer *consumer, enum weiri_consumer_state state)
{
    weiri_mutex_lock(&consumer->mutex);
    consumer->state = state;
    if (state == WEIRI_CONSUMER_NEW) { /* an end of the failed start is none of the next one */
        consumer->is_over = false;
        consumer->end = (struct weiri_end){.mode = WEIR_END_DRAIN};
    }
    show_end_locked(consumer);
    weiri_cond_broadcast(&consumer->changed);
    weiri_cond_broadcast(&consumer->notified);
    weiri_mutex_unlock(&consumer->mutex);
}

static enum weir_status enter(const weir_consumer *consumer, struct weir_error *ret_error)
{
    return weiri_check_given("consumer", consumer, ret_error) != WEIR_OK
               ? WEIR_EINVAL
               : weiri_broker_enter(consumer->broker, 0, ret_error);
}

enum weir_status weir_consumer_start(weir_consumer *consumer, struct weir_error *ret_error)
{
    enum weir_status status = enter(consumer, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_mutex_lock(&consumer->mutex);
    bool is_new = consumer->state == WEIRI_CONSUMER_NEW;
    consumer->state = is_new ? WEIRI_CONSUMER_RUNNING : consumer->state;
    weiri_mutex_unlock(&consumer->mutex);
    if (!is_new) {
        return weiri_fail(ret_error, WEIR_ESTATE, "the consumer was started before");
    }
    status = weir_pool_start(consumer->pool);
    if (status == WEIR_OK) {
        status =
            weiri_thread_start(&consumer->fetcher, "weir-fetcher", weiri_fetcher_main, consumer);
        if (status != WEIR_OK) { /* nobody has sent anything to the pool */
            (void)weir_pool_end(consumer->pool, WEIR_END_STOP, 0, WEIR_FOREVER);
        }
    }
    if (status == WEIR_OK) {
        return WEIR_OK;
    }
    weiri_consumer_set_state(consumer, WEIRI_CONSUMER_NEW);
    return weiri_fail(ret_error, status, "%u workers: %s", (unsigned)consumer->options.workers,
                      weir_status_text((int)status));
}

/* Begins an end, which may be stronger than the one under way. Returns whether it has. */
static bool close_locked(weir_consumer *consumer, enum weir_end_mode mode)
    WEIRI_REQUIRES(consumer->mutex)
{
    if (consumer->state == WEIRI_CONSUMER_ENDED) {
        return false; /* what it came to stays */
    }
    consumer->is_over = true;
    consumer->end = weiri_end_merge(consumer->end, (struct weiri_end){.mode = mode});
    weiri_cond_broadcast(&consumer->changed);
    return true;
}

/* Checks a call about the end. A handler must not wait for it; only the pool knows its threads. */
static enum weir_status check_end(weir_consumer *consumer, int64_t timeout_ns,
                                  struct weir_error *ret_error)
{
    enum weir_status status = enter(consumer, ret_error);
    return status == WEIR_OK && timeout_ns > 0 &&
                   weir_pool_wait_idle(consumer->pool, 0) == WEIR_ESTATE
               ? weiri_fail(ret_error, WEIR_ESTATE, "a handler cannot wait for its consumer's end")
               : status;
}

static const char unstarted[] = "the consumer was never started";

static enum weir_status wait_until(weir_consumer *consumer, int64_t limit_ns,
                                   struct weir_error *ret_error)
{
    bool may_wait = limit_ns != WEIRI_AT_ONCE;
    weiri_mutex_lock(&consumer->mutex);
    while (may_wait && consumer->state == WEIRI_CONSUMER_RUNNING) {
        may_wait = weiri_cond_wait_until(&consumer->changed, limit_ns);
    }
    enum weiri_consumer_state state = consumer->state;
    enum weir_status status = consumer->end_status;
    if (state == WEIRI_CONSUMER_ENDED && ret_error != NULL) {
        *ret_error = consumer->end_error;
    }
    weiri_mutex_unlock(&consumer->mutex);
    if (state == WEIRI_CONSUMER_ENDED) {
        return status;
    }
    return state == WEIRI_CONSUMER_NEW
               ? weiri_fail(ret_error, WEIR_ESTATE, "%s", unstarted)
               : weiri_fail(ret_error, WEIR_ETIMEDOUT, "the consumer has not ended yet");
}

enum weir_status weir_consumer_wait(weir_consumer *consumer, int64_t timeout_ns,
                                    struct weir_error *ret_error)
{
    int64_t limit_ns = weiri_clock_limit(weir_clock_monotonic(), timeout_ns);
    enum weir_status status = check_end(consumer, timeout_ns, ret_error);
    return status == WEIR_OK ? wait_until(consumer, limit_ns, ret_error) : status;
}

enum weir_status weir_consumer_end(weir_consumer *consumer, enum weir_end_mode mode,
                                   int64_t timeout_ns, struct weir_error *ret_error)
{
    int64_t limit_ns = weiri_clock_limit(weir_clock_monotonic(), timeout_ns);
    enum weir_status status = check_end(consumer, timeout_ns, ret_error);
    if (status == WEIR_OK) {
        status = weiri_check_choice("mode", (int)mode, WEIR_END_TERMINATE, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    weiri_mutex_lock(&consumer->mutex);
    bool was_started = consumer->state != WEIRI_CONSUMER_NEW;
    weiri_fetcher_notify_and_unlock(consumer, was_started && close_locked(consumer, mode));
    if (!was_started) {
        return weiri_fail(ret_error, WEIR_ESTATE, "%s", unstarted);
    }
    if (timeout_ns > 0) {
        status = wait_until(consumer, limit_ns, ret_error);
    }
    weiri_mutex_lock(&consumer->mutex);
    enum weir_status answer = weiri_end_answer(mode, consumer->end.mode);
    enum weir_status failure = consumer->end_status; /* a finish that nobody asked for */
    struct weir_error why = consumer->end_error;
    weiri_mutex_unlock(&consumer->mutex);
    if (status != WEIR_OK || answer == WEIR_OK) {
        return status;
    }
    return failure != WEIR_OK ? weiri_fail(ret_error, failure, "%s", why.text)
                              : weiri_fail(ret_error, answer,
                                           "mode is %d: a stronger end was asked for", (int)mode);
}

enum weir_status weir_consumer_fd(weir_consumer *consumer, int *ret_fd,
                                  struct weir_error *ret_error)
{
    enum weir_status status = enter(consumer, ret_error);
    if (status == WEIR_OK) {
        status = weiri_check_given("ret_fd", ret_fd, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    status = weiri_event_fd_open(&consumer->fd, &consumer->mutex, ret_fd);
    weiri_mutex_lock(&consumer->mutex);
    show_end_locked(consumer);
    weiri_mutex_unlock(&consumer->mutex);
    return status == WEIR_OK
               ? WEIR_OK
               : weiri_fail(ret_error, status, "a descriptor: %s", weir_status_text((int)status));
}

void weiri_consumer_close(weir_consumer *consumer, enum weir_status status,
                          const struct weir_error *error)
{
    weiri_mutex_lock(&consumer->mutex);
    if (consumer->end_status == WEIR_OK && status != WEIR_OK) {
        consumer->end_status = status;
        consumer->end_error = *error;
    }
    /* A store that has failed runs nothing more. */
    enum weir_end_mode mode = status == WEIR_OK ? WEIR_END_DRAIN : WEIR_END_FINISH;
    weiri_fetcher_notify_and_unlock(consumer, close_locked(consumer, mode));
}

static enum weiri_ending level_locked(const weir_consumer *consumer) WEIRI_REQUIRES(consumer->mutex)
{
    bool is_stopped = consumer->end.mode >= WEIR_END_STOP || consumer->end_status != WEIR_OK;
    return !consumer->is_over                      ? WEIRI_ENDING_NOT
           : weiri_list_is_empty(&consumer->tasks) ? WEIRI_ENDING_LAST
           : is_stopped                            ? WEIRI_ENDING_STOPPED
                                                   : WEIRI_ENDING;
}

bool weiri_consumer_pause(weir_consumer *consumer, struct weiri_cond *cond, int64_t ns,
                          enum weiri_ending least)
{
    int64_t limit = weiri_time_add(weiri_monotonic_now(), ns);
    bool is_early = true;
    weiri_mutex_lock(&consumer->mutex);
    enum weiri_ending level = level_locked(consumer);
    if (least == WEIRI_ENDING_NOT) {
        least = level < WEIRI_ENDING_LAST ? level + 1 : level;
    }
    while (is_early && (level = level_locked(consumer)) < least) {
        is_early = weiri_cond_wait_until(cond, limit);
    }
    weiri_mutex_unlock(&consumer->mutex);
    return level < least;
}

bool weiri_consumer_is_ending(const weir_consumer *consumer, enum weir_status status)
{
    return status != WEIR_ETIMEDOUT && status != WEIR_ENOMEM && status != WEIR_EUNAVAILABLE &&
           status != WEIR_ENOSPACE && (status != WEIR_ECORRUPT || consumer->is_until_empty);
}

void weir_consumer_free(weir_consumer *consumer)
{
    /* In a child after fork there are no threads to end, and the memory is shared until exec. */
    if (consumer == NULL || !weiri_broker_is_ours(consumer->broker)) {
        return;
    }
    weiri_mutex_lock(&consumer->mutex);
    bool was_started = consumer->state != WEIRI_CONSUMER_NEW;
    weiri_mutex_unlock(&consumer->mutex);
    if (was_started) {
        (void)weir_consumer_end(consumer, WEIR_END_STOP, 0, NULL);
        weiri_thread_join(&consumer->fetcher);
    }
    WEIRI_ASSERT(weiri_list_is_empty(&consumer->tasks));
    weir_broker *broker = consumer->broker;
    release(consumer);
    weiri_broker_detach(broker);
}
