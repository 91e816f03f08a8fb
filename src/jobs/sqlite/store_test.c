/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A store's handling of jobs, in one process on a stepped clock. */
#include "jobs/sqlite/store.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/changes.h"
#include "support/jobs.h"
#include "support/store_query.h"

#define MAX WEIR_FOREVER

static struct jobs_wall wall = {JOBS_WALL_START};

TEST_OOM(life, "a job is put, reserved, touched, done and gone, and the counts follow")
{
    weir_broker *broker;
    if (CHECK_OR_OOM(jobs_store_try_open("jobs.db", &wall, 0, &broker, NULL))) {
        return;
    }
    struct weir_body body = {"hello", 5, NULL};
    struct weir_job_id id;
    CHECK_STATUS(weir_broker_put(broker, "mail", &body, 1, NULL, &id, NULL), WEIR_OK);
    CHECK_STRING(id.text, "1");

    struct weiri_exchange exchange = {.tube = "mail", .wanted = 1, .attempts_max = 25};
    if (CHECK_OR_OOM(broker->ops->exchange(broker->store, &exchange, NULL))) {
        CHECK(weiri_list_is_empty(&exchange.reserved));
        weir_broker_close(broker);
        return;
    }
    CHECK_INT(exchange.reserved_count, ==, 1);
    struct weiri_reservation *job = jobs_first(&exchange.reserved);
    CHECK_STRING(job->job.id, "1");
    CHECK_STRING(job->job.tube, "mail");
    CHECK_INT(job->job.body_size, ==, 5);
    CHECK(memcmp(job->job.body, "hello", 5) == 0);
    CHECK_INT(job->job.created_ns, ==, JOBS_WALL_START);
    CHECK_INT(job->job.run_at_ns, ==, JOBS_WALL_START);
    CHECK_INT(job->job.ttr_ns, ==, WEIR_SECONDS(60));
    CHECK_INT(job->job.attempts, ==, 1);
    CHECK_INT(job->job.state, ==, WEIR_JOB_RESERVED);
    CHECK_STRING(job->job.reason, "");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_ELEASELOST);
    jobs_free(broker, &exchange.reserved);
    weir_broker_close(broker);
}

TEST(counts, "each event moves one job between the counts and adds to its total")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options later = {0};
    later.delay_ns = WEIR_SECONDS(10);
    for (int i = 0; i < 4; i++) {
        (void)jobs_put(broker, "t", "x", NULL);
    }
    (void)jobs_put(broker, "t", "x", &later);
    (void)jobs_put(broker, "u", "x", NULL);
    CHECK_COUNTS(broker, "t", 1, 4, 0, 0);
    struct weiri_list list;
    (void)jobs_reserve(broker, "t", 4, 25, &list);
    CHECK_COUNTS(broker, "t", 1, 0, 4, 0);
    static const enum weiri_job_event events[] = {WEIRI_JOB_DONE, WEIRI_JOB_RELEASE, WEIRI_JOB_BURY,
                                                  WEIRI_JOB_RETURN};
    size_t i = 0;
    for (struct weiri_list *link = list.next; link != &list; link = link->next) {
        struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
        /* A released job comes back later; a returned one at once, if no time is given. */
        int64_t run_at = events[i] == WEIRI_JOB_RETURN ? 0 : JOBS_WALL_START + WEIR_SECONDS(5);
        CHECK_STATUS(jobs_settle(broker, job, events[i], run_at, "why"), WEIR_OK);
        i++;
    }
    jobs_free(broker, &list);
    CHECK_COUNTS(broker, "t", 2, 1, 0, 1);
    jobs_wall_step(&wall, WEIR_SECONDS(5));
    CHECK_COUNTS(broker, "t", 1, 2, 0, 1);
    size_t kicked = 0;
    CHECK_STATUS(weir_broker_kick(broker, "t", 9, &kicked, NULL), WEIR_OK);
    CHECK_INT(kicked, ==, 1);
    CHECK_COUNTS(broker, "t", 1, 3, 0, 0);
    struct weir_tube_counts counts = jobs_counts(broker, "t");
    CHECK_INT(counts.put, ==, 5);
    CHECK_INT(counts.done, ==, 1);
    CHECK_INT(counts.failed, ==, 2);
    CHECK_INT(counts.retried, ==, 1);
    CHECK_INT(counts.expired, ==, 0);
    CHECK_INT(counts.burials, ==, 1);
    CHECK_COUNTS(broker, "u", 0, 1, 0, 0);
    CHECK_COUNTS(broker, "unknown", 0, 0, 0, 0);
    weir_broker_close(broker);
}

