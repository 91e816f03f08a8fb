/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A connection's life: names, connecting, failing, time limits. */
#include "jobs/beanstalkd/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/core/backend.h"

void weiri_conn_init(struct weiri_conn *conn, const struct weiri_conn_config *config)
{
    memset(conn, 0, sizeof(*conn));
    conn->config = *config;
    conn->is_wanted = true;
    conn->fd = -1;
    conn->facts.has_binlog = true;
    weiri_list_init(&conn->waiting);
    weiri_list_init(&conn->sent);
    conn->parser.allocator = config->allocator;
    conn->parser.body_size_max = config->body_size_max;
}

/* --- names --- */

/* The address of a unix socket in the shape of getaddrinfo(). */
static int take_path(struct weiri_resolver *resolver, const char *path)
{
    struct sockaddr_un *name = &resolver->path_name;
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* The length was checked with the URL. */
    (void)strncpy(name->sun_path, path, sizeof(name->sun_path) - 1);
    resolver->path_address = (struct addrinfo){.ai_family = AF_UNIX,
                                               .ai_socktype = SOCK_STREAM,
                                               .ai_addrlen = sizeof(*name),
                                               .ai_addr = (struct sockaddr *)name};
    resolver->addresses = &resolver->path_address;
    return 0;
}

static int look_up(struct weiri_conn *conn, int flags)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    const struct weiri_endpoint *endpoint = conn->config.endpoint;
    struct addrinfo *found;
    int error = getaddrinfo(endpoint->host, endpoint->port, &hints, &found);
    conn->resolver.addresses = error == 0 ? found : NULL;
    return error;
}

static void resolve(void *arg)
{
    struct weiri_conn *conn = arg;
    conn->resolver.error = look_up(conn, 0);
    atomic_store(&conn->resolver.is_done, true);
    (void)eventfd_write(conn->config.wake_fd, 1);
}

static void join(struct weiri_resolver *resolver)
{
    if (resolver->is_running) {
        weiri_thread_join(&resolver->thread);
        resolver->is_running = false;
    }
}

/* Does nothing while a thread runs. */
static void free_addresses(struct weiri_resolver *resolver)
{
    if (resolver->is_running) {
        return;
    }
    if (resolver->addresses != NULL && resolver->addresses != &resolver->path_address) {
        freeaddrinfo(resolver->addresses);
    }
    resolver->addresses = NULL;
}

/* --- ends --- */

/* Ends the commands of a list, which is empty then. */
static void end_commands(struct weiri_list *list, enum weiri_delivery delivery)
{
    while (!weiri_list_is_empty(list)) {
        struct weiri_command *command = WEIRI_CONTAINER(list->next, struct weiri_command, link);
        weiri_list_remove(&command->link);
        command->done(command, delivery, NULL);
    }
}

/* done() may hand in other commands, which end at once: the connection has failed or is not wanted.
 */
static void drop(struct weiri_conn *conn)
{
    if (conn->fd >= 0) {
        (void)close(conn->fd);
        conn->fd = -1;
    }
    free_addresses(&conn->resolver);
    conn->address = NULL;
    conn->state = WEIRI_CONN_DOWN;
    conn->writing = NULL;
    conn->is_own_sent = false;
    conn->is_silent = false;
    conn->out_start = 0;
    conn->out_end = 0;
    conn->used[0] = '\0';
    weiri_parser_next(&conn->parser);
    end_commands(&conn->sent, WEIRI_LOST);
    end_commands(&conn->waiting, WEIRI_NOT_SENT);
}

void weiri_conn_close(struct weiri_conn *conn)
{
    conn->is_wanted = false;
    conn->retry_ns = 0;
    conn->failures = 0;
    drop(conn);
}

void weiri_conn_fini(struct weiri_conn *conn)
{
    weiri_conn_close(conn);
    join(&conn->resolver);
    free_addresses(&conn->resolver);
}

