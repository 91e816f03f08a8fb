/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The copies of a job, asked and told together. */
#include "jobs/beanstalkd/copies.h"

#include <stdio.h>
#include <string.h>

#include "jobs/error.h"

size_t weiri_copies_ask(struct weiri_copies *copies, enum weiri_verb verb, const bool *mask)
{
    weiri_queries_clear(&copies->queries);
    for (size_t i = 0; i < copies->count; i++) {
        if (mask == NULL || mask[i]) {
            const struct weiri_request request = {
                .verb = verb, .id = copies->ids[i].number, .priority = copies->priorities[i]};
            struct weiri_query *query =
                weiri_queries_add(&copies->queries, copies->ids[i].node, &request, NULL);
            if (request.id == 0) {
                (void)snprintf(query->why, sizeof(query->why), "it did not answer the put");
            }
        }
    }
    weiri_queries_run(&copies->queries);
    if (mask == NULL) {
        copies->away[0] = '\0';
    }
    return weiri_queries_away(&copies->queries, copies->away, sizeof(copies->away));
}

enum weir_status weiri_copies_fail(const struct weiri_copies *copies, const char *what,
                                   struct weir_error *ret_error)
{
    return weiri_fail(ret_error, WEIR_EUNKNOWN, "job %.80s %s: %s", copies->id, what, copies->away);
}

const struct weiri_query *weiri_copies_find(const struct weiri_copies *copies,
                                            enum weiri_reply_kind kind)
{
    for (size_t i = 0; i < copies->queries.count; i++) {
        if (copies->queries.query[i].kind == kind) {
            return &copies->queries.query[i];
        }
    }
    return NULL;
}

/* Adds copies that are not there yet. One on a node that the broker's URL does not name is left
 * out. */
static void add_copies(struct weiri_copies *copies, char *ids)
{
    char *rest = NULL;
    for (char *text = strtok_r(ids, ",", &rest); text != NULL && copies->count < WEIRI_NODES_MAX;
         text = strtok_r(NULL, ",", &rest)) {
        struct weiri_copy_id *added = &copies->ids[copies->count];
        size_t one = 0;
        bool is_new = weiri_id_parse(copies->cluster, text, added, &one, NULL) == WEIR_OK;
        for (size_t i = 0; i < copies->count; i++) {
            uint64_t number = copies->ids[i].number;
            if (copies->ids[i].node == added->node && (number == added->number || number == 0)) {
                copies->ids[i] = *added;
                is_new = false;
            }
        }
        copies->count += is_new;
    }
}

enum weiri_claim_answer weiri_copies_claim(struct weiri_copies *copies, enum weiri_claim_verb verb,
                                           int64_t time_ms)
{
    copies->claim.verb = verb;
    copies->claim.time_ms = time_ms;
    enum weiri_claim_answer answer = weiri_cluster_claim(copies->cluster, &copies->claim);
    if (answer == WEIRI_CLAIM_AWAY) {
        (void)snprintf(copies->away, sizeof(copies->away), "Redis did not answer");
    }
    return answer;
}

bool weiri_copies_find_claim(struct weiri_copies *copies)
{
    char ids[WEIR_JOB_ID_SIZE] = "";
    size_t prefix;
    copies->claim = (struct weiri_claim){.ret_copies = ids};
    copies->is_buried = false;
    if (copies->cluster->claims == NULL) {
        return true;
    }
    (void)weiri_copies_ask(copies, WEIRI_PEEK, NULL);
    const struct weiri_query *found = weiri_copies_find(copies, WEIRI_FOUND);
    if (found == NULL || found->body == NULL) {
        return true;
    }
    (void)weiri_stamp_read(found->body, found->body_size, &copies->run_at_ns, &prefix);
    weiri_claim_key(found->body, found->body_size, copies->claim.key);
    bool is_there = weiri_copies_claim(copies, WEIRI_CLAIM_LOOK, 0) != WEIRI_CLAIM_AWAY;
    copies->claim.ret_copies = NULL;
    copies->is_buried = ids[0] != '\0';
    add_copies(copies, ids);
    return is_there;
}

size_t weiri_copies_find_state(struct weiri_copies *copies, const char *states)
{
    size_t away = weiri_copies_ask(copies, WEIRI_STATS_JOB, NULL);
    copies->found = 0;
    copies->others = 0;
    copies->is_reserved = false;
    for (size_t i = 0; i < copies->count; i++) {
        const struct weiri_query *query = &copies->queries.query[i];
        char state[16] = "";
        copies->is_found[i] = false;
        if (query->kind == WEIRI_OK_BODY &&
            weiri_stats_text(query->body, query->body_size, "state", state, sizeof(state))) {
            copies->priorities[i] = (uint32_t)weiri_query_number(query, "pri");
            copies->is_found[i] = strstr(states, state) != NULL;
            copies->found += copies->is_found[i];
            copies->others += !copies->is_found[i];
            copies->is_reserved = copies->is_reserved || strcmp(state, "reserved") == 0;
        }
    }
    if (copies->is_reserved && copies->is_buried) {
        size_t used = strlen(copies->away);
        (void)snprintf(copies->away + used, sizeof(copies->away) - used, "%sa worker has one",
                       used > 0 ? "; " : "");
    }
    return away;
}
