/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Damaged indexes: the jobs go on, and it is said. */
#define _GNU_SOURCE /* memmem */
#include "jobs/sqlite/store.h"

#include <fcntl.h>
#include <unistd.h>

#include "support/consumer.h"
#include "support/store_query.h"

enum {
    JOBS = 300
};

static const char *const indexes[] = {"jobs_delayed", "jobs_ready", "jobs_reserved", "jobs_buried"};

/* A store with jobs in each state. */
static void make_store(void)
{
    jobs_store_remove("jobs.db");
    weir_broker *broker;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    struct weir_put_options later = {0};
    later.delay_ns = WEIR_SECONDS(3600);
    for (int i = 0; i < JOBS; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
        (void)jobs_put(broker, "t", "x", &later);
    }
    jobs_free_one(broker, jobs_reserve_one(broker, "t"));
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_BURY, 0, "why"), WEIR_OK);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

static sqlite3 *open_file(void)
{
    sqlite3 *db;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    return db;
}

static void run(sqlite3 *db, const char *sql)
{
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
}

/* Changes an object's first page: a bit of a text in it, or where there is none, all bytes. */
static void damage_page(const char *name, const char *text, unsigned char byte)
{
    char sql[100];
    unsigned char page[4096];
    (void)snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
    sqlite3 *db = open_file();
    off_t offset = (off_t)(query_file(db, sql) - 1) * 4096;
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    int fd = open("jobs.db", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(pread(fd, page, sizeof(page), offset), ==, 4096);
    if (text == NULL) {
        memset(page, byte, sizeof(page));
    } else {
        unsigned char *found = memmem(page, sizeof(page), text, strlen(text));
        CHECK(found != NULL);
        found[strlen(text) - 1] ^= byte;
    }
    CHECK_INT(pwrite(fd, page, sizeof(page), offset), ==, 4096);
    (void)close(fd);
}

/* Gives an index the entries of another definition, its pages sound. */
static void fill_otherwise(const char *name, const char *definition)
{
    char sql[900];
    (void)snprintf(sql, sizeof(sql),
                   "PRAGMA writable_schema = ON; CREATE TEMP TABLE was AS SELECT sql AS text FROM "
                   "sqlite_schema WHERE name = '%s'; UPDATE sqlite_schema SET sql = "
                   "'CREATE INDEX %s ON jobs' || '%s' WHERE name = '%s'; "
                   "PRAGMA writable_schema = RESET",
                   name, name, definition, name);
    sqlite3 *db = open_file();
    run(db, sql);
    (void)snprintf(sql, sizeof(sql), "REINDEX %s", name);
    run(db, sql);
    (void)snprintf(sql, sizeof(sql),
                   "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
                   "(SELECT text FROM was) WHERE name = '%s'; PRAGMA writable_schema = RESET",
                   name);
    run(db, sql);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

static void empty_index(const char *name)
{
    fill_otherwise(name, "(tube) WHERE state = 99");
}

struct messages {
    int repairs;
    int others;
};

static void note_message(enum weir_log_level level, const char *message, void *arg)
{
    struct messages *messages = arg;
    if (level == WEIR_LOG_ERROR && strstr(message, "its indexes were made anew") != NULL) {
        messages->repairs++;
    } else {
        messages->others++;
    }
}

static int64_t sum_runs(weir_broker *broker)
{
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", SIZE_MAX / 2, 1000, &list);
    jobs_free(broker, &list);
    return (int64_t)exchange.reserved_count;
}

/* Runs what is ready in a damaged store, on a handle that is opened then. */
static void expect_repair(void)
{
    struct messages messages = {0, 0};
    struct weir_broker_options options = {0};
    options.log = note_message;
    options.log_arg = &messages;
    weir_broker *broker;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, NULL), WEIR_OK);
    CHECK_INT(sum_runs(broker), ==, JOBS - 2);
    size_t kicked;
    CHECK_STATUS(weir_broker_kick(broker, "t", 100, &kicked, NULL), WEIR_OK);
    CHECK_INT(kicked, ==, 1);
    CHECK_INT(sum_runs(broker), ==, 1);
    CHECK_INT(sum_runs(broker), ==, 0); /* and counts all rows */
    CHECK_COUNTS(broker, "t", JOBS, 0, JOBS, 0);
    CHECK_INT(messages.repairs, ==, 1);
    CHECK_INT(messages.others, ==, 0);
    weir_broker_close(broker);
    sqlite3 *db = open_file();
    CHECK_INT(
        query_file(db, "SELECT count(*) FROM pragma_integrity_check "
                       "WHERE integrity_check NOT LIKE '%never used%' AND integrity_check <> 'ok'"),
        ==, 0);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

static void damage_each(unsigned char byte)
{
    for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
        make_store();
        damage_page(indexes[i], NULL, byte);
        expect_repair();
    }
}

