/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_SUBSCRIPTION_H
#define WEIRI_BEANSTALKD_SUBSCRIPTION_H

#include "jobs/beanstalkd/cluster.h"
#include "jobs/redis/claims.h"

/* A tube that a consumer of this broker takes jobs from. The cluster's thread reserves from all
 * nodes while somebody wants jobs, learns what it must know of each, claims it, and puts it into
 * the stock, which exchanges take from.
 *
 * A connection that waits in `reserve` cannot do anything else, and a job can be settled only on
 * the connection that reserved it. So a node has several connections for a tube, lanes: a lane
 * waits only while it holds no job. */

#define WEIRI_LANES_MAX 8
#define WEIRI_RESERVES_MAX 16
/* Copies that are held back at a time: before their run time, or while another copy runs. */
#define WEIRI_EARLY_MAX 256

struct weiri_lane {
    struct weiri_conn conn;
    struct weiri_subscription *subscription;
    size_t node;
    size_t asked; /* reserves that do not wait, under way */
    bool is_waiting;
    struct weiri_command wait;
    struct weiri_command reserves[WEIRI_RESERVES_MAX];
    atomic_size_t held; /* jobs reserved on it and not settled */
};

/* The lanes to one node. */
struct weiri_branch {
    struct weiri_lane *lanes[WEIRI_LANES_MAX];
    size_t lane_count;
    size_t active;   /* the lane that reserves without waiting */
    bool is_hot;     /* the last reserve brought a job */
    int64_t poll_ns; /* when to ask without waiting, where all lanes hold jobs */
};

enum weiri_copy_stage {
    WEIRI_COPY_ARRIVED = 1, /* asked the node for its facts */
    WEIRI_COPY_EARLY,       /* its run time has not come, or another copy runs */
    WEIRI_COPY_CLAIMING,
    WEIRI_COPY_READY, /* in the stock */
    WEIRI_COPY_OUT,   /* a consumer has it */
    WEIRI_COPY_LEAVING
};

/* A reserved copy of a job. */
struct weiri_copy {
    struct weiri_list link; /* of arriving or stock */
    struct weiri_lane *lane;
    uint32_t generation; /* the lane's connection that it was reserved on */
    enum weiri_copy_stage stage;
    uint64_t number;
    uint32_t priority;
    uint64_t kicks;
    struct weiri_reservation *reservation;
    int64_t run_at_ns;
    int64_t look_ns; /* when to look at its claim again */
    uint32_t looks;  /* so far */
    int64_t touch_ns;
    int64_t ready_ns; /* since when it is in the stock */
    bool is_busy;     /* its command is under way */
    bool is_claimed;
    bool is_held; /* counted in its lane */
    struct weiri_command command;
    struct weiri_claim claim;
};

struct weiri_subscription {
    /* Immutable. */
    struct weiri_list link;
    struct weiri_cluster *cluster;
    char tube[WEIR_TUBE_SIZE_MAX + 1];
    struct weiri_cond changed;

    /* Guarded by the cluster's mutex. */
    struct weiri_list stock;     /* copies that are ready */
    struct weiri_list settlings; /* handed in by exchanges */
    size_t stock_count;
    size_t demand;
    int64_t demand_until_ns;
    uint32_t attempts_max;
    uint32_t signals;
    unsigned waiters;
    unsigned watchers; /* of emptiness */
    bool is_empty;

    /* The cluster thread's. */
    struct weiri_list arriving; /* copies of the other stages */
    size_t early_count;
    size_t arriving_count; /* without the early ones */
    int64_t check_ns;      /* when to look for emptiness next */
    size_t checks_left;
    size_t checks_away;
    bool is_check_empty;
    struct weiri_command *checks;   /* one a node */
    struct weiri_branch branches[]; /* one a node */
};

/* A settlement under way. */
struct weiri_settling {
    struct weiri_list link;
    struct weiri_subscription *subscription;
    struct weiri_copy *copy;
    struct weiri_settlement *settlement;
    struct weiri_call *call; /* the exchange's */
    bool is_confirmed;
    struct weiri_command command;
    struct weiri_claim claim;
};

/* The cluster thread's side. */
int64_t weiri_subscriptions_advance(struct weiri_cluster *cluster, int64_t now_ns);
/* Ends all lanes; nothing is under way afterwards. */
void weiri_subscriptions_end(struct weiri_cluster *cluster);
void weiri_subscriptions_free(struct weiri_cluster *cluster);
/* Sends what a settlement asks for. */
void weiri_settling_begin(struct weiri_settling *settling, int64_t now_ns);

/* Takes a copy off the books of its lane. */
void weiri_copy_unhold(struct weiri_copy *copy);
/* Frees a copy and its reservation. */
void weiri_copy_free(struct weiri_cluster *cluster, struct weiri_copy *copy);
/* Is the connection that it was reserved on still there? */
bool weiri_copy_is_alive(const struct weiri_copy *copy);
/* How long a claim of a copy holds without being renewed. */
int64_t weiri_copy_lease_ms(const struct weiri_copy *copy);

/* Functions of struct weiri_broker_ops. */
enum weir_status weiri_cluster_exchange(void *store, struct weiri_exchange *exchange,
                                        struct weir_error *ret_error);
void weiri_cluster_let_go(void *store, struct weiri_reservation *reservation);
uint32_t weiri_cluster_mark(void *store, const char *tube);
bool weiri_cluster_wait(void *store, const char *tube, uint32_t mark, int64_t limit_ns);
void weiri_cluster_watch_empty(void *store, const char *tube, bool is_watching);
void weiri_cluster_wake(void *store, const char *tube);

#endif
