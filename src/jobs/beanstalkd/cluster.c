/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Opening and closing a cluster, and its thread. */
#include "jobs/beanstalkd/cluster.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "base/random.h"
#include "base/time.h"
#include "jobs/beanstalkd/subscription.h"
#include "jobs/error.h"

/* Statistics of a node are bodies too, and longer than many jobs. */
#define STATS_SIZE ((size_t)1 << 20)

const struct weiri_broker_ops weiri_beanstalkd_ops;

void weiri_cluster_wake_locked(struct weiri_cluster *cluster)
{
    weiri_mutex_assert_held(&cluster->mutex);
    if (!cluster->is_woken) {
        cluster->is_woken = true;
        uint64_t one = 1;
        ssize_t ignored = write(cluster->wake_fd, &one, sizeof(one));
        (void)ignored;
    }
}

void weiri_cluster_submit_locked(struct weiri_cluster *cluster, struct weiri_command *command)
{
    weiri_list_insert_before(&cluster->submitted, &command->link);
    weiri_cluster_wake_locked(cluster);
}

void weiri_cluster_add_conn(struct weiri_cluster *cluster, struct weiri_conn *conn)
{
    weiri_list_insert_before(&cluster->conns, &conn->link);
}

int weiri_cluster_find_node(const struct weiri_cluster *cluster, const char *text)
{
    for (size_t i = 0; i < cluster->url.node_count; i++) {
        size_t size = strlen(cluster->url.nodes[i].text);
        if (strncmp(cluster->url.nodes[i].text, text, size) == 0 && text[size] == '/') {
            return (int)i;
        }
    }
    return -1;
}

/* --- the thread --- */

/* Moves what other threads handed in to the connections. False: the cluster is closing. */
static bool take_submitted(struct weiri_cluster *cluster, int64_t now_ns)
{
    struct weiri_list taken;
    struct weiri_list claims;
    weiri_list_init(&taken);
    weiri_list_init(&claims);
    weiri_mutex_lock(&cluster->mutex);
    bool is_closing = cluster->is_closing;
    cluster->is_woken = false;
    weiri_list_move(&cluster->submitted, &taken);
    weiri_list_move(&cluster->submitted_claims, &claims);
    weiri_mutex_unlock(&cluster->mutex);
    while (!weiri_list_is_empty(&taken)) {
        struct weiri_command *command = WEIRI_CONTAINER(taken.next, struct weiri_command, link);
        weiri_list_remove(&command->link);
        weiri_conn_push(command->conn, command, now_ns);
    }
    while (!weiri_list_is_empty(&claims)) {
        struct weiri_claim *claim = WEIRI_CONTAINER(claims.next, struct weiri_claim, link);
        weiri_list_remove(&claim->link);
        weiri_claims_push(cluster->claims, claim, now_ns);
    }
    return !is_closing;
}

/* Tells of nodes that went away or came back, or write no binlog any more. */
static void watch_nodes(struct weiri_cluster *cluster)
{
    for (size_t i = 0; i < cluster->url.node_count; i++) {
        struct weiri_node *node = &cluster->nodes[i];
        const struct weiri_conn *conn = &node->control;
        const char *name = conn->config.endpoint->text;
        bool is_away = conn->failures > 0;
        atomic_store_explicit(&node->is_away, is_away || conn->facts.is_draining,
                              memory_order_relaxed);
        if (is_away != node->was_away) {
            node->was_away = is_away;
            weiri_broker_log(cluster->config, is_away ? WEIR_LOG_WARNING : WEIR_LOG_INFO,
                             is_away ? "node %s is away: %s" : "node %s is back%s", name,
                             is_away ? conn->why : "");
        }
        if (conn->state == WEIRI_CONN_UP && node->had_binlog && !conn->facts.has_binlog) {
            weiri_broker_log(cluster->config, WEIR_LOG_WARNING,
                             "node %s writes no binlog: what it takes is lost with its process; "
                             "expected beanstalkd -b DIR -f 0",
                             name);
        }
        if (conn->state == WEIRI_CONN_UP) {
            node->had_binlog = conn->facts.has_binlog;
        }
    }
}

/* Advances every connection. Returns when to do so again. */
static int64_t advance(struct weiri_cluster *cluster, int64_t now_ns, size_t *ret_count)
{
    int64_t next = weiri_subscriptions_advance(cluster, now_ns);
    size_t count = 0;
    struct weiri_list *end = &cluster->conns;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_conn *conn = WEIRI_CONTAINER(link, struct weiri_conn, link);
        int64_t time = weiri_conn_advance(conn, now_ns);
        next = time < next ? time : next;
        count++;
    }
    if (cluster->claims != NULL) {
        int64_t time = weiri_claims_advance(cluster->claims, now_ns);
        next = time < next ? time : next;
    }
    watch_nodes(cluster);
    *ret_count = count;
    return next;
}

