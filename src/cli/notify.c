/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/notify.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_un address; /* sun_family AF_UNSPEC: nobody is told */
static socklen_t address_size;
static int period_ms = -1;

/* systemd asks for a sign of life at least so often; it gets twice as many. */
static void read_period(void)
{
    const char *pid = getenv("WATCHDOG_PID");
    const char *time = getenv("WATCHDOG_USEC");
    long long us = time != NULL ? strtoll(time, NULL, 10) : 0;
    bool is_ours = pid == NULL || strtol(pid, NULL, 10) == (long)getpid();
    if (is_ours && us >= 2000 && us / 2000 <= 3600000) {
        period_ms = (int)(us / 2000);
    }
}

void notify_start(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t size = path != NULL ? strlen(path) : 0;
    if (size > 1 && size < sizeof(address.sun_path) && (path[0] == '/' || path[0] == '@')) {
        address.sun_family = AF_UNIX;
        memcpy(address.sun_path, path, size);
        if (path[0] == '@') {
            address.sun_path[0] = '\0'; /* an abstract address */
        }
        address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
        read_period();
    }
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
}

static void tell(const char *text)
{
    int fd = address.sun_family == AF_UNIX ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0) {
        (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                     address_size);
        (void)close(fd);
    }
}

void notify_ready(void)
{
    tell("READY=1");
}

void notify_reloading(void)
{
    char text[64];
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                   (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    tell(text);
}

void notify_stopping(void)
{
    tell("STOPPING=1");
}

int notify_period_ms(void)
{
    return period_ms;
}

void notify_alive(void)
{
    tell("WATCHDOG=1");
}
