/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a handler tells of its run. */

#include "base/time.h"
#include "jobs/consume/consumer.h"

const char weiri_task_key = 0;

const struct weir_job *weir_job_of(weir_context *context)
{
    const struct weiri_task *task = weir_context_get(context, &weiri_task_key);
    return task == NULL ? NULL : &task->reservation->job;
}

/* Keeps the last bytes, from the start of a character on. A byte 10xxxxxx continues one; text that
 * is not UTF-8 is cut in spite of it. */
static void keep_tail(char tail[WEIR_TAIL_SIZE], const char *bytes, size_t size)
{
    size_t from = size < WEIR_TAIL_SIZE ? 0 : size - (WEIR_TAIL_SIZE - 1);
    for (int i = 0; from > 0 && i < 3 && from < size && ((unsigned char)bytes[from] & 0xc0) == 0x80;
         i++) {
        from++;
    }
    size_t kept = size - from;
    for (size_t i = 0; i < kept; i++) {
        tail[i] = bytes[from + i] == '\0' ? '?' : bytes[from + i];
    }
    tail[kept] = '\0';
}

enum weir_status weir_job_describe(weir_context *context, const struct weir_run_details *details)
{
    struct weiri_task *task = weir_context_get(context, &weiri_task_key);
    if (task == NULL || details == NULL || (details->tail == NULL && details->tail_size > 0) ||
        details->retry_ns < 0) {
        return WEIR_EINVAL;
    }
    struct weiri_run *run = &task->run;
    run->exit_status = details->exit_status;
    run->signal = details->signal;
    run->retry_ns = details->retry_ns;
    keep_tail(run->tail, details->tail, details->tail_size);
    return WEIR_OK;
}

/* The fetcher writes it with a touch, but no two within WEIRI_PROGRESS_NS. */
enum weir_status weir_job_progress(weir_context *context, int32_t percent)
{
    struct weiri_task *task = weir_context_get(context, &weiri_task_key);
    if (task == NULL) {
        return WEIR_EINVAL;
    }
    if (percent < 0 || percent > 100) {
        return WEIR_ERANGE;
    }
    weir_consumer *consumer = task->consumer;
    weiri_mutex_lock(&consumer->mutex);
    task->progress = percent + 1;
    task->touch_ns =
        weiri_time_earlier(task->touch_ns, weiri_time_add(task->touched_ns, WEIRI_PROGRESS_NS));
    weiri_fetcher_notify_and_unlock(consumer, task->touch_ns < consumer->wake_ns);
    return WEIR_OK;
}
