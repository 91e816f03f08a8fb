/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "view/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <weir/duration.h>

#include "view/job_field.h"
#include "view/text.h"
#include "view/timestamp.h"
#include "view/tube_number.h"

/* Adds a member; an object that cannot take it is released. */
static json_t *with(json_t *object, const char *name, json_t *value)
{
    if (object != NULL && json_object_set_new(object, name, value) == 0) {
        return object;
    }
    if (object == NULL) {
        json_decref(value);
    }
    json_decref(object);
    return NULL;
}

static json_t *json_of_time(int64_t ns)
{
    char text[TIMESTAMP_SIZE];
    timestamp_write(ns, text);
    return json_string(text);
}

/* These leave out what is not known, or is not there: 0, NULL, "" and WEIR_FOREVER. */
static json_t *with_time(json_t *object, const char *name, int64_t ns)
{
    return ns > 0 && ns != WEIR_FOREVER ? with(object, name, json_of_time(ns)) : object;
}

static json_t *with_number(json_t *object, const char *name, int64_t number)
{
    return number != 0 ? with(object, name, json_integer((json_int_t)number)) : object;
}

static json_t *with_text(json_t *object, const char *name, const char *text)
{
    return text != NULL && text[0] != '\0' ? with(object, name, json_string(text)) : object;
}

json_t *json_of_pause(int64_t until_ns)
{
    return until_ns == WEIR_FOREVER ? json_string("resumed") : json_of_time(until_ns);
}

static bool write_value(FILE *out, json_t *value)
{
    bool written = value != NULL && json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY) == 0;
    json_decref(value);
    return written;
}

bool json_write_numbers(FILE *out, const uint64_t *numbers)
{
    bool written = true;
    for (size_t i = 0; i < TUBE_NUMBERS && written; i++) {
        written = fprintf(out, ",\"%s\":%" PRIu64, tube_numbers[i].name, numbers[i]) > 0;
    }
    return written;
}

bool json_write_tube(FILE *out, const struct weir_tube_counts *counts)
{
    uint64_t numbers[TUBE_NUMBERS] = {0};
    tube_numbers_add(numbers, counts);
    return fputs("{\"tube\":", out) != EOF && write_value(out, json_string(counts->tube)) &&
           json_write_numbers(out, numbers) &&
           (counts->paused_until_ns == 0 ||
            (fputs(",\"paused_until\":", out) != EOF &&
             write_value(out, json_of_pause(counts->paused_until_ns)))) &&
           fputc('}', out) != EOF;
}

