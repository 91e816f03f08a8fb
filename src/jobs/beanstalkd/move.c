/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A cluster as the source of a move. Each copy is reserved by its id on the node's control
 * connection, claimed, put into the target, confirmed and deleted. When the connection ends, its
 * node makes what was reserved ready again. */
#include "jobs/core/move.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "jobs/beanstalkd/cluster.h"
#include "jobs/redis/claims.h"

/* How long a claim of the mover lasts. All movers have the same token, 0, so that a repeated move
 * need not wait for the claims of one that was killed. */
#define CLAIM_MS (INT64_C(10) * 1000)

/* A copy that is left: reserved until its node is done, so that the next peek shows another. */
struct held {
    uint64_t id;
    uint32_t priority;
    int64_t run_at_ns;
};

struct mover {
    struct weiri_cluster *cluster;
    struct weiri_move *move;
    struct weiri_queries queries; /* for one command */
    size_t node;
    struct weiri_array held; /* struct held */
    bool is_over;            /* the caller wants to end */
    char away[400];          /* nodes that did not answer, and why */
};

/* The copy at hand. */
struct at_hand {
    uint64_t id;
    char *body; /* with its run time */
    size_t body_size;
    struct weiri_shown shown;
    uint32_t priority;
};

/* Sends one command and waits for its answer, which is valid until the next. */
static struct weiri_query *ask(struct mover *mover, const struct weiri_request *request,
                               const char *use)
{
    weiri_queries_ask(&mover->queries, mover->node, request, use);
    return mover->queries.query;
}

/* Remembers a copy to be released. Without memory for that it stays reserved until the broker is
 * closed. */
static void hold(struct mover *mover, const struct at_hand *copy)
{
    struct held *held = weiri_array_add(&mover->held, &mover->cluster->config->allocator);
    if (held != NULL) {
        *held = (struct held){copy->id, copy->priority, copy->shown.job.run_at_ns};
    }
}

static void release_held(struct mover *mover)
{
    const struct held *held = mover->held.items;
    for (size_t i = 0; i < mover->held.count; i++, held++) {
        int64_t wait = weiri_time_sub(held->run_at_ns, weiri_cluster_now(mover->cluster));
        const struct weiri_request request = {.verb = WEIRI_RELEASE,
                                              .id = held->id,
                                              .priority = held->priority,
                                              .delay_s = weiri_seconds(wait)};
        (void)ask(mover, &request, NULL);
    }
    mover->held.count = 0;
}

static enum weiri_claim_answer claim(struct mover *mover, const struct at_hand *copy,
                                     enum weiri_claim_verb verb)
{
    int64_t remember_ms = mover->cluster->options.remember_ns / WEIR_MS(1);
    struct weiri_claim claim = {.verb = verb,
                                .time_ms = verb == WEIRI_CLAIM           ? CLAIM_MS
                                           : verb == WEIRI_CLAIM_CONFIRM ? remember_ms
                                                                         : 0};
    memcpy(claim.key, copy->shown.key, sizeof(claim.key));
    return mover->cluster->claims == NULL ? WEIRI_CLAIM_MINE
                                          : weiri_cluster_claim(mover->cluster, &claim);
}

/* Deletes the copy. True: it is gone. */
static bool delete_copy(struct mover *mover, const struct at_hand *copy)
{
    const struct weiri_request request = {.verb = WEIRI_DELETE, .id = copy->id};
    return ask(mover, &request, NULL)->kind == WEIRI_DELETED;
}

static enum weir_status leave(struct mover *mover, const struct at_hand *copy, const char *why)
{
    if (why != NULL) {
        weiri_move_tell(mover->move, copy->shown.id.text, why);
    }
    mover->move->counts.left++;
    hold(mover, copy);
    return WEIR_OK;
}

/* The copy is in the target: what is left is to confirm and delete it. */
static void finish(struct mover *mover, const struct at_hand *copy, enum weiri_given given)
{
    struct weir_move_counts *counts = &mover->move->counts;
    bool is_gone =
        claim(mover, copy, WEIRI_CLAIM_CONFIRM) == WEIRI_CLAIM_MINE && delete_copy(mover, copy);
    if (!is_gone) {
        weiri_move_tell(mover->move, copy->shown.id.text,
                        "moved, but its node or Redis did not answer: it is in both");
        counts->both++;
        hold(mover, copy);
        return;
    }
    counts->moved += given == WEIRI_GIVEN;
    counts->repeated += given == WEIRI_GIVEN_AGAIN;
    mover->is_over = !weiri_move_step(mover->move, WEIR_MOVE_REMOVED) || mover->is_over;
}

static enum weir_status give(struct mover *mover, struct at_hand *copy,
                             struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
    struct weir_job_id id = {""};
    enum weiri_given given =
        weiri_move_give(mover->move, &copy->shown.job, &id, &status, ret_error);
    mover->is_over = !weiri_move_step(mover->move, WEIR_MOVE_PUT) || mover->is_over;
    if (given == WEIRI_GIVEN || given == WEIRI_GIVEN_AGAIN) {
        finish(mover, copy, given);
        return WEIR_OK;
    }
    (void)claim(mover, copy, WEIRI_CLAIM_UNDO);
    if (given == WEIRI_MAYBE_GIVEN) {
        mover->move->counts.both++;
        hold(mover, copy);
    } else {
        (void)leave(mover, copy, NULL);
    }
    return status;
}

