/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Calls of other threads: requests to nodes and claims, with their answers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/panic.h"
#include "base/time.h"
#include "jobs/beanstalkd/cluster.h"

/* How long what a call can do without is waited for. */
#define PATIENCE_NS WEIR_MS(200)

/* Hands a call in and waits for its last answer. */
static void run(struct weiri_queries *queries)
{
    struct weiri_cluster *cluster = queries->cluster;
    if (queries->left == 0) {
        return;
    }
    weiri_parker_init(&queries->parker);
    weiri_mutex_lock(&cluster->mutex);
    weiri_list_insert_before(&cluster->calls, &queries->link);
    weiri_cluster_wake_locked(cluster);
    weiri_mutex_unlock(&cluster->mutex);
    while (!weiri_parker_is_set(&queries->parker)) {
        weiri_parker_sleep(&queries->parker,
                           weiri_time_add(weiri_monotonic_now(), WEIRI_WAIT_MAX_NS));
    }
}

/* One answer came. With the last one the call may be gone. */
static void count_answer(struct weiri_queries *queries)
{
    queries->left--;
    if (queries->left == 0) {
        weiri_list_remove(&queries->link);
        weiri_parker_set(&queries->parker);
        weiri_parker_wake(&queries->parker);
    }
}

/* --- requests --- */

static void plan_check(struct weiri_queries *queries, int64_t now_ns)
{
    queries->check_ns = weiri_time_add(now_ns, queries->patient > 0 ? PATIENCE_NS : 0);
}

static void answered(struct weiri_command *command, enum weiri_delivery delivery,
                     struct weiri_reply *reply)
{
    struct weiri_query *query = WEIRI_CONTAINER(command, struct weiri_query, command);
    struct weiri_queries *queries = command->owner;
    query->delivery = delivery;
    query->answered_ns = weiri_monotonic_now();
    if (reply != NULL) {
        query->kind = reply->kind;
        query->id = reply->id;
        query->body = reply->body;
        query->body_size = reply->body_size;
        query->facts = command->conn->facts;
        reply->body = NULL;
    } else {
        (void)snprintf(query->why, sizeof(query->why), "%.90s", command->conn->why);
    }
    queries->patient -= query->is_patient;
    plan_check(queries, query->answered_ns);
    count_answer(queries);
}

void weiri_queries_send(struct weiri_queries *queries, int64_t now_ns)
{
    size_t count = queries->count;
    if (queries->claim.done != NULL) {
        weiri_claims_push(queries->cluster->claims, &queries->claim, now_ns);
        return;
    }
    queries->patient = 0;
    for (size_t i = 0; i < count; i++) {
        struct weiri_query *query = &queries->query[i];
        query->is_patient = !query->command.conn->is_silent;
        queries->patient += query->is_patient;
    }
    plan_check(queries, now_ns);
    for (size_t i = 0; i < count; i++) {
        weiri_conn_push(&queries->query[i].command, now_ns);
    }
}

/* Leaves what is not answered, once that is enough. */
static int64_t hurry(struct weiri_queries *queries, int64_t now_ns)
{
    if (queries->is_enough == NULL || queries->check_ns > now_ns) {
        return queries->is_enough == NULL ? INT64_MAX : queries->check_ns;
    }
    queries->check_ns = INT64_MAX;
    size_t left = queries->is_enough(queries) ? queries->left : 0;
    for (struct weiri_query *query = queries->query; left > 0; query++) {
        if (query->delivery == 0) {
            left--;
            weiri_conn_leave(&query->command);
        }
    }
    return INT64_MAX;
}

int64_t weiri_calls_advance(struct weiri_cluster *cluster, int64_t now_ns)
{
    int64_t next = INT64_MAX;
    struct weiri_list *end = &cluster->running;
    struct weiri_list *following;
    for (struct weiri_list *link = end->next; link != end; link = following) {
        following = link->next;
        int64_t again = hurry(WEIRI_CONTAINER(link, struct weiri_queries, link), now_ns);
        next = weiri_time_earlier(next, again);
    }
    return next;
}

enum weir_status weiri_queries_init(struct weiri_queries *queries, struct weiri_cluster *cluster,
                                    size_t capacity, struct weir_error *ret_error)
{
    capacity = capacity == WEIRI_ALL_NODES ? cluster->options.node_count : capacity;
    *queries = (struct weiri_queries){.cluster = cluster, .capacity = capacity};
    queries->query =
        weiri_alloc_zero(&cluster->config->allocator, capacity, sizeof(*queries->query));
    return queries->query != NULL ? WEIR_OK : weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
}

struct weiri_query *weiri_queries_add(struct weiri_queries *queries, size_t node,
                                      const struct weiri_request *request, const char *use)
{
    WEIRI_ASSERT(queries->count < queries->capacity);
    struct weiri_query *query = &queries->query[queries->count++];
    *query = (struct weiri_query){.command = {.conn = &queries->cluster->nodes[node].control,
                                              .request = *request,
                                              .use = use,
                                              .owner = queries,
                                              .done = answered}};
    return query;
}

