/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What operators do with jobs of an SQLite store. */
#include <weir/admin.h>

#include <unistd.h>

#include "support/changes.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

enum {
    DELAYED,
    READY,
    RESERVED,
    BURIED,
    GONE,
    KINDS
};

typedef enum weir_status change_fn(weir_broker *broker, const char *const *ids, size_t count,
                                   enum weir_status *ret_statuses, struct weir_error *ret_error);

static enum weir_status bury(weir_broker *broker, const char *const *ids, size_t count,
                             enum weir_status *ret_statuses, struct weir_error *ret_error)
{
    return change_bury(broker, ids, count, "by hand", ret_statuses, ret_error);
}

/* One job in each state, in the order of the enum; the last one is gone. */
static weir_broker *fill(char ids[KINDS][24])
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {0};
    int64_t numbers[KINDS];
    static const enum weiri_job_event events[] = {
        [RESERVED] = WEIRI_JOB_TOUCH, [BURIED] = WEIRI_JOB_BURY, [GONE] = WEIRI_JOB_DONE};
    for (int kind = RESERVED; kind < KINDS; kind++) {
        numbers[kind] = jobs_put(broker, "t", "job", NULL);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_STATUS(jobs_settle(broker, job, events[kind], 0, ""), WEIR_OK);
        jobs_free_one(broker, job);
    }
    options.delay_ns = WEIR_SECONDS(60);
    numbers[DELAYED] = jobs_put(broker, "t", "job", &options);
    numbers[READY] = jobs_put(broker, "t", "job", NULL);
    for (int kind = 0; kind < KINDS; kind++) {
        (void)snprintf(ids[kind], sizeof(ids[kind]), "%lld", (long long)numbers[kind]);
    }
    return broker;
}

TEST(each_state, "remove, kick and bury by id say of each job what was done, and why not")
{
    static const struct {
        change_fn *change;
        enum weir_status statuses[KINDS];
        uint64_t counts[4]; /* delayed, ready, reserved, buried afterwards */
    } rows[] = {
        {change_remove, {WEIR_OK, WEIR_OK, WEIR_EBUSY, WEIR_OK, WEIR_OK}, {0, 0, 1, 0}},
        {change_kick, {WEIR_ESTATE, WEIR_ESTATE, WEIR_EBUSY, WEIR_OK, WEIR_ESTATE}, {1, 2, 1, 0}},
        {bury, {WEIR_OK, WEIR_OK, WEIR_EBUSY, WEIR_ESTATE, WEIR_ESTATE}, {0, 0, 1, 3}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char texts[KINDS][24];
        jobs_store_remove("jobs.db");
        weir_broker *broker = fill(texts);
        CHECK_COUNTS(broker, "t", 1, 1, 1, 1);
        const char *ids[KINDS];
        enum weir_status statuses[KINDS];
        for (int kind = 0; kind < KINDS; kind++) {
            ids[kind] = texts[kind];
            statuses[kind] = WEIR_EUSER;
        }
        CHECK_STATUS(rows[i].change(broker, ids, KINDS, statuses, NULL), WEIR_OK);
        for (int kind = 0; kind < KINDS; kind++) {
            CHECK_STATUS(statuses[kind], rows[i].statuses[kind]);
        }
        CHECK_COUNTS(broker, "t", rows[i].counts[0], rows[i].counts[1], rows[i].counts[2],
                     rows[i].counts[3]);
        weir_broker_close(broker);
    }
}

static int keep_reason(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, WEIR_REASON_SIZE, "%s", job->reason);
    return 0;
}

