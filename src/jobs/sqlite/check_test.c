/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What the check of a store finds, and what it does not. */
#define _GNU_SOURCE /* unshare */

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"
#include "support/small_disk.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* A store with a job in each of two tubes. */
static void make_store(const char *path)
{
    weir_broker *broker = jobs_store_open(path, &wall);
    (void)jobs_put(broker, "t", "the body of the first job", NULL);
    (void)jobs_put(broker, "u", "another", NULL);
    weir_broker_close(broker);
}

/* What is in the file is changed as by a fault. */
static void change(const char *path, const char *sql)
{
    sqlite3 *db;
    CHECK_INT(sqlite3_open(path, &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

struct found {
    int count; /* of problems */
    char name[32];
    char text[512]; /* of the last one */
};

static int keep(const struct weir_finding *finding, void *arg)
{
    struct found *found = arg;
    CHECK(finding->subject[0] != '\0' && finding->advice[0] != '\0');
    /* What the version of SQLite here is good for is not for a test to tell. */
    if (finding->level == WEIR_FINDING_PROBLEM) {
        found->count++;
        (void)snprintf(found->name, sizeof(found->name), "%s", finding->name);
        (void)snprintf(found->text, sizeof(found->text), "%s", finding->text);
    } else {
        CHECK_STRING(finding->name, "sqlite");
    }
    return 0;
}

static struct found check(const char *path)
{
    struct found found = {.count = 0};
    struct weir_error error = {0};
    weir_broker *broker;
    struct weir_broker_options options = {0};
    char url[64];
    (void)snprintf(url, sizeof(url), "sqlite:%s", path);
    options.flags = WEIR_BROKER_READ_ONLY;
    options.busy_ns = WEIR_MS(50);
    CHECK_STATUS(jobs_open_at(url, &options, jobs_wall_now, &wall, &broker, &error), WEIR_OK);
    CHECK_STATUS(weir_broker_check(broker, keep, &found, &error), WEIR_OK);
    weir_broker_close(broker);
    return found;
}

/* Expects one problem, of this name and with this text in it. */
static void check_one(const char *path, const char *name, const char *text)
{
    struct found found = check(path);
    CHECK_STRING(found.name, name);
    CHECK_INT(found.count, ==, 1);
    if (strstr(found.text, text) == NULL) {
        test_fail(__FILE__, __LINE__, "\"%s\" is not in: %s", text, found.text);
    }
}

TEST(sound, "of a store in order nothing is told but notes, and nothing in it is changed")
{
    make_store("jobs.db");
    CHECK_INT(check("jobs.db").count, ==, 0);
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    jobs_free_one(broker, jobs_reserve_one(broker, "t"));
    struct found found = {.count = 0};
    CHECK_STATUS(weir_broker_check(broker, keep, &found, NULL), WEIR_OK);
    CHECK_INT(found.count, ==, 0);
    CHECK_COUNTS(broker, "t", 0, 0, 1, 0);
    weir_broker_close(broker);
}

TEST(refused, "a check needs a broker and a function to tell; levels have names")
{
    make_store("jobs.db");
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_STATUS(weir_broker_check(broker, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_check(NULL, keep, NULL, NULL), WEIR_EINVAL);
    CHECK_STRING(weir_finding_level_name(WEIR_FINDING_NOTE), "note");
    CHECK_STRING(weir_finding_level_name(WEIR_FINDING_PROBLEM), "problem");
    CHECK_STRING(weir_finding_level_name((enum weir_finding_level)9), "?");
    weir_broker_close(broker);
}

TEST(integrity, "bodies that are damaged or missing, are told of")
{
    static const char *const rows[][2] = {
        {"UPDATE jobs SET body = CAST('The body of the first job' AS BLOB) WHERE id = 1",
         "body of job 1 is damaged"},
        {"UPDATE jobs SET body = NULL WHERE id = 2", "body of job 2 is missing"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "%zu.db", i);
        make_store(path);
        change(path, rows[i][0]);
        check_one(path, "integrity", rows[i][1]);
    }
}

static int keep_number(void *arg, int count, char **values, char **names)
{
    (void)count;
    (void)names;
    *(long *)arg = strtol(values[0], NULL, 10);
    return 0;
}

TEST(pages, "a damaged page of an index is told of")
{
    static const char zeros[4096];
    make_store("jobs.db");
    sqlite3 *db;
    long page = 0;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'jobs_buried'",
                           keep_number, &page, NULL),
              ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    int fd = open("jobs.db", O_WRONLY | O_CLOEXEC);
    CHECK_INT(pwrite(fd, zeros, sizeof(zeros), (off_t)(page - 1) * 4096), ==, 4096);
    (void)close(fd);
    struct found found = check("jobs.db");
    CHECK_INT(found.count, >=, 1);
    CHECK_STRING(found.name, "integrity");
}

TEST(bounded, "of a store that is damaged all over ten findings are told")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    for (int i = 0; i < 25; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
    }
    weir_broker_close(broker);
    change("jobs.db", "UPDATE jobs SET body = NULL");
    CHECK_INT(check("jobs.db").count, ==, 10);
}

TEST(headers, "the headers of a job are checked with its body")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {0};
    options.headers = "lang=en\nuser=7\n";
    (void)jobs_put(broker, "t", "x", &options);
    weir_broker_close(broker);
    CHECK_INT(check("jobs.db").count, ==, 0);
    change("jobs.db", "UPDATE jobs SET told = x'6c616e673d66720a757365723d370a00'");
    check_one("jobs.db", "integrity", "body of job 1 is damaged");
}

static int keep_state(const struct weir_finding *finding, void *arg)
{
    *(int *)arg +=
        strcmp(finding->text, "job 1: state 10, verdict 0 and outcome 0 do not fit") == 0 ||
        strcmp(finding->text, "job 1: state 2, verdict 1 and outcome 0 do not fit") == 0;
    return 0;
}

TEST(state, "a job in no known state is told of, whether or not an index has it still")
{
    static const char *const changes[] = {JOBS_FLIP_STATE,
                                          "UPDATE jobs SET state = 10 WHERE id = 1",
                                          "UPDATE jobs SET verdict = 1 WHERE id = 1"};
    for (size_t i = 0; i < 3; i++) {
        char path[16];
        int told = 0;
        (void)snprintf(path, sizeof(path), "%zu.db", i);
        make_store(path);
        change(path, changes[i]);
        weir_broker *broker = jobs_store_open(path, &wall);
        CHECK_STATUS(weir_broker_check(broker, keep_state, &told, NULL), WEIR_OK);
        CHECK_INT(told, ==, 1);
        weir_broker_close(broker);
    }
}

/* The most memory that SQLite used in the check of a store with so many jobs. */
static sqlite3_int64 memory_of_check(size_t count)
{
    struct weir_body *bodies = calloc(count, sizeof(*bodies));
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct found found = {.count = 0};
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, count, NULL, NULL, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", 0, count, 0, 0);
    struct weiri_store *store = broker->store;
    CHECK_INT(sqlite3_exec(store->idle_reader->db, "PRAGMA cache_size = 10", NULL, NULL, NULL), ==,
              SQLITE_OK);
    sqlite3_int64 before = sqlite3_memory_used();
    (void)sqlite3_memory_highwater(1);
    CHECK_STATUS(weir_broker_check(broker, keep, &found, NULL), WEIR_OK);
    CHECK_INT(found.count, ==, 0);
    sqlite3_int64 most = sqlite3_memory_highwater(0) - before;
    weir_broker_close(broker);
    jobs_store_remove("jobs.db");
    free(bodies);
    return most;
}

TEST(stretches, "jobs are checked in transactions of a bounded number of jobs, or bytes")
{
    enum {
        JOBS = 25000,
        LARGE = 5
    };
    static struct weir_body bodies[JOBS];
    static const char bytes[3 << 20];
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct found found = {.count = 0};
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, JOBS, NULL, NULL, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", 0, JOBS, 0, 0);
    struct weiri_store *store = broker->store;
    for (int i = 0; i < LARGE; i++) {
        bodies[i] = (struct weir_body){bytes, sizeof(bytes), NULL};
    }
    for (int large = 0; large <= LARGE; large += LARGE) {
        sqlite3_stmt *begin = store->idle_reader->statements[WEIRI_SQL_BEGIN_READ];
        (void)sqlite3_stmt_status(begin, SQLITE_STMTSTATUS_RUN, 1);
        CHECK_STATUS(weir_broker_check(broker, keep, &found, NULL), WEIR_OK);
        /* The file, stretches of rows, and of two large bodies each, none, and the newest. */
        CHECK_INT(sqlite3_stmt_status(begin, SQLITE_STMTSTATUS_RUN, 0), >=, large == 0 ? 4 : 6);
        CHECK_STATUS(weir_broker_put(broker, "t", bodies, LARGE, NULL, NULL, NULL), WEIR_OK);
    }
    CHECK_INT(found.count, ==, 0);
    weir_broker_close(broker);
}

TEST(memory, "the check of many jobs takes no more memory than that of few")
{
    sqlite3_int64 few = memory_of_check(1000);
    sqlite3_int64 many = memory_of_check(30000);
    CHECK_INT(many - few, <, 30000);
}

TEST(clock, "a clock that was set back behind the newest job is told of, a step of a second is not")
{
    make_store("jobs.db");
    jobs_wall_step(&wall, -WEIR_SECONDS(1));
    CHECK_INT(check("jobs.db").count, ==, 0);
    jobs_wall_step(&wall, -WEIR_SECONDS(60));
    check_one("jobs.db", "clock", "61 s");
}

TEST(lock, "the process that has the lock for longer than the time limit is named")
{
    make_store("jobs.db");
    int ends[2];
    CHECK_INT(pipe(ends), ==, 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct weiri_lock_file file;
        bool is_held = weiri_lock_file_open(&file, "jobs.db.lock") == 0 &&
                       weiri_lock_file_lock(&file, INT64_MAX) == 0;
        (void)!write(ends[1], is_held ? "y" : "n", 1);
        (void)pause();
        _exit(0);
    }
    char held = 'n';
    CHECK_INT(read(ends[0], &held, 1), ==, 1);
    CHECK_INT(held, ==, 'y');
    char text[32];
    (void)snprintf(text, sizeof(text), "process %ld had the lock", (long)pid);
    check_one("jobs.db", "lock", text);
    CHECK_INT(kill(pid, SIGKILL), ==, 0);
    CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
    (void)close(ends[0]);
    (void)close(ends[1]);
    CHECK_INT(check("jobs.db").count, ==, 0);
}

TEST(log, "a log that has become long is told of")
{
    make_store("jobs.db");
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_INT(truncate("jobs.db-wal", (off_t)64 << 20), ==, 0);
    struct found found = {.count = 0};
    CHECK_STATUS(weir_broker_check(broker, keep, &found, NULL), WEIR_OK);
    CHECK_INT(found.count, ==, 0);
    CHECK_INT(truncate("jobs.db-wal", (off_t)65 << 20), ==, 0);
    CHECK_STATUS(weir_broker_check(broker, keep, &found, NULL), WEIR_OK);
    CHECK_INT(found.count, ==, 1);
    CHECK_STRING(found.name, "log");
    CHECK_STRING(found.text, "the log has 65 MiB");
    weir_broker_close(broker);
}

TEST(disk, "a disk with less than 64 MiB left is told of")
{
    small_disk_mount((size_t)80 << 20);
    make_store("disk/jobs.db");
    CHECK_INT(check("disk/jobs.db").count, ==, 0);
    small_disk_resize((size_t)50 << 20);
    check_one("disk/jobs.db", "disk", " KiB are left");
}
