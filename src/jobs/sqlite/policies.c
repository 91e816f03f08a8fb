/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/exchange.h"

#include "base/error.h"
#include "jobs/sqlite/read.h"
#include "jobs/sqlite/write.h"

enum {
    TRIM_JOBS = 100 /* in a transaction of weir_broker_set_policy() */
};

void weiri_policy_find(struct weiri_connection *connection, int64_t tube,
                       struct weiri_policy *ret_policy)
{
    struct weir_tube_policy *policy = &ret_policy->record.policy;
    *ret_policy = (struct weiri_policy){.is_changed = false};
    sqlite3_stmt *statement;
    int64_t numbers[8];
    bool is_sound = true;
    if (!weiri_sql_first(connection, WEIRI_SQL_POLICY, WEIRI_VALUES(tube), &statement)) {
        return;
    }
    for (int i = 0; i < 8; i++) {
        numbers[i] = sqlite3_column_int64(statement, i);
        is_sound = is_sound && numbers[i] >= 0;
    }
    weiri_sql_leave(statement);
    if (!is_sound || numbers[3] > WEIR_LATE_DROP || numbers[4] > UINT32_MAX) {
        weiri_sql_fail(connection, SQLITE_CORRUPT);
        return;
    }
    policy->archive_ns = numbers[0];
    policy->archive_count = (uint64_t)numbers[1];
    policy->late_ns = numbers[2];
    policy->late = (uint32_t)numbers[3];
    policy->group_limit = (uint32_t)numbers[4];
    ret_policy->counts = (struct weir_tube_policy_counts){
        (uint64_t)numbers[5], (uint64_t)numbers[6], (uint64_t)numbers[7]};
}

size_t weiri_policy_trim(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                         size_t limit, struct weiri_now now)
{
    struct weiri_policy policy;
    const struct weiri_job_step remove = {.event = WEIRI_JOB_REMOVE};
    /* The count of archived jobs is that of the row and of the tally. */
    weiri_tally_flush(store, tally);
    weiri_policy_find(&store->writer, tube, &policy);
    int64_t ended_ns;
    uint64_t surplus = weiri_archive_surplus(&policy.record.policy, policy.counts.archived,
                                             now.wall_ns, &ended_ns);
    size_t removed = 0;
    surplus = surplus < limit ? surplus : limit;
    if (surplus > 0) {
        removed = weiri_rows_change(store, tally, WEIRI_SQL_OLDEST_ARCHIVED, tube, INT64_MAX,
                                    surplus, &remove, now, NULL);
    }
    if (removed < limit) {
        removed += weiri_rows_change(store, tally, WEIRI_SQL_OLDEST_ARCHIVED, tube, ended_ns,
                                     limit - removed, &remove, now, NULL);
    }
    return removed;
}

/* ret_tube: the tube, which is there then, unless the change was refused. */
static void merge(struct weiri_store *store, struct weiri_edit_request *request, int64_t *ret_tube)
{
    struct weiri_policy found = {.is_changed = false};
    struct weir_tube_policy *policy = &found.record.policy;
    const char *name = request->edit->name;
    weiri_tube_find(&store->writer, name, ret_tube);
    weiri_policy_find(&store->writer, *ret_tube, &found);
    request->status = weiri_policy_merge(policy, request->edit->policy, &request->error);
    if (request->status != WEIR_OK) {
        return;
    }
    /* Consumers that found full groups look again. */
    weiri_write_notify(store, name, false);
    *ret_tube = weiri_tube_add(store, name);
    weiri_sql_run(
        &store->writer, WEIRI_SQL_SET_POLICY,
        WEIRI_VALUES(*ret_tube, policy->archive_ns,
                     policy->archive_count > INT64_MAX ? INT64_MAX : (int64_t)policy->archive_count,
                     policy->late_ns, policy->late, policy->group_limit));
}

void weiri_policy_edit(struct weiri_store *store, struct weiri_edit_request *request)
{
    struct weiri_tally tally = {0};
    int64_t tube = 0;
    if (request->is_again) {
        weiri_tube_find(&store->writer, request->edit->name, &tube);
    } else {
        merge(store, request, &tube);
    }
    if (request->status == WEIR_OK) {
        request->trimmed =
            weiri_policy_trim(store, &tally, tube, TRIM_JOBS, weiri_store_times(store));
    }
    weiri_tally_flush(store, &tally);
}

/* The policy of a tube. */
struct look {
    const char *tube;
    bool is_known;
    struct weiri_policy policy;
};

static void read_policy(struct weiri_reading *reading, void *arg)
{
    struct look *look = arg;
    int64_t number;
    look->is_known = weiri_tube_find(reading->reader, look->tube, &number);
    weiri_policy_find(reading->reader, number, &look->policy);
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
        *ret_policy = look.policy.record.policy;
        *ret_counts = look.policy.counts;
    }
    return status;
}
