/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Puts, ids, order and counts, on every broker. */
#include "conformance/jobs/brokers.h"
#include "support/changes.h"

TEST_BROKERS(has_an_id, "each job that is put has an id of its own, by which it is found")
{
    struct place place;
    place_open(&place, kind, "");
    struct weir_body bodies[] = {{"one", 3, NULL}, {"two", 3, NULL}, {"one", 3, NULL}};
    struct weir_job_id ids[3];
    struct weir_error error;
    struct shown shown = {.count = 0};
    CHECK_STATUS(weir_broker_put(place.broker, place.tube, bodies, 3, NULL, ids, &error), WEIR_OK);
    CHECK(strcmp(ids[0].text, ids[1].text) != 0 && strcmp(ids[0].text, ids[2].text) != 0);
    CHECK_STATUS(weir_broker_peek_id(place.broker, ids[1].text, place_show, &shown, &error),
                 WEIR_OK);
    CHECK_INT(shown.count, ==, 1);
    CHECK_INT(shown.body_size, ==, 3);
    CHECK(memcmp(shown.body, "two", 3) == 0);
    CHECK_INT(shown.job.state, ==, WEIR_JOB_READY);
    CHECK_INT(shown.job.attempts, ==, 0);
    CHECK_INT(shown.job.ttr_ns, ==, WEIR_SECONDS(60));
    /* A cluster shows the copy that it found, whose id is a part of the job's. */
    CHECK(strstr(ids[1].text, shown.id) != NULL);
    CHECK_INT(place_remove(&place, &ids[1]), ==, 1);
    CHECK_INT(place_remove(&place, &ids[1]), ==, place_keeps(&place)); /* what is kept of it */
    CHECK_STATUS(weir_broker_peek_id(place.broker, ids[1].text, place_show, &shown, &error),
                 WEIR_ENOTFOUND);
    CHECK_STATUS(weir_broker_peek_id(place.broker, "no id", place_show, &shown, &error),
                 WEIR_EINVAL);
    const char *bad[] = {ids[0].text, "no id"};
    enum weir_status statuses[2];
    CHECK_STATUS(change_remove(place.broker, bad, 2, statuses, &error), WEIR_EINVAL);
    CHECK_PLACE(&place, 0, 2 * place.copies, 0, 0);
    place_close(&place);
}

TEST_BROKERS(keeps_any_bytes, "a body is any bytes, none at all, and what looks like a run time")
{
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {{"", 0}, {"\0\r\n\r\n", 5}, {"1/2", 3}, {"/", 1}, {"delete 1\r\n", 10}};
    struct place place;
    place_open(&place, kind, "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_body body = {rows[i].bytes, rows[i].size, NULL};
        struct weir_job_id id;
        struct weir_error error;
        struct shown shown = {.count = 0};
        CHECK_STATUS(weir_broker_put(place.broker, place.tube, &body, 1, NULL, &id, &error),
                     WEIR_OK);
        CHECK_STATUS(weir_broker_peek_id(place.broker, id.text, place_show, &shown, &error),
                     WEIR_OK);
        CHECK_INT(shown.body_size, ==, rows[i].size);
        CHECK(memcmp(shown.body, rows[i].bytes, rows[i].size) == 0);
    }
    place_close(&place);
}

TEST_BROKERS(puts_all_or_none, "of bodies that are put together all are there, or none")
{
    struct place place;
    place_open(&place, kind, "");
    /* Larger than a broker takes, and on the cluster than its nodes take. */
    size_t size = place.is_cluster ? 70000 : ((size_t)16 << 20) + 1;
    char *big = malloc(size);
    CHECK(big != NULL);
    memset(big, 'x', size);
    struct weir_body bodies[] = {{"a", 1, NULL}, {"b", 1, NULL}, {big, size, NULL}};
    struct weir_job_id ids[3];
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(place.broker, place.tube, bodies, 3, NULL, ids, &error),
                 WEIR_ETOOBIG);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    CHECK_STATUS(weir_broker_put(place.broker, place.tube, bodies, 2, NULL, ids, &error), WEIR_OK);
    CHECK_PLACE(&place, 0, 2 * place.copies, 0, 0);
    CHECK_STATUS(weir_broker_put(place.broker, place.tube, NULL, 0, NULL, NULL, &error), WEIR_OK);
    CHECK_STATUS(weir_broker_put(place.broker, "a b", bodies, 1, NULL, NULL, &error), WEIR_EINVAL);
    /* beanstalkd counts what was taken back as well. */
    CHECK_INT(place_counts(&place).put, ==, place.is_cluster ? 4 * place.copies : 2);
    free(big);
    place_close(&place);
}

