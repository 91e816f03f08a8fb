/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The consumer's side of a subscription: settling, taking from the stock, waiting. */
#include <string.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "base/time.h"
#include "jobs/beanstalkd/copy.h"
#include "jobs/error.h"

/* How long demand counts after the call that made it, where nobody waits. */
#define DEMAND_NS WEIR_SECONDS(2)
/* Settlements that need no memory. */
#define FEW 4

/* --- settling, on the cluster's thread --- */

static void finish(struct weiri_settling *settling, enum weir_status status)
{
    WEIRI_ASSERT(settling->settlement != NULL);
    bool is_last = settling->settlement->event != WEIRI_JOB_TOUCH && status != WEIR_EUNAVAILABLE;
    settling->settlement->status = status;
    if (is_last) {
        weiri_copy_unhold(settling->copy);
    }
    weiri_call_answer(settling->subscription->cluster, settling->call);
}

static void settled(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply)
{
    struct weiri_settling *settling = WEIRI_CONTAINER(command, struct weiri_settling, command);
    bool is_good = delivery == WEIRI_ANSWERED &&
                   (reply->kind == WEIRI_DELETED || reply->kind == WEIRI_RELEASED ||
                    reply->kind == WEIRI_BURIED || reply->kind == WEIRI_TOUCHED);
    /* A job that Redis knows as done is deleted when it comes back, by whoever finds it. */
    finish(settling, is_good || settling->is_confirmed ? WEIR_OK : WEIR_ELEASELOST);
}

/* Whole seconds until a time, rounded up: never early. */
static uint32_t seconds_until(struct weiri_cluster *cluster, int64_t run_at_ns)
{
    int64_t delay = weiri_time_sub(run_at_ns, weiri_cluster_now(cluster));
    if (delay <= 0) {
        return 0;
    }
    int64_t seconds = delay / WEIR_SECONDS(1) + (delay % WEIR_SECONDS(1) != 0);
    return seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
}

static void send_settlement(struct weiri_settling *settling)
{
    static const enum weiri_verb verbs[] = {[WEIRI_JOB_TOUCH] = WEIRI_TOUCH,
                                            [WEIRI_JOB_DONE] = WEIRI_DELETE,
                                            [WEIRI_JOB_RELEASE] = WEIRI_RELEASE,
                                            [WEIRI_JOB_RETURN] = WEIRI_RELEASE,
                                            [WEIRI_JOB_BURY] = WEIRI_BURY};
    struct weiri_copy *copy = settling->copy;
    struct weiri_command *command = &settling->command;
    *command = (struct weiri_command){
        .conn = &copy->lane->conn,
        .request = {.verb = verbs[settling->settlement->event],
                    .id = copy->number,
                    .priority = copy->priority,
                    .delay_s = seconds_until(settling->subscription->cluster,
                                             settling->settlement->run_at_ns)},
        .done = settled};
    weiri_list_init(&command->link);
    if (weiri_copy_is_alive(copy)) {
        weiri_conn_push(command->conn, command, weiri_monotonic_now());
    } else {
        settled(command, WEIRI_NOT_SENT, NULL);
    }
}

static void claim_settled(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    struct weiri_settling *settling = WEIRI_CONTAINER(claim, struct weiri_settling, claim);
    (void)number;
    bool is_touch = settling->settlement->event == WEIRI_JOB_TOUCH;
    settling->is_confirmed =
        settling->settlement->event == WEIRI_JOB_DONE && answer == WEIRI_CLAIM_MINE;
    if (is_touch && (answer == WEIRI_CLAIM_BUSY || answer == WEIRI_CLAIM_DONE)) {
        finish(settling, WEIR_ELEASELOST); /* another took it when this claim's lease ended */
        return;
    }
    bool is_final = settling->settlement->event == WEIRI_JOB_DONE ||
                    settling->settlement->event == WEIRI_JOB_BURY;
    if (is_final && answer == WEIRI_CLAIM_AWAY &&
        !settling->subscription->cluster->url.runs_unclaimed) {
        /* Were the copy deleted now, another would run. The caller tries again. */
        finish(settling, WEIR_EUNAVAILABLE);
        return;
    }
    if (settling->is_confirmed) {
        weiri_copies_done(settling->subscription, claim->key);
    }
    send_settlement(settling);
}

