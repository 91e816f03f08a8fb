/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/context.h"

#include <stddef.h>
#include <stdio.h>

#include "base/time.h"
#include "pool/pool.h"
#include "queue/room.h"

/* A step wakes those whose time it made due; the others need not look. */
static void on_step(struct weiri_clock_user *user)
{
    struct weiri_scope *scope = WEIRI_CONTAINER(user, struct weiri_scope, user);
    int64_t now = weir_clock_now(scope->clock);
    weiri_mutex_lock(&scope->mutex);
    struct weiri_list *end = &scope->sleepers;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        weir_context *context = WEIRI_CONTAINER(link, struct weir_context, link);
        if (context->wake_ns <= now) {
            weiri_cond_signal(&context->wake);
        }
    }
    weiri_scope_show_locked(scope);
    weiri_mutex_unlock(&scope->mutex);
}

enum weir_status weiri_scope_init_alone(struct weiri_scope *scope, weir_clock *clock)
{
    if (weiri_mutex_init(&scope->mutex) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    scope->clock = clock;
    scope->watchdog = NULL;
    weiri_list_init(&scope->sleepers);
    weiri_list_init(&scope->shown);
    atomic_init(&scope->is_cancelled, false);
    scope->user.on_step = on_step;
    return WEIR_OK;
}

enum weir_status weiri_scope_init(struct weiri_scope *scope, weir_clock *clock)
{
    enum weir_status status = weiri_scope_init_alone(scope, clock);
    if (status == WEIR_OK) {
        weiri_clock_attach(clock, &scope->user);
    }
    return status;
}

void weiri_scope_fini(struct weiri_scope *scope)
{
    weiri_clock_detach(scope->clock, &scope->user);
    weiri_mutex_fini(&scope->mutex);
}

void weiri_scope_cancel(struct weiri_scope *scope)
{
    weiri_mutex_lock(&scope->mutex);
    weiri_sync_point();
    atomic_store_explicit(&scope->is_cancelled, true, memory_order_release);
    struct weiri_list *end = &scope->sleepers;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        weiri_cond_signal(&WEIRI_CONTAINER(link, struct weir_context, link)->wake);
    }
    weiri_scope_show_locked(scope);
    weiri_mutex_unlock(&scope->mutex);
}

void weiri_scope_renew(struct weiri_scope *scope)
{
    weiri_sync_point();
    atomic_store_explicit(&scope->is_cancelled, false, memory_order_relaxed);
}

bool weiri_scope_is_cancelled(struct weiri_scope *scope)
{
    weiri_sync_point();
    return atomic_load_explicit(&scope->is_cancelled, memory_order_acquire);
}

static uint64_t run_of(const weir_context *context)
{
    weiri_sync_point();
    return atomic_load_explicit(&context->run, memory_order_relaxed);
}

bool weiri_context_is_noted(weir_context *context)
{
    weiri_sync_point();
    return context->cancelled_run != NULL &&
           weiri_run_is_noted(atomic_load_explicit(context->cancelled_run, memory_order_acquire),
                              run_of(context));
}

/* Of this run, in the one way or the other, or of all. */
bool weiri_context_is_cancelled(weir_context *context)
{
    if (weiri_scope_is_cancelled(context->scope)) {
        return true;
    }
    weiri_sync_point();
    return atomic_load_explicit(&context->is_cancelled, memory_order_acquire) ||
           weiri_context_is_noted(context);
}

enum weir_status weiri_context_init(weir_context *context, struct weiri_scope *scope)
{
    atomic_init(&context->is_cancelled, false);
    atomic_init(&context->run, 0);
    context->cancelled_run = NULL;
    context->scope = scope;
    context->pool = NULL;
    context->thread = NULL;
    context->catch.is_set = false;
    context->is_lost = false;
    context->is_isolated = false;
    weiri_context_describe(context, NULL, 1, 0);
    atomic_init(&context->deadline_ns, WEIR_FOREVER);
    atomic_init(&context->run_deadline_ns, WEIR_FOREVER);
    context->wake_ns = 0;
    weiri_list_init(&context->link);
    weiri_list_init(&context->shown_link);
    context->alarm = (struct weiri_alarm_fd)WEIRI_ALARM_FD_INIT;
    context->is_shown = false;
    weiri_values_init(&context->values);
    context->is_past_task = false;
    enum weir_status status = weiri_cond_init(&context->wake, &scope->mutex);
    if (status == WEIR_OK && scope->watchdog != NULL) {
        weiri_watchdog_add(scope->watchdog, &context->watched);
    }
    return status;
}

void weiri_context_fini(weir_context *context)
{
    if (context->scope->watchdog != NULL) {
        weiri_watchdog_remove(context->scope->watchdog, &context->watched);
    }
    weiri_alarm_fd_close(&context->alarm);
    weiri_cond_fini(&context->wake);
}

static int64_t deadline_of(weir_context *context)
{
    weiri_sync_point();
    return atomic_load_explicit(&context->deadline_ns, memory_order_relaxed);
}

static void set_deadline(weir_context *context, int64_t deadline_ns)
{
    weiri_sync_point();
    atomic_store_explicit(&context->deadline_ns, deadline_ns, memory_order_relaxed);
    if (context->is_shown) {
        weiri_context_show(context);
    }
}

