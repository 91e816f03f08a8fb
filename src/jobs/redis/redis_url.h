/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_REDIS_URL_H
#define WEIRI_REDIS_URL_H

#include <stddef.h>

#include <weir/broker.h>

#define WEIRI_REDIS_SEEDS_MAX 16

enum weiri_redis_kind {
    WEIRI_REDIS_ONE = 1,  /* one server, over TCP */
    WEIRI_REDIS_UNIX,     /* one server, over a unix socket */
    WEIRI_REDIS_SENTINEL, /* the master that sentinels name */
    WEIRI_REDIS_CLUSTER   /* a Redis Cluster */
};

struct weiri_redis_address {
    const char *host;
    int port;
};

/* Where Redis is. All texts are in the text that was read. */
struct weiri_redis_url {
    enum weiri_redis_kind kind;
    const char *user; /* NULL: none */
    const char *password;
    struct weiri_redis_address seeds[WEIRI_REDIS_SEEDS_MAX]; /* the server, sentinels or nodes */
    size_t seed_count;                                       /* 0: a unix socket */
    const char *path;                                        /* of the unix socket */
    const char *name;                                        /* the sentinels' name of the master */
    int database;
};

/* Reads a URL of one of the forms in redis_url.c; writes NULs into text. A message names no
 * password. Errors: WEIR_EINVAL, WEIR_ENOTSUP (TLS). */
WEIR_NODISCARD enum weir_status weiri_redis_url_parse(char *text, struct weiri_redis_url *ret_url,
                                                      struct weir_error *ret_error);

#endif
