/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs whose last runs were lost with their workers: a process begins one at a time. */
#include "jobs/sqlite/store.h"
#include "support/changes.h"
#include "support/consumer.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

static void pass(int64_t time_ns)
{
    jobs_wall_step(&clocks.wall, time_ns);
    jobs_wall_step(&clocks.lease, time_ns);
}

static weir_broker *open_store(const char *boot)
{
    return jobs_store_open_on("jobs.db", &clocks, boot);
}

/* What a consumer has reserved and keeps. */
struct kept {
    struct weiri_list list;
    char order[80]; /* of the bodies, as they were reserved last */
    struct weiri_exchange exchange;
};

static void look(weir_broker *broker, const char *tube, size_t wanted, uint32_t attempts_max,
                 struct weiri_settlement *settlements, struct kept *kept)
{
    kept->exchange = (struct weiri_exchange){.settlements = settlements,
                                             .tube = tube,
                                             .wanted = wanted,
                                             .attempts_max = attempts_max,
                                             .is_keeping = true};
    CHECK_STATUS(broker->ops->exchange(broker->store, &kept->exchange, NULL), WEIR_OK);
    kept->order[0] = '\0';
    if (kept->list.next == NULL) {
        weiri_list_init(&kept->list);
    }
    while (!weiri_list_is_empty(&kept->exchange.reserved)) {
        struct weiri_list *link = kept->exchange.reserved.next;
        const struct weiri_reservation *job = WEIRI_CONTAINER(link, struct weiri_reservation, link);
        CHECK(strlen(kept->order) + job->job.body_size < sizeof(kept->order));
        strncat(kept->order, job->job.body, job->job.body_size);
        weiri_list_remove(link);
        weiri_list_insert_before(&kept->list, link);
    }
}

static struct weiri_reservation *find(struct kept *kept, char body)
{
    struct weiri_list *link = kept->list.next;
    while (link != &kept->list &&
           *(const char *)WEIRI_CONTAINER(link, struct weiri_reservation, link)->job.body != body) {
        link = link->next;
    }
    CHECK(link != &kept->list);
    return WEIRI_CONTAINER(link, struct weiri_reservation, link);
}

static void forget(weir_broker *broker, struct weiri_reservation *job)
{
    weiri_list_remove(&job->link);
    broker->ops->let_go(broker->store, job);
    jobs_free_one(broker, job);
}

static void end(weir_broker *broker, struct kept *kept, char body)
{
    struct weiri_reservation *job = find(kept, body);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    forget(broker, job);
}

/* As the end of the process: the leases stay, and nobody renews them. */
static void lose(weir_broker *broker, struct kept *kept)
{
    while (kept->list.next != NULL && !weiri_list_is_empty(&kept->list)) {
        forget(broker, jobs_first(&kept->list));
    }
}

/* Loses a run of each job of a tube. */
static void lose_run(const char *tube, uint32_t attempts_max)
{
    struct kept kept = {0};
    weir_broker *broker = open_store("a");
    size_t count = 0;
    do {
        look(broker, tube, 100, attempts_max, NULL, &kept);
        count = kept.exchange.reserved_count;
        lose(broker, &kept);
    } while (count > 0);
    pass(WEIR_SECONDS(61));
    weir_broker_close(broker);
}

static void put(weir_broker *broker, const char *tube, const char *bodies,
                const struct weir_put_options *options)
{
    for (const char *at = bodies; *at != '\0'; at++) {
        const char body[] = {*at, '\0'};
        (void)jobs_put(broker, tube, body, options);
    }
}

/* Puts jobs of which two runs are lost. */
static void make_suspects(const char *tube, const char *bodies, uint32_t attempts_max)
{
    weir_broker *broker = open_store("a");
    put(broker, tube, bodies, NULL);
    weir_broker_close(broker);
    lose_run(tube, attempts_max);
    lose_run(tube, attempts_max);
}

TEST(one_at_a_time, "a process begins one suspect at a time, of all its tubes; others go on")
{
    make_suspects("a", "AB", 9);
    make_suspects("b", "C", 9);
    weir_broker *broker = open_store("a");
    weir_broker *other = open_store("a");
    struct kept kept = {0};
    struct kept others = {0};
    put(broker, "a", "xyz", NULL);
    put(broker, "c", "w", NULL);
    look(broker, "a", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "Axyz");
    CHECK(find(&kept, 'A')->job.is_suspect && !find(&kept, 'x')->job.is_suspect);
    look(broker, "b", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "");
    CHECK(!kept.exchange.is_empty);
    CHECK_INT(kept.exchange.next_in_ns, ==, WEIR_SECONDS(60));
    look(broker, "c", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "w");
    look(other, "a", 10, 9, NULL, &others);
    CHECK_STRING(others.order, "B");
    end(broker, &kept, 'A');
    look(broker, "b", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "C");
    lose(broker, &kept);
    lose(other, &others);
    weir_broker_close(other);
    weir_broker_close(broker);
}

