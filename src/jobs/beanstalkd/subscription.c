/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Reserving for subscriptions, on the cluster's thread. */
#include "jobs/beanstalkd/subscription.h"

#include "base/alloc.h"
#include "base/time.h"

/* How long a reserve waits on the node. */
#define WAIT_SECONDS 30
/* How often to ask where every lane holds jobs. */
#define POLL_NS WEIR_MS(20)
/* A copy whose node does not tell of it for so long is not expected to come. */
#define SILENT_NS WEIR_MS(100)
/* How often to tell of a node whose lanes fail. */
#define TELL_NS WEIR_SECONDS(60)
/* How long a close waits for answers. */
#define CLOSE_NS WEIR_SECONDS(1)

/* --- lanes --- */

static void reserved(struct weiri_command *command, enum weiri_delivery delivery,
                     struct weiri_reply *reply)
{
    struct weiri_lane *lane = WEIRI_CONTAINER(command->conn, struct weiri_lane, conn);
    struct weiri_branch *branch = lane->branch;
    branch->asked--;
    bool is_here = delivery == WEIRI_ANSWERED && reply->kind == WEIRI_RESERVED;
    /* Several that are too long might not arrive within a time limit. */
    branch->hot = is_here && reply->body != NULL ? lane : NULL;
    if (is_here) {
        weiri_copy_arrive(lane, reply);
    }
}

/* Sends reserves on a lane; each waits for so long on the node. */
static void ask(struct weiri_lane *lane, size_t count, uint32_t seconds, int64_t now_ns)
{
    struct weiri_branch *branch = lane->branch;
    branch->asked = count;
    for (size_t i = 0; i < count; i++) {
        struct weiri_command *command = &branch->reserves[i];
        *command =
            (struct weiri_command){.conn = &lane->conn,
                                   .request = {.verb = WEIRI_RESERVE_TIMEOUT, .count = seconds},
                                   .done = reserved};
        weiri_conn_push(command, now_ns);
    }
}

/* A connected lane that holds at most so many jobs; NULL: there is none. */
static struct weiri_lane *find_lane(const struct weiri_branch *branch, size_t most)
{
    for (size_t i = 0; i < branch->lane_count; i++) {
        struct weiri_lane *lane = branch->lanes[i];
        if (lane->conn.state == WEIRI_CONN_UP && lane->held <= most) {
            return lane;
        }
    }
    return NULL;
}

static void add_lane(struct weiri_subscription *subscription, size_t node)
{
    struct weiri_cluster *cluster = subscription->cluster;
    struct weiri_branch *branch = &subscription->branches[node];
    struct weiri_lane *lane = weiri_alloc_zero(&cluster->config->allocator, 1, sizeof(*lane));
    if (lane == NULL) {
        return;
    }
    struct weiri_conn_config config = cluster->nodes[node].control.config;
    config.watched = subscription->tube;
    weiri_conn_init(&lane->conn, &config);
    lane->subscription = subscription;
    lane->branch = branch;
    if (!weiri_cluster_add_conn(cluster, &lane->conn)) {
        weiri_release(&cluster->config->allocator, lane, sizeof(*lane));
        return;
    }
    branch->lanes[branch->lane_count++] = lane;
}

/* Tells of a lane that has failed and is about to be made again, while the node's control
 * connection is the one of its last failure: it is not the node that is away. */
static void tell_of_lane(struct weiri_lane *lane, const struct weiri_conn *control, int64_t now_ns)
{
    const struct weiri_conn *conn = &lane->conn;
    if (conn->failures == 0 || conn->state != WEIRI_CONN_DOWN || conn->retry_ns > now_ns) {
        return;
    }
    if (lane->control == control->generation && control->failures == 0 &&
        lane->branch->tell_ns <= now_ns) {
        lane->branch->tell_ns = weiri_time_add(now_ns, TELL_NS);
        weiri_broker_log(lane->subscription->cluster->config, WEIR_LOG_WARNING,
                         "tube %s: cannot reserve from node %s: %s", conn->config.watched,
                         conn->config.endpoint->text, conn->why);
    }
    lane->control = control->generation;
}

/* Has a lane connected that will hold no job. */
static void want_lane(struct weiri_subscription *subscription, size_t node, int64_t now_ns)
{
    struct weiri_branch *branch = &subscription->branches[node];
    for (size_t i = 0; i < branch->lane_count; i++) {
        struct weiri_lane *lane = branch->lanes[i];
        if (lane->held == 0) {
            lane->conn.is_wanted = true;
            tell_of_lane(lane, &subscription->cluster->nodes[node].control, now_ns);
            return;
        }
    }
    if (branch->lane_count < WEIRI_LANES_MAX) {
        add_lane(subscription, node);
    }
}

/* Asks for up to need jobs of one node: while they come, on the lane that they come on; else one
 * lane that holds none waits. Until one is connected, another asks now and then. Returns when to
 * ask again. */