TEST(pages, "a damaged page of any index is replaced, and all jobs go on")
{
    damage_each(0xa5);
}

TEST(empty_pages, "so is one of zeros")
{
    damage_each(0);
}

TEST(entries, "an index that lost its entries is not taken for an empty tube")
{
    /* New reservations hide that the index of reserved jobs lost old ones. */
    for (size_t i = 0; i < 2; i++) {
        make_store();
        empty_index(indexes[i]);
        expect_repair();
    }
}

/* Two jobs at a time, of what is ready and of what another index says is, too. */
static void reserve_pair(const char *name, const char *definition)
{
    weir_broker *broker;
    struct weiri_list list;
    make_store();
    fill_otherwise(name, definition);
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 2, 1000, &list);
    CHECK_INT(exchange.reserved_count, ==, 2);
    CHECK(WEIRI_CONTAINER(list.next, struct weiri_reservation, link)->number !=
          WEIRI_CONTAINER(list.prev, struct weiri_reservation, link)->number);
    jobs_free(broker, &list);
    CHECK_INT(sum_runs(broker), ==, JOBS - 4);
    weir_broker_close(broker);
}

TEST(twice, "a job that two indexes have is not run twice")
{
    reserve_pair("jobs_suspects", "(tube, (9), priority, run_at) WHERE state = 2");
    reserve_pair("jobs_delayed", "(tube, (1), priority, run_at) WHERE state < 3");
}

TEST(hidden, "a ready job whose entry has a priority that no job has is not waited for")
{
    make_store();
    fill_otherwise("jobs_ready", "(tube, state, (1 << 40), run_at) WHERE state = 2");
    expect_repair();
}

TEST(not_due, "nor is one begun before its time that the index of suspects has")
{
    make_store();
    sqlite3 *db = open_file();
    run(db, "UPDATE jobs SET lost = 2 WHERE state = 1");
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    fill_otherwise("jobs_suspects", "(tube, (9), priority, run_at) WHERE state = 1");
    expect_repair();
}

TEST(no_row, "an entry without a row does not hide the jobs behind it, also where the counts agree")
{
    make_store();
    sqlite3 *db = open_file();
    run(db, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX jobs_ready "
            "ON jobs(tube, state, priority, run_at) WHERE state = 98' WHERE name = 'jobs_ready'; "
            "PRAGMA writable_schema = RESET");
    run(db, "UPDATE jobs SET id = 10000, state = 99 "
            "WHERE id = (SELECT min(id) FROM jobs WHERE state = 2)");
    run(db, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX jobs_ready "
            "ON jobs(tube, state, priority, run_at) WHERE state = 2' WHERE name = 'jobs_ready'; "
            "PRAGMA writable_schema = RESET");
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    weir_broker *broker;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    jobs_free_one(broker, jobs_reserve_one(broker, "t"));
    CHECK_INT(sum_runs(broker), ==, JOBS - 4);
    weir_broker_close(broker);
}

TEST(limited,
     "nor is one of a tube with a limit of groups, where none runs that could fill a group")
{
    weir_broker *broker;
    const struct weir_tube_policy policy = {.group_limit = 1};
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
    weir_broker_close(broker);
    empty_index("jobs_ready");
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    CHECK_INT(sum_runs(broker), ==, 1);
    weir_broker_close(broker);
}

TEST(keys, "nor is the index of keys, which would let two jobs of a tube have one")
{
    weir_broker *broker;
    const struct weir_put_options keyed = {.key = "k", .delay_ns = WEIR_SECONDS(3600)};
    const struct weir_body body = {"x", 1, NULL};
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    (void)jobs_put(broker, "t", "x", &keyed);
    weir_broker_close(broker);
    empty_index("jobs_key");
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    CHECK_INT(sum_runs(broker), ==, 0); /* and counts */
    CHECK_INT(sum_runs(broker), ==, 0);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &keyed, NULL, NULL), WEIR_EBUSY);
    weir_broker_close(broker);
}

