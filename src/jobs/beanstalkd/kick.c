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
    bool mask[WEIRI_NODES_MAX];
    size_t found;
    size_t others;
    bool is_reserved;
    if (!weiri_copies_find_claim(copies)) {
        return weiri_copies_fail(copies, "was not kicked", ret_error);
    }
    size_t away = weiri_copies_find_state(copies, "buried", mask, &found, &others, &is_reserved);
    if (found == 0) {
        if (away > 0 && others == 0) {
            return weiri_copies_fail(copies, "was not found", ret_error);
        }
        return is_reserved ? WEIR_EBUSY : others > 0 ? WEIR_ESTATE : WEIR_ENOTFOUND;
    }
    if (copies->claim.key[0] != '\0') {
        /* Once the mark is gone no copy is noted: those that were since are found now. */
        if (weiri_copies_claim(copies, WEIRI_CLAIM_FORGET, 0) == WEIRI_CLAIM_AWAY ||
            !weiri_copies_find_claim(copies)) {
            return weiri_copies_fail(copies, "was not kicked", ret_error);
        }
        away = weiri_copies_find_state(copies, "buried", mask, &found, &others, &is_reserved);
    }
    away += weiri_copies_ask(copies, WEIRI_KICK_JOB, mask);
    away += copies->is_buried && is_reserved;
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
    uint64_t left[WEIRI_NODES_MAX]; /* copies that were buried at first, on each node: those that
                                       are buried again meanwhile come after them */
    size_t kicked;
    struct weir_error unknown; /* of the first job of which a copy may stay buried */
};

/* Counts what is buried at first. */
static void count_buried(struct kick *kick, const char *tube)
{
    struct weiri_queries *queries = &kick->copies.queries;
    const struct weiri_request stats = {.verb = WEIRI_STATS_TUBE, .tube = tube};
    weiri_queries_ask(queries, WEIRI_ALL_NODES, &stats, NULL);
    for (size_t i = 0; i < queries->count; i++) {
        kick->left[i] = weiri_query_number(&queries->query[i], "current-jobs-buried");
    }
    (void)weiri_queries_away(queries, kick->unknown.text, sizeof(kick->unknown.text));
}

/* Kicks the job of the first buried copy of a node. False: there is none, or its node or Redis did
 * not answer. */
static bool kick_first(struct kick *kick, size_t node, const char *tube)
{
    struct weiri_copies *copies = &kick->copies;
    const struct weiri_query *found = copies->queries.query;
    const struct weiri_request peek = {.verb = WEIRI_PEEK_BURIED};
    struct weir_error error = {""};
    struct weir_job_id id = {""};
    weiri_queries_ask(&copies->queries, node, &peek, tube);
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
    enum weir_status status =
        weiri_queries_init(&kick.copies.queries, store, WEIRI_NODES_MAX, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    count_buried(&kick, tube);
    for (size_t i = 0; i < kick.copies.cluster->options.node_count; i++) {
        while (kick.left[i] > 0 && kick.kicked < count && kick_first(&kick, i, tube)) {
        }
    }
    weiri_queries_fini(&kick.copies.queries);
    bool is_all = kick.unknown.text[0] == '\0';
    if (ret_count != NULL && (is_all || kick.kicked > 0)) {
        *ret_count = kick.kicked;
    }
    return is_all ? WEIR_OK
                  : weiri_fail(ret_error, kick.kicked > 0 ? WEIR_EUNKNOWN : WEIR_EUNAVAILABLE,
                               "%zu jobs were kicked, but not all: %.400s", kick.kicked,
                               kick.unknown.text);
}
