/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Power cuts. All writes and flushes of a run are recorded. Then the disk is made as a cut after
 * any of them may have left it: what was flushed, and of the other writes none, all or some, one of
 * them torn. What was acknowledged before the cut must be there, and the store must work. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/admin.h>
#include <weir/job_schedule.h>

#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/image.h"
#include "support/jobs.h"
#include "support/sanitizer.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

enum {
    EVENTS = 40000,
    JOBS = 1000,
    SECTOR = 512
};

enum event_kind {
    EVENT_WRITE,
    EVENT_TRUNCATE,
    EVENT_SYNC,
    EVENT_PUT,   /* a job is acknowledged */
    EVENT_TRY,   /* its end begins */
    EVENT_END,   /* it is acknowledged that the job has ended, or will without a run */
    EVENT_FIRED, /* so many firings are acknowledged */
    EVENT_ADDED, /* so many puts */
    EVENT_DONE,  /* so many successes */
    EVENT_FENCE  /* a handler has a job with a token */
};

/* An event of the run: of the disk, or an acknowledgement. */
struct event {
    enum event_kind kind;
    bool is_log;
    int64_t number; /* offset, size, job or count */
    uint64_t token;
    uint32_t noted; /* in the lock file then */
    int size;
    unsigned char *bytes;
};

static struct event *events;
static int event_count;
static int64_t added; /* acknowledged so far */
static int64_t done;
static int compared;     /* tokens after a cut with such before it */
static int lock_fd = -1; /* of the run */

static struct event *add(enum event_kind kind, int64_t number)
{
    CHECK_INT(event_count, <, EVENTS);
    struct event *event = &events[event_count++];
    *event =
        (struct event){.kind = kind, .number = number, .noted = weiri_lock_file_noted(lock_fd)};
    return event;
}

static void record(enum fault_kind kind, bool is_log, sqlite3_int64 offset, const void *bytes,
                   int size)
{
    struct event *event = add(kind == FAULT_WRITE  ? EVENT_WRITE
                              : kind == FAULT_SYNC ? EVENT_SYNC
                                                   : EVENT_TRUNCATE,
                              offset);
    event->is_log = is_log;
    event->size = size;
    if (size > 0) {
        event->bytes = malloc((size_t)size);
        CHECK(event->bytes != NULL);
        memcpy(event->bytes, bytes, (size_t)size);
    }
}

/* --- the run --- */

/* A put is acknowledged, or one that waits for another way to be told of. */
static void note_added(int64_t count)
{
    added += count;
    (void)add(EVENT_ADDED, added);
}

static void note_done(void)
{
    (void)add(EVENT_DONE, ++done);
}

static void put(weir_broker *broker, size_t count)
{
    static char large[6000];
    const struct weir_body bodies[3] = {
        {"small", 5, NULL}, {large, sizeof(large), NULL}, {"", 0, NULL}};
    struct weir_job_id ids[3];
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, count, NULL, ids, NULL), WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        (void)add(EVENT_PUT, strtoll(ids[i].text, NULL, 10));
    }
    note_added((int64_t)count);
}

static struct weiri_reservation *reserve(weir_broker *broker, const char *tube)
{
    struct weiri_reservation *job = jobs_reserve_one(broker, tube);
    add(EVENT_FENCE, job->number)->token = job->job.fence;
    return job;
}

static void run_one(weir_broker *broker, const char *tube, enum weiri_job_event outcome)
{
    struct weiri_reservation *job = reserve(broker, tube);
    (void)add(EVENT_TRY, outcome == WEIRI_JOB_DONE ? job->number : 0);
    CHECK_STATUS(jobs_settle(broker, job, outcome, jobs_clocks_wall(&clocks), "failed"), WEIR_OK);
    (void)add(EVENT_END, outcome == WEIRI_JOB_DONE ? job->number : 0);
    if (outcome == WEIRI_JOB_DONE) {
        note_done();
    }
    jobs_free_one(broker, job);
}

