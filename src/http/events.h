/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_EVENTS_H
#define WEIRI_HTTP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <microhttpd.h>

#include "http/connections.h"

/* Streams of server-sent events: every client gets each event, in order. A client that does not
 * read ends: its stream is shut down when it has stood still for a minute, or lags behind by more
 * events than are kept. Thread-safe. */
struct events;

/* The most streams at a time. */
#define EVENTS_STREAMS_MAX 64
/* A stream that moves no byte for so long ends. */
#define EVENTS_STALL_NS WEIR_SECONDS(60)

/* NULL: out of memory. connections is borrowed. */
struct events *events_new(struct connections *connections);
/* Once no stream is left. */
void events_free(struct events *events);

/* Takes the text of an event ("event: NAME\ndata: TEXT\n\n") and gives it to every stream. */
void events_publish(struct events *events, char *text);

/* The response that streams to a connection; record is its entry among the connections. NULL: there
 * are too many streams, or no memory. On the thread of the connections. */
struct MHD_Response *events_open(struct events *events, struct MHD_Connection *connection,
                                 struct connection *record);

/* Ends all streams, and lets none begin. */
void events_end(struct events *events);

#endif
