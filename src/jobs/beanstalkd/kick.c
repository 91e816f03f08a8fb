/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Kicks of a cluster. */
#include <stdio.h>
#include <string.h>

#include "jobs/beanstalkd/copies.h"
#include "jobs/error.h"

/* The command for one job also kicks delayed ones, so that its state is asked for first. A buried
 * job's claim is forgotten before it runs. The queries are left as the kick's. */
enum weir_status weiri_copies_kick(struct weiri_copies *copies, struct weir_error *ret_error)
{
    static const char *const buried[] = {"buried"};
    bool mask[WEIRI_NODES_MAX] = {false};
    size_t found;
    size_t others;
    bool is_reserved;
    if (!weiri_copies_find_claim(copies)) {
        return weiri_copies_fail(copies, "was not kicked", ret_error);
    }
    size_t away = weiri_copies_find_state(copies, buried, 1, mask, &found, &others, &is_reserved);
    if (found == 0) {
        if (away > 0 && others == 0) {
            return weiri_copies_fail(copies, "was not found", ret_error);
        }
        return is_reserved ? WEIR_EBUSY : others > 0 ? WEIR_ESTATE : WEIR_ENOTFOUND;
    }
    bool has_claim = copies->claim.key[0] != '\0';
    if (has_claim && weiri_copies_claim(copies, WEIRI_CLAIM_FORGET, 0) == WEIRI_CLAIM_AWAY) {
        return weiri_copies_fail(copies, "was not kicked", ret_error);
    }
    away += weiri_copies_ask(copies, WEIRI_KICK_JOB, mask);
    if (has_claim && is_reserved) {
        /* It may be on its way to being buried: a consumer asked before the claim was forgotten. */
        size_t used = strlen(copies->away);
        (void)snprintf(copies->away + used, sizeof(copies->away) - used, "%sa worker has one",
                       used > 0 ? "; " : "");
        away++;
    }
    bool is_kicked = weiri_copies_find(copies, WEIRI_KICKED) != NULL;
    if (away > 0) {
        return weiri_copies_fail(
            copies, is_kicked ? "was kicked, but a copy may stay buried" : "may have been kicked",
            ret_error);
    }
    return is_kicked ? WEIR_OK : WEIR_ENOTFOUND;
}

/* A tube whose jobs are kicked one by one: the command for many would kick delayed ones where none
 * is buried, and a buried job's claim must be forgotten before it runs. */
struct kick {
    struct weiri_copies copies;
    struct weiri_queries peek;      /* for one command to all nodes */
    uint64_t left[WEIRI_NODES_MAX]; /* copies that were buried at first, on each node: those that
                                       are buried again meanwhile come after them */
    size_t kicked;
    struct weir_error unknown; /* of the first job of which a copy may stay buried */
};

/* Counts what is buried at first. */
static void count_buried(struct kick *kick, const char *tube)
{
    const struct weiri_request stats = {.verb = WEIRI_STATS_TUBE, .tube = tube};
    weiri_queries_ask(&kick->peek, WEIRI_ALL_NODES, &stats, NULL);
    for (size_t i = 0; i < kick->peek.count; i++) {
        const struct weiri_query *query = &kick->peek.query[i];
        if (query->kind == WEIRI_OK_BODY) {
            (void)weiri_stats_number(query->body, query->body_size, "current-jobs-buried",
                                     &kick->left[i]);
        } else if (query->delivery != WEIRI_ANSWERED) {
            weiri_query_tell(query, kick->unknown.text, sizeof(kick->unknown.text));
        }
    }
}

/* Kicks the job of the first buried copy of a node. False: there is none, or its node or Redis did
 * not answer. */
static bool kick_first(struct kick *kick, size_t node, const char *tube)
{
    struct weiri_copies *copies = &kick->copies;
    const struct weiri_request peek = {.verb = WEIRI_PEEK_BURIED};
    struct weir_error error = {""};
    struct weir_job_id id = {""};
    weiri_queries_ask(&kick->peek, node, &peek, tube);
    const struct weiri_query *found = kick->peek.query;
    if (found->kind != WEIRI_FOUND) {
        return false;
    }
    (void)weiri_id_add(&id, copies->cluster->options.nodes[node].text, tube, found->id);
    copies->id = id.text;
    copies->ids[0] = (struct weiri_copy_id){node, found->id};
    copies->count = 1;
    enum weir_status status = weiri_copies_kick(copies, &error);
    bool is_kicked = weiri_copies_find(copies, WEIRI_KICKED) != NULL;
    kick->kicked += is_kicked;
    kick->left[node]--;
    for (size_t i = 0; i < copies->queries.count && is_kicked; i++) {
        size_t other = weiri_query_node(&copies->queries.query[i]);
        kick->left[other] -= other != node && kick->left[other] > 0;
    }
    if (status == WEIR_EUNKNOWN && kick->unknown.text[0] == '\0') {
        kick->unknown = error;
    }
    return is_kicked || status != WEIR_EUNKNOWN;
}

enum weir_status weiri_cluster_kick(void *store, const char *tube, size_t count, size_t *ret_count,
                                    struct weir_error *ret_error)
{
    struct kick kick = {.copies = {.cluster = store}};
    size_t nodes = kick.copies.cluster->options.node_count;
    enum weir_status status = weiri_queries_init(&kick.peek, store, nodes, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    status = weiri_queries_init(&kick.copies.queries, store, WEIRI_NODES_MAX, ret_error);
    if (status == WEIR_OK) {
        count_buried(&kick, tube);
        for (size_t i = 0; i < nodes; i++) {
            while (kick.left[i] > 0 && kick.kicked < count && kick_first(&kick, i, tube)) {
            }
        }
        weiri_queries_fini(&kick.copies.queries);
    }
    weiri_queries_fini(&kick.peek);
    if (status != WEIR_OK) {
        return status;
    }
    if (kick.unknown.text[0] != '\0' && kick.kicked == 0) {
        return weiri_fail(ret_error, WEIR_EUNAVAILABLE, "no job was kicked: %.400s",
                          kick.unknown.text);
    }
    if (ret_count != NULL) {
        *ret_count = kick.kicked;
    }
    return kick.unknown.text[0] == '\0'
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_EUNKNOWN, "%zu jobs were kicked, but not all: %.400s",
                            kick.kicked, kick.unknown.text);
}
