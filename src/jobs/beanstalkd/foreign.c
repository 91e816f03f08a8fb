/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs of a tube that are none of ours, reserved to be buried; on the cluster's thread. A node
 * writes each bury to its disk, and answers nothing meanwhile, while a reserve costs it nothing. So
 * they are buried one by one, and only now and then while jobs come: ours may be behind them. The
 * last that came is the first to be buried, since the TTR of the others may have ended. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/beanstalkd/subscription.h"

/* How often to bury one while jobs come. */
#define PACE_NS WEIR_MS(20)
/* How often to tell of them. */
#define TELL_NS WEIR_SECONDS(1)

struct foreign {
    struct weiri_list link;
    struct weiri_lane *lane;
    uint32_t generation; /* the lane's connection that it was reserved on */
    uint64_t number;
    const char *why;
};

void weiri_foreign_add(struct weiri_lane *lane, uint64_t number, const char *why)
{
    struct foreign *job = weiri_alloc(lane->conn.config.allocator, sizeof(*job));
    if (job == NULL) {
        return;
    }
    *job = (struct foreign){
        .lane = lane, .generation = lane->conn.generation, .number = number, .why = why};
    weiri_list_insert_before(lane->branch->foreign.next, &job->link);
    lane->held++;
}

static void drop(struct foreign *job)
{
    weiri_list_remove(&job->link);
    job->lane->held--;
    weiri_release(job->lane->conn.config.allocator, job, sizeof(*job));
}

static void buried(struct weiri_command *command, enum weiri_delivery delivery,
                   struct weiri_reply *reply)
{
    struct foreign *job = command->owner;
    struct weiri_foreign_count *count = &job->lane->subscription->foreign;
    command->owner = NULL;
    if (delivery == WEIRI_ANSWERED && reply->kind == WEIRI_BURIED) {
        count->untold++;
        count->node = job->lane->conn.config.endpoint->text;
        count->number = job->number;
        count->why = job->why;
    } else if (delivery == WEIRI_ANSWERED && reply->kind == WEIRI_NOT_FOUND) {
        job->lane->branch->bury_ns = 0; /* its TTR has ended: nothing was written */
    }
    drop(job);
}

/* Returns when to bury the next one. */
static int64_t bury_next(struct weiri_branch *branch, int64_t now_ns)
{
    while (!weiri_list_is_empty(&branch->foreign) && branch->burial.owner == NULL) {
        struct foreign *job = WEIRI_CONTAINER(branch->foreign.next, struct foreign, link);
        struct weiri_conn *conn = &job->lane->conn;
        if (conn->state != WEIRI_CONN_UP || conn->generation != job->generation) {
            drop(job);
            continue;
        }
        if (branch->asked > 0 && branch->hot != NULL && branch->bury_ns > now_ns) {
            return branch->bury_ns;
        }
        branch->bury_ns = weiri_time_add(now_ns, PACE_NS);
        branch->burial = (struct weiri_command){
            .conn = conn,
            .request = {.verb = WEIRI_BURY, .id = job->number, .priority = WEIRI_PRIORITY_OFFSET},
            .owner = job,
            .done = buried};
        weiri_list_remove(&job->link);
        weiri_conn_push(&branch->burial, now_ns);
    }
    return INT64_MAX;
}

/* Returns when to tell of those that are not told of. */
static int64_t tell(struct weiri_subscription *subscription, int64_t now_ns)
{
    const struct weiri_cluster *cluster = subscription->cluster;
    struct weiri_foreign_count *count = &subscription->foreign;
    char others[48] = "";
    if (count->untold == 0 || count->tell_ns > now_ns) {
        return count->untold == 0 ? INT64_MAX : count->tell_ns;
    }
    if (count->untold > 1) {
        (void)snprintf(others, sizeof(others), ", after %zu others", count->untold - 1);
    }
    weiri_broker_log(cluster->config, WEIR_LOG_WARNING,
                     "tube %s: job %s/%s/%" PRIu64 " is buried%s: %s", subscription->tube,
                     count->node, subscription->tube, count->number, others, count->why);
    count->untold = 0;
    count->tell_ns = weiri_time_add(now_ns, TELL_NS);
    return INT64_MAX;
}

int64_t weiri_foreign_advance(struct weiri_subscription *subscription, int64_t now_ns)
{
    int64_t next = tell(subscription, now_ns);
    for (size_t i = 0; i < subscription->cluster->options.node_count; i++) {
        next = weiri_time_earlier(next, bury_next(&subscription->branches[i], now_ns));
    }
    return next;
}

void weiri_foreign_end(struct weiri_subscription *subscription)
{
    for (size_t i = 0; i < subscription->cluster->options.node_count; i++) {
        struct weiri_list *list = &subscription->branches[i].foreign;
        while (!weiri_list_is_empty(list)) {
            drop(WEIRI_CONTAINER(list->next, struct foreign, link));
        }
    }
    (void)tell(subscription, INT64_MAX);
}