TEST_BROKERS(takes_options_of_each, "bodies that are put together have options of their own")
{
    struct place place;
    place_open(&place, kind, "");
    const struct weir_put_options later = {.delay_ns = WEIR_SECONDS(3600),
                                           .ttr_ns = WEIR_SECONDS(5)};
    const struct weir_put_options urgent = {.priority = -1};
    const struct weir_put_options bad = {.ttr_ns = 1};
    const struct weir_put_options all = {.priority = 1};
    struct weir_body bodies[] = {
        {"later", 5, &later}, {"urgent", 6, &urgent}, {"one", 3, NULL}, {"bad", 3, &bad}};
    static const int32_t priorities[] = {0, -1, 1};
    struct weir_job_id ids[4];
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(place.broker, place.tube, bodies, 4, &all, ids, &error),
                 WEIR_ERANGE);
    CHECK(strstr(error.text, "bodies[3]: ttr_ns is 1") != NULL);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    CHECK_STATUS(weir_broker_put(place.broker, place.tube, bodies, 3, &all, ids, &error), WEIR_OK);
    CHECK_PLACE(&place, place.copies, 2 * place.copies, 0, 0);
    for (int i = 0; i < 3; i++) {
        struct shown shown = {.count = 0};
        CHECK_STATUS(weir_broker_peek_id(place.broker, ids[i].text, place_show, &shown, &error),
                     WEIR_OK);
        CHECK_INT(shown.job.priority, ==, priorities[i]);
        CHECK_INT(shown.job.ttr_ns, ==, WEIR_SECONDS(i == 0 ? 5 : 60));
        CHECK_INT(shown.job.state, ==, i == 0 ? WEIR_JOB_DELAYED : WEIR_JOB_READY);
    }
    place_close(&place);
}

static void refuse_put_id(struct place *place)
{
    const struct weir_put_options options = {.put_id = "p"};
    CHECK_STATUS(place_try_put(place, "job", &options, NULL), WEIR_ENOTSUP);
}