static int keep_fired(const struct weir_job_schedule *schedule, void *arg)
{
    *(int64_t *)arg = (int64_t)schedule->fired;
    return 0;
}

static int64_t fired(weir_broker *broker)
{
    int64_t count = 0;
    CHECK_STATUS(weir_broker_schedules(broker, "s", keep_fired, &count, NULL), WEIR_OK);
    return count;
}

/* What others committed and have not flushed, as those that are killed in between never do: an
 * answer that rests on it flushes it, though it changes nothing. */

/* A move that was killed after it had put a job into its target, repeated. */
static void move_again(weir_broker *broker, weir_broker *other)
{
    const struct weir_body body = {"moved", 5, NULL};
    bool was_there = false;
    char put_id[16];
    (void)snprintf(put_id, sizeof(put_id), "%d", event_count);
    struct weir_job_id ids[2];
    const struct weiri_put one = {.tube = "t",
                                  .bodies = &body,
                                  .count = 1,
                                  .run_at_ns = jobs_clocks_wall(&clocks),
                                  .ttr_ns = WEIR_SECONDS(60),
                                  .put_id = put_id,
                                  .ret_was_there = &was_there};
    CHECK_STATUS(weiri_store_put(other->store, &one, &ids[0], NULL), WEIR_OK);
    CHECK_STATUS(weiri_store_put(broker->store, &one, &ids[1], NULL), WEIR_OK);
    CHECK(was_there);
    CHECK_STRING(ids[0].text, ids[1].text);
    (void)add(EVENT_PUT, strtoll(ids[1].text, NULL, 10));
    note_added(1);
}

/* A put whose key a job has already. */
static void put_again(weir_broker *broker, weir_broker *other, enum weir_duplicate mode)
{
    const struct weir_body body = {"kept", 4, NULL};
    struct weir_put_options options = {0};
    char key[16];
    (void)snprintf(key, sizeof(key), "%d", event_count);
    options.key = key;
    options.delay_ns = WEIR_SECONDS(1000000);
    options.on_duplicate = mode;
    options.key_ns = mode == WEIR_DUPLICATE_THROTTLE ? 1 : 0;
    int64_t number = jobs_put(other, "t", "kept", &options);
    enum weir_status status = weir_broker_put(broker, "t", &body, 1, &options, NULL, NULL);
    CHECK_STATUS(status, mode == WEIR_DUPLICATE_REFUSE ? WEIR_EBUSY : WEIR_OK);
    (void)add(EVENT_PUT, number);
    note_added(1);
}

