/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/row.h"

#include "base/time.h"
#include "jobs/sqlite/space.h"
#include "jobs/sqlite/write.h"

struct weiri_now weiri_store_times(const struct weiri_store *store)
{
    return (struct weiri_now){weiri_store_now(store), weiri_store_lease_now(store)};
}

bool weiri_tube_find(struct weiri_connection *connection, const char *name, int64_t *ret_tube)
{
    return weiri_sql_find(connection, WEIRI_SQL_FIND_TUBE, WEIRI_VALUES(name), ret_tube);
}

int64_t weiri_tube_add(struct weiri_store *store, const char *name)
{
    int64_t tube;
    if (weiri_tube_find(&store->writer, name, &tube)) {
        return tube;
    }
    weiri_write_notify(store, WEIRI_CHANNEL_NEW, INT_MAX);
    weiri_sql_run(&store->writer, WEIRI_SQL_ADD_TUBE, WEIRI_VALUES(name));
    return sqlite3_last_insert_rowid(store->writer.db);
}

void weiri_row_read(struct weiri_connection *connection, sqlite3_stmt *statement,
                    struct weiri_job_row *ret_row)
{
#define INTEGER(name) sqlite3_column_int64(statement, WEIRI_COLUMN_##name)
#define IS_THERE(name) (sqlite3_column_type(statement, WEIRI_COLUMN_##name) != SQLITE_NULL)
#define WITHIN(name, least, most)                                                                  \
    weiri_sql_number(connection, statement, WEIRI_COLUMN_##name, least, most)
    bool is_suspect = INTEGER(state) == WEIRI_READY_SUSPECT;
    int64_t state = is_suspect ? WEIR_JOB_READY : WITHIN(state, WEIR_JOB_DELAYED, WEIR_JOB_ENDED);
    *ret_row = (struct weiri_job_row){
        .number = INTEGER(id),
        .tube = INTEGER(tube),
        .facts = {.state = (enum weir_job_state)state,
                  .attempts = (uint32_t)WITHIN(attempts, 0, UINT32_MAX),
                  .run_at_ns = INTEGER(run_at),
                  .ttr_ns = WITHIN(ttr, 1, INT64_MAX),
                  .lease_ns = INTEGER(lease),
                  .token = (uint64_t)WITHIN(token, 0, INT64_MAX),
                  .verdict = (enum weir_verdict)WITHIN(verdict, 0, WEIR_VERDICT_RETRY),
                  .attempts_max = (uint32_t)WITHIN(attempts_max, 0, UINT32_MAX),
                  .lost = (uint32_t)WITHIN(lost, 0, UINT32_MAX)},
        .priority = (int32_t)INTEGER(priority),
        .created_ns = INTEGER(created),
        .started_ns = INTEGER(started),
        .owner = INTEGER(owner),
        .progress = IS_THERE(progress) ? (int)WITHIN(progress, -1, 100) : -1,
        .worker = INTEGER(worker),
        .end = (enum weir_run_outcome)WITHIN(outcome, 0, WEIR_RUN_DROPPED),
        .key = {.is_there = IS_THERE(key),
                .again = (uint64_t)INTEGER(again),
                .again_at_ns = INTEGER(again_at)},
    };
}

bool weiri_row_load(struct weiri_store *store, int64_t number, struct weiri_job_row *ret_row)
{
    struct weiri_connection *writer = &store->writer;
    sqlite3_stmt *statement;
    if (!weiri_sql_first(writer, WEIRI_SQL_LOAD, WEIRI_VALUES(number), &statement)) {
        return false;
    }
    weiri_row_read(writer, statement, ret_row);
    weiri_sql_leave(statement);
    return writer->code == SQLITE_OK;
}

static bool is_apart(const struct weiri_new_body *body)
{
    return body->body.size + body->told.size > WEIRI_BODY_INSIDE;
}

/* The row has a body that is small itself. */
static void add_apart(struct weiri_store *store, int64_t number, const struct weiri_new_body *body)
{
    if (is_apart(body)) {
        weiri_sql_run(&store->writer, WEIRI_SQL_ADD_BODY,
                      WEIRI_VALUES(number, body->body, body->told));
    }
}

void weiri_row_add(struct weiri_store *store, struct weiri_job_row *row, const char *key,
                   const struct weiri_new_body *body, int64_t last)
{
    weiri_sql_run(&store->writer, WEIRI_SQL_ADD_JOB,
                  WEIRI_VALUES(row->tube, (int64_t)row->facts.state, row->priority,
                               row->facts.run_at_ns, row->facts.ttr_ns, row->created_ns,
                               body->checksum, is_apart(body), body->body, body->told, key,
                               last WEIRI_WORDS_OF_ROW));
    row->number = sqlite3_last_insert_rowid(store->writer.db);
    /* A bit that flipped in an id would leave none for others. */
    weiri_sql_fail(&store->writer, row->number >> 62 != 0 ? SQLITE_CORRUPT : SQLITE_OK);
    add_apart(store, row->number, body);
}

void weiri_row_renew_body(struct weiri_store *store, int64_t number,
                          const struct weiri_new_body *body)
{
    weiri_sql_run(&store->writer, WEIRI_SQL_RENEW_BODY,
                  WEIRI_VALUES(number, body->checksum, is_apart(body), body->body, body->told));
    weiri_sql_run(&store->writer, WEIRI_SQL_DELETE_BODY, WEIRI_VALUES(number));
    add_apart(store, number, body);
}

static void save(struct weiri_store *store, const struct weiri_job_row *row,
                 const struct weiri_effects *effects, struct weiri_now now)
{
    const struct weiri_job_facts *facts = &row->facts;
    bool is_suspect = facts->state == WEIR_JOB_READY && weiri_is_suspect(facts);
    int64_t state = is_suspect ? WEIRI_READY_SUSPECT : (int64_t)facts->state;
    weiri_sql_run(&store->writer, WEIRI_SQL_SAVE,
                  WEIRI_VALUES(row->number, state, facts->run_at_ns, facts->attempts,
                               facts->lease_ns, (int64_t)facts->token, row->owner,
                               weiri_text_within(effects->reason, WEIR_REASON_SIZE - 1),
                               row->started_ns, row->progress, facts->verdict, facts->attempts_max,
                               row->worker, facts->lost, effects->writes_put ? now.wall_ns : 0));
    if (effects->writes_put && !effects->runs_again) {
        weiri_sql_run(&store->writer, WEIRI_SQL_RENEW,
                      WEIRI_VALUES(row->number, row->priority, facts->ttr_ns WEIRI_WORDS_OF_ROW));
    }
}

static void turn_to(struct weiri_store *store, struct weiri_tally *tally, int64_t tube)
{
    if (tally->tube != tube) {
        weiri_tally_flush(store, tally);
    }
    tally->tube = tube;
}

/* The earlier of two times; 0: none. */
static int64_t earlier(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static bool may_run(enum weir_job_state state)
{
    return state >= WEIR_JOB_DELAYED && state <= WEIR_JOB_RESERVED;
}

static void add_up(struct weiri_tally *tally, const struct weiri_effects *effects,
                   const struct weiri_job_row *row)
{
    int64_t delayed_ns = earlier(tally->delayed_ns, effects->wakes_at_ns);
    /* The row of a job that goes on after it was done is there once. */
    tally->put += effects->put && effects->done;
    tally->done += effects->put && effects->done;
    tally->failed += effects->failed;
    tally->retried += effects->retried;
    tally->expired += effects->expired;
    tally->burials += effects->to == WEIR_JOB_BURIED && effects->from != WEIR_JOB_BURIED;
    tally->late_buried += effects->is_late && effects->to == WEIR_JOB_BURIED;
    tally->late_dropped += effects->is_late && effects->to == WEIR_JOB_ENDED;
    /* A job that runs again may have left another group, which has room then. */
    tally->ready += effects->wakes + effects->takes_again;
    tally->has_suspect = tally->has_suspect || (effects->wakes && weiri_is_suspect(&row->facts));
    tally->priority = delayed_ns == tally->delayed_ns ? tally->priority : row->priority;
    tally->delayed_ns = delayed_ns;
    tally->lease_ns = earlier(tally->lease_ns, effects->lease_ends_ns);
}

/* Ends a job, or deletes what was kept of it. */
static void end(struct weiri_store *store, const struct weiri_job_row *row,
                const struct weiri_effects *effects, enum weir_run_outcome outcome,
                struct weiri_now now)
{
    struct weiri_tube_record record;
    weiri_tube_read(&store->writer, row->tube, &record);
    bool is_kept = effects->end != 0 && record.policy.keep_ns != WEIR_KEEP_NONE;
    bool keeps_body = is_kept && effects->end == WEIR_RUN_DONE && record.policy.archive != 0;
    weiri_sql_run(&store->writer, WEIRI_SQL_END_JOB,
                  WEIRI_VALUES(row->number, now.wall_ns, outcome, is_kept, keeps_body,
                               weiri_text_within(effects->reason, WEIR_REASON_SIZE - 1)));
    if (!keeps_body) {
        weiri_sql_run(&store->writer, WEIRI_SQL_DELETE_BODY, WEIRI_VALUES(row->number));
    }
}

void weiri_row_write(struct weiri_store *store, struct weiri_tally *tally,
                     const struct weiri_job_row *row, enum weiri_write write,
                     const struct weiri_effects *effects, struct weiri_now now)
{
    bool is_ended = write == WEIRI_DELETE || effects->to == WEIR_JOB_ENDED;
    enum weir_run_outcome outcome = effects->end != 0 ? effects->end : WEIR_RUN_REMOVED;
    const struct weiri_run_end *kept = &effects->kept;
    bool is_saved =
        write == WEIRI_UPDATE && !is_ended && (!effects->runs_again || effects->writes_put);
    if (write == WEIRI_NOTHING) {
        return;
    }
    if (store->is_full && !store->has_trimmed) { /* what follows may need the pages */
        (void)weiri_trim(store, row->tube, now);
    }
    turn_to(store, tally, row->tube);
    add_up(tally, effects, row);
    if (effects->tells_holder) {
        weiri_write_notify(store, WEIRI_CHANNEL_CONTROL, 1);
    }
    if (may_run(effects->from) && !may_run(effects->to)) {
        tally->has_left = true;
        weiri_sql_run(&store->writer, WEIRI_SQL_NOTE_END,
                      WEIRI_VALUES(row->number, is_ended ? outcome : WEIR_RUN_BURIED, now.wall_ns));
    }
    if (is_saved) {
        save(store, row, effects, now);
    }
    if (effects->runs_again) {
        weiri_sql_run(&store->writer, WEIRI_SQL_RUN_AGAIN,
                      WEIRI_VALUES(row->number, (int64_t)row->key.again, row->key.again_at_ns,
                                   effects->writes_put WEIRI_WORDS_OF_KEY));
    }
    if (is_ended) {
        end(store, row, effects, outcome, now);
    }
    if (effects->takes_again) {
        weiri_sql_run(&store->writer, WEIRI_SQL_TAKE_AGAIN, WEIRI_VALUES(row->number));
    }
    if (effects->forgets_attempts) {
        weiri_sql_run(&store->writer, WEIRI_SQL_DELETE_ATTEMPTS, WEIRI_VALUES(row->number));
    }
    if (effects->frees_key) {
        weiri_sql_run(&store->writer, WEIRI_SQL_FREE_KEY, WEIRI_VALUES(row->number));
    }
    /* Not on a full disk, since settlements must need no space. */
    if (kept->outcome != 0 && !store->is_full && weiri_space_has_reserve(store)) {
        weiri_sql_run(&store->writer, WEIRI_SQL_ADD_ATTEMPT,
                      WEIRI_VALUES(row->number, WEIR_ATTEMPTS_MAX - 1, kept->outcome, now.wall_ns,
                                   kept->status, kept->exit_status, kept->signal, kept->tail));
    }
    if (effects->burial != WEIR_OK) {
        weiri_burials_add(store, row->number, &row->facts, effects->burial, effects->reason);
    }
    if (is_ended && !store->is_full && weiri_end_trims(row->number)) {
        (void)weiri_trim(store, row->tube, now);
    }
}

enum weir_status weiri_row_change(struct weiri_store *store, struct weiri_tally *tally,
                                  struct weiri_job_row *row, const struct weiri_job_step *step,
                                  struct weiri_now now, const char *reason)
{
    struct weiri_effects effects;
    enum weiri_write write = weiri_decide_change(row, step, reason, now, &effects);
    weiri_row_write(store, tally, row, write, &effects, now);
    return effects.status;
}

enum weir_status weiri_row_refile(struct weiri_store *store, struct weiri_tally *from,
                                  struct weiri_tally *to, struct weiri_job_row *row, int64_t tube,
                                  struct weiri_now now)
{
    int64_t old = row->tube;
    int64_t ignored;
    struct weiri_effects effects;
    bool is_taken = weiri_sql_find(&store->writer, WEIRI_SQL_TAKEN_IN_TUBE,
                                   WEIRI_VALUES(row->number, tube, now.wall_ns), &ignored);
    if (weiri_decide_refile(row, tube, is_taken, &effects) == WEIRI_NOTHING) {
        return effects.status;
    }
    weiri_sql_run(&store->writer, WEIRI_SQL_REFILE_THROTTLE, WEIRI_VALUES(row->number, tube));
    weiri_sql_run(&store->writer, WEIRI_SQL_REFILE, WEIRI_VALUES(row->number, tube));
    turn_to(store, from, old);
    turn_to(store, to, tube);
    from->put++;
    from->has_left = from->has_left || may_run(effects.from);
    to->put--;
    add_up(to, &effects, row);
    return effects.status;
}

bool weiri_row_is_kept(struct weiri_store *store, const struct weiri_job_row *row)
{
    bool is = false;
    weiri_mutex_lock(&store->mutex);
    for (struct weiri_list *link = store->kept.next; link != &store->kept && !is;
         link = link->next) {
        const struct weiri_reservation *reservation =
            WEIRI_CONTAINER(link, struct weiri_reservation, kept);
        is = reservation->number == row->number && reservation->job.fence == row->facts.token;
    }
    weiri_mutex_unlock(&store->mutex);
    return is;
}

/* How many waiters of the tube must be woken: one for each ready job, and all for one that may
 * become ready before they wake by themselves. That is a delayed job with none before it of its
 * priority, which they would wake for, or one whose reservation may end before their sleep does. */
static int count_wakes(struct weiri_store *store, const struct weiri_tally *tally)
{
    int64_t ignored;
    bool concerns_all =
        tally->has_suspect ||
        (tally->lease_ns != 0 &&
         tally->lease_ns < weiri_time_add(weiri_store_lease_now(store), WEIRI_WAIT_MAX_NS)) ||
        (tally->delayed_ns != 0 &&
         !weiri_sql_find(
             &store->writer, WEIRI_SQL_ONE_BEFORE,
             WEIRI_VALUES(tally->tube, tally->priority, weiri_store_now(store), tally->delayed_ns),
             &ignored));
    return concerns_all ? INT_MAX : tally->ready;
}

void weiri_tally_flush(struct weiri_store *store, struct weiri_tally *tally)
{
    int64_t ignored;
    if (tally->put != 0 || tally->done != 0 || tally->failed != 0 || tally->burials != 0 ||
        tally->late_dropped != 0) { /* others come with these */
        weiri_sql_run(&store->writer, WEIRI_SQL_ADD_TOTALS,
                      WEIRI_VALUES(tally->tube, tally->put, tally->done, tally->failed,
                                   tally->retried, tally->expired, tally->burials,
                                   tally->late_buried, tally->late_dropped));
    }
    int wakes = count_wakes(store, tally);
    if (wakes > 0) {
        weiri_write_notify(store, weiri_store_channel(tally->tube), wakes);
    }
    if (tally->has_left &&
        !weiri_sql_find(&store->writer, WEIRI_SQL_HAS_JOBS, WEIRI_VALUES(tally->tube), &ignored)) {
        weiri_write_notify(store, WEIRI_CHANNEL_EMPTIED, INT_MAX);
    }
    *tally = (struct weiri_tally){0};
}