TEST(id_of_zero, "a job whose id became 0 is no entry that an index lost")
{
    make_store();
    sqlite3 *db = open_file();
    run(db, "UPDATE jobs SET id = 0 WHERE id = (SELECT min(id) FROM jobs WHERE state = 1)");
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    struct messages messages = {0, 0};
    struct weir_broker_options options = {.log = note_message, .log_arg = &messages};
    weir_broker *broker;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, NULL), WEIR_OK);
    while (sum_runs(broker) > 0) {
    }
    CHECK_INT(messages.repairs, ==, 0);
    weir_broker_close(broker);
}

TEST(repaired, "a repair whose first try met damaged indexes succeeds, and says nothing of it")
{
    for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
        make_store();
        damage_page(indexes[i], NULL, 0xa5);
        weir_broker *broker;
        struct weir_repair_counts found;
        struct weir_error error = {.text = "untouched"};
        CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
        CHECK_STATUS(weir_broker_repair(broker, &found, &error), WEIR_OK);
        CHECK_STRING(error.text, "");
        CHECK_INT(found.jobs, ==, 2 * JOBS);
        weir_broker_close(broker);
    }
}

TEST(repaired_beside, "so does one where an index of the program's cannot be made anew")
{
    make_store();
    sqlite3 *db = open_file();
    run(db, "CREATE TABLE own(x); INSERT INTO own VALUES (1), (1); "
            "CREATE UNIQUE INDEX own_x ON own(x) WHERE x > 1; PRAGMA writable_schema = ON; "
            "UPDATE sqlite_schema SET sql = 'CREATE UNIQUE INDEX own_x ON own(x)' "
            "WHERE name = 'own_x'; PRAGMA writable_schema = RESET");
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    weir_broker *broker;
    struct weir_repair_counts found;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db?shared=1", NULL, &broker, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_repair(broker, &found, NULL), WEIR_OK);
    CHECK_INT(found.jobs, ==, 2 * JOBS);
    weir_broker_close(broker);
}

static int keep_reason(const struct weir_job *job, void *arg)
{
    (void)snprintf(arg, WEIR_REASON_SIZE, "%s: %s", job->id, job->reason);
    return 0;
}

TEST(state, "a job in no known state is buried when the indexes are made anew; the others go on")
{
    weir_broker *broker;
    struct messages messages = {0, 0};
    struct weir_broker_options options = {0};
    struct weir_put_options keyed = {0};
    options.log = note_message;
    options.log_arg = &messages;
    keyed.key = "k";
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    (void)jobs_put(broker, "t", "x", &keyed);
    (void)jobs_put(broker, "t", "x", NULL);
    weir_broker_close(broker);
    sqlite3 *db = open_file();
    run(db, JOBS_FLIP_STATE);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, NULL), WEIR_OK);
    CHECK_INT(sum_runs(broker), ==, 1);
    CHECK_INT(messages.repairs, ==, 1);
    CHECK_COUNTS(broker, "t", 0, 0, 1, 1);
    char reason[WEIR_REASON_SIZE] = "";
    CHECK_STATUS(weir_broker_peek(broker, "t", WEIR_JOB_BURIED, 2, keep_reason, reason, NULL),
                 WEIR_OK);
    CHECK_STRING(reason, "1: its row was damaged: state 10, verdict 0 and outcome 0 do not fit");
    CHECK_INT(jobs_put(broker, "t", "x", &keyed), ==, 3); /* its key is free */
    weir_broker_close(broker);
}

/* Whether the indexes have the entries of the rows, and no others. */
static bool is_sound(void)
{
    sqlite3 *db = open_file();
    bool is = query_file(db, "SELECT count(*) FROM pragma_integrity_check "
                             "WHERE integrity_check LIKE '%index%'") == 0;
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    return is;
}

