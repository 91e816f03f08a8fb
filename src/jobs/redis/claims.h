/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_REDIS_CLAIMS_H
#define WEIRI_REDIS_CLAIMS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "jobs/core/backend.h"

/* Claims in Redis: which consumer runs a job that has copies on several nodes. The key is
 * go-queue's (the lower-case hexadecimal MD5 of the whole body), so that its consumers and weir's
 * share tubes. One thread calls all functions but the pure ones. docs/internals/claims.md. */

#define WEIRI_CLAIM_KEY_SIZE 33
/* Servers of a Redis Cluster that are connected to, each of which is polled. */
#define WEIRI_CLAIMS_POLLS 64

enum weiri_claim_verb {
    WEIRI_CLAIM = 1,     /* take it for time_ms, and count an attempt */
    WEIRI_CLAIM_RENEW,   /* mine for time_ms more, also where Redis has forgotten it */
    WEIRI_CLAIM_CONFIRM, /* done: other copies are deleted for time_ms */
    WEIRI_CLAIM_RETURN,  /* failed: free again after time_ms; 0: at once */
    WEIRI_CLAIM_UNDO,    /* not run: the same, and no attempt */
    WEIRI_CLAIM_BURY,    /* set aside: other copies are buried for 30 days */
    WEIRI_CLAIM_ASIDE,   /* the same by an operator, unless it runs or is done */
    WEIRI_CLAIM_REVOKE,  /* nobody's, for time_ms, unless it runs or is done */
    WEIRI_CLAIM_FORGET,  /* buried no longer */
    WEIRI_CLAIM_LOOK,    /* why is it buried, and where? */
    WEIRI_CLAIM_TIME     /* nothing of the claim: number is Redis' wall clock, in ms */
};

enum weiri_claim_answer {
    WEIRI_CLAIM_MINE = 1, /* done; of a claim: number is the attempt, from 1 on */
    WEIRI_CLAIM_BUSY,     /* another holds it; number is for how many ms at most */
    WEIRI_CLAIM_DONE,     /* done or revoked, or go-queue's */
    WEIRI_CLAIM_BURIED,   /* set aside: every copy is to be buried */
    WEIRI_CLAIM_AWAY      /* Redis did not answer: nobody knows */
};

struct weiri_claim {
    struct weiri_list link;
    enum weiri_claim_verb verb;
    char key[WEIRI_CLAIM_KEY_SIZE];
    uint64_t token; /* no other claim of this handle has it; 0: one that all handles share */
    uint64_t own;   /* BUSY: the token that has it, if of this handle, else 0; sent again: the claim
                       that is taken over, which is no other attempt. MINE of a claim: 1 where the
                       job was tried before */
    int64_t time_ms;
    int64_t limit_ns;
    size_t server;      /* the one that had the key last, from 1 on; 0: none was asked yet */
    uint32_t redirects; /* since it was pushed */
    const char *copies; /* their ids, between commas, for a job that is buried; NULL: none */
    char *ret_copies;   /* of WEIRI_CLAIM_LOOK: receives them; WEIR_JOB_ID_SIZE bytes */
    char reason[WEIR_REASON_SIZE]; /* of a bury; an answer to WEIRI_CLAIM_LOOK */
    /* Called once, on the thread that drives the claims. */
    void (*done)(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number);
};

struct weiri_claims;

/* Opens from a URL (redis_url.h), and connects when first advanced. Errors: WEIR_EINVAL,
 * WEIR_ENOTSUP (TLS), WEIR_ENOMEM. */
enum weir_status weiri_claims_open(const struct weiri_broker_config *config, const char *url,
                                   int64_t time_limit_ns, struct weiri_claims **ret_claims,
                                   struct weir_error *ret_error);
/* Answers what is under way as AWAY. Takes NULL. */
void weiri_claims_close(struct weiri_claims *claims);

/* Sends a claim; while Redis is away it is answered at once. */
void weiri_claims_push(struct weiri_claims *claims, struct weiri_claim *claim, int64_t now_ns);
/* Why every server is away, so that a claim that is pushed is answered so at once; NULL: one is
 * not.
 */
const char *weiri_claims_away(const struct weiri_claims *claims);
/* Connects, sends and ends what took too long. Returns when to call it again. */
int64_t weiri_claims_advance(struct weiri_claims *claims, int64_t now_ns);
/* Fills in what to poll for: at most WEIRI_CLAIMS_POLLS. Returns how many. */
size_t weiri_claims_polls(const struct weiri_claims *claims, struct pollfd *ret_polls);
/* Does what poll() found. */
void weiri_claims_ready(struct weiri_claims *claims, const struct pollfd *polls, size_t count);
/* Is all that was pushed answered? */
bool weiri_claims_are_answered(const struct weiri_claims *claims);

/* The key of a body, or of one behind a prefix; "": body is NULL, since it was too long to be read.
 */
void weiri_claim_key_behind(const char *prefix, size_t prefix_size, const char *body, size_t size,
                            char key[WEIRI_CLAIM_KEY_SIZE]);
void weiri_claim_key(const char *body, size_t size, char key[WEIRI_CLAIM_KEY_SIZE]);

#endif
