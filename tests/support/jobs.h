/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOBS_H
#define WEIR_TEST_JOBS_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sqlite3.h>

#include <weir/admin.h>
#include <weir/policy.h>

#include "jobs/broker.h"
#include "support/changes.h"
#include "support/harness.h"

/* For tests of the jobs floor: stores on a wall clock that the test steps, and short forms of the
 * calls below the consumer. */

/* A day in 2026, so that times have as many digits as real ones. */
#define JOBS_WALL_START INT64_C(1780000000000000000)

/* Changes the state of job 1, and leaves the indexes as they were, as a flipped bit does. */
#define JOBS_FLIP_STATE                                                                            \
    "PRAGMA writable_schema = ON; CREATE TEMP TABLE was AS SELECT * FROM sqlite_schema "           \
    "WHERE type = 'index' AND tbl_name = 'jobs'; DELETE FROM sqlite_schema "                       \
    "WHERE name IN (SELECT name FROM was); PRAGMA writable_schema = RESET; "                       \
    "UPDATE jobs SET state = 10 WHERE id = 1; PRAGMA writable_schema = ON; "                       \
    "INSERT INTO sqlite_schema SELECT * FROM was; PRAGMA writable_schema = RESET"

struct jobs_wall {
    _Atomic int64_t now_ns;
};

static inline int64_t jobs_wall_now(void *arg)
{
    struct jobs_wall *wall = arg;
    return atomic_load_explicit(&wall->now_ns, memory_order_relaxed);
}

static inline void jobs_wall_step(struct jobs_wall *wall, int64_t step_ns)
{
    atomic_fetch_add_explicit(&wall->now_ns, step_ns, memory_order_relaxed);
}

/* Two clocks: the wall clock, which may be set, and that of leases. */
struct jobs_clocks {
    struct jobs_wall wall;
    struct jobs_wall lease;
};

/* How long the machine has slept. Meanwhile the clock of leases stands still. */
static struct jobs_wall jobs_slept;

static inline int64_t jobs_clocks_wall(void *arg)
{
    return jobs_wall_now(&((struct jobs_clocks *)arg)->wall);
}

static inline int64_t jobs_clocks_lease(void *arg)
{
    return jobs_wall_now(&((struct jobs_clocks *)arg)->lease);
}

static inline int64_t jobs_clocks_boot(void *arg)
{
    return jobs_clocks_lease(arg) + jobs_wall_now(&jobs_slept);
}

static inline weir_broker *jobs_store_open_on(const char *path, struct jobs_clocks *clocks,
                                              const char *boot)
{
    char url[800];
    (void)snprintf(url, sizeof(url), "sqlite:%s", path);
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    struct weiri_clocks all = {jobs_clocks_wall, jobs_clocks_lease, jobs_clocks_boot, clocks, ""};
    (void)snprintf(all.boot_name, sizeof(all.boot_name), "%s", boot);
    weir_broker *broker = NULL;
    struct weir_error error;
    enum weir_status status = weiri_broker_open_on(url, &options, &all, &broker, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "open %s: %s", path, error.text);
    }
    return broker;
}

/* weir_broker_open() on one clock, which is never set. */
static inline enum weir_status jobs_open_at(const char *url,
                                            const struct weir_broker_options *options,
                                            int64_t (*now)(void *arg), void *now_arg,
                                            weir_broker **ret_broker, struct weir_error *ret_error)
{
    struct weiri_clocks clocks = {now, now, now, now_arg, ""};
    weiri_boot_name(clocks.boot_name);
    return weiri_broker_open_on(url, options, &clocks, ret_broker, ret_error);
}

/* How often waits for a tube have been ended. */
static inline struct weiri_mark jobs_mark(weir_broker *broker, const char *tube)
{
    struct weiri_exchange look = {.tube = tube};
    CHECK_STATUS(broker->ops->exchange(broker->store, &look, NULL), WEIR_OK);
    return look.mark;
}

/* Whether one was ended since. */
static inline bool jobs_has_news(weir_broker *broker, struct weiri_mark mark)
{
    return broker->ops->mark(broker->store, &mark) != mark.mark;
}

/* Opens a store with the test's allocator on a stepped clock. */
static inline enum weir_status jobs_store_try_open(const char *path, struct jobs_wall *wall,
                                                   uint32_t flags, weir_broker **ret_broker,
                                                   struct weir_error *ret_error)
{
    char url[800];
    (void)snprintf(url, sizeof(url), "sqlite:%s", path);
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    options.flags = flags;
    return jobs_open_at(url, &options, jobs_wall_now, wall, ret_broker, ret_error);
}

static inline weir_broker *jobs_store_open(const char *path, struct jobs_wall *wall)
{
    weir_broker *broker = NULL;
    struct weir_error error;
    enum weir_status status = jobs_store_try_open(path, wall, 0, &broker, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "open %s: %s", path, error.text);
    }
    return broker;
}

/* Folds the log of a store that nobody has open into its file and removes it, as the last close of
 * any program with SQLite does, but of weir. */
