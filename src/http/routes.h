/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_ROUTES_H
#define WEIRI_HTTP_ROUTES_H

#include <stdbool.h>

#include "http/api.h"
#include "http/trust.h"

/* The table of what is served. src/http/openapi.json describes all but the page. */

/* Who runs a handler. One that waits for the broker has a worker, of a pool for each kind: so that
 * short readings are answered beside any number of long ones, and of changes that wait. */
enum route_kind {
    ROUTE_READ,   /* A worker: counts, health, single jobs. */
    ROUTE_SEARCH, /* A worker: many jobs. It takes as long as there are some to read. */
    ROUTE_CHANGE, /* A worker: it may wait long for a store's lock. */
    ROUTE_DIRECT, /* The thread of the connections: it must not block. */
    ROUTE_EVENTS, /* The stream of events; no handler. */
    ROUTE_PAGE    /* A file of the page; no handler. */
};
#define ROUTE_POOLS (ROUTE_CHANGE + 1)

struct route {
    const char *method; /* "GET" answers HEAD too. */
    const char *path;   /* Segments in braces match any. */
    enum trust_use use;
    enum route_kind kind;
    api_fn *handle;
    const char *fields[8]; /* That a query may have; NULL at the end. */
};

/* Ended by a row without a path. */
extern const struct route routes[];

/* The route of a request. NULL: the path is none (*ret_allowed "") or has none for the method
 * (*ret_allowed: the methods that it has). */
const struct route *route_find(const char *method, const struct target *target,
                               const char **ret_allowed);

/* Answers a request: refuses what the route does not have, else handles it. */
void route_answer(const struct route *route, const struct api *api, const struct request *request,
                  struct reply *reply);

/* Whether the path lies below /api/, also one that is no route. */
bool route_is_api(const struct target *target);

#endif
