/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/jobs.h>

#include "bench/jobs/jobs.h"

/* How many pages a store writes: the frames of its log. They are counted, not timed, so that one
 * sample says it exactly. A log is new after each open, and ends before the first checkpoint. */

enum {
    KEY = 1,    /* each job has a key of its own */
    PUT_ID = 2, /* each job has a put_id of its own */
    GROUP = 4,  /* each job has one of GROUPS groups, which are limited, and never full */
    DELAY = 8,  /* each job is delayed */
    RETRY = 16, /* each job fails once */
    ALONE = 32, /* each put has an open and a close of its own */
    GROUPS = 100,
    PARTS = 20,
    WAITING = 100000, /* jobs in the store before; those of large bodies are fewer */
    LOG_PAGES = 3000, /* that one part may write; the store makes a checkpoint from 4,000 on */
    PAGE = 4096
};

#define HOUR_NS INT64_C(3600000000000)
#define SOON_NS 5000000 /* a delay that ends while a consumer waits for it */
#define LATER_NS (-1)   /* a delay of an hour or two, another one for each job */

struct pages {
    const struct bench_run *run;
    weir_broker *broker;
    uint64_t random;
    atomic_size_t done; /* jobs that have been run, and are known to be ended */
    char *text;
    char path[512];
};

/* --- the log --- */

/* A frame belongs to the log while it has the two salts of the log's header. */
static size_t count_frames(const struct pages *pages)
{
    char path[sizeof(pages->path) + sizeof("-wal")];
    unsigned char header[32];
    unsigned char frame[24];
    size_t count = 0;
    (void)snprintf(path, sizeof(path), "%s-wal", pages->path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header)) {
        off_t at = sizeof(header);
        while (pread(fd, frame, sizeof(frame), at) == sizeof(frame) &&
               memcmp(frame + 8, header + 16, 8) == 0) {
            count++;
            at += (off_t)sizeof(frame) + PAGE;
        }
    }
    BENCH_CHECK(fd >= 0 && close(fd) == 0 && count < LOG_PAGES + LOG_PAGES / 4);
    return count;
}

static void open_store(struct pages *pages)
{
    char url[600];
    struct weir_error error;
    (void)snprintf(url, sizeof(url), "sqlite:%s", pages->path);
    if (weir_broker_open(url, NULL, &pages->broker, &error) != WEIR_OK) {
        bench_fail("%s", error.text);
    }
}

/* Jobs of one part: what a job in turn writes fits into the log so often. */
static size_t part_size(const struct pages *pages)
{
    return LOG_PAGES / (30 + 5 * (pages->run->size / PAGE));
}

/* --- puts --- */

struct one {
    char key[20];
    char put_id[20];
    char group[8];
    struct weir_put_options options;
};

static void describe(struct pages *pages, struct one *one, struct weir_body *ret_body,
                     int64_t delay_ns)
{
    unsigned flags = pages->run->flags;
    uint64_t number = bench_random(&pages->random);
    memset(one, 0, sizeof(*one));
    (void)snprintf(one->key, sizeof(one->key), "k%016llx", (unsigned long long)number);
    (void)snprintf(one->put_id, sizeof(one->put_id), "p%016llx", (unsigned long long)number);
    (void)snprintf(one->group, sizeof(one->group), "g%d", (int)(number % GROUPS));
    one->options.key = (flags & KEY) != 0 ? one->key : NULL;
    one->options.put_id = (flags & PUT_ID) != 0 ? one->put_id : NULL;
    one->options.group = (flags & GROUP) != 0 ? one->group : NULL;
    one->options.delay_ns = delay_ns == LATER_NS ? HOUR_NS + (int64_t)(number % HOUR_NS) : delay_ns;
    *ret_body = (struct weir_body){pages->text, pages->run->size, &one->options};
}

/* Puts jobs in one transaction. */
static void put_many(struct pages *pages, const char *tube, size_t count, int64_t delay_ns)
{
    struct one *ones = bench_alloc(count, sizeof(*ones));
    struct weir_body *bodies = bench_alloc(count, sizeof(*bodies));
    for (size_t i = 0; i < count; i++) {
        describe(pages, &ones[i], &bodies[i], delay_ns);
    }
    BENCH_OK(weir_broker_put(pages->broker, tube, bodies, count, NULL, NULL, NULL));
    free(bodies);
    free(ones);
}

static void put_waiting(struct pages *pages, size_t count)
{
    put_many(pages, "waiting", count, (pages->run->flags & DELAY) != 0 ? LATER_NS : 0);
}

static double pages_of_puts(struct pages *pages)
{
    size_t each = part_size(pages);
    size_t frames = 0;
    for (size_t part = 0; part < PARTS; part++) {
        open_store(pages);
        put_waiting(pages, 1);
        size_t before = count_frames(pages);
        for (size_t i = 0; i < each; i++) {
            put_waiting(pages, 1);
        }
        frames += count_frames(pages) - before;
        weir_broker_close(pages->broker);
    }
    return (double)frames / (double)(PARTS * each);
}

static double pages_of_puts_alone(struct pages *pages)
{
    size_t frames = 0;
    for (size_t i = 0; i < PARTS * PARTS; i++) {
        open_store(pages);
        put_waiting(pages, 1);
        frames += count_frames(pages);
        weir_broker_close(pages->broker);
    }
    return (double)frames / (PARTS * PARTS);
}

/* --- runs --- */

static int handle(weir_context *context, const struct weir_job *job, void *arg)
{
    const struct pages *pages = arg;
    const struct weir_run_details details = {.retry_ns = SOON_NS};
    if ((pages->run->flags & RETRY) == 0 || job->attempts > 1) {
        return WEIR_OK;
    }
    BENCH_OK(weir_job_describe(context, &details));
    return WEIR_EIO;
}

