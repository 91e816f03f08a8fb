/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The identity of a job, on every broker. */
#include "conformance/jobs/brokers.h"

#define IDENTITY_SIZE (WEIR_PUT_ID_SIZE_MAX + 1)

struct names {
    char of_run[8][IDENTITY_SIZE];
    int runs;
    int looks;
    const char *expected;
};

/* Fails twice. */
static int note(weir_context *context, const struct weir_job *job, void *arg)
{
    struct names *names = arg;
    (void)context;
    CHECK_INT(names->runs, <, 8);
    CHECK_INT(strlen(job->identity), <, IDENTITY_SIZE);
    for (const char *c = job->identity; *c != '\0'; c++) {
        CHECK(*c > ' ' && *c <= '~');
    }
    memcpy(names->of_run[names->runs], job->identity, strlen(job->identity) + 1);
    return ++names->runs <= 2 ? WEIR_EUSER : WEIR_OK;
}

static int look(const struct weir_job *job, void *arg)
{
    struct names *names = arg;
    names->looks++;
    CHECK_STRING(job->identity, names->expected);
    return 0;
}

static void consume(const struct place *place, struct names *names)
{
    struct weir_consumer_options options = {
        .handler = note, .arg = names, .flags = WEIR_CONSUMER_UNTIL_EMPTY};
    options.retry.attempts = 2;
    options.retry.base_ns = WEIR_MS(1);
    weir_consumer *consumer;
    struct weir_error error;
    CHECK_STATUS(weir_consumer_new(place->broker, place->tube, &options, &consumer, &error),
                 WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    place_wait(consumer);
}

/* A retry may run another copy. */
static void check_lives(struct place *place)
{
    struct names names = {.runs = 0};
    place_put(place, "job", NULL, NULL);
    consume(place, &names);
    CHECK_INT(names.runs, ==, 2);
    names.expected = names.of_run[0];
    CHECK_STATUS(
        weir_broker_peek(place->broker, place->tube, WEIR_JOB_BURIED, SIZE_MAX, look, &names, NULL),
        WEIR_OK);
    CHECK_INT(names.looks, ==, place->copies);
    CHECK_STATUS(weir_broker_kick(place->broker, place->tube, SIZE_MAX, NULL, NULL), WEIR_OK);
    consume(place, &names);
    CHECK_INT(names.runs, ==, 3);
    CHECK_STRING(names.of_run[1], names.of_run[0]);
    CHECK_STRING(names.of_run[2], names.of_run[0]);
    place_put(place, "job", NULL, NULL);
    consume(place, &names);
    CHECK(strcmp(names.of_run[3], names.of_run[0]) != 0);
}

TEST_BROKERS(lives, "a job has one identity, in all copies, attempts and after a kick")
{
    struct place place;
    place_open(&place, kind, "");
    check_lives(&place);
    place_close(&place);
}

TEST(lives_alone, "a job has one identity on a single beanstalkd without claims")
{
    struct place place;
    place_init(&place, ON_CLUSTER);
    node_start(&place.servers, 0);
    (void)snprintf(place.url, sizeof(place.url), "beanstalk://127.0.0.1:%d/?replicas=1",
                   place.servers.node[0].port);
    place.broker = place_broker(&place);
    check_lives(&place);
    place_close(&place);
}