static int64_t ask_branch(struct weiri_subscription *subscription, size_t node, size_t need,
                          int64_t now_ns)
{
    struct weiri_branch *branch = &subscription->branches[node];
    struct weiri_lane *hot = branch->hot;
    if (branch->asked > 0) {
        return INT64_MAX;
    }
    if (hot != NULL && hot->conn.state == WEIRI_CONN_UP && hot->held < WEIRI_HELD_MAX) {
        ask(hot, need < WEIRI_RESERVES_MAX ? need : WEIRI_RESERVES_MAX, 0, now_ns);
        return INT64_MAX;
    }
    branch->hot = NULL;
    struct weiri_lane *lane = find_lane(branch, 0);
    if (lane != NULL) {
        ask(lane, 1, WAIT_SECONDS, now_ns);
        return INT64_MAX;
    }
    want_lane(subscription, node, now_ns);
    lane = find_lane(branch, WEIRI_HELD_MAX - 1);
    if (lane == NULL && branch->lane_count > 0) {
        return INT64_MAX; /* until one is connected */
    }
    if (branch->poll_ns <= now_ns) {
        branch->poll_ns = weiri_time_add(now_ns, POLL_NS);
        if (lane != NULL) {
            ask(lane, 1, 0, now_ns);
        }
    }
    return branch->poll_ns;
}

/* Closes lanes that hold no job; one that one was given at this moment goes back to ready. */
static void rest(struct weiri_subscription *subscription)
{
    for (size_t node = 0; node < subscription->cluster->options.node_count; node++) {
        struct weiri_branch *branch = &subscription->branches[node];
        for (size_t i = 0; i < branch->lane_count; i++) {
            struct weiri_lane *lane = branch->lanes[i];
            if (lane->held == 0 && lane->conn.is_wanted) {
                weiri_conn_close(&lane->conn);
            }
        }
    }
}

/* --- copies --- */

/* Advances the copies that are early, once one of them may be due, or claimed. Returns when to do
 * so again. */
static int64_t advance_early(struct weiri_subscription *subscription, int64_t now_ns, size_t room)
{
    if (subscription->early_ns > now_ns && (room == 0 || !subscription->is_room_wanted)) {
        return subscription->early_ns;
    }
    subscription->is_room_wanted = false;
    /* A while later even if none is due: the wall clock may be set, a connection may end. */
    subscription->early_ns =
        subscription->early_count == 0 ? INT64_MAX : weiri_time_add(now_ns, WEIR_SECONDS(1));
    struct weiri_list *end = &subscription->early;
    struct weiri_list *following;
    for (struct weiri_list *link = end->next; link != end; link = following) {
        struct weiri_copy *copy = WEIRI_CONTAINER(link, struct weiri_copy, link);
        following = link->next;
        int64_t due = weiri_copy_advance(copy, now_ns, &room);
        subscription->early_ns = weiri_time_earlier(subscription->early_ns, due);
    }
    return subscription->early_ns;
}

/* Those that will soon be in the stock: a node that is silent must not keep the others from being
 * asked. */
static size_t count_coming(const struct weiri_subscription *subscription, int64_t now_ns)
{
    int64_t silent_ns = weiri_time_sub(now_ns, SILENT_NS);
    size_t count = 0;
    const struct weiri_list *end = &subscription->copies;
    for (const struct weiri_list *link = end->next; link != end; link = link->next) {
        const struct weiri_copy *copy = WEIRI_CONTAINER(link, struct weiri_copy, link);
        count += copy->is_asking || copy->ready_ns > silent_ns;
    }
    return count;
}

/* Gives back copies of the stock that nobody took, or whose connection is gone; all of them where
 * the cluster is closing. Returns when to do so again, and counts those that stay. */
static int64_t advance_stock(struct weiri_subscription *subscription, int64_t now_ns,
                             bool is_closing, size_t *ret_stock)
{
    struct weiri_cluster *cluster = subscription->cluster;
    int64_t next = INT64_MAX;
    size_t stock = 0;
    struct weiri_list taken;
    weiri_list_init(&taken);
    weiri_mutex_lock(&cluster->mutex);
    struct weiri_list *end = &subscription->stock;
    struct weiri_list *following;
    for (struct weiri_list *link = end->next; link != end; link = following) {
        struct weiri_copy *copy = WEIRI_CONTAINER(link, struct weiri_copy, link);
        following = link->next;
        int64_t limit = weiri_time_add(copy->ready_ns, WEIRI_STOCK_MAX_NS);
        if (is_closing || limit <= now_ns || !weiri_copy_is_alive(copy)) {
            weiri_list_remove(link);
            weiri_list_insert_before(&taken, link);
        } else {
            next = weiri_time_earlier(next, limit);
            stock++;
        }
    }
    weiri_mutex_unlock(&cluster->mutex);
    while (!weiri_list_is_empty(&taken)) {
        weiri_copy_tell(WEIRI_CONTAINER(taken.next, struct weiri_copy, link), WEIRI_JOB_RETURN, 0);
    }
    *ret_stock = stock;
    return next;
}

/* --- subscriptions --- */

