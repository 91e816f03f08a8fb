/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs where the disk has too little space, or the process too few descriptors. */
#define _GNU_SOURCE /* unshare */

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/copy_file.h"
#include "support/jobs.h"
#include "support/small_disk.h"

static struct jobs_wall wall = {JOBS_WALL_START};

#define PAGE ((size_t)4096)

static int is_no_dot(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The number of files in a folder. */
static int count_files(const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_no_dot, NULL);
    CHECK_INT(count, >=, 0);
    for (int i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
    return count;
}

TEST(making_fails_full,
     "a store that a full disk cannot hold leaves nothing, and can be made later")
{
    small_disk_mount(PAGE);
    int failures = 0;
    enum weir_status status = WEIR_ENOSPACE;
    for (size_t pages = 1; status != WEIR_OK; pages++) {
        CHECK_INT(pages, <, 1000);
        small_disk_resize(pages * PAGE);
        weir_broker *broker = NULL;
        struct weir_error error = {0};
        status = jobs_store_try_open("disk/jobs.db", &wall, 0, &broker, &error);
        if (status == WEIR_OK) {
            weir_broker_close(broker);
        } else {
            CHECK_STATUS(status, WEIR_ENOSPACE);
            CHECK_INT(count_files("disk"), ==, 0);
            failures++;
        }
    }
    CHECK_INT(failures, >, 10);
}

TEST(making_fails_limit, "a store that is larger than files may be leaves nothing, and says so")
{
    struct rlimit before;
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CHECK_INT(mkdir("disk", 0700), ==, 0);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
    for (rlim_t pages = 2; pages < 20; pages += 3) {
        weir_broker *broker = NULL;
        struct weir_error error = {0};
        CHECK_INT(setrlimit(RLIMIT_FSIZE, &(struct rlimit){pages * PAGE, before.rlim_max}), ==, 0);
        enum weir_status status = jobs_store_try_open("disk/jobs.db", &wall, 0, &broker, &error);
        CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
        CHECK_STATUS(status, WEIR_ENOSPACE);
        CHECK_INT(count_files("disk"), ==, 0);
    }
}

TEST(making_fails_descriptors,
     "a store that the descriptors do not suffice for leaves nothing, and can be made later")
{
    CHECK_INT(mkdir("disk", 0700), ==, 0);
    struct rlimit before;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    int first = dup(STDERR_FILENO);
    CHECK(first >= 0);
    (void)close(first);
    int failures = 0;
    enum weir_status status = WEIR_EIO;
    for (rlim_t more = 0; status != WEIR_OK; more++) {
        CHECK_INT(more, <, 50);
        const struct rlimit limit = {(rlim_t)first + more, before.rlim_max};
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
        weir_broker *broker = NULL;
        struct weir_error error = {0};
        status = jobs_store_try_open("disk/jobs.db", &wall, 0, &broker, &error);
        weir_broker_close(broker);
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
        if (status != WEIR_OK) {
            CHECK(strstr(error.text, "Too many open files") != NULL);
            CHECK_INT(count_files("disk"), ==, 0);
            failures++;
        }
    }
    CHECK_INT(failures, >, 3);
}

static void fill_disk(void)
{
    static const char bytes[4096];
    int fd = open("disk/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    while (write(fd, bytes, sizeof(bytes)) > 0) {
    }
    (void)close(fd);
}

static weir_broker *make_full(void)
{
    /* The puts must fit: the log grows to 16 MB before it is written from its start. */
    small_disk_mount((size_t)20 << 20);
    weir_broker *broker = jobs_store_open("disk/jobs.db", &wall);
    struct weir_put_options later = {0};
    later.delay_ns = WEIR_SECONDS(3600);
    for (int i = 0; i < 300; i++) {
        (void)jobs_put(broker, "now", "the body of a job", NULL);
        (void)jobs_put(broker, "later", "the body of a job", &later);
    }
    fill_disk();
    return broker;
}

static void expect_put_refused(weir_broker *broker)
{
    /* More than what is left of the file's last extension (CHUNK_SIZE in space.c). */
    static char bytes[80000];
    const struct weir_body body = {bytes, sizeof(bytes), NULL};
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(broker, "now", &body, 1, NULL, NULL, &error), WEIR_ENOSPACE);
    CHECK(strstr(error.text, "no space left") != NULL);
}

