/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Opening and closing a cluster, and its thread. */
#include "jobs/beanstalkd/cluster.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/beanstalkd/subscription.h"

/* Statistics of a node are bodies too, and longer than many jobs. */
#define STATS_SIZE ((size_t)1 << 20)
/* How often a node is asked about its binlog. */
#define CHECK_NS WEIR_SECONDS(10)
/* Descriptors polled before those of the connections, at most: the wake-up and Redis. */
#define FIRST_POLLS (1 + WEIRI_CLAIMS_POLLS)

void weiri_cluster_wake_locked(struct weiri_cluster *cluster)
{
    weiri_mutex_assert_held(&cluster->mutex);
    if (!cluster->is_woken) {
        cluster->is_woken = true;
        (void)eventfd_write(cluster->wake_fd, 1);
    }
}

bool weiri_cluster_add_conn(struct weiri_cluster *cluster, struct weiri_conn *conn)
{
    if (weiri_array_add(&cluster->polls, &cluster->config->allocator) == NULL) {
        return false;
    }
    weiri_list_insert_before(&cluster->conns, &conn->link);
    return true;
}

/* --- the thread --- */

/* Begins the calls that other threads handed in. False: the cluster is closing. */
static bool begin_calls(struct weiri_cluster *cluster, int64_t now_ns)
{
    struct weiri_list calls;
    struct weiri_list copies;
    weiri_list_init(&calls);
    weiri_list_init(&copies);
    weiri_mutex_lock(&cluster->mutex);
    bool is_closing = cluster->is_closing;
    cluster->is_woken = false;
    weiri_list_move(&cluster->calls, &calls);
    weiri_list_move(&cluster->copies, &copies);
    weiri_mutex_unlock(&cluster->mutex);
    while (!weiri_list_is_empty(&calls)) {
        struct weiri_queries *call = WEIRI_CONTAINER(calls.next, struct weiri_queries, link);
        weiri_list_remove(&call->link);
        weiri_list_insert_before(&cluster->running, &call->link);
        weiri_queries_send(call, now_ns);
    }
    while (!weiri_list_is_empty(&copies)) {
        struct weiri_copy *copy = WEIRI_CONTAINER(copies.next, struct weiri_copy, link);
        weiri_list_remove(&copy->link);
        weiri_copy_serve(copy);
    }
    return !is_closing;
}

static void checked(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply)
{
    struct weiri_node *node = WEIRI_CONTAINER(command, struct weiri_node, check);
    (void)delivery;
    (void)reply;
    node->check_ns = weiri_time_add(weiri_monotonic_now(), CHECK_NS);
}

/* Tells of a node that went away or came back, or writes no binlog any more. */
static void tell_of_node(struct weiri_cluster *cluster, struct weiri_node *node)
{
    const struct weiri_conn *conn = &node->control;
    const char *name = conn->config.endpoint->text;
    bool is_away = conn->failures > 0;
    if (is_away != node->was_away) {
        node->was_away = is_away;
        weiri_broker_log(cluster->config, is_away ? WEIR_LOG_WARNING : WEIR_LOG_INFO,
                         is_away ? "node %s is away: %s" : "node %s is back%s", name,
                         is_away ? conn->why : "");
    }
    if (node->had_binlog && !conn->facts.has_binlog) {
        weiri_broker_log(cluster->config, WEIR_LOG_WARNING,
                         "node %s writes no binlog: what it takes is lost with its process; "
                         "expected beanstalkd -b DIR -f 0, and space on its disk",
                         name);
    }
    node->had_binlog = conn->facts.has_binlog;
}

/* Is it another name of an earlier node's server? */
static bool is_twin(const struct weiri_cluster *cluster, size_t node)
{
    uint64_t server = cluster->nodes[node].control.facts.server;
    for (size_t i = 0; i < node && server != 0; i++) {
        const struct weiri_conn *other = &cluster->nodes[i].control;
        if (other->state == WEIRI_CONN_UP && other->facts.server == server) {
            return true;
        }
    }
    return false;
}

/* Asks nodes how they are, now and then. Returns when to do so again. */
static int64_t watch_nodes(struct weiri_cluster *cluster, int64_t now_ns)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < cluster->options.node_count; i++) {
        struct weiri_node *node = &cluster->nodes[i];
        struct weiri_conn *conn = &node->control;
        tell_of_node(cluster, node);
        weiri_mutex_lock(&cluster->mutex);
        node->is_suspect = conn->failures > 0 || conn->is_silent || conn->facts.is_draining ||
                           !conn->facts.has_binlog || is_twin(cluster, i);
        weiri_mutex_unlock(&cluster->mutex);
        if (conn->state == WEIRI_CONN_UP && node->check_ns <= now_ns) {
            node->check_ns = INT64_MAX;
            node->check = (struct weiri_command){
                .conn = conn, .request = {.verb = WEIRI_STATS}, .done = checked};
            weiri_conn_push(&node->check, now_ns);
        }
        if (conn->state == WEIRI_CONN_UP) {
            next = weiri_time_earlier(next, node->check_ns);
        }
    }
    return next;
}

