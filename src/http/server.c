/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <microhttpd.h>

#include <weir/clock.h>
#include <weir/duration.h>
#include <weir/envelope.h>
#include <weir/lifecycle.h>
#include <weir/pool.h>

#include "http/connections.h"
#include "http/events.h"
#include "http/exchange.h"
#include "http/fields.h"
#include "http/sampler.h"

/* Calls on the broker at a time, and requests that wait for one or are in one, of each kind. */
static const size_t workers[ROUTE_POOLS] = {
    [ROUTE_READ] = 4, [ROUTE_SEARCH] = 4, [ROUTE_CHANGE] = 4};
#define REQUESTS_MAX 256
/* The most connections, and the descriptors that are left for the rest of the process. */
#define CONNECTIONS_MAX 12288u
#define DESCRIPTORS_LEFT 64u
/* Memory of a connection for the head of a request. */
#define HEAD_SIZE_MAX ((size_t)16 << 10)
#define TICK_NS WEIR_MS(250)
#define SAMPLE_NS WEIR_SECONDS(1)
#define HEARTBEAT_NS WEIR_SECONDS(15)

struct server {
    struct exchanges exchanges;
    struct connections connections;
    struct readings readings;
    struct sampler sampler;
    struct MHD_Daemon *daemon;
    weir_pool *timer;
    int64_t heartbeat_ns; /* The time of the next one. */
};

/* On the timer's thread, which never waits for the broker. */
static int tick(weir_context *context, void *payload)
{
    struct server *server = payload;
    int64_t now_ns = weir_clock_now(weir_clock_monotonic());
    (void)context;
    exchanges_expire(&server->exchanges, now_ns);
    connections_expire(&server->connections, now_ns);
    if (now_ns >= server->heartbeat_ns) {
        server->heartbeat_ns = now_ns + HEARTBEAT_NS;
        events_publish(server->exchanges.events, strdup(": still here\n\n"));
    }
    return WEIR_OK;
}

static int sample(weir_context *context, void *payload)
{
    (void)context;
    sampler_run(payload);
    return WEIR_OK;
}

/* Starts a pool, with one envelope that runs again and again where there is an invoke. */
static enum weir_status start_pool(size_t count, weir_invoke_fn *invoke, void *payload,
                                   int64_t interval_ns, weir_pool **ret_pool)
{
    struct weir_pool_options pool = {0};
    struct weir_envelope_options options = {0};
    weir_envelope *envelope = NULL;
    pool.workers = count;
    pool.capacity = REQUESTS_MAX;
    options.payload = payload;
    options.invoke = invoke;
    options.interval_ns = interval_ns;
    enum weir_status status = weir_pool_new(&pool, ret_pool, NULL);
    if (status == WEIR_OK && invoke != NULL) {
        status = weir_envelope_new(&options, &envelope, NULL);
    }
    if (status == WEIR_OK && invoke != NULL) {
        status = weir_pool_send(*ret_pool, envelope);
    }
    weir_envelope_unref(envelope);
    return status == WEIR_OK ? weir_pool_start(*ret_pool) : status;
}

static void notify_connection(void *arg, struct MHD_Connection *connection, void **context,
                              enum MHD_ConnectionNotificationCode code)
{
    struct server *server = arg;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        connections_remove(&server->connections, *context);
        *context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    int64_t deadline_ns = weir_clock_now(weir_clock_monotonic()) + server->exchanges.limit_ns;
    *context = connections_add(&server->connections, info->connect_fd, deadline_ns);
}

/* As many connections as descriptors allow. */
static unsigned limit_connections(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 256;
    }
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= CONNECTIONS_MAX + DESCRIPTORS_LEFT) {
        return CONNECTIONS_MAX;
    }
    return limit.rlim_cur > (rlim_t)2 * DESCRIPTORS_LEFT
               ? (unsigned)limit.rlim_cur - DESCRIPTORS_LEFT
               : DESCRIPTORS_LEFT;
}

