/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Reserving for subscriptions, on the cluster's thread. */
#include "jobs/beanstalkd/subscription.h"

#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/beanstalkd/copy.h"

/* How long a reserve waits on the node. */
#define WAIT_SECONDS 30
/* A job in the stock that nobody takes for so long goes back to its node. */
#define STOCK_MAX_NS WEIR_SECONDS(1)
/* How often to ask where every lane holds jobs, and whether a tube is empty. */
#define POLL_NS WEIR_MS(20)
#define CHECK_NS WEIR_MS(100)

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- replies to reserve --- */

static void reserved(struct weiri_lane *lane, enum weiri_delivery delivery,
                     const struct weiri_reply *reply)
{
    struct weiri_branch *branch = &lane->subscription->branches[lane->node];
    branch->is_hot = delivery == WEIRI_ANSWERED && reply->kind == WEIRI_RESERVED;
    if (branch->is_hot) {
        weiri_copy_arrive(lane, reply);
    }
}

static void waited(struct weiri_command *command, enum weiri_delivery delivery,
                   struct weiri_reply *reply)
{
    struct weiri_lane *lane = WEIRI_CONTAINER(command, struct weiri_lane, wait);
    struct weiri_branch *branch = &lane->subscription->branches[lane->node];
    lane->is_waiting = false;
    reserved(lane, delivery, reply);
    for (size_t i = 0; i < branch->lane_count && branch->is_hot; i++) {
        if (branch->lanes[i] == lane) {
            branch->active = i;
        }
    }
}

static void asked(struct weiri_command *command, enum weiri_delivery delivery,
                  struct weiri_reply *reply)
{
    struct weiri_lane *lane = WEIRI_CONTAINER(command->conn, struct weiri_lane, conn);
    lane->asked--;
    reserved(lane, delivery, reply);
}

static void push_reserve(struct weiri_lane *lane, struct weiri_command *command, uint32_t seconds,
                         void (*done)(struct weiri_command *, enum weiri_delivery,
                                      struct weiri_reply *),
                         int64_t now_ns)
{
    *command = (struct weiri_command){.conn = &lane->conn,
                                      .request = {.verb = WEIRI_RESERVE_TIMEOUT, .count = seconds},
                                      .done = done};
    weiri_list_init(&command->link);
    lane->conn.is_wanted = true;
    weiri_conn_push(&lane->conn, command, now_ns);
}

/* --- lanes --- */

static struct weiri_lane *add_lane(struct weiri_subscription *subscription, size_t node)
{
    struct weiri_cluster *cluster = subscription->cluster;
    struct weiri_branch *branch = &subscription->branches[node];
    if (branch->lane_count == WEIRI_LANES_MAX) {
        return NULL;
    }
    struct weiri_lane *lane = weiri_alloc_zero(&cluster->config->allocator, 1, sizeof(*lane));
    if (lane == NULL) {
        return NULL;
    }
    struct weiri_conn_config config = cluster->nodes[node].control.config;
    config.watched = subscription->tube;
    weiri_conn_init(&lane->conn, &config);
    lane->subscription = subscription;
    lane->node = node;
    branch->lanes[branch->lane_count++] = lane;
    weiri_cluster_add_conn(cluster, &lane->conn);
    return lane;
}

static bool is_idle(const struct weiri_lane *lane)
{
    return atomic_load(&lane->held) == 0 && lane->asked == 0 && !lane->is_waiting;
}

/* Waits for a job on a lane that has none; where all have, asks now and then. */
static int64_t wait_on_branch(struct weiri_subscription *subscription, size_t node, int64_t now_ns)
{
    struct weiri_branch *branch = &subscription->branches[node];
    struct weiri_lane *idle = NULL;
    for (size_t i = 0; i < branch->lane_count; i++) {
        if (branch->lanes[i]->is_waiting) {
            return INT64_MAX;
        }
        if (idle == NULL && is_idle(branch->lanes[i])) {
            idle = branch->lanes[i];
        }
    }
    if (idle == NULL) {
        idle = add_lane(subscription, node);
    }
    if (idle != NULL) {
        if (idle->conn.failures > 0) {
            idle->conn.is_wanted = true; /* it connects again by itself, and then it can wait */
            return INT64_MAX;
        }
        idle->is_waiting = true;
        push_reserve(idle, &idle->wait, WAIT_SECONDS, waited, now_ns);
        return INT64_MAX;
    }
    if (branch->poll_ns <= now_ns) {
        branch->poll_ns = weiri_time_add(now_ns, POLL_NS);
        branch->is_hot = true;
    }
    return branch->poll_ns;
}

