/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_REDIS_SERVER_H
#define WEIRI_REDIS_SERVER_H

#include <hiredis/async.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "jobs/core/backend.h"
#include "jobs/redis/redis_url.h"

/* A connection to one Redis: made, greeted, and made anew after a failure. With sentinels a first
 * connection asks one of them for the master's address. One thread calls all functions. */

struct weiri_claims;

struct weiri_redis_server {
    struct weiri_claims *claims;
    const struct weiri_broker_config *config;
    const struct weiri_redis_url *url;
    const char *script; /* loaded by the greeting, and asked with `probe` for the user's rights */
    const char *sha;
    int64_t time_limit_ns;
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

void weiri_redis_server_init(struct weiri_redis_server *server, const char *host, int port);
bool weiri_redis_server_is_up(const struct weiri_redis_server *server);
/* Connects, and ends what took longer than its limit; limit_ns is that of the oldest claim sent.
 * Returns when to call it again. */
int64_t weiri_redis_server_advance(struct weiri_redis_server *server, int64_t limit_ns,
                                   int64_t now_ns);
struct pollfd weiri_redis_server_poll(const struct weiri_redis_server *server);
void weiri_redis_server_ready(struct weiri_redis_server *server, short events);
/* Has the connection made anew. The first reason stays. */
void weiri_redis_server_spoil(struct weiri_redis_server *server, const char *why);
/* Closes the connection: what was sent is answered with no reply. */
void weiri_redis_server_drop(struct weiri_redis_server *server);

#endif
