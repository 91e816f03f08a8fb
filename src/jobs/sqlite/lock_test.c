/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The lock file or the store itself is removed, replaced or cut short while it is open. */
#define _GNU_SOURCE /* small_disk.h: unshare */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sync.h"
#include "base/time.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/store.h"
#include "support/consumer.h"
#include "support/small_disk.h"

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
    weir_broker_close(broker);
    weiri_lock_file_close(&other);
}

TEST(of_root, "the lock file has the mode of the store, and its owner where root makes it")
{
    struct stat facts;
    uid_t owner = geteuid() == 0 ? 65534 : geteuid();
    weir_broker_close(jobs_store_open("jobs.db", &wall));
    CHECK_INT(chmod("jobs.db", 0640), ==, 0);
    CHECK_INT(chown("jobs.db", owner, (gid_t)-1), ==, 0);
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(stat("jobs.db.lock", &facts), ==, 0);
        CHECK_INT(facts.st_mode & 0777, ==, 0640);
        CHECK_INT(facts.st_uid, ==, owner);
        CHECK_INT(unlink("jobs.db.lock"), ==, 0);
        (void)jobs_put(broker, "t", "x", NULL); /* makes it again */
    }
    weir_broker_close(broker);
}

TEST(foreign, "what another program put in the lock file's place is refused, and goes on once gone")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    CHECK_INT(symlink("elsewhere", "jobs.db.lock"), ==, 0);
    const struct weir_body body = {"x", 1, NULL};
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
    CHECK_INT(scene->consumer->long_sleeps, ==, 0);
    CHECK_STATUS(weir_consumer_end(scene->consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
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

static void expect_gone(weir_broker *broker)
{
    const struct weir_body body = {"x", 1, NULL};
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_EIO);
    CHECK(strstr(error.text, "jobs.db is no longer there") != NULL);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_EIO);
    CHECK(strstr(error.text, "reopen") != NULL);
}

TEST(store_removed,
     "nothing is acknowledged in a store that was removed, and none of it comes back")
{
    static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.lock"};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        CHECK_INT(unlink(files[i]), ==, 0);
    }
    expect_gone(broker);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        CHECK_INT(access(files[i], F_OK), ==, -1);
    }
    weir_broker_close(broker);
}

TEST(store_replaced,
     "a store that took another one's place is not touched by who has that one open")
{
    weir_broker *old = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(old, "t", "x", NULL);
    CHECK_INT(unlink("jobs.db"), ==, 0);
    CHECK_INT(unlink("jobs.db-wal"), ==, 0);
    CHECK_INT(unlink("jobs.db-shm"), ==, 0);
    weir_broker *new = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(new, "u", "y", NULL);
    expect_gone(old);
    weir_broker_close(old);
    CHECK_COUNTS(new, "u", 0, 1, 0, 0);
    CHECK_COUNTS(new, "t", 0, 0, 0, 0);
    CHECK_INT(access("jobs.db-wal", F_OK), ==, 0);
    (void)jobs_put(new, "u", "y", NULL);
    weir_broker_close(new);
}

TEST(mounted_over, "nor is a store that a mount of its folder has put in its place")
{
    small_disk_mount(16 << 20);
    weir_broker *old = jobs_store_open("disk/jobs.db", &wall);
    (void)jobs_put(old, "t", "x", NULL);
    CHECK(small_disk_set(0, 16 << 20)); /* over it, with equal numbers of inodes */
    weir_broker *new = jobs_store_open("disk/jobs.db", &wall);
    (void)jobs_put(new, "u", "y", NULL);
    expect_gone(old);
    weir_broker_close(new);
    CHECK_INT(unlink("disk/jobs.db.lock"), ==, 0);
    weir_broker_close(old);
    CHECK_INT(access("disk/jobs.db.lock", F_OK), ==, -1);
    new = jobs_store_open("disk/jobs.db", &wall);
    CHECK_COUNTS(new, "u", 0, 1, 0, 0);
    CHECK_COUNTS(new, "t", 0, 0, 0, 0);
    weir_broker_close(new);
}

TEST(consumer_of_removed,
     "a consumer ends with that error after its store is replaced, when next woken")
{
    struct scene scene;
    scene_open(&scene);
    struct weir_consumer_options options = scene_options_of(&scene, scene_count_run);
    options.flags = 0;
    (void)jobs_put(scene.broker, "t", "x", NULL);
    scene_start(&scene, &options);
    weiri_mutex_lock(&scene.mutex);
    while (scene.outcomes[WEIR_RUN_DONE] < 1) {
        weiri_cond_wait(&scene.changed);
    }
    weiri_mutex_unlock(&scene.mutex);
    CHECK_INT(unlink("jobs.db"), ==, 0);
    CHECK_INT(unlink("jobs.db-wal"), ==, 0);
    CHECK_INT(unlink("jobs.db-shm"), ==, 0);
    weir_broker *other = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(other, "t", "x", NULL);
    struct weir_error error;
    CHECK_STATUS(weir_consumer_wait(scene.consumer, WEIR_FOREVER, &error), WEIR_EIO);
    CHECK(strstr(error.text, "jobs.db") != NULL);
    CHECK_COUNTS(other, "t", 0, 1, 0, 0);
    weir_broker_close(other);
    scene_close(&scene);
}