TEST(order, "ready jobs come by priority, then run time, then arrival; delayed ones once due")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    static const struct {
        const char *text;
        int32_t priority;
        int64_t delay_ns;
    } puts[] = {
        {"5", 0, 30},         {"6", 0, 30},        {"4", 0, 20},
        {"3", 0, 0},          {"9", INT32_MAX, 0}, {"2", -1, 40},
        {"1", INT32_MIN, 50}, {"7", 1, 0},         {"never", INT32_MIN, 1000},
        {"8", 1, 10},
    };
    for (size_t i = 0; i < sizeof(puts) / sizeof(puts[0]); i++) {
        struct weir_put_options options = {0};
        options.priority = puts[i].priority;
        options.delay_ns = puts[i].delay_ns;
        (void)jobs_put(broker, "t", puts[i].text, &options);
    }
    jobs_wall_step(&wall, 100);
    char texts[16] = "";
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 6, 25, &list);
    CHECK_INT(exchange.next_in_ns, ==, MAX);
    for (int round = 0; round < 2; round++) {
        for (struct weiri_list *link = list.next; link != &list; link = link->next) {
            struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
            strncat(texts, job->job.body, 1);
        }
        jobs_free(broker, &list);
        exchange = jobs_reserve(broker, "t", 6, 25, &list);
    }
    CHECK_STRING(texts, "123456789");
    CHECK_INT(exchange.next_in_ns, ==, 900);
    CHECK(!exchange.is_empty);
    jobs_free(broker, &list);
    weir_broker_close(broker);
}

TEST(lease, "a reservation that ends comes back; its late holder is refused and changes nothing")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {0};
    options.ttr_ns = WEIR_SECONDS(1);
    (void)jobs_put(broker, "t", "x", &options);
    struct weiri_reservation *first = jobs_reserve_one(broker, "t");
    struct weiri_list list;

    /* Not a nanosecond early. */
    jobs_wall_step(&wall, WEIR_SECONDS(1) - 1);
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 25, &list);
    CHECK_INT(exchange.reserved_count, ==, 0);
    CHECK_INT(exchange.next_in_ns, ==, 1);
    /* A touch makes it last for one more TTR from now. */
    CHECK_STATUS(jobs_settle(broker, first, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    jobs_wall_step(&wall, WEIR_SECONDS(1) - 1);
    exchange = jobs_reserve(broker, "t", 1, 25, &list);
    CHECK_INT(exchange.reserved_count, ==, 0);

    jobs_wall_step(&wall, 1);
    struct weiri_reservation *second = jobs_reserve_one(broker, "t");
    CHECK_INT(second->number, ==, first->number);
    CHECK_INT(second->job.fence, >, first->job.fence);
    CHECK_INT(second->job.attempts, ==, 2);
    CHECK(strstr(second->job.reason, "reservation ended") != NULL);
    for (int event = WEIRI_JOB_TOUCH; event <= WEIRI_JOB_BURY; event++) {
        CHECK_STATUS(jobs_settle(broker, first, (enum weiri_job_event)event, 0, "late"),
                     WEIR_ELEASELOST);
    }
    CHECK_COUNTS(broker, "t", 0, 0, 1, 0);
    CHECK_INT(jobs_counts(broker, "t").expired, ==, 1);
    CHECK_INT(jobs_counts(broker, "t").failed, ==, 1);
    CHECK_INT(jobs_counts(broker, "t").done, ==, 0);
    CHECK_STATUS(jobs_settle(broker, second, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    exchange = jobs_reserve(broker, "t", 1, 25, &list);
    CHECK(exchange.is_empty);
    CHECK_INT(exchange.next_in_ns, ==, MAX);
    jobs_free_one(broker, first);
    jobs_free_one(broker, second);
    weir_broker_close(broker);
}

TEST(attempts, "a job is buried after its last attempt, with a reason, when its workers die")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {0};
    options.ttr_ns = WEIR_SECONDS(1);
    (void)jobs_put(broker, "t", "x", &options);
    struct weiri_list list;
    for (uint32_t i = 1; i <= 3; i++) {
        struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 3, &list);
        CHECK_INT(exchange.reserved_count, ==, 1);
        CHECK_INT(jobs_first(&list)->job.attempts, ==, i);
        jobs_free(broker, &list);
        jobs_wall_step(&wall, WEIR_SECONDS(1));
    }
    struct weiri_exchange exchange = jobs_reserve(broker, "t", 1, 3, &list);
    CHECK_INT(exchange.reserved_count, ==, 0);
    CHECK(exchange.is_empty);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 1);
    /* Kicked, it has one more. */
    CHECK_STATUS(weir_broker_kick(broker, "t", 1, NULL, NULL), WEIR_OK);
    (void)jobs_reserve(broker, "t", 1, 3, &list);
    CHECK_INT(jobs_first(&list)->job.attempts, ==, 4);
    jobs_free(broker, &list);
    weir_broker_close(broker);
}

