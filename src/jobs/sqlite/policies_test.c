/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <weir/policy.h>

#include "jobs/core/job.h"
#include "jobs/sqlite/store.h"
#include "support/changes.h"
#include "support/jobs.h"
#include "support/store_query.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static void set(weir_broker *broker, const char *tube, const struct weir_tube_policy *policy)
{
    struct weir_error error = {0};
    if (weir_broker_set_policy(broker, tube, policy, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
}

static struct weir_tube_policy_counts counts_of(weir_broker *broker)
{
    struct weir_tube_policy policy;
    struct weir_tube_policy_counts counts;
    CHECK_STATUS(weir_broker_policy(broker, "t", &policy, &counts, NULL), WEIR_OK);
    return counts;
}

/* Puts a job and does it. */
static int64_t finish(weir_broker *broker, const char *text)
{
    int64_t number = jobs_put(broker, "t", text, NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->number, ==, number);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    return number;
}

struct seen {
    char ids[2000]; /* joined by spaces */
    enum weir_job_state state;
};

static int see(const struct weir_job *job, void *arg)
{
    struct seen *seen = arg;
    size_t used = strlen(seen->ids);
    (void)snprintf(seen->ids + used, sizeof(seen->ids) - used, "%s%s", used > 0 ? " " : "",
                   job->id);
    seen->state = job->state;
    return 0;
}

static struct seen peek(weir_broker *broker, enum weir_job_state state)
{
    struct seen seen = {"", (enum weir_job_state)0};
    CHECK_STATUS(weir_broker_peek(broker, "t", state, 1000, see, &seen, NULL), WEIR_OK);
    return seen;
}

static struct seen list(weir_broker *broker, enum weir_job_state state)
{
    struct seen seen = {"", (enum weir_job_state)0};
    struct weir_job_filter filter = {0};
    filter.state = state;
    CHECK_STATUS(weir_broker_list(broker, &filter, see, &seen, NULL), WEIR_OK);
    return seen;
}

static int see_attempt(const struct weir_attempt *attempt, void *arg)
{
    char *text = arg;
    size_t used = strlen(text);
    (void)snprintf(text + used, 100 - used, "%u %s %d;", (unsigned)attempt->number,
                   weir_job_outcome_name(attempt->outcome), attempt->status);
    CHECK_INT(attempt->ended_ns, ==, wall.now_ns);
    return 0;
}

TEST(archive, "a done job stays, in a state of its own, with its attempts, until it is removed")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_tube_policy policy = {0};
    policy.keep_ns = WEIR_FOREVER;
    set(broker, "t", &policy);
    struct weir_put_options options = {0};
    options.key = "k";
    (void)jobs_put(broker, "t", "body", &options);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    struct weiri_run_end end = {.outcome = WEIR_RUN_RETRY, .status = WEIR_EUSER};
    CHECK_STATUS(jobs_fail(broker, job, WEIRI_JOB_RELEASE, "attempt 1: no", &end), WEIR_OK);
    jobs_free_one(broker, job);
    job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_ELEASELOST);
    jobs_free_one(broker, job);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    CHECK_INT(jobs_counts(broker, "t").done, ==, 1);
    CHECK_INT(counts_of(broker).ended, ==, 1);
    CHECK_STRING(peek(broker, WEIR_JOB_ENDED).ids, "1");
    CHECK_STRING(peek(broker, (enum weir_job_state)0).ids, "");
    CHECK_STRING(list(broker, WEIR_JOB_ENDED).ids, "1");
    CHECK_STRING(list(broker, (enum weir_job_state)0).ids, "");
    struct seen seen = {"", (enum weir_job_state)0};
    CHECK_STATUS(weir_broker_peek_id(broker, "1", see, &seen, NULL), WEIR_OK);
    CHECK_INT(seen.state, ==, WEIR_JOB_ENDED);
    char attempts[100] = "";
    CHECK_STATUS(weir_broker_attempts(broker, "1", see_attempt, attempts, NULL), WEIR_OK);
    CHECK_STRING(attempts, "1 retry 1000;2 done 0;");
    struct weir_why why;
    CHECK_STATUS(weir_broker_why(broker, "1", &why, NULL), WEIR_OK);
    CHECK_INT(why.reason, ==, WEIR_WHY_DONE);
    CHECK_STRING(why.text, "it is done, after run 2");
    /* Its key is free, it cannot be kicked or buried, and it is never reserved. */
    CHECK_INT(jobs_put(broker, "t", "body", &options), ==, 2);
    static const char *const ids[] = {"1"};
    enum weir_status status;
    CHECK_STATUS(change_kick(broker, ids, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_ESTATE);
    CHECK_STATUS(change_bury(broker, ids, 1, NULL, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_ESTATE);
    struct weiri_store *store = broker->store;
    CHECK_STATUS(weiri_repair_indexes(store, NULL), WEIR_OK);
    CHECK_INT(counts_of(broker).ended, ==, 1);
    CHECK_STATUS(change_remove(broker, ids, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_OK);
    CHECK_INT(counts_of(broker).ended, ==, 0);
    CHECK_STATUS(weir_broker_peek_id(broker, "1", see, &seen, NULL), WEIR_ENOTFOUND);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
}

TEST(age, "ended jobs leave once they are old enough, the oldest first, as others end")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_tube_policy policy = {0};
    policy.keep_ns = WEIR_SECONDS(10);
    set(broker, "t", &policy);
    int64_t first = finish(broker, "x");
    int64_t last = first;
    jobs_wall_step(&wall, WEIR_SECONDS(5));
    while (!weiri_end_trims(last + 2)) {
        last = finish(broker, "x");
    }
    CHECK_INT(counts_of(broker).ended, ==, (uint64_t)last);
    jobs_wall_step(&wall, WEIR_SECONDS(5));
    (void)finish(broker, "x"); /* the first is 10 s old */
    CHECK_INT(counts_of(broker).ended, ==, (uint64_t)last + 1);
    (void)finish(broker, "x"); /* asks */
    CHECK_INT(counts_of(broker).ended, ==, (uint64_t)last + 1);
    struct seen seen = {"", (enum weir_job_state)0};
    CHECK_STATUS(weir_broker_peek_id(broker, "1", see, &seen, NULL), WEIR_ENOTFOUND);
    CHECK_STATUS(weir_broker_peek_id(broker, "2", see, &seen, NULL), WEIR_OK);
    weir_broker_close(broker);
}

TEST(count, "no more are kept than the policy says, and a new policy deletes at once")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_tube_policy policy = {0};
    policy.keep_ns = WEIR_FOREVER;
    policy.keep_count = 300;
    set(broker, "t", &policy);
    int64_t last = 0;
    while (last < 302 || !weiri_end_trims(last)) {
        jobs_wall_step(&wall, last % 2);
        last = finish(broker, "x");
    }
    CHECK_INT(counts_of(broker).ended, ==, 300);
    while (!weiri_end_trims(last + 1)) {
        last = finish(broker, "x");
    }
    weir_broker_close(broker);
    broker = jobs_store_open("jobs.db", &wall);
    policy.keep_count = 2;
    set(broker, "t", &policy);
    char ids[80];
    (void)snprintf(ids, sizeof(ids), "%" PRId64 " %" PRId64, last, last - 1);
    CHECK_STRING(peek(broker, WEIR_JOB_ENDED).ids, ids);
    CHECK_INT(finish(broker, "x"), ==, last + 1);
    (void)snprintf(ids, sizeof(ids), "%" PRId64 " %" PRId64, last + 1, last);
    CHECK_STRING(peek(broker, WEIR_JOB_ENDED).ids, ids);
    jobs_keep_none(broker, "t");
    CHECK_STRING(peek(broker, WEIR_JOB_ENDED).ids, "");
    CHECK_INT(counts_of(broker).ended, ==, 0);
    (void)finish(broker, "x");
    CHECK_STRING(peek(broker, WEIR_JOB_ENDED).ids, "");
    CHECK_INT(query(broker, "SELECT (SELECT count(*) FROM jobs WHERE state <> 6) + (SELECT "
                            "count(*) FROM bodies) + (SELECT count(*) FROM attempts)"),
              ==, 0);
    weir_broker_close(broker);
}

/* Reserves up to wanted jobs and does them. Returns how many; those that were buried are counted.
 */
static size_t work(weir_broker *broker, size_t wanted, size_t *ret_buried)
{
    struct weiri_list buried;
    weiri_list_init(&buried);
    struct weiri_exchange exchange = {
        .tube = "t", .wanted = wanted, .attempts_max = 25, .buried = &buried};
    CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
    *ret_buried = 0;
    for (struct weiri_list *link = buried.next; link != &buried; link = link->next) {
        const struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
        CHECK_STATUS(job->status, WEIR_EPAST);
        (*ret_buried)++;
    }
    struct weiri_list *end = &exchange.reserved;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    }
    jobs_free(broker, &exchange.reserved);
    jobs_free(broker, &buried);
    return exchange.reserved_count;
}

