/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/row.h"

#include "base/time.h"
#include "jobs/sqlite/attempts.h"
#include "jobs/sqlite/keys.h"
#include "jobs/sqlite/policies.h"
#include "jobs/sqlite/write.h"

/* The longest sleep of a consumer (consumer.h). It must be notified of leases that end earlier. */
#define SLEEP_MAX_NS WEIRI_WAIT_MAX_NS

int weiri_row_read(sqlite3_stmt *statement, struct weiri_row *ret_row)
{
    int64_t state = sqlite3_column_int64(statement, 2);
    int64_t attempts = sqlite3_column_int64(statement, 5);
    int64_t token = sqlite3_column_int64(statement, 7);
    bool has_progress = sqlite3_column_type(statement, 12) != SQLITE_NULL;
    struct weiri_row row = {
        .number = sqlite3_column_int64(statement, 0),
        .tube = sqlite3_column_int64(statement, 1),
        .facts = {.run_at_ns = sqlite3_column_int64(statement, 3),
                  .ttr_ns = sqlite3_column_int64(statement, 4),
                  .lease_ns = sqlite3_column_int64(statement, 6)},
        .priority = sqlite3_column_int(statement, 8),
        .created_ns = sqlite3_column_int64(statement, 9),
        .started_ns = sqlite3_column_int64(statement, 10),
        .owner = sqlite3_column_int64(statement, 11),
        .progress = has_progress ? sqlite3_column_int(statement, 12) : -1,
        .key = {.is_there = sqlite3_column_type(statement, 14) != SQLITE_NULL,
                .until_ns = sqlite3_column_int64(statement, 15),
                .again = (uint64_t)sqlite3_column_int64(statement, 16),
                .again_at_ns = sqlite3_column_int64(statement, 17)},
    };
    if (state < WEIR_JOB_DELAYED || state > WEIR_JOB_ARCHIVED || attempts < 0 ||
        attempts > UINT32_MAX || token < 0 || row.facts.ttr_ns <= 0 || row.progress < -1 ||
        row.progress > 100) {
        return SQLITE_CORRUPT;
    }
    row.facts.state = (enum weir_job_state)state;
    row.facts.attempts = (uint32_t)attempts;
    row.facts.token = (uint64_t)token;
    *ret_row = row;
    return SQLITE_OK;
}

int weiri_row_load(struct weiri_store *store, int64_t number, struct weiri_row *ret_row)
{
    sqlite3_stmt *statement;
    int code = weiri_sql_start(&store->writer, WEIRI_SQL_LOAD, WEIRI_VALUES(number), &statement);
    int read = code == SQLITE_ROW ? weiri_row_read(statement, ret_row) : SQLITE_OK;
    (void)weiri_sql_end(statement, code);
    return read == SQLITE_OK ? code : read;
}

/* A number, or NULL, which leaves the column as it was. */
static struct weiri_value int_where(bool is_set, int64_t number)
{
    return is_set ? weiri_int(number) : weiri_null();
}

/* started_ns is set at a reservation, and 0 at all other events. */
static int save(struct weiri_store *store, const struct weiri_row *row, int64_t started_ns,
                const char *reason)
{
    const struct weiri_job_facts *facts = &row->facts;
    return weiri_sql_run(&store->writer, WEIRI_SQL_SAVE,
                         WEIRI_VALUES(row->number, facts->state, facts->run_at_ns, facts->attempts,
                                      facts->lease_ns, (int64_t)facts->token,
                                      int_where(facts->state == WEIR_JOB_RESERVED, store->owner),
                                      weiri_text_within(reason, WEIR_REASON_SIZE - 1),
                                      int_where(started_ns != 0, started_ns),
                                      int_where(row->progress >= 0, row->progress)));
}

/* A job that succeeds in its first attempt, or never had one, has none in the table. */
static int delete (struct weiri_store *store, const struct weiri_row *row, bool is_done)
{
    int code = weiri_sql_run(&store->writer, WEIRI_SQL_DELETE_JOB, WEIRI_VALUES(row->number));
    if (code == SQLITE_OK) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_DELETE_BODY, WEIRI_VALUES(row->number));
    }
    if (code == SQLITE_OK && row->facts.attempts > (is_done ? 1 : 0)) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_DELETE_ATTEMPTS, WEIRI_VALUES(row->number));
    }
    return code;
}

