/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include <weir/jobs.h>

#include "bench/jobs/jobs.h"

/* The processor time of a durable put, and of a put that is run: one job at a time, in one process,
 * with its flushes. The peer is SQLite alone with a schema of one table and two indexes: no lock
 * file, threads or checks, and a loop instead of a consumer. Each commit is flushed, in both. */

static char text[BENCH_JOBS_BODY];

static void path_of(char path[512])
{
    (void)snprintf(path, 512, "%s/jobs.db", bench_jobs_setting("FOLDER"));
}

/* --- weir --- */

static int succeed(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    (void)arg;
    return WEIR_OK;
}

static void use_weir(struct bench_run *run)
{
    char path[512];
    char url[600];
    weir_broker *broker;
    const struct weir_body body = {text, sizeof(text), NULL};
    path_of(path);
    (void)snprintf(url, sizeof(url), "sqlite:%s", path);
    BENCH_OK(weir_broker_open(url, NULL, &broker, NULL));
    BENCH_OK(weir_broker_put(broker, "bench", &body, 1, NULL, NULL, NULL));
    int64_t start = bench_cpu();
    for (size_t i = 1; i < run->size; i++) {
        BENCH_OK(weir_broker_put(broker, "bench", &body, 1, NULL, NULL, NULL));
    }
    int64_t put_ns = (bench_cpu() - start) / (int64_t)(run->size - 1);
    struct weir_consumer_options options = {0};
    weir_consumer *consumer;
    options.handler = succeed;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    BENCH_OK(weir_consumer_new(broker, "bench", &options, &consumer, NULL));
    start = bench_cpu();
    BENCH_OK(weir_consumer_start(consumer, NULL));
    BENCH_OK(weir_consumer_wait(consumer, WEIR_FOREVER, NULL));
    bench_metric(run, "put_ns", (double)put_ns);
    bench_metric(run, "both_ns", (double)(put_ns + (bench_cpu() - start) / (int64_t)run->size));
    weir_consumer_free(consumer);
    weir_broker_close(broker);
}

/* --- SQLite alone --- */

static const char schema[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
    "CREATE TABLE jobs(id INTEGER PRIMARY KEY, tube INTEGER, state INTEGER, priority INTEGER,"
    " run_at INTEGER, ttr INTEGER, created INTEGER, lease INTEGER, token INTEGER,"
    " attempts INTEGER, body BLOB) STRICT;"
    "CREATE INDEX ready ON jobs(tube, priority, run_at) WHERE state = 2;"
    "CREATE INDEX reserved ON jobs(tube, lease) WHERE state = 3";

static const char *const texts[] = {
    "BEGIN IMMEDIATE",
    "COMMIT",
    "INSERT INTO jobs(tube, state, priority, run_at, ttr, created, lease, token, attempts, body) "
    "VALUES(1, 2, 0, ?1, 60000000000, ?1, 0, 0, 0, ?2)",
    "SELECT id, body FROM jobs INDEXED BY ready WHERE state = 2 AND tube = 1 AND run_at <= ?1 "
    "ORDER BY priority, run_at, id LIMIT 1",
    "UPDATE jobs SET state = 3, lease = ?2, token = token + 1, attempts = attempts + 1 "
    "WHERE id = ?1",
    "DELETE FROM jobs WHERE id = ?1",
};

enum {
    BEGIN,
    COMMIT,
    PUT,
    PICK,
    RESERVE,
    DELETE,
    TEXTS
};

struct bare {
    sqlite3 *db;
    sqlite3_stmt *statements[TEXTS];
};

/* Runs a statement with a number and another, or a body; returns the number that it finds. */
static int64_t step(struct bare *bare, int which, int64_t first, int64_t second)
{
    sqlite3_stmt *statement = bare->statements[which];
    int64_t found = 0;
    (void)sqlite3_bind_int64(statement, 1, first);
    (void)(which == PUT ? sqlite3_bind_blob(statement, 2, text, sizeof(text), SQLITE_STATIC)
                        : sqlite3_bind_int64(statement, 2, second));
    int code = sqlite3_step(statement);
    BENCH_CHECK(code == SQLITE_ROW || code == SQLITE_DONE);
    if (code == SQLITE_ROW) {
        found = sqlite3_column_int64(statement, 0);
        BENCH_CHECK(sqlite3_column_bytes(statement, 1) == (int)sizeof(text));
    }
    BENCH_CHECK(sqlite3_reset(statement) == SQLITE_OK);
    return found;
}

static void use_sqlite(struct bench_run *run)
{
    struct bare bare;
    char path[512];
    path_of(path);
    BENCH_CHECK(sqlite3_open(path, &bare.db) == SQLITE_OK);
    BENCH_CHECK(sqlite3_exec(bare.db, schema, NULL, NULL, NULL) == SQLITE_OK);
    for (int i = 0; i < TEXTS; i++) {
        BENCH_CHECK(sqlite3_prepare_v3(bare.db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                       &bare.statements[i], NULL) == SQLITE_OK);
    }
    int64_t start = bench_cpu();
    for (size_t i = 0; i < run->size; i++) {
        (void)step(&bare, BEGIN, 0, 0);
        (void)step(&bare, PUT, bench_now(), 0);
        (void)step(&bare, COMMIT, 0, 0);
    }
    bench_metric(run, "put_ns", (double)(bench_cpu() - start) / (double)run->size);
    int64_t job = 0;
    for (size_t i = 0; i <= run->size; i++) {
        (void)step(&bare, BEGIN, 0, 0);
        (void)(job != 0 ? step(&bare, DELETE, job, 0) : 0);
        job = step(&bare, PICK, bench_now(), 0);
        BENCH_CHECK((job != 0) == (i < run->size));
        (void)step(&bare, RESERVE, job, bench_now());
        (void)step(&bare, COMMIT, 0, 0);
    }
    bench_metric(run, "both_ns", (double)(bench_cpu() - start) / (double)run->size);
    for (int i = 0; i < TEXTS; i++) {
        (void)sqlite3_finalize(bare.statements[i]);
    }
    BENCH_CHECK(sqlite3_close(bare.db) == SQLITE_OK);
}

const struct bench_measurement bench_processor[] = {
    {"store_processor_f0/weir", use_weir, BENCH_STORE_PUTS, 0},
    {"store_processor_f0/sqlite", use_sqlite, BENCH_STORE_PUTS, 0},
    {NULL, NULL, 0, 0},
};
