/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What becomes of a copy: the claim is told first, then the node. On the cluster's thread. */
#include "jobs/beanstalkd/subscription.h"

#include <stdio.h>
#include <string.h>

#include "base/panic.h"
#include "base/time.h"

static const struct {
    enum weiri_verb verb;
    enum weiri_claim_verb claim;
} events[] = {
    [WEIRI_JOB_TOUCH] = {WEIRI_TOUCH, WEIRI_CLAIM_RENEW},
    [WEIRI_JOB_DONE] = {WEIRI_DELETE, WEIRI_CLAIM_CONFIRM},
    [WEIRI_JOB_RELEASE] = {WEIRI_RELEASE, WEIRI_CLAIM_RETURN},
    [WEIRI_JOB_RETURN] = {WEIRI_RELEASE, WEIRI_CLAIM_UNDO},
    [WEIRI_JOB_BURY] = {WEIRI_BURY, WEIRI_CLAIM_BURY},
};

static void begin(struct weiri_copy *copy);

int64_t weiri_copy_lease_ms(const struct weiri_copy *copy)
{
    int64_t lease = copy->lane->subscription->cluster->options.lease_ns;
    return weiri_time_add(copy->reservation->job.ttr_ns, lease) / WEIR_MS(1);
}

void weiri_copy_send(struct weiri_copy *copy, const struct weiri_request *request,
                     void (*done)(struct weiri_command *, enum weiri_delivery,
                                  struct weiri_reply *))
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

/* Whole seconds until a time, rounded up: never early. */
static uint32_t seconds_until(const struct weiri_copy *copy, int64_t run_at_ns)
{
    int64_t now = weiri_cluster_now(copy->lane->subscription->cluster);
    int64_t delay = weiri_time_sub(run_at_ns, now);
    if (delay <= 0) {
        return 0;
    }
    int64_t seconds = delay / WEIR_SECONDS(1) + (delay % WEIR_SECONDS(1) != 0);
    return seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
}

/* A copy that no consumer has was touched, or has left. */
static void finish_own(struct weiri_copy *copy, enum weir_status status)
{
    if (copy->event == WEIRI_JOB_TOUCH && status == WEIR_OK) {
        copy->touch_ns = weiri_copy_touch_ns(copy);
        weiri_copy_hold_back(copy);
    } else {
        weiri_copy_free(copy);
    }
}

static void finish(struct weiri_copy *copy, enum weir_status status)
{
    if (weiri_list_is_empty(&copy->settlements)) {
        finish_own(copy, status);
        return;
    }
    struct weiri_settlement *settlement =
        WEIRI_CONTAINER(copy->settlements.next, struct weiri_settlement, link);
    weiri_list_remove(&settlement->link);
    settlement->status = status;
    if (copy->event != WEIRI_JOB_TOUCH && status != WEIR_EUNAVAILABLE) {
        weiri_copy_unhold(copy);
    }
    /* A worker may settle while its job is being touched: the second waits for the first. The copy
     * stays until the threads of both are woken, at the end of the round. */
    if (!weiri_list_is_empty(&copy->settlements)) {
        begin(copy);
    }
    weiri_call_answer(settlement->call);
}

/* Another has the claim, or has settled the job. */
static bool is_others(enum weiri_claim_answer answer)
{
    return answer == WEIRI_CLAIM_BUSY || answer == WEIRI_CLAIM_DONE || answer == WEIRI_CLAIM_BURIED;
}

static void settled(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(command, struct weiri_copy, command);
    bool is_good = delivery == WEIRI_ANSWERED &&
                   (reply->kind == WEIRI_DELETED || reply->kind == WEIRI_RELEASED ||
                    reply->kind == WEIRI_BURIED || reply->kind == WEIRI_TOUCHED);
    /* A job that Redis knows as done or buried is deleted or buried by whoever finds a copy. */
    bool is_confirmed = (copy->event == WEIRI_JOB_DONE || copy->event == WEIRI_JOB_BURY) &&
                        copy->answer == WEIRI_CLAIM_MINE;
    finish(copy, (is_good && !is_others(copy->answer)) || is_confirmed ? WEIR_OK : WEIR_ELEASELOST);
}

