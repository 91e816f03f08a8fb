/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The life of a claim, in a real Redis, against a model of it; and Redis away. */
#include "cluster/claims.h"

/* What a claim is, as docs/internals/claims.md says. */
struct model {
    enum {
        FREE,
        HELD,
        FAILED,
        DONE,
        BURIED
    } state;
    uint64_t token;
    int attempts;
};

static void check_step(struct world *world, struct model *model, const char *body)
{
    static const enum weiri_claim_verb all[] = {
        WEIRI_CLAIM,        WEIRI_CLAIM,         WEIRI_CLAIM,
        WEIRI_CLAIM_RENEW,  WEIRI_CLAIM_UNDO,    WEIRI_CLAIM_BURY,
        WEIRI_CLAIM_RETURN, WEIRI_CLAIM_CONFIRM, WEIRI_CLAIM_FORGET};
    enum weiri_claim_verb verb = all[test_random_below(sizeof(all) / sizeof(all[0]))];
    uint64_t token = 1 + test_random_below(3);
    bool has_delay = test_random_below(2) == 0;
    /* A holder may say again how it ended. */
    bool is_again =
        model->token == token && ((model->state == DONE && verb == WEIRI_CLAIM_CONFIRM) ||
                                  (model->state == FAILED && verb == WEIRI_CLAIM_RETURN) ||
                                  (model->state == BURIED && verb == WEIRI_CLAIM_BURY));
    bool is_mine =
        model->state == FREE || (model->state == HELD && model->token == token) || is_again;
    enum weiri_claim_answer expected = is_mine ? WEIRI_CLAIM_MINE
                                       : model->state == HELD || model->state == FAILED
                                           ? WEIRI_CLAIM_BUSY
                                       : model->state == BURIED ? WEIRI_CLAIM_BURIED
                                                                : WEIRI_CLAIM_DONE;
    bool has_time = verb == WEIRI_CLAIM || verb == WEIRI_CLAIM_RENEW || verb == WEIRI_CLAIM_CONFIRM;
    int64_t time_ms = has_time || has_delay ? LONG_MS : 0;
    if (verb == WEIRI_CLAIM_FORGET) {
        expected = WEIRI_CLAIM_MINE;
        model->state = model->state == BURIED ? FREE : model->state;
        model->attempts = 0;
    } else if (is_mine) {
        model->attempts += verb == WEIRI_CLAIM;
        model->attempts -= verb == WEIRI_CLAIM_UNDO && model->attempts > 0;
        model->attempts = verb == WEIRI_CLAIM_CONFIRM ? 0 : model->attempts;
        model->token = token;
        model->state = verb == WEIRI_CLAIM || verb == WEIRI_CLAIM_RENEW ? HELD
                       : verb == WEIRI_CLAIM_CONFIRM                    ? DONE
                       : verb == WEIRI_CLAIM_BURY                       ? BURIED
                       : has_delay                                      ? FAILED
                                                                        : FREE;
    }
    struct asked asked = ask(world, verb, body, token, time_ms);
    CHECK_INT(asked.answer, ==, expected);
    if (verb == WEIRI_CLAIM && is_mine) {
        CHECK_INT(asked.number, ==, model->attempts);
    }
    if (asked.answer == WEIRI_CLAIM_BUSY) {
        CHECK_INT(asked.number, >, 0);
        CHECK_INT(asked.number, <=, LONG_MS);
    }
}

TEST(lives_as_the_model, "random steps of three holders come to what the model says")
{
    struct world world;
    begin(&world, WEIR_SECONDS(20));
    for (int job = 0; job < 100; job++) {
        struct model model = {.state = FREE};
        char body[32];
        (void)snprintf(body, sizeof(body), "%d/job", job);
        for (int step = 0; step < 20; step++) {
            check_step(&world, &model, body);
        }
    }
    end(&world);
}