/* Asks for up to need jobs of one node. Returns when to ask again. */
static int64_t ask_branch(struct weiri_subscription *subscription, size_t node, size_t need,
                          int64_t now_ns)
{
    struct weiri_branch *branch = &subscription->branches[node];
    if (branch->lane_count > 0 && branch->is_hot) {
        struct weiri_lane *lane = branch->lanes[branch->active];
        if (lane->is_waiting || lane->asked > 0) {
            return INT64_MAX;
        }
        if (lane->conn.state == WEIRI_CONN_UP) {
            lane->asked = need < WEIRI_RESERVES_MAX ? need : WEIRI_RESERVES_MAX;
            for (size_t i = 0, count = lane->asked; i < count; i++) {
                push_reserve(lane, &lane->reserves[i], 0, asked, now_ns);
            }
            return INT64_MAX;
        }
        branch->is_hot = false;
    }
    return wait_on_branch(subscription, node, now_ns);
}

/* Closes lanes that nobody needs; a job that one was given at this moment goes back to ready. */
static void rest(struct weiri_subscription *subscription)
{
    for (size_t node = 0; node < subscription->cluster->url.node_count; node++) {
        struct weiri_branch *branch = &subscription->branches[node];
        for (size_t i = 0; i < branch->lane_count; i++) {
            struct weiri_lane *lane = branch->lanes[i];
            bool was_waiting = lane->is_waiting;
            lane->is_waiting = false;
            bool may_close = is_idle(lane);
            lane->is_waiting = was_waiting;
            if (may_close && lane->conn.is_wanted) {
                lane->conn.is_wanted = false;
                weiri_conn_close(&lane->conn);
            }
        }
    }
}

/* --- copies that wait --- */

/* Touches, claims and drops copies whose time has come. Returns when the next will have. */
static int64_t advance_arriving(struct weiri_subscription *subscription, int64_t now_ns)
{
    int64_t wall = weiri_cluster_now(subscription->cluster);
    int64_t next = INT64_MAX;
    struct weiri_list *end = &subscription->arriving;
    struct weiri_list *following;
    for (struct weiri_list *link = end->next; link != end; link = following) {
        struct weiri_copy *copy = WEIRI_CONTAINER(link, struct weiri_copy, link);
        following = link->next;
        if (copy->stage != WEIRI_COPY_EARLY || copy->is_busy) {
            continue;
        }
        if (!weiri_copy_is_alive(copy)) {
            weiri_copy_drop(copy);
        } else if (copy->run_at_ns <= wall && copy->look_ns <= now_ns) {
            weiri_copy_claim(copy);
        } else if (copy->touch_ns <= now_ns) {
            weiri_copy_touch(copy);
        } else {
            int64_t due = weiri_time_add(now_ns, weiri_time_sub(copy->run_at_ns, wall));
            due = due > copy->look_ns ? due : copy->look_ns;
            next = earlier(next, earlier(due, copy->touch_ns));
        }
    }
    return next;
}

/* Takes copies out of the stock that nobody took, or whose connection is gone. */
static int64_t advance_stock(struct weiri_subscription *subscription, int64_t now_ns)
{
    struct weiri_cluster *cluster = subscription->cluster;
    int64_t next = INT64_MAX;
    struct weiri_list taken;
    weiri_list_init(&taken);
    weiri_mutex_lock(&cluster->mutex);
    struct weiri_list *end = &subscription->stock;
    struct weiri_list *following;
    for (struct weiri_list *link = end->next; link != end; link = following) {
        struct weiri_copy *copy = WEIRI_CONTAINER(link, struct weiri_copy, link);
        following = link->next;
        int64_t limit = weiri_time_add(copy->ready_ns, STOCK_MAX_NS);
        if (limit <= now_ns || !weiri_copy_is_alive(copy)) {
            weiri_list_remove(link);
            weiri_list_insert_before(&taken, link);
            subscription->stock_count--;
        } else {
            next = earlier(next, limit);
        }
    }
    weiri_mutex_unlock(&cluster->mutex);
    while (!weiri_list_is_empty(&taken)) {
        struct weiri_copy *copy = WEIRI_CONTAINER(taken.next, struct weiri_copy, link);
        weiri_list_remove(&copy->link);
        weiri_list_insert_before(&subscription->arriving, &copy->link);
        weiri_copy_return(copy);
    }
    return next;
}

