/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The small part of YAML that a node's statistics are written in: lines of `name: value` and of
 * `- value`. */
#include <string.h>

#include "jobs/beanstalkd/codec.h"
#include "jobs/core/fields.h"

/* The line at *offset without its newline; moves *offset behind it. False: there is none. */
static bool next_line(const char *body, size_t size, size_t *offset, const char **ret_line,
                      size_t *ret_size)
{
    if (*offset >= size) {
        return false;
    }
    const char *line = body + *offset;
    const char *end = memchr(line, '\n', size - *offset);
    size_t length = end == NULL ? size - *offset : (size_t)(end - line);
    *offset += length + (end != NULL);
    *ret_line = line;
    *ret_size = length;
    return true;
}

/* Takes the quotes off a value. */
static void unquote(const char **value, size_t *size)
{
    if (*size >= 2 && (*value)[0] == '"' && (*value)[*size - 1] == '"') {
        (*value)++;
        *size -= 2;
    }
}

static bool find(const char *body, size_t size, const char *name, const char **ret_value,
                 size_t *ret_size)
{
    size_t length = strlen(name);
    size_t offset = 0;
    const char *line;
    size_t line_size;
    while (next_line(body, size, &offset, &line, &line_size)) {
        if (line_size > length + 1 && memcmp(line, name, length) == 0 && line[length] == ':' &&
            line[length + 1] == ' ') {
            *ret_value = line + length + 2;
            *ret_size = line_size - length - 2;
            unquote(ret_value, ret_size);
            return true;
        }
    }
    return false;
}

bool weiri_stats_number(const char *body, size_t size, const char *name, uint64_t *ret_number)
{
    const char *value;
    size_t length;
    return find(body, size, name, &value, &length) && weiri_number_read(value, length, ret_number);
}

bool weiri_stats_text(const char *body, size_t size, const char *name, char *text, size_t text_size)
{
    const char *value;
    size_t length;
    if (!find(body, size, name, &value, &length) || length >= text_size) {
        return false;
    }
    memcpy(text, value, length);
    text[length] = '\0';
    return true;
}

bool weiri_stats_next_tube(const char *body, size_t size, size_t *offset,
                           char tube[WEIR_TUBE_SIZE_MAX + 1])
{
    const char *line;
    size_t length;
    while (next_line(body, size, offset, &line, &length)) {
        if (length <= 2 || line[0] != '-' || line[1] != ' ') {
            continue;
        }
        const char *value = line + 2;
        length -= 2;
        unquote(&value, &length);
        if (length <= WEIR_TUBE_SIZE_MAX) {
            memcpy(tube, value, length);
            tube[length] = '\0';
            if (strlen(tube) == length && weir_tube_check(tube, NULL) == WEIR_OK) {
                return true;
            }
        }
    }
    return false;
}
