/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/reserve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/sqlite/body.h"

/* Jobs read at a time. */
enum {
    PICK_MAX = 64
};

const char weiri_damage_reason[] = "its body is damaged: the checksum does not match";

/* A picked job and the reservation made for it; NULL: its body is damaged. */
struct pick {
    struct weiri_row row;
    struct weiri_reservation *reservation;
};

/* Copies a body. SQLITE_OK with a NULL reservation: the body is missing or damaged. */
static int read_body(struct weiri_store *store, const char *tube, const char *reason,
                     int64_t number, struct weiri_reservation **ret_reservation)
{
    struct weiri_stored_body stored;
    int code = weiri_stored_body_read(&store->writer, number, &stored);
    *ret_reservation = NULL;
    if (code == SQLITE_ROW && stored.is_sound) {
        void *body;
        struct weir_job_id id;
        weiri_number_format(number, &id);
        struct weiri_reservation *reservation = weiri_reservation_new(
            &store->config->allocator, id.text, tube, stored.size, reason, stored.headers, &body);
        code = reservation == NULL ? SQLITE_NOMEM : code;
        if (reservation != NULL) {
            reservation->number = number;
        }
        if (reservation != NULL && stored.bytes != NULL) {
            memcpy(body, stored.bytes, stored.size);
        }
        *ret_reservation = reservation;
    }
    return weiri_sql_end(stored.statement, code);
}

static int read_pick(struct weiri_store *store, const char *tube, sqlite3_stmt *statement,
                     struct pick *ret_pick)
{
    struct pick pick = {.reservation = NULL};
    int code = weiri_row_read(statement, &pick.row);
    const char *reason = (const char *)sqlite3_column_text(statement, 10);
    if (code == SQLITE_OK && reason == NULL) {
        code = SQLITE_NOMEM;
    }
    if (code == SQLITE_OK) {
        code = read_body(store, tube, reason, pick.row.number, &pick.reservation);
    }
    if (code == SQLITE_OK && pick.reservation != NULL) {
        pick.reservation->job.priority = sqlite3_column_int(statement, 8);
        pick.reservation->job.created_ns = sqlite3_column_int64(statement, 9);
    }
    *ret_pick = pick;
    return code;
}

/* Reads the next jobs in order, at most limit. The caller owns those read, whatever the result. */
static int pick(struct weiri_store *store, const char *tube_name, int64_t tube, size_t limit,
                struct pick *picks, size_t *ret_count)
{
    const int64_t values[] = {tube, (int64_t)limit};
    sqlite3_stmt *statement;
    size_t count = 0;
    int code = weiri_sql_start(&store->writer, WEIRI_SQL_PICK, values, 2, &statement);
    while (code == SQLITE_ROW && count < limit) {
        code = read_pick(store, tube_name, statement, &picks[count]);
        if (code == SQLITE_OK) {
            count++;
            code = sqlite3_step(statement);
        }
    }
    *ret_count = count;
    return weiri_sql_end(statement, code);
}

static void show_facts(struct weiri_reservation *reservation, const struct weiri_job_facts *facts)
{
    reservation->token = facts->token;
    reservation->job.fence = facts->token;
    reservation->job.run_at_ns = facts->run_at_ns;
    reservation->job.ttr_ns = facts->ttr_ns;
    reservation->job.attempts = facts->attempts;
    reservation->job.state = facts->state;
}

static void keep(struct weiri_store *store, struct weiri_reservation *reservation)
{
    weiri_mutex_lock(&store->mutex);
    weiri_list_insert_before(&store->kept, &reservation->kept);
    weiri_mutex_unlock(&store->mutex);
}

void weiri_store_let_go(void *arg, struct weiri_reservation *reservation)
{
    struct weiri_store *store = arg;
    weiri_mutex_lock(&store->mutex);
    weiri_list_remove(&reservation->kept);
    weiri_mutex_unlock(&store->mutex);
}

int weiri_burials_add(struct weiri_store *store, int64_t number,
                      const struct weiri_job_facts *facts, enum weir_status status,
                      const char *reason)
{
    if (store->burials == NULL) {
        return SQLITE_OK;
    }
    struct weir_job_id id;
    void *body;
    weiri_number_format(number, &id);
    struct weiri_reservation *buried = weiri_reservation_new(
        &store->config->allocator, id.text, store->burials->tube, 0, reason, NULL, &body);
    if (buried == NULL) {
        return SQLITE_NOMEM;
    }
    show_facts(buried, facts);
    buried->number = number;
    buried->status = status;
    weiri_list_insert_before(&store->burials->list, &buried->link);
    return SQLITE_OK;
}

