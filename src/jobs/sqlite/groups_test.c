/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Groups of jobs: how many of one are reserved at once, over all brokers of a store. */
#include <weir/admin.h>

#include "jobs/sqlite/store.h"
#include "support/changes.h"
#include "support/consumer.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

static weir_broker *open_store(void)
{
    return jobs_store_open_on("jobs.db", &clocks, "a");
}

static void put(weir_broker *broker, const char *group, int count)
{
    struct weir_put_options options = {0};
    options.group = group;
    for (int i = 0; i < count; i++) {
        (void)jobs_put(broker, "t", group == NULL ? "-" : group, &options);
    }
}

static void limit(weir_broker *broker, uint32_t group_limit)
{
    const struct weir_tube_policy policy = {.group_limit = group_limit};
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
}

/* Reserves so many jobs at most; what there was of each group, in order. */
static size_t reserve(weir_broker *broker, size_t wanted, struct weiri_list *list, char *groups)
{
    struct weiri_exchange exchange = {.tube = "t", .wanted = wanted, .attempts_max = 25};
    CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
    weiri_list_init(list);
    groups[0] = '\0';
    while (!weiri_list_is_empty(&exchange.reserved)) {
        struct weiri_list *link = exchange.reserved.next;
        const struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
        CHECK_STRING(job->job.body, job->job.group == NULL ? "-" : job->job.group);
        strcat(groups, job->job.body);
        weiri_list_remove(link);
        weiri_list_insert_before(list, link);
    }
    CHECK(!exchange.is_empty);
    return exchange.reserved_count;
}

static void settle_first(weir_broker *broker, struct weiri_list *list, enum weiri_job_event event)
{
    struct weiri_reservation *job = jobs_first(list);
    weiri_list_remove(&job->link);
    CHECK_STATUS(jobs_settle(broker, job, event, JOBS_WALL_START + WEIR_SECONDS(9), "x"), WEIR_OK);
    jobs_free_one(broker, job);
}

TEST(limited, "a full group is passed over, in one reservation and over several brokers")
{
    char groups[64];
    struct weiri_list first;
    struct weiri_list second;
    weir_broker *broker = open_store();
    weir_broker *other = open_store();
    put(broker, "a", 4);
    put(broker, "b", 2);
    put(broker, NULL, 2);
    limit(other, 2);
    CHECK_INT(reserve(broker, 5, &first, groups), ==, 5);
    CHECK_STRING(groups, "aabb-");
    CHECK_INT(reserve(other, 5, &second, groups), ==, 1);
    CHECK_STRING(groups, "-");
    /* Whatever ends the run makes room. */
    settle_first(broker, &first, WEIRI_JOB_DONE);
    settle_first(broker, &first, WEIRI_JOB_RELEASE);
    struct weiri_list third;
    CHECK_INT(reserve(other, 5, &third, groups), ==, 2);
    CHECK_STRING(groups, "aa");
    CHECK_COUNTS(broker, "t", 1, 0, 6, 0);
    jobs_free(broker, &first);
    jobs_free(other, &second);
    jobs_free(other, &third);
    weir_broker_close(other);
    weir_broker_close(broker);
}

TEST(unlimited, "a limit that is raised or taken back counts at once; a lower one lets runs go on")
{
    char groups[64];
    struct weiri_list list;
    struct weiri_list more;
    weir_broker *broker = open_store();
    weir_broker *other = open_store();
    put(broker, "a", 6);
    CHECK_INT(reserve(broker, 2, &list, groups), ==, 2);
    limit(other, 2);
    CHECK_INT(reserve(broker, 2, &more, groups), ==, 0);
    limit(other, 3);
    CHECK_INT(reserve(broker, 2, &more, groups), ==, 1);
    jobs_free(broker, &more);
    limit(other, 1);
    CHECK_INT(reserve(broker, 2, &more, groups), ==, 0);
    CHECK_COUNTS(broker, "t", 0, 3, 3, 0);
    limit(other, 0);
    CHECK_INT(reserve(broker, 9, &more, groups), ==, 3);
    jobs_free(broker, &more);
    jobs_free(broker, &list);
    weir_broker_close(other);
    weir_broker_close(broker);
}

