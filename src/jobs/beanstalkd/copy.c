/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A reserved copy from its arrival to the stock, on the cluster's thread. early.c is where it
 * waits, settle.c its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/beanstalkd/subscription.h"

/* For how long a copy is kept while another one runs. */
#define LOOK_NS WEIR_MS(100)
/* For how long it goes back to its node then, at most. */
#define LOOK_SECONDS_MAX 64
/* For how long a copy goes back to its node at most because its claim's server is away. */
#define AWAY_SECONDS_MAX 8
/* For how long a job is known as done here; Redis knows it for `remember`. */
#define DONE_NS WEIR_SECONDS(1800)

void weiri_copy_forget(struct weiri_copy *copy)
{
    struct weiri_cluster *cluster = copy->lane->subscription->cluster;
    weiri_copy_unhold(copy);
    weiri_list_remove(&copy->same);
    weiri_release(&cluster->config->allocator, copy, sizeof(*copy));
}

void weiri_copy_unhold(struct weiri_copy *copy)
{
    if (copy->is_held) {
        copy->is_held = false;
        copy->lane->held--;
    }
}

void weiri_copy_free(struct weiri_copy *copy)
{
    weiri_copy_go_on(copy);
    weiri_list_remove(&copy->link);
    weiri_reservation_free(&copy->lane->subscription->cluster->config->allocator,
                           copy->reservation);
    weiri_copy_forget(copy);
}

bool weiri_copy_is_alive(const struct weiri_copy *copy)
{
    const struct weiri_conn *conn = &copy->lane->conn;
    return conn->state == WEIRI_CONN_UP && conn->generation == copy->generation;
}

int64_t weiri_copy_touch_ns(const struct weiri_copy *copy)
{
    return weiri_time_add(weiri_monotonic_now(), copy->reservation->job.ttr_ns / 3);
}

/* --- into the stock --- */

static void stock(struct weiri_copy *copy, uint32_t attempts)
{
    struct weiri_subscription *subscription = copy->lane->subscription;
    struct weiri_cluster *cluster = subscription->cluster;
    copy->reservation->job.attempts = attempts;
    copy->ready_ns = weiri_monotonic_now();
    weiri_list_remove(&copy->link);
    weiri_mutex_lock(&cluster->mutex);
    weiri_list_insert_before(&subscription->stock, &copy->link);
    subscription->signals++;
    weiri_cond_broadcast(&cluster->changed);
    weiri_mutex_unlock(&cluster->mutex);
}

/* Sets a copy aside. The others are buried when they are found. */
static void bury(struct weiri_copy *copy, const char *why)
{
    const struct weiri_subscription *subscription = copy->lane->subscription;
    weiri_broker_log(subscription->cluster->config, WEIR_LOG_WARNING,
                     "tube %s: job %s is buried: %s", subscription->tube, copy->reservation->job.id,
                     why);
    (void)snprintf(copy->claim.reason, sizeof(copy->claim.reason), "%s", why);
    weiri_copy_tell(copy, WEIRI_JOB_BURY, 0);
}

/* A copy that may run, its attempts counted with this one. */
static void admit(struct weiri_copy *copy, uint64_t attempts)
{
    struct weiri_subscription *subscription = copy->lane->subscription;
    struct weiri_cluster *cluster = subscription->cluster;
    int64_t late_ns = cluster->options.late_ns;
    weiri_mutex_lock(&cluster->mutex);
    uint64_t most = subscription->attempts_max + copy->facts.kicks;
    weiri_mutex_unlock(&cluster->mutex);
    int64_t late = weiri_time_sub(weiri_cluster_now(cluster), copy->reservation->job.run_at_ns);
    if (attempts > most) {
        bury(copy, "its reservation ended too often: the worker died, or took longer than the TTR");
    } else if (late > late_ns && attempts == 1 && copy->claim.own == 0 && copy->facts.kicks == 0) {
        bury(copy, "found later than the tolerance after its run time");
    } else {
        stock(copy, attempts > UINT32_MAX ? UINT32_MAX : (uint32_t)attempts);
    }
}

/* A second once it was reserved, then twice as long each time. */
static uint32_t seconds_after(const struct weiri_copy *copy, int64_t most)
{
    return (uint32_t)weiri_time_shift(1, copy->reservation->job.attempts - 1, most);
}