static void note_arrival(struct weiri_tally *tally, const struct weiri_job_facts *facts)
{
    if (facts->state == WEIR_JOB_READY) {
        tally->has_ready = true;
    } else if (facts->state == WEIR_JOB_DELAYED &&
               (tally->delayed_ns == 0 || facts->run_at_ns < tally->delayed_ns)) {
        tally->delayed_ns = facts->run_at_ns;
    } else if (facts->state == WEIR_JOB_RESERVED &&
               (tally->lease_ns == 0 || facts->lease_ns < tally->lease_ns)) {
        tally->lease_ns = facts->lease_ns;
    }
}

static int turn_to(struct weiri_store *store, struct weiri_tally *tally, int64_t tube)
{
    int code = tally->tube == tube ? SQLITE_OK : weiri_tally_flush(store, tally);
    tally->tube = tube;
    return code;
}

/* Whether a run is the job's last one. One that fails and is retried is not: the next one covers a
 * put during it. */
static bool is_last(const struct weiri_row *row, const struct weiri_job_step *step)
{
    return step->event == WEIRI_JOB_DONE || step->event == WEIRI_JOB_BURY ||
           (step->event == WEIRI_JOB_EXPIRE && row->facts.attempts >= step->attempts_max);
}

/* Whether there was a put during the run that an event ends. */
static bool has_put_during(const struct weiri_row *row, enum weiri_job_event event)
{
    return event != WEIRI_JOB_TOUCH && row->facts.state == WEIR_JOB_RESERVED &&
           row->key.again != 0 && row->key.again == row->facts.token;
}

/* What an event becomes after a put during the run. The body is that of the put, so that no run
 * begins before its time: a retry waits for both times, and so does a run after a lost lease. */
static struct weiri_job_step step_with_key(const struct weiri_row *row,
                                           const struct weiri_job_step *asked)
{
    const struct weiri_key *key = &row->key;
    struct weiri_job_step step = *asked;
    if (!has_put_during(row, asked->event)) {
        return step;
    }
    bool is_expired = asked->event == WEIRI_JOB_EXPIRE;
    bool is_back = asked->event == WEIRI_JOB_RELEASE || asked->event == WEIRI_JOB_RETURN;
    step.token = is_expired ? row->facts.token : asked->token;
    if (is_last(row, asked)) {
        step.event = WEIRI_JOB_RENEW;
        step.run_at_ns = key->again_at_ns;
    } else if (is_expired) {
        step.event = WEIRI_JOB_RELEASE;
        step.run_at_ns = key->again_at_ns;
    } else if (is_back && step.run_at_ns < key->again_at_ns) {
        step.run_at_ns = key->again_at_ns;
    }
    return step;
}

/* What follows a step for the job's key and attempts. */
static int finish_step(struct weiri_store *store, const struct weiri_row *row,
                       enum weiri_job_event event, uint32_t attempts, int64_t now_ns)
{
    int code = SQLITE_OK;
    if (event == WEIRI_JOB_RENEW && attempts > 0) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_DELETE_ATTEMPTS, WEIRI_VALUES(row->number));
    }
    bool has_ended = row->facts.state == WEIRI_JOB_GONE || row->facts.state >= WEIR_JOB_BURIED;
    return code == SQLITE_OK && has_ended && row->key.is_there
               ? weiri_key_release(store, row->number, &row->key, now_ns)
               : code;
}

int weiri_row_step(struct weiri_store *store, struct weiri_tally *tally, struct weiri_row *row,
                   const struct weiri_job_step *asked, int64_t now_ns, const char *reason,
                   enum weir_status *ret_status)
{
    enum weir_job_state before = row->facts.state;
    uint32_t attempts = row->facts.attempts;
    bool takes_again = has_put_during(row, asked->event);
    struct weiri_job_step own = step_with_key(row, asked);
    int code = SQLITE_OK;
    const struct weiri_job_step *step = &own;
    if (own.event == WEIRI_JOB_DONE) {
        struct weiri_policy policy;
        code = weiri_policy_find(&store->writer, row->tube, &policy);
        own.is_archived = policy.policy.archive_ns > 0;
    }
    if (code != SQLITE_OK) {
        return code;
    }
    bool is_about_lease = step->event == WEIRI_JOB_RESERVE || step->event == WEIRI_JOB_TOUCH ||
                          step->event == WEIRI_JOB_EXPIRE;
    enum weir_status status =
        weiri_job_apply(&row->facts, step, is_about_lease ? weiri_store_lease_now(store) : now_ns);
    *ret_status = status;
    if (status != WEIR_OK) {
        return SQLITE_OK;
    }
    row->progress = step->event == WEIRI_JOB_RESERVE ? -1 : row->progress;
    bool runs_again = asked->event == WEIRI_JOB_DONE && step->event == WEIRI_JOB_RENEW;
    if (runs_again || (row->facts.state == WEIR_JOB_ARCHIVED && reason == NULL)) {
        reason = ""; /* what it failed of before is no result, nor the next run's reason */
    }
    code = turn_to(store, tally, row->tube);
    if (code == SQLITE_OK) {
        code = row->facts.state == WEIRI_JOB_GONE
                   ? delete (store, row, step->event == WEIRI_JOB_DONE)
                   : save(store, row, step->event == WEIRI_JOB_RESERVE ? now_ns : 0, reason);
    }
    tally->counts[before]--;
    tally->counts[row->facts.state]++;
    tally->done += asked->event == WEIRI_JOB_DONE;
    tally->put += runs_again;
    tally->retried += asked->event == WEIRI_JOB_RELEASE;
    tally->expired += asked->event == WEIRI_JOB_EXPIRE;
    if (step->event != WEIRI_JOB_TOUCH) {
        note_arrival(tally, &row->facts);
    }
    if (code == SQLITE_OK && takes_again) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_TAKE_AGAIN, WEIRI_VALUES(row->number));
    }
    return code == SQLITE_OK ? finish_step(store, row, step->event, attempts, now_ns) : code;
}

