/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What each durability survives: a power cut at each moment (power_test.c has more of full
 * durability), and a kill. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"
#include "support/store_query.h"

static struct jobs_wall wall = {JOBS_WALL_START};

enum {
    EVENTS = 4000,
    PUTS = 40,
    IMAGE_SIZE = 1 << 20
};

/* A write, a cut or a flush of the store's file or of its log. */
struct event {
    bool is_log;
    void *bytes;
    int size; /* 0: a cut; -1: a flush */
    sqlite3_int64 offset;
    int acknowledged; /* puts before it */
};

static struct {
    struct event events[EVENTS];
    int count;
    int acknowledged;
    int flushes;
} record;

struct image {
    unsigned char bytes[IMAGE_SIZE];
    size_t size;
};

static struct image base;

static void note(enum fault_kind kind, bool is_log, sqlite3_int64 offset, const void *bytes,
                 int written)
{
    int size = kind == FAULT_SYNC ? -1 : kind == FAULT_TRUNCATE ? 0 : written;
    struct event event = {is_log, NULL, size, offset, record.acknowledged};
    CHECK_INT(record.count, <, EVENTS);
    if (bytes != NULL && size > 0) {
        event.bytes = malloc((size_t)size);
        CHECK(event.bytes != NULL);
        memcpy(event.bytes, bytes, (size_t)size);
    }
    record.flushes += size < 0;
    record.events[record.count++] = event;
}

static void apply(struct image *image, const struct event *event)
{
    if (event->size < 0) {
        return;
    }
    size_t end = (size_t)event->offset + (size_t)event->size;
    CHECK_INT(end, <=, IMAGE_SIZE);
    if (event->size == 0) {
        memset(image->bytes + end, 0, IMAGE_SIZE - end);
        image->size = end;
        return;
    }
    memcpy(image->bytes + event->offset, event->bytes, (size_t)event->size);
    image->size = end > image->size ? end : image->size;
}

/* The file, or its log, after a power cut behind so many events. */
static void replay(struct image *image, bool is_log, int count)
{
    int flushed = 0;
    for (int i = 0; i < count; i++) {
        if (record.events[i].is_log == is_log && record.events[i].size < 0) {
            flushed = i;
        }
    }
    for (int i = 0; i < count; i++) {
        if (record.events[i].is_log == is_log && (i < flushed || test_random_below(2) == 0)) {
            apply(image, &record.events[i]);
        }
    }
}

static void save(const char *path, const struct image *image)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_INT(fwrite(image->bytes, 1, image->size, file), ==, image->size);
    CHECK_INT(fclose(file), ==, 0);
}

static void load_base(void)
{
    jobs_store_fold("jobs.db");
    FILE *file = fopen("jobs.db", "rb");
    CHECK(file != NULL);
    base.size = fread(base.bytes, 1, IMAGE_SIZE, file);
    CHECK_INT(fclose(file), ==, 0);
}

static weir_broker *open_with(const char *path, const char *durability)
{
    char url[200];
    (void)snprintf(url, sizeof(url), "%s?durability=%s", path, durability);
    return jobs_store_open(url, &wall);
}

static void record_puts(const char *durability)
{
    fault_install();
    weir_broker_close(open_with("jobs.db", "full"));
    load_base();
    fault.watch = note;
    weir_broker *broker = open_with("jobs.db", durability);
    struct weiri_store *store = broker->store;
    store->checkpoint_pages = 20;
    store->checkpoint_at = 20;
    for (int i = 0; i < PUTS; i++) {
        CHECK_INT(jobs_put(broker, "t", "body", NULL), ==, i + 1);
        record.acknowledged++;
    }
    fault.watch = NULL;
    weir_broker_close(broker);
}

