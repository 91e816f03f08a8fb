/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_EVENT_FD_H
#define WEIRI_EVENT_FD_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/status.h>

/* One file descriptor that an event loop watches, and that this side makes readable, at once or
 * from a time on. It is an epoll of two others, so that the kernel keeps the time and no thread has
 * to.
 */
struct weiri_event_fd {
    int watched; /* the epoll; what the loop gets */
    int event;   /* readable while something is to be done at once */
    int timer;   /* readable from the time on */

    /* What the kernel was told last, so that it is told only what is new. */
    bool is_ready;
    int64_t time_ns; /* INT64_MAX: never */
};

/* Not readable, now or later. All descriptors are closed by exec. WEIR_ENOMEM; WEIR_EIO for any
 * other reason, such as no descriptors left: then nothing was opened. */
WEIR_NODISCARD enum weir_status weiri_event_fd_open(struct weiri_event_fd *ret_event);
void weiri_event_fd_close(struct weiri_event_fd *event);

/* From now on readable if is_ready, else once weiri_monotonic_now() shows time_ns (INT64_MAX:
 * never). Makes system calls for what changes; while it is ready, the time is none of that. Not
 * thread-safe: the caller's lock keeps two of these calls apart. Never blocks. */
void weiri_event_fd_show(struct weiri_event_fd *event, bool is_ready, int64_t time_ns);

#endif
