/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What people ask of a cluster: counts and peeks. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/beanstalkd/copies.h"

/* A longer pause has no end. */
#define FOREVER_S (UINT64_C(100) * 365 * 24 * 3600)

/* --- counts --- */

struct name {
    char tube[WEIR_TUBE_SIZE_MAX + 1];
};

static enum weir_status add_name(struct weiri_queries *queries, struct weiri_array *names,
                                 const char *tube, struct weir_error *ret_error)
{
    struct name *name = weiri_array_add(names, &queries->cluster->config->allocator);
    if (name == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    memcpy(name->tube, tube, strlen(tube) + 1);
    return WEIR_OK;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static enum weir_status list_tubes(struct weiri_queries *queries, struct weiri_array *names,
                                   struct weir_error *ret_error)
{
    const struct weiri_request request = {.verb = WEIRI_LIST_TUBES};
    weiri_queries_ask(queries, WEIRI_ALL_NODES, &request, NULL);
    enum weir_status status = weiri_queries_check(queries, "list-tubes", ret_error);
    for (size_t i = 0; i < queries->count && status == WEIR_OK; i++) {
        const struct weiri_query *query = &queries->query[i];
        struct name name;
        size_t offset = 0;
        while (status == WEIR_OK && query->kind == WEIRI_OK_BODY &&
               weiri_stats_next_tube(query->body, query->body_size, &offset, name.tube)) {
            status = add_name(queries, names, name.tube, ret_error);
        }
    }
    if (names->count > 1) {
        qsort(names->items, names->count, sizeof(struct name), compare);
    }
    return status;
}

bool weiri_cluster_count(struct weiri_queries *queries, const char *tube,
                         struct weir_tube_counts *ret_counts)
{
    struct weir_tube_counts counts = {.delayed = 0};
    const struct {
        const char *name;
        uint64_t *sum;
    } sums[] = {{"current-jobs-delayed", &counts.delayed},
                {"current-jobs-ready", &counts.ready},
                {"current-jobs-reserved", &counts.reserved},
                {"current-jobs-buried", &counts.buried},
                {"total-jobs", &counts.put},
                {"cmd-delete", &counts.done}};
    uint64_t pause = 0; /* the longest */
    const struct weiri_request request = {.verb = WEIRI_STATS_TUBE, .tube = tube};
    bool is_known = false;
    memcpy(counts.tube, tube, strlen(tube));
    weiri_queries_ask(queries, WEIRI_ALL_NODES, &request, NULL);
    for (size_t i = 0; i < queries->count; i++) {
        const struct weiri_query *query = &queries->query[i];
        is_known = is_known || query->kind == WEIRI_OK_BODY;
        for (size_t j = 0; j < sizeof(sums) / sizeof(sums[0]); j++) {
            *sums[j].sum += weiri_query_number(query, sums[j].name);
        }
        uint64_t left = weiri_query_number(query, "pause-time-left");
        pause = left > pause ? left : pause;
    }
    if (pause > 0) {
        /* One for ever was for 2^32 seconds. */
        int64_t now_ns = weiri_cluster_now(queries->cluster);
        counts.paused_until_ns =
            pause > FOREVER_S ? WEIR_FOREVER : weiri_time_add(now_ns, WEIR_SECONDS((int64_t)pause));
    }
    *ret_counts = counts;
    bool is_own_default = strcmp(tube, WEIRI_DEFAULT_TUBE) == 0 && counts.put == 0;
    return is_known && !is_own_default;
}

enum weir_status weiri_cluster_tubes(void *store, const char *tube, bool counts_jobs,
                                     weir_tube_fn *fn, void *arg, struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct weiri_array names = {.item_size = sizeof(struct name)};
    struct weiri_queries queries;
    enum weir_status status = weiri_queries_init(&queries, cluster, WEIRI_ALL_NODES, ret_error);
    (void)counts_jobs; /* it is one answer of a node */
    if (status != WEIR_OK) {
        return status;
    }
    status = tube == NULL ? list_tubes(&queries, &names, ret_error)
                          : add_name(&queries, &names, tube, ret_error);
    const struct name *name = names.items;
    bool is_over = false;
    for (size_t i = 0; i < names.count && status == WEIR_OK && !is_over; i++) {
        struct weir_tube_counts counts;
        if (i > 0 && strcmp(name[i].tube, name[i - 1].tube) == 0) {
            continue;
        }
        bool is_known = weiri_cluster_count(&queries, name[i].tube, &counts);
        status = weiri_queries_check(&queries, "stats-tube", ret_error);
        /* Nodes forget a tube that is empty, so that one that is named may have had jobs. */
        is_over = status == WEIR_OK && (is_known || tube != NULL) && fn(&counts, arg) != 0;
    }
    weiri_queries_fini(&queries);
    weiri_array_free(&names, &cluster->config->allocator);
    return status;
}

/* --- peek --- */

/* Shows a copy that was found, with its facts. Returns what the callback did; 0 for one that is
 * gone meanwhile, which is not shown. */
static int show(struct weiri_cluster *cluster, const struct weiri_query *found,
                const struct weiri_query *facts, const struct weiri_listing *listing)
{
    struct weiri_shown shown = {.job = {.progress = -1}};
    struct weiri_job_stats stats;
    char ids[WEIR_JOB_ID_SIZE];
    struct weiri_claim look = {.verb = WEIRI_CLAIM_LOOK, .ret_copies = ids};
    if (!weiri_job_stats_read(facts->body, facts->body_size, weiri_cluster_now(cluster), &stats,
                              &shown.job)) {
        return 0;
    }
    const char *why_bad = weiri_shown_read(cluster, weiri_query_name(found), stats.tube, found->id,
                                           found->body, found->body_size, &shown);
    if (why_bad != NULL) {
        shown.job.reason = why_bad;
    } else if (shown.job.state == WEIR_JOB_BURIED && cluster->claims != NULL) {
        memcpy(look.key, shown.key, sizeof(look.key));
        (void)weiri_cluster_claim(cluster, &look);
        shown.job.reason = look.reason;
    }
    if (listing->filter.no_bodies != 0) { /* which the node has sent all the same */
        shown.job.body = NULL;
        shown.job.headers = "";
    }
    return listing->fn(&shown.job, listing->arg);
}

/* Shows the copies that were found, until none is left to be shown. */
static enum weir_status show_found(const struct weiri_queries *queries,
                                   const struct weiri_listing *listing, size_t *left,
                                   struct weir_error *ret_error)
{
    struct weiri_queries facts;
    enum weir_status status = weiri_queries_init(&facts, queries->cluster, 1, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    for (size_t i = 0; i < queries->count && status == WEIR_OK && *left > 0; i++) {
        const struct weiri_query *found = &queries->query[i];
        const struct weiri_request request = {.verb = WEIRI_STATS_JOB, .id = found->id};
        if (found->kind == WEIRI_FOUND) {
            weiri_queries_ask(&facts, weiri_query_node(found), &request, NULL);
            status = weiri_queries_check(&facts, "stats-job", ret_error);
            bool is_over = show(queries->cluster, found, facts.query, listing) != 0;
            *left = is_over ? 0 : *left - 1;
        }
    }
    weiri_queries_fini(&facts);
    return status;
}

static enum weir_status peek(struct weiri_cluster *cluster, const struct weiri_listing *listing,
                             struct weir_error *ret_error)
{
    static const struct {
        enum weir_job_state state;
        enum weiri_verb verb;
    } verbs[] = {{WEIR_JOB_READY, WEIRI_PEEK_READY},
                 {WEIR_JOB_DELAYED, WEIRI_PEEK_DELAYED},
                 {WEIR_JOB_BURIED, WEIRI_PEEK_BURIED}};
    enum weir_job_state state = listing->filter.state;
    size_t left = listing->filter.first;
    struct weiri_queries queries;
    enum weir_status status = weiri_queries_init(&queries, cluster, WEIRI_ALL_NODES, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    for (size_t v = 0; v < sizeof(verbs) / sizeof(verbs[0]) && status == WEIR_OK; v++) {
        if (state != 0 && state != verbs[v].state) {
            continue;
        }
        const struct weiri_request request = {.verb = verbs[v].verb};
        weiri_queries_ask(&queries, WEIRI_ALL_NODES, &request, listing->filter.tube);
        status = weiri_queries_check(&queries, weiri_verb_name(verbs[v].verb), ret_error);
        if (status == WEIR_OK) {
            status = show_found(&queries, listing, &left, ret_error);
        }
    }
    weiri_queries_fini(&queries);
    return status;
}

enum weir_status weiri_cluster_list(void *store, const struct weiri_listing *listing,
                                    struct weir_error *ret_error)
{
    const char *id = listing->filter.id;
    struct weiri_copies copies = {.cluster = store};
    if (id == NULL) {
        return peek(store, listing, ret_error);
    }
    enum weir_status status = weiri_copies_begin(&copies, id, ret_error);
    if (status == WEIR_OK) {
        status = weiri_queries_init(&copies.queries, store, 2 * copies.count, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    size_t count = copies.count;
    const struct weiri_query *found = weiri_copies_read(&copies);
    if (found != NULL) {
        (void)show(store, &found[0], &found[1], listing);
    } else if (copies.silent == count) {
        status =
            weiri_fail(ret_error, WEIR_EUNAVAILABLE, "peek: no node answered: %s", copies.away);
    } else if (copies.silent > 0) {
        weiri_broker_log(copies.cluster->config, WEIR_LOG_WARNING,
                         "peek: what is on these nodes is not counted: %s", copies.away);
    }
    weiri_queries_fini(&copies.queries);
    return found != NULL || status != WEIR_OK
               ? status
               : weiri_copies_end(
                     &copies, weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no job %.100s", id),
                     ret_error);
}