TEST_BROKERS(knows_a_repeat,
             "a put that is repeated by its put_id puts no second job, and changes none")
{
    struct place place;
    if (!place_open_that_can(&place, kind, WEIR_CAN_PUT_ID, refuse_put_id)) {
        return;
    }
    struct weir_put_options options = {.put_id = "order-17"};
    struct weir_job_id ids[2];
    struct weir_error error;
    struct runs runs = {.count = 0};
    place_put(&place, "job", &options, &ids[0]);
    options.delay_ns = WEIR_SECONDS(3600);
    place_put(&place, "job", &options, &ids[1]);
    CHECK_STRING(ids[1].text, ids[0].text);
    CHECK_STATUS(place_try_put(&place, "other", &options, NULL), WEIR_ESTATE);
    CHECK_PLACE(&place, 0, 1, 0, 0);
    /* That of another tube is another put. */
    const struct weir_body body = {"job", 3, NULL};
    CHECK_STATUS(weir_broker_put(place.broker, place.more[0], &body, 1, &options, &ids[1], &error),
                 WEIR_OK);
    CHECK(strcmp(ids[1].text, ids[0].text) != 0);
    place_consume(&place, &runs, 1, 0, 0);
    CHECK_INT(runs.count, ==, 1);
    options.delay_ns = 0;
    place_put(&place, "job", &options, &ids[1]);
    CHECK_STRING(ids[1].text, ids[0].text); /* also after its end, for 10 minutes */
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

TEST_BROKERS(is_never_early,
             "a delayed job runs at its time or after it, to a fraction of a second")
{
    static const char *const bodies[] = {"0", "1", "2", "3"};
    struct place place;
    int64_t times[4];
    struct runs runs = {.count = 0};
    place_open(&place, kind, "");
    for (int i = 0; i < 4; i++) {
        struct weir_put_options options = {0};
        options.run_at_ns = place_now() + WEIR_MS(300 + 450 * i);
        times[i] = options.run_at_ns;
        place_put(&place, bodies[i], &options, NULL);
    }
    CHECK_INT(place_counts(&place).put, ==, 4 * place.copies);
    place_consume(&place, &runs, 2, 0, 0);
    CHECK_INT(runs.count, ==, 4);
    for (int i = 0; i < 4; i++) {
        int number = runs.run[i].body[0] - '0';
        CHECK_INT(runs.run[i].began_ns, >=, times[number]);
    }
    place_close(&place);
}

TEST_BROKERS(refuses_bad_times, "a time in the past is refused unless it may mean at once")
{
    struct place place;
    struct runs runs = {.count = 0};
    place_open(&place, kind, "");
    struct weir_put_options options = {0};
    options.run_at_ns = place_now() - WEIR_SECONDS(7200);
    CHECK_STATUS(place_try_put(&place, "job", &options, NULL), WEIR_EPAST);
    options.flags = WEIR_PUT_PAST_OK;
    place_put(&place, "job", &options, NULL);
    place_consume(&place, &runs, 1, 0, 0);
    CHECK_INT(runs.count, ==, 1);
    options.run_at_ns = -1;
    CHECK_STATUS(place_try_put(&place, "job", &options, NULL), WEIR_ERANGE);
    options.run_at_ns = 0;
    options.delay_ns = INT64_MAX;
    CHECK_STATUS(place_try_put(&place, "job", &options, NULL), WEIR_ERANGE);
    options.delay_ns = 0;
    options.ttr_ns = WEIR_MS(100) - 1;
    CHECK_STATUS(place_try_put(&place, "job", &options, NULL), WEIR_ERANGE);
    CHECK_PLACE(&place, 0, 0, 0, 0);
    place_close(&place);
}

TEST_BROKERS(runs_the_urgent_first, "jobs run by priority, then in the order of their puts")
{
    static const struct {
        const char *body;
        int32_t priority;
    } rows[] = {{"c", 0}, {"e", 5}, {"a", -2}, {"d", 0}, {"b", -1}};
    struct place place;
    struct runs runs = {.count = 0};
    char order[8] = "";
    place_open(&place, kind, "");
    for (size_t i = 0; i < 5; i++) {
        struct weir_put_options options = {0};
        options.priority = rows[i].priority;
        place_put(&place, rows[i].body, &options, NULL);
    }
    struct weir_put_options lowest = {0};
    lowest.priority = -3;
    /* beanstalkd has no priority below that. */
    CHECK_STATUS(place_try_put(&place, "0", &lowest, NULL),
                 weir_broker_can(place.broker, WEIR_CAN_PRIORITIES) ? WEIR_OK : WEIR_ENOTSUP);
    place_consume(&place, &runs, 1, 0, 0);
    for (int i = 0; i < runs.count; i++) {
        order[i] = runs.run[i].body[0];
    }
    if (!place.is_cluster) {
        CHECK_STRING(order, "0abcde");
    } else {
        /* Each node has its own order, and the consumer takes from all: what is asked of the nodes
         * at once may change places. The first is the most urgent everywhere. */
        CHECK_INT(runs.count, ==, 5);
        CHECK_INT(order[0], ==, 'a');
    }
    place_close(&place);
}

TEST_BROKERS(shows_by_state, "peeks show the jobs of a state, and counts count them")
{
    struct place place;
    struct weir_error error;
    place_open(&place, kind, "");
    struct weir_put_options later = {0};
    later.delay_ns = WEIR_SECONDS(3600);
    later.priority = 7;
    place_put(&place, "later", &later, NULL);
    place_put(&place, "now", NULL, NULL);
    CHECK_PLACE(&place, place.copies, place.copies, 0, 0);
    struct shown shown = {.count = 0};
    CHECK_STATUS(
        weir_broker_peek(place.broker, place.tube, WEIR_JOB_DELAYED, 9, place_show, &shown, &error),
        WEIR_OK);
    CHECK_INT(shown.count, ==, place.copies);
    CHECK(memcmp(shown.body, "later", 5) == 0);
    CHECK_INT(shown.job.priority, ==, 7);
    CHECK_INT(shown.job.state, ==, WEIR_JOB_DELAYED);
    shown.count = 0;
    CHECK_STATUS(weir_broker_peek(place.broker, place.tube, 0, 9, place_show, &shown, &error),
                 WEIR_OK);
    CHECK_INT(shown.count, ==, 2 * place.copies);
    shown.count = 0;
    CHECK_STATUS(weir_broker_peek(place.broker, place.tube, 0, 1, place_show, &shown, &error),
                 WEIR_OK);
    CHECK_INT(shown.count, ==, 1);
    CHECK_STATUS(
        weir_broker_peek(place.broker, place.tube, WEIR_JOB_BURIED, 9, place_show, &shown, &error),
        WEIR_OK);
    CHECK_INT(shown.count, ==, 1);
    CHECK_STATUS(weir_broker_peek(place.broker, place.tube, WEIR_JOB_RESERVED, 9, place_show,
                                  &shown, &error),
                 weir_broker_can(place.broker, WEIR_CAN_RESERVED) ? WEIR_OK : WEIR_ENOTSUP);
    place_close(&place);
}

/* The sizes of jobs that are told without bodies. */
static int add_size(const struct weir_job *job, void *arg)
{
    CHECK(job->body == NULL);
    CHECK_STRING(job->headers, "");
    *(size_t *)arg += job->body_size;
    return 0;
}

TEST_BROKERS(shows_no_bodies, "a look without bodies tells their sizes: of one job, of the first "
                              "ones, of a list")
{
    static char large[10000];
    const struct weir_body small = {"small", 5, NULL};
    const struct weir_body other = {large, sizeof(large), NULL};
    struct weir_job_id ids[2];
    struct place place;
    place_open(&place, kind, "");
    struct weir_put_options options = {
        .headers = weir_broker_can(place.broker, WEIR_CAN_HEADERS) ? "a=b\n" : NULL};
    CHECK_STATUS(weir_broker_put(place.broker, place.tube, &other, 1, &options, &ids[1], NULL),
                 WEIR_OK);
    options.delay_ns = WEIR_SECONDS(3600);
    CHECK_STATUS(weir_broker_put(place.broker, place.tube, &small, 1, &options, &ids[0], NULL),
                 WEIR_OK);
    bool can_list = weir_broker_can(place.broker, WEIR_CAN_LIST);
    const struct {
        struct weir_job_filter filter;
        size_t size;
    } rows[] = {
        {{.id = ids[0].text}, 5},
        {{.id = ids[1].text}, sizeof(large)},
        {{.tube = place.tube, .first = 99}, (5 + sizeof(large)) * place.copies},
        {{.tube = place.tube, .state = WEIR_JOB_DELAYED, .first = 1}, 5},
        {{.tube = place.tube}, can_list ? 5 + sizeof(large) : 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t size = 0;
        struct weir_job_filter filter = rows[i].filter;
        filter.no_bodies = 1;
        enum weir_status status = weir_broker_list(place.broker, &filter, add_size, &size, NULL);
        CHECK_STATUS(status, rows[i].size > 0 ? WEIR_OK : WEIR_ENOTSUP);
        CHECK_INT(size, ==, rows[i].size);
    }
    place_close(&place);
}

TEST_BROKERS(revokes, "a job that is removed before it runs is counted once and never runs")
{
    struct place place;
    struct runs runs = {.count = 0};
    struct weir_job_id ids[2];
    place_open(&place, kind, "");
    struct weir_put_options later = {0};
    later.delay_ns = WEIR_MS(400);
    place_put(&place, "later", &later, &ids[0]);
    place_put(&place, "now", NULL, &ids[1]);
    CHECK_INT(place_remove(&place, &ids[0]), ==, 1);
    CHECK_INT(place_remove(&place, &ids[1]), ==, 1);
    CHECK_INT(place_remove(&place, &ids[1]), ==, place_keeps(&place)); /* what is kept of it */
    CHECK_INT(place_remove(&place, &ids[1]), ==, 0);
    place_put(&place, "other", &later, NULL);
    place_consume(&place, &runs, 2, 0, 0);
    CHECK_INT(runs.count, ==, 1);
    CHECK_STRING(runs.run[0].body, "other");
    place_close(&place);
}
