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
    job->is_suspect = weiri_is_suspect(facts);
}

void weiri_row_show(struct weir_job *job, const struct weiri_job_row *row, struct weiri_now now)
{
    struct weiri_job_facts facts = row->facts;
    weiri_job_promote(&facts, now.wall_ns);
    weiri_job_show(job, &facts);
    if (facts.state == WEIR_JOB_RESERVED) {
        int64_t left_ns = weiri_time_sub(facts.lease_ns, now.lease_ns);
        left_ns = left_ns > facts.ttr_ns ? 0 : left_ns;
        job->reserved_until_ns = weiri_time_add(now.wall_ns, left_ns);
        job->owner = row->owner;
        job->started_ns = row->started_ns;
        job->progress = row->progress;
        job->verdict = facts.verdict;
    } else if (facts.state == WEIR_JOB_ENDED) {
        job->end = row->end;
        job->ended_ns = facts.lease_ns;
        job->started_ns = row->end == WEIR_RUN_DONE ? row->started_ns : 0;
    }
}

enum weiri_write weiri_row_apply(struct weiri_job_row *row, const struct weiri_job_step *step,
                                 struct weiri_now now, struct weiri_effects *effects)
{
    const struct weiri_job_facts *facts = &row->facts;
    enum weir_job_state before = facts->state;
    uint32_t attempts = facts->attempts;
    bool is_of_lease = step->event == WEIRI_JOB_RESERVE || step->event == WEIRI_JOB_TOUCH;
    effects->status = weiri_job_apply(&row->facts, step, is_of_lease ? now.lease_ns : now.wall_ns);
    if (effects->status != WEIR_OK) {
        return WEIRI_NOTHING;
    }
    bool has_ended = facts->state == WEIRI_JOB_GONE || facts->state >= WEIR_JOB_BURIED;
    effects->from = before;
    effects->to = facts->state;
    effects->end = facts->state != WEIR_JOB_ENDED     ? (enum weir_run_outcome)0
                   : step->event == WEIRI_JOB_DONE    ? WEIR_RUN_DONE
                   : step->event == WEIRI_JOB_DISCARD ? WEIR_RUN_CANCELED
                                                      : WEIR_RUN_REMOVED;
    if (step->event != WEIRI_JOB_TOUCH && step->event != WEIRI_JOB_CANCEL) {
        effects->wakes = facts->state == WEIR_JOB_READY;
        effects->wakes_at_ns = facts->state == WEIR_JOB_DELAYED ? facts->run_at_ns : 0;
        effects->lease_ends_ns = facts->state == WEIR_JOB_RESERVED ? facts->lease_ns : 0;
    }
    effects->frees_key = has_ended && row->key.is_there;
    effects->forgets_attempts = step->event == WEIRI_JOB_RENEW && attempts > 0;
    return facts->state != WEIRI_JOB_GONE ? WEIRI_UPDATE : WEIRI_DELETE;
}

/* What an end becomes by the verdict on the reservation. Success is success, whatever was asked. To
 * be retried, what was lost or never begun comes back as it does without a verdict. */
static enum weiri_job_event judge(const struct weiri_job_facts *facts, enum weiri_job_event event)
{
    bool is_last = facts->attempts_max > 0 && facts->attempts >= facts->attempts_max;
    if (facts->verdict == 0 || event == WEIRI_JOB_TOUCH || event == WEIRI_JOB_DONE) {
        return event;
    }
    if (facts->verdict != WEIR_VERDICT_RETRY) {
        return facts->verdict == WEIR_VERDICT_REMOVE ? WEIRI_JOB_DISCARD : WEIRI_JOB_BURY;
    }
    return event != WEIRI_JOB_RELEASE && event != WEIRI_JOB_BURY ? event
           : is_last                                             ? WEIRI_JOB_BURY
                                                                 : WEIRI_JOB_RELEASE;
}

/* The end of a run, as it is after a put during the run. The body is that of the put, so that no
 * run begins before its time: what would be the last run has another follow, and a retry waits for
 * both times, as does a run after a lost lease. A run that fails and is retried is not the last
 * one: the next one covers the put. */
static enum weiri_write end_run(struct weiri_job_row *row, struct weiri_job_step step,
                                struct weiri_now now, struct weiri_effects *effects)
{
    const struct weiri_job_key *key = &row->key;
    bool is_lost = step.event == WEIRI_JOB_LOSE;
    bool is_last = step.event == WEIRI_JOB_DONE || step.event == WEIRI_JOB_BURY ||
                   step.event == WEIRI_JOB_DISCARD ||
                   (is_lost && row->facts.attempts >= step.attempts_max);
    bool has_put = row->facts.state == WEIR_JOB_RESERVED && key->again != 0 &&
                   key->again == row->facts.token && step.event != WEIRI_JOB_TOUCH;
    if (has_put) {
        step.run_at_ns =
            is_last || step.run_at_ns < key->again_at_ns ? key->again_at_ns : step.run_at_ns;
        step.event = is_last ? WEIRI_JOB_RENEW : is_lost ? WEIRI_JOB_RELEASE : step.event;
    }
    enum weiri_write write = weiri_row_apply(row, &step, now, effects);
    if (has_put && write != WEIRI_NOTHING) {
        effects->takes_again = true;
#define TAKE(name, kind, limit, feature) row->name = key->name;
        WEIRI_ROW_FIELDS(TAKE)
#undef TAKE
    }
    return write;
}

