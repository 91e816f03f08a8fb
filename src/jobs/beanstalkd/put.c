/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Redundant puts, and taking jobs back. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "base/random.h"
#include "base/time.h"
#include "jobs/beanstalkd/cluster.h"
#include "jobs/beanstalkd/quorum.h"
#include "jobs/error.h"
#include "jobs/redis/claims.h"

/* How long a tombstone outlives the run time. */
#define TOMBSTONE_MS (INT64_C(24) * 3600 * 1000)

struct put_call {
    struct weiri_cluster *cluster;
    const struct weiri_put *put;
    size_t nodes[WEIRI_NODES_MAX]; /* the first `replicas` are written to */
    struct weiri_request request;
};

/* Orders the nodes at random, those that are away last. */
static void choose_nodes(struct put_call *call)
{
    struct weiri_cluster *cluster = call->cluster;
    size_t count = cluster->url.node_count;
    WEIRI_ASSERT(count > 0);
    for (size_t i = 0; i < count; i++) {
        call->nodes[i] = i;
    }
    if (count == cluster->url.replicas) {
        return;
    }
    weiri_mutex_lock(&cluster->mutex);
    for (size_t i = count - 1; i > 0; i--) {
        size_t other = (size_t)(weiri_random_next(&cluster->random) % (i + 1));
        size_t node = call->nodes[i];
        call->nodes[i] = call->nodes[other];
        call->nodes[other] = node;
    }
    weiri_mutex_unlock(&cluster->mutex);
    size_t sorted[WEIRI_NODES_MAX];
    size_t filled = 0;
    for (int away = 0; away < 2; away++) {
        for (size_t i = 0; i < count; i++) {
            bool is_away =
                atomic_load_explicit(&cluster->nodes[call->nodes[i]].is_away, memory_order_relaxed);
            if ((int)is_away == away) {
                sorted[filled++] = call->nodes[i];
            }
        }
    }
    memcpy(call->nodes, sorted, filled * sizeof(sorted[0]));
}

/* Checks what a node can hold, before anything is sent. */
static enum weir_status prepare(struct put_call *call, struct weir_error *ret_error)
{
    const struct weiri_put *put = call->put;
    int64_t now = weiri_cluster_now(call->cluster);
    int64_t delay = put->run_at_ns > now ? (put->run_at_ns - now) / WEIR_SECONDS(1) : 0;
    int64_t ttr = put->ttr_ns / WEIR_SECONDS(1) + (put->ttr_ns % WEIR_SECONDS(1) != 0);
    if (delay > UINT32_MAX || ttr > UINT32_MAX) {
        return weiri_fail(ret_error, WEIR_ERANGE, "%s is longer than beanstalkd's 2^32 seconds",
                          delay > UINT32_MAX ? "the delay" : "ttr_ns");
    }
    if (put->priority < -WEIRI_PRIORITY_OFFSET) {
        return weiri_fail(ret_error, WEIR_ENOTSUP,
                          "priority %" PRId32 ": a beanstalkd cluster has none below -%d",
                          put->priority, WEIRI_PRIORITY_OFFSET);
    }
    struct weir_job_id id = {""};
    for (size_t i = 0; i < call->cluster->url.replicas; i++) {
        const char *endpoint = call->cluster->url.nodes[call->nodes[i]].text;
        if (!weiri_id_add(&id, endpoint, put->tube, UINT64_MAX)) {
            return weiri_fail(ret_error, WEIR_ETOOBIG,
                              "the ids of tube %.60s... would have more than %d bytes", put->tube,
                              WEIR_JOB_ID_SIZE - 1);
        }
    }
    call->request = (struct weiri_request){
        .verb = WEIRI_PUT,
        .priority = (uint32_t)((int64_t)put->priority + WEIRI_PRIORITY_OFFSET),
        .delay_s = (uint32_t)delay,
        .ttr_s = (uint32_t)ttr};
    return WEIR_OK;
}

static void read_copies(const struct weiri_query *query, size_t replicas,
                        enum weiri_copy_state *ret_copies)
{
    for (size_t i = 0; i < replicas; i++) {
        ret_copies[i] = weiri_copy_of_put(query[i].delivery, query[i].kind);
    }
}

