/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The program on three beanstalkds and a Redis. */
#include "integration/program.h"

#include <jansson.h>
#include <stdlib.h>

#include "cluster/servers.h"

/* Starts the servers and names them as the broker. */
static void begin(struct servers *servers, const char *parts)
{
    char url[512];
    servers_start(servers);
    program_init();
    servers_url(servers, parts, url, sizeof(url));
    CHECK_INT(setenv("WEIR_BROKER", url, 1), ==, 0);
}

/* Puts a job and returns its id, to be freed. */
static char *put(const char *const words[])
{
    struct ended ended = program_expect(__FILE__, __LINE__, 0, words);
    ended.out[strcspn(ended.out, "\n")] = '\0';
    free(ended.err);
    return ended.out;
}

TEST(pause_warns, "a pause that is longer than the URL's `late` is told of")
{
    struct servers servers;
    char url[512];
    begin(&servers, "claims=REDIS");
    WEIR(0, "put", "t", "x");
    struct ended ended = WEIR_EXPECT(0, "pause", "t", "31m");
    CHECK_STRING(ended.err, "");
    ended_free(&ended);
    servers_url(&servers, "claims=REDIS&late=30m", url, sizeof(url));
    CHECK_INT(setenv("WEIR_BROKER", url, 1), ==, 0);
    ended = WEIR_EXPECT(0, "pause", "t", "31m");
    CHECK(strstr(ended.err, "tube t: the pause is longer than 30m, after which a job is late") !=
          NULL);
    ended_free(&ended);
    servers_end(&servers);
}

TEST(commands, "put, rm, work, kick and ls --next on a cluster do what they do on a store")
{
    struct servers servers;
    begin(&servers, "claims=REDIS");
    char *at = put(WORDS("put", "--at", "2030-01-31T08:00:00Z", "t", "later"));
    char *now = put(WORDS("put", "t", "now"));
    CHECK_INT(program_count("t", "delayed"), ==, 3);
    WEIR(64, "put", "--at", "@5", "t", "past");
    WEIR(0, "rm", at);
    WEIR(66, "rm", at);
    struct ended ended = WEIR_EXPECT(64, "rm", "17");
    CHECK(strstr(ended.err, "expected endpoint/tube/number") != NULL);
    ended_free(&ended);
    WEIR(65, "kick", now);
    WEIR(1, "work", "-e", "--attempts", "1", "t", "--", "false");
    CHECK_INT(program_count("t", "buried"), ==, 3);
    WEIR(69, "kick", "--rate", "5", "t");
    ended = WEIR_EXPECT(0, "kick", "t");
    CHECK_STRING(ended.out, "kicked 1 job\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "work", "-e", "t", "--", "cat");
    CHECK_STRING(ended.out, "now");
    ended_free(&ended);
    WEIR(69, "ls", "--next", "--state", "reserved", "t");
    WEIR(69, "cancel", now);
    WEIR(69, "kick", "--retries", "t");
    WEIR(69, "kick", "--dead");
    char *aside = put(WORDS("put", "--delay", "1h", "t", "aside"));
    ended = WEIR_EXPECT(65, "kick", aside);
    CHECK(strstr(ended.err, "is delayed; expected a job that is buried\n") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(69, "ls", "t");
    CHECK(strstr(ended.err, "weir ls --next") != NULL);
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "why", aside);
    CHECK(strstr(ended.out, " is delayed: its time has not come; it can start at 20") != NULL);
    ended_free(&ended);
    WEIR(0, "pause", "t");
    ended = WEIR_EXPECT(0, "why", aside);
    CHECK(strstr(ended.out, "tube t is paused; it can start when that is resumed") != NULL);
    ended_free(&ended);
    WEIR(0, "resume", "t");
    WEIR(0, "bury", aside);
    CHECK_INT(program_count("t", "buried"), ==, 3);
    ended = WEIR_EXPECT(0, "ls");
    CHECK(strstr(ended.out, "t\n") != NULL);
    ended_free(&ended);
    WEIR(69, "rm", "--tube", "t", "--text", "x");
    WEIR(0, "rm", "--tube", "t", "--state", "buried", "--dry-run");
    CHECK_INT(program_count("t", "buried"), ==, 3);
    WEIR(0, "rm", "--tube", "t", "--state", "buried");
    CHECK_INT(program_count("t", "buried"), ==, 0);
    WEIR(66, "rm", aside);
    /* Nodes forget tubes that are empty. */
    ended = WEIR_EXPECT(0, "stats", "--json", "never");
    CHECK(strstr(ended.out, "\"tube\":\"never\",\"delayed\":0,\"ready\":0") != NULL);
    ended_free(&ended);
    free(aside);
    free(at);
    free(now);
    servers_end(&servers);
}

/* The n-th line of a text, cut out. */
static char *line(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text = strchr(text, '\n');
        CHECK(text != NULL);
        text++;
    }
    return strndup(text, strcspn(text, "\n"));
}

