/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Bytes to replies. */
#include <string.h>

#include "base/alloc.h"
#include "jobs/beanstalkd/codec.h"

/* What follows a reply's word. */
enum operands {
    NOTHING,
    ID,
    ID_OR_NOTHING,
    COUNT,
    COUNT_OR_NOTHING,
    TUBE,
    BODY,
    ID_BODY
};

static const struct {
    const char *name;
    enum operands operands;
} kinds[] = {
    [WEIRI_INSERTED] = {"INSERTED", ID},
    [WEIRI_BURIED] = {"BURIED", ID_OR_NOTHING},
    [WEIRI_EXPECTED_CRLF] = {"EXPECTED_CRLF", NOTHING},
    [WEIRI_JOB_TOO_BIG] = {"JOB_TOO_BIG", NOTHING},
    [WEIRI_DRAINING] = {"DRAINING", NOTHING},
    [WEIRI_USING] = {"USING", TUBE},
    [WEIRI_RESERVED] = {"RESERVED", ID_BODY},
    [WEIRI_DEADLINE_SOON] = {"DEADLINE_SOON", NOTHING},
    [WEIRI_TIMED_OUT] = {"TIMED_OUT", NOTHING},
    [WEIRI_DELETED] = {"DELETED", NOTHING},
    [WEIRI_RELEASED] = {"RELEASED", NOTHING},
    [WEIRI_TOUCHED] = {"TOUCHED", NOTHING},
    [WEIRI_WATCHING] = {"WATCHING", COUNT},
    [WEIRI_NOT_IGNORED] = {"NOT_IGNORED", NOTHING},
    [WEIRI_FOUND] = {"FOUND", ID_BODY},
    [WEIRI_KICKED] = {"KICKED", COUNT_OR_NOTHING},
    [WEIRI_OK_BODY] = {"OK", BODY},
    [WEIRI_PAUSED] = {"PAUSED", NOTHING},
    [WEIRI_NOT_FOUND] = {"NOT_FOUND", NOTHING},
    [WEIRI_OUT_OF_MEMORY] = {"OUT_OF_MEMORY", NOTHING},
    [WEIRI_INTERNAL_ERROR] = {"INTERNAL_ERROR", NOTHING},
    [WEIRI_BAD_FORMAT] = {"BAD_FORMAT", NOTHING},
    [WEIRI_UNKNOWN_COMMAND] = {"UNKNOWN_COMMAND", NOTHING},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

const char *weiri_reply_name(enum weiri_reply_kind kind)
{
    return kinds[kind].name;
}

void weiri_parser_init(struct weiri_parser *parser, const struct weir_allocator *allocator,
                       size_t body_size_max)
{
    *parser = (struct weiri_parser){.allocator = allocator, .body_size_max = body_size_max};
}

void weiri_parser_next(struct weiri_parser *parser)
{
    if (parser->reply.body != NULL) {
        weiri_release(parser->allocator, parser->reply.body, parser->reply.body_size + 1);
    }
    parser->reply = (struct weiri_reply){0};
    parser->stage = WEIRI_STAGE_LINE;
    parser->line_size = 0;
    parser->body_used = 0;
}

void weiri_parser_reset(struct weiri_parser *parser)
{
    weiri_parser_next(parser);
    parser->why = NULL;
}

void weiri_parser_fini(struct weiri_parser *parser)
{
    weiri_parser_next(parser);
}

static enum weiri_parse refuse(struct weiri_parser *parser, const char *why)
{
    parser->why = why;
    return WEIRI_PARSE_BAD;
}

/* A decimal number without sign or leading zero, ended by the given byte. Moves *at behind it. */
static bool read_number(const char **at, char end, uint64_t *ret_number)
{
    const char *c = *at;
    uint64_t number = 0;
    if (c[0] == '0' && c[1] != end) {
        return false;
    }
    for (; *c >= '0' && *c <= '9'; c++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*c - '0'), &number)) {
            return false;
        }
    }
    if (c == *at || *c != end) {
        return false;
    }
    *at = end == '\0' ? c : c + 1;
    *ret_number = number;
    return true;
}

