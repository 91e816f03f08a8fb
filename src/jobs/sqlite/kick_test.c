/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Kicks with states and slots, on a store. */
#include <weir/admin.h>

#include "support/changes.h"
#include "support/jobs.h"

enum {
    COUNT = 4
};

#define BURIED (1U << WEIR_JOB_BURIED)
#define DELAYED (1U << WEIR_JOB_DELAYED)

static struct jobs_wall wall = {JOBS_WALL_START};

struct scene {
    weir_broker *broker;
    char texts[COUNT][24];
    const char *ids[COUNT];
    enum weir_status statuses[COUNT];
};

/* Jobs that are put so. */
static struct scene *fill(const struct weir_put_options *options)
{
    static struct scene scene;
    scene.broker = jobs_store_open("jobs.db", &wall);
    for (int i = 0; i < COUNT; i++) {
        long long number = (long long)jobs_put(scene.broker, "t", "job", options);
        (void)snprintf(scene.texts[i], sizeof(scene.texts[i]), "%lld", number);
        scene.ids[i] = scene.texts[i];
    }
    return &scene;
}

static void kick(struct scene *scene, uint32_t states, int64_t start_ns, int64_t interval_ns,
                 enum weir_status each)
{
    const struct weir_change change = {.kind = WEIR_CHANGE_KICK,
                                       .states = states,
                                       .start_ns = start_ns,
                                       .interval_ns = interval_ns};
    CHECK_STATUS(
        weir_broker_change(scene->broker, &change, scene->ids, COUNT, scene->statuses, NULL),
        WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK_STATUS(scene->statuses[i], each);
    }
}

static int keep_time(const struct weir_job *job, void *arg)
{
    *(int64_t *)arg = job->run_at_ns;
    return 0;
}

static int64_t time_of(const struct scene *scene, int i)
{
    int64_t run_at_ns = 0;
    CHECK_STATUS(weir_broker_peek_id(scene->broker, scene->ids[i], keep_time, &run_at_ns, NULL),
                 WEIR_OK);
    return run_at_ns;
}

TEST(states, "a kick is for buried jobs, unless it names others")
{
    struct scene *scene = fill(&(struct weir_put_options){.delay_ns = WEIR_SECONDS(3600)});
    kick(scene, 0, 0, 0, WEIR_ESTATE);
    kick(scene, BURIED, 0, 0, WEIR_ESTATE);
    kick(scene, BURIED | DELAYED, 0, 0, WEIR_OK);
    CHECK_COUNTS(scene->broker, "t", 0, COUNT, 0, 0);
    kick(scene, BURIED | DELAYED, 0, 0, WEIR_ESTATE);
    weir_broker_close(scene->broker);
}

TEST(order, "delayed jobs that are kicked run in their order, before what is put later")
{
    struct scene *scene = fill(&(struct weir_put_options){.delay_ns = WEIR_SECONDS(3600)});
    kick(scene, DELAYED, 0, 0, WEIR_OK);
    jobs_wall_step(&wall, -WEIR_SECONDS(5)); /* a clock that was ahead */
    int64_t later = jobs_put(scene->broker, "t", "later", NULL);
    struct weiri_list list;
    (void)jobs_reserve(scene->broker, "t", COUNT + 1, 9, &list);
    int i = 0;
    for (struct weiri_list *link = list.next; link != &list; link = link->next, i++) {
        const struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
        CHECK_INT(strtoll(job->job.id, NULL, 10), ==,
                  i < COUNT ? strtoll(scene->ids[i], NULL, 10) : later);
    }
    CHECK_INT(i, ==, COUNT + 1);
    jobs_free(scene->broker, &list);
    weir_broker_close(scene->broker);
}

TEST(spread, "buried jobs get slots, the first one now")
{
    struct scene *scene = fill(NULL);
    CHECK_STATUS(change_bury(scene->broker, scene->ids, COUNT, "no", scene->statuses, NULL),
                 WEIR_OK);
    int64_t now = jobs_wall_now(&wall);
    kick(scene, 0, now, WEIR_SECONDS(10), WEIR_OK);
    CHECK_COUNTS(scene->broker, "t", COUNT - 1, 1, 0, 0);
    for (int i = 1; i < COUNT; i++) {
        CHECK_INT(time_of(scene, i), ==, now + i * WEIR_SECONDS(10));
    }
    weir_broker_close(scene->broker);
}

TEST(earlier, "a slot puts no job off that would run before it, also in a repeat")
{
    struct scene *scene = fill(&(struct weir_put_options){.delay_ns = WEIR_SECONDS(15)});
    int64_t now = jobs_wall_now(&wall);
    for (int repeat = 0; repeat < 2; repeat++) {
        kick(scene, DELAYED, now + WEIR_SECONDS(10), WEIR_SECONDS(10), WEIR_OK);
        CHECK_INT(time_of(scene, 0), ==, now + WEIR_SECONDS(10));
        for (int i = 1; i < COUNT; i++) {
            CHECK_INT(time_of(scene, i), ==, now + WEIR_SECONDS(15));
        }
    }
    kick(scene, DELAYED, INT64_MAX - 1, INT64_MAX, WEIR_OK); /* slots without end */
    CHECK_INT(time_of(scene, COUNT - 1), ==, now + WEIR_SECONDS(15));
    weir_broker_close(scene->broker);
}