/* The end of a run whose lease has passed to another worker, which has done the job. */
static void end_late(weir_broker *broker, weir_broker *other)
{
    (void)jobs_put(broker, "late", "x", NULL);
    note_added(1);
    struct weiri_reservation *job = reserve(broker, "late");
    jobs_wall_step(&clocks.lease, WEIR_SECONDS(61));
    struct weiri_reservation *again = reserve(other, "late");
    CHECK_INT(again->number, ==, job->number);
    (void)add(EVENT_TRY, job->number);
    CHECK_STATUS(jobs_settle(other, again, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_ELEASELOST);
    (void)add(EVENT_END, job->number);
    note_done();
    jobs_free_one(other, again);
    jobs_free_one(broker, job);
}

/* A job that runs is cancelled; its worker never ends the run. */
static void cancel_running(weir_broker *broker, weir_broker *other)
{
    const struct weir_change change = {.kind = WEIR_CHANGE_CANCEL, .verdict = WEIR_VERDICT_REMOVE};
    (void)jobs_put(broker, "asked", "x", NULL);
    note_added(1);
    struct weiri_reservation *job = reserve(other, "asked");
    const char *id = job->job.id;
    enum weir_status status;
    (void)add(EVENT_TRY, job->number);
    CHECK_STATUS(weir_broker_change(broker, &change, &id, 1, &status, NULL), WEIR_OK);
    CHECK_STATUS(status, WEIR_ECANCELED);
    (void)add(EVENT_END, job->number);
    jobs_free_one(other, job);
}

static const char *const backups[] = {"backup-0.db", "backup-1.db", "backup-2.db"};

static void back_up(weir_broker *broker, const char *path)
{
    fault.watch = NULL;
    CHECK_STATUS(weir_broker_backup(broker, path, NULL), WEIR_OK);
    fault.watch = record;
}

static void work(weir_broker *broker, weir_broker *other, int rounds)
{
    static const enum weir_duplicate modes[] = {WEIR_DUPLICATE_KEEP, WEIR_DUPLICATE_THROTTLE,
                                                WEIR_DUPLICATE_REFUSE};
    static const enum weiri_job_event outcomes[] = {WEIRI_JOB_DONE, WEIRI_JOB_RELEASE,
                                                    WEIRI_JOB_BURY, WEIRI_JOB_DONE};
    struct weiri_store *store = broker->store;
    sqlite3 *reader;
    CHECK_INT(sqlite3_open("jobs.db", &reader), ==, SQLITE_OK);
    for (int i = 0; i < rounds; i++) {
        store->checkpoint_pages = i % 4 == 0 ? 6 : 60;
        store->checkpoint_at = store->checkpoint_pages;
        /* A checkpoint stops at what a reader still needs. */
        const char *sql = i % 6 == 2   ? "BEGIN; SELECT count(*) FROM jobs"
                          : i % 6 == 5 ? "COMMIT"
                                       : "";
        CHECK_INT(sqlite3_exec(reader, sql, NULL, NULL, NULL), ==, SQLITE_OK);
        put(broker, 1 + (size_t)i % 3);
        run_one(broker, "t", outcomes[i % 4]);
        move_again(broker, other);
        put_again(broker, other, modes[i % 3]);
        end_late(broker, other);
        cancel_running(broker, other);
        if (i % 8 == 7) { /* rows of jobs that have ended are deleted */
            CHECK_STATUS(weir_broker_set_policy(broker, "t", NULL, NULL), WEIR_OK);
        }
        if (i % 20 == 10) {
            back_up(broker, backups[i / 20]);
        }
        if (i % 5 == 4) {
            jobs_wall_step(&clocks.wall, WEIR_SECONDS(1));
            run_one(broker, "fired", WEIRI_JOB_BURY);
            (void)add(EVENT_FIRED, fired(broker));
        }
    }
    CHECK_INT(sqlite3_close(reader), ==, SQLITE_OK);
}

/* --- the cut --- */

static void apply(struct image *image, const struct event *event, int size)
{
    int64_t end = event->kind == EVENT_TRUNCATE ? event->number : event->number + size;
    if (end > image->capacity) {
        image->bytes = realloc(image->bytes, (size_t)(2 * end));
        CHECK(image->bytes != NULL);
        memset(image->bytes + image->capacity, 0, (size_t)(2 * end - image->capacity));
        image->capacity = 2 * end;
    }
    if (event->kind == EVENT_TRUNCATE) {
        if (end < image->size) {
            memset(image->bytes + end, 0, (size_t)(image->size - end));
        }
        image->size = end;
    } else {
        memcpy(image->bytes + event->number, event->bytes, (size_t)size);
        image->size = end > image->size ? end : image->size;
    }
}

/* What becomes of the writes that were not flushed. */
enum fate {
    FATE_NONE,
    FATE_ALL,
    FATE_SOME
};

/* One file as a cut before an event may have left it. */
static void make_file(const struct image *base, bool is_log, int cut, enum fate fate,
                      const char *path)
{
    struct image image = {.size = base->size, .capacity = base->size + 1};
    image.bytes = malloc((size_t)image.capacity);
    CHECK(image.bytes != NULL);
    memcpy(image.bytes, base->bytes, (size_t)base->size);
    int flushed = 0; /* all before it is on the disk */
    for (int i = 0; i < cut; i++) {
        if (events[i].kind == EVENT_SYNC && events[i].is_log == is_log) {
            flushed = i;
        }
    }
    for (int i = 0; i < cut; i++) {
        const struct event *event = &events[i];
        bool is_change = event->kind == EVENT_WRITE || event->kind == EVENT_TRUNCATE;
        bool is_kept =
            i < flushed || fate == FATE_ALL || (fate == FATE_SOME && test_random_below(2) == 0);
        if (!is_change || event->is_log != is_log || !is_kept) {
            continue;
        }
        int size = event->size;
        if (i >= flushed && fate == FATE_SOME && size > SECTOR && test_random_below(8) == 0) {
            size = (int)test_random_below((uint64_t)(size / SECTOR)) * SECTOR;
        }
        apply(&image, event, size);
    }
    if (image.size > 0) {
        image_save(&image, path);
    }
    free(image.bytes);
}

/* --- the judgement --- */

/* What is there is there whole. */
static int note(const struct weir_job *job, void *arg)
{
    long long number = strtoll(job->id, NULL, 10);
    CHECK_INT(number, <, JOBS);
    CHECK(strstr(job->reason, "damaged") == NULL);
    ((bool *)arg)[number] = true;
    return 0;
}

/* The lock file as the kernel may have written it, for it is never flushed. */
static void make_lock_file(int cut)
{
    struct weiri_lock_file file;
    CHECK_INT(weiri_lock_file_open(&file, "cut/jobs.db.lock"), ==, 0);
    weiri_lock_file_note(&file, events[cut < event_count ? cut : cut - 1].noted);
    weiri_lock_file_close(&file);
}

static int sum_up(const struct weir_tube_counts *counts, void *arg)
{
    struct weir_tube_counts *sum = arg;
    sum->put += counts->put;
    sum->done += counts->done;
    return 0;
}

/* Jobs that are reserved now have larger tokens than the handlers before a cut had. */
static void judge_fences(weir_broker *broker, int cut)
{
    static const char *const tubes[] = {"t", "late", "asked", "fired"};
    uint64_t fences[JOBS] = {0};
    for (int i = 0; i < cut; i++) {
        if (events[i].kind == EVENT_FENCE) {
            fences[events[i].number] = events[i].token;
        }
    }
    for (size_t i = 0; i < sizeof(tubes) / sizeof(tubes[0]); i++) {
        struct weiri_list list;
        CHECK_STATUS(weir_broker_kick(broker, tubes[i], SIZE_MAX, NULL, NULL), WEIR_OK);
        (void)jobs_reserve(broker, tubes[i], JOBS, 1000, &list);
        for (struct weiri_list *link = list.next; link != &list; link = link->next) {
            const struct weiri_reservation *job =
                WEIRI_CONTAINER(link, struct weiri_reservation, link);
            if (job->number < JOBS && job->job.fence <= fences[job->number]) {
                test_fail(__FILE__, __LINE__, "cut before event %d: job %lld has a token again",
                          cut, (long long)job->number);
            }
            compared += job->number < JOBS && fences[job->number] != 0;
        }
        jobs_free(broker, &list);
    }
}

/* The clock is as it was, or was set back. */
static weir_broker *open_after(const char *boot)
{
    static int64_t last_ns = 0;
    last_ns = last_ns == 0 ? jobs_clocks_wall(&clocks) : last_ns;
    clocks.wall.now_ns = last_ns - (test_random_below(2) == 0 ? WEIR_SECONDS(86400) : 0);
    return jobs_store_open_on("cut/jobs.db", &clocks, boot);
}

static void judge(int cut)
{
    bool is_there[JOBS] = {false};
    bool was_put[JOBS] = {false};
    bool was_tried[JOBS] = {false};
    bool has_ended[JOBS] = {false};
    int64_t least[EVENT_DONE + 1] = {0};
    int64_t last = 0;
    for (int i = 0; i < cut; i++) {
        bool *const lists[] = {
            [EVENT_PUT] = was_put, [EVENT_TRY] = was_tried, [EVENT_END] = has_ended};
        if (events[i].kind == EVENT_FENCE) {
            continue;
        }
        if (events[i].kind >= EVENT_FIRED) {
            least[events[i].kind] = events[i].number;
        } else if (events[i].kind >= EVENT_PUT) {
            lists[events[i].kind][events[i].number] = true;
            last = events[i].number > last ? events[i].number : last;
        }
    }
    weir_broker *broker = open_after("another boot");
    struct weiri_store *store = broker->store;
    sqlite3_stmt *statement;
    CHECK_INT(sqlite3_prepare_v2(store->writer.db, "PRAGMA integrity_check", -1, &statement, NULL),
              ==, SQLITE_OK);
    CHECK_INT(sqlite3_step(statement), ==, SQLITE_ROW);
    CHECK_STRING((const char *)sqlite3_column_text(statement, 0), "ok");
    (void)sqlite3_finalize(statement);
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, SIZE_MAX, note, is_there, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_peek(broker, "late", 0, SIZE_MAX, note, is_there, NULL), WEIR_OK);
    /* A look ends the reservations of before, each by its verdict. */
    struct weiri_list list;
    (void)jobs_reserve(broker, "asked", JOBS, 1000, &list);
    jobs_free(broker, &list);
    CHECK_STATUS(weir_broker_peek(broker, "asked", 0, SIZE_MAX, note, is_there, NULL), WEIR_OK);
    for (int number = 1; number < JOBS; number++) {
        if (was_put[number] && !was_tried[number] && !is_there[number]) {
            test_fail(__FILE__, __LINE__, "cut before event %d: job %d is lost", cut, number);
        }
        if (has_ended[number] && is_there[number]) {
            test_fail(__FILE__, __LINE__, "cut before event %d: job %d has ended and is back", cut,
                      number);
        }
    }
    /* What was fired is there with its jobs. */
    struct weir_tube_counts counts = jobs_counts(broker, "fired");
    CHECK_INT(counts.ready + counts.reserved + counts.buried, ==, fired(broker));
    CHECK_INT(fired(broker), >=, least[EVENT_FIRED]);
    /* Totals are those of what was acknowledged at least, and no id is given twice. */
    struct weir_tube_counts sum = {.put = 0};
    CHECK_STATUS(weir_broker_tubes(broker, NULL, sum_up, &sum, NULL), WEIR_OK);
    CHECK_INT(sum.put, >=, least[EVENT_ADDED]);
    CHECK_INT(sum.done, >=, least[EVENT_DONE]);
    CHECK_INT(jobs_put(broker, "t", "again", NULL), >, last);
    judge_fences(broker, cut);
    weir_broker_close(broker);
}