json_t *json_of_node(const struct weir_node *node)
{
    bool is_redis = node->kind == WEIR_NODE_REDIS;
    json_t *object =
        json_pack("{s:s, s:s, s:s}", "node", node->name, "kind", is_redis ? "redis" : "beanstalkd",
                  "state", weir_node_state_name(node->state));
    json_t *more =
        node->state == WEIR_NODE_AWAY ? json_pack("{s:s}", "why", node->why)
        : is_redis
            ? json_pack("{s:I}", "answer_ns", (json_int_t)node->answer_ns)
            : json_pack("{s:I, s:s, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I}", "answer_ns",
                        (json_int_t)node->answer_ns, "version", node->version, "uptime_ns",
                        (json_int_t)node->uptime_ns, "job_size_max", (json_int_t)node->job_size_max,
                        "connections", (json_int_t)node->connections, "binlog",
                        (int)node->has_binlog, "binlog_files", (json_int_t)node->binlog_files,
                        "binlog_records", (json_int_t)node->binlog_records, "delayed",
                        (json_int_t)node->delayed, "ready", (json_int_t)node->ready, "reserved",
                        (json_int_t)node->reserved, "buried", (json_int_t)node->buried);
    if (object == NULL || json_object_update_new(object, more) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Bytes as text if they are text, else in base64; "encoding" says which. */
static json_t *with_bytes(json_t *object, const char *name, const void *bytes, size_t size)
{
    json_t *text = json_stringn(bytes, size);
    const char *encoding = "utf-8";
    if (text == NULL) {
        char *encoded = text_base64(bytes, size);
        encoding = "base64";
        text = encoded != NULL ? json_string(encoded) : NULL;
        free(encoded);
    }
    return with(with(object, name, text), "encoding", json_string(encoding));
}

/* Values are escaped: they need not be text. */
static json_t *json_of_headers(const char *headers)
{
    json_t *object = json_object();
    for (const char *line = headers; line[0] != '\0'; line += strcspn(line, "\n") + 1) {
        size_t name_size = strcspn(line, "=");
        const char *value = line + name_size + 1;
        char *name = strndup(line, name_size);
        char *text = text_escape(value, strcspn(value, "\n"));
        json_t *member = name == NULL || text == NULL ? NULL : json_string(text);
        object = with(object, name == NULL ? "" : name, member);
        free(name);
        free(text);
    }
    return object;
}

/* What is known of the run of a reserved job. */
static json_t *with_run(json_t *object, const struct weir_job *job)
{
    object = with_time(object, "started_at", job->started_ns);
    object = with_number(object, "process", job->owner);
    if (job->owner_life != 0) {
        object = with(object, "process_lives", json_boolean(job->owner_life == 1));
    }
    object = with_time(object, "reserved_until", job->reserved_until_ns);
    if (job->verdict != 0) {
        static const char *const names[] = {"", "bury", "remove", "retry"};
        bool is_known = job->verdict <= WEIR_VERDICT_RETRY;
        object = with(object, "verdict", json_string(names[is_known ? job->verdict : 0]));
    }
    return job->progress >= 0 ? with(object, "progress", json_integer(job->progress)) : object;
}

/* The texts that its put gave; those beside the body with it. They need not be text. */
static json_t *with_texts(json_t *object, const struct weir_job *job, bool body)
{
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        const char *text = job_field_is_text(field) ? job_field_text(field, job) : NULL;
        if (text == NULL || (field->kind <= WEIR_FIELD_TOLD && !body)) {
            continue;
        }
        char *escaped = field->kind == WEIR_FIELD_LINES ? NULL : text_escape(text, strlen(text));
        object = with(object, field->name,
                      field->kind == WEIR_FIELD_LINES ? json_of_headers(text)
                      : escaped == NULL               ? NULL
                                                      : json_string(escaped));
        free(escaped);
    }
    return object;
}

json_t *json_of_job(const struct weir_job *job, bool body)
{
    char created_at[TIMESTAMP_SIZE];
    char run_at[TIMESTAMP_SIZE];
    timestamp_write(job->created_ns, created_at);
    timestamp_write(job->run_at_ns, run_at);
    char *reason = text_escape(job->reason, strlen(job->reason));
    json_t *object =
        reason == NULL
            ? NULL
            : json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:s}", "id", job->id, "tube",
                        job->tube, "state", weir_job_state_name(job->state), "priority",
                        (json_int_t)job->priority, "attempts", (json_int_t)job->attempts,
                        "created_at", created_at, "run_at", run_at, "ttr_ns",
                        (json_int_t)job->ttr_ns, "size", (json_int_t)job->body_size, "reason",
                        reason);
    free(reason);
    object = with_text(object, "identity", job->identity);
    object = with_number(object, "fence", (int64_t)job->fence);
    object = with_text(object, "last_outcome",
                       job->last_outcome != 0 ? weir_job_outcome_name(job->last_outcome) : NULL);
    object = with_text(object, "end", job->end != 0 ? weir_job_outcome_name(job->end) : NULL);
    object = with_time(object, "ended_at", job->ended_ns);
    object = with_texts(with_run(object, job), job, body);
    return body ? with_bytes(object, "body", job->body, job->body_size) : object;
}

json_t *json_of_running(const struct weir_job *job)
{
    return with_run(json_pack("{s:s, s:I, s:s}", "id", job->id, "attempt",
                              (json_int_t)job->attempts, "outcome", "running"),
                    job);
}

json_t *json_of_attempt(const char *id, const struct weir_attempt *attempt)
{
    char *reason = text_escape(attempt->reason, strlen(attempt->reason));
    json_t *object = reason == NULL ? NULL
                                    : json_pack("{s:s, s:I, s:s, s:I, s:s}", "id", id, "attempt",
                                                (json_int_t)attempt->number, "outcome",
                                                weir_job_outcome_name(attempt->outcome), "status",
                                                (json_int_t)attempt->status, "reason", reason);
    free(reason);
    object = with_bytes(object, "tail", attempt->tail, strlen(attempt->tail));
    object = with_time(object, "started_at", attempt->started_ns);
    object = with(object, "ended_at", json_of_time(attempt->ended_ns));
    object = with_number(object, "process", attempt->owner);
    object = with_number(object, "exit_status", attempt->exit_status);
    return with_number(object, "signal", attempt->signal);
}