void weiri_settling_begin(struct weiri_settling *settling, int64_t now_ns)
{
    static const enum weiri_claim_verb verbs[] = {[WEIRI_JOB_TOUCH] = WEIRI_CLAIM_RENEW,
                                                  [WEIRI_JOB_DONE] = WEIRI_CLAIM_CONFIRM,
                                                  [WEIRI_JOB_RELEASE] = WEIRI_CLAIM_RETURN,
                                                  [WEIRI_JOB_RETURN] = WEIRI_CLAIM_UNDO,
                                                  [WEIRI_JOB_BURY] = WEIRI_CLAIM_BURY};
    struct weiri_cluster *cluster = settling->subscription->cluster;
    const struct weiri_copy *copy = settling->copy;
    if (!copy->is_claimed) {
        send_settlement(settling);
        return;
    }
    enum weiri_job_event event = settling->settlement->event;
    struct weiri_claim *claim = &settling->claim;
    *claim = (struct weiri_claim){
        .verb = verbs[event], .token = copy->claim.token, .done = claim_settled};
    weiri_list_init(&claim->link);
    memcpy(claim->key, copy->claim.key, sizeof(claim->key));
    claim->time_ms = event == WEIRI_JOB_TOUCH
                         ? weiri_copy_lease_ms(copy)
                         : (int64_t)seconds_until(cluster, settling->settlement->run_at_ns) * 1000;
    weiri_claims_push(cluster->claims, claim, now_ns);
}

/* --- subscriptions --- */

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

static struct weiri_subscription *make(struct weiri_cluster *cluster, const char *tube)
{
    const struct weir_allocator *memory = &cluster->config->allocator;
    size_t nodes = cluster->url.node_count;
    size_t size = sizeof(struct weiri_subscription) + nodes * sizeof(struct weiri_branch);
    struct weiri_subscription *subscription = weiri_alloc_zero(memory, 1, size);
    if (subscription == NULL) {
        return NULL;
    }
    subscription->checks = weiri_alloc_zero(memory, nodes, sizeof(*subscription->checks));
    if (subscription->checks == NULL) {
        weiri_release(memory, subscription, size);
        return NULL;
    }
    weiri_cond_init(&subscription->changed, &cluster->mutex);
    subscription->cluster = cluster;
    subscription->attempts_max = UINT32_MAX;
    memcpy(subscription->tube, tube, strlen(tube) + 1);
    weiri_list_init(&subscription->link);
    weiri_list_init(&subscription->stock);
    weiri_list_init(&subscription->settlings);
    weiri_list_init(&subscription->arriving);
    return subscription;
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
    struct weiri_subscription *made = make(cluster, tube);
    if (made == NULL) {
        return NULL;
    }
    weiri_mutex_lock(&cluster->mutex);
    found = find_locked(cluster, tube);
    if (found == NULL) {
        weiri_list_insert_before(&cluster->subscriptions, &made->link);
    }
    weiri_mutex_unlock(&cluster->mutex);
    if (found != NULL) {
        const struct weir_allocator *memory = &cluster->config->allocator;
        size_t nodes = cluster->url.node_count;
        weiri_cond_fini(&made->changed);
        weiri_release(memory, made->checks, nodes * sizeof(*made->checks));
        weiri_release(memory, made, sizeof(*made) + nodes * sizeof(made->branches[0]));
        return found;
    }
    return made;
}

/* --- exchange --- */

/* Takes from the stock. */
static void take_locked(struct weiri_subscription *subscription, struct weiri_exchange *exchange)
{
    struct weiri_list *end = &subscription->stock;
    struct weiri_list *following;
    for (struct weiri_list *link = end->next;
         link != end && exchange->reserved_count < exchange->wanted; link = following) {
        struct weiri_copy *copy = WEIRI_CONTAINER(link, struct weiri_copy, link);
        following = link->next;
        weiri_list_remove(link);
        copy->stage = WEIRI_COPY_OUT;
        subscription->stock_count--;
        copy->reservation->token = copy->generation;
        weiri_list_insert_before(&exchange->reserved, &copy->reservation->link);
        exchange->reserved_count++;
    }
    subscription->demand = exchange->wanted - exchange->reserved_count;
    subscription->demand_until_ns = weiri_time_add(weiri_monotonic_now(), DEMAND_NS);
    exchange->is_empty = exchange->reserved_count == 0 && subscription->is_empty;
    subscription->is_empty = false;
}

/* Hands the settlements in and waits for their ends. */
static void settle_locked(struct weiri_cluster *cluster, struct weiri_subscription *subscription,
                          struct weiri_exchange *exchange, struct weiri_settling *settlings,
                          struct weiri_call *call) WEIRI_REQUIRES(cluster->mutex)
{
    for (size_t i = 0; i < exchange->settlement_count; i++) {
        struct weiri_settling *settling = &settlings[i];
        *settling = (struct weiri_settling){.subscription = subscription,
                                            .copy = exchange->settlements[i].reservation->backend,
                                            .settlement = &exchange->settlements[i],
                                            .call = call};
        weiri_list_init(&settling->link);
        weiri_list_insert_before(&subscription->settlings, &settling->link);
    }
    weiri_cluster_wake_locked(cluster);
    weiri_call_wait_locked(call);
}

