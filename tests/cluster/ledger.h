/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_LEDGER_H
#define WEIR_TEST_LEDGER_H

#include <stdatomic.h>

#include <weir/consumer.h>

#include "cluster/servers.h"

/* Numbered jobs, and how often each of them ran. */

#define JOBS 40
/* A claim of which nobody knows ends after that and the lease. */
#define LEDGER_TTR WEIR_SECONDS(5)

struct ledger {
    _Atomic int runs[JOBS];
    _Atomic int all;          /* of the above */
    _Atomic int attempts;     /* of the last run */
    const char *_Atomic word; /* may be NULL: lines of the log with it are counted */
    _Atomic int words;
};

static inline void ledger_log(enum weir_log_level level, const char *message, void *arg)
{
    struct ledger *ledger = arg;
    const char *word = atomic_load(&ledger->word);
    (void)level;
    if (word != NULL && strstr(message, word) != NULL) {
        (void)atomic_fetch_add(&ledger->words, 1);
    }
}

static inline weir_broker *ledger_open(struct ledger *ledger, const char *url)
{
    weir_broker *broker = NULL;
    struct weir_error error;
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    options.log = ledger_log;
    options.log_arg = ledger;
    if (weir_broker_open(url, &options, &broker, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", url, error.text);
    }
    return broker;
}

/* Puts jobs until each is accepted; a put that failed may have left a copy, which is another job.
 */
static inline void ledger_put(weir_broker *broker, int from, int to)
{
    for (int i = from; i < to; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i);
        struct weir_body body = {text, strlen(text), NULL};
        struct weir_put_options options = {0};
        options.ttr_ns = LEDGER_TTR;
        struct weir_error error;
        enum weir_status status;
        do {
            status = weir_broker_put(broker, "t", &body, 1, &options, NULL, &error);
            CHECK(status == WEIR_OK || status == WEIR_EUNAVAILABLE || status == WEIR_EUNKNOWN);
        } while (status != WEIR_OK);
    }
}

static inline int ledger_handle(weir_context *context, const struct weir_job *job, void *arg)
{
    struct ledger *ledger = arg;
    (void)context;
    int number = atoi(job->body);
    CHECK(number >= 0 && number < JOBS);
    (void)atomic_fetch_add(&ledger->runs[number], 1);
    atomic_store(&ledger->attempts, (int)job->attempts);
    (void)atomic_fetch_add(&ledger->all, 1);
    return WEIR_OK;
}

/* A number of a node's statistics; -1: there is none. */
static inline long long node_number(const struct servers *servers, int i, const char *command,
                                    const char *name)
{
    char text[4096];
    size_t used = 0;
    ssize_t count;
    int fd = connect_port(servers->node[i].port);
    CHECK(fd >= 0);
    int length = snprintf(text, sizeof(text), "%s\r\nquit\r\n", command);
    CHECK(write(fd, text, (size_t)length) == length);
    while ((count = read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
        used += (size_t)count;
    }
    (void)close(fd);
    text[used] = '\0';
    long long number = -1;
    char line[64];
    (void)snprintf(line, sizeof(line), "\n%s: ", name);
    const char *at = strstr(text, line);
    CHECK(at == NULL || sscanf(at + strlen(line), "%lld", &number) == 1);
    return number;
}

/* A consumer that ends with the tube. */
static inline weir_consumer *ledger_start(weir_broker *broker, struct ledger *ledger)
{
    struct weir_consumer_options options = {0};
    options.handler = ledger_handle;
    options.arg = ledger;
    options.workers = 4;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    weir_consumer *consumer = NULL;
    struct weir_error error;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    return consumer;
}

static inline void ledger_wait(weir_consumer *consumer)
{
    struct weir_error error;
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
}

static inline void ledger_consume(weir_broker *broker, struct ledger *ledger)
{
    ledger_wait(ledger_start(broker, ledger));
}

/* Each job ran once. */
static inline void ledger_check(const struct ledger *ledger)
{
    for (int i = 0; i < JOBS; i++) {
        CHECK_INT(ledger->runs[i], ==, 1);
    }
}

#endif
