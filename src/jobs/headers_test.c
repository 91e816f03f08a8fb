/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Headers of jobs: what they may be, and that a store keeps them. */
#include <weir/admin.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

#define SOME "traceparent=00-1\ncontent-type=text/plain; x=\xff\n"

TEST(check, "headers are lines NAME=VALUE, each name once, of the allowed bytes")
{
    static const struct {
        const char *text;
        size_t offset; /* of the fault */
    } bad[] = {
        {"a", 1},
        {"a=1", 1},
        {"=1\n", 0},
        {"A=1\n", 0},
        {"a=1\n\n", 4},
        {"a_b=1\n", 1},
        {"a=1\nb=2\na=3\n", 8},
        {"a =1\n", 1},
        {"a=1\nb\n", 5},
        {"n2345678901234567890123456789012345678901234567890123456789012345=\n", 65},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t offset = 99;
        enum weir_status status = weir_headers_check(bad[i].text, &offset);
        if (status != WEIR_EINVAL || offset != bad[i].offset) {
            test_fail(__FILE__, __LINE__, "row %zu: status %d, offset %zu", i, (int)status, offset);
        }
    }
    static const char *const good[] = {
        "",   "a=\n",        "a=b=c\n",
        SOME, "a=1\naa=2\n", "n234567890123456789012345678901234567890123456789012345678901234=\n",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        CHECK_STATUS(weir_headers_check(good[i], NULL), WEIR_OK);
    }
    char text[WEIR_HEADERS_SIZE_MAX + 2];
    memset(text, 'x', sizeof(text));
    memcpy(text, "a=", 2);
    memcpy(text + WEIR_HEADERS_SIZE_MAX - 1, "\n", 2);
    CHECK_STATUS(weir_headers_check(text, NULL), WEIR_OK);
    memcpy(text + WEIR_HEADERS_SIZE_MAX - 1, "x\n", 3);
    CHECK_STATUS(weir_headers_check(text, NULL), WEIR_ETOOBIG);
    CHECK_STATUS(weir_headers_check(NULL, NULL), WEIR_EINVAL);
}

TEST(lookup, "a header is found by its whole name")
{
    size_t size = 99;
    const struct weir_job job = {.headers = "aa=2\na=1\n"};
    const struct weir_job none = {.headers = ""};
    const struct weir_job unknown = {.headers = NULL};
    const char *value = weir_job_header(&job, "a", &size);
    CHECK(value != NULL && size == 1 && value[0] == '1');
    CHECK(weir_job_header(&job, "aa", NULL) == job.headers + 3);
    CHECK(weir_job_header(&job, "aaa", &size) == NULL);
    CHECK(weir_job_header(&job, "", &size) == NULL);
    CHECK(weir_job_header(&none, "a", &size) == NULL);
    CHECK(weir_job_header(&unknown, "a", &size) == NULL);
    CHECK(weir_job_header(NULL, "a", &size) == NULL);
    CHECK(weir_job_header(&job, NULL, &size) == NULL);
}

static int expect_headers(const struct weir_job *job, void *arg)
{
    CHECK_STRING(job->headers, arg);
    CHECK_STRING(job->body, "x");
    return 0;
}

static char some[] = SOME;
static char empty[] = "";

static void check_headers(weir_broker *broker, const char *id, char *headers)
{
    CHECK_STATUS(weir_broker_peek_id(broker, id, expect_headers, headers, NULL), WEIR_OK);
}

TEST(kept, "a store keeps headers: for workers, looks, and puts that replace")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {0};
    options.headers = SOME;
    options.key = "k";
    options.on_duplicate = WEIR_DUPLICATE_REPLACE;
    (void)jobs_put(broker, "t", "x", &options);
    check_headers(broker, "1", some);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STRING(job->job.headers, SOME);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, 0, "once"), WEIR_OK);
    jobs_free_one(broker, job);
    options.headers = NULL;
    (void)jobs_put(broker, "t", "x", &options);
    check_headers(broker, "1", empty);
    options.headers = "";
    (void)jobs_put(broker, "t", "x", &options);
    check_headers(broker, "1", empty);
    weir_broker_close(broker);
}

TEST(moved, "a move to another store takes headers along, also beside an equal job without")
{
    weir_broker *from = jobs_store_open("from.db", &wall);
    weir_broker *to = jobs_store_open("to.db", &wall);
    struct weir_put_options options = {0};
    options.headers = SOME;
    (void)jobs_put(from, "t", "x", &options);
    options.headers = NULL;
    options.run_at_ns = JOBS_WALL_START + 1;
    options.flags = WEIR_PUT_PAST_OK;
    (void)jobs_put(to, "t", "x", &options);
    struct weir_move_counts counts;
    CHECK_STATUS(weir_broker_move(from, to, "t", NULL, NULL, &counts, NULL), WEIR_OK);
    CHECK_INT(counts.moved, ==, 1);
    check_headers(to, "1", empty);
    check_headers(to, "2", some);
    weir_broker_close(from);
    weir_broker_close(to);
}

TEST(damaged, "headers that were damaged on disk show as damage")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    struct weir_put_options options = {0};
    options.headers = SOME;
    (void)jobs_put(broker, "t", "x", &options);
    CHECK_INT(
        sqlite3_exec(store->writer.db, "UPDATE jobs SET told = x'613d0a00'", NULL, NULL, NULL), ==,
        SQLITE_OK);
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 25, &list);
    CHECK_INT(exchange.reserved_count, ==, 0);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 1);
    weir_broker_close(broker);
}

TEST(damaged_alike, "damage is seen where headers and body are equal, and changed alike")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    const struct weir_body body = {"a=1\n", sizeof("a=1\n"), NULL};
    const struct weir_put_options options = {.headers = "a=1\n"};
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, NULL), WEIR_OK);
    CHECK_INT(sqlite3_exec(store->writer.db,
                           "UPDATE jobs SET body = x'623d310a00', told = x'623d310a00'", NULL, NULL,
                           NULL),
              ==, SQLITE_OK);
    struct weiri_list list;
    CHECK_INT(jobs_reserve(broker, "t", 1, 25, &list).reserved_count, ==, 0);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 1);
    weir_broker_close(broker);
}

TEST(refused, "bad headers are refused, and nothing is put")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {0};
    const struct weir_body body = {"x", 1, NULL};
    struct weir_error error;
    char text[WEIR_HEADERS_SIZE_MAX + 2];
    options.headers = "a=1\nB=2\n";
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, &error), WEIR_EINVAL);
    CHECK(strstr(error.text, "headers at offset 4: expected lines NAME=VALUE") != NULL);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    options.headers = text;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, &error), WEIR_ETOOBIG);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    weir_broker_close(broker);
}
