/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The copies of a job, asked and told together. */
#include "jobs/beanstalkd/copies.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum weir_status weiri_copies_begin(struct weiri_copies *copies, const char *id,
                                    struct weir_error *ret_error)
{
    copies->id = id;
    copies->others[0] = '\0';
    return weiri_id_parse(copies->cluster, id, copies->ids, &copies->count, ret_error);
}

static bool is_known(const struct weiri_copies *copies, const struct weiri_copy_id *id)
{
    return id->node < copies->cluster->options.node_count && id->number != 0;
}

static struct weiri_query *add_query(struct weiri_copies *copies, const struct weiri_copy_id *id,
                                     enum weiri_verb verb)
{
    const struct weiri_request request = {.verb = verb, .id = id->number, .priority = id->priority};
    return weiri_queries_add(&copies->queries, id->node, &request, NULL);
}

size_t weiri_copies_ask(struct weiri_copies *copies, enum weiri_verb verb)
{
    weiri_queries_clear(&copies->queries);
    for (size_t i = 0; i < copies->count; i++) {
        struct weiri_copy_id *id = &copies->ids[i];
        id->query = id->is_chosen ? add_query(copies, id, verb) : NULL;
    }
    weiri_queries_run(&copies->queries);
    return weiri_queries_away(&copies->queries, copies->away, sizeof(copies->away));
}

enum weir_status weiri_copies_fail(const struct weiri_copies *copies, const char *what,
                                   struct weir_error *ret_error)
{
    return weiri_fail(ret_error, WEIR_EUNKNOWN, "job %.80s %s: %s", copies->id, what, copies->away);
}

