/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A connection to Redis through hiredis, driven by the cluster's poll(). */
#include "jobs/redis/server.h"

#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"

/* The key of the empty body, which no job has. */
#define PROBE "d41d8cd98f00b204e9800998ecf8427e"

void weiri_redis_server_init(struct weiri_redis_server *server, struct weiri_claims *claims,
                             const char *host, int port)
{
    server->claims = claims;
    (void)snprintf(server->host, sizeof(server->host), "%s", host);
    server->port = port;
    server->failures = 0;
    server->retry_ns = 0;
    server->greeting_limit_ns = INT64_MAX;
    weiri_list_init(&server->waiting);
    weiri_list_init(&server->pending);
}

bool weiri_redis_server_is_up(const struct weiri_redis_server *server)
{
    return server->redis != NULL && !server->is_asking && server->greeting_limit_ns == INT64_MAX;
}

void weiri_redis_server_drop(struct weiri_redis_server *server)
{
    if (server->redis != NULL) {
        server->is_dropping = true;
        redisAsyncFree(server->redis);
        server->is_dropping = false;
    }
}

/* --- connecting --- */

void weiri_redis_server_spoil(struct weiri_redis_server *server, const char *why)
{
    if (!server->is_spoiled) {
        server->is_spoiled = true;
        (void)snprintf(server->why, sizeof(server->why), "%s", why);
    }
}

/* The connection is over, because of what it was spoiled by first, else because of this. */
static void fail(struct weiri_redis_server *server, int64_t now_ns, const char *why)
{
    bool was_asking = server->is_asking;
    weiri_redis_server_spoil(server, why);
    server->is_spoiled = false;
    server->is_asking = false;
    server->is_found = false;
    server->greeting_limit_ns = INT64_MAX;
    if (server->claims->url.kind == WEIRI_REDIS_SENTINEL) {
        server->sentinel = (server->sentinel + 1) % server->claims->url.seed_count;
        if (was_asking && ++server->asked < server->claims->url.seed_count) {
            server->retry_ns = now_ns; /* another sentinel may know */
            return;
        }
        server->asked = 0;
    }
    if (server->failures++ == 0) {
        weiri_broker_log(server->claims->config, WEIR_LOG_WARNING,
                         "Redis for claims%s%s is away: %s", server->host[0] != '\0' ? " at " : "",
                         server->host, server->why);
    }
    server->retry_ns = weiri_time_add(now_ns, weiri_retry_ns(server->failures));
}

/* The context is being freed: by us, or by hiredis after an error. */
static void cleanup(void *arg)
{
    struct weiri_redis_server *server = arg;
    const char *why = server->redis->errstr;
    server->redis = NULL;
    if (!server->is_dropping) {
        fail(server, weiri_monotonic_now(), why != NULL && why[0] != '\0' ? why : "closed");
    }
}

/* An answer to AUTH or SELECT. */
static void on_step(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    struct weiri_redis_server *server = redis->ev.data;
    (void)arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        weiri_redis_server_spoil(server, reply->str);
    }
}

static void on_policy(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    const struct weiri_redis_server *server = redis->ev.data;
    (void)arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[1]->str != NULL && strcmp(reply->element[1]->str, "noeviction") != 0) {
        weiri_broker_log(server->claims->config, WEIR_LOG_WARNING,
                         "Redis for claims has maxmemory-policy %.40s: claims that it evicts let "
                         "jobs run twice; expected noeviction",
                         reply->element[1]->str);
    }
}

/* Sentinels may name a master that is none any more. */
static void on_role(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    struct weiri_redis_server *server = redis->ev.data;
    (void)arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
        reply->element[0]->str != NULL && strcmp(reply->element[0]->str, "master") != 0) {
        weiri_redis_server_spoil(server, "it is no master");
    }
}

/* The last answer of the greeting. Another error than of rights is one of the probe's key alone. */
static void on_probe(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    struct weiri_redis_server *server = redis->ev.data;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
        strncmp(reply->str, "NOPERM", 6) == 0) {
        on_step(redis, answer, arg);
    }
    if (reply != NULL && !server->is_spoiled) {
        server->greeting_limit_ns = INT64_MAX;
        server->asked = 0;
        if (server->failures > 0) {
            server->failures = 0;
            weiri_broker_log(server->claims->config, WEIR_LOG_INFO, "Redis for claims%s%s is back",
                             server->host[0] != '\0' ? " at " : "", server->host);
        }
    }
}

static void authenticate(const struct weiri_redis_server *server, redisCallbackFn *done)
{
    const struct weiri_redis_url *url = &server->claims->url;
    if (url->password != NULL && url->user != NULL) {
        (void)redisAsyncCommand(server->redis, done, NULL, "AUTH %s %s", url->user, url->password);
    } else if (url->password != NULL) {
        (void)redisAsyncCommand(server->redis, done, NULL, "AUTH %s", url->password);
    }
}

