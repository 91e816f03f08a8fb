/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* POLLRDHUP */
#include "http/exchange.h"

#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <weir/clock.h>
#include <weir/duration.h>
#include <weir/envelope.h>

#include "http/head.h"
#include "http/page.h"

/* A search works for so long at most. */
#define SEARCH_NS WEIR_SECONDS(1)

enum state {
    STATE_READING, /* The request has not been handed on. */
    STATE_WAITING, /* Suspended; in the list of those that are with a worker. */
    STATE_ANSWERED,
    STATE_EXPIRED /* The worker was too late. */
};

struct exchange {
    struct exchanges *shared;
    struct MHD_Connection *connection;
    struct connection *record; /* Its time limit. */
    char *raw;                 /* The target as it was sent. */
    const struct route *route;
    const char *allow; /* The methods of the path, for a 405. */
    struct request request;
    char *body;
    size_t body_size;
    bool begun;
    bool too_large; /* The body is read on and dropped. */
    int64_t work_until_ns;
    struct reply reply;
    /* Guarded by the mutex: */
    enum state state;
    unsigned references; /* The connection's, and a worker's. */
    int64_t deadline_ns;
    struct exchange *previous;
    struct exchange *next;
};

static int64_t now(void)
{
    return weir_clock_now(weir_clock_monotonic());
}

static void release(struct exchange *exchange)
{
    struct exchanges *shared = exchange->shared;
    (void)pthread_mutex_lock(&shared->mutex);
    bool is_last = --exchange->references == 0;
    shared->body_bytes -= is_last ? exchange->body_size : 0;
    (void)pthread_mutex_unlock(&shared->mutex);
    if (is_last) {
        target_free(&exchange->request.target);
        reply_free(&exchange->reply);
        free(exchange->body);
        free(exchange->raw);
        free(exchange);
    }
}

void *exchange_open(void *arg, const char *target, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct exchange *exchange = calloc(1, sizeof(*exchange));
    if (exchange == NULL) {
        return NULL;
    }
    exchange->shared = arg;
    exchange->connection = connection;
    exchange->record = info != NULL ? info->socket_context : NULL;
    exchange->references = 1;
    exchange->raw = strdup(target);
    if (exchange->raw == NULL) {
        free(exchange);
        return NULL;
    }
    return exchange;
}

void exchange_close(void *arg, struct MHD_Connection *connection, void **state,
                    enum MHD_RequestTerminationCode code)
{
    struct exchange *exchange = *state;
    (void)arg;
    (void)connection;
    (void)code;
    if (exchange != NULL) {
        connections_renew(exchange->shared->connections, exchange->record,
                          now() + exchange->shared->limit_ns);
        release(exchange);
        *state = NULL;
    }
}

/* --- reading --- */

static void read_target(struct exchange *exchange, struct reply *reply)
{
    switch (target_read(&exchange->request.target, exchange->raw, exchange->shared->prefix)) {
    case TARGET_READ:
        break;
    case TARGET_MALFORMED:
        reply_error(reply, 400, "malformed target; expected a path of plain segments");
        break;
    case TARGET_TOO_LONG:
        reply_error(reply, 414, "the target is longer than %d bytes", TARGET_SIZE_MAX);
        break;
    case TARGET_ELSEWHERE:
        reply_error(reply, 404, "no such path; expected one below the prefix");
        break;
    case TARGET_NO_MEMORY:
        reply_status(reply, WEIR_ENOMEM, "target", NULL);
        break;
    }
}

/* Decides on a request whose head has been read. One that is not let through has an answer then. */
static void begin(struct exchange *exchange, const char *method, const char *version)
{
    const struct trust *trust = &exchange->shared->trust;
    struct reply *reply = &exchange->reply;
    struct trust_headers headers;
    bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        reply_error(reply, 505, "expected HTTP/1.1 or HTTP/1.0");
        return;
    }
    head_read(exchange->connection, &headers);
    struct trust_refusal refusal = trust_check(trust, &headers, is_get);
    if (refusal.status == 0) {
        read_target(exchange, reply);
    }
    if (refusal.status == 0 && reply->status == 0) {
        exchange->route = route_find(method, &exchange->request.target, &exchange->allow);
        bool is_api = route_is_api(&exchange->request.target);
        refusal = trust_check_use(trust, &headers,
                                  exchange->route != NULL ? exchange->route->use
                                  : is_api                ? TRUST_READ
                                                          : TRUST_OPEN);
    }
    if (refusal.status != 0) {
        reply_error(reply, refusal.status, "%s", refusal.reason);
    } else if (reply->status == 0 && exchange->route == NULL) {
        bool is_known = exchange->allow[0] != '\0';
        reply_error(reply, is_known ? 405 : 404, "%s",
                    is_known ? "not allowed; expected another "
                               "method"
                             : "no such path");
    } else if (reply->status == 0 && headers.content_length != NULL &&
               (strlen(headers.content_length) > 9 ||
                strtoull(headers.content_length, NULL, 10) > EXCHANGE_BODY_MAX)) {
        reply_error(reply, 413, "the body is larger than %zu bytes", EXCHANGE_BODY_MAX);
    }
}

