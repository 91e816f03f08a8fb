/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_BAD_STORE_H
#define WEIR_TEST_CONFORMANCE_BAD_STORE_H

#include <sys/wait.h>
#include <unistd.h>

#include <weir/consumer.h>
#include <weir/policy.h>
#include <weir/producer.h>

#include "conformance/bad_rows.h"
#include "support/jobs.h"

/* The rows of bad input to the jobs floor (conformance/bad_rows.h).
 *
 * A row gets an SQLite store with a job in each state, and makes its call with `told` as ret_error.
 * It is called twice: with told NULL, and with an error that must say in one line what is wrong and
 * name the parameter or the member. A row of the fault forked is called in a child. A refusal
 * leaves the counts and the jobs of the store, the memory, and w's results; so one store serves all
 * rows up to the next success, and at its end everything comes out as if nothing had happened. */

enum {
    IS_ENDED = 1, /* numbers of jobs */
    IS_RESERVED,
    IS_BURIED,
    IS_READY, /* has KEY and PUT_ID */
    IS_DELAYED,
    IS_BEHIND /* after the last */
};

#define TUBE "t"
#define KEY "key"
#define PUT_ID "put"
#define DELAY WEIR_SECONDS(1)

struct seen {
    enum weir_job_state state;
    uint32_t attempts;
    int64_t run_at_ns;
};

struct world {
    weir_broker *broker;
    struct jobs_wall wall;
    weir_producer *producer; /* of TUBE, as the next */
    weir_consumer *consumer; /* not started */
    struct weiri_reservation *held;
    char path[32];
    struct weir_tube_counts before;
    struct seen jobs[IS_BEHIND];
    size_t tubes;
    size_t bytes;

    /* Results that a refusal must leave alone. */
    size_t count;
    struct weir_job_id id;
};

/* Where the call of a row says why it refuses; NULL in the first of its two calls. */
static struct weir_error *told;

/* The status of a call that was given told. */
static inline enum weir_status tell(enum weir_status status)
{
    CHECK(strpbrk(said.text, "\n\r\t\x1b") == NULL);
    return told == NULL ? status : spoken(status);
}

/* The last call, where it was given told, has said so. */
static inline void check_says(const char *text)
{
    if (told != NULL && strstr(said.text, text) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", said.text, text);
    }
}

/* A text of so many bytes, its end included. */
static inline const char *fill(char *text, size_t size)
{
    memset(text, 'a', size - 1);
    text[size - 1] = '\0';
    return text;
}

static inline int ignore_job(const struct weir_job *job, void *arg)
{
    (void)job;
    (void)arg;
    return 0;
}

static inline int ignore_tube(const struct weir_tube_counts *counts, void *arg)
{
    (void)counts;
    (void)arg;
    return 0;
}

static inline int ignore_run(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    (void)arg;
    return WEIR_OK;
}

static inline int count_tube(const struct weir_tube_counts *counts, void *arg)
{
    (void)counts;
    ++*(size_t *)arg;
    return 0;
}

static inline int see_job(const struct weir_job *job, void *arg)
{
    *(struct seen *)arg = (struct seen){job->state, job->attempts, job->run_at_ns};
    return 0;
}

static inline struct seen look_at(const struct world *w, int number)
{
    struct seen seen = {0};
    char id[16];
    (void)snprintf(id, sizeof(id), "%d", number);
    CHECK_STATUS(weir_broker_peek_id(w->broker, id, see_job, &seen, NULL), WEIR_OK);
    return seen;
}

static inline void take_stock(struct world *w)
{
    w->before = jobs_counts(w->broker, TUBE);
    w->tubes = 0;
    CHECK_STATUS(weir_broker_tubes(w->broker, NULL, count_tube, &w->tubes, NULL), WEIR_OK);
    for (int i = IS_ENDED; i < IS_BEHIND; i++) {
        w->jobs[i] = look_at(w, i);
    }
    w->bytes = test_allocated_bytes();
}