static int keep_reason(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, WEIR_REASON_SIZE, "%s", job->reason);
    return 0;
}

TEST(late_bury, "a job found later than the limit is buried with a reason, and runs when kicked")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_tube_policy policy = {0};
    policy.late = WEIR_LATE_BURY;
    set(broker, "t", &policy);
    size_t buried;
    (void)jobs_put(broker, "t", "on time", NULL);
    jobs_wall_step(&wall, WEIR_SECONDS(1800));
    CHECK_INT(work(broker, 10, &buried), ==, 1);
    CHECK_INT(buried, ==, 0);
    struct weir_put_options options = {0};
    options.delay_ns = WEIR_SECONDS(5);
    (void)jobs_put(broker, "t", "late", NULL);
    (void)jobs_put(broker, "t", "late", &options);
    (void)jobs_put(broker, "t", "failed before", NULL);
    jobs_wall_step(&wall, WEIR_SECONDS(5));
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, wall.now_ns, "attempt 1: no"),
                 WEIR_OK);
    jobs_free_one(broker, job);
    jobs_wall_step(&wall, WEIR_SECONDS(2000));
    (void)jobs_put(broker, "t", "new", NULL);
    CHECK_INT(work(broker, 10, &buried), ==, 2);
    CHECK_INT(buried, ==, 2);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 2);
    CHECK_INT(counts_of(broker).buried, ==, 2);
    char reason[WEIR_REASON_SIZE] = "";
    CHECK_STATUS(weir_broker_peek(broker, "t", WEIR_JOB_BURIED, 1, keep_reason, reason, NULL),
                 WEIR_OK);
    CHECK_STRING(reason, "late by 2000 s: the limit of its tube is 1800 s");
    size_t kicked;
    CHECK_STATUS(weir_broker_kick(broker, "t", 10, &kicked, NULL), WEIR_OK);
    CHECK_INT(kicked, ==, 2);
    CHECK_INT(work(broker, 10, &buried), ==, 2);
    CHECK_INT(buried, ==, 0);
    weir_broker_close(broker);
}