/* Does what is due of the connections. Returns when something will be. */
static int64_t advance_conns(struct weiri_cluster *cluster, int64_t now_ns)
{
    int64_t next = INT64_MAX;
    struct weiri_list *end = &cluster->conns;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_conn *conn = WEIRI_CONTAINER(link, struct weiri_conn, link);
        next = weiri_time_earlier(next, weiri_conn_advance(conn, now_ns));
    }
    if (cluster->claims != NULL) {
        next = weiri_time_earlier(next, weiri_claims_advance(cluster->claims, now_ns));
    }
    return next;
}

/* Every connection has a place, in the order of the list; poll() skips those below zero. */
static void fill_polls(struct weiri_cluster *cluster)
{
    struct pollfd *one = cluster->polls.items;
    *one = (struct pollfd){.fd = cluster->wake_fd, .events = POLLIN};
    cluster->claim_polls =
        cluster->claims == NULL ? 0 : weiri_claims_polls(cluster->claims, one + 1);
    one += cluster->claim_polls;
    struct weiri_list *end = &cluster->conns;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        const struct weiri_conn *conn = WEIRI_CONTAINER(link, struct weiri_conn, link);
        short events = weiri_conn_events(conn);
        *++one = (struct pollfd){.fd = events != 0 ? conn->fd : -1, .events = events};
    }
}

/* Does what poll() found. No connection is added meanwhile. */
static void serve_polls(struct weiri_cluster *cluster)
{
    int64_t now = weiri_monotonic_now();
    const struct pollfd *one = cluster->polls.items;
    if (one->revents != 0) {
        eventfd_t drained;
        (void)eventfd_read(cluster->wake_fd, &drained);
    }
    if (cluster->claims != NULL) {
        weiri_claims_ready(cluster->claims, one + 1, cluster->claim_polls);
    }
    one += cluster->claim_polls;
    struct weiri_list *end = &cluster->conns;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_conn *conn = WEIRI_CONTAINER(link, struct weiri_conn, link);
        one++;
        if (one->revents != 0) {
            weiri_conn_ready(conn, one->revents, cluster->buffer, sizeof(cluster->buffer), now);
        }
    }
}

/* Rounded up, so that a time has come when poll() returns; at most the bound of every wait. */
static int poll_timeout(int64_t now_ns, int64_t next_ns)
{
    int64_t most = weiri_time_add(now_ns, WEIRI_WAIT_MAX_NS);
    int64_t wait = weiri_time_sub(weiri_time_earlier(next_ns, most), now_ns);
    return wait <= 0 ? 0 : (int)((wait + WEIR_MS(1) - 1) / WEIR_MS(1));
}

void weiri_cluster_poll(struct weiri_cluster *cluster, int64_t now_ns, int64_t next_ns)
{
    int64_t next = weiri_time_earlier(next_ns, advance_conns(cluster, now_ns));
    fill_polls(cluster);
    nfds_t count = cluster->polls.count - FIRST_POLLS + 1 + cluster->claim_polls;
    if (poll(cluster->polls.items, count, poll_timeout(now_ns, next)) > 0) {
        serve_polls(cluster);
    }
}

static void run(void *arg)
{
    struct weiri_cluster *cluster = arg;
    int64_t now = weiri_monotonic_now();
    while (begin_calls(cluster, now)) {
        int64_t next = weiri_calls_advance(cluster, now);
        next = weiri_time_earlier(next, weiri_subscriptions_advance(cluster, now));
        weiri_cluster_poll(cluster, now, weiri_time_earlier(next, watch_nodes(cluster, now)));
        now = weiri_monotonic_now();
    }
    weiri_subscriptions_end(cluster);
    for (size_t i = 0; i < cluster->options.node_count; i++) {
        weiri_conn_fini(&cluster->nodes[i].control);
    }
}

/* --- open and close --- */

static void release(struct weiri_cluster *cluster)
{
    const struct weir_allocator memory = cluster->config->allocator;
    size_t count = cluster->options.node_count;
    if (cluster->wake_fd >= 0) {
        (void)close(cluster->wake_fd);
    }
    weiri_claims_close(cluster->claims);
    weiri_keys_wipe(&cluster->keys);
    weiri_release(&memory, cluster->nodes, count * sizeof(*cluster->nodes));
    weiri_array_free(&cluster->polls, &memory);
    weiri_release(&memory, cluster->options.block, cluster->options.block_size);
    weiri_cond_fini(&cluster->changed);
    weiri_mutex_fini(&cluster->mutex);
    weiri_release(&memory, cluster, sizeof(*cluster));
}

