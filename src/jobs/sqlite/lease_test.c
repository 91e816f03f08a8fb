/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Leases count in time that cannot be set, and end with the boot; so does the order of jobs not
 * depend on the wall clock. */
#include "jobs/sqlite/store.h"

#include "support/jobs.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

#define DAY WEIR_SECONDS(86400)

static void pass(int64_t time_ns)
{
    jobs_wall_step(&clocks.wall, time_ns);
    jobs_wall_step(&clocks.lease, time_ns);
}

static size_t reserve_all(weir_broker *broker)
{
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 100, 1000, &list);
    jobs_free(broker, &list);
    return exchange.reserved_count;
}

TEST(clock_set,
     "a wall clock that is set ends no lease of a living worker, and keeps none of a dead")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    weir_broker *other = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    const int64_t steps[] = {DAY, -DAY, -DAY, DAY};
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        jobs_wall_step(&clocks.wall, steps[i]);
        CHECK_INT(reserve_all(other), ==, 0);
        pass(WEIR_SECONDS(20));
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    }
    jobs_wall_step(&clocks.wall, -DAY);
    pass(WEIR_SECONDS(59));
    CHECK_INT(reserve_all(other), ==, 0);
    pass(WEIR_SECONDS(1));
    CHECK_INT(reserve_all(other), ==, 1);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_ELEASELOST);
    jobs_free_one(broker, job);
    weir_broker_close(other);
    weir_broker_close(broker);
}

/* A store that waits for its turn: the TTR has passed once its transaction has begun. */
static struct {
    const struct weiri_store *store;
    bool has_waited;
} waiting;

static int64_t lease_now_waiting(void *arg)
{
    (void)arg;
    if (sqlite3_get_autocommit(waiting.store->writer.db) == 0 && !waiting.has_waited) {
        waiting.has_waited = true;
        jobs_wall_step(&clocks.lease, WEIR_SECONDS(60));
    }
    return atomic_load(&clocks.lease.now_ns);
}

TEST(waits_for_its_turn,
     "who waits for the store takes no job whose lease ends meanwhile: its worker "
     "waits as well, to touch it")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    weir_broker *other = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weiri_list list;
    (void)jobs_put(broker, "t", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    waiting.store = other->store;
    other->config.clocks.lease = lease_now_waiting;
    struct weiri_exchange exchange = jobs_reserve(other, "t", 1, 1000, &list);
    CHECK(waiting.has_waited);
    CHECK_INT(exchange.reserved_count, ==, 0);
    CHECK_INT(exchange.next_in_ns, ==, WEIR_MS(100));
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    weir_broker_close(other);
    weir_broker_close(broker);
}

TEST(for_ever, "a run time and a TTR without an end leave the tube in order")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weir_put_options options = {.run_at_ns = WEIR_FOREVER};
    (void)jobs_put(broker, "t", "x", &options);
    options = (struct weir_put_options){.ttr_ns = WEIR_FOREVER};
    (void)jobs_put(broker, "t", "y", &options);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 25, &list);
    CHECK_INT(exchange.reserved_count, ==, 0);
    CHECK_INT(exchange.next_in_ns, ==, WEIR_FOREVER);
    CHECK(!exchange.is_empty);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", 1, 0, 1, 0);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    CHECK(!jobs_reserve(broker, "t", 1, 25, &list).is_empty);
    weir_broker_close(broker);
}

TEST(next_time, "a consumer is told when a lease ends, on the wall clock that it has now")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_INT(reserve_all(broker), ==, 1);
    jobs_wall_step(&clocks.wall, DAY);
    pass(WEIR_SECONDS(10));
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 25, &list);
    CHECK_INT(exchange.reserved_count, ==, 0);
    CHECK_INT(exchange.next_in_ns, ==, WEIR_SECONDS(50));
    weir_broker_close(broker);
}

TEST(reboot, "after a boot no lease of the last one is left, however long it had been up")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_INT(reserve_all(broker), ==, 1);
    weir_broker_close(broker);
    broker = jobs_store_open_on("jobs.db", &clocks, "a");
    CHECK_INT(reserve_all(broker), ==, 0);
    weir_broker_close(broker);
    clocks.lease.now_ns = WEIR_SECONDS(5);
    for (int i = 0; i < 3; i++) {
        broker = jobs_store_open_on("jobs.db", &clocks, "b");
        CHECK_INT(reserve_all(broker), ==, i == 0 ? 1 : 0);
        weir_broker_close(broker);
    }
    CHECK_INT(jobs_clocks_lease(&clocks), ==, WEIR_SECONDS(5));
}

TEST(other_boot, "another name of the boot ends no lease while somebody else has the store open")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    weir_broker *container = jobs_store_open_on("jobs.db", &clocks, "b");
    CHECK_INT(reserve_all(container), ==, 0);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
    broker = jobs_store_open_on("jobs.db", &clocks, "a");
    CHECK_INT(reserve_all(broker), ==, 0);
    weir_broker_close(broker);
    weir_broker_close(container);
    /* One that only reads has no reservations. */
    weir_broker *reader = NULL;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &clocks.wall, WEIR_BROKER_READ_ONLY, &reader, NULL),
                 WEIR_OK);
    broker = jobs_store_open_on("jobs.db", &clocks, "b");
    CHECK_INT(reserve_all(broker), ==, 1);
    weir_broker_close(broker);
    weir_broker_close(reader);
}