/* Takes back every copy of the call, in the memory of its queries, so that lack of memory cannot
 * leave one. Returns whether nothing of it can run any more. */
static bool take_back(struct weiri_queries *puts)
{
    bool is_all_gone = true;
    size_t kept = 0;
    for (size_t i = 0; i < puts->count; i++) {
        struct weiri_query *query = &puts->query[i];
        if (weiri_copy_has_id(query->delivery, query->kind)) {
            const struct weiri_request request = {.verb = WEIRI_DELETE, .id = query->id};
            struct weiri_query *delete = &puts->query[kept++];
            delete->command.conn = query->command.conn;
            delete->command.request = request;
            delete->command.use = NULL;
            delete->kind = 0;
        } else if (weiri_copy_of_put(query->delivery, query->kind) != WEIRI_COPY_ABSENT) {
            is_all_gone = false;
        }
    }
    puts->count = kept;
    if (kept > 0) {
        weiri_queries_run(puts);
    }
    for (size_t i = 0; i < kept; i++) {
        const struct weiri_query *query = &puts->query[i];
        is_all_gone =
            is_all_gone && weiri_copy_of_delete(query->delivery, query->kind) == WEIRI_COPY_ABSENT;
    }
    return is_all_gone;
}

/* Takes the call back, and tells what each node said of the first job concerned. */
static enum weir_status refuse(struct put_call *call, struct weiri_queries *puts, size_t first,
                               struct weir_error *ret_error)
{
    size_t replicas = call->cluster->url.replicas;
    char text[420] = "";
    bool is_too_big = false;
    for (size_t i = 0; i < replicas; i++) {
        const struct weiri_query *query = &puts->query[first * replicas + i];
        weiri_query_tell(query, text, sizeof(text));
        is_too_big = is_too_big || query->kind == WEIRI_JOB_TOO_BIG;
    }
    if (!take_back(puts)) {
        return weiri_fail(ret_error, WEIR_EUNKNOWN, "job %zu may run: %s", first, text);
    }
    return weiri_fail(ret_error, is_too_big ? WEIR_ETOOBIG : WEIR_EUNAVAILABLE,
                      "job %zu has fewer than %zu copies, none is left: %s", first,
                      call->cluster->url.min_written, text);
}

static enum weir_status judge(struct put_call *call, struct weiri_queries *puts,
                              struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    const struct weiri_cluster_url *url = &call->cluster->url;
    enum weiri_copy_state copies[WEIRI_NODES_MAX];
    for (size_t job = 0; job < call->put->count; job++) {
        read_copies(&puts->query[job * url->replicas], url->replicas, copies);
        if (weiri_quorum_judge(copies, url->replicas, url->min_written) != WEIRI_PUT_ACCEPTED) {
            return refuse(call, puts, job, ret_error);
        }
    }
    for (size_t job = 0; job < call->put->count && ret_ids != NULL; job++) {
        ret_ids[job].text[0] = '\0';
        for (size_t i = 0; i < url->replicas; i++) {
            const struct weiri_query *query = &puts->query[job * url->replicas + i];
            if (query->kind == WEIRI_INSERTED) {
                (void)weiri_id_add(&ret_ids[job], url->nodes[weiri_query_node(query)].text,
                                   call->put->tube, query->id);
            }
        }
    }
    return WEIR_OK;
}