TEST(why, "why says that a job waits for its group, and not what a limit does not concern")
{
    char groups[64];
    struct weiri_list list;
    struct weir_why why;
    weir_broker *broker = open_store();
    put(broker, "a", 2);
    put(broker, "b", 1);
    limit(broker, 1);
    CHECK_INT(reserve(broker, 1, &list, groups), ==, 1);
    CHECK_STATUS(weir_broker_why(broker, "2", &why, NULL), WEIR_OK);
    CHECK_INT(why.reason, ==, WEIR_WHY_GROUP);
    CHECK_INT(why.start_ns, ==, 0);
    CHECK_STRING(why.text, "its group \"a\" is full: 1 of at most 1 run (1)");
    CHECK_STATUS(weir_broker_why(broker, "3", &why, NULL), WEIR_OK);
    CHECK_INT(why.reason, ==, WEIR_WHY_WORKER);
    jobs_free(broker, &list);
    limit(broker, 0);
    put(broker, "a", 6);
    CHECK_INT(reserve(broker, 7, &list, groups), ==, 7);
    limit(broker, 6);
    CHECK_STATUS(weir_broker_why(broker, "9", &why, NULL), WEIR_OK);
    CHECK_STRING(why.text, "its group \"a\" is full: 7 of at most 6 run (1, 2, 4, 5, ...)");
    limit(broker, 0);
    CHECK_STATUS(weir_broker_why(broker, "9", &why, NULL), WEIR_OK);
    CHECK_INT(why.reason, ==, WEIR_WHY_WORKER);
    jobs_free(broker, &list);
    weir_broker_close(broker);
}

/* What changes the mark of waiters. */
static bool wakes(weir_broker *broker, struct weiri_list *list, enum weiri_job_event event)
{
    struct weiri_exchange exchange = {.tube = "t", .wanted = 1, .attempts_max = 1};
    struct weiri_mark mark = jobs_mark(broker, "t");
    if (event == WEIRI_JOB_LOSE) {
        jobs_wall_step(&clocks.lease, WEIR_SECONDS(61));
        CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
        CHECK_INT(exchange.reserved_count, ==, 0);
    } else {
        settle_first(broker, list, event);
    }
    return jobs_has_news(broker, mark);
}

TEST(wakes, "the end of a run of a group wakes waiters where its tube has a limit, and only there")
{
    static const enum weiri_job_event events[] = {WEIRI_JOB_DONE, WEIRI_JOB_BURY, WEIRI_JOB_LOSE};
    char groups[64];
    for (size_t i = 0; i < 6; i++) {
        struct weiri_list list;
        weir_broker *broker = open_store();
        bool is_limited = i % 2 == 1;
        limit(broker, is_limited ? 1 : 0);
        put(broker, "a", 1);
        CHECK_INT(reserve(broker, 1, &list, groups), ==, 1);
        CHECK_INT(wakes(broker, &list, events[i / 2]), ==, is_limited);
        jobs_free(broker, &list);
        weir_broker_close(broker);
    }
}

TEST(lost, "a reservation that ends with its worker makes room")
{
    char groups[64];
    struct weiri_list list;
    weir_broker *broker = open_store();
    weir_broker *other = open_store();
    put(broker, "a", 2);
    limit(broker, 1);
    CHECK_INT(reserve(broker, 1, &list, groups), ==, 1);
    jobs_free(broker, &list);
    weir_broker_close(broker);
    CHECK_INT(reserve(other, 1, &list, groups), ==, 0);
    jobs_wall_step(&clocks.wall, WEIR_SECONDS(61));
    jobs_wall_step(&clocks.lease, WEIR_SECONDS(61));
    CHECK_INT(reserve(other, 2, &list, groups), ==, 1);
    jobs_free(other, &list);
    weir_broker_close(other);
}

static int expect_group(const struct weir_job *job, void *arg)
{
    CHECK_STRING(job->group == NULL ? "" : job->group, arg == NULL ? "" : arg);
    return 0;
}