TEST(reasons, "a job buried by hand has the reason that was given, and a kick runs it again")
{
    char ids[KINDS][24];
    weir_broker *broker = fill(ids);
    const char *id = ids[READY];
    enum weir_status status;
    char reason[WEIR_REASON_SIZE];
    CHECK_STATUS(bury(broker, &id, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_peek_id(broker, id, keep_reason, reason, NULL), WEIR_OK);
    CHECK_STRING(reason, "by hand");
    CHECK_STATUS(change_kick(broker, &id, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_OK);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STRING(job->job.id, id);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

static int refuse_node(const struct weir_node *node, void *arg)
{
    (void)node;
    (void)arg;
    test_fail(__FILE__, __LINE__, "a store has no servers");
    return 1;
}

TEST(no_nodes, "a store of one host has no servers to tell of, and states have names")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_STATUS(weir_broker_nodes(broker, refuse_node, NULL, NULL), WEIR_OK);
    CHECK_STRING(weir_node_state_name(WEIR_NODE_UP), "up");
    CHECK_STRING(weir_node_state_name(WEIR_NODE_DRAINING), "draining");
    CHECK_STRING(weir_node_state_name(WEIR_NODE_AWAY), "away");
    CHECK_STRING(weir_node_state_name((enum weir_node_state)9), "?");
    weir_broker_close(broker);
}

struct listing {
    char text[512]; /* ids, each with a space behind */
    int left;       /* jobs to take */
};

static int list_job(const struct weir_job *job, void *arg)
{
    struct listing *listing = arg;
    size_t used = strlen(listing->text);
    (void)snprintf(listing->text + used, sizeof(listing->text) - used, "%s ", job->id);
    return --listing->left == 0 ? 1 : 0;
}

static void check_list(weir_broker *broker, const struct weir_job_filter *filter, int most,
                       const char *expected)
{
    struct listing listing = {.left = most};
    CHECK_STATUS(weir_broker_list(broker, filter, list_job, &listing, NULL), WEIR_OK);
    CHECK_STRING(listing.text, expected);
}

TEST(filters, "a list has the jobs that its filter lets through, in order of their arrival")
{
    char ids[KINDS][24];
    weir_broker *broker = fill(ids); /* 1 reserved, 2 buried, 3 gone, 4 delayed, 5 ready */
    (void)jobs_put(broker, "other", "needle", NULL);
    jobs_wall_step(&wall, WEIR_SECONDS(10));
    (void)jobs_put(broker, "t", "a needle here", NULL);
    struct weir_job_filter filter = {0};
    check_list(broker, NULL, 0, "1 2 4 5 6 7 ");
    check_list(broker, &filter, 2, "1 2 ");
    filter.after = "2";
    check_list(broker, &filter, 2, "4 5 ");
    filter.after = NULL;
    filter.tube = "t";
    check_list(broker, &filter, 0, "1 2 4 5 7 ");
    filter.tube = "unknown";
    check_list(broker, &filter, 0, "");
    filter.tube = NULL;
    static const char *const by_state[] = {"4 ", "5 6 7 ", "1 ", "2 "};
    for (int state = WEIR_JOB_DELAYED; state <= WEIR_JOB_BURIED; state++) {
        filter.state = (enum weir_job_state)state;
        check_list(broker, &filter, 0, by_state[state - 1]);
    }
    filter.state = (enum weir_job_state)0;
    filter.attempts_min = 1;
    check_list(broker, &filter, 0, "1 2 ");
    filter.attempts_min = 0;
    filter.text = "needle";
    filter.text_size = 6;
    check_list(broker, &filter, 0, "6 7 ");
    filter.created_before_ns = jobs_wall_now(&wall);
    check_list(broker, &filter, 0, "6 ");
    /* What is due is shown as ready, though no consumer has filed it. */
    struct weir_job_filter ready = {0};
    jobs_wall_step(&wall, WEIR_SECONDS(60));
    ready.state = WEIR_JOB_READY;
    check_list(broker, &ready, 0, "4 5 6 7 ");
    ready.state = WEIR_JOB_DELAYED;
    check_list(broker, &ready, 0, "");
    weir_broker_close(broker);
}

/* Puts and removes while the list goes on, on the same store. */
static int change_meanwhile(const struct weir_job *job, void *arg)
{
    weir_broker *broker = ((void **)arg)[0];
    int *count = ((void **)arg)[1];
    (void)job;
    ++*count;
    (void)jobs_put(broker, "t", "later", NULL);
    return 0;
}

TEST(long_list, "a list goes over many pages, and does not come to what is put meanwhile")
{
    enum {
        COUNT = 300
    };
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    static struct weir_body bodies[COUNT];
    for (int i = 0; i < COUNT; i++) {
        bodies[i] = (struct weir_body){"same", 4, NULL};
    }
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, COUNT, NULL, NULL, NULL), WEIR_OK);
    int count = 0;
    void *arg[] = {broker, &count};
    CHECK_STATUS(weir_broker_list(broker, NULL, change_meanwhile, arg, NULL), WEIR_OK);
    CHECK_INT(count, ==, COUNT);
    weir_broker_close(broker);
}

/* Notes the jobs of a list, and how far it said to have come in between; ends it at `end`. */
struct stepping {
    char text[512];
    const char *end;
};

static int note_job(const struct weir_job *job, void *arg)
{
    struct stepping *stepping = arg;
    size_t used = strlen(stepping->text);
    if (strcmp(job->id, "1") == 0 || strcmp(job->id, "150") == 0) {
        (void)snprintf(stepping->text + used, sizeof(stepping->text) - used, "%s ", job->id);
    }
    return 0;
}

static int note_step(const char *id, void *arg)
{
    struct stepping *stepping = arg;
    size_t used = strlen(stepping->text);
    (void)snprintf(stepping->text + used, sizeof(stepping->text) - used, "(%s) ", id);
    return stepping->end != NULL && strcmp(id, stepping->end) == 0;
}

