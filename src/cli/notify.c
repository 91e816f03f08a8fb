/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/notify.h"

#include <errno.h>
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
/* What the socket was too full for, as one message; "": nothing. Without READY=1 a start fails, and
 * a reload lasts for ever. */
static char owed[80];

#define OWED_MS 100

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

/* False: the socket is full. Nothing waits for its reader. */
static bool send_text(const char *text)
{
    int fd = address.sun_family == AF_UNIX ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    bool is_full = fd >= 0 &&
                   sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
                          (const struct sockaddr *)&address, address_size) < 0 &&
                   errno == EAGAIN;
    if (fd >= 0) {
        (void)close(fd);
    }
    return !is_full;
}

static void pay(void)
{
    if (owed[0] != '\0' && send_text(owed)) {
        owed[0] = '\0';
    }
}

/* Behind a RELOADING=1 that is owed: together they are a reload that has ended. */
void notify_ready(void)
{
    size_t size = strlen(owed);
    (void)snprintf(owed + size, sizeof(owed) - size, "%sREADY=1", size > 0 ? "\n" : "");
    pay();
}

void notify_reloading(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(owed, sizeof(owed), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                   (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    pay();
}

void notify_stopping(void)
{
    (void)snprintf(owed, sizeof(owed), "STOPPING=1");
    pay();
}

int notify_period_ms(void)
{
    return owed[0] != '\0' ? OWED_MS : period_ms;
}

void notify_alive(void)
{
    pay();
    if (period_ms >= 0) {
        (void)send_text("WATCHDOG=1");
    }
}