/* Keeps a piece of the body. False: the connection is to be closed. */
static bool take_body(struct exchange *exchange, const char *piece, size_t size)
{
    struct exchanges *shared = exchange->shared;
    if (exchange->too_large || size > EXCHANGE_BODY_MAX - exchange->body_size) {
        exchange->too_large = true;
        return true;
    }
    (void)pthread_mutex_lock(&shared->mutex);
    bool fits = size <= EXCHANGE_BODIES_MAX - shared->body_bytes;
    shared->body_bytes += fits ? size : 0;
    (void)pthread_mutex_unlock(&shared->mutex);
    if (!fits) {
        return false;
    }
    /* Counted before it is there, and given back by release(). */
    size_t at = exchange->body_size;
    exchange->body_size += size;
    char *grown = realloc(exchange->body, exchange->body_size);
    if (grown == NULL) {
        return false;
    }
    memcpy(grown + at, piece, size);
    exchange->body = grown;
    return true;
}

/* --- working --- */

static void unlink_locked(struct exchange *exchange)
{
    if (exchange->next != NULL) {
        exchange->next->previous = exchange->previous;
    }
    if (exchange->previous != NULL) {
        exchange->previous->next = exchange->next;
    } else {
        exchange->shared->waiting = exchange->next;
    }
}

/* Ends the wait with a state. False: another did before. */
static bool end_wait(struct exchange *exchange, enum state state, struct reply *reply)
{
    struct exchanges *shared = exchange->shared;
    (void)pthread_mutex_lock(&shared->mutex);
    bool is_first = exchange->state == STATE_WAITING;
    if (is_first) {
        unlink_locked(exchange);
        exchange->state = state;
        if (reply != NULL) {
            exchange->reply = *reply;
        }
    }
    (void)pthread_mutex_unlock(&shared->mutex);
    if (is_first) {
        /* Suspended until here, so that the connection is still there. */
        MHD_resume_connection(exchange->connection);
    }
    return is_first;
}

/* While the exchange waits its connection is suspended, and the descriptor is its own. */
static bool goes_on(const struct request *request)
{
    const struct exchange *exchange =
        (const void *)((const char *)request - offsetof(struct exchange, request));
    struct pollfd client = {.fd = -1, .events = POLLRDHUP};
    (void)pthread_mutex_lock(&exchange->shared->mutex);
    bool is_wanted = exchange->state == STATE_WAITING;
    if (is_wanted && exchange->record != NULL) {
        client.fd = exchange->record->fd;
        is_wanted = poll(&client, 1, 0) == 0;
    }
    (void)pthread_mutex_unlock(&exchange->shared->mutex);
    return is_wanted && now() < exchange->work_until_ns;
}

static int work(weir_context *context, void *payload)
{
    struct exchange *exchange = payload;
    struct reply reply = {.status = 0};
    int64_t begun_ns = now();
    (void)context;
    (void)pthread_mutex_lock(&exchange->shared->mutex);
    bool is_wanted = exchange->state == STATE_WAITING;
    int64_t left_ns = (exchange->deadline_ns - begun_ns) / 2;
    (void)pthread_mutex_unlock(&exchange->shared->mutex);
    if (is_wanted) {
        exchange->work_until_ns = begun_ns + (left_ns < SEARCH_NS ? left_ns : SEARCH_NS);
        route_answer(exchange->route, &exchange->shared->api, &exchange->request, &reply);
        if (!end_wait(exchange, STATE_ANSWERED, &reply)) {
            reply_free(&reply);
        }
    }
    return WEIR_OK;
}

static void release_payload(void *payload)
{
    release(payload);
}

static enum weir_status send_to_worker(struct exchange *exchange)
{
    (void)pthread_mutex_lock(&exchange->shared->mutex);
    exchange->references++;
    (void)pthread_mutex_unlock(&exchange->shared->mutex);
    enum weir_status status = weir_pool_run(exchange->shared->workers[exchange->route->kind], work,
                                            exchange, release_payload);
    if (status != WEIR_OK) { /* the connection has another reference */
        (void)pthread_mutex_lock(&exchange->shared->mutex);
        exchange->references--;
        (void)pthread_mutex_unlock(&exchange->shared->mutex);
    }
    return status;
}

/* Suspends the request's connection for a worker. False: this server ends. */
static bool begin_wait(struct exchange *exchange)
{
    struct exchanges *shared = exchange->shared;
    (void)pthread_mutex_lock(&shared->mutex);
    bool closing = shared->closing;
    if (!closing) {
        MHD_suspend_connection(exchange->connection);
        exchange->state = STATE_WAITING;
        exchange->deadline_ns = now() + shared->limit_ns;
        exchange->previous = NULL;
        exchange->next = shared->waiting;
        if (shared->waiting != NULL) {
            shared->waiting->previous = exchange;
        }
        shared->waiting = exchange;
    }
    (void)pthread_mutex_unlock(&shared->mutex);
    return !closing;
}

