/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A reserved copy from its arrival to the stock, on the cluster's thread. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "base/random.h"
#include "base/time.h"
#include "jobs/beanstalkd/copy.h"

#define LEASE_MARGIN_MS 5000
/* How often a copy of a running job is looked at before it goes back, and after how long first. */
#define LOOKS_MAX 4
#define LOOK_FIRST WEIR_MS(100)

void weiri_copy_unhold(struct weiri_copy *copy)
{
    if (copy->is_held) {
        copy->is_held = false;
        (void)atomic_fetch_sub(&copy->lane->held, 1);
    }
}

void weiri_copy_free(struct weiri_cluster *cluster, struct weiri_copy *copy)
{
    weiri_reservation_free(&cluster->config->allocator, copy->reservation);
    weiri_release(&cluster->config->allocator, copy, sizeof(*copy));
}

bool weiri_copy_is_alive(const struct weiri_copy *copy)
{
    const struct weiri_conn *conn = &copy->lane->conn;
    return conn->state == WEIRI_CONN_UP && conn->generation == copy->generation;
}

int64_t weiri_copy_lease_ms(const struct weiri_copy *copy)
{
    return copy->reservation->job.ttr_ns / WEIR_MS(1) + LEASE_MARGIN_MS;
}

static struct weiri_subscription *subscription_of(const struct weiri_copy *copy)
{
    WEIRI_ASSERT(copy->lane != NULL);
    return copy->lane->subscription;
}

/* Keeps the counts of the subscription in step with the stage. */
static void set_stage(struct weiri_copy *copy, enum weiri_copy_stage stage)
{
    struct weiri_subscription *subscription = subscription_of(copy);
    if (copy->stage == WEIRI_COPY_EARLY) {
        subscription->early_count--;
    } else if (copy->stage == WEIRI_COPY_ARRIVED || copy->stage == WEIRI_COPY_CLAIMING) {
        subscription->arriving_count--;
    }
    copy->stage = stage;
    if (stage == WEIRI_COPY_EARLY) {
        subscription->early_count++;
    } else if (stage == WEIRI_COPY_ARRIVED || stage == WEIRI_COPY_CLAIMING) {
        subscription->arriving_count++;
    }
}

/* Ends a copy that never reached a consumer. */
static void end_copy(struct weiri_copy *copy)
{
    struct weiri_cluster *cluster = subscription_of(copy)->cluster;
    set_stage(copy, WEIRI_COPY_LEAVING);
    weiri_mutex_lock(&cluster->mutex);
    weiri_list_remove(&copy->link);
    weiri_mutex_unlock(&cluster->mutex);
    weiri_copy_unhold(copy);
    weiri_copy_free(cluster, copy);
}

static void left(struct weiri_command *command, enum weiri_delivery delivery,
                 struct weiri_reply *reply)
{
    (void)delivery;
    (void)reply;
    end_copy(WEIRI_CONTAINER(command, struct weiri_copy, command));
}

static void push(struct weiri_copy *copy, const struct weiri_request *request,
                 void (*done)(struct weiri_command *, enum weiri_delivery, struct weiri_reply *))
{
    copy->command =
        (struct weiri_command){.conn = &copy->lane->conn, .request = *request, .done = done};
    weiri_list_init(&copy->command.link);
    if (weiri_copy_is_alive(copy)) {
        weiri_conn_push(&copy->lane->conn, &copy->command, weiri_monotonic_now());
    } else {
        done(&copy->command, WEIRI_NOT_SENT, NULL);
    }
}

/* Sends the last command of a copy. */
static void leave(struct weiri_copy *copy, enum weiri_verb verb, uint32_t delay_s)
{
    set_stage(copy, WEIRI_COPY_LEAVING);
    const struct weiri_request request = {
        .verb = verb, .id = copy->number, .priority = copy->priority, .delay_s = delay_s};
    push(copy, &request, left);
}

static void returned(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    (void)answer;
    (void)number;
    leave(WEIRI_CONTAINER(claim, struct weiri_copy, claim), WEIRI_RELEASE, 0);
}

