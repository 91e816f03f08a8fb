/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CLAIMS_H
#define WEIR_TEST_CLAIMS_H

#include "jobs/redis/claims.h"

#include <poll.h>

#include "base/time.h"
#include "cluster/servers.h"

/* Claims on a real Redis, asked one after the other. */

#define LONG_MS 600000

struct world {
    struct servers servers;
    struct weiri_broker_config config;
    struct weiri_claims *claims;
    char log[8192]; /* its lines, as far as there is space */
};

static inline void keep_log(enum weir_log_level level, const char *message, void *arg)
{
    struct world *world = arg;
    size_t used = strlen(world->log);
    (void)level;
    (void)snprintf(world->log + used, sizeof(world->log) - used, "%s\n", message);
}

struct asked {
    struct weiri_claim claim;
    int done;
    enum weiri_claim_answer answer;
    int64_t number;
};

static inline void done(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    struct asked *asked = WEIRI_CONTAINER(claim, struct asked, claim);
    asked->done++;
    asked->answer = answer;
    asked->number = number;
}

/* One round of the loop that drives the claims. */
static inline void turn(struct world *world)
{
    int64_t now = weiri_monotonic_now();
    int64_t next = weiri_claims_advance(world->claims, now);
    struct pollfd polls[WEIRI_CLAIMS_POLLS];
    size_t count = weiri_claims_polls(world->claims, polls);
    int64_t wait_ms = next <= now ? 0 : (next - now) / WEIR_MS(1) + 1;
    if (poll(polls, count, wait_ms > 100 ? 100 : (int)wait_ms) > 0) {
        weiri_claims_ready(world->claims, polls, count);
    }
}

/* own: a token of this handle that may be taken over; 0: none. */
static inline struct asked ask_over(struct world *world, enum weiri_claim_verb verb,
                                    const char *body, uint64_t token, int64_t time_ms, uint64_t own)
{
    struct asked asked = {
        .claim = {.verb = verb, .token = token, .own = own, .time_ms = time_ms, .done = done}};
    weiri_claim_key(body, strlen(body), asked.claim.key);
    weiri_claims_push(world->claims, &asked.claim, weiri_monotonic_now());
    while (asked.done == 0) {
        turn(world);
    }
    CHECK_INT(asked.done, ==, 1);
    return asked;
}

static inline struct asked ask(struct world *world, enum weiri_claim_verb verb, const char *body,
                               uint64_t token, int64_t time_ms)
{
    return ask_over(world, verb, body, token, time_ms, 0);
}

static inline void open_claims(struct world *world, const char *url, int64_t time_limit_ns)
{
    struct weir_error error;
    world->config.allocator = *test_allocator();
    world->config.log = keep_log;
    world->config.log_arg = world;
    CHECK_STATUS(weiri_claims_open(&world->config, url, time_limit_ns, &world->claims, &error),
                 WEIR_OK);
}

static inline void begin(struct world *world, int64_t time_limit_ns)
{
    char url[64];
    memset(world, 0, sizeof(*world));
    redis_start(&world->servers);
    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d/1", world->servers.redis.port);
    open_claims(world, url, time_limit_ns);
}

static inline void end(struct world *world)
{
    weiri_claims_close(world->claims);
    server_end(&world->servers.redis);
}

#endif
