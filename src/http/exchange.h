/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_EXCHANGE_H
#define WEIRI_HTTP_EXCHANGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <microhttpd.h>

#include <weir/pool.h>

#include "http/api.h"
#include "http/connections.h"
#include "http/events.h"
#include "http/routes.h"
#include "http/trust.h"

/* Requests and their answers, between libmicrohttpd's one thread and the workers.
 *
 * That thread reads requests, decides on them, and answers those that need no broker. Any other is
 * handed to a worker while its connection is suspended. The worker resumes it with an answer, or
 * the timer does without one, when the time limit has passed: whichever comes first under the
 * mutex. A worker that comes too late drops its answer. One that searches ends with what it has
 * after a second, or half of the time that is left for its answer, and when its client has gone. */

/* Largest body of a request, and of all requests at a time. */
#define EXCHANGE_BODY_MAX ((size_t)4 << 20)
#define EXCHANGE_BODIES_MAX ((size_t)64 << 20)

struct exchange;

/* What all exchanges of a server share. */
struct exchanges {
    struct api api;
    struct trust trust;
    const char *prefix;
    int64_t limit_ns; /* For a request to arrive, and again for its answer. */
    struct connections *connections;
    struct events *events;
    weir_pool *workers[ROUTE_POOLS];
    pthread_mutex_t mutex;    /* Guards what follows, and the states of exchanges. */
    struct exchange *waiting; /* Those that are with a worker. */
    size_t body_bytes;        /* Of all bodies. */
    bool closing;
};

/* The callbacks of libmicrohttpd; arg is the exchanges. */
void *exchange_open(void *arg, const char *target, struct MHD_Connection *connection);
enum MHD_Result exchange_step(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state);
void exchange_close(void *arg, struct MHD_Connection *connection, void **state,
                    enum MHD_RequestTerminationCode code);

/* Answers those that have waited until now, without their workers; all of them at the end. */
void exchanges_expire(struct exchanges *exchanges, int64_t now_ns);
/* From now on nothing is handed to workers. */
void exchanges_end(struct exchanges *exchanges);

#endif
