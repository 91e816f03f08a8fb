/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* How the servers of a cluster are, and what all of them are told: pauses. */
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "jobs/beanstalkd/cluster.h"

/* Reads what a node tells. node's texts are in facts. */
static void read_answer(const struct weiri_query *query, struct weiri_node_facts *facts,
                        struct weir_node *node)
{
    weiri_facts_read(query->body, query->body_size, facts);
    uint64_t oldest = weiri_query_number(query, "binlog-oldest-index");
    uint64_t current = weiri_query_number(query, "binlog-current-index");
    uint64_t uptime = weiri_query_number(query, "uptime");
    node->state = facts->is_draining ? WEIR_NODE_DRAINING : WEIR_NODE_UP;
    node->version = facts->version;
    node->uptime_ns = WEIR_SECONDS(uptime > UINT32_MAX ? UINT32_MAX : uptime);
    node->job_size_max = facts->max_job_size;
    node->has_binlog = current > 0; /* in facts it depends on an earlier answer */
    node->connections = (uint32_t)weiri_query_number(query, "current-connections");
    node->binlog_files = current > 0 && oldest > 0 && oldest <= current ? current - oldest + 1 : 0;
    node->binlog_records = facts->records;
    node->delayed = weiri_query_number(query, "current-jobs-delayed");
    node->ready = weiri_query_number(query, "current-jobs-ready");
    node->reserved = weiri_query_number(query, "current-jobs-reserved");
    node->buried = weiri_query_number(query, "current-jobs-buried");
}

static int tell_node(const struct weiri_query *query, int64_t start_ns, weir_node_fn *fn, void *arg)
{
    struct weiri_node_facts facts = {.max_job_size = 0};
    struct weir_node node = {.name = query->command.conn->config.endpoint->text,
                             .kind = WEIR_NODE_BEANSTALKD,
                             .state = WEIR_NODE_AWAY,
                             .why = "",
                             .version = ""};
    if (query->kind == WEIRI_OK_BODY) {
        node.answer_ns = query->answered_ns - start_ns;
        read_answer(query, &facts, &node);
    } else {
        node.why = query->kind != 0 ? weiri_reply_name(query->kind) : query->why;
    }
    return fn(&node, arg);
}

/* Redis, asked for its time. */
static void tell_redis(struct weiri_cluster *cluster, weir_node_fn *fn, void *arg)
{
    const char *url = cluster->options.claims;
    const char *scheme = strstr(url, "://");
    const char *host = strrchr(url, '@');
    struct weir_node node = {.name = host != NULL     ? host + 1
                                     : scheme != NULL ? scheme + 3
                                                      : url,
                             .kind = WEIR_NODE_REDIS,
                             .state = WEIR_NODE_UP,
                             .why = "",
                             .version = ""};
    struct weiri_claim claim = {.verb = WEIRI_CLAIM_TIME};
    weiri_claim_key("", 0, claim.key);
    (void)weiri_cluster_claim(cluster, &claim);
    int64_t start = weiri_monotonic_now();
    if (weiri_cluster_claim(cluster, &claim) == WEIRI_CLAIM_AWAY) {
        node.state = WEIR_NODE_AWAY;
        node.why = claim.reason;
    } else {
        node.answer_ns = weiri_monotonic_now() - start;
    }
    (void)fn(&node, arg);
}

enum weir_status weiri_cluster_nodes(void *store, weir_node_fn *fn, void *arg,
                                     struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct weiri_queries queries;
    enum weir_status status = weiri_queries_init(&queries, cluster, WEIRI_ALL_NODES, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    const struct weiri_request request = {.verb = WEIRI_STATS};
    int64_t start = 0;
    /* Twice, so that the time is not that of connecting. */
    for (int i = 0; i < 2; i++) {
        start = weiri_monotonic_now();
        weiri_queries_ask(&queries, WEIRI_ALL_NODES, &request, NULL);
    }
    bool is_over = false;
    for (size_t i = 0; i < queries.count && !is_over; i++) {
        is_over = tell_node(&queries.query[i], start, fn, arg) != 0;
    }
    if (cluster->claims != NULL && !is_over) {
        tell_redis(cluster, fn, arg);
    }
    weiri_queries_fini(&queries);
    return WEIR_OK;
}

enum weir_status weiri_cluster_pause(void *store, const struct weiri_edit *edit,
                                     struct weir_error *ret_error)
{
    struct weiri_queries queries;
    enum weir_status status = weiri_queries_init(&queries, store, WEIRI_ALL_NODES, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    const struct weiri_request request = {
        .verb = WEIRI_PAUSE_TUBE, .tube = edit->name, .delay_s = weiri_seconds_up(edit->pause_ns)};
    weiri_queries_ask(&queries, WEIRI_ALL_NODES, &request, NULL);
    status = WEIR_ENOTFOUND;
    char text[400] = "";
    size_t away = weiri_queries_away(&queries, text, sizeof(text));
    for (size_t i = 0; i < queries.count; i++) {
        status = queries.query[i].kind == WEIRI_PAUSED ? WEIR_OK : status;
    }
    if (away == queries.count) {
        status = weiri_fail(ret_error, WEIR_EUNAVAILABLE, "no node answered: %s", text);
    } else if (away > 0) {
        status = weiri_fail(ret_error, WEIR_EUNKNOWN, "not all nodes answered: %s", text);
    } else if (status != WEIR_OK) {
        status = weiri_fail(ret_error, status, "there is no tube %.200s", edit->name);
    }
    weiri_queries_fini(&queries);
    return status;
}
