/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Commands that a thread waits for, and what they are made of: ids, run times. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "jobs/beanstalkd/cluster.h"
#include "jobs/error.h"

void weiri_call_init(struct weiri_call *call, struct weiri_cluster *cluster, size_t left)
{
    *call = (struct weiri_call){.left = left};
    weiri_list_init(&call->link);
    weiri_cond_init(&call->woken, &cluster->mutex);
}

void weiri_call_wait_locked(struct weiri_call *call)
{
    while (!call->is_done) {
        weiri_cond_wait(&call->woken);
    }
}

void weiri_call_answer(struct weiri_cluster *cluster, struct weiri_call *call)
{
    call->left--;
    if (call->left == 0) {
        weiri_list_insert_before(&cluster->finished, &call->link);
    }
}

bool weiri_queries_init(struct weiri_queries *queries, struct weiri_cluster *cluster,
                        size_t capacity)
{
    *queries = (struct weiri_queries){.cluster = cluster, .capacity = capacity};
    queries->query =
        weiri_alloc_zero(&cluster->config->allocator, capacity, sizeof(*queries->query));
    return queries->query != NULL;
}

static void answered(struct weiri_command *command, enum weiri_delivery delivery,
                     struct weiri_reply *reply)
{
    struct weiri_query *query = WEIRI_CONTAINER(command, struct weiri_query, command);
    struct weiri_queries *queries = query->queries;
    query->delivery = delivery;
    if (reply != NULL) {
        query->kind = reply->kind;
        query->id = reply->id;
        query->count = reply->count;
        query->body = reply->body;
        query->body_size = reply->body_size;
        reply->body = NULL;
    } else {
        (void)snprintf(query->why, sizeof(query->why), "%.90s", command->conn->why);
    }
    weiri_call_answer(queries->cluster, &queries->call);
}

struct weiri_query *weiri_queries_add(struct weiri_queries *queries, size_t node,
                                      const struct weiri_request *request, const char *use)
{
    WEIRI_ASSERT(queries->count < queries->capacity);
    struct weiri_query *query = &queries->query[queries->count++];
    query->delivery = WEIRI_NOT_SENT;
    query->queries = queries;
    query->command = (struct weiri_command){.conn = &queries->cluster->nodes[node].control,
                                            .request = *request,
                                            .use = use,
                                            .done = answered};
    weiri_list_init(&query->command.link);
    return query;
}

void weiri_queries_run(struct weiri_queries *queries)
{
    struct weiri_cluster *cluster = queries->cluster;
    if (queries->count == 0) {
        return;
    }
    weiri_call_init(&queries->call, cluster, queries->count);
    weiri_mutex_lock(&cluster->mutex);
    for (size_t i = 0; i < queries->count; i++) {
        weiri_cluster_submit_locked(cluster, &queries->query[i].command);
    }
    weiri_call_wait_locked(&queries->call);
    weiri_mutex_unlock(&cluster->mutex);
    weiri_cond_fini(&queries->call.woken);
}

void weiri_queries_clear(struct weiri_queries *queries)
{
    for (size_t i = 0; i < queries->count; i++) {
        struct weiri_query *query = &queries->query[i];
        if (query->body != NULL) {
            weiri_release(&queries->cluster->config->allocator, query->body, query->body_size + 1);
        }
        memset(query, 0, sizeof(*query));
    }
    queries->count = 0;
}

void weiri_queries_fini(struct weiri_queries *queries)
{
    weiri_queries_clear(queries);
    weiri_release(&queries->cluster->config->allocator, queries->query,
                  queries->capacity * sizeof(*queries->query));
}

size_t weiri_query_node(const struct weiri_query *query)
{
    const struct weiri_node *node =
        WEIRI_CONTAINER(query->command.conn, struct weiri_node, control);
    return (size_t)(node - query->queries->cluster->nodes);
}

void weiri_query_tell(const struct weiri_query *query, char *text, size_t size)
{
    size_t used = strlen(text);
    const char *name = query->command.conn->config.endpoint->text;
    const char *separator = used == 0 ? "" : "; ";
    if (query->delivery == WEIRI_ANSWERED) {
        (void)snprintf(text + used, size - used, "%s%.60s: %s", separator, name,
                       weiri_reply_name(query->kind));
    } else {
        (void)snprintf(text + used, size - used, "%s%.60s: %s: %s", separator, name,
                       query->delivery == WEIRI_LOST ? "sent, no answer" : "not sent", query->why);
    }
}

enum weir_status weiri_queries_check(const struct weiri_queries *queries, const char *what,
                                     struct weir_error *ret_error)
{
    char text[400] = "";
    size_t failed = 0;
    for (size_t i = 0; i < queries->count; i++) {
        if (queries->query[i].delivery != WEIRI_ANSWERED) {
            weiri_query_tell(&queries->query[i], text, sizeof(text));
            failed++;
        }
    }
    if (failed > 0 && failed == queries->count) {
        return weiri_fail(ret_error, WEIR_EUNAVAILABLE, "%s: no node answered: %s", what, text);
    }
    if (failed > 0) {
        weiri_broker_log(queries->cluster->config, WEIR_LOG_WARNING,
                         "%s: what is on these nodes is not counted: %s", what, text);
    }
    return WEIR_OK;
}