TEST(stats, "stats shows every server of a cluster with its state, then the tubes; in JSON too")
{
    struct servers servers;
    begin(&servers, "claims=REDIS");
    free(put(WORDS("put", "t", "x")));
    server_end(&servers.node[1]);
    struct ended ended = WEIR_EXPECT(0, "stats");
    static const char *const parts[][2] = {
        {"NODE ", "STATE"}, {" up ", " on "}, {" away ", "refused"}, {" up ", " on "},
        {"redis ", " up "}, {"", ""},         {"TUBE ", "DELAYED"},  {"t ", " 2 "}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char *found = line(ended.out, i);
        if (strstr(found, parts[i][0]) == NULL || strstr(found, parts[i][1]) == NULL) {
            test_fail(__FILE__, __LINE__, "line %zu: \"%s\"", i, found);
        }
        free(found);
    }
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "stats", "--json");
    char *second = line(ended.out, 1);
    json_t *object = json_loads(second, 0, NULL);
    CHECK_STRING(json_string_value(json_object_get(object, "state")), "away");
    CHECK(json_string_length(json_object_get(object, "why")) > 0);
    json_decref(object);
    free(second);
    char *third = line(ended.out, 2);
    object = json_loads(third, 0, NULL);
    CHECK(json_is_true(json_object_get(object, "binlog")));
    CHECK_INT(json_integer_value(json_object_get(object, "ready")), ==, 1);
    json_decref(object);
    free(third);
    ended_free(&ended);
    for (int i = 0; i < SERVER_NODES; i++) {
        server_end(&servers.node[i]);
    }
    ended = WEIR_EXPECT(69, "stats");
    CHECK(strstr(ended.out, "redis ") != NULL);
    CHECK(strstr(ended.err, "no node answered") != NULL);
    ended_free(&ended);
    servers_end(&servers);
}

TEST(doctor, "a Redis that is away is one finding of doctor, which names the reason")
{
    struct servers servers;
    char parts[64];
    char answer[64];
    char url[512];
    begin(&servers, "");
    redis_say(servers.redis.port, "CONFIG SET requirepass secret", answer, sizeof(answer));
    (void)snprintf(parts, sizeof(parts), "claims=redis://:wrong@127.0.0.1:%d", servers.redis.port);
    servers_url(&servers, parts, url, sizeof(url));
    CHECK_INT(setenv("WEIR_BROKER", url, 1), ==, 0);
    struct ended ended = WEIR_EXPECT(1, "doctor");
    const char *finding = strstr(ended.out, "problem: redis: ");
    CHECK(finding == ended.out && strstr(finding, "it does not answer: WRONGPASS ") != NULL);
    CHECK(strstr(finding + 1, "problem: ") == NULL);
    ended_free(&ended);
    servers_end(&servers);
}

TEST(move, "move takes a tube from a store to a cluster and back, and prints the ledger")
{
    struct servers servers;
    begin(&servers, "claims=REDIS");
    const char *cluster = getenv("WEIR_BROKER");
    for (int i = 0; i < 4; i++) {
        WEIR(0, "put", "--broker", "sqlite:jobs.db", "--delay", i < 2 ? "1h" : "0s", "t", "same");
    }
    WEIR(0, "put", "--broker", "sqlite:jobs.db", "--priority", "-9", "t", "stays");
    struct ended ended = WEIR_EXPECT(75, "move", "--from", "sqlite:jobs.db", "--to", cluster, "t");
    CHECK_STRING(ended.out, "t: 5 found, 4 moved, 0 repeated, 1 left, 0 in both\n");
    CHECK(strstr(ended.err, "job 5: priority -9") != NULL);
    CHECK(strstr(ended.err, "1 in the source still") != NULL);
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready") + program_count("t", "delayed"), ==, 12);
    ended = WEIR_EXPECT(0, "move", "--json", "--to", "sqlite:back.db", "t");
    CHECK_STRING(ended.out, "{\"tube\":\"t\",\"found\":12,\"moved\":4,\"repeated\":8,"
                            "\"left\":0,\"both\":0}\n");
    ended_free(&ended);
    CHECK_INT(program_count("t", "ready") + program_count("t", "delayed"), ==, 0);
    CHECK_INT(setenv("WEIR_BROKER", "sqlite:back.db", 1), ==, 0);
    while (program_count("t", "ready") < 2) { /* a move adds less than a second to run times */
    }
    CHECK_INT(program_count("t", "ready"), ==, 2);
    CHECK_INT(program_count("t", "delayed"), ==, 2);
    servers_end(&servers);
}

TEST(bench, "bench measures a cluster, with and without claims, and leaves no job there")
{
    static const char *const parts[] = {"", "claims=REDIS"};
    for (size_t i = 0; i < 2; i++) {
        struct servers servers;
        begin(&servers, parts[i]);
        struct ended ended = WEIR_EXPECT(0, "bench", "--json", "-t", "20ms", getenv("WEIR_BROKER"));
        CHECK(strstr(ended.out, "from a put to its start") != NULL);
        CHECK(strstr(ended.out, "the disk") == NULL);
        ended_free(&ended);
        ended = WEIR_EXPECT(0, "ls");
        CHECK_STRING(ended.out, "");
        ended_free(&ended);
        servers_end(&servers);
    }
}
