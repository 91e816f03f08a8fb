/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/exchange.h"

#include "base/error.h"
#include "jobs/sqlite/read.h"
#include "jobs/sqlite/write.h"

enum {
    TRIM_JOBS = 100 /* in a transaction of weir_broker_set_policy() */
};

void weiri_tube_read(struct weiri_connection *connection, int64_t tube,
                     struct weiri_tube_record *ret_record)
{
    *ret_record = (struct weiri_tube_record){.last_ns = 0};
    sqlite3_stmt *statement;
    int64_t numbers[7];
    bool is_sound = true;
    if (!weiri_sql_first(connection, WEIRI_SQL_TUBE_RECORD, WEIRI_VALUES(tube), &statement)) {
        weiri_sql_fail(connection, SQLITE_CORRUPT); /* a job without its tube */
        return;
    }
    for (int i = 0; i < 7; i++) {
        numbers[i] = sqlite3_column_int64(statement, i);
        is_sound = is_sound && numbers[i] >= 0;
    }
    weiri_sql_leave(statement);
    if (!is_sound || numbers[5] > WEIR_LATE_DROP || numbers[6] > UINT32_MAX) {
        weiri_sql_fail(connection, SQLITE_CORRUPT);
        return;
    }
    *ret_record = (struct weiri_tube_record){.last_ns = numbers[0],
                                             .paused_until_ns = numbers[1],
                                             .policy = {.archive_ns = numbers[2],
                                                        .archive_count = (uint64_t)numbers[3],
                                                        .late_ns = numbers[4],
                                                        .late = (uint32_t)numbers[5],
                                                        .group_limit = (uint32_t)numbers[6]}};
}

size_t weiri_policy_trim(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                         const struct weir_tube_policy *policy, size_t limit, struct weiri_now now)
{
    const struct weiri_job_step remove = {.event = WEIRI_JOB_REMOVE};
    int64_t ended_ns = weiri_archive_until(policy, now.wall_ns);
    size_t removed = 0;
    if (policy->archive_count > 0) {
        removed = weiri_rows_change(store, tally, WEIRI_SQL_ARCHIVED_BEHIND, tube,
                                    (int64_t)policy->archive_count, limit, &remove, now, NULL);
    }
    if (removed < limit) {
        removed += weiri_rows_change(store, tally, WEIRI_SQL_ARCHIVED_UNTIL, tube, ended_ns,
                                     limit - removed, &remove, now, NULL);
    }
    return removed;
}

/* Makes the tube, unless the change is refused. */
static void merge(struct weiri_store *store, struct weiri_edit_request *request)
{
    struct weiri_tube_record record = {.last_ns = 0};
    struct weir_tube_policy *policy = &record.policy;
    const char *name = request->edit->name;
    int64_t tube;
    if (weiri_tube_find(&store->writer, name, &tube)) {
        weiri_tube_read(&store->writer, tube, &record);
    }
    request->status = weiri_policy_merge(policy, request->edit->policy, &request->error);
    if (request->status != WEIR_OK) {
        return;
    }
    /* Consumers that found full groups look again. */
    weiri_write_notify(store, name, false);
    weiri_sql_run(
        &store->writer, WEIRI_SQL_SET_POLICY,
        WEIRI_VALUES(weiri_tube_add(store, name), policy->archive_ns,
                     policy->archive_count > INT64_MAX ? INT64_MAX : (int64_t)policy->archive_count,
                     policy->late_ns, policy->late, policy->group_limit));
}

void weiri_policy_edit(struct weiri_store *store, struct weiri_edit_request *request)
{
    struct weiri_tally tally = {0};
    struct weiri_tube_record record;
    int64_t tube;
    if (!request->is_again) {
        merge(store, request);
    }
    if (request->status == WEIR_OK && weiri_tube_find(&store->writer, request->edit->name, &tube)) {
        weiri_tube_read(&store->writer, tube, &record);
        request->trimmed = weiri_policy_trim(store, &tally, tube, &record.policy, TRIM_JOBS,
                                             weiri_store_times(store));
    }
    weiri_tally_flush(store, &tally);
}

/* The policy of a tube. */
struct look {
    const char *tube;
    bool is_known;
    struct weiri_tube_record record;
    struct weir_tube_policy_counts counts;
};

static void read_policy(struct weiri_reading *reading, void *arg)
{
    struct look *look = arg;
    struct weiri_connection *reader = reading->reader;
    sqlite3_stmt *statement;
    int64_t tube;
    look->is_known = weiri_tube_find(reader, look->tube, &tube);
    if (!look->is_known) {
        return;
    }
    weiri_tube_read(reader, tube, &look->record);
    if (weiri_sql_first(reader, WEIRI_SQL_POLICY_COUNTS, WEIRI_VALUES(tube), &statement)) {
        look->counts = (struct weir_tube_policy_counts){
            .archived = (uint64_t)sqlite3_column_int64(statement, 0),
            .buried = (uint64_t)sqlite3_column_int64(statement, 1),
            .dropped = (uint64_t)sqlite3_column_int64(statement, 2)};
        weiri_sql_leave(statement);
    }
}

enum weir_status weiri_store_policy(void *arg, const char *tube,
                                    struct weir_tube_policy *ret_policy,
                                    struct weir_tube_policy_counts *ret_counts,
                                    struct weir_error *ret_error)
{
    struct look look = {.tube = tube};
    enum weir_status status = weiri_read(arg, read_policy, &look, ret_error);
    if (status == WEIR_OK && !look.is_known) {
        return weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no tube %.200s", tube);
    }
    if (status == WEIR_OK) {
        *ret_policy = look.record.policy;
        *ret_counts = look.counts;
    }
    return status;
}