/* What is being run has this limit as the watchdog sees it. */
static void set_watched(weir_context *context, int64_t limit_ns)
{
    if (context->scope->watchdog != NULL) {
        weiri_watchdog_note(context->scope->watchdog, &context->watched, limit_ns);
    }
}

void weiri_context_begin(weir_context *context, int64_t now_ns, int64_t limit_ns)
{
    atomic_store_explicit(&context->is_cancelled, false, memory_order_relaxed);
    context->is_lost = false;
    int64_t deadline = limit_ns == 0 ? WEIR_FOREVER : weiri_time_add(now_ns, limit_ns);
    set_deadline(context, deadline);
    atomic_store_explicit(&context->run_deadline_ns, deadline, memory_order_relaxed);
    context->is_past_task = false;
    if (context->scope->watchdog != NULL) {
        weiri_watchdog_begin(&context->watched);
        set_watched(context, deadline);
    }
}

static int64_t run_deadline_of(weir_context *context)
{
    return atomic_load_explicit(&context->run_deadline_ns, memory_order_relaxed);
}

bool weiri_context_is_spent(weir_context *context, int64_t now_ns)
{
    int64_t deadline = run_deadline_of(context);
    return deadline != WEIR_FOREVER && now_ns >= deadline;
}

void weiri_context_begin_phase(weir_context *context, int64_t now_ns, int64_t limit_ns)
{
    int64_t until = weiri_time_add(now_ns, limit_ns);
    int64_t deadline = run_deadline_of(context);
    int64_t limit = deadline > now_ns && deadline < until ? deadline : until;
    set_deadline(context, limit);
    set_watched(context, limit);
}

void weiri_context_end_phase(weir_context *context)
{
    int64_t deadline = run_deadline_of(context);
    set_deadline(context, deadline);
    set_watched(context, context->is_past_task ? WEIR_FOREVER : deadline);
}

void weiri_context_end_task(weir_context *context)
{
    context->is_past_task = true;
    set_watched(context, WEIR_FOREVER);
}

void weiri_context_end(weir_context *context)
{
    if (context->scope->watchdog != NULL) {
        weiri_watchdog_end(context->scope->watchdog, &context->watched);
    }
    if (context->is_shown) {
        weiri_context_hide(context);
    }
    if (weiri_values_are_in_use(&context->values)) {
        weiri_values_clear(&context->values, &context->pool->allocator);
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

weir_pool *weir_context_pool(weir_context *context)
{
    return context == NULL ? NULL : context->pool;
}

weir_envelope *weir_context_envelope(weir_context *context)
{
    return context == NULL ? NULL : context->envelope;
}

uint32_t weir_context_attempt(weir_context *context)
{
    return context == NULL ? 0 : context->attempt;
}

int64_t weir_context_due(weir_context *context)
{
    return context == NULL ? 0 : context->due_ns;
}

enum weir_status weir_context_set(weir_context *context, const void *key, void *value)
{
    if (context == NULL || key == NULL) {
        return WEIR_EINVAL;
    }
    return weiri_values_set(&context->values, &context->pool->allocator, key, value);
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
    int64_t now = weir_clock_now(context->scope->clock);
    return now < deadline ? deadline - now : 0;
}

enum weir_status weir_context_check(weir_context *context)
{
    if (context == NULL) {
        return WEIR_EINVAL;
    }
    if (weiri_context_is_cancelled(context)) {
        return WEIR_ECANCELED;
    }
    return weir_context_remaining(context) == 0 ? WEIR_ETIMEDOUT : WEIR_OK;
}

enum weir_status weir_context_sleep(weir_context *context, int64_t delay_ns)
{
    if (context == NULL) {
        return WEIR_EINVAL;
    }
    struct weiri_scope *scope = context->scope;
    if (delay_ns > 0) {
        int64_t until = weiri_time_add(weir_clock_now(scope->clock), delay_ns);
        int64_t deadline = deadline_of(context);
        until = until < deadline ? until : deadline;
        int64_t limit = weiri_clock_wait_limit(scope->clock, until);
        weiri_mutex_lock(&scope->mutex);
        /* Linked before the clock is read under the mutex: a step that this reading misses finds
         * the context here. */
        context->wake_ns = until;
        weiri_list_insert_before(&scope->sleepers, &context->link);
        while (!weiri_context_is_cancelled(context) && weir_clock_now(scope->clock) < until) {
            (void)weiri_cond_wait_until(&context->wake, limit);
        }
        weiri_list_remove(&context->link);
        weiri_mutex_unlock(&scope->mutex);
    }
    return weir_context_check(context);
}

void weir_context_cancel(weir_context *context)
{
    if (context == NULL) {
        return;
    }
    weiri_mutex_lock(&context->scope->mutex);
    weiri_sync_point();
    atomic_store_explicit(&context->is_cancelled, true, memory_order_release);
    weiri_cond_signal(&context->wake);
    weiri_scope_show_locked(context->scope);
    weiri_mutex_unlock(&context->scope->mutex);
}

void weiri_scope_cancel_run(struct weiri_scope *scope, uint64_t run)
{
    weiri_mutex_lock(&scope->mutex);
    struct weiri_list *end = &scope->sleepers;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        weir_context *context = WEIRI_CONTAINER(link, struct weir_context, link);
        if (run_of(context) == run) {
            weiri_cond_signal(&context->wake);
        }
    }
    weiri_scope_show_locked(scope);
    weiri_mutex_unlock(&scope->mutex);
}
