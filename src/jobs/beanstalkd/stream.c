/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a connection sends and receives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "jobs/beanstalkd/connection.h"

/* --- commands of its own: the greeting, and `use` --- */

/* A command of the connection's own is answered. A reply that does not end it is a failure. Without
 * the last step of the greeting of a connection that reserves, it would reserve jobs of the tube
 * `default`, which are others'. */
static void own_done(struct weiri_command *command, enum weiri_delivery delivery,
                     struct weiri_reply *reply)
{
    struct weiri_conn *conn = command->conn;
    enum weiri_verb verb = command->request.verb;
    if (delivery != WEIRI_ANSWERED) {
        return;
    }
    bool is_good = reply->kind == WEIRI_OK_BODY || reply->kind == WEIRI_USING ||
                   (reply->kind == WEIRI_WATCHING && (verb == WEIRI_WATCH || reply->count == 1));
    conn->is_own_sent = !is_good;
    if (is_good && verb == WEIRI_USE) {
        memcpy(conn->used, reply->tube, sizeof(conn->used));
    } else if (is_good && verb == WEIRI_WATCH &&
               strcmp(conn->config.watched, WEIRI_DEFAULT_TUBE) != 0) {
        conn->greeting = WEIRI_IGNORE;
    } else if (is_good) {
        conn->greeting = 0;
        conn->state = WEIRI_CONN_UP;
        conn->failures = 0;
    }
}

void weiri_facts_read(const char *body, size_t size, struct weiri_node_facts *facts)
{
    struct weiri_node_facts before = *facts;
    char draining[8];
    char id[24] = "";
    uint64_t index = 0;
    *facts = (struct weiri_node_facts){.max_job_size = 0};
    (void)weiri_stats_text(body, size, "version", facts->version, sizeof(facts->version));
    (void)weiri_stats_text(body, size, "id", id, sizeof(id));
    facts->server = strtoull(id, NULL, 16);
    (void)weiri_stats_number(body, size, "max-job-size", &facts->max_job_size);
    (void)weiri_stats_number(body, size, "total-jobs", &facts->puts);
    (void)weiri_stats_number(body, size, "binlog-records-written", &facts->records);
    facts->is_draining = weiri_stats_text(body, size, "draining", draining, sizeof(draining)) &&
                         strcmp(draining, "true") == 0;
    facts->has_binlog = weiri_stats_number(body, size, "binlog-current-index", &index) && index > 0;
    /* After an error of its disk a node goes on without its binlog and keeps the index: then jobs
     * are put, and no record is written. A node with fewer puts than before was started anew. */
    if (facts->has_binlog && facts->puts >= before.puts && facts->records == before.records) {
        facts->has_binlog = facts->puts == before.puts && before.has_binlog;
    }
}

/* The socket refused to send or to receive. It may have no space, or nothing, yet. */
static void refused(struct weiri_conn *conn, int64_t now_ns, const char *what)
{
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        weiri_conn_fail_errno(conn, now_ns, what, errno);
    }
}

/* --- sending --- */

static struct weiri_command *own_command(struct weiri_conn *conn, enum weiri_verb verb,
                                         const char *tube, int64_t limit_ns)
{
    conn->own = (struct weiri_command){.conn = conn,
                                       .request = {.verb = verb, .tube = tube},
                                       .limit_ns = limit_ns,
                                       .done = own_done};
    conn->is_own_sent = true;
    return &conn->own;
}

/* The next command to write; NULL: none now. The connection's own are sent alone: a put that
 * follows a refused `use` would go to another tube. */
static struct weiri_command *next_command(struct weiri_conn *conn)
{
    if (conn->is_own_sent) {
        return NULL;
    }
    if (conn->state == WEIRI_CONN_GREETING) {
        const char *tube =
            conn->greeting == WEIRI_IGNORE ? WEIRI_DEFAULT_TUBE : conn->config.watched;
        return own_command(conn, conn->greeting, tube, conn->step_limit_ns);
    }
    if (weiri_list_is_empty(&conn->waiting)) {
        return NULL;
    }
    struct weiri_command *command = WEIRI_CONTAINER(conn->waiting.next, struct weiri_command, link);
    if (command->use != NULL && strcmp(command->use, conn->used) != 0) {
        return own_command(conn, WEIRI_USE, command->use, command->limit_ns);
    }
    weiri_list_remove(&command->link);
    return command;
}

