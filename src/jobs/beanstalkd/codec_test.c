/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/codec.h"

#include <stdio.h>

#include "support/harness.h"

#define BODY_MAX 1000

static void check_request(const struct weiri_request *request, const char *expected)
{
    char line[WEIRI_LINE_SIZE + 1];
    size_t size = 0;
    CHECK(weiri_request_write(request, line, &size));
    line[size] = '\0';
    CHECK_STRING(line, expected);
}

#define REQUEST(expected, ...) check_request(&(struct weiri_request){__VA_ARGS__}, expected)

TEST(writes_every_request, "each verb of the protocol is written as the protocol has it")
{
    REQUEST("put 7 1 60 9\r\n", .verb = WEIRI_PUT, .priority = 7, .delay_s = 1, .ttr_s = 60,
            .prefix = "12/", .prefix_size = 3, .body = "abcdef", .body_size = 6);
    REQUEST("use a\r\n", .verb = WEIRI_USE, .tube = "a");
    REQUEST("reserve-with-timeout 4294967295\r\n", .verb = WEIRI_RESERVE_TIMEOUT,
            .count = UINT32_MAX);
    REQUEST("reserve-job 18446744073709551615\r\n", .verb = WEIRI_RESERVE_JOB, .id = UINT64_MAX);
    REQUEST("delete 1\r\n", .verb = WEIRI_DELETE, .id = 1);
    REQUEST("release 1 4294967295 3\r\n", .verb = WEIRI_RELEASE, .id = 1, .priority = UINT32_MAX,
            .delay_s = 3);
    REQUEST("bury 1 2\r\n", .verb = WEIRI_BURY, .id = 1, .priority = 2);
    REQUEST("touch 1\r\n", .verb = WEIRI_TOUCH, .id = 1);
    REQUEST("watch a/b;c.$_(d)-\r\n", .verb = WEIRI_WATCH, .tube = "a/b;c.$_(d)-");
    REQUEST("ignore default\r\n", .verb = WEIRI_IGNORE, .tube = "default");
    REQUEST("peek 5\r\n", .verb = WEIRI_PEEK, .id = 5);
    REQUEST("peek-ready\r\n", .verb = WEIRI_PEEK_READY);
    REQUEST("peek-delayed\r\n", .verb = WEIRI_PEEK_DELAYED);
    REQUEST("peek-buried\r\n", .verb = WEIRI_PEEK_BURIED);
    REQUEST("kick-job 5\r\n", .verb = WEIRI_KICK_JOB, .id = 5);
    REQUEST("stats\r\n", .verb = WEIRI_STATS);
    REQUEST("stats-job 5\r\n", .verb = WEIRI_STATS_JOB, .id = 5);
    REQUEST("stats-tube a\r\n", .verb = WEIRI_STATS_TUBE, .tube = "a");
    REQUEST("list-tubes\r\n", .verb = WEIRI_LIST_TUBES);
    REQUEST("pause-tube a 30\r\n", .verb = WEIRI_PAUSE_TUBE, .tube = "a", .delay_s = 30);
}

TEST(smuggles_nothing, "a tube's name that could hold a second command is not written")
{
    static const char *const names[] = {"",      "a b",   "a\r\ndelete 1", "a\n", "a\r", "-a",
                                        "a\x7f", "a\x80", "a,b",           "a\"", "a:b"};
    static const enum weiri_verb verbs[] = {WEIRI_USE, WEIRI_WATCH, WEIRI_IGNORE, WEIRI_STATS_TUBE,
                                            WEIRI_PAUSE_TUBE};
    char line[WEIRI_LINE_SIZE];
    size_t size;
    for (size_t v = 0; v < sizeof(verbs) / sizeof(verbs[0]); v++) {
        struct weiri_request request = {.verb = verbs[v]};
        CHECK(!weiri_request_write(&request, line, &size));
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            request.tube = names[i];
            CHECK(!weiri_request_write(&request, line, &size));
        }
        char longest[WEIR_TUBE_SIZE_MAX + 2];
        memset(longest, 'x', sizeof(longest));
        longest[WEIR_TUBE_SIZE_MAX + 1] = '\0';
        request.tube = longest;
        CHECK(!weiri_request_write(&request, line, &size));
        longest[WEIR_TUBE_SIZE_MAX] = '\0';
        CHECK(weiri_request_write(&request, line, &size));
    }
    struct weiri_request put = {.verb = WEIRI_PUT, .prefix_size = 3, .body_size = SIZE_MAX - 1};
    CHECK(!weiri_request_write(&put, line, &size));
    put.body_size = (size_t)INT32_MAX - 4;
    CHECK(!weiri_request_write(&put, line, &size));
    put.body_size = (size_t)INT32_MAX - 5;
    CHECK(weiri_request_write(&put, line, &size));
}

