/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memfd_create */
#include "cli/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/harness.h"

static int file_of(const char *data, size_t size)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(pwrite(fd, data, size, 0), ==, size);
    return fd;
}

/* Reads everything and checks the pieces. */
static void check_pieces(const char *data, size_t size, int separator, const char *const *expected)
{
    struct lines lines;
    const char *piece = NULL;
    size_t piece_size = 0;
    uint64_t count = 0;
    lines_init(&lines, file_of(data, size), separator, 100);
    while (expected[count] != NULL) {
        CHECK_INT(lines_next(&lines, true, &piece, &piece_size), ==, LINES_PIECE);
        CHECK_INT(piece_size, ==, strlen(expected[count]));
        CHECK_INT(memcmp(piece, expected[count], piece_size), ==, 0);
        CHECK_INT(lines.number, ==, ++count);
    }
    CHECK_INT(lines_next(&lines, true, &piece, &piece_size), ==, LINES_END);
    CHECK_INT(lines_next(&lines, true, &piece, &piece_size), ==, LINES_END);
    (void)close(lines.fd);
    lines_fini(&lines);
}

TEST(line_by_line, "each line is a piece; the last one may lack its newline")
{
    check_pieces("", 0, '\n', (const char *const[]){NULL});
    check_pieces("a\nbc\n", 5, '\n', (const char *const[]){"a", "bc", NULL});
    check_pieces("a\n\nbc", 5, '\n', (const char *const[]){"a", "", "bc", NULL});
    check_pieces("\n", 1, '\n', (const char *const[]){"", NULL});
    check_pieces("a b\r\n", 5, '\n', (const char *const[]){"a b\r", NULL});
    check_pieces("a\nb\0c\n", 6, '\0', (const char *const[]){"a\nb", "c\n", NULL});
}

TEST(whole, "without a separator the stream is one piece, an empty one too")
{
    check_pieces("", 0, -1, (const char *const[]){"", NULL});
    check_pieces("a\nb\n", 4, -1, (const char *const[]){"a\nb\n", NULL});
}

TEST(too_long, "a piece may have size_max bytes and no more, with and without a separator after it")
{
    static const char *const texts[] = {"12345678\n", "12345678", "123456789\n", "123456789"};
    for (size_t i = 0; i < 4; i++) {
        struct lines lines;
        const char *piece = NULL;
        size_t size = 0;
        lines_init(&lines, file_of(texts[i], strlen(texts[i])), '\n', 8);
        CHECK_INT(lines_next(&lines, true, &piece, &size), ==,
                  i < 2 ? LINES_PIECE : LINES_TOO_LONG);
        CHECK_INT(lines.number, ==, 1);
        (void)close(lines.fd);
        lines_fini(&lines);
    }
}

TEST(endless, "a stream without a separator is given up soon after size_max")
{
    struct lines lines;
    const char *piece = NULL;
    size_t size = 0;
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    lines_init(&lines, fd, '\n', 1000000);
    CHECK_INT(lines_next(&lines, true, &piece, &size), ==, LINES_TOO_LONG);
    CHECK_INT(lines.capacity, <=, 4000000);
    (void)close(fd);
    lines_fini(&lines);
}

TEST(pending, "a caller that does not wait is told that nothing is there, and gets it later")
{
    struct lines lines;
    const char *piece = NULL;
    size_t size = 0;
    int pipes[2];
    CHECK_INT(pipe(pipes), ==, 0);
    lines_init(&lines, pipes[0], '\n', 100);
    CHECK_INT(lines_next(&lines, false, &piece, &size), ==, LINES_PENDING);
    CHECK_INT(write(pipes[1], "one\ntw", 6), ==, 6);
    CHECK_INT(lines_next(&lines, false, &piece, &size), ==, LINES_PIECE);
    CHECK_INT(size, ==, 3);
    CHECK_INT(lines_next(&lines, false, &piece, &size), ==, LINES_PENDING);
    CHECK_INT(write(pipes[1], "o\n", 2), ==, 2);
    CHECK_INT(lines_next(&lines, false, &piece, &size), ==, LINES_PIECE);
    CHECK_INT(memcmp(piece, "two", 3), ==, 0);
    (void)close(pipes[1]);
    CHECK_INT(lines_next(&lines, false, &piece, &size), ==, LINES_END);
    (void)close(pipes[0]);
    lines_fini(&lines);
}

TEST(unreadable, "an error of reading is passed on")
{
    struct lines lines;
    const char *piece = NULL;
    size_t size = 0;
    int fd = open(".", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    lines_init(&lines, fd, '\n', 100);
    CHECK_INT(lines_next(&lines, true, &piece, &size), ==, LINES_FAILED);
    CHECK_INT(errno, ==, EISDIR);
    (void)close(fd);
    lines_fini(&lines);
}

TEST(large, "many pieces of any size come back byte for byte")
{
    enum {
        SIZE = 3000000
    };
    char *data = malloc(SIZE);
    CHECK(data != NULL);
    for (size_t i = 0; i < SIZE; i++) {
        data[i] = test_random_below(5000) == 0 ? '\n' : (char)('a' + test_random_below(26));
    }
    data[SIZE - 1] = '\n';
    struct lines lines;
    const char *piece = NULL;
    size_t size = 0;
    size_t at = 0;
    lines_init(&lines, file_of(data, SIZE), '\n', SIZE);
    while (lines_next(&lines, true, &piece, &size) == LINES_PIECE) {
        CHECK_INT(at + size, <, SIZE);
        CHECK_INT(memcmp(piece, data + at, size), ==, 0);
        CHECK_INT(data[at + size], ==, '\n');
        at += size + 1;
    }
    CHECK_INT(at, ==, SIZE);
    (void)close(lines.fd);
    lines_fini(&lines);
    free(data);
}