static bool is_too_big(const struct weiri_conn *conn, const struct weiri_request *request)
{
    return request->verb == WEIRI_PUT && conn->facts.max_job_size > 0 &&
           request->prefix_size + request->body_size > conn->facts.max_job_size;
}

/* Copies what fits of one piece of a put that begins at start. */
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

/* Copies what fits of what follows the line of a put. */
static void copy_put(struct weiri_conn *conn)
{
    const struct weiri_request *request = &conn->writing->request;
    size_t end = 0;
    copy_piece(conn, &end, request->prefix, request->prefix_size);
    copy_piece(conn, &end, request->body, request->body_size);
    copy_piece(conn, &end, "\r\n", 2);
    conn->writing = conn->written == end ? NULL : conn->writing;
}

static void encode(struct weiri_conn *conn)
{
    if (conn->out_start == conn->out_end) {
        conn->out_start = 0;
        conn->out_end = 0;
    }
    if (conn->writing != NULL) {
        copy_put(conn);
    }
    while (conn->writing == NULL && sizeof(conn->out) - conn->out_end >= WEIRI_LINE_SIZE) {
        size_t size;
        struct weiri_command *command = next_command(conn);
        if (command == NULL) {
            return;
        }
        if (is_too_big(conn, &command->request)) {
            struct weiri_reply reply = {.kind = WEIRI_JOB_TOO_BIG};
            command->done(command, WEIRI_ANSWERED, &reply);
            continue;
        }
        if (!weiri_request_write(&command->request, conn->out + conn->out_end, &size)) {
            command->done(command, WEIRI_NOT_SENT, NULL);
            continue;
        }
        command->is_sent = true;
        weiri_list_insert_before(&conn->sent, &command->link);
        conn->out_end += size;
        if (command->request.verb == WEIRI_PUT) {
            conn->writing = command;
            conn->written = 0;
            copy_put(conn);
        }
    }
}

void weiri_conn_send(struct weiri_conn *conn, int64_t now_ns)
{
    encode(conn);
    while (conn->out_start < conn->out_end) {
        ssize_t count = send(conn->fd, conn->out + conn->out_start, conn->out_end - conn->out_start,
                             MSG_NOSIGNAL);
        if (count < 0) {
            refused(conn, now_ns, "cannot send");
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
        weiri_conn_fail(conn, now_ns, "a reply that nothing was asked for",
                        weiri_reply_name(reply->kind));
        return;
    }
    struct weiri_command *command = WEIRI_CONTAINER(conn->sent.next, struct weiri_command, link);
    if (conn->writing == command || !weiri_reply_fits(command->request.verb, reply)) {
        weiri_conn_fail(conn, now_ns, "a reply of another command", weiri_reply_name(reply->kind));
        return;
    }
    weiri_list_remove(&command->link);
    conn->is_silent = false;
    enum weiri_reply_kind kind = reply->kind;
    enum weiri_verb verb = command->request.verb;
    bool is_own = command == &conn->own;
    if (verb == WEIRI_STATS && kind == WEIRI_OK_BODY) {
        weiri_facts_read(reply->body, reply->body_size, &conn->facts);
    }
    command->done(command, WEIRI_ANSWERED, reply);
    if ((is_own && conn->is_own_sent) || weiri_reply_is_fatal(kind)) {
        weiri_conn_fail(conn, now_ns, weiri_verb_name(verb), weiri_reply_name(kind));
        return;
    }
    weiri_parser_next(&conn->parser);
}

void weiri_conn_receive(struct weiri_conn *conn, char *buffer, size_t size, int64_t now_ns)
{
    ssize_t count = recv(conn->fd, buffer, size, 0);
    if (count == 0) {
        weiri_conn_fail(conn, now_ns, "the node closed the connection", "");
        return;
    }
    if (count < 0) {
        refused(conn, now_ns, "cannot receive");
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
            weiri_conn_fail(conn, now_ns, "the node breaks the protocol", conn->parser.why);
        } else if (result == WEIRI_PARSE_NO_MEMORY) {
            weiri_conn_fail(conn, now_ns, "no memory for a body", "");
        }
    }
}