int weiri_row_refile(struct weiri_store *store, struct weiri_tally *from, struct weiri_tally *to,
                     struct weiri_row *row, int64_t tube, int64_t now_ns,
                     enum weir_status *ret_status)
{
    int64_t ignored;
    *ret_status = row->facts.state == WEIR_JOB_RESERVED   ? WEIR_EBUSY
                  : row->facts.state == WEIR_JOB_ARCHIVED ? WEIR_ESTATE
                                                          : WEIR_OK;
    if (*ret_status != WEIR_OK || row->tube == tube) {
        return SQLITE_OK;
    }
    int code = weiri_sql_number(&store->writer, WEIRI_SQL_TAKEN_IN_TUBE,
                                WEIRI_VALUES(row->number, tube, now_ns), &ignored);
    if (code != SQLITE_DONE) {
        *ret_status = WEIR_EBUSY;
        return code;
    }
    code = weiri_sql_run(&store->writer, WEIRI_SQL_REFILE, WEIRI_VALUES(row->number, tube));
    if (code == SQLITE_OK) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_REFILE_KEY, WEIRI_VALUES(row->number, tube));
    }
    if (code == SQLITE_OK) {
        code = turn_to(store, from, row->tube);
    }
    if (code == SQLITE_OK) {
        code = turn_to(store, to, tube);
    }
    from->counts[row->facts.state]--;
    to->counts[row->facts.state]++;
    note_arrival(to, &row->facts);
    row->tube = tube;
    return code;
}

/* Rows are read before the first is written, since a statement must not walk an index that changes.
 */
enum {
    ROWS_MAX = 64
};

/* Whether the row's reservation is renewed by its holder, in this process. */
static bool is_kept(struct weiri_store *store, const struct weiri_row *row)
{
    bool is = false;
    weiri_mutex_lock(&store->mutex);
    for (struct weiri_list *link = store->kept.next; link != &store->kept && !is;
         link = link->next) {
        const struct weiri_reservation *reservation =
            WEIRI_CONTAINER(link, struct weiri_reservation, kept);
        is = reservation->number == row->number && reservation->token == row->facts.token;
    }
    weiri_mutex_unlock(&store->mutex);
    return is;
}

/* Ends a reservation after its lease. If its holder is in this process, the reservation is touched
 * instead: the process was suspended, or its threads got no processor. */
static int expire(struct weiri_store *store, struct weiri_tally *tally, struct weiri_row *row,
                  const struct weiri_job_step *step, int64_t now_ns, const char *reason,
                  enum weir_status *ret_status)
{
    if (!is_kept(store, row)) {
        static const struct weiri_run_end no_end = {.outcome = WEIR_RUN_LOST};
        int code = weiri_row_step(store, tally, row, step, now_ns, reason, ret_status);
        if (code == SQLITE_OK && *ret_status == WEIR_OK) {
            code = weiri_attempt_add(store, row->number, &no_end, now_ns);
        }
        if (code == SQLITE_OK && *ret_status == WEIR_OK) {
            code = weiri_policy_note_room(store, tally);
        }
        return code == SQLITE_OK && row->facts.state == WEIR_JOB_BURIED
                   ? weiri_burials_add(store, row->number, &row->facts, WEIR_ELEASELOST, reason)
                   : code;
    }
    const struct weiri_job_step touch = {.event = WEIRI_JOB_TOUCH, .token = row->facts.token};
    return weiri_row_step(store, tally, row, &touch, now_ns, NULL, ret_status);
}

