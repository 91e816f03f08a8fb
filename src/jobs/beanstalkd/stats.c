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

/* Copies a value without its quotes. False: it does not fit, or has a NUL. */
static bool copy(const char *value, size_t size, char *text, size_t text_size)
{
    if (size >= 2 && value[0] == '"' && value[size - 1] == '"') {
        value++;
        size -= 2;
    }
    if (size >= text_size || memchr(value, '\0', size) != NULL) {
        return false;
    }
    memcpy(text, value, size);
    text[size] = '\0';
    return true;
}

bool weiri_stats_text(const char *body, size_t size, const char *name, char *text, size_t text_size)
{
    size_t length = strlen(name);
    size_t offset = 0;
    const char *line;
    size_t line_size;
    while (next_line(body, size, &offset, &line, &line_size)) {
        if (line_size > length + 1 && memcmp(line, name, length) == 0 && line[length] == ':' &&
            line[length + 1] == ' ') {
            return copy(line + length + 2, line_size - length - 2, text, text_size);
        }
    }
    return false;
}

bool weiri_stats_number(const char *body, size_t size, const char *name, uint64_t *ret_number)
{
    char text[24];
    return weiri_stats_text(body, size, name, text, sizeof(text)) &&
           weiri_number_read(text, strlen(text), ret_number);
}

bool weiri_stats_next_tube(const char *body, size_t size, size_t *offset,
                           char tube[WEIR_TUBE_SIZE_MAX + 1])
{
    const char *line;
    size_t length;
    while (next_line(body, size, offset, &line, &length)) {
        if (length > 2 && line[0] == '-' && line[1] == ' ' &&
            copy(line + 2, length - 2, tube, WEIR_TUBE_SIZE_MAX + 1) &&
            weir_tube_check(tube, NULL) == WEIR_OK) {
            return true;
        }
    }
    return false;
}
