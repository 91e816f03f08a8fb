/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_CLUSTER_H
#define WEIRI_BEANSTALKD_CLUSTER_H

#include <poll.h>

#include "base/array.h"
#include "base/park.h"
#include "base/sync.h"
#include "base/time.h"
#include "jobs/beanstalkd/cluster_options.h"
#include "jobs/beanstalkd/connection.h"
#include "jobs/beanstalkd/mac.h"
#include "jobs/core/backend.h"
#include "jobs/redis/claims.h"

/* All nodes of a broker, driven by poll() from one thread, the cluster's. Connections belong to
 * that thread. Other threads hand in calls and wait; one mutex guards what they share. It is never
 * held during I/O. docs/internals/cluster.md. */

struct weiri_node {
    struct weiri_conn control; /* everything but reserving */
    bool is_suspect; /* guarded by the mutex: away, draining, without its binlog, or another
                        name of an earlier one's server */
    /* The cluster thread's. */
    bool was_away; /* for the log */
    bool had_binlog;
    int64_t check_ns; /* when to send a `stats`, once it is up; INT64_MAX: one is under way */
    struct weiri_command check;
};

/* By the first two digits of their keys. */
#define WEIRI_BUCKETS 256

struct weiri_cluster {
    /* Immutable. */
    const struct weiri_broker_config *config;
    struct weiri_cluster_options options;
    struct weiri_node *nodes;    /* options.node_count */
    struct weiri_claims *claims; /* NULL: none */
    struct weiri_keys keys;
    int wake_fd;
    struct weiri_thread thread;

    struct weiri_mutex mutex;
    struct weiri_cond changed; /* for waits: a subscription has more signals */
    /* Guarded by the mutex. */
    struct weiri_list calls WEIRI_GUARDED_BY(mutex);         /* struct weiri_queries, not sent */
    struct weiri_list copies WEIRI_GUARDED_BY(mutex);        /* that consumers handed in */
    struct weiri_list subscriptions WEIRI_GUARDED_BY(mutex); /* added to, never removed from */
    bool is_woken WEIRI_GUARDED_BY(mutex);
    bool is_closing WEIRI_GUARDED_BY(mutex);

    /* The cluster thread's. */
    struct weiri_list conns;
    struct weiri_list running;                /* calls that wait for answers */
    struct weiri_list buckets[WEIRI_BUCKETS]; /* the copies of all tubes, by their keys: a claim
                                                 names no tube */
    uint64_t claim_token;                     /* the last */
    size_t leaving; /* copies whose end is decided, and not answered by their nodes */
    struct weiri_array
        polls;          /* struct pollfd: the wake-up's, Redis' at most, one for each connection */
    size_t claim_polls; /* those of Redis */
    char buffer[65536];
};

/* Makes the cluster thread do a round soon. */
void weiri_cluster_wake_locked(struct weiri_cluster *cluster) WEIRI_REQUIRES(cluster->mutex);
/* The cluster thread's: drives the connections, and sleeps until one of them is ready, or until a
 * time. */
void weiri_cluster_poll(struct weiri_cluster *cluster, int64_t now_ns, int64_t next_ns);
/* The cluster thread's: adds a connection to those that it drives. False for lack of memory. */
bool weiri_cluster_add_conn(struct weiri_cluster *cluster, struct weiri_conn *conn);

/* Whole seconds as a request has them: rounded down, at least 0, at most what its 32 bits hold. */
static inline uint32_t weiri_seconds(int64_t duration_ns)
{
    int64_t seconds = duration_ns > 0 ? duration_ns / WEIR_SECONDS(1) : 0;
    return seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
}

/* The same rounded up. */
static inline uint32_t weiri_seconds_up(int64_t duration_ns)
{
    return weiri_seconds(weiri_time_add(duration_ns, WEIR_SECONDS(1) - 1));
}

static inline int64_t weiri_cluster_now(const void *store)
{
    const struct weiri_cluster *cluster = store;
    return cluster->config->clocks.wall(cluster->config->clocks.arg);
}

#define WEIRI_STAMP_SIZE 24

/* Of a job's id: the first digits of its claim's key. */
#define WEIRI_TAG_SIZE 8

