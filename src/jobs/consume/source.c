/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Which tube of a consumer has the next turn, and how many runs may begin. */
#include "base/time.h"
#include "jobs/consume/consumer.h"

/* Runs that may begin at once: those of so much time. */
#define BURST_NS WEIR_MS(10)

size_t weiri_rate_take_locked(weir_consumer *consumer, size_t wanted)
{
    int64_t interval = consumer->interval_ns;
    if (interval == 0 || wanted == 0) {
        return wanted;
    }
    int64_t now = weiri_monotonic_now();
    if (consumer->start_ns < now - BURST_NS) {
        consumer->start_ns = now - BURST_NS;
    }
    if (consumer->start_ns > now) {
        return 0;
    }
    int64_t most = (now - consumer->start_ns) / interval + 1;
    int64_t count = most < (int64_t)wanted ? most : (int64_t)wanted;
    consumer->start_ns = weiri_time_add(consumer->start_ns, count * interval);
    return (size_t)count;
}

void weiri_rate_give_back(weir_consumer *consumer, size_t count)
{
    weiri_mutex_lock(&consumer->mutex);
    consumer->start_ns -= (int64_t)count * consumer->interval_ns;
    weiri_mutex_unlock(&consumer->mutex);
}

size_t weiri_share_pick(struct weiri_share *shares, size_t count)
{
    size_t picked = count;
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (!shares[i].may) {
            shares[i].credit = 0;
            continue;
        }
        shares[i].credit += shares[i].weight;
        total += shares[i].weight;
        if (picked == count || shares[i].credit > shares[picked].credit) {
            picked = i;
        }
    }
    if (picked < count) {
        shares[picked].credit -= total;
    }
    return picked;
}

struct weiri_source *weiri_source_choose(weir_consumer *consumer)
{
    const weir_broker *broker = consumer->broker;
    struct weiri_mark marks[WEIR_CONSUMER_TUBES_MAX];
    bool has_news[WEIR_CONSUMER_TUBES_MAX] = {false};
    size_t count = consumer->source_count;
    weiri_mutex_lock(&consumer->mutex);
    for (size_t i = 0; i < count; i++) {
        marks[i] = consumer->sources[i].mark;
    }
    weiri_mutex_unlock(&consumer->mutex);
    /* Without the mutex, since a cluster's mark takes a lock of its own. */
    for (size_t i = 0; i < count && count > 1; i++) {
        has_news[i] = broker->ops->mark(broker->store, &marks[i]) != marks[i].mark;
    }
    int64_t now = weiri_monotonic_now();
    weiri_mutex_lock(&consumer->mutex);
    for (size_t i = 0; i < count; i++) {
        const struct weiri_source *source = &consumer->sources[i];
        consumer->shares[i].may = !source->is_drained || has_news[i] || source->next_ns <= now;
    }
    size_t picked = weiri_share_pick(consumer->shares, count);
    weiri_mutex_unlock(&consumer->mutex);
    return &consumer->sources[picked < count ? picked : 0];
}

void weiri_source_note(weir_consumer *consumer, struct weiri_source *source,
                       const struct weiri_exchange *exchange)
{
    if (exchange->wanted == 0) {
        return;
    }
    weiri_mutex_lock(&consumer->mutex);
    source->is_drained = exchange->reserved_count < exchange->wanted;
    source->is_empty = source->is_drained && exchange->is_empty;
    source->mark = exchange->mark;
    source->next_ns =
        source->is_drained ? weiri_time_add(exchange->looked_ns, exchange->next_in_ns) : INT64_MAX;
    weiri_mutex_unlock(&consumer->mutex);
}