enum weir_status weiri_cluster_exchange(void *store, struct weiri_exchange *exchange,
                                        struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct weiri_settling few[FEW];
    struct weiri_settling *settlings = few;
    size_t count = exchange->settlement_count;
    struct weiri_subscription *subscription = subscribe(cluster, exchange->tube);
    if (subscription != NULL && count > FEW) {
        settlings = weiri_alloc(&cluster->config->allocator, count * sizeof(*settlings));
    }
    if (subscription == NULL || settlings == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    weiri_list_init(&exchange->reserved);
    exchange->reserved_count = 0;
    exchange->next_ns = WEIR_FOREVER;
    exchange->is_empty = false;
    struct weiri_call call;
    weiri_call_init(&call, cluster, count);
    weiri_mutex_lock(&cluster->mutex);
    if (exchange->attempts_max > 0) {
        subscription->attempts_max = exchange->attempts_max;
    }
    if (count > 0) {
        settle_locked(cluster, subscription, exchange, settlings, &call);
    }
    bool is_away = false;
    for (size_t i = 0; i < count; i++) {
        is_away = is_away || exchange->settlements[i].status == WEIR_EUNAVAILABLE;
    }
    if (exchange->wanted > 0 && !is_away) {
        take_locked(subscription, exchange);
        weiri_cluster_wake_locked(cluster);
    }
    weiri_mutex_unlock(&cluster->mutex);
    weiri_cond_fini(&call.woken);
    if (settlings != few) {
        weiri_release(&cluster->config->allocator, settlings, count * sizeof(*settlings));
    }
    if (is_away) {
        return weiri_fail(ret_error, WEIR_EUNAVAILABLE,
                          "Redis for claims is away: what a job came to cannot be confirmed");
    }
    return WEIR_OK;
}

void weiri_cluster_let_go(void *store, struct weiri_reservation *reservation)
{
    struct weiri_cluster *cluster = store;
    struct weiri_copy *copy = reservation->backend;
    weiri_copy_unhold(copy);
    weiri_release(&cluster->config->allocator, copy, sizeof(*copy));
}

/* --- waiting --- */

uint32_t weiri_cluster_mark(void *store, const char *tube)
{
    struct weiri_cluster *cluster = store;
    struct weiri_subscription *subscription = subscribe(cluster, tube);
    if (subscription == NULL) {
        return 0;
    }
    weiri_mutex_lock(&cluster->mutex);
    uint32_t mark = subscription->signals;
    weiri_mutex_unlock(&cluster->mutex);
    return mark;
}

bool weiri_cluster_wait(void *store, const char *tube, uint32_t mark, int64_t limit_ns)
{
    struct weiri_cluster *cluster = store;
    struct weiri_subscription *subscription = subscribe(cluster, tube);
    bool may_wait = subscription != NULL;
    if (!may_wait) {
        return false;
    }
    weiri_mutex_lock(&cluster->mutex);
    subscription->waiters++;
    weiri_cluster_wake_locked(cluster);
    while (may_wait && subscription->signals == mark) {
        may_wait = weiri_cond_wait_until(&subscription->changed, limit_ns);
    }
    bool was_signalled = subscription->signals != mark;
    subscription->waiters--;
    subscription->demand_until_ns = weiri_time_add(weiri_monotonic_now(), DEMAND_NS);
    weiri_mutex_unlock(&cluster->mutex);
    return was_signalled;
}

void weiri_cluster_watch_empty(void *store, const char *tube, bool is_watching)
{
    struct weiri_cluster *cluster = store;
    struct weiri_subscription *subscription = subscribe(cluster, tube);
    if (subscription != NULL) {
        weiri_mutex_lock(&cluster->mutex);
        subscription->watchers += is_watching ? 1u : -1u;
        weiri_cluster_wake_locked(cluster);
        weiri_mutex_unlock(&cluster->mutex);
    }
}

void weiri_cluster_wake(void *store, const char *tube)
{
    struct weiri_cluster *cluster = store;
    struct weiri_subscription *subscription = subscribe(cluster, tube);
    if (subscription != NULL) {
        weiri_mutex_lock(&cluster->mutex);
        subscription->signals++;
        weiri_cond_broadcast(&subscription->changed);
        weiri_mutex_unlock(&cluster->mutex);
    }
}
