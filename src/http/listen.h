/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_LISTEN_H
#define WEIRI_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

/* The socket that a server listens at. */
struct listener {
    int fd;           /* -1: none. */
    bool local;       /* Only processes of this host reach it. */
    char url[256];    /* What clients use: "http://127.0.0.1:8686", "unix:/run/weir.sock". */
    const char *path; /* Of a unix socket, to be removed at the end; else NULL. */
};

#define LISTEN_PORT "8686"
#define LISTEN_DEFAULT "127.0.0.1:" LISTEN_PORT

/* Opens the socket of "ADDRESS:PORT", "[ADDRESS]:PORT" or "unix:PATH", borrowed until the end, or
 * takes the one that systemd opened ("systemd:", a socket unit). A unix socket is for its owner
 * alone (mode 0600); one that nobody listens at is replaced. False:
 * problem says why, without the value; *ret_usage: the text is none of these. */
bool listen_open(const char *text, struct listener *ret_listener, char *problem, size_t size,
                 bool *ret_usage);

/* Removes the file of a unix socket. The descriptor is closed by whom it was given to. */
void listen_remove(const struct listener *listener);

#endif
