/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/context.h"

#include <stddef.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/panic.h"
#include "base/time.h"

/* The descriptor is a timer of the kernel's, set to the deadline. A cancellation sets it to a time
 * that has passed; so does a step of a manual clock past the deadline, because the kernel knows
 * nothing of that clock. */
static void show_locked(weir_context *context)
{
    weir_clock *clock = context->contexts->clock;
    weiri_sync_point();
    int64_t deadline = atomic_load_explicit(&context->deadline_ns, memory_order_relaxed);
    bool is_over = atomic_load_explicit(&context->is_cancelled, memory_order_relaxed) ||
                   weir_clock_now(clock) >= deadline;
    weiri_alarm_fd_set(&context->alarm, is_over ? 0 : weiri_clock_wait_limit(clock, deadline));
}

void weiri_contexts_init(struct weiri_contexts *contexts, weir_clock *clock,
                         struct weiri_mutex *mutex)
{
    *contexts = (struct weiri_contexts){.clock = clock, .mutex = mutex};
    weiri_list_init(&contexts->sleepers);
    weiri_list_init(&contexts->shown);
}

void weiri_contexts_step_locked(struct weiri_contexts *contexts)
{
    int64_t now = weir_clock_now(contexts->clock);
    struct weiri_list *end = &contexts->sleepers;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        weir_context *context = WEIRI_CONTAINER(link, struct weir_context, sleep_link);
        if (context->wake_ns <= now) {
            weiri_cond_signal(&context->wake);
        }
    }
    end = &contexts->shown;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        show_locked(WEIRI_CONTAINER(link, struct weir_context, shown_link));
    }
    if (contexts->watchdog != NULL) {
        weiri_watchdog_step_locked(contexts->watchdog);
    }
}

void weiri_context_init(weir_context *context, struct weiri_contexts *contexts)
{
    *context = (struct weir_context){.contexts = contexts, .attempt = 1};
    context->run_deadline_ns = WEIR_FOREVER;
    atomic_init(&context->deadline_ns, WEIR_FOREVER);
    atomic_init(&context->is_cancelled, false);
    weiri_list_init(&context->sleep_link);
    weiri_list_init(&context->shown_link);
    weiri_list_init(&context->watched.link);
    context->alarm = (struct weiri_alarm_fd)WEIRI_ALARM_FD_INIT;
    weiri_cond_init(&context->wake, contexts->mutex);
}

void weiri_context_fini(weir_context *context)
{
    weiri_alarm_fd_close(&context->alarm);
    weiri_cond_fini(&context->wake);
}

void weiri_context_describe(weir_context *context, weir_envelope *envelope, uint32_t attempt,
                            int64_t due_ns)
{
    context->envelope = envelope;
    context->attempt = attempt;
    context->due_ns = due_ns;
    context->explanation[0] = '\0';
    context->is_lost = false;
    context->is_past_task = false;
    weiri_sync_point();
    atomic_store_explicit(&context->is_cancelled, false, memory_order_relaxed);
}

static int64_t deadline_of(const weir_context *context)
{
    weiri_sync_point();
    return atomic_load_explicit(&context->deadline_ns, memory_order_relaxed);
}

/* Sets the time limit of the task or hook, and the limit that the watchdog sees. */
static void set_deadline(weir_context *context, int64_t deadline_ns, int64_t watched_ns)
{
    struct weiri_contexts *contexts = context->contexts;
    weiri_sync_point();
    atomic_store_explicit(&context->deadline_ns, deadline_ns, memory_order_relaxed);
    if (!context->is_shown && contexts->watchdog == NULL) {
        return;
    }
    weiri_mutex_lock(contexts->mutex);
    if (context->is_shown) {
        show_locked(context);
    }
    if (contexts->watchdog != NULL) {
        weiri_watchdog_watch_locked(contexts->watchdog, &context->watched, watched_ns);
    }
    weiri_mutex_unlock(contexts->mutex);
}

void weiri_context_begin(weir_context *context, int64_t now_ns, int64_t limit_ns)
{
    context->run_deadline_ns = limit_ns == 0 ? WEIR_FOREVER : weiri_time_add(now_ns, limit_ns);
    context->watched.is_told = false;
    set_deadline(context, context->run_deadline_ns, context->run_deadline_ns);
}

bool weiri_context_is_spent(const weir_context *context, int64_t now_ns)
{
    return context->run_deadline_ns != WEIR_FOREVER && now_ns >= context->run_deadline_ns;
}

void weiri_context_begin_phase(weir_context *context, int64_t now_ns, int64_t limit_ns)
{
    int64_t until = weiri_time_add(now_ns, limit_ns);
    int64_t deadline = context->run_deadline_ns;
    int64_t limit = deadline > now_ns && deadline < until ? deadline : until;
    set_deadline(context, limit, limit);
}

void weiri_context_end_phase(weir_context *context)
{
    int64_t deadline = context->run_deadline_ns;
    set_deadline(context, deadline, context->is_past_task ? WEIR_FOREVER : deadline);
}

void weiri_context_end_task(weir_context *context)
{
    context->is_past_task = true;
    if (context->contexts->watchdog != NULL) {
        set_deadline(context, context->run_deadline_ns, WEIR_FOREVER);
    }
}

