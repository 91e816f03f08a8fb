/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/time.h"
#include "jobs/core/job.h"

/* Of a lease that ended while a look waited for its turn: its holder has so long for its own, to
 * touch it. */
#define TURN_NS WEIR_MS(100)

/* One that was reserved before was in time once, and one that was kicked has a reason. */
static bool is_late(const struct weiri_job_row *row, const struct weir_tube_policy *policy,
                    int64_t late_ns)
{
    return policy->late != WEIR_LATE_RUN && row->facts.token == 0 && row->reason[0] == '\0' &&
           late_ns > policy->late_ns;
}

enum weiri_write weiri_decide_reserve(struct weiri_job_row *row, bool is_sound, uint64_t running,
                                      const struct weiri_tube_record *tube,
                                      const struct weiri_taker *taker, struct weiri_now now,
                                      struct weiri_effects *ret_effects)
{
    const struct weir_tube_policy *policy = &tube->policy;
    const struct weiri_job_step due = {.event = WEIRI_JOB_RESCHEDULE,
                                       .run_at_ns = row->facts.run_at_ns};
    struct weiri_job_step step = {
        .event = WEIRI_JOB_RESERVE, .attempts_max = taker->attempts_max, .token = taker->era};
    enum weir_job_state stored = row->facts.state;
    int64_t late_ns = weiri_time_sub(now.wall_ns, row->facts.run_at_ns);
    bool is_full = policy->group_limit > 0 && running >= policy->group_limit;
    *ret_effects = (struct weiri_effects){.status = WEIR_OK};
    if (stored == WEIR_JOB_DELAYED && late_ns >= 0 && weiri_is_suspect(&row->facts)) {
        return is_full ? WEIRI_NOTHING : weiri_row_apply(row, &due, now, ret_effects);
    }
    weiri_job_promote(&row->facts, now.wall_ns);
    if (!is_sound) {
        step.event = WEIRI_JOB_SET_ASIDE;
        ret_effects->burial = WEIR_ECORRUPT;
        ret_effects->reason = weiri_damage_reason;
    } else if (is_late(row, policy, late_ns)) {
        bool is_dropped = policy->late == WEIR_LATE_DROP;
        step.event = is_dropped ? WEIRI_JOB_REMOVE : WEIRI_JOB_SET_ASIDE;
        (void)snprintf(ret_effects->words, sizeof(ret_effects->words),
                       "late by %" PRId64 " s: the limit of its tube is %" PRId64 " s",
                       late_ns / WEIR_SECONDS(1), policy->late_ns / WEIR_SECONDS(1));
        ret_effects->is_late = true;
        ret_effects->burial = is_dropped ? WEIR_OK : WEIR_EPAST;
        ret_effects->reason = ret_effects->words;
    }
    bool is_left = is_full && step.event == WEIRI_JOB_RESERVE;
    enum weiri_write write =
        is_left ? WEIRI_NOTHING : weiri_row_apply(row, &step, now, ret_effects);
    if (write == WEIRI_NOTHING) {
        row->facts.state = stored;
        return WEIRI_NOTHING;
    }
    ret_effects->from = stored;
    ret_effects->end = ret_effects->end != 0 ? WEIR_RUN_DROPPED : ret_effects->end;
    if (step.event == WEIRI_JOB_RESERVE) {
        ret_effects->is_started = true;
        row->started_ns = now.wall_ns;
        row->owner = taker->owner;
        row->worker = taker->worker;
        row->progress = -1;
    }
    return write;
}

bool weiri_suspect_begins(const struct weiri_suspects *here, const struct weiri_job_facts *job,
                          uint32_t attempts_max)
{
    bool is_alone = weiri_runs_alone(job, job->attempts + 1, attempts_max);
    return !here->is_alone && here->new_in_ns <= 0 &&
           (is_alone ? !here->is_there : !here->is_awaited);
}

static int64_t time_until(int64_t time_ns, int64_t now_ns)
{
    return time_ns == WEIR_FOREVER ? time_ns : weiri_time_since(now_ns, time_ns);
}

int64_t weiri_next_look(const struct weiri_firsts *firsts, const struct weiri_tube_record *tube,
                        struct weiri_now now)
{
    bool is_paused = tube->paused_until_ns > now.wall_ns;
    int64_t lease_in_ns = time_until(firsts->lease_ns, now.lease_ns);
    int64_t turn_in_ns = firsts->suspect_in_ns > 0 ? firsts->suspect_in_ns : WEIR_FOREVER;
    lease_in_ns = weiri_time_earlier(lease_in_ns > 0 ? lease_in_ns : TURN_NS, turn_in_ns);
    int64_t first_ns = weiri_time_earlier(firsts->delayed_ns, firsts->firing_ns);
    first_ns = is_paused ? weiri_time_earlier(first_ns, tube->paused_until_ns) : first_ns;
    return weiri_time_earlier(time_until(first_ns, now.wall_ns), lease_in_ns);
}

bool weiri_end_trims(int64_t number)
{
    return (weiri_hash_fold((uint64_t)number ^ WEIRI_HASH_A, WEIRI_HASH_B) & 127) == 0;
}

int64_t weiri_keep_until(const struct weir_tube_policy *policy, int64_t now_ns)
{
    int64_t keep_ns = policy->keep_ns == 0 ? WEIRI_KEEP_DEFAULT : policy->keep_ns;
    return keep_ns == WEIR_KEEP_NONE ? INT64_MAX
           : keep_ns == WEIR_FOREVER ? INT64_MIN
                                     : weiri_time_sub(now_ns, keep_ns);
}