static void remove_cut(void)
{
    static const char *const files[] = {"cut/jobs.db", "cut/jobs.db-wal", "cut/jobs.db-shm",
                                        "cut/jobs.db.lock"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)unlink(files[i]);
    }
}

/* Records a run, from a store of before with a schedule and no log. */
static void record_run(struct image *base)
{
    struct weir_job_schedule_options options = {0};
    options.name = "s";
    options.tube = "fired";
    options.interval_ns = WEIR_SECONDS(1);
    events = calloc(EVENTS, sizeof(*events));
    CHECK(events != NULL);
    CHECK_INT(mkdir("cut", 0700), ==, 0);
    fault_install();
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a boot");
    CHECK_STATUS(weir_broker_schedule_put(broker, &options, NULL), WEIR_OK);
    weir_broker_close(broker);
    jobs_store_fold("jobs.db");
    image_load(base, "jobs.db");
    lock_fd = open("jobs.db.lock", O_RDONLY | O_CLOEXEC);
    CHECK(lock_fd >= 0);
    fault.watch = record;
    broker = jobs_store_open_on("jobs.db", &clocks, "a boot");
    weir_broker *other = jobs_store_open_on("jobs.db?durability=normal", &clocks, "a boot");
    work(broker, other, 60);
    fault.watch = NULL;
    weir_broker_close(other);
    weir_broker_close(broker);
    (void)close(lock_fd);
    int checkpoints = 0;
    for (int i = 0; i < event_count; i++) {
        checkpoints += events[i].kind == EVENT_SYNC && !events[i].is_log;
    }
    CHECK_INT(event_count, >, 500);
    CHECK_INT(checkpoints, >, 10);
}