/* --- emptiness --- */

static void checked(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply)
{
    static const char *const names[] = {"current-jobs-ready", "current-jobs-reserved",
                                        "current-jobs-delayed"};
    const struct weiri_node *node = WEIRI_CONTAINER(command->conn, struct weiri_node, control);
    /* The command stands at its node's place in an array of the subscription's. */
    struct weiri_subscription *subscription = command->owner;
    struct weiri_cluster *cluster = subscription->cluster;
    (void)node;
    if (delivery != WEIRI_ANSWERED) {
        subscription->checks_away++;
    } else if (reply->kind == WEIRI_OK_BODY) {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            uint64_t count = 1;
            (void)weiri_stats_number(reply->body, reply->body_size, names[i], &count);
            subscription->is_check_empty = subscription->is_check_empty && count == 0;
        }
    }
    subscription->checks_left--;
    /* Each accepted job has min_written copies, so that one is on a node that answered. */
    if (subscription->checks_left == 0 && subscription->is_check_empty &&
        subscription->checks_away < cluster->url.min_written) {
        weiri_mutex_lock(&cluster->mutex);
        subscription->is_empty = true;
        subscription->signals++;
        weiri_cond_broadcast(&subscription->changed);
        weiri_mutex_unlock(&cluster->mutex);
    }
}

static int64_t check_emptiness(struct weiri_subscription *subscription, int64_t now_ns)
{
    struct weiri_cluster *cluster = subscription->cluster;
    if (subscription->checks_left > 0) {
        return INT64_MAX;
    }
    if (subscription->check_ns > now_ns) {
        return subscription->check_ns;
    }
    subscription->check_ns = weiri_time_add(now_ns, CHECK_NS);
    subscription->checks_left = cluster->url.node_count;
    subscription->checks_away = 0;
    subscription->is_check_empty = true;
    for (size_t i = 0; i < cluster->url.node_count; i++) {
        struct weiri_command *command = &subscription->checks[i];
        *command = (struct weiri_command){
            .conn = &cluster->nodes[i].control,
            .request = {.verb = WEIRI_STATS_TUBE, .tube = subscription->tube},
            .done = checked,
            .owner = subscription};
        weiri_list_init(&command->link);
        weiri_conn_push(command->conn, command, now_ns);
    }
    return subscription->check_ns;
}

/* --- all of it --- */

static void begin_settlings(struct weiri_subscription *subscription, int64_t now_ns)
{
    struct weiri_cluster *cluster = subscription->cluster;
    struct weiri_list taken;
    weiri_list_init(&taken);
    weiri_mutex_lock(&cluster->mutex);
    weiri_list_move(&subscription->settlings, &taken);
    weiri_mutex_unlock(&cluster->mutex);
    while (!weiri_list_is_empty(&taken)) {
        struct weiri_settling *settling = WEIRI_CONTAINER(taken.next, struct weiri_settling, link);
        weiri_list_remove(&settling->link);
        weiri_settling_begin(settling, now_ns);
    }
}

