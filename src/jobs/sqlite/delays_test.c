/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A delay counts from when it was said, by the clock of the store. */
#include <weir/consumer.h>

#include "base/time.h"
#include "jobs/consume/consumer.h"
#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"

#define HOUR WEIR_SECONDS(3600)

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

static void pass(int64_t ns)
{
    jobs_wall_step(&clocks.wall, ns);
    jobs_wall_step(&clocks.lease, ns);
}

static int keep_run_at(const struct weir_job *job, void *arg)
{
    *(int64_t *)arg = job->run_at_ns;
    return 0;
}

static int64_t run_at_of(weir_broker *broker, const char *id)
{
    int64_t run_at = 0;
    CHECK_STATUS(weir_broker_peek_id(broker, id, keep_run_at, &run_at, NULL), WEIR_OK);
    return run_at;
}

/* A put by another thread. */
struct put {
    weir_broker *broker;
    struct weir_put_options options;
    enum weir_status status;
    struct weir_job_id id;
};

static void put_one(void *arg)
{
    struct put *put = arg;
    const struct weir_body body = {"x", 1, NULL};
    put->status = weir_broker_put(put->broker, "t", &body, 1, &put->options, &put->id, NULL);
}

TEST(waited, "a put that waited for the lock runs after its delay, and was not in the past")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    /* The wall clock goes on; it is set forward, and back. */
    const int64_t set_ns[] = {0, 3 * HOUR, -3 * HOUR};
    for (size_t i = 0; i < sizeof(set_ns) / sizeof(set_ns[0]); i++) {
        struct put delayed = {.broker = broker, .options.delay_ns = HOUR};
        struct put at = {.broker = broker,
                         .options.run_at_ns = jobs_clocks_wall(&clocks) + WEIR_MS(1)};
        CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
        struct test_thread *threads[] = {test_start(put_one, &delayed), test_start(put_one, &at)};
        test_wait_asleep(threads[0]);
        test_wait_asleep(threads[1]);
        pass(WEIR_SECONDS(5));
        jobs_wall_step(&clocks.wall, set_ns[i]);
        weiri_lock_file_unlock(&other);
        test_join(threads[0]);
        test_join(threads[1]);
        CHECK_STATUS(delayed.status, WEIR_OK);
        CHECK_STATUS(at.status, WEIR_OK);
        CHECK_INT(run_at_of(broker, delayed.id.text), ==,
                  jobs_clocks_wall(&clocks) - WEIR_SECONDS(5) + HOUR);
        CHECK_INT(run_at_of(broker, at.id.text), ==, at.options.run_at_ns);
    }
    weiri_lock_file_close(&other);
    weir_broker_close(broker);
}

static int64_t ticks;

/* The wall clock is set while a put is on its way. */
static void tick(enum fault_kind kind, bool is_log, sqlite3_int64 offset, const void *bytes,
                 int size)
{
    (void)is_log;
    (void)offset;
    (void)bytes;
    (void)size;
    if (kind == FAULT_SYNC) {
        jobs_wall_step(&clocks.wall, HOUR);
        ticks++;
    }
}

TEST(cut, "the jobs of a put that is cut have one run time")
{
    enum {
        COUNT = 250
    };
    fault_install();
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    ((struct weiri_store *)broker->store)->put_ns = 0;
    static struct weir_body bodies[COUNT];
    static struct weir_job_id ids[COUNT];
    const struct weir_put_options options = {.delay_ns = HOUR};
    for (size_t i = 0; i < COUNT; i++) {
        bodies[i] = (struct weir_body){"x", 1, NULL};
    }
    fault.watch = tick;
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, COUNT, &options, ids, NULL), WEIR_OK);
    fault.watch = NULL;
    CHECK_INT(ticks, >=, 3);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(run_at_of(broker, ids[i].text), ==, JOBS_WALL_START + HOUR);
    }
    weir_broker_close(broker);
}

TEST(retried, "a retry that is settled late, in a second try, runs after its delay all the same")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    struct weiri_settlement settlement = {.reservation = job,
                                          .event = WEIRI_JOB_RELEASE,
                                          .delay_ns = HOUR,
                                          .since_ns = jobs_clocks_lease(&clocks)};
    struct weiri_exchange exchange = {.tube = "t", .settlements = &settlement};
    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    broker->config.busy_ns = 1;
    CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_ETIMEDOUT);
    weiri_lock_file_close(&other);
    broker->config.busy_ns = WEIR_SECONDS(10);
    pass(HOUR / 2);
    jobs_wall_step(&clocks.wall, -5 * HOUR);
    CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
    CHECK_STATUS(settlement.status, WEIR_OK);
    CHECK_INT(run_at_of(broker, "1"), ==, jobs_clocks_wall(&clocks) + HOUR / 2);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(returned, "a job that is returned without a delay keeps its run time")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    pass(HOUR);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    struct weiri_settlement settlement = {
        .reservation = job, .event = WEIRI_JOB_RETURN, .since_ns = jobs_clocks_lease(&clocks)};
    struct weiri_exchange exchange = {.tube = "t", .settlements = &settlement};
    CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
    CHECK_INT(run_at_of(broker, "1"), ==, JOBS_WALL_START);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

/* The clock of a backend on another host. */
static int64_t behind(const void *store)
{
    (void)store;
    return jobs_clocks_wall(&clocks) - HOUR;
}

TEST(elsewhere, "what is in the past is said by the clock of the store, not by that of the program")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    const struct weiri_broker_ops *own = broker->ops;
    struct weiri_broker_ops ops = *own;
    ops.now = behind;
    broker->ops = &ops;
    const struct weir_body body = {"x", 1, NULL};
    struct weir_put_options options = {.run_at_ns = JOBS_WALL_START - HOUR};
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, NULL), WEIR_OK);
    CHECK_INT(run_at_of(broker, "1"), ==, JOBS_WALL_START - HOUR);
    options.run_at_ns--;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, NULL), WEIR_EPAST);
    broker->ops = own;
    weir_broker_close(broker);
}

static int64_t synced_ns; /* when a flush began first */

static void flush_slowly(enum fault_kind kind, bool is_log, sqlite3_int64 offset, const void *bytes,
                         int size)
{
    (void)is_log;
    (void)offset;
    (void)bytes;
    (void)size;
    if (kind == FAULT_SYNC && synced_ns == 0) {
        synced_ns = weiri_monotonic_now();
        pass(HOUR / 2);
    }
}

static int no_handler(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    (void)arg;
    return WEIR_OK;
}

TEST(next_look, "a consumer looks again when the next job is due, however long the flush took")
{
    fault_install();
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    const struct weir_consumer_options options = {.handler = no_handler};
    weir_consumer *consumer = NULL;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    (void)jobs_put(broker, "t", "x", NULL);
    (void)jobs_put(broker, "t", "y", &(struct weir_put_options){.delay_ns = HOUR});
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    struct weiri_settlement settlement = {.reservation = job, .event = WEIRI_JOB_DONE};
    struct weiri_exchange exchange = {.tube = "t", .settlements = &settlement, .wanted = 1};
    int64_t before = weiri_monotonic_now();
    fault.watch = flush_slowly;
    CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
    fault.watch = NULL;
    CHECK_INT(synced_ns, >, 0);
    weiri_source_note(consumer, &consumer->sources[0], &exchange);
    CHECK_INT(consumer->sources[0].next_ns, >=, before + HOUR);
    CHECK_INT(consumer->sources[0].next_ns, <=, synced_ns + HOUR);
    jobs_free_one(broker, job);
    weir_consumer_free(consumer);
    weir_broker_close(broker);
}
