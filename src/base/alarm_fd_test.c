/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/alarm_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <weir/duration.h>

#include "base/time.h"
#include "support/harness.h"

static struct weiri_alarm_fd alarm_new(void)
{
    struct weiri_alarm_fd alarm = WEIRI_ALARM_FD_INIT;
    CHECK(alarm.fd < 0);
    CHECK_STATUS(weiri_alarm_fd_open(&alarm), WEIR_OK);
    CHECK(alarm.fd >= 0);
    return alarm;
}

static bool is_readable(const struct weiri_alarm_fd *alarm, int wait_ms)
{
    struct pollfd poller = {.fd = alarm->fd, .events = POLLIN};
    return poll(&poller, 1, wait_ms) == 1 && (poller.revents & POLLIN) != 0;
}

TEST(past, "set to a time that has passed it is readable at once, and stays so until set anew")
{
    static const int64_t passed[] = {INT64_MIN, -1, 0, 1};
    struct weiri_alarm_fd alarm = alarm_new();
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        CHECK(!is_readable(&alarm, 0));
        weiri_alarm_fd_set(&alarm, passed[i]);
        CHECK(is_readable(&alarm, -1));
        CHECK(is_readable(&alarm, 0));
        weiri_alarm_fd_set(&alarm, INT64_MAX);
    }
    CHECK(!is_readable(&alarm, 0));
    weiri_alarm_fd_close(&alarm);
    CHECK(alarm.fd < 0);
    weiri_alarm_fd_close(&alarm);
}

TEST(later, "it becomes readable at its time and not before")
{
    struct weiri_alarm_fd alarm = alarm_new();
    int64_t time_ns = weiri_monotonic_now() + WEIR_MS(3);
    weiri_alarm_fd_set(&alarm, time_ns);
    CHECK(is_readable(&alarm, -1));
    CHECK_INT(weiri_monotonic_now(), >=, time_ns);
    weiri_alarm_fd_set(&alarm, weiri_monotonic_now() + WEIR_SECONDS(86400));
    CHECK(!is_readable(&alarm, 0));
    weiri_alarm_fd_set(&alarm, 0);
    CHECK(is_readable(&alarm, -1));
    weiri_alarm_fd_close(&alarm);
}

TEST(descriptors, "without a descriptor left it is WEIR_EIO; the one it has is closed by exec")
{
    struct weiri_alarm_fd alarm = alarm_new();
    CHECK((fcntl(alarm.fd, F_GETFD) & FD_CLOEXEC) != 0);
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    struct rlimit none = {0, limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    struct weiri_alarm_fd other = WEIRI_ALARM_FD_INIT;
    CHECK_STATUS(weiri_alarm_fd_open(&other), WEIR_EIO);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    CHECK(other.fd < 0);
    weiri_alarm_fd_close(&alarm);
}