TEST(given_back, "a job given back unstarted has not used an attempt")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    uint64_t token = 0;
    for (int i = 0; i < 5; i++) {
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_INT(job->job.attempts, ==, 1);
        CHECK_INT(job->job.fence, >, token);
        token = job->job.fence;
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RETURN, 0, NULL), WEIR_OK);
        jobs_free_one(broker, job);
    }
    CHECK_INT(jobs_counts(broker, "t").retried, ==, 0);
    weir_broker_close(broker);
}

static int sum_limit(const struct weir_job *job, void *arg)
{
    char *text = arg;
    char entry[64];
    (void)snprintf(entry, sizeof(entry), "%s%.*s:%s", text[0] == '\0' ? "" : " ",
                   (int)job->body_size, (const char *)job->body, weir_job_state_name(job->state));
    strncat(text, entry, 200 - strlen(text));
    return strcmp(job->id, "99") == 0;
}

TEST(peek, "peek shows jobs in the order in which they would run, and changes nothing")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {0};
    (void)jobs_put(broker, "t", "bad", NULL);
    (void)jobs_put(broker, "t", "run", NULL);
    struct weiri_reservation *bad = jobs_reserve_one(broker, "t");
    struct weiri_reservation *run = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, bad, WEIRI_JOB_BURY, 0, "no such user"), WEIR_OK);
    options.delay_ns = 50;
    (void)jobs_put(broker, "t", "soon", &options);
    options.delay_ns = 40;
    options.priority = -1;
    (void)jobs_put(broker, "t", "due", &options);
    options.priority = 0;
    options.delay_ns = 0;
    (void)jobs_put(broker, "t", "now", &options);
    jobs_wall_step(&wall, 45);
    static const struct {
        enum weir_job_state state;
        size_t limit;
        const char *shows;
    } rows[] = {
        {(enum weir_job_state)0, 9, "run:reserved due:ready now:ready soon:delayed bad:buried"},
        {(enum weir_job_state)0, 3, "run:reserved due:ready now:ready"},
        {(enum weir_job_state)0, 0, ""},
        {WEIR_JOB_READY, 1, "due:ready"},
        {WEIR_JOB_READY, SIZE_MAX, "due:ready now:ready"},
        {WEIR_JOB_DELAYED, 9, "soon:delayed"},
        {WEIR_JOB_RESERVED, 9, "run:reserved"},
        {WEIR_JOB_BURIED, 9, "bad:buried"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256] = "";
        CHECK_STATUS(
            weir_broker_peek(broker, "t", rows[i].state, rows[i].limit, sum_limit, text, NULL),
            WEIR_OK);
        CHECK_STRING(text, rows[i].shows);
    }
    char text[256] = "";
    CHECK_STATUS(weir_broker_peek_id(broker, "4", sum_limit, text, NULL), WEIR_OK);
    CHECK_STRING(text, "due:ready");
    CHECK_STATUS(weir_broker_peek_id(broker, "77", sum_limit, text, NULL), WEIR_ENOTFOUND);
    text[0] = '\0';
    CHECK_STATUS(weir_broker_peek(broker, "unknown", 0, 9, sum_limit, text, NULL), WEIR_OK);
    CHECK_STRING(text, "");
    CHECK_COUNTS(broker, "t", 1, 2, 1, 1);
    jobs_free_one(broker, bad);
    jobs_free_one(broker, run);
    weir_broker_close(broker);
}