/* Cuts the power at each moment. Returns how many times jobs that were acknowledged are gone. */
static int cut(void)
{
    static struct image images[2];
    int losses = 0;
    for (int count = 0; count <= record.count; count++) {
        images[0] = base;
        memset(&images[1], 0, sizeof(images[1]));
        replay(&images[0], false, count);
        replay(&images[1], true, count);
        (void)remove("cut.db-shm");
        (void)remove("cut.db.lock");
        save("cut.db", &images[0]);
        save("cut.db-wal", &images[1]);
        int acknowledged =
            count == record.count ? record.acknowledged : record.events[count].acknowledged;
        weir_broker *broker = jobs_store_open("cut.db", &wall);
        int64_t jobs = query(broker, "SELECT count(*) FROM jobs");
        CHECK_INT(query(broker, "SELECT coalesce(max(id), 0) FROM jobs"), ==, jobs);
        CHECK_INT(query(broker, "SELECT count(body) FROM jobs"), ==, jobs);
        CHECK_INT(query(broker, "SELECT count(*) FROM jobs WHERE state = 2"), ==, jobs);
        CHECK_INT(query(broker, "SELECT count(*) FROM pragma_integrity_check "
                                "WHERE integrity_check = 'ok'"),
                  ==, 1);
        CHECK_INT(jobs, <=, acknowledged + 1);
        losses += jobs < acknowledged;
        weir_broker_close(broker);
    }
    for (int i = 0; i < record.count; i++) {
        free(record.events[i].bytes);
    }
    return losses;
}

TEST(full, "with full durability a power cut at any moment loses nothing")
{
    record_puts("full");
    CHECK_INT(record.flushes, >=, PUTS);
    CHECK_INT(cut(), ==, 0);
}

TEST(normal, "with normal durability a power cut loses the last jobs at most, and damages nothing")
{
    record_puts("normal");
    CHECK_INT(record.flushes, >, 0);
    CHECK_INT(record.flushes, <, PUTS);
    CHECK_INT(cut(), >, 0);
}

TEST(memory, "with memory durability nothing is flushed")
{
    record_puts("memory");
    CHECK_INT(record.flushes, ==, 0);
    CHECK_INT(record.acknowledged, ==, PUTS);
    for (int i = 0; i < record.count; i++) {
        free(record.events[i].bytes);
    }
}

TEST(mixed, "a put with full durability also flushes what others put with normal before it")
{
    fault_install();
    weir_broker_close(open_with("jobs.db", "full"));
    load_base();
    fault.watch = note;
    weir_broker *normal = open_with("jobs.db", "normal");
    weir_broker *full = open_with("jobs.db", "full");
    (void)jobs_put(normal, "t", "body", NULL);
    (void)jobs_put(full, "t", "body", NULL);
    record.acknowledged = 2;
    fault.watch = NULL;
    static struct image images[2];
    images[0] = base;
    replay(&images[0], false, record.count);
    replay(&images[1], true, record.count);
    save("cut.db", &images[0]);
    save("cut.db-wal", &images[1]);
    weir_broker *broker = jobs_store_open("cut.db", &wall);
    CHECK_COUNTS(broker, "t", 0, 2, 0, 0);
    weir_broker_close(broker);
    weir_broker_close(normal);
    weir_broker_close(full);
    for (int i = 0; i < record.count; i++) {
        free(record.events[i].bytes);
    }
}

/* Kills a process that puts, and checks that all it acknowledged is there. */
static void kill_putter(const char *durability)
{
    _Atomic int *acknowledged = mmap(NULL, sizeof(*acknowledged), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(acknowledged != MAP_FAILED);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = open_with("jobs.db", durability);
        for (;;) {
            (void)jobs_put(broker, "t", "body", NULL);
            (*acknowledged)++;
        }
    }
    int until = 50 + (int)test_random_below(100);
    while (*acknowledged < until) {
        (void)sched_yield();
    }
    CHECK_INT(kill(child, SIGKILL), ==, 0);
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    weir_broker *broker = open_with("jobs.db", durability);
    int64_t jobs = (int64_t)jobs_counts(broker, "t").ready;
    CHECK_INT(jobs, >=, *acknowledged);
    CHECK_INT(jobs, <=, *acknowledged + 1);
    weir_broker_close(broker);
    jobs_store_remove("jobs.db");
    CHECK_INT(munmap((void *)acknowledged, sizeof(*acknowledged)), ==, 0);
}

TEST(killed, "each durability keeps what was acknowledged before a kill -9")
{
    kill_putter("full");
    kill_putter("normal");
    kill_putter("memory");
}