TEST(ends_with_its_lease, "a claim that is not renewed is another's once its time has passed, and "
                          "then its holder is told")
{
    struct world world;
    begin(&world, WEIR_SECONDS(20));
    CHECK_INT(ask(&world, WEIRI_CLAIM, "a", 1, 1).answer, ==, WEIRI_CLAIM_MINE);
    struct asked asked;
    do {
        asked = ask(&world, WEIRI_CLAIM, "a", 2, LONG_MS);
    } while (asked.answer == WEIRI_CLAIM_BUSY);
    CHECK_INT(asked.answer, ==, WEIRI_CLAIM_MINE);
    CHECK_INT(asked.number, ==, 2);
    CHECK_INT(ask(&world, WEIRI_CLAIM_RENEW, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_BUSY);
    CHECK_INT(ask(&world, WEIRI_CLAIM_CONFIRM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_BUSY);
    CHECK_INT(ask(&world, WEIRI_CLAIM_CONFIRM, "a", 2, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    CHECK_INT(ask(&world, WEIRI_CLAIM_RENEW, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_DONE);
    end(&world);
}

TEST(names_a_right_that_lacks,
     "a user who lacks a right is told of with its name, once, and nothing is "
     "claimed; one who has those of the documents gets claims")
{
    static const char *const rights[][2] = {
        {"+@all -del", "may not run DEL"},
        {"+@all -evalsha", "NOPERM"},
        {"+@all -script", "NOPERM"},
        {"+@all -hset", "may not run HSET"},
        {"+@all -pexpire", "may not run PEXPIRE"},
        {"+@all -time", "may not run TIME"},
        {"+@all resetkeys ~weir:*", "NOPERM"},
        {"+@read +@write -incr", "NOPERM"},
        {"+@read +@write +@scripting +select +time +config|get", NULL},
        {"+evalsha +script|load +select +time +get +set +exists +del +incr +decr +pttl +pexpire "
         "+hset +hget +hkeys",
         NULL},
    };
    struct world world;
    begin(&world, WEIR_SECONDS(20));
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        char command[256];
        char url[64];
        char answer[64];
        weiri_claims_close(world.claims);
        (void)snprintf(command, sizeof(command), "ACL SETUSER u reset on >p ~* %s", rights[i][0]);
        redis_say(world.servers.redis.port, command, answer, sizeof(answer));
        CHECK_STRING(answer, "+OK\r\n");
        (void)snprintf(url, sizeof(url), "redis://u:p@127.0.0.1:%d/1", world.servers.redis.port);
        world.log[0] = '\0';
        open_claims(&world, url, WEIR_SECONDS(20));
        bool has_all = rights[i][1] == NULL;
        for (int tries = 0; tries < 3; tries++) {
            CHECK_INT(ask(&world, WEIRI_CLAIM, rights[i][0], 1, LONG_MS).answer, ==,
                      has_all ? WEIRI_CLAIM_MINE : WEIRI_CLAIM_AWAY);
        }
        if (has_all ? world.log[0] != '\0' : strstr(world.log, rights[i][1]) == NULL) {
            test_fail(__FILE__, __LINE__, "%s: %s", rights[i][0], world.log);
        }
    }
    end(&world);
}

/* Redis' clock is set back by a day: what is to live for a time lives for a day more. */
static void set_back(const struct world *world)
{
    char answer[64];
    redis_say(world->servers.redis.port,
              "eval \"redis.call('SELECT', 1) for _, k in ipairs(redis.call('KEYS', '*')) do "
              "redis.call('PEXPIRE', k, redis.call('PTTL', k) + 86400000) end\" 0",
              answer, sizeof(answer));
    CHECK_STRING(answer, "$-1\r\n");
}

TEST(outlives_no_lease,
     "a claim, or the delay of a retry, that would last longer than was asked for, "
     "since Redis' clock was set back, is cut; no claim is by one that asks for "
     "less")
{
    struct world world;
    begin(&world, WEIR_SECONDS(20));
    for (int i = 0; i < 2; i++) {
        const char *body = i == 0 ? "a" : "b";
        CHECK_INT(ask(&world, WEIRI_CLAIM, body, 1, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
        if (i == 1) {
            CHECK_INT(ask(&world, WEIRI_CLAIM_RETURN, body, 1, LONG_MS).answer, ==,
                      WEIRI_CLAIM_MINE);
        }
        set_back(&world);
        struct asked asked = ask(&world, WEIRI_CLAIM, body, 2, 1);
        CHECK_INT(asked.answer, ==, WEIRI_CLAIM_BUSY);
        CHECK_INT(asked.number, <=, LONG_MS);
        asked = ask(&world, WEIRI_CLAIM, body, 2, 1);
        CHECK_INT(asked.answer, ==, WEIRI_CLAIM_BUSY);
        CHECK_INT(asked.number, <=, LONG_MS);
        CHECK_INT(asked.number, >, 1);
    }
    end(&world);
}

TEST(is_taken_over, "a handle takes over a claim of its own, which is no other attempt; not one of "
                    "another handle; and what is said late of the old one changes nothing")
{
    struct world world;
    struct world other;
    char url[64];
    begin(&world, WEIR_SECONDS(20));
    memset(&other, 0, sizeof(other));
    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d/1", world.servers.redis.port);
    open_claims(&other, url, WEIR_SECONDS(20));
    CHECK_INT(ask(&world, WEIRI_CLAIM, "a", 1, LONG_MS).number, ==, 1);
    struct asked asked = ask(&world, WEIRI_CLAIM, "a", 2, LONG_MS);
    CHECK_INT(asked.answer, ==, WEIRI_CLAIM_BUSY);
    CHECK_INT(asked.claim.own, ==, 1);
    asked = ask(&other, WEIRI_CLAIM, "a", 2, LONG_MS);
    CHECK_INT(asked.answer, ==, WEIRI_CLAIM_BUSY);
    CHECK_INT(asked.claim.own, ==, 0);
    CHECK_INT(ask_over(&other, WEIRI_CLAIM, "a", 3, LONG_MS, 1).answer, ==, WEIRI_CLAIM_BUSY);
    CHECK_INT(ask(&other, WEIRI_CLAIM_CONFIRM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_BUSY);
    asked = ask_over(&world, WEIRI_CLAIM, "a", 2, LONG_MS, 1);
    CHECK_INT(asked.answer, ==, WEIRI_CLAIM_MINE);
    CHECK_INT(asked.number, ==, 1);

    static const enum weiri_claim_verb late[] = {WEIRI_CLAIM_RETURN, WEIRI_CLAIM_UNDO,
                                                 WEIRI_CLAIM_RENEW,  WEIRI_CLAIM_CONFIRM,
                                                 WEIRI_CLAIM_BURY,   WEIRI_CLAIM};
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        CHECK_INT(ask_over(&world, late[i], "a", 1, 0, 1).answer, ==, WEIRI_CLAIM_BUSY);
    }
    CHECK_INT(ask(&world, WEIRI_CLAIM_RETURN, "a", 2, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    CHECK_INT(ask(&world, WEIRI_CLAIM_RETURN, "a", 1, 0).answer, ==, WEIRI_CLAIM_BUSY);
    CHECK_INT(ask(&world, WEIRI_CLAIM_RETURN, "a", 2, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    CHECK_INT(ask(&world, WEIRI_CLAIM, "a", 3, LONG_MS).answer, ==, WEIRI_CLAIM_BUSY);
    weiri_claims_close(other.claims);
    end(&world);
}

TEST(revokes, "a revoked job is done for everybody, and one that runs cannot be revoked")
{
    struct world world;
    begin(&world, WEIR_SECONDS(20));
    CHECK_INT(ask(&world, WEIRI_CLAIM_REVOKE, "a", 0, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    CHECK_INT(ask(&world, WEIRI_CLAIM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_DONE);
    CHECK_INT(ask(&world, WEIRI_CLAIM, "b", 1, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    CHECK_INT(ask(&world, WEIRI_CLAIM_REVOKE, "b", 0, LONG_MS).answer, ==, WEIRI_CLAIM_BUSY);
    end(&world);
}

TEST(is_away_and_back, "while Redis is killed or hangs every claim is answered as away, and "
                       "afterwards as before")
{
    struct world world;
    begin(&world, WEIR_MS(200));
    CHECK_INT(ask(&world, WEIRI_CLAIM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    CHECK(kill(world.servers.redis.pid, SIGSTOP) == 0);
    CHECK_INT(ask(&world, WEIRI_CLAIM, "b", 1, LONG_MS).answer, ==, WEIRI_CLAIM_AWAY);
    CHECK_INT(ask(&world, WEIRI_CLAIM, "b", 1, LONG_MS).answer, ==, WEIRI_CLAIM_AWAY);
    CHECK(kill(world.servers.redis.pid, SIGCONT) == 0);
    while (ask(&world, WEIRI_CLAIM, "c", 1, LONG_MS).answer != WEIRI_CLAIM_MINE) {
        turn(&world);
    }
    server_end(&world.servers.redis);
    while (ask(&world, WEIRI_CLAIM, "d", 1, LONG_MS).answer != WEIRI_CLAIM_AWAY) {
        turn(&world);
    }
    redis_start(&world.servers);
    while (ask(&world, WEIRI_CLAIM, "e", 1, LONG_MS).answer != WEIRI_CLAIM_MINE) {
        turn(&world);
    }
    end(&world);
}

TEST(tries_again_soon, "a Redis that is gone is looked for twice a second at least, and has one "
                       "to accept a connection")
{
    struct world world;
    begin(&world, WEIR_SECONDS(20));
    int64_t start = weiri_monotonic_now();
    CHECK_INT(weiri_claims_advance(world.claims, start) - start, <=, WEIR_SECONDS(1));
    server_end(&world.servers.redis);
    for (int tries = 0; tries < 6;) {
        struct pollfd polls[WEIRI_CLAIMS_POLLS];
        int64_t now = weiri_monotonic_now();
        int64_t next = weiri_claims_advance(world.claims, now);
        size_t count = weiri_claims_polls(world.claims, polls);
        if (polls[0].fd < 0) {
            CHECK_INT(next - now, <=, WEIR_MS(500));
            tries++;
            (void)poll(NULL, 0, (int)((next - now) / WEIR_MS(1)) + 1);
        } else if (poll(polls, count, -1) > 0) {
            weiri_claims_ready(world.claims, polls, count);
        }
    }
    end(&world);
}

static const struct weiri_claims *ending;
static bool was_away;

static void note_away(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    was_away = weiri_claims_away(ending) != NULL;
    done(claim, answer, number);
}

TEST(is_away_when_a_claim_is, "a claim that is lost with its connection finds its server away")
{
    struct world world;
    struct asked asked = {.claim = {.verb = WEIRI_CLAIM, .token = 1, .time_ms = LONG_MS}};
    begin(&world, WEIR_SECONDS(20));
    CHECK_INT(ask(&world, WEIRI_CLAIM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    CHECK(kill(world.servers.redis.pid, SIGSTOP) == 0);
    ending = world.claims;
    asked.claim.done = note_away;
    weiri_claim_key("b", 1, asked.claim.key);
    weiri_claims_push(world.claims, &asked.claim, weiri_monotonic_now());
    turn(&world); /* it is sent */
    server_end(&world.servers.redis);
    while (asked.done == 0) {
        turn(&world);
    }
    CHECK_INT(asked.answer, ==, WEIRI_CLAIM_AWAY);
    CHECK(was_away);
    end(&world);
}

/* How many times Redis refused a password. */
static int refused_passwords(const struct world *world)
{
    char answer[16384];
    int count = 0;
    redis_say(world->servers.redis.port, "AUTH secret\r\nINFO commandstats", answer,
              sizeof(answer));
    const char *auth = strstr(answer, "cmdstat_auth:");
    const char *failed = auth == NULL ? NULL : strstr(auth, "failed_calls=");
    CHECK(failed == NULL || sscanf(failed, "failed_calls=%d", &count) == 1);
    return count;
}

TEST(tells_a_wrong_password_once,
     "a password that Redis refuses is one line of the log, however often "
     "it is tried")
{
    static const char *const options[] = {"--requirepass", "secret", NULL};
    struct world world;
    char url[64];
    memset(&world, 0, sizeof(world));
    redis_start_with(&world.servers.redis, options);
    (void)snprintf(url, sizeof(url), "redis://:wrong@127.0.0.1:%d/1", world.servers.redis.port);
    open_claims(&world, url, WEIR_SECONDS(20));
    CHECK_INT(ask(&world, WEIRI_CLAIM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_AWAY);
    while (refused_passwords(&world) < 3) {
        turn(&world);
    }
    const char *end_of_line = strchr(world.log, '\n');
    CHECK(end_of_line != NULL && end_of_line[1] == '\0');
    CHECK(strstr(world.log, "is away: WRONGPASS ") != NULL);
    CHECK(strncmp(weiri_claims_away(world.claims), "WRONGPASS ", 10) == 0);
    end(&world);
}
