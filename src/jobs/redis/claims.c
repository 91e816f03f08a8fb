/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Claims through hiredis, driven by the cluster's poll(). */
#include "jobs/redis/claims.h"

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <md5.h>
#include <poll.h>
#include <sha1.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/error.h"
#include "jobs/redis/redis_url.h"

#define RETRY_BASE WEIR_MS(50)
#define RETRY_MAX WEIR_SECONDS(5)

/* KEYS: the job's key; its count of attempts and the reason why it is buried, in the same slot of a
 * Redis Cluster. ARGV: what to do, the holder's value, milliseconds, a reason. Answers {answer,
 * number}, or with a reason as third. A value that does not begin with
 * weir:claim: means that the job is done elsewhere: go-queue's values are of that kind. What was
 * confirmed or buried names its holder, so that the holder may say it again where it did not get
 * the answer. */
static const char script[] =
    "local v = redis.call('GET', KEYS[1]) or ''\n"
    "local verb, mine, ms = ARGV[1], ARGV[2], tonumber(ARGV[3])\n"
    "local token = string.sub(mine, 12)\n"
    "local ends = {confirm = 'weir:done:' .. token, bury = 'weir:buried:' .. token}\n"
    "local function is(prefix) return string.sub(v, 1, #prefix) == prefix end\n"
    "local function set(value, t) redis.call('SET', KEYS[1], value, 'PX', t) end\n"
    "local function other()\n"
    "  if is('weir:claim:') then return {2, redis.call('PTTL', KEYS[1])} end\n"
    "  return {3, 0}\n"
    "end\n"
    "if verb == 'reason' then\n"
    "  return {1, 0, redis.call('GET', KEYS[3]) or ''}\n"
    "elseif verb == 'revoke' then\n"
    "  if v ~= '' and v ~= 'weir:claim:failed' and not is('weir:buried') then return other() end\n"
    "  set('weir:revoked', ms)\n"
    "elseif verb == 'forget' then\n"
    "  if is('weir:buried') then redis.call('DEL', KEYS[1]) end\n"
    "  redis.call('DEL', KEYS[2], KEYS[3])\n"
    "elseif v ~= '' and v ~= mine and v ~= ends[verb] then\n"
    "  return other()\n"
    "elseif verb == 'claim' then\n"
    "  set(mine, ms)\n"
    "  local n = redis.call('INCR', KEYS[2])\n"
    "  redis.call('PEXPIRE', KEYS[2], 86400000)\n"
    "  return {1, n}\n"
    "elseif verb == 'renew' then\n"
    "  set(mine, ms)\n"
    "elseif ends[verb] then\n"
    "  set(ends[verb], 3600000)\n"
    "  if verb == 'confirm' then\n"
    "    redis.call('DEL', KEYS[2], KEYS[3])\n"
    "  else\n"
    "    redis.call('SET', KEYS[3], ARGV[4], 'PX', 2592000000)\n"
    "  end\n"
    "else\n"
    "  if verb == 'undo' and redis.call('DECR', KEYS[2]) <= 0 then redis.call('DEL', KEYS[2]) end\n"
    "  if ms > 0 then set('weir:claim:failed', ms) else redis.call('DEL', KEYS[1]) end\n"
    "end\n"
    "return {1, 0}\n";

static const char *const verbs[] = {
    [WEIRI_CLAIM] = "claim",         [WEIRI_CLAIM_RENEW] = "renew",
    [WEIRI_CLAIM_UNDO] = "undo",     [WEIRI_CLAIM_CONFIRM] = "confirm",
    [WEIRI_CLAIM_RETURN] = "return", [WEIRI_CLAIM_BURY] = "bury",
    [WEIRI_CLAIM_REVOKE] = "revoke", [WEIRI_CLAIM_FORGET] = "forget",
    [WEIRI_CLAIM_REASON] = "reason",
};

struct weiri_claims {
    const struct weiri_broker_config *config;
    struct weiri_redis_url url;
    char *text; /* what the URL points into */
    size_t text_size;
    int64_t time_limit_ns;
    char sha[SHA1_DIGEST_STRING_LENGTH];