void weiri_queries_clear(struct weiri_queries *queries)
{
    for (size_t i = 0; i < queries->count; i++) {
        struct weiri_query *query = &queries->query[i];
        if (query->body != NULL) {
            weiri_release(&queries->cluster->config->allocator, query->body,
                          WEIRI_BODY_BLOCK(query->body_size));
        }
    }
    queries->count = 0;
}

void weiri_queries_run(struct weiri_queries *queries)
{
    queries->left = queries->count;
    run(queries);
}

void weiri_queries_ask(struct weiri_queries *queries, size_t node,
                       const struct weiri_request *request, const char *use)
{
    size_t first = node == WEIRI_ALL_NODES ? 0 : node;
    size_t end = node == WEIRI_ALL_NODES ? queries->cluster->options.node_count : node + 1;
    weiri_queries_clear(queries);
    for (size_t i = first; i < end; i++) {
        (void)weiri_queries_add(queries, i, request, use);
    }
    weiri_queries_run(queries);
}

void weiri_queries_fini(struct weiri_queries *queries)
{
    weiri_queries_clear(queries);
    weiri_release(&queries->cluster->config->allocator, queries->query,
                  queries->capacity * sizeof(*queries->query));
}

size_t weiri_query_node(const struct weiri_query *query)
{
    const struct weiri_queries *queries = query->command.owner;
    const struct weiri_node *node =
        WEIRI_CONTAINER(query->command.conn, struct weiri_node, control);
    return (size_t)(node - queries->cluster->nodes);
}

const char *weiri_query_name(const struct weiri_query *query)
{
    return query->command.conn->config.endpoint->text;
}

void weiri_query_tell(const struct weiri_query *query, char *text, size_t size)
{
    size_t used = strlen(text);
    const char *name = weiri_query_name(query);
    const char *separator = used == 0 ? "" : "; ";
    if (query->kind == WEIRI_JOB_TOO_BIG) {
        const struct weiri_request *put = &query->command.request;
        (void)snprintf(
            text + used, size - used,
            "%s%.60s: JOB_TOO_BIG: %zu bytes with the run time, expected %" PRIu64 " at most",
            separator, name, put->prefix_size + put->body_size, query->facts.max_job_size);
        return;
    }
    const char *what = query->delivery == WEIRI_ANSWERED ? weiri_reply_name(query->kind)
                       : query->delivery == WEIRI_LOST   ? "sent, no answer: "
                                                         : "not sent: ";
    (void)snprintf(text + used, size - used, "%s%.60s: %s%s", separator, name, what, query->why);
}

size_t weiri_queries_away(const struct weiri_queries *queries, char *text, size_t size)
{
    size_t away = 0;
    for (size_t i = 0; i < queries->count; i++) {
        if (queries->query[i].delivery != WEIRI_ANSWERED) {
            weiri_query_tell(&queries->query[i], text, size);
            away++;
        }
    }
    return away;
}

uint64_t weiri_query_number(const struct weiri_query *query, const char *name)
{
    uint64_t number = 0;
    if (query->kind == WEIRI_OK_BODY) {
        (void)weiri_stats_number(query->body, query->body_size, name, &number);
    }
    return number;
}

enum weir_status weiri_queries_check(const struct weiri_queries *queries, const char *what,
                                     struct weir_error *ret_error)
{
    char text[400] = "";
    size_t away = weiri_queries_away(queries, text, sizeof(text));
    if (away > 0 && away == queries->count) {
        return weiri_fail(ret_error, WEIR_EUNAVAILABLE, "%s: no node answered: %s", what, text);
    }
    if (away > 0) {
        weiri_broker_log(queries->cluster->config, WEIR_LOG_WARNING,
                         "%s: what is on these nodes is not counted: %s", what, text);
    }
    return WEIR_OK;
}

/* --- claims --- */

static void claim_answered(struct weiri_claim *claim, enum weiri_claim_answer answer,
                           int64_t number)
{
    struct weiri_queries *call = WEIRI_CONTAINER(claim, struct weiri_queries, claim);
    call->answer = answer;
    if (claim->verb == WEIRI_CLAIM_TIME) {
        const char *why = weiri_claims_away(call->cluster->claims);
        claim->time_ms = number;
        (void)snprintf(claim->reason, sizeof(claim->reason), "%s",
                       why != NULL ? why : "it refuses: the log says why");
    }
    count_answer(call);
}

enum weiri_claim_answer weiri_cluster_claim(struct weiri_cluster *cluster,
                                            struct weiri_claim *claim)
{
    struct weiri_queries call = {.cluster = cluster, .claim = *claim, .left = 1};
    call.claim.done = claim_answered;
    run(&call);
    *claim = call.claim;
    return call.answer;
}