static void tell_node(struct weiri_copy *copy)
{
    const struct weiri_request request = {.verb = events[copy->event].verb,
                                          .id = copy->number,
                                          .priority = copy->facts.priority,
                                          .delay_s = copy->delay_s};
    weiri_copy_send(copy, &request, settled);
}

static bool is_looking(const struct weiri_copy *copy)
{
    return copy->is_early && copy->is_second;
}

/* A job is done: its other copies that are held back here are deleted. */
static void delete_others(const struct weiri_copy *done)
{
    struct weiri_copy *copy;
    while ((copy = weiri_copy_find_same(done, is_looking)) != NULL) {
        weiri_copy_leave(copy, WEIRI_JOB_DONE, 0);
    }
}

static void claim_told(struct weiri_claim *claim, enum weiri_claim_answer answer, int64_t number)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(claim, struct weiri_copy, claim);
    struct weiri_subscription *subscription = copy->lane->subscription;
    bool is_end = copy->event != WEIRI_JOB_TOUCH && copy->event != WEIRI_JOB_RETURN;
    (void)number;
    copy->answer = answer;
    if (is_others(answer)) {
        /* Another took it when this claim's lease ended, and settles it. */
        if (copy->event == WEIRI_JOB_TOUCH) {
            finish(copy, WEIR_ELEASELOST);
            return;
        }
        copy->event = answer == WEIRI_CLAIM_DONE     ? WEIRI_JOB_DONE
                      : answer == WEIRI_CLAIM_BURIED ? WEIRI_JOB_BURY
                                                     : WEIRI_JOB_RELEASE;
    } else if (is_end && answer == WEIRI_CLAIM_AWAY &&
               !subscription->cluster->options.runs_unclaimed) {
        /* Were this copy taken off its node now, another would run, or none for the time of the
         * lease. A consumer tries again. */
        if (!weiri_list_is_empty(&copy->settlements)) {
            finish(copy, WEIR_EUNAVAILABLE);
            return;
        }
        copy->event = WEIRI_JOB_RELEASE;
        copy->delay_s = WEIRI_AWAY_SECONDS;
    } else if (copy->event == WEIRI_JOB_DONE && answer == WEIRI_CLAIM_MINE) {
        weiri_copy_note_done(copy);
        delete_others(copy);
    }
    tell_node(copy);
}

static void tell_claim(struct weiri_copy *copy)
{
    copy->answer = 0;
    if (!copy->is_claimed) {
        tell_node(copy);
        return;
    }
    copy->claim.verb = events[copy->event].claim;
    copy->claim.time_ms =
        copy->event == WEIRI_JOB_TOUCH ? weiri_copy_lease_ms(copy) : (int64_t)copy->delay_s * 1000;
    copy->claim.done = claim_told;
    weiri_claims_push(copy->lane->subscription->cluster->claims, &copy->claim,
                      weiri_monotonic_now());
}

static void begin(struct weiri_copy *copy)
{
    const struct weiri_settlement *settlement =
        WEIRI_CONTAINER(copy->settlements.next, struct weiri_settlement, link);
    copy->event = settlement->event;
    copy->delay_s = seconds_until(copy, settlement->run_at_ns);
    (void)snprintf(copy->claim.reason, sizeof(copy->claim.reason), "%s",
                   settlement->reason == NULL ? "" : settlement->reason);
    tell_claim(copy);
}

void weiri_copy_settle(struct weiri_copy *copy, struct weiri_settlement *settlement)
{
    bool is_first = weiri_list_is_empty(&copy->settlements);
    weiri_list_insert_before(&copy->settlements, &settlement->link);
    if (is_first) {
        begin(copy);
    }
}

void weiri_copy_leave(struct weiri_copy *copy, enum weiri_job_event event, uint32_t delay_s)
{
    weiri_copy_go_on(copy);
    weiri_list_remove(&copy->link);
    copy->event = event;
    copy->delay_s = delay_s;
    tell_claim(copy);
}

void weiri_copy_touch(struct weiri_copy *copy)
{
    weiri_copy_go_on(copy);
    copy->event = WEIRI_JOB_TOUCH;
    tell_claim(copy);
}
