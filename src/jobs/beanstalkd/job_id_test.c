/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Ids, run times and facts of jobs. */
#include "jobs/beanstalkd/cluster.h"

#include "support/harness.h"

static struct weiri_cluster cluster = {
    .options = {.nodes = {{.text = "h:1"}, {.text = "h:11"}, {.text = "%2Frun%2Fb.sock"}},
                .node_count = 3}};

TEST(reads_what_it_writes,
     "an id holds its copies, also one without a number, and where a tube has slashes or looks "
     "like one, with and without a tag")
{
    static const char *const tubes[] = {"t", "a/b", "/", "a/7"};
    for (size_t i = 0; i < 4; i++) {
        struct weir_job_id id = {""};
        struct weiri_copy_id copies[WEIRI_NODES_MAX];
        size_t count = 0;
        struct weir_error error;
        CHECK(weiri_id_add(&id, "h:11", tubes[i], 1, "0123456789abcdef"));
        CHECK(weiri_id_add(&id, "h:1", tubes[i], UINT64_MAX, ""));
        CHECK(weiri_id_add(&id, "%2Frun%2Fb.sock", tubes[i], 0, "01234567"));
        CHECK_STATUS(weiri_id_parse(&cluster, id.text, copies, &count, &error), WEIR_OK);
        for (size_t j = 0; j < 3; j++) {
            CHECK_STRING(copies[j].tube, tubes[i]);
            CHECK_STRING(copies[j].tag, j == 1 ? "" : "01234567");
        }
        CHECK_INT(count, ==, 3);
        CHECK_INT(copies[0].node, ==, 1);
        CHECK_INT(copies[1].node, ==, 0);
        CHECK_INT(copies[2].node, ==, 2);
        CHECK(copies[0].number == 1 && copies[1].number == UINT64_MAX && copies[2].number == 0);
    }
}

TEST(knows_who_left, "a copy on a node that the broker's URL does not name is a copy all the same")
{
    static const char *const ids[] = {"h:2/t/1", "h:111/t/1", "%2Frun%2Fc.sock/t/1", "[::1]:1/t/1"};
    for (size_t i = 0; i < 4; i++) {
        struct weiri_copy_id copies[WEIRI_NODES_MAX];
        size_t count = 0;
        struct weir_error error;
        CHECK_STATUS(weiri_id_parse(&cluster, ids[i], copies, &count, &error), WEIR_OK);
        CHECK_INT(count, ==, 1);
        CHECK_INT(copies[0].node, ==, 3);
        CHECK(copies[0].text == ids[i] && copies[0].number == 1);
    }
}

TEST(refuses_bad_ids, "an id that no put of this cluster has made is refused, with its place")
{
    static const struct {
        const char *id;
        const char *words;
    } rows[] = {
        {"", "\"\" at offset 0"},
        {",", "\"\" at offset 0"},
        {"1", "\"1\" at offset 0"},
        {"h:1", "\"h:1\" at offset 0"},
        {"h:1/", "offset 0"},
        {"h:1/t", "offset 0"},
        {"h:1//1", "offset 0"},
        {"h:1/t/", "offset 0"},
        {"h:1/t/00", "offset 0"},
        {"h:1/t/01", "offset 0"},
        {"h:1/t/-1", "offset 0"},
        {"h:1/t/1x", "offset 0"},
        {"h:1/t/18446744073709551616", "offset 0"},
        {"h:1/a b/1", "offset 0"},
        {"h/t/1", "offset 0"},
        {"h:/t/1", "offset 0"},
        {"h:x/t/1", "offset 0"},
        {":1/t/1", "offset 0"},
        {"h:1/t/1.", "offset 0"},
        {"h:1/t/.01234567", "offset 0"},
        {"h:1/t/1.0123456", "offset 0"},
        {"h:1/t/1.012345678", "offset 0"},
        {"h:1/t/1.0123456A", "offset 0"},
        {"h:1/t/1.01234567.", "offset 0"},
        {"h:1/t/1,", "\"\" at offset 8"},
        {"h:1/t/1,h:2/t", "\"h:2/t\" at offset 8"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_copy_id copies[WEIRI_NODES_MAX];
        size_t count;
        struct weir_error error;
        if (weiri_id_parse(&cluster, rows[i].id, copies, &count, &error) != WEIR_EINVAL ||
            strstr(error.text, rows[i].words) == NULL) {
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].id, error.text);
        }
    }
    struct weir_job_id full = {""};
    while (weiri_id_add(&full, "h:1", "tube", 1, "")) {
    }
    CHECK_INT(strlen(full.text), <, WEIR_JOB_ID_SIZE);
    CHECK_INT(full.text[strlen(full.text) - 1], ==, '1');
}