enum weiri_write weiri_decide_settle(struct weiri_job_row *row,
                                     const struct weiri_settlement *settlement,
                                     const struct weiri_tube_record *tube, struct weiri_now now,
                                     struct weiri_effects *ret_effects)
{
    int64_t said_ns = weiri_said_ns(settlement->since_ns, now.wall_ns, now.lease_ns);
    bool is_asked = row->facts.verdict != 0 && settlement->event != WEIRI_JOB_DONE;
    const struct weiri_job_step step = {.event = judge(&row->facts, settlement->event),
                                        .token = settlement->reservation->job.fence,
                                        .run_at_ns = weiri_time_add(said_ns, settlement->delay_ns)};
    bool is_judged = is_asked && step.event != WEIRI_JOB_TOUCH && step.event != WEIRI_JOB_RETURN;
    *ret_effects = (struct weiri_effects){.reason = is_judged ? NULL : settlement->reason};
    enum weiri_write write = end_run(row, step, now, ret_effects);
    if (write == WEIRI_NOTHING) {
        return write;
    }
    bool is_renewed = ret_effects->takes_again && row->facts.attempts == 0;
    ret_effects->is_canceled = is_asked;
    ret_effects->done = step.event == WEIRI_JOB_DONE;
    ret_effects->put = ret_effects->done && ret_effects->takes_again;
    ret_effects->retried = step.event == WEIRI_JOB_RELEASE;
    ret_effects->failed =
        ret_effects->retried || step.event == WEIRI_JOB_BURY || step.event == WEIRI_JOB_DISCARD;
    if (ret_effects->put || (is_judged && is_renewed) ||
        (ret_effects->done && settlement->reason == NULL)) {
        ret_effects->reason = ""; /* what it failed of before is no result, nor the next reason */
    }
    bool has_left = step.event != WEIRI_JOB_TOUCH && settlement->reservation->job.group != NULL;
    ret_effects->wakes = ret_effects->wakes || (has_left && tube->policy.group_limit > 0);
    row->progress = settlement->progress > 0 ? settlement->progress - 1 : row->progress;
    if (!is_renewed && !ret_effects->done) {
        ret_effects->kept = settlement->end;
        ret_effects->kept.outcome = is_judged ? WEIR_RUN_CANCELED : settlement->end.outcome;
    }
    return write;
}

/* A run that was lost, as told by reason. An end by that of a boot (lease 0) says nothing of the
 * job, nor does one that a put renewed. */
static enum weiri_write lose(struct weiri_job_row *row, uint32_t attempts_max, const char *reason,
                             const struct weiri_tube_record *tube, struct weiri_now now,
                             struct weiri_effects *effects)
{
    const struct weiri_job_facts before = row->facts;
    bool is_judged = before.verdict == WEIR_VERDICT_BURY || before.verdict == WEIR_VERDICT_REMOVE;
    uint32_t own = before.attempts_max;
    uint32_t most = own > 0 && own < attempts_max ? own : attempts_max;
    uint32_t weight = before.lease_ns == 0 ? 0 : most <= WEIRI_FEW_ATTEMPTS ? 2 : 1;
    const struct weiri_job_step step = {
        .event = judge(&before, WEIRI_JOB_LOSE), .token = before.token, .attempts_max = most};
    enum weiri_write write = end_run(row, step, now, effects);
    bool is_renewed = row->facts.attempts == 0;
    row->facts.lost = is_renewed ? 0 : before.lost + weight;
    effects->reason = !is_judged ? reason : is_renewed ? "" : NULL;
    effects->expired = true;
    effects->failed = true;
    effects->burial = row->facts.state == WEIR_JOB_BURIED && !is_judged ? WEIR_ELEASELOST : WEIR_OK;
    effects->wakes = effects->wakes || tube->policy.group_limit > 0;
    if (!is_renewed && write == WEIRI_UPDATE) {
        effects->kept.outcome = is_judged ? WEIR_RUN_CANCELED : WEIR_RUN_LOST;
    }
    return write;
}

enum weiri_write weiri_decide_expire(struct weiri_job_row *row, uint32_t attempts_max, bool is_kept,
                                     const struct weiri_tube_record *tube, struct weiri_now now,
                                     struct weiri_effects *ret_effects)
{
    const struct weiri_job_step touch = {.event = WEIRI_JOB_TOUCH, .token = row->facts.token};
    *ret_effects = (struct weiri_effects){.status = WEIR_ESTATE};
    /* Asked before a put during the run makes another event of it, which asks for no lease. */
    if (row->facts.state != WEIR_JOB_RESERVED || row->facts.lease_ns > now.lease_ns) {
        return WEIRI_NOTHING;
    }
    if (is_kept) {
        return weiri_row_apply(row, &touch, now, ret_effects);
    }
    return lose(row, attempts_max,
                "its reservation ended: the worker died, or took longer than the TTR without a "
                "touch",
                tube, now, ret_effects);
}