static void check_steps(weir_broker *broker, struct weir_job_filter *filter, const char *end,
                        const char *expected)
{
    struct stepping stepping = {.end = end};
    CHECK_STATUS(weir_broker_list(broker, filter, note_job, &stepping, NULL), WEIR_OK);
    CHECK_STRING(stepping.text, expected);
}

TEST(steps, "a list tells how far it has come, also without a match, is ended there and goes on")
{
    enum {
        COUNT = 150,
        SIZE = 1 << 17
    };
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    static char large[SIZE];
    static struct weir_body bodies[COUNT];
    struct weir_job_filter filter = {0};
    for (int i = 0; i < COUNT; i++) {
        bodies[i] = (struct weir_body){large, i % 3 == 0 ? SIZE : 1, NULL};
    }
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, COUNT, NULL, NULL, NULL), WEIR_OK);
    check_steps(broker, &filter, NULL, "1 150 ");
    filter.step = note_step;
    check_steps(broker, &filter, NULL, "1 (64) (128) 150 ");
    check_steps(broker, &filter, "64", "1 (64) ");
    filter.after = "64";
    check_steps(broker, &filter, NULL, "(128) 150 ");
    /* Without a match a read ends after 4 MiB: 32 large bodies. */
    filter.after = NULL;
    filter.text = "none";
    filter.text_size = 4;
    check_steps(broker, &filter, NULL, "(94) ");
    filter.after = "94";
    check_steps(broker, &filter, NULL, "");
    /* And after 20,000 numbers, behind the last of which jobs may be gone. */
    filter = (struct weir_job_filter){0};
    filter.step = note_step;
    filter.after = "9223372036854775807";
    check_steps(broker, &filter, NULL, "");
    weir_broker_close(broker);
}

static struct weir_why why_of(weir_broker *broker, const char *id)
{
    struct weir_why why;
    struct weir_error error;
    if (weir_broker_why(broker, id, &why, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", id, error.text);
    }
    return why;
}

TEST(why, "of a job in each state it is told why it does not run, and when it can")
{
    char ids[KINDS][24];
    weir_broker *broker = fill(ids);
    int64_t now = jobs_wall_now(&wall);
    struct weir_why why = why_of(broker, ids[DELAYED]);
    CHECK_INT(why.reason, ==, WEIR_WHY_TIME);
    CHECK_INT(why.start_ns, ==, now + WEIR_SECONDS(60));
    CHECK_STRING(why.text, "its time has not come");
    why = why_of(broker, ids[READY]);
    CHECK_INT(why.reason, ==, WEIR_WHY_WORKER);
    CHECK(why.start_ns <= now);
    CHECK_STRING(why.text, "no worker has taken it yet");
    why = why_of(broker, ids[RESERVED]);
    CHECK_INT(why.reason, ==, WEIR_WHY_RESERVED);
    CHECK_INT(why.owner, ==, (int64_t)getpid());
    CHECK_INT(why.start_ns, ==, now + WEIR_SECONDS(60));
    why = why_of(broker, ids[BURIED]);
    CHECK_INT(why.reason, ==, WEIR_WHY_BURIED);
    CHECK_INT(why.start_ns, ==, 0);
    CHECK_INT(why.state, ==, WEIR_JOB_BURIED);

    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_SECONDS(600), NULL), WEIR_OK);
    why = why_of(broker, ids[READY]);
    CHECK_INT(why.reason, ==, WEIR_WHY_PAUSED);
    CHECK_INT(why.start_ns, ==, now + WEIR_SECONDS(600));
    CHECK_INT(why_of(broker, ids[DELAYED]).reason, ==, WEIR_WHY_PAUSED);
    CHECK_INT(why_of(broker, ids[BURIED]).reason, ==, WEIR_WHY_BURIED);
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_SECONDS(1), NULL), WEIR_OK);
    CHECK_INT(why_of(broker, ids[DELAYED]).reason, ==, WEIR_WHY_TIME);
    CHECK_STATUS(weir_broker_pause(broker, "t", 0, NULL), WEIR_OK);

    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(
        jobs_settle(broker, job, WEIRI_JOB_RELEASE, now + WEIR_SECONDS(5), "exit status 3"),
        WEIR_OK);
    why = why_of(broker, job->job.id);
    CHECK_INT(why.reason, ==, WEIR_WHY_TIME);
    CHECK_STRING(why.text, "it waits for its next run, after run 1: exit status 3");
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST_OOM(lacks_memory, "without memory nothing is changed")
{
    weir_broker *broker;
    if (CHECK_OR_OOM(jobs_store_try_open("jobs.db", &wall, 0, &broker, NULL))) {
        return;
    }
    struct weir_job_id id = {""};
    const struct weir_body body = {"job", 3, NULL};
    const char *text = id.text;
    enum weir_status status = WEIR_EUSER;
    enum weir_status result = weir_broker_put(broker, "t", &body, 1, NULL, &id, NULL);
    if (result == WEIR_OK) {
        result = change_bury(broker, &text, 1, NULL, &status, NULL);
    }
    if (!CHECK_OR_OOM(result)) {
        struct listing listing = {.left = 0};
        CHECK_STATUS(status, WEIR_OK);
        struct weir_why why;
        (void)CHECK_OR_OOM(weir_broker_list(broker, NULL, list_job, &listing, NULL));
        (void)CHECK_OR_OOM(weir_broker_why(broker, text, &why, NULL));
    } else {
        CHECK_STATUS(status, WEIR_EUSER);
    }
    weir_broker_close(broker);
}