void weiri_copy_return(struct weiri_copy *copy)
{
    set_stage(copy, WEIRI_COPY_LEAVING);
    if (!copy->is_claimed) {
        leave(copy, WEIRI_RELEASE, 0);
        return;
    }
    copy->claim.verb = WEIRI_CLAIM_UNDO;
    copy->claim.time_ms = 0;
    copy->claim.done = returned;
    weiri_claims_push(subscription_of(copy)->cluster->claims, &copy->claim, weiri_monotonic_now());
}

/* --- into the stock --- */

static void stock(struct weiri_copy *copy, uint32_t attempts)
{
    struct weiri_subscription *subscription = subscription_of(copy);
    struct weiri_cluster *cluster = subscription->cluster;
    copy->reservation->job.attempts = attempts;
    copy->ready_ns = weiri_monotonic_now();
    set_stage(copy, WEIRI_COPY_READY);
    weiri_mutex_lock(&cluster->mutex);
    weiri_list_remove(&copy->link);
    weiri_list_insert_before(&subscription->stock, &copy->link);
    subscription->stock_count++;
    subscription->signals++;
    weiri_cond_broadcast(&subscription->changed);
    weiri_mutex_unlock(&cluster->mutex);
}

static void buried(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    (void)answer;
    (void)number;
    leave(WEIRI_CONTAINER(claim, struct weiri_copy, claim), WEIRI_BURY, 0);
}

/* Sets a copy aside. The others are deleted when they are found, so that one remains. */
static void bury(struct weiri_copy *copy, const char *why)
{
    struct weiri_cluster *cluster = subscription_of(copy)->cluster;
    weiri_broker_log(cluster->config, WEIR_LOG_WARNING, "tube %s: job %s is buried: %s",
                     subscription_of(copy)->tube, copy->reservation->job.id, why);
    if (!copy->is_claimed) {
        leave(copy, WEIRI_BURY, 0);
        return;
    }
    copy->claim.verb = WEIRI_CLAIM_BURY;
    copy->claim.done = buried;
    weiri_claims_push(cluster->claims, &copy->claim, weiri_monotonic_now());
}

/* A copy that may run, its attempts counted with this one. */
static void admit(struct weiri_copy *copy, uint64_t attempts)
{
    struct weiri_subscription *subscription = subscription_of(copy);
    struct weiri_cluster *cluster = subscription->cluster;
    int64_t late = cluster->url.late_ns;
    weiri_mutex_lock(&cluster->mutex);
    uint64_t most = subscription->attempts_max + copy->kicks;
    weiri_mutex_unlock(&cluster->mutex);
    if (attempts > most) {
        bury(copy, "its reservation ended too often: the worker died, or took longer than the TTR");
    } else if (late > 0 && attempts == 1 && copy->kicks == 0 &&
               weiri_time_sub(weiri_cluster_now(cluster), copy->run_at_ns) > late) {
        bury(copy, "found later than the tolerance after its run time");
    } else {
        stock(copy, attempts > UINT32_MAX ? UINT32_MAX : (uint32_t)attempts);
    }
}

/* Another copy runs, or waits for its retry. This one is kept for a moment, since most jobs are
 * short; then it goes back to its node for longer each time, at most until the claim must have
 * ended. */
static void look_later(struct weiri_copy *copy, int64_t lease_ms)
{
    if (copy->looks < LOOKS_MAX && subscription_of(copy)->early_count < WEIRI_EARLY_MAX) {
        int64_t pause = LOOK_FIRST << copy->looks;
        copy->looks++;
        copy->look_ns = weiri_time_add(weiri_monotonic_now(), pause);
        set_stage(copy, WEIRI_COPY_EARLY);
        return;
    }
    uint32_t reserves = copy->reservation->job.attempts;
    int64_t seconds = INT64_C(1) << (reserves < 6 ? reserves : 6);
    int64_t lease = lease_ms / 1000 + 1;
    leave(copy, WEIRI_RELEASE, (uint32_t)(seconds < lease ? seconds : lease));
}

