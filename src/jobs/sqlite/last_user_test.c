/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A close of the store's file inside a process releases all locks that SQLite has there. Who takes
 * himself for the only user of a store then loses nothing of the others'. */
#define _GNU_SOURCE /* dlmopen, MAP_ANONYMOUS */

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"
#include "support/sanitizer.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* What the processes of a test count. */
static struct {
    int acknowledged;
    int refused;
} * ledger;

static void put(weir_broker *broker, int count)
{
    const struct weir_body body = {"x", 1, NULL};
    for (int i = 0; i < count; i++) {
        enum weir_status status = weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL);
        CHECK(status == WEIR_OK || status == WEIR_EIO);
        ledger->acknowledged += status == WEIR_OK;
        ledger->refused += status == WEIR_EIO;
    }
}

/* --- what a program does with its store's file --- */

static void do_nothing(weir_broker *broker)
{
    (void)broker;
}

static void open_and_close(weir_broker *broker)
{
    (void)broker;
    int fd = open("jobs.db", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(close(fd), ==, 0);
}

/* A commit makes the lock file again. */
static void replace_lock(weir_broker *broker)
{
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    put(broker, 1);
    open_and_close(broker);
}

static void remove_index(weir_broker *broker)
{
    (void)broker;
    CHECK_INT(unlink("jobs.db-shm"), ==, 0);
}

typedef int open_fn(const char *, sqlite3 **, int, const char *);
typedef int exec_fn(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *,
                    char **);
typedef int close_fn(sqlite3 *);

/* Reads the store with another copy of SQLite, which knows nothing of the first one's locks. */
static void read_with_another(int flags)
{
    open_fn *other_open;
    exec_fn *other_exec;
    close_fn *other_close;
    sqlite3 *db = NULL;
    void *library = dlmopen(LM_ID_NEWLM, "libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    *(void **)&other_open = dlsym(library, "sqlite3_open_v2");
    *(void **)&other_exec = dlsym(library, "sqlite3_exec");
    *(void **)&other_close = dlsym(library, "sqlite3_close");
    CHECK(other_open != NULL && other_open != sqlite3_open_v2);
    CHECK_INT(other_open("jobs.db", &db, flags, NULL), ==, SQLITE_OK);
    CHECK_INT(other_exec(db, "SELECT count(*) FROM jobs", NULL, NULL, NULL), ==, SQLITE_OK);
    CHECK_INT(other_close(db), ==, SQLITE_OK);
}

static void look_with_another(weir_broker *broker)
{
    (void)broker;
    read_with_another(SQLITE_OPEN_READONLY);
}

static void use_another(weir_broker *broker)
{
    (void)broker;
    read_with_another(SQLITE_OPEN_READWRITE);
}

/* --- the processes --- */

/* A process that has the store open: it puts jobs, does something with the file, and once it is
 * told, puts others; then it is killed, or closes the store. */
struct user {
    void (*meddle)(weir_broker *broker);
    uint32_t flags; /* of its broker */
    int before;
    int after;
    bool is_killed;
    bool reopens; /* in between */
    pid_t pid;
    int ready[2]; /* pipes */
    int go[2];
};

/* Opens the store again, which the process may not do beside the broker that has the old log. */
static weir_broker *reopen(weir_broker *broker)
{
    weir_broker *other;
    struct weir_error error;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, 0, &other, &error), WEIR_EIO);
    CHECK(strstr(error.text, "close all its connections") != NULL);
    weir_broker_close(broker);
    return jobs_store_open("jobs.db", &wall);
}

static void run(const struct user *user)
{
    char byte = 0;
    weir_broker *broker;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, user->flags, &broker, NULL), WEIR_OK);
    (void)jobs_counts(broker, "t");
    put(broker, user->before);
    user->meddle(broker);
    CHECK_INT(write(user->ready[1], &byte, 1), ==, 1);
    CHECK_INT(read(user->go[0], &byte, 1), ==, 1);
    broker = user->reopens ? reopen(broker) : broker;
    put(broker, user->after);
    if (user->is_killed) {
        (void)raise(SIGKILL);
    }
    weir_broker_close(broker);
}

static void start_user(struct user *user)
{
    char byte;
    CHECK(pipe(user->ready) == 0 && pipe(user->go) == 0);
    user->pid = fork();
    CHECK(user->pid >= 0);
    if (user->pid == 0) {
        run(user);
        _exit(0);
    }
    CHECK_INT(close(user->ready[1]), ==, 0);
    CHECK_INT(read(user->ready[0], &byte, 1), ==, 1);
}

