/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What people ask of a cluster: counts, peeks, kicks. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/beanstalkd/cluster.h"
#include "jobs/error.h"
#include "jobs/redis/claims.h"

/* A longer pause has no end. */
#define FOREVER_S (UINT64_C(100) * 365 * 24 * 3600)

/* --- counts --- */

struct names {
    char (*tube)[WEIR_TUBE_SIZE_MAX + 1];
    size_t count;
    size_t capacity;
};

static bool add_name(const struct weir_allocator *memory, struct names *names, const char *tube)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->tube[i], tube) == 0) {
            return true;
        }
    }
    if (names->count == names->capacity) {
        size_t capacity = names->capacity == 0 ? 16 : names->capacity * 2;
        void *grown = names->tube == NULL ? weiri_alloc_zero(memory, capacity, sizeof(*names->tube))
                                          : weiri_resize(memory, names->tube, names->capacity,
                                                         capacity, sizeof(*names->tube));
        if (grown == NULL) {
            return false;
        }
        names->tube = grown;
        names->capacity = capacity;
    }
    memcpy(names->tube[names->count++], tube, strlen(tube) + 1);
    return true;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The same question to every node. */
static void query_all(struct weiri_queries *queries, const struct weiri_request *request,
                      const char *use)
{
    weiri_queries_clear(queries);
    for (size_t i = 0; i < queries->cluster->url.node_count; i++) {
        (void)weiri_queries_add(queries, i, request, use);
    }
    weiri_queries_run(queries);
}

static enum weir_status list_tubes(struct weiri_queries *queries, struct names *names,
                                   struct weir_error *ret_error)
{
    const struct weiri_request request = {.verb = WEIRI_LIST_TUBES};
    query_all(queries, &request, NULL);
    enum weir_status status = weiri_queries_check(queries, "list-tubes", ret_error);
    for (size_t i = 0; i < queries->count && status == WEIR_OK; i++) {
        const struct weiri_query *query = &queries->query[i];
        char tube[WEIR_TUBE_SIZE_MAX + 1];
        size_t offset = 0;
        while (status == WEIR_OK && query->kind == WEIRI_OK_BODY &&
               weiri_stats_next_tube(query->body, query->body_size, &offset, tube)) {
            if (!add_name(&queries->cluster->config->allocator, names, tube)) {
                status = weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
            }
        }
    }
    if (names->count > 1) {
        qsort(names->tube, names->count, sizeof(*names->tube), compare);
    }
    return status;
}

static void add_number(const struct weiri_query *query, const char *name, uint64_t *sum)
{
    uint64_t number = 0;
    if (weiri_stats_number(query->body, query->body_size, name, &number)) {
        *sum += number;
    }
}

/* Sums what the nodes count of a tube. False: none of them knows it, or it is empty and nobody's.
 */
static bool sum_tube(const struct weiri_queries *queries, const char *tube,
                     struct weir_tube_counts *ret_counts)
{
    struct weir_tube_counts counts;
    uint64_t pause = 0; /* the longest */
    bool is_known = false;
    memset(&counts, 0, sizeof(counts));
    memcpy(counts.tube, tube, strlen(tube));
    for (size_t i = 0; i < queries->count; i++) {
        const struct weiri_query *query = &queries->query[i];
        if (query->kind == WEIRI_OK_BODY) {
            is_known = true;
            add_number(query, "current-jobs-delayed", &counts.delayed);
            add_number(query, "current-jobs-ready", &counts.ready);
            add_number(query, "current-jobs-reserved", &counts.reserved);
            add_number(query, "current-jobs-buried", &counts.buried);
            add_number(query, "total-jobs", &counts.put);
            add_number(query, "cmd-delete", &counts.done);
            uint64_t left = 0;
            add_number(query, "pause-time-left", &left);
            pause = left > pause ? left : pause;
        }
    }
    if (pause > 0) {
        /* One for ever was for 2^32 seconds. */
        counts.paused_until_ns =
            pause > FOREVER_S
                ? WEIR_FOREVER
                : weiri_time_add(weiri_cluster_now(queries->cluster), WEIR_SECONDS((int64_t)pause));
    }
    *ret_counts = counts;
    bool is_own_default = strcmp(tube, "default") == 0 && counts.put == 0;
    return is_known && !is_own_default;
}