/* Replies, with what they hold. */
static const struct {
    const char *bytes;
    size_t size; /* 0: the string's */
    enum weiri_reply_kind kind;
    uint64_t id;
    uint64_t count;
    const char *body;
    size_t body_size;
} good[] = {
    {"INSERTED 7\r\n", 0, WEIRI_INSERTED, 7, 0, NULL, 0},
    {"INSERTED 18446744073709551615\r\n", 0, WEIRI_INSERTED, UINT64_MAX, 0, NULL, 0},
    {"BURIED\r\n", 0, WEIRI_BURIED, 0, 0, NULL, 0},
    {"BURIED 3\r\n", 0, WEIRI_BURIED, 3, 0, NULL, 0},
    {"EXPECTED_CRLF\r\n", 0, WEIRI_EXPECTED_CRLF, 0, 0, NULL, 0},
    {"JOB_TOO_BIG\r\n", 0, WEIRI_JOB_TOO_BIG, 0, 0, NULL, 0},
    {"DRAINING\r\n", 0, WEIRI_DRAINING, 0, 0, NULL, 0},
    {"USING a/b\r\n", 0, WEIRI_USING, 0, 0, NULL, 0},
    {"RESERVED 9 5\r\nhello\r\n", 0, WEIRI_RESERVED, 9, 0, "hello", 5},
    {"RESERVED 9 0\r\n\r\n", 0, WEIRI_RESERVED, 9, 0, "", 0},
    {"RESERVED 9 6\r\n\0\r\n\r\nX\r\n", 22, WEIRI_RESERVED, 9, 0, "\0\r\n\r\nX", 6},
    {"RESERVED 9 5\r\nhel\0\0\0\0", 21, WEIRI_RESERVED, 9, 0, NULL, 0},
    {"DEADLINE_SOON\r\n", 0, WEIRI_DEADLINE_SOON, 0, 0, NULL, 0},
    {"TIMED_OUT\r\n", 0, WEIRI_TIMED_OUT, 0, 0, NULL, 0},
    {"DELETED\r\n", 0, WEIRI_DELETED, 0, 0, NULL, 0},
    {"RELEASED\r\n", 0, WEIRI_RELEASED, 0, 0, NULL, 0},
    {"TOUCHED\r\n", 0, WEIRI_TOUCHED, 0, 0, NULL, 0},
    {"WATCHING 2\r\n", 0, WEIRI_WATCHING, 0, 2, NULL, 0},
    {"NOT_IGNORED\r\n", 0, WEIRI_NOT_IGNORED, 0, 0, NULL, 0},
    {"FOUND 4 2\r\n\r\n\r\n", 0, WEIRI_FOUND, 4, 0, "\r\n", 2},
    {"FOUND 4 2\r\n\0\0\0\0", 15, WEIRI_FOUND, 4, 0, NULL, 0},
    {"KICKED 3\r\n", 0, WEIRI_KICKED, 0, 3, NULL, 0},
    {"KICKED 0\r\n", 0, WEIRI_KICKED, 0, 0, NULL, 0},
    {"KICKED\r\n", 0, WEIRI_KICKED, 0, 1, NULL, 0},
    {"OK 4\r\n---\n\r\n", 0, WEIRI_OK_BODY, 0, 0, "---\n", 4},
    {"PAUSED\r\n", 0, WEIRI_PAUSED, 0, 0, NULL, 0},
    {"NOT_FOUND\r\n", 0, WEIRI_NOT_FOUND, 0, 0, NULL, 0},
    {"OUT_OF_MEMORY\r\n", 0, WEIRI_OUT_OF_MEMORY, 0, 0, NULL, 0},
    {"INTERNAL_ERROR\r\n", 0, WEIRI_INTERNAL_ERROR, 0, 0, NULL, 0},
    {"BAD_FORMAT\r\n", 0, WEIRI_BAD_FORMAT, 0, 0, NULL, 0},
    {"UNKNOWN_COMMAND\r\n", 0, WEIRI_UNKNOWN_COMMAND, 0, 0, NULL, 0},
};

