/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Invalid files: each is refused with one line, and left as it was. */
#include "jobs/sqlite/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/body.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/schema.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* The names in a folder and the bytes of its files, in one number. */
static uint64_t fingerprint(const char *folder)
{
    uint64_t sum = 0;
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, NULL);
    CHECK_INT(count, >=, 2);
    for (int i = 0; i < count; i++) {
        const struct dirent *entry = entries[i];
        char path[512];
        struct stat facts;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        CHECK_INT(lstat(path, &facts), ==, 0);
        sum += weiri_checksum(entry->d_name, strlen(entry->d_name)) ^ facts.st_mode;
        if (S_ISREG(facts.st_mode)) {
            char *bytes = malloc((size_t)facts.st_size + 1);
            int fd = open(path, O_RDONLY);
            CHECK(bytes != NULL && fd >= 0);
            CHECK_INT(read(fd, bytes, (size_t)facts.st_size), ==, facts.st_size);
            sum += weiri_checksum(bytes, (size_t)facts.st_size) * 31;
            (void)close(fd);
            free(bytes);
        }
        free(entries[i]);
    }
    free(entries);
    return sum;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, bytes, size), ==, (ssize_t)size);
    (void)close(fd);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    CHECK_INT(sqlite3_open(path, &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

static void make_store(const char *path)
{
    weir_broker *broker = jobs_store_open(path, &wall);
    (void)jobs_put(broker, "t", "a body that is there", NULL);
    weir_broker_close(broker);
    char lock[600];
    (void)snprintf(lock, sizeof(lock), "%s.lock", path);
    CHECK_INT(unlink(lock), ==, 0);
}

/* Opens in every way; nothing in the folder may change. */
static void expect_refusal_at(const char *folder, const char *path, enum weir_status status,
                              const char *says)
{
    static const uint32_t flags[] = {0, WEIR_BROKER_EXISTING, WEIR_BROKER_READ_ONLY};
    uint64_t before = fingerprint(folder);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        weir_broker *broker = NULL;
        struct weir_error error = {0};
        enum weir_status got = jobs_store_try_open(path, &wall, flags[i], &broker, &error);
        if (got != status || strstr(error.text, says) == NULL || broker != NULL) {
            test_fail(__FILE__, __LINE__, "%s, flags %u: %s \"%s\", expected %s \"%s\"", path,
                      (unsigned)flags[i], weir_status_name((int)got), error.text,
                      weir_status_name((int)status), says);
        }
        CHECK(strchr(error.text, '\n') == NULL);
        CHECK(fingerprint(folder) == before);
    }
}

static void expect_refusal(const char *path, enum weir_status status, const char *says)
{
    expect_refusal_at(".", path, status, says);
}

TEST(absent, "a missing folder is named; a missing file is made only where that is wanted")
{
    expect_refusal("missing/jobs.db", WEIR_ENOTFOUND, "the folder missing");
    write_file("file", "x", 1);
    expect_refusal("file/jobs.db", WEIR_ENOTFOUND, "the folder file");
    uint64_t before = fingerprint(".");
    weir_broker *broker;
    struct weir_error error;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, WEIR_BROKER_EXISTING, &broker, &error),
                 WEIR_ENOTFOUND);
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, WEIR_BROKER_READ_ONLY, &broker, &error),
                 WEIR_ENOTFOUND);
    CHECK(strstr(error.text, "jobs.db does not exist") != NULL);
    CHECK(fingerprint(".") == before);
}

