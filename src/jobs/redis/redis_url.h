/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_REDIS_URL_H
#define WEIRI_REDIS_URL_H

#include <weir/broker.h>

/* Where Redis is. All texts are in the text that was read. */
struct weiri_redis_url {
    const char *user; /* NULL: none */
    const char *password;
    const char *host; /* NULL: a unix socket */
    const char *path;
    int port;
    int database;
};

/* Reads `redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]`, or
 * `redis+unix://[USER[:PASSWORD]@]/PATH[?DATABASE]`; writes NULs into text. A message names no
 * password. Errors: WEIR_EINVAL. */
WEIR_NODISCARD enum weir_status weiri_redis_url_parse(char *text, struct weiri_redis_url *ret_url,
                                                      struct weir_error *ret_error);

#endif