/* Does all that is not a put: done, release, bury, kick, remove. */
static void drain(weir_broker *broker)
{
    for (int i = 0; i < 300; i++) {
        struct weiri_reservation *job = jobs_reserve_one(broker, "now");
        enum weiri_job_event event = i % 3 == 0   ? WEIRI_JOB_DONE
                                     : i % 3 == 1 ? WEIRI_JOB_RELEASE
                                                  : WEIRI_JOB_BURY;
        CHECK_STATUS(jobs_settle(broker, job, event, jobs_wall_now(&wall) + WEIR_SECONDS(60),
                                 "a reason of some length, as a handler would give one"),
                     WEIR_OK);
        jobs_free_one(broker, job);
    }
    CHECK_COUNTS(broker, "now", 100, 0, 0, 100);
    size_t kicked = 0;
    CHECK_STATUS(weir_broker_kick(broker, "now", 1000, &kicked, NULL), WEIR_OK);
    CHECK_INT(kicked, ==, 100);
    for (int i = 1; i <= 600; i++) {
        char text[20];
        const char *id = text;
        (void)snprintf(text, sizeof(text), "%d", i);
        (void)jobs_remove(broker, &id, 1);
    }
    CHECK_COUNTS(broker, "now", 0, 0, 0, 0);
    CHECK_COUNTS(broker, "later", 0, 0, 0, 0);
}

TEST(drains_open, "on a full disk a put is refused, and a store that is open is emptied")
{
    weir_broker *broker = make_full();
    for (int i = 0; i < 100; i++) {
        expect_put_refused(broker);
    }
    drain(broker);
    CHECK_INT(unlink("disk/filler"), ==, 0);
    (void)jobs_put(broker, "now", "again", NULL);
    weir_broker_close(broker);
}

TEST(fails_full, "on a full disk any number of runs may fail: what they leave needs no space")
{
    enum {
        JOBS = 2500
    };
    small_disk_mount((size_t)32 << 20);
    weir_broker *broker = jobs_store_open("disk/jobs.db", &wall);
    for (int i = 0; i < JOBS; i++) {
        (void)jobs_put(broker, "now", "x", NULL);
    }
    fill_disk();
    char tail[WEIR_TAIL_SIZE];
    memset(tail, 'x', sizeof(tail) - 1);
    tail[sizeof(tail) - 1] = '\0';
    const struct weiri_run_end end = {.outcome = WEIR_RUN_BURIED, .tail = tail};
    for (int i = 0; i < JOBS; i++) {
        struct weiri_reservation *job = jobs_reserve_one(broker, "now");
        CHECK_STATUS(jobs_fail(broker, job, WEIRI_JOB_BURY, "why", &end), WEIR_OK);
        jobs_free_one(broker, job);
    }
    CHECK_COUNTS(broker, "now", 0, 0, 0, JOBS);
    weir_broker_close(broker);
}

TEST(drains_opened, "a store that is opened on a full disk is emptied, too")
{
    weir_broker *broker = make_full();
    weir_broker_close(broker);
    fill_disk();
    for (int i = 0; i < 3; i++) {
        broker = jobs_store_open("disk/jobs.db", &wall);
        expect_put_refused(broker);
        weir_broker_close(broker);
    }
    broker = jobs_store_open("disk/jobs.db", &wall);
    drain(broker);
    weir_broker_close(broker);
}

TEST(drains_due, "on a full disk jobs that fall due together become ready")
{
    weir_broker *broker = make_full();
    jobs_wall_step(&wall, WEIR_SECONDS(7200));
    struct weiri_list list;
    (void)jobs_reserve(broker, "later", 300, 1000, &list);
    jobs_free(broker, &list);
    CHECK_COUNTS(broker, "later", 0, 0, 300, 0);
    weir_broker_close(broker);
}

TEST(cut_put, "a put that was cut and fails is taken back")
{
    enum {
        COUNT = 3000
    };
    weir_broker *broker = make_full();
    CHECK_INT(unlink("disk/filler"), ==, 0);
    struct weiri_store *store = broker->store;
    store->put_ns = 0;
    static char bytes[4000];
    struct weir_body *bodies = calloc(COUNT, sizeof(*bodies));
    CHECK(bodies != NULL);
    for (int i = 0; i < COUNT; i++) {
        bodies[i] = (struct weir_body){bytes, sizeof(bytes), NULL};
    }
    uint64_t before = store->transactions;
    CHECK_STATUS(weir_broker_put(broker, "large", bodies, COUNT, NULL, NULL, NULL), WEIR_ENOSPACE);
    CHECK_INT(store->transactions - before, >=, 4);
    CHECK_COUNTS(broker, "large", 0, 0, 0, 0);
    free(bodies);
    weir_broker_close(broker);
}

static off_t log_size(void)
{
    struct stat facts;
    CHECK_INT(stat("jobs.db-wal", &facts), ==, 0);
    return facts.st_size;
}

TEST(log_extended, "the log grows in steps, and what follows its commits is taken for its end")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    int growths = 0;
    off_t before = 0;
    for (int i = 0; i < 200; i++) { /* 400 pages and more */
        (void)jobs_put(broker, "a", "text", NULL);
        growths += log_size() != before;
        before = log_size();
    }
    CHECK_INT(growths, <, 50);
    copy_file("jobs.db", "other.db");
    copy_file("jobs.db-wal", "other.db-wal");
    weir_broker *other = jobs_store_open("other.db", &wall);
    (void)jobs_put(other, "a", "text", NULL);
    CHECK_INT(jobs_counts(other, "a").ready, ==, 201);
    weir_broker_close(other);
    weir_broker_close(broker);
}
