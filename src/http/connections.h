/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_CONNECTIONS_H
#define WEIRI_HTTP_CONNECTIONS_H

#include <pthread.h>
#include <stdint.h>

/* The connections and their time limits. libmicrohttpd's own limit is on silence, so that a client
 * that sends a byte now and then could stay for ever; these are on the whole. Thread-safe. */

struct connection {
    int fd;
    int64_t deadline_ns; /* Of the monotonic clock. */
    struct connection *previous;
    struct connection *next;
};

struct connections {
    pthread_mutex_t mutex; /* Guards the list and all that is in it. */
    struct connection *first;
};

void connections_init(struct connections *connections);
void connections_fini(struct connections *connections);

/* Adds a connection; NULL: out of memory. It is to be removed before its descriptor is closed. */
struct connection *connections_add(struct connections *connections, int fd, int64_t deadline_ns);
void connections_remove(struct connections *connections, struct connection *connection);

/* Gives a connection another deadline. connection may be NULL. */
void connections_renew(struct connections *connections, struct connection *connection,
                       int64_t deadline_ns);

/* Shuts down those whose deadline has passed: their owner then sees their end. */
void connections_expire(struct connections *connections, int64_t now_ns);

#endif
