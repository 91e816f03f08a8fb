/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Claims: one script, and the server that is asked. */
#include "jobs/redis/claims.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <md5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "jobs/redis/server.h"

/* How often a claim may be sent on within a Redis Cluster: once where its slots have just moved. */
#define REDIRECTS_MAX 3

/* KEYS: the job's key; its count of attempts; why and where it is buried, in the same slot of a
 * Redis Cluster. ARGV: what to do, the holder's value, milliseconds, a reason, ids of copies,
 * the number of a token that may be taken over. Answers {answer, number}, and behind them of a new
 * claim 1 where the job was tried before, of another's the number of its token, if it is of this
 * handle, or a reason and ids. A value that does not begin with weir:claim: means that the job is
 * done elsewhere: go-queue's values are of that kind. What was confirmed or buried names its
 * holder, so that the holder may say it again where it did not get the answer. Behind a claim is
 * its time, to which it is cut where Redis' clock was set back. A copy is noted before it is
 * buried, so that none is buried unknown. */
static const char script[] =
    "if ARGV[1] == 'probe' then\n" /* may its user do what is done below? */
    "  local k = KEYS[3]\n"
    "  for _, c in ipairs({{'TIME'}, {'HSET', k, 'a', ''}, {'HGET', k, 'a'}, {'HKEYS', k},\n"
    "      {'SET', k, 0, 'PX', 1}, {'GET', k}, {'EXISTS', k}, {'INCR', k}, {'DECR', k},\n"
    "      {'PTTL', k}, {'PEXPIRE', k, 1}, {'DEL', k}}) do\n"
    "    local r = redis.pcall(unpack(c))\n"
    "    if type(r) == 'table' and string.find(string.lower(r.err or ''), 'user ') then\n"
    "      return redis.error_reply('NOPERM its user may not run ' .. c[1])\n"
    "    end\n"
    "  end\n"
    "  return {1, 0}\n"
    "end\n"
    "local value = redis.call('GET', KEYS[1]) or ''\n"
    "local v, time = string.match(value, '^(weir:claim:.*)%+(%d+)$')\n"
    "v = v or value\n"
    "local verb, mine, ms = ARGV[1], ARGV[2], tonumber(ARGV[3])\n"
    "local token = string.sub(mine, 12)\n"
    "local own = string.sub(v, 1, 28) == string.sub(mine, 1, 28) and string.sub(v, 29) or '0'\n"
    "local taken = verb == 'claim' and own ~= '0' and own == ARGV[6]\n"
    "local day, month = 86400000, 2592000000\n"
    "local ends = {confirm = 'weir:done:' .. token, bury = 'weir:buried:' .. token,\n"
    "  ['return'] = 'weir:claim:failed:' .. token}\n"
    "local function is(prefix) return string.sub(v, 1, #prefix) == prefix end\n"
    "local function set(value, t) redis.call('SET', KEYS[1], value, 'PX', t) end\n"
    "local function hold(value) set(value .. '+' .. ARGV[3], ms) end\n"
    "local function note()\n"
    "  for id in string.gmatch(ARGV[5], '[^,]+') do redis.call('HSET', KEYS[3], id, '') end\n"
    "  redis.call('PEXPIRE', KEYS[3], month)\n"
    "end\n"
    "local function bury()\n"
    "  set('weir:buried:' .. token, month)\n"
    "  redis.call('HSET', KEYS[3], 'reason', ARGV[4])\n"
    "  note()\n"
    "end\n"
    "local function other()\n"
    "  if is('weir:claim:') then\n"
    "    local left, most = redis.call('PTTL', KEYS[1]), tonumber(time)\n"
    "    if most and left > most then redis.call('PEXPIRE', KEYS[1], most) left = most end\n"
    "    return {2, left, tonumber(own)}\n"
    "  end\n"
    "  if not is('weir:buried:') then return {3, 0} end\n"
    "  note()\n"
    "  return {4, 0}\n"
    "end\n"
    "if verb == 'time' then\n"
    "  local now = redis.call('TIME')\n"
    "  return {1, now[1] * 1000 + math.floor(now[2] / 1000)}\n"
    "elseif verb == 'look' then\n"
    "  local ids = ''\n" /* as many as have space */
    "  for _, id in ipairs(redis.call('HKEYS', KEYS[3])) do\n"
    "    if id ~= 'reason' and #ids + #id < 1020 then ids = ids .. ',' .. id end\n"
    "  end\n"
    "  return {1, 0, redis.call('HGET', KEYS[3], 'reason') or '', ids}\n"
    "elseif verb == 'revoke' or verb == 'aside' then\n"
    "  if v ~= '' and not is('weir:claim:failed:') and not is('weir:buried:') then return other() "
    "end\n"
    "  if verb == 'aside' then bury() else set('weir:revoked', ms) end\n"
    "elseif verb == 'forget' then\n"
    "  if is('weir:buried:') then redis.call('DEL', KEYS[1]) end\n"
    "  redis.call('DEL', KEYS[2])\n"
    "elseif v ~= '' and v ~= mine and v ~= ends[verb] and not taken then\n"
    "  return other()\n"
    "elseif verb == 'claim' then\n"
    "  hold(mine)\n"
    "  if taken then return {1, tonumber(redis.call('GET', KEYS[2]) or 1)} end\n"
    "  local tried = redis.call('EXISTS', KEYS[2])\n"
    "  local n = redis.call('INCR', KEYS[2])\n"
    "  redis.call('PEXPIRE', KEYS[2], ms + day)\n"
    "  return {1, n, tried}\n"
    "elseif verb == 'renew' then\n"
    "  hold(mine)\n"
    "elseif verb == 'bury' then\n"
    "  bury()\n"
    "elseif verb == 'confirm' then\n"
    "  set(ends[verb], ms)\n"
    "  redis.call('DEL', KEYS[2], KEYS[3])\n"
    "else\n"
    "  local n = verb == 'undo' and redis.call('DECR', KEYS[2]) or 1\n"
    "  if n < 0 or n + ms == 0 then redis.call('DEL', KEYS[2]) end\n" /* 0: tried, and not counted
                                                                       */
    "  if ms == 0 then redis.call('DEL', KEYS[1]) else\n"
    "    hold(ends['return'])\n"
    "    redis.call('PEXPIRE', KEYS[2], ms + day)\n"
    "  end\n"
    "end\n"
    "return {1, 0}\n";