void weiri_conn_fail(struct weiri_conn *conn, int64_t now_ns, const char *what, const char *why)
{
    (void)snprintf(conn->why, sizeof(conn->why), "%s%s%s", what, why[0] != '\0' ? ": " : "", why);
    conn->failures++;
    conn->retry_ns = weiri_time_add(now_ns, weiri_retry_ns(conn->failures));
    drop(conn);
}

void weiri_conn_fail_errno(struct weiri_conn *conn, int64_t now_ns, const char *what, int error)
{
    char text[96];
    if (strerror_r(error, text, sizeof(text)) != 0) {
        text[0] = '\0';
    }
    weiri_conn_fail(conn, now_ns, what, text);
}

/* --- connecting --- */

/* Tries the addresses from conn->address on. error: of the one before. */
static void try_addresses(struct weiri_conn *conn, int64_t now_ns, int error)
{
    for (; conn->address != NULL; conn->address = conn->address->ai_next) {
        const struct addrinfo *address = conn->address;
        int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) {
            error = errno;
            continue;
        }
        int one = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (connect(fd, address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS) {
            conn->fd = fd;
            conn->state = WEIRI_CONN_CONNECTING;
            conn->step_limit_ns = weiri_time_earlier(conn->step_limit_ns,
                                                     weiri_time_add(now_ns, WEIRI_CONNECT_MAX_NS));
            return;
        }
        error = errno;
        (void)close(fd);
    }
    weiri_conn_fail_errno(conn, now_ns, "cannot connect", error);
}

static void connected(struct weiri_conn *conn, int64_t now_ns)
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
    }
    if (error == 0) {
        conn->state = WEIRI_CONN_GREETING;
        conn->step_limit_ns = weiri_time_add(now_ns, conn->config.time_limit_ns);
        conn->generation++;
        conn->greeting = conn->config.watched == NULL ? WEIRI_STATS : WEIRI_WATCH;
        (void)snprintf(conn->used, sizeof(conn->used), "%s", WEIRI_DEFAULT_TUBE);
        return;
    }
    (void)close(conn->fd);
    conn->fd = -1;
    conn->address = conn->address->ai_next;
    try_addresses(conn, now_ns, error);
}

/* Numbers and paths are resolved at once; a name takes a thread. Where an earlier one still runs,
 * its answer is awaited. */
static void begin(struct weiri_conn *conn, int64_t now_ns)
{
    struct weiri_resolver *resolver = &conn->resolver;
    const char *path = conn->config.endpoint->path;
    conn->step_limit_ns = weiri_time_add(now_ns, conn->config.time_limit_ns);
    conn->state = WEIRI_CONN_RESOLVING;
    if (resolver->is_running) {
        return;
    }
    resolver->error = path != NULL ? take_path(resolver, path) : look_up(conn, AI_NUMERICHOST);
    bool is_name = resolver->error == EAI_NONAME;
    atomic_store(&resolver->is_done, !is_name);
    if (is_name) {
        resolver->is_running =
            weiri_thread_start(&resolver->thread, "weir-resolve", resolve, conn) == WEIR_OK;
    }
    if (is_name && !resolver->is_running) {
        weiri_conn_fail(conn, now_ns, "cannot resolve the name", "no thread");
    }
}

/* --- the side of the loop --- */

void weiri_conn_push(struct weiri_command *command, int64_t now_ns)
{
    struct weiri_conn *conn = command->conn;
    if (conn->failures > 0 || !conn->is_wanted) {
        command->done(command, WEIRI_NOT_SENT, NULL);
        return;
    }
    int64_t limit = conn->config.time_limit_ns;
    if (command->request.verb == WEIRI_RESERVE_TIMEOUT) {
        limit = weiri_time_add(limit, WEIR_SECONDS(command->request.count));
    }
    command->limit_ns = weiri_time_add(now_ns, limit);
    command->is_sent = false;
    weiri_list_insert_before(&conn->waiting, &command->link);
}

/* What a command that was left came to: nobody waits for it. */
static void left(struct weiri_command *command, enum weiri_delivery delivery,
                 struct weiri_reply *reply)
{
    (void)delivery;
    (void)reply;
    weiri_release(command->conn->config.allocator, command,
                  sizeof(*command) + command->request.prefix_size);
}

