/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A connection's life: connecting, sending, receiving, failing. */
#include "jobs/beanstalkd/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/panic.h"
#include "base/random.h"
#include "base/time.h"
#include "jobs/beanstalkd/resolve.h"

#define RETRY_BASE WEIR_MS(50)
#define RETRY_MAX WEIR_SECONDS(5)

void weiri_conn_init(struct weiri_conn *conn, const struct weiri_conn_config *config)
{
    memset(conn, 0, sizeof(*conn));
    conn->config = *config;
    conn->fd = -1;
    conn->random = weiri_random_seed();
    conn->facts.has_binlog = true;
    weiri_list_init(&conn->link);
    weiri_list_init(&conn->waiting);
    weiri_list_init(&conn->sent);
    weiri_parser_init(&conn->parser, config->allocator, config->body_size_max);
}

/* Ends the commands of a list, which is empty then. */
static void end_commands(struct weiri_list *list, enum weiri_delivery delivery)
{
    while (!weiri_list_is_empty(list)) {
        struct weiri_command *command = WEIRI_CONTAINER(list->next, struct weiri_command, link);
        weiri_list_remove(&command->link);
        command->done(command, delivery, NULL);
    }
}

static void drop(struct weiri_conn *conn)
{
    if (conn->fd >= 0) {
        (void)close(conn->fd);
        conn->fd = -1;
    }
    weiri_addresses_free(conn->addresses);
    conn->addresses = NULL;
    conn->address = NULL;
    conn->state = WEIRI_CONN_DOWN;
    conn->writing = NULL;
    conn->barrier = NULL;
    conn->out_start = 0;
    conn->out_end = 0;
    conn->used[0] = '\0';
    weiri_parser_reset(&conn->parser);
    /* The lists are taken first: done() may hand in other commands. */
    struct weiri_list sent;
    struct weiri_list waiting;
    weiri_list_init(&sent);
    weiri_list_init(&waiting);
    weiri_list_move(&conn->sent, &sent);
    weiri_list_move(&conn->waiting, &waiting);
    end_commands(&sent, WEIRI_LOST);
    end_commands(&waiting, WEIRI_NOT_SENT);
}

void weiri_conn_close(struct weiri_conn *conn)
{
    conn->retry_ns = 0;
    conn->failures = 0;
    drop(conn);
}

void weiri_conn_fini(struct weiri_conn *conn)
{
    conn->is_wanted = false;
    drop(conn);
    weiri_resolver_end(&conn->resolver);
    weiri_parser_fini(&conn->parser);
}

/* Closes the connection, to be made again after a pause. */
static void fail(struct weiri_conn *conn, int64_t now_ns, const char *what, const char *why)
{
    (void)snprintf(conn->why, sizeof(conn->why), "%s%s%s", what, why[0] != '\0' ? ": " : "", why);
    conn->failures++;
    int64_t pause = weiri_time_shift(RETRY_BASE, conn->failures - 1, RETRY_MAX);
    /* A quarter is at random, so that clients do not come back together. */
    pause -= (int64_t)(weiri_random_next(&conn->random) % (uint64_t)(pause / 4 + 1));
    conn->retry_ns = weiri_time_add(now_ns, pause);
    drop(conn);
}

static void fail_errno(struct weiri_conn *conn, int64_t now_ns, const char *what, int error)
{
    char text[96];
    if (strerror_r(error, text, sizeof(text)) != 0) {
        text[0] = '\0';
    }
    fail(conn, now_ns, what, text);
}

/* --- connecting --- */

static void greeted(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply);

static void add_greeting(struct weiri_conn *conn, enum weiri_verb verb, const char *tube)
{
    struct weiri_command *command = &conn->greetings[conn->greetings_left++];
    *command = (struct weiri_command){.conn = conn,
                                      .request = {.verb = verb, .tube = tube},
                                      .limit_ns = conn->step_limit_ns,
                                      .done = greeted};
    weiri_list_init(&command->link);
    weiri_list_insert_before(conn->waiting.next, &command->link);
}