static int64_t advance(struct weiri_subscription *subscription, int64_t now_ns)
{
    struct weiri_cluster *cluster = subscription->cluster;
    size_t stock;
    int64_t next = advance_stock(subscription, now_ns, false, &stock);
    weiri_mutex_lock(&cluster->mutex);
    int64_t until = subscription->waiters > 0 ? INT64_MAX : subscription->demand_until_ns;
    size_t demand = subscription->demand;
    weiri_mutex_unlock(&cluster->mutex);
    /* What is reserved while nobody can claim it would only go back. */
    bool must_wait = cluster->claims != NULL && !cluster->options.runs_unclaimed &&
                     weiri_claims_away(cluster->claims) != NULL;
    bool is_claimed = cluster->claims != NULL && !must_wait;
    size_t coming = stock + count_coming(subscription, now_ns);
    size_t room = until > now_ns && demand > coming ? demand - coming : 0;
    room = is_claimed ? room : SIZE_MAX; /* else a killed consumer keeps none from others */
    next = weiri_time_earlier(next, advance_early(subscription, now_ns, room));
    if (until <= now_ns || must_wait) {
        rest(subscription);
        return next;
    }
    next = weiri_time_earlier(next, until);
    coming = stock + count_coming(subscription, now_ns);
    if (coming > stock) {
        next = weiri_time_earlier(next, weiri_time_add(now_ns, SILENT_NS));
    }
    if (subscription->is_room_wanted && demand > coming) {
        return now_ns; /* some that were to be claimed were not */
    }
    if (demand > coming && subscription->early_count < WEIRI_EARLY_MAX) {
        for (size_t node = 0; node < cluster->options.node_count; node++) {
            int64_t again = ask_branch(subscription, node, demand - coming, now_ns);
            next = weiri_time_earlier(next, again);
        }
    }
    return next;
}

/* The subscription after one, or the first after NULL; NULL: there are no more. */
static struct weiri_subscription *next_of(struct weiri_cluster *cluster,
                                          const struct weiri_subscription *subscription)
{
    weiri_mutex_lock(&cluster->mutex);
    struct weiri_list *link =
        subscription == NULL ? cluster->subscriptions.next : subscription->link.next;
    bool is_end = link == &cluster->subscriptions;
    weiri_mutex_unlock(&cluster->mutex);
    return is_end ? NULL : WEIRI_CONTAINER(link, struct weiri_subscription, link);
}

int64_t weiri_subscriptions_advance(struct weiri_cluster *cluster, int64_t now_ns)
{
    int64_t next = INT64_MAX;
    struct weiri_subscription *subscription = NULL;
    while ((subscription = next_of(cluster, subscription)) != NULL) {
        next = weiri_time_earlier(next, advance(subscription, now_ns));
        next = weiri_time_earlier(next, weiri_foreign_advance(subscription, now_ns));
    }
    return next;
}

/* Ends the lanes of a subscription, and frees it. A lane's commands end with it, and their copies.
 */
static void end(struct weiri_subscription *subscription)
{
    const struct weir_allocator *memory = &subscription->cluster->config->allocator;
    size_t nodes = subscription->cluster->options.node_count;
    weiri_foreign_end(subscription);
    while (!weiri_list_is_empty(&subscription->early)) {
        weiri_copy_free(WEIRI_CONTAINER(subscription->early.next, struct weiri_copy, link));
    }
    for (size_t node = 0; node < nodes; node++) {
        struct weiri_branch *branch = &subscription->branches[node];
        for (size_t i = 0; i < branch->lane_count; i++) {
            weiri_conn_fini(&branch->lanes[i]->conn);
            weiri_release(memory, branch->lanes[i], sizeof(*branch->lanes[i]));
        }
    }
    weiri_list_remove(&subscription->link);
    weiri_release(memory, subscription,
                  sizeof(*subscription) + nodes * sizeof(subscription->branches[0]));
}

/* Gives all copies of the stock back. */
static void empty_stock(struct weiri_cluster *cluster, int64_t now_ns)
{
    struct weiri_subscription *subscription = NULL;
    size_t ignored;
    while ((subscription = next_of(cluster, subscription)) != NULL) {
        (void)advance_stock(subscription, now_ns, true, &ignored);
    }
}

void weiri_subscriptions_end(struct weiri_cluster *cluster)
{
    struct weiri_subscription *subscription;
    int64_t now = weiri_monotonic_now();
    int64_t limit = weiri_time_add(now, CLOSE_NS);
    empty_stock(cluster, now);
    /* Where claims that were asked for come in, their copies go back too. A claim that stays keeps
     * the job from other consumers for its lease, and those of dq take the job for done. A node
     * that has not heard of an end makes the copy ready, and its finder asks Redis. */
    while ((cluster->leaving > 0 ||
            (cluster->claims != NULL && !weiri_claims_are_answered(cluster->claims))) &&
           now < limit) {
        weiri_cluster_poll(cluster, now, limit);
        now = weiri_monotonic_now();
        empty_stock(cluster, now);
    }
    if (cluster->claims != NULL) {
        weiri_claims_close(cluster->claims);
        cluster->claims = NULL;
        empty_stock(cluster, now); /* what runs unclaimed */
    }
    while ((subscription = next_of(cluster, NULL)) != NULL) {
        end(subscription);
    }
}
