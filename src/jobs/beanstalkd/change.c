/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Operators' commands for jobs by id: remove, kick, bury. */
#include <stdio.h>

#include "base/time.h"
#include "jobs/beanstalkd/copies.h"

/* How long the mark of a revoked job outlives its run time. */
#define TOMBSTONE_MS (INT64_C(24) * 3600 * 1000)

/* Marks the claim as revoked, for a copy that is held back by a consumer, or on a node that is
 * away. WEIRI_CLAIM_AWAY: it cannot be; WEIRI_CLAIM_DONE: there is no copy. */
static enum weiri_claim_answer revoke(struct weiri_copies *copies)
{
    if (copies->cluster->claims == NULL || !weiri_copies_find_claim(copies)) {
        return WEIRI_CLAIM_AWAY;
    }
    if (copies->claim.key[0] == '\0') {
        return copies->away[0] != '\0' ? WEIRI_CLAIM_AWAY : WEIRI_CLAIM_DONE;
    }
    int64_t wait = weiri_time_sub(copies->run_at_ns, weiri_cluster_now(copies->cluster));
    enum weiri_claim_answer answer = weiri_copies_claim(
        copies, WEIRI_CLAIM_REVOKE, (wait > 0 ? wait / WEIR_MS(1) : 0) + TOMBSTONE_MS);
    if (answer == WEIRI_CLAIM_MINE && copies->is_buried) {
        (void)weiri_copies_find_claim(copies); /* adds those that were noted since */
    }
    return answer;
}

static enum weir_status remove_job(struct weiri_copies *copies, struct weir_error *ret_error)
{
    bool mask[WEIRI_NODES_MAX];
    size_t found;
    size_t others;
    enum weiri_claim_answer answer = revoke(copies);
    if (answer == WEIRI_CLAIM_BUSY) {
        return WEIR_EBUSY; /* it runs; its other copies are for a worker that dies */
    }
    size_t away = weiri_copies_ask(copies, WEIRI_DELETE, NULL);
    /* A mark that was set where a copy was found keeps the job from running, though a copy that is
     * reserved cannot be deleted. */
    bool is_gone = weiri_copies_find(copies, WEIRI_DELETED) != NULL || answer == WEIRI_CLAIM_MINE;
    if (away > 0 && answer == WEIRI_CLAIM_AWAY) {
        return weiri_copies_fail(copies, "may run still", ret_error);
    }
    bool is_reserved = false;
    if (away == 0 && (copies->is_buried || !is_gone)) {
        (void)weiri_copies_find_state(copies, "reserved", mask, &found, &others, &is_reserved);
    }
    /* The mark ends, and a buried copy stays for ever. */
    if (copies->is_buried && (away > 0 || is_reserved)) {
        return weiri_copies_fail(copies, "was removed, but a copy may stay buried", ret_error);
    }
    return is_gone ? WEIR_OK : is_reserved ? WEIR_EBUSY : WEIR_ENOTFOUND;
}

/* Reserves every copy, so that no worker can take one meanwhile, then buries each. A copy in a
 * worker's hands, or a claim, means that the job runs: the others are released then. */
static enum weir_status bury_job(struct weiri_copies *copies, const char *reason,
                                 struct weir_error *ret_error)
{
    bool mask[WEIRI_NODES_MAX];
    size_t found;
    size_t others;
    bool is_reserved;
    (void)weiri_copies_find_claim(copies); /* without Redis it cannot be set aside either */
    size_t away =
        weiri_copies_find_state(copies, "delayed ready", mask, &found, &others, &is_reserved);
    if (away > 0) {
        return weiri_copies_fail(copies, "was not buried", ret_error);
    }
    if (is_reserved || found == 0) {
        return is_reserved ? WEIR_EBUSY : others > 0 ? WEIR_ESTATE : WEIR_ENOTFOUND;
    }
    away = weiri_copies_ask(copies, WEIRI_RESERVE_JOB, mask);
    size_t held = 0;
    for (size_t i = 0, q = 0; i < copies->count; i++) {
        if (mask[i]) {
            mask[i] = copies->queries.query[q++].kind == WEIRI_RESERVED;
            held += mask[i];
        }
    }
    enum weiri_claim_answer answer = WEIRI_CLAIM_MINE;
    if (held == found && copies->claim.key[0] != '\0') {
        (void)snprintf(copies->claim.reason, sizeof(copies->claim.reason), "%s",
                       reason == NULL ? "" : reason);
        copies->claim.copies = copies->id;
        answer = weiri_copies_claim(copies, WEIRI_CLAIM_ASIDE, 0);
    }
    if (held < found || answer != WEIRI_CLAIM_MINE) {
        /* Released without its delay: the run time in the body holds it back. */
        (void)weiri_copies_ask(copies, WEIRI_RELEASE, mask);
        return away > 0 || answer == WEIRI_CLAIM_AWAY
                   ? weiri_copies_fail(copies, "was not buried", ret_error)
                   : WEIR_EBUSY;
    }
    return weiri_copies_ask(copies, WEIRI_BURY, mask) == 0
               ? WEIR_OK
               : weiri_copies_fail(copies, "may have been buried on some nodes only", ret_error);
}

enum weir_status weiri_cluster_change(void *store, const struct weiri_change *change,
                                      struct weir_error *ret_error)
{
    struct weiri_copies copies = {.cluster = store};
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
        copies.id = change->ids[i];
        status = weiri_id_parse(store, copies.id, copies.ids, &copies.count, ret_error);
        if (status == WEIR_OK) {
            status = change->event == WEIRI_JOB_REMOVE ? remove_job(&copies, ret_error)
                     : change->event == WEIRI_JOB_KICK
                         ? weiri_copies_kick(&copies, ret_error)
                         : bury_job(&copies, change->reason, ret_error);
        }
        change->statuses[i] = status;
    }
    weiri_queries_fini(&copies.queries);
    return WEIR_OK;
}
