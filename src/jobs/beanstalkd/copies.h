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
    struct weiri_queries queries; /* two for each copy */
    char away[300];               /* nodes that did not answer, and why */
    char others[300];             /* nodes that have another job in a copy's place: left alone */
    /* weiri_copies_look()'s. */
    size_t silent;            /* nodes that did not say whether they have a copy */
    struct weiri_claim claim; /* its key is empty: there is none */
    int64_t run_at_ns;
    bool is_buried; /* Redis knows copies that are, or were */
    /* weiri_copies_choose()'s. */
    size_t chosen;
    size_t left;      /* found in other states */
    bool is_reserved; /* one is */
};

/* Begins with an id. Errors: as weiri_id_parse(). */
enum weir_status weiri_copies_begin(struct weiri_copies *copies, const char *id,
                                    struct weir_error *ret_error);
/* Sends a command to each copy that is chosen and waits for the answers: a node that did not show
 * its copy may be another by now, with another job of that number. Returns the number of those that
 * did not answer, beside the silent. */
size_t weiri_copies_ask(struct weiri_copies *copies, enum weiri_verb verb);
/* The first answer of a kind to the last command; NULL: there is none. */
const struct weiri_query *weiri_copies_find(const struct weiri_copies *copies,
                                            enum weiri_reply_kind kind);
/* Asks for all bodies and facts. A number alone does not name a job: a node may have been replaced
 * by an empty one, or have got another's address. So a copy whose tube or tag is not the id's is
 * another job and left out, and all that are found are where their bodies differ. The others are
 * chosen. Returns the body of the first copy, and its facts behind it; NULL: none was found. */
const struct weiri_query *weiri_copies_read(struct weiri_copies *copies);
/* The same, and learns the job's claim, and adds the copies that Redis knows to be buried. False:
 * Redis did not answer. Without claims, where no copy is found, and for a body that is too long to
 * be read there is none. */
bool weiri_copies_look(struct weiri_copies *copies);
/* Does something to the claim that was found. */
enum weiri_claim_answer weiri_copies_claim(struct weiri_copies *copies, enum weiri_claim_verb verb,
                                           int64_t time_ms);
/* Chooses of the copies that were looked at those that are in one of two states, and counts them
 * and the others. A reserved copy of a buried job is told of like those that did not answer: a
 * worker may be about to bury it. */
void weiri_copies_choose(struct weiri_copies *copies, enum weir_job_state one,
                         enum weir_job_state other);
/* WEIR_EUNKNOWN: the job, what is known, and who did not answer. */
enum weir_status weiri_copies_fail(const struct weiri_copies *copies, const char *what,
                                   struct weir_error *ret_error);
/* The same where a node has another job in a copy's place; else the status. */
enum weir_status weiri_copies_end(const struct weiri_copies *copies, enum weir_status status,
                                  struct weir_error *ret_error);

#endif