/* One copy of a job, as its id names it. */
struct weiri_copy_id {
    const char *text;             /* in the id */
    size_t node;                  /* their number: the broker's URL names the endpoint no more */
    uint64_t number;              /* 0: a put was sent that the node did not answer in time */
    char tag[WEIRI_TAG_SIZE + 1]; /* "": none */
    char tube[WEIR_TUBE_SIZE_MAX + 1];
    /* Of struct weiri_copies. */
    const struct weiri_query *query; /* the last for it; NULL: it cannot be asked for */
    enum weir_job_state state;       /* 0: not found */
    uint32_t priority;
    bool is_chosen; /* a command is for it; only one that was found is */
};

/* A request to a node, and its answer. */
struct weiri_query {
    struct weiri_command command;
    enum weiri_delivery delivery; /* 0: not known yet */
    enum weiri_reply_kind kind;   /* 0 unless answered */
    uint64_t id;                  /* of the job */
    char *body;                   /* taken; weiri_queries_fini() frees it */
    size_t body_size;
    int64_t answered_ns;
    bool is_patient;                                /* its node was not silent when it was sent */
    struct weiri_node_facts facts;                  /* of the node, when it answered */
    char why[96];                                   /* not sent or lost: why */
    char prefix[WEIRI_STAMP_SIZE + WEIRI_MAC_SIZE]; /* of a put */
};

/* A call of another thread: requests that are sent together, or a claim. Its thread waits for the
 * last answer. */
struct weiri_queries {
    struct weiri_list link;
    struct weiri_cluster *cluster;
    struct weiri_query *query;
    size_t count;
    size_t capacity;
    struct weiri_claim claim; /* without done(): none */
    enum weiri_claim_answer answer;
    size_t left;                /* answers that are waited for */
    struct weiri_parker parker; /* the caller's; set once all answers are there */
    /* Where it says so, answers that have not come 200 ms after the last one that did, or that only
     * silent nodes owe, are not waited for. NULL: all are. */
    bool (*is_enough)(const struct weiri_queries *queries);
    size_t patient;   /* those that are not answered */
    int64_t check_ns; /* when to ask that next */
};

#define WEIRI_ALL_NODES SIZE_MAX
/* Space for so many, or for one to each node; WEIR_ENOMEM in words. */
enum weir_status weiri_queries_init(struct weiri_queries *queries, struct weiri_cluster *cluster,
                                    size_t capacity, struct weir_error *ret_error);
/* Adds one for a node's control connection. */
struct weiri_query *weiri_queries_add(struct weiri_queries *queries, size_t node,
                                      const struct weiri_request *request, const char *use);
/* Sends all that was added and waits until each is answered or has failed, which the connections'
 * time limits bound. */
void weiri_queries_run(struct weiri_queries *queries);
/* Forgets all, keeping the space. */
void weiri_queries_clear(struct weiri_queries *queries);
/* The same request to one node, or to all (WEIRI_ALL_NODES). What was asked before is forgotten. */
void weiri_queries_ask(struct weiri_queries *queries, size_t node,
                       const struct weiri_request *request, const char *use);
void weiri_queries_fini(struct weiri_queries *queries);
/* The cluster thread's: sends what was handed in, which may be gone then. */
void weiri_queries_send(struct weiri_queries *queries, int64_t now_ns);
/* The cluster thread's: leaves what need not be waited for. Returns when to do so again. */
int64_t weiri_calls_advance(struct weiri_cluster *cluster, int64_t now_ns);
/* The node of a query, and its endpoint as in the URL. */
size_t weiri_query_node(const struct weiri_query *query);
const char *weiri_query_name(const struct weiri_query *query);
/* Writes "endpoint: what happened" behind what is in text. */
void weiri_query_tell(const struct weiri_query *query, char *text, size_t size);
/* The same of each that was not answered. Returns how many. */
size_t weiri_queries_away(const struct weiri_queries *queries, char *text, size_t size);
/* A number of the statistics that answer a query; 0: it has no such answer. */
uint64_t weiri_query_number(const struct weiri_query *query, const char *name);
/* Fails where no node answered: WEIR_EUNAVAILABLE. Logs each that did not. */
enum weir_status weiri_queries_check(const struct weiri_queries *queries, const char *what,
                                     struct weir_error *ret_error);