enum weir_status weiri_copies_end(const struct weiri_copies *copies, enum weir_status status,
                                  struct weir_error *ret_error)
{
    return copies->others[0] == '\0'
               ? status
               : weiri_fail(
                     ret_error, WEIR_EUNKNOWN,
                     "job %.80s may be elsewhere: %s has another job in its place, or one that is "
                     "too long to tell",
                     copies->id, copies->others);
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

static bool is_same(const struct weiri_query *a, const struct weiri_query *b)
{
    return a->body_size == b->body_size &&
           (a->body_size == 0 || memcmp(a->body, b->body, a->body_size) == 0);
}

/* Notes what a node has under a copy's number; is it of the id's tube, and of its tag? */
static void read_answer(struct weiri_copy_id *id)
{
    const struct weiri_query *body = id->query;
    bool is_found = body != NULL && body[0].kind == WEIRI_FOUND && body[1].kind == WEIRI_OK_BODY;
    struct weiri_job_stats facts;
    struct weir_job job = {.state = WEIR_JOB_READY};
    char key[WEIRI_CLAIM_KEY_SIZE];
    id->is_chosen = false;
    id->state = is_found ? job.state : (enum weir_job_state)0;
    if (is_found && weiri_job_stats_read(body[1].body, body[1].body_size, 0, &facts, &job)) {
        weiri_claim_key(body->body, body->body_size, key);
        id->is_chosen =
            strcmp(facts.tube, id->tube) == 0 && strncmp(key, id->tag, strlen(id->tag)) == 0;
        id->state = job.state;
        id->priority = facts.priority;
    }
}

/* Leaves out what is another job. */
static const struct weiri_query *keep_named(struct weiri_copies *copies)
{
    const struct weiri_query *first = NULL;
    bool is_all_one = true;
    for (size_t i = 0; i < copies->count; i++) {
        struct weiri_copy_id *id = &copies->ids[i];
        read_answer(id);
        if (id->is_chosen) {
            first = first == NULL ? id->query : first;
            is_all_one = is_all_one && is_same(first, id->query);
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < copies->count; i++) {
        const struct weiri_copy_id *id = &copies->ids[i];
        if (id->state == 0 || (id->is_chosen && is_all_one)) {
            copies->ids[kept++] = *id;
            continue;
        }
        size_t used = strlen(copies->others);
        (void)snprintf(copies->others + used, sizeof(copies->others) - used, "%s%.60s",
                       used == 0 ? "" : ", ", copies->cluster->options.nodes[id->node].text);
    }
    copies->count = kept;
    return is_all_one ? first : NULL;
}

const struct weiri_query *weiri_copies_read(struct weiri_copies *copies)
{
    weiri_queries_clear(&copies->queries);
    copies->away[0] = '\0';
    copies->silent = 0;
    for (size_t i = 0; i < copies->count; i++) {
        struct weiri_copy_id *id = &copies->ids[i];
        size_t used = strlen(copies->away);
        id->query = NULL;
        if (is_known(copies, id)) {
            id->query = add_query(copies, id, WEIRI_PEEK);
            (void)add_query(copies, id, WEIRI_STATS_JOB);
            continue;
        }
        (void)snprintf(copies->away + used, sizeof(copies->away) - used, "%s%.*s: %s",
                       used > 0 ? "; " : "", (int)strcspn(id->text, "/"), id->text,
                       id->number == 0 ? "it did not answer the put"
                                       : "the broker's URL does not name it");
        copies->silent++;
    }
    weiri_queries_run(&copies->queries);
    for (size_t i = 0; i < copies->queries.count; i += 2) {
        const struct weiri_query *query = &copies->queries.query[i];
        query += query->kind == WEIRI_FOUND;
        if (query->kind != WEIRI_NOT_FOUND && query->kind != WEIRI_OK_BODY) {
            weiri_query_tell(query, copies->away, sizeof(copies->away));
            copies->silent++;
        }
    }
    return keep_named(copies);
}

/* Adds copies that are not there yet. One on a node that the broker's URL does not name is left
 * out. False: all were there. */
static bool add_copies(struct weiri_copies *copies, char *ids)
{
    char *rest = NULL;
    bool is_any_new = false;
    for (char *text = strtok_r(ids, ",", &rest); text != NULL && copies->count < WEIRI_NODES_MAX;
         text = strtok_r(NULL, ",", &rest)) {
        struct weiri_copy_id *added = &copies->ids[copies->count];
        size_t one = 0;
        bool is_new = weiri_id_parse(copies->cluster, text, added, &one, NULL) == WEIR_OK &&
                      is_known(copies, added);
        (void)snprintf(added->tag, sizeof(added->tag), "%.*s", WEIRI_TAG_SIZE, copies->claim.key);
        for (size_t i = 0; i < copies->count && is_new; i++) {
            struct weiri_copy_id *id = &copies->ids[i];
            if (id->node == added->node && (id->number == added->number || id->number == 0)) {
                is_any_new = is_any_new || id->number == 0;
                is_new = false;
                id->number = added->number;
                memcpy(id->tag, added->tag, sizeof(id->tag));
                memcpy(id->tube, added->tube, sizeof(id->tube));
            }
        }
        copies->count += is_new;
        is_any_new = is_any_new || is_new;
    }
    return is_any_new;
}

enum weiri_claim_answer weiri_copies_claim(struct weiri_copies *copies, enum weiri_claim_verb verb,
                                           int64_t time_ms)
{
    copies->claim.verb = verb;
    copies->claim.time_ms = time_ms;
    enum weiri_claim_answer answer = weiri_cluster_claim(copies->cluster, &copies->claim);
    if (answer == WEIRI_CLAIM_AWAY) {
        size_t used = strlen(copies->away);
        (void)snprintf(copies->away + used, sizeof(copies->away) - used, "%sRedis did not answer",
                       used > 0 ? "; " : "");
    }
    return answer;
}

bool weiri_copies_look(struct weiri_copies *copies)
{
    char ids[WEIR_JOB_ID_SIZE] = "";
    size_t prefix;
    copies->claim = (struct weiri_claim){.ret_copies = ids};
    copies->is_buried = false;
    const struct weiri_query *found = weiri_copies_read(copies);
    if (found == NULL || found->body == NULL || copies->cluster->claims == NULL) {
        return true;
    }
    (void)weiri_stamp_read(found->body, found->body_size, &copies->run_at_ns, &prefix);
    weiri_claim_key(found->body, found->body_size, copies->claim.key);
    bool is_there = weiri_copies_claim(copies, WEIRI_CLAIM_LOOK, 0) != WEIRI_CLAIM_AWAY;
    copies->claim.ret_copies = NULL;
    copies->is_buried = ids[0] != '\0';
    if (add_copies(copies, ids)) {
        (void)weiri_copies_read(copies);
    }
    return is_there;
}

void weiri_copies_choose(struct weiri_copies *copies, enum weir_job_state one,
                         enum weir_job_state other)
{
    copies->chosen = 0;
    copies->left = 0;
    copies->is_reserved = false;
    for (size_t i = 0; i < copies->count; i++) {
        enum weir_job_state state = copies->ids[i].state;
        bool is_chosen = state != 0 && (state == one || state == other);
        copies->ids[i].is_chosen = is_chosen;
        copies->chosen += is_chosen;
        copies->left += state != 0 && !is_chosen;
        copies->is_reserved = copies->is_reserved || state == WEIR_JOB_RESERVED;
    }
    if (copies->is_reserved && copies->is_buried) {
        size_t used = strlen(copies->away);
        (void)snprintf(copies->away + used, sizeof(copies->away) - used, "%sa worker has one",
                       used > 0 ? "; " : "");
    }
}