/* Another copy runs, or waits for its retry. This one is kept for a moment, since most jobs are
 * short; then it goes back to its node, for longer each time, at most until the claim must have
 * ended. Not later: a process that hangs keeps what it has reserved, since beanstalkd 1.12 forgets
 * most TTRs while it is busy. */
static void look_later(struct weiri_copy *copy, int64_t lease_ms)
{
    if (copy->look_ns == 0 && copy->lane->subscription->early_count < WEIRI_EARLY_MAX) {
        copy->look_ns = weiri_time_add(weiri_monotonic_now(), LOOK_NS);
        weiri_copy_hold_back(copy);
        return;
    }
    weiri_copy_tell(copy, WEIRI_JOB_RELEASE,
                    seconds_after(copy, weiri_time_earlier(LOOK_SECONDS_MAX, lease_ms / 1000 + 1)));
}

static bool has_claim(const struct weiri_copy *copy)
{
    return copy->is_claimed || copy->is_asking;
}

static void ask(struct weiri_copy *copy);

/* A second where all servers are away, since nothing is reserved until one is back. Where others
 * answer the job is found again: then longer each time. */
uint32_t weiri_copy_away_seconds(const struct weiri_copy *copy)
{
    bool are_away = weiri_claims_away(copy->lane->subscription->cluster->claims) != NULL;
    return are_away ? 1 : seconds_after(copy, AWAY_SECONDS_MAX);
}

static void claimed(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(claim, struct weiri_copy, claim);
    copy->is_asking = false;
    switch (answer) {
    case WEIRI_CLAIM_MINE:
        copy->is_claimed = true;
        weiri_copy_keep(copy);
        if (weiri_copy_is_alive(copy)) {
            admit(copy, (uint64_t)number);
        } else {
            weiri_copy_tell(copy, WEIRI_JOB_RETURN, 0);
        }
        break;
    case WEIRI_CLAIM_BUSY:
        /* A claim of this broker that no copy has: its answer, or that to its return, never came.
         * Where jobs run unclaimed, a copy may run that has none. */
        if (copy->claim.own != 0 && !copy->lane->subscription->cluster->options.runs_unclaimed &&
            weiri_copy_find_same(copy, has_claim) == NULL) {
            ask(copy);
        } else {
            look_later(copy, number);
        }
        break;
    case WEIRI_CLAIM_DONE:
        weiri_copy_tell(copy, WEIRI_JOB_DONE, 0);
        break;
    case WEIRI_CLAIM_BURIED:
        weiri_copy_tell(copy, WEIRI_JOB_BURY, 0);
        break;
    case WEIRI_CLAIM_AWAY:
        if (copy->lane->subscription->cluster->options.runs_unclaimed) {
            admit(copy, copy->reservation->job.attempts);
        } else {
            weiri_copy_tell(copy, WEIRI_JOB_RELEASE, weiri_copy_away_seconds(copy));
        }
        break;
    }
}

/* The number that the first digits of the copy's key are. */
static size_t number_of_key(const struct weiri_copy *copy, size_t digits)
{
    char text[4];
    (void)snprintf(text, sizeof(text), "%.*s", (int)digits, copy->claim.key);
    return strtoul(text, NULL, 16);
}

static struct weiri_list *bucket_of(const struct weiri_copy *copy)
{
    return &copy->lane->subscription->cluster->buckets[number_of_key(copy, 2)];
}

static struct weiri_done *done_of(const struct weiri_copy *copy)
{
    return &copy->lane->subscription->done[number_of_key(copy, 3)];
}

void weiri_copy_note_done(const struct weiri_copy *copy)
{
    struct weiri_done *done = done_of(copy);
    memcpy(done->key, copy->claim.key, sizeof(done->key));
    done->until_ns = weiri_time_add(weiri_monotonic_now(), DONE_NS);
}

struct weiri_copy *weiri_copy_find_same(const struct weiri_copy *copy,
                                        bool (*is_wanted)(const struct weiri_copy *other))
{
    struct weiri_copy *found = NULL;
    const struct weiri_list *end = bucket_of(copy);
    for (struct weiri_list *link = end->next; link != end && found == NULL; link = link->next) {
        struct weiri_copy *other = WEIRI_CONTAINER(link, struct weiri_copy, same);
        if (is_wanted(other) && strcmp(other->claim.key, copy->claim.key) == 0) {
            found = other;
        }
    }
    return found;
}