enum weir_status weiri_cluster_tubes(void *store, const char *tube, weir_tube_fn *fn, void *arg,
                                     struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    const struct weir_allocator *memory = &cluster->config->allocator;
    struct names names = {NULL, 0, 0};
    struct weiri_queries queries;
    if (!weiri_queries_init(&queries, cluster, cluster->url.node_count)) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    enum weir_status status = WEIR_OK;
    if (tube == NULL) {
        status = list_tubes(&queries, &names, ret_error);
    } else if (!add_name(memory, &names, tube)) {
        status = weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    bool is_over = false;
    for (size_t i = 0; i < names.count && status == WEIR_OK && !is_over; i++) {
        const struct weiri_request request = {.verb = WEIRI_STATS_TUBE, .tube = names.tube[i]};
        struct weir_tube_counts counts;
        query_all(&queries, &request, NULL);
        status = weiri_queries_check(&queries, "stats-tube", ret_error);
        if (status == WEIR_OK && sum_tube(&queries, names.tube[i], &counts)) {
            is_over = fn(&counts, arg) != 0;
        }
    }
    weiri_queries_fini(&queries);
    weiri_release(memory, names.tube, names.capacity * sizeof(*names.tube));
    return status;
}

/* --- peek --- */

/* Shows a copy that was found; its facts come from the node. */
static enum weir_status show(struct weiri_cluster *cluster, const struct weiri_query *found,
                             weir_job_fn *fn, void *arg, bool *ret_is_over,
                             struct weir_error *ret_error)
{
    static const char *const states[] = {[WEIR_JOB_DELAYED] = "delayed",
                                         [WEIR_JOB_READY] = "ready",
                                         [WEIR_JOB_RESERVED] = "reserved",
                                         [WEIR_JOB_BURIED] = "buried"};
    struct weiri_queries queries;
    if (!weiri_queries_init(&queries, cluster, 1)) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    size_t node = weiri_query_node(found);
    const struct weiri_request request = {.verb = WEIRI_STATS_JOB, .id = found->id};
    const struct weiri_query *facts = weiri_queries_add(&queries, node, &request, NULL);
    weiri_queries_run(&queries);
    char tube[WEIR_TUBE_SIZE_MAX + 1] = "";
    char state[16] = "";
    uint64_t numbers[5] = {0};
    static const char *const names[] = {"pri", "age", "ttr", "reserves", "time-left"};
    enum weir_status status = weiri_queries_check(&queries, "stats-job", ret_error);
    if (status == WEIR_OK && facts->kind == WEIRI_OK_BODY &&
        weiri_stats_text(facts->body, facts->body_size, "tube", tube, sizeof(tube)) &&
        weiri_stats_text(facts->body, facts->body_size, "state", state, sizeof(state))) {
        for (size_t i = 0; i < 5; i++) {
            (void)weiri_stats_number(facts->body, facts->body_size, names[i], &numbers[i]);
            numbers[i] = numbers[i] > UINT32_MAX ? UINT32_MAX : numbers[i];
        }
        struct weir_job_id id = {""};
        size_t stamp = 0;
        int64_t shown = (int64_t)numbers[0] - WEIRI_PRIORITY_OFFSET;
        struct weir_job job = {.id = id.text,
                               .tube = tube,
                               .created_ns = weiri_cluster_now(cluster) - WEIR_SECONDS(numbers[1]),
                               .ttr_ns = WEIR_SECONDS(numbers[2]),
                               .priority = shown > INT32_MAX ? INT32_MAX : (int32_t)shown,
                               .attempts = (uint32_t)numbers[3],
                               .reason = ""};
        (void)weiri_id_add(&id, cluster->url.nodes[node].text, tube, found->id);
        if (!weiri_stamp_read(found->body, found->body_size, &job.run_at_ns, &stamp)) {
            job.reason = "its body does not begin with a run time and a slash";
        }
        job.body = found->body + stamp;
        job.body_size = found->body_size - stamp;
        for (int i = WEIR_JOB_DELAYED; i <= WEIR_JOB_BURIED; i++) {
            job.state = strcmp(states[i], state) == 0 ? (enum weir_job_state)i : job.state;
        }
        if (job.state == WEIR_JOB_RESERVED) {
            job.reserved_until_ns = weiri_cluster_now(cluster) + WEIR_SECONDS(numbers[4]);
        }
        *ret_is_over = fn(&job, arg) != 0;
    }
    weiri_queries_fini(&queries);
    return status;
}

enum weir_status weiri_cluster_peek(void *store, const char *tube, enum weir_job_state state,
                                    size_t limit, weir_job_fn *fn, void *arg,
                                    struct weir_error *ret_error)
{
    static const struct {
        enum weir_job_state state;
        enum weiri_verb verb;
    } verbs[] = {{WEIR_JOB_READY, WEIRI_PEEK_READY},
                 {WEIR_JOB_DELAYED, WEIRI_PEEK_DELAYED},
                 {WEIR_JOB_BURIED, WEIRI_PEEK_BURIED}};
    struct weiri_cluster *cluster = store;
    struct weiri_queries queries;
    if (state == WEIR_JOB_RESERVED) {
        return weiri_fail(ret_error, WEIR_ENOTSUP, "beanstalkd shows no reserved jobs");
    }
    if (!weiri_queries_init(&queries, cluster, cluster->url.node_count)) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    enum weir_status status = WEIR_OK;
    size_t shown = 0;
    bool is_over = false;
    for (size_t v = 0; v < sizeof(verbs) / sizeof(verbs[0]) && status == WEIR_OK; v++) {
        if (state != 0 && state != verbs[v].state) {
            continue;
        }
        const struct weiri_request request = {.verb = verbs[v].verb};
        query_all(&queries, &request, tube);
        status = weiri_queries_check(&queries, weiri_verb_name(verbs[v].verb), ret_error);
        for (size_t i = 0; i < queries.count && status == WEIR_OK && !is_over; i++) {
            if (queries.query[i].kind == WEIRI_FOUND && shown < limit) {
                shown++;
                status = show(cluster, &queries.query[i], fn, arg, &is_over, ret_error);
            }
        }
    }
    weiri_queries_fini(&queries);
    return status;
}

enum weir_status weiri_cluster_peek_id(void *store, const char *id, weir_job_fn *fn, void *arg,
                                       struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct weiri_copy_id copies[WEIRI_NODES_MAX];
    size_t count;
    enum weir_status status = weiri_id_parse(cluster, id, copies, &count, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    struct weiri_queries queries;
    if (!weiri_queries_init(&queries, cluster, count)) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        const struct weiri_request request = {.verb = WEIRI_PEEK, .id = copies[i].number};
        (void)weiri_queries_add(&queries, copies[i].node, &request, NULL);
    }
    weiri_queries_run(&queries);
    status = weiri_queries_check(&queries, "peek", ret_error);
    bool is_shown = false;
    for (size_t i = 0; i < count && status == WEIR_OK && !is_shown; i++) {
        if (queries.query[i].kind == WEIRI_FOUND) {
            bool ignored = false;
            is_shown = true;
            status = show(cluster, &queries.query[i], fn, arg, &ignored, ret_error);
        }
    }
    weiri_queries_fini(&queries);
    return status != WEIR_OK || is_shown
               ? status
               : weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no job %.100s", id);
}

/* --- kick --- */

/* Kicks buried jobs of one node one by one: the command for many would kick delayed ones where none
 * is buried, and a buried job's claim must be forgotten before it runs. */
static enum weir_status kick_node(struct weiri_cluster *cluster, struct weiri_queries *queries,
                                  size_t node, const char *tube, size_t count, size_t *ret_kicked)
{
    while (*ret_kicked < count) {
        const struct weiri_request peek = {.verb = WEIRI_PEEK_BURIED};
        weiri_queries_clear(queries);
        const struct weiri_query *found = weiri_queries_add(queries, node, &peek, tube);
        weiri_queries_run(queries);
        if (found->kind != WEIRI_FOUND) {
            return found->delivery == WEIRI_ANSWERED ? WEIR_OK : WEIR_EUNAVAILABLE;
        }
        uint64_t id = found->id;
        if (cluster->claims != NULL &&
            weiri_cluster_claim(cluster, WEIRI_CLAIM_FORGET, found->body, found->body_size, 0) ==
                WEIRI_CLAIM_AWAY) {
            return WEIR_EUNAVAILABLE;
        }
        const struct weiri_request kick = {.verb = WEIRI_KICK_JOB, .id = id};
        weiri_queries_clear(queries);
        const struct weiri_query *kicked = weiri_queries_add(queries, node, &kick, NULL);
        weiri_queries_run(queries);
        if (kicked->delivery != WEIRI_ANSWERED) {
            return WEIR_EUNAVAILABLE;
        }
        *ret_kicked += kicked->kind == WEIRI_KICKED;
    }
    return WEIR_OK;
}

enum weir_status weiri_cluster_kick(void *store, const char *tube, size_t count, size_t *ret_count,
                                    struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct weiri_queries queries;
    if (!weiri_queries_init(&queries, cluster, 1)) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    size_t kicked = 0;
    size_t away = 0;
    for (size_t i = 0; i < cluster->url.node_count; i++) {
        away += kick_node(cluster, &queries, i, tube, count, &kicked) != WEIR_OK;
    }
    weiri_queries_fini(&queries);
    if (away > 0 && kicked == 0) {
        return weiri_fail(ret_error, WEIR_EUNAVAILABLE,
                          "%zu of %zu nodes or Redis did not answer, and no job was kicked", away,
                          cluster->url.node_count);
    }
    if (ret_count != NULL) {
        *ret_count = kicked;
    }
    return WEIR_OK;
}