TEST(kept, "a group is kept by looks, moves, and puts that replace a job or leave it")
{
    static char a[] = "a";
    static char b[] = "b";
    weir_broker *from = open_store();
    weir_broker *to = jobs_store_open_on("to.db", &clocks, "a");
    struct weir_put_options options = {0};
    options.group = "a";
    options.key = "k";
    options.on_duplicate = WEIR_DUPLICATE_REPLACE;
    (void)jobs_put(from, "t", "x", &options);
    CHECK_STATUS(weir_broker_peek_id(from, "1", expect_group, a, NULL), WEIR_OK);
    options.group = "b";
    (void)jobs_put(from, "t", "x", &options);
    CHECK_STATUS(weir_broker_peek_id(from, "1", expect_group, b, NULL), WEIR_OK);
    struct weir_why why;
    CHECK_STATUS(weir_broker_why(from, "1", &why, NULL), WEIR_OK);
    CHECK(strstr(why.text, "; 0 of its group \"b\" run") != NULL);
    CHECK_STATUS(weir_broker_move(from, to, "t", NULL, NULL, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_peek_id(to, "1", expect_group, b, NULL), WEIR_OK);
    weir_broker_close(from);
    weir_broker_close(to);
}

/* Ends the run of job 1. */
static void end_run(weir_broker *broker, struct weiri_list *list, enum weiri_job_event event)
{
    if (event == WEIRI_JOB_LOSE) {
        char groups[64];
        jobs_free(broker, list);
        jobs_wall_step(&clocks.wall, WEIR_SECONDS(61));
        jobs_wall_step(&clocks.lease, WEIR_SECONDS(61));
        CHECK_INT(reserve(broker, 1, list, groups), ==, 1);
        event = WEIRI_JOB_RETURN;
    }
    settle_first(broker, list, event);
}

TEST(put_during, "a put during a run gives its group to the next run; the run counts in its own")
{
    static const enum weiri_job_event events[] = {WEIRI_JOB_DONE, WEIRI_JOB_RELEASE,
                                                  WEIRI_JOB_RETURN, WEIRI_JOB_BURY, WEIRI_JOB_LOSE};
    static char b[] = "b";
    char groups[64];
    for (size_t i = 0; i < 2 * sizeof(events) / sizeof(events[0]); i++) {
        char path[16];
        struct weiri_list list;
        struct weiri_list more;
        struct weir_put_options options = {0};
        (void)snprintf(path, sizeof(path), "%zu.db", i);
        weir_broker *broker = jobs_store_open_on(path, &clocks, "a");
        options.group = "a";
        options.key = "k";
        options.on_duplicate = i % 2 == 0 ? WEIR_DUPLICATE_DEBOUNCE : WEIR_DUPLICATE_AGAIN;
        (void)jobs_put(broker, "t", "a", &options);
        limit(broker, 1);
        CHECK_INT(reserve(broker, 1, &list, groups), ==, 1);
        options.group = "c";
        CHECK_INT(jobs_put(broker, "t", "c", &options), ==, 1);
        options.group = "b";
        CHECK_INT(jobs_put(broker, "t", "b", &options), ==, 1);
        put(broker, "a", 1);
        put(broker, "b", 1);
        CHECK_INT(reserve(broker, 2, &more, groups), ==, 1);
        CHECK_STRING(groups, "b");
        jobs_free(broker, &more);
        end_run(broker, &list, events[i / 2]);
        CHECK_STATUS(weir_broker_peek_id(broker, "1", expect_group, b, NULL), WEIR_OK);
        /* A later put without a group, and the end of no run, leave what it asked for. */
        options.group = NULL;
        options.on_duplicate = WEIR_DUPLICATE_REPLACE;
        CHECK_INT(jobs_put(broker, "t", "-", &options), ==, 1);
        const char *id = "1";
        enum weir_status status;
        CHECK_STATUS(change_bury(broker, &id, 1, "why", &status, NULL), WEIR_OK);
        CHECK_STATUS(weir_broker_peek_id(broker, "1", expect_group, NULL, NULL), WEIR_OK);
        weir_broker_close(broker);
    }
}

TEST(refused, "a group that is empty or too long is refused, and nothing is put")
{
    weir_broker *broker = open_store();
    struct weir_put_options options = {0};
    const struct weir_body body = {"x", 1, NULL};
    struct weir_error error;
    char text[WEIR_GROUP_SIZE_MAX + 2];
    options.group = "";
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, &error), WEIR_EINVAL);
    CHECK(strstr(error.text, "group is empty: expected 1 to") != NULL);
    memset(text, 'g', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    options.group = text;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, &error), WEIR_ETOOBIG);
    text[WEIR_GROUP_SIZE_MAX] = '\0';
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, &error), WEIR_OK);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
}

/* Of two consumers in this test: how many jobs run, and the most that ran at once. */
static _Atomic int running;
static _Atomic int most;
static _Atomic int runs;

static int count_running(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)job;
    (void)arg;
    int now = atomic_fetch_add(&running, 1) + 1;
    int seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {
    }
    enum weir_status status = weir_context_sleep(context, WEIR_MS(2));
    atomic_fetch_sub(&running, 1);
    atomic_fetch_add(&runs, 1);
    return (int)status;
}

TEST(woken, "a consumer that only found a full group is woken when another one makes room")
{
    struct scene scenes[2];
    for (size_t i = 0; i < 2; i++) {
        scene_open(&scenes[i]);
    }
    put(scenes[0].broker, "a", 60);
    limit(scenes[0].broker, 2);
    for (size_t i = 0; i < 2; i++) {
        struct weir_consumer_options options = scene_options_of(&scenes[i], count_running);
        options.workers = 3;
        scene_start(&scenes[i], &options);
    }
    for (size_t i = 0; i < 2; i++) {
        scene_wait_for_end(&scenes[i]);
    }
    CHECK_INT(atomic_load(&runs), ==, 60);
    CHECK_INT(atomic_load(&most), <=, 2);
    for (size_t i = 0; i < 2; i++) {
        /* No job had to wait for the bound of all sleeps. */
        CHECK_INT(atomic_load(&scenes[i].consumer->long_sleeps), ==, 0);
        scene_close(&scenes[i]);
    }
}
