/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_COPIES_H
#define WEIRI_BEANSTALKD_COPIES_H

#include "jobs/beanstalkd/cluster.h"

/* The copies of a job, for operators' commands: those of its id, and with claims those that Redis
 * knows to be buried. */

struct weiri_copies {
    struct weiri_cluster *cluster;
    const char *id;
    struct weiri_copy_id ids[WEIRI_NODES_MAX];
    size_t count;
    struct weiri_queries queries; /* one for each copy */
    char away[300];               /* nodes that did not answer, and why */
    /* weiri_copies_find_state()'s. */
    bool is_found[WEIRI_NODES_MAX]; /* in one of the states that were looked for */
    uint32_t priorities[WEIRI_NODES_MAX];
    size_t found;
    size_t others;
    bool is_reserved; /* one is */
    /* weiri_copies_find_claim()'s. */
    struct weiri_claim claim; /* its key is empty: there is none */
    int64_t run_at_ns;
    bool is_buried; /* Redis knows copies that are, or were */
};

/* Sends a command to each copy that a mask names (NULL: all, and who was away is forgotten) and
 * waits for the answers. The queries of the others are not sent. Returns the number of those that
 * did not answer. */
size_t weiri_copies_ask(struct weiri_copies *copies, enum weiri_verb verb, const bool *mask);
/* The first answer of a kind to the last command; NULL: there is none. */
const struct weiri_query *weiri_copies_find(const struct weiri_copies *copies,
                                            enum weiri_reply_kind kind);
/* Learns the job's claim from a copy that answers, and adds the copies that Redis knows to be
 * buried. False: Redis did not answer. Without claims, where no copy answers, and for a body that
 * is too long to be read there is none. */
bool weiri_copies_find_claim(struct weiri_copies *copies);
/* Does something to the claim that was found. */
enum weiri_claim_answer weiri_copies_claim(struct weiri_copies *copies, enum weiri_claim_verb verb,
                                           int64_t time_ms);
/* Finds the copies that are in one of the states that a text names, and counts them and the others.
 * Returns the number of nodes that did not answer. A reserved copy of a buried job is told of like
 * them: a worker may be about to bury it. */
size_t weiri_copies_find_state(struct weiri_copies *copies, const char *states);
/* WEIR_EUNKNOWN: the job, what is known, and who did not answer. */
enum weir_status weiri_copies_fail(const struct weiri_copies *copies, const char *what,
                                   struct weir_error *ret_error);

#endif
