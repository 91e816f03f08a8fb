/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_REDIS_SERVER_H
#define WEIRI_REDIS_SERVER_H

#include <hiredis/async.h>
#include <sha1.h>

#include "jobs/redis/claims.h"
#include "jobs/redis/redis_url.h"

/* A connection to one Redis: made, greeted, and made anew after a failure. With sentinels a first
 * connection asks one of them for the master's address. One thread calls all functions. */

struct weiri_redis_server {
    struct weiri_claims *claims;
    char host[256]; /* "": the unix socket of the URL */
    int port;

    redisAsyncContext *redis; /* NULL: not connected, and not connecting */
    bool is_dropping;         /* by us: no failure */
    bool is_asking;           /* the connection is one to a sentinel */
    bool is_found;            /* a sentinel named the address */
    bool is_spoiled;          /* to be made anew */
    size_t sentinel;          /* to ask next */
    size_t asked;             /* sentinels asked in vain, one after the other */
    uint32_t failures;        /* in a row */
    char why[160];            /* it was spoiled, or failed last */
    int64_t retry_ns;
    int64_t greeting_limit_ns; /* INT64_MAX: greeted */

    struct weiri_list waiting; /* claims, until it is greeted */
    struct weiri_list pending; /* claims sent, oldest first */
};

/* The servers, and what they share. */
struct weiri_claims {
    const struct weiri_broker_config *config;
    struct weiri_redis_url url;
    size_t size; /* of this block */
    int64_t time_limit_ns;
    const char *script; /* loaded by the greeting, and asked with `probe` for the user's rights */
    char sha[SHA1_DIGEST_STRING_LENGTH];
    bool is_closing;
    uint64_t handle; /* random */
    /* One; of a Redis Cluster the nodes of the URL and those that were met. */
    struct weiri_redis_server servers[WEIRI_CLAIMS_POLLS];
    size_t server_count;
    char text[]; /* what the URL points into */
};

void weiri_redis_server_init(struct weiri_redis_server *server, struct weiri_claims *claims,
                             const char *host, int port);
bool weiri_redis_server_is_up(const struct weiri_redis_server *server);
/* Connects, and ends what took longer than its limit. Returns when to call it again. */
int64_t weiri_redis_server_advance(struct weiri_redis_server *server, int64_t now_ns);
/* Has the connection made anew. The first reason stays. */
void weiri_redis_server_spoil(struct weiri_redis_server *server, const char *why);
/* Closes the connection: what was sent is answered with no reply. */
void weiri_redis_server_drop(struct weiri_redis_server *server);

#endif
