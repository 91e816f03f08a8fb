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

static bool open_all(struct weiri_event_fd *event)
{
    event->watched = epoll_create1(EPOLL_CLOEXEC);
    if (event->watched < 0) {
        return false;
    }
    event->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return event->event >= 0 && weiri_alarm_fd_open(&event->timer) == WEIR_OK &&
           watch(event->watched, event->event) && watch(event->watched, event->timer.fd);
}

enum weir_status weiri_event_fd_open(struct weiri_event_fd *event, int *ret_fd)
{
    if (!event->is_open) {
        struct weiri_event_fd opened = {
            .is_open = true, .watched = -1, .event = -1, .timer = WEIRI_ALARM_FD_INIT};
        if (!open_all(&opened)) {
            enum weir_status status = errno == ENOMEM ? WEIR_ENOMEM : WEIR_EIO;
            close_all(&opened);
            return status;
        }
        *event = opened;
    }
    *ret_fd = event->watched;
    return WEIR_OK;
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
