/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/event_fd.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/panic.h"

static void close_all(struct weiri_event_fd *event)
{
    if (event->watched >= 0) {
        (void)close(event->watched);
    }
    if (event->event >= 0) {
        (void)close(event->event);
    }
    weiri_alarm_fd_close(&event->timer);
}

static bool watch(int watched, int fd)
{
    struct epoll_event wanted = {.events = EPOLLIN};
    return epoll_ctl(watched, EPOLL_CTL_ADD, fd, &wanted) == 0;
}

static enum weir_status make(struct weiri_event_fd *ret_event)
{
    struct weiri_event_fd made = {.is_open = true, .event = -1, .timer = WEIRI_ALARM_FD_INIT};
    made.watched = epoll_create1(EPOLL_CLOEXEC);
    made.event = made.watched < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made.event < 0 || weiri_alarm_fd_open(&made.timer) != WEIR_OK ||
        !watch(made.watched, made.event) || !watch(made.watched, made.timer.fd)) {
        enum weir_status status = errno == ENOMEM ? WEIR_ENOMEM : WEIR_EIO;
        close_all(&made);
        return status;
    }
    *ret_event = made;
    return WEIR_OK;
}

enum weir_status weiri_event_fd_open(struct weiri_event_fd *event, struct weiri_mutex *mutex,
                                     int *ret_fd)
{
    struct weiri_event_fd made = {.is_open = false};
    enum weir_status status = WEIR_OK;
    weiri_mutex_lock(mutex);
    if (!event->is_open) {
        weiri_mutex_unlock(mutex);
        status = make(&made);
        weiri_mutex_lock(mutex);
    }
    /* Another thread may have opened it meanwhile. */
    if (!event->is_open && made.is_open) {
        *event = made;
        made.is_open = false;
    }
    if (event->is_open) {
        *ret_fd = event->watched;
        status = WEIR_OK;
    }
    weiri_mutex_unlock(mutex);
    weiri_event_fd_close(&made);
    return status;
}

void weiri_event_fd_close(struct weiri_event_fd *event)
{
    if (event->is_open) {
        close_all(event);
        event->is_open = false;
    }
}

void weiri_event_fd_show(struct weiri_event_fd *event, bool is_ready, int64_t time_ns)
{
    if (!is_ready) {
        weiri_alarm_fd_set(&event->timer, time_ns);
    }
    if (is_ready != event->is_ready) {
        /* It cannot fail, since no other code has the descriptor. */
        uint64_t count = 1;
        ssize_t size = is_ready ? write(event->event, &count, sizeof(count))
                                : read(event->event, &count, sizeof(count));
        WEIRI_ASSERT(size == (ssize_t)sizeof(count));
        event->is_ready = is_ready;
    }
}