/* Asks for a body's memory once its size is known to be allowed. */
static enum weiri_parse begin_body(struct weiri_parser *parser, uint64_t size)
{
    if (size > parser->body_size_max) {
        return refuse(parser, "a body longer than allowed");
    }
    parser->reply.body = weiri_alloc(parser->allocator, (size_t)size + 1);
    if (parser->reply.body == NULL) {
        return WEIRI_PARSE_NO_MEMORY;
    }
    parser->reply.body_size = (size_t)size;
    parser->reply.body[size] = '\0';
    parser->stage = size == 0 ? WEIRI_STAGE_CR : WEIRI_STAGE_BODY;
    return WEIRI_PARSE_MORE;
}

static enum weiri_parse read_operands(struct weiri_parser *parser, enum operands operands,
                                      const char *rest)
{
    struct weiri_reply *reply = &parser->reply;
    uint64_t size = 0;
    bool is_good = true;
    switch (operands) {
    case NOTHING:
        is_good = *rest == '\0';
        break;
    case ID:
        is_good = read_number(&rest, '\0', &reply->id) && reply->id != 0;
        break;
    case ID_OR_NOTHING:
        is_good = *rest == '\0' || (read_number(&rest, '\0', &reply->id) && reply->id != 0);
        break;
    case COUNT:
        is_good = read_number(&rest, '\0', &reply->count);
        break;
    case COUNT_OR_NOTHING:
        reply->count = 1;
        is_good = *rest == '\0' || read_number(&rest, '\0', &reply->count);
        break;
    case TUBE:
        is_good = weir_tube_check(rest, NULL) == WEIR_OK;
        if (is_good) {
            memcpy(reply->tube, rest, strlen(rest) + 1);
        }
        break;
    case BODY:
        is_good = read_number(&rest, '\0', &size);
        break;
    case ID_BODY:
        is_good = read_number(&rest, ' ', &reply->id) && reply->id != 0 &&
                  read_number(&rest, '\0', &size);
        break;
    }
    if (!is_good) {
        return refuse(parser, "a reply with operands that it cannot have");
    }
    return operands == BODY || operands == ID_BODY ? begin_body(parser, size) : WEIRI_PARSE_REPLY;
}

/* The line is complete and NUL-terminated. */
static enum weiri_parse read_line(struct weiri_parser *parser)
{
    const char *line = parser->line;
    size_t word = strcspn(line, " ");
    for (size_t i = 1; i < KIND_COUNT; i++) {
        if (strlen(kinds[i].name) == word && memcmp(kinds[i].name, line, word) == 0) {
            parser->reply.kind = (enum weiri_reply_kind)i;
            /* A space with nothing behind it is not how a reply without operands ends. */
            if (line[word] == ' ' && line[word + 1] == '\0') {
                return refuse(parser, "a reply with operands that it cannot have");
            }
            return read_operands(parser, kinds[i].operands,
                                 line[word] == ' ' ? line + word + 1 : line + word);
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

enum weiri_parse weiri_parser_feed(struct weiri_parser *parser, const char *bytes, size_t size,
                                   size_t *ret_used)
{
    struct weiri_reply *reply = &parser->reply;
    size_t used = 0;
    enum weiri_parse result = WEIRI_PARSE_MORE;
    while (used < size && result == WEIRI_PARSE_MORE) {
        char c = bytes[used];
        switch (parser->stage) {
        case WEIRI_STAGE_LINE:
            result = feed_line(parser, c);
            used++;
            break;
        case WEIRI_STAGE_BODY: {
            size_t missing = reply->body_size - parser->body_used;
            size_t count = size - used < missing ? size - used : missing;
            memcpy(reply->body + parser->body_used, bytes + used, count);
            parser->body_used += count;
            used += count;
            if (count == missing) {
                parser->stage = WEIRI_STAGE_CR;
            }
            break;
        }
        case WEIRI_STAGE_CR:
            result = c == '\r' ? WEIRI_PARSE_MORE : refuse(parser, "a body longer than its size");
            parser->stage = WEIRI_STAGE_LF;
            used++;
            break;
        case WEIRI_STAGE_LF:
            result = c == '\n' ? WEIRI_PARSE_REPLY : refuse(parser, "a body longer than its size");
            used++;
            break;
        }
    }
    *ret_used = used;
    return result;
}
