/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/reserve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/sqlite/copy.h"

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

static int read_pick(struct weiri_store *store, const char *tube, sqlite3_stmt *statement,
                     struct pick *ret_pick)
{
    struct pick pick = {.reservation = NULL};
    struct weir_job job;
    int code = weiri_job_read(statement, &pick.row, &job);
    job.tube = tube;
    if (code == SQLITE_OK) {
        code = weiri_job_copy(store, &store->writer, pick.row.number, &job, &pick.reservation);
    }
    if (code == SQLITE_OK && pick.reservation->status != WEIR_OK) {
        weiri_reservation_free(&store->config->allocator, pick.reservation);
        pick.reservation = NULL;
    }
    *ret_pick = pick;
    return code;
}

/* Reads the next jobs in order, at most limit. The caller owns those read, whatever the result. */
static int pick(struct weiri_store *store, const struct weiri_exchange *exchange, int64_t tube,
                uint32_t group_limit, size_t limit, struct pick *picks, size_t *ret_count)
{
    sqlite3_stmt *statement;
    size_t count = 0;
    int code = group_limit > 0
                   ? weiri_sql_start(&store->writer, WEIRI_SQL_PICK_GROUPED,
                                     WEIRI_VALUES(tube, (int64_t)limit, group_limit), &statement)
                   : weiri_sql_start(&store->writer, WEIRI_SQL_PICK,
                                     WEIRI_VALUES(tube, (int64_t)limit), &statement);
    while (code == SQLITE_ROW && count < limit) {
        code = read_pick(store, exchange->tube, statement, &picks[count]);
        if (code == SQLITE_OK) {
            count++;
            code = sqlite3_step(statement);
        }
    }
    *ret_count = count;
    return weiri_sql_end(statement, code);
}

/* Whether a job's group has as many reserved jobs as it may: those of this transaction count too.
 */
static int find_blocked(struct weiri_store *store, uint32_t group_limit, const struct pick *pick,
                        bool *ret_is_blocked)
{
    const char *group = pick->reservation == NULL ? NULL : pick->reservation->job.group;
    int64_t count = 0;
    int code = SQLITE_OK;
    if (group_limit > 0 && group != NULL) {
        code = weiri_sql_number(&store->writer, WEIRI_SQL_COUNT_GROUP,
                                WEIRI_VALUES(pick->row.tube, group), &count);
    }
    *ret_is_blocked = group_limit > 0 && count >= (int64_t)group_limit;
    return code;
}

static void show_facts(struct weiri_reservation *reservation, const struct weiri_job_facts *facts)
{
    reservation->token = facts->token;
    weiri_job_show(&reservation->job, facts);
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
    const struct weir_job job = {.id = id.text,
                                 .tube = store->burials->tube,
                                 .reason = reason,
                                 .progress = -1,
                                 .identity = ""};
    struct weiri_reservation *buried =
        weiri_reservation_new(&store->config->allocator, &job, 0, &body);
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

/* Reserves a picked job, or turns it away; a job whose group is full stays as it is. */
static int handle(struct weiri_store *store, struct weiri_exchange *exchange,
                  struct weiri_tally *tally, struct pick *pick, struct weiri_policy *policy,
                  int64_t now_ns)
{
    const struct weiri_reservation *reservation = pick->reservation;
    bool is_blocked = false;
    int code = find_blocked(store, policy->policy.group_limit, pick, &is_blocked);
    bool is_late = reservation != NULL &&
                   weiri_policy_is_late(policy, &pick->row.facts, reservation->job.reason, now_ns);
    if (code == SQLITE_OK && is_late) {
        return turn_away(store, tally, pick, policy, now_ns);
    }
    if (code == SQLITE_OK && !is_blocked) {
        return take(store, exchange, tally, pick, now_ns);
    }
    weiri_reservation_free(&store->config->allocator, pick->reservation);
    return code;
}

int weiri_reserve(struct weiri_store *store, struct weiri_exchange *exchange,
                  struct weiri_tally *tally, int64_t tube, struct weiri_policy *policy,
                  int64_t now_ns)
{
    int code = SQLITE_OK;
    size_t count = 1;
    /* Each round has a job that is not blocked: a full group is not picked. */
    while (code == SQLITE_OK && count > 0 && exchange->reserved_count < exchange->wanted) {
        struct pick picks[PICK_MAX];
        size_t missing = exchange->wanted - exchange->reserved_count;
        size_t limit = missing < PICK_MAX ? missing : PICK_MAX;
        code = pick(store, exchange, tube, policy->policy.group_limit, limit, picks, &count);
        for (size_t i = 0; i < count; i++) {
            if (code == SQLITE_OK) {
                code = handle(store, exchange, tally, &picks[i], policy, now_ns);
            } else {
                weiri_reservation_free(&store->config->allocator, picks[i].reservation);
            }
        }
    }
    return code;
}
