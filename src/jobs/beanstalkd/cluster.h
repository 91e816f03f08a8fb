/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_CLUSTER_H
#define WEIRI_BEANSTALKD_CLUSTER_H

#include <poll.h>

#include "base/sync.h"
#include "jobs/beanstalkd/cluster_url.h"
#include "jobs/beanstalkd/connection.h"
#include "jobs/broker.h"
#include "jobs/redis/claims.h"

/* All nodes of a broker, driven by poll() from one thread, the cluster's. Connections belong to
 * that thread. Other threads hand in commands and wait; one mutex guards what they share. It is
 * never held during I/O. docs/internals/cluster.md. */

struct weiri_node {
    struct weiri_conn control; /* everything but reserving */
    atomic_bool is_away;       /* the last connection failed, or the node takes no puts */
    bool was_away;             /* the cluster thread's, for the log */
    bool had_binlog;
};

struct weiri_cluster {
    /* Immutable. */
    const struct weiri_broker_config *config;
    struct weiri_cluster_url url;
    struct weiri_node *nodes;    /* url.node_count */
    struct weiri_claims *claims; /* NULL: none */
    int wake_fd;
    struct weiri_thread thread;

    struct weiri_mutex mutex;
    /* Guarded by the mutex. */
    struct weiri_list submitted WEIRI_GUARDED_BY(mutex); /* commands for the cluster thread */
    struct weiri_list submitted_claims WEIRI_GUARDED_BY(mutex);
    struct weiri_list subscriptions WEIRI_GUARDED_BY(mutex); /* added to, never removed from */
    uint64_t random WEIRI_GUARDED_BY(mutex);
    bool is_woken WEIRI_GUARDED_BY(mutex);
    bool is_closing WEIRI_GUARDED_BY(mutex);

    /* The cluster thread's. */
    struct weiri_list conns;
    struct weiri_list finished; /* calls whose threads are to be woken */
    struct pollfd *polls;
    size_t poll_capacity;
    char buffer[65536];
};

/* Hands in a command; command->conn says where to. */
void weiri_cluster_submit_locked(struct weiri_cluster *cluster, struct weiri_command *command)
    WEIRI_REQUIRES(cluster->mutex);
/* Makes the cluster thread do a round soon. */
void weiri_cluster_wake_locked(struct weiri_cluster *cluster) WEIRI_REQUIRES(cluster->mutex);
/* The cluster thread's: adds a connection to those that it drives, or takes it away. */
void weiri_cluster_add_conn(struct weiri_cluster *cluster, struct weiri_conn *conn);

/* The node of an endpoint that text begins with, followed by '/'; -1: none. */
int weiri_cluster_find_node(const struct weiri_cluster *cluster, const char *text);

static inline int64_t weiri_cluster_now(const struct weiri_cluster *cluster)
{
    return cluster->config->now(cluster->config->now_arg);
}

/* A call that waits for answers. The cluster's thread wakes all that were answered in one round
 * under one hold of the mutex, each by a condition of its own. */
struct weiri_call {
    struct weiri_list link;
    struct weiri_cond woken;
    size_t left;  /* the cluster thread's, once its commands are handed in */
    bool is_done; /* guarded by the mutex */
};

/* For so many answers. */
void weiri_call_init(struct weiri_call *call, struct weiri_cluster *cluster, size_t left);
void weiri_call_wait_locked(struct weiri_call *call);
/* On the cluster's thread: one answer came. The call may end with the round. */
void weiri_call_answer(struct weiri_cluster *cluster, struct weiri_call *call);

#define WEIRI_STAMP_SIZE 24

/* A command that a thread waits for. */
struct weiri_query {
    struct weiri_command command;
    struct weiri_queries *queries;
    enum weiri_delivery delivery;
    enum weiri_reply_kind kind; /* 0 unless answered */
    uint64_t id;
    uint64_t count;
    char *body; /* taken; weiri_queries_free() */
    size_t body_size;
    char why[96];                 /* not sent or lost: why */
    char stamp[WEIRI_STAMP_SIZE]; /* of a put */
};

struct weiri_queries {
    struct weiri_cluster *cluster;
    struct weiri_call call;
    struct weiri_query *query;
    size_t count;
    size_t capacity;
};

