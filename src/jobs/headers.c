/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include <weir/job.h>

/* The line of a name; NULL: none. */
static const char *find(const char *headers, const char *name, size_t size)
{
    for (const char *line = headers; line[0] != '\0'; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, name, size) == 0 && line[size] == '=') {
            return line;
        }
    }
    return NULL;
}

enum weir_status weir_headers_check(const char *headers, size_t *ret_offset)
{
    size_t ignored;
    size_t *offset = ret_offset == NULL ? &ignored : ret_offset;
    *offset = 0;
    if (headers == NULL) {
        return WEIR_EINVAL;
    }
    if (strnlen(headers, WEIR_HEADERS_SIZE_MAX + 1) > WEIR_HEADERS_SIZE_MAX) {
        *offset = WEIR_HEADERS_SIZE_MAX;
        return WEIR_ETOOBIG;
    }
    const char *line = headers;
    while (line[0] != '\0') {
        size_t size = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789-");
        size = size > WEIR_HEADER_NAME_MAX ? WEIR_HEADER_NAME_MAX + 1 : size;
        const char *end = strchr(line, '\n');
        bool is_named = size > 0 && size <= WEIR_HEADER_NAME_MAX && line[size] == '=';
        if (!is_named || end == NULL || find(headers, line, size) != line) {
            *offset = (size_t)(line - headers) + (is_named && end != NULL ? 0 : size);
            return WEIR_EINVAL;
        }
        line = end + 1;
    }
    return WEIR_OK;
}

const char *weir_job_header(const struct weir_job *job, const char *name, size_t *ret_size)
{
    if (job == NULL || name == NULL || job->headers == NULL) {
        return NULL;
    }
    size_t size = strlen(name);
    const char *line = find(job->headers, name, size);
    if (line != NULL && ret_size != NULL) {
        *ret_size = strcspn(line + size + 1, "\n");
    }
    return line == NULL ? NULL : line + size + 1;
}
