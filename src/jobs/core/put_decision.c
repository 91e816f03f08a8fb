/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/error.h"
#include "base/panic.h"
#include "base/time.h"
#include "jobs/core/job.h"

enum weir_status weiri_put_set_time(struct weiri_put *put, const struct weir_put_options *options,
                                    int64_t now_ns, struct weir_error *ret_error)
{
    int64_t run_at_ns = options->run_at_ns;
    int64_t delay_ns = options->delay_ns;
    if (run_at_ns < 0 || delay_ns < 0) {
        return weiri_check_number(run_at_ns < 0 ? "run_at_ns" : "delay_ns",
                                  run_at_ns < 0 ? run_at_ns : delay_ns, 0, INT64_MAX, ret_error);
    }
    if (run_at_ns > 0 && delay_ns > 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "run_at_ns and delay_ns are both set: expected one of them");
    }
    if (now_ns > 0 && delay_ns > INT64_MAX - now_ns) {
        return weiri_fail(ret_error, WEIR_ERANGE,
                          "delay_ns is %" PRId64 ": it ends after the year 2262", delay_ns);
    }
    bool is_past = run_at_ns > 0 && run_at_ns < now_ns;
    if (is_past && (options->flags & WEIR_PUT_PAST_OK) == 0) {
        return weiri_fail(ret_error, WEIR_EPAST,
                          "run_at_ns is %" PRId64 ", %" PRId64 " ms in the past", run_at_ns,
                          weiri_time_sub(now_ns, run_at_ns) / WEIR_MS(1));
    }
    put->run_at_ns = is_past ? 0 : run_at_ns;
    put->delay_ns = delay_ns;
    return WEIR_OK;
}

enum weiri_duplicate_action weiri_duplicate_decide(enum weir_duplicate mode,
                                                   const struct weiri_job_facts *older,
                                                   bool is_throttled)
{
    bool may_end = older->verdict == WEIR_VERDICT_BURY || older->verdict == WEIR_VERDICT_REMOVE;
    static const enum weiri_duplicate_action actions[][WEIR_JOB_RESERVED] = {
        /* delayed, ready, reserved */
        [WEIR_DUPLICATE_REFUSE] = {WEIRI_DUPLICATE_REFUSE, WEIRI_DUPLICATE_REFUSE,
                                   WEIRI_DUPLICATE_REFUSE},
        [WEIR_DUPLICATE_REPLACE] = {WEIRI_DUPLICATE_RENEW, WEIRI_DUPLICATE_RENEW,
                                    WEIRI_DUPLICATE_REFUSE},
        [WEIR_DUPLICATE_KEEP] = {WEIRI_DUPLICATE_EARLIER, WEIRI_DUPLICATE_NOTHING,
                                 WEIRI_DUPLICATE_NOTHING},
        [WEIR_DUPLICATE_DEBOUNCE] = {WEIRI_DUPLICATE_RENEW, WEIRI_DUPLICATE_RENEW,
                                     WEIRI_DUPLICATE_AFTER},
        [WEIR_DUPLICATE_THROTTLE] = {WEIRI_DUPLICATE_NOTHING, WEIRI_DUPLICATE_NOTHING,
                                     WEIRI_DUPLICATE_NOTHING},
        [WEIR_DUPLICATE_AGAIN] = {WEIRI_DUPLICATE_EARLIER, WEIRI_DUPLICATE_NOTHING,
                                  WEIRI_DUPLICATE_AFTER},
    };
    WEIRI_ASSERT(mode >= WEIR_DUPLICATE_REFUSE && mode <= WEIR_DUPLICATE_AGAIN);
    if (older->state < WEIR_JOB_DELAYED || older->state > WEIR_JOB_RESERVED) {
        return mode == WEIR_DUPLICATE_THROTTLE && is_throttled ? WEIRI_DUPLICATE_NOTHING
                                                               : WEIRI_DUPLICATE_PUT;
    }
    return mode == WEIR_DUPLICATE_KEEP && may_end ? WEIRI_DUPLICATE_AFTER
                                                  : actions[mode][older->state - WEIR_JOB_DELAYED];
}

/* Has the row what the put gives beside the body. */
static void take_put(struct weiri_job_row *row, const struct weiri_put *put,
                     struct weiri_effects *effects)
{
    row->facts.ttr_ns = put->ttr_ns;
    row->priority = put->priority;
    row->reason = "";
#define TAKE(name, kind, limit, feature) row->name = put->name;
    WEIRI_ROW_FIELDS(TAKE)
#undef TAKE
    effects->writes_put = true;
    effects->reason = row->reason;
}

