/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_EVENT_FD_H
#define WEIRI_EVENT_FD_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/status.h>

/* A file descriptor for an event loop. The library makes it readable, at once or from a time on. It
 * is an epoll of two others: the kernel keeps the time, so that no thread has to. */
struct weiri_event_fd {
    int watched; /* the epoll, given to the event loop */
    int event;   /* readable while is_ready */
    int timer;   /* readable from the time on */

    /* The state that was set last. Only differences from it cause system calls. */
    bool is_ready;
    int64_t time_ns; /* INT64_MAX: never */
};

/* Not readable, now or later. All descriptors are closed by exec. WEIR_ENOMEM; WEIR_EIO for any
 * other reason, such as no descriptors left: then nothing was opened. */
WEIR_NODISCARD enum weir_status weiri_event_fd_open(struct weiri_event_fd *ret_event);
void weiri_event_fd_close(struct weiri_event_fd *event);

/* From now on readable if is_ready, else once weiri_monotonic_now() shows time_ns (INT64_MAX:
 * never). Makes system calls only for changes. While it is ready, another time is no change. Not
 * thread-safe: the caller's lock serialises the calls. Never blocks. */
void weiri_event_fd_show(struct weiri_event_fd *event, bool is_ready, int64_t time_ns);

#endif
