/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include "base/time.h"

const char weiri_damage_reason[] = "its body is damaged: the checksum does not match";

void weiri_job_show(struct weir_job *job, const struct weiri_job_facts *facts)
{
    job->fence = facts->token;
    job->run_at_ns = facts->run_at_ns;
    job->ttr_ns = facts->ttr_ns;
    job->attempts = facts->attempts;
    job->state = facts->state;
}

void weiri_row_show(struct weir_job *job, const struct weiri_job_row *row, struct weiri_now now)
{
    const struct weiri_job_step due = {.event = WEIRI_JOB_DUE};
    struct weiri_job_facts facts = row->facts;
    enum weir_status ignored = weiri_job_apply(&facts, &due, now.wall_ns);
    (void)ignored; /* another status: it is not due */
    weiri_job_show(job, &facts);
    if (facts.state == WEIR_JOB_RESERVED) {
        int64_t left_ns = weiri_time_sub(facts.lease_ns, now.lease_ns);
        left_ns = left_ns > facts.ttr_ns ? 0 : left_ns;
        job->reserved_until_ns = weiri_time_add(now.wall_ns, left_ns);
        job->owner = row->owner;
        job->started_ns = row->started_ns;
        job->progress = row->progress;
    }
}

/* Notes what an event made of a row that was in a state. */
static enum weiri_write note(struct weiri_job_row *row, enum weir_job_state before,
                             const struct weiri_job_step *step, struct weiri_now now,
                             struct weiri_effects *effects)
{
    const struct weiri_job_facts *facts = &row->facts;
    bool has_ended = facts->state == WEIRI_JOB_GONE || facts->state >= WEIR_JOB_BURIED;
    effects->from = before;
    effects->to = facts->state;
    if (step->event != WEIRI_JOB_TOUCH) {
        effects->wakes = facts->state == WEIR_JOB_READY;
        effects->wakes_at_ns = facts->state == WEIR_JOB_DELAYED ? facts->run_at_ns : 0;
        effects->lease_ends_ns = facts->state == WEIR_JOB_RESERVED ? facts->lease_ns : 0;
    }
    if (has_ended && row->key.is_there) {
        effects->key = row->key.until_ns > now.wall_ns ? WEIRI_KEY_THROTTLED : WEIRI_KEY_FREE;
    }
    if (facts->state != WEIRI_JOB_GONE) {
        return WEIRI_UPDATE;
    }
    /* One that succeeds in its first attempt, or never had one, has none in the history. */
    effects->forgets_attempts = facts->attempts > (step->event == WEIRI_JOB_DONE ? 1 : 0);
    return WEIRI_DELETE;
}

enum weiri_write weiri_row_apply(struct weiri_job_row *row, const struct weiri_job_step *step,
                                 struct weiri_now now, struct weiri_effects *effects)
{
    enum weir_job_state before = row->facts.state;
    uint32_t attempts = row->facts.attempts;
    bool is_of_lease = step->event == WEIRI_JOB_RESERVE || step->event == WEIRI_JOB_TOUCH ||
                       step->event == WEIRI_JOB_EXPIRE;
    effects->status = weiri_job_apply(&row->facts, step, is_of_lease ? now.lease_ns : now.wall_ns);
    if (effects->status != WEIR_OK) {
        return WEIRI_NOTHING;
    }
    enum weiri_write write = note(row, before, step, now, effects);
    if (step->event == WEIRI_JOB_RENEW) {
        effects->forgets_attempts = attempts > 0;
    }
    return write;
}

/* The end of a run, as it is after a put during the run. The body is that of the put, so that no
 * run begins before its time: what would be the last run has another follow, and a retry waits for
 * both times, as does a run after a lost lease. A run that fails and is retried is not the last
 * one: the next one covers the put. */
static enum weiri_write end_run(struct weiri_job_row *row, struct weiri_job_step step,
                                struct weiri_now now, struct weiri_effects *effects)
{
    const struct weiri_job_key *key = &row->key;
    bool is_expired = step.event == WEIRI_JOB_EXPIRE;
    bool is_last = step.event == WEIRI_JOB_DONE || step.event == WEIRI_JOB_BURY ||
                   (is_expired && row->facts.attempts >= step.attempts_max);
    bool has_put = row->facts.state == WEIR_JOB_RESERVED && key->again != 0 &&
                   key->again == row->facts.token && step.event != WEIRI_JOB_TOUCH;
    if (has_put) {
        step.token = is_expired ? row->facts.token : step.token;
        step.run_at_ns =
            is_last || step.run_at_ns < key->again_at_ns ? key->again_at_ns : step.run_at_ns;
        step.event = is_last ? WEIRI_JOB_RENEW : is_expired ? WEIRI_JOB_RELEASE : step.event;
    }
    enum weiri_write write = weiri_row_apply(row, &step, now, effects);
    if (has_put && write != WEIRI_NOTHING) {
        effects->takes_again = true;
#define TAKE(name, kind, limit, feature) row->name = key->name;
        WEIRI_ROW_TEXTS(TAKE)
#undef TAKE
    }
    return write;
}

