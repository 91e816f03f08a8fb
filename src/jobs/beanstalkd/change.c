/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Operators' commands for jobs: remove, kick, bury. */
#include <stdio.h>

#include "base/error.h"
#include "base/time.h"
#include "jobs/beanstalkd/copies.h"

/* Marks the claim as revoked, for a copy that is held back by a consumer, or on a node that is
 * away; it is remembered from the run time on. WEIRI_CLAIM_AWAY: it cannot be; WEIRI_CLAIM_DONE:
 * there is no copy. */
static enum weiri_claim_answer revoke(struct weiri_copies *copies)
{
    if (!weiri_copies_look(copies) || copies->cluster->claims == NULL) {
        return WEIRI_CLAIM_AWAY;
    }
    if (copies->claim.key[0] == '\0') {
        bool may_be = copies->silent > 0 || weiri_copies_find(copies, WEIRI_FOUND) != NULL;
        return may_be ? WEIRI_CLAIM_AWAY : WEIRI_CLAIM_DONE;
    }
    int64_t wait = weiri_time_sub(copies->run_at_ns, weiri_cluster_now(copies->cluster));
    int64_t life = weiri_time_add(wait > 0 ? wait : 0, copies->cluster->options.remember_ns);
    enum weiri_claim_answer answer =
        weiri_copies_claim(copies, WEIRI_CLAIM_REVOKE, life / WEIR_MS(1));
    if (answer == WEIRI_CLAIM_MINE && copies->is_buried) {
        (void)weiri_copies_look(copies); /* adds those that were noted since */
    }
    return answer;
}

static enum weir_status remove_job(struct weiri_copies *copies, struct weir_error *ret_error)
{
    enum weiri_claim_answer answer = revoke(copies);
    if (answer == WEIRI_CLAIM_BUSY) {
        return WEIR_EBUSY; /* it runs; its other copies are for a worker that dies */
    }
    size_t away = copies->silent + weiri_copies_ask(copies, WEIRI_DELETE);
    /* A mark that was set where a copy was found keeps the job from running, though a copy that is
     * reserved cannot be deleted. */
    bool is_gone = weiri_copies_find(copies, WEIRI_DELETED) != NULL || answer == WEIRI_CLAIM_MINE;
    if (away > 0 && answer == WEIRI_CLAIM_AWAY) {
        return weiri_copies_fail(copies, "may run still", ret_error);
    }
    bool is_reserved = false;
    if (away == 0 && (copies->is_buried || !is_gone)) {
        (void)weiri_copies_read(copies);
        weiri_copies_choose(copies, WEIR_JOB_RESERVED, WEIR_JOB_RESERVED);
        is_reserved = copies->is_reserved;
    }
    /* The mark ends, and a buried copy stays for ever. */
    if (copies->is_buried && (away > 0 || is_reserved)) {
        return weiri_copies_fail(copies, "was removed, but a copy may stay buried", ret_error);
    }
    return is_gone ? WEIR_OK : is_reserved ? WEIR_EBUSY : WEIR_ENOTFOUND;
}

/* No copy that answers is in a state that was looked for, or a worker has one. */
static enum weir_status why_not_found(const struct weiri_copies *copies)
{
    return copies->is_reserved ? WEIR_EBUSY : copies->left > 0 ? WEIR_ESTATE : WEIR_ENOTFOUND;
}

/* The command for one job also kicks delayed ones, so that its state is asked for first. A buried
 * job's claim is forgotten before it runs. The queries are left as the kick's. */
static enum weir_status kick_job(struct weiri_copies *copies, struct weir_error *ret_error)
{
    if (!weiri_copies_look(copies)) {
        return weiri_copies_fail(copies, "was not kicked", ret_error);
    }
    weiri_copies_choose(copies, WEIR_JOB_BURIED, WEIR_JOB_BURIED);
    if (copies->chosen == 0) {
        if (copies->silent > 0 && copies->left == 0) {
            return weiri_copies_fail(copies, "was not found", ret_error);
        }
        return why_not_found(copies);
    }
    if (copies->claim.key[0] != '\0') {
        /* Once the mark is gone no copy is noted: those that were since are found now. */
        if (weiri_copies_claim(copies, WEIRI_CLAIM_FORGET, 0) == WEIRI_CLAIM_AWAY ||
            !weiri_copies_look(copies)) {
            return weiri_copies_fail(copies, "was not kicked", ret_error);
        }
        weiri_copies_choose(copies, WEIR_JOB_BURIED, WEIR_JOB_BURIED);
    }
    size_t away = copies->silent + weiri_copies_ask(copies, WEIRI_KICK_JOB);
    away += copies->is_buried && copies->is_reserved;
    bool is_kicked = weiri_copies_find(copies, WEIRI_KICKED) != NULL;
    if (away > 0) {
        return weiri_copies_fail(
            copies, is_kicked ? "was kicked, but a copy may stay buried" : "may have been kicked",
            ret_error);
    }
    return is_kicked ? WEIR_OK : WEIR_ENOTFOUND;
}

/* Reserves every copy, so that no worker can take one meanwhile, then buries each. A copy in a
 * worker's hands, or a claim, means that the job runs: the others are released then. */
