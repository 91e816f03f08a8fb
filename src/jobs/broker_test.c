/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The public functions refuse bad calls, and a refusal changes nothing. */
#include "jobs/broker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <weir/admin.h>
#include <weir/consumer.h>
#include <weir/move.h>
#include <weir/producer.h>

#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static const struct weir_body one = {"x", 1};

static int ignore_tube(const struct weir_tube_counts *counts, void *arg)
{
    (void)counts;
    (void)arg;
    return 0;
}

static int ignore_finding(const struct weir_finding *finding, void *arg)
{
    (void)finding;
    (void)arg;
    return 0;
}

static int ignore_node(const struct weir_node *node, void *arg)
{
    (void)node;
    (void)arg;
    return 0;
}

static int ignore_job(const struct weir_job *job, void *arg)
{
    (void)job;
    (void)arg;
    return 0;
}

static int ignore_run(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    (void)arg;
    return WEIR_OK;
}

/* The error has a text of one line. */
static void expect_text(const struct weir_error *error)
{
    CHECK(error->text[0] != '\0');
    CHECK(strpbrk(error->text, "\n\r\t\x1b") == NULL);
}

TEST(open_options, "options that make no sense are refused before anything is opened")
{
    struct weir_broker_options rows[6];
    enum weir_status statuses[6] = {WEIR_EINVAL,  WEIR_EINVAL, WEIR_ERANGE,
                                    WEIR_ETOOBIG, WEIR_EINVAL, WEIR_EINVAL};
    for (size_t i = 0; i < 6; i++) {
        rows[i] = (struct weir_broker_options){0};
    }
    rows[0].allocator.resize = test_allocator()->resize;
    rows[1].flags = 8;
    rows[2].busy_ns = -1;
    rows[3].body_size_max = WEIR_BODY_SIZE_LIMIT + 1;
    rows[4].allocator.alloc = test_allocator()->alloc;
    rows[5].durability = WEIR_DURABILITY_MEMORY + 1;
    for (size_t i = 0; i < 6; i++) {
        weir_broker *broker = (weir_broker *)&wall;
        struct weir_error error = {0};
        CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &rows[i], &broker, &error), statuses[i]);
        CHECK(broker == (weir_broker *)&wall);
        expect_text(&error);
    }
    struct weir_error error = {0};
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, NULL, &error), WEIR_EINVAL);
    weir_broker *broker;
    CHECK_STATUS(weir_broker_open(NULL, NULL, &broker, &error), WEIR_EINVAL);
    expect_text(&error);
    CHECK_INT(access("jobs.db", F_OK), ==, -1);
    CHECK_INT(access("jobs.db.lock", F_OK), ==, -1);
    weir_broker_close(NULL);
}

TEST(puts, "a put that makes no sense is refused and stores nothing")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    static char large[(16 << 20) + 1];
    const struct weir_body null_body = {NULL, 1};
    const struct weir_body large_body = {large, sizeof(large)};
    struct weir_put_options options[9];
    for (size_t i = 0; i < 9; i++) {
        options[i] = (struct weir_put_options){0};
    }
    options[0].flags = 4;
    options[1].flags = 2;
    options[2].run_at_ns = JOBS_WALL_START - 1;
    options[3].run_at_ns = -1;
    options[4].delay_ns = -1;
    options[5].run_at_ns = JOBS_WALL_START + 1;
    options[5].delay_ns = 1;
    options[6].ttr_ns = -1;
    options[7].ttr_ns = WEIR_MS(100) - 1;
    options[8].delay_ns = INT64_MAX;
    const struct {
        const char *tube;
        const struct weir_body *body;
        const struct weir_put_options *options;
        enum weir_status status;
        const char *says;
    } rows[] = {
        {NULL, &one, NULL, WEIR_EINVAL, "tube is NULL"},
        {"", &one, NULL, WEIR_EINVAL, "empty"},
        {"two words", &one, NULL, WEIR_EINVAL, "0x20 at offset 3"},
        {"a\nb", &one, NULL, WEIR_EINVAL, "0x0a at offset 1"},
        {"-t", &one, NULL, WEIR_EINVAL, "offset 0"},
        {"t", NULL, NULL, WEIR_EINVAL, "bodies is NULL"},
        {"t", &null_body, NULL, WEIR_EINVAL, "body 0 is NULL and has 1 bytes"},
        {"t", &large_body, NULL, WEIR_ETOOBIG, "body 0 has 16777217 bytes: at most 16777216"},
        {"t", &one, &options[0], WEIR_EINVAL, "unknown put flags 0x4"},
        {"t", &one, &options[1], WEIR_EINVAL, "flags 0x2"},
        {"t", &one, &options[2], WEIR_EPAST, "in the past"},
        {"t", &one, &options[3], WEIR_ERANGE, "run_at_ns is negative"},
        {"t", &one, &options[4], WEIR_ERANGE, "delay_ns is negative"},
        {"t", &one, &options[5], WEIR_EINVAL, "both set"},
        {"t", &one, &options[6], WEIR_ERANGE, "ttr_ns is -1"},
        {"t", &one, &options[7], WEIR_ERANGE, "ttr_ns is 999999"},
        {"t", &one, &options[8], WEIR_ERANGE, "delay_ns"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_error error = {0};
        struct weir_job_id id = {"untouched"};
        CHECK_STATUS(
            weir_broker_put(broker, rows[i].tube, rows[i].body, 1, rows[i].options, &id, &error),
            rows[i].status);
        if (strstr(error.text, rows[i].says) == NULL) {
            test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, rows[i].says);
        }
        expect_text(&error);
        CHECK_STRING(id.text, "untouched");
        CHECK_STATUS(
            weir_broker_put(broker, rows[i].tube, rows[i].body, 1, rows[i].options, NULL, NULL),
            rows[i].status);
    }
    CHECK_INT(jobs_counts(broker, "t").put, ==, 0);
    CHECK_STATUS(weir_broker_put(NULL, "t", &one, 1, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_put(broker, "t", NULL, 0, NULL, NULL, NULL), WEIR_OK);
    CHECK_INT(jobs_counts(broker, "t").put, ==, 0);

    /* A past time that is allowed means at once. */
    options[2].flags = WEIR_PUT_PAST_OK;
    (void)jobs_put(broker, "t", "x", &options[2]);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    weir_broker_close(broker);
}

