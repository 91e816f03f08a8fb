/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The lock file is removed or cut short while stores are open. */
#include <unistd.h>

#include "base/file.h"
#include "jobs/sqlite/store.h"
#include "support/consumer.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static void put_one(void *arg)
{
    (void)jobs_put(arg, "t", "x", NULL);
}

TEST(removed, "a commit holds the lock file that is at its path, though another was there")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK(other.is_made);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    struct test_thread *putter = test_start(put_one, broker);
    test_wait_asleep(putter);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weiri_lock_file_unlock(&other);
    test_join(putter);
    CHECK_COUNTS(broker, "t", 0, 2, 0, 0);
    /* And so does the close. */
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    weir_broker_close(broker);
    CHECK_INT(access("jobs.db.lock", F_OK), ==, 0);
    CHECK_INT(access("jobs.db-wal", F_OK), ==, -1);
    weiri_lock_file_close(&other);
}

TEST(foreign, "what another program put in the lock file's place is refused, and goes on once gone")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    CHECK_INT(symlink("elsewhere", "jobs.db.lock"), ==, 0);
    const struct weir_body body = {"x", 1};
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_EACCESS);
    CHECK(strstr(error.text, "jobs.db.lock") != NULL);
    CHECK_INT(access("elsewhere", F_OK), ==, -1);
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
}

static void spoil(struct scene *scene, int (*damage)(void))
{
    struct weir_consumer_options options = scene_options_of(scene, scene_count_run);
    options.flags = 0;
    scene_start(scene, &options);
    weir_broker *other;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &other, NULL), WEIR_OK);
    for (int i = 1; i <= 5; i++) {
        CHECK_INT(damage(), ==, 0);
        (void)jobs_put(other, "t", "x", NULL);
        weiri_mutex_lock(&scene->mutex);
        while (scene->outcomes[WEIR_RUN_DONE] < i) {
            weiri_cond_wait(&scene->changed);
        }
        weiri_mutex_unlock(&scene->mutex);
    }
    CHECK_INT(scene->consumer->missed, ==, 0);
    weir_consumer_stop(scene->consumer);
    scene_wait_for_end(scene);
    weir_broker_close(other);
}

static int remove_lock(void)
{
    return unlink("jobs.db.lock");
}

static int cut_lock(void)
{
    return truncate("jobs.db.lock", 0);
}

TEST(woken_after_removal, "a consumer hears of puts though the lock file is removed before each")
{
    struct scene scene;
    scene_open(&scene);
    spoil(&scene, remove_lock);
    scene_close(&scene);
}

TEST(woken_after_cut, "a consumer hears of puts though the lock file is cut short before each")
{
    struct scene scene;
    scene_open(&scene);
    spoil(&scene, cut_lock);
    scene_close(&scene);
}
