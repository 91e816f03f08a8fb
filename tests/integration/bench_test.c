/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "integration/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

/* `weir bench`. */

static void expect_nothing_left(void)
{
    static const char *const names[] = {"b.db", "b.db-wal", "b.db-shm", "b.db.lock", "b.db-page"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CHECK_INT(access(names[i], F_OK), ==, -1);
    }
}

TEST(measures, "each way is measured, with the disk beside them, and nothing is left")
{
    static const char *const expected[] = {"the disk: pages written and flushed",
                                           "puts, one after the other",
                                           "puts of 16 threads",
                                           "puts in batches of 100",
                                           "jobs worked off by 4 workers",
                                           "from a put to its start"};
    program_init();
    struct ended ended =
        program_run(WORDS("bench", "--json", "--time", "30ms", "--body-size", "10", "sqlite:b.db"));
    CHECK_INT(ended.code, ==, 0);
    CHECK_STRING(ended.err, "");
    const char *line = ended.out;
    int64_t put = 0;
    for (size_t i = 0; i < 6; i++) {
        size_t size = strcspn(line, "\n");
        json_t *object = json_loadb(line, size, 0, NULL);
        CHECK_STRING(json_string_value(json_object_get(object, "what")), expected[i]);
        CHECK(json_real_value(json_object_get(object, "per_second")) > 0);
        int64_t count = json_integer_value(json_object_get(object, "count"));
        int64_t p50 = json_integer_value(json_object_get(object, "p50_ns"));
        CHECK_INT(count, >, 0);
        CHECK_INT(json_integer_value(json_object_get(object, "p99_ns")), >=, p50);
        CHECK(i == 4 ? p50 == 0 : p50 > 0);
        put += i >= 1 && i <= 3 ? count : 0;
        CHECK_INT(i == 4 ? count : put, ==, put);
        json_decref(object);
        line += size + 1;
    }
    CHECK_STRING(line, "");
    ended_free(&ended);
    expect_nothing_left();
    ended = WEIR_EXPECT(0, "bench", "-t", "5ms", "sqlite:b.db");
    CHECK(strncmp(ended.out, "WHAT ", 5) == 0);
    ended_free(&ended);
    expect_nothing_left();
}

TEST(refused, "a store that exists, and what makes no sense, is refused and left as it was")
{
    program_init();
    write_file("b.db", "mine", 4, 0600);
    WEIR(73, "bench", "sqlite:b.db");
    char *text = read_file("b.db", NULL);
    CHECK_STRING(text, "mine");
    free(text);
    WEIR(64, "bench");
    WEIR(64, "bench", "sqlite:c.db", "x");
    WEIR(64, "bench", "http:c.db");
    WEIR(64, "bench", "--broker", "sqlite:d.db", "sqlite:c.db");
    WEIR(64, "bench", "--time", "0s", "sqlite:c.db");
    WEIR(64, "bench", "--body-size", "2000000", "sqlite:c.db");
    WEIR(73, "bench", "sqlite:nowhere/c.db");
    CHECK_INT(access("c.db", F_OK), ==, -1);
}

TEST(interrupted, "a signal ends it early, and nothing is left")
{
    program_init();
    struct running running = program_start("", 0, WORDS("bench", "-t", "1000s", "sqlite:b.db"));
    WAIT_UNTIL(access("b.db-page", F_OK) == 0);
    CHECK_INT(kill(running.pid, SIGINT), ==, 0);
    struct ended ended = program_wait(&running);
    CHECK_INT(ended.code, ==, 0);
    ended_free(&ended);
    expect_nothing_left();
}
