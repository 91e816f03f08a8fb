/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_ENDPOINT_H
#define WEIRI_CLI_ENDPOINT_H

#include "cli/arguments.h"
#include "cli/store.h"
#include "http/listen.h"
#include "http/server.h"

/* The HTTP endpoint of `weir serve` and of `weir run`. */

enum endpoint_option {
    ENDPOINT_HIDE_BODIES = OPTION_OWN,
    ENDPOINT_HOST,
    ENDPOINT_LISTEN,
    ENDPOINT_PREFIX,
    ENDPOINT_READ_ONLY,
    ENDPOINT_TIME_LIMIT,
    ENDPOINT_TOKEN_FILE
};

#define ENDPOINT_HOSTS_MAX 16
#define ENDPOINT_TOKEN_SIZE_MAX 1024

/* The table of options. */
extern const struct poptOption endpoint_options[];

struct endpoint {
    const char *listen;
    char listen_name[96]; /* in messages */
    const char *hosts[ENDPOINT_HOSTS_MAX];
    char token[ENDPOINT_TOKEN_SIZE_MAX + 2];
    struct server_options options;
    struct listener listener;
    struct server *server;
};

#define ENDPOINT_INIT                                                                              \
    {                                                                                              \
        .listen = LISTEN_DEFAULT, .listen_name = "--listen",                                       \
        .options = {.prefix = "", .limit_ns = WEIR_SECONDS(10)}, .listener = {                     \
            .fd = -1                                                                               \
        }                                                                                          \
    }

/* An option_fn; arg is the endpoint. Texts are borrowed until endpoint_end(). */
int endpoint_set(int option, const char *name, const char *text, void *arg);

/* Opens the socket, or takes that of another endpoint that listens at the same place. Returns 0 or
 * an exit status, after saying why. endpoint_end() must follow in both cases. */
int endpoint_open(struct endpoint *endpoint, struct endpoint *other);

/* May clients change anything? */
bool endpoint_may_change(const struct endpoint *endpoint);

/* Serves on threads of its own, and says where. Returns 0 or an exit status. */
int endpoint_start(struct endpoint *endpoint, const struct store *store);

/* Ends it, at whatever step it is. */
void endpoint_end(struct endpoint *endpoint);

#endif
