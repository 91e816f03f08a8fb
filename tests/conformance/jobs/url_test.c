/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The suite by the URL of a broker, as a new back end runs it: WEIR_TEST_BROKERS=URL. */
#include <errno.h>

#include "conformance/jobs/place.h"
#include "support/changes.h"

/* Runs each case of a suite for the broker of a URL. */
static void run_suite(const char *suite, const char *url)
{
    char program[1024];
    int status;
    (void)snprintf(program, sizeof(program), WEIR_TEST_SUITES "/test.conformance.jobs.%s", suite);
    CHECK(setenv("WEIR_TEST_BROKERS", url, 1) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)execl(program, program, "--filter=_url", (char *)NULL);
        _exit(errno == ENOENT ? 127 : 126);
    }
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0); /* 77: all were skipped */
}

/* Jobs of others in a store, in tubes whose names begin as those of the tests. */
struct others {
    char url[512];
    int count;
};

static const char *const other_tubes[] = {"a", "t", "u", "v", "z"};

#define OTHER_TUBES (sizeof(other_tubes) / sizeof(other_tubes[0]))

static weir_broker *others_open(const struct others *others)
{
    weir_broker *broker = NULL;
    struct weir_error error;
    CHECK_STATUS(weir_broker_open(others->url, NULL, &broker, &error), WEIR_OK);
    return broker;
}

static void others_put(struct others *others)
{
    char folder[400];
    CHECK(getcwd(folder, sizeof(folder)) != NULL);
    (void)snprintf(others->url, sizeof(others->url), "sqlite:%s/jobs.db", folder);
    weir_broker *broker = others_open(others);
    for (size_t i = 0; i < OTHER_TUBES; i++) {
        const struct weir_body bodies[] = {{"job", 3, NULL}, {"other", 5, NULL}};
        const struct weir_put_options later = {.delay_ns = WEIR_SECONDS(36000), .key = "k"};
        const struct weir_put_options urgent = {.priority = -9, .group = "a"};
        struct weir_job_id ids[2];
        const char *text = ids[1].text;
        enum weir_status buried;
        CHECK_STATUS(weir_broker_put(broker, other_tubes[i], bodies, 1, &later, NULL, NULL),
                     WEIR_OK);
        CHECK_STATUS(weir_broker_put(broker, other_tubes[i], bodies, 2, &urgent, ids, NULL),
                     WEIR_OK);
        CHECK_STATUS(change_bury(broker, &text, 1, "why", &buried, NULL), WEIR_OK);
    }
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}

static int check_other(const struct weir_tube_counts *counts, void *arg)
{
    struct others *others = arg;
    others->count++;
    CHECK_INT(counts->delayed, ==, 1);
    CHECK_INT(counts->ready, ==, 1);
    CHECK_INT(counts->buried, ==, 1);
    CHECK_INT(counts->put, ==, 3);
    CHECK_INT(counts->done, ==, 0);
    return 0;
}

static int count_tube(const struct weir_tube_counts *counts, void *arg)
{
    struct others *others = arg;
    (void)counts;
    others->count++;
    return 0;
}

static void run_beside_others(const char *suite)
{
    struct others others = {.count = 0};
    others_put(&others);
    run_suite(suite, others.url);
    weir_broker *broker = others_open(&others);
    for (size_t i = 0; i < OTHER_TUBES; i++) {
        CHECK_STATUS(weir_broker_tubes(broker, other_tubes[i], check_other, &others, NULL),
                     WEIR_OK);
    }
    CHECK_INT(others.count, ==, OTHER_TUBES);
    CHECK_STATUS(weir_broker_tubes(broker, NULL, count_tube, &others, NULL), WEIR_OK);
    CHECK_INT(others.count, >, 2 * (int)OTHER_TUBES); /* it was that store */
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}

#define TEST_BESIDE(suite)                                                                         \
    TEST(suite, "each promise of " #suite " holds on a store with jobs of others, which stay")     \
    {                                                                                              \
        run_beside_others(#suite);                                                                 \
    }

TEST_BESIDE(attempts)
TEST_BESIDE(groups)
TEST_BESIDE(identity)
TEST_BESIDE(keys)
TEST_BESIDE(put)
TEST_BESIDE(run)
TEST_BESIDE(schedules)
TEST_BESIDE(tubes)

TEST(cluster, "a cluster is given by its URL as well")
{
    struct servers servers;
    char url[512];
    servers_start(&servers);
    servers_url(&servers, "min_written=3&claims=REDIS", url, sizeof(url));
    run_suite("put", url);
    servers_end(&servers);
}

TEST(words, "the brokers that are asked for are words, and a URL to the end")
{
    static const struct {
        const char *words;
        bool is_asked[2];
        const char *url;
    } rows[] = {{NULL, {true, true}, NULL},
                {"sqlite", {true, false}, NULL},
                {" cluster ", {false, true}, NULL},
                {"cluster sqlite", {true, true}, NULL},
                {"sqlite:a b", {false, false}, "sqlite:a b"},
                {"sqlite sqlite:a cluster", {true, false}, "sqlite:a cluster"},
                {"", {false, false}, NULL},
                {"SQLite", {false, false}, "SQLite"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].words == NULL) {
            CHECK(unsetenv("WEIR_TEST_BROKERS") == 0);
        } else {
            CHECK(setenv("WEIR_TEST_BROKERS", rows[i].words, 1) == 0);
        }
        CHECK((place_asked(ON_SQLITE) != NULL) == rows[i].is_asked[0]);
        CHECK((place_asked(ON_CLUSTER) != NULL) == rows[i].is_asked[1]);
        const char *url = place_asked(ON_URL);
        CHECK((url != NULL) == (rows[i].url != NULL));
        if (url != NULL) {
            CHECK_STRING(url, rows[i].url);
        }
    }
}