/* Sends a claim, whose key is set, and waits for the answer; there are claims. WEIRI_CLAIM_TIME:
 * the answer is in time_ms, or in reason why Redis is away. */
enum weiri_claim_answer weiri_cluster_claim(struct weiri_cluster *cluster,
                                            struct weiri_claim *claim);

/* How far the wall clocks of two hosts may be apart before one is called wrong. */
#define WEIRI_CLOCKS_APART_NS WEIR_SECONDS(2)

/* Sums what the nodes count of a tube, asking them by queries for all nodes. False: none of them
 * knows it, or it is empty and nobody's. */
bool weiri_cluster_count(struct weiri_queries *queries, const char *tube,
                         struct weir_tube_counts *ret_counts);

/* Ids: endpoint/tube/number, a dot and the tag of the body, joined by commas; dq's have no tags.
 * Adds a copy; false: it does not fit. key: the claim's; "": without a tag. */
bool weiri_id_add(struct weir_job_id *id, const char *endpoint, const char *tube, uint64_t number,
                  const char *key);
/* Reads an id. ret_copies has WEIRI_NODES_MAX members. */
enum weir_status weiri_id_parse(const struct weiri_cluster *cluster, const char *text,
                                struct weiri_copy_id *ret_copies, size_t *ret_count,
                                struct weir_error *ret_error);

/* A job's run time in its body: decimal nanoseconds and '/'. */
size_t weiri_stamp_write(int64_t run_at_ns, char text[WEIRI_STAMP_SIZE]);
/* False: these bytes do not begin so. ret_size: of the number and the slash. */
bool weiri_stamp_read(const char *body, size_t size, int64_t *ret_run_at_ns, size_t *ret_size);

/* A job that a node has shown: the job's texts are here, in the body and in the tube. */
struct weiri_shown {
    struct weir_job job;
    struct weir_job_id id;
    char key[WEIRI_CLAIM_KEY_SIZE];
    /* The tube and the key of the claim; "" where the key is. */
    char identity[WEIR_TUBE_SIZE_MAX + 1 + WEIRI_CLAIM_KEY_SIZE];
};
_Static_assert(sizeof(((struct weiri_shown *)NULL)->identity) <= WEIR_PUT_ID_SIZE_MAX + 1,
               "moves make put_ids of it");

/* Fills in what a job's place and body say. Before the user's bytes is a run time, and a MAC where
 * the cluster has keys. Returns NULL, or why the body is none of ours. body: NULL where it was
 * skipped. */
const char *weiri_shown_read(const struct weiri_cluster *cluster, const char *endpoint,
                             const char *tube, uint64_t number, const char *body, size_t size,
                             struct weiri_shown *ret_shown);

/* What a job is, as `stats-job` tells it. */
struct weiri_job_stats {
    char tube[WEIR_TUBE_SIZE_MAX + 1];
    uint32_t priority; /* the node's */
    uint64_t kicks;
};

/* Reads the body of `stats-job`; fills in ret_job's state, priority, TTR, attempts, time of
 * creation and end of its reservation. False: a fact lacks, or there is no body. */
bool weiri_job_stats_read(const char *body, size_t size, int64_t now_ns,
                          struct weiri_job_stats *ret_facts, struct weir_job *ret_job);

/* Priorities as go-queue's dq has them: weir's 0 is its usual 2. */
#define WEIRI_PRIORITY_OFFSET (-WEIRI_PRIORITY_LEAST)

/* The operations: the functions of these names of struct weiri_broker_ops. */
#define WEIRI_CLUSTER_CALLS(X) X(put) X(change) X(edit) X(list) X(tubes) X(nodes) X(check) X(move)
#define WEIRI_CLUSTER_RUNS(X) X(exchange) X(settle) X(let_go) X(mark) X(wait) X(wake)
#define WEIRI_CLUSTER_OP(name) WEIRI_OP(name, weiri_cluster_##name);
WEIRI_CLUSTER_CALLS(WEIRI_CLUSTER_OP)
WEIRI_CLUSTER_RUNS(WEIRI_CLUSTER_OP)

extern const struct weiri_broker_ops weiri_beanstalkd_ops;

#endif