TEST(foreign, "files of others are refused and unchanged")
{
    make_store("good.db");
    write_file("empty", "", 0);
    expect_refusal("empty", WEIR_ESCHEMA, "is empty");
    static char text[5000];
    memset(text, 'a', sizeof(text));
    write_file("text", text, sizeof(text));
    expect_refusal("text", WEIR_ESCHEMA, "is not an SQLite file");
    run_sql("other.db", "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
    expect_refusal("other.db", WEIR_ESCHEMA, "another program's SQLite file");
    run_sql("other.db", "PRAGMA journal_mode = WAL");
    int lock = open("other.db.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(lock >= 0);
    CHECK_INT(flock(lock, LOCK_EX), ==, 0);
    expect_refusal("other.db", WEIR_ESCHEMA, "another program's SQLite file");
    CHECK_INT(close(lock), ==, 0);
    run_sql("other-wal.db", "PRAGMA journal_mode=WAL; PRAGMA application_id=7; CREATE TABLE t(x)");
    expect_refusal("other-wal.db", WEIR_ESCHEMA, "(application id 0x00000007)");
}

TEST(versions, "a store of another version is refused and unchanged")
{
    for (int version = 0; version <= WEIRI_SCHEMA_VERSION + 1; version++) {
        char text[80];
        char path[16];
        if (version == WEIRI_SCHEMA_VERSION) {
            continue;
        }
        (void)snprintf(path, sizeof(path), "%d.db", version);
        (void)snprintf(text, sizeof(text), "PRAGMA user_version=%d", version);
        make_store(path);
        run_sql(path, text);
        (void)snprintf(text, sizeof(text), "version %d: expected version %d; %s made", version,
                       WEIRI_SCHEMA_VERSION,
                       version > WEIRI_SCHEMA_VERSION ? "a newer weir" : "an earlier build");
        expect_refusal(path, WEIR_ESCHEMA, text);
    }
}

TEST(tampered, "a store with other tables, triggers or views is refused and unchanged")
{
    static const struct {
        const char *path;
        const char *sql;
        const char *says;
    } rows[] = {
        {"1.db", "CREATE TRIGGER evil AFTER DELETE ON jobs BEGIN DELETE FROM tubes; END",
         "\"evil\""},
        {"2.db", "CREATE VIEW evil AS SELECT 1", "\"evil\""},
        {"3.db", "CREATE TABLE more(x)", "\"more\""},
        {"4.db", "DROP TABLE bodies", "\"bodies\""},
        {"5.db", "DROP INDEX jobs_ready", "\"jobs_ready\""},
        {"6.db", "DROP INDEX jobs_suspects", "\"jobs_suspects\""},
        {"7.db", "DROP TABLE workers", "\"workers\""},
        {"8.db", "ALTER TABLE jobs ADD COLUMN extra INTEGER", "\"jobs\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        make_store(rows[i].path);
        run_sql(rows[i].path, rows[i].sql);
        expect_refusal(rows[i].path, WEIR_ESCHEMA, rows[i].says);
    }
}

TEST(cut_short, "a file cut anywhere is refused and unchanged")
{
    make_store("whole.db");
    jobs_store_fold("whole.db");
    struct stat facts;
    CHECK_INT(stat("whole.db", &facts), ==, 0);
    static char bytes[1 << 20];
    CHECK_INT(facts.st_size, <, (off_t)sizeof(bytes));
    int fd = open("whole.db", O_RDONLY);
    CHECK_INT(read(fd, bytes, sizeof(bytes)), ==, facts.st_size);
    (void)close(fd);
    for (off_t size = 1; size < facts.st_size; size += 512) {
        write_file("cut.db", bytes, (size_t)size);
        uint64_t before = fingerprint(".");
        weir_broker *broker = NULL;
        struct weir_error error = {0};
        enum weir_status status = jobs_store_try_open("cut.db", &wall, 0, &broker, &error);
        CHECK(status == WEIR_ECORRUPT || status == WEIR_ESCHEMA);
        CHECK(error.text[0] != '\0');
        CHECK(fingerprint(".") == before);
        /* Without the lock a reader cannot distinguish a cut in the last page from a write under
         * way. */
        status = jobs_store_try_open("cut.db", &wall, WEIR_BROKER_READ_ONLY, &broker, &error);
        if (status == WEIR_OK) {
            struct weir_tube_counts counts;
            status = weir_broker_tubes(broker, NULL, jobs_keep_counts, &counts, &error);
            CHECK(status == WEIR_OK || status == WEIR_ECORRUPT);
            weir_broker_close(broker);
        } else {
            CHECK(status == WEIR_ECORRUPT || status == WEIR_ESCHEMA);
        }
        CHECK(fingerprint(".") == before);
    }
}

TEST(not_plain, "symbolic links, hard links, folders and pipes are refused and unchanged")
{
    make_store("good.db");
    CHECK_INT(symlink("good.db", "link.db"), ==, 0);
    expect_refusal("link.db", WEIR_EACCESS, "is a symbolic link");
    CHECK_INT(symlink("nowhere", "dangling.db"), ==, 0);
    expect_refusal("dangling.db", WEIR_EACCESS, "is a symbolic link");
    CHECK_INT(mkdir("folder", 0700), ==, 0);
    expect_refusal("folder", WEIR_ESCHEMA, "is a folder");
    CHECK_INT(mkfifo("pipe", 0600), ==, 0);
    expect_refusal("pipe", WEIR_ESCHEMA, "is no regular file");
    make_store("twice.db");
    CHECK_INT(link("twice.db", "also.db"), ==, 0);
    expect_refusal("twice.db", WEIR_EACCESS, "one hard link, as after cp -l");
    /* A link at the lock file's path is not followed either. */
    CHECK_INT(symlink("elsewhere", "good.db.lock"), ==, 0);
    uint64_t before = fingerprint(".");
    weir_broker *broker;
    struct weir_error error;
    CHECK_STATUS(jobs_store_try_open("good.db", &wall, 0, &broker, &error), WEIR_EACCESS);
    CHECK(strstr(error.text, "good.db.lock") != NULL);
    CHECK(fingerprint(".") == before);
}

TEST(linked_folder, "a folder may be reached through a symbolic link, and the process may move")
{
    CHECK_INT(mkdir("real", 0700), ==, 0);
    CHECK_INT(symlink("real", "alias"), ==, 0);
    weir_broker *broker = jobs_store_open("alias/jobs.db", &wall);
    CHECK_INT(chdir("real"), ==, 0);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
    CHECK_INT(access("jobs.db", F_OK), ==, 0);
    CHECK_INT(chdir(".."), ==, 0);
}

TEST(long_path, "a path too long for SQLite is refused and unchanged")
{
    char name[300];
    char path[700];
    memset(name, 'd', sizeof(name));
    name[250] = '\0';
    CHECK_INT(mkdir(name, 0700), ==, 0);
    (void)snprintf(path, sizeof(path), "%s/%s", name, name);
    CHECK_INT(mkdir(path, 0700), ==, 0);
    (void)snprintf(path, sizeof(path), "%s/%s/jobs.db", name, name);
    expect_refusal(path, WEIR_EINVAL, "has ");
}

/* Runs fn as a user without privileges, who owns the folder; root may do anything. */
static void as_nobody(void (*fn)(void))
{
    if (geteuid() == 0) {
        CHECK_INT(chown(".", 65534, 65534), ==, 0);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(3);
        }
        fn();
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void open_read_only_files(void)
{
    make_store("jobs.db");
    CHECK_INT(chmod("jobs.db", 0400), ==, 0);
    uint64_t before = fingerprint(".");
    weir_broker *broker;
    struct weir_error error;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, 0, &broker, &error), WEIR_EACCESS);
    CHECK(strstr(error.text, "jobs.db is read-only") != NULL);
    CHECK(fingerprint(".") == before);
    CHECK_INT(chmod("jobs.db", 0000), ==, 0);
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, 0, &broker, &error), WEIR_EACCESS);
    CHECK_INT(chmod("jobs.db", 0600), ==, 0);

    CHECK_INT(mkdir("closed", 0500), ==, 0);
    before = fingerprint("closed");
    CHECK_STATUS(jobs_store_try_open("closed/jobs.db", &wall, 0, &broker, &error), WEIR_EACCESS);
    CHECK(strstr(error.text, "closed/jobs.db") != NULL);
    CHECK(fingerprint("closed") == before);
    CHECK_INT(chmod("closed", 0700), ==, 0);
    CHECK_INT(chdir("closed"), ==, 0);
    make_store("jobs.db");
    CHECK_INT(chmod(".", 0500), ==, 0);
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, 0, &broker, &error), WEIR_EACCESS);
    CHECK_INT(chmod(".", 0700), ==, 0);
}

