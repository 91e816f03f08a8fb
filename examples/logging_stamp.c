/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A stamp of the pool that logs every run of every envelope: its type, its status and its duration.
 * A manual clock makes the output the same each time. */
#include <stdio.h>

#include <weir/weir.h>

static int log_run(weir_context *context, weir_envelope *envelope, const weir_next *next, void *arg)
{
    weir_clock *clock = (weir_clock *)arg;
    int64_t start_ns = weir_clock_now(clock);
    int status = weir_next_run(next, context); /* the other stamps and the task */
    char took[32];
    (void)weir_duration_format(weir_clock_now(clock) - start_ns, took, sizeof(took));
    printf("%s/%llu attempt %u: %s in %s\n", weir_envelope_type(envelope),
           (unsigned long long)weir_envelope_id(envelope), (unsigned)weir_context_attempt(context),
           weir_status_text(status), took);
    return status;
}

struct task {
    weir_clock *clock;
    int64_t takes_ns;
    int status;
};

static int run_task(weir_context *context, void *payload)
{
    const struct task *task = (const struct task *)payload;
    (void)context;
    enum weir_status status = weir_clock_advance(task->clock, task->takes_ns);
    return status != WEIR_OK ? (int)status : task->status;
}

int main(void)
{
    weir_clock *clock = NULL;
    weir_pool *pool = NULL;
    int failed = weir_clock_manual_new(0, NULL, &clock) != WEIR_OK;
    struct weir_stamp stamps[] = {{log_run, clock}};
    struct weir_pool_options options = {0};
    options.workers = 1;
    options.clock = clock;
    options.stamps = stamps;
    options.stamp_count = 1;
    failed = failed || weir_pool_new(&options, &pool, NULL);

    struct task tasks[] = {{clock, WEIR_MS(20), WEIR_OK},
                           {clock, WEIR_SECONDS(3), WEIR_ETIMEDOUT},
                           {clock, 0, WEIR_EIO}};
    for (int i = 0; i < 3 && !failed; i++) {
        struct weir_envelope_options of_envelope = {0};
        of_envelope.id = (uint64_t)i + 1;
        of_envelope.type = "sync";
        of_envelope.payload = &tasks[i];
        of_envelope.invoke = run_task;
        weir_envelope *envelope;
        failed = weir_envelope_new(&of_envelope, &envelope, NULL) != WEIR_OK;
        if (!failed) {
            failed = weir_pool_send(pool, envelope) != WEIR_OK; /* waits for the start */
            weir_envelope_unref(envelope);
        }
    }
    failed =
        failed || weir_pool_start(pool) || weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    weir_pool_free(pool);
    weir_clock_free(clock);
    return failed;
}
