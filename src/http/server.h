/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_SERVER_H
#define WEIRI_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/broker.h>
#include <weir/metrics.h>

#include "http/trust.h"

/* The HTTP endpoint of a broker: docs/http-api.md. */
struct server;

/* All borrowed until server_stop(). */
struct server_options {
    weir_broker *broker;
    weir_metrics *metrics;   /* Of consumers of this process, or NULL. */
    const char *broker_kind; /* "sqlite" or "beanstalk". */
    const char *prefix;      /* "", or what all paths begin with: "/weir". */
    struct trust trust;
    bool hide_bodies;
    int64_t limit_ns; /* For a request to arrive, and again for its answer. */
    int listener;     /* A socket that listens; closed by server_stop(). */
};

/* Starts a server on threads of its own, with the signal mask of the caller. On failure the
 * listener is closed. */
enum weir_status server_start(const struct server_options *options, struct server **ret_server);

/* Ends the server: no request is accepted, those that wait for the broker get an answer. Returns
 * once no call on the broker is under way. Takes NULL. */
void server_stop(struct server *server);

#endif
