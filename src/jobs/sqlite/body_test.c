/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Where bodies are: in the rows of their jobs, or apart. */
#include "jobs/sqlite/body.h"

#include "jobs/sqlite/store.h"
#include "support/jobs.h"
#include "support/store_query.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static char large[WEIRI_BODY_INSIDE + 1];

/* Checks how many bodies are in their rows, and how many are apart. */
static void check_rows(weir_broker *broker, int64_t inside, int64_t apart)
{
    CHECK_INT(query(broker, "SELECT count(body) FROM jobs"), ==, inside);
    CHECK_INT(query(broker, "SELECT count(*) FROM bodies"), ==, apart);
}

static void put(weir_broker *broker, size_t size, const struct weir_put_options *options)
{
    const struct weir_body body = {large, size, NULL};
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, options, NULL, NULL), WEIR_OK);
}

static void check_body(const struct weiri_reservation *job, size_t size, const char *headers)
{
    CHECK_INT(job->job.body_size, ==, size);
    CHECK_INT(memcmp(job->job.body, large, size), ==, 0);
    CHECK_STRING(job->job.headers, headers);
}

TEST(places, "a body is in its job's row up to 3,000 bytes with its headers, a larger one is apart "
             "until its job is gone; both come back byte by byte, also after a retry")
{
    static const struct {
        size_t size;
        const char *headers;
        bool is_apart;
    } rows[] = {{0, "", false},
                {WEIRI_BODY_INSIDE, "", false},
                {WEIRI_BODY_INSIDE + 1, "", true},
                {WEIRI_BODY_INSIDE - 4, "a=b\n", true},
                {WEIRI_BODY_INSIDE - 5, "a=b\n", false}};
    memset(large, 'x', sizeof(large));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "%zu.db", i);
        weir_broker *broker = jobs_store_open(path, &wall);
        const struct weir_put_options options = {.headers = rows[i].headers};
        put(broker, rows[i].size, &options);
        check_rows(broker, !rows[i].is_apart, rows[i].is_apart);
        for (int run = 0; run < 2; run++) {
            struct weiri_reservation *job = jobs_reserve_one(broker, "t");
            check_body(job, rows[i].size, rows[i].headers);
            CHECK_STATUS(
                jobs_settle(broker, job, run == 0 ? WEIRI_JOB_RELEASE : WEIRI_JOB_DONE, 0, NULL),
                WEIR_OK);
            jobs_free_one(broker, job);
        }
        check_rows(broker, 0, 0);
        weir_broker_close(broker);
    }
}

TEST(renewed, "a put by key that gives a job another body leaves none of the old one")
{
    static const size_t sizes[] = {7, WEIRI_BODY_INSIDE + 1, WEIRI_BODY_INSIDE + 1, 9};
    const struct weir_put_options options = {.key = "k", .on_duplicate = WEIR_DUPLICATE_REPLACE};
    memset(large, 'x', sizeof(large));
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        bool is_apart = sizes[i] > WEIRI_BODY_INSIDE;
        large[0] = (char)('a' + i);
        put(broker, sizes[i], &options);
        check_rows(broker, !is_apart, is_apart);
    }
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    check_body(job, 9, "");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}
