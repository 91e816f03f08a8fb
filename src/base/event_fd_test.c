/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/event_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/time.h"

#include "support/harness.h"

/* Of all events. */
static struct weiri_mutex mutex;

#define HOUR (INT64_C(3600) * 1000000000)

static bool is_readable(const struct weiri_event_fd *event)
{
    struct pollfd pollfd = {.fd = event->watched, .events = POLLIN};
    int count = poll(&pollfd, 1, 0);
    CHECK_INT(count, >=, 0);
    return count == 1;
}

/* Returns once it is readable. If it never is, the test's time limit ends the test. */
static void wait_readable(const struct weiri_event_fd *event)
{
    struct pollfd pollfd = {.fd = event->watched, .events = POLLIN};
    CHECK_INT(poll(&pollfd, 1, -1), ==, 1);
}

TEST(shows_readiness, "it is readable while set so, however often it is set")
{
    struct weiri_event_fd event = {.is_open = false};
    int fd;
    CHECK_STATUS(weiri_event_fd_open(&event, &mutex, &fd), WEIR_OK);
    CHECK(!is_readable(&event));
    for (int round = 0; round < 3; round++) {
        weiri_event_fd_show(&event, true, INT64_MAX);
        CHECK(is_readable(&event));
        weiri_event_fd_show(&event, true, INT64_MAX);
        CHECK(is_readable(&event));
        weiri_event_fd_show(&event, false, INT64_MAX);
        CHECK(!is_readable(&event));
        weiri_event_fd_show(&event, false, INT64_MAX);
        CHECK(!is_readable(&event));
    }
    weiri_event_fd_close(&event);
}

TEST(keeps_time, "it is readable from its time on, until another time is shown")
{
    struct weiri_event_fd event = {.is_open = false};
    int fd;
    CHECK_STATUS(weiri_event_fd_open(&event, &mutex, &fd), WEIR_OK);
    int64_t now = weiri_monotonic_now();
    weiri_event_fd_show(&event, false, now + HOUR);
    CHECK(!is_readable(&event));
    weiri_event_fd_show(&event, false, now + 2000000);
    wait_readable(&event);
    CHECK_INT(weiri_monotonic_now(), >=, now + 2000000);
    CHECK(is_readable(&event));
    weiri_event_fd_show(&event, false, now + HOUR);
    CHECK(!is_readable(&event));

    /* Times that have passed, the beginning of time among them. */
    weiri_event_fd_show(&event, false, 0);
    wait_readable(&event);
    weiri_event_fd_show(&event, false, now);
    wait_readable(&event);
    weiri_event_fd_show(&event, false, -1);
    wait_readable(&event);
    weiri_event_fd_show(&event, false, INT64_MAX);
    CHECK(!is_readable(&event));
    weiri_event_fd_show(&event, false, INT64_MAX - 1);
    CHECK(!is_readable(&event));
    weiri_event_fd_close(&event);
}

TEST(readiness_hides_time, "what is shown beside readiness counts only when that has ended")
{
    struct weiri_event_fd event = {.is_open = false};
    int fd;
    CHECK_STATUS(weiri_event_fd_open(&event, &mutex, &fd), WEIR_OK);
    weiri_event_fd_show(&event, false, 1);
    wait_readable(&event);
    weiri_event_fd_show(&event, true, INT64_MAX);
    weiri_event_fd_show(&event, false, INT64_MAX);
    CHECK(!is_readable(&event));
    weiri_event_fd_show(&event, true, 1);
    weiri_event_fd_show(&event, false, 1);
    wait_readable(&event);
    weiri_event_fd_close(&event);
}

TEST(closed_by_exec, "no descriptor survives exec")
{
    struct weiri_event_fd event = {.is_open = false};
    int fd;
    CHECK_STATUS(weiri_event_fd_open(&event, &mutex, &fd), WEIR_OK);
    const int fds[] = {event.watched, event.event, event.timer.fd};
    for (size_t i = 0; i < 3; i++) {
        int flags = fcntl(fds[i], F_GETFD);
        CHECK_INT(flags, >=, 0);
        CHECK((flags & FD_CLOEXEC) != 0);
    }
    weiri_event_fd_close(&event);
}

TEST(no_descriptors_left, "with any of its three descriptors refused, none is left open")
{
    int next = dup(STDIN_FILENO); /* the lowest that is free */
    CHECK_INT(next, >=, 0);
    CHECK_INT(close(next), ==, 0);
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    rlim_t before = limit.rlim_cur;
    for (int left = 0; left < 3; left++) {
        struct weiri_event_fd event = {.watched = -7};
        limit.rlim_cur = (rlim_t)(next + left);
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
        int fd = -7;
        CHECK_STATUS(weiri_event_fd_open(&event, &mutex, &fd), WEIR_EIO);
        CHECK_INT(event.watched, ==, -7);
        CHECK_INT(fd, ==, -7);
        CHECK(!event.is_open);
    }
    limit.rlim_cur = before;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    int after = dup(STDIN_FILENO);
    CHECK_INT(after, ==, next);
    CHECK_INT(close(after), ==, 0);
}
