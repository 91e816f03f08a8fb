/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_FAKE_H
#define WEIR_TEST_FAKE_H

#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>

#include "cluster/servers.h"

/* A node that answers what a test says, for what a real one does too seldom. */

#define FAKE_LINKS 16

struct fake {
    int port;
    /* Answers a command, a line without its end; from the fake's thread. */
    void (*answer)(struct fake *fake, int fd, const char *line);
    void *arg;

    int listening;
    int stop[2];
    struct test_thread *thread;
    struct {
        int fd;
        char line[256];
        size_t used;
    } link[FAKE_LINKS];
    size_t count;
};

/* Sends bytes; a broker that has closed the connection meanwhile gets none. */
static inline void fake_send(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = send(fd, bytes, size, MSG_NOSIGNAL);
        if (count < 0) {
            return;
        }
        bytes += count;
        size -= (size_t)count;
    }
}

static inline void fake_say(int fd, const char *text)
{
    fake_send(fd, text, strlen(text));
}

/* What every node says when a connection begins; the rest is the test's. */
static inline void fake_answer(struct fake *fake, int fd, const char *line)
{
    static const char stats[] = "---\nversion: \"1.13\"\nmax-job-size: 65535\ndraining: false\n";
    if (strcmp(line, "stats") == 0) {
        char text[128];
        (void)snprintf(text, sizeof(text), "OK %zu\r\n%s\r\n", strlen(stats), stats);
        fake_say(fd, text);
    } else if (strncmp(line, "watch ", 6) == 0) {
        fake_say(fd, "WATCHING 2\r\n");
    } else if (strncmp(line, "ignore ", 7) == 0) {
        fake_say(fd, "WATCHING 1\r\n");
    } else {
        fake->answer(fake, fd, line);
    }
}

/* Reads a byte, so that what follows a line can be seen, and answers a whole line. False: the
 * connection is over. */
static inline bool fake_read(struct fake *fake, size_t i)
{
    char *line = fake->link[i].line;
    size_t used = fake->link[i].used;
    CHECK(used < sizeof(fake->link[i].line));
    if (read(fake->link[i].fd, line + used, 1) != 1) {
        return false;
    }
    fake->link[i].used = line[used] == '\n' ? 0 : used + 1;
    if (line[used] == '\n') {
        CHECK(used > 0);
        line[used - 1] = '\0';
        fake_answer(fake, fake->link[i].fd, line);
    }
    return true;
}

static inline void fake_run(void *arg)
{
    struct fake *fake = arg;
    for (;;) {
        struct pollfd polls[2 + FAKE_LINKS];
        size_t links = fake->count;
        polls[0] = (struct pollfd){.fd = fake->stop[0], .events = POLLIN};
        polls[1] = (struct pollfd){.fd = fake->listening, .events = POLLIN};
        for (size_t i = 0; i < links; i++) {
            polls[2 + i] = (struct pollfd){.fd = fake->link[i].fd, .events = POLLIN};
        }
        if (poll(polls, 2 + links, -1) < 0) {
            continue;
        }
        if (polls[0].revents != 0) {
            break;
        }
        for (size_t i = links; i-- > 0;) {
            if (polls[2 + i].revents != 0 && !fake_read(fake, i)) {
                (void)close(fake->link[i].fd);
                fake->link[i] = fake->link[--fake->count];
            }
        }
        if (polls[1].revents != 0) {
            CHECK(fake->count < FAKE_LINKS);
            int fd = accept(fake->listening, NULL, NULL);
            (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
            fake->link[fake->count].used = 0;
            fake->link[fake->count++].fd = fd;
        }
    }
    while (fake->count > 0) {
        (void)close(fake->link[--fake->count].fd);
    }
}

static inline void fake_start(struct fake *fake,
                              void (*answer)(struct fake *fake, int fd, const char *line),
                              void *arg)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    memset(fake, 0, sizeof(*fake));
    fake->answer = answer;
    fake->arg = arg;
    fake->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fake->listening >= 0);
    CHECK(bind(fake->listening, (struct sockaddr *)&address, size) == 0);
    CHECK(listen(fake->listening, 16) == 0);
    CHECK(getsockname(fake->listening, (struct sockaddr *)&address, &size) == 0);
    fake->port = ntohs(address.sin_port);
    CHECK(pipe(fake->stop) == 0);
    fake->thread = test_start(fake_run, fake);
}

static inline void fake_end(struct fake *fake)
{
    CHECK(write(fake->stop[1], "x", 1) == 1);
    test_join(fake->thread);
    (void)close(fake->stop[0]);
    (void)close(fake->stop[1]);
    (void)close(fake->listening);
}

#endif