static bool take_lock(void)
{
    struct weiri_lock_file file;
    return weiri_lock_file_open(&file, "jobs.db.lock") == 0 &&
           weiri_lock_file_lock(&file, INT64_MAX) == 0;
}

static bool begin_plain(void)
{
    sqlite3 *db;
    return sqlite3_open("jobs.db", &db) == SQLITE_OK &&
           sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
}

/* A process that has a lock and is stopped. */
static pid_t start_holder(bool (*take)(void))
{
    int ends[2];
    CHECK_INT(pipe(ends), ==, 0);
    pid_t holder = fork();
    CHECK(holder >= 0);
    if (holder == 0) {
        (void)!write(ends[1], take() ? "l" : "-", 1);
        (void)raise(SIGSTOP);
        _exit(0);
    }
    char answer = 0;
    CHECK_INT(read(ends[0], &answer, 1), ==, 1);
    CHECK_INT(answer, ==, 'l');
    (void)close(ends[0]);
    (void)close(ends[1]);
    int status;
    CHECK_INT(waitpid(holder, &status, WUNTRACED), ==, holder);
    CHECK(WIFSTOPPED(status));
    return holder;
}

TEST(stopped_holder, "a lock that a stopped process holds is waited for as long as asked, and told")
{
    weir_broker_close(jobs_store_open("jobs.db", &wall));
    pid_t holder = start_holder(take_lock);
    struct weir_broker_options options = {0};
    options.busy_ns = WEIR_MS(20);
    weir_broker *broker;
    struct weir_error error;
    int64_t start = weiri_monotonic_now();
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, &error), WEIR_ETIMEDOUT);
    CHECK_INT(weiri_monotonic_now() - start, >=, WEIR_MS(20));
    char says[80];
    (void)snprintf(says, sizeof(says), "was held by process %ld, which is stopped, for 20 ms",
                   (long)holder);
    CHECK(strstr(error.text, says) != NULL);
    CHECK_INT(kill(holder, SIGCONT), ==, 0);
    CHECK_INT(waitpid(holder, NULL, 0), ==, holder);
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, &error), WEIR_OK);
    weir_broker_close(broker);
}

struct churn {
    _Atomic bool is_over;
    int fds[80];
};

static void take_and_give_back(void *arg)
{
    struct churn *churn = arg;
    while (!churn->is_over) {
        for (int i = 0; i < 80; i++) {
            CHECK_INT(flock(churn->fds[i], LOCK_EX), ==, 0);
        }
        for (int i = 0; i < 80; i++) {
            CHECK_INT(flock(churn->fds[i], LOCK_UN), ==, 0);
        }
    }
}

TEST(holder_among_others,
     "the holder of a lock is found while others take and give back many locks")
{
    static struct churn churn;
    struct weiri_thread thread;
    for (int i = 0; i < 80; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "lock%d", i);
        churn.fds[i] = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        CHECK(churn.fds[i] >= 0);
    }
    int own = open("own", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK_INT(flock(own, LOCK_EX), ==, 0);
    CHECK_STATUS(weiri_thread_start(&thread, "churn", take_and_give_back, &churn), WEIR_OK);
    for (int i = 0; i < 2000; i++) {
        CHECK_INT(weiri_lock_holder_find("own"), ==, getpid());
    }
    churn.is_over = true;
    weiri_thread_join(&thread);
    for (int i = 0; i < 80; i++) {
        (void)close(churn.fds[i]);
    }
    (void)close(own);
}

TEST(closed_beside_holder, "a close does not wait as long for a lock that a stopped process holds")
{
    struct weir_broker_options options = {0};
    options.busy_ns = WEIR_SECONDS(3600);
    weir_broker *broker;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, NULL), WEIR_OK);
    (void)jobs_put(broker, "t", "x", NULL);
    pid_t holder = start_holder(take_lock);
    weir_broker_close(broker);
    CHECK_INT(kill(holder, SIGKILL), ==, 0);
    CHECK_INT(waitpid(holder, NULL, 0), ==, holder);
    broker = jobs_store_open("jobs.db", &wall);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
}

TEST(plain_holder, "another program that writes for too long is named")
{
    weir_broker_close(jobs_store_open("jobs.db", &wall));
    pid_t holder = start_holder(begin_plain);
    struct weir_broker_options options = {0};
    options.busy_ns = WEIR_MS(20);
    weir_broker *broker;
    const struct weir_body body = {"x", 1, NULL};
    struct weir_error error;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_ETIMEDOUT);
    char says[80];
    (void)snprintf(says, sizeof(says),
                   "database is locked (SQLite 5) by process %ld, which is stopped", (long)holder);
    CHECK(strstr(error.text, says) != NULL);
    CHECK_INT(kill(holder, SIGKILL), ==, 0);
    CHECK_INT(waitpid(holder, NULL, 0), ==, holder);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_OK);
    weir_broker_close(broker);
}

TEST(no_descriptor, "a lack of descriptors is told as such")
{
    weir_broker_close(jobs_store_open("jobs.db", &wall));
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    const struct rlimit few = {4, limit.rlim_max};
    weir_broker *broker;
    struct weir_error error;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
    enum weir_status status = weir_broker_open("sqlite:jobs.db", NULL, &broker, &error);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    CHECK_STATUS(status, WEIR_EIO);
    CHECK(strstr(error.text, "Too many open files") != NULL);
    CHECK(strstr(error.text, "input/output") == NULL);
}
