/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A copy that is held back until its run time, or while another one runs; on the cluster's thread.
 */
#include <inttypes.h>

#include "base/time.h"
#include "jobs/beanstalkd/subscription.h"

/* For how long a copy goes back at most where nobody knows which clock is wrong. */
#define UNSURE_NS WEIR_SECONDS(5)

static int64_t left_ns(const struct weiri_copy *copy)
{
    int64_t wall = weiri_cluster_now(copy->lane->subscription->cluster);
    return weiri_time_sub(copy->reservation->job.run_at_ns, wall);
}

/* When something is due of it. */
static int64_t due_ns(const struct weiri_copy *copy, int64_t now_ns)
{
    int64_t left = left_ns(copy);
    int64_t due = weiri_time_add(now_ns, left > 0 ? left : 0);
    due = due > copy->look_ns ? due : copy->look_ns;
    return weiri_time_earlier(due, copy->touch_ns);
}

/* Redis told its time, or is away. A clock that is wrong does not write its error into the node. */
static void clock_told(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(claim, struct weiri_copy, claim);
    int64_t wall = weiri_cluster_now(copy->lane->subscription->cluster);
    int64_t apart = weiri_time_sub(number * WEIR_MS(1), wall);
    bool is_right = answer == WEIRI_CLAIM_MINE && apart <= WEIRI_CLOCKS_APART_NS &&
                    apart >= -WEIRI_CLOCKS_APART_NS;
    int64_t left = is_right ? left_ns(copy) : weiri_time_earlier(left_ns(copy), UNSURE_NS);
    weiri_copy_tell(copy, WEIRI_JOB_RELEASE, weiri_seconds(left));
}

/* A node makes a copy ready less than a second before its run time. One that lies further ahead was
 * made ready by somebody, or a clock is wrong: it goes back, so that a consumer whose clock is
 * right finds it in time. Without claims that is an attempt: half of them are for runs. */
static bool put_off(struct weiri_copy *copy)
{
    struct weiri_subscription *subscription = copy->lane->subscription;
    struct weiri_cluster *cluster = subscription->cluster;
    const struct weir_job *job = &copy->reservation->job;
    weiri_mutex_lock(&cluster->mutex);
    bool may = cluster->claims != NULL || job->attempts <= subscription->attempts_max / 2;
    weiri_mutex_unlock(&cluster->mutex);
    if (!may || left_ns(copy) <= WEIRI_CLOCKS_APART_NS) {
        return false;
    }
    if (!subscription->has_told_clock && job->attempts == 1 && copy->facts.kicks == 0) {
        subscription->has_told_clock = true;
        weiri_broker_log(cluster->config, WEIR_LOG_WARNING,
                         "tube %s: job %s was ready %" PRId64 " s before its run time: the clock "
                         "of this host or of its producer is wrong",
                         subscription->tube, job->id, left_ns(copy) / WEIR_SECONDS(1));
    }
    copy->claim.verb = WEIRI_CLAIM_TIME;
    copy->claim.done = clock_told;
    if (cluster->claims != NULL) {
        weiri_claims_push(cluster->claims, &copy->claim, weiri_monotonic_now());
    } else {
        clock_told(&copy->claim, WEIRI_CLAIM_AWAY, 0);
    }
    return true;
}

void weiri_copy_hold_back(struct weiri_copy *copy)
{
    if (put_off(copy)) {
        return;
    }
    struct weiri_subscription *subscription = copy->lane->subscription;
    copy->is_early = true;
    weiri_list_remove(&copy->link);
    weiri_list_insert_before(&subscription->early, &copy->link);
    subscription->early_count++;
    subscription->early_ns =
        weiri_time_earlier(subscription->early_ns, due_ns(copy, weiri_monotonic_now()));
}

void weiri_copy_go_on(struct weiri_copy *copy)
{
    if (copy->is_early) {
        struct weiri_subscription *subscription = copy->lane->subscription;
        copy->is_early = false;
        weiri_list_remove(&copy->link);
        weiri_list_insert_before(&subscription->copies, &copy->link);
        subscription->early_count--;
    }
}

int64_t weiri_copy_advance(struct weiri_copy *copy, int64_t now_ns, size_t *room)
{
    int64_t left = left_ns(copy);
    bool is_due = left <= 0 && copy->look_ns <= now_ns;
    bool may_claim = copy->look_ns > 0 || *room > 0;
    if (!weiri_copy_is_alive(copy)) {
        weiri_copy_free(copy);
    } else if (is_due && may_claim) {
        *room -= copy->look_ns == 0;
        weiri_copy_claim(copy);
    } else if (is_due && left <= -WEIRI_STOCK_MAX_NS) {
        weiri_copy_tell(copy, WEIRI_JOB_RELEASE, 0);
    } else if (copy->touch_ns <= now_ns) {
        weiri_copy_tell(copy, WEIRI_JOB_TOUCH, 0);
    } else if (is_due) {
        copy->lane->subscription->is_room_wanted = true;
        return weiri_time_earlier(weiri_time_add(now_ns, left + WEIRI_STOCK_MAX_NS),
                                  copy->touch_ns);
    } else {
        return due_ns(copy, now_ns);
    }
    return INT64_MAX;
}