static enum weir_status bury_job(struct weiri_copies *copies, const char *reason,
                                 struct weir_error *ret_error)
{
    (void)weiri_copies_look(copies); /* without Redis it cannot be set aside either */
    weiri_copies_choose(copies, WEIR_JOB_DELAYED, WEIR_JOB_READY);
    if (copies->silent > 0) {
        return weiri_copies_fail(copies, "was not buried", ret_error);
    }
    if (copies->is_reserved || copies->chosen == 0) {
        return why_not_found(copies);
    }
    size_t away = weiri_copies_ask(copies, WEIRI_RESERVE_JOB);
    size_t held = 0;
    for (size_t i = 0; i < copies->count; i++) {
        struct weiri_copy_id *id = &copies->ids[i];
        id->is_chosen = id->is_chosen && id->query->kind == WEIRI_RESERVED;
        held += id->is_chosen;
    }
    enum weiri_claim_answer answer = WEIRI_CLAIM_MINE;
    if (held == copies->chosen && copies->claim.key[0] != '\0') {
        (void)snprintf(copies->claim.reason, sizeof(copies->claim.reason), "%s",
                       reason == NULL ? "" : reason);
        copies->claim.copies = copies->id;
        answer = weiri_copies_claim(copies, WEIRI_CLAIM_ASIDE, 0);
    }
    if (held < copies->chosen || answer != WEIRI_CLAIM_MINE) {
        /* Released without its delay: the run time in the body holds it back. */
        (void)weiri_copies_ask(copies, WEIRI_RELEASE);
        return away > 0 || answer == WEIRI_CLAIM_AWAY
                   ? weiri_copies_fail(copies, "was not buried", ret_error)
                   : WEIR_EBUSY;
    }
    return weiri_copies_ask(copies, WEIRI_BURY) == 0
               ? WEIR_OK
               : weiri_copies_fail(copies, "may have been buried on some nodes only", ret_error);
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
    struct weir_error error = {0};
    struct weir_job_id id = {""};
    weiri_queries_ask(&copies->queries, node, &peek, tube);
    if (found->kind != WEIRI_FOUND) {
        return false;
    }
    (void)weiri_id_add(&id, copies->cluster->options.nodes[node].text, tube, found->id, "");
    (void)weiri_copies_begin(copies, id.text, NULL);
    enum weir_status status = kick_job(copies, &error);
    bool is_kicked = weiri_copies_find(copies, WEIRI_KICKED) != NULL;
    kick->kicked += is_kicked;
    kick->left[node]--;
    for (size_t i = 0; i < copies->queries.count && is_kicked; i++) {
        size_t other = weiri_query_node(&copies->queries.query[i]);
        kick->left[other] -= other != node && kick->left[other] > 0;
    }
    status = weiri_copies_end(copies, status, &error);
    if (status == WEIR_EUNKNOWN && kick->unknown.text[0] == '\0') {
        kick->unknown = error;
    }
    return is_kicked || status != WEIR_EUNKNOWN;
}

static enum weir_status kick_tube(struct weiri_cluster *cluster, const struct weiri_change *change,
                                  struct weir_error *ret_error)
{
    struct kick kick = {.copies = {.cluster = cluster}};
    enum weir_status status =
        weiri_queries_init(&kick.copies.queries, cluster, (size_t)2 * WEIRI_NODES_MAX, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    count_buried(&kick, change->tube);
    for (size_t i = 0; i < cluster->options.node_count; i++) {
        while (kick.left[i] > 0 && kick.kicked < change->count &&
               kick_first(&kick, i, change->tube)) {
        }
    }
    weiri_queries_fini(&kick.copies.queries);
    bool is_all = kick.unknown.text[0] == '\0';
    if (change->ret_count != NULL && (is_all || kick.kicked > 0)) {
        *change->ret_count = kick.kicked;
    }
    return is_all ? WEIR_OK
                  : weiri_fail(ret_error, kick.kicked > 0 ? WEIR_EUNKNOWN : WEIR_EUNAVAILABLE,
                               "%zu jobs were kicked, but not all: %.400s", kick.kicked,
                               kick.unknown.text);
}

enum weir_status weiri_cluster_change(void *store, const struct weiri_change *change,
                                      struct weir_error *ret_error)
{
    struct weiri_copies copies = {.cluster = store};
    enum weir_status status = WEIR_OK;
    if (change->ids == NULL) {
        return kick_tube(store, change, ret_error);
    }
    for (size_t i = 0; i < change->count && status == WEIR_OK; i++) {
        status = weiri_copies_begin(&copies, change->ids[i], ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_queries_init(&copies.queries, store, (size_t)2 * WEIRI_NODES_MAX, ret_error);
    }
    if (status != WEIR_OK) {
        return status;
    }
    enum weir_status answer = WEIR_OK;
    for (size_t i = 0; i < change->count; i++) {
        struct weir_error why = {0};
        (void)weiri_copies_begin(&copies, change->ids[i], NULL);
        status = change->event == WEIRI_JOB_REMOVE ? remove_job(&copies, &why)
                 : change->event == WEIRI_JOB_KICK ? kick_job(&copies, &why)
                                                   : bury_job(&copies, change->reason, &why);
        change->statuses[i] = weiri_copies_end(&copies, status, &why);
        if (change->statuses[i] == WEIR_EUNKNOWN && answer == WEIR_OK) {
            answer = weiri_fail(ret_error, WEIR_EUNKNOWN, "%s", why.text);
        }
    }
    weiri_queries_fini(&copies.queries);
    return answer;
}