static const char *const verbs[] = {
    [WEIRI_CLAIM] = "claim",           [WEIRI_CLAIM_RENEW] = "renew",   [WEIRI_CLAIM_UNDO] = "undo",
    [WEIRI_CLAIM_CONFIRM] = "confirm", [WEIRI_CLAIM_RETURN] = "return", [WEIRI_CLAIM_BURY] = "bury",
    [WEIRI_CLAIM_REVOKE] = "revoke",   [WEIRI_CLAIM_FORGET] = "forget", [WEIRI_CLAIM_LOOK] = "look",
    [WEIRI_CLAIM_ASIDE] = "aside",     [WEIRI_CLAIM_TIME] = "time",
};

void weiri_claim_key_behind(const char *prefix, size_t prefix_size, const char *body, size_t size,
                            char key[WEIRI_CLAIM_KEY_SIZE])
{
    MD5_CTX hash;
    MD5Init(&hash);
    MD5Update(&hash, (const uint8_t *)prefix, prefix_size);
    MD5Update(&hash, (const uint8_t *)body, size);
    (void)MD5End(&hash, key);
}

void weiri_claim_key(const char *body, size_t size, char key[WEIRI_CLAIM_KEY_SIZE])
{
    key[0] = '\0';
    if (body != NULL) {
        weiri_claim_key_behind("", 0, body, size, key);
    }
}

