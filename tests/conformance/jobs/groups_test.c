/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Groups of jobs and how many of one run at once, on every broker that has them. */
#include <weir/policy.h>

#include "conformance/jobs/brokers.h"

static void put(const struct place *place, const char *group, int count)
{
    struct weir_put_options options = {0};
    options.group = group;
    for (int i = 0; i < count; i++) {
        place_put(place, group == NULL ? "-" : group, &options, NULL);
    }
}

static void limit(const struct place *place, uint32_t group_limit)
{
    const struct weir_tube_policy policy = {.group_limit = group_limit};
    CHECK_STATUS(weir_broker_set_policy(place->broker, place->tube, &policy, NULL), WEIR_OK);
}

static void refused(struct place *place)
{
    const struct weir_put_options options = {.group = "a"};
    CHECK_STATUS(place_try_put(place, "x", &options, NULL), WEIR_ENOTSUP);
}

static bool open_groups(struct place *place, enum place_kind kind)
{
    return place_open_that_can(place, kind, WEIR_CAN_GROUPS, refused);
}

/* Runs of jobs, whose bodies are their groups. */
struct crew {
    _Atomic int running[128]; /* by the first byte of the body */
    _Atomic int limit;        /* no run sees more of its group */
    _Atomic int begun;
    _Atomic int may_end; /* so many runs */
};

static int run_grouped(weir_context *context, const struct weir_job *job, void *arg)
{
    struct crew *crew = arg;
    int group = ((const unsigned char *)job->body)[0];
    (void)context;
    int now = atomic_fetch_add(&crew->running[group], 1) + 1;
    if (group != '-') {
        CHECK_STRING(job->group, group == 'a' ? "a" : "b");
        CHECK_INT(now, <=, crew->limit);
    }
    (void)atomic_fetch_add(&crew->begun, 1);
    for (;;) {
        int left = crew->may_end;
        if (left > 0 && atomic_compare_exchange_weak(&crew->may_end, &left, left - 1)) {
            break;
        }
        (void)sched_yield();
    }
    (void)atomic_fetch_sub(&crew->running[group], 1);
    return WEIR_OK;
}

static weir_consumer *start(const struct place *place, struct crew *crew, uint32_t workers)
{
    struct weir_consumer_options options = {
        .handler = run_grouped, .arg = crew, .workers = workers};
    weir_consumer *consumer;
    CHECK_STATUS(weir_consumer_new(place->broker, place->tube, &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    return consumer;
}

static void await_begun(const struct crew *crew, int count)
{
    while (crew->begun < count) {
        (void)sched_yield();
    }
}

TEST_BROKERS(limited, "a full group is passed over by all consumers, and the next of it runs when "
                      "one has ended")
{
    static struct crew crew;
    struct place place;
    if (!open_groups(&place, kind)) {
        return;
    }
    struct place other = place;
    other.broker = place_broker(&place);
    crew.limit = 2;
    limit(&place, 2);
    put(&place, "a", 5);
    put(&place, "b", 2);
    put(&place, NULL, 2);
    weir_consumer *consumers[2] = {start(&place, &crew, 4), start(&other, &crew, 4)};
    await_begun(&crew, 6);
    CHECK_INT(crew.running['a'], ==, 2);
    CHECK_INT(crew.running['b'], ==, 2);
    CHECK_PLACE(&place, 0, 3, 6, 0);
    crew.may_end = 9;
    await_begun(&crew, 9);
    place_end(consumers[0]);
    place_end(consumers[1]);
    CHECK_INT(place_counts(&place).done, ==, 9);
    weir_broker_close(other.broker);
    place_close(&place);
}

struct ready_job {
    char id[WEIR_JOB_ID_SIZE];
};

static int keep_id(const struct weir_job *job, void *arg)
{
    struct ready_job *ready = arg;
    (void)snprintf(ready->id, sizeof(ready->id), "%s", job->id);
    return 0;
}

static enum weir_why_reason why_ready(const struct place *place)
{
    struct ready_job ready = {""};
    struct weir_why why;
    CHECK_STATUS(
        weir_broker_peek(place->broker, place->tube, WEIR_JOB_READY, 1, keep_id, &ready, NULL),
        WEIR_OK);
    CHECK_STATUS(weir_broker_why(place->broker, ready.id, &why, NULL), WEIR_OK);
    return why.reason;
}

TEST_BROKERS(changed, "a limit that is raised or taken back counts at once; a lower one lets runs "
                      "go on; why says that a group is full")
{
    static struct crew crew;
    struct place place;
    if (!open_groups(&place, kind)) {
        return;
    }
    crew.limit = 1;
    limit(&place, 1);
    put(&place, "a", 4);
    CHECK_INT(why_ready(&place), ==, WEIR_WHY_WORKER);
    weir_consumer *consumer = start(&place, &crew, 4);
    await_begun(&crew, 1);
    CHECK_INT(why_ready(&place), ==, WEIR_WHY_GROUP);
    crew.limit = 3;
    limit(&place, 3);
    await_begun(&crew, 3);
    limit(&place, 1);
    CHECK_INT(why_ready(&place), ==, WEIR_WHY_GROUP);
    CHECK_PLACE(&place, 0, 1, 3, 0);
    crew.limit = 4;
    limit(&place, 0);
    await_begun(&crew, 4);
    CHECK_PLACE(&place, 0, 0, 4, 0);
    crew.may_end = 4;
    place_end(consumer);
    place_close(&place);
}

static int expect_group(const struct weir_job *job, void *arg)
{
    CHECK_STRING(job->group == NULL ? "" : job->group, arg);
    return 0;
}

TEST_BROKERS(kept, "a group is told by looks, and a put by key that renews the job brings its own")
{
    static char a[] = "a";
    static char b[] = "b";
    struct place place;
    struct weir_job_id id;
    if (!open_groups(&place, kind)) {
        return;
    }
    struct weir_put_options options = {.group = a};
    options.key = weir_broker_can(place.broker, WEIR_CAN_KEYS) ? "k" : NULL;
    place_put(&place, "x", &options, &id);
    CHECK_STATUS(weir_broker_peek_id(place.broker, id.text, expect_group, a, NULL), WEIR_OK);
    if (options.key != NULL) {
        options.group = b;
        options.on_duplicate = WEIR_DUPLICATE_REPLACE;
        place_put(&place, "x", &options, &id);
        CHECK_STATUS(weir_broker_peek_id(place.broker, id.text, expect_group, b, NULL), WEIR_OK);
    }
    place_close(&place);
}
