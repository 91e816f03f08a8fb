/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_POOL_SCRIPT_H
#define WEIR_TEST_POOL_SCRIPT_H

#include <stdio.h>
#include <string.h>

#include "pool/fixture.h"

/* An envelope all of whose functions write down that they were called, and answer what a test has
 * laid down; a pool of one worker on a manual clock to run it on. What the worker writes is read
 * after the run's end was counted. */

#define SCRIPT_RUNS 8
#define SCRIPT_INTERVAL_NS WEIR_SECONDS(10)
#define SCRIPT_DEADLINE_NS WEIR_SECONDS(4)

struct script {
    weir_clock *clock;
    weir_pool *pool;
    weir_envelope *envelope;
    struct counter begun; /* tasks */
    struct counter ends;
    struct counter released;
    struct counter slept;  /* hooks that are about to */
    struct counter let_go; /* the outcome function, where it is held */

    /* What is answered; of the statuses each run takes the next, and the last is for all others. */
    int before;
    int statuses[SCRIPT_RUNS];
    int after;
    int64_t decision;
    /* How long each lasts. */
    int64_t before_ns;
    int64_t invoke_ns;
    int64_t after_ns;
    int64_t hook_ns;   /* success and failure */
    int before_sleeps; /* so many runs, until it is cancelled or its time is up: that is its status
                        */
    bool after_sleeps; /* the same, each run */
    bool is_held;
    bool sleeps; /* the task, until it is cancelled or its time is up: that is its status */

    /* What came of it. */
    char steps[512];
    int runs;
    int others;       /* runs of other envelopes, by the test's count */
    int status;       /* told to the outcome function */
    int status_after; /* told to the after hook */
    int told;         /* why it was dropped; 0: it was not */
    int tellings;
    struct weir_ended ended; /* the last time */
    struct weir_failure failure;
    int64_t due_ns;
    uint32_t attempt; /* by the context */
    int before_end;   /* what the before hook's context says at its end */
    int64_t before_left_ns;
    int64_t invoke_left_ns;
    int64_t after_left_ns;
    int64_t hook_left_ns;
};

static inline void script_note(struct script *script, const char *step)
{
    size_t length = strlen(script->steps);
    CHECK(length + strlen(step) + 2 < sizeof(script->steps));
    (void)snprintf(script->steps + length, sizeof(script->steps) - length, "%s%s",
                   length > 0 ? " " : "", step);
}

static inline void script_last(struct script *script, int64_t time_ns)
{
    if (time_ns > 0) {
        CHECK_STATUS(weir_clock_advance(script->clock, time_ns), WEIR_OK);
    }
}

static inline int script_before(weir_context *context, weir_envelope *envelope, void *payload)
{
    struct script *script = payload;
    CHECK(envelope == script->envelope);
    script_note(script, "before");
    script->before_left_ns = weir_context_remaining(context);
    script_last(script, script->before_ns);
    script->before_end = (int)weir_context_check(context);
    if (script->before_sleeps > 0) {
        script->before_sleeps--;
        counter_add(&script->slept, 1);
        return (int)weir_context_sleep(context, WEIR_FOREVER);
    }
    return script->before;
}

static inline int script_invoke(weir_context *context, void *payload)
{
    struct script *script = payload;
    script_note(script, "invoke");
    script->invoke_left_ns = weir_context_remaining(context);
    script->due_ns = weir_context_due(context);
    script->attempt = weir_context_attempt(context);
    CHECK(weir_context_envelope(context) == script->envelope);
    CHECK(weir_context_pool(context) == script->pool);
    counter_add(&script->begun, 1);
    script_last(script, script->invoke_ns);
    int run = script->runs++;
    if (script->sleeps) {
        return (int)weir_context_sleep(context, WEIR_FOREVER);
    }
    return script->statuses[run < SCRIPT_RUNS ? run : SCRIPT_RUNS - 1];
}

static inline int script_after(weir_context *context, weir_envelope *envelope, int status,
                               void *payload)
{
    struct script *script = payload;
    CHECK(envelope == script->envelope);
    script_note(script, "after");
    script->status_after = status;
    script->after_left_ns = weir_context_remaining(context);
    script_last(script, script->after_ns);
    if (script->after_sleeps) {
        counter_add(&script->slept, 1);
        return (int)weir_context_sleep(context, WEIR_FOREVER);
    }
    return script->after;
}

