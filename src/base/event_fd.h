/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_EVENT_FD_H
#define WEIRI_EVENT_FD_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alarm_fd.h"
#include "base/sync.h"

/* A file descriptor for an event loop. The library makes it readable, at once or from a time on. It
 * is an epoll of two others: the kernel keeps the time, so that no thread has to. Not thread-safe:
 * the caller's lock serialises the calls, and opening takes it. None blocks. All zero: not open. */
struct weiri_event_fd {
    bool is_open;
    bool is_ready; /* as it was set last: only a change causes a system call */
    int watched;   /* the epoll, given to the event loop */
    int event;     /* readable while is_ready */
    struct weiri_alarm_fd timer;
};

/* Opens it if it is not open: not readable, now or later, and closed by exec. The descriptors are
 * made without the mutex, which is the lock. WEIR_ENOMEM; WEIR_EIO for any other reason, such as no
 * descriptors left: then nothing was opened. */
WEIR_NODISCARD enum weir_status weiri_event_fd_open(struct weiri_event_fd *event,
                                                    struct weiri_mutex *mutex, int *ret_fd);
/* Does nothing if it is not open. */
void weiri_event_fd_close(struct weiri_event_fd *event);

/* From now on readable if is_ready, else once weiri_monotonic_now() shows time_ns (INT64_MAX:
 * never). While it is ready, another time is no change. It is open. */
void weiri_event_fd_show(struct weiri_event_fd *event, bool is_ready, int64_t time_ns);

#endif