/* Buries or deletes a job that is late. */
static int turn_away(struct weiri_store *store, struct weiri_tally *tally, struct pick *pick,
                     struct weiri_policy *policy, int64_t now_ns)
{
    bool is_dropped = policy->policy.late == WEIR_LATE_DROP;
    const struct weiri_job_step step = {.event =
                                            is_dropped ? WEIRI_JOB_REMOVE : WEIRI_JOB_SET_ASIDE};
    char reason[WEIR_REASON_SIZE];
    (void)snprintf(reason, sizeof(reason),
                   "late by %" PRId64 " s: the limit of its tube is %" PRId64 " s",
                   weiri_time_sub(now_ns, pick->row.facts.run_at_ns) / WEIR_SECONDS(1),
                   policy->policy.late_ns / WEIR_SECONDS(1));
    enum weir_status status;
    weiri_reservation_free(&store->config->allocator, pick->reservation);
    int code = weiri_row_step(store, tally, &pick->row, &step, now_ns, reason, &status);
    if (code == SQLITE_OK && status != WEIR_OK) {
        code = SQLITE_CORRUPT;
    }
    policy->counts.dropped += is_dropped;
    policy->counts.buried += !is_dropped;
    policy->is_changed = true;
    return code == SQLITE_OK && !is_dropped
               ? weiri_burials_add(store, pick->row.number, &pick->row.facts, WEIR_EPAST, reason)
               : code;
}

/* Reserves a job, or buries it where its body is damaged. */
static int take(struct weiri_store *store, struct weiri_exchange *exchange,
                struct weiri_tally *tally, struct pick *pick, int64_t now_ns)
{
    struct weiri_reservation *reservation = pick->reservation;
    const struct weiri_job_step step = {.event = reservation == NULL ? WEIRI_JOB_DAMAGE
                                                                     : WEIRI_JOB_RESERVE};
    enum weir_status status;
    int code = weiri_row_step(store, tally, &pick->row, &step, now_ns,
                              reservation == NULL ? weiri_damage_reason : NULL, &status);
    if (code == SQLITE_OK && status != WEIR_OK) {
        code = SQLITE_CORRUPT;
    }
    if (code == SQLITE_OK && reservation == NULL) {
        code = weiri_burials_add(store, pick->row.number, &pick->row.facts, WEIR_ECORRUPT,
                                 weiri_damage_reason);
    }
    if (reservation != NULL) {
        show_facts(reservation, &pick->row.facts);
        if (exchange->is_keeping) {
            keep(store, reservation);
        }
        weiri_list_insert_before(&exchange->reserved, &reservation->link);
        exchange->reserved_count++;
    }
    return code;
}

int weiri_reserve(struct weiri_store *store, struct weiri_exchange *exchange,
                  struct weiri_tally *tally, int64_t tube, struct weiri_policy *policy,
                  int64_t now_ns)
{
    int code = SQLITE_OK;
    size_t count = 1;
    while (code == SQLITE_OK && count > 0 && !policy->is_held &&
           exchange->reserved_count < exchange->wanted) {
        struct pick picks[PICK_MAX];
        size_t missing = exchange->wanted - exchange->reserved_count;
        size_t limit = missing < PICK_MAX ? missing : PICK_MAX;
        code = pick(store, exchange->tube, tube, limit, picks, &count);
        for (size_t i = 0; i < count; i++) {
            const struct weiri_reservation *reservation = picks[i].reservation;
            bool is_late =
                reservation != NULL &&
                weiri_policy_is_late(policy, &picks[i].row.facts, reservation->job.reason, now_ns);
            if (code == SQLITE_OK && !is_late && !policy->is_held) {
                weiri_policy_ask(policy, &picks[i].row.facts, now_ns);
            }
            if (code != SQLITE_OK || policy->is_held) {
                weiri_reservation_free(&store->config->allocator, picks[i].reservation);
            } else if (is_late) {
                code = turn_away(store, tally, &picks[i], policy, now_ns);
            } else {
                code = take(store, exchange, tally, &picks[i], now_ns);
            }
        }
    }
    return code;
}