TEST(remove, "jobs that are not running are removed; a malformed id removes nothing")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options later = {0};
    later.delay_ns = 1000;
    (void)jobs_put(broker, "t", "running", NULL);
    struct weiri_reservation *running = jobs_reserve_one(broker, "t");
    (void)jobs_put(broker, "t", "buried", NULL);
    struct weiri_reservation *buried = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, buried, WEIRI_JOB_BURY, 0, NULL), WEIR_OK);
    (void)jobs_put(broker, "t", "delayed", &later);
    (void)jobs_put(broker, "u", "ready", NULL);
    static const char *const malformed[] = {"",
                                            "0",
                                            "01",
                                            "-1",
                                            "1 ",
                                            " 1",
                                            "x",
                                            "1x",
                                            "+1",
                                            "9223372036854775808",
                                            "99999999999999999999999"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        const char *ids[] = {"2", "3", "4", malformed[i]};
        enum weir_status statuses[4] = {WEIR_EAGAIN, WEIR_EAGAIN, WEIR_EAGAIN, WEIR_EAGAIN};
        struct weir_error error;
        CHECK_STATUS(change_remove(broker, ids, 4, statuses, &error), WEIR_EINVAL);
        for (size_t j = 0; j < 4; j++) {
            CHECK_STATUS(statuses[j], WEIR_EAGAIN);
        }
        CHECK(strstr(error.text, malformed[i]) != NULL);
    }
    CHECK_COUNTS(broker, "t", 1, 0, 1, 1);
    const char *ids[] = {"1", "2", "3", "4", "4", "4", "9223372036854775807"};
    CHECK_INT(jobs_remove(broker, ids, 7), ==, 4); /* and what was kept of one */
    CHECK_COUNTS(broker, "t", 0, 0, 1, 0);
    CHECK_COUNTS(broker, "u", 0, 0, 0, 0);
    CHECK_INT(jobs_counts(broker, "t").done, ==, 0);
    CHECK_STATUS(change_remove(broker, NULL, 0, NULL, NULL), WEIR_OK);
    jobs_free_one(broker, running);
    jobs_free_one(broker, buried);
    weir_broker_close(broker);
}

static int note_tube(const struct weir_tube_counts *counts, void *arg)
{
    char *names = arg;
    strncat(names, counts->tube, 100 - strlen(names));
    strncat(names, " ", 2);
    return strcmp(counts->tube, "m") == 0;
}

TEST(tubes, "tubes come in order of name until the callback has had enough")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    char names[128] = "";
    CHECK_STATUS(weir_broker_tubes(broker, NULL, note_tube, names, NULL), WEIR_OK);
    CHECK_STRING(names, "");
    static const char *const tubes[] = {"b", "a", "z", "B", "a-longer", "m"};
    for (size_t i = 0; i < sizeof(tubes) / sizeof(tubes[0]); i++) {
        (void)jobs_put(broker, tubes[i], "x", NULL);
    }
    CHECK_STATUS(weir_broker_tubes(broker, NULL, note_tube, names, NULL), WEIR_OK);
    CHECK_STRING(names, "B a a-longer b m ");
    weir_broker_close(broker);
}

