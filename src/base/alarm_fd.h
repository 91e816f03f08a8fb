/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ALARM_FD_H
#define WEIRI_ALARM_FD_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/status.h>

/* A file descriptor that becomes readable at a time and stays so, or at once where the time has
 * passed: a timer, whose time can be set to the past. One descriptor where base/event_fd.h takes
 * three, for what never becomes unreadable again before it is set anew. */
struct weiri_alarm_fd {
    int fd;          /* -1: not open */
    int64_t time_ns; /* what it was set to last */
};

#define WEIRI_ALARM_FD_INIT                                                                        \
    {                                                                                              \
        -1, INT64_MAX                                                                              \
    }

static inline bool weiri_alarm_fd_is_open(const struct weiri_alarm_fd *alarm)
{
    return alarm->fd >= 0;
}

/* Set to never; closed by exec. WEIR_ENOMEM; WEIR_EIO for any other reason, such as no descriptors
 * left: then nothing was opened. */
WEIR_NODISCARD enum weir_status weiri_alarm_fd_open(struct weiri_alarm_fd *ret_alarm);
/* Takes one that is not open. */
void weiri_alarm_fd_close(struct weiri_alarm_fd *alarm);

/* From now on readable once weiri_monotonic_now() shows time_ns; INT64_MAX: never. A system call
 * where that is new. Not thread-safe. Never blocks. */
void weiri_alarm_fd_set(struct weiri_alarm_fd *alarm, int64_t time_ns);

#endif