#define GOOD_COUNT (sizeof(good) / sizeof(good[0]))

static size_t good_size(size_t i)
{
    return good[i].size != 0 ? good[i].size : strlen(good[i].bytes);
}

static void check_reply(const struct weiri_parser *parser, size_t i)
{
    CHECK_INT(parser->reply.kind, ==, good[i].kind);
    CHECK(parser->reply.id == good[i].id);
    CHECK(parser->reply.count == good[i].count);
    CHECK_INT(parser->reply.body_size, ==, good[i].body_size);
    CHECK((parser->reply.body == NULL) == (good[i].body == NULL));
    CHECK(good[i].body == NULL || memcmp(parser->reply.body, good[i].body, good[i].body_size) == 0);
}

TEST(reads_replies_split_at_every_byte, "each reply is read in one piece and in any two")
{
    struct weiri_parser parser = {.allocator = test_allocator(), .body_size_max = BODY_MAX};
    for (size_t i = 0; i < GOOD_COUNT; i++) {
        size_t size = good_size(i);
        for (size_t split = 0; split < size; split++) {
            size_t used = 0;
            CHECK_INT(weiri_parser_feed(&parser, good[i].bytes, split, &used), ==,
                      WEIRI_PARSE_MORE);
            CHECK_INT(used, ==, split);
            CHECK_INT(weiri_parser_feed(&parser, good[i].bytes + split, size - split, &used), ==,
                      WEIRI_PARSE_REPLY);
            CHECK_INT(used, ==, size - split);
            check_reply(&parser, i);
            weiri_parser_next(&parser);
        }
    }
    weiri_parser_next(&parser);
}

TEST(reads_pipelined_replies, "replies that arrive together are told apart, whatever the pieces")
{
    char all[4096];
    size_t total = 0;
    for (size_t i = 0; i < GOOD_COUNT; i++) {
        memcpy(all + total, good[i].bytes, good_size(i));
        total += good_size(i);
    }
    for (size_t piece = 1; piece <= total; piece++) {
        struct weiri_parser parser = {.allocator = test_allocator(), .body_size_max = BODY_MAX};
        size_t seen = 0;
        for (size_t start = 0; start < total; start += piece) {
            size_t end = start + piece < total ? start + piece : total;
            size_t at = start;
            while (at < end) {
                size_t used;
                enum weiri_parse result = weiri_parser_feed(&parser, all + at, end - at, &used);
                at += used;
                if (result == WEIRI_PARSE_REPLY) {
                    check_reply(&parser, seen++);
                    weiri_parser_next(&parser);
                } else {
                    CHECK_INT(result, ==, WEIRI_PARSE_MORE);
                }
            }
        }
        CHECK_INT(seen, ==, GOOD_COUNT);
        weiri_parser_next(&parser);
    }
}