static void forget_run(struct image *base)
{
    for (int i = 0; i < event_count; i++) {
        free(events[i].bytes);
    }
    free(events);
    free(base->bytes);
}

/* A moment of the run, often near the start, where there is no log yet. */
static int random_cut(void)
{
    uint64_t most = test_random_below(3) == 0 ? 30 : (uint64_t)event_count;
    return (int)test_random_below(most + 1);
}

TEST(cuts, "after a power cut at any moment all that was acknowledged is there")
{
    struct image base = {.size = 0};
    const struct image none = {.bytes = (unsigned char[1]){0}};
    record_run(&base);
    uint64_t cuts = TEST_TSAN == 1 ? 60 : 300; /* each is of one thread */
    for (uint64_t i = test_scaled(cuts); i > 0; i--) {
        int cut = random_cut();
        enum fate fate = (enum fate)test_random_below(3);
        remove_cut();
        make_file(&base, false, cut, fate, "cut/jobs.db");
        make_file(&none, true, cut, fate, "cut/jobs.db-wal");
        make_lock_file(cut);
        judge(cut);
    }
    CHECK_INT(compared, >, cuts / 3);
    forget_run(&base);
}

TEST(restored, "a backup of the run gives larger tokens than all that handlers had by its end")
{
    struct image base = {.size = 0};
    record_run(&base);
    for (size_t i = 0; i < sizeof(backups) / sizeof(backups[0]); i++) {
        CHECK_INT(rename(backups[i], "cut/jobs.db"), ==, 0);
        weir_broker *broker = open_after("a boot");
        judge_fences(broker, event_count);
        weir_broker_close(broker);
        remove_cut();
    }
    CHECK_INT(compared, >, 10);
    forget_run(&base);
}