/* All but w's results. */
static inline void check_unchanged_but_ids(const struct world *w)
{
    struct weir_tube_counts now = jobs_counts(w->broker, TUBE);
    CHECK_INT(now.delayed, ==, w->before.delayed);
    CHECK_INT(now.ready, ==, w->before.ready);
    CHECK_INT(now.reserved, ==, w->before.reserved);
    CHECK_INT(now.buried, ==, w->before.buried);
    CHECK_INT(now.put, ==, w->before.put);
    CHECK_INT(now.done, ==, w->before.done);
    CHECK_INT(now.failed, ==, w->before.failed);
    CHECK_INT(now.burials, ==, w->before.burials);
    CHECK_INT(now.paused_until_ns, ==, w->before.paused_until_ns);
    size_t tubes = 0;
    CHECK_STATUS(weir_broker_tubes(w->broker, NULL, count_tube, &tubes, NULL), WEIR_OK);
    CHECK_INT(tubes, ==, w->tubes);
    for (int i = IS_ENDED; i < IS_BEHIND; i++) {
        struct seen seen = look_at(w, i);
        CHECK(seen.state == w->jobs[i].state && seen.attempts == w->jobs[i].attempts);
        CHECK_INT(seen.run_at_ns, ==, w->jobs[i].run_at_ns);
    }
    /* After these looks, which open a reader where a failed one was closed. */
    CHECK_INT(test_allocated_bytes(), ==, w->bytes);
}

static inline void check_unchanged(const struct world *w)
{
    check_unchanged_but_ids(w);
    CHECK_INT(w->count, ==, UNTOUCHED);
    CHECK_STRING(w->id.text, "untouched");
}

/* A new store, with a job in each state. */
static inline void make_world(struct world *w)
{
    static unsigned worlds;
    memset(w, 0, sizeof(*w));
    w->wall.now_ns = JOBS_WALL_START;
    w->count = UNTOUCHED;
    (void)snprintf(w->id.text, sizeof(w->id.text), "untouched");
    (void)snprintf(w->path, sizeof(w->path), "jobs%u.db", worlds++);
    w->broker = jobs_store_open(w->path, &w->wall);
    const struct weir_tube_policy policy = {.keep_ns = WEIR_FOREVER};
    CHECK_STATUS(weir_broker_set_policy(w->broker, TUBE, &policy, NULL), WEIR_OK);
    CHECK_INT(jobs_put(w->broker, TUBE, "ended", NULL), ==, IS_ENDED);
    struct weiri_reservation *job = jobs_reserve_one(w->broker, TUBE);
    CHECK_STATUS(jobs_settle(w->broker, job, WEIRI_JOB_DONE, 0, ""), WEIR_OK);
    jobs_free_one(w->broker, job);
    CHECK_INT(jobs_put(w->broker, TUBE, "reserved", NULL), ==, IS_RESERVED);
    w->held = jobs_reserve_one(w->broker, TUBE);
    CHECK_INT(jobs_put(w->broker, TUBE, "buried", NULL), ==, IS_BURIED);
    job = jobs_reserve_one(w->broker, TUBE);
    CHECK_STATUS(jobs_settle(w->broker, job, WEIRI_JOB_BURY, 0, "it failed"), WEIR_OK);
    jobs_free_one(w->broker, job);
    struct weir_put_options options = {.key = KEY, .put_id = PUT_ID};
    CHECK_INT(jobs_put(w->broker, TUBE, "ready", &options), ==, IS_READY);
    options = (struct weir_put_options){.delay_ns = DELAY};
    CHECK_INT(jobs_put(w->broker, TUBE, "delayed", &options), ==, IS_DELAYED);
    CHECK_STATUS(weir_producer_open(w->broker, TUBE, NULL, &w->producer, NULL), WEIR_OK);
    const struct weir_consumer_options runs = {.handler = ignore_run,
                                               .flags = WEIR_CONSUMER_UNTIL_EMPTY};
    CHECK_STATUS(weir_consumer_new(w->broker, TUBE, &runs, &w->consumer, NULL), WEIR_OK);
    take_stock(w);
}

static inline void end_world(struct world *w)
{
    weir_producer_close(w->producer);
    weir_consumer_free(w->consumer);
    jobs_free_one(w->broker, w->held);
    CHECK_STATUS(weir_broker_close(w->broker), WEIR_OK);
}

