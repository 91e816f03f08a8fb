/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The public functions refuse bad calls, and a refusal changes nothing. */
#include "jobs/broker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <weir/admin.h>
#include <weir/consumer.h>
#include <weir/producer.h>

#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static const struct weir_body one = {"x", 1, NULL};

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

TEST(read_only, "a store opened read-only is read and not changed")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    weir_broker_close(broker);
    struct weir_error error;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, WEIR_BROKER_READ_ONLY, &broker, &error),
                 WEIR_OK);
    weir_consumer *consumer;
    struct weir_consumer_options options = {0};
    options.handler = ignore_run;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, &error), WEIR_EACCESS);
    expect_text(&error);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    CHECK_STATUS(weir_broker_peek_id(broker, "1", ignore_job, NULL, &error), WEIR_OK);
    weir_broker_close(broker);
}

TEST(forked, "what a child frees and closes of its parent's stays whole")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    weir_consumer *consumer;
    struct weir_consumer_options options = {0};
    options.handler = ignore_run;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_consumer_free(consumer); /* nothing: it is the parent's */
        _exit(weir_broker_close(broker) == WEIR_EFORKED ? 0 : 1);
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
    weir_consumer_free(NULL);
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