TEST(bodies, "bodies of every size come back byte by byte")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    static const size_t sizes[] = {0, 1, 7, 4000, 4096, 70000, 3 << 20};
    static unsigned char bytes[3 << 20];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)test_random();
    }
    struct weir_body bodies[7];
    struct weir_job_id ids[7];
    for (size_t i = 0; i < 7; i++) {
        bodies[i] = (struct weir_body){i == 0 ? NULL : bytes, sizes[i], NULL};
    }
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 7, NULL, ids, NULL), WEIR_OK);
    CHECK_STRING(ids[6].text, "7");
    struct weiri_list list;
    (void)jobs_reserve(broker, "t", 100, 25, &list);
    size_t i = 0;
    for (struct weiri_list *link = list.next; link != &list; link = link->next) {
        struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
        CHECK_INT(job->job.body_size, ==, sizes[i]);
        CHECK(job->job.body != NULL);
        CHECK(memcmp(job->job.body, bytes, sizes[i]) == 0);
        i++;
    }
    CHECK_INT(i, ==, 7);
    jobs_free(broker, &list);
    weir_broker_close(broker);
}

TEST(reopened, "what was acknowledged is there after closing and opening; the files are private")
{
    (void)umask(0);
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "stays", NULL);
    static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.lock"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct stat facts;
        CHECK_INT(stat(files[i], &facts), ==, 0);
        CHECK_INT(facts.st_mode & 07777, ==, 0600);
    }
    weir_broker_close(broker);
    broker = jobs_store_open("jobs.db", &wall);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK(memcmp(job->job.body, "stays", 5) == 0);
    CHECK_INT(jobs_put(broker, "t", "next", NULL), ==, 2);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

TEST(many_due, "more jobs than one transaction moves become due at once and keep their order")
{
    enum {
        COUNT = 25000
    };
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    static struct weir_body bodies[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        bodies[i] = (struct weir_body){"", 0, NULL};
    }
    struct weir_put_options options = {0};
    options.delay_ns = 1000;
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, COUNT, &options, NULL, NULL), WEIR_OK);
    options.delay_ns = 2000;
    options.priority = -1;
    (void)jobs_put(broker, "t", "last due, first served", &options);
    CHECK_COUNTS(broker, "t", COUNT + 1, 0, 0, 0);
    jobs_wall_step(&wall, 2000);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->number, ==, COUNT + 1);
    CHECK_COUNTS(broker, "t", 0, COUNT, 1, 0);
    jobs_free_one(broker, job);
    weir_broker_close(broker);
}

/* Whether the tube's channel was notified since the last call. */
static bool was_notified(weir_broker *broker, struct weiri_mark *mark)
{
    bool was = jobs_has_news(broker, *mark);
    *mark = jobs_mark(broker, "t");
    return was;
}

TEST(wake_ups, "waiters are woken by changes that concern them, and by no others")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options put = {0};
    struct weiri_mark mark = jobs_mark(broker, "t");
    struct weiri_mark emptied = {.channel = WEIRI_CHANNEL_EMPTIED};
    (void)jobs_put(broker, "t", "ready", NULL);
    CHECK(was_notified(broker, &mark));
    /* Of delayed jobs only one that is due before all others. */
    put.delay_ns = 1000;
    (void)jobs_put(broker, "t", "first", &put);
    CHECK(was_notified(broker, &mark));
    put.delay_ns = 2000;
    (void)jobs_put(broker, "t", "later", &put);
    CHECK(!was_notified(broker, &mark));
    put.delay_ns = 999;
    (void)jobs_put(broker, "t", "earlier", &put);
    CHECK(was_notified(broker, &mark));
    /* A lease concerns waiters that would not wake by themselves before it ends. */
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK(!was_notified(broker, &mark));
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    CHECK(!was_notified(broker, &mark));
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RETURN, 0, NULL), WEIR_OK);
    CHECK(was_notified(broker, &mark));
    jobs_free_one(broker, job);
    job = jobs_reserve_one(broker, "t");
    CHECK(!was_notified(broker, &mark));
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, JOBS_WALL_START + 5000, NULL),
                 WEIR_OK);
    CHECK(!was_notified(broker, &mark));
    jobs_free_one(broker, job);
    put.delay_ns = 0;
    put.ttr_ns = WEIR_SECONDS(9);
    put.priority = -1;
    (void)jobs_put(broker, "t", "short", &put);
    CHECK(was_notified(broker, &mark));
    job = jobs_reserve_one(broker, "t");
    CHECK(was_notified(broker, &mark));
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_BURY, 0, NULL), WEIR_OK);
    CHECK(!was_notified(broker, &mark));
    jobs_free_one(broker, job);
    CHECK_STATUS(weir_broker_kick(broker, "t", 1, NULL, NULL), WEIR_OK);
    CHECK(was_notified(broker, &mark));
    /* An empty tube concerns those alone that watch for it. */
    const char *ids[] = {"1", "2", "3", "4", "5"};
    CHECK(!jobs_has_news(broker, emptied));
    (void)jobs_remove(broker, ids, 5);
    CHECK(jobs_has_news(broker, emptied));
    CHECK(!was_notified(broker, &mark));
    (void)jobs_put(broker, "t", "last", NULL);
    CHECK(was_notified(broker, &mark));
    job = jobs_reserve_one(broker, "t");
    emptied.mark = broker->ops->mark(broker->store, &emptied);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    CHECK(jobs_has_news(broker, emptied));
    CHECK(!was_notified(broker, &mark));
    jobs_free_one(broker, job);
    broker->ops->wake(broker->store, &mark, INT_MAX);
    CHECK(was_notified(broker, &mark));
    weir_broker_close(broker);
}

