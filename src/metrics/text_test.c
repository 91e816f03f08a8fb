/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "metrics/text.h"

#include "support/harness.h"

/* A receiver that keeps the text, and refuses one piece. */
struct sink {
    size_t size;
    unsigned pieces;
    unsigned refuse; /* the number of the piece to refuse; 0: none */
    char text[3 * WEIRI_TEXT_PIECE];
};

static int receive(const char *text, size_t size, void *arg)
{
    struct sink *sink = arg;
    CHECK(size > 0 && size <= WEIRI_TEXT_PIECE);
    if (++sink->pieces == sink->refuse) {
        return WEIR_EUSER + 5;
    }
    CHECK_INT(sink->size + size, <, sizeof(sink->text));
    memcpy(sink->text + sink->size, text, size);
    sink->size += size;
    sink->text[sink->size] = '\0';
    return WEIR_OK;
}

static struct sink sink;
static struct weiri_text text;

static void begin(void)
{
    memset(&sink, 0, sizeof(sink));
    weiri_text_init(&text, receive, &sink);
}

static const char *end(void)
{
    CHECK_STATUS(weiri_text_end(&text), WEIR_OK);
    return sink.text;
}

TEST(escapes, "what would end a line or a label's value is escaped")
{
    begin();
    weiri_text_add_escaped(&text, "a\"b\\c\nd", true);
    CHECK_STRING(end(), "a\\\"b\\\\c\\nd");
    begin();
    weiri_text_add_escaped(&text, "a\"b\\c\nd", false);
    CHECK_STRING(end(), "a\"b\\\\c\\nd");
}

TEST(counts, "counts are decimal numbers, up to the largest")
{
    begin();
    weiri_text_add_count(&text, 0);
    weiri_text_add(&text, " ");
    weiri_text_add_count(&text, 1200);
    weiri_text_add(&text, " ");
    weiri_text_add_count(&text, UINT64_MAX);
    CHECK_STRING(end(), "0 1200 18446744073709551615");
}

TEST(seconds, "nanoseconds are exact seconds without needless digits")
{
    static const struct {
        weiri_wide duration_ns;
        const char *written;
    } rows[] = {
        {0, "0"},
        {1, "0.000000001"},
        {100, "0.0000001"},
        {1500000000, "1.5"},
        {60000000000, "60"},
        {INT64_MAX, "9223372036.854775807"},
        {(weiri_wide)INT64_MAX * 1000, "9223372036854.775807"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin();
        weiri_text_add_seconds(&text, rows[i].duration_ns);
        CHECK_STRING(end(), rows[i].written);
    }
}

TEST(pieces, "a long text comes in full pieces and a rest")
{
    begin();
    for (int i = 0; i < WEIRI_TEXT_PIECE; i++) {
        weiri_text_add(&text, "ab");
    }
    weiri_text_add(&text, "!");
    CHECK_INT(strlen(end()), ==, 2 * WEIRI_TEXT_PIECE + 1);
    CHECK_INT(sink.pieces, ==, 3);
    for (size_t i = 0; i < 2 * WEIRI_TEXT_PIECE; i++) {
        CHECK_INT(sink.text[i], ==, "ab"[i % 2]);
    }
}

TEST(nothing, "no text is no piece")
{
    begin();
    CHECK_STRING(end(), "");
    CHECK_INT(sink.pieces, ==, 0);
}

TEST(refused, "after a refusal nothing more is passed on, and the refusal is the result")
{
    begin();
    sink.refuse = 2;
    for (int i = 0; i < 2 * WEIRI_TEXT_PIECE; i++) {
        weiri_text_add(&text, "abc");
    }
    CHECK_INT(weiri_text_end(&text), ==, WEIR_EUSER + 5);
    CHECK_INT(sink.pieces, ==, 2);
    CHECK_INT(sink.size, ==, WEIRI_TEXT_PIECE);
}

TEST(utf8, "UTF-8 is distinguished from bytes that resemble it")
{
    static const char *const good[] = {
        "",
        "a",
        "\x7f",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "x\xe2\x82\xac y",
    };
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2 ",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xe2\x82",
        "\xe2\x82 ",
        "\xe2\x82\xc0",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "a\xf0\x90\x80",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        CHECK(weiri_text_is_utf8(good[i]));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(!weiri_text_is_utf8(bad[i]));
    }
}