    redisAsyncContext *redis; /* NULL: not connected, and not connecting */
    bool is_reading;
    bool is_writing;
    bool is_spoiled; /* to be made anew: an answer says so */
    bool was_away;   /* for the log */
    uint32_t failures;
    int64_t retry_ns;
    int64_t greeting_limit_ns; /* INT64_MAX: greeted */
    struct weiri_list pending; /* claims sent, oldest first */
};

void weiri_claim_key(const char *body, size_t size, char key[WEIRI_CLAIM_KEY_SIZE])
{
    (void)MD5Data((const uint8_t *)body, size, key);
}

enum weir_status weiri_claims_open(const struct weiri_broker_config *config, const char *url,
                                   int64_t time_limit_ns, struct weiri_claims **ret_claims,
                                   struct weir_error *ret_error)
{
    struct weiri_claims *claims = weiri_alloc_zero(&config->allocator, 1, sizeof(*claims));
    size_t size = strlen(url) + 1;
    char *text = weiri_alloc(&config->allocator, size);
    enum weir_status status = WEIR_OK;
    if (claims == NULL || text == NULL) {
        status = weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    } else {
        memcpy(text, url, size);
        status = weiri_redis_url_parse(text, &claims->url, ret_error);
    }
    if (status != WEIR_OK || claims == NULL) {
        weiri_release(&config->allocator, text, size);
        weiri_release(&config->allocator, claims, sizeof(*claims));
        return status;
    }
    claims->config = config;
    claims->text = text;
    claims->text_size = size;
    claims->time_limit_ns = time_limit_ns;
    claims->greeting_limit_ns = INT64_MAX;
    weiri_list_init(&claims->pending);
    (void)SHA1Data((const uint8_t *)script, sizeof(script) - 1, claims->sha);
    *ret_claims = claims;
    return WEIR_OK;
}

static void drop(struct weiri_claims *claims)
{
    if (claims->redis != NULL) {
        redisAsyncFree(claims->redis); /* answers what is pending with no reply */
    }
}

void weiri_claims_close(struct weiri_claims *claims)
{
    if (claims != NULL) {
        const struct weir_allocator memory = claims->config->allocator;
        claims->failures = 1;
        claims->greeting_limit_ns = INT64_MAX;
        drop(claims);
        weiri_release(&memory, claims->text, claims->text_size);
        weiri_release(&memory, claims, sizeof(*claims));
    }
}

/* --- connecting --- */

static void fail(struct weiri_claims *claims, int64_t now_ns, const char *why)
{
    if (!claims->was_away) {
        claims->was_away = true;
        weiri_broker_log(claims->config, WEIR_LOG_WARNING, "Redis for claims is away: %s", why);
    }
    claims->failures++;
    claims->retry_ns =
        weiri_time_add(now_ns, weiri_time_shift(RETRY_BASE, claims->failures - 1, RETRY_MAX));
    claims->greeting_limit_ns = INT64_MAX;
    claims->is_spoiled = false;
}

static void add_read(void *arg)
{
    ((struct weiri_claims *)arg)->is_reading = true;
}

static void del_read(void *arg)
{
    ((struct weiri_claims *)arg)->is_reading = false;
}

static void add_write(void *arg)
{
    ((struct weiri_claims *)arg)->is_writing = true;
}

static void del_write(void *arg)
{
    ((struct weiri_claims *)arg)->is_writing = false;
}

/* The context is being freed: by us, or by hiredis after an error. */
static void cleanup(void *arg)
{
    struct weiri_claims *claims = arg;
    const char *why = claims->redis->errstr;
    claims->redis = NULL;
    claims->is_reading = false;
    claims->is_writing = false;
    if (claims->failures == 0 || claims->greeting_limit_ns != INT64_MAX) {
        fail(claims, weiri_monotonic_now(), why != NULL && why[0] != '\0' ? why : "closed");
    }
}

/* An answer to AUTH or SELECT. */
static void on_step(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    struct weiri_claims *claims = redis->ev.data;
    (void)arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        weiri_broker_log(claims->config, WEIR_LOG_ERROR, "Redis for claims refuses: %s",
                         reply->str);
        claims->is_spoiled = true;
    }
}

