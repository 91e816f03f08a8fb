/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The check of a cluster: what docs/doctor.md lists. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "jobs/beanstalkd/cluster.h"

/* Between the two times that nodes are asked. */
#define PAUSE_MS 1000

struct cluster_check {
    struct weiri_cluster *cluster;
    struct weiri_check *check;
    char version[32]; /* of the first node that answered */
};

/* Compares this host's clock with Redis', which was read between two reads of this one. */
static void check_clock(struct cluster_check *cluster, const char *name)
{
    struct weiri_claim claim = {.verb = WEIRI_CLAIM_TIME};
    weiri_claim_key("", 0, claim.key);
    int64_t before = weiri_cluster_now(cluster->cluster);
    if (weiri_cluster_claim(cluster->cluster, &claim) == WEIRI_CLAIM_AWAY) {
        return;
    }
    int64_t redis = claim.time_ms * WEIR_MS(1);
    int64_t behind = weiri_time_sub(redis, weiri_cluster_now(cluster->cluster));
    int64_t ahead = weiri_time_sub(before, redis);
    if (behind > WEIRI_CLOCKS_APART_NS || ahead > WEIRI_CLOCKS_APART_NS) {
        (void)weiri_find(cluster->check, "clock", WEIR_FINDING_PROBLEM, name,
                         "set the clocks of all hosts by NTP: jobs run late by a wrong one",
                         "this host's clock is %" PRId64 " s %s Redis'",
                         (behind > ahead ? behind : ahead) / WEIR_SECONDS(1),
                         behind > ahead ? "behind" : "ahead of");
    }
}

static int check_node(const struct weir_node *node, void *arg)
{
    struct cluster_check *cluster = arg;
    struct weiri_check *check = cluster->check;
    bool keeps_jobs = node->kind == WEIR_NODE_BEANSTALKD;
    if (node->state == WEIR_NODE_AWAY) {
        return !weiri_find(check, keeps_jobs ? "node" : "redis", WEIR_FINDING_PROBLEM, node->name,
                           keeps_jobs ? "start the node, or take it out of the URL"
                                      : "start Redis: without it jobs wait, or run twice",
                           "it does not answer: %s", node->why);
    }
    if (!keeps_jobs) {
        check_clock(cluster, node->name);
    }
    if (node->state == WEIR_NODE_DRAINING) {
        (void)weiri_find(check, "drain", WEIR_FINDING_PROBLEM, node->name,
                         "start the node anew once it is empty",
                         "it is in drain mode and takes no jobs");
    }
    if (keeps_jobs && node->has_binlog == 0) {
        (void)weiri_find(check, "binlog", WEIR_FINDING_PROBLEM, node->name,
                         "start it with -b FOLDER -f 0",
                         "it has no binlog, and forgets its jobs when it ends");
    }
    if (keeps_jobs && cluster->version[0] == '\0') {
        (void)snprintf(cluster->version, sizeof(cluster->version), "%s", node->version);
    } else if (keeps_jobs && strcmp(cluster->version, node->version) != 0) {
        (void)weiri_find(check, "version", WEIR_FINDING_PROBLEM, node->name,
                         "give all nodes the same version",
                         "it is beanstalkd %s, an earlier node of the URL is %s", node->version,
                         cluster->version);
    }
    return check->is_over;
}

/* Finds servers with two names. Asks nodes twice: one that has lost its binlog goes on, as
 * weiri_facts_read() says. */
static void check_records(const struct weiri_cluster *cluster, struct weiri_queries *queries,
                          struct weiri_check *check)
{
    const struct weiri_request request = {.verb = WEIRI_STATS};
    struct weiri_node_facts facts[WEIRI_NODES_MAX] = {{.max_job_size = 0}};
    bool had_binlog[WEIRI_NODES_MAX] = {false};
    for (int i = 0; i < 2; i++) {
        (void)poll(NULL, 0, i * PAUSE_MS);
        weiri_queries_ask(queries, WEIRI_ALL_NODES, &request, NULL);
        for (size_t node = 0; node < queries->count; node++) {
            const struct weiri_query *query = &queries->query[node];
            had_binlog[node] = facts[node].has_binlog;
            if (query->kind == WEIRI_OK_BODY) {
                weiri_facts_read(query->body, query->body_size, &facts[node]);
            }
        }
    }
    for (size_t node = 0; node < queries->count && !check->is_over; node++) {
        size_t twin = 0;
        while (facts[node].server != 0 && facts[twin].server != facts[node].server) {
            twin++;
        }
        if (facts[node].server != 0 && twin < node) {
            (void)weiri_find(check, "server", WEIR_FINDING_PROBLEM,
                             cluster->options.nodes[node].text,
                             "name each server once: its copies of a job are lost together",
                             "it is the same beanstalkd as %s", cluster->options.nodes[twin].text);
        }
        if (had_binlog[node] && !facts[node].has_binlog) {
            (void)weiri_find(check, "binlog", WEIR_FINDING_PROBLEM,
                             cluster->options.nodes[node].text,
                             "look at its disk, then start it anew",
                             "its binlog has stopped: jobs were put, and no record was written");
        }
    }
}

enum weir_status weiri_cluster_check(void *store, struct weiri_check *check,
                                     struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct cluster_check nodes = {.cluster = cluster, .check = check};
    struct weiri_queries queries;
    if ((cluster->config->can & WEIRI_CAN(SINGLE_RUNS)) == 0) {
        (void)weiri_find(check, "claims", WEIR_FINDING_NOTE, "cluster",
                         "add claims=redis://HOST to the URL, if a job is to run once",
                         "it has no claims: each copy of a job runs, and no reason is kept");
    }
    enum weir_status status = weiri_cluster_nodes(store, check_node, &nodes, ret_error);
    if (status != WEIR_OK || check->is_over) {
        return status;
    }
    status = weiri_queries_init(&queries, cluster, WEIRI_ALL_NODES, ret_error);
    if (status == WEIR_OK) {
        check_records(cluster, &queries, check);
        weiri_queries_fini(&queries);
    }
    return status;
}