enum weiri_write weiri_decide_cancel(struct weiri_job_row *row, enum weir_verdict verdict,
                                     const char *reason, bool is_kept, bool is_gone,
                                     const struct weiri_tube_record *tube, struct weiri_now now,
                                     struct weiri_effects *ret_effects)
{
    enum weir_job_state state = row->facts.state;
    bool is_running = state == WEIR_JOB_RESERVED;
    bool is_over = is_gone || (!is_kept && row->facts.lease_ns <= now.lease_ns);
    bool is_ending = row->facts.verdict != 0 && row->facts.verdict != WEIR_VERDICT_RETRY;
    const struct weiri_job_step step = {.event =
                                            is_running || state == WEIR_JOB_ENDED ? WEIRI_JOB_CANCEL
                                            : verdict == WEIR_VERDICT_BURY   ? WEIRI_JOB_SET_ASIDE
                                            : verdict == WEIR_VERDICT_REMOVE ? WEIRI_JOB_REMOVE
                                                                             : WEIRI_JOB_CANCEL,
                                        .verdict = verdict};
    reason = reason == NULL || reason[0] == '\0' ? "an operator canceled it" : reason;
    *ret_effects = (struct weiri_effects){
        .reason = reason, .is_canceled = is_running, .tells_holder = is_running};
    /* A put that would have kept the job follows its end: a retry would be with its body. */
    if (verdict == WEIR_VERDICT_RETRY && is_ending && row->key.again == row->facts.token) {
        *ret_effects = (struct weiri_effects){.status = WEIR_ESTATE};
        return WEIRI_NOTHING;
    }
    enum weiri_write write = weiri_row_apply(row, &step, now, ret_effects);
    ret_effects->end = ret_effects->end != 0 ? WEIR_RUN_CANCELED : ret_effects->end;
    if (state == WEIR_JOB_BURIED && verdict == WEIR_VERDICT_BURY) {
        ret_effects->status = WEIR_OK; /* it is, with its reason */
    }
    if (is_running && is_over) {
        write = lose(row, UINT32_MAX, reason, tube, now, ret_effects);
        ret_effects->reason = ret_effects->reason == NULL ? reason : ret_effects->reason;
        ret_effects->is_canceled =
            ret_effects->takes_again ||
            (verdict == WEIR_VERDICT_RETRY && row->facts.state == WEIR_JOB_BURIED);
    }
    return write;
}

enum weiri_write weiri_decide_take_back(struct weiri_job_row *row, bool is_gone, bool is_forced,
                                        const struct weiri_tube_record *tube, struct weiri_now now,
                                        struct weiri_effects *ret_effects)
{
    bool is_running = row->facts.state == WEIR_JOB_RESERVED;
    *ret_effects = (struct weiri_effects){.status = is_running ? WEIR_EBUSY : WEIR_ESTATE};
    if (!is_running || (!is_gone && !is_forced)) {
        return WEIRI_NOTHING;
    }
    *ret_effects =
        (struct weiri_effects){.is_canceled = row->facts.verdict != 0, .tells_holder = true};
    row->facts.lease_ns = is_gone ? row->facts.lease_ns : 0; /* it says nothing of the job */
    return lose(row, UINT32_MAX,
                is_gone ? "its worker does not live" : "an operator took it from its worker", tube,
                now, ret_effects);
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

enum weiri_write weiri_decide_kick(struct weiri_job_row *row, uint32_t states, int64_t slot_ns,
                                   const struct weiri_tube_record *tube, struct weiri_now now,
                                   struct weiri_effects *ret_effects)
{
    struct weiri_job_step step = {.event = WEIRI_JOB_KICK, .states = states, .run_at_ns = slot_ns};
    if (row->facts.state == WEIR_JOB_DELAYED && slot_ns <= now.wall_ns) {
        now.wall_ns = now.wall_ns < tube->last_ns ? tube->last_ns : now.wall_ns;
        step.run_at_ns = now.wall_ns; /* it is ready, also before its run time */
    }
    return weiri_decide_change(row, &step, NULL, now, ret_effects);
}

enum weiri_write weiri_decide_refile(struct weiri_job_row *row, int64_t tube, bool is_taken,
                                     struct weiri_effects *ret_effects)
{
    enum weir_job_state state = row->facts.state;
    bool is_busy = state == WEIR_JOB_RESERVED || (row->tube != tube && is_taken);
    *ret_effects = (struct weiri_effects){.status = state == WEIR_JOB_ENDED ? WEIR_ESTATE
                                                    : is_busy               ? WEIR_EBUSY
                                                                            : WEIR_OK};
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