static void note_end(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                     int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct pages *pages = arg;
    (void)job;
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    atomic_fetch_add(&pages->done, outcome == WEIR_RUN_DONE ? 1 : 0);
}

static weir_consumer *start_consumer(struct pages *pages)
{
    struct weir_consumer_options options = {0};
    weir_consumer *consumer;
    options.handler = handle;
    options.after_run = note_end;
    options.arg = pages;
    BENCH_OK(weir_consumer_new(pages->broker, "turn", &options, &consumer, NULL));
    BENCH_OK(weir_consumer_start(consumer, NULL));
    return consumer;
}

static void end_consumer(weir_consumer *consumer)
{
    BENCH_OK(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, NULL));
    weir_consumer_free(consumer);
}

static void wait_until_done(struct pages *pages, size_t count)
{
    while (atomic_load(&pages->done) < count) {
        sched_yield();
    }
}

static void put_turns(struct pages *pages, size_t count)
{
    put_many(pages, "turn", count, (pages->run->flags & DELAY) != 0 ? SOON_NS : 0);
}

/* Put, reserve, end, each a transaction of its own: the next job is put when one has ended. A job
 * that leaves gives its room to the next: each part has one more before it, so that all of them are
 * at each place of a page alike. */
static double pages_of_cycles(struct pages *pages)
{
    size_t each = part_size(pages);
    size_t frames = 0;
    for (size_t part = 0; part < PARTS; part++) {
        open_store(pages);
        put_waiting(pages, 1);
        weir_consumer *consumer = start_consumer(pages);
        atomic_store(&pages->done, 0);
        put_turns(pages, 1);
        wait_until_done(pages, 1);
        size_t before = count_frames(pages);
        for (size_t i = 0; i < each; i++) {
            put_turns(pages, 1);
            wait_until_done(pages, i + 2);
        }
        frames += count_frames(pages) - before;
        end_consumer(consumer);
        weir_broker_close(pages->broker);
    }
    return (double)frames / (double)(PARTS * each);
}

/* What a worker writes for a job where the end of one and the reservation of the next are one
 * transaction. */
static double pages_of_work(struct pages *pages)
{
    size_t each = part_size(pages);
    size_t frames = 0;
    for (size_t part = 0; part < PARTS; part++) {
        open_store(pages);
        atomic_store(&pages->done, 0);
        put_turns(pages, each);
        size_t before = count_frames(pages);
        weir_consumer *consumer = start_consumer(pages);
        wait_until_done(pages, each);
        frames += count_frames(pages) - before;
        end_consumer(consumer);
        weir_broker_close(pages->broker);
    }
    return (double)frames / (double)(PARTS * each);
}

/* --- samples --- */

/* The jobs that wait are all of this kind. Those of the consumer's tube are delayed, so that it
 * takes what is put later, beside as many. Tells the bytes of each of the first. */
static double fill(struct pages *pages)
{
    struct stat facts;
    size_t batch = pages->run->size < PAGE ? 1000 : 1;
    size_t count = pages->run->size < PAGE ? WAITING : PARTS;
    open_store(pages);
    for (size_t i = 0; i < count; i += batch) {
        put_waiting(pages, batch);
    }
    weir_broker_close(pages->broker);
    BENCH_CHECK(stat(pages->path, &facts) == 0);
    open_store(pages);
    for (size_t i = 0; i < count; i += batch) {
        put_many(pages, "turn", batch, LATER_NS);
    }
    if ((pages->run->flags & GROUP) != 0) {
        const struct weir_tube_policy policy = {.group_limit = 1000};
        BENCH_OK(weir_broker_set_policy(pages->broker, "waiting", &policy, NULL));
        BENCH_OK(weir_broker_set_policy(pages->broker, "turn", &policy, NULL));
    }
    weir_broker_close(pages->broker);
    return (double)facts.st_size / (double)count;
}

static void take(struct bench_run *run)
{
    struct pages pages = {.run = run, .random = 1, .text = bench_alloc(run->size, 1)};
    (void)snprintf(pages.path, sizeof(pages.path), "%s/jobs.db", bench_jobs_setting("FOLDER"));
    memset(pages.text, 'x', run->size);
    bench_metric(run, "bytes", fill(&pages));
    if ((run->flags & ALONE) != 0) {
        bench_metric(run, "put", pages_of_puts_alone(&pages));
    } else {
        bench_metric(run, "put", pages_of_puts(&pages));
        bench_metric(run, "cycle", pages_of_cycles(&pages));
        bench_metric(run, "work", pages_of_work(&pages));
    }
    free(pages.text);
}

const struct bench_measurement bench_pages[] = {
    {"store_pages_f0/weir", take, BENCH_JOBS_BODY, 0},
    {"store_pages_alone_f0/weir", take, BENCH_JOBS_BODY, ALONE},
    {"store_pages_key_f0/weir", take, BENCH_JOBS_BODY, KEY},
    {"store_pages_put_id_f0/weir", take, BENCH_JOBS_BODY, PUT_ID},
    {"store_pages_group_f0/weir", take, BENCH_JOBS_BODY, GROUP},
    {"store_pages_delay_f0/weir", take, BENCH_JOBS_BODY, DELAY},
    {"store_pages_retry_f0/weir", take, BENCH_JOBS_BODY, RETRY},
    {"store_pages_100k_f0/weir", take, 100000, 0},
    {"store_pages_1m_f0/weir", take, 1000000, 0},
    {NULL, NULL, 0, 0},
};
