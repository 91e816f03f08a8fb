/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Redundant puts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "jobs/beanstalkd/cluster.h"

struct put_call {
    struct weiri_cluster *cluster;
    const struct weiri_put *put;
    size_t nodes[WEIRI_NODES_MAX]; /* the first `replicas` are written to */
    int64_t run_at_ns;
    struct weiri_request request;
};

/* Orders the nodes at random, the suspect ones last. */
static void choose_nodes(struct put_call *call)
{
    struct weiri_cluster *cluster = call->cluster;
    uint64_t ranks[WEIRI_NODES_MAX];
    uint64_t random = weiri_random_seed();
    weiri_mutex_lock(&cluster->mutex);
    for (size_t i = 0; i < cluster->options.node_count; i++) {
        uint64_t rank = weiri_random_next(&random) >> 1;
        rank |= (uint64_t)cluster->nodes[i].is_suspect << 63;
        size_t at = i;
        for (; at > 0 && ranks[at - 1] > rank; at--) {
            ranks[at] = ranks[at - 1];
            call->nodes[at] = call->nodes[at - 1];
        }
        ranks[at] = rank;
        call->nodes[at] = i;
    }
    weiri_mutex_unlock(&cluster->mutex);
}

/* Makes the request of a put, where a node can hold it. */
static enum weir_status prepare(struct put_call *call, const struct weiri_put *put,
                                struct weir_error *ret_error)
{
    const struct weiri_clocks *clocks = &call->cluster->config->clocks;
    int64_t now = weiri_cluster_now(call->cluster);
    call->run_at_ns =
        weiri_put_when(put, weiri_said_ns(put->since_ns, now, clocks->lease(clocks->arg)));
    int64_t delay = weiri_time_since(now, call->run_at_ns) / WEIR_SECONDS(1);
    int64_t ttr = put->ttr_ns / WEIR_SECONDS(1) + (put->ttr_ns % WEIR_SECONDS(1) != 0);
    if (delay > UINT32_MAX || ttr > UINT32_MAX) {
        return weiri_fail(ret_error, WEIR_ERANGE, "%s is longer than beanstalkd's 2^32 seconds",
                          delay > UINT32_MAX ? "the delay" : "ttr_ns");
    }
    struct weir_job_id id = {""};
    for (size_t i = 0; i < call->cluster->options.replicas; i++) {
        const char *endpoint = call->cluster->options.nodes[call->nodes[i]].text;
        if (!weiri_id_add(&id, endpoint, put->tube, UINT64_MAX, "01234567")) {
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

/* Has an earlier query put the job on the same server, under another name? */
static bool is_repeated(const struct weiri_query *queries, size_t i)
{
    bool is = false;
    for (size_t j = 0; j < i && !is && queries[i].facts.server != 0; j++) {
        is =
            queries[j].kind == WEIRI_INSERTED && queries[j].facts.server == queries[i].facts.server;
    }
    return is && queries[i].kind == WEIRI_INSERTED;
}

/* The first job with fewer copies than it must have; their number: there is none. Copies on one
 * server count as one: they are lost together. */
static size_t find_short(const struct weiri_queries *puts)
{
    const struct weiri_cluster_options *options = &puts->cluster->options;
    size_t job = 0;
    for (; job < puts->count / options->replicas; job++) {
        const struct weiri_query *query = &puts->query[job * options->replicas];
        size_t written = 0;
        for (size_t i = 0; i < options->replicas; i++) {
            enum weiri_copy_state copy = weiri_copy_of_put(query[i].delivery, query[i].kind);
            written += copy == WEIRI_COPY_WRITTEN && !is_repeated(query, i);
        }
        if (written < options->min_written) {
            break;
        }
    }
    return job;
}

static bool is_enough(const struct weiri_queries *puts)
{
    return find_short(puts) == puts->count / puts->cluster->options.replicas;
}

/* Takes back every copy of the call, in the memory of its queries, so that lack of memory cannot
 * leave one. Returns whether nothing of it can run any more. */
static bool take_back(struct weiri_queries *puts)
{
    bool is_all_gone = true;
    size_t kept = 0;
    puts->is_enough = NULL;
    for (size_t i = 0, count = puts->count; i < count; i++) {
        const struct weiri_query *query = &puts->query[i];
        if (weiri_copy_has_id(query->kind)) {
            const struct weiri_request request = {.verb = WEIRI_DELETE, .id = query->id};
            size_t node = weiri_query_node(query);
            puts->count = kept++;
            (void)weiri_queries_add(puts, node, &request, NULL);
        } else if (weiri_copy_of_put(query->delivery, query->kind) != WEIRI_COPY_ABSENT) {
            is_all_gone = false;
        }
    }
    puts->count = kept;
    weiri_queries_run(puts);
    for (size_t i = 0; i < kept; i++) {
        enum weiri_copy_state copy = weiri_copy_of_delete(puts->query[i].kind);
        is_all_gone = is_all_gone && copy == WEIRI_COPY_ABSENT;
    }
    return is_all_gone;
}

/* Takes the call back, and tells what each node said of the first job concerned. */
static enum weir_status refuse(struct put_call *call, struct weiri_queries *puts, size_t first,
                               struct weir_error *ret_error)
{
    size_t replicas = call->cluster->options.replicas;
    char text[420] = "";
    bool is_too_big = false;
    for (size_t i = 0; i < replicas; i++) {
        const struct weiri_query *query = &puts->query[first * replicas + i];
        weiri_query_tell(query, text, sizeof(text));
        if (is_repeated(&puts->query[first * replicas], i)) {
            size_t used = strlen(text);
            (void)snprintf(text + used, sizeof(text) - used, " (one server has two names)");
        }
        is_too_big = is_too_big || query->kind == WEIRI_JOB_TOO_BIG;
    }
    if (!take_back(puts)) {
        return weiri_fail(ret_error, WEIR_EUNKNOWN, "job %zu may run: %s", first, text);
    }
    return weiri_fail(ret_error, is_too_big ? WEIR_ETOOBIG : WEIR_EUNAVAILABLE,
                      "job %zu has fewer than %zu copies, none is left: %s", first,
                      call->cluster->options.min_written, text);
}

/* Writes the id of an accepted job. */
static void name_job(const struct put_call *call, const struct weiri_query *puts,
                     struct weir_job_id *ret_id)
{
    size_t replicas = call->cluster->options.replicas;
    const struct weiri_request *request = &puts->command.request;
    char key[WEIRI_CLAIM_KEY_SIZE];
    weiri_claim_key_behind(request->prefix, request->prefix_size, request->body, request->body_size,
                           key);
    ret_id->text[0] = '\0';
    for (size_t i = 0; i < replicas; i++) {
        const struct weiri_query *query = &puts[i];
        if (query->kind == WEIRI_INSERTED || query->delivery == WEIRI_LOST) {
            (void)weiri_id_add(ret_id, weiri_query_name(query), call->put->tube,
                               query->kind == WEIRI_INSERTED ? query->id : 0, key);
        }
    }
}

/* What a tube's jobs have added to their run times, since a claim's key names no tube. It is less
 * than a millisecond, and not 0: a job that is moved is another one to a Redis of both clusters. */
static int64_t mark_of(const char *tube)
{
    char key[WEIRI_CLAIM_KEY_SIZE];
    weiri_claim_key(tube, strlen(tube), key);
    key[15] = '\0'; /* 60 bits */
    return 1 + strtoll(key, NULL, 16) % (WEIR_MS(1) - 1);
}

/* Writes what precedes the body of a job. Returns its size. */
static size_t write_prefix(const struct put_call *call, size_t job, int64_t run_at_ns, char *prefix)
{
    const struct weiri_put *put = call->put;
    size_t size = weiri_stamp_write(run_at_ns, prefix);
    return size + weiri_mac_write(&call->cluster->keys, put->tube, prefix, size,
                                  put->bodies[job].data, put->bodies[job].size, prefix + size);
}

enum weir_status weiri_cluster_put(void *store, const struct weiri_put *put,
                                   struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    struct weiri_cluster *cluster = store;
    struct put_call call = {.cluster = cluster, .put = put};
    size_t replicas = cluster->options.replicas;
    size_t count;
    struct weiri_queries puts;
    if (__builtin_mul_overflow(put->count, replicas, &count)) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    enum weir_status status = weiri_queries_init(&puts, cluster, count, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    choose_nodes(&call);
    puts.is_enough = is_enough;
    int64_t mark = mark_of(put->tube);
    int64_t step = 1;
    while (put->each != NULL && (size_t)step < put->count) {
        step *= 2;
    }
    for (size_t job = 0; job < put->count && status == WEIR_OK; job++) {
        const struct weiri_put *own = put->each != NULL ? &put->each[job] : put;
        if (job == 0 || put->each != NULL) {
            status = weiri_put_blame(put, job, prepare(&call, own, ret_error), ret_error);
        }
        call.request.body = put->bodies[job].data;
        call.request.body_size = put->bodies[job].size;
        /* What was not asked to wait is not held back. Equal bodies of one call are not one job to
         * Redis: they are a nanosecond apart, or have their number in the last bits of times of
         * their own. The mark comes last, so that those of another tube are others. */
        int64_t early = weiri_is_at_once(own) ? WEIR_MS(1) : 0;
        int64_t run_at = weiri_time_add(call.run_at_ns - early, step - 1) & -step;
        run_at = weiri_time_add(run_at, mark + (int64_t)job);
        for (size_t i = 0; i < replicas && status == WEIR_OK; i++) {
            struct weiri_query *query =
                weiri_queries_add(&puts, call.nodes[i], &call.request, put->tube);
            query->command.request.prefix = query->prefix;
            query->command.request.prefix_size = write_prefix(&call, job, run_at, query->prefix);
        }
    }
    if (status == WEIR_OK) {
        weiri_queries_run(&puts);
        size_t first = find_short(&puts);
        status = first < put->count ? refuse(&call, &puts, first, ret_error) : WEIR_OK;
    }
    for (size_t job = 0; job < put->count && status == WEIR_OK && ret_ids != NULL; job++) {
        name_job(&call, &puts.query[job * replicas], &ret_ids[job]);
    }
    weiri_queries_fini(&puts);
    return status;
}
