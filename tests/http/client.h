/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_HTTP_CLIENT_H
#define WEIR_TEST_HTTP_CLIENT_H

#include <jansson.h>

#include "integration/program.h"

/* A server process, and a client that writes its requests byte by byte. */

struct server {
    struct running running;
    int port; /* 0: a unix socket, at "weir.sock". */
};

/* Starts `weir serve` on a port of the system's choice, with these words more, and waits until it
 * listens. */
#define SERVER(...) server_start(WORDS(__VA_ARGS__))
struct server server_start(const char *const words[]);
/* The same on the unix socket "weir.sock". */
struct server server_start_unix(const char *const words[]);
/* Ends it by a signal, and expects that it ends well, having said no more. */
void server_end(struct server *server);
/* Connections that the server has open. */
unsigned server_connections(const struct server *server);
/* Resident memory in bytes. */
long server_memory(const struct server *server);

/* An answer. */
struct answer {
    int status; /* 0: the server closed the connection without one. */
    char *head; /* All lines of it. */
    char *body;
    size_t size;
};
void answer_free(struct answer *answer);

/* Opens a connection. */
int client_connect(const struct server *server);
/* Writes all of it; false: the server has closed. */
bool client_write(int fd, const char *text, size_t size);
/* Reads one answer; the connection stays open. */
struct answer client_read(int fd);
/* Reads until the server closes. */
void client_drain(int fd);

/* One request on a connection of its own, each byte given. */
struct answer client_raw(const struct server *server, const char *request, size_t size);

/* "METHOD PATH" with the usual headers and those in extra (lines, or ""), and a body or NULL. */
struct answer client_ask(const struct server *server, const char *line, const char *extra,
                         const char *body);

/* The same; the status must be this one. Returns the object of the body; NULL where it is none. */
#define ASK(server, status, line, body) client_json(__FILE__, __LINE__, server, status, line, body)
json_t *client_json(const char *file, int line, const struct server *server, int status,
                    const char *request, const char *body);
/* The same where the status alone matters. */
#define ASK_STATUS(server, status, line, extra, body)                                              \
    client_status(__FILE__, __LINE__, server, status, line, extra, body)
void client_status(const char *file, int line, const struct server *server, int status,
                   const char *request, const char *extra, const char *body);

/* Whether the head has this line, without regard to case. */
bool answer_has(const struct answer *answer, const char *line);

#endif
