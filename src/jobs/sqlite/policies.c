/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "jobs/sqlite/read.h"
#include "jobs/sqlite/write.h"

enum {
    LUMP = 256 /* rows that leave in one transaction */
};

void weiri_tube_read(struct weiri_connection *connection, int64_t tube,
                     struct weiri_tube_record *ret_record)
{
    *ret_record = (struct weiri_tube_record){.last_ns = 0};
    sqlite3_stmt *statement;
    if (!weiri_sql_first(connection, WEIRI_SQL_TUBE_RECORD, WEIRI_VALUES(tube), &statement)) {
        weiri_sql_fail(connection, SQLITE_CORRUPT); /* a job without its tube */
        return;
    }
#define WITHIN(column, least, most) weiri_sql_number(connection, statement, column, least, most)
    ret_record->paused_until_ns = WITHIN(0, 0, INT64_MAX);
    ret_record->policy =
        (struct weir_tube_policy){.keep_ns = WITHIN(1, WEIR_KEEP_NONE, INT64_MAX),
                                  .keep_count = (uint64_t)WITHIN(2, 0, INT64_MAX),
                                  .late_ns = WITHIN(3, 0, INT64_MAX),
                                  .late = (uint32_t)WITHIN(4, 0, WEIR_LATE_DROP),
                                  .group_limit = (uint32_t)WITHIN(5, 0, UINT32_MAX),
                                  .archive = (uint32_t)WITHIN(6, 0, 1)};
    weiri_sql_leave(statement);
}

bool weiri_trim(struct weiri_store *store, int64_t tube, struct weiri_now now)
{
    struct weiri_connection *writer = &store->writer;
    struct weiri_tube_record record;
    weiri_tube_read(writer, tube, &record);
    struct weir_tube_policy *policy = &record.policy;
    /* What nobody asked for to be kept is what a full disk has to give. */
    bool is_given = store->is_full && policy->keep_ns == 0;
    bool is_kept = policy->keep_ns != WEIR_KEEP_NONE;
    int64_t counts_ns = is_kept ? now.wall_ns : INT64_MAX; /* else no put_id does */
    int64_t kept_ns = is_given ? INT64_MAX : weiri_keep_until(policy, now.wall_ns);
    static const enum weiri_sql lump[] = {WEIRI_SQL_ADD_LUMP, WEIRI_SQL_RAISE_FLOOR,
                                          WEIRI_SQL_DELETE_LUMP_BODIES,
                                          WEIRI_SQL_DELETE_LUMP_ATTEMPTS, WEIRI_SQL_DELETE_LUMP};
    /* On a full disk what changes must fit in the reserve. */
    int64_t most = store->promote_max < LUMP ? (int64_t)store->promote_max : LUMP;
    int64_t ignored;
    bool is_wrong = weiri_sql_find(writer, WEIRI_SQL_BAD_LUMP, WEIRI_VALUES(most, tube), &ignored);
    weiri_sql_fail(writer, is_wrong ? SQLITE_CORRUPT : SQLITE_OK);
    weiri_sql_run(writer, WEIRI_SQL_END_KEPT,
                  WEIRI_VALUES(tube, kept_ns, most, counts_ns, (int64_t)policy->keep_count));
    /* Tubes where no job ends any more: what they keep no longer is found row by row. */
    weiri_sql_run(writer, WEIRI_SQL_END_PASSED, WEIRI_VALUES(store->passed, now.wall_ns, most));
    weiri_sql_find(writer, WEIRI_SQL_END_OF_ROWS, WEIRI_VALUES(store->passed, most),
                   &store->passed);
    for (size_t i = 0; i < sizeof(lump) / sizeof(lump[0]); i++) {
        weiri_sql_run(writer, lump[i], WEIRI_VALUES(most));
    }
    store->has_trimmed = true;
    return sqlite3_changes(writer->db) == most;
}

void weiri_policy_edit(struct weiri_store *store, struct weiri_edit_request *request)
{
    struct weiri_tube_record record = {.last_ns = 0};
    struct weir_tube_policy *policy = &record.policy;
    const char *name = request->edit->name;
    int64_t tube;
    if (weiri_tube_find(&store->writer, name, &tube)) {
        weiri_tube_read(&store->writer, tube, &record);
    }
    if (!request->is_again) {
        request->status = weiri_policy_merge(policy, request->edit->policy, &request->error);
    }
    if (request->status != WEIR_OK) {
        return;
    }
    tube = weiri_tube_add(store, name);
    /* Consumers that found full groups look again. */
    weiri_write_notify(store, weiri_store_channel(tube), INT_MAX);
    weiri_sql_run(
        &store->writer, WEIRI_SQL_SET_POLICY,
        WEIRI_VALUES(tube, policy->keep_ns,
                     policy->keep_count > INT64_MAX ? INT64_MAX : (int64_t)policy->keep_count,
                     policy->late_ns, policy->late, policy->group_limit, policy->archive != 0));
    request->has_more = weiri_trim(store, tube, weiri_store_times(store));
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
    sqlite3_stmt *statement;
    look->is_known = weiri_sql_first(reading->reader, WEIRI_SQL_POLICY_COUNTS,
                                     WEIRI_VALUES(look->tube), &statement);
    if (!look->is_known) {
        return;
    }
    look->counts =
        (struct weir_tube_policy_counts){.ended = (uint64_t)sqlite3_column_int64(statement, 0),
                                         .buried = (uint64_t)sqlite3_column_int64(statement, 1),
                                         .dropped = (uint64_t)sqlite3_column_int64(statement, 2)};
    int64_t tube = sqlite3_column_int64(statement, 3);
    uint64_t share = (uint64_t)sqlite3_column_int64(statement, 4);
    weiri_sql_leave(statement);
    weiri_tube_read(reading->reader, tube, &look->record);
    struct weir_tube_policy *policy = &look->record.policy;
    policy->keep_ns = policy->keep_ns == 0 ? WEIRI_KEEP_DEFAULT : policy->keep_ns;
    policy->keep_count = policy->keep_count == 0 ? share : policy->keep_count;
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