static int64_t advance(struct weiri_subscription *subscription, int64_t now_ns)
{
    struct weiri_cluster *cluster = subscription->cluster;
    begin_settlings(subscription, now_ns);
    int64_t next = advance_arriving(subscription, now_ns);
    next = earlier(next, advance_stock(subscription, now_ns));
    weiri_mutex_lock(&cluster->mutex);
    int64_t until = subscription->waiters > 0 ? INT64_MAX : subscription->demand_until_ns;
    size_t demand = until > now_ns ? subscription->demand : 0;
    size_t stock = subscription->stock_count;
    bool is_watching = subscription->watchers > 0;
    weiri_mutex_unlock(&cluster->mutex);
    if (until <= now_ns) {
        rest(subscription);
        return next;
    }
    next = earlier(next, until);
    size_t coming = stock + subscription->arriving_count;
    if (demand > coming && subscription->early_count < WEIRI_EARLY_MAX) {
        for (size_t node = 0; node < cluster->url.node_count; node++) {
            next = earlier(next, ask_branch(subscription, node, demand - coming, now_ns));
        }
    }
    if (is_watching && coming == 0 && subscription->early_count == 0) {
        next = earlier(next, check_emptiness(subscription, now_ns));
    }
    return next;
}

int64_t weiri_subscriptions_advance(struct weiri_cluster *cluster, int64_t now_ns)
{
    int64_t next = INT64_MAX;
    weiri_mutex_lock(&cluster->mutex);
    struct weiri_list *end = &cluster->subscriptions;
    struct weiri_list *link = end->next;
    weiri_mutex_unlock(&cluster->mutex);
    while (link != end) {
        struct weiri_subscription *subscription =
            WEIRI_CONTAINER(link, struct weiri_subscription, link);
        next = earlier(next, advance(subscription, now_ns));
        weiri_mutex_lock(&cluster->mutex);
        link = link->next;
        weiri_mutex_unlock(&cluster->mutex);
    }
    return next;
}

/* --- the end --- */

/* Gives back what no consumer took. */
static void empty_stock(struct weiri_subscription *subscription)
{
    struct weiri_cluster *cluster = subscription->cluster;
    struct weiri_list *end = &subscription->stock;
    weiri_mutex_lock(&cluster->mutex);
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        WEIRI_CONTAINER(link, struct weiri_copy, link)->ready_ns = INT64_MIN;
    }
    weiri_mutex_unlock(&cluster->mutex);
    (void)advance_stock(subscription, weiri_monotonic_now());
}

static void end_lanes(struct weiri_subscription *subscription)
{
    struct weiri_cluster *cluster = subscription->cluster;
    for (size_t node = 0; node < cluster->url.node_count; node++) {
        struct weiri_branch *branch = &subscription->branches[node];
        for (size_t i = 0; i < branch->lane_count; i++) {
            weiri_conn_fini(&branch->lanes[i]->conn);
        }
    }
    /* What is left is early: everything else ended with its command. */
    while (!weiri_list_is_empty(&subscription->arriving)) {
        struct weiri_copy *copy =
            WEIRI_CONTAINER(subscription->arriving.next, struct weiri_copy, link);
        weiri_copy_drop(copy);
    }
}

void weiri_subscriptions_end(struct weiri_cluster *cluster)
{
    struct weiri_list *end = &cluster->subscriptions;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        empty_stock(WEIRI_CONTAINER(link, struct weiri_subscription, link));
    }
    if (cluster->claims != NULL) {
        weiri_claims_drain(cluster->claims, weiri_time_add(weiri_monotonic_now(), WEIR_MS(500)));
        weiri_claims_close(cluster->claims);
    }
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        end_lanes(WEIRI_CONTAINER(link, struct weiri_subscription, link));
    }
}

void weiri_subscriptions_free(struct weiri_cluster *cluster)
{
    const struct weir_allocator *memory = &cluster->config->allocator;
    size_t nodes = cluster->url.node_count;
    while (!weiri_list_is_empty(&cluster->subscriptions)) {
        struct weiri_subscription *subscription =
            WEIRI_CONTAINER(cluster->subscriptions.next, struct weiri_subscription, link);
        weiri_list_remove(&subscription->link);
        for (size_t node = 0; node < nodes; node++) {
            struct weiri_branch *branch = &subscription->branches[node];
            for (size_t i = 0; i < branch->lane_count; i++) {
                weiri_release(memory, branch->lanes[i], sizeof(*branch->lanes[i]));
            }
        }
        weiri_cond_fini(&subscription->changed);
        weiri_release(memory, subscription->checks, nodes * sizeof(*subscription->checks));
        weiri_release(memory, subscription,
                      sizeof(*subscription) + nodes * sizeof(subscription->branches[0]));
    }
}