static void begin_greeting(struct weiri_conn *conn)
{
    static const char first[] = "default";
    conn->state = WEIRI_CONN_GREETING;
    conn->generation++;
    conn->greetings_left = 0;
    memcpy(conn->used, first, sizeof(first));
    if (conn->config.watched == NULL) {
        add_greeting(conn, WEIRI_STATS, NULL);
        return;
    }
    /* Added in front of each other: the last is sent first. Without the second, the connection
     * would reserve jobs of the tube `default`, which are others'. */
    if (strcmp(conn->config.watched, first) != 0) {
        add_greeting(conn, WEIRI_IGNORE, first);
    }
    add_greeting(conn, WEIRI_WATCH, conn->config.watched);
}

static void read_facts(struct weiri_conn *conn, const struct weiri_reply *reply)
{
    struct weiri_node_facts facts = {.max_job_size = 0};
    char draining[8];
    uint64_t index = 0;
    (void)weiri_stats_text(reply->body, reply->body_size, "version", facts.version,
                           sizeof(facts.version));
    (void)weiri_stats_number(reply->body, reply->body_size, "max-job-size", &facts.max_job_size);
    facts.is_draining =
        weiri_stats_text(reply->body, reply->body_size, "draining", draining, sizeof(draining)) &&
        strcmp(draining, "true") == 0;
    facts.has_binlog =
        weiri_stats_number(reply->body, reply->body_size, "binlog-current-index", &index) &&
        index > 0;
    conn->facts = facts;
}

static void greeted(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply)
{
    struct weiri_conn *conn = command->conn;
    if (delivery != WEIRI_ANSWERED) {
        return;
    }
    bool is_good = reply->kind == WEIRI_OK_BODY || reply->kind == WEIRI_WATCHING;
    if (command->request.verb == WEIRI_IGNORE) {
        is_good = is_good && reply->count == 1;
    }
    conn->greetings_left -= is_good;
    if (reply->kind == WEIRI_OK_BODY) {
        read_facts(conn, reply);
    }
    if (conn->greetings_left == 0) {
        conn->state = WEIRI_CONN_UP;
        conn->failures = 0;
    }
}

/* Tries the addresses from conn->address on. */
static void try_addresses(struct weiri_conn *conn, int64_t now_ns)
{
    int error = 0;
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
            return;
        }
        error = errno;
        (void)close(fd);
    }
    fail_errno(conn, now_ns, "cannot connect", error);
}

static void connected(struct weiri_conn *conn, int64_t now_ns)
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
    }
    if (error == 0) {
        begin_greeting(conn);
        return;
    }
    (void)close(conn->fd);
    conn->fd = -1;
    conn->address = conn->address->ai_next;
    if (conn->address != NULL) {
        try_addresses(conn, now_ns);
    } else {
        fail_errno(conn, now_ns, "cannot connect", error);
    }
}

static void begin(struct weiri_conn *conn, int64_t now_ns)
{
    conn->step_limit_ns = weiri_time_add(now_ns, conn->config.time_limit_ns);
    conn->state = WEIRI_CONN_RESOLVING;
    if (!weiri_resolver_begin(&conn->resolver, conn->config.endpoint, conn->config.wake_fd)) {
        fail(conn, now_ns, "cannot resolve the name", "no thread");
    }
}

static void take_addresses(struct weiri_conn *conn, int64_t now_ns)
{
    int error = weiri_resolver_take(&conn->resolver, &conn->addresses);
    if (error != 0) {
        fail(conn, now_ns, "cannot resolve the name", gai_strerror(error));
        return;
    }
    conn->address = conn->addresses;
    try_addresses(conn, now_ns);
}

/* --- sending --- */

static void used(struct weiri_command *command, enum weiri_delivery delivery,
                 struct weiri_reply *reply)
{
    struct weiri_conn *conn = command->conn;
    if (delivery == WEIRI_ANSWERED && reply->kind == WEIRI_USING) {
        memcpy(conn->used, reply->tube, sizeof(conn->used));
    }
}

/* The next command to write; NULL: none now. A tube is used before the command that needs it is
 * sent, and not with it: a put that follows a refused `use` would go to another tube. */
