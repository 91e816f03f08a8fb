/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/cluster_options.h"

#include "support/harness.h"

static const char *const three[] = {"A.example:1", "[::1]", "%2Frun%2Fb.sock"};

static struct weir_cluster_options all_of(const char *const *nodes, size_t count)
{
    struct weir_cluster_options options = {0};
    options.nodes = nodes;
    options.node_count = count;
    return options;
}

TEST_OOM(reads_all_options, "options are copied, with their texts")
{
    struct weir_cluster_options given = all_of(three, 3);
    given.replicas = 2;
    given.min_written = 1;
    given.claims = "redis://u:p@h:6379/2";
    given.time_limit_ns = WEIR_MS(250);
    given.late_ns = WEIR_FOREVER;
    given.lease_ns = WEIR_SECONDS(30);
    given.flags = WEIR_CLUSTER_RUN_UNCLAIMED;
    struct weiri_cluster_options options;
    struct weir_error error;
    if (CHECK_OR_OOM(
            weiri_cluster_options_read(test_allocator(), &given, NULL, &options, &error))) {
        return;
    }
    CHECK_INT(options.node_count, ==, 3);
    CHECK_STRING(options.nodes[0].text, "a.example:1");
    CHECK_STRING(options.nodes[1].host, "::1");
    CHECK_STRING(options.nodes[2].path, "/run/b.sock");
    CHECK_INT(options.replicas, ==, 2);
    CHECK_INT(options.min_written, ==, 1);
    CHECK(options.claims != given.claims);
    CHECK_STRING(options.claims, "redis://u:p@h:6379/2");
    CHECK_INT(options.time_limit_ns, ==, WEIR_MS(250));
    CHECK_INT(options.late_ns, ==, WEIR_FOREVER);
    CHECK_INT(options.lease_ns, ==, WEIR_SECONDS(30));
    CHECK(options.runs_unclaimed);
    weiri_cluster_options_free(test_allocator(), &options);
}

TEST(fills_in_defaults, "zero is the default of every option but the nodes")
{
    struct weir_cluster_options given = all_of(three, 3);
    struct weiri_cluster_options options;
    struct weir_error error;
    CHECK_STATUS(weiri_cluster_options_read(test_allocator(), &given, NULL, &options, &error),
                 WEIR_OK);
    CHECK_INT(options.replicas, ==, 3);
    CHECK_INT(options.min_written, ==, 2);
    CHECK_INT(options.time_limit_ns, ==, WEIR_SECONDS(5));
    CHECK_INT(options.late_ns, ==, WEIR_FOREVER);
    CHECK_INT(options.lease_ns, ==, WEIR_SECONDS(5));
    CHECK_INT(options.remember_ns, ==, WEIR_SECONDS(86400));
    CHECK(options.claims == NULL && !options.runs_unclaimed);
    weiri_cluster_options_free(test_allocator(), &options);
}

static const char *const one[] = {"a"};
static const char *const twice[] = {"a", "A:11300"};
static const char *const with_null[] = {"a", NULL};
static const char *const malformed[] = {"a", "b c"};
static const char *const two[] = {"a", "b"};
static const char *many[65];

#define ROW(words, status, ...)                                                                    \
    {                                                                                              \
        words, status,                                                                             \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

TEST(refuses_bad_options, "each option that is wrong is refused, and the message says which")
{
    for (size_t i = 0; i < 65; i++) {
        many[i] = "a";
    }
    const struct {
        const char *words; /* in the error */
        enum weir_status status;
        struct weir_cluster_options options;
    } rows[] = {
        ROW("names 0 node", WEIR_EINVAL, .node_count = 0),
        ROW("node 0 of the cluster is NULL", WEIR_EINVAL, .node_count = 2),
        ROW("node 1 of the cluster is NULL", WEIR_EINVAL, .nodes = with_null, .node_count = 2),
        ROW("names 65 nodes", WEIR_EINVAL, .nodes = many, .node_count = 65, .replicas = 1),
        ROW("names 1 node", WEIR_EINVAL, .nodes = one, .node_count = 1),
        ROW("names a:11300 twice", WEIR_EINVAL, .nodes = twice, .node_count = 2),
        ROW("\"b c\"", WEIR_EINVAL, .nodes = malformed, .node_count = 2),
        ROW("replicas=3", WEIR_EINVAL, .nodes = two, .node_count = 2, .replicas = 3),
        ROW("replicas=4294967295", WEIR_EINVAL, .nodes = two, .node_count = 2,
            .replicas = UINT32_MAX),
        ROW("min_written=3", WEIR_EINVAL, .nodes = two, .node_count = 2, .min_written = 3),
        ROW("time_limit", WEIR_ERANGE, .nodes = two, .node_count = 2, .time_limit_ns = -1),
        ROW("late", WEIR_ERANGE, .nodes = two, .node_count = 2, .late_ns = INT64_MIN),
        ROW("lease", WEIR_ERANGE, .nodes = two, .node_count = 2, .lease_ns = -1),
        ROW("remember", WEIR_ERANGE, .nodes = two, .node_count = 2, .remember_ns = -1),
        ROW("remember=0ms: expected 2m", WEIR_ERANGE, .nodes = two, .node_count = 2,
            .remember_ns = 1),
        ROW("remember=119999ms", WEIR_ERANGE, .nodes = two, .node_count = 2,
            .remember_ns = WEIR_SECONDS(120) - 1),
        ROW("flags 0x2", WEIR_EINVAL, .nodes = two, .node_count = 2, .flags = 2),
        ROW("claims", WEIR_EINVAL, .nodes = two, .node_count = 2, .claims = "http://u:secret@h"),
        ROW("claims", WEIR_EINVAL, .nodes = two, .node_count = 2, .claims = ""),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        weir_broker *broker = NULL;
        struct weir_error error;
        struct weir_broker_options options = {0};
        options.allocator = *test_allocator();
        enum weir_status status =
            weir_broker_open_cluster(&rows[i].options, &options, &broker, &error);
        CHECK(broker == NULL);
        CHECK(strstr(error.text, "secret") == NULL);
        if (status != rows[i].status || strstr(error.text, rows[i].words) == NULL) {
            test_fail(__FILE__, __LINE__, "row %zu: %s: %s", i, weir_status_name((int)status),
                      error.text);
        }
    }
}

TEST(refuses_null,
     "no options, and no place for the result, are refused; a message may be unwanted")
{
    struct weir_cluster_options given = all_of(two, 2);
    weir_broker *broker = NULL;
    struct weir_error error;
    CHECK_STATUS(weir_broker_open_cluster(NULL, NULL, &broker, &error), WEIR_EINVAL);
    CHECK(strstr(error.text, "cluster is NULL") != NULL);
    CHECK_STATUS(weir_broker_open_cluster(&given, NULL, NULL, &error), WEIR_EINVAL);
    CHECK(strstr(error.text, "ret_broker is NULL") != NULL);
    CHECK_STATUS(weir_broker_open_cluster(NULL, NULL, NULL, NULL), WEIR_EINVAL);
}

TEST_OOM(opens_without_memory, "opening survives every allocation that fails")
{
    static const char *const nowhere[] = {"127.0.0.1:1", "127.0.0.1:2"};
    struct weir_cluster_options given = all_of(nowhere, 2);
    given.claims = "redis://127.0.0.1:1";
    weir_broker *broker = NULL;
    struct weir_error error;
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    enum weir_status status = weir_broker_open_cluster(&given, &options, &broker, &error);
    weir_broker_close(broker);
    CHECK(!CHECK_OR_OOM(status) || status != WEIR_OK);
}
