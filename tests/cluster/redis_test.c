/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Claims on a Redis that sentinels name, and on a Redis Cluster: real servers. */
#include "cluster/claims.h"
#include "cluster/ledger.h"

#define CLAIMS 64

/* --- sentinels --- */

struct watched {
    struct world world;
    struct server redis[2]; /* the first is the master at first */
    struct server sentinel;
};

static void sentinel_start(struct watched *watched, const char *password)
{
    FILE *file = fopen("sentinel.conf", "w");
    CHECK(file != NULL);
    watched->sentinel.port = test_port();
    (void)fprintf(file,
                  "port %d\nbind 127.0.0.1\ndir .\nsentinel monitor the-master 127.0.0.1 %d 1\n"
                  "sentinel down-after-milliseconds the-master 200\n"
                  "sentinel failover-timeout the-master 2000\n",
                  watched->sentinel.port, watched->redis[0].port);
    if (password[0] != '\0') {
        (void)fprintf(file, "requirepass %s\nsentinel auth-pass the-master %s\n", password,
                      password);
    }
    CHECK(fclose(file) == 0);
    const char *const argv[] = {"redis-server", "sentinel.conf", "--sentinel", NULL};
    server_start(&watched->sentinel, argv);
}

/* A master, its replica, a sentinel; and before that one in the URL an address without any. */
static void watch(struct watched *watched, const char *password, int64_t time_limit_ns)
{
    char url[128];
    char master[16];
    memset(watched, 0, sizeof(*watched));
    const char *const first[] = {"--requirepass", password, NULL};
    redis_start_with(&watched->redis[0], password[0] == '\0' ? NULL : first);
    (void)snprintf(master, sizeof(master), "%d", watched->redis[0].port);
    const char *const second[] = {"--replicaof", "127.0.0.1", master, NULL};
    redis_start_with(&watched->redis[1], password[0] == '\0' ? second : NULL);
    if (password[0] == '\0') {
        /* A sentinel asks for replicas when it begins, and then every ten seconds. */
        redis_wait(watched->redis[1].port, "INFO replication", "master_link_status:up");
    }
    sentinel_start(watched, password);
    (void)snprintf(url, sizeof(url), "redis+sentinel://%s%s127.0.0.1:%d,127.0.0.1:%d/the-master/1",
                   password, password[0] == '\0' ? "" : "@", test_port(), watched->sentinel.port);
    open_claims(&watched->world, url, time_limit_ns);
}

static void unwatch(struct watched *watched)
{
    weiri_claims_close(watched->world.claims);
    server_end(&watched->sentinel);
    server_end(&watched->redis[0]);
    server_end(&watched->redis[1]);
}

