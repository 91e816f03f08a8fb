/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/panic.h>

#include <stdio.h>

#include "pool/fixture.h"

/* What a pool logs, line by line. */
struct log {
    struct weiri_mutex mutex;
    int lines;
    int frames;
    char panic[512]; /* the last one */
};

static void log_init(struct log *log)
{
    *log = (struct log){.lines = 0};
    weiri_mutex_init(&log->mutex);
}

static void note(enum weir_log_level level, const char *message, void *arg)
{
    struct log *log = arg;
    weiri_mutex_lock(&log->mutex);
    CHECK(strchr(message, '\n') == NULL);
    log->lines++;
    if (strncmp(message, "panic", 5) == 0) {
        CHECK_INT(level, ==, WEIR_LOG_ERROR);
        (void)snprintf(log->panic, sizeof(log->panic), "%s", message);
    } else if (strncmp(message, "  #", 3) == 0) {
        CHECK_INT(level, ==, WEIR_LOG_ERROR);
        log->frames++;
    }
    weiri_mutex_unlock(&log->mutex);
}

static weir_pool *logging_pool(struct log *log, size_t workers)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = workers;
    options.log = log == NULL ? NULL : note;
    options.log_arg = log;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    return pool;
}

static weir_envelope *envelope_of(struct task *task, uint64_t id, const char *type)
{
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.id = id;
    options.type = type;
    options.payload = task;
    options.invoke = task_invoke;
    options.outcome = task_outcome;
    options.release = task_release;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    return envelope;
}

/* Deeper down than the task itself. */
static __attribute__((noinline)) void give_up(weir_context *context)
{
    weir_panic(context, "no %s left, %d wanted", "ink", 3);
}

static int panic_body(weir_context *context, struct task *task)
{
    atomic_store(&task->running, 0);
    give_up(context);
    return WEIR_OK;
}

TEST(
    panics,
    "a panic ends the run with WEIR_EPANIC, is logged with its stack, and the worker lives on (R6)")
{
    struct log log;
    struct task bad;
    struct task good;
    log_init(&log);
    task_init(&bad);
    task_init(&good);
    bad.body = panic_body;
    weir_pool *pool = logging_pool(&log, 1);
    weir_envelope *panicking = envelope_of(&bad, 7, "letter");
    weir_envelope *other = envelope_for(&good, 0);
    for (int i = 1; i <= 2; i++) {
        CHECK_STATUS(weir_pool_send(pool, panicking), WEIR_OK);
        CHECK_STATUS(weir_pool_send(pool, other), WEIR_OK);
        counter_wait(&bad.outcomes, i);
        CHECK_STATUS(atomic_load(&bad.last_status), WEIR_EPANIC);
        counter_wait(&good.outcomes, i);
        CHECK_STATUS(atomic_load(&good.last_status), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STRING(log.panic, "panic in envelope 7 \"letter\": no ink left, 3 wanted");
    CHECK_INT(log.frames, >=, 2 * 3);
    CHECK_INT(counts_of(pool).in_flight, ==, 0);
    weir_pool_free(pool);
    weir_envelope_unref(panicking);
    weir_envelope_unref(other);
    task_fini(&bad);
    task_fini(&good);
    weiri_mutex_fini(&log.mutex);
}

static int panic_at_length(weir_context *context, struct task *task)
{
    atomic_store(&task->running, 0);
    static char text[1000];
    memset(text, 'x', sizeof(text) - 1);
    weir_panic(context, "%s", text);
}

TEST(long_message, "of a message 255 bytes are kept")
{
    struct log log;
    struct task task;
    log_init(&log);
    task_init(&task);
    task.body = panic_at_length;
    weir_pool *pool = logging_pool(&log, 1);
    weir_envelope *envelope = envelope_of(&task, 0, "");
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    const char *text = strchr(log.panic, 'x');
    CHECK(text != NULL);
    CHECK_INT(strlen(text), ==, 255);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    task_fini(&task);
    weiri_mutex_fini(&log.mutex);
}

TEST(many, "workers may panic at once, again and again, also without a log")
{
    enum {
        COUNT = 4
    };
    struct task tasks[COUNT];
    weir_envelope *envelopes[COUNT];
    weir_pool *pool = logging_pool(NULL, COUNT);
    for (int i = 0; i < COUNT; i++) {
        task_init(&tasks[i]);
        tasks[i].body = panic_body;
        envelopes[i] = envelope_for(&tasks[i], 0);
    }
    for (int round = 1; round <= 100; round++) {
        for (int i = 0; i < COUNT; i++) {
            CHECK_STATUS(weir_pool_send(pool, envelopes[i]), WEIR_OK);
        }
        for (int i = 0; i < COUNT; i++) {
            counter_wait(&tasks[i].outcomes, round);
            CHECK_STATUS(atomic_load(&tasks[i].last_status), WEIR_EPANIC);
        }
    }
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(pool).runs, ==, COUNT * 100);
    weir_pool_free(pool);
    for (int i = 0; i < COUNT; i++) {
        weir_envelope_unref(envelopes[i]);
        task_fini(&tasks[i]);
    }
}

static void panic_outside(void *arg)
{
    weir_panic(arg, "lost");
}

static int panic_elsewhere(weir_context *context, struct task *task)
{
    (void)task;
    test_join(test_start(panic_outside, context));
    return WEIR_OK;
}

static void run_panic_elsewhere(void *arg)
{
    struct task task;
    (void)arg;
    task_init(&task);
    task.body = panic_elsewhere;
    weir_pool *pool = logging_pool(NULL, 1);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
}

TEST(elsewhere, "a panic on another thread than the worker's ends the program")
{
    test_must_abort(run_panic_elsewhere, NULL, "is for the worker's own thread");
}

static int fail(weir_context *context, struct task *task)
{
    (void)context;
    (void)task;
    return WEIR_EUSER;
}

static int panic_after(weir_context *context, weir_envelope *envelope, int status, void *payload)
{
    (void)envelope;
    (void)payload;
    CHECK_INT(status, ==, WEIR_EUSER);
    weir_panic(context, "after all");
}

static int64_t note_message(weir_context *context, weir_envelope *envelope,
                            const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)payload;
    CHECK_INT(failure->status, ==, WEIR_EUSER);
    CHECK_STRING(failure->message, "");
    return WEIR_DROP;
}

TEST(after_failure, "the message of an after hook's panic is none of a run that failed without one")
{
    struct task task;
    task_init(&task);
    task.body = fail;
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.payload = &task;
    options.invoke = task_invoke;
    options.outcome = task_outcome;
    options.after = panic_after;
    options.failure = note_message;
    options.flags = WEIR_ENVELOPE_AFTER_ALWAYS;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&task.outcomes, 1);
    CHECK_STATUS(atomic_load(&task.last_status), WEIR_EUSER);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    task_fini(&task);
}