TEST(late_kicked,
     "a job that an operator buried and kicked is not late, whether or not a reason was given")
{
    static const char *const reasons[] = {NULL, "", "by hand"};
    static const char *const kept[] = {"an operator buried it", "an operator buried it", "by hand"};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_tube_policy policy = {0};
    policy.late = WEIR_LATE_BURY;
    set(broker, "t", &policy);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        char text[32];
        const char *ids[] = {text};
        enum weir_status status;
        char reason[WEIR_REASON_SIZE] = "";
        (void)snprintf(text, sizeof(text), "%" PRId64, jobs_put(broker, "t", "x", NULL));
        CHECK_STATUS(change_bury(broker, ids, 1, reasons[i], &status, NULL), WEIR_OK);
        CHECK_STATUS(weir_broker_peek(broker, "t", WEIR_JOB_BURIED, 1, keep_reason, reason, NULL),
                     WEIR_OK);
        CHECK_STRING(reason, kept[i]);
        jobs_wall_step(&wall, WEIR_SECONDS(2000));
        CHECK_STATUS(change_kick(broker, ids, 1, &status, NULL), WEIR_OK);
        size_t buried;
        CHECK_INT(work(broker, 10, &buried), ==, 1);
        CHECK_INT(buried, ==, 0);
    }
    weir_broker_close(broker);
}

TEST(late_again,
     "a job that was reserved before is not late: returned by a consumer that stops after "
     "a long time, and for the run that follows a put during a long one")
{
    static const enum weiri_job_event ends[] = {WEIRI_JOB_RETURN, WEIRI_JOB_DONE};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_tube_policy policy = {.late = WEIR_LATE_DROP};
    const struct weir_put_options options = {.key = "k", .on_duplicate = WEIR_DUPLICATE_AGAIN};
    set(broker, "t", &policy);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        int64_t number = jobs_put(broker, "t", "x", &options);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        if (ends[i] == WEIRI_JOB_DONE) {
            CHECK_INT(jobs_put(broker, "t", "y", &options), ==, number);
        }
        jobs_wall_step(&wall, WEIR_SECONDS(2400));
        CHECK_STATUS(jobs_settle(broker, job, ends[i], 0, NULL), WEIR_OK);
        jobs_free_one(broker, job);
        size_t buried;
        CHECK_INT(work(broker, 1, &buried), ==, 1);
        CHECK_INT(counts_of(broker).dropped, ==, 0);
    }
    weir_broker_close(broker);
}

TEST(late_drop, "a late job is deleted and counted where the policy says so")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_tube_policy policy = {0};
    policy.late = WEIR_LATE_DROP;
    policy.late_ns = 5;
    set(broker, "t", &policy);
    for (int i = 0; i < 200; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
    }
    jobs_wall_step(&wall, 6);
    (void)jobs_put(broker, "t", "new", NULL);
    size_t buried;
    CHECK_INT(work(broker, 1, &buried), ==, 1);
    CHECK_INT(buried, ==, 0);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    CHECK_INT(counts_of(broker).dropped, ==, 200);
    CHECK_INT(jobs_counts(broker, "t").done, ==, 1);
    weir_broker_close(broker);
}