/* Room for so many descriptors. Where memory lacks, the first of them are polled, and the others a
 * little later. */
static size_t reserve_polls(struct weiri_cluster *cluster, size_t count)
{
    if (count > cluster->poll_capacity) {
        struct pollfd *polls = weiri_resize(&cluster->config->allocator, cluster->polls,
                                            cluster->poll_capacity, count * 2, sizeof(*polls));
        if (polls != NULL) {
            cluster->polls = polls;
            cluster->poll_capacity = count * 2;
        }
    }
    return cluster->poll_capacity;
}

/* The first two are the wake-up and Redis. */
static size_t fill_polls(struct weiri_cluster *cluster, size_t capacity)
{
    size_t count = 2;
    cluster->polls[0] = (struct pollfd){.fd = cluster->wake_fd, .events = POLLIN};
    cluster->polls[1] = (struct pollfd){.fd = -1};
    if (cluster->claims != NULL) {
        cluster->polls[1].events = weiri_claims_events(cluster->claims, &cluster->polls[1].fd);
    }
    struct weiri_list *end = &cluster->conns;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_conn *conn = WEIRI_CONTAINER(link, struct weiri_conn, link);
        short events = weiri_conn_events(conn);
        conn->poll_index = 0;
        if (events != 0 && count < capacity) {
            conn->poll_index = count;
            cluster->polls[count++] = (struct pollfd){.fd = conn->fd, .events = events};
        }
    }
    return count;
}

static void serve_conns(struct weiri_cluster *cluster)
{
    int64_t now = weiri_monotonic_now();
    struct weiri_list *end = &cluster->conns;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_conn *conn = WEIRI_CONTAINER(link, struct weiri_conn, link);
        short events = conn->poll_index == 0 ? 0 : cluster->polls[conn->poll_index].revents;
        if (events != 0) {
            weiri_conn_ready(conn, events, cluster->buffer, sizeof(cluster->buffer), now);
        }
    }
}

/* Wakes the threads whose calls were answered. A call is gone once the mutex is released. */
static void wake_finished(struct weiri_cluster *cluster)
{
    if (weiri_list_is_empty(&cluster->finished)) {
        return;
    }
    weiri_mutex_lock(&cluster->mutex);
    while (!weiri_list_is_empty(&cluster->finished)) {
        struct weiri_call *call = WEIRI_CONTAINER(cluster->finished.next, struct weiri_call, link);
        weiri_list_remove(&call->link);
        call->is_done = true;
        weiri_cond_signal(&call->woken);
    }
    weiri_mutex_unlock(&cluster->mutex);
}

/* Rounded up, so that a time has come when poll() returns; at most the bound of every wait. */
static int poll_timeout(int64_t now_ns, int64_t next_ns)
{
    int64_t most = weiri_time_add(now_ns, WEIRI_WAIT_MAX_NS);
    int64_t wait = weiri_time_sub(next_ns < most ? next_ns : most, now_ns);
    return wait <= 0 ? 0 : (int)((wait + WEIR_MS(1) - 1) / WEIR_MS(1));
}

static void run(void *arg)
{
    struct weiri_cluster *cluster = arg;
    for (;;) {
        int64_t now = weiri_monotonic_now();
        if (!take_submitted(cluster, now)) {
            break;
        }
        size_t conns;
        int64_t next = advance(cluster, now, &conns);
        wake_finished(cluster);
        size_t capacity = reserve_polls(cluster, conns + 2);
        size_t count = fill_polls(cluster, capacity);
        if (capacity < conns + 2) {
            next = weiri_time_add(now, WEIR_MS(20));
        }
        int ready = poll(cluster->polls, count, poll_timeout(now, next));
        if (ready > 0) {
            if (cluster->polls[0].revents != 0) {
                uint64_t drained;
                ssize_t ignored = read(cluster->wake_fd, &drained, sizeof(drained));
                (void)ignored;
            }
            if (cluster->polls[1].revents != 0) {
                weiri_claims_ready(cluster->claims, cluster->polls[1].revents,
                                   weiri_monotonic_now());
            }
            serve_conns(cluster);
            wake_finished(cluster);
        }
    }
    weiri_subscriptions_end(cluster);
    for (size_t i = 0; i < cluster->url.node_count; i++) {
        weiri_conn_fini(&cluster->nodes[i].control);
    }
}

/* --- open and close --- */

