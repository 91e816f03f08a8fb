/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Operators' commands for jobs by id: remove, kick, bury. A job is its copies. */
#include <string.h>

#include "jobs/beanstalkd/cluster.h"
#include "jobs/error.h"
#include "jobs/redis/claims.h"

struct copies {
    struct weiri_cluster *cluster;
    struct weiri_copy_id ids[WEIRI_NODES_MAX];
    uint32_t priorities[WEIRI_NODES_MAX]; /* as find_state() found them */
    size_t count;
    struct weiri_queries queries; /* one for each copy */
};

/* Sends a command to each copy that a mask names (NULL: all) and waits for the answers. The queries
 * of the others are not sent. Returns the number of those that did not answer. */
static size_t ask(struct copies *copies, enum weiri_verb verb, const bool *mask)
{
    size_t away = 0;
    weiri_queries_clear(&copies->queries);
    for (size_t i = 0; i < copies->count; i++) {
        if (mask == NULL || mask[i]) {
            const struct weiri_request request = {
                .verb = verb, .id = copies->ids[i].number, .priority = copies->priorities[i]};
            (void)weiri_queries_add(&copies->queries, copies->ids[i].node, &request, NULL);
        }
    }
    weiri_queries_run(&copies->queries);
    for (size_t i = 0; i < copies->queries.count; i++) {
        away += copies->queries.query[i].delivery != WEIRI_ANSWERED;
    }
    return away;
}

static enum weir_status fail_unknown(const struct copies *copies, const char *id, const char *what,
                                     struct weir_error *ret_error)
{
    char text[300] = "";
    for (size_t i = 0; i < copies->queries.count; i++) {
        if (copies->queries.query[i].delivery != WEIRI_ANSWERED) {
            weiri_query_tell(&copies->queries.query[i], text, sizeof(text));
        }
    }
    return weiri_fail(ret_error, WEIR_EUNKNOWN, "job %.80s %s: %s", id, what, text);
}

/* Sets mask for the copies that are in one of these states, and counts the others. Returns the
 * number of nodes that did not answer. */
static size_t find_state(struct copies *copies, const char *const *states, size_t state_count,
                         bool *mask, size_t *ret_others, bool *ret_is_reserved)
{
    size_t away = ask(copies, WEIRI_STATS_JOB, NULL);
    *ret_others = 0;
    *ret_is_reserved = false;
    for (size_t i = 0; i < copies->count; i++) {
        const struct weiri_query *query = &copies->queries.query[i];
        char state[16] = "";
        uint64_t priority = 0;
        mask[i] = false;
        if (query->kind == WEIRI_OK_BODY &&
            weiri_stats_text(query->body, query->body_size, "state", state, sizeof(state))) {
            (void)weiri_stats_number(query->body, query->body_size, "pri", &priority);
            copies->priorities[i] = (uint32_t)priority;
            for (size_t s = 0; s < state_count; s++) {
                mask[i] = mask[i] || strcmp(state, states[s]) == 0;
            }
            *ret_others += !mask[i];
            *ret_is_reserved = *ret_is_reserved || strcmp(state, "reserved") == 0;
        }
    }
    return away;
}

static size_t count_true(const bool *mask, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += mask[i];
    }
    return total;
}

static enum weir_status remove_job(struct copies *copies, const char *id,
                                   struct weir_error *ret_error)
{
    static const char *const reserved[] = {"reserved"};
    size_t removed = 0;
    bool mask[WEIRI_NODES_MAX] = {false};
    enum weir_status status = weiri_cluster_remove(copies->cluster, &id, 1, &removed, ret_error);
    if (status != WEIR_OK || removed > 0) {
        return status;
    }
    size_t others;
    bool is_reserved;
    (void)find_state(copies, reserved, 1, mask, &others, &is_reserved);
    return is_reserved ? WEIR_EBUSY : WEIR_ENOTFOUND;
}

/* The command for one job also kicks delayed ones, so that its state is asked for first. A buried
 * job's claim is forgotten before it runs. */