static void greet(const struct weiri_redis_server *server)
{
    redisAsyncContext *redis = server->redis;
    authenticate(server, on_step);
    if (server->claims->url.database != 0) {
        (void)redisAsyncCommand(redis, on_step, NULL, "SELECT %d", server->claims->url.database);
    }
    if (server->claims->url.kind == WEIRI_REDIS_SENTINEL) {
        (void)redisAsyncCommand(redis, on_role, NULL, "ROLE");
    }
    (void)redisAsyncCommand(redis, on_policy, NULL, "CONFIG GET maxmemory-policy");
    (void)redisAsyncCommand(redis, on_step, NULL, "SCRIPT LOAD %s", server->claims->script);
    (void)redisAsyncCommand(redis, on_probe, NULL,
                            "EVALSHA %s 3 " PROBE " weir:attempts:{" PROBE "} weir:dead:{" PROBE
                            "} probe weir:claim: 0",
                            server->claims->sha);
}

/* The master's address, from a sentinel. */
static void on_master(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    struct weiri_redis_server *server = redis->ev.data;
    (void)arg;
    if (reply == NULL) {
        return;
    }
    int port = 0;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[0]->type == REDIS_REPLY_STRING &&
        reply->element[1]->type == REDIS_REPLY_STRING) {
        port = (int)strtol(reply->element[1]->str, NULL, 10);
    }
    if (port <= 0 || port > 65535 || reply->element[0]->len >= sizeof(server->host)) {
        weiri_redis_server_spoil(server, "its sentinels do not know it");
        return;
    }
    (void)snprintf(server->host, sizeof(server->host), "%s", reply->element[0]->str);
    server->port = port;
    server->is_found = true;
}

static void begin(struct weiri_redis_server *server, int64_t now_ns)
{
    const struct weiri_redis_url *url = &server->claims->url;
    server->is_asking = url->kind == WEIRI_REDIS_SENTINEL && !server->is_found;
    struct weiri_redis_address at = {server->host, server->port};
    at = server->is_asking ? url->seeds[server->sentinel] : at;
    redisAsyncContext *redis =
        at.host[0] == '\0' ? redisAsyncConnectUnix(url->path) : redisAsyncConnect(at.host, at.port);
    if (redis == NULL || redis->err != 0) {
        fail(server, now_ns, redis == NULL ? "out of memory" : redis->errstr);
        if (redis != NULL) {
            redisAsyncFree(redis);
        }
        return;
    }
    server->redis = redis;
    server->greeting_limit_ns = weiri_time_add(now_ns, server->claims->time_limit_ns);
    redis->ev.data = server;
    redis->ev.cleanup = cleanup;
    if (server->is_asking) {
        /* A sentinel without a password refuses this, and answers what follows. */
        authenticate(server, NULL);
        (void)redisAsyncCommand(redis, on_master, NULL, "SENTINEL GET-MASTER-ADDR-BY-NAME %s",
                                url->name);
    } else {
        greet(server);
    }
}

int64_t weiri_redis_server_advance(struct weiri_redis_server *server, int64_t now_ns)
{
    if (server->is_asking && server->is_found) {
        weiri_redis_server_drop(server);
    }
    if (server->redis == NULL) {
        if (server->retry_ns > now_ns) {
            return server->retry_ns;
        }
        begin(server, now_ns);
        if (server->redis == NULL) {
            return server->retry_ns;
        }
    }
    int64_t limit = server->greeting_limit_ns;
    if (!weiri_list_is_empty(&server->pending)) {
        const struct weiri_claim *oldest =
            WEIRI_CONTAINER(server->pending.next, struct weiri_claim, link);
        limit = weiri_time_earlier(limit, oldest->limit_ns);
    }
    int64_t spare = weiri_time_sub(server->claims->time_limit_ns, WEIRI_CONNECT_MAX_NS);
    if ((server->redis->c.flags & REDIS_CONNECTED) == 0 && spare > 0) {
        limit = weiri_time_sub(limit, spare);
    }
    if (limit <= now_ns || server->is_spoiled) {
        /* Before the context is freed, so that what its callbacks push is answered at once. */
        fail(server, now_ns, "the time limit passed");
        weiri_redis_server_drop(server);
        return server->retry_ns;
    }
    return limit;
}

size_t weiri_claims_polls(const struct weiri_claims *claims, struct pollfd *ret_polls)
{
    for (size_t i = 0; i < claims->server_count; i++) {
        const redisAsyncContext *redis = claims->servers[i].redis;
        ret_polls[i] = (struct pollfd){.fd = -1};
        if (redis != NULL) {
            bool is_writing = (redis->c.flags & REDIS_CONNECTED) == 0 || sdslen(redis->c.obuf) > 0;
            ret_polls[i].fd = redis->c.fd;
            ret_polls[i].events = (short)(POLLIN | (is_writing ? POLLOUT : 0));
        }
    }
    return claims->server_count;
}

void weiri_claims_ready(struct weiri_claims *claims, const struct pollfd *polls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weiri_redis_server *server = &claims->servers[i];
        if (server->redis != NULL && (polls[i].revents & (POLLOUT | POLLERR | POLLHUP)) != 0) {
            redisAsyncHandleWrite(server->redis);
        }
        if (server->redis != NULL && (polls[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0) {
            redisAsyncHandleRead(server->redis);
        }
    }
}
