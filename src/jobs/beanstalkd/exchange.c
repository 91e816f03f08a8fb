/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The consumer's side of a subscription: settling, taking from the stock, waiting. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/panic.h"
#include "base/time.h"
#include "jobs/beanstalkd/subscription.h"

/* How long demand counts after the call that made it, where nobody waits. */
#define DEMAND_NS WEIR_SECONDS(2)
/* How often to ask whether a tube is empty: at most while jobs come, and while none does. */
#define CHECK_BUSY_NS WEIR_MS(20)
#define CHECK_NS WEIR_MS(100)

static struct weiri_subscription *find_locked(struct weiri_cluster *cluster, const char *tube)
    WEIRI_REQUIRES(cluster->mutex)
{
    struct weiri_list *end = &cluster->subscriptions;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_subscription *subscription =
            WEIRI_CONTAINER(link, struct weiri_subscription, link);
        if (strcmp(subscription->tube, tube) == 0) {
            return subscription;
        }
    }
    return NULL;
}

/* The subscription of a tube; NULL for lack of memory. */
static struct weiri_subscription *subscribe(struct weiri_cluster *cluster, const char *tube)
{
    weiri_mutex_lock(&cluster->mutex);
    struct weiri_subscription *found = find_locked(cluster, tube);
    weiri_mutex_unlock(&cluster->mutex);
    if (found != NULL) {
        return found;
    }
    const struct weir_allocator *memory = &cluster->config->allocator;
    size_t size = sizeof(struct weiri_subscription) +
                  cluster->options.node_count * sizeof(struct weiri_branch);
    struct weiri_subscription *made = weiri_alloc_zero(memory, 1, size);
    if (made == NULL) {
        return NULL;
    }
    made->cluster = cluster;
    made->attempts_max = UINT32_MAX;
    memcpy(made->tube, tube, strlen(tube) + 1);
    weiri_list_init(&made->stock);
    weiri_list_init(&made->copies);
    weiri_list_init(&made->early);
    made->early_ns = INT64_MAX;
    for (size_t i = 0; i < cluster->options.node_count; i++) {
        weiri_list_init(&made->branches[i].foreign);
    }
    weiri_mutex_lock(&cluster->mutex);
    found = find_locked(cluster, tube);
    if (found == NULL) {
        weiri_list_insert_before(&cluster->subscriptions, &made->link);
    }
    weiri_mutex_unlock(&cluster->mutex);
    if (found != NULL) {
        weiri_release(memory, made, size);
        return found;
    }
    return made;
}

/* --- exchange --- */

/* Hands a copy that a consumer has to the cluster's thread: to be settled, or let go. */
static void hand_in(struct weiri_cluster *cluster, struct weiri_copy *copy)
{
    weiri_mutex_lock(&cluster->mutex);
    weiri_list_insert_before(&cluster->copies, &copy->link);
    weiri_cluster_wake_locked(cluster);
    weiri_mutex_unlock(&cluster->mutex);
}

void weiri_cluster_settle(void *store, struct weiri_settlement *settlement)
{
    struct weiri_copy *copy = settlement->reservation->backend;
    WEIRI_ASSERT(copy->settlement == NULL);
    copy->settlement = settlement;
    hand_in(store, copy);
}

void weiri_cluster_let_go(void *store, struct weiri_reservation *reservation)
{
    hand_in(store, reservation->backend);
}

/* Takes from the stock; what lacks is the demand. */
static void take_locked(struct weiri_cluster *cluster, struct weiri_subscription *subscription,
                        struct weiri_exchange *exchange) WEIRI_REQUIRES(cluster->mutex)
{
    struct weiri_list *stock = &subscription->stock;
    while (!weiri_list_is_empty(stock) && exchange->reserved_count < exchange->wanted) {
        struct weiri_copy *copy = WEIRI_CONTAINER(stock->next, struct weiri_copy, link);
        weiri_list_remove(&copy->link);
        copy->is_taken = true;
        weiri_list_insert_before(&exchange->reserved, &copy->reservation->link);
        exchange->reserved_count++;
    }
    subscription->demand = exchange->wanted - exchange->reserved_count;
    subscription->demand_until_ns = weiri_time_add(weiri_monotonic_now(), DEMAND_NS);
    weiri_cluster_wake_locked(cluster);
}

static bool is_enough(const struct weiri_queries *queries)
{
    return queries->count > 0; /* those that are silent are away */
}

/* Asks all nodes whether the tube is empty, and says when to ask again. Each accepted job has
 * min_written copies, so where fewer nodes are away one copy is on a node that answered. */