TEST(shared_key,
     "where a flipped bit gave two jobs one key, the indexes are made anew all the same: "
     "the later job has no key, and says so")
{
    for (int is_repaired = 0; is_repaired < 2; is_repaired++) {
        struct messages messages = {0, 0};
        struct weir_broker_options options = {.log = note_message, .log_arg = &messages};
        struct weir_put_options keyed = {.key = "key a"};
        const char *last = "2";
        weir_broker *broker;
        CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
        (void)jobs_put(broker, "t", "x", &keyed);
        keyed.key = "key c";
        (void)jobs_put(broker, "t", "x", &keyed);
        CHECK_INT(jobs_put(broker, "t", "x", NULL), ==, 3);
        weir_broker_close(broker);
        damage_page("jobs", "key c", 'a' ^ 'c');
        CHECK(!is_sound());
        CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, NULL), WEIR_OK);
        if (is_repaired) {
            struct weir_repair_counts counts;
            CHECK_STATUS(weir_broker_repair(broker, &counts, NULL), WEIR_OK);
            CHECK_INT(counts.damaged, ==, 1);
        } else {
            CHECK_INT(jobs_remove(broker, &last, 1), ==, 1); /* its key is not in the index */
            CHECK_INT(jobs_remove(broker, &last, 1), ==, 1);
        }
        CHECK_INT(messages.repairs, ==, 1);
        char reason[WEIR_REASON_SIZE] = "";
        CHECK_STATUS(weir_broker_peek_id(broker, "2", keep_reason, reason, NULL),
                     is_repaired ? WEIR_OK : WEIR_ENOTFOUND);
        CHECK_STRING(reason, is_repaired ? "2: its row was damaged: another job has its key" : "");
        CHECK_INT(jobs_put(broker, "t", "x", &keyed), ==, 4);
        keyed.key = "key a";
        CHECK_STATUS(
            weir_broker_put(broker, "t", &(struct weir_body){"x", 1, NULL}, 1, &keyed, NULL, NULL),
            WEIR_EBUSY);
        weir_broker_close(broker);
        CHECK(is_sound());
        jobs_store_remove("jobs.db");
    }
}

TEST(misnamed, "no row is deleted of a job that an index says has ended, and that has not; the "
               "indexes are made anew")
{
    static const char *const names[] = {"jobs_ended", "jobs_stubs"};
    static const char *const definitions[] = {"(tube, (5), lease) WHERE id = 11",
                                              "(tube, (6), lease, outcome) WHERE id = 11"};
    const struct weir_tube_policy policy = {.keep_ns = WEIR_SECONDS(1)};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        weir_broker *broker;
        make_store();
        fill_otherwise(names[i], definitions[i]);
        CHECK(!is_sound());
        CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
        CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
        CHECK_STATUS(weir_broker_set_policy(broker, "t", NULL, NULL), WEIR_OK);
        CHECK_INT(sum_runs(broker), ==, JOBS - 2);
        weir_broker_close(broker);
        CHECK(is_sound());
    }
}

static void note_damage(enum weir_log_level level, const char *message, void *arg)
{
    struct scene *scene = arg;
    if (level == WEIR_LOG_WARNING && strstr(message, ".dump") != NULL) {
        weiri_mutex_lock(&scene->mutex);
        scene->may_go = true;
        weiri_cond_broadcast(&scene->changed);
        weiri_mutex_unlock(&scene->mutex);
    }
}

TEST(table,
     "a consumer says that the jobs themselves are damaged, and how to save them; it goes on")
{
    make_store();
    damage_page("jobs", NULL, 0);
    struct scene scene;
    memset(&scene, 0, sizeof(scene));
    weiri_mutex_init(&scene.mutex);
    weiri_cond_init(&scene.changed, &scene.mutex);
    struct weir_broker_options options = {0};
    options.log = note_damage;
    options.log_arg = &scene;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &scene.broker, NULL), WEIR_OK);
    struct weir_consumer_options consumer = scene_options_of(&scene, scene_count_run);
    consumer.flags = 0;
    scene_start(&scene, &consumer);
    weiri_mutex_lock(&scene.mutex);
    while (!scene.may_go) {
        weiri_cond_wait(&scene.changed);
    }
    weiri_mutex_unlock(&scene.mutex);
    CHECK_STATUS(weir_consumer_end(scene.consumer, WEIR_END_FINISH, WEIR_FOREVER, NULL), WEIR_OK);
    weir_consumer_free(scene.consumer);
    consumer.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    scene_start(&scene, &consumer);
    struct weir_error error;
    CHECK_STATUS(weir_consumer_wait(scene.consumer, WEIR_FOREVER, &error), WEIR_ECORRUPT);
    CHECK(strstr(error.text, "sqlite3 FILE .dump") != NULL);
    weir_consumer_free(scene.consumer);
    weir_broker_close(scene.broker);
    weiri_cond_fini(&scene.changed);
    weiri_mutex_fini(&scene.mutex);
}
