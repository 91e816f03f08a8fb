/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* How the servers of a cluster are (docs/doctor.md), and what all of them are told: pauses. */
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "jobs/beanstalkd/cluster.h"

/* Between the two times that nodes are asked by a check. */
#define CHECK_PAUSE_MS 1000

/* Why a node has not told how it is. */
static const char *why_away(const struct weiri_query *query)
{
    return query->kind != 0 ? weiri_reply_name(query->kind) : query->why;
}

/* Tells of a node, with its answer to `stats` or without. */
static int tell_node(const struct weiri_query *query, int64_t start_ns, weir_node_fn *fn, void *arg)
{
    const struct weiri_node_facts *facts = &query->facts;
    struct weir_node node = {.name = weiri_query_name(query),
                             .kind = WEIR_NODE_BEANSTALKD,
                             .state = WEIR_NODE_AWAY,
                             .why = "",
                             .version = ""};
    if (query->kind != WEIRI_OK_BODY) {
        node.why = why_away(query);
        return fn(&node, arg);
    }
    uint64_t oldest = weiri_query_number(query, "binlog-oldest-index");
    uint64_t current = weiri_query_number(query, "binlog-current-index");
    uint64_t uptime = weiri_query_number(query, "uptime");
    node.state = facts->is_draining ? WEIR_NODE_DRAINING : WEIR_NODE_UP;
    node.answer_ns = query->answered_ns - start_ns;
    node.version = facts->version;
    node.uptime_ns = WEIR_SECONDS(uptime > UINT32_MAX ? UINT32_MAX : uptime);
    node.job_size_max = facts->max_job_size;
    node.has_binlog = facts->has_binlog;
    node.connections = (uint32_t)weiri_query_number(query, "current-connections");
    node.binlog_files = current > 0 && oldest > 0 && oldest <= current ? current - oldest + 1 : 0;
    node.binlog_records = facts->records;
    node.delayed = weiri_query_number(query, "current-jobs-delayed");
    node.ready = weiri_query_number(query, "current-jobs-ready");
    node.reserved = weiri_query_number(query, "current-jobs-reserved");
    node.buried = weiri_query_number(query, "current-jobs-buried");
    return fn(&node, arg);
}

/* Redis' name: its URL without user and password. */
static const char *redis_name(const struct weiri_cluster *cluster)
{
    const char *url = cluster->options.claims;
    const char *scheme = strstr(url, "://");
    const char *login = strrchr(url, '@');
    return login != NULL ? login + 1 : scheme != NULL ? scheme + 3 : url;
}

/* Asks Redis for its time. False: it is away, the claim's reason says why. */
static bool ask_redis(struct weiri_cluster *cluster, struct weiri_claim *ret_claim)
{
    *ret_claim = (struct weiri_claim){.verb = WEIRI_CLAIM_TIME};
    weiri_claim_key("", 0, ret_claim->key);
    return weiri_cluster_claim(cluster, ret_claim) != WEIRI_CLAIM_AWAY;
}