int weiri_rows_step(struct weiri_store *store, struct weiri_tally *tally, enum weiri_sql which,
                    int64_t tube, int64_t until_ns, size_t limit, const struct weiri_job_step *step,
                    int64_t now_ns, const char *reason, size_t *ret_count)
{
    limit = limit < ROWS_MAX ? limit : ROWS_MAX;
    struct weiri_row rows[ROWS_MAX];
    size_t count = 0;
    sqlite3_stmt *statement;
    int code = weiri_sql_start(&store->writer, which, WEIRI_VALUES(tube, until_ns, (int64_t)limit),
                               &statement);
    while (code == SQLITE_ROW && count < ROWS_MAX) {
        code = weiri_row_read(statement, &rows[count]);
        if (code == SQLITE_OK) {
            count++;
            code = sqlite3_step(statement);
        }
    }
    code = weiri_sql_end(statement, code);
    *ret_count = count;
    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        enum weir_status status;
        code = step->event == WEIRI_JOB_EXPIRE
                   ? expire(store, tally, &rows[i], step, now_ns, reason, &status)
                   : weiri_row_step(store, tally, &rows[i], step, now_ns, reason, &status);
        /* The statement selected the row for this event; a damaged index may be wrong. */
        if (code == SQLITE_OK && status != WEIR_OK) {
            code = SQLITE_CORRUPT;
        }
    }
    return code;
}

int weiri_tally_add(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                    const struct weiri_job_facts *facts)
{
    int code = turn_to(store, tally, tube);
    tally->counts[facts->state]++;
    tally->put++;
    note_arrival(tally, facts);
    return code;
}

/* Whether the waiters of the tube must be woken: for a ready job, and for one that may become ready
 * before they wake by themselves. That is a delayed job that is now the first, or one whose
 * reservation may end before their sleep does. */
static int concerns_waiters(struct weiri_store *store, const struct weiri_tally *tally,
                            bool *ret_is_concerned)
{
    *ret_is_concerned =
        tally->has_ready ||
        (tally->lease_ns != 0 &&
         tally->lease_ns < weiri_time_add(weiri_store_lease_now(store), SLEEP_MAX_NS));
    if (*ret_is_concerned || tally->delayed_ns == 0) {
        return SQLITE_OK;
    }
    int64_t first = 0;
    int code = weiri_sql_number(&store->writer, WEIRI_SQL_FIRST_DELAYED, WEIRI_VALUES(tally->tube),
                                &first);
    *ret_is_concerned = code == SQLITE_OK && tally->delayed_ns <= first;
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static bool has_changes(const struct weiri_tally *tally)
{
    bool has = tally->put != 0 || tally->done != 0 || tally->retried != 0 || tally->expired != 0;
    for (int i = WEIR_JOB_DELAYED; i <= WEIR_JOB_ARCHIVED; i++) {
        has = has || tally->counts[i] != 0;
    }
    return has;
}

int weiri_tally_flush(struct weiri_store *store, struct weiri_tally *tally)
{
    bool is_concerned;
    int code = concerns_waiters(store, tally, &is_concerned);
    if (code != SQLITE_OK) {
        return code;
    }
    /* A delayed job that is brought forward changes no count. */
    if (!is_concerned && !has_changes(tally)) {
        *tally = (struct weiri_tally){0};
        return SQLITE_OK;
    }
    sqlite3_stmt *statement;
    code = weiri_sql_start(
        &store->writer, WEIRI_SQL_COUNT,
        WEIRI_VALUES(tally->tube, tally->counts[WEIR_JOB_DELAYED], tally->counts[WEIR_JOB_READY],
                     tally->counts[WEIR_JOB_RESERVED], tally->counts[WEIR_JOB_BURIED], tally->put,
                     tally->done, tally->retried, tally->expired),
        &statement);
    if (code == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        if (name == NULL) {
            code = SQLITE_NOMEM;
        } else {
            if (is_concerned) {
                weiri_write_notify(store, name, false);
            }
            if (sqlite3_column_int64(statement, 1) == 0) {
                weiri_write_notify(store, name, true);
            }
        }
    } else if (code == SQLITE_DONE) {
        code = SQLITE_CORRUPT; /* a job without its tube */
    }
    code = weiri_sql_end(statement, code);
    int64_t archived = tally->counts[WEIR_JOB_ARCHIVED];
    if (code == SQLITE_OK && archived != 0) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_COUNT_ARCHIVED,
                             WEIRI_VALUES(tally->tube, archived));
    }
    *tally = (struct weiri_tally){0};
    return code;
}