/* Moves a copy that is reserved. */
static enum weir_status move_copy(struct mover *mover, struct at_hand *copy,
                                  struct weir_error *ret_error)
{
    const struct weiri_request stats = {.verb = WEIRI_STATS_JOB, .id = copy->id};
    struct weiri_job_stats facts = {.priority = WEIRI_PRIORITY_OFFSET};
    mover->move->counts.found++;
    const char *why_bad =
        weiri_shown_read(mover->cluster, mover->cluster->options.nodes[mover->node].text,
                         mover->move->tube, copy->id, copy->body, copy->body_size, &copy->shown);
    const struct weiri_query *query = ask(mover, &stats, NULL);
    bool is_told = weiri_job_stats_read(
        query->body, query->body_size, weiri_cluster_now(mover->cluster), &facts, &copy->shown.job);
    copy->priority = facts.priority;
    if (!is_told) {
        return leave(mover, copy, "its node did not tell its facts");
    }
    if (why_bad != NULL) {
        return leave(mover, copy, why_bad);
    }
    mover->is_over = !weiri_move_step(mover->move, WEIR_MOVE_READ) || mover->is_over;
    switch (claim(mover, copy, WEIRI_CLAIM)) {
    case WEIRI_CLAIM_MINE:
        return give(mover, copy, ret_error);
    case WEIRI_CLAIM_BUSY:
        return leave(mover, copy, "another copy of it runs, or has just failed");
    case WEIRI_CLAIM_DONE:
        if (!delete_copy(mover, copy)) {
            return leave(mover, copy, "done elsewhere, and its node did not answer");
        }
        mover->move->counts.repeated++;
        return WEIR_OK;
    case WEIRI_CLAIM_BURIED:
        return leave(mover, copy, "another copy of it is buried");
    case WEIRI_CLAIM_AWAY:
        break;
    }
    (void)leave(mover, copy, NULL);
    return weiri_fail(ret_error, WEIR_EUNAVAILABLE, "Redis did not answer");
}

/* Takes the next copy that a peek shows. ret_is_more: there may be more. */
static enum weir_status move_next(struct mover *mover, enum weiri_verb peek, bool *ret_is_more,
                                  struct weir_error *ret_error)
{
    const struct weir_allocator *memory = &mover->cluster->config->allocator;
    const struct weiri_request request = {.verb = peek};
    struct weiri_query *found = ask(mover, &request, mover->move->tube);
    *ret_is_more = found->kind == WEIRI_FOUND;
    if (!*ret_is_more) {
        (void)weiri_queries_away(&mover->queries, mover->away, sizeof(mover->away));
        return WEIR_OK;
    }
    struct at_hand copy = {.id = found->id, .body = found->body, .body_size = found->body_size};
    found->body = NULL;
    const struct weiri_request reserve = {.verb = WEIRI_RESERVE_JOB, .id = copy.id};
    enum weir_status status = WEIR_OK;
    if (ask(mover, &reserve, NULL)->kind == WEIRI_RESERVED) {
        status = move_copy(mover, &copy, ret_error);
    }
    weiri_release(memory, copy.body, WEIRI_BODY_BLOCK(copy.body_size));
    return status;
}

/* Moves what a node has. Jobs that are put meanwhile do not make it endless. */
static enum weir_status move_node(struct mover *mover, struct weir_error *ret_error)
{
    static const enum weiri_verb peeks[] = {WEIRI_PEEK_DELAYED, WEIRI_PEEK_READY};
    const struct weiri_request request = {.verb = WEIRI_STATS_TUBE, .tube = mover->move->tube};
    const struct weiri_query *stats = ask(mover, &request, NULL);
    if (stats->kind != WEIRI_OK_BODY) {
        (void)weiri_queries_away(&mover->queries, mover->away, sizeof(mover->away));
        return WEIR_OK; /* away, or it does not know the tube */
    }
    uint64_t most = weiri_query_number(stats, "current-jobs-delayed") +
                    weiri_query_number(stats, "current-jobs-ready") + 1;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < 2; i++) {
        bool is_more = true;
        while (status == WEIR_OK && is_more && most > 0 && !mover->is_over) {
            most--;
            status = move_next(mover, peeks[i], &is_more, ret_error);
        }
    }
    release_held(mover);
    return status;
}

enum weir_status weiri_cluster_move(void *store, struct weiri_move *move,
                                    struct weir_error *ret_error)
{
    struct mover mover = {.cluster = store, .move = move, .held.item_size = sizeof(struct held)};
    enum weir_status status = weiri_queries_init(&mover.queries, mover.cluster, 1, ret_error);
    while (mover.node < mover.cluster->options.node_count && status == WEIR_OK && !mover.is_over) {
        status = move_node(&mover, ret_error);
        mover.node++;
    }
    if (status == WEIR_OK && mover.away[0] != '\0') {
        status = weiri_fail(ret_error, WEIR_EUNKNOWN, "what these nodes have was not moved: %s",
                            mover.away);
    }
    weiri_queries_fini(&mover.queries);
    weiri_array_free(&mover.held, &mover.cluster->config->allocator);
    return status;
}