/* Space for so many; false for lack of memory. */
bool weiri_queries_init(struct weiri_queries *queries, struct weiri_cluster *cluster,
                        size_t capacity);
/* Adds one for a node's control connection. */
struct weiri_query *weiri_queries_add(struct weiri_queries *queries, size_t node,
                                      const struct weiri_request *request, const char *use);
/* Sends all and waits until each is answered or has failed, which the connections' time limits
 * bound. */
void weiri_queries_run(struct weiri_queries *queries);
/* Forgets all, keeping the space. */
void weiri_queries_clear(struct weiri_queries *queries);
void weiri_queries_fini(struct weiri_queries *queries);
/* The node of a query. */
size_t weiri_query_node(const struct weiri_query *query);
/* Writes "endpoint: what happened" behind what is in text. */
void weiri_query_tell(const struct weiri_query *query, char *text, size_t size);
/* Fails where no node answered: WEIR_EUNAVAILABLE. Logs each that did not. */
enum weir_status weiri_queries_check(const struct weiri_queries *queries, const char *what,
                                     struct weir_error *ret_error);

/* Does something with a body's claim and waits for the answer; there are claims. */
enum weiri_claim_answer weiri_cluster_claim(struct weiri_cluster *cluster,
                                            enum weiri_claim_verb verb, const char *body,
                                            size_t size, int64_t time_ms);

/* Ids: endpoint/tube/number joined by commas. */
struct weiri_copy_id {
    size_t node;
    uint64_t number;
};

/* Adds a copy to an id. False: it does not fit. */
bool weiri_id_add(struct weir_job_id *id, const char *endpoint, const char *tube, uint64_t number);
/* Reads an id. ret_copies has WEIRI_NODES_MAX members. */
enum weir_status weiri_id_parse(const struct weiri_cluster *cluster, const char *text,
                                struct weiri_copy_id *ret_copies, size_t *ret_count,
                                struct weir_error *ret_error);

/* A job's run time in its body: decimal nanoseconds and '/'. */
size_t weiri_stamp_write(int64_t run_at_ns, char text[WEIRI_STAMP_SIZE]);
/* False: these bytes do not begin so. ret_size: of the number and the slash. */
bool weiri_stamp_read(const char *body, size_t size, int64_t *ret_run_at_ns, size_t *ret_size);

/* Priorities as go-queue's dq has them: weir's 0 is its usual 2. */
#define WEIRI_PRIORITY_OFFSET 2

/* The operations: functions of struct weiri_broker_ops. */
enum weir_status weiri_cluster_put(void *store, const struct weiri_put *put,
                                   struct weir_job_id *ret_ids, struct weir_error *ret_error);
enum weir_status weiri_cluster_remove(void *store, const char *const *ids, size_t count,
                                      size_t *ret_count, struct weir_error *ret_error);
enum weir_status weiri_cluster_change(void *store, const struct weiri_change *change,
                                      struct weir_error *ret_error);
enum weir_status weiri_cluster_kick(void *store, const char *tube, size_t count, size_t *ret_count,
                                    struct weir_error *ret_error);
enum weir_status weiri_cluster_tubes(void *store, const char *tube, weir_tube_fn *fn, void *arg,
                                     struct weir_error *ret_error);
enum weir_status weiri_cluster_peek(void *store, const char *tube, enum weir_job_state state,
                                    size_t limit, weir_job_fn *fn, void *arg,
                                    struct weir_error *ret_error);
enum weir_status weiri_cluster_peek_id(void *store, const char *id, weir_job_fn *fn, void *arg,
                                       struct weir_error *ret_error);

enum weir_status weiri_cluster_nodes(void *store, weir_node_fn *fn, void *arg,
                                     struct weir_error *ret_error);
enum weir_status weiri_cluster_pause(void *store, const char *tube, int64_t duration_ns,
                                     struct weir_error *ret_error);
enum weir_status weiri_cluster_move(void *store, struct weiri_move *move,
                                    struct weir_error *ret_error);
int64_t weiri_cluster_late(const void *store);

extern const struct weiri_broker_ops weiri_beanstalkd_ops;

#endif
