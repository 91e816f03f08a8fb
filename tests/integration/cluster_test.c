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

TEST(commands, "put, at, revoke, work, kick and peek on a cluster do what they do on a store")
{
    struct servers servers;
    begin(&servers, "claims=REDIS");
    char *at = put(WORDS("at", "t", "2030-01-31T08:00:00Z", "later"));
    char *now = put(WORDS("put", "t", "now"));
    CHECK_INT(program_count("t", "delayed"), ==, 3);
    WEIR(64, "at", "t", "@5", "past");
    WEIR(0, "revoke", at);
    WEIR(66, "revoke", at);
    struct ended ended = WEIR_EXPECT(64, "revoke", "17");
    CHECK(strstr(ended.err, "expected endpoint/tube/number") != NULL);
    ended_free(&ended);
    WEIR(65, "kick", "--ids", now);
    WEIR(1, "work", "-e", "--attempts", "1", "t", "--", "false");
    CHECK_INT(program_count("t", "buried"), ==, 1);
    ended = WEIR_EXPECT(0, "kick", "t");
    CHECK_STRING(ended.out, "kicked 1 job\n");
    ended_free(&ended);
    ended = WEIR_EXPECT(0, "work", "-e", "t", "--", "cat");
    CHECK_STRING(ended.out, "now");
    ended_free(&ended);
    WEIR(69, "peek", "--state", "reserved", "t");
    free(at);
    free(now);
    servers_end(&servers);
}