void weiri_copies_done(struct weiri_subscription *subscription, const char *key)
{
    struct weiri_list *end = &subscription->arriving;
    struct weiri_list *following;
    for (struct weiri_list *link = end->next; link != end; link = following) {
        struct weiri_copy *copy = WEIRI_CONTAINER(link, struct weiri_copy, link);
        following = link->next;
        if (copy->stage == WEIRI_COPY_EARLY && copy->looks > 0 && !copy->is_busy &&
            strcmp(copy->claim.key, key) == 0) {
            leave(copy, WEIRI_DELETE, 0);
        }
    }
}

static void claimed(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(claim, struct weiri_copy, claim);
    struct weiri_cluster *cluster = subscription_of(copy)->cluster;
    switch (answer) {
    case WEIRI_CLAIM_MINE:
        copy->is_claimed = true;
        if (weiri_copy_is_alive(copy)) {
            admit(copy, (uint64_t)number);
        } else {
            weiri_copy_return(copy);
        }
        break;
    case WEIRI_CLAIM_BUSY:
        look_later(copy, number);
        break;
    case WEIRI_CLAIM_DONE:
        leave(copy, WEIRI_DELETE, 0);
        break;
    case WEIRI_CLAIM_AWAY:
        if (cluster->url.runs_unclaimed) {
            admit(copy, copy->reservation->job.attempts);
        } else {
            leave(copy, WEIRI_RELEASE, 2);
        }
        break;
    }
}

void weiri_copy_claim(struct weiri_copy *copy)
{
    struct weiri_cluster *cluster = subscription_of(copy)->cluster;
    set_stage(copy, WEIRI_COPY_CLAIMING);
    if (cluster->claims == NULL) {
        admit(copy, copy->reservation->job.attempts);
        return;
    }
    copy->claim.verb = WEIRI_CLAIM;
    copy->claim.time_ms = weiri_copy_lease_ms(copy);
    copy->claim.done = claimed;
    weiri_claims_push(cluster->claims, &copy->claim, weiri_monotonic_now());
}

/* --- arrival --- */

/* The node's facts of a job: its TTR, priority and attempts. */
static void learned(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(command, struct weiri_copy, command);
    struct weiri_cluster *cluster = subscription_of(copy)->cluster;
    uint64_t ttr = 0;
    uint64_t priority = 0;
    uint64_t reserves = 0;
    uint64_t age = 0;
    if (delivery != WEIRI_ANSWERED || reply->kind != WEIRI_OK_BODY ||
        !weiri_stats_number(reply->body, reply->body_size, "ttr", &ttr) || ttr > UINT32_MAX ||
        !weiri_stats_number(reply->body, reply->body_size, "pri", &priority) ||
        priority > UINT32_MAX ||
        !weiri_stats_number(reply->body, reply->body_size, "reserves", &reserves) ||
        !weiri_stats_number(reply->body, reply->body_size, "kicks", &copy->kicks) ||
        !weiri_stats_number(reply->body, reply->body_size, "age", &age) || age > UINT32_MAX) {
        end_copy(copy); /* lost with its connection, or its TTR has ended */
        return;
    }
    int64_t now = weiri_cluster_now(cluster);
    struct weir_job *job = &copy->reservation->job;
    copy->priority = (uint32_t)priority;
    job->ttr_ns = WEIR_SECONDS(ttr == 0 ? 1 : ttr);
    int64_t shown = (int64_t)priority - WEIRI_PRIORITY_OFFSET;
    job->priority = shown > INT32_MAX ? INT32_MAX : (int32_t)shown;
    job->attempts = reserves > UINT32_MAX ? UINT32_MAX : (uint32_t)reserves;
    job->created_ns = now - WEIR_SECONDS(age);
    copy->touch_ns = weiri_time_add(weiri_monotonic_now(), job->ttr_ns / 3);
    if (copy->run_at_ns > now) {
        set_stage(copy, WEIRI_COPY_EARLY);
    } else {
        weiri_copy_claim(copy);
    }
}