static void release(struct weiri_cluster *cluster)
{
    const struct weir_allocator memory = cluster->config->allocator;
    size_t count = cluster->url.node_count;
    if (cluster->wake_fd >= 0) {
        (void)close(cluster->wake_fd);
    }
    weiri_release(&memory, cluster->nodes, count * sizeof(*cluster->nodes));
    weiri_release(&memory, cluster->polls, cluster->poll_capacity * sizeof(*cluster->polls));
    weiri_cluster_url_free(&memory, &cluster->url);
    weiri_mutex_fini(&cluster->mutex);
    weiri_release(&memory, cluster, sizeof(*cluster));
}

static void init_nodes(struct weiri_cluster *cluster)
{
    size_t body_max = cluster->config->body_size_max + WEIRI_STAMP_SIZE;
    for (size_t i = 0; i < cluster->url.node_count; i++) {
        const struct weiri_conn_config config = {.allocator = &cluster->config->allocator,
                                                 .endpoint = &cluster->url.nodes[i],
                                                 .body_size_max =
                                                     body_max > STATS_SIZE ? body_max : STATS_SIZE,
                                                 .time_limit_ns = cluster->url.time_limit_ns,
                                                 .wake_fd = cluster->wake_fd};
        weiri_conn_init(&cluster->nodes[i].control, &config);
        cluster->nodes[i].control.is_wanted = true;
        cluster->nodes[i].had_binlog = true;
        weiri_cluster_add_conn(cluster, &cluster->nodes[i].control);
    }
}

static enum weir_status init_parts(struct weiri_cluster *cluster, struct weir_error *ret_error)
{
    const struct weir_allocator *memory = &cluster->config->allocator;
    size_t count = cluster->url.node_count;
    cluster->nodes = weiri_alloc_zero(memory, count, sizeof(*cluster->nodes));
    cluster->polls = weiri_alloc_zero(memory, count + 2, sizeof(*cluster->polls));
    cluster->poll_capacity = cluster->polls == NULL ? 0 : count + 2;
    if (cluster->nodes == NULL || cluster->polls == NULL) {
        return WEIR_ENOMEM;
    }
    cluster->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cluster->wake_fd < 0) {
        return WEIR_EIO;
    }
    if (cluster->url.claims != NULL) {
        enum weir_status status =
            weiri_claims_open(cluster->config, cluster->url.claims, cluster->url.time_limit_ns,
                              &cluster->claims, ret_error);
        if (status != WEIR_OK) {
            return status;
        }
    }
    init_nodes(cluster);
    return weiri_thread_start(&cluster->thread, "weir-cluster", run, cluster);
}

static enum weir_status open_cluster(const char *location, const struct weiri_broker_config *config,
                                     void **ret_store, struct weir_error *ret_error)
{
    struct weiri_cluster_url url;
    enum weir_status status =
        weiri_cluster_url_parse(&config->allocator, location, &url, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    struct weiri_cluster *cluster = weiri_alloc_zero(&config->allocator, 1, sizeof(*cluster));
    if (cluster == NULL) {
        weiri_cluster_url_free(&config->allocator, &url);
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    weiri_mutex_init(&cluster->mutex);
    cluster->config = config;
    cluster->url = url;
    cluster->wake_fd = -1;
    cluster->random = weiri_random_seed();
    weiri_list_init(&cluster->submitted);
    weiri_list_init(&cluster->submitted_claims);
    weiri_list_init(&cluster->subscriptions);
    weiri_list_init(&cluster->conns);
    weiri_list_init(&cluster->finished);
    (void)weiri_fail(ret_error, WEIR_OK, "the cluster's thread cannot be started");
    status = init_parts(cluster, ret_error);
    if (status != WEIR_OK) {
        weiri_claims_close(cluster->claims);
        release(cluster);
        return status;
    }
    weiri_error_clear(ret_error);
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
    weiri_subscriptions_free(cluster);
    release(cluster);
}

const struct weiri_broker_ops weiri_beanstalkd_ops = {
    .scheme = "beanstalk",
    .open = open_cluster,
    .close = close_cluster,
    .put = weiri_cluster_put,
    .change = weiri_cluster_change,
    .kick = weiri_cluster_kick,
    .tubes = weiri_cluster_tubes,
    .peek = weiri_cluster_peek,
    .peek_id = weiri_cluster_peek_id,
    .pause = weiri_cluster_pause,
    .nodes = weiri_cluster_nodes,
    .move = weiri_cluster_move,
    .late = weiri_cluster_late,
    .exchange = weiri_cluster_exchange,
    .let_go = weiri_cluster_let_go,
    .mark = weiri_cluster_mark,
    .wait = weiri_cluster_wait,
    .watch_empty = weiri_cluster_watch_empty,
    .wake = weiri_cluster_wake,
};