static enum weir_status kick_job(struct copies *copies, const char *id,
                                 struct weir_error *ret_error)
{
    static const char *const buried[] = {"buried"};
    bool mask[WEIRI_NODES_MAX] = {false};
    size_t others;
    bool is_reserved;
    size_t away = find_state(copies, buried, 1, mask, &others, &is_reserved);
    if (count_true(mask, copies->count) == 0) {
        if (away > 0 && others == 0) {
            return fail_unknown(copies, id, "was not found", ret_error);
        }
        return is_reserved ? WEIR_EBUSY : others > 0 ? WEIR_ESTATE : WEIR_ENOTFOUND;
    }
    if (copies->cluster->claims != NULL) {
        (void)ask(copies, WEIRI_PEEK, mask);
        for (size_t i = 0; i < copies->queries.count; i++) {
            const struct weiri_query *query = &copies->queries.query[i];
            if (query->kind == WEIRI_FOUND &&
                weiri_cluster_claim(copies->cluster, WEIRI_CLAIM_FORGET, query->body,
                                    query->body_size, 0, NULL) == WEIRI_CLAIM_AWAY) {
                return weiri_fail(ret_error, WEIR_EUNKNOWN,
                                  "job %.80s was not kicked: Redis did not answer", id);
            }
        }
    }
    away = ask(copies, WEIRI_KICK_JOB, mask);
    size_t kicked = 0;
    for (size_t i = 0; i < copies->queries.count; i++) {
        kicked += copies->queries.query[i].kind == WEIRI_KICKED;
    }
    if (kicked == 0 && away > 0) {
        return fail_unknown(copies, id, "may have been kicked", ret_error);
    }
    return kicked > 0 ? WEIR_OK : WEIR_ENOTFOUND;
}

/* Reserves every copy, so that no worker can take one meanwhile, then buries each. A copy in a
 * worker's hands means that the job runs: the others are released then. */
static enum weir_status bury_job(struct copies *copies, const char *id,
                                 struct weir_error *ret_error)
{
    static const char *const waiting[] = {"delayed", "ready"};
    bool mask[WEIRI_NODES_MAX] = {false};
    size_t others;
    bool is_reserved;
    size_t away = find_state(copies, waiting, 2, mask, &others, &is_reserved);
    size_t found = count_true(mask, copies->count);
    if (away > 0) {
        return fail_unknown(copies, id, "was not buried", ret_error);
    }
    if (is_reserved || found == 0) {
        return is_reserved ? WEIR_EBUSY : others > 0 ? WEIR_ESTATE : WEIR_ENOTFOUND;
    }
    away = ask(copies, WEIRI_RESERVE_JOB, mask);
    size_t held = 0;
    for (size_t i = 0, q = 0; i < copies->count; i++) {
        if (mask[i]) {
            mask[i] = copies->queries.query[q++].kind == WEIRI_RESERVED;
            held += mask[i];
        }
    }
    if (held < found) {
        /* Released without its delay: the run time in the body holds it back. */
        (void)ask(copies, WEIRI_RELEASE, mask);
        return away > 0 ? fail_unknown(copies, id, "was not buried", ret_error) : WEIR_EBUSY;
    }
    return ask(copies, WEIRI_BURY, mask) == 0
               ? WEIR_OK
               : fail_unknown(copies, id, "may have been buried on some nodes only", ret_error);
}

enum weir_status weiri_cluster_change(void *store, const struct weiri_change *change,
                                      struct weir_error *ret_error)
{
    struct copies copies = {.cluster = store};
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < change->count && status == WEIR_OK; i++) {
        status = weiri_id_parse(store, change->ids[i], copies.ids, &copies.count, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_queries_init(&copies.queries, store, WEIRI_NODES_MAX, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    for (size_t i = 0; i < change->count; i++) {
        const char *id = change->ids[i];
        status = weiri_id_parse(store, id, copies.ids, &copies.count, ret_error);
        if (status == WEIR_OK) {
            status = change->event == WEIRI_JOB_REMOVE ? remove_job(&copies, id, ret_error)
                     : change->event == WEIRI_JOB_KICK ? kick_job(&copies, id, ret_error)
                                                       : bury_job(&copies, id, ret_error);
        }
        change->statuses[i] = status;
    }
    weiri_queries_fini(&copies.queries);
    return WEIR_OK;
}