/* Makes the copy's reservation from a body. False: no memory. */
static bool make_reservation(struct weiri_copy *copy, const struct weiri_reply *reply,
                             size_t stamp_size)
{
    struct weiri_subscription *subscription = subscription_of(copy);
    struct weir_job_id id = {""};
    void *body;
    if (!weiri_id_add(&id, subscription->cluster->url.nodes[copy->lane->node].text,
                      subscription->tube, reply->id)) {
        return false;
    }
    copy->reservation =
        weiri_reservation_new(&subscription->cluster->config->allocator, id.text,
                              subscription->tube, reply->body_size - stamp_size, "", &body);
    if (copy->reservation == NULL) {
        return false;
    }
    memcpy(body, reply->body + stamp_size, reply->body_size - stamp_size);
    copy->reservation->job.run_at_ns = copy->run_at_ns;
    copy->reservation->job.state = WEIR_JOB_RESERVED;
    copy->reservation->number = (int64_t)(reply->id & INT64_MAX);
    copy->reservation->backend = copy;
    return true;
}

void weiri_copy_arrive(struct weiri_lane *lane, const struct weiri_reply *reply)
{
    struct weiri_subscription *subscription = lane->subscription;
    struct weiri_cluster *cluster = subscription->cluster;
    struct weiri_copy *copy = weiri_alloc_zero(&cluster->config->allocator, 1, sizeof(*copy));
    if (copy == NULL) {
        return; /* its TTR brings it back */
    }
    copy->lane = lane;
    copy->generation = lane->conn.generation;
    copy->number = reply->id;
    weiri_list_init(&copy->link);
    weiri_list_init(&copy->claim.link);
    size_t stamp_size = 0;
    bool is_stamped =
        weiri_stamp_read(reply->body, reply->body_size, &copy->run_at_ns, &stamp_size);
    if (!make_reservation(copy, reply, stamp_size)) {
        weiri_copy_free(cluster, copy);
        return;
    }
    weiri_claim_key(reply->body, reply->body_size, copy->claim.key);
    weiri_mutex_lock(&cluster->mutex);
    copy->claim.token = weiri_random_next(&cluster->random);
    weiri_mutex_unlock(&cluster->mutex);
    copy->is_held = true;
    (void)atomic_fetch_add(&lane->held, 1);
    weiri_list_insert_before(&subscription->arriving, &copy->link);
    set_stage(copy, WEIRI_COPY_ARRIVED);
    if (!is_stamped) {
        copy->priority = WEIRI_PRIORITY_OFFSET;
        bury(copy, "its body does not begin with a run time and a slash");
        return;
    }
    const struct weiri_request request = {.verb = WEIRI_STATS_JOB, .id = copy->number};
    push(copy, &request, learned);
}

/* --- while it waits --- */

static void touched(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(command, struct weiri_copy, command);
    struct weiri_cluster *cluster = subscription_of(copy)->cluster;
    if (delivery == WEIRI_ANSWERED && reply->kind == WEIRI_TOUCHED) {
        copy->touch_ns = weiri_time_add(weiri_monotonic_now(), copy->reservation->job.ttr_ns / 3);
    } else {
        copy->generation--; /* not ours any more: the next advance ends it */
    }
    weiri_mutex_lock(&cluster->mutex);
    copy->is_busy = false;
    weiri_mutex_unlock(&cluster->mutex);
}

void weiri_copy_touch(struct weiri_copy *copy)
{
    struct weiri_cluster *cluster = subscription_of(copy)->cluster;
    weiri_mutex_lock(&cluster->mutex);
    copy->is_busy = true;
    weiri_mutex_unlock(&cluster->mutex);
    const struct weiri_request request = {.verb = WEIRI_TOUCH, .id = copy->number};
    push(copy, &request, touched);
}

void weiri_copy_drop(struct weiri_copy *copy)
{
    if (copy->is_claimed) {
        weiri_copy_return(copy);
    } else {
        end_copy(copy);
    }
}