static inline void script_success(weir_context *context, weir_envelope *envelope, void *payload)
{
    struct script *script = payload;
    CHECK(envelope == script->envelope);
    script_note(script, "success");
    script->hook_left_ns = weir_context_remaining(context);
    script_last(script, script->hook_ns);
}

static inline int64_t script_failure(weir_context *context, weir_envelope *envelope,
                                     const struct weir_failure *failure, void *payload)
{
    struct script *script = payload;
    CHECK(envelope == script->envelope);
    script_note(script, "failure");
    script->failure = *failure;
    script->hook_left_ns = weir_context_remaining(context);
    script_last(script, script->hook_ns);
    return script->decision;
}

static inline void script_outcome(weir_envelope *envelope, int status, void *payload)
{
    struct script *script = payload;
    CHECK(envelope == script->envelope);
    script_note(script, "outcome");
    script->status = status;
    counter_add(&script->ends, 1);
    if (script->is_held) {
        counter_wait(&script->let_go, 1);
    }
}

static inline void script_release(void *payload)
{
    struct script *script = payload;
    counter_add(&script->released, 1);
}

static inline void script_ended(const struct weir_ended *ended, void *arg)
{
    struct script *script = arg;
    CHECK(ended->pool == script->pool);
    if (ended->envelope != script->envelope) {
        return;
    }
    CHECK_INT(counter_value(&script->released), ==, 0);
    script->ended = *ended;
    if (was_dropped(ended)) {
        script->told = (int)ended->reason;
        script->tellings++;
    }
}

/* Options of an envelope with all hooks. */
static inline struct weir_envelope_options script_envelope(struct script *script,
                                                           int64_t interval_ns)
{
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.payload = script;
    options.before = script_before;
    options.invoke = script_invoke;
    options.after = script_after;
    options.success = script_success;
    options.failure = script_failure;
    options.outcome = script_outcome;
    options.release = script_release;
    options.deadline_ns = SCRIPT_DEADLINE_NS;
    options.interval_ns = interval_ns;
    return options;
}

static inline struct weir_pool_options script_pool(struct script *script)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = script->clock;
    options.workers = 1;
    options.ended = script_ended;
    options.ended_arg = script;
    return options;
}

static inline void script_init(struct script *script)
{
    *script = (struct script){.decision = WEIR_DROP};
    counter_init(&script->begun);
    counter_init(&script->ends);
    counter_init(&script->released);
    counter_init(&script->let_go);
    counter_init(&script->slept);
    script->clock = manual_clock(WEIR_SECONDS(1000));
}

/* Makes pool and envelope, and sends; NULL options are the usual ones of a one-off envelope. */
static inline void script_start(struct script *script,
                                const struct weir_envelope_options *of_envelope,
                                const struct weir_pool_options *of_pool)
{
    struct weir_envelope_options envelope = script_envelope(script, 0);
    struct weir_pool_options pool = script_pool(script);
    CHECK_STATUS(
        weir_envelope_new(of_envelope != NULL ? of_envelope : &envelope, &script->envelope, NULL),
        WEIR_OK);
    CHECK_STATUS(weir_pool_new(of_pool != NULL ? of_pool : &pool, &script->pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(script->pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script->pool, script->envelope), WEIR_OK);
}

static inline void script_start_periodic(struct script *script)
{
    struct weir_envelope_options options = script_envelope(script, SCRIPT_INTERVAL_NS);
    script_start(script, &options, NULL);
}

static inline void script_pass_by(struct script *script)
{
    pass_by(script->pool);
    script->others++;
}

static inline void script_wait(struct script *script, int runs)
{
    counter_wait(&script->ends, runs);
}

/* Ends the pool and checks how much was still pending. */
static inline void script_end(struct script *script, int runs, uint64_t dropped)
{
    CHECK_STATUS(weir_pool_end(script->pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counter_value(&script->ends), ==, runs);
    struct weir_pool_counts counts = counts_of(script->pool);
    CHECK_INT(counts.runs, ==, runs + script->others);
    CHECK_INT(counts.dropped, ==, dropped);
    CHECK_INT(counts.in_flight, ==, 0);
    weir_envelope_unref(script->envelope);
    CHECK_INT(counter_value(&script->released), ==, 1);
}

static inline void script_fini(struct script *script)
{
    weir_pool_free(script->pool);
    weir_clock_free(script->clock);
    counter_fini(&script->begun);
    counter_fini(&script->ends);
    counter_fini(&script->released);
    counter_fini(&script->let_go);
    counter_fini(&script->slept);
}

#endif
