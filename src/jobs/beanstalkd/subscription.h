/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BEANSTALKD_SUBSCRIPTION_H
#define WEIRI_BEANSTALKD_SUBSCRIPTION_H

#include "jobs/beanstalkd/cluster.h"

/* A tube that a consumer of this broker takes jobs from. The cluster's thread reserves from all
 * nodes while a consumer wants jobs, learns what it must know of each, claims it, and puts it into
 * the stock, which exchanges take from.
 *
 * A connection that waits in `reserve` cannot do anything else, and a job can be settled only on
 * the connection that reserved it. So a node has several connections for a tube, lanes: a lane
 * waits only while it holds no job. */

#define WEIRI_LANES_MAX 8
#define WEIRI_RESERVES_MAX 16
/* Jobs that a lane may hold: beanstalkd looks through them for each that is settled. */
#define WEIRI_HELD_MAX 8192
/* Copies that are held back at a time: before their run time, or while another copy runs. A node
 * counts whole seconds, so these are the copies of all jobs that are due within a second. */
#define WEIRI_EARLY_MAX 8192
/* How long nobody takes a job that could run here, until it goes back. */
#define WEIRI_STOCK_MAX_NS WEIR_SECONDS(1)
/* By the first three. */
#define WEIRI_DONE_MAX 4096

/* A job that was done here: Redis will say so of its other copies, and need not be asked. */
struct weiri_done {
    char key[WEIRI_CLAIM_KEY_SIZE];
    int64_t until_ns;
};

struct weiri_lane {
    struct weiri_conn conn;
    struct weiri_subscription *subscription;
    struct weiri_branch *branch;
    uint32_t control; /* the connection of its node at its last failure */
    size_t held;      /* jobs reserved on it and not settled */
};

/* The lanes to one node, of which one at a time reserves. */
struct weiri_branch {
    struct weiri_lane *lanes[WEIRI_LANES_MAX];
    size_t lane_count;
    struct weiri_command reserves[WEIRI_RESERVES_MAX];
    size_t asked;           /* reserves under way */
    struct weiri_lane *hot; /* where the last reserve brought a body; NULL: none did, or another
                               lane waits */
    int64_t poll_ns;        /* when to ask without waiting, where no lane can wait */
    int64_t tell_ns;        /* when to tell next that a lane fails */

    struct weiri_list foreign;   /* jobs to be buried */
    struct weiri_command burial; /* of one of them, its owner; NULL: none is under way */
    int64_t bury_ns;             /* when to bury the next, while jobs come */
};

/* Jobs that were buried as none of ours. */
struct weiri_foreign_count {
    size_t untold; /* since the log was told */
    int64_t tell_ns;
    /* The last one. */
    const char *node;
    uint64_t number;
    const char *why;
};

/* A reserved copy of a job, which is the cluster thread's. Once a consumer takes it from the stock
 * the reservation is the consumer's, until it lets it go; it hands the copy in to have it settled.
 */
struct weiri_copy {
    struct weiri_list link; /* of the subscription's copies, early or stock, the cluster's copies,
                               or of none */
    struct weiri_list same; /* of its key's bucket: other copies of the job are there as well */
    struct weiri_lane *lane;
    uint32_t generation; /* the lane's connection that it was reserved on */
    uint64_t number;
    struct weiri_job_stats facts;
    struct weiri_reservation *reservation;
    bool is_early;  /* held back: nothing of it is under way */
    bool is_asking; /* Redis is asked for the claim */
    bool is_claimed;
    bool is_held;     /* counted in its lane */
    int64_t look_ns;  /* another copy had the claim: when to look at it again; else 0 */
    int64_t touch_ns; /* when to touch it while it is early */
    int64_t ready_ns; /* since when it is here, then since when it is in the stock */
    int64_t told_ns;  /* when claim and node were told something last */
    int64_t kept_ns;  /* no other may begin before: what was confirmed last, by Redis or the node */
    struct weiri_command command;
    struct weiri_claim claim;

    /* Leaving, or being touched. */
    enum weiri_job_event event;
    uint32_t delay_s;
    bool is_taken;   /* from the stock, by a consumer */
    bool is_over;    /* its end is decided; the node is to be told */
    bool is_due;     /* the node is to be told once it has answered the command under way */
    bool is_awaited; /* the settlement waits for the node */
    struct weiri_settlement *settlement; /* of a consumer, under way; NULL: none is */
    bool is_sent;                        /* a command is under way at the node */
    bool is_forgotten;                   /* its consumer has let it go */
};

struct weiri_subscription {
    /* Immutable. */
    struct weiri_list link;
    struct weiri_cluster *cluster;
    char tube[WEIR_TUBE_SIZE_MAX + 1];