TEST(unwritable, "a read-only file or folder is refused and unchanged")
{
    as_nobody(open_read_only_files);
}

TEST(left_over, "the files of a process killed while it made a store do no harm")
{
    write_file("jobs.db.weir-new", "half a store", 12);
    write_file("jobs.db.lock", "", 0);
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_INT(access("jobs.db.weir-new", F_OK), ==, -1);
    weir_broker_close(broker);
}

TEST(log_alone, "a log without its store is left alone, and no store is made beside it")
{
    static const char *const logs[] = {"jobs.db-wal", "jobs.db-journal"};
    for (size_t i = 0; i < 2; i++) {
        weir_broker *broker;
        struct weir_error error;
        write_file(logs[i], "somebody's jobs", 15);
        CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, 0, &broker, &error), WEIR_ECORRUPT);
        CHECK(strstr(error.text, logs[i]) != NULL);
        CHECK_INT(access("jobs.db", F_OK), ==, -1);
        CHECK_INT(access("jobs.db.lock", F_OK), ==, -1);
        CHECK_INT(unlink(logs[i]), ==, 0);
    }
}

TEST(foreign_lock, "a file that has the lock file's name and is none is refused and unchanged")
{
    weir_broker *broker;
    struct weir_error error;
    write_file("jobs.db.lock", "dependencies", 12);
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, 0, &broker, &error), WEIR_ESCHEMA);
    CHECK(strstr(error.text, "jobs.db.lock") != NULL);
    CHECK_INT(access("jobs.db", F_OK), ==, -1);
    struct stat facts;
    CHECK_INT(stat("jobs.db.lock", &facts), ==, 0);
    CHECK_INT(facts.st_size, ==, 12);
}