static void on_policy(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    struct weiri_claims *claims = redis->ev.data;
    (void)arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[1]->str != NULL && strcmp(reply->element[1]->str, "noeviction") != 0) {
        weiri_broker_log(claims->config, WEIR_LOG_WARNING,
                         "Redis for claims has maxmemory-policy %.40s: claims that it evicts let "
                         "jobs run twice; expected noeviction",
                         reply->element[1]->str);
    }
}

static void on_script(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    struct weiri_claims *claims = redis->ev.data;
    on_step(redis, answer, arg);
    if (reply != NULL && reply->type != REDIS_REPLY_ERROR && !claims->is_spoiled) {
        claims->greeting_limit_ns = INT64_MAX;
        claims->failures = 0;
        if (claims->was_away) {
            claims->was_away = false;
            weiri_broker_log(claims->config, WEIR_LOG_INFO, "Redis for claims is back");
        }
    }
}

static void greet(struct weiri_claims *claims)
{
    const struct weiri_redis_url *url = &claims->url;
    redisAsyncContext *redis = claims->redis;
    if (url->password != NULL && url->user != NULL) {
        (void)redisAsyncCommand(redis, on_step, NULL, "AUTH %s %s", url->user, url->password);
    } else if (url->password != NULL) {
        (void)redisAsyncCommand(redis, on_step, NULL, "AUTH %s", url->password);
    }
    if (url->database != 0) {
        (void)redisAsyncCommand(redis, on_step, NULL, "SELECT %d", url->database);
    }
    (void)redisAsyncCommand(redis, on_policy, NULL, "CONFIG GET maxmemory-policy");
    (void)redisAsyncCommand(redis, on_script, NULL, "SCRIPT LOAD %s", script);
}

static void begin(struct weiri_claims *claims, int64_t now_ns)
{
    const struct weiri_redis_url *url = &claims->url;
    redisAsyncContext *redis = url->path != NULL ? redisAsyncConnectUnix(url->path)
                                                 : redisAsyncConnect(url->host, url->port);
    if (redis == NULL || redis->err != 0) {
        fail(claims, now_ns, redis == NULL ? "out of memory" : redis->errstr);
        if (redis != NULL) {
            redisAsyncFree(redis);
        }
        return;
    }
    claims->redis = redis;
    claims->is_spoiled = false;
    claims->greeting_limit_ns = weiri_time_add(now_ns, claims->time_limit_ns);
    redis->ev.data = claims;
    redis->ev.addRead = add_read;
    redis->ev.delRead = del_read;
    redis->ev.addWrite = add_write;
    redis->ev.delWrite = del_write;
    redis->ev.cleanup = cleanup;
    claims->is_writing = true; /* until connected */
    greet(claims);
}

/* --- claims --- */

static void answer_claim(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    weiri_list_remove(&claim->link);
    claim->done(claim, answer, number);
}

static void on_claim(redisAsyncContext *redis, void *answer, void *arg)
{
    const redisReply *reply = answer;
    struct weiri_claims *claims = redis->ev.data;
    struct weiri_claim *claim = arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements >= 2 &&
        reply->element[0]->type == REDIS_REPLY_INTEGER && reply->element[0]->integer >= 1 &&
        reply->element[0]->integer <= 3 && reply->element[1]->type == REDIS_REPLY_INTEGER) {
        long long number = reply->element[1]->integer;
        if (reply->elements > 2 && reply->element[2]->type == REDIS_REPLY_STRING) {
            (void)snprintf(claim->reason, sizeof(claim->reason), "%s", reply->element[2]->str);
        }
        answer_claim(claim, (enum weiri_claim_answer)reply->element[0]->integer,
                     number < 0 ? 0 : number);
        return;
    }
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        weiri_broker_log(claims->config, WEIR_LOG_WARNING, "Redis for claims refuses: %s",
                         reply->str);
        /* The script may be lost, or this server not the one to ask any more. */
        claims->is_spoiled = strncmp(reply->str, "OOM", 3) != 0;
    }
    answer_claim(claim, WEIRI_CLAIM_AWAY, 0);
}