    /* Guarded by the cluster's mutex. */
    struct weiri_list stock; /* copies that are ready */
    size_t demand;           /* what the last exchange lacked */
    int64_t demand_until_ns; /* while nobody waits */
    uint32_t attempts_max;
    uint32_t signals;
    unsigned waiters;
    int64_t check_ns; /* when to look for emptiness next */

    /* The cluster thread's. */
    struct weiri_list copies; /* on their way to the stock */
    struct weiri_list early;
    size_t early_count;
    int64_t early_ns;    /* when to look through them; no later than any is due */
    bool is_room_wanted; /* one is due that was not claimed for lack of room */
    bool has_told_clock; /* that one was ready too early */
    struct weiri_foreign_count foreign;
    struct weiri_done done[WEIRI_DONE_MAX]; /* the last of each place */
    struct weiri_branch branches[];         /* one a node */
};

/* The cluster thread's side. */
int64_t weiri_subscriptions_advance(struct weiri_cluster *cluster, int64_t now_ns);
/* Ends all, and frees them. */
void weiri_subscriptions_end(struct weiri_cluster *cluster);

/* A job that is none of ours was reserved on a lane. For lack of memory nothing: its TTR brings it
 * back. */
void weiri_foreign_add(struct weiri_lane *lane, uint64_t number, const char *why);
/* Buries them, and tells of them. Returns when to do so again. */
int64_t weiri_foreign_advance(struct weiri_subscription *subscription, int64_t now_ns);
/* Forgets them, but one that is being buried. */
void weiri_foreign_end(struct weiri_subscription *subscription);

/* A copy was reserved on a lane. For lack of memory nothing: its TTR brings it back. */
void weiri_copy_arrive(struct weiri_lane *lane, const struct weiri_reply *reply);
/* Is the connection that it was reserved on still there? */
bool weiri_copy_is_alive(const struct weiri_copy *copy);
/* Notes that the copy's job is done, as Redis confirmed. */
void weiri_copy_note_done(const struct weiri_copy *copy);
/* A copy of the same job, or this copy itself; NULL: none is wanted. */
struct weiri_copy *weiri_copy_find_same(const struct weiri_copy *copy,
                                        bool (*is_wanted)(const struct weiri_copy *other));
/* Holds a copy back until its times, or gives it back; nothing of it is under way. */
void weiri_copy_hold_back(struct weiri_copy *copy);
/* Ends that, if it is held back. */
void weiri_copy_go_on(struct weiri_copy *copy);
/* Does what is due of a copy that is held back. A consumer that is killed keeps what it has claimed
 * from others: *room is how many may be claimed now that their run time has come; the others stay
 * as they are for a moment, and go back then. Returns when something will be due. */
int64_t weiri_copy_advance(struct weiri_copy *copy, int64_t now_ns, size_t *room);
/* Tells claim and node what becomes of a copy that is in no stock, and frees it; after a touch it
 * is held back again. */
void weiri_copy_tell(struct weiri_copy *copy, enum weiri_job_event event, uint32_t delay_s);
/* Does what a consumer has handed a copy in for: its settlement; without one it is let go. */
void weiri_copy_serve(struct weiri_copy *copy);
/* The lane holds the copy no longer. */
void weiri_copy_unhold(struct weiri_copy *copy);
/* Frees a copy whose reservation is freed by others; no command of it is under way. */
void weiri_copy_forget(struct weiri_copy *copy);
/* Frees a copy that no consumer has, in a list or in none, with its reservation. */
void weiri_copy_free(struct weiri_copy *copy);

/* What the parts of a copy's life share: copy.c, early.c and settle.c. */

/* Claims a copy whose time has come, or admits it where there are no claims. */
void weiri_copy_claim(struct weiri_copy *copy);

/* Sends a request on the connection that the copy was reserved on; done as not sent where that is
 * gone. */
void weiri_copy_send(struct weiri_copy *copy, const struct weiri_request *request,
                     void (*done)(struct weiri_command *, enum weiri_delivery,
                                  struct weiri_reply *));
/* When to touch it next, from now. */
int64_t weiri_copy_touch_ns(const struct weiri_copy *copy);
/* For how long it goes back to its node because its claim's server is away. */
uint32_t weiri_copy_away_seconds(const struct weiri_copy *copy);
/* How long a claim of a copy holds without being renewed. */
int64_t weiri_copy_lease_ms(const struct weiri_copy *copy);
/* Redis or the node has confirmed what it was told. */
void weiri_copy_keep(struct weiri_copy *copy);

#endif
