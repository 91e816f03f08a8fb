/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/target.h"

#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes a text in place. In a query a plus sign is a space, as browsers write it. */
static bool decode(char *text, bool is_query)
{
    char *out = text;
    for (const char *in = text; *in != '\0'; in++) {
        char c = *in;
        if (c == '%') {
            int high = digit(in[1]);
            int low = high >= 0 ? digit(in[2]) : -1;
            if (low < 0 || high + low == 0) {
                return false;
            }
            c = (char)(high * 16 + low);
            in += 2;
        } else if ((unsigned char)c <= ' ' || c == 0x7f) {
            return false;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        *out++ = c;
    }
    *out = '\0';
    return true;
}

/* path starts with a slash. A last empty segment is left out. */
static bool read_path(struct target *target, char *path)
{
    char *next = path + 1;
    while (next != NULL && next[0] != '\0') {
        char *segment = next;
        char *slash = strchr(segment, '/');
        next = slash != NULL ? slash + 1 : NULL;
        if (slash != NULL) {
            *slash = '\0';
        }
        if (target->segment_count == TARGET_SEGMENTS_MAX || !decode(segment, false) ||
            segment[0] == '\0' || strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0) {
            return false;
        }
        target->segments[target->segment_count++] = segment;
    }
    return true;
}

/* A field that is there twice is refused: which of them counts would be anybody's guess. */
static bool read_query(struct target *target, char *query)
{
    char *next = query;
    while (next != NULL && next[0] != '\0') {
        char *name = next;
        next = strchr(name, '&');
        if (next != NULL) {
            *next++ = '\0';
        }
        char *value = strchr(name, '=');
        if (value == NULL) {
            value = name + strlen(name);
        } else {
            *value++ = '\0';
        }
        if (target->field_count == TARGET_FIELDS_MAX || !decode(name, true) ||
            !decode(value, true) || target_value(target, name) != NULL) {
            return false;
        }
        target->fields[target->field_count++] = (struct target_field){name, value};
    }
    return true;
}

enum target_result target_read(struct target *target, const char *raw, const char *prefix)
{
    size_t prefix_size = strlen(prefix);
    memset(target, 0, sizeof(*target));
    if (strlen(raw) > TARGET_SIZE_MAX) {
        return TARGET_TOO_LONG;
    }
    if (raw[0] != '/') {
        return TARGET_MALFORMED;
    }
    if (strncmp(raw, prefix, prefix_size) != 0 || raw[prefix_size] != '/') {
        return TARGET_ELSEWHERE;
    }
    target->text = strdup(raw + prefix_size);
    if (target->text == NULL) {
        return TARGET_NO_MEMORY;
    }
    char *query = strchr(target->text, '?');
    if (query != NULL) {
        *query++ = '\0';
    }
    if (!read_path(target, target->text) || !read_query(target, query)) {
        target_free(target);
        return TARGET_MALFORMED;
    }
    return TARGET_READ;
}

void target_free(struct target *target)
{
    free(target->text);
    memset(target, 0, sizeof(*target));
}

const char *target_value(const struct target *target, const char *name)
{
    for (size_t i = 0; i < target->field_count; i++) {
        if (strcmp(target->fields[i].name, name) == 0) {
            return target->fields[i].value;
        }
    }
    return NULL;
}