TEST(other_calls, "calls without what they need are refused")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_error error;
    const char *id = NULL;
    size_t count;
    CHECK_STATUS(weir_broker_remove(NULL, &id, 1, &count, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_remove(broker, NULL, 1, &count, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_remove(broker, &id, 1, &count, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_kick(NULL, "t", 1, &count, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_kick(broker, NULL, 1, &count, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_kick(broker, "t", 0, &count, &error), WEIR_OK);
    CHECK_INT(count, ==, 0);
    CHECK_STATUS(weir_broker_tubes(NULL, NULL, ignore_tube, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_tubes(broker, "a b", ignore_tube, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_tubes(broker, NULL, NULL, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_peek(NULL, "t", 0, 1, ignore_job, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_peek(broker, NULL, 0, 1, ignore_job, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_peek(broker, "t", (enum weir_job_state)6, 1, ignore_job, NULL, &error),
                 WEIR_EINVAL);
    CHECK_STATUS(
        weir_broker_peek(broker, "t", (enum weir_job_state) - 1, 1, ignore_job, NULL, &error),
        WEIR_EINVAL);
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, 1, NULL, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_peek_id(NULL, "1", ignore_job, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_peek_id(broker, NULL, ignore_job, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_peek_id(broker, "one", ignore_job, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_peek_id(broker, "1", NULL, NULL, &error), WEIR_EINVAL);
    CHECK_STATUS(weir_broker_peek_id(broker, "1", ignore_job, NULL, &error), WEIR_ENOTFOUND);
    expect_text(&error);
    weir_broker_close(broker);
}

TEST(read_only, "a store opened read-only is read and not changed")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    weir_broker_close(broker);
    struct weir_error error;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, WEIR_BROKER_READ_ONLY, &broker, &error),
                 WEIR_OK);
    const char *id = "1";
    weir_consumer *consumer;
    struct weir_consumer_options options = {0};
    options.handler = ignore_run;
    CHECK_STATUS(weir_broker_put(broker, "t", &one, 1, NULL, NULL, &error), WEIR_EACCESS);
    CHECK_STATUS(weir_broker_remove(broker, &id, 1, NULL, &error), WEIR_EACCESS);
    CHECK_STATUS(weir_broker_kick(broker, "t", 1, NULL, &error), WEIR_EACCESS);
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, &error), WEIR_EACCESS);
    expect_text(&error);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    CHECK_STATUS(weir_broker_peek_id(broker, "1", ignore_job, NULL, &error), WEIR_OK);
    weir_broker_close(broker);
}

/* Makes every call in a child. Returns the first status that is not WEIR_EFORKED. */
static int call_all(weir_broker *broker, weir_producer *producer, weir_consumer *consumer)
{
    struct weir_consumer_options options = {0};
    options.handler = ignore_run;
    weir_consumer *other;
    const char *id = "1";
    enum weir_status result;
    struct weir_why why;
    int fd;
    const int statuses[] = {
        (int)weir_broker_put(broker, "t", &one, 1, NULL, NULL, NULL),
        (int)weir_broker_remove(broker, &id, 1, NULL, NULL),
        (int)weir_broker_kick(broker, "t", 1, NULL, NULL),
        (int)weir_broker_remove_ids(broker, &id, 1, &result, NULL),
        (int)weir_broker_kick_ids(broker, &id, 1, &result, NULL),
        (int)weir_broker_bury_ids(broker, &id, 1, NULL, &result, NULL),
        (int)weir_broker_nodes(broker, ignore_node, NULL, NULL),
        (int)weir_broker_check(broker, ignore_finding, NULL, NULL),
        (int)weir_broker_pause(broker, "t", 1, NULL),
        (int)weir_broker_resume(broker, "t", NULL),
        (int)weir_broker_why(broker, "1", &why, NULL),
        (int)weir_broker_backup(broker, "copy.db", NULL),
        (int)weir_broker_list(broker, NULL, ignore_job, NULL, NULL),
        (int)weir_broker_move(broker, broker, "t", NULL, NULL, NULL, NULL),
        (int)weir_broker_tubes(broker, NULL, ignore_tube, NULL, NULL),
        (int)weir_broker_peek(broker, "t", 0, 1, ignore_job, NULL, NULL),
        (int)weir_broker_peek_id(broker, "1", ignore_job, NULL, NULL),
        (int)weir_producer_at(producer, one, JOBS_WALL_START + 1, NULL, NULL),
        (int)weir_producer_delay(producer, one, 0, NULL, NULL),
        (int)weir_producer_revoke(producer, "1", NULL),
        (int)weir_consumer_new(broker, "t", &options, &other, NULL),
        (int)weir_consumer_start(consumer, NULL),
        (int)weir_consumer_wait(consumer, WEIR_FOREVER, NULL),
        (int)weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL),
        (int)weir_consumer_fd(consumer, &fd, NULL),
    };
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (statuses[i] != WEIR_EFORKED) {
            return (int)i + 1;
        }
    }
    weir_consumer_free(consumer);
    return weir_broker_close(broker) == WEIR_EFORKED ? 0 : 99;
}

TEST(forked, "a child's calls on its parent's objects are refused and disturb nothing")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    weir_producer *producer;
    CHECK_STATUS(weir_producer_open(broker, "t", NULL, &producer, NULL), WEIR_OK);
    weir_consumer *consumer;
    struct weir_consumer_options options = {0};
    options.handler = ignore_run;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        _exit(call_all(broker, producer, consumer));
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    (void)jobs_put(broker, "t", "y", NULL);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_INT(jobs_counts(broker, "t").done, ==, 2);
    weir_consumer_free(consumer);
    weir_producer_close(producer);
    weir_broker_close(broker);
}

TEST(close_busy, "a broker is not closed while a producer or a consumer of it lives")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    weir_producer *producer;
    CHECK_STATUS(weir_producer_open(broker, "t", NULL, &producer, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_close(broker), WEIR_EBUSY);
    CHECK_STATUS(weir_producer_delay(producer, one, 0, NULL, NULL), WEIR_OK);
    weir_consumer *consumer;
    struct weir_consumer_options options = {0};
    options.handler = ignore_run;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    options.workers = UINT32_MAX;
    weir_consumer *none;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &none, NULL), WEIR_EINVAL);
    weir_producer_close(producer);
    CHECK_STATUS(weir_broker_close(broker), WEIR_EBUSY);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_close(broker), WEIR_EBUSY);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_close(broker), WEIR_EBUSY);
    CHECK_INT(jobs_counts(broker, "t").done, ==, 1);
    weir_consumer_free(consumer);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    CHECK_STATUS(weir_broker_close(NULL), WEIR_OK);
}

TEST(tries_again_soon,
     "what failed is tried again after pauses that grow to half a second at most, "
     "of which a quarter is at random")
{
    int64_t most = WEIR_MS(50);
    int64_t least_seen = INT64_MAX;
    int64_t most_seen = 0;
    for (uint32_t failures = 1; failures <= 100; failures++) {
        int64_t pause = weiri_retry_ns(failures);
        CHECK_INT(pause, <=, most);
        CHECK_INT(pause, >=, most / 4 * 3);
        most = most * 2 < WEIRI_RETRY_MAX_NS ? most * 2 : WEIRI_RETRY_MAX_NS;
        if (failures > 10) {
            least_seen = pause < least_seen ? pause : least_seen;
            most_seen = pause > most_seen ? pause : most_seen;
        }
    }
    CHECK_INT(most, <=, WEIR_MS(500));
    CHECK_INT(least_seen, <, most_seen);
    CHECK_INT(weiri_retry_ns(UINT32_MAX), <=, WEIRI_RETRY_MAX_NS);
}
