/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Schedules where processes die, disks are full and memory is short; and consumers that fire them.
 */
#define _GNU_SOURCE /* unshare */

#include <sys/wait.h>
#include <unistd.h>

#include <weir/admin.h>
#include <weir/job_schedule.h>

#include "jobs/sqlite/store.h"
#include "support/consumer.h"
#include "support/faulty_vfs.h"
#include "support/small_disk.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

static struct weir_job_schedule_options every(const char *name, int64_t interval_ns)
{
    struct weir_job_schedule_options options = {0};
    options.name = name;
    options.tube = "t";
    options.interval_ns = interval_ns;
    options.body = (struct weir_body){"work", 4, NULL};
    return options;
}

static int keep(const struct weir_job_schedule *schedule, void *arg)
{
    *(struct weir_job_schedule *)arg = *schedule;
    return 0;
}

/* Its numbers; its texts are gone. */
static struct weir_job_schedule see(weir_broker *broker, const char *name)
{
    struct weir_job_schedule schedule;
    CHECK_STATUS(weir_broker_schedules(broker, name, keep, &schedule, NULL), WEIR_OK);
    return schedule;
}

/* Fires, in a process that is killed at the nth write. Whether it was. */
static bool fire_killed_at(int nth)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
        fault_arm(FAULT_WRITE | FAULT_SYNC | FAULT_TRUNCATE, nth, false, SQLITE_IOERR);
        fault.is_deadly = true;
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

TEST(killed, "a process killed at any write leaves a firing with its jobs, or neither")
{
    fault_install();
    int with = 0;
    int without = 0;
    uint64_t firings = 0;
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weir_job_schedule_options options = every("s", WEIR_SECONDS(1));
    options.missed = WEIR_MISSED_ALL;
    CHECK_STATUS(weir_broker_schedule_put(broker, &options, NULL), WEIR_OK);
    weir_broker_close(broker);
    bool was_killed = true;
    for (int nth = 0; was_killed; nth++) {
        jobs_wall_step(&clocks.wall, WEIR_SECONDS(3));
        firings += 3;
        was_killed = fire_killed_at(nth);
        broker = jobs_store_open_on("jobs.db", &clocks, "a");
        uint64_t fired = see(broker, "s").fired;
        struct weir_tube_counts counts = jobs_counts(broker, "t");
        CHECK_INT(counts.ready + counts.reserved + counts.done, ==, fired);
        CHECK_INT(counts.put, ==, fired);
        CHECK(fired == firings || fired == firings - 3);
        with += fired == firings;
        without += fired != firings;
        /* The others fire now. */
        jobs_free_one(broker, jobs_reserve_one(broker, "t"));
        CHECK_INT(see(broker, "s").fired, ==, firings);
        CHECK_INT(see(broker, "s").skipped, ==, 0);
        weir_broker_close(broker);
    }
    CHECK_INT(with, >, 1);
    CHECK_INT(without, >, 2);
}

TEST(full, "on a full disk no schedule fires, other jobs run, and it fires once there is space")
{
    small_disk_mount((size_t)20 << 20);
    weir_broker *broker = jobs_store_open_on("disk/jobs.db", &clocks, "a");
    struct weir_job_schedule_options options = every("s", WEIR_SECONDS(1));
    static char body[200000];
    options.body = (struct weir_body){body, sizeof(body), NULL};
    CHECK_STATUS(weir_broker_schedule_put(broker, &options, NULL), WEIR_OK);
    (void)jobs_put(broker, "t", "other", NULL);
    FILE *filler = fopen("disk/filler", "w");
    CHECK(filler != NULL);
    while (fwrite(body, 1, 4096, filler) == 4096 && fflush(filler) == 0) {
    }
    (void)fclose(filler);
    jobs_wall_step(&clocks.wall, WEIR_SECONDS(2));
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->job.body_size, ==, 5);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 1000, &list);
    CHECK_INT(exchange.reserved_count, ==, 0);
    /* Consumers do not spin. */
    CHECK_INT(exchange.next_in_ns, ==, WEIR_SECONDS(1));
    CHECK_INT(see(broker, "s").fired, ==, 0);
    CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_RUN, NULL, NULL),
                 WEIR_ENOSPACE);
    CHECK_INT(unlink("disk/filler"), ==, 0);
    job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->job.body_size, ==, sizeof(body));
    jobs_free_one(broker, job);
    CHECK_INT(see(broker, "s").fired, ==, 1);
    CHECK_INT(see(broker, "s").skipped, ==, 1);
    weir_broker_close(broker);
}