TEST(late_many, "a transaction turns away a bounded number of late jobs, so that others write in "
                "between; what it reserved is not held up by those that are left")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    const struct weir_tube_policy policy = {.late = WEIR_LATE_DROP, .late_ns = 5};
    const struct weir_put_options first = {.priority = -1};
    size_t buried;
    set(broker, "t", &policy);
    store->promote_max = 10;
    for (int i = 0; i < 35; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
    }
    jobs_wall_step(&wall, 6);
    (void)jobs_put(broker, "t", "new", NULL);
    uint64_t before = store->transactions;
    CHECK_INT(work(broker, 1, &buried), ==, 1);
    CHECK_INT(counts_of(broker).dropped, ==, 35);
    CHECK_INT(store->transactions - before, ==, 5); /* the last one is of the job that was done */
    for (int i = 0; i < 35; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
    }
    jobs_wall_step(&wall, 6);
    (void)jobs_put(broker, "t", "first", &first);
    struct weiri_list reserved;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 2, 25, &reserved);
    CHECK_INT(exchange.reserved_count, ==, 1);
    CHECK_INT(exchange.next_in_ns, ==, 0);
    CHECK(!exchange.is_empty);
    CHECK_INT(counts_of(broker).dropped, >, 35);
    CHECK_INT(counts_of(broker).dropped, <, 70);
    jobs_free(broker, &reserved);
    CHECK_INT(work(broker, 1, &buried), ==, 0);
    CHECK_INT(counts_of(broker).dropped, ==, 70);
    weir_broker_close(broker);
}

TEST(changes, "changes of several processes do not undo one another: each has the members it names")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    weir_broker *other = jobs_store_open("jobs.db", &wall);
    struct weir_tube_policy policy;
    struct weir_error error = {0};
    const struct weir_tube_policy limit = {.members = WEIR_POLICY_GROUP_LIMIT, .group_limit = 2};
    set(broker, "t", &(struct weir_tube_policy){.keep_ns = 5});
    CHECK_STATUS(weir_broker_policy(broker, "t", &policy, NULL, NULL), WEIR_OK);
    set(other, "t", &limit);
    /* Of what was read before the other's change. */
    policy.late = WEIR_LATE_BURY;
    policy.members = WEIR_POLICY_LATE;
    set(broker, "t", &policy);
    CHECK_STATUS(weir_broker_policy(other, "t", &policy, NULL, NULL), WEIR_OK);
    CHECK_INT(policy.keep_ns, ==, 5);
    CHECK_INT(policy.late, ==, WEIR_LATE_BURY);
    CHECK_INT(policy.group_limit, ==, 2);
    CHECK_INT(policy.members, ==, 0);
    /* What is refused changes nothing, and makes no tube. */
    policy.members = WEIR_POLICY_LATE | WEIR_POLICY_LATE_NS;
    policy.late = WEIR_LATE_RUN;
    policy.late_ns = 1;
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, &error), WEIR_EINVAL);
    CHECK(strstr(error.text, "late_ns") != NULL);
    CHECK_STATUS(weir_broker_set_policy(broker, "new", &policy, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_policy(other, "t", &policy, NULL, NULL), WEIR_OK);
    CHECK_INT(policy.keep_ns, ==, 5);
    CHECK_STATUS(weir_broker_policy(other, "new", &policy, NULL, NULL), WEIR_ENOTFOUND);
    weir_broker_close(other);
    weir_broker_close(broker);
}

TEST(kept, "a policy is kept whole, with its defaults, for brokers that only read too")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_tube_policy policy = {
        .keep_ns = 77, .keep_count = UINT64_MAX, .late = WEIR_LATE_DROP, .group_limit = UINT32_MAX};
    set(broker, "t", &policy);
    weir_broker_close(broker);
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, WEIR_BROKER_READ_ONLY, &broker, NULL),
                 WEIR_OK);
    CHECK_STATUS(weir_broker_policy(broker, "t", &policy, NULL, NULL), WEIR_OK);
    CHECK_INT(policy.keep_ns, ==, 77);
    CHECK_INT(policy.late, ==, WEIR_LATE_DROP);
    CHECK_INT(policy.late_ns, ==, WEIR_SECONDS(1800));
    CHECK_INT(policy.group_limit, ==, UINT32_MAX);
    weir_broker_close(broker);
    CHECK_STRING(weir_late_name(WEIR_LATE_BURY), "bury");
    CHECK_STRING(weir_late_name((enum weir_late)9), "?");
}