static inline void jobs_store_fold(const char *path)
{
    sqlite3 *db;
    CHECK_INT(sqlite3_open(path, &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL), ==,
              SQLITE_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

/* Removes a store that nobody has open, if there is one. */
static inline void jobs_store_remove(const char *path)
{
    static const char *const endings[] = {"-wal", "-shm", "", ".lock"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char name[800];
        (void)snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        (void)unlink(name);
    }
}

/* Puts a job and returns its number. */
static inline int64_t jobs_put(weir_broker *broker, const char *tube, const char *text,
                               const struct weir_put_options *options)
{
    struct weir_body body = {text, strlen(text), NULL};
    struct weir_job_id id;
    struct weir_error error;
    enum weir_status status = weir_broker_put(broker, tube, &body, 1, options, &id, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "put: %s", error.text);
    }
    return (int64_t)strtoll(id.text, NULL, 10);
}

/* Reserves at most wanted jobs; the list is the caller's, to be given to jobs_free(). */
static inline struct weiri_exchange jobs_reserve(weir_broker *broker, const char *tube,
                                                 size_t wanted, uint32_t attempts_max,
                                                 struct weiri_list *ret_list)
{
    struct weiri_exchange exchange = {.tube = tube, .wanted = wanted, .attempts_max = attempts_max};
    struct weir_error error;
    enum weir_status status = broker->ops->exchange(broker->store, &exchange, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "reserve: %s", error.text);
    }
    weiri_list_init(ret_list);
    while (!weiri_list_is_empty(&exchange.reserved)) {
        struct weiri_list *link = exchange.reserved.next;
        weiri_list_remove(link);
        weiri_list_insert_before(ret_list, link);
    }
    return exchange;
}

static inline struct weiri_reservation *jobs_first(struct weiri_list *list)
{
    return WEIRI_CONTAINER(list->next, struct weiri_reservation, link);
}

static inline void jobs_free(weir_broker *broker, struct weiri_list *list)
{
    weiri_reservations_free(&broker->config.allocator, list);
}

/* Reserves one job, which must be there; to be given to jobs_free_one(). */
static inline struct weiri_reservation *jobs_reserve_one(weir_broker *broker, const char *tube)
{
    struct weiri_list list;
    (void)jobs_reserve(broker, tube, 1, 1000, &list);
    CHECK(!weiri_list_is_empty(&list));
    struct weiri_reservation *first = jobs_first(&list);
    weiri_list_remove(&first->link);
    return first;
}

static inline void jobs_free_one(weir_broker *broker, struct weiri_reservation *reservation)
{
    weiri_reservation_free(&broker->config.allocator, reservation);
}

/* Settles a run as failed, for the history of its job. */
static inline enum weir_status jobs_fail(weir_broker *broker,
                                         const struct weiri_reservation *reservation,
                                         enum weiri_job_event event, const char *reason,
                                         const struct weiri_run_end *end)
{
    struct weiri_settlement settlement = {
        .reservation = reservation, .event = event, .reason = reason, .end = *end};
    struct weiri_exchange exchange = {.tube = reservation->job.tube, .settlements = &settlement};
    enum weir_status status = broker->ops->exchange(broker->store, &exchange, NULL);
    return status == WEIR_OK ? settlement.status : status;
}

static inline enum weir_status jobs_settle(weir_broker *broker,
                                           const struct weiri_reservation *reservation,
                                           enum weiri_job_event event, int64_t run_at_ns,
                                           const char *reason)
{
    const struct weiri_broker_config *config = &broker->config;
    struct weiri_settlement settlement = {.reservation = reservation,
                                          .event = event,
                                          .delay_ns =
                                              run_at_ns - config->clocks.wall(config->clocks.arg),
                                          .since_ns = config->clocks.lease(config->clocks.arg),
                                          .reason = reason};
    struct weiri_exchange exchange = {.tube = reservation->job.tube, .settlements = &settlement};
    struct weir_error error;
    enum weir_status status = broker->ops->exchange(broker->store, &exchange, &error);
    return status == WEIR_OK ? settlement.status : status;
}

static inline int jobs_keep_counts(const struct weir_tube_counts *counts, void *arg)
{
    *(struct weir_tube_counts *)arg = *counts;
    return 0;
}

/* The counts of a tube; all zero where it is not known. */
static inline struct weir_tube_counts jobs_counts(weir_broker *broker, const char *tube)
{
    struct weir_tube_counts counts;
    memset(&counts, 0, sizeof(counts));
    struct weir_error error;
    enum weir_status status = weir_broker_tubes(broker, tube, jobs_keep_counts, &counts, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "tubes: %s", error.text);
    }
    return counts;
}

/* Has a tube keep no job that has ended. */
static inline void jobs_keep_none(weir_broker *broker, const char *tube)
{
    const struct weir_tube_policy policy = {.members = WEIR_POLICY_KEEP_NS,
                                            .keep_ns = WEIR_KEEP_NONE};
    CHECK_STATUS(weir_broker_set_policy(broker, tube, &policy, NULL), WEIR_OK);
}

/* Removes jobs by their ids; returns how many were there to be removed. */
static inline size_t jobs_remove(weir_broker *broker, const char *const *ids, size_t count)
{
    enum weir_status statuses[8];
    size_t removed = 0;
    CHECK_INT(count, <=, 8);
    CHECK_STATUS(change_remove(broker, ids, count, statuses, NULL), WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        CHECK(statuses[i] == WEIR_OK || statuses[i] == WEIR_ENOTFOUND || statuses[i] == WEIR_EBUSY);
        removed += statuses[i] == WEIR_OK;
    }
    return removed;
}

#define CHECK_COUNTS(broker, tube, d, r, v, b)                                                     \
    do {                                                                                           \
        struct weir_tube_counts check_counts = jobs_counts(broker, tube);                          \
        CHECK_INT(check_counts.delayed, ==, d);                                                    \
        CHECK_INT(check_counts.ready, ==, r);                                                      \
        CHECK_INT(check_counts.reserved, ==, v);                                                   \
        CHECK_INT(check_counts.buried, ==, b);                                                     \
    } while (0)

#endif