static enum weiri_write insert(struct weiri_job_row *row, const struct weiri_put *put,
                               int64_t run_at_ns, struct weiri_now now,
                               struct weiri_effects *effects)
{
    bool is_ready = weiri_is_at_once(put) || run_at_ns <= now.wall_ns;
    int64_t until_ns = put->key_ns == 0 ? 0 : weiri_time_add(now.wall_ns, put->key_ns);
    *row = (struct weiri_job_row){
        .tube = row->tube,
        .facts = {.state = is_ready ? WEIR_JOB_READY : WEIR_JOB_DELAYED, .run_at_ns = run_at_ns},
        .progress = -1,
        .created_ns = now.wall_ns,
        .key = {.is_there = put->key != NULL, .until_ns = until_ns},
    };
    take_put(row, put, effects);
    effects->to = row->facts.state;
    effects->put = true;
    effects->wakes = is_ready;
    effects->wakes_at_ns = is_ready ? 0 : run_at_ns;
    return WEIRI_INSERT;
}

/* Has the job of a row run once more after this run, or where the earliest time counts, from one
 * that was asked for during it. One that is to be kept is that one, where there is one. The holder
 * renews its lease by the TTR that it was told, which stays. */
static enum weiri_write run_again(struct weiri_job_row *row, const struct weiri_put *put,
                                  int64_t run_at_ns, struct weiri_effects *effects)
{
    struct weiri_job_key *key = &row->key;
    bool is_there = key->again == row->facts.token;
    bool is_earlier =
        is_there && key->again_at_ns < run_at_ns && put->on_duplicate != WEIR_DUPLICATE_DEBOUNCE;
    bool is_kept = is_there && put->on_duplicate == WEIR_DUPLICATE_KEEP;
    key->again = row->facts.token;
    key->again_at_ns = is_earlier ? key->again_at_ns : run_at_ns;
    effects->runs_again = true;
    if (is_kept) {
        return WEIRI_UPDATE;
    }
#define TAKE(name, kind, limit, feature) key->name = put->name;
    WEIRI_ROW_FIELDS(TAKE)
#undef TAKE
    effects->writes_put = true;
    return WEIRI_UPDATE;
}

enum weiri_write weiri_decide_put(struct weiri_job_row *row, const struct weiri_put *put,
                                  int64_t run_at_ns, const struct weiri_tube_record *tube,
                                  struct weiri_now now, struct weiri_effects *ret_effects)
{
    struct weiri_job_facts older = row->facts;
    struct weiri_job_step step = {.event = WEIRI_JOB_RESCHEDULE};
    weiri_job_promote(&older, now.wall_ns);
    *ret_effects = (struct weiri_effects){.status = WEIR_OK};
    /* What is put at once is ready, also before its run time. */
    struct weiri_now then = now;
    if (weiri_is_at_once(put)) {
        run_at_ns = run_at_ns < tube->last_ns ? tube->last_ns : run_at_ns;
        then.wall_ns = now.wall_ns < run_at_ns ? run_at_ns : now.wall_ns;
    }
    bool is_throttled = row->key.until_ns > now.wall_ns;
    enum weiri_duplicate_action action =
        put->key == NULL ? WEIRI_DUPLICATE_PUT
                         : weiri_duplicate_decide(put->on_duplicate, &older, is_throttled);
    step.run_at_ns = run_at_ns;
    switch (action) {
    case WEIRI_DUPLICATE_PUT:
        return insert(row, put, run_at_ns, now, ret_effects);
    case WEIRI_DUPLICATE_REFUSE:
        ret_effects->status = WEIR_EBUSY;
        return WEIRI_NOTHING;
    case WEIRI_DUPLICATE_NOTHING:
        return WEIRI_NOTHING;
    case WEIRI_DUPLICATE_EARLIER:
        if (!weiri_is_at_once(put) && run_at_ns >= row->facts.run_at_ns) {
            return WEIRI_NOTHING;
        }
        step.run_at_ns = weiri_time_earlier(run_at_ns, row->facts.run_at_ns);
        return weiri_row_apply(row, &step, then, ret_effects);
    case WEIRI_DUPLICATE_AFTER:
        run_at_ns = weiri_is_at_once(put) ? weiri_time_earlier(run_at_ns, now.wall_ns) : run_at_ns;
        return run_again(row, put, run_at_ns, ret_effects);
    case WEIRI_DUPLICATE_RENEW:
        break;
    }
    step.event = WEIRI_JOB_RENEW;
    enum weiri_write write = weiri_row_apply(row, &step, then, ret_effects);
    if (write != WEIRI_NOTHING) {
        take_put(row, put, ret_effects);
    }
    return write;
}
