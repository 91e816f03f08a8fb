/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ALARM_FD_H
#define WEIRI_ALARM_FD_H

#include <stdint.h>

#include <weir/status.h>

/* A file descriptor that becomes readable at a time and stays so. A time that has passed makes it
 * readable at once. It is one descriptor, where base/event_fd.h needs three, but it becomes
 * unreadable only when it is set again. */
struct weiri_alarm_fd {
    int fd;          /* -1: not open */
    int64_t time_ns; /* the time that was set last */
};

#define WEIRI_ALARM_FD_INIT                                                                        \
    {                                                                                              \
        -1, INT64_MAX                                                                              \
    }

/* Set to never; closed by exec. WEIR_ENOMEM; WEIR_EIO for any other reason, such as no descriptors
 * left: then nothing was opened. */
WEIR_NODISCARD enum weir_status weiri_alarm_fd_open(struct weiri_alarm_fd *ret_alarm);
/* Does nothing if it is not open. */
void weiri_alarm_fd_close(struct weiri_alarm_fd *alarm);

/* From now on readable once weiri_monotonic_now() shows time_ns; INT64_MAX: never. Makes a system
 * call only if the time is not the one set last. Not thread-safe. Never blocks. */
void weiri_alarm_fd_set(struct weiri_alarm_fd *alarm, int64_t time_ns);

#endif