void exchanges_expire(struct exchanges *exchanges, int64_t now_ns)
{
    struct exchange *found;
    do {
        (void)pthread_mutex_lock(&exchanges->mutex);
        found = exchanges->waiting;
        while (found != NULL && found->deadline_ns > now_ns && !exchanges->closing) {
            found = found->next;
        }
        if (found != NULL) {
            found->references++;
        }
        (void)pthread_mutex_unlock(&exchanges->mutex);
        if (found != NULL) {
            (void)end_wait(found, STATE_EXPIRED, NULL);
            release(found);
        }
    } while (found != NULL);
}

void exchanges_end(struct exchanges *exchanges)
{
    (void)pthread_mutex_lock(&exchanges->mutex);
    exchanges->closing = true;
    (void)pthread_mutex_unlock(&exchanges->mutex);
    exchanges_expire(exchanges, 0);
}

/* --- answering --- */

static enum MHD_Result answer(struct exchange *exchange)
{
    struct exchanges *shared = exchange->shared;
    connections_renew(shared->connections, exchange->record, now() + 2 * shared->limit_ns);
    return head_send(exchange->connection, &exchange->reply, exchange->allow);
}

static enum MHD_Result answer_late(struct exchange *exchange)
{
    bool changes = exchange->route->use == TRUST_CHANGE;
    reply_error(&exchange->reply, 503, "the broker did not answer within the time limit%s",
                changes ? "; what was asked for may have been done" : "");
    return answer(exchange);
}

static enum MHD_Result open_stream(struct exchange *exchange)
{
    struct exchanges *shared = exchange->shared;
    struct MHD_Response *response =
        events_open(shared->events, exchange->connection, exchange->record);
    if (response == NULL) {
        reply_error(&exchange->reply, 503, "too many streams of events");
        return answer(exchange);
    }
    connections_renew(shared->connections, exchange->record, now() + EVENTS_STALL_NS);
    return head_send_response(exchange->connection, response, 200, "text/event-stream");
}

/* Hands the request to a worker, or answers that none is free. */
static enum MHD_Result hand_over(struct exchange *exchange)
{
    struct reply reply = {.status = 0};
    if (!begin_wait(exchange)) {
        reply_error(&exchange->reply, 503, "this server ends");
        return answer(exchange);
    }
    if (send_to_worker(exchange) != WEIR_OK) {
        reply_error(&reply, 503, "too many requests wait for the broker");
        if (!end_wait(exchange, STATE_ANSWERED, &reply)) {
            reply_free(&reply);
        }
    }
    return MHD_YES;
}

/* The request is there as a whole. */
static enum MHD_Result run(struct exchange *exchange)
{
    exchange->request.text = exchange->body != NULL ? exchange->body : "";
    exchange->request.size = exchange->body_size;
    exchange->request.goes_on = goes_on;
    connections_renew(exchange->shared->connections, exchange->record,
                      now() + 3 * exchange->shared->limit_ns);
    if (exchange->too_large) {
        reply_error(&exchange->reply, 413, "the body is larger than %zu bytes", EXCHANGE_BODY_MAX);
        return answer(exchange);
    }
    switch (exchange->route->kind) {
    case ROUTE_EVENTS:
        return open_stream(exchange);
    case ROUTE_DIRECT:
        route_answer(exchange->route, &exchange->shared->api, &exchange->request, &exchange->reply);
        return answer(exchange);
    case ROUTE_PAGE:
        return page_send(exchange->connection, &exchange->request.target);
    case ROUTE_READ:
    case ROUTE_SEARCH:
    case ROUTE_CHANGE:
        break;
    }
    return hand_over(exchange);
}

enum MHD_Result exchange_step(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    struct exchanges *shared = arg;
    struct exchange *exchange = *state;
    (void)connection;
    (void)url;
    if (exchange == NULL) {
        return MHD_NO;
    }
    if (!exchange->begun) {
        exchange->begun = true;
        begin(exchange, method, version);
        return exchange->reply.status != 0 ? answer(exchange) : MHD_YES;
    }
    if (*upload_size > 0) {
        bool taken = take_body(exchange, upload, *upload_size);
        *upload_size = 0;
        return taken ? MHD_YES : MHD_NO;
    }
    (void)pthread_mutex_lock(&shared->mutex);
    enum state reached = exchange->state;
    (void)pthread_mutex_unlock(&shared->mutex);
    switch (reached) {
    case STATE_READING:
        return run(exchange);
    case STATE_WAITING:
        return MHD_YES;
    case STATE_ANSWERED:
        return answer(exchange);
    case STATE_EXPIRED:
        break;
    }
    return answer_late(exchange);
}