static enum weir_status check_emptiness(struct weiri_cluster *cluster,
                                        struct weiri_exchange *exchange,
                                        struct weir_error *ret_error)
{
    struct weiri_queries queries;
    struct weir_tube_counts counts;
    size_t away = 0;
    enum weir_status status = weiri_queries_init(&queries, cluster, WEIRI_ALL_NODES, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    queries.is_enough = is_enough;
    (void)weiri_cluster_count(&queries, exchange->tube, &counts);
    for (size_t i = 0; i < queries.count; i++) {
        away += queries.query[i].delivery != WEIRI_ANSWERED;
    }
    exchange->is_empty =
        away < cluster->options.min_written && counts.ready + counts.reserved + counts.delayed == 0;
    exchange->next_in_ns = CHECK_NS;
    weiri_queries_fini(&queries);
    return WEIR_OK;
}

enum weir_status weiri_cluster_exchange(void *store, struct weiri_exchange *exchange,
                                        struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct weiri_subscription *subscription = subscribe(cluster, exchange->tube);
    weiri_list_init(&exchange->reserved);
    exchange->reserved_count = 0;
    exchange->next_in_ns = WEIR_FOREVER;
    exchange->is_empty = false;
    if (subscription == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    WEIRI_ASSERT(exchange->settlements == NULL);
    if (exchange->wanted == 0) {
        return WEIR_OK;
    }
    int64_t now = weiri_monotonic_now();
    exchange->looked_ns = now;
    weiri_mutex_lock(&cluster->mutex);
    if (exchange->attempts_max > 0) {
        subscription->attempts_max = exchange->attempts_max;
    }
    exchange->mark = (struct weiri_mark){.tube = exchange->tube, .mark = subscription->signals};
    take_locked(cluster, subscription, exchange);
    bool is_watching = exchange->is_watching && exchange->reserved_count == 0;
    bool may_ask = is_watching && !exchange->is_hasty && subscription->check_ns <= now;
    if (may_ask) {
        subscription->check_ns = weiri_time_add(now, CHECK_BUSY_NS);
    }
    weiri_mutex_unlock(&cluster->mutex);
    if (may_ask) {
        return check_emptiness(cluster, exchange, ret_error);
    }
    if (is_watching) {
        exchange->next_in_ns = CHECK_BUSY_NS;
    }
    return WEIR_OK;
}

/* --- waiting --- */

uint32_t weiri_cluster_mark(void *store, const struct weiri_mark *mark)
{
    struct weiri_cluster *cluster = store;
    struct weiri_subscription *subscription = subscribe(cluster, mark->tube);
    if (subscription == NULL) {
        return 0;
    }
    weiri_mutex_lock(&cluster->mutex);
    uint32_t signals = subscription->signals;
    weiri_mutex_unlock(&cluster->mutex);
    return signals;
}

static bool is_signalled(struct weiri_subscription *const *subscriptions,
                         const struct weiri_mark *marks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (subscriptions[i]->signals != marks[i].mark) {
            return true;
        }
    }
    return false;
}

bool weiri_cluster_wait(void *store, const struct weiri_mark *marks, size_t count, int64_t limit_ns)
{
    struct weiri_cluster *cluster = store;
    struct weiri_subscription *subscriptions[WEIRI_MARKS_MAX];
    bool may_wait = true;
    WEIRI_ASSERT(count <= WEIRI_MARKS_MAX);
    for (size_t i = 0; i < count; i++) {
        subscriptions[i] = subscribe(cluster, marks[i].tube);
        if (subscriptions[i] == NULL) {
            return false;
        }
    }
    weiri_mutex_lock(&cluster->mutex);
    for (size_t i = 0; i < count; i++) {
        subscriptions[i]->waiters++;
    }
    weiri_cluster_wake_locked(cluster);
    while (may_wait && !is_signalled(subscriptions, marks, count)) {
        may_wait = weiri_cond_wait_until(&cluster->changed, limit_ns);
    }
    bool was_signalled = is_signalled(subscriptions, marks, count);
    for (size_t i = 0; i < count; i++) {
        subscriptions[i]->waiters--;
        subscriptions[i]->demand_until_ns = weiri_time_add(weiri_monotonic_now(), DEMAND_NS);
    }
    weiri_mutex_unlock(&cluster->mutex);
    return was_signalled;
}

void weiri_cluster_wake(void *store, const struct weiri_mark *mark, int count)
{
    (void)count; /* all are of this process */
    struct weiri_cluster *cluster = store;
    struct weiri_subscription *subscription = subscribe(cluster, mark->tube);
    if (subscription != NULL) {
        weiri_mutex_lock(&cluster->mutex);
        subscription->signals++;
        weiri_cond_broadcast(&cluster->changed);
        weiri_mutex_unlock(&cluster->mutex);
    }
}