static struct weiri_command *next_command(struct weiri_conn *conn)
{
    if (conn->barrier != NULL || weiri_list_is_empty(&conn->waiting)) {
        return NULL;
    }
    struct weiri_command *command = WEIRI_CONTAINER(conn->waiting.next, struct weiri_command, link);
    bool is_greeting = command->done == greeted;
    if (conn->state == WEIRI_CONN_GREETING && !is_greeting) {
        return NULL;
    }
    if (command->use != NULL && strcmp(command->use, conn->used) != 0) {
        conn->used[0] = '\0';
        conn->use = (struct weiri_command){.conn = conn,
                                           .request = {.verb = WEIRI_USE, .tube = command->use},
                                           .limit_ns = command->limit_ns,
                                           .done = used};
        conn->barrier = &conn->use;
        weiri_list_init(&conn->use.link);
        return &conn->use;
    }
    weiri_list_remove(&command->link);
    return command;
}

static bool is_too_big(const struct weiri_conn *conn, const struct weiri_request *request)
{
    return request->verb == WEIRI_PUT && conn->facts.max_job_size > 0 &&
           request->prefix_size + request->body_size > conn->facts.max_job_size;
}

/* Ends a command that cannot be sent. */
static void refuse(struct weiri_conn *conn, struct weiri_command *command)
{
    if (is_too_big(conn, &command->request)) {
        struct weiri_reply reply = {.kind = WEIRI_JOB_TOO_BIG};
        command->done(command, WEIRI_ANSWERED, &reply);
    } else {
        command->done(command, WEIRI_NOT_SENT, NULL);
    }
}

/* Copies what fits of one piece of a request that begins at start. */
static void copy_piece(struct weiri_conn *conn, size_t *start, const void *bytes, size_t size)
{
    size_t end = *start + size;
    if (conn->written >= *start && conn->written < end) {
        size_t count = end - conn->written;
        size_t space = sizeof(conn->out) - conn->out_end;
        count = count < space ? count : space;
        memcpy(conn->out + conn->out_end, (const char *)bytes + (conn->written - *start), count);
        conn->out_end += count;
        conn->written += count;
    }
    *start = end;
}

/* Copies what fits of the command being written. True: all of it. */
static bool copy_command(struct weiri_conn *conn)
{
    const struct weiri_request *request = &conn->writing->request;
    size_t start = 0;
    copy_piece(conn, &start, conn->line, conn->line_size);
    if (request->verb == WEIRI_PUT) {
        copy_piece(conn, &start, request->prefix, request->prefix_size);
        copy_piece(conn, &start, request->body, request->body_size);
        copy_piece(conn, &start, "\r\n", 2);
    }
    return conn->written == start;
}

static void encode(struct weiri_conn *conn)
{
    if (conn->out_start == conn->out_end) {
        conn->out_start = 0;
        conn->out_end = 0;
    }
    while (conn->out_end < sizeof(conn->out)) {
        if (conn->writing == NULL) {
            struct weiri_command *command = next_command(conn);
            if (command == NULL) {
                return;
            }
            if (is_too_big(conn, &command->request) ||
                !weiri_request_write(&command->request, conn->line, &conn->line_size)) {
                conn->barrier = NULL;
                refuse(conn, command);
                continue;
            }
            weiri_list_insert_before(&conn->sent, &command->link);
            conn->writing = command;
            conn->written = 0;
        }
        if (copy_command(conn)) {
            conn->writing = NULL;
        }
    }
}

static void send_out(struct weiri_conn *conn, int64_t now_ns)
{
    while (conn->out_start < conn->out_end) {
        ssize_t count = send(conn->fd, conn->out + conn->out_start, conn->out_end - conn->out_start,
                             MSG_NOSIGNAL);
        if (count < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
                fail_errno(conn, now_ns, "cannot send", errno);
            }
            return;
        }
        conn->out_start += (size_t)count;
        encode(conn);
    }
}

/* --- receiving --- */