void weiri_claims_push(struct weiri_claims *claims, struct weiri_claim *claim, int64_t now_ns)
{
    char value[40];
    char time[24];
    char attempts[WEIRI_CLAIM_KEY_SIZE + 20];
    char reason[WEIRI_CLAIM_KEY_SIZE + 20];
    weiri_list_init(&claim->link);
    if (claims->redis == NULL && claims->failures == 0) {
        begin(claims, now_ns);
    }
    if (claims->redis == NULL || claims->failures > 0) {
        claim->done(claim, WEIRI_CLAIM_AWAY, 0);
        return;
    }
    (void)snprintf(value, sizeof(value), "weir:claim:%016" PRIx64, claim->token);
    (void)snprintf(time, sizeof(time), "%" PRId64, claim->time_ms);
    (void)snprintf(attempts, sizeof(attempts), "weir:attempts:{%s}", claim->key);
    (void)snprintf(reason, sizeof(reason), "weir:reason:{%s}", claim->key);
    const char *words[] = {"EVALSHA", claims->sha,        "3",   claim->key, attempts,
                           reason,    verbs[claim->verb], value, time,       claim->reason};
    claim->limit_ns = weiri_time_add(now_ns, claims->time_limit_ns);
    weiri_list_insert_before(&claims->pending, &claim->link);
    if (redisAsyncCommandArgv(claims->redis, on_claim, claim, 10, words, NULL) != REDIS_OK) {
        answer_claim(claim, WEIRI_CLAIM_AWAY, 0);
    }
}

int64_t weiri_claims_advance(struct weiri_claims *claims, int64_t now_ns)
{
    if (claims->redis == NULL) {
        if (claims->retry_ns > now_ns) {
            return claims->retry_ns;
        }
        begin(claims, now_ns);
        if (claims->redis == NULL) {
            return claims->retry_ns;
        }
    }
    int64_t limit = claims->greeting_limit_ns;
    if (!weiri_list_is_empty(&claims->pending)) {
        int64_t oldest = WEIRI_CONTAINER(claims->pending.next, struct weiri_claim, link)->limit_ns;
        limit = oldest < limit ? oldest : limit;
    }
    if (limit <= now_ns || claims->is_spoiled) {
        /* Before the context is freed, so that what its callbacks push is answered at once. */
        fail(claims, now_ns, limit <= now_ns ? "the time limit passed" : "it refuses");
        drop(claims);
        return claims->retry_ns;
    }
    return limit;
}

short weiri_claims_events(const struct weiri_claims *claims, int *ret_fd)
{
    if (claims->redis == NULL) {
        *ret_fd = -1;
        return 0;
    }
    *ret_fd = claims->redis->c.fd;
    return (short)((claims->is_reading ? POLLIN : 0) | (claims->is_writing ? POLLOUT : 0));
}

void weiri_claims_ready(struct weiri_claims *claims, short events)
{
    if (claims->redis != NULL && (events & (POLLOUT | POLLERR | POLLHUP)) != 0 &&
        claims->is_writing) {
        redisAsyncHandleWrite(claims->redis);
    }
    if (claims->redis != NULL && (events & (POLLIN | POLLERR | POLLHUP)) != 0) {
        redisAsyncHandleRead(claims->redis);
    }
}

void weiri_claims_drain(struct weiri_claims *claims, int64_t limit_ns)
{
    int64_t now = weiri_monotonic_now();
    while (claims->redis != NULL && !weiri_list_is_empty(&claims->pending) && now < limit_ns) {
        struct pollfd poll_one = {.fd = -1};
        poll_one.events = weiri_claims_events(claims, &poll_one.fd);
        int wait_ms = (int)(weiri_time_sub(limit_ns, now) / WEIR_MS(1)) + 1;
        if (poll(&poll_one, 1, wait_ms) > 0) {
            weiri_claims_ready(claims, poll_one.revents);
        }
        now = weiri_monotonic_now();
    }
}