/* The cut, or where it is within a checkpoint, the moment before. A checkpoint writes the first
 * page first, which has the stamp; and what it left in the log has none until its next commit. */
static int before_checkpoint(int cut)
{
    int first = cut;
    for (int i = cut - 1; i >= 0 && events[i].kind < EVENT_PUT; i--) {
        if (events[i].kind == EVENT_SYNC && events[i].is_log) {
            break;
        }
        first = events[i].is_log ? first : i;
    }
    return first;
}

TEST(log_lost, "a store whose log was taken from it after a crash is refused, or has all")
{
    struct image base = {.size = 0};
    uint64_t refused = 0;
    uint64_t steps = test_scaled(200);
    record_run(&base);
    for (uint64_t i = 0; i < steps; i++) {
        int cut = before_checkpoint(random_cut());
        weir_broker *broker;
        remove_cut();
        make_file(&base, false, cut, FATE_ALL, "cut/jobs.db");
        make_lock_file(cut);
        enum weir_status status =
            jobs_store_try_open("cut/jobs.db", &clocks.wall, 0, &broker, NULL);
        if (status == WEIR_OK) {
            weir_broker_close(broker);
            make_lock_file(cut);
            judge(cut);
        }
        refused += status != WEIR_OK;
    }
    CHECK_INT(refused, >, 0);
    CHECK_INT(refused, <, steps); /* else nothing was judged */
    forget_run(&base);
}
