/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Bytes to replies, and what the statistics in them say. */
#include <string.h>

#include "base/alloc.h"
#include "jobs/beanstalkd/codec.h"
#include "jobs/core/fields.h"

/* Operands: i id, c count, T tube, b size of the body that follows; in capitals what may lack: I,
 * C.
 */
static const struct {
    const char *name;
    const char *operands;
} kinds[] = {
    [WEIRI_INSERTED] = {"INSERTED", "i"},
    [WEIRI_BURIED] = {"BURIED", "I"},
    [WEIRI_EXPECTED_CRLF] = {"EXPECTED_CRLF", ""},
    [WEIRI_JOB_TOO_BIG] = {"JOB_TOO_BIG", ""},
    [WEIRI_DRAINING] = {"DRAINING", ""},
    [WEIRI_USING] = {"USING", "T"},
    [WEIRI_RESERVED] = {"RESERVED", "ib"},
    [WEIRI_DEADLINE_SOON] = {"DEADLINE_SOON", ""},
    [WEIRI_TIMED_OUT] = {"TIMED_OUT", ""},
    [WEIRI_DELETED] = {"DELETED", ""},
    [WEIRI_RELEASED] = {"RELEASED", ""},
    [WEIRI_TOUCHED] = {"TOUCHED", ""},
    [WEIRI_WATCHING] = {"WATCHING", "c"},
    [WEIRI_NOT_IGNORED] = {"NOT_IGNORED", ""},
    [WEIRI_FOUND] = {"FOUND", "ib"},
    [WEIRI_KICKED] = {"KICKED", "C"},
    [WEIRI_OK_BODY] = {"OK", "b"},
    [WEIRI_PAUSED] = {"PAUSED", ""},
    [WEIRI_NOT_FOUND] = {"NOT_FOUND", ""},
    [WEIRI_OUT_OF_MEMORY] = {"OUT_OF_MEMORY", ""},
    [WEIRI_INTERNAL_ERROR] = {"INTERNAL_ERROR", ""},
    [WEIRI_BAD_FORMAT] = {"BAD_FORMAT", ""},
    [WEIRI_UNKNOWN_COMMAND] = {"UNKNOWN_COMMAND", ""},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

const char *weiri_reply_name(enum weiri_reply_kind kind)
{
    return kinds[kind].name;
}

void weiri_parser_next(struct weiri_parser *parser)
{
    if (parser->reply.body != NULL) {
        weiri_release(parser->allocator, parser->reply.body,
                      WEIRI_BODY_BLOCK(parser->reply.body_size));
    }
    parser->reply = (struct weiri_reply){0};
    parser->line_size = 0;
    parser->left = 0;
}

static enum weiri_parse refuse(struct weiri_parser *parser, const char *why)
{
    parser->why = why;
    return WEIRI_PARSE_BAD;
}

/* Asks for a body's memory once its size is known to be allowed. A job that is too long must not
 * keep others from being had. */
static enum weiri_parse begin_body(struct weiri_parser *parser, uint64_t size)
{
    if (size > parser->body_size_max && (parser->reply.id == 0 || size > INT32_MAX)) {
        return refuse(parser, "a body longer than allowed");
    }
    parser->left = WEIRI_BODY_BLOCK((size_t)size);
    if (size > parser->body_size_max) {
        return WEIRI_PARSE_MORE;
    }
    parser->reply.body = weiri_alloc(parser->allocator, WEIRI_BODY_BLOCK((size_t)size));
    if (parser->reply.body == NULL) {
        return WEIRI_PARSE_NO_MEMORY;
    }
    parser->reply.body_size = (size_t)size;
    return WEIRI_PARSE_MORE;
}

/* Reads operands, each behind one space. A number has no sign and no leading zero. False: they are
 * not those of the reply. */
static bool read_operands(struct weiri_reply *reply, const char *operands, const char *rest,
                          uint64_t *ret_size)
{
    reply->count = *operands == 'C';
    if (*rest == '\0') {
        return *operands == '\0' || *operands == 'I' || *operands == 'C';
    }
    for (; *operands != '\0' && *rest == ' '; operands++) {
        const char *text = rest + 1;
        size_t size = strcspn(text, " ");
        uint64_t number = 0;
        rest = text + size;
        if (*operands == 'T' && *rest == '\0' && weir_tube_check(text, NULL) == WEIR_OK) {
            memcpy(reply->tube, text, size + 1);
            continue;
        }
        if (!weiri_number_read(text, size, &number) || (text[0] == '0' && size > 1)) {
            return false;
        }
        switch (*operands) {
        case 'i':
        case 'I':
            reply->id = number;
            if (number == 0) {
                return false;
            }
            break;
        case 'b':
            *ret_size = number;
            break;
        case 'c':
        case 'C':
            reply->count = number;
            break;
        default:
            return false;
        }
    }
    return *operands == '\0' && *rest == '\0';
}

/* The line is complete and NUL-terminated. */
static enum weiri_parse read_line(struct weiri_parser *parser)
{
    const char *line = parser->line;
    size_t word = strcspn(line, " ");
    for (size_t i = 1; i < KIND_COUNT; i++) {
        if (strlen(kinds[i].name) == word && memcmp(kinds[i].name, line, word) == 0) {
            uint64_t size = 0;
            parser->reply.kind = (enum weiri_reply_kind)i;
            if (!read_operands(&parser->reply, kinds[i].operands, line + word, &size)) {
                return refuse(parser, "a reply with operands that it cannot have");
            }
            return strchr(kinds[i].operands, 'b') != NULL ? begin_body(parser, size)
                                                          : WEIRI_PARSE_REPLY;
        }
    }
    return refuse(parser, "a reply that the protocol does not have");
}

static enum weiri_parse feed_line(struct weiri_parser *parser, char c)
{
    bool is_ending = parser->line_size > 0 && parser->line[parser->line_size - 1] == '\r';
    if (is_ending) {
        if (c != '\n') {
            return refuse(parser, "a line that does not end in CR LF");
        }
        parser->line[parser->line_size - 1] = '\0';
        return read_line(parser);
    }
    if (c != '\r' && (c < ' ' || c > '~')) {
        return refuse(parser, "a line with a byte that is no text");
    }
    if (parser->line_size == WEIRI_LINE_SIZE) {
        return refuse(parser, "a line longer than any reply");
    }
    parser->line[parser->line_size++] = c;
    return WEIRI_PARSE_MORE;
}

/* Copies a body with the CR LF behind it, which a NUL replaces; passes over one that is skipped.
 * Zeros in its place are what a node has that was killed while it wrote a job: that has no body,
 * and keeps no other from being had. */
static enum weiri_parse feed_body(struct weiri_parser *parser, const char *bytes, size_t size,
                                  size_t *ret_used)
{
    struct weiri_reply *reply = &parser->reply;
    size_t count = size < parser->left ? size : parser->left;
    char *end = reply->body == NULL ? NULL : reply->body + reply->body_size;
    if (end != NULL) {
        memcpy(end + 2 - parser->left, bytes, count);
    }
    parser->left -= count;
    *ret_used = count;
    if (parser->left > 0) {
        return WEIRI_PARSE_MORE;
    }
    if (reply->id != 0 && bytes[count - 1] == '\0' && (end == NULL || *end == '\0')) {
        weiri_release(parser->allocator, reply->body, WEIRI_BODY_BLOCK(reply->body_size));
        reply->body = NULL;
        reply->body_size = 0;
        return WEIRI_PARSE_REPLY;
    }
    if (bytes[count - 1] != '\n' || (end != NULL && *end != '\r')) {
        return refuse(parser, "a body longer than its size");
    }
    if (end != NULL) {
        *end = '\0';
    }
    return WEIRI_PARSE_REPLY;
}

enum weiri_parse weiri_parser_feed(struct weiri_parser *parser, const char *bytes, size_t size,
                                   size_t *ret_used)
{
    size_t used = 0;
    enum weiri_parse result = WEIRI_PARSE_MORE;
    while (used < size && result == WEIRI_PARSE_MORE) {
        size_t count = 1;
        if (parser->left > 0) {
            result = feed_body(parser, bytes + used, size - used, &count);
        } else {
            result = feed_line(parser, bytes[used]);
        }
        used += count;
    }
    *ret_used = used;
    return result;
}

/* --- statistics: the small part of YAML with lines of `name: value` and of `- value` --- */

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
