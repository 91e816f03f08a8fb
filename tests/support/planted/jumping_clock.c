/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* A library to preload: the time of day jumps by two days every 10 ms, forth and back. A sleep
 * until a time of day still uses the system's own clock, so that code that mixes the clocks wakes
 * days early or days late. All other clocks are left alone.
 *
 * libfaketime, which could do this, moves every timerfd as well, on any clock. */

#define DAY 86400
#define PHASE_NS 10000000

static int read_clock(clockid_t clock, struct timespec *ret_now)
{
    return (int)syscall(SYS_clock_gettime, clock, ret_now);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    struct timespec monotonic;
    int result = read_clock(clock, ret_now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        (void)read_clock(CLOCK_MONOTONIC, &monotonic);
        ret_now->tv_sec += monotonic.tv_nsec / PHASE_NS % 2 == 0 ? DAY : -DAY;
    }
    return result;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *ret_now, void *zone)
{
    struct timespec now;
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *ret_now = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret_now)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret_now != NULL) {
        *ret_now = now.tv_sec;
    }
    return now.tv_sec;
}
