/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Schedules as they are. Each is copied inside a transaction of its own, and told after it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jobs/sqlite/body.h"
#include "jobs/sqlite/read.h"

/* A schedule with its texts. */
struct copy {
    char from[WEIR_TUBE_SIZE_MAX + 2]; /* it is the first one that is not before this name */
    bool is_there;
    struct weir_job_schedule schedule;
    struct weir_job_id last;
    char name[WEIR_TUBE_SIZE_MAX + 1];
    char tube[WEIR_TUBE_SIZE_MAX + 1];
    char cron[WEIR_SCHEDULE_CRON_SIZE_MAX + 1];
    char zone[WEIR_SCHEDULE_ZONE_SIZE_MAX + 1];
    char problem[sizeof(struct weir_error)];
    unsigned char *body; /* of body_size bytes, at least one */
};

/* Copies the texts of a row, of which none is longer than those that are put. */
static void read_texts(struct weiri_connection *reader, sqlite3_stmt *statement, struct copy *copy)
{
    const struct {
        char *text;
        size_t size;
    } rows[] = {{copy->name, sizeof(copy->name)},
                {copy->tube, sizeof(copy->tube)},
                {copy->cron, sizeof(copy->cron)},
                {copy->zone, sizeof(copy->zone)},
                {copy->problem, sizeof(copy->problem)}};
    for (int i = 0; i < 5; i++) {
        const char *text = weiri_sql_text(reader, statement, 14 + i);
        bool fits = text != NULL && strlen(text) < rows[i].size;
        weiri_sql_fail(reader, fits ? SQLITE_OK : SQLITE_CORRUPT);
        (void)snprintf(rows[i].text, rows[i].size, "%s", text == NULL ? "" : text);
    }
}

static void read_body(struct weiri_reading *reading, sqlite3_stmt *statement, struct copy *copy)
{
    struct weiri_value body = weiri_sql_blob(reading->reader, statement, 19);
    uint64_t checksum = (uint64_t)sqlite3_column_int64(statement, 13);
    bool is_sound = weiri_checksum(body.bytes, body.size) == checksum;
    weiri_sql_fail(reading->reader, is_sound ? SQLITE_OK : SQLITE_CORRUPT);
    copy->schedule.body_size = body.size;
    copy->body = weiri_alloc(&reading->store->config->allocator, body.size + 1);
    weiri_sql_fail(reading->reader, copy->body == NULL ? SQLITE_NOMEM : SQLITE_OK);
    if (copy->body != NULL) {
        memcpy(copy->body, body.bytes, body.size);
    }
    copy->schedule.body = copy->body;
}

static void read_schedule(struct weiri_reading *reading, sqlite3_stmt *statement, struct copy *copy)
{
    int64_t missed = sqlite3_column_int64(statement, 2);
    int64_t last = sqlite3_column_int64(statement, 9);
    int64_t outcome = sqlite3_column_int64(statement, 20);
    bool is_sound =
        missed >= 0 && missed <= WEIR_MISSED_ALL && outcome >= 0 && outcome <= WEIR_RUN_DROPPED;
    weiri_sql_fail(reading->reader, is_sound ? SQLITE_OK : SQLITE_CORRUPT);
    copy->last.text[0] = '\0';
    if (last != 0) {
        weiri_number_format(last, &copy->last);
    }
    copy->schedule = (struct weir_job_schedule){
        .name = copy->name,
        .tube = copy->tube,
        .cron = copy->cron,
        .zone = copy->zone,
        .problem = copy->problem,
        .last_id = copy->last.text,
        .priority = sqlite3_column_int(statement, 0),
        .ttr_ns = sqlite3_column_int64(statement, 1),
        .missed = (enum weir_missed)missed,
        .tolerance_ns = sqlite3_column_int64(statement, 3),
        .catch_up_max = (uint32_t)sqlite3_column_int64(statement, 4),
        .flags = (uint32_t)sqlite3_column_int64(statement, 5),
        .interval_ns = sqlite3_column_int64(statement, 6),
        .next_ns = sqlite3_column_int64(statement, 7),
        .last_ns = sqlite3_column_int64(statement, 8),
        .last_outcome = (enum weir_run_outcome)outcome,
        .last_ended_ns = sqlite3_column_int64(statement, 21),
        .fired = (uint64_t)sqlite3_column_int64(statement, 10),
        .skipped = (uint64_t)sqlite3_column_int64(statement, 11),
        .is_paused = sqlite3_column_int64(statement, 12) != 0,
    };
    read_texts(reading->reader, statement, copy);
    read_body(reading, statement, copy);
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
        read_schedule(reading, statement, copy);
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
        bool is_found =
            status == WEIR_OK && copy->is_there && (name == NULL || strcmp(name, copy->name) == 0);
        if (status == WEIR_OK && name != NULL && !is_found) {
            status = weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no schedule %.200s", name);
        }
        is_over = !is_found || fn(&copy->schedule, fn_arg) != 0 || name != NULL;
        /* No name has a character that is before those of names, so the next one is at or behind
         * the last one with that character. */
        (void)snprintf(copy->from, sizeof(copy->from), "%s!", copy->name);
        weiri_release(memory, copy->body, copy->schedule.body_size + 1);
        copy->body = NULL;
    }
    weiri_release(memory, copy, sizeof(*copy));
    return status;
}