/* What may run runs, in its order, and the consumer what comes then. */
static inline void check_comes_out(struct world *w)
{
    for (int i = IS_READY; i < IS_BEHIND; i++) {
        struct weiri_reservation *job = jobs_reserve_one(w->broker, TUBE);
        CHECK_INT(strtol(job->job.id, NULL, 10), ==, i);
        CHECK_STATUS(jobs_settle(w->broker, job, WEIRI_JOB_DONE, 0, ""), WEIR_OK);
        jobs_free_one(w->broker, job);
        jobs_wall_step(&w->wall, DELAY);
    }
    CHECK_STATUS(jobs_settle(w->broker, w->held, WEIRI_JOB_DONE, 0, ""), WEIR_OK);
    CHECK_COUNTS(w->broker, TUBE, 0, 0, 0, 1);
    CHECK_INT(jobs_put(w->broker, TUBE, "next", NULL), ==, IS_BEHIND);
    uint64_t done = jobs_counts(w->broker, TUBE).done;
    CHECK_STATUS(weir_consumer_start(w->consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_wait(w->consumer, WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_INT(jobs_counts(w->broker, TUBE).done, ==, done + 1);
}

/* The same store, opened to be read. */
static inline weir_broker *read_only(struct world *w)
{
    weir_broker *broker;
    CHECK_STATUS(jobs_store_try_open(w->path, &w->wall, WEIR_BROKER_READ_ONLY, &broker, NULL),
                 WEIR_OK);
    return broker;
}

/* A cluster, of which no node answers. */
static inline weir_broker *cluster(void)
{
    weir_broker *broker;
    struct weir_broker_options options = {.allocator = *test_allocator()};
    CHECK_STATUS(weir_broker_open("beanstalk://127.0.0.1:1?replicas=1", &options, &broker, NULL),
                 WEIR_OK);
    return broker;
}

/* Waits for a child, which ends by test_end_child(). */
static inline void wait_for(pid_t child)
{
    CHECK_INT(child, >, 0);
    int end = 0;
    CHECK_INT(waitpid(child, &end, 0), ==, child);
    CHECK(WIFEXITED(end) && WEXITSTATUS(end) == 0);
}

static inline enum weir_status call_in_child(const struct row *row, struct world *w)
{
    pid_t child = fork();
    if (child == 0) {
        (void)call_row(row, w);
        test_end_child();
    }
    wait_for(child);
    return row->status;
}

static inline bool call_once(const struct row *row, struct world *w, struct weir_error *error)
{
    told = error;
    enum weir_status status =
        strcmp(row->fault, "forked") == 0 ? call_in_child(row, w) : call_row(row, w);
    if (status != WEIR_OK) {
        check_unchanged(w);
        return true;
    }
    end_world(w);
    make_world(w);
    return false;
}

TEST(rows, "each function refuses each fault of each parameter, says so, and changes nothing")
{
    struct world w;
    CHECK_INT(row_count, >, 0);
    make_world(&w);
    bool is_as_made = true;
    for (size_t i = 0; i < row_count; i++) {
        (void)call_once(&rows[i], &w, NULL);
        is_as_made = call_once(&rows[i], &w, &said);
        if (is_as_made && (i + 1 == row_count || rows[i + 1].status == WEIR_OK)) {
            check_comes_out(&w);
            end_world(&w);
            make_world(&w);
        }
    }
    end_world(&w);
}

/* Calls on a broker of the row's own, which is closed then. */
static inline enum weir_status call_on_own(struct world *w, weir_broker *broker,
                                           enum weir_status (*call)(struct world *w,
                                                                    weir_broker *broker))
{
    enum weir_status status = call(w, broker);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    return status;
}

/* The rows of a parameter that is an object of the world's; call(w, object) makes the call. */
#define OBJECT_ROWS(function, parameter, call)                                                     \
    ROW(function, parameter, null, WEIR_EINVAL)                                                    \
    {                                                                                              \
        return call(w, NULL);                                                                      \
    }                                                                                              \
    ROW(function, parameter, forked, WEIR_EFORKED)                                                 \
    {                                                                                              \
        return call(w, w->parameter);                                                              \
    }

/* Of a parameter that is a broker to write to; call(w, broker) makes the call. */
#define SIDE_ROWS(function, parameter, call)                                                       \
    ROW(function, parameter, null, WEIR_EINVAL)                                                    \
    {                                                                                              \
        return call(w, NULL);                                                                      \
    }                                                                                              \
    ROW(function, parameter, forked, WEIR_EFORKED)                                                 \
    {                                                                                              \
        return call(w, w->broker);                                                                 \
    }                                                                                              \
    ROW(function, parameter, read_only, WEIR_EACCESS)                                              \
    {                                                                                              \
        return call_on_own(w, read_only(w), call);                                                 \
    }

/* Of the parameter `broker`. */
#define WRITER_ROWS(function, call) SIDE_ROWS(function, broker, call)

/* Of one that a cluster does not have. */
#define CLUSTER_ROWS(function, call)                                                               \
    ROW(function, broker, cluster, WEIR_ENOTSUP)                                                   \
    {                                                                                              \
        return call_on_own(w, cluster(), call);                                                    \
    }

static const struct {
    const char *name;
    const char *says;
} bad_tubes[] = {{"", "empty"},
                 {"a b", "0x20 at offset 1"},
                 {"a\nb", "0x0a at offset 1"},
                 {"-t", "0x2d at offset 0"},
                 {"t\xff", "0xff at offset 1"}};

/* Of a parameter `tube` that may be NULL; call(w, tube) makes the call. */
#define TUBE_NAME_ROWS(function, call)                                                             \
    ROW(function, tube, malformed, WEIR_EINVAL)                                                    \
    {                                                                                              \
        for (size_t i = 0; i < sizeof(bad_tubes) / sizeof(bad_tubes[0]); i++) {                    \
            CHECK_STATUS(call(w, bad_tubes[i].name), WEIR_EINVAL);                                 \
            check_says(bad_tubes[i].says);                                                         \
        }                                                                                          \
        return WEIR_EINVAL;                                                                        \
    }                                                                                              \
    ROW(function, tube, too_big, WEIR_ETOOBIG)                                                     \
    {                                                                                              \
        char name[WEIR_TUBE_SIZE_MAX + 2];                                                         \
        return call(w, fill(name, sizeof(name)));                                                  \
    }

/* Of one that may not. */
#define TUBE_ROWS(function, call)                                                                  \
    TUBE_NAME_ROWS(function, call)                                                                 \
    ROW(function, tube, null, WEIR_EINVAL)                                                         \
    {                                                                                              \
        return call(w, NULL);                                                                      \
    }

/* Of a parameter `id`; call(w, id) makes the call. */
#define ID_ROWS(function, call)                                                                    \
    ROW(function, id, null, WEIR_EINVAL)                                                           \
    {                                                                                              \
        return call(w, NULL);                                                                      \
    }                                                                                              \
    ROW(function, id, malformed, WEIR_EINVAL)                                                      \
    {                                                                                              \
        static const char *const ids[] = {"", "one", "0", "-1", "4 ", "9223372036854775808"};      \
        for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {                                \
            CHECK_STATUS(call(w, ids[i]), WEIR_EINVAL);                                            \
        }                                                                                          \
        return WEIR_EINVAL;                                                                        \
    }

/* Of a parameter `ids`; call(w, ids, count) makes the call. */
#define IDS_ROWS(function, call)                                                                   \
    ROW(function, ids, null, WEIR_EINVAL)                                                          \
    {                                                                                              \
        static const char *const ids[] = {"4", NULL};                                              \
        CHECK_STATUS(call(w, ids, 2), WEIR_EINVAL);                                                \
        check_says("ids[1] is NULL");                                                              \
        return call(w, NULL, 1);                                                                   \
    }                                                                                              \
    ROW(function, ids, malformed_id, WEIR_EINVAL)                                                  \
    {                                                                                              \
        static const char *const ids[] = {"4", "", "4", "one", "4", "0", "4", "4.0"};              \
        for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i += 2) {                             \
            CHECK_STATUS(call(w, ids + i, 2), WEIR_EINVAL);                                        \
        }                                                                                          \
        return WEIR_EINVAL;                                                                        \
    }                                                                                              \
    ROW(function, count, zero, WEIR_OK)                                                            \
    {                                                                                              \
        return call(w, NULL, 0);                                                                   \
    }                                                                                              \
    ROW(function, memory, none, WEIR_ENOMEM)                                                       \
    {                                                                                              \
        static const char *const ids[] = {"4"};                                                    \
        test_fail_allocation(1, true);                                                             \
        return call(w, ids, 1);                                                                    \
    }

#endif