enum weir_status weiri_cluster_put(void *store, const struct weiri_put *put,
                                   struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct put_call call = {.cluster = cluster, .put = put};
    size_t replicas = cluster->url.replicas;
    choose_nodes(&call);
    enum weir_status status = prepare(&call, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    size_t count;
    struct weiri_queries puts;
    if (__builtin_mul_overflow(put->count, replicas, &count) ||
        !weiri_queries_init(&puts, cluster, count)) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    for (size_t job = 0; job < put->count; job++) {
        call.request.body = put->bodies[job].data;
        call.request.body_size = put->bodies[job].size;
        /* A nanosecond apart, so that equal bodies of one call are not one job to Redis. */
        int64_t run_at = weiri_time_add(put->run_at_ns, (int64_t)job);
        for (size_t i = 0; i < replicas; i++) {
            struct weiri_query *query =
                weiri_queries_add(&puts, call.nodes[i], &call.request, put->tube);
            query->command.request.prefix = query->stamp;
            query->command.request.prefix_size = weiri_stamp_write(run_at, query->stamp);
        }
    }
    weiri_queries_run(&puts);
    status = judge(&call, &puts, ret_ids, ret_error);
    weiri_queries_fini(&puts);
    return status;
}

/* --- remove --- */

/* Adds a request for each copy. */
static void query_copies(struct weiri_queries *queries, const struct weiri_copy_id *copies,
                         size_t count, enum weiri_verb verb)
{
    weiri_queries_clear(queries);
    for (size_t i = 0; i < count; i++) {
        const struct weiri_request request = {.verb = verb, .id = copies[i].number};
        (void)weiri_queries_add(queries, copies[i].node, &request, NULL);
    }
}

/* Leaves a tombstone for copies on nodes that are away. False: none could be left. */
static bool bury_in_claims(struct weiri_cluster *cluster, struct weiri_queries *queries)
{
    const struct weiri_query *found = NULL;
    bool is_away = false;
    for (size_t i = 0; i < queries->count; i++) {
        const struct weiri_query *query = &queries->query[i];
        is_away = is_away || query->delivery != WEIRI_ANSWERED;
        found = query->kind == WEIRI_FOUND ? query : found;
    }
    if (!is_away) {
        return true;
    }
    if (found == NULL) {
        return false;
    }
    int64_t run_at = 0;
    size_t size = 0;
    (void)weiri_stamp_read(found->body, found->body_size, &run_at, &size);
    int64_t now = weiri_cluster_now(cluster);
    int64_t wait_ms = run_at > now ? (run_at - now) / WEIR_MS(1) : 0;
    return weiri_cluster_claim(cluster, WEIRI_CLAIM_REVOKE, found->body, found->body_size,
                               wait_ms + TOMBSTONE_MS) == WEIRI_CLAIM_MINE;
}

static enum weir_status remove_one(struct weiri_cluster *cluster, struct weiri_queries *queries,
                                   const char *id, size_t *count, struct weir_error *ret_error)
{
    struct weiri_copy_id copies[WEIRI_NODES_MAX];
    size_t copy_count;
    enum weir_status status = weiri_id_parse(cluster, id, copies, &copy_count, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    bool has_tombstone = false;
    if (cluster->claims != NULL) {
        query_copies(queries, copies, copy_count, WEIRI_PEEK);
        weiri_queries_run(queries);
        has_tombstone = bury_in_claims(cluster, queries);
    }
    query_copies(queries, copies, copy_count, WEIRI_DELETE);
    weiri_queries_run(queries);
    char text[300] = "";
    bool is_deleted = false;
    bool is_sure = true;
    for (size_t i = 0; i < queries->count; i++) {
        const struct weiri_query *query = &queries->query[i];
        is_deleted = is_deleted || query->kind == WEIRI_DELETED;
        if (query->delivery != WEIRI_ANSWERED) {
            is_sure = false;
            weiri_query_tell(query, text, sizeof(text));
        }
    }
    if (!is_sure && !has_tombstone) {
        return weiri_fail(ret_error, WEIR_EUNKNOWN, "job %.80s may run still: %s", id, text);
    }
    *count += is_deleted;
    return WEIR_OK;
}

enum weir_status weiri_cluster_remove(void *store, const char *const *ids, size_t count,
                                      size_t *ret_count, struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct weiri_copy_id copies[WEIRI_NODES_MAX];
    struct weiri_queries queries;
    size_t ignored;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = weiri_id_parse(cluster, ids[i], copies, &ignored, ret_error);
    }
    if (status == WEIR_OK && !weiri_queries_init(&queries, cluster, WEIRI_NODES_MAX)) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    if (status != WEIR_OK) {
        return status;
    }
    size_t removed = 0;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = remove_one(cluster, &queries, ids[i], &removed, ret_error);
    }
    weiri_queries_fini(&queries);
    if (status == WEIR_OK && ret_count != NULL) {
        *ret_count = removed;
    }
    return status;
}