static void open_and_close(void *arg)
{
    weir_broker *broker = jobs_store_open("jobs.db", arg);
    struct stat facts;
    struct weiri_store *store = broker->store;
    CHECK(weiri_file_is_at(store->lock_file.fd, "jobs.db.lock", &facts));
    weir_broker_close(broker);
}

TEST(replaced_lock, "a lock file that was removed while it was waited for is not trusted")
{
    struct weiri_lock_file old;
    struct weiri_lock_file new;
    CHECK_INT(weiri_lock_file_open(&old, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&old, INT64_MAX), ==, 0);
    struct test_thread *opener = test_start(open_and_close, &wall);
    test_wait_asleep(opener);
    /* As a process that fails to make a store does; then another one tries. */
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_open(&new, "jobs.db.lock"), ==, 0);
    CHECK(new.is_made);
    weiri_lock_file_unlock(&old);
    test_join(opener);
    weiri_lock_file_close(&old);
    weiri_lock_file_close(&new);
}

TEST(made_at_once, "eight processes that make one store all get the same one")
{
    pid_t children[8];
    for (int i = 0; i < 8; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            weir_broker *broker = jobs_store_open("jobs.db", &wall);
            (void)jobs_put(broker, "t", "x", NULL);
            weir_broker_close(broker);
            _exit(0);
        }
    }
    for (int i = 0; i < 8; i++) {
        int status;
        CHECK_INT(waitpid(children[i], &status, 0), ==, children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_COUNTS(broker, "t", 0, 8, 0, 0);
    weir_broker_close(broker);
}

TEST(taken_out_of_wal, "a store that another program took out of WAL mode is put back into it")
{
    make_store("jobs.db");
    run_sql("jobs.db", "PRAGMA journal_mode=DELETE");
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_INT(access("jobs.db-wal", F_OK), ==, 0);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
}

#define COLUMNS                                                                                    \
    ", tube, state, priority, run_at, ttr, created, lease, token, attempts, lost, started, "       \
    "owner, "                                                                                      \
    "attempts_max, reason, checksum, body"

TEST(damaged_body, "a job with a body damaged on disk is buried, and never reserved")
{
    make_store("jobs.db");
    run_sql("jobs.db",
            "INSERT INTO jobs(id" COLUMNS ") SELECT 2" COLUMNS " FROM jobs; "
            "UPDATE jobs SET body = CAST('a body that is gone!' AS BLOB) WHERE id = 1; "
            "INSERT INTO jobs(id" COLUMNS ") SELECT 3" COLUMNS " FROM jobs WHERE id = 1; "
            "UPDATE jobs SET body = NULL WHERE id = 3");
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 10, 25, &list);
    CHECK_INT(exchange.reserved_count, ==, 1);
    CHECK_INT(jobs_first(&list)->number, ==, 2);
    CHECK_COUNTS(broker, "t", 0, 0, 1, 2);
    jobs_free(broker, &list);
    /* After a kick it is still damaged. */
    size_t kicked;
    CHECK_STATUS(weir_broker_kick(broker, "t", 9, &kicked, NULL), WEIR_OK);
    CHECK_INT(kicked, ==, 2);
    exchange = jobs_reserve(broker, "t", 10, 25, &list);
    CHECK_INT(exchange.reserved_count, ==, 0);
    CHECK_COUNTS(broker, "t", 0, 0, 1, 2);
    weir_broker_close(broker);
}

TEST_OOM(no_memory, "a store that cannot be opened for lack of memory leaves nothing open")
{
    weir_broker *broker = NULL;
    struct weir_error error;
    if (!CHECK_OR_OOM(jobs_store_try_open("jobs.db", &wall, 0, &broker, &error))) {
        weir_broker_close(broker);
    }
}

TEST(sqlite_no_memory, "lack of memory inside SQLite is reported as such, and the store goes on")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    static char bytes[2 << 20];
    const struct weir_body body = {bytes, sizeof(bytes), NULL};
    (void)jobs_put(broker, "t", "x", NULL);
    sqlite3_int64 used = sqlite3_memory_used();
    if (sqlite3_hard_heap_limit64(used + 100000) < 0) {
        test_skip("this SQLite has no hard heap limit");
    }
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_ENOMEM);
    CHECK(error.text[0] != '\0');
    (void)sqlite3_hard_heap_limit64(0);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_OK);
    CHECK_COUNTS(broker, "t", 0, 2, 0, 0);
    weir_broker_close(broker);
}
