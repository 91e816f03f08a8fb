/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/event_fd.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/panic.h"

#define NS_PER_SECOND INT64_C(1000000000)

static void close_if_open(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

void weiri_event_fd_close(struct weiri_event_fd *event)
{
    close_if_open(event->watched);
    close_if_open(event->event);
    close_if_open(event->timer);
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
    if (event->event < 0) {
        return false;
    }
    event->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return event->timer >= 0 && watch(event->watched, event->event) &&
           watch(event->watched, event->timer);
}

enum weir_status weiri_event_fd_open(struct weiri_event_fd *ret_event)
{
    struct weiri_event_fd event = {
        .watched = -1, .event = -1, .timer = -1, .is_ready = false, .time_ns = INT64_MAX};
    if (!open_all(&event)) {
        enum weir_status status = errno == ENOMEM ? WEIR_ENOMEM : WEIR_EIO;
        weiri_event_fd_close(&event);
        return status;
    }
    *ret_event = event;
    return WEIR_OK;
}

/* None of these calls can fail, since no other code has the descriptors. */

static void set_ready(struct weiri_event_fd *event, bool is_ready)
{
    uint64_t count = 1;
    ssize_t size = is_ready ? write(event->event, &count, sizeof(count))
                            : read(event->event, &count, sizeof(count));
    WEIRI_ASSERT(size == (ssize_t)sizeof(count));
    event->is_ready = is_ready;
}

/* A timer that is set again is no longer readable for its old time. */
static void set_time(struct weiri_event_fd *event, int64_t time_ns)
{
    struct itimerspec at = {.it_value = {.tv_sec = 0, .tv_nsec = 0}};
    if (time_ns != INT64_MAX) {
        int64_t some_ns = time_ns > 0 ? time_ns : 1; /* 0 would be never */
        at.it_value.tv_sec = (time_t)(some_ns / NS_PER_SECOND);
        at.it_value.tv_nsec = (long)(some_ns % NS_PER_SECOND);
    }
    int result = timerfd_settime(event->timer, TFD_TIMER_ABSTIME, &at, NULL);
    WEIRI_ASSERT(result == 0);
    event->time_ns = time_ns;
}

void weiri_event_fd_show(struct weiri_event_fd *event, bool is_ready, int64_t time_ns)
{
    if (!is_ready && time_ns != event->time_ns) {
        set_time(event, time_ns);
    }
    if (is_ready != event->is_ready) {
        set_ready(event, is_ready);
    }
}