static struct MHD_Daemon *start_daemon(struct server *server, int listener)
{
    /* No port is given: the listener has one. */
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL, NULL,
        exchange_step, &server->exchanges, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_URI_LOG_CALLBACK, exchange_open, &server->exchanges, MHD_OPTION_NOTIFY_COMPLETED,
        exchange_close, &server->exchanges, MHD_OPTION_NOTIFY_CONNECTION, notify_connection, server,
        MHD_OPTION_CONNECTION_LIMIT, limit_connections(), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        HEAD_SIZE_MAX, MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
}

static void init(struct server *server, const struct server_options *options)
{
    struct exchanges *exchanges = &server->exchanges;
    connections_init(&server->connections);
    (void)pthread_mutex_init(&exchanges->mutex, NULL);
    exchanges->trust = options->trust;
    exchanges->prefix = options->prefix;
    exchanges->limit_ns = options->limit_ns;
    exchanges->connections = &server->connections;
    exchanges->events = events_new(&server->connections);
    readings_init(&server->readings, options->broker);
    exchanges->api = (struct api){.broker = options->broker,
                                  .readings = &server->readings,
                                  .metrics = options->metrics,
                                  .samples = samples_new(),
                                  .broker_kind = options->broker_kind,
                                  .may_change = trust_may_change(&options->trust),
                                  .hide_bodies = options->hide_bodies};
    server->sampler = (struct sampler){.readings = &server->readings,
                                       .samples = exchanges->api.samples,
                                       .events = exchanges->events};
}

enum weir_status server_start(const struct server_options *options, struct server **ret_server)
{
    struct server *server = calloc(1, sizeof(*server));
    if (server == NULL) {
        (void)close(options->listener);
        return WEIR_ENOMEM;
    }
    fields_watch_memory();
    init(server, options);
    enum weir_status status =
        server->exchanges.events != NULL && server->exchanges.api.samples != NULL ? WEIR_OK
                                                                                  : WEIR_ENOMEM;
    for (size_t kind = 0; kind < ROUTE_POOLS && status == WEIR_OK; kind++) {
        status = start_pool(workers[kind], kind == ROUTE_READ ? sample : NULL, &server->sampler,
                            SAMPLE_NS, &server->exchanges.workers[kind]);
    }
    if (status == WEIR_OK) {
        status = start_pool(1, tick, server, TICK_NS, &server->timer);
    }
    if (status == WEIR_OK) {
        server->daemon = start_daemon(server, options->listener);
        status = server->daemon != NULL ? WEIR_OK : WEIR_ETHREAD;
    }
    if (status != WEIR_OK) {
        (void)close(options->listener);
        server_stop(server);
        return status;
    }
    *ret_server = server;
    return WEIR_OK;
}

/* The order matters: libmicrohttpd may be stopped only while no connection is suspended, so workers
 * and the timer, which resume connections, end before it. Requests that come meanwhile are refused
 * and need the pools, which are freed after it. */
void server_stop(struct server *server)
{
    if (server == NULL) {
        return;
    }
    exchanges_end(&server->exchanges);
    if (server->exchanges.events != NULL) {
        events_end(server->exchanges.events);
    }
    (void)weir_pool_end(server->timer, WEIR_END_STOP, 0, WEIR_FOREVER);
    for (size_t kind = 0; kind < ROUTE_POOLS; kind++) {
        (void)weir_pool_end(server->exchanges.workers[kind], WEIR_END_STOP, 0, WEIR_FOREVER);
    }
    if (server->daemon != NULL) {
        MHD_stop_daemon(server->daemon);
    }
    weir_pool_free(server->timer);
    for (size_t kind = 0; kind < ROUTE_POOLS; kind++) {
        weir_pool_free(server->exchanges.workers[kind]);
    }
    tubes_free(&server->sampler.tubes);
    readings_fini(&server->readings);
    events_free(server->exchanges.events);
    samples_free(server->exchanges.api.samples);
    connections_fini(&server->connections);
    (void)pthread_mutex_destroy(&server->exchanges.mutex);
    free(server);
}