enum weir_status weiri_claims_open(const struct weiri_broker_config *config, const char *url,
                                   int64_t time_limit_ns, struct weiri_claims **ret_claims,
                                   struct weir_error *ret_error)
{
    size_t url_size = strlen(url) + 1;
    size_t size = sizeof(struct weiri_claims) + url_size;
    struct weiri_claims *claims = weiri_alloc_zero(&config->allocator, 1, size);
    if (claims == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    memcpy(claims->text, url, url_size);
    enum weir_status status = weiri_redis_url_parse(claims->text, &claims->url, ret_error);
    if (status != WEIR_OK) {
        weiri_release(&config->allocator, claims, size);
        return status;
    }
    claims->config = config;
    claims->size = size;
    claims->handle = weiri_random_seed();
    claims->time_limit_ns = time_limit_ns;
    claims->script = script;
    (void)SHA1Data((const uint8_t *)script, sizeof(script) - 1, claims->sha);
    bool has_hosts = claims->url.kind == WEIRI_REDIS_ONE || claims->url.kind == WEIRI_REDIS_CLUSTER;
    claims->server_count = has_hosts ? claims->url.seed_count : 1;
    for (size_t i = 0; i < claims->server_count; i++) {
        const struct weiri_redis_address *at = &claims->url.seeds[i];
        weiri_redis_server_init(&claims->servers[i], claims, has_hosts ? at->host : "", at->port);
    }
    *ret_claims = claims;
    return WEIR_OK;
}

static void answer_claim(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    weiri_list_remove(&claim->link);
    claim->done(claim, answer, number);
}

void weiri_claims_close(struct weiri_claims *claims)
{
    if (claims == NULL) {
        return;
    }
    claims->is_closing = true;
    for (size_t i = 0; i < claims->server_count; i++) {
        struct weiri_list *waiting = &claims->servers[i].waiting;
        weiri_redis_server_drop(&claims->servers[i]);
        while (!weiri_list_is_empty(waiting)) {
            answer_claim(WEIRI_CONTAINER(waiting->next, struct weiri_claim, link), WEIRI_CLAIM_AWAY,
                         0);
        }
    }
    weiri_release(&claims->config->allocator, claims, claims->size);
}

/* --- the server that is asked --- */

/* The server that had the key last, else one that is up, else one that may come up. NULL: all are
 * away. */
static struct weiri_redis_server *choose(struct weiri_claims *claims,
                                         const struct weiri_claim *claim)
{
    struct weiri_redis_server *best = NULL;
    for (size_t i = 0; i < claims->server_count; i++) {
        struct weiri_redis_server *server = &claims->servers[i];
        if (server->failures > 0) {
            continue;
        }
        if (claim->server == i + 1) {
            return server;
        }
        if (best == NULL || (weiri_redis_server_is_up(server) && !weiri_redis_server_is_up(best))) {
            best = server;
        }
    }
    return best;
}

const char *weiri_claims_away(const struct weiri_claims *claims)
{
    const char *why = NULL;
    for (size_t i = 0; i < claims->server_count; i++) {
        const struct weiri_redis_server *server = &claims->servers[i];
        /* hiredis answers what was sent before it tells that the connection is gone. */
        if (server->failures == 0 &&
            (server->redis == NULL || (server->redis->c.flags & REDIS_DISCONNECTING) == 0)) {
            return NULL;
        }
        why = server->why;
    }
    return why;
}

/* The node that `MOVED SLOT HOST:PORT` names; no host means the one that says so. NULL: there is no
 * place for another. */
static struct weiri_redis_server *find_node(struct weiri_claims *claims,
                                            const struct weiri_redis_server *from,
                                            const char *redirection)
{
    const char *space = strrchr(redirection, ' ');
    const char *colon = strrchr(redirection, ':');
    char host[sizeof(from->host)];
    if (space == NULL || colon == NULL || colon < space || (size_t)(colon - space) > sizeof(host)) {
        return NULL;
    }
    (void)snprintf(host, sizeof(host), "%.*s", (int)(colon - space - 1), space + 1);
    const char *name = host[0] == '\0' || strcmp(host, "?") == 0 ? from->host : host;
    int port = (int)strtol(colon + 1, NULL, 10);
    struct weiri_redis_server *free = NULL;
    for (size_t i = 0; i < claims->server_count; i++) {
        struct weiri_redis_server *server = &claims->servers[i];
        if (server->port == port && strcmp(server->host, name) == 0) {
            return server;
        }
        bool is_spare = i >= claims->url.seed_count && server->redis == NULL &&
                        server->failures > 0 && weiri_list_is_empty(&server->waiting);
        free = is_spare ? server : free;
    }
    if (claims->server_count < WEIRI_CLAIMS_POLLS) {
        free = &claims->servers[claims->server_count++];
    }
    if (free != NULL) {
        weiri_redis_server_init(free, claims, name, port);
    }
    return free;
}

static void place(struct weiri_claims *claims, struct weiri_redis_server *server,
                  struct weiri_claim *claim)
{
    if (server == NULL || server->failures > 0 || claims->is_closing) {
        answer_claim(claim, WEIRI_CLAIM_AWAY, 0);
        return;
    }
    claim->server = (size_t)(server - claims->servers) + 1;
    weiri_list_remove(&claim->link);
    weiri_list_insert_before(&server->waiting, &claim->link);
}

/* --- claims --- */

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* An answer that is an error. */
static void refused(struct weiri_redis_server *server, struct weiri_claim *claim, const char *why)
{
    struct weiri_claims *claims = server->claims;
    if (claims->url.kind == WEIRI_REDIS_CLUSTER && begins(why, "MOVED ") &&
        claim->redirects < REDIRECTS_MAX) {
        claim->redirects++;
        place(claims, find_node(claims, server, why), claim);
        return;
    }
    /* The script may be lost, or this server not the one to ask any more. Not so where it lacks
     * memory, or moves slots, or the cluster lacks a node. */
    if (begins(why, "OOM ") || begins(why, "ASK ") || begins(why, "TRYAGAIN ") ||
        begins(why, "CLUSTERDOWN ")) {
        weiri_broker_log(claims->config, WEIR_LOG_WARNING, "Redis for claims refuses: %s", why);
    } else {
        weiri_redis_server_spoil(server, why);
    }
    answer_claim(claim, WEIRI_CLAIM_AWAY, 0);
}

static void on_claim(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    struct weiri_claim *claim = arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements >= 2 &&
        reply->element[0]->type == REDIS_REPLY_INTEGER && reply->element[0]->integer >= 1 &&
        reply->element[0]->integer < WEIRI_CLAIM_AWAY &&
        reply->element[1]->type == REDIS_REPLY_INTEGER) {
        long long number = reply->element[1]->integer;
        claim->own = reply->elements == 3 ? (uint64_t)reply->element[2]->integer : 0;
        if (reply->elements == 4 && reply->element[2]->str != NULL &&
            reply->element[3]->str != NULL) {
            (void)snprintf(claim->reason, sizeof(claim->reason), "%s", reply->element[2]->str);
            (void)snprintf(claim->ret_copies, WEIR_JOB_ID_SIZE, "%s", reply->element[3]->str);
        }
        answer_claim(claim, (enum weiri_claim_answer)reply->element[0]->integer,
                     number < 0 ? 0 : number);
    } else if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        refused(redis->ev.data, claim, reply->str);
    } else {
        answer_claim(claim, WEIRI_CLAIM_AWAY, 0);
    }
}

