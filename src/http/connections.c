/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/connections.h"

#include <stdlib.h>
#include <sys/socket.h>

void connections_init(struct connections *connections)
{
    (void)pthread_mutex_init(&connections->mutex, NULL);
    connections->first = NULL;
}

void connections_fini(struct connections *connections)
{
    (void)pthread_mutex_destroy(&connections->mutex);
}

struct connection *connections_add(struct connections *connections, int fd, int64_t deadline_ns)
{
    struct connection *connection = malloc(sizeof(*connection));
    if (connection == NULL) {
        return NULL;
    }
    (void)pthread_mutex_lock(&connections->mutex);
    *connection = (struct connection){fd, deadline_ns, NULL, connections->first};
    if (connections->first != NULL) {
        connections->first->previous = connection;
    }
    connections->first = connection;
    (void)pthread_mutex_unlock(&connections->mutex);
    return connection;
}

void connections_remove(struct connections *connections, struct connection *connection)
{
    if (connection == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&connections->mutex);
    if (connection->next != NULL) {
        connection->next->previous = connection->previous;
    }
    if (connection->previous != NULL) {
        connection->previous->next = connection->next;
    } else {
        connections->first = connection->next;
    }
    (void)pthread_mutex_unlock(&connections->mutex);
    free(connection);
}

void connections_renew(struct connections *connections, struct connection *connection,
                       int64_t deadline_ns)
{
    if (connection != NULL) {
        (void)pthread_mutex_lock(&connections->mutex);
        connection->deadline_ns = deadline_ns;
        (void)pthread_mutex_unlock(&connections->mutex);
    }
}

/* The descriptor of a connection in the list is open, because it is removed before it is closed. */
void connections_expire(struct connections *connections, int64_t now_ns)
{
    (void)pthread_mutex_lock(&connections->mutex);
    for (struct connection *at = connections->first; at != NULL; at = at->next) {
        if (at->deadline_ns <= now_ns) {
            (void)shutdown(at->fd, SHUT_RDWR);
        }
    }
    (void)pthread_mutex_unlock(&connections->mutex);
}
