/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Replies of a node: any bytes are read or refused, the same however they are split, and what is
 * read would be written so. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "jobs/beanstalkd/codec.h"

#define BODY_MAX 4096

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static void check_reply(const struct weiri_reply *reply)
{
    WEIRI_ASSERT(weiri_reply_name(reply->kind) != NULL);
    WEIRI_ASSERT(reply->body == NULL || reply->body[reply->body_size] == '\0');
    if (reply->body != NULL) {
        uint64_t number;
        char text[16];
        char tube[WEIR_TUBE_SIZE_MAX + 1];
        size_t offset = 0;
        (void)weiri_stats_number(reply->body, reply->body_size, "ttr", &number);
        (void)weiri_stats_text(reply->body, reply->body_size, "state", text, sizeof(text));
        while (weiri_stats_next_tube(reply->body, reply->body_size, &offset, tube)) {
            WEIRI_ASSERT(weir_tube_check(tube, NULL) == WEIR_OK);
        }
    }
}

/* Reads all replies, piece bytes at a time, and returns a number made of them. */
static uint64_t read_all(const struct weir_allocator *allocator, const char *bytes, size_t size,
                         size_t piece)
{
    struct weiri_parser parser = {.allocator = allocator, .body_size_max = BODY_MAX};
    uint64_t hash = 0;
    enum weiri_parse result = WEIRI_PARSE_MORE;
    size_t at = 0;
    while (at < size && result == WEIRI_PARSE_MORE) {
        size_t count = size - at < piece ? size - at : piece;
        size_t used;
        result = weiri_parser_feed(&parser, bytes + at, count, &used);
        WEIRI_ASSERT(used <= count && (used == count || result != WEIRI_PARSE_MORE));
        at += used;
        if (result == WEIRI_PARSE_REPLY) {
            check_reply(&parser.reply);
            hash = mix(hash, &parser.reply.kind, sizeof(parser.reply.kind));
            hash = mix(hash, &parser.reply.id, sizeof(parser.reply.id));
            hash = mix(hash, parser.reply.body, parser.reply.body_size);
            weiri_parser_next(&parser);
            result = WEIRI_PARSE_MORE;
        }
    }
    hash = mix(hash, &result, sizeof(result));
    hash = mix(hash, &at, sizeof(at));
    weiri_parser_next(&parser);
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_allocator allocator;
    WEIRI_ASSERT(weiri_allocator_init(&allocator, NULL, NULL) == WEIR_OK);
    char *copy = malloc(size + 1); /* of its exact size, for the sanitizers to watch */
    WEIRI_ASSERT(copy != NULL);
    memcpy(copy, data, size);
    uint64_t whole = read_all(&allocator, copy, size, SIZE_MAX);
    WEIRI_ASSERT(whole == read_all(&allocator, copy, size, 1));
    WEIRI_ASSERT(whole == read_all(&allocator, copy, size, 7));
    free(copy);
    return 0;
}