enum weiri_write weiri_decide_settle(struct weiri_job_row *row,
                                     const struct weiri_settlement *settlement,
                                     const struct weiri_tube_record *tube, struct weiri_now now,
                                     struct weiri_effects *ret_effects)
{
    static const struct weiri_run_end success = {.outcome = WEIR_RUN_DONE};
    int64_t said_ns = weiri_said_ns(settlement->since_ns, now.wall_ns, now.lease_ns);
    const struct weiri_job_step step = {.event = settlement->event,
                                        .token = settlement->reservation->token,
                                        .run_at_ns = weiri_time_add(said_ns, settlement->delay_ns),
                                        .is_archived = tube->policy.archive_ns > 0};
    *ret_effects = (struct weiri_effects){.reason = settlement->reason};
    enum weiri_write write = end_run(row, step, now, ret_effects);
    if (write == WEIRI_NOTHING) {
        return write;
    }
    bool is_archived = row->facts.state == WEIR_JOB_ARCHIVED;
    ret_effects->done = step.event == WEIRI_JOB_DONE;
    ret_effects->put = ret_effects->done && row->facts.state <= WEIR_JOB_READY &&
                       row->facts.state != WEIRI_JOB_GONE;
    ret_effects->retried = step.event == WEIRI_JOB_RELEASE;
    if (ret_effects->put || (is_archived && settlement->reason == NULL)) {
        ret_effects->reason = ""; /* what it failed of before is no result, nor the next reason */
    }
    /* There is room in its group. */
    if (step.event != WEIRI_JOB_TOUCH && settlement->reservation->job.group != NULL) {
        ret_effects->wakes = ret_effects->wakes || tube->policy.group_limit > 0;
    }
    if (settlement->progress > 0) {
        row->progress = settlement->progress - 1;
    }
    if (is_archived) {
        ret_effects->kept = success;
    } else if (row->facts.attempts > 0) { /* one that was renewed has none */
        ret_effects->kept = settlement->end;
    }
    return write;
}

bool weiri_settle_asks_policy(const struct weiri_settlement *settlement)
{
    return settlement->event == WEIRI_JOB_DONE ||
           (settlement->event != WEIRI_JOB_TOUCH && settlement->reservation->job.group != NULL);
}

enum weiri_write weiri_decide_expire(struct weiri_job_row *row, uint32_t attempts_max, bool is_kept,
                                     const struct weiri_tube_record *tube, struct weiri_now now,
                                     struct weiri_effects *ret_effects)
{
    const struct weiri_job_step touch = {.event = WEIRI_JOB_TOUCH, .token = row->facts.token};
    const struct weiri_job_step expire = {.event = WEIRI_JOB_EXPIRE, .attempts_max = attempts_max};
    *ret_effects = (struct weiri_effects){.status = WEIR_ESTATE};
    /* Asked before a put during the run makes another event of it, which asks for no lease. */
    if (row->facts.state != WEIR_JOB_RESERVED || row->facts.lease_ns > now.lease_ns) {
        return WEIRI_NOTHING;
    }
    if (is_kept) {
        return weiri_row_apply(row, &touch, now, ret_effects);
    }
    enum weiri_write write = end_run(row, expire, now, ret_effects);
    ret_effects->reason =
        "its reservation ended: the worker died, or took longer than the TTR without a touch";
    ret_effects->expired = true;
    ret_effects->wakes = ret_effects->wakes || tube->policy.group_limit > 0;
    ret_effects->kept.outcome = row->facts.attempts > 0 ? WEIR_RUN_LOST : 0;
    ret_effects->burial = row->facts.state == WEIR_JOB_BURIED ? WEIR_ELEASELOST : WEIR_OK;
    return write;
}

enum weiri_write weiri_decide_change(struct weiri_job_row *row, const struct weiri_job_step *step,
                                     const char *reason, struct weiri_now now,
                                     struct weiri_effects *ret_effects)
{
    bool has_reason = reason != NULL && reason[0] != '\0';
    if (step->event == WEIRI_JOB_SET_ASIDE && !has_reason && row->facts.attempts == 0) {
        reason = "an operator buried it"; /* with a reason it is not late when it is kicked */
    }
    *ret_effects = (struct weiri_effects){.reason = reason};
    enum weiri_write write = weiri_row_apply(row, step, now, ret_effects);
    if (write == WEIRI_NOTHING && row->facts.state == WEIR_JOB_RESERVED) {
        ret_effects->status = WEIR_EBUSY;
    }
    return write;
}

enum weiri_write weiri_decide_refile(struct weiri_job_row *row, int64_t tube, bool is_taken,
                                     struct weiri_effects *ret_effects)
{
    enum weir_job_state state = row->facts.state;
    *ret_effects = (struct weiri_effects){.status = WEIR_OK};
    if (state == WEIR_JOB_RESERVED || state == WEIR_JOB_ARCHIVED) {
        ret_effects->status = state == WEIR_JOB_RESERVED ? WEIR_EBUSY : WEIR_ESTATE;
    } else if (row->tube != tube && is_taken) {
        ret_effects->status = WEIR_EBUSY;
    }
    if (ret_effects->status != WEIR_OK || row->tube == tube) {
        return WEIRI_NOTHING;
    }
    row->tube = tube;
    ret_effects->from = state;
    ret_effects->to = state;
    ret_effects->wakes = state == WEIR_JOB_READY;
    ret_effects->wakes_at_ns = state == WEIR_JOB_DELAYED ? row->facts.run_at_ns : 0;
    return WEIRI_UPDATE;
}
