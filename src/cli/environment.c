/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/environment.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/control.h"
#include "view/timestamp.h"

extern char **environ;

/* The names set here. They replace those of the program's own environment. */
static const char *const names[] = {
    "WEIR_JOB_ID", "WEIR_TUBE",       "WEIR_ATTEMPT", "WEIR_PRIORITY",
    "WEIR_TTR",    "WEIR_CREATED_AT", "WEIR_RUN_AT",  "WEIR_BROKER",
    "WEIR_FENCE",  "WEIR_CONTROL_FD", "WEIR_GROUP",   "WEIR_JOB_IDENTITY",
};

#define NAME_COUNT (sizeof(names) / sizeof(names[0]))
/* Those that are not the job's. */
#define BROKER 7
#define CONTROL 9

/* Each header of the job has one more. */
#define HEADER "WEIR_HEADER_"

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
    return false;
}

/* Writes content-type=... as WEIR_HEADER_CONTENT_TYPE=... Returns the place behind. */
static char *write_header(char *text, const char *line)
{
    size_t size = strcspn(line, "\n");
    size_t name_size = strcspn(line, "=");
    memcpy(text, HEADER, strlen(HEADER));
    text += strlen(HEADER);
    for (size_t i = 0; i < size; i++) {
        bool is_name = i < name_size;
        bool is_letter = is_name && line[i] >= 'a' && line[i] <= 'z';
        *text++ = is_letter                   ? (char)(line[i] - 'a' + 'A')
                  : is_name && line[i] == '-' ? '_'
                                              : line[i];
    }
    *text++ = '\0';
    return text;
}

/* The values, in the order of the names, in one block behind the array of pointers. */
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
        const char *const all[NAME_COUNT] = {job->id, job->tube,  attempt,    priority,
                                             ttr,     created_at, run_at,     broker,
                                             fence,   control,    job->group, job->identity};
        (void)snprintf(attempt, sizeof(attempt), "%" PRIu32, job->attempts);
        (void)snprintf(priority, sizeof(priority), "%" PRId32, job->priority);
        (void)snprintf(fence, sizeof(fence), "%" PRIu64, job->fence);
        timestamp_write_unix(job->ttr_ns, ttr);
        timestamp_write_unix(job->created_ns, created_at);
        timestamp_write_unix(job->run_at_ns, run_at);
        memcpy(values, all, sizeof(values));
    }
    const char *headers = job == NULL || job->headers == NULL ? "" : job->headers;
    size_t header_count = 0;
    size_t bytes = 0;
    for (const char *line = headers; line[0] != '\0'; line += strcspn(line, "\n") + 1) {
        header_count++;
        bytes += strlen(HEADER) + strcspn(line, "\n") + 1;
    }
    size_t kept = 0;
    for (size_t i = 0; environ[i] != NULL; i++) {
        kept += is_ours(environ[i]) ? 0 : 1;
    }
    for (size_t i = 0; i < NAME_COUNT; i++) {
        bytes += values[i] != NULL ? strlen(names[i]) + strlen(values[i]) + 2 : 0;
    }
    size_t pointers = (kept + NAME_COUNT + header_count + 1) * sizeof(char *);
    char **result = malloc(pointers + bytes);
    if (result == NULL) {
        return NULL;
    }
    size_t count = 0;
    for (size_t i = 0; environ[i] != NULL; i++) {
        if (!is_ours(environ[i])) {
            result[count++] = environ[i];
        }
    }
    char *text = (char *)result + pointers;
    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (values[i] != NULL) {
            size_t size = strlen(names[i]) + strlen(values[i]) + 2;
            (void)snprintf(text, size, "%s=%s", names[i], values[i]);
            result[count++] = text;
            text += size;
        }
    }
    for (const char *line = headers; line[0] != '\0'; line += strcspn(line, "\n") + 1) {
        result[count++] = text;
        text = write_header(text, line);
    }
    result[count] = NULL;
    return result;
}