static void tell_redis(struct weiri_cluster *cluster, weir_node_fn *fn, void *arg)
{
    struct weiri_claim claim;
    struct weir_node node = {.name = redis_name(cluster),
                             .kind = WEIR_NODE_REDIS,
                             .state = WEIR_NODE_UP,
                             .why = "",
                             .version = ""};
    (void)ask_redis(cluster, &claim);
    int64_t start = weiri_monotonic_now();
    if (ask_redis(cluster, &claim)) {
        node.answer_ns = weiri_monotonic_now() - start;
    } else {
        node.state = WEIR_NODE_AWAY;
        node.why = claim.reason;
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

/* --- the check --- */

/* Compares this host's clock with Redis', which was read between two reads of this one. */
static void check_redis(struct weiri_cluster *cluster, struct weiri_check *check)
{
    const char *name = redis_name(cluster);
    struct weiri_claim claim;
    int64_t before = weiri_cluster_now(cluster);
    if (!ask_redis(cluster, &claim)) {
        (void)weiri_find(check, "redis", WEIR_FINDING_PROBLEM, name,
                         "start Redis: without it jobs wait, or run twice",
                         "it does not answer: %s", claim.reason);
        return;
    }
    int64_t redis = claim.time_ms * WEIR_MS(1);
    int64_t behind = weiri_time_sub(redis, weiri_cluster_now(cluster));
    int64_t ahead = weiri_time_sub(before, redis);
    if (behind > WEIRI_CLOCKS_APART_NS || ahead > WEIRI_CLOCKS_APART_NS) {
        (void)weiri_find(check, "clock", WEIR_FINDING_PROBLEM, name,
                         "set the clocks of all hosts by NTP: jobs run late by a wrong one",
                         "this host's clock is %" PRId64 " s %s Redis'",
                         (behind > ahead ? behind : ahead) / WEIR_SECONDS(1),
                         behind > ahead ? "behind" : "ahead of");
    }
}

/* Tells what a node's answer to `stats`, or none, says. Those before it are of earlier nodes. */
static void check_node(const struct weiri_queries *queries, const struct weiri_query *query,
                       struct weiri_check *check)
{
    const char *name = weiri_query_name(query);
    const struct weiri_node_facts *facts = &query->facts;
    const struct weiri_query *first = queries->query;
    const struct weiri_query *twin = queries->query;
    if (query->kind != WEIRI_OK_BODY) {
        (void)weiri_find(check, "node", WEIR_FINDING_PROBLEM, name,
                         "start the node, or take it out of the URL", "it does not answer: %s",
                         why_away(query));
        return;
    }
    if (facts->is_draining) {
        (void)weiri_find(check, "drain", WEIR_FINDING_PROBLEM, name,
                         "start the node anew once it is empty",
                         "it is in drain mode and takes no jobs");
    }
    if (!facts->has_binlog) {
        bool has_stopped = weiri_query_number(query, "binlog-current-index") > 0;
        (void)weiri_find(
            check, "binlog", WEIR_FINDING_PROBLEM, name,
            has_stopped ? "look at its disk, then start it anew" : "start it with -b FOLDER -f 0",
            "%s",
            has_stopped ? "its binlog has stopped: jobs were put, and no record was written"
                        : "it has no binlog, and forgets its jobs when it ends");
    }
    while (first->kind != WEIRI_OK_BODY) {
        first++;
    }
    if (strcmp(first->facts.version, facts->version) != 0) {
        (void)weiri_find(check, "version", WEIR_FINDING_PROBLEM, name,
                         "give all nodes the same version",
                         "it is beanstalkd %s, an earlier node of the URL is %s", facts->version,
                         first->facts.version);
    }
    while (twin->facts.server != facts->server) {
        twin++;
    }
    if (twin != query && facts->server != 0) {
        (void)weiri_find(check, "server", WEIR_FINDING_PROBLEM, name,
                         "name each server once: its copies of a job are lost together",
                         "it is the same beanstalkd as %s", weiri_query_name(twin));
    }
}

enum weir_status weiri_cluster_check(void *store, struct weiri_check *check,
                                     struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct weiri_queries queries;
    const struct weiri_request request = {.verb = WEIRI_STATS};
    if ((cluster->config->can & WEIRI_CAN(SINGLE_RUNS)) == 0) {
        (void)weiri_find(check, "claims", WEIR_FINDING_NOTE, "cluster",
                         "add claims=redis://HOST to the URL, if a job is to run once",
                         "it has no claims: each copy of a job runs, and no reason is kept");
    }
    enum weir_status status = weiri_queries_init(&queries, cluster, WEIRI_ALL_NODES, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    /* Twice: one that has lost its binlog goes on, as weiri_facts_read() says. */
    weiri_queries_ask(&queries, WEIRI_ALL_NODES, &request, NULL);
    (void)poll(NULL, 0, CHECK_PAUSE_MS);
    weiri_queries_ask(&queries, WEIRI_ALL_NODES, &request, NULL);
    for (size_t i = 0; i < queries.count && !check->is_over; i++) {
        check_node(&queries, &queries.query[i], check);
    }
    if (cluster->claims != NULL && !check->is_over) {
        check_redis(cluster, check);
    }
    weiri_queries_fini(&queries);
    return WEIR_OK;
}

enum weir_status weiri_cluster_edit(void *store, const struct weiri_edit *edit,
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