TEST(asks_sentinels, "the master is the one that a sentinel names, where another sentinel is away; "
                     "the first claim waits for that")
{
    struct watched watched;
    watch(&watched, "", WEIR_SECONDS(20));
    CHECK_INT(ask(&watched.world, WEIRI_CLAIM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    CHECK_INT(ask(&watched.world, WEIRI_CLAIM, "a", 2, LONG_MS).answer, ==, WEIRI_CLAIM_BUSY);
    CHECK_STRING(watched.world.log, "");
    unwatch(&watched);
}

TEST(has_one_password_for_both, "sentinels are told the password that Redis is")
{
    struct watched watched;
    watch(&watched, "secret", WEIR_SECONDS(20));
    CHECK_INT(ask(&watched.world, WEIRI_CLAIM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    CHECK_STRING(watched.world.log, "");
    unwatch(&watched);
}

TEST(follows_a_failover, "when the master is killed its replica is asked, once it is the master, "
                         "and knows the claims")
{
    struct watched watched;
    watch(&watched, "", WEIR_SECONDS(20));
    CHECK_INT(ask(&watched.world, WEIRI_CLAIM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    redis_wait(watched.redis[1].port, "INFO keyspace", "db1:keys=2");
    redis_wait(watched.sentinel.port, "INFO sentinel", "slaves=1");
    server_end(&watched.redis[0]);
    while (ask(&watched.world, WEIRI_CLAIM, "b", 1, LONG_MS).answer != WEIRI_CLAIM_MINE) {
        turn(&watched.world);
    }
    CHECK_INT(ask(&watched.world, WEIRI_CLAIM, "a", 2, LONG_MS).answer, ==, WEIRI_CLAIM_BUSY);
    CHECK(strstr(watched.world.log, "is away") != NULL);
    CHECK(strstr(watched.world.log, "is back") != NULL);
    unwatch(&watched);
}

TEST(asks_no_replica,
     "a server that is the master no more is left, also while its connection lives")
{
    struct watched watched;
    char answer[256];
    watch(&watched, "", WEIR_SECONDS(20));
    CHECK_INT(ask(&watched.world, WEIRI_CLAIM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    redis_wait(watched.sentinel.port, "INFO sentinel", "slaves=1");
    redis_wait(watched.sentinel.port, "SENTINEL failover the-master", "+OK");
    redis_wait(watched.redis[1].port, "ROLE", "master");
    /* As the sentinel would after some ten seconds. */
    char command[64];
    (void)snprintf(command, sizeof(command), "REPLICAOF 127.0.0.1 %d", watched.redis[1].port);
    redis_wait(watched.redis[0].port, command, "OK");
    while (ask(&watched.world, WEIRI_CLAIM, "b", 1, LONG_MS).answer != WEIRI_CLAIM_MINE) {
        turn(&watched.world);
    }
    redis_say(watched.redis[1].port, "ROLE", answer, sizeof(answer));
    CHECK(strstr(answer, "master") != NULL);
    unwatch(&watched);
}

TEST(is_away_where_no_sentinel_knows, "a name that no sentinel knows is a Redis that is away")
{
    struct watched watched;
    char url[128];
    watch(&watched, "", WEIR_SECONDS(20));
    weiri_claims_close(watched.world.claims);
    (void)snprintf(url, sizeof(url), "redis+sentinel://127.0.0.1:%d/another",
                   watched.sentinel.port);
    open_claims(&watched.world, url, WEIR_SECONDS(20));
    CHECK_INT(ask(&watched.world, WEIRI_CLAIM, "a", 1, LONG_MS).answer, ==, WEIRI_CLAIM_AWAY);
    CHECK(strstr(watched.world.log, "its sentinels do not know it") != NULL);
    unwatch(&watched);
}

/* --- a Redis Cluster --- */

#define NODES 3
#define SLOTS 16384

struct sharded {
    struct world world;
    struct server node[NODES];
    char bus[NODES][8]; /* ports */
    char id[NODES][41];
};

static void shard_run(struct sharded *sharded, int i)
{
    char file[32];
    (void)snprintf(file, sizeof(file), "nodes%d.conf", i);
    const char *const options[] = {"--cluster-enabled",
                                   "yes",
                                   "--cluster-port",
                                   sharded->bus[i],
                                   "--cluster-config-file",
                                   file,
                                   "--cluster-node-timeout",
                                   "2000",
                                   NULL};
    redis_start_with(&sharded->node[i], options);
}

static void shard_start(struct sharded *sharded, int i)
{
    char command[128];
    char answer[256];
    (void)snprintf(sharded->bus[i], sizeof(sharded->bus[i]), "%d", test_port());
    shard_run(sharded, i);
    redis_say(sharded->node[i].port, "CLUSTER MYID", answer, sizeof(answer));
    CHECK(sscanf(answer, "$40 %40s", sharded->id[i]) == 1);
    (void)snprintf(command, sizeof(command), "CLUSTER ADDSLOTSRANGE %d %d", SLOTS * i / NODES,
                   SLOTS * (i + 1) / NODES - 1);
    redis_say(sharded->node[i].port, command, answer, sizeof(answer));
    CHECK(strncmp(answer, "+OK", 3) == 0);
    if (i > 0) {
        (void)snprintf(command, sizeof(command), "CLUSTER MEET 127.0.0.1 %d %s",
                       sharded->node[i].port, sharded->bus[i]);
        redis_say(sharded->node[0].port, command, answer, sizeof(answer));
        CHECK(strncmp(answer, "+OK", 3) == 0);
    }
}

/* Three nodes; the URL names a dead address and the first. */
static void shard(struct sharded *sharded, int64_t time_limit_ns)
{
    char url[128];
    memset(sharded, 0, sizeof(*sharded));
    for (int i = 0; i < NODES; i++) {
        shard_start(sharded, i);
    }
    for (int i = 0; i < NODES; i++) {
        redis_wait(sharded->node[i].port, "CLUSTER INFO", "cluster_state:ok");
    }
    (void)snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d,127.0.0.1:%d", test_port(),
                   sharded->node[0].port);
    open_claims(&sharded->world, url, time_limit_ns);
}

static void unshard(struct sharded *sharded)
{
    weiri_claims_close(sharded->world.claims);
    for (int i = 0; i < NODES; i++) {
        server_end(&sharded->node[i]);
    }
}

static int keys_of(const struct sharded *sharded, int i)
{
    char answer[64];
    int count = 0;
    redis_say(sharded->node[i].port, "DBSIZE", answer, sizeof(answer));
    CHECK(sscanf(answer, ":%d", &count) == 1);
    return count;
}

TEST(follows_moved, "claims are on all nodes of a Redis Cluster, of which one is named and another "
                    "address is dead; the first claim waits for that")
{
    struct sharded sharded;
    char body[16];
    shard(&sharded, WEIR_SECONDS(20));
    for (int i = 0; i < CLAIMS; i++) {
        (void)snprintf(body, sizeof(body), "%d/job", i);
        CHECK_INT(ask(&sharded.world, WEIRI_CLAIM, body, 1, LONG_MS).answer, ==, WEIRI_CLAIM_MINE);
    }
    for (int i = 0; i < CLAIMS; i++) {
        (void)snprintf(body, sizeof(body), "%d/job", i);
        CHECK_INT(ask(&sharded.world, WEIRI_CLAIM, body, 2, LONG_MS).answer, ==, WEIRI_CLAIM_BUSY);
        CHECK_INT(ask(&sharded.world, WEIRI_CLAIM_CONFIRM, body, 1, LONG_MS).answer, ==,
                  WEIRI_CLAIM_MINE);
    }
    for (int i = 0; i < NODES; i++) {
        CHECK_INT(keys_of(&sharded, i), >, 0);
    }
    unshard(&sharded);
}

/* A body with a claim on the second node. */
static struct asked claim_on_second(struct sharded *sharded, char *body, size_t size)
{
    struct asked asked;
    int before = keys_of(sharded, 1);
    int i = 0;
    do {
        (void)snprintf(body, size, "%d/of the second", i++);
        asked = ask(&sharded->world, WEIRI_CLAIM, body, 1, LONG_MS);
        CHECK_INT(asked.answer, ==, WEIRI_CLAIM_MINE);
    } while (keys_of(sharded, 1) == before);
    return asked;
}

static void set_slot(const struct sharded *sharded, int node, int slot, const char *what, int other)
{
    char command[128];
    char answer[64];
    (void)snprintf(command, sizeof(command), "CLUSTER SETSLOT %d %s %s", slot, what,
                   sharded->id[other]);
    redis_say(sharded->node[node].port, command, answer, sizeof(answer));
    CHECK(strncmp(answer, "+OK", 3) == 0);
}

static int slot_of(const struct sharded *sharded, const char *key)
{
    char command[128];
    char answer[64];
    int slot = -1;
    (void)snprintf(command, sizeof(command), "CLUSTER KEYSLOT %s", key);
    redis_say(sharded->node[0].port, command, answer, sizeof(answer));
    CHECK(sscanf(answer, ":%d", &slot) == 1);
    return slot;
}

TEST(waits_while_a_slot_moves, "claims of a slot that is being moved are away, on connections that "
                               "live on, and are found on its new node")
{
    struct sharded sharded;
    char body[32];
    char command[256];
    char answer[256];
    shard(&sharded, WEIR_SECONDS(20));
    struct asked held = claim_on_second(&sharded, body, sizeof(body));
    int slot = slot_of(&sharded, held.claim.key);
    set_slot(&sharded, 2, slot, "IMPORTING", 1);
    set_slot(&sharded, 1, slot, "MIGRATING", 2);
    sharded.world.log[0] = '\0';
    CHECK_INT(ask(&sharded.world, WEIRI_CLAIM_RENEW, body, 1, LONG_MS).answer, ==,
              WEIRI_CLAIM_AWAY);
    CHECK(strstr(sharded.world.log, "TRYAGAIN") != NULL);
    (void)snprintf(command, sizeof(command),
                   "MIGRATE 127.0.0.1 %d \"\" 0 5000 KEYS %s weir:attempts:{%s}",
                   sharded.node[2].port, held.claim.key, held.claim.key);
    redis_say(sharded.node[1].port, command, answer, sizeof(answer));
    CHECK(strncmp(answer, "+OK", 3) == 0);
    CHECK_INT(ask(&sharded.world, WEIRI_CLAIM_RENEW, body, 1, LONG_MS).answer, ==,
              WEIRI_CLAIM_AWAY);
    CHECK(strstr(sharded.world.log, "refuses: ASK") != NULL);
    /* To follow that would be of no use: of three keys one lacks. */
    (void)snprintf(command, sizeof(command),
                   "ASKING\r\nEVAL \"return 1\" 3 %s weir:attempts:{%s} weir:dead:{%s}",
                   held.claim.key, held.claim.key, held.claim.key);
    redis_say(sharded.node[2].port, command, answer, sizeof(answer));
    CHECK(strstr(answer, "-TRYAGAIN") != NULL);
    set_slot(&sharded, 2, slot, "NODE", 2);
    set_slot(&sharded, 1, slot, "NODE", 2);
    CHECK_INT(ask(&sharded.world, WEIRI_CLAIM, body, 2, LONG_MS).answer, ==, WEIRI_CLAIM_BUSY);
    CHECK_INT(ask(&sharded.world, WEIRI_CLAIM_CONFIRM, body, 1, LONG_MS).answer, ==,
              WEIRI_CLAIM_MINE);
    CHECK(strstr(sharded.world.log, "is away") == NULL);
    unshard(&sharded);
}

TEST(has_a_node_away, "while a node of a Redis Cluster is killed its claims are away, and found "
                      "again when it is back")
{
    struct sharded sharded;
    char body[32];
    shard(&sharded, WEIR_SECONDS(20));
    (void)claim_on_second(&sharded, body, sizeof(body));
    server_end(&sharded.node[1]);
    CHECK_INT(ask(&sharded.world, WEIRI_CLAIM, body, 2, LONG_MS).answer, ==, WEIRI_CLAIM_AWAY);
    shard_run(&sharded, 1); /* without its keys, which no disk had */
    while (ask(&sharded.world, WEIRI_CLAIM, body, 2, LONG_MS).answer != WEIRI_CLAIM_MINE) {
        turn(&sharded.world);
    }
    unshard(&sharded);
}

/* Three beanstalkds beside a Redis Cluster. */
static weir_broker *open_beside(const struct sharded *sharded, struct servers *servers,
                                struct ledger *ledger)
{
    char parts[64];
    char url[256];
    memset(servers, 0, sizeof(*servers));
    for (int i = 0; i < SERVER_NODES; i++) {
        node_start(servers, i);
    }
    (void)snprintf(parts, sizeof(parts), "claims=redis%%2Bcluster://127.0.0.1:%d",
                   sharded->node[0].port);
    servers_url(servers, parts, url, sizeof(url));
    return ledger_open(ledger, url);
}

TEST(releases_for_longer,
     "a job whose key is on a server of a Redis Cluster that is away goes back to "
     "its node for longer each time; the others run")
{
    struct sharded sharded;
    struct servers servers;
    struct ledger ledger = {.all = 0};
    char command[64];
    shard(&sharded, WEIR_SECONDS(20));
    weir_broker *broker = open_beside(&sharded, &servers, &ledger);
    server_end(&sharded.node[1]);
    ledger_put(broker, 0, JOBS);
    weir_consumer *consumer = ledger_start(broker, &ledger);
    int number = 1;
    long long releases = 0;
    while (releases < 3) {
        /* Numbers of jobs are theirs that were put. */
        number = number % JOBS + 1;
        (void)snprintf(command, sizeof(command), "stats-job %d", number);
        releases = node_number(&servers, 0, command, "releases");
    }
    CHECK_INT(node_number(&servers, 0, command, "delay"), >=, 4);
    shard_run(&sharded, 1);
    ledger_wait(consumer);
    weir_broker_close(broker);
    ledger_check(&ledger);
    servers_end(&servers);
    unshard(&sharded);
}

TEST(runs_each_job_once, "the copies of a job run once on three nodes with claims in a Redis "
                         "Cluster, which every server of it keeps some of")
{
    struct sharded sharded;
    struct servers servers;
    struct ledger ledger = {.all = 0};
    shard(&sharded, WEIR_SECONDS(20));
    weir_broker *broker = open_beside(&sharded, &servers, &ledger);
    ledger_put(broker, 0, JOBS);
    ledger_consume(broker, &ledger);
    weir_broker_close(broker);
    ledger_check(&ledger);
    for (int i = 0; i < NODES; i++) {
        CHECK_INT(keys_of(&sharded, i), >, 0);
    }
    servers_end(&servers);
    unshard(&sharded);
}