/* --- claims --- */

struct claim_query {
    struct weiri_claim claim;
    struct weiri_cluster *cluster;
    struct weiri_call call;
    enum weiri_claim_answer answer;
};

static void claim_answered(struct weiri_claim *claim, enum weiri_claim_answer answer,
                           int64_t number)
{
    struct claim_query *query = WEIRI_CONTAINER(claim, struct claim_query, claim);
    (void)number;
    query->answer = answer;
    weiri_call_answer(query->cluster, &query->call);
}

enum weiri_claim_answer weiri_cluster_claim(struct weiri_cluster *cluster,
                                            enum weiri_claim_verb verb, const char *body,
                                            size_t size, int64_t time_ms)
{
    struct claim_query query = {.claim = {.verb = verb, .time_ms = time_ms, .done = claim_answered},
                                .cluster = cluster};
    weiri_claim_key(body, size, query.claim.key);
    weiri_list_init(&query.claim.link);
    weiri_call_init(&query.call, cluster, 1);
    weiri_mutex_lock(&cluster->mutex);
    weiri_list_insert_before(&cluster->submitted_claims, &query.claim.link);
    weiri_cluster_wake_locked(cluster);
    weiri_call_wait_locked(&query.call);
    weiri_mutex_unlock(&cluster->mutex);
    weiri_cond_fini(&query.call.woken);
    return query.answer;
}

/* --- ids --- */

bool weiri_id_add(struct weir_job_id *id, const char *endpoint, const char *tube, uint64_t number)
{
    size_t used = strlen(id->text);
    int length = snprintf(id->text + used, sizeof(id->text) - used, "%s%s/%s/%" PRIu64,
                          used == 0 ? "" : ",", endpoint, tube, number);
    if (length < 0 || (size_t)length >= sizeof(id->text) - used) {
        id->text[used] = '\0';
        return false;
    }
    return true;
}

static bool read_number(const char *text, size_t size, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number)) {
            return false;
        }
    }
    *ret_number = number;
    return size > 0 && text[0] != '0';
}

enum weir_status weiri_id_parse(const struct weiri_cluster *cluster, const char *text,
                                struct weiri_copy_id *ret_copies, size_t *ret_count,
                                struct weir_error *ret_error)
{
    size_t count = 0;
    const char *at = text;
    for (;;) {
        /* A tube's name may hold slashes, an endpoint and a number may not. */
        size_t size = strcspn(at, ",");
        const char *end = at + size;
        const char *slash = end;
        while (slash > at && slash[-1] != '/') {
            slash--;
        }
        int node = weiri_cluster_find_node(cluster, at);
        size_t head = node < 0 ? 0 : strlen(cluster->url.nodes[node].text) + 1;
        char tube[WEIR_TUBE_SIZE_MAX + 2] = "";
        size_t tube_size = slash > at + head ? (size_t)(slash - at) - head - 1 : 0;
        if (tube_size < sizeof(tube)) {
            memcpy(tube, at + head, tube_size);
            tube[tube_size] = '\0';
        }
        uint64_t number;
        if (node < 0 || count == WEIRI_NODES_MAX || weir_tube_check(tube, NULL) != WEIR_OK ||
            !read_number(slash, (size_t)(end - slash), &number)) {
            return weiri_fail(ret_error, WEIR_EINVAL,
                              "\"%.*s\" at offset %zu of job id \"%.100s\": expected "
                              "endpoint/tube/number, the endpoint being one of the broker URL",
                              size < 80 ? (int)size : 80, at, (size_t)(at - text), text);
        }
        ret_copies[count++] = (struct weiri_copy_id){(size_t)node, number};
        if (*end == '\0') {
            *ret_count = count;
            return WEIR_OK;
        }
        at = end + 1;
    }
}

/* --- run times --- */

size_t weiri_stamp_write(int64_t run_at_ns, char text[WEIRI_STAMP_SIZE])
{
    return (size_t)snprintf(text, WEIRI_STAMP_SIZE, "%" PRId64 "/", run_at_ns);
}

bool weiri_stamp_read(const char *body, size_t size, int64_t *ret_run_at_ns, size_t *ret_size)
{
    int64_t number = 0;
    for (size_t i = 0; i < size && i < WEIRI_STAMP_SIZE; i++) {
        if (body[i] == '/' && i > 0) {
            *ret_run_at_ns = number;
            *ret_size = i + 1;
            return true;
        }
        if (body[i] < '0' || body[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, body[i] - '0', &number)) {
            return false;
        }
    }
    return false;
}