TEST(refuses_bad_replies, "bytes that are no reply are refused, however they are split")
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
        {"\r\n", 0},
        {"\n", 0},
        {"HELLO\r\n", 0},
        {"inserted 1\r\n", 0},
        {"INSERTED\r\n", 0},
        {"INSERTED 0\r\n", 0},
        {"INSERTED 01\r\n", 0},
        {"INSERTED -1\r\n", 0},
        {"INSERTED +1\r\n", 0},
        {"INSERTED  1\r\n", 0},
        {"INSERTED 1 \r\n", 0},
        {"INSERTED 1 2\r\n", 0},
        {"INSERTED 1x\r\n", 0},
        {"INSERTED 18446744073709551616\r\n", 0},
        {"INSERTED 99999999999999999999999999999\r\n", 0},
        {"INSERTED 1\n", 0},
        {"INSERTED 1\rX", 0},
        {"INSERTED 1\r\r\n", 0},
        {"INSERTED\0 1\r\n", 13},
        {"DELETED 1\r\n", 0},
        {"DELETED \r\n", 0},
        {" DELETED\r\n", 0},
        {"BURIED 0\r\n", 0},
        {"USING\r\n", 0},
        {"USING \r\n", 0},
        {"USING a b\r\n", 0},
        {"USING -a\r\n", 0},
        {"USING a,b\r\n", 0},
        {"RESERVED 1\r\n", 0},
        {"RESERVED 1 \r\n", 0},
        {"RESERVED 0 1\r\nx\r\n", 0},
        {"RESERVED 1 -1\r\n", 0},
        {"OK 1001\r\n", 0},
        {"RESERVED 1 2147483648\r\n", 0},
        {"RESERVED 1 18446744073709551615\r\n", 0},
        {"RESERVED 1 2\r\nabc\r\n", 0},
        {"RESERVED 1 2\r\nab\n\r", 0},
        {"RESERVED 1 2\r\nab\r\r", 0},
        {"RESERVED 1 3\r\nab\r\nX", 0},
        {"RESERVED 1 2\r\nab\0\n", 18},
        {"OK 2\r\nab\0\0", 10},
        {"FOUND 1 1 1\r\nx\r\n", 0},
        {"OK\r\n", 0},
        {"OK x\r\n", 0},
        {"WATCHING\r\n", 0},
        {"WATCHING x\r\n", 0},
        {"KICKED x\r\n", 0},
        {"DELETED\x80\r\n", 0},
        {"DELETED\x1b[2J\r\n", 0},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t size = bad[i].size != 0 ? bad[i].size : strlen(bad[i].bytes);
        for (size_t split = 0; split < size; split++) {
            struct weiri_parser parser = {.allocator = test_allocator(), .body_size_max = BODY_MAX};
            size_t used;
            enum weiri_parse result = weiri_parser_feed(&parser, bad[i].bytes, split, &used);
            if (result == WEIRI_PARSE_MORE) {
                result = weiri_parser_feed(&parser, bad[i].bytes + split, size - split, &used);
            }
            if (result != WEIRI_PARSE_BAD) {
                test_fail(__FILE__, __LINE__, "row %zu (%s) split at %zu: %d", i, bad[i].bytes,
                          split, (int)result);
            }
            CHECK(parser.why != NULL);
            weiri_parser_next(&parser);
        }
    }
}

TEST(refuses_an_endless_line, "a line that never ends is refused within its bound")
{
    struct weiri_parser parser = {.allocator = test_allocator(), .body_size_max = BODY_MAX};
    char line[WEIRI_LINE_SIZE + 1];
    memset(line, 'A', sizeof(line));
    size_t used;
    CHECK_INT(weiri_parser_feed(&parser, line, sizeof(line), &used), ==, WEIRI_PARSE_BAD);
    CHECK_INT(test_allocated_blocks(), ==, 0);
    weiri_parser_next(&parser);
}

TEST(skips_a_long_body, "a job that is longer than allowed is told without its body, whatever the "
                        "pieces, and the reply behind it is read")
{
    char bytes[32 + BODY_MAX + 1];
    int start = snprintf(bytes, sizeof(bytes), "RESERVED 7 %d\r\n", BODY_MAX + 1);
    memset(bytes + start, '\n', BODY_MAX + 1);
    size_t size = (size_t)start + BODY_MAX + 1;
    memcpy(bytes + size, "\r\n", 2);
    for (size_t split = 1; split < size + 2; split++) {
        struct weiri_parser parser;
        size_t used;
        parser = (struct weiri_parser){.allocator = test_allocator(), .body_size_max = BODY_MAX};
        CHECK_INT(weiri_parser_feed(&parser, bytes, split, &used), ==, WEIRI_PARSE_MORE);
        CHECK_INT(weiri_parser_feed(&parser, bytes + split, size + 2 - split, &used), ==,
                  WEIRI_PARSE_REPLY);
        CHECK_INT(parser.reply.kind, ==, WEIRI_RESERVED);
        CHECK(parser.reply.id == 7 && parser.reply.body == NULL && parser.reply.body_size == 0);
        CHECK_INT(test_allocated_blocks(), ==, 0);
        weiri_parser_next(&parser);
        CHECK_INT(weiri_parser_feed(&parser, "DELETED\r\n", 9, &used), ==, WEIRI_PARSE_REPLY);
        weiri_parser_next(&parser);
    }
}

TEST_OOM(lacks_memory_for_a_body, "a body that no memory is there for is told, and nothing leaks")
{
    struct weiri_parser parser = {.allocator = test_allocator(), .body_size_max = BODY_MAX};
    static const char bytes[] = "RESERVED 1 3\r\nabc\r\n";
    size_t used;
    enum weiri_parse result = weiri_parser_feed(&parser, bytes, sizeof(bytes) - 1, &used);
    if (result == WEIRI_PARSE_NO_MEMORY) {
        CHECK(CHECK_OR_OOM(WEIR_ENOMEM));
    } else {
        CHECK_INT(result, ==, WEIRI_PARSE_REPLY);
    }
    weiri_parser_next(&parser);
}

