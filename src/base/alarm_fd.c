/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/alarm_fd.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/panic.h"

#define NS_PER_SECOND INT64_C(1000000000)

enum weir_status weiri_alarm_fd_open(struct weiri_alarm_fd *ret_alarm)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0) {
        return errno == ENOMEM ? WEIR_ENOMEM : WEIR_EIO;
    }
    *ret_alarm = (struct weiri_alarm_fd){fd, INT64_MAX};
    return WEIR_OK;
}

void weiri_alarm_fd_close(struct weiri_alarm_fd *alarm)
{
    if (alarm->fd >= 0) {
        (void)close(alarm->fd);
        alarm->fd = -1;
    }
}

void weiri_alarm_fd_set(struct weiri_alarm_fd *alarm, int64_t time_ns)
{
    if (time_ns == alarm->time_ns) {
        return;
    }
    struct itimerspec at = {.it_value = {.tv_sec = 0, .tv_nsec = 0}};
    if (time_ns != INT64_MAX) {
        int64_t some_ns = time_ns > 0 ? time_ns : 1; /* 0 would be never */
        at.it_value.tv_sec = (time_t)(some_ns / NS_PER_SECOND);
        at.it_value.tv_nsec = (long)(some_ns % NS_PER_SECOND);
    }
    /* It cannot fail, since no other code has the descriptor. */
    int result = timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &at, NULL);
    WEIRI_ASSERT(result == 0);
    alarm->time_ns = time_ns;
}
