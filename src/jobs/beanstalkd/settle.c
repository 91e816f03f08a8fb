/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What becomes of a copy: the claim is told first, then the node. On the cluster's thread. */
#include "jobs/beanstalkd/subscription.h"

#include <stdio.h>

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

int64_t weiri_copy_lease_ms(const struct weiri_copy *copy)
{
    int64_t lease = copy->lane->subscription->cluster->options.lease_ns;
    return weiri_time_add(copy->reservation->job.ttr_ns, lease) / WEIR_MS(1);
}

void weiri_copy_keep(struct weiri_copy *copy)
{
    copy->kept_ns =
        copy->is_claimed ? weiri_time_add(copy->told_ns, WEIR_MS(weiri_copy_lease_ms(copy))) : 0;
}

void weiri_copy_send(struct weiri_copy *copy, const struct weiri_request *request,
                     void (*done)(struct weiri_command *, enum weiri_delivery,
                                  struct weiri_reply *))
{
    copy->command =
        (struct weiri_command){.conn = &copy->lane->conn, .request = *request, .done = done};
    if (weiri_copy_is_alive(copy)) {
        weiri_conn_push(&copy->command, weiri_monotonic_now());
    } else {
        done(&copy->command, WEIRI_NOT_SENT, NULL);
    }
}

/* Answers the settlement under way. It and the copy may be gone then. */
static void answer(struct weiri_copy *copy, enum weir_status status)
{
    struct weiri_settlement *settlement = copy->settlement;
    WEIRI_ASSERT(settlement != NULL);
    copy->settlement = NULL;
    settlement->status = status;
    settlement->done(settlement);
}

static void send_event(struct weiri_copy *copy);

static void settled(struct weiri_command *command, enum weiri_delivery delivery,
                    struct weiri_reply *reply)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(command, struct weiri_copy, command);
    const struct weiri_lane *lane = WEIRI_CONTAINER(command->conn, struct weiri_lane, conn);
    struct weiri_cluster *cluster = lane->subscription->cluster;
    bool is_good = delivery == WEIRI_ANSWERED &&
                   (reply->kind == WEIRI_DELETED || reply->kind == WEIRI_RELEASED ||
                    reply->kind == WEIRI_BURIED || reply->kind == WEIRI_TOUCHED);
    if (copy->is_due) {
        copy->is_due = false;
        send_event(copy);
        return;
    }
    if (copy->is_over || delivery != WEIRI_ANSWERED) {
        weiri_copy_unhold(copy); /* a reservation ends with its connection, too */
    }
    cluster->leaving -= copy->is_over;
    copy->is_sent = false;
    if (!copy->is_taken && is_good && copy->event == WEIRI_JOB_TOUCH) {
        copy->touch_ns = weiri_copy_touch_ns(copy);
        weiri_copy_hold_back(copy);
    } else if (!copy->is_taken) {
        weiri_copy_free(copy);
    } else if (copy->is_forgotten) {
        weiri_copy_forget(copy);
    } else if (copy->is_awaited) {
        copy->is_awaited = false;
        if (is_good) {
            weiri_copy_keep(copy);
        }
        bool is_kept = copy->event == WEIRI_JOB_TOUCH && weiri_monotonic_now() < copy->kept_ns;
        answer(copy, is_good || is_kept ? WEIR_OK : WEIR_ELEASELOST);
    }
}

static void send_event(struct weiri_copy *copy)
{
    const struct weiri_request request = {.verb = events[copy->event].verb,
                                          .id = copy->number,
                                          .priority = copy->facts.priority,
                                          .delay_s = copy->delay_s};
    weiri_copy_send(copy, &request, settled);
}

/* is_awaited: the settlement is answered with the node's answer. Behind a touch that the node
 * has not answered, another is of no use. */
static void tell_node(struct weiri_copy *copy, bool is_awaited)
{
    bool is_end = copy->event != WEIRI_JOB_TOUCH;
    copy->is_awaited = is_awaited;
    if (is_end) {
        copy->is_over = true;
        copy->is_claimed = false;
        copy->lane->subscription->cluster->leaving++;
    }
    if (copy->is_sent) {
        copy->is_due = is_end || is_awaited;
        return;
    }
    copy->is_sent = true;
    send_event(copy);
}

static bool is_looking(const struct weiri_copy *copy)
{
    return copy->is_early && copy->look_ns != 0;
}