static void end_user(struct user *user)
{
    int status;
    CHECK_INT(write(user->go[1], "", 1), ==, 1);
    CHECK_INT(waitpid(user->pid, &status, 0), ==, user->pid);
    CHECK(user->is_killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                          : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(user->ready[0]);
    (void)close(user->go[0]);
    (void)close(user->go[1]);
}

static void put_and_close(int count)
{
    struct user user = {.meddle = do_nothing, .after = count};
    start_user(&user);
    end_user(&user);
}

static void begin(void)
{
    ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(ledger != MAP_FAILED);
    put_and_close(1);
}

/* All that was acknowledged is there. */
static void finish(void)
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_COUNTS(broker, "t", 0, ledger->acknowledged, 0, 0);
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 1000, 1000, &list);
    CHECK_INT(exchange.reserved_count, ==, ledger->acknowledged);
    jobs_free(broker, &list);
    weir_broker_close(broker);
    CHECK_INT(munmap(ledger, sizeof(*ledger)), ==, 0);
}

static void skip_with_sanitizer(void)
{
    if (TEST_TSAN || TEST_ASAN) {
        test_skip("a sanitizer knows one copy of a library only");
    }
}

/* A put of another process, the last user for all that SQLite's locks tell, between two puts. */
static void meddle_and_put(void (*meddle)(weir_broker *broker))
{
    struct user user = {.meddle = meddle, .before = 2, .after = 100, .is_killed = true};
    begin();
    start_user(&user);
    put_and_close(1);
    end_user(&user);
    CHECK_INT(ledger->acknowledged + ledger->refused, ==, 104);
}

TEST(closed_inside, "a close of the file in a process that has the store open loses no log")
{
    meddle_and_put(open_and_close);
    CHECK_INT(ledger->refused, ==, 0);
    finish();
}

TEST(lock_replaced, "neither does it where the lock file was removed before, and made again")
{
    struct user user = {.meddle = replace_lock, .before = 1, .after = 100, .is_killed = true};
    begin();
    start_user(&user);
    put_and_close(1);
    end_user(&user);
    CHECK_INT(ledger->acknowledged, ==, 104);
    finish();
}

TEST(child_left, "a child that was forked beside an open broker is no user of the store")
{
    int go[2];
    char byte;
    CHECK_INT(pipe(go), ==, 0);
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)close(go[1]);
        (void)!read(go[0], &byte, 1);
        _exit(0);
    }
    weir_broker_close(broker);
    int lock;
    CHECK_INT(weiri_lock_file_try("jobs.db.lock", &lock), ==, 0);
    CHECK(!weiri_lock_is_shared(lock));
    (void)close(lock);
    begin();
    (void)close(go[0]);
    (void)close(go[1]);
    CHECK_INT(waitpid(child, NULL, 0), ==, child);
    finish();
}

TEST(opened_in_child, "a child that was forked beside an open broker opens no store")
{
    begin();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        static const uint32_t flags[] = {0, WEIR_BROKER_READ_ONLY};
        for (int i = 0; i < 2; i++) {
            weir_broker *own;
            struct weir_error error;
            CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, flags[i], &own, &error),
                         WEIR_EFORKED);
            CHECK(strstr(error.text, "fork before you open a store, or exec") != NULL);
        }
        weir_broker_close(broker);
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    put(broker, 1);
    weir_broker_close(broker);
    put_and_close(1); /* a child again */
    finish();
}

TEST(read_by_another, "a second SQLite in the process that may only read loses no log either")
{
    skip_with_sanitizer();
    meddle_and_put(look_with_another);
    CHECK_INT(ledger->refused, ==, 0);
    finish();
}

TEST(removed_by_another, "nothing is acknowledged after a second SQLite has removed the log")
{
    skip_with_sanitizer();
    meddle_and_put(use_another);
    CHECK_INT(ledger->refused, ==, 100);
    finish();
}

TEST(closed_after_removal, "a close puts no old log over the store, and removes no new one")
{
    struct user user = {.meddle = use_another, .before = 2};
    skip_with_sanitizer();
    begin();
    start_user(&user);
    put_and_close(50);
    end_user(&user);
    CHECK_INT(ledger->acknowledged, ==, 53);
    finish();
}

TEST(reopened, "the store is opened again once no broker of the process has the old log")
{
    struct user user = {.meddle = use_another, .before = 2, .after = 50, .is_killed = true};
    skip_with_sanitizer();
    user.reopens = true;
    begin();
    start_user(&user);
    put_and_close(5);
    end_user(&user);
    CHECK_INT(ledger->acknowledged, ==, 58);
    finish();
}

TEST(index_removed, "nothing is acknowledged by who has an index of the log that was removed")
{
    meddle_and_put(remove_index);
    CHECK_INT(ledger->refused, ==, 100);
    finish();
}

TEST(closed_by_reader, "a read-only broker does not remove the empty log of one that writes")
{
    struct user reader = {.meddle = do_nothing, .flags = WEIR_BROKER_READ_ONLY};
    struct user user = {.meddle = open_and_close, .after = 100, .is_killed = true};
    begin();
    start_user(&reader);
    start_user(&user);
    end_user(&reader);
    end_user(&user);
    CHECK_INT(ledger->acknowledged, ==, 101);
    finish();
}
