/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_CONNECTION_H
#define WEIRI_BEANSTALKD_CONNECTION_H

#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/list.h"
#include "base/sync.h"
#include "jobs/beanstalkd/codec.h"

/* One connection to a node: requests are pipelined, replies come in their order. It never blocks;
 * one thread calls all its functions. Where a step takes longer than its limit, or the node answers
 * anything but a reply that fits, the connection is closed and made anew after a pause that grows.
 * The node's name is resolved again each time. */

/* Where a node is. */
struct weiri_endpoint {
    const char *text; /* as in ids: host:port, or a path with its slashes written %2F */
    const char *host; /* NULL: a unix socket */
    const char *port;
    const char *path;
};

/* A request on its way. The texts and the body that it points to stay valid until done() is
 * called, which is exactly once, and may push other commands. */
struct weiri_command {
    struct weiri_list link;
    struct weiri_conn *conn; /* where to send it */
    struct weiri_request request;
    const char *use; /* tube that must be used before; NULL: any */
    void *owner;     /* what done() may need to find */
    int64_t limit_ns;
    bool is_sent; /* in part at least */
    /* reply: NULL unless answered; its body may be taken by setting it to NULL. */
    void (*done)(struct weiri_command *command, enum weiri_delivery delivery,
                 struct weiri_reply *reply);
};

enum weiri_conn_state {
    WEIRI_CONN_DOWN = 0, /* waits for retry_ns */
    WEIRI_CONN_RESOLVING,
    WEIRI_CONN_CONNECTING,
    WEIRI_CONN_GREETING, /* connected; the node has yet to answer the first commands */
    WEIRI_CONN_UP
};

#define WEIRI_CONN_OUT_SIZE 32768

/* The tube that every connection uses and watches at first. */
#define WEIRI_DEFAULT_TUBE "default"

/* What a node told about itself last, in any answer to `stats`. */
struct weiri_node_facts {
    char version[32];
    uint64_t server;       /* a random number of the process; 0: not known */
    uint64_t max_job_size; /* 0: not known */
    uint64_t puts;         /* since it was started */
    uint64_t records;      /* written to its binlog since then */
    bool is_draining;
    bool has_binlog;
};

struct weiri_conn_config {
    const struct weir_allocator *allocator;
    const struct weiri_endpoint *endpoint;
    const char *watched; /* the only tube to reserve from; NULL: a connection that never reserves */
    size_t body_size_max;
    int64_t time_limit_ns; /* of each step */
    int wake_fd;           /* an eventfd, written when a name was resolved */
};

/* A name being resolved by a thread of its own, since the system's call blocks. */
struct weiri_resolver {
    struct weiri_thread thread;
    struct addrinfo *addresses;
    struct addrinfo path_address; /* the only one of a path */
    struct sockaddr_un path_name;
    int error; /* of getaddrinfo() */
    bool is_running;
    atomic_bool is_done;
};

struct weiri_conn {
    struct weiri_conn_config config;
    struct weiri_list link; /* the owner's */
    enum weiri_conn_state state;
    bool is_wanted;      /* the owner's: connect, and stay connected, until it is closed */
    bool is_silent;      /* a command was left, and no reply has come since */
    uint32_t failures;   /* in a row; 0 again once the node has answered the greeting */
    uint32_t generation; /* counts connections: reservations end with theirs */
    int64_t retry_ns;
    int64_t step_limit_ns; /* of connecting */
    char why[160];         /* of the last failure */
    struct weiri_node_facts facts;

    int fd;
    struct weiri_resolver resolver;
    struct addrinfo *address; /* the one being tried */

    struct weiri_list waiting; /* commands that are not encoded */
    struct weiri_list sent;    /* commands that are, in part at least */
    enum weiri_verb greeting;  /* the step to send next, or under way; 0: greeted */
    struct weiri_command own;  /* of the greeting, or `use` */
    bool is_own_sent;          /* nothing else is encoded before it is answered */
    char used[WEIR_TUBE_SIZE_MAX + 1];

    struct weiri_command *writing; /* a put whose line is in out, and not all that follows */
    size_t written;                /* of what follows */

    size_t out_start;
    size_t out_end;
    struct weiri_parser parser;
    char out[WEIRI_CONN_OUT_SIZE];
};

void weiri_conn_init(struct weiri_conn *conn, const struct weiri_conn_config *config);
/* Closes without a failure until it is wanted again. Commands that are left are done as WEIRI_LOST
 * or WEIRI_NOT_SENT. */
void weiri_conn_close(struct weiri_conn *conn);
/* The same at its end. May wait for a name that is being resolved. */
void weiri_conn_fini(struct weiri_conn *conn);

/* Hands in a command. Where the node is known to be away it is done at once, as not sent. */
void weiri_conn_push(struct weiri_command *command, int64_t now_ns);
/* Waits for a command's answer no longer: it is done as not sent, or as lost, and then a copy of it
 * goes on. Without memory for that it is waited for. */
void weiri_conn_leave(struct weiri_command *command);

/* Does what is due: connects, ends steps that took too long, encodes. Returns when to call again at
 * the latest. */
int64_t weiri_conn_advance(struct weiri_conn *conn, int64_t now_ns);

/* What to poll the descriptor for; 0: nothing. */
short weiri_conn_events(const struct weiri_conn *conn);
/* Does what poll() found. buffer is scratch. */
void weiri_conn_ready(struct weiri_conn *conn, short events, char *buffer, size_t size,
                      int64_t now_ns);

/* Reads the body of `stats` into a node's facts, which are those of before. A connection does so
 * with each that it receives. */
void weiri_facts_read(const char *body, size_t size, struct weiri_node_facts *facts);

/* Parts of a connection: connection.c, stream.c. */

/* Closes the connection, to be made again after a pause. */
void weiri_conn_fail(struct weiri_conn *conn, int64_t now_ns, const char *what, const char *why);
void weiri_conn_fail_errno(struct weiri_conn *conn, int64_t now_ns, const char *what, int error);
/* Encodes what waits and sends what the socket takes. */
void weiri_conn_send(struct weiri_conn *conn, int64_t now_ns);
/* Reads once, and does what the replies ask for. */
void weiri_conn_receive(struct weiri_conn *conn, char *buffer, size_t size, int64_t now_ns);

#endif