void weiri_conn_leave(struct weiri_command *command)
{
    struct weiri_conn *conn = command->conn;
    const struct weiri_request *request = &command->request;
    conn->is_silent = true;
    if (!command->is_sent) {
        weiri_list_remove(&command->link);
        command->done(command, WEIRI_NOT_SENT, NULL);
        return;
    }
    /* The caller's bytes may not be written yet. */
    size_t size = request->prefix_size + request->body_size;
    struct weiri_command *copy = weiri_alloc(conn->config.allocator, sizeof(*copy) + size);
    if (copy == NULL) {
        return;
    }
    *copy = *command;
    copy->done = left;
    char *bytes = (char *)(copy + 1);
    if (request->prefix_size > 0) {
        memcpy(bytes, request->prefix, request->prefix_size);
    }
    if (request->body_size > 0) {
        memcpy(bytes + request->prefix_size, request->body, request->body_size);
    }
    copy->request.prefix = bytes;
    copy->request.prefix_size = size;
    copy->request.body_size = 0;
    weiri_list_insert_before(&command->link, &copy->link);
    weiri_list_remove(&command->link);
    if (conn->writing == command) {
        conn->writing = copy;
    }
    command->done(command, WEIRI_LOST, NULL);
}

/* The limit of the oldest command that is not answered. */
static int64_t oldest_limit(const struct weiri_conn *conn)
{
    const struct weiri_list *list = &conn->sent;
    if (weiri_list_is_empty(list)) {
        list = &conn->waiting;
    }
    return weiri_list_is_empty(list)
               ? INT64_MAX
               : WEIRI_CONTAINER(list->next, struct weiri_command, link)->limit_ns;
}

int64_t weiri_conn_advance(struct weiri_conn *conn, int64_t now_ns)
{
    if (conn->state == WEIRI_CONN_DOWN) {
        if (!conn->is_wanted) {
            return INT64_MAX;
        }
        if (conn->retry_ns > now_ns) {
            return conn->retry_ns;
        }
        begin(conn, now_ns);
    }
    if (conn->state == WEIRI_CONN_RESOLVING && atomic_load(&conn->resolver.is_done)) {
        join(&conn->resolver);
        conn->address = conn->resolver.addresses;
        if (conn->resolver.error == 0) {
            try_addresses(conn, now_ns, 0);
        } else {
            weiri_conn_fail(conn, now_ns, "cannot resolve the name",
                            gai_strerror(conn->resolver.error));
        }
    }
    if (conn->state == WEIRI_CONN_DOWN) {
        return conn->retry_ns;
    }
    int64_t limit = conn->state == WEIRI_CONN_UP ? oldest_limit(conn) : conn->step_limit_ns;
    if (limit <= now_ns) {
        weiri_conn_fail(conn, now_ns, conn->state == WEIRI_CONN_UP ? "no answer" : "cannot connect",
                        "the time limit passed");
        return conn->retry_ns;
    }
    if (conn->state >= WEIRI_CONN_GREETING) {
        weiri_conn_send(conn, now_ns);
    }
    return limit;
}

short weiri_conn_events(const struct weiri_conn *conn)
{
    if (conn->state == WEIRI_CONN_CONNECTING) {
        return POLLOUT;
    }
    bool is_sending = conn->out_start < conn->out_end;
    return conn->state < WEIRI_CONN_GREETING ? 0 : (short)(POLLIN | (is_sending ? POLLOUT : 0));
}

void weiri_conn_ready(struct weiri_conn *conn, short events, char *buffer, size_t size,
                      int64_t now_ns)
{
    if (conn->state == WEIRI_CONN_CONNECTING) {
        connected(conn, now_ns);
        return;
    }
    if ((events & (POLLIN | POLLERR | POLLHUP)) != 0 && conn->fd >= 0) {
        weiri_conn_receive(conn, buffer, size, now_ns);
    }
    if ((events & POLLOUT) != 0 && conn->fd >= 0 && conn->state >= WEIRI_CONN_GREETING) {
        weiri_conn_send(conn, now_ns);
    }
}
