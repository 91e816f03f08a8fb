/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs that a consumer has before their time. */
#include "cluster/ledger.h"

#define TOGETHER 20

/* A consumer of jobs that become due together. */
struct together {
    struct servers servers;
    _Atomic int runs;
    int claims; /* in Redis, when the first of them runs */
};

static int count_claims(weir_context *context, const struct weir_job *job, void *arg)
{
    struct together *together = arg;
    char answer[64];
    (void)context;
    (void)job;
    if (atomic_fetch_add(&together->runs, 1) == 0) {
        redis_say(together->servers.redis.port, "DBSIZE", answer, sizeof(answer));
        together->claims = atoi(answer + 1);
    }
    return WEIR_OK;
}

TEST(claims_what_it_runs,
     "a consumer that holds back jobs until their time claims no more of them than "
     "it has room for: killed, it would keep them from others")
{
    struct together together = {.runs = 0};
    struct ledger ledger = {.all = 0};
    struct weir_error error;
    struct weir_body bodies[TOGETHER];
    char texts[TOGETHER][16];
    char url[512];
    struct timespec now;
    servers_start(&together.servers);
    servers_url(&together.servers, "claims=REDIS", url, sizeof(url));
    weir_broker *broker = ledger_open(&ledger, url);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    struct weir_put_options options = {.run_at_ns =
                                           WEIR_SECONDS(now.tv_sec) + now.tv_nsec + WEIR_MS(900)};
    for (int i = 0; i < TOGETHER; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%d", i);
        bodies[i] = (struct weir_body){texts[i], strlen(texts[i]), NULL};
    }
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, TOGETHER, &options, NULL, &error), WEIR_OK);
    const struct weir_consumer_options wanted = {.handler = count_claims,
                                                 .arg = &together,
                                                 .workers = 1,
                                                 .flags = WEIR_CONSUMER_UNTIL_EMPTY};
    weir_consumer *consumer = NULL;
    CHECK_STATUS(weir_consumer_new(broker, "t", &wanted, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    CHECK_INT(together.runs, ==, TOGETHER);
    CHECK_INT(together.claims, <=, 2); /* it, and the next */
    weir_consumer_free(consumer);
    weir_broker_close(broker);
    servers_end(&together.servers);
}