TEST(unknown_boot, "a boot without a name ends only leases that no clock of this boot gave")
{
    static const char *const names[] = {"a", "unknown", "unknown", "a"};
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_INT(reserve_all(broker), ==, 1);
    weir_broker_close(broker);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        broker = jobs_store_open_on("jobs.db", &clocks, names[i]);
        CHECK_INT(reserve_all(broker), ==, 0);
        weir_broker_close(broker);
    }
    clocks.lease.now_ns = WEIR_SECONDS(5);
    for (int i = 0; i < 3; i++) {
        broker = jobs_store_open_on("jobs.db", &clocks, "unknown");
        CHECK_INT(reserve_all(broker), ==, i == 0 ? 1 : 0);
        weir_broker_close(broker);
    }
}

static void open_after_boot(void *arg)
{
    *(weir_broker **)arg = jobs_store_open_on("jobs.db", &clocks, "b");
}

TEST(opened_together, "of two that open a store together after a boot one ends the leases")
{
    weir_broker *brokers[2];
    struct test_thread *threads[2];
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_INT(reserve_all(broker), ==, 1);
    weir_broker_close(broker);
    struct weiri_lock_file lock;
    CHECK_INT(weiri_lock_file_open(&lock, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&lock, INT64_MAX), ==, 0);
    for (int i = 0; i < 2; i++) {
        threads[i] = test_start(open_after_boot, &brokers[i]);
        test_wait_asleep(threads[i]);
    }
    weiri_lock_file_close(&lock); /* and so releases it */
    for (int i = 0; i < 2; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(reserve_all(brokers[0]), ==, 1);
    weir_broker_close(brokers[0]);
    weir_broker_close(brokers[1]);
}

static int check_fence(const struct weir_job *job, void *arg)
{
    CHECK_INT(job->fence, ==, *(const uint64_t *)arg);
    return 0;
}

static void check_peek(weir_broker *broker, const char *id, uint64_t fence)
{
    CHECK_STATUS(weir_broker_peek_id(broker, id, check_fence, &fence, NULL), WEIR_OK);
}

TEST(fence, "a job's number rises with each reservation, also where the attempts do not")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    check_peek(broker, "1", 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    uint64_t fence = job->job.fence;
    CHECK_INT(fence, >, 0);
    check_peek(broker, "1", fence);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RETURN, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->job.attempts, ==, 1);
    CHECK_INT(job->job.fence, ==, fence + 1);
    pass(WEIR_SECONDS(60));
    struct weiri_reservation *next = jobs_reserve_one(broker, "t");
    CHECK_INT(next->job.fence, ==, fence + 2);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_ELEASELOST);
    CHECK_STATUS(jobs_settle(broker, next, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    jobs_free_one(broker, next);
    weir_broker_close(broker);
}

TEST(order,
     "jobs that are put to run at once run in the order of the puts, whatever the wall clock")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    const int64_t steps[] = {1, -DAY, 5, 2 * DAY, -DAY, 0, -3 * DAY, 7};
    int64_t numbers[8];
    for (size_t i = 0; i < 8; i++) {
        jobs_wall_step(&clocks.wall, steps[i]);
        numbers[i] = jobs_put(broker, "t", "x", NULL);
    }
    for (size_t i = 0; i < 8; i++) {
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_INT(job->number, ==, numbers[i]);
        jobs_free_one(broker, job);
    }
    weir_broker_close(broker);
}

TEST(order_of_one,
     "so do those of one put, whatever priorities they have, and which jobs they bring "
     "forward in between")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    const struct weir_put_options keyed = {.priority = 1, .delay_ns = DAY / 2, .key = "k"};
    const struct weir_put_options again = {
        .priority = 2, .key = "k", .on_duplicate = WEIR_DUPLICATE_KEEP};
    const struct weir_put_options first = {.priority = 1};
    const struct weir_put_options second = {.priority = 2};
    const struct weir_body bodies[] = {{"x", 1, &first},  {"x", 1, &again},  {"x", 1, &first},
                                       {"x", 1, &second}, {"x", 1, &second}, {"x", 1, &first}};
    static const int64_t numbers[] = {3, 2, 4, 7, 1, 5, 6};
    jobs_wall_step(&clocks.wall, DAY);
    CHECK_INT(jobs_put(broker, "t", "x", &second), ==, 1);
    jobs_wall_step(&clocks.wall, -DAY);
    CHECK_INT(jobs_put(broker, "t", "x", &keyed), ==, 2);
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 6, NULL, NULL, NULL), WEIR_OK);
    for (size_t i = 0; i < 7; i++) {
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_INT(job->number, ==, numbers[i]);
        jobs_free_one(broker, job);
    }
    weir_broker_close(broker);
}

TEST(clock_was_ahead,
     "a job that was put by a clock ahead puts off no later one once it is reserved")
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    const struct weir_put_options later = {.delay_ns = 1};
    jobs_wall_step(&clocks.wall, 365 * DAY);
    CHECK_INT(jobs_put(broker, "t", "x", NULL), ==, 1);
    struct weiri_reservation *first = jobs_reserve_one(broker, "t");
    jobs_wall_step(&clocks.wall, -365 * DAY);
    for (int64_t number = 2; number <= 4; number++) {
        CHECK_INT(jobs_put(broker, "t", "x", number == 4 ? &later : NULL), ==, number);
    }
    pass(WEIR_SECONDS(1));
    for (int64_t number = 2; number <= 4; number++) {
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_INT(job->number, ==, number);
        jobs_free_one(broker, job);
    }
    jobs_free_one(broker, first);
    weir_broker_close(broker);
}