static void move_one(weir_broker *broker, const char *id, const char *tube,
                     enum weir_status expected)
{
    enum weir_status status = WEIR_OK;
    CHECK_STATUS(change_move(broker, &id, 1, tube, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, expected);
}

static int expect_moved(const struct weir_job *job, void *arg)
{
    const int64_t *run_at_ns = arg;
    CHECK_STRING(job->tube, "u");
    CHECK_STRING(job->key, "k");
    CHECK_STRING(job->reason, "no");
    CHECK_INT(job->attempts, ==, 1);
    CHECK_INT(job->run_at_ns, ==, *run_at_ns);
    return 0;
}

TEST(move_ids, "jobs move to another tube with all they have, but not where their key is taken")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {0};
    options.key = "k";
    (void)jobs_put(broker, "t", "one", &options);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    move_one(broker, "1", "u", WEIR_EBUSY);
    int64_t run_at_ns = wall.now_ns + WEIR_SECONDS(9);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, run_at_ns, "no"), WEIR_OK);
    jobs_free_one(broker, job);
    struct weiri_mark mark = jobs_mark(broker, "u");
    move_one(broker, "1", "u", WEIR_OK);
    CHECK(jobs_has_news(broker, mark)); /* due before all others */
    move_one(broker, "1", "u", WEIR_OK);
    move_one(broker, "77", "u", WEIR_ENOTFOUND);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    CHECK_COUNTS(broker, "u", 1, 0, 0, 0);
    CHECK_STATUS(weir_broker_peek_id(broker, "1", expect_moved, &run_at_ns, NULL), WEIR_OK);
    /* Its key is that of the new tube now. */
    struct weir_body body = {"x", 1, NULL};
    CHECK_STATUS(weir_broker_put(broker, "u", &body, 1, &options, NULL, NULL), WEIR_EBUSY);
    CHECK_INT(jobs_put(broker, "t", "two", &options), ==, 2);
    move_one(broker, "2", "u", WEIR_EBUSY);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    /* Several of several tubes in one transaction. */
    (void)jobs_put(broker, "v", "three", NULL);
    static const char *const ids[] = {"2", "3", "1"};
    enum weir_status statuses[3];
    CHECK_STATUS(change_bury(broker, ids, 1, "aside", statuses, NULL), WEIR_OK);
    CHECK_STATUS(change_move(broker, ids, 3, "w", statuses, NULL), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(statuses[i], WEIR_OK);
    }
    CHECK_COUNTS(broker, "w", 1, 1, 0, 1);
    CHECK_COUNTS(broker, "u", 0, 0, 0, 0);
    CHECK_COUNTS(broker, "v", 0, 0, 0, 0);
    CHECK_STATUS(change_move(broker, ids, 3, "a b", statuses, NULL), WEIR_EINVAL);
    CHECK_STATUS(change_move(broker, ids, 3, NULL, statuses, NULL), WEIR_EINVAL);
    CHECK_STATUS(change_move(broker, NULL, 3, "w", statuses, NULL), WEIR_EINVAL);
    CHECK_STATUS(change_move(NULL, ids, 3, "w", statuses, NULL), WEIR_EINVAL);
    struct weir_tube_policy policy = {0};
    policy.keep_ns = 1;
    CHECK_STATUS(weir_broker_set_policy(broker, "w", &policy, NULL), WEIR_OK);
    job = jobs_reserve_one(broker, "w");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    move_one(broker, job->job.id, "t", WEIR_ESTATE);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
    CHECK_STATUS(weir_broker_open("beanstalk://127.0.0.1:1,127.0.0.1:2", NULL, &broker, NULL),
                 WEIR_OK);
    CHECK_STATUS(change_move(broker, ids, 3, "w", statuses, NULL), WEIR_ENOTSUP);
    weir_broker_close(broker);
}
