/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A context's file descriptor: a timer of the kernel's, set to the deadline, so that none of ours
 * has to keep the time. Cancelled, it is set to a time that has passed; and so it is when a step of
 * a manual clock, of which the kernel knows nothing, passes the deadline. */

#include "pool/context.h"

/* Not before the context is linked in the scope's list, so that what comes after this look is
 * followed by another one. */
static void show_locked(weir_context *context)
{
    weir_clock *clock = context->scope->clock;
    weiri_sync_point();
    int64_t deadline = atomic_load_explicit(&context->deadline_ns, memory_order_relaxed);
    bool is_over = weiri_context_is_cancelled(context) || weir_clock_now(clock) >= deadline;
    weiri_alarm_fd_set(&context->alarm, is_over ? 0 : weiri_clock_wait_limit(clock, deadline));
}

void weiri_scope_show_locked(struct weiri_scope *scope)
{
    struct weiri_list *end = &scope->shown;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        show_locked(WEIRI_CONTAINER(link, struct weir_context, shown_link));
    }
}

void weiri_context_show(weir_context *context)
{
    weiri_mutex_lock(&context->scope->mutex);
    show_locked(context);
    weiri_mutex_unlock(&context->scope->mutex);
}

void weiri_context_hide(weir_context *context)
{
    weiri_mutex_lock(&context->scope->mutex);
    weiri_list_remove(&context->shown_link);
    context->is_shown = false;
    weiri_mutex_unlock(&context->scope->mutex);
}

enum weir_status weir_context_fd(weir_context *context, int *ret_fd)
{
    if (context == NULL || ret_fd == NULL) {
        return WEIR_EINVAL;
    }
    if (!weiri_alarm_fd_is_open(&context->alarm)) {
        enum weir_status status = weiri_alarm_fd_open(&context->alarm);
        if (status != WEIR_OK) {
            return status;
        }
    }
    if (!context->is_shown) {
        weiri_mutex_lock(&context->scope->mutex);
        weiri_list_insert_before(&context->scope->shown, &context->shown_link);
        context->is_shown = true;
        show_locked(context);
        weiri_mutex_unlock(&context->scope->mutex);
    }
    *ret_fd = context->alarm.fd;
    return WEIR_OK;
}
