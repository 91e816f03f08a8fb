/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/producer.h>

#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static const struct weir_body one = {"x", 1, NULL};

TEST_OOM(verbs, "at and delay put, revoke takes back what has not started")
{
    weir_broker *broker;
    if (CHECK_OR_OOM(jobs_store_try_open("jobs.db", &wall, 0, &broker, NULL))) {
        return;
    }
    struct weir_put_options options = {0};
    options.priority = 7;
    options.ttr_ns = WEIR_SECONDS(5);
    weir_producer *producer;
    if (CHECK_OR_OOM(weir_producer_open(broker, "t", &options, &producer, NULL))) {
        weir_broker_close(broker);
        return;
    }
    struct weir_job_id id;
    CHECK_STATUS(weir_producer_at(producer, one, JOBS_WALL_START + 10, &id, NULL), WEIR_OK);
    CHECK_STRING(id.text, "1");
    CHECK_STATUS(weir_producer_delay(producer, one, 20, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_producer_delay(producer, one, 0, NULL, NULL), WEIR_OK);
    (void)CHECK_OR_OOM(weir_producer_revoke(producer, "1", NULL));
    weir_producer_close(producer);
    weir_broker_close(broker);
}

TEST(what_is_put, "jobs have the producer's options and each its own time")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weir_put_options options = {0};
    options.priority = 7;
    options.ttr_ns = WEIR_SECONDS(5);
    weir_producer *producer;
    CHECK_STATUS(weir_producer_open(broker, "t", &options, &producer, NULL), WEIR_OK);
    CHECK_STATUS(weir_producer_at(producer, one, JOBS_WALL_START + 10, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_producer_delay(producer, one, 0, NULL, NULL), WEIR_OK);
    CHECK_COUNTS(broker, "t", 1, 1, 0, 0);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->job.priority, ==, 7);
    CHECK_INT(job->job.ttr_ns, ==, WEIR_SECONDS(5));
    CHECK_STATUS(weir_producer_revoke(producer, job->job.id, NULL), WEIR_ENOTFOUND);
    CHECK_COUNTS(broker, "t", 1, 0, 1, 0);
    jobs_free_one(broker, job);
    CHECK_STATUS(weir_producer_revoke(producer, "1", NULL), WEIR_OK);
    CHECK_STATUS(weir_producer_revoke(producer, "1", NULL), WEIR_ENOTFOUND);
    CHECK_COUNTS(broker, "t", 0, 0, 1, 0);
    weir_producer_close(producer);
    weir_broker_close(broker);
}

TEST(copies, "group and headers are copied: the caller's may change or go")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    char group[] = "disk-7";
    char headers[] = "lang=en\n";
    struct weir_put_options options = {0};
    options.group = group;
    options.headers = headers;
    weir_producer *producer;
    CHECK_STATUS(weir_producer_open(broker, "t", &options, &producer, NULL), WEIR_OK);
    memset(group, '!', sizeof(group) - 1);
    memset(headers, '!', sizeof(headers) - 1);
    CHECK_STATUS(weir_producer_delay(producer, one, 0, NULL, NULL), WEIR_OK);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STRING(job->job.group, "disk-7");
    CHECK_STRING(job->job.headers, "lang=en\n");
    jobs_free_one(broker, job);
    weir_producer_close(producer);
    weir_broker_close(broker);
}
