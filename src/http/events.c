/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/events.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/duration.h>

/* Events that are kept for streams that lag behind. */
#define KEPT 64

struct stream {
    struct events *events;
    struct MHD_Connection *connection;
    struct connection *record;
    uint64_t at;    /* The event that it reads, counted from the first one ever. */
    size_t offset;  /* In it. */
    bool suspended; /* It has read all, and is to be resumed. */
    struct stream *previous;
    struct stream *next;
};

struct events {
    pthread_mutex_t mutex; /* Guards all of it. */
    struct connections *connections;
    char *texts[KEPT]; /* Event i is at i % KEPT. */
    uint64_t count;    /* Of all events ever. */
    struct stream *first;
    size_t stream_count;
    bool ended;
};

/* What each stream begins with: the pause before a client connects again. */
static const char preamble[] = "retry: 2000\n\n";

struct events *events_new(struct connections *connections)
{
    struct events *events = calloc(1, sizeof(*events));
    if (events != NULL) {
        (void)pthread_mutex_init(&events->mutex, NULL);
        events->connections = connections;
    }
    return events;
}

void events_free(struct events *events)
{
    if (events == NULL) {
        return;
    }
    for (size_t i = 0; i < KEPT; i++) {
        free(events->texts[i]);
    }
    (void)pthread_mutex_destroy(&events->mutex);
    free(events);
}

/* Resumes every suspended stream. Resuming takes locks of libmicrohttpd, so no lock of ours is
 * held. A suspended stream cannot end, and is marked before it is resumed: so it is still there,
 * and nobody else resumes it. */
static void resume_all(struct events *events)
{
    struct stream *found;
    do {
        (void)pthread_mutex_lock(&events->mutex);
        found = events->first;
        while (found != NULL && !found->suspended) {
            found = found->next;
        }
        if (found != NULL) {
            found->suspended = false;
        }
        (void)pthread_mutex_unlock(&events->mutex);
        if (found != NULL) {
            MHD_resume_connection(found->connection);
        }
    } while (found != NULL);
}

void events_publish(struct events *events, char *text)
{
    if (text == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&events->mutex);
    char **place = &events->texts[events->count % KEPT];
    free(*place);
    *place = text;
    events->count++;
    (void)pthread_mutex_unlock(&events->mutex);
    resume_all(events);
}

void events_end(struct events *events)
{
    (void)pthread_mutex_lock(&events->mutex);
    events->ended = true;
    (void)pthread_mutex_unlock(&events->mutex);
    resume_all(events);
}

/* The next bytes of a stream; 0: there are none, and its connection is suspended. */
static ssize_t read_locked(struct stream *stream, char *buffer, size_t size)
{
    struct events *events = stream->events;
    if (events->ended || events->count - stream->at > KEPT) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (stream->at == events->count) {
        MHD_suspend_connection(stream->connection);
        stream->suspended = true;
        return 0;
    }
    const char *text = events->texts[stream->at % KEPT] + stream->offset;
    size_t left = strlen(text);
    size_t taken = left < size ? left : size;
    memcpy(buffer, text, taken);
    stream->offset += taken;
    if (taken == left) {
        stream->at++;
        stream->offset = 0;
    }
    return (ssize_t)taken;
}

static ssize_t read_stream(void *arg, uint64_t position, char *buffer, size_t size)
{
    struct stream *stream = arg;
    connections_renew(stream->events->connections, stream->record,
                      weir_clock_now(weir_clock_monotonic()) + EVENTS_STALL_NS);
    if (position < strlen(preamble)) {
        size_t left = strlen(preamble) - (size_t)position;
        size_t taken = left < size ? left : size;
        memcpy(buffer, preamble + position, taken);
        return (ssize_t)taken;
    }
    (void)pthread_mutex_lock(&stream->events->mutex);
    ssize_t taken = read_locked(stream, buffer, size);
    (void)pthread_mutex_unlock(&stream->events->mutex);
    return taken;
}

static void free_stream(void *arg)
{
    struct stream *stream = arg;
    struct events *events = stream->events;
    (void)pthread_mutex_lock(&events->mutex);
    if (stream->next != NULL) {
        stream->next->previous = stream->previous;
    }
    if (stream->previous != NULL) {
        stream->previous->next = stream->next;
    } else {
        events->first = stream->next;
    }
    events->stream_count--;
    (void)pthread_mutex_unlock(&events->mutex);
    free(stream);
}

/* False: there are too many. */
static bool add_stream(struct events *events, struct stream *stream)
{
    (void)pthread_mutex_lock(&events->mutex);
    bool added = !events->ended && events->stream_count < EVENTS_STREAMS_MAX;
    if (added) {
        stream->at = events->count;
        stream->next = events->first;
        if (events->first != NULL) {
            events->first->previous = stream;
        }
        events->first = stream;
        events->stream_count++;
    }
    (void)pthread_mutex_unlock(&events->mutex);
    return added;
}

struct MHD_Response *events_open(struct events *events, struct MHD_Connection *connection,
                                 struct connection *record)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL) {
        return NULL;
    }
    stream->events = events;
    stream->connection = connection;
    stream->record = record;
    if (!add_stream(events, stream)) {
        free(stream);
        return NULL;
    }
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, stream, free_stream);
    if (response == NULL) {
        free_stream(stream);
    }
    return response;
}
