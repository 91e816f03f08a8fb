/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sys/wait.h>
#include <unistd.h>

#include <weir/duration.h>
#include <weir/queue.h>

#include "conformance/bad_input.h"

/* Bad input to clocks, durations and statuses. */

/* ---- Clocks ---- */

static enum weir_status make_clock(int64_t start_ns, const struct weir_allocator *allocator)
{
    weir_clock *untouched = (weir_clock *)&rows;
    weir_clock *clock = untouched;
    enum weir_status status = weir_clock_manual_new(start_ns, allocator, &clock);
    CHECK((clock == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        CHECK_INT(weir_clock_now(clock), ==, start_ns);
        weir_clock_free(clock);
    }
    return status;
}

ROW(weir_clock_manual_new, start_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(make_clock(-1, test_allocator()), WEIR_ERANGE);
    return make_clock(INT64_MIN, test_allocator());
}

ROW(weir_clock_manual_new, start_ns, most, WEIR_OK)
{
    return make_clock(INT64_MAX, test_allocator());
}

ROW(weir_clock_manual_new, allocator, null, WEIR_OK)
{
    return make_clock(0, NULL);
}

ROW(weir_clock_manual_new, allocator, partial, WEIR_EINVAL)
{
    struct weir_allocator allocator = *test_allocator();
    allocator.alloc = NULL;
    return make_clock(0, &allocator);
}

ROW(weir_clock_manual_new, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return make_clock(0, test_allocator());
}

ROW(weir_clock_manual_new, ret_clock, null, WEIR_EINVAL)
{
    return weir_clock_manual_new(0, test_allocator(), NULL);
}

ROW(weir_clock_advance, clock, null, WEIR_EINVAL)
{
    return weir_clock_advance(NULL, 1);
}

ROW(weir_clock_advance, clock, real, WEIR_EINVAL)
{
    return weir_clock_advance(weir_clock_monotonic(), 1);
}

ROW(weir_clock_advance, step_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(weir_clock_advance(w->f.clock, -1), WEIR_ERANGE);
    enum weir_status status = weir_clock_advance(w->f.clock, INT64_MIN);
    CHECK_INT(weir_clock_now(w->f.clock), ==, START);
    return status;
}

ROW(weir_clock_advance, step_ns, most, WEIR_ERANGE)
{
    CHECK_STATUS(weir_clock_advance(w->f.clock, INT64_MAX - START + 1), WEIR_ERANGE);
    enum weir_status status = weir_clock_advance(w->f.clock, INT64_MAX);
    CHECK_INT(weir_clock_now(w->f.clock), ==, START);
    return status;
}

ROW(weir_clock_now, clock, null, WEIR_OK)
{
    CHECK_INT(weir_clock_now(NULL), ==, 0);
    return WEIR_OK;
}

ROW(weir_clock_free, clock, null, WEIR_OK)
{
    return weir_clock_free(NULL);
}

ROW(weir_clock_free, clock, forked, WEIR_EFORKED)
{
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(0, NULL, &clock), WEIR_OK);
    pid_t child = fork();
    CHECK_INT(child, >=, 0);
    if (child == 0) {
        _exit((int)weir_clock_free(clock));
    }
    int ended;
    CHECK_INT(waitpid(child, &ended, 0), ==, child);
    CHECK(WIFEXITED(ended));
    CHECK_STATUS(weir_clock_free(clock), WEIR_OK);
    return (enum weir_status)WEXITSTATUS(ended);
}

ROW(weir_clock_free, clock, in_use, WEIR_EBUSY)
{
    struct weir_queue_options options = {0};
    weir_queue *queue;
    CHECK_STATUS(weir_clock_manual_new(0, NULL, &options.clock), WEIR_OK);
    CHECK_STATUS(weir_queue_new(&options, &queue, NULL), WEIR_OK);
    enum weir_status status = weir_clock_free(options.clock);
    weir_queue_free(queue);
    CHECK_STATUS(weir_clock_free(options.clock), WEIR_OK);
    return status;
}

ROW(weir_clock_free, clock, real, WEIR_OK)
{
    weir_clock_free(weir_clock_monotonic());
    CHECK_INT(weir_clock_now(weir_clock_monotonic()), >, 0);
    return WEIR_OK;
}

