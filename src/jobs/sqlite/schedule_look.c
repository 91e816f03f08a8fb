/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Schedules as they are. Each is copied inside a transaction of its own, and told after it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jobs/sqlite/body.h"
#include "jobs/sqlite/read.h"

struct copy {
    char from[WEIR_TUBE_SIZE_MAX + 2]; /* it is the first one that is not before this name */
    bool is_there;
    struct weiri_schedule_row row;
    unsigned char *body; /* of body_size bytes, at least one */
};

void weiri_schedule_read(struct weiri_connection *connection, sqlite3_stmt *statement,
                         struct weiri_schedule_row *ret_row)
{
#define INTEGER(column) sqlite3_column_int64(statement, column)
#define WITHIN(column, least, most) weiri_sql_number(connection, statement, column, least, most)
#define COPY(column, name)                                                                         \
    weiri_sql_copy(connection, statement, column, ret_row->name, sizeof(ret_row->name))
    COPY(4, name);
    COPY(5, tube_name);
    COPY(6, cron);
    COPY(7, zone);
    COPY(8, problem);
    ret_row->number = INTEGER(0);
    ret_row->tube = INTEGER(1);
    ret_row->job = INTEGER(2);
    ret_row->first_at_ns = INTEGER(3);
    ret_row->last.text[0] = '\0';
    if (ret_row->job != 0) {
        weiri_number_format(ret_row->job, &ret_row->last);
    }
    bool has_rate = ret_row->cron[0] == '\0';
    ret_row->schedule = (struct weir_job_schedule){
        .name = ret_row->name,
        .tube = ret_row->tube_name,
        .cron = ret_row->cron,
        .zone = ret_row->zone,
        .problem = ret_row->problem,
        .last_id = ret_row->last.text,
        .priority = (int32_t)INTEGER(9),
        .ttr_ns = INTEGER(10),
        .missed = (enum weir_missed)WITHIN(11, 0, WEIR_MISSED_ALL),
        .tolerance_ns = INTEGER(12),
        .catch_up_max = (uint32_t)WITHIN(13, 1, WEIR_SCHEDULE_CATCH_UP_LIMIT),
        .flags = (uint32_t)INTEGER(14),
        .interval_ns = WITHIN(15, has_rate, has_rate ? INT64_MAX : 0),
        .next_ns = INTEGER(16),
        .last_ns = INTEGER(17),
        .last_outcome = (enum weir_run_outcome)WITHIN(18, 0, WEIR_RUN_DROPPED),
        .last_ended_ns = INTEGER(19),
        .fired = (uint64_t)INTEGER(20),
        .skipped = (uint64_t)INTEGER(21),
        .is_paused = INTEGER(22) != 0,
    };
}

static void read_body(struct weiri_reading *reading, sqlite3_stmt *statement, struct copy *copy)
{
    struct weir_job_schedule *schedule = &copy->row.schedule;
    struct weiri_value body = weiri_sql_blob(reading->reader, statement, 24);
    uint64_t checksum = (uint64_t)sqlite3_column_int64(statement, 23);
    bool is_sound = weiri_checksum(body.bytes, body.size) == checksum;
    weiri_sql_fail(reading->reader, is_sound ? SQLITE_OK : SQLITE_CORRUPT);
    schedule->body_size = body.size;
    copy->body = weiri_alloc(&reading->store->config->allocator, body.size + 1);
    weiri_sql_fail(reading->reader, copy->body == NULL ? SQLITE_NOMEM : SQLITE_OK);
    if (copy->body != NULL) {
        memcpy(copy->body, body.bytes, body.size);
    }
    schedule->body = copy->body;
}

/* Copies the first schedule whose name is not before from. */
static void read_first(struct weiri_reading *reading, void *arg)
{
    struct weiri_connection *reader = reading->reader;
    struct copy *copy = arg;
    sqlite3_stmt *statement;
    copy->is_there =
        weiri_sql_first(reader, WEIRI_SQL_SHOW_SCHEDULE, WEIRI_VALUES(copy->from), &statement);
    if (copy->is_there) {
        weiri_schedule_read(reader, statement, &copy->row);
        read_body(reading, statement, copy);
        weiri_sql_leave(statement);
    }
}

enum weir_status weiri_store_schedules(void *arg, const char *name, weir_job_schedule_fn *fn,
                                       void *fn_arg, struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    const struct weir_allocator *memory = &store->config->allocator;
    struct copy *copy = weiri_alloc_zero(memory, 1, sizeof(*copy));
    if (copy == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    (void)snprintf(copy->from, sizeof(copy->from), "%s", name == NULL ? "" : name);
    enum weir_status status;
    bool is_over = false;
    while (!is_over) {
        status = weiri_read(store, read_first, copy, ret_error);
        bool is_found = status == WEIR_OK && copy->is_there &&
                        (name == NULL || strcmp(name, copy->row.name) == 0);
        if (status == WEIR_OK && name != NULL && !is_found) {
            status = weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no schedule %.200s", name);
        }
        is_over = !is_found || fn(&copy->row.schedule, fn_arg) != 0 || name != NULL;
        /* No name has a character that is before those of names, so the next one is at or behind
         * the last one with that character. */
        (void)snprintf(copy->from, sizeof(copy->from), "%s!", copy->row.name);
        weiri_release(memory, copy->body, copy->row.schedule.body_size + 1);
        copy->body = NULL;
    }
    weiri_release(memory, copy, sizeof(*copy));
    return status;
}