static enum weir_status init_nodes(struct weiri_cluster *cluster)
{
    size_t count = cluster->options.node_count;
    size_t body_max = cluster->config->body_size_max + WEIRI_STAMP_SIZE + WEIRI_MAC_SIZE;
    cluster->nodes = weiri_alloc_zero(&cluster->config->allocator, count, sizeof(*cluster->nodes));
    if (cluster->nodes == NULL) {
        return WEIR_ENOMEM;
    }
    for (size_t i = 0; i < FIRST_POLLS; i++) {
        if (weiri_array_add(&cluster->polls, &cluster->config->allocator) == NULL) {
            return WEIR_ENOMEM;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct weiri_conn_config config = {.allocator = &cluster->config->allocator,
                                                 .endpoint = &cluster->options.nodes[i],
                                                 .body_size_max =
                                                     body_max > STATS_SIZE ? body_max : STATS_SIZE,
                                                 .time_limit_ns = cluster->options.time_limit_ns,
                                                 .wake_fd = cluster->wake_fd};
        struct weiri_node *node = &cluster->nodes[i];
        weiri_conn_init(&node->control, &config);
        node->had_binlog = true;
        if (!weiri_cluster_add_conn(cluster, &node->control)) {
            return WEIR_ENOMEM;
        }
    }
    return WEIR_OK;
}

static enum weir_status init_parts(struct weiri_cluster *cluster, struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
    cluster->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cluster->wake_fd < 0) {
        return weiri_fail(ret_error, WEIR_EIO, "no descriptor for the cluster's thread");
    }
    if (cluster->options.claims != NULL) {
        status = weiri_claims_open(cluster->config, cluster->options.claims,
                                   cluster->options.time_limit_ns, &cluster->claims, ret_error);
    }
    if (status == WEIR_OK && cluster->options.hmac_key_file != NULL) {
        status = weiri_keys_read(cluster->options.hmac_key_file, &cluster->keys, ret_error);
    }
    if (status == WEIR_OK && init_nodes(cluster) != WEIR_OK) {
        status = weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    if (status == WEIR_OK) {
        status = weiri_thread_start(&cluster->thread, "weir-cluster", run, cluster);
        if (status != WEIR_OK) {
            return weiri_fail(ret_error, status, "the cluster's thread cannot be started");
        }
    }
    return status;
}

static enum weir_status open_cluster(const char *location, struct weiri_broker_config *config,
                                     void **ret_store, struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = weiri_alloc_zero(&config->allocator, 1, sizeof(*cluster));
    if (cluster == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    weiri_mutex_init(&cluster->mutex);
    weiri_cond_init(&cluster->changed, &cluster->mutex);
    cluster->config = config;
    cluster->wake_fd = -1;
    cluster->polls.item_size = sizeof(struct pollfd);
    weiri_list_init(&cluster->calls);
    weiri_list_init(&cluster->copies);
    weiri_list_init(&cluster->subscriptions);
    weiri_list_init(&cluster->conns);
    weiri_list_init(&cluster->running);
    for (size_t i = 0; i < WEIRI_BUCKETS; i++) {
        weiri_list_init(&cluster->buckets[i]);
    }
    enum weir_status status =
        weiri_cluster_url_parse(&config->allocator, location, &cluster->options, ret_error);
    status = status == WEIR_OK ? init_parts(cluster, ret_error) : status;
    if (status != WEIR_OK) {
        release(cluster);
        return status;
    }
    config->late_ns = cluster->options.late_ns;
    if (cluster->claims == NULL) {
        config->can &= cluster->options.replicas == 1
                           ? ~WEIRI_CAN(REASONS)
                           : ~(WEIRI_CAN(REASONS) | WEIRI_CAN(SINGLE_RUNS));
    }
    *ret_store = cluster;
    return WEIR_OK;
}

static void close_cluster(void *store)
{
    struct weiri_cluster *cluster = store;
    weiri_mutex_lock(&cluster->mutex);
    cluster->is_closing = true;
    weiri_cluster_wake_locked(cluster);
    weiri_mutex_unlock(&cluster->mutex);
    weiri_thread_join(&cluster->thread);
    release(cluster);
}

#define ENTRY(name) .name = weiri_cluster_##name,
const struct weiri_broker_ops weiri_beanstalkd_ops = {
    .scheme = "beanstalk",
    .can = WEIRI_CAN(NODES) | WEIRI_CAN(REASONS) | WEIRI_CAN(SINGLE_RUNS),
    .open = open_cluster,
    .close = close_cluster,
    .now = weiri_cluster_now,
    WEIRI_CLUSTER_CALLS(ENTRY) WEIRI_CLUSTER_RUNS(ENTRY)};
