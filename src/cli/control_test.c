/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cli/control.h"

#include <string.h>
#include <unistd.h>

#include <weir/clock.h>
#include <weir/duration.h>

#include "cli/pipes.h"
#include "support/harness.h"

static const struct weir_job job = {.id = "17"};

/* Hands lines to a run that has a minute. */
static struct control_run tell(const char *text)
{
    struct control control = {.used = 0};
    int writer;
    struct control_run run = control_begin(NULL, &job, WEIR_SECONDS(60));
    CHECK_INT(pipe_open(&control.reader, &writer), ==, 0);
    CHECK_INT(write(writer, text, strlen(text)), ==, (ssize_t)strlen(text));
    pipe_close(&writer);
    control_finish(&control, &run);
    CHECK_INT(control.reader, ==, -1);
    return run;
}

TEST(told, "each line is understood; of several the last one counts")
{
    struct control_run run = tell("retry 10m\nresult 2 pages,  3 pictures\n");
    CHECK_INT(run.retry_ns, ==, WEIR_SECONDS(600));
    CHECK_STRING(run.result, "2 pages,  3 pictures");
    CHECK(!run.is_buried && !run.has_complained);
    run = tell("retry 10m\nbury no such address\n");
    CHECK(run.is_buried);
    CHECK_INT(run.retry_ns, ==, 0);
    CHECK_STRING(run.reason, "no such address");
    run = tell("bury\nretry 1s");
    CHECK(!run.is_buried);
    CHECK_INT(run.retry_ns, ==, WEIR_SECONDS(1));
    run = tell("bury\n");
    CHECK_STRING(run.reason, "buried by its handler");
    CHECK(!run.has_complained);
}

TEST(deadline, "touch begins the deadline anew, deadline sets another one or none")
{
    struct control_run run = tell("deadline 10m\n");
    CHECK_INT(run.allowed_ns, ==, WEIR_SECONDS(600));
    CHECK_INT(control_left(&run), >, WEIR_SECONDS(60));
    run = tell("deadline none\n");
    CHECK_INT(control_left(&run), ==, WEIR_FOREVER);
    int64_t before = weir_clock_now(weir_clock_monotonic());
    run = tell("touch\n");
    CHECK_INT(run.until_ns, >=, before + WEIR_SECONDS(60));
    CHECK(!run.has_complained);
    run = control_begin(NULL, &job, 0);
    CHECK_INT(control_left(&run), ==, WEIR_FOREVER);
    run = control_begin(NULL, &job, WEIR_FOREVER);
    CHECK_INT(control_left(&run), ==, WEIR_FOREVER);
    run.until_ns = 1;
    CHECK_INT(control_left(&run), ==, 0);
}

TEST(refused, "a line that makes no sense is told of and changes nothing")
{
    static const char *const lines[] = {
        "progress\n",
        "progress 101\n",
        "progress -1\n",
        "progress 4x\n",
        "touch it\n",
        "deadline\n",
        "deadline 5\n",
        "deadline 0s\n",
        "retry\n",
        "retry never\n",
        "result\n",
        "results x\n",
        "progress  50 too\n",
        "\n",
        "Progress 4\n",
        "retry 0s\n",
        "deadline -1s\n",
        "progress 99999999999999999999\n",
    };
    struct control_run quiet = tell("");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct control_run run = tell(lines[i]);
        if (!run.has_complained) {
            test_fail(__FILE__, __LINE__, "%s: was understood", lines[i]);
        }
        CHECK(run.retry_ns == 0 && !run.is_buried && run.result[0] == '\0');
        CHECK_INT(run.allowed_ns, ==, quiet.allowed_ns);
    }
}

TEST(long_line, "a line that is too long is told of, and the next one is read")
{
    char text[3 * CONTROL_LINE_SIZE];
    memset(text, 'x', sizeof(text));
    memcpy(text, "bury ", 5);
    memcpy(text + sizeof(text) - 10, "\nretry 1s", 10);
    struct control_run run = tell(text);
    CHECK(run.has_complained);
    CHECK(!run.is_buried);
    CHECK_INT(run.retry_ns, ==, WEIR_SECONDS(1));
}

TEST(nobody, "what is told while there is no run is dropped, and reading never blocks")
{
    struct control control = {.used = 0};
    int writer;
    CHECK_INT(pipe_open(&control.reader, &writer), ==, 0);
    control_read(&control, NULL);
    CHECK_INT(write(writer, "bury x\n", 7), ==, 7);
    control_read(&control, NULL);
    CHECK_INT(control.used, ==, 0);
    CHECK(control.reader >= 0);
    pipe_close(&control.reader);
    pipe_close(&writer);
    CHECK(control.reader == -1 && writer == -1);
}