TEST(channels,
     "tubes do not wake each other's waiters, but for those without a row, which the first "
     "job of any wakes, and those of high numbers")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_mark none = jobs_mark(broker, "t0");
    CHECK_INT(jobs_mark(broker, "t63").channel, ==, none.channel);
    for (int i = 0; i < 64; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "t%d", i);
        (void)jobs_put(broker, name, "x", NULL);
    }
    CHECK(jobs_has_news(broker, none));
    struct weiri_mark first = jobs_mark(broker, "t0");
    struct weiri_mark last = jobs_mark(broker, "t63");
    none = jobs_mark(broker, "u");
    (void)jobs_put(broker, "t63", "x", NULL);
    CHECK(jobs_has_news(broker, last));
    CHECK(!jobs_has_news(broker, first));
    CHECK(!jobs_has_news(broker, none));
    CHECK_INT(weiri_store_channel(1), ==, WEIRI_CHANNEL_CONTROL + 1);
    CHECK_INT(weiri_store_channel(4076), ==, WEIRI_CHANNEL_SHARED - 1);
    CHECK_INT(weiri_store_channel(4077), ==, WEIRI_CHANNEL_SHARED);
    CHECK_INT(weiri_store_channel(INT64_MAX), ==, WEIRI_CHANNEL_SHARED);
    CHECK_INT(weiri_store_channel(-1), ==, WEIRI_CHANNEL_SHARED);
    weir_broker_close(broker);
}

struct listing {
    weir_broker *broker;
    int jobs;
    int steps;
};

static int put_another(const struct weir_job *job, void *arg)
{
    struct listing *listing = arg;
    (void)job;
    (void)jobs_put(listing->broker, "t", "x", NULL);
    return ++listing->jobs > 300;
}

static int count_step(const char *id, void *arg)
{
    struct listing *listing = arg;
    (void)id;
    listing->steps++;
    return 0;
}

TEST(list_ends, "a list ends at the last job that there was when it began, also where others are "
                "put meanwhile, and where later ones have left")
{
    struct listing listing = {jobs_store_open("jobs.db?durability=memory", &wall), 0, 0};
    const struct weir_job_filter filter = {.tube = "t", .step = count_step};
    for (int i = 0; i < 200; i++) {
        (void)jobs_put(listing.broker, "t", "x", NULL);
    }
    CHECK_INT(query(listing.broker, "UPDATE meta SET floor = 1000000 RETURNING floor"), ==,
              1000000);
    CHECK_STATUS(weir_broker_list(listing.broker, &filter, put_another, &listing, NULL), WEIR_OK);
    CHECK_INT(listing.jobs, ==, 200);
    CHECK_INT(listing.steps, <=, 200 / 64 + 1);
    weir_broker_close(listing.broker);
}
