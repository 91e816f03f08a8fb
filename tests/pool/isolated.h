/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_POOL_ISOLATED_H
#define WEIR_TEST_POOL_ISOLATED_H

#include <stdio.h>

#include <weir/isolation.h>

#include "pool/fixture.h"

/* An isolated task, and what the program hears of it. The task itself must not take the locks of
 * the fixture: another thread may hold them at the fork. */
struct isolated {
    int (*body)(weir_context *context, struct isolated *isolated);
    int pipes[2]; /* for bodies: to tell something by */
    int number;   /* for bodies */

    struct counter outcomes;
    int status;
    bool has_failed;
    struct weir_failure failure;
    char message[256];
};

static inline int isolated_invoke(weir_context *context, void *payload)
{
    struct isolated *isolated = payload;
    return isolated->body(context, isolated);
}

static inline int64_t isolated_failed(weir_context *context, weir_envelope *envelope,
                                      const struct weir_failure *failure, void *payload)
{
    struct isolated *isolated = payload;
    CHECK(weir_context_envelope(context) == envelope);
    isolated->has_failed = true;
    isolated->failure = *failure;
    (void)snprintf(isolated->message, sizeof(isolated->message), "%s", failure->message);
    return WEIR_DROP;
}

static inline void isolated_ended(weir_envelope *envelope, int status, void *payload)
{
    struct isolated *isolated = payload;
    (void)envelope;
    isolated->status = status;
    counter_add(&isolated->outcomes, 1);
}

static inline void isolated_init(struct isolated *isolated,
                                 int (*body)(weir_context *, struct isolated *))
{
    *isolated = (struct isolated){.body = body, .status = -1};
    counter_init(&isolated->outcomes);
}

static inline weir_envelope *isolated_envelope(struct isolated *isolated,
                                               const struct weir_isolation *isolation,
                                               int64_t deadline_ns)
{
    struct weir_isolation usual = {0};
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.id = 7;
    options.type = "letter";
    options.payload = isolated;
    options.invoke = isolated_invoke;
    options.failure = isolated_failed;
    options.outcome = isolated_ended;
    options.deadline_ns = deadline_ns;
    options.isolation = isolation != NULL ? isolation : &usual;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    return envelope;
}

static inline weir_pool *isolated_pool(weir_clock *clock, weir_log_fn *log, void *log_arg)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.clock = clock;
    options.log = log;
    options.log_arg = log_arg;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    return pool;
}

/* Runs it once in the pool. */
static inline void isolated_run(weir_pool *pool, struct isolated *isolated,
                                const struct weir_isolation *isolation)
{
    weir_envelope *envelope = isolated_envelope(isolated, isolation, 0);
    int before = counter_value(&isolated->outcomes);
    isolated->has_failed = false;
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&isolated->outcomes, before + 1);
    weir_envelope_unref(envelope);
}

/* Runs a body once in a pool of its own. */
static inline struct isolated isolated_once(int (*body)(weir_context *, struct isolated *),
                                            const struct weir_isolation *isolation)
{
    struct isolated isolated;
    isolated_init(&isolated, body);
    weir_pool *pool = isolated_pool(NULL, NULL, NULL);
    isolated_run(pool, &isolated, isolation);
    weir_pool_free(pool);
    counter_fini(&isolated.outcomes);
    return isolated;
}

#endif