void weiri_context_end(weir_context *context)
{
    struct weiri_contexts *contexts = context->contexts;
    if (context->is_shown || contexts->watchdog != NULL) {
        weiri_mutex_lock(contexts->mutex);
        weiri_list_remove(&context->shown_link);
        context->is_shown = false;
        if (contexts->watchdog != NULL) {
            weiri_watchdog_end_locked(contexts->watchdog, &context->watched);
        }
        weiri_mutex_unlock(contexts->mutex);
    }
    if (context->values.count > 0 || context->values.more != NULL) {
        weiri_values_clear(&context->values, context->contexts->allocator);
    }
}

void weiri_context_note_loss(weir_context *context, const char *message, int signal,
                             int exit_status)
{
    if (!context->is_lost) {
        context->is_lost = true;
        context->signal = signal;
        context->exit_status = exit_status;
        (void)snprintf(context->message, sizeof(context->message), "%s", message);
    }
}

static bool is_cancelled(const weir_context *context)
{
    weiri_sync_point();
    return atomic_load_explicit(&context->is_cancelled, memory_order_acquire);
}

void weiri_context_cancel_locked(weir_context *context)
{
    weiri_sync_point();
    atomic_store_explicit(&context->is_cancelled, true, memory_order_release);
    weiri_cond_signal(&context->wake);
    if (context->is_shown) {
        show_locked(context);
    }
}

void weir_context_cancel(weir_context *context)
{
    if (context != NULL) {
        weiri_mutex_lock(context->contexts->mutex);
        weiri_context_cancel_locked(context);
        weiri_mutex_unlock(context->contexts->mutex);
    }
}

weir_pool *weir_context_pool(weir_context *context)
{
    return context == NULL || context->contexts->hides_pool ? NULL : context->contexts->pool;
}

weir_envelope *weir_context_envelope(weir_context *context)
{
    return context == NULL ? NULL : context->envelope;
}

uint32_t weir_context_attempt(weir_context *context)
{
    return context == NULL ? 0 : context->attempt;
}

uint32_t weir_context_worker(weir_context *context)
{
    return context == NULL ? 0 : context->worker;
}

int64_t weir_context_due(weir_context *context)
{
    return context == NULL ? 0 : context->due_ns;
}

enum weir_status weir_context_explain(weir_context *context, const char *text)
{
    if (context == NULL || text == NULL) {
        return WEIR_EINVAL;
    }
    (void)snprintf(context->explanation, sizeof(context->explanation), "%s", text);
    return WEIR_OK;
}

enum weir_status weir_context_set(weir_context *context, const void *key, void *value)
{
    if (context == NULL || key == NULL) {
        return WEIR_EINVAL;
    }
    return weiri_values_set(&context->values, context->contexts->allocator, key, value);
}

void *weir_context_get(weir_context *context, const void *key)
{
    return context == NULL ? NULL : weiri_values_get(&context->values, key);
}

int64_t weir_context_remaining(weir_context *context)
{
    if (context == NULL) {
        return 0;
    }
    int64_t deadline = deadline_of(context);
    if (deadline == WEIR_FOREVER) {
        return WEIR_FOREVER;
    }
    int64_t now = weir_clock_now(context->contexts->clock);
    return now < deadline ? deadline - now : 0;
}

enum weir_status weir_context_check(weir_context *context)
{
    if (context == NULL) {
        return WEIR_EINVAL;
    }
    if (is_cancelled(context)) {
        return WEIR_ECANCELED;
    }
    return weir_context_remaining(context) == 0 ? WEIR_ETIMEDOUT : WEIR_OK;
}

enum weir_status weir_context_sleep(weir_context *context, int64_t delay_ns)
{
    if (context == NULL) {
        return WEIR_EINVAL;
    }
    struct weiri_contexts *contexts = context->contexts;
    if (delay_ns > 0) {
        int64_t until = weiri_time_add(weir_clock_now(contexts->clock), delay_ns);
        int64_t deadline = deadline_of(context);
        until = until < deadline ? until : deadline;
        int64_t limit = weiri_clock_wait_limit(contexts->clock, until);
        weiri_mutex_lock(contexts->mutex);
        /* In the list before the clock is read under the mutex: a step that this reading misses
         * finds the context there. */
        context->wake_ns = until;
        weiri_list_insert_before(&contexts->sleepers, &context->sleep_link);
        while (!is_cancelled(context) && weir_clock_now(contexts->clock) < until) {
            (void)weiri_cond_wait_until(&context->wake, limit);
        }
        weiri_list_remove(&context->sleep_link);
        weiri_mutex_unlock(contexts->mutex);
    }
    return weir_context_check(context);
}

enum weir_status weir_context_fd(weir_context *context, int *ret_fd)
{
    if (context == NULL || ret_fd == NULL) {
        return WEIR_EINVAL;
    }
    if (context->alarm.fd < 0) {
        enum weir_status status = weiri_alarm_fd_open(&context->alarm);
        if (status != WEIR_OK) {
            return status;
        }
    }
    if (!context->is_shown) {
        struct weiri_contexts *contexts = context->contexts;
        weiri_mutex_lock(contexts->mutex);
        /* In the list before the clock is read: a step that this reading misses sets it anew. */
        weiri_list_insert_before(&contexts->shown, &context->shown_link);
        context->is_shown = true;
        show_locked(context);
        weiri_mutex_unlock(contexts->mutex);
    }
    *ret_fd = context->alarm.fd;
    return WEIR_OK;
}
