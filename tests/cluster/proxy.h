/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_PROXY_H
#define WEIR_TEST_PROXY_H

#include <poll.h>
#include <stdatomic.h>

#include "cluster/servers.h"

/* A proxy between a broker and a node, which passes bytes as badly as a network does. */

#define PROXY_LINKS 32

struct proxy {
    int port;     /* where it listens */
    int to_port;  /* the node */
    size_t piece; /* bytes passed at a time */
    /* Bytes passed of each connection before it is reset, to node and back together; 0: never. */
    _Atomic size_t reset_after;
    _Atomic bool is_silent; /* half-open: takes bytes and passes none */
    _Atomic bool is_deaf;   /* passes bytes to the node, and none back */
    _Atomic bool is_closed; /* leaves new connections to the system, which takes some */
    _Atomic int resets;
    _Atomic int refused; /* connections closed at once, since the node is gone */

    int listening;
    int stop[2];
    struct test_thread *thread;
    struct {
        int fd[2]; /* the broker's, the node's */
        size_t passed;
    } link[PROXY_LINKS];
    size_t count;
};

static inline void proxy_drop(struct proxy *proxy, size_t i, bool is_reset)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    for (int side = 0; side < 2; side++) {
        if (is_reset) {
            (void)setsockopt(proxy->link[i].fd[side], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        }
        (void)close(proxy->link[i].fd[side]);
    }
    proxy->link[i] = proxy->link[--proxy->count];
}

/* Passes a piece from one side. False: the connection is over. */
static inline bool proxy_pass(struct proxy *proxy, size_t i, int side)
{
    char bytes[4096];
    size_t most = proxy->piece < sizeof(bytes) ? proxy->piece : sizeof(bytes);
    ssize_t count = read(proxy->link[i].fd[side], bytes, most);
    if (count <= 0) {
        proxy_drop(proxy, i, false);
        return false;
    }
    if (proxy->is_silent || (proxy->is_deaf && side == 1)) {
        return true;
    }
    size_t limit = proxy->reset_after;
    proxy->link[i].passed += (size_t)count;
    if (limit > 0 && proxy->link[i].passed > limit) {
        atomic_fetch_add(&proxy->resets, 1);
        proxy_drop(proxy, i, true);
        return false;
    }
    if (send(proxy->link[i].fd[1 - side], bytes, (size_t)count, MSG_NOSIGNAL) != count) {
        proxy_drop(proxy, i, false);
        return false;
    }
    return true;
}

static inline void proxy_accept(struct proxy *proxy)
{
    int fd = accept(proxy->listening, NULL, NULL);
    int node = fd < 0 || proxy->count == PROXY_LINKS ? -1 : connect_port(proxy->to_port);
    if (node < 0) {
        if (fd >= 0) {
            (void)close(fd);
            atomic_fetch_add(&proxy->refused, 1);
        }
        return;
    }
    proxy->link[proxy->count].fd[0] = fd;
    proxy->link[proxy->count].fd[1] = node;
    proxy->link[proxy->count].passed = 0;
    proxy->count++;
}

static inline void proxy_run(void *arg)
{
    struct proxy *proxy = arg;
    for (;;) {
        struct pollfd polls[2 + 2 * PROXY_LINKS];
        size_t links = proxy->count;
        polls[0] = (struct pollfd){.fd = proxy->stop[0], .events = POLLIN};
        polls[1] =
            (struct pollfd){.fd = proxy->is_closed ? -1 : proxy->listening, .events = POLLIN};
        for (size_t i = 0; i < links; i++) {
            for (int side = 0; side < 2; side++) {
                polls[2 + 2 * i + (size_t)side] =
                    (struct pollfd){.fd = proxy->link[i].fd[side], .events = POLLIN};
            }
        }
        if (poll(polls, 2 + 2 * links, -1) < 0) {
            continue;
        }
        if (polls[0].revents != 0) {
            break;
        }
        /* From the last on: one that is dropped is replaced by one that was served. */
        for (size_t i = links; i-- > 0;) {
            bool is_alive = true;
            for (int side = 0; side < 2 && is_alive; side++) {
                if (polls[2 + 2 * i + (size_t)side].revents != 0) {
                    is_alive = proxy_pass(proxy, i, side);
                }
            }
        }
        if (polls[1].revents != 0 && !proxy->is_closed) {
            proxy_accept(proxy);
        }
    }
    while (proxy->count > 0) {
        proxy_drop(proxy, 0, false);
    }
}

/* Starts in front of a port, on one of its own; port 0: any. */
static inline void proxy_start_at(struct proxy *proxy, int port, int to_port, size_t piece)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    memset(proxy, 0, sizeof(*proxy));
    proxy->to_port = to_port;
    proxy->piece = piece;
    proxy->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(proxy->listening >= 0);
    CHECK(bind(proxy->listening, (struct sockaddr *)&address, size) == 0);
    CHECK(listen(proxy->listening, 16) == 0);
    CHECK(getsockname(proxy->listening, (struct sockaddr *)&address, &size) == 0);
    proxy->port = ntohs(address.sin_port);
    CHECK(pipe(proxy->stop) == 0);
    proxy->thread = test_start(proxy_run, proxy);
}

static inline void proxy_start(struct proxy *proxy, int to_port, size_t piece)
{
    proxy_start_at(proxy, 0, to_port, piece);
}

static inline void proxy_end(struct proxy *proxy)
{
    CHECK(write(proxy->stop[1], "x", 1) == 1);
    test_join(proxy->thread);
    (void)close(proxy->stop[0]);
    (void)close(proxy->stop[1]);
    (void)close(proxy->listening);
}

#endif