json_t *json_of_schedule(const struct weir_job_schedule *schedule, bool body)
{
    char *problem = text_escape(schedule->problem, strlen(schedule->problem));
    json_t *object =
        problem == NULL
            ? NULL
            : json_pack("{s:s, s:s, s:b, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:b, s:s}", "schedule",
                        schedule->name, "tube", schedule->tube, "paused", (int)schedule->is_paused,
                        "priority", (json_int_t)schedule->priority, "ttr_ns",
                        (json_int_t)schedule->ttr_ns, "missed", weir_missed_name(schedule->missed),
                        "tolerance_ns", (json_int_t)schedule->tolerance_ns, "catch_up",
                        (json_int_t)schedule->catch_up_max, "fired", (json_int_t)schedule->fired,
                        "skipped", (json_int_t)schedule->skipped, "overlap",
                        (schedule->flags & WEIR_SCHEDULE_NO_OVERLAP) == 0, "problem", problem);
    free(problem);
    object = with_number(object, "every_ns", schedule->interval_ns);
    object = with_text(object, "cron", schedule->cron);
    object = with_text(object, "zone", schedule->zone);
    object = with_time(object, "next_at", schedule->next_ns);
    object = with_time(object, "last_at", schedule->last_ns);
    object = with_text(object, "last_id", schedule->last_id);
    object = with_time(object, "last_ended_at", schedule->last_ended_ns);
    object = with_text(
        object, "last_outcome",
        schedule->last_ended_ns == 0 ? NULL : weir_job_outcome_name(schedule->last_outcome));
    return body ? with_bytes(object, "body", schedule->body, schedule->body_size) : object;
}

static const char *reason_name(enum weir_why_reason reason)
{
    switch (reason) {
    case WEIR_WHY_TIME:
        return "time";
    case WEIR_WHY_PAUSED:
        return "paused";
    case WEIR_WHY_WORKER:
        return "worker";
    case WEIR_WHY_RESERVED:
        return "reserved";
    case WEIR_WHY_BURIED:
        return "buried";
    case WEIR_WHY_GROUP:
        return "group";
    case WEIR_WHY_DONE:
        return "done";
    }
    return "?";
}

json_t *json_of_why(const char *id, const struct weir_why *why)
{
    char *text = text_escape(why->text, strlen(why->text));
    json_t *object = text == NULL ? NULL
                                  : json_pack("{s:s, s:s, s:s, s:s}", "id", id, "state",
                                              weir_job_state_name(why->state), "reason",
                                              reason_name(why->reason), "text", text);
    free(text);
    object = with_time(object, why->reason == WEIR_WHY_RESERVED ? "reserved_until" : "start_at",
                       why->start_ns);
    return why->owner > 0 ? with(object, "process", json_integer((json_int_t)why->owner)) : object;
}

static const char *result_name(const char *done, enum weir_status status)
{
    switch (status) {
    case WEIR_OK:
        return done;
    case WEIR_ENOTFOUND:
        return "not found";
    case WEIR_EBUSY:
        return "reserved";
    case WEIR_ECANCELED:
        return "canceled";
    case WEIR_ESTATE:
        return "other state";
    default:
        return "unknown";
    }
}

json_t *json_of_policy(const char *tube, const struct weir_tube_policy *policy,
                       const struct weir_tube_policy_counts *counts)
{
    const char *late = weir_late_name((enum weir_late)policy->late);
    return json_pack("{s:s, s:I, s:I, s:b, s:s, s:I, s:I, s:I, s:I, s:I}", "tube", tube, "keep_ns",
                     (json_int_t)(policy->keep_ns < 0 ? 0 : policy->keep_ns), "keep_count",
                     (json_int_t)policy->keep_count, "archive", policy->archive != 0, "late", late,
                     "late_ns", (json_int_t)policy->late_ns, "group_limit",
                     (json_int_t)policy->group_limit, "ended", (json_int_t)counts->ended,
                     "late_buried", (json_int_t)counts->buried, "late_dropped",
                     (json_int_t)counts->dropped);
}

json_t *json_of_result(const char *id, const char *done, enum weir_status status)
{
    return json_pack("{s:s, s:s}", "id", id, "result", result_name(done, status));
}
