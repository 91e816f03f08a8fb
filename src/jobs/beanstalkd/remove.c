/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Taking jobs back. */
#include "base/time.h"
#include "jobs/beanstalkd/cluster.h"
#include "jobs/error.h"

/* How long the mark of a revoked job outlives its run time. */
#define TOMBSTONE_MS (INT64_C(24) * 3600 * 1000)

/* Marks the claim as revoked, from the peeks at all copies: for a copy that is held back by a
 * consumer, or on a node that is away. WEIRI_CLAIM_AWAY: it cannot be. */
static enum weiri_claim_answer revoke(struct weiri_cluster *cluster,
                                      const struct weiri_queries *peeks)
{
    const struct weiri_query *found = NULL;
    bool is_away = false;
    for (size_t i = 0; i < peeks->count; i++) {
        const struct weiri_query *query = &peeks->query[i];
        is_away = is_away || query->delivery != WEIRI_ANSWERED;
        found = query->kind == WEIRI_FOUND ? query : found;
    }
    if (found == NULL) {
        return is_away ? WEIRI_CLAIM_AWAY : WEIRI_CLAIM_DONE;
    }
    int64_t run_at = 0;
    size_t size = 0;
    (void)weiri_stamp_read(found->body, found->body_size, &run_at, &size);
    int64_t now = weiri_cluster_now(cluster);
    int64_t wait_ms = run_at > now ? (run_at - now) / WEIR_MS(1) : 0;
    return weiri_cluster_claim(cluster, WEIRI_CLAIM_REVOKE, found->body, found->body_size,
                               wait_ms + TOMBSTONE_MS, NULL);
}

static enum weir_status remove_one(struct weiri_cluster *cluster, struct weiri_queries *queries,
                                   const char *id, size_t *count, struct weir_error *ret_error)
{
    struct weiri_copy_id copies[WEIRI_NODES_MAX];
    size_t copy_count;
    enum weiri_claim_answer answer = WEIRI_CLAIM_AWAY;
    enum weir_status status = weiri_id_parse(cluster, id, copies, &copy_count, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    if (cluster->claims != NULL) {
        weiri_queries_ask_copies(queries, copies, copy_count, WEIRI_PEEK);
        answer = revoke(cluster, queries);
    }
    if (answer == WEIRI_CLAIM_BUSY) {
        return WEIR_OK; /* it runs; its other copies are for a worker that dies */
    }
    weiri_queries_ask_copies(queries, copies, copy_count, WEIRI_DELETE);
    char text[300] = "";
    bool is_deleted = false;
    for (size_t i = 0; i < queries->count; i++) {
        const struct weiri_query *query = &queries->query[i];
        is_deleted = is_deleted || query->kind == WEIRI_DELETED;
        if (query->delivery != WEIRI_ANSWERED) {
            weiri_query_tell(query, text, sizeof(text));
        }
    }
    if (text[0] != '\0' && answer == WEIRI_CLAIM_AWAY) {
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
    size_t removed = 0;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        size_t ignored;
        status = weiri_id_parse(cluster, ids[i], copies, &ignored, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_queries_init(&queries, cluster, WEIRI_NODES_MAX, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = remove_one(cluster, &queries, ids[i], &removed, ret_error);
    }
    weiri_queries_fini(&queries);
    if (status == WEIR_OK && ret_count != NULL) {
        *ret_count = removed;
    }
    return status;
}