TEST(knows_which_reply_fits, "a reply of another verb is one that is out of step")
{
    struct weiri_reply reply = {.kind = WEIRI_DELETED};
    CHECK(weiri_reply_fits(WEIRI_DELETE, &reply));
    CHECK(!weiri_reply_fits(WEIRI_TOUCH, &reply));
    CHECK(!weiri_reply_fits(WEIRI_PUT, &reply));
    reply.kind = WEIRI_OUT_OF_MEMORY;
    for (int verb = WEIRI_PUT; verb <= WEIRI_PAUSE_TUBE; verb++) {
        CHECK(weiri_reply_fits((enum weiri_verb)verb, &reply));
        CHECK(weiri_verb_name((enum weiri_verb)verb) != NULL);
    }
    reply.kind = WEIRI_BURIED;
    CHECK(!weiri_reply_fits(WEIRI_PUT, &reply));
    CHECK(weiri_reply_fits(WEIRI_BURY, &reply));
    CHECK(weiri_reply_fits(WEIRI_RELEASE, &reply));
    reply.id = 4;
    CHECK(weiri_reply_fits(WEIRI_PUT, &reply));
    CHECK(!weiri_reply_fits(WEIRI_BURY, &reply));
    reply.kind = WEIRI_DRAINING;
    CHECK(weiri_reply_fits(WEIRI_PUT, &reply));
    CHECK(!weiri_reply_fits(WEIRI_RELEASE, &reply));
    CHECK(weiri_reply_is_fatal(WEIRI_JOB_TOO_BIG));
    CHECK(weiri_reply_is_fatal(WEIRI_BAD_FORMAT));
    CHECK(!weiri_reply_is_fatal(WEIRI_NOT_FOUND));
    CHECK(!weiri_reply_is_fatal(WEIRI_DRAINING));
    CHECK_STRING(weiri_reply_name(WEIRI_DRAINING), "DRAINING");
}

TEST(reads_statistics, "numbers, texts and lists of tubes are found in what a node tells")
{
    static const char stats[] = "---\nid: 5\ntube: \"a/b\"\nstate: ready\npri: 4294967295\nage: 0\n"
                                "odd\nbig: 99999999999999999999\nneg: -1\nempty: \ndraining: false";
    size_t size = sizeof(stats) - 1;
    uint64_t number = 0;
    char text[8];
    CHECK(weiri_stats_number(stats, size, "pri", &number) && number == UINT32_MAX);
    CHECK(weiri_stats_number(stats, size, "age", &number) && number == 0);
    CHECK(!weiri_stats_number(stats, size, "ag", &number));
    CHECK(!weiri_stats_number(stats, size, "big", &number));
    CHECK(!weiri_stats_number(stats, size, "neg", &number));
    CHECK(!weiri_stats_number(stats, size, "empty", &number));
    CHECK(!weiri_stats_number(stats, size, "odd", &number));
    CHECK(!weiri_stats_number(stats, 0, "id", &number));
    CHECK(weiri_stats_text(stats, size, "tube", text, sizeof(text)));
    CHECK_STRING(text, "a/b");
    CHECK(weiri_stats_text(stats, size, "draining", text, sizeof(text)));
    CHECK_STRING(text, "false");
    CHECK(!weiri_stats_text(stats, size, "state", text, 5));
    static const char list[] = "---\n- default\n- \"a/b\"\n-bad\n- a b\n- \n- last";
    char tube[WEIR_TUBE_SIZE_MAX + 1];
    size_t offset = 0;
    CHECK(weiri_stats_next_tube(list, sizeof(list) - 1, &offset, tube));
    CHECK_STRING(tube, "default");
    CHECK(weiri_stats_next_tube(list, sizeof(list) - 1, &offset, tube));
    CHECK_STRING(tube, "a/b");
    CHECK(weiri_stats_next_tube(list, sizeof(list) - 1, &offset, tube));
    CHECK_STRING(tube, "last");
    CHECK(!weiri_stats_next_tube(list, sizeof(list) - 1, &offset, tube));
}

