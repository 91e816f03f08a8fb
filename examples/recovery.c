/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A task that panics deep down, is tried again, and succeeds: the worker lives on. */

#include <stdio.h>
#include <string.h>
#include <weir/weir.h>

/* Deep in calls that cannot return a status. */
static void import_row(weir_context *context, int row)
{
    if (row == 17 && weir_context_attempt(context) < 3) {
        weir_panic(context, "row %d has no name", row);
    }
}

static int import(weir_context *context, void *payload)
{
    int *imported = payload;
    for (*imported = 0; *imported < 20; ++*imported) {
        import_row(context, *imported);
    }
    return WEIR_OK;
}

static int64_t decide(weir_context *context, weir_envelope *envelope,
                      const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    printf("attempt %u ended after %d rows: %s: %s\n", (unsigned)failure->attempt, *(int *)payload,
           weir_status_text(failure->status), failure->message);
    return 0;
}

static void celebrate(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)envelope;
    printf("attempt %u imported %d rows\n", (unsigned)weir_context_attempt(context),
           *(int *)payload);
}

/* Where a panic leaves its message and its stack. */
static void log_line(enum weir_log_level level, const char *message, void *arg)
{
    (void)arg;
    if (level == WEIR_LOG_ERROR && strncmp(message, "  #", 3) != 0) {
        printf("log: %s\n", message);
    }
}

static enum weir_status run(weir_pool *pool, weir_envelope *envelope)
{
    enum weir_status status = weir_pool_start(pool);
    if (status == WEIR_OK) {
        status = weir_pool_send(pool, envelope);
    }
    if (status == WEIR_OK) {
        status = weir_pool_wait_idle(pool, WEIR_FOREVER); /* its retries too */
    }
    return status;
}

int main(void)
{
    int imported = 0;
    struct weir_envelope_options options = {0};
    options.id = 1;
    options.type = "import";
    options.payload = &imported;
    options.invoke = import;
    options.success = celebrate;
    options.failure = decide;
    options.retry.attempts = 5;
    struct weir_pool_options of_pool = {0};
    of_pool.workers = 1;
    of_pool.log = log_line;
    weir_envelope *envelope = NULL;
    weir_pool *pool = NULL;
    enum weir_status status = weir_envelope_new(&options, &envelope, NULL);
    if (status == WEIR_OK) {
        status = weir_pool_new(&of_pool, &pool, NULL);
    }
    if (status == WEIR_OK) {
        status = run(pool, envelope);
    }
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    return status == WEIR_OK ? 0 : 1;
}