static void ask(struct weiri_copy *copy)
{
    struct weiri_cluster *cluster = copy->lane->subscription->cluster;
    copy->is_asking = true;
    copy->claim.verb = WEIRI_CLAIM;
    copy->claim.token = ++cluster->claim_token;
    copy->claim.time_ms = weiri_copy_lease_ms(copy);
    copy->claim.done = claimed;
    copy->told_ns = weiri_monotonic_now();
    weiri_claims_push(cluster->claims, &copy->claim, copy->told_ns);
}

void weiri_copy_claim(struct weiri_copy *copy)
{
    struct weiri_cluster *cluster = copy->lane->subscription->cluster;
    weiri_copy_go_on(copy);
    if (cluster->claims == NULL) {
        admit(copy, copy->reservation->job.attempts);
        return;
    }
    /* Redis need not be asked about a job that was done here, or that another copy claims here. */
    const struct weiri_done *done = done_of(copy);
    if (done->until_ns > weiri_monotonic_now() && strcmp(done->key, copy->claim.key) == 0) {
        weiri_copy_tell(copy, WEIRI_JOB_DONE, 0);
        return;
    }
    if (weiri_copy_find_same(copy, has_claim) != NULL) {
        look_later(copy, weiri_copy_lease_ms(copy));
        return;
    }
    copy->claim.own = 0;
    ask(copy);
}

/* --- arrival --- */

/* The node's facts of a job. */
static void learned(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(command, struct weiri_copy, command);
    int64_t now = weiri_cluster_now(copy->lane->subscription->cluster);
    struct weir_job *job = &copy->reservation->job;
    if (delivery != WEIRI_ANSWERED ||
        !weiri_job_stats_read(reply->body, reply->body_size, now, &copy->facts, job)) {
        weiri_copy_free(copy); /* lost with its connection, or its TTR has ended */
        return;
    }
    job->state = WEIR_JOB_RESERVED;
    copy->touch_ns = weiri_copy_touch_ns(copy);
    if (job->run_at_ns > now) {
        weiri_copy_hold_back(copy);
    } else {
        weiri_copy_claim(copy);
    }
}

void weiri_copy_arrive(struct weiri_lane *lane, const struct weiri_reply *reply)
{
    struct weiri_subscription *subscription = lane->subscription;
    struct weiri_cluster *cluster = subscription->cluster;
    const struct weir_allocator *memory = &cluster->config->allocator;
    struct weiri_shown shown = {.job = {.progress = -1}};
    const char *why_bad =
        weiri_shown_read(cluster, lane->conn.config.endpoint->text, subscription->tube, reply->id,
                         reply->body, reply->body_size, &shown);
    if (why_bad != NULL) {
        weiri_foreign_add(lane, reply->id, why_bad);
        return;
    }
    void *body;
    struct weiri_copy *copy = weiri_alloc_zero(memory, 1, sizeof(*copy));
    struct weiri_reservation *reservation =
        weiri_reservation_new(memory, &shown.job, shown.job.body_size, &body);
    if (copy == NULL || reservation == NULL) {
        weiri_release(memory, copy, sizeof(*copy));
        weiri_reservation_free(memory, reservation);
        return;
    }
    memcpy(body, shown.job.body, shown.job.body_size);
    reservation->number = (int64_t)(reply->id & INT64_MAX);
    reservation->backend = copy;
    copy->reservation = reservation;
    copy->lane = lane;
    copy->ready_ns = weiri_monotonic_now();
    copy->generation = lane->conn.generation;
    copy->number = reply->id;
    memcpy(copy->claim.key, shown.key, sizeof(shown.key));
    copy->claim.copies = copy->reservation->job.id;
    weiri_list_insert_before(bucket_of(copy), &copy->same);
    copy->is_held = true;
    lane->held++;
    weiri_list_insert_before(&subscription->copies, &copy->link);
    const struct weiri_request request = {.verb = WEIRI_STATS_JOB, .id = copy->number};
    weiri_copy_send(copy, &request, learned);
}