TEST(reads_run_times, "a body begins with its run time and a slash, as dq's, or is none of ours")
{
    static const struct {
        const char *body;
        size_t size; /* of the stamp; 0: it has none */
        int64_t run_at_ns;
    } rows[] = {{"1/job", 2, 1},
                {"0/", 2, 0},
                {"9223372036854775807/x", 20, INT64_MAX},
                {"9223372036854775808/x", 0, 0},
                {"12/34/", 3, 12},
                {"/job", 0, 0},
                {"job", 0, 0},
                {"-1/job", 0, 0},
                {"1 /job", 0, 0},
                {"0000000000000000000000001/x", 0, 0},
                {"", 0, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t run_at = -1;
        size_t size = 0;
        bool is_stamped = weiri_stamp_read(rows[i].body, strlen(rows[i].body), &run_at, &size);
        CHECK_INT(is_stamped, ==, rows[i].size > 0);
        CHECK_INT(size, ==, rows[i].size);
        CHECK_INT(run_at, ==, is_stamped ? rows[i].run_at_ns : -1);
    }
    char text[WEIRI_STAMP_SIZE];
    CHECK_INT(weiri_stamp_write(INT64_MAX, text), ==, 20);
    CHECK_STRING(text, "9223372036854775807/");
}

TEST(reads_facts, "what a node tells of a job is read, limited to what fits, or refused whole")
{
    static const char body[] = "---\nid: 1\ntube: a/b\nstate: buried\npri: 4294967295\nage: 5\n"
                               "delay: 0\nttr: 0\ntime-left: 0\n"
                               "reserves: 99999999999\nkicks: 2\n";
    static const char running[] = "---\nid: 1\ntube: a\nstate: reserved\npri: 2\nage: 5\nttr: 9\n"
                                  "time-left: 7\nreserves: 1\nkicks: 0\n";
    struct weiri_job_stats stats;
    struct weir_job job = {.attempts = 0};
    CHECK(weiri_job_stats_read(body, sizeof(body) - 1, WEIR_SECONDS(100), &stats, &job));
    CHECK_STRING(stats.tube, "a/b");
    CHECK_INT(stats.priority, ==, UINT32_MAX);
    CHECK_INT(stats.kicks, ==, 2);
    CHECK_INT(job.state, ==, WEIR_JOB_BURIED);
    CHECK_INT(job.priority, ==, INT32_MAX);
    CHECK_INT(job.ttr_ns, ==, WEIR_SECONDS(1));
    CHECK_INT(job.created_ns, ==, WEIR_SECONDS(95));
    CHECK_INT(job.attempts, ==, UINT32_MAX);
    CHECK_INT(job.reserved_until_ns, ==, 0);
    CHECK(weiri_job_stats_read(running, sizeof(running) - 1, WEIR_SECONDS(100), &stats, &job));
    CHECK_INT(job.reserved_until_ns, ==, WEIR_SECONDS(107));
    for (size_t size = 0; size + 2 < sizeof(body); size++) {
        struct weir_job other = {.attempts = 0};
        CHECK(!weiri_job_stats_read(body, size, 0, &stats, &other) || size > sizeof(body) - 4);
    }
}