static void send_claim(struct weiri_redis_server *server, struct weiri_claim *claim, int64_t now_ns)
{
    const struct weiri_claims *claims = server->claims;
    claim->limit_ns = weiri_time_add(now_ns, claims->time_limit_ns);
    weiri_list_remove(&claim->link);
    weiri_list_insert_before(&server->pending, &claim->link);
    if (redisAsyncCommand(server->redis, on_claim, claim,
                          "EVALSHA %s 3 %s weir:attempts:{%s} weir:dead:{%s} %s "
                          "weir:claim:%016" PRIx64 "-%" PRIu64 " %" PRId64 " %s %s %" PRIu64,
                          claims->sha, claim->key, claim->key, claim->key, verbs[claim->verb],
                          claim->token == 0 ? 0 : claims->handle, claim->token, claim->time_ms,
                          claim->reason, claim->copies != NULL ? claim->copies : "",
                          claim->own) != REDIS_OK) {
        answer_claim(claim, WEIRI_CLAIM_AWAY, 0);
    }
}

/* Sends what waits for a server that is up by now; another is asked where it is away. */
static void send_waiting(struct weiri_redis_server *server, int64_t now_ns)
{
    bool is_up = weiri_redis_server_is_up(server);
    while ((is_up || server->failures > 0) && !weiri_list_is_empty(&server->waiting)) {
        struct weiri_claim *claim = WEIRI_CONTAINER(server->waiting.next, struct weiri_claim, link);
        if (is_up) {
            send_claim(server, claim, now_ns);
        } else {
            place(server->claims, choose(server->claims, claim), claim);
        }
    }
}

void weiri_claims_push(struct weiri_claims *claims, struct weiri_claim *claim, int64_t now_ns)
{
    weiri_list_init(&claim->link);
    claim->redirects = 0;
    struct weiri_redis_server *server = choose(claims, claim);
    place(claims, server, claim);
    if (server != NULL) {
        send_waiting(server, now_ns);
    }
}

int64_t weiri_claims_advance(struct weiri_claims *claims, int64_t now_ns)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < claims->server_count; i++) {
        struct weiri_redis_server *server = &claims->servers[i];
        send_waiting(server, now_ns);
        next = weiri_time_earlier(next, weiri_redis_server_advance(server, now_ns));
        if (server->failures > 0 && !weiri_list_is_empty(&server->waiting)) {
            next = now_ns; /* for another server, which may stand before this one */
        }
    }
    return next;
}

bool weiri_claims_are_answered(const struct weiri_claims *claims)
{
    for (size_t i = 0; i < claims->server_count; i++) {
        const struct weiri_redis_server *server = &claims->servers[i];
        if (!weiri_list_is_empty(&server->waiting) || !weiri_list_is_empty(&server->pending)) {
            return false;
        }
    }
    return true;
}