static void answer(struct weiri_conn *conn, int64_t now_ns)
{
    struct weiri_reply *reply = &conn->parser.reply;
    if (weiri_list_is_empty(&conn->sent)) {
        fail(conn, now_ns, "a reply that nothing was asked for", weiri_reply_name(reply->kind));
        return;
    }
    struct weiri_command *command = WEIRI_CONTAINER(conn->sent.next, struct weiri_command, link);
    if (conn->writing == command || !weiri_reply_fits(command->request.verb, reply)) {
        fail(conn, now_ns, "a reply of another command", weiri_reply_name(reply->kind));
        return;
    }
    weiri_list_remove(&command->link);
    if (conn->barrier == command) {
        conn->barrier = NULL;
    }
    enum weiri_reply_kind kind = reply->kind;
    enum weiri_verb verb = command->request.verb;
    bool is_refused = verb == WEIRI_USE && kind != WEIRI_USING;
    bool is_greeting = conn->state == WEIRI_CONN_GREETING;
    size_t size = reply->body_size;
    size_t greetings_left = conn->greetings_left;
    command->done(command, WEIRI_ANSWERED, reply);
    reply->body_size = size;
    is_refused = is_refused || (is_greeting && greetings_left == conn->greetings_left);
    if (is_refused || weiri_reply_is_fatal(kind)) {
        fail(conn, now_ns, weiri_verb_name(verb), weiri_reply_name(kind));
        return;
    }
    weiri_parser_next(&conn->parser);
}

static void receive(struct weiri_conn *conn, char *buffer, size_t size, int64_t now_ns)
{
    ssize_t count = recv(conn->fd, buffer, size, 0);
    if (count == 0) {
        fail(conn, now_ns, "the node closed the connection", "");
        return;
    }
    if (count < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            fail_errno(conn, now_ns, "cannot receive", errno);
        }
        return;
    }
    size_t at = 0;
    uint32_t generation = conn->generation;
    while (at < (size_t)count && conn->fd >= 0 && conn->generation == generation) {
        size_t used_bytes = 0;
        enum weiri_parse result =
            weiri_parser_feed(&conn->parser, buffer + at, (size_t)count - at, &used_bytes);
        at += used_bytes;
        if (result == WEIRI_PARSE_REPLY) {
            answer(conn, now_ns);
        } else if (result == WEIRI_PARSE_BAD) {
            fail(conn, now_ns, "the node breaks the protocol", conn->parser.why);
        } else if (result == WEIRI_PARSE_NO_MEMORY) {
            fail(conn, now_ns, "no memory for a body", "");
        }
    }
}

/* --- the loop's side --- */

void weiri_conn_push(struct weiri_conn *conn, struct weiri_command *command, int64_t now_ns)
{
    if (conn->failures > 0 || !conn->is_wanted) {
        command->done(command, WEIRI_NOT_SENT, NULL);
        return;
    }
    int64_t limit = conn->config.time_limit_ns;
    if (command->request.verb == WEIRI_RESERVE_TIMEOUT) {
        limit = weiri_time_add(limit, WEIR_SECONDS(command->request.count));
    }
    command->limit_ns = weiri_time_add(now_ns, limit);
    weiri_list_insert_before(&conn->waiting, &command->link);
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
    if (conn->state == WEIRI_CONN_RESOLVING && weiri_resolver_is_done(&conn->resolver)) {
        take_addresses(conn, now_ns);
    }
    if (conn->state == WEIRI_CONN_DOWN) {
        return conn->retry_ns;
    }
    int64_t limit = conn->state == WEIRI_CONN_UP ? oldest_limit(conn) : conn->step_limit_ns;
    if (limit <= now_ns) {
        fail(conn, now_ns, conn->state == WEIRI_CONN_UP ? "no answer" : "cannot connect",
             "the time limit passed");
        return conn->retry_ns;
    }
    if (conn->state >= WEIRI_CONN_GREETING) {
        encode(conn);
        send_out(conn, now_ns);
    }
    return limit;
}

short weiri_conn_events(const struct weiri_conn *conn)
{
    switch (conn->state) {
    case WEIRI_CONN_CONNECTING:
        return POLLOUT;
    case WEIRI_CONN_GREETING:
    case WEIRI_CONN_UP:
        return (short)(POLLIN | (conn->out_start < conn->out_end ? POLLOUT : 0));
    default:
        return 0;
    }
}

void weiri_conn_ready(struct weiri_conn *conn, short events, char *buffer, size_t size,
                      int64_t now_ns)
{
    if (conn->state == WEIRI_CONN_CONNECTING) {
        connected(conn, now_ns);
        return;
    }
    if ((events & (POLLIN | POLLERR | POLLHUP)) != 0 && conn->fd >= 0) {
        receive(conn, buffer, size, now_ns);
    }
    if ((events & POLLOUT) != 0 && conn->fd >= 0 && conn->state >= WEIRI_CONN_GREETING) {
        send_out(conn, now_ns);
    }
}