/* ---- Durations and statuses ---- */

static enum weir_status parse(const char *text, size_t expected_offset)
{
    int64_t ns = UNTOUCHED;
    size_t offset = UNTOUCHED;
    enum weir_status status = weir_duration_parse(text, &ns, &offset);
    CHECK(status != WEIR_OK);
    CHECK_INT(ns, ==, UNTOUCHED);
    CHECK_INT(offset, ==, expected_offset);
    return status;
}

ROW(weir_duration_parse, text, null, WEIR_EINVAL)
{
    return parse(NULL, 0);
}

ROW(weir_duration_parse, text, form, WEIR_EINVAL)
{
    CHECK_STATUS(parse("", 0), WEIR_EINVAL);
    CHECK_STATUS(parse("NaN", 0), WEIR_EINVAL);
    CHECK_STATUS(parse("-1s", 0), WEIR_EINVAL);
    CHECK_STATUS(parse("1.s", 2), WEIR_EINVAL);
    CHECK_STATUS(parse("1s 2m", 2), WEIR_EINVAL);
    return parse("10w", 2);
}

ROW(weir_duration_parse, text, too_large, WEIR_ERANGE)
{
    CHECK_STATUS(parse("1s9223372036854775807ns", 2), WEIR_ERANGE);
    CHECK_STATUS(parse("99999999999999999999999ns", 0), WEIR_ERANGE);
    return parse("9223372036854775808ns", 0);
}

ROW(weir_duration_parse, ret_ns, null, WEIR_EINVAL)
{
    return weir_duration_parse("1s", NULL, NULL);
}

ROW(weir_duration_parse, ret_offset, null, WEIR_EINVAL)
{
    int64_t ns = UNTOUCHED;
    CHECK_STATUS(weir_duration_parse("1s", &ns, NULL), WEIR_OK);
    CHECK_INT(ns, ==, WEIR_SECONDS(1));
    return weir_duration_parse("1x", &ns, NULL);
}

ROW(weir_duration_format, ns, least, WEIR_OK)
{
    char text[64];
    CHECK_INT(weir_duration_format(INT64_MIN, text, sizeof(text)), ==, strlen(text));
    CHECK_STRING(text, "-106751d23h47m16.854s");
    return WEIR_OK;
}

ROW(weir_duration_format, ns, most, WEIR_OK)
{
    char text[64];
    CHECK_INT(weir_duration_format(INT64_MAX, text, sizeof(text)), ==, strlen(text));
    CHECK_STRING(text, "106751d23h47m16.854s");
    return WEIR_OK;
}

ROW(weir_duration_format, buffer, null, WEIR_OK)
{
    CHECK_INT(weir_duration_format(-WEIR_MS(250), NULL, 0), ==, strlen("-250ms"));
    CHECK_INT(weir_duration_format(-WEIR_MS(250), NULL, 64), ==, strlen("-250ms"));
    return WEIR_OK;
}

ROW(weir_duration_format, size, zero, WEIR_OK)
{
    char text[] = "as before";
    CHECK_INT(weir_duration_format(WEIR_MS(250), text, 0), ==, strlen("250ms"));
    CHECK_STRING(text, "as before");
    CHECK_INT(weir_duration_format(WEIR_MS(250), text, 3), ==, strlen("250ms"));
    CHECK_STRING(text, "25");
    return WEIR_OK;
}

ROW(weir_status_name, status, least, WEIR_OK)
{
    CHECK_STRING(weir_status_name(INT32_MIN), "WEIR_?");
    CHECK_STRING(weir_status_name(-1), "WEIR_?");
    CHECK_STRING(weir_status_name(999), "WEIR_?");
    return WEIR_OK;
}

ROW(weir_status_name, status, most, WEIR_OK)
{
    CHECK_STRING(weir_status_name(INT32_MAX), "WEIR_EUSER");
    return WEIR_OK;
}

ROW(weir_status_text, status, least, WEIR_OK)
{
    CHECK_STRING(weir_status_text(INT32_MIN), "unknown status");
    CHECK_STRING(weir_status_text(999), "unknown status");
    return WEIR_OK;
}

ROW(weir_status_text, status, most, WEIR_OK)
{
    CHECK_STRING(weir_status_text(INT32_MAX), "the task's own error");
    return WEIR_OK;
}