TEST(minute, "beside a suspect that has run for a minute the next one begins, whatever the wall "
             "clock is set to")
{
    make_suspects("a", "ABC", 9);
    weir_broker *broker = open_store("a");
    struct kept kept = {0};
    look(broker, "a", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "A");
    jobs_wall_step(&clocks.wall, WEIR_SECONDS(86400));
    jobs_wall_step(&clocks.lease, WEIR_SECONDS(59));
    CHECK_STATUS(jobs_settle(broker, find(&kept, 'A'), WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    look(broker, "a", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "");
    CHECK_INT(kept.exchange.next_in_ns, ==, WEIR_SECONDS(1));
    jobs_wall_step(&clocks.lease, WEIR_SECONDS(1));
    look(broker, "a", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "B");
    CHECK_INT(kept.exchange.next_in_ns, <=, WEIR_SECONDS(60));
    lose(broker, &kept);
    weir_broker_close(broker);
}

TEST(last_alone, "a suspect in its last attempt begins alone; until it has, no other one begins")
{
    make_suspects("a", "L", 3);
    make_suspects("b", "BC", 9);
    weir_broker *broker = open_store("a");
    struct kept kept = {0};
    look(broker, "b", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "B");
    jobs_wall_step(&clocks.lease, WEIR_SECONDS(60));
    CHECK_STATUS(jobs_settle(broker, find(&kept, 'B'), WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    look(broker, "a", 10, 3, NULL, &kept);
    CHECK_STRING(kept.order, ""); /* B is there */
    CHECK_INT(kept.exchange.next_in_ns, ==, WEIR_SECONDS(60));
    look(broker, "b", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, ""); /* L waits */
    end(broker, &kept, 'B');
    look(broker, "b", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "");
    look(broker, "a", 10, 3, NULL, &kept);
    CHECK_STRING(kept.order, "L");
    jobs_wall_step(&clocks.lease, WEIR_SECONDS(60));
    CHECK_STATUS(jobs_settle(broker, find(&kept, 'L'), WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
    look(broker, "b", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, ""); /* L is alone */
    end(broker, &kept, 'L');
    look(broker, "b", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "C");
    lose(broker, &kept);
    weir_broker_close(broker);
}

TEST(awaited_for_a_while, "a last suspect whose tube nobody looks at any more holds up no other")
{
    make_suspects("a", "L", 3);
    make_suspects("b", "BC", 9);
    weir_broker *broker = open_store("a");
    struct kept kept = {0};
    look(broker, "b", 10, 9, NULL, &kept);
    look(broker, "a", 10, 3, NULL, &kept);
    CHECK_STRING(kept.order, "");
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(jobs_settle(broker, find(&kept, 'B'), WEIRI_JOB_TOUCH, 0, NULL), WEIR_OK);
        look(broker, "b", 10, 9, NULL, &kept);
        CHECK_STRING(kept.order, "");
        jobs_wall_step(&clocks.lease, WEIR_SECONDS(30));
    }
    look(broker, "b", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "C");
    lose(broker, &kept);
    weir_broker_close(broker);
}

TEST(woken, "the tubes whose suspects were left are told of the end of one, and not of other jobs'")
{
    make_suspects("a", "A", 9);
    make_suspects("b", "B", 9);
    weir_broker *broker = open_store("a");
    struct kept kept = {0};
    put(broker, "c", "x", NULL);
    look(broker, "a", 10, 9, NULL, &kept);
    look(broker, "b", 10, 9, NULL, &kept);
    look(broker, "c", 10, 9, NULL, &kept);
    struct weiri_mark b = jobs_mark(broker, "b");
    forget(broker, find(&kept, 'x'));
    CHECK(!jobs_has_news(broker, b));
    forget(broker, find(&kept, 'A'));
    CHECK(jobs_has_news(broker, b));
    look(broker, "b", 10, 9, NULL, &kept);
    CHECK_STRING(kept.order, "B");
    lose(broker, &kept);
    weir_broker_close(broker);
}

TEST(until_empty, "who settles a suspect takes the next one in the same exchange")
{
    make_suspects("a", "AB", 9);
    weir_broker *broker = open_store("a");
    struct kept kept = {0};
    look(broker, "a", 1, 9, NULL, &kept);
    CHECK_STRING(kept.order, "A");
    struct weiri_reservation *job = find(&kept, 'A');
    struct weiri_settlement touch = {.reservation = job, .event = WEIRI_JOB_TOUCH};
    look(broker, "a", 1, 9, &touch, &kept);
    CHECK_STRING(kept.order, "");
    struct weiri_settlement done = {.reservation = job, .event = WEIRI_JOB_DONE};
    look(broker, "a", 1, 9, &done, &kept);
    CHECK_STRING(kept.order, "B");
    forget(broker, job);
    done.reservation = find(&kept, 'B');
    look(broker, "a", 1, 9, &done, &kept);
    CHECK(kept.exchange.is_empty);
    lose(broker, &kept);
    weir_broker_close(broker);
}

TEST(power_cut, "the end of a boot makes no suspects")
{
    static const char bodies[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-";
    weir_broker *broker = open_store("a");
    put(broker, "a", bodies, NULL);
    const char *const boots[] = {"b", "c", "d"};
    struct kept kept = {0};
    for (size_t i = 0; i < 3; i++) {
        look(broker, "a", 64, 9, NULL, &kept);
        CHECK_INT(kept.exchange.reserved_count, ==, 64);
        lose(broker, &kept);
        weir_broker_close(broker);
        broker = open_store(boots[i]);
    }
    look(broker, "a", 64, 9, NULL, &kept);
    CHECK_INT(kept.exchange.reserved_count, ==, 64);
    lose(broker, &kept);
    weir_broker_close(broker);
}

TEST(restart_twice, "of the jobs of a process that was killed twice one a minute begins")
{
    make_suspects("a", "ABCD", 4);
    weir_broker *broker = open_store("a");
    struct kept kept = {0};
    for (const char *at = "ABCD"; *at != '\0'; at++) {
        const char body[] = {*at, '\0'};
        look(broker, "a", 4, 4, NULL, &kept);
        CHECK_STRING(kept.order, body);
        jobs_wall_step(&clocks.lease, WEIR_SECONDS(59));
        for (const char *earlier = "ABCD"; earlier <= at; earlier++) {
            CHECK_STATUS(jobs_settle(broker, find(&kept, *earlier), WEIRI_JOB_TOUCH, 0, NULL),
                         WEIR_OK);
        }
        look(broker, "a", 4, 4, NULL, &kept);
        CHECK_STRING(kept.order, "");
        jobs_wall_step(&clocks.lease, WEIR_SECONDS(1));
    }
    lose(broker, &kept);
    weir_broker_close(broker);
}

TEST(survived, "a run whose end its worker tells clears a job; a return says nothing")
{
    make_suspects("a", "A", 9);
    weir_broker *broker = open_store("a");
    struct kept kept = {0};
    look(broker, "a", 1, 9, NULL, &kept);
    struct weiri_reservation *job = find(&kept, 'A');
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RETURN, 0, NULL), WEIR_OK);
    forget(broker, job);
    look(broker, "a", 1, 9, NULL, &kept);
    job = find(&kept, 'A');
    CHECK(job->job.is_suspect);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, jobs_wall_now(&clocks.wall), "x"),
                 WEIR_OK);
    forget(broker, job);
    look(broker, "a", 1, 9, NULL, &kept);
    CHECK(!find(&kept, 'A')->job.is_suspect);
    lose(broker, &kept);
    weir_broker_close(broker);
}

TEST(priority, "a suspect has its place in the order, among the first jobs or behind them")
{
    const struct weir_put_options urgent = {.priority = -1};
    const struct weir_put_options idle = {.priority = 1};
    make_suspects("a", "S", 9);
    weir_broker *broker = open_store("a");
    struct kept kept = {0};
    put(broker, "a", "uv", &urgent);
    put(broker, "a", "ij", &idle);
    look(broker, "a", 1, 9, NULL, &kept);
    CHECK_STRING(kept.order, "u");
    look(broker, "a", 3, 9, NULL, &kept);
    CHECK_STRING(kept.order, "vSi");
    lose(broker, &kept);
    weir_broker_close(broker);
}

TEST(group_full, "a suspect of a full group waits for its group, and holds up no other suspect")
{
    const struct weir_tube_policy policy = {.group_limit = 1};
    const struct weir_put_options group = {.group = "g"};
    weir_broker *broker = open_store("a");
    put(broker, "a", "GH", &group);
    weir_broker_close(broker);
    make_suspects("a", "S", 9);
    broker = open_store("a");
    CHECK_STATUS(weir_broker_set_policy(broker, "a", &policy, NULL), WEIR_OK);
    weir_broker *other = open_store("a");
    struct kept kept = {0};
    struct kept others = {0};
    look(broker, "a", 9, 9, NULL, &kept);
    CHECK_STRING(kept.order, "G");
    look(other, "a", 9, 9, NULL, &others);
    CHECK_STRING(others.order, "S");
    end(broker, &kept, 'G');
    look(broker, "a", 9, 9, NULL, &kept);
    CHECK_STRING(kept.order, "H");
    lose(broker, &kept);
    lose(other, &others);
    weir_broker_close(other);
    weir_broker_close(broker);
}

TEST(damage, "a suspect whose body is damaged is buried, and the next one begins")
{
    make_suspects("a", "AB", 9);
    weir_broker *broker = open_store("a");
    struct kept kept = {0};
    CHECK_INT(sqlite3_exec(((struct weiri_store *)broker->store)->writer.db,
                           "UPDATE jobs SET body = x'58' WHERE id = 1", NULL, NULL, NULL),
              ==, SQLITE_OK);
    look(broker, "a", 9, 9, NULL, &kept);
    CHECK_STRING(kept.order, "B");
    CHECK_COUNTS(broker, "a", 0, 0, 1, 1);
    CHECK(!((struct weiri_store *)broker->store)->has_repaired);
    lose(broker, &kept);
    weir_broker_close(broker);
}