TEST(damaged, "rows that no schedule has are damage, and end nothing but what needs them")
{
    static const char *const changes[] = {"interval = 0", "cron = '* * * * *'", "missed = 9",
                                          "catch_up = 0", "catch_up = 100000"};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char path[32];
        char sql[128];
        (void)snprintf(path, sizeof(path), "jobs%zu.db", i);
        (void)snprintf(sql, sizeof(sql), "UPDATE schedules SET %s", changes[i]);
        weir_broker *broker = jobs_store_open_on(path, &clocks, "a");
        struct weiri_store *store = broker->store;
        struct weir_job_schedule_options options = every("s", WEIR_SECONDS(1));
        CHECK_STATUS(weir_broker_schedule_put(broker, &options, NULL), WEIR_OK);
        CHECK_INT(sqlite3_exec(store->writer.db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
        jobs_wall_step(&clocks.wall, WEIR_SECONDS(1));
        struct weiri_exchange exchange = {.tube = "t", .wanted = 1, .attempts_max = 5};
        CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_ECORRUPT);
        (void)jobs_put(broker, "u", "x", NULL);
        jobs_free_one(broker, jobs_reserve_one(broker, "u"));
        CHECK_STATUS(weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_PAUSE, NULL, NULL),
                     WEIR_ECORRUPT);
        weir_broker_close(broker);
    }
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weiri_store *store = broker->store;
    struct weir_job_schedule_options options = every("s", WEIR_SECONDS(1));
    CHECK_STATUS(weir_broker_schedule_put(broker, &options, NULL), WEIR_OK);
    CHECK_INT(sqlite3_exec(store->writer.db, "UPDATE schedules SET body = x'77'", NULL, NULL, NULL),
              ==, SQLITE_OK);
    struct weir_job_schedule schedule;
    CHECK_STATUS(weir_broker_schedules(broker, NULL, keep, &schedule, NULL), WEIR_ECORRUPT);
    /* Its job is buried like any whose body is damaged. */
    jobs_wall_step(&clocks.wall, WEIR_SECONDS(1));
    struct weiri_list list;
    CHECK_INT(jobs_reserve(broker, "t", 1, 1000, &list).reserved_count, ==, 0);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 1);
    weir_broker_close(broker);
}

TEST_OOM(lacks_memory, "calls without memory change nothing")
{
    weir_broker *broker;
    struct jobs_wall *wall = &clocks.wall;
    if (CHECK_OR_OOM(jobs_store_try_open("jobs.db", wall, 0, &broker, NULL))) {
        return;
    }
    struct weir_job_schedule_options options = every("s", 0);
    options.cron = "* * * * *";
    options.zone = "Europe/Berlin";
    if (!CHECK_OR_OOM(weir_broker_schedule_put(broker, &options, NULL))) {
        struct weir_job_schedule schedule;
        (void)CHECK_OR_OOM(weir_broker_schedules(broker, NULL, keep, &schedule, NULL));
        jobs_wall_step(wall, WEIR_SECONDS(60));
        struct weiri_exchange exchange = {.tube = "t", .wanted = 1, .attempts_max = 5};
        if (!CHECK_OR_OOM(broker->ops->exchange(broker->store, &exchange, NULL))) {
            CHECK_INT(exchange.reserved_count, ==, 1);
            weiri_reservations_free(&broker->config.allocator, &exchange.reserved);
        }
        (void)CHECK_OR_OOM(
            weir_broker_schedule_change(broker, "s", WEIR_SCHEDULE_RESUME, NULL, NULL));
    }
    weir_broker_close(broker);
}

/* Waits until so many runs have succeeded. */
static void wait_for_runs(struct scene *scene, int runs)
{
    weiri_mutex_lock(&scene->mutex);
    while (scene->outcomes[WEIR_RUN_DONE] < runs) {
        weiri_cond_wait(&scene->changed);
    }
    weiri_mutex_unlock(&scene->mutex);
}

TEST(consumers,
     "a consumer that sleeps fires a schedule that is made, changed or resumed meanwhile")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.flags = 0;
    scene_start(&scene, &options);
    struct weir_job_schedule_options schedule = every("s", WEIR_MS(100));
    CHECK_STATUS(weir_broker_schedule_put(scene.broker, &schedule, NULL), WEIR_OK);
    wait_for_runs(&scene, 3);
    schedule.interval_ns = WEIR_SECONDS(1000000);
    CHECK_STATUS(weir_broker_schedule_put(scene.broker, &schedule, NULL), WEIR_OK);
    uint64_t fired = see(scene.broker, "s").fired;
    wait_for_runs(&scene, (int)fired);
    schedule.interval_ns = WEIR_MS(100);
    CHECK_STATUS(weir_broker_schedule_put(scene.broker, &schedule, NULL), WEIR_OK);
    wait_for_runs(&scene, (int)fired + 2);
    CHECK_STATUS(weir_broker_schedule_change(scene.broker, "s", WEIR_SCHEDULE_PAUSE, NULL, NULL),
                 WEIR_OK);
    fired = see(scene.broker, "s").fired;
    wait_for_runs(&scene, (int)fired);
    CHECK_STATUS(weir_broker_schedule_change(scene.broker, "s", WEIR_SCHEDULE_RESUME, NULL, NULL),
                 WEIR_OK);
    wait_for_runs(&scene, (int)fired + 2);
    CHECK_STATUS(weir_broker_schedule_change(scene.broker, "s", WEIR_SCHEDULE_RUN, NULL, NULL),
                 WEIR_OK);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    scene_wait_for_end(&scene);
    scene_close(&scene);
}

TEST(busy, "schedules fire while all workers are busy, when a lease is renewed")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, scene_hold);
    options.flags = 0;
    struct weir_put_options put = {0};
    put.ttr_ns = WEIR_MS(300);
    (void)jobs_put(scene.broker, "t", "x", &put);
    scene_start(&scene, &options);
    scene_wait_inside(&scene);
    struct weir_job_schedule_options schedule = every("s", WEIR_MS(100));
    CHECK_STATUS(weir_broker_schedule_put(scene.broker, &schedule, NULL), WEIR_OK);
    while (see(scene.broker, "s").fired < 2) {
        (void)usleep(1000);
    }
    scene_let_go(&scene);
    wait_for_runs(&scene, 3);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    scene_wait_for_end(&scene);
    scene_close(&scene);
}
