/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Runs isolated tasks with src/isolate, and turns their results into statuses. */
#include "pool/run.h"

#include <string.h>

#include "context/panic.h"
#include "isolate/isolate.h"

_Static_assert(WEIRI_ISOLATED_TEXT_SIZE == WEIRI_MESSAGE_SIZE, "no message is cut");
_Static_assert(WEIRI_ISOLATED_TEXT_SIZE == WEIR_EXPLANATION_SIZE, "no explanation is cut");

static int invoke(void *arg)
{
    weir_context *context = arg;
    return context->envelope->options.invoke(context, context->envelope->options.payload);
}

/* A panic in the task's process. The program learns of it as a result. */
static void end_process(const weir_context *context, const char *message, void *const *frames,
                        int count)
{
    (void)context;
    (void)frames;
    (void)count;
    weiri_isolated_panic(message);
}

/* In the task's process. The task gets a context of its own: another thread may have held the
 * pool's mutex at the fork, and the descriptor is the program's. */
static int invoke_in_child(void *arg)
{
    const weir_context *from = arg;
    struct weiri_mutex mutex;
    struct weiri_contexts contexts;
    weir_context context;
    weiri_mutex_init(&mutex);
    weiri_contexts_init(&contexts, from->contexts->clock, &mutex);
    contexts.pool = from->contexts->pool;
    contexts.hides_pool = from->contexts->hides_pool;
    contexts.allocator = from->contexts->allocator;
    contexts.panicked = end_process;
    weiri_context_init(&context, &contexts);
    context.thread = from->thread; /* this thread is the fork's copy of it */
    context.worker = from->worker;
    context.values = from->values;
    weiri_context_describe(&context, from->envelope, from->attempt, from->due_ns);
    context.run_deadline_ns = from->run_deadline_ns;
    atomic_init(&context.deadline_ns, from->run_deadline_ns);
    memcpy(context.explanation, from->explanation, sizeof(context.explanation));
    int status = weiri_guarded(&context, invoke, &context);
    weiri_isolated_explain(context.explanation);
    return status;
}

/* A result that is no status of the task's: notes why, and returns the status of the run. */
static int note_result(weir_context *context, const struct weiri_isolated_result *result)
{
    if (result->end == WEIRI_ISOLATED_STOPPED) {
        enum weir_status status = weir_context_check(context); /* the deadline passed? */
        return status != WEIR_OK ? (int)status : result->status;
    }
    weiri_context_note_loss(context, result->text, result->signal, result->exit_status);
    if (result->end == WEIRI_ISOLATED_LOST) {
        weiri_pool_log_panic(context, result->text, result->frames, result->frame_count);
    }
    return result->status;
}

static int invoke_isolated(weir_context *context)
{
    context->is_lost = false; /* a stamp may run the task again */
    enum weir_status status = weir_context_check(context);
    if (status != WEIR_OK) {
        return (int)status;
    }
    struct weiri_isolated_call call = {
        .isolation = context->envelope->options.isolation,
        .run = invoke_in_child,
        .arg = context,
    };
    struct weiri_isolated_result result;
    if (weir_context_fd(context, &call.stop_fd) == WEIR_OK) {
        weiri_isolated_run(&call, &result);
    } else {
        weiri_isolated_refuse(&result, "timerfd_create");
    }
    if (result.end != WEIRI_ISOLATED_RETURNED) {
        return note_result(context, &result);
    }
    memcpy(context->explanation, result.text, sizeof(context->explanation));
    return result.status;
}

int weiri_invoke(weir_context *context)
{
    return context->envelope->options.isolation != NULL ? invoke_isolated(context)
                                                        : invoke(context);
}