/* What Redis says of a claim decides: a consumer is answered, and the node is told without it. A
 * job that Redis knows as done or buried is deleted or buried by the finder of a copy. */
static void claim_told(struct weiri_claim *claim, enum weiri_claim_answer told, int64_t number)
{
    struct weiri_copy *copy = WEIRI_CONTAINER(claim, struct weiri_copy, claim);
    const struct weiri_cluster *cluster = copy->lane->subscription->cluster;
    bool is_touch = copy->event == WEIRI_JOB_TOUCH;
    bool is_end = !is_touch && copy->event != WEIRI_JOB_RETURN;
    (void)number;
    if (told == WEIRI_CLAIM_AWAY && is_end && !cluster->options.runs_unclaimed) {
        /* Were this copy taken off its node now, another would run, or none for the time of the
         * lease. A consumer tries again. */
        if (copy->is_taken) {
            answer(copy, WEIR_EUNAVAILABLE);
            return;
        }
        copy->event = WEIRI_JOB_RELEASE;
        copy->delay_s = weiri_copy_away_seconds(copy);
    } else if (told == WEIRI_CLAIM_MINE && copy->event == WEIRI_JOB_DONE) {
        weiri_copy_note_done(copy);
        /* Its other copies that are held back here are deleted. */
        struct weiri_copy *other;
        while ((other = weiri_copy_find_same(copy, is_looking)) != NULL) {
            weiri_copy_tell(other, WEIRI_JOB_DONE, 0);
        }
    } else if (told != WEIRI_CLAIM_MINE && told != WEIRI_CLAIM_AWAY && !is_touch) {
        /* Another took it when this claim's lease ended, and settles it. */
        copy->event = told == WEIRI_CLAIM_DONE     ? WEIRI_JOB_DONE
                      : told == WEIRI_CLAIM_BURIED ? WEIRI_JOB_BURY
                                                   : WEIRI_JOB_RELEASE;
    }
    if (!copy->is_taken || told == WEIRI_CLAIM_AWAY) {
        tell_node(copy, copy->is_taken);
        return;
    }
    if (told == WEIRI_CLAIM_MINE) {
        weiri_copy_keep(copy);
    }
    if (told == WEIRI_CLAIM_MINE || !is_touch) {
        tell_node(copy, false);
    }
    answer(copy, told == WEIRI_CLAIM_MINE ? WEIR_OK : WEIR_ELEASELOST);
}

static void tell_claim(struct weiri_copy *copy)
{
    copy->told_ns = weiri_monotonic_now();
    if (!copy->is_claimed) {
        tell_node(copy, copy->is_taken);
        return;
    }
    copy->claim.verb = events[copy->event].claim;
    const struct weiri_cluster *cluster = copy->lane->subscription->cluster;
    copy->claim.time_ms = copy->event == WEIRI_JOB_TOUCH ? weiri_copy_lease_ms(copy)
                          : copy->event == WEIRI_JOB_DONE
                              ? cluster->options.remember_ns / WEIR_MS(1)
                              : (int64_t)copy->delay_s * 1000;
    copy->claim.done = claim_told;
    weiri_claims_push(cluster->claims, &copy->claim, copy->told_ns);
}

void weiri_copy_serve(struct weiri_copy *copy)
{
    const struct weiri_broker_config *config = copy->lane->subscription->cluster->config;
    const struct weiri_settlement *settlement = copy->settlement;
    if (settlement == NULL && copy->is_sent) {
        copy->is_forgotten = true;
    } else if (settlement == NULL) {
        weiri_copy_forget(copy);
    } else if (copy->is_over) {
        answer(copy, WEIR_ELEASELOST); /* a touch that came late */
    } else {
        int64_t passed =
            weiri_time_since(settlement->since_ns, config->clocks.lease(config->clocks.arg));
        copy->event = settlement->event;
        copy->delay_s = weiri_seconds_up(weiri_time_sub(settlement->delay_ns, passed));
        (void)snprintf(copy->claim.reason, sizeof(copy->claim.reason), "%s",
                       settlement->reason == NULL ? "" : settlement->reason);
        tell_claim(copy);
    }
}

void weiri_copy_tell(struct weiri_copy *copy, enum weiri_job_event event, uint32_t delay_s)
{
    weiri_copy_go_on(copy);
    weiri_list_remove(&copy->link);
    copy->event = event;
    copy->delay_s = delay_s;
    tell_claim(copy);
}
