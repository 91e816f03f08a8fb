/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/environment.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/control.h"
#include "view/job_field.h"
#include "view/timestamp.h"

extern char **environ;

/* The names set here. They replace those of the program's own environment. */
static const char *const names[] = {
    "WEIR_JOB_ID", "WEIR_TUBE",       "WEIR_ATTEMPT",      "WEIR_PRIORITY",
    "WEIR_TTR",    "WEIR_CREATED_AT", "WEIR_RUN_AT",       "WEIR_FENCE",
    "WEIR_BROKER", "WEIR_CONTROL_FD", "WEIR_JOB_IDENTITY",
};

#define NAME_COUNT (sizeof(names) / sizeof(names[0]))
/* Those that are not the job's. */
#define BROKER 8
#define CONTROL 9

/* The texts of the job have more: WEIR_GROUP, and one for each header. */
#define FIELD "WEIR_"
#define HEADER "WEIR_HEADER_"

static bool is_told(const struct weir_job_field *field)
{
    return field->kind == WEIR_FIELD_TOLD || field->kind == WEIR_FIELD_WORD;
}

static bool is_ours(const char *entry)
{
    if (strncmp(entry, HEADER, strlen(HEADER)) == 0) {
        return true;
    }
    for (size_t i = 0; i < NAME_COUNT; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(entry, names[i], length) == 0 && entry[length] == '=') {
            return true;
        }
    }
    bool is = false;
    for (const struct weir_job_field *field = weir_job_fields(); field->name != NULL; field++) {
        size_t length = strlen(field->name);
        is = is || (is_told(field) && strncmp(entry, FIELD, strlen(FIELD)) == 0 &&
                    strncasecmp(entry + strlen(FIELD), field->name, length) == 0 &&
                    entry[strlen(FIELD) + length] == '=');
    }
    return is;
}

/* An environment that is counted, then written: pointers NULL at first. */
struct block {
    char **pointers;
    char *text;
    size_t count;
    size_t bytes;
};

/* Adds content-type as WEIR_HEADER_CONTENT_TYPE. */
static void add(struct block *block, const char *prefix, const char *name, size_t name_size,
                const char *value, size_t size)
{
    if (block->pointers != NULL) {
        char *text = block->text + block->bytes;
        block->pointers[block->count] = text;
        text = stpcpy(text, prefix);
        for (size_t i = 0; i < name_size; i++) {
            bool is_letter = name[i] >= 'a' && name[i] <= 'z';
            *text++ = is_letter ? (char)(name[i] - 'a' + 'A') : name[i] == '-' ? '_' : name[i];
        }
        *text++ = '=';
        memcpy(text, value, size);
        text[size] = '\0';
    }
    block->count++;
    block->bytes += strlen(prefix) + name_size + 1 + size + 1;
}

static void add_all(struct block *block, const char *const *values, const struct weir_job *job)
{
    for (size_t i = 0; environ[i] != NULL; i++) {
        if (!is_ours(environ[i])) {
            if (block->pointers != NULL) {
                block->pointers[block->count] = environ[i];
            }
            block->count++;
        }
    }
    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (values[i] != NULL) {
            add(block, "", names[i], strlen(names[i]), values[i], strlen(values[i]));
        }
    }
    const struct weir_job_field *field = weir_job_fields();
    for (; job != NULL && field->name != NULL; field++) {
        const char *text = job_field_is_text(field) ? job_field_text(field, job) : NULL;
        if (text != NULL && is_told(field)) {
            add(block, FIELD, field->name, strlen(field->name), text, strlen(text));
        }
        for (const char *line = text;
             line != NULL && field->kind == WEIR_FIELD_LINES && line[0] != '\0';
             line += strcspn(line, "\n") + 1) {
            size_t size = strcspn(line, "=");
            add(block, HEADER, line, size, line + size + 1, strcspn(line, "\n") - size - 1);
        }
    }
}

/* The array of pointers, and behind it the texts, in one block of memory. */
char **environment_new(const struct weir_job *job, const char *broker)
{
    char control[16];
    char attempt[16];
    char priority[16];
    char fence[24];
    char ttr[TIMESTAMP_SIZE];
    char created_at[TIMESTAMP_SIZE];
    char run_at[TIMESTAMP_SIZE];
    const char *values[NAME_COUNT] = {[BROKER] = broker, [CONTROL] = control};
    (void)snprintf(control, sizeof(control), "%d", CONTROL_FD);
    if (job != NULL) {
        const char *const all[NAME_COUNT] = {job->id, job->tube,  attempt,      priority,
                                             ttr,     created_at, run_at,       fence,
                                             broker,  control,    job->identity};
        (void)snprintf(attempt, sizeof(attempt), "%" PRIu32, job->attempts);
        (void)snprintf(priority, sizeof(priority), "%" PRId32, job->priority);
        (void)snprintf(fence, sizeof(fence), "%" PRIu64, job->fence);
        timestamp_write_unix(job->ttr_ns, ttr);
        timestamp_write_unix(job->created_ns, created_at);
        timestamp_write_unix(job->run_at_ns, run_at);
        memcpy(values, all, sizeof(values));
    }
    struct block block = {.count = 0};
    add_all(&block, values, job);
    char **result = malloc((block.count + 1) * sizeof(char *) + block.bytes);
    if (result != NULL) {
        block = (struct block){.pointers = result, .text = (char *)(result + block.count + 1)};
        add_all(&block, values, job);
        result[block.count] = NULL;
    }
    return result;
}