/* What a node does with a put, what it has of the job then, and whether a delete can reach it. */
static const struct {
    enum weiri_delivery delivery;
    enum weiri_reply_kind reply;
    bool is_there;   /* the job can run there, at least after a kick */
    bool is_certain; /* the client knows */
} behaviours[] = {
    {WEIRI_ANSWERED, WEIRI_INSERTED, true, true},
    {WEIRI_NOT_SENT, 0, false, true}, /* connection refused */
    {WEIRI_LOST, 0, true, false},     /* hangs, and did it */
    {WEIRI_LOST, 0, false, false},    /* closed after it was sent, and did not */
    {WEIRI_ANSWERED, WEIRI_BURIED, true, true},
    {WEIRI_ANSWERED, WEIRI_DRAINING, false, true},
    {WEIRI_ANSWERED, WEIRI_OUT_OF_MEMORY, false, true},
    {WEIRI_ANSWERED, WEIRI_JOB_TOO_BIG, false, true},
    {WEIRI_ANSWERED, WEIRI_INTERNAL_ERROR, true, false}, /* says nothing */
};

#define KINDS (sizeof(behaviours) / sizeof(behaviours[0]))

/* Puts on three nodes and takes back where that is asked for. deletes: bit i says that node i
 * answers the delete. */
static void check_case(const size_t kinds[3], unsigned deletes)
{
    enum weiri_copy_state copies[3];
    size_t inserted = 0;
    bool can_run = false;
    for (size_t i = 0; i < 3; i++) {
        copies[i] = weiri_copy_of_put(behaviours[kinds[i]].delivery, behaviours[kinds[i]].reply);
        inserted += behaviours[kinds[i]].reply == WEIRI_INSERTED;
        CHECK(behaviours[kinds[i]].is_there || copies[i] != WEIRI_COPY_WRITTEN);
        CHECK(!behaviours[kinds[i]].is_there || copies[i] != WEIRI_COPY_ABSENT);
    }
    size_t written = 0;
    for (size_t i = 0; i < 3; i++) {
        written += copies[i] == WEIRI_COPY_WRITTEN;
    }
    CHECK_INT(written, ==, inserted);
    if (written >= 2) {
        return; /* accepted */
    }
    for (size_t i = 0; i < 3; i++) {
        bool is_there = behaviours[kinds[i]].is_there;
        if (weiri_copy_has_id(behaviours[kinds[i]].reply)) {
            bool is_deleted = (deletes >> i & 1) != 0;
            copies[i] = weiri_copy_of_delete(is_deleted ? WEIRI_DELETED : 0);
            is_there = !is_deleted;
        }
        can_run = can_run || is_there;
    }
    bool is_refused = true;
    bool is_certain = true;
    for (size_t i = 0; i < 3; i++) {
        size_t kind = kinds[i];
        bool has_id = weiri_copy_has_id(behaviours[kind].reply);
        is_refused = is_refused && copies[i] == WEIRI_COPY_ABSENT;
        is_certain = is_certain && (has_id ? (deletes >> i & 1) != 0 : behaviours[kind].is_certain);
    }
    CHECK(!is_refused || !can_run);
    CHECK(is_refused == is_certain); /* else unknown */
}

TEST(judges_every_outcome, "each of 729 outcomes of three nodes, with every outcome of the deletes "
                           "that follow, is accepted, refused or unknown as it must be")
{
    size_t cases = 0;
    for (size_t a = 0; a < KINDS; a++) {
        for (size_t b = 0; b < KINDS; b++) {
            for (size_t c = 0; c < KINDS; c++) {
                const size_t kinds[3] = {a, b, c};
                for (unsigned deletes = 0; deletes < 8; deletes++) {
                    check_case(kinds, deletes);
                }
                cases++;
            }
        }
    }
    CHECK_INT(cases, ==, 729);
}

TEST(not_found_is_not_taken_back, "a copy that a delete did not find may be in a worker's hand")
{
    CHECK_INT(weiri_copy_of_delete(WEIRI_NOT_FOUND), ==, WEIRI_COPY_MAYBE);
    CHECK_INT(weiri_copy_of_delete(0), ==, WEIRI_COPY_MAYBE);
    CHECK_INT(weiri_copy_of_delete(WEIRI_DELETED), ==, WEIRI_COPY_ABSENT);
}
